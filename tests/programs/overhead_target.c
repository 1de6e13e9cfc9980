// SPDX-License-Identifier: MIT
// Half of its CPU time in a loop that allocates all the time, half in one that computes. Prints the
// percentage that the first one took, by its own clock.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 50

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noipa)) static void allocates(long n)
{
	for (long i = 0; i < n; i++) {
		char *volatile block = malloc(16 + (size_t)(i & 15) * 16);
		free(block);
	}
}

__attribute__((noipa)) static uint64_t computes(long n)
{
	uint64_t x = 88172645463325252ULL;

	for (long i = 0; i < n; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

int main(void)
{
	double spent[2] = { 0, 0 };

	for (int i = 0; i < ROUNDS; i++) {
		double start = now();
		allocates(600000);
		double middle = now();
		computes(8000000);
		spent[0] += middle - start;
		spent[1] += now() - middle;
	}
	printf("%.3f\n", 100 * spent[0] / (spent[0] + spent[1]));
	return 0;
}
