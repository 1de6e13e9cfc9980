// SPDX-License-Identifier: MIT
#include "tracer/agent/loader.h"

#include "base/clock.h"
#include "tracer/agent/hold.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS   50
#define PATIENCE (YIELDS + 5000) // 500 ms and more

#define OWN      static __thread __attribute__((tls_model("initial-exec")))
OWN uint32_t depth;     // of the calling thread's walks
OWN uint32_t own_forks; // handlers of its fork that may walk

static uint32_t walking; // atomic: threads in a walk
static uint32_t forking; // atomic: threads in a fork
static bool started;
static bool given_up; // atomic: a walk did not end, or waiting is forbidden: nobody waits

// Not by libc's nanosleep(), where a thread may be cancelled.
static void give_way(int turn)
{
	struct timespec moment = { 0, 100 * NS_PER_US };

	if (turn < YIELDS)
		sched_yield();
	else
		syscall(SYS_nanosleep, &moment, NULL);
}

void loader_start(void)
{
	started = true;
}

void loader_enter(void)
{
	int error = errno;

	if (depth++ || own_forks)
		return;
	for (int i = 0;; i++) {
		__atomic_fetch_add(&walking, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST) || i >= PATIENCE ||
		    __atomic_load_n(&given_up, __ATOMIC_RELAXED))
			break;
		__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
		give_way(i);
	}
	errno = error;
}

void loader_leave(void)
{
	if (--depth || own_forks)
		return;
	__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
}

int loader_each(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
	struct hold held = { 0, false };

	loader_enter();
	// A handler's fork would leave the lock to a thread that the child has not got.
	if (started && !__atomic_load_n(&given_up, __ATOMIC_RELAXED))
		held = hold_signals();
	int result = dl_iterate_phdr(visit, context);
	hold_end(held);
	loader_leave();
	return result;
}

void loader_before_fork(void)
{
	// A fork within a walk of the same thread does not wait for itself.
	uint32_t own = depth && !own_forks;

	own_forks++;
	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(&walking, __ATOMIC_SEQ_CST) > own; i++) {
		if (__atomic_load_n(&given_up, __ATOMIC_RELAXED))
			break;
		if (i >= PATIENCE)
			__atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
		give_way(i);
	}
}

void loader_after_fork(void)
{
	own_forks--;
	__atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}

void loader_fork(void)
{
	own_forks = 0;
	forking = 0;
	walking = depth ? 1 : 0; // other threads are not there
}

void loader_hush(void)
{
	__atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
}
