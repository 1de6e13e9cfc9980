// SPDX-License-Identifier: MIT
// Works at the end of 300 frames of half a kilobyte: far more stack than a sample carries.
#include "truth.h"

#include <string.h>

static int at_bottom;

static NOINLINE uint64_t bottom(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_bottom);
	return x;
}

static NOINLINE uint64_t down(int depth, uint64_t n)
{
	char frame[512];

	memset(frame, depth, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
	uint64_t x = depth ? down(depth - 1, n) : bottom(n);
	NOT_LAST();
	return x + (uint64_t)frame[n % sizeof(frame)];
}

static NOINLINE uint64_t top(uint64_t n)
{
	uint64_t x = down(300, n);

	NOT_LAST();
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(100);

	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("total", "top", 0, top(n));
	truth_fact("least self", "bottom", 97);
	truth_fact("least path", "main;top;down;down", 97);
	truth_fact("most total", "down", 100);
	truth_print();
	return 0;
}
