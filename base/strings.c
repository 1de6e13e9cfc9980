// SPDX-License-Identifier: MIT
#include "base/strings.h"

#include "base/array.h"
#include "base/hash.h"

#include <string.h>

#define BLOCK_BYTES ((size_t)64 * 1024)

// Texts are packed into blocks that never move; TEXTS points into them.
struct block {
	struct block *next;
	size_t used, size;
	char bytes[];
};

struct text {
	const char *bytes;
	uint32_t length;
	uint32_t hash;
};

struct strings {
	struct block *blocks; // the one that is being filled comes first
	struct text *texts;
	size_t count, capacity;
	struct hash index;
};

struct strings *strings_new(void)
{
	struct strings *s = calloc(1, sizeof(*s));

	if (s && !hash_init(&s->index, 256)) {
		free(s);
		return NULL;
	}
	return s;
}

void strings_free(struct strings *s)
{
	if (!s)
		return;
	while (s->blocks) {
		struct block *next = s->blocks->next;
		free(s->blocks);
		s->blocks = next;
	}
	free(s->texts);
	hash_fini(&s->index);
	free(s);
}

static char *take_bytes(struct strings *s, size_t size)
{
	struct block *block = s->blocks;

	if (!block || block->size - block->used < size) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct block){ .next = s->blocks, .size = room };
		s->blocks = block;
	}
	char *bytes = block->bytes + block->used;
	block->used += size;
	return bytes;
}

// The id of TEXT, or 0 and the slot where it would be.
static uint32_t find(const struct strings *s, const char *text, size_t length, uint32_t hash,
                     uint32_t *slot)
{
	uint32_t at;

	for (at = hash_start(&s->index, hash); s->index.slots[at]; at = hash_next(&s->index, at)) {
		const struct text *known = &s->texts[s->index.slots[at] - 1];
		if (known->hash == hash && known->length == length &&
		    memcmp(known->bytes, text, length) == 0)
			break;
	}
	*slot = at;
	return s->index.slots[at];
}

uint32_t strings_find(const struct strings *s, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	uint32_t slot;

	return text ? find(s, text, length, (uint32_t)hash_bytes(text, length), &slot) : 0;
}

uint32_t strings_add_bytes(struct strings *s, const char *text, size_t length)
{
	uint32_t at;

	if (!text || length >= UINT32_MAX)
		return 0;
	if (!hash_make_room(&s->index))
		return 0;

	uint32_t hash = (uint32_t)hash_bytes(text, length);
	uint32_t known = find(s, text, length, hash, &at);
	if (known)
		return known;
	if (!array_reserve(&s->texts, &s->capacity, s->count + 1))
		return 0;
	char *copy = take_bytes(s, length + 1);
	if (!copy)
		return 0;
	memcpy(copy, text, length);
	copy[length] = '\0';
	s->texts[s->count++] = (struct text){ copy, (uint32_t)length, hash };
	hash_insert(&s->index, at, hash, (uint32_t)s->count);
	return (uint32_t)s->count;
}

uint32_t strings_add(struct strings *s, const char *text)
{
	return text ? strings_add_bytes(s, text, strlen(text)) : 0;
}

const char *strings_get(const struct strings *s, uint32_t id)
{
	return id && id <= s->count ? s->texts[id - 1].bytes : NULL;
}

uint32_t strings_count(const struct strings *s)
{
	return (uint32_t)s->count;
}
