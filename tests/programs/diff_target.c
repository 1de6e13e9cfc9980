// SPDX-License-Identifier: MIT
/*
 * Work of known amounts, so that two runs differ by what the test says:
 *
 *	diff_target ROUNDS NAME=UNITS...
 *
 * In each round each NAME does its units, one after the other: parse, hash, scan and fresh count
 * (a unit is a fixed number of steps, some 20 us), doze sleeps a millisecond a unit. An op around
 * them is an NVTX range of that name, where "op:" stands before it: UNITS calls of ten units.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Either NVIDIA's headers, or the part of them that is used here.
#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/ops/nvtx_shim.h"
#endif

#define STEPS 20000

// Each with its own body, so that no compiler makes one of two.
#define WORK(name, turn)                                                                           \
	__attribute__((noinline, noclone)) static uint64_t name(long units)                        \
	{                                                                                          \
		uint64_t x = turn;                                                                 \
		for (long i = 0; i < units * STEPS; i++) {                                         \
			x ^= x << 13;                                                              \
			x ^= x >> 7;                                                               \
			x ^= x << (turn);                                                          \
		}                                                                                  \
		return x;                                                                          \
	}

WORK(parse, 17)
WORK(hash, 18)
WORK(scan, 19)
WORK(fresh, 21)

static uint64_t doze(long units)
{
	struct timespec time = { units / 1000, units % 1000 * 1000000 };

	nanosleep(&time, NULL);
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*work)(long units);
} works[] = {
	{ "parse", parse }, { "hash", hash }, { "scan", scan },
	{ "fresh", fresh }, { "doze", doze },
};

static uint64_t run(const char *name, size_t length, long units)
{
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strncmp(works[i].name, name, length) == 0 && !works[i].name[length])
			return works[i].work(units);
	fprintf(stderr, "diff_target: no work is called \"%.*s\"\n", (int)length, name);
	exit(1);
}

static uint64_t run_ops(const char *name, size_t length, long calls)
{
	uint64_t sum = 0;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	for (long i = 0; i < calls; i++) {
		nvtxRangePushA(text);
		sum += run(name, length, 10);
		nvtxRangePop();
	}
	return sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	volatile uint64_t sum = 0;

	for (long round = 0; round < rounds; round++)
		for (int i = 2; i < argc; i++) {
			const char *equals = strchr(argv[i], '=');
			bool op = strncmp(argv[i], "op:", 3) == 0;
			const char *name = argv[i] + (op ? 3 : 0);
			if (!equals)
				return 2;
			long units = strtol(equals + 1, NULL, 10);
			size_t length = (size_t)(equals - name);
			sum += op ? run_ops(name, length, units) : run(name, length, units);
		}
	return 0;
}
