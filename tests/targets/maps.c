// SPDX-License-Identifier: MIT
// Maps known bytes at known places, so large that each is sampled for certain, and not faster than
// samples are taken; and what is no memory.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB    ((size_t)1 << 20)
#define KEPT  10
#define BLOCK (8 * MB)

static void *kept[KEPT];

static __attribute__((noipa)) char *block(void *address, size_t bytes, int flags)
{
	char *p = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
	               -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	usleep(3000);
	return p;
}

static __attribute__((noipa)) void hold(void) // 80 MB
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = block(NULL, BLOCK, 0);
}

static __attribute__((noipa)) void churn(void) // 200 MB
{
	for (int i = 0; i < 50; i++)
		munmap(block(NULL, 4 * MB, 0), 4 * MB);
}

static __attribute__((noipa)) void trim(void) // 24 MB
{
	for (int i = 0; i < 3; i++) {
		char *p = block(NULL, BLOCK, 0);
		munmap(p, 2 * MB);
		munmap(p + 6 * MB, 2 * MB);
		munmap(p + 2 * MB, 4 * MB);
	}
}

static __attribute__((noipa)) void grow(void) // 4 MB, and 12
{
	char *p = block(NULL, 4 * MB, 0);

	if (mremap(p, 4 * MB, 1 << 30, 0) != MAP_FAILED)
		return; // there was room: the figures are others
	p = mremap(p, 4 * MB, 12 * MB, MREMAP_MAYMOVE);
	usleep(3000);
	munmap(p, 12 * MB);
}

static __attribute__((noipa)) void replace(void) // 8 MB in place of 8 MB
{
	kept[0] = block(kept[0], BLOCK, MAP_FIXED);
}

// Addresses, and little: nothing of it is counted.
static __attribute__((noipa)) void reserve(void)
{
	mmap(NULL, 1024 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(NULL, 1024 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	     -1, 0);
	mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap((void *)1, 4096);
}

int main(void)
{
	hold();
	churn();
	trim();
	grow();
	replace();
	reserve();
	return 0;
}
