// SPDX-License-Identifier: MIT
/*
 * Condition variables, semaphores, barriers, joins, and what is done once.
 *
 * Where a thread is cancelled in one of these, or its function throws, the stack is unwound through
 * ours: nothing is to be undone there but the counter of who waits, see waits.h.
 */
#include "tracer/agent/waits/waits_hooks.h"

#ifdef __x86_64__

#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE   __attribute__((noinline))

#define THREAD_TID 720 // in struct pthread, since glibc 2.4
#define ONCE_DONE  2   // pthread_once_t: when all is done

// struct pthread_barrier, since glibc 2.25: how many have ever arrived, and how many make a round.
// Before, 8 and 12 were how many are missing and how many make a round.
#define BARRIER_IN    0
#define BARRIER_COUNT 8
#define BARRIER_OLD   12

static bool have_tids, have_rounds;

void waits_find_fields(void)
{
	pthread_barrier_t barrier;

	have_rounds = waits_next.pthread_barrier_init(&barrier, NULL, 3) == 0 &&
	              waits_word(&barrier, BARRIER_IN) == 0 &&
	              waits_word(&barrier, BARRIER_COUNT) == 3 &&
	              waits_word(&barrier, BARRIER_OLD) != 3;
	have_tids = waits_word((const void *)pthread_self(), THREAD_TID) ==
	            (uint32_t)syscall(SYS_gettid);
}

uint32_t waits_tid_of(pthread_t thread)
{
	return have_tids ? waits_thread(waits_word((const void *)thread, THREAD_TID)) : 0;
}

static uint16_t flags_of(int result)
{
	return result == ETIMEDOUT ? HELD_TIMED_OUT : 0;
}

// The lock is taken again within the call: for that nobody else is charged but who has woken it.
#define CONDITION(name, parameters, arguments)                                                     \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct wait wait;                                                                  \
		if (waits_are_ours(WAITS_CALLER()) || !waits_begin(&wait, HELD_CONDITION, c))      \
			return waits_next.name arguments;                                          \
		waits_unlock_in_wait(m);                                                           \
		int result = waits_next.name arguments;                                            \
		waits_end(&wait, flags_of(result), false);                                         \
		waits_lock_in_wait(m, result);                                                     \
		return result;                                                                     \
	}
CONDITION(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
CONDITION(pthread_cond_timedwait,
          (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *t), (c, m, t))
CONDITION(pthread_cond_clockwait,
          (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, const struct timespec *t),
          (c, m, k, t))

static NOINLINE int signal_waiter(pthread_cond_t *c)
{
	waits_wake(c);
	return waits_next.pthread_cond_signal(c);
}

EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
	if (likely(!waits_watched(c)))
		return waits_next.pthread_cond_signal(c);
	return signal_waiter(c);
}

static NOINLINE int wake_waiters(pthread_cond_t *c)
{
	waits_wake(c);
	return waits_next.pthread_cond_broadcast(c);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
	if (likely(!waits_watched(c)))
		return waits_next.pthread_cond_broadcast(c);
	return wake_waiters(c);
}

// The count of a semaphore is its first word.
static inline WAITS_FAST bool has_count(const sem_t *s)
{
	return waits_word(s, 0) != 0;
}

// struct new_sem of glibc since 2.21: the number of waiters, and whether processes share it.
#define SEMAPHORE_WAITERS 4
#define SEMAPHORE_SHARED  8
#define IS_SHARED         128u

static inline WAITS_FAST bool is_shared(const sem_t *s)
{
	return waits_word(s, SEMAPHORE_SHARED) == IS_SHARED;
}

static uint16_t flags_of_semaphore(const sem_t *s, int result)
{
	uint16_t shared = is_shared(s) ? HELD_SHARED : 0;

	if (result == 0)
		return shared;
	return shared | (errno == ETIMEDOUT ? HELD_TIMED_OUT
	                 : errno == EINTR   ? HELD_INTERRUPTED
	                                    : 0);
}

#define SEMAPHORE_SLOWLY(name, parameters, arguments)                                              \
	static NOINLINE int name##_slowly parameters                                               \
	{                                                                                          \
		struct wait wait;                                                                  \
		if (waits_are_ours(caller) || !waits_begin(&wait, HELD_SEMAPHORE, s))              \
			return waits_next.name arguments;                                          \
		int result = waits_next.name arguments;                                            \
		waits_end(&wait, flags_of_semaphore(s, result), false);                            \
		return result;                                                                     \
	}
