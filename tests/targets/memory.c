// SPDX-License-Identifier: MIT
// Allocates known bytes at known places, in pieces so large that each is sampled for certain, and
// not faster than samples are taken.
#include <stdlib.h>
#include <unistd.h>

#define PIECE (4 << 20)

static void *kept[15];

static __attribute__((noipa)) void *piece(void)
{
	char *volatile p = malloc(PIECE);

	p[0] = 1;
	usleep(3000);
	return p;
}

static __attribute__((noipa)) void hold(void)
{
	for (int i = 0; i < 15; i++)
		kept[i] = piece();
}

static __attribute__((noipa)) void churn(void)
{
	for (int i = 0; i < 100; i++)
		free(piece());
}

static __attribute__((noipa)) void leak(void)
{
	for (int i = 0; i < 5; i++)
		piece();
}

int main(void)
{
	// Taken so, its address in a program at a fixed place is in the program itself.
	void *(*volatile allocate)(size_t) = malloc;

	hold();
	churn();
	for (int i = 0; i < 15; i++)
		free(kept[i]);
	leak();
	free(allocate(1));
	return 0;
}
