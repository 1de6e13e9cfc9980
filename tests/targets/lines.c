// SPDX-License-Identifier: MIT
// One function whose time is on three lines.
#include "truth.h"

#define LINES 3

static int at[LINES];
static uint64_t took[LINES];

static NOINLINE uint64_t three_lines(uint64_t n)
{
	uint64_t x = n, time[LINES + 1];

	time[0] = truth_cpu();
	SPIN(x, 5 * n, at[0]);
	time[1] = truth_cpu();
	SPIN(x, 3 * n, at[1]);
	time[2] = truth_cpu();
	SPIN(x, 2 * n, at[2]);
	time[3] = truth_cpu();
	for (int i = 0; i < LINES; i++)
		took[i] += time[i + 1] - time[i];
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(10);

	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "three_lines", at[0], three_lines(n));
	for (int i = 0; i < LINES; i++)
		truth_add_line(__FILE__, at[i], took[i]);
	truth_print();
	return 0;
}
