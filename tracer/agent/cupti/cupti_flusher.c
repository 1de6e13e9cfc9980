// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_flusher.h"

#include "base/clock.h"
#include "tracer/agent/wrap/wrap.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS (10 * NS_PER_MS)

enum stage {
	NONE, // there is no thread
	RUNNING,
	ENDING, // the last flush is wanted
	ENDED
};

static uint32_t stage; // atomic: enum stage; a futex
static void (*flush)(bool last);
static uint64_t period_ns;

// Until STAGE is not EXPECTED any more, or LIMIT_NS have passed.
static void wait_while(uint32_t expected, uint64_t limit_ns)
{
	struct timespec limit = { (time_t)(limit_ns / NS_PER_SEC), (long)(limit_ns % NS_PER_SEC) };

	syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, expected, &limit, NULL, 0);
}

static void enter(uint32_t next)
{
	__atomic_store_n(&stage, next, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &stage, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static uint32_t current(void)
{
	return __atomic_load_n(&stage, __ATOMIC_SEQ_CST);
}

static void *run(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, PROTOCOL_OWN_THREAD);
	while (current() == RUNNING) {
		wait_while(RUNNING, period_ns);
		if (current() == RUNNING)
			flush(false);
	}
	flush(true);
	enter(ENDED);
	return NULL;
}

// Faults are never to be blocked; nor is SIGTRAP, by which a process samples itself.
static void block_signals(sigset_t *before)
{
	static const int open[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		sigdelset(&all, open[i]);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

bool cupti_flusher_start(void (*wanted)(bool last), uint64_t wanted_period_ns)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static void *next_create;
	create *make = (create *)wrap_next(&next_create, "pthread_create");
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t before;

	if (current() == RUNNING || pthread_attr_init(&attributes) != 0)
		return current() == RUNNING;
	flush = wanted;
	period_ns = wanted_period_ns;
	enter(RUNNING);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	block_signals(&before);
	bool made = make && make(&thread, &attributes, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (!made)
		enter(NONE);
	return made;
}

bool cupti_flusher_finish(uint64_t (*progress)(void), uint64_t limit_ns, uint64_t longest_ns)
{
	uint64_t now = clock_now_ns(), last = now + longest_ns, until = now + limit_ns;
	uint64_t done = progress();
	uint32_t running = RUNNING;
	int error = errno;

	if (__atomic_compare_exchange_n(&stage, &running, ENDING, false, __ATOMIC_SEQ_CST,
	                                __ATOMIC_SEQ_CST))
		enter(ENDING); // wakes it
	for (; current() == ENDING && now < until && now < last; now = clock_now_ns()) {
		wait_while(ENDING, LOOK_NS);
		if (progress() != done)
			until = clock_now_ns() + limit_ns;
		done = progress();
	}
	errno = error;
	return current() != ENDING;
}

void cupti_flusher_fork(void)
{
	stage = NONE;
}
