/* SPDX-License-Identifier: MIT */
/*
 * An index from keys to small numbers: open addressing over u32 slots.
 *
 * The index stores ids (1 and up; 0 is "empty") and no keys: the caller keeps
 * the keyed items in an array of his own and compares them himself, so a hit
 * touches one line of the index. Behind the ids lie the hashes of the same
 * slots, four bytes of each, so that the index can grow by itself.
 *
 *	if (!hash_make_room(&h)) ... no memory
 *	uint32_t at;
 *	for (at = hash_start(&h, hashed); h.slots[at]; at = hash_next(&h, at))
 *		if (items[h.slots[at] - 1].key == wanted)
 *			return h.slots[at];
 *	... append the item, id = ++count, then hash_insert(&h, at, hashed, id);
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash {
	uint32_t *slots; /* ids, then as many hashes */
	uint32_t mask;   /* slot count - 1 */
	uint32_t used;
};

/* False if there is no memory. SLOTS is rounded up to a power of two. */
bool hash_init(struct hash *h, uint32_t slots);
void hash_fini(struct hash *h);

/* Spreads KEY over 64 bits (the finalizer of MurmurHash3). */
static inline uint64_t hash_mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	return key ^ key >> 33;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_mix(a ^ b * UINT64_C(0x9e3779b97f4a7c15));
}

/* Eight bytes at a time, since the names of C++ are long. Not for foreign keys that attack. */
uint64_t hash_bytes(const void *bytes, size_t size);

static inline uint32_t hash_start(const struct hash *h, uint64_t hashed)
{
	return (uint32_t)hashed & h->mask;
}

static inline uint32_t hash_next(const struct hash *h, uint32_t at)
{
	return (at + 1) & h->mask;
}

/* The free slot AT, which was found from HASHED on, gets ID. */
static inline void hash_insert(struct hash *h, uint32_t at, uint64_t hashed, uint32_t id)
{
	h->slots[at] = id;
	h->slots[(size_t)h->mask + 1 + at] = (uint32_t)hashed;
	h->used++;
}

/* Whether the item of slot AT, which is not free, may have a key of HASHED: where items are many,
   to look at each that is not it takes longer than all else. */
static inline bool hash_may_be(const struct hash *h, uint32_t at, uint64_t hashed)
{
	return h->slots[(size_t)h->mask + 1 + at] == (uint32_t)hashed;
}

/* True from a load of one half: grow before the next insert. */
static inline bool hash_is_full(const struct hash *h)
{
	return h->used * 2 > h->mask;
}

/* Doubles the index. False (and unchanged) if there is no memory. */
bool hash_grow(struct hash *h);

/* Room for one more: slots that were found before may be others then. False if there is no memory.
 */
static inline bool hash_make_room(struct hash *h)
{
	return !hash_is_full(h) || hash_grow(h);
}

/* Takes all ids out. */
void hash_clear(struct hash *h);
