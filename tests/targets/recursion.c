// SPDX-License-Identifier: MIT
// A function that calls itself 40 deep and works on the way down, and its leaf.
#include "truth.h"

#define DEPTH 40

static int at_leaf, at_rec;
static uint64_t leaf_ns, rec_ns;

static NOINLINE uint64_t leaf(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_leaf);
	return x;
}

static NOINLINE uint64_t rec(int depth, uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	if (depth == 0) {
		x += leaf(DEPTH * n);
		leaf_ns += truth_cpu() - start;
		return x;
	}
	SPIN(x, n, at_rec);
	rec_ns += truth_cpu() - start;
	x += rec(depth - 1, n);
	NOT_LAST();
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(50.0 / DEPTH);

	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("total", "rec", 0, rec(DEPTH, n));
	truth_add("self", "leaf", __FILE__, at_leaf, leaf_ns);
	truth_add("self", "rec", __FILE__, at_rec, rec_ns);
	truth_add("path", "rec;rec;leaf", 0, 0, leaf_ns);
	truth_fact("most total", "rec", 100);
	truth_fact("most total", "main", 100);
	truth_print();
	return 0;
}
