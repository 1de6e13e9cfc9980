// SPDX-License-Identifier: MIT
#include "merge/scope/kept.h"

#include "base/array.h"
#include "merge/profile/profile_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
	struct kept_key key;
	void *value;
	void (*release)(void *value);
};

static __thread struct {
	const struct profile *profile;
	int depth;
	struct answer *answers; // a few dozen
	size_t count, capacity;
	uint8_t *origins;
} kept;

void kept_begin(const struct profile *p)
{
	if (!kept.depth++)
		kept.profile = p;
}

void kept_end(void)
{
	if (--kept.depth)
		return;
	for (size_t i = 0; i < kept.count; i++)
		kept.answers[i].release(kept.answers[i].value);
	free(kept.answers);
	free(kept.origins);
	memset(&kept, 0, sizeof(kept));
}

struct kept_key kept_key(const struct profile *p, const char *format, ...)
{
	struct kept_key key = { .works = false };
	va_list args;

	if (!kept.depth || kept.profile != p)
		return key;
	va_start(args, format);
	int length = vsnprintf(key.text, sizeof(key.text), format, args);
	va_end(args);
	key.works = length >= 0 && (size_t)length < sizeof(key.text);
	return key;
}

void *kept_find(const struct kept_key *key)
{
	for (size_t i = 0; key->works && i < kept.count; i++)
		if (strcmp(kept.answers[i].key.text, key->text) == 0)
			return kept.answers[i].value;
	return NULL;
}

bool kept_add(const struct kept_key *key, void *value, void (*release)(void *value))
{
	if (!key->works || !array_reserve(&kept.answers, &kept.capacity, kept.count + 1))
		return false;
	kept.answers[kept.count++] = (struct answer){ *key, value, release };
	return true;
}

uint8_t *kept_origins(const struct profile *p)
{
	if (!kept.depth || kept.profile != p)
		return NULL;
	if (!kept.origins)
		kept.origins = calloc((size_t)profile_locations(p)->place_count + 1, 1);
	return kept.origins;
}
