// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/memory/memory_early.h"

#include <string.h>

Test(memory_early, blocks_are_zeroed_apart_and_aligned)
{
	static const size_t alignments[] = { 1, 8, 16, 64, 4096 };
	char *last = NULL;
	size_t last_size = 0;

	cr_expect(not(memory_early_is_used()));
	for (int i = 0; i < 5; i++) {
		size_t size = 100 + (size_t)i;
		char *p = memory_early_take(size, alignments[i]);
		cr_assert(p != NULL);
		cr_expect(eq(uint, (uintptr_t)p % (alignments[i] < 16 ? 16 : alignments[i]), 0));
		cr_expect(memory_early_owns(p) && memory_early_owns(p + size - 1));
		cr_expect(eq(sz, memory_early_size(p), size));
		for (size_t k = 0; k < size; k++)
			cr_expect(eq(chr, p[k], 0));
		memset(p, 'x', size);
		if (last) {
			cr_expect(ge(ptr, p, last + last_size));
			cr_expect(eq(sz, memory_early_size(last), last_size));
		}
		last = p;
		last_size = size;
	}
	cr_expect(memory_early_is_used());
}

Test(memory_early, nothing_else_is_owned)
{
	int local = 0;

	cr_expect(not(memory_early_owns(NULL)));
	cr_expect(not(memory_early_owns(&local)));
	cr_expect(not(memory_early_owns(memory_early + MEMORY_EARLY_BYTES)));
	cr_expect(not(memory_early_owns((char *)memory_early - 1)));
}

Test(memory_early, there_is_an_end)
{
	size_t got = 0;

	cr_expect(memory_early_take(MEMORY_EARLY_BYTES, 1) == NULL);
	cr_expect(memory_early_take(SIZE_MAX, 1) == NULL);
	cr_expect(memory_early_take(1, (size_t)1 << 40) == NULL);
	for (char *p; (p = memory_early_take(1000, 1)); got++)
		cr_expect(memory_early_owns(p + 999));
	cr_expect(ge(sz, got, 60));
	cr_expect(le(sz, got, 65));
	cr_expect(memory_early_take(1000, 1) == NULL);
}
