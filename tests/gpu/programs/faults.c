// SPDX-License-Identifier: MIT
// Managed memory that host and device take from each other by page faults alone, at known lines:
// the host writes, and has memset() write, what a kernel reads then, and reads what that has
// written.
#include "tests/gpu/programs/gpu_program.h"

#include <string.h>

#define ROUNDS 24u
#define BYTES  (4u << 20)
#define US     1000u
#define PAGE   4096u

#ifdef __CUDACC__
extern "C" __global__ void touch_us(unsigned int us, const char *in, char *out, unsigned int bytes)
{
	unsigned long long begin, now;

	for (unsigned int at = threadIdx.x * PAGE; at < bytes; at += blockDim.x * PAGE)
		out[at] = in[at];
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < us * 1000ull);
}
#else
KERNEL(touch_us)
#endif

static unsigned int fill_line, sum_line, clear_line;

__attribute__((noinline)) static void fill(volatile unsigned char *memory, unsigned int round)
{
	for (unsigned int at = 0; at < BYTES; at += PAGE) {
		fill_line = __LINE__ + 1;
		memory[at] = (unsigned char)round;
	}
}

__attribute__((noinline)) static unsigned int sum(const volatile unsigned char *memory)
{
	unsigned int all = 0;

	for (unsigned int at = 0; at < BYTES; at += PAGE) {
		sum_line = __LINE__ + 1;
		all += memory[at];
	}
	return all;
}

__attribute__((noinline)) static void clear(unsigned char *memory)
{
	clear_line = __LINE__ + 1;
	memset(memory, 0, BYTES);
	__asm__ volatile("" : : "r"(memory) : "memory"); // no tail call, which would leave no line
}

static void run_kernel(void *in, void *out)
{
	dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };
	unsigned int us = US, bytes = BYTES;
	void *arguments[] = { &us, &in, &out, &bytes };

	CUDA(cudaLaunchKernel((const void *)touch_us, grid, block, arguments, 0, NULL));
	CUDA(cudaDeviceSynchronize());
}

int main(void)
{
	void *in, *out, *scratch;
	unsigned int all = 0;

	CUDA(cudaMallocManaged(&in, BYTES, 1));
	CUDA(cudaMallocManaged(&out, BYTES, 1));
	CUDA(cudaMallocManaged(&scratch, BYTES, 1));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		fill((unsigned char *)in, i);
		clear((unsigned char *)scratch);
		run_kernel(in, out);
		all += sum((unsigned char *)out);
	}
	CUDA(cudaFree(in));
	CUDA(cudaFree(out));
	CUDA(cudaFree(scratch));
	printf("truth kernel touch_us %u %u\ntruth calls %u\ntruth sync context %u\n", ROUNDS,
	       ROUNDS * US, ROUNDS, ROUNDS);
	printf("truth allocated managed 3 %u\ntruth released managed 3 %u\n", 3 * BYTES, 3 * BYTES);
	printf("truth fault faults.c:%u %u %u\n", sum_line, ROUNDS, ROUNDS * BYTES);
	printf("truth fault faults.c:%u %u %u\n", fill_line, ROUNDS - 1, (ROUNDS - 1) * BYTES);
	printf("truth fault faults.c:%u %u %u\n", clear_line, ROUNDS - 1, (ROUNDS - 1) * BYTES);
	return all == 1; // the sum is used
}
