// SPDX-License-Identifier: MIT
/*
 * loop HOW: a loop of 30 turns without any op, that computes in two functions; how long the second
 * takes is as HOW says. With touch and touched both take the same time, but touch writes to memory
 * for the first time in its first turn, and touched before. See e2e/warmup.py, warmup/real.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN   UINT64_C(6000000) // steps of some ns each
#define PAGES  UINT64_C(131072)
#define STRIDE (TURN / PAGES)

// Writes to each page of MEMORY, if there is any.
static __attribute__((noipa)) uint64_t load(uint64_t count, char *memory)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < count; i++) {
		x = x * 6364136223846793005u + i;
		if (memory && i % STRIDE == 0 && i / STRIDE < PAGES)
			memory[i / STRIDE * 4096] = (char)x;
		__asm__ volatile("" ::"r"(x));
	}
	return x;
}

static __attribute__((noipa)) uint64_t work(uint64_t count)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < count; i++) {
		x ^= x << 7;
		x ^= x >> 9;
		__asm__ volatile("" ::"r"(x));
	}
	return x;
}

static uint64_t cold(uint64_t turn)
{
	return turn ? TURN : 15 * TURN;
}

static uint64_t warm(uint64_t turn)
{
	(void)turn;
	return TURN;
}

static uint64_t periodic(uint64_t turn)
{
	return turn % 8 ? TURN : 6 * TURN;
}

static uint64_t growing(uint64_t turn)
{
	return TURN / 2 + TURN * turn / 10;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t (*steps)(uint64_t turn);
	} ways[] = {
		{ "cold", cold },       { "warm", warm },  { "periodic", periodic },
		{ "growing", growing }, { "touch", warm }, { "touched", warm },
	};
	uint64_t sum = 0;
	char *memory = argc > 1 && strncmp(argv[1], "touch", 5) == 0 ? malloc(PAGES * 4096) : NULL;

	if (argc > 1 && strcmp(argv[1], "touched") == 0)
		load(TURN, memory);

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		for (uint64_t turn = 0; turn < 30; turn++) {
			sum += load(TURN, memory);
			sum += work(ways[i].steps(turn));
		}
		free(memory);
		printf("%llu\n", (unsigned long long)sum);
		return 0;
	}
	fprintf(stderr, "usage: loop cold|warm|periodic|growing|touch|touched\n");
	return 1;
}
