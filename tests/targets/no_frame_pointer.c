// SPDX-License-Identifier: MIT
// A leaf that uses the frame pointer's register for its own numbers, between
// callers with and without frame pointers; and one that moves its stack about.
#include "truth.h"

#include <alloca.h>
#include <string.h>

static int at_leaf, at_mover;

static NOINLINE __attribute__((optimize("omit-frame-pointer"))) uint64_t leaf(uint64_t n)
{
	uint64_t x = n;

	// rbp holds rubbish while the loop runs; the compiler saves it and says so in the CFI.
	__asm__ volatile("mov $0x5a5a5a5a, %%rbp" ::: "rbp");
	SPIN(x, n, at_leaf);
	return x;
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) uint64_t with_pointer(uint64_t n)
{
	uint64_t x = leaf(n);

	NOT_LAST();
	return x;
}

static NOINLINE uint64_t mover(uint64_t n)
{
	volatile char *room = alloca(n % 1000 + 100);
	uint64_t x = n;

	room[n % 100] = 1;
	SPIN(x, n, at_mover);
	return x + (uint64_t)room[0];
}

int main(void)
{
	uint64_t n = truth_steps(50);

	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "leaf", at_leaf, with_pointer(n));
		TRUTH("self", "mover", at_mover, mover(n));
	}
	truth_fact("least path", "main;with_pointer;leaf", 45);
	truth_fact("least path", "main;mover", 45);
	truth_print();
	return 0;
}
