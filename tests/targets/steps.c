// SPDX-License-Identifier: MIT
/*
 * steps HOW: ranges of NVTX whose durations are as HOW says; see e2e/warmup.py. They sleep, so that
 * a busy machine changes little.
 */
#include "tests/ops/nvtx_shim.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void wait_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static __attribute__((noipa)) void step(long ms)
{
	nvtxRangePushA("step");
	nvtxRangePushA("forward");
	wait_ms(ms);
	nvtxRangePop();
	wait_ms(5);
	nvtxRangePop();
}

// How long the forward part of step I takes, in ms; -1: there is no such step.
static long cold(int i)
{
	return i >= 40 ? -1 : i < 3 ? 200 : 10;
}

static long warm(int i)
{
	return i >= 40 ? -1 : 10;
}

static long periodic(int i) // as with collections of garbage, the first of them at the start
{
	return i >= 40 ? -1 : i % 8 ? 10 : 100;
}

static long growing(int i)
{
	return i >= 40 ? -1 : 10 + i;
}

static long brief(int i)
{
	return i >= 6 ? -1 : i < 3 ? 200 : 10;
}

static long once(int i)
{
	return i >= 1 ? -1 : 300;
}

static const struct how {
	const char *name;
	long (*ms)(int i);
} ways[] = {
	{ "cold", cold },       { "warm", warm },   { "periodic", periodic },
	{ "growing", growing }, { "brief", brief }, { "once", once },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			for (int n = 0; ways[i].ms(n) >= 0; n++)
				step(ways[i].ms(n));
			return 0;
		}
	fprintf(stderr, "usage: steps cold|warm|periodic|growing|brief|once\n");
	return 1;
}
