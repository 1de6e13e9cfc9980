// SPDX-License-Identifier: MIT
// A frame is copied byte by byte, through pointers that may not be optimized; or read where it is.
#include "fault.h"

#include <stdio.h>

#define BYTES  65536
#define FRAMES 30000

static unsigned char from[BYTES], to[BYTES];

__attribute__((noinline)) static void copy(volatile unsigned char *out,
                                           const volatile unsigned char *in)
{
	for (int i = 0; i < BYTES; i++) // fault: CPU-COPY
		out[i] = in[i];
}

static void prepare(void)
{
	for (int i = 0; i < BYTES; i++)
		from[i] = (unsigned char)i;
}

void faulty(void)
{
	unsigned sum = 0;

	prepare();
	for (int frame = 0; frame < FRAMES; frame++) {
		from[frame % BYTES]++;
		copy(to, from);
		sum += to[frame % BYTES];
	}
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned sum = 0;

	prepare();
	for (int frame = 0; frame < FRAMES; frame++) {
		from[frame % BYTES]++;
		sum += from[frame % BYTES];
	}
	printf("%u\n", sum);
}
