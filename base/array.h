/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays kept as three plain fields: items, count, capacity.
 *
 *	struct map *maps; size_t map_count, map_capacity;
 *	if (!array_reserve(&maps, &map_capacity, map_count + 1))
 *		return error_set(err, ENOMEM, "...");
 *	maps[map_count++] = map;
 *
 * The array is freed with free().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes room for WANTED items in all, doubling. False (and unchanged) if there is no memory. */
#define array_reserve(items, capacity, wanted)                                                     \
	array_reserve_bytes((void **)(items), (capacity), (wanted), sizeof(**(items)))

/*
 * How many of COUNT items come first, where IS_BEFORE (an expression of the index I) holds for
 * those and not for the rest: a binary search.
 *
 *	size_t at = array_search(count, i, maps[i].end <= address);
 */
#define array_search(count, i, is_before)                                                          \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

bool array_reserve_bytes(void **items, size_t *capacity, size_t wanted, size_t item_bytes);
