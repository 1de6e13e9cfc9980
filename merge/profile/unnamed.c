// SPDX-License-Identifier: MIT
#include "merge/profile/unnamed.h"

#include <stdlib.h>

static int compare_unnamed(const void *a, const void *b)
{
	const struct unnamed *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

size_t unnamed_collect(const struct locations *l, uint32_t after, struct unnamed *unnamed)
{
	size_t count = 0;

	for (uint32_t id = after + 1; id <= l->count; id++) {
		const struct location *location = locations_get(l, id);
		struct frame frame = { location->address, location->module, location->kind };
		if (!location->named)
			unnamed[count++] = (struct unnamed){ frame_lookup_address(frame),
				                             location->module, id };
	}
	qsort(unnamed, count, sizeof(*unnamed), compare_unnamed);
	return count;
}

size_t unnamed_addresses(const struct unnamed *unnamed, size_t count, uint64_t *addresses)
{
	size_t distinct = 0;

	for (size_t i = 0; i < count; i++)
		if (!distinct || addresses[distinct - 1] != unnamed[i].address)
			addresses[distinct++] = unnamed[i].address;
	return distinct;
}

size_t unnamed_module_end(const struct unnamed *unnamed, size_t first, size_t count)
{
	size_t end = first + 1;

	while (end < count && unnamed[end].module == unnamed[first].module)
		end++;
	return end;
}
