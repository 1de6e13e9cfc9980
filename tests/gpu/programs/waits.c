// SPDX-License-Identifier: MIT
// Two GPUs, or the only one twice, that wait for two threads: the first for each batch, the second
// for what its thread does before it has ever launched anything.
#include "tests/gpu/programs/gpu_program.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define BATCHES    15u
#define BATCH_MS   20u
#define WEIGHTS_MS 300u
#define US         2000u

// Dependent steps, all on one line.
#define STEPS(x, n)                                                                                \
	for (int i_ = 0; i_ < (n); i_++)                                                           \
	(x) = (x)*UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)

#define NOINLINE __attribute__((noinline))

KERNEL(train_us)

static volatile uint64_t batch, weights;
static int batch_line, weights_line, second;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static NOINLINE void prepare_batch(void)
{
	uint64_t end = cpu_ns() + BATCH_MS * UINT64_C(1000000), x = batch;

	do {
		batch_line = __LINE__ + 1;
		STEPS(x, 2000000);
		batch = x;
	} while (cpu_ns() < end);
}

static NOINLINE void load_weights(void)
{
	uint64_t end = cpu_ns() + WEIGHTS_MS * UINT64_C(1000000), x = weights;

	do {
		weights_line = __LINE__ + 1;
		STEPS(x, 2000000);
		weights = x;
	} while (cpu_ns() < end);
}

static void run_on(int device)
{
	CUDA(cudaSetDevice(device));
	LAUNCH(train_us, US, 0);
	CUDA(cudaDeviceSynchronize());
}

static void *train_first(void *unused)
{
	for (unsigned int i = 0; i < BATCHES; i++) {
		prepare_batch();
		run_on(0);
	}
	return unused;
}

static void *train_second(void *unused)
{
	load_weights();
	run_on(second);
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	int count;

	CUDA(cudaGetDeviceCount(&count));
	second = count > 1;
	run_on(0);
	run_on(second);
	if (pthread_create(&threads[0], NULL, train_first, NULL) ||
	    pthread_create(&threads[1], NULL, train_second, NULL))
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("truth kernel train_us %u %u\ntruth sync context %u\ntruth calls %u\n", BATCHES + 3,
	       (BATCHES + 3) * US, BATCHES + 3, BATCHES + 3);
	printf("truth line waits.c:%d %u\ntruth line waits.c:%d %u\n", batch_line,
	       BATCHES * BATCH_MS, weights_line, WEIGHTS_MS);
	return 0;
}
