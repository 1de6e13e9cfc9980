// SPDX-License-Identifier: MIT
#include "base/hash.h"
#include "tests/support/expect.h"

static uint64_t keys[5000];

static uint32_t find(const struct hash *h, uint64_t key)
{
	for (uint32_t at = hash_start(h, hash_mix(key)); h->slots[at]; at = hash_next(h, at))
		if (keys[h->slots[at] - 1] == key)
			return h->slots[at];
	return 0;
}

Test(hash, finds_every_key_after_growing_and_no_other)
{
	struct hash h;

	cr_assert(hash_init(&h, 0));
	for (uint32_t i = 0; i < 5000; i++) {
		keys[i] = (uint64_t)i * 4096; // as addresses are: low bits alike
		cr_assert(hash_make_room(&h));
		uint32_t at = hash_start(&h, hash_mix(keys[i]));
		while (h.slots[at])
			at = hash_next(&h, at);
		hash_insert(&h, at, hash_mix(keys[i]), i + 1);
	}
	for (uint32_t i = 0; i < 5000; i++)
		cr_expect(eq(u32, find(&h, keys[i]), i + 1));
	cr_expect(eq(u32, find(&h, 1), 0));
	hash_fini(&h);
}

Test(hash, has_room_again_and_finds_nothing_once_it_is_cleared)
{
	struct hash h;

	cr_assert(hash_init(&h, 0));
	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < 100; i++) {
			keys[i] = i + 1000 * (uint64_t)turn;
			cr_assert(hash_make_room(&h));
			uint32_t at = hash_start(&h, hash_mix(keys[i]));
			while (h.slots[at])
				at = hash_next(&h, at);
			hash_insert(&h, at, hash_mix(keys[i]), i + 1);
		}
		cr_expect(eq(u32, find(&h, keys[99]), 100));
		hash_clear(&h);
		cr_expect(eq(u32, find(&h, keys[99]), 0));
	}
	hash_fini(&h);
}
