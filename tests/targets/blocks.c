// SPDX-License-Identifier: MIT
// Keeps 16 MB in small blocks, and allocates and frees small blocks without a pause, as often as
// the argument says: so often that counting each costs too much. Prints how many blocks that makes,
// and their bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT       (1 << 16)
#define KEPT_BYTES 248 // what glibc makes of it

static void *volatile kept[KEPT];

static __attribute__((noipa)) void keep(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(KEPT_BYTES);
}

static __attribute__((noipa)) void churn(long count)
{
	for (long i = 0; i < count; i++) {
		char *volatile block = malloc(KEPT_BYTES);
		free(block);
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 0) : 0;

	keep();
	churn(count);
	printf("%ld %ld %d\n", KEPT + count, (KEPT + count) * KEPT_BYTES, KEPT * KEPT_BYTES);
	return 0;
}
