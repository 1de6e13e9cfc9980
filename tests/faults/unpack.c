// SPDX-License-Identifier: MIT
// Many functions that each unpack a field, and system calls for a part of that time: which of the
// two is more is up to the argument. No program of faults/run.py: a library has no rule.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define FIELD_BYTES (64 << 10)
#define ROUNDS      200

static unsigned char field[FIELD_BYTES], packed[2 * FIELD_BYTES];
static uLongf packed_bytes = sizeof(packed);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define FIELD(name)                                                                                \
	__attribute__((noinline)) static int name(void)                                            \
	{                                                                                          \
		uLongf bytes = sizeof(field);                                                      \
		int status = uncompress(field, &bytes, packed, packed_bytes);                      \
		return status == Z_OK ? field[bytes / 2] : 0;                                      \
	}

FIELD(date)
FIELD(author)
FIELD(title)
FIELD(text)
FIELD(tags)
FIELD(links)

// For SECONDS.
__attribute__((noinline)) static long ask_kernel(double seconds)
{
	double end = now() + seconds;
	long sum = 0;

	while (now() < end)
		for (int i = 0; i < 100; i++)
			sum += syscall(SYS_getppid);
	return sum;
}

int main(int argc, char **argv)
{
	double part = argc > 1 ? atof(argv[1]) : 0.3; // of the time that a round of fields takes
	int (*const fields[])(void) = { date, author, title, text, tags, links };
	unsigned seed = 1;
	long sum = 0;

	for (size_t i = 0; i < sizeof(field); i++) {
		seed = seed * 1664525 + 1013904223;
		field[i] = "eeettaoin shrdlu"[seed >> 28];
	}
	if (compress2(packed, &packed_bytes, field, sizeof(field), 6) != Z_OK)
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now();
		for (int k = 0; k < 12; k++)
			sum += fields[k % 6]();
		sum += ask_kernel(part * (now() - begin)) != 0;
	}
	printf("%ld\n", sum);
	return 0;
}
