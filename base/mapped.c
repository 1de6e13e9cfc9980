// SPDX-License-Identifier: MIT
#include "base/mapped.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE         ((uintptr_t)4096)
#define CHUNK_RANGES 128

// What the handler looks at; all fields are atomic.
struct mapped_range {
	int taken;
	int shrank;
	uintptr_t start; // 0: nothing; set last, cleared first
	uintptr_t end;
};

// Chunks stay, as a handler may be looking at them.
struct chunk {
	struct chunk *next; // atomic
	struct mapped_range ranges[CHUNK_RANGES];
};

static struct chunk first_chunk;
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static struct sigaction before;

// False if ADDRESS is not in RANGE. The pages from there on become zeros.
static bool mend(struct mapped_range *range, uintptr_t address)
{
	uintptr_t start = __atomic_load_n(&range->start, __ATOMIC_ACQUIRE);
	uintptr_t end = __atomic_load_n(&range->end, __ATOMIC_ACQUIRE);
	uintptr_t page = address & ~(PAGE - 1);

	// Asked twice, as it may have become another's in between.
	if (!start || address < start || address >= end ||
	    __atomic_load_n(&range->start, __ATOMIC_ACQUIRE) != start)
		return false;
	__atomic_store_n(&range->shrank, 1, __ATOMIC_RELEASE);
	return mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool mend_any(uintptr_t address)
{
	for (struct chunk *chunk = &first_chunk; chunk;
	     chunk = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE))
		for (size_t i = 0; i < CHUNK_RANGES; i++)
			if (mend(&chunk->ranges[i], address))
				return true;
	return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int error = errno;

	(void)context;
	if (info->si_code <= 0 || !mend_any((uintptr_t)info->si_addr)) {
		// Not ours: it happens again on the way back, or was sent and is sent on.
		sigaction(number, &before, NULL);
		if (info->si_code <= 0)
			raise(number);
	}
	errno = error;
}

static void install(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error,
		                    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	sigaction(SIGBUS, &action, &before);
}

static bool take(struct mapped_range *range)
{
	int idle = 0;

	return __atomic_compare_exchange_n(&range->taken, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                   __ATOMIC_RELAXED);
}

// The chunk behind CHUNK, made if need be. NULL if there is no memory.
static struct chunk *next_chunk(struct chunk *chunk)
{
	struct chunk *next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
	struct chunk *made = next ? NULL : calloc(1, sizeof(*made));

	if (next || !made)
		return next;
	if (__atomic_compare_exchange_n(&chunk->next, &next, made, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		return made;
	free(made); // another thread was faster
	return next;
}

static struct mapped_range *take_range(void)
{
	for (struct chunk *chunk = &first_chunk; chunk; chunk = next_chunk(chunk))
		for (size_t i = 0; i < CHUNK_RANGES; i++)
			if (take(&chunk->ranges[i]))
				return &chunk->ranges[i];
	return NULL;
}

static void give_range(struct mapped_range *range)
{
	__atomic_store_n(&range->start, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&range->shrank, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&range->taken, 0, __ATOMIC_RELEASE);
}

int mapped_open(struct mapped *m, int fd, size_t size, enum mapped_mode mode, struct error *err)
{
	bool shared = mode == MAPPED_SHARED;

	pthread_once(&installed, install);
	struct mapped_range *range = take_range();
	if (!range)
		return error_set(err, ENOMEM, "could not map the file");
	void *data = mmap(NULL, size, shared ? PROT_READ | PROT_WRITE : PROT_READ,
	                  shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		give_range(range);
		return error_set(err, errno, "could not map the file");
	}
	*m = (struct mapped){ data, size, range };
	// The handler mends whole pages.
	__atomic_store_n(&range->end, ((uintptr_t)data + size + PAGE - 1) & ~(PAGE - 1),
	                 __ATOMIC_RELEASE);
	__atomic_store_n(&range->start, (uintptr_t)data, __ATOMIC_RELEASE);
	return 0;
}

void mapped_close(struct mapped *m)
{
	if (!m->data)
		return;
	give_range(m->range);
	munmap(m->data, m->size);
	memset(m, 0, sizeof(*m));
}

bool mapped_shrank(const struct mapped *m)
{
	return m->range && __atomic_load_n(&m->range->shrank, __ATOMIC_ACQUIRE);
}
