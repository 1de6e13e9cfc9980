// SPDX-License-Identifier: MIT
// Three functions with 60, 30 and 10 % of the work.
#include "truth.h"

static int at_a, at_b, at_c;

static NOINLINE uint64_t hot_a(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_a);
	return x;
}

static NOINLINE uint64_t hot_b(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_b);
	return x;
}

static NOINLINE uint64_t hot_c(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_c);
	return x;
}

int main(void)
{
	uint64_t a = truth_steps(60), b = truth_steps(30), c = truth_steps(10);

	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "hot_a", at_a, hot_a(a));
		TRUTH("self", "hot_b", at_b, hot_b(b));
		TRUTH("self", "hot_c", at_c, hot_c(c));
	}
	truth_fact("least total", "main", 98);
	truth_print();
	return 0;
}
