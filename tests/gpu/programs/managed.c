// SPDX-License-Identifier: MIT
// Managed memory that host and device use by turns: kernels fault for it, and the host asks for it
// back before it writes.
#include "tests/gpu/programs/gpu_program.h"

#include <string.h>

#define ROUNDS 20u
#define BYTES  (16u << 20)
#define US     2000u

#ifdef __CUDACC__
extern "C" __global__ void touch_us(unsigned int us, char *memory, unsigned int bytes)
{
	unsigned long long begin, now;

	for (unsigned int at = threadIdx.x * 4096; at < bytes; at += blockDim.x * 4096)
		memory[at]++;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < us * 1000ull);
}
#else
KERNEL(touch_us)
#endif

static void fetch(void *memory)
{
#ifndef __CUDACC__
	const struct cuda_location host = { CUDA_LOCATION_HOST, 0 };
	CUDA(cudaMemPrefetchAsync(memory, BYTES, host, 0, NULL));
#elif CUDART_VERSION >= 13000
	const cudaMemLocation host = { cudaMemLocationTypeHost, 0 };
	CUDA(cudaMemPrefetchAsync(memory, BYTES, host, 0, NULL));
#else
	CUDA(cudaMemPrefetchAsync(memory, BYTES, cudaCpuDeviceId, NULL));
#endif
}

int main(void)
{
	dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };
	unsigned int us = US, bytes = BYTES;
	void *memory;
	void *arguments[] = { &us, &memory, &bytes };

	CUDA(cudaMallocManaged(&memory, BYTES, 1));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		memset(memory, (int)i, BYTES);
		CUDA(cudaLaunchKernel((const void *)touch_us, grid, block, arguments, 0, NULL));
		fetch(memory);
		CUDA(cudaDeviceSynchronize());
	}
	CUDA(cudaFree(memory));
	printf("truth kernel touch_us %u %u\ntruth calls %u\ntruth sync context %u\n", ROUNDS,
	       ROUNDS * US, ROUNDS, ROUNDS);
	printf("truth allocated managed 1 %u\ntruth released managed 1 %u\n", BYTES, BYTES);
	printf("truth moved to-device %u %u\ntruth moved to-host %u %u\n", ROUNDS, ROUNDS * BYTES,
	       ROUNDS, ROUNDS * BYTES);
	return 0;
}
