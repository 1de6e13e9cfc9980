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

bool array_reserve_bytes(void **items, size_t *capacity, size_t wanted, size_t item_bytes);
