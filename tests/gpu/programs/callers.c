// SPDX-License-Identifier: MIT
// Kernels that one place launches for two callers, of the same depth: left() three times as many.
#include "tests/gpu/programs/gpu_program.h"

#define NOINLINE __attribute__((noinline, noclone))

KERNEL(shared_us)

static NOINLINE void run(unsigned int us)
{
	LAUNCH(shared_us, us, 0);
	asm volatile("");
}

static NOINLINE void left(unsigned int us)
{
	run(us);
	asm volatile("");
}

static NOINLINE void right(unsigned int us)
{
	run(us);
	asm volatile("" ::: "memory");
}

int main(void)
{
	unsigned int us = setting("US", 200), launches = setting("LAUNCHES", 400);

	for (unsigned int i = 0; i < launches; i++) {
		if (i % 4 != 3)
			left(us);
		else
			right(us);
		if (i % 16 == 15)
			CUDA(cudaDeviceSynchronize());
	}
	CUDA(cudaDeviceSynchronize());
	printf("truth kernel shared_us %u %u\n", launches, launches * us);
	printf("truth sync context %u\ntruth calls %u\n", launches / 16 + 1, launches);
	return 0;
}
