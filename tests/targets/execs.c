// SPDX-License-Identifier: MIT
// One process that becomes itself again four times, each time to do other work.
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int at[2];

static NOINLINE uint64_t first_half(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at[0]);
	return x;
}

static NOINLINE uint64_t second_half(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at[1]);
	return x;
}

int main(int argc, char **argv)
{
	int stage = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t n = truth_steps(25);
	char next[16];

	for (int round = truth_rounds(); round > 0; round--) {
		if (stage < 2)
			TRUTH("self", "first_half", at[0], first_half(n));
		else
			TRUTH("self", "second_half", at[1], second_half(n));
	}
	if (stage < 3) {
		snprintf(next, sizeof(next), "%d", stage + 1);
		execl("/proc/self/exe", argv[0], next, (char *)NULL);
		return 1;
	}
	// The CPU clock of a process goes on through its execs.
	truth_fact("processes", "-", 1);
	truth_print();
	return 0;
}
