// SPDX-License-Identifier: MIT
#include "tracer/agent/store.h"

#include "base/hash.h"
#include "tracer/agent/maps.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define TRIED 64

char *store_start;
static size_t used; // atomic

static char *map(void)
{
	char *known = __atomic_load_n(&store_start, __ATOMIC_ACQUIRE);
	int error = errno;

	if (known)
		return known;
	if (!maps_allow(STORE_BYTES))
		return NULL;
	void *mapped = mmap(NULL, STORE_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = error;
	if (mapped == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&store_start, &known, mapped, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		return mapped;
	munmap(mapped, STORE_BYTES); // another thread was first
	return known;
}

void *store_take(size_t bytes)
{
	char *start = map();
	size_t wanted = (bytes + 7) & ~(size_t)7;
	size_t at = __atomic_load_n(&used, __ATOMIC_RELAXED);

	do {
		if (!start || bytes > STORE_BYTES || wanted > STORE_BYTES - at)
			return NULL;
	} while (!__atomic_compare_exchange_n(&used, &at, at + wanted, true, __ATOMIC_RELAXED,
	                                      __ATOMIC_RELAXED));
	return start + at;
}

const char *store_text(const char *text, size_t limit)
{
	size_t length = strnlen(text, limit);
	char *copy = store_take(length + 1);

	return copy ? memcpy(copy, text, length) : NULL; // the rest is zeroed
}

// The slot of KEY, or the one where it belongs; NULL if neither is near. Key 0 is none.
static struct table_slot *find(const struct table *t, uint64_t key)
{
	uint64_t hashed = hash_mix(key);

	for (uint64_t i = 0; key && i < TRIED; i++) {
		const struct table_slot *slot = &t->slots[(hashed + i) % TABLE_SLOTS];
		uint64_t known = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
		if (known == key || !known)
			return (struct table_slot *)slot;
	}
	return NULL;
}

const void *table_get(const struct table *t, uint64_t key)
{
	const struct table_slot *slot = find(t, key);

	if (!slot || __atomic_load_n(&slot->key, __ATOMIC_RELAXED) != key)
		return NULL;
	return __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
}

bool table_put(struct table *t, uint64_t key, const void *value)
{
	struct table_slot *slot;

	while ((slot = find(t, key))) {
		uint64_t known = 0;
		if (!__atomic_compare_exchange_n(&slot->key, &known, key, false, __ATOMIC_RELAXED,
		                                 __ATOMIC_RELAXED) &&
		    known != key)
			continue; // another key has just taken it
		__atomic_store_n(&slot->value, value, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}
