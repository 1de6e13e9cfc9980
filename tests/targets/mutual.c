// SPDX-License-Identifier: MIT
// Two functions that call each other; even does twice the work of odd.
#include "truth.h"

static int at_even, at_odd;
static uint64_t even_ns, odd_ns;

static NOINLINE uint64_t odd(int depth, uint64_t n);

static NOINLINE uint64_t even(int depth, uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, 2 * n, at_even);
	even_ns += truth_cpu() - start;
	if (depth > 0)
		x += odd(depth - 1, n);
	NOT_LAST();
	return x;
}

static NOINLINE uint64_t odd(int depth, uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, n, at_odd);
	odd_ns += truth_cpu() - start;
	if (depth > 0)
		x += even(depth - 1, n);
	NOT_LAST();
	return x;
}

int main(void)
{
	// Blocks of 10 ms in all would stay in step with samples every 1.001 ms, and see the same
	// phase for seconds: no two rounds are alike.
	for (int round = truth_rounds(); round > 0; round--) {
		uint64_t n = truth_steps(100.0 / 30 * (0.9 + 0.01 * (round * 7 % 20)));
		TRUTH("total", "even", 0, even(19, n));
	}
	truth_add("self", "even", __FILE__, at_even, even_ns);
	truth_add("self", "odd", __FILE__, at_odd, odd_ns);
	truth_fact("most total", "even", 100);
	truth_fact("most total", "odd", 100);
	truth_fact("least path", "even;odd;even", 80);
	truth_print();
	return 0;
}
