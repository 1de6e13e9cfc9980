// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

bool hash_init(struct hash *h, uint32_t slots)
{
	uint32_t size = 16;

	while (size < slots)
		size *= 2;
	h->slots = calloc(size, 2 * sizeof(*h->slots));
	h->mask = size - 1;
	h->used = 0;
	return h->slots != NULL;
}

void hash_fini(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){ 0 };
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	for (; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, p, size);
	return hash_mix(hash ^ word);
}

bool hash_grow(struct hash *h)
{
	struct hash grown;

	if (!hash_init(&grown, (h->mask + 1) * 2))
		return false;
	for (uint32_t i = 0; i <= h->mask; i++) {
		uint32_t hashed = h->slots[(size_t)h->mask + 1 + i];
		if (!h->slots[i])
			continue;
		uint32_t at = hash_start(&grown, hashed);
		while (grown.slots[at])
			at = hash_next(&grown, at);
		hash_insert(&grown, at, hashed, h->slots[i]);
	}
	free(h->slots);
	*h = grown;
	return true;
}

void hash_clear(struct hash *h)
{
	memset(h->slots, 0, ((size_t)h->mask + 1) * sizeof(*h->slots));
	h->used = 0;
}
