// SPDX-License-Identifier: MIT
// Built twice, as plugin_a and plugin_b, with the work at different places.
#include "truth.h"

#ifdef PLUGIN_B
// Other code in front, so that the two disagree about every address.
int plugin_padding[1000];
NOINLINE uint64_t plugin_other(uint64_t n)
{
	uint64_t x = n;

	for (int i = 0; i < 1000; i++)
		plugin_padding[i] += (int)(x >> (i % 60));
	return x;
}
#endif

#ifdef PLUGIN_B
#define WORK plugin_b_work
#else
#define WORK plugin_a_work
#endif

static NOINLINE uint64_t WORK(uint64_t n, int *at)
{
	uint64_t x = n;

	SPIN(x, n, *at);
	return x;
}

uint64_t plugin_run(uint64_t n, int *at)
{
	uint64_t x = WORK(n, at);

	NOT_LAST();
	return x;
}