SEMAPHORE_SLOWLY(sem_wait, (sem_t * s, const void *caller), (s))
SEMAPHORE_SLOWLY(sem_timedwait, (sem_t * s, const struct timespec *t, const void *caller), (s, t))
SEMAPHORE_SLOWLY(sem_clockwait,
                 (sem_t * s, clockid_t c, const struct timespec *t, const void *caller), (s, c, t))

EXPORT int sem_wait(sem_t *s)
{
	return likely(has_count(s)) ? waits_next.sem_wait(s) : sem_wait_slowly(s, WAITS_CALLER());
}

EXPORT int sem_timedwait(sem_t *s, const struct timespec *t)
{
	return likely(has_count(s)) ? waits_next.sem_timedwait(s, t)
	                            : sem_timedwait_slowly(s, t, WAITS_CALLER());
}

EXPORT int sem_clockwait(sem_t *s, clockid_t c, const struct timespec *t)
{
	return likely(has_count(s)) ? waits_next.sem_clockwait(s, c, t)
	                            : sem_clockwait_slowly(s, c, t, WAITS_CALLER());
}

static inline WAITS_FAST bool others_wait(const sem_t *s)
{
	return waits_word(s, SEMAPHORE_WAITERS) && is_shared(s);
}

static NOINLINE int post_waiter(sem_t *s)
{
	if (waits_watched(s))
		waits_wake(s);
	if (others_wait(s))
		waits_post(s, HELD_SEMAPHORE);
	return waits_next.sem_post(s);
}

EXPORT int sem_post(sem_t *s)
{
	if (likely(!waits_watched(s) && !others_wait(s)))
		return waits_next.sem_post(s);
	return post_waiter(s);
}

static uint32_t missing_at(const pthread_barrier_t *b)
{
	uint32_t count = waits_word(b, BARRIER_COUNT);

	return have_rounds && count ? count - 1 - waits_word(b, BARRIER_IN) % count : WAITS_MANY;
}

// The last to arrive lets all go, and waits for nobody: if it lacks a CPU within, as those that it
// wakes have it, that is no wait for them.
EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct wait wait;

	if (waits_watched(b))
		waits_wake(b);
	if (missing_at(b) == 0 || !waits_begin(&wait, HELD_BARRIER, b))
		return waits_next.pthread_barrier_wait(b);
	wait.missing = missing_at(b);
	int result = waits_next.pthread_barrier_wait(b);
	waits_end(&wait, 0, false);
	return result;
}

// That of a thread which has ended is 0.
#define JOIN(name, parameters, arguments)                                                          \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct wait wait;                                                                  \
		if (!waits_begin(&wait, HELD_JOIN, (const void *)t))                               \
			return waits_next.name arguments;                                          \
		wait.owner = waits_tid_of(t);                                                      \
		int result = waits_next.name arguments;                                            \
		waits_end(&wait, flags_of(result), false);                                         \
		return result;                                                                     \
	}
JOIN(pthread_join, (pthread_t t, void **r), (t, r))
JOIN(pthread_timedjoin_np, (pthread_t t, void **r, const struct timespec *a), (t, r, a))
JOIN(pthread_clockjoin_np, (pthread_t t, void **r, clockid_t c, const struct timespec *a),
     (t, r, c, a))

// Who finds that nothing has begun does it, and may wait for others within: that is no wait for
// this. What it does is known to those who come meanwhile.
static NOINLINE int once_slowly(pthread_once_t *o, void (*f)(void))
{
	struct wait wait;

	if (*(volatile pthread_once_t *)o == PTHREAD_ONCE_INIT) {
		waits_owns(o);
		return waits_next.pthread_once(o, f);
	}
	if (!waits_begin(&wait, HELD_ONCE, o))
		return waits_next.pthread_once(o, f);
	wait.owner = waits_owner(o);
	int result = waits_next.pthread_once(o, f);
	waits_end(&wait, 0, false);
	return result;
}

EXPORT int pthread_once(pthread_once_t *o, void (*f)(void))
{
	if (likely(__atomic_load_n(o, __ATOMIC_RELAXED) == ONCE_DONE))
		return waits_next.pthread_once(o, f);
	return once_slowly(o, f);
}

#endif
