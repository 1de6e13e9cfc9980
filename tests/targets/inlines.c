// SPDX-License-Identifier: MIT
// Six functions inlined into each other, each with work of its own.
#include "truth.h"

#define LEVELS 6

static int at[LEVELS];
static uint64_t took[LEVELS];

static ALWAYS_INLINE uint64_t inner_5(uint64_t x, uint64_t n)
{
	uint64_t start = truth_cpu();

	SPIN(x, 3 * n, at[5]);
	took[5] += truth_cpu() - start;
	return x;
}

static ALWAYS_INLINE uint64_t inner_4(uint64_t x, uint64_t n)
{
	uint64_t start = truth_cpu();

	SPIN(x, n, at[4]);
	took[4] += truth_cpu() - start;
	return inner_5(x, n);
}

static ALWAYS_INLINE uint64_t inner_3(uint64_t x, uint64_t n)
{
	uint64_t start = truth_cpu();

	SPIN(x, 2 * n, at[3]);
	took[3] += truth_cpu() - start;
	return inner_4(x, n);
}

static ALWAYS_INLINE uint64_t inner_2(uint64_t x, uint64_t n)
{
	uint64_t start = truth_cpu();

	SPIN(x, n, at[2]);
	took[2] += truth_cpu() - start;
	return inner_3(x, n);
}

static ALWAYS_INLINE uint64_t inner_1(uint64_t x, uint64_t n)
{
	uint64_t start = truth_cpu();

	SPIN(x, 2 * n, at[1]);
	took[1] += truth_cpu() - start;
	return inner_2(x, n);
}

static NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, n, at[0]);
	took[0] += truth_cpu() - start;
	return inner_1(x, n);
}

int main(void)
{
	static const char *const names[LEVELS] = { "outer",   "inner_1", "inner_2",
		                                   "inner_3", "inner_4", "inner_5" };
	uint64_t n = truth_steps(10), total = 0;

	for (int round = truth_rounds(); round > 0; round--)
		outer(n);
	for (int i = LEVELS - 1; i >= 0; i--) {
		total += took[i];
		truth_add("self", names[i], __FILE__, at[i], took[i]);
		truth_add("total", names[i], 0, 0, total);
		truth_add_line(__FILE__, at[i], took[i]);
	}
	truth_add("path", "main;outer;inner_1;inner_2;inner_3;inner_4;inner_5", 0, 0, took[5]);
	truth_print();
	return 0;
}
