// SPDX-License-Identifier: MIT
// Every GPU that there is at work at once, and a copy from each to the next.
#include "tests/gpu/programs/gpu_program.h"

#define DEVICES_MAX 16
#define KERNELS     10u
#define US          500u
#define BYTES       (1u << 20)

KERNEL(each_us)

int main(void)
{
	void *memory[DEVICES_MAX];
	int count;

	CUDA(cudaGetDeviceCount(&count));
	if (count > DEVICES_MAX)
		count = DEVICES_MAX;
	for (int d = 0; d < count; d++) {
		CUDA(cudaSetDevice(d));
		CUDA(cudaMalloc(&memory[d], BYTES));
		for (unsigned int i = 0; i < KERNELS; i++)
			LAUNCH(each_us, US, 0);
	}
	for (int d = 0; d + 1 < count; d++) {
		CUDA(cudaSetDevice(d));
		CUDA(cudaMemcpyPeer(memory[d + 1], d + 1, memory[d], d, BYTES));
	}
	for (int d = 0; d < count; d++) {
		CUDA(cudaSetDevice(d));
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaFree(memory[d]));
	}
	unsigned int n = (unsigned int)count;
	printf("truth kernel each_us %u %u\n", n * KERNELS, n * KERNELS * US);
	if (n > 1)
		printf("truth copy peer peer %u %u\n", n - 1, (n - 1) * BYTES);
	printf("truth allocated device %u %u\ntruth released device %u %u\n", n, n * BYTES, n,
	       n * BYTES);
	printf("truth sync context %u\ntruth calls %u\n", n, n * KERNELS);
	return 0;
}
