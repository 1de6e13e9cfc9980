// SPDX-License-Identifier: MIT
// Copies both ways: pageable, pinned, and pinned while the CPU goes on; sets; within the GPU.
#include "tests/gpu/programs/gpu_program.h"

#define BYTES  (1u << 20)
#define ROUNDS 20u

static void copy_both_ways(void *gpu, void *host)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		CUDA(cudaMemcpy(gpu, host, BYTES, CUDA_HOST_TO_DEVICE));
		CUDA(cudaMemcpy(host, gpu, BYTES, CUDA_DEVICE_TO_HOST));
	}
}

static void copy_async(void *gpu, void *host, cudaStream_t stream)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		CUDA(cudaMemcpyAsync(gpu, host, BYTES, CUDA_HOST_TO_DEVICE, stream));
		CUDA(cudaMemcpyAsync(host, gpu, BYTES, CUDA_DEVICE_TO_HOST, stream));
	}
	CUDA(cudaStreamSynchronize(stream));
}

int main(void)
{
	void *pageable = malloc(BYTES), *pinned, *gpu, *other;
	cudaStream_t stream;

	CUDA(cudaMallocHost(&pinned, BYTES));
	CUDA(cudaMalloc(&gpu, BYTES));
	CUDA(cudaMalloc(&other, BYTES));
	CUDA(cudaStreamCreateWithFlags(&stream, CUDA_STREAM_NON_BLOCKING));
	copy_both_ways(gpu, pageable);
	copy_both_ways(gpu, pinned);
	copy_async(gpu, pinned, stream);
	copy_async(gpu, pageable, stream);
	CUDA(cudaMemset(gpu, 0, BYTES));
	CUDA(cudaMemsetAsync(other, 1, BYTES, stream));
	CUDA(cudaMemcpy(other, gpu, BYTES, CUDA_DEVICE_TO_DEVICE));
	CUDA(cudaStreamDestroy(stream));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaFree(gpu));
	CUDA(cudaFree(other));
	CUDA(cudaFreeHost(pinned));
	printf("truth copy pageable device %u %u\ntruth copy device pageable %u %u\n", 2 * ROUNDS,
	       2 * ROUNDS * BYTES, 2 * ROUNDS, 2 * ROUNDS * BYTES);
	printf("truth copy pinned device %u %u\ntruth copy device pinned %u %u\n", 2 * ROUNDS,
	       2 * ROUNDS * BYTES, 2 * ROUNDS, 2 * ROUNDS * BYTES);
	printf("truth copy device device 1 %u\ntruth set 2 %u\n", BYTES, 2 * BYTES);
	printf("truth allocated device 2 %u\ntruth released device 2 %u\n", 2 * BYTES, 2 * BYTES);
	printf("truth allocated pinned 1 %u\ntruth released pinned 1 %u\n", BYTES, BYTES);
	printf("truth sync stream 2\ntruth sync context 1\ntruth calls 0\n");
	return 0;
}
