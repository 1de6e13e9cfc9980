// SPDX-License-Identifier: MIT
#include "base/array.h"
#include "tests/support/expect.h"

#include <stdint.h>
#include <stdlib.h>

Test(array, grows_and_keeps_what_is_in_it)
{
	int *items = NULL;
	size_t capacity = 0;

	for (int i = 0; i < 1000; i++) {
		cr_assert(array_reserve(&items, &capacity, (size_t)i + 1));
		items[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		cr_expect(eq(int, items[i], i));
	cr_expect(ge(sz, capacity, 1000));
	free(items);
}

Test(array, a_size_that_overflows_is_refused_and_changes_nothing)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	cr_assert(array_reserve(&items, &capacity, 4));
	uint64_t *before = items;
	size_t room = capacity;
	cr_expect(not(array_reserve(&items, &capacity, SIZE_MAX / 8)));
	cr_expect(eq(ptr, items, before));
	cr_expect(eq(sz, capacity, room));
	free(items);
}
