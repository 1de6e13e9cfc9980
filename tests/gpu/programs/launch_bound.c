// SPDX-License-Identifier: MIT
// Many kernels that are shorter than their launches. LAUNCHES and US say how many and how short.
#include "tests/gpu/programs/gpu_program.h"

KERNEL(short_us)

int main(void)
{
	unsigned int count = setting("LAUNCHES", 20000), us = setting("US", 1);

	for (unsigned int i = 0; i < count; i++)
		LAUNCH(short_us, us, 0);
	CUDA(cudaDeviceSynchronize());
	printf("truth kernel short_us %u %u\ntruth sync context 1\ntruth calls %u\n", count,
	       count * us, count);
	return 0;
}
