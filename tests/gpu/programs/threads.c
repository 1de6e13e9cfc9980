// SPDX-License-Identifier: MIT
// Threads that come and go, each with a default stream of its own.
#include "tests/gpu/programs/gpu_program.h"

#include <pthread.h>

#define ROUNDS  3u
#define THREADS 4u
#define KERNELS 100u
#define US      50u
#define BYTES   4096u

KERNEL(own_us)

static void *work(void *unused)
{
	void *memory;

	CUDA(cudaMalloc(&memory, BYTES));
	for (unsigned int i = 0; i < KERNELS; i++)
		LAUNCH(own_us, US, CUDA_STREAM_PER_THREAD);
	CUDA(cudaStreamSynchronize(CUDA_STREAM_PER_THREAD));
	CUDA(cudaFree(memory));
	return unused;
}

int main(void)
{
	unsigned int all = ROUNDS * THREADS;
	pthread_t threads[THREADS];

	for (unsigned int r = 0; r < ROUNDS; r++) {
		for (unsigned int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, work, NULL))
				return 1;
		for (unsigned int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	printf("truth kernel own_us %u %u\ntruth calls %u\n", all * KERNELS, all * KERNELS * US,
	       all * KERNELS);
	printf("truth allocated device %u %u\ntruth released device %u %u\n", all, all * BYTES, all,
	       all * BYTES);
	printf("truth sync stream %u\n", all);
	return 0;
}
