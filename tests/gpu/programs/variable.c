// SPDX-License-Identifier: MIT
// A variable that is __managed__: a kernel uses it, and the host reads it, by turns.
#include "tests/gpu/programs/gpu_program.h"

#define BYTES  (2u << 20)
#define ROUNDS 301u
#define US     2000u

#ifdef __CUDACC__
__managed__ unsigned char table[BYTES];

extern "C" __global__ void count_us(unsigned int us)
{
	unsigned long long begin, now;

	table[threadIdx.x]++;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < us * 1000ull);
}

static volatile unsigned char *reach(void)
{
	return table;
}
#else
KERNEL(count_us)

// What nvcc makes of one. The section is all that tells of it before it is used.
#ifndef NO_SECTION
__attribute__((section("__nv_managed_data__")))
#endif
static volatile unsigned char *table;
static void **module;

__attribute__((constructor)) static void register_table(void)
{
	static void *image;

	module = __cudaRegisterFatBinary(&image);
	__cudaRegisterManagedVar(module, (void **)&table, NULL, "table", 0, BYTES, 0, 0);
}

static volatile unsigned char *reach(void)
{
	static char is_ready;

	if (!is_ready)
		is_ready = __cudaInitModule(module);
	return table;
}
#endif

int main(void)
{
	unsigned int all = 0, line = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		LAUNCH(count_us, US, NULL);
		CUDA(cudaDeviceSynchronize());
		line = __LINE__ + 1;
		all += reach()[i];
	}
	printf("truth kernel count_us %u %u\ntruth calls %u\ntruth sync context %u\n", ROUNDS,
	       ROUNDS * US, ROUNDS, ROUNDS);
	printf("truth allocated managed-static 1 %u\n", BYTES);
	printf("truth fault variable.c:%u %u %u\n", line, ROUNDS, ROUNDS * BYTES);
	return all == 1; // the sum is used
}
