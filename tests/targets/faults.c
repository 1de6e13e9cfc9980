// SPDX-License-Identifier: MIT
// Touches fresh memory page by page: the kernel's time belongs to the line that touches.
#include "truth.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#define BYTES ((size_t)32 << 20)
#define PAGE  4096

static int at_work;

static NOINLINE void touch(volatile char *memory)
{
	for (size_t i = 0; i < BYTES; i += PAGE)
		memory[i] = 1;
}

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(25);

	for (int round = truth_rounds(); round > 0; round--) {
		for (int i = 0; i < 4; i++) {
			char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (memory == MAP_FAILED)
				return 1;
			madvise(memory, BYTES, MADV_NOHUGEPAGE);
			TRUTH("total", "touch", 0, touch(memory));
			munmap(memory, BYTES);
		}
		TRUTH("self", "work", at_work, work(n));
	}
	truth_print();
	return 0;
}
