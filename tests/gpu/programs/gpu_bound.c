// SPDX-License-Identifier: MIT
// Long kernels, launched far ahead: the CPU waits for the GPU.
#include "tests/gpu/programs/gpu_program.h"

#define US 5000u

KERNEL(long_us)

int main(void)
{
	unsigned int count = setting("LAUNCHES", 100);

	for (unsigned int i = 0; i < count; i++)
		LAUNCH(long_us, US, 0);
	CUDA(cudaDeviceSynchronize());
	printf("truth kernel long_us %u %u\ntruth sync context 1\ntruth calls %u\n", count,
	       count * US, count);
	return 0;
}
