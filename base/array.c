// SPDX-License-Identifier: MIT
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool array_reserve_bytes(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	if (wanted <= *capacity)
		return true;

	size_t room = *capacity ? *capacity : 8;
	while (room < wanted)
		room *= 2;

	void *grown = reallocarray(*items, room, item_bytes);
	if (!grown)
		return false;
	*items = grown;
	*capacity = room;
	return true;
}
