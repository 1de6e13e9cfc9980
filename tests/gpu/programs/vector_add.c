// SPDX-License-Identifier: MIT
// Two vectors to the GPU, one kernel, the sum back.
#include "tests/gpu/programs/gpu_program.h"

#define BYTES (4u << 20)

KERNEL(vector_add_us)

int main(void)
{
	void *a = malloc(BYTES), *b = malloc(BYTES), *sum = malloc(BYTES);
	void *gpu_a, *gpu_b, *gpu_sum;

	CUDA(cudaMalloc(&gpu_a, BYTES));
	CUDA(cudaMalloc(&gpu_b, BYTES));
	CUDA(cudaMalloc(&gpu_sum, BYTES));
	CUDA(cudaMemcpy(gpu_a, a, BYTES, CUDA_HOST_TO_DEVICE));
	CUDA(cudaMemcpy(gpu_b, b, BYTES, CUDA_HOST_TO_DEVICE));
	LAUNCH(vector_add_us, 300, 0);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(sum, gpu_sum, BYTES, CUDA_DEVICE_TO_HOST));
	CUDA(cudaFree(gpu_a));
	CUDA(cudaFree(gpu_b));
	CUDA(cudaFree(gpu_sum));
	printf("truth kernel vector_add_us 1 300\n"
	       "truth copy pageable device 2 %u\n"
	       "truth copy device pageable 1 %u\n"
	       "truth allocated device 3 %u\ntruth released device 3 %u\n"
	       "truth sync context 1\ntruth calls 1\n",
	       2 * BYTES, BYTES, 3 * BYTES, 3 * BYTES);
	return 0;
}
