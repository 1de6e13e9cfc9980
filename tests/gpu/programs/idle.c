// SPDX-License-Identifier: MIT
// The GPU waits while the CPU prepares each batch, on one known line. BATCHES says how many.
#include "tests/gpu/programs/gpu_program.h"

#include <stdint.h>
#include <time.h>

#define CPU_MS 20u
#define US     2000u

// Dependent steps, all on one line.
#define STEPS(x, n)                                                                                \
	for (int i_ = 0; i_ < (n); i_++)                                                           \
	(x) = (x)*UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)

KERNEL(train_us)

static volatile uint64_t sink;
static int prepare_line;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void prepare_batch(void)
{
	uint64_t end = cpu_ns() + CPU_MS * UINT64_C(1000000), x = sink;

	do {
		prepare_line = __LINE__ + 1;
		STEPS(x, 100000);
		sink = x;
	} while (cpu_ns() < end);
}

int main(void)
{
	unsigned int batches = setting("BATCHES", 50);

	for (unsigned int i = 0; i < batches; i++) {
		prepare_batch();
		LAUNCH(train_us, US, 0);
		CUDA(cudaDeviceSynchronize());
	}
	printf("truth kernel train_us %u %u\ntruth sync context %u\ntruth calls %u\n", batches,
	       batches * US, batches, batches);
	printf("truth line idle.c:%d %u\n", prepare_line, batches * CPU_MS);
	return 0;
}
