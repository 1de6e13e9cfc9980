// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/cover.h"

#include "base/array.h"

bool cover_init(struct cover *cover, const uint64_t *addresses, size_t count)
{
	*cover = (struct cover){ addresses, count, malloc((count + 1) * sizeof(size_t)) };
	for (size_t i = 0; cover->next_free && i <= count; i++)
		cover->next_free[i] = i;
	return cover->next_free != NULL;
}

void cover_fini(struct cover *cover)
{
	free(cover->next_free);
	*cover = (struct cover){ 0 };
}

static size_t find_free(struct cover *cover, size_t at)
{
	while (cover->next_free[at] != at) {
		// Halve the way for those who come later.
		cover->next_free[at] = cover->next_free[cover->next_free[at]];
		at = cover->next_free[at];
	}
	return at;
}

size_t cover_take(struct cover *cover, uint64_t start, uint64_t size)
{
	size_t first = array_search(cover->count, i, cover->addresses[i] < start);
	size_t at = find_free(cover, first);

	if (at == cover->count || cover->addresses[at] - start >= size)
		return cover->count;
	cover->next_free[at] = at + 1;
	return at;
}
