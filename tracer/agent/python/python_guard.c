// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_guard.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BITS   12
#define LOWEST      ((uintptr_t)1 << 16) // vm.mmap_min_addr
#define HIGHEST     ((uintptr_t)1 << 47)
#define NO_SUCH_HOW (~0u)
#define MASK_BYTES  8 // of the kernel's signal set

// The kernel reads the mask first, and only then finds that it is to do nothing with it.
static bool page_is_readable(uintptr_t page)
{
	return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, page << PAGE_BITS, NULL, MASK_BYTES) < 0 &&
	       errno == EINVAL;
}

bool guard_works(void)
{
	static const uint64_t there[1];

	return page_is_readable((uintptr_t)there >> PAGE_BITS) && !page_is_readable(0);
}

bool guard_ask(struct guard *g, uintptr_t at, size_t size)
{
	if (at < LOWEST || at >= HIGHEST || size > HIGHEST - at)
		return false;
	for (uintptr_t page = at >> PAGE_BITS; page <= (at + size - 1) >> PAGE_BITS; page++) {
		uintptr_t *known = &g->pages[page % GUARD_PAGES];
		if (*known == page)
			continue;
		if (!page_is_readable(page))
			return false;
		*known = page;
	}
	return true;
}
