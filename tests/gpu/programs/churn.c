// SPDX-License-Identifier: MIT
// Allocates and frees over and over: from the device, from a stream's pool, managed memory.
#include "tests/gpu/programs/gpu_program.h"

#define ROUNDS  500u
#define BYTES   (64u << 10)
#define MANAGED 10u

KERNEL(use_us)

int main(void)
{
	cudaStream_t stream;
	void *memory, *pooled, *managed;

	CUDA(cudaStreamCreate(&stream));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		CUDA(cudaMalloc(&memory, BYTES));
		LAUNCH(use_us, 10, stream);
		CUDA(cudaFree(memory));
		CUDA(cudaMallocAsync(&pooled, BYTES, stream));
		CUDA(cudaFreeAsync(pooled, stream));
	}
	for (unsigned int i = 0; i < MANAGED; i++) {
		CUDA(cudaMallocManaged(&managed, BYTES, 1));
		CUDA(cudaFree(managed));
	}
	CUDA(cudaStreamDestroy(stream));
	printf("truth kernel use_us %u %u\ntruth calls %u\n", ROUNDS, ROUNDS * 10, ROUNDS);
	printf("truth allocated device %u %u\ntruth released device %u %u\n", 2 * ROUNDS,
	       2 * ROUNDS * BYTES, 2 * ROUNDS, 2 * ROUNDS * BYTES);
	printf("truth allocated managed %u %u\ntruth released managed %u %u\n", MANAGED,
	       MANAGED * BYTES, MANAGED, MANAGED * BYTES);
	return 0;
}
