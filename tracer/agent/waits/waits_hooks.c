// SPDX-License-Identifier: MIT
// Mutexes, rwlocks and spinlocks.
#include "tracer/agent/waits/waits_hooks.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/provider.h"

#include <linux/futex.h>

#ifdef __x86_64__

#define NOINLINE __attribute__((noinline))

// struct __pthread_mutex_s
#define MUTEX_COUNT 4
#define MUTEX_OWNER 8
#define MUTEX_KIND  16
#define KIND_TYPE   3 // recursive, errorcheck, adaptive
#define KIND_ROBUST 16
#define KIND_PI     32
#define KIND_PP     64 // its lock word is never 0: left alone
#define KIND_SHARED 128

// struct __pthread_rwlock_arch_t, since glibc 2.25: but for its lowest bits the first field is the
// number of readers, the second is 0 where no writer has it or wants it.
#define RWLOCK_WRITERS 4
#define RWLOCK_PHASE   8 // what the last ones were
#define WRITE_PHASE    1u
#define RWLOCK_WRITER  24
#define RWLOCK_FLAGS   7u

// NOLINTNEXTLINE(bugprone-reserved-identifier): the names are the linker's
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool waits_are_ours(const void *caller)
{
	return (uintptr_t)caller - (uintptr_t)__ehdr_start <
	       (uintptr_t)etext - (uintptr_t)__ehdr_start;
}

static uint16_t flags_of(int result)
{
	return result == ETIMEDOUT ? HELD_TIMED_OUT : 0;
}

static bool has_lock(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

static uint32_t kind_of(const pthread_mutex_t *m)
{
	return waits_word(m, MUTEX_KIND);
}

// Where priority is inherited, the lock word is the owner's tid, which the kernel writes at once
// when it hands the lock on.
static uint32_t owner_of(const pthread_mutex_t *m)
{
	uint32_t owner = waits_thread(waits_word(m, MUTEX_OWNER));

	return owner || !(kind_of(m) & KIND_PI) ? owner : waits_word(m, 0) & FUTEX_TID_MASK;
}

// It is not written where the lock is, but right behind.
static uint32_t owner_in_time(const pthread_mutex_t *m)
{
	uint32_t owner = owner_of(m);

	for (int i = 0; !owner && i < 100 && waits_word(m, 0); i++) {
		__builtin_ia32_pause();
		owner = owner_of(m);
	}
	return owner;
}

static uint16_t shared_flag(const pthread_mutex_t *m)
{
	if (!(kind_of(m) & KIND_SHARED))
		return 0;
	waits_share = true;
	return HELD_SHARED;
}

// By its owner: to read the lock word takes 3 ns more, as it has just been written by an
// instruction that locks the bus. Between the two a wait may begin that nobody hears of.
static inline WAITS_FAST bool is_mutex_free(const pthread_mutex_t *m)
{
	return !(waits_word(m, MUTEX_OWNER) | waits_waiters(m));
}

// Whether the calling thread cannot wait for another one here: it has it, or that is not to be
// told.
static bool is_left_alone(const pthread_mutex_t *m, const void *caller)
{
	return !waits_are_told() || kind_of(m) & KIND_PP || owner_of(m) == waits_tid() ||
	       waits_are_ours(caller);
}

// Nobody has it, but others are about to be woken: one of them, or this one. Only for mutexes whose
// trylock does what their lock does.
static bool take_free(pthread_mutex_t *m)
{
	if (kind_of(m) & ~(uint32_t)KIND_SHARED || waits_word(m, 0) ||
	    waits_next.pthread_mutex_trylock(m) != 0)
		return false;
	waits_took(m);
	return true;
}

#define LOCK_SLOWLY(name, parameters, arguments)                                                   \
	static NOINLINE int name##_slowly parameters                                               \
	{                                                                                          \
		struct wait wait;                                                                  \
		if (is_left_alone(m, caller))                                                      \
			return waits_next.name arguments;                                          \
		if (take_free(m))                                                                  \
			return 0;                                                                  \
		if (!waits_begin(&wait, HELD_MUTEX, m))                                            \
			return waits_next.name arguments;                                          \
		wait.owner = owner_in_time(m);                                                     \
		int result = waits_next.name arguments;                                            \
		waits_end(&wait, flags_of(result) | shared_flag(m), has_lock(result));             \
		return result;                                                                     \
	}
LOCK_SLOWLY(pthread_mutex_lock, (pthread_mutex_t * m, const void *caller), (m))
LOCK_SLOWLY(pthread_mutex_timedlock,
            (pthread_mutex_t * m, const struct timespec *t, const void *caller), (m, t))
LOCK_SLOWLY(pthread_mutex_clocklock,
            (pthread_mutex_t * m, clockid_t c, const struct timespec *t, const void *caller),
            (m, c, t))

EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (likely(is_mutex_free(m)))
		return waits_next.pthread_mutex_lock(m);
	return pthread_mutex_lock_slowly(m, WAITS_CALLER());
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	if (likely(is_mutex_free(m)))
		return waits_next.pthread_mutex_timedlock(m, t);
	return pthread_mutex_timedlock_slowly(m, t, WAITS_CALLER());
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t c, const struct timespec *t)
{
	if (likely(is_mutex_free(m)))
		return waits_next.pthread_mutex_clocklock(m, c, t);
	return pthread_mutex_clocklock_slowly(m, c, t, WAITS_CALLER());
}

static NOINLINE int trylock_watched(pthread_mutex_t *m)
{
	int result = waits_next.pthread_mutex_trylock(m);

	if (has_lock(result))
		waits_took(m);
	return result;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (likely(!waits_watched(m)))
		return waits_next.pthread_mutex_trylock(m);
	return trylock_watched(m);
}

// Whether this unlock is going to let go of it. Plain ones need not be the caller's.
static bool lets_go(const pthread_mutex_t *m)
{
	uint32_t kind = kind_of(m);

	if (!waits_are_told() || kind & KIND_PP)
		return false;
	if (!(kind & (KIND_TYPE | KIND_ROBUST | KIND_PI)))
		return true;
	return owner_of(m) == waits_tid() && ((kind & KIND_TYPE) != PTHREAD_MUTEX_RECURSIVE_NP ||
	                                      waits_word(m, MUTEX_COUNT) == 1);
}

// Whether others wait for it, of any process: the lock word says so.
static bool is_wanted(const pthread_mutex_t *m)
{
	uint32_t word = waits_word(m, 0);

	return kind_of(m) & (KIND_PI | KIND_ROBUST) ? word & FUTEX_WAITERS : word > 1;
}

static NOINLINE int unlock_watched(pthread_mutex_t *m)
{
	bool go = lets_go(m), wanted = is_wanted(m);

	if (go && waits_watched(m))
		waits_release(m, wanted);
	if (go && wanted && kind_of(m) & KIND_SHARED)
		waits_post(m, HELD_MUTEX);
	return waits_next.pthread_mutex_unlock(m);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (likely(!(waits_waiters(m) | waits_share)))
		return waits_next.pthread_mutex_unlock(m);
	return unlock_watched(m);
}

void waits_unlock_in_wait(pthread_mutex_t *m)
{
	if (unlikely(waits_watched(m)) && lets_go(m))
		waits_release(m, is_wanted(m));
}

void waits_lock_in_wait(pthread_mutex_t *m, int result)
{
	if (unlikely(waits_watched(m)) &&
	    (result == 0 || result == ETIMEDOUT || result == EOWNERDEAD))
		waits_took(m);
}

static uint32_t writer_of(const pthread_rwlock_t *l)
{
	return waits_thread(waits_word(l, RWLOCK_WRITER));
}

static inline WAITS_FAST bool has_no_writer(const pthread_rwlock_t *l)
{
	return !(waits_word(l, RWLOCK_WRITER) | waits_waiters(l));
}

// Where writers had it last there are no readers; else their number is read, which is dear (see
// above). Before glibc 2.25 their number is where writers are counted since, and a 1 says nothing.
static inline WAITS_FAST bool is_unused(const pthread_rwlock_t *l)
{
	uint32_t others =
		waits_word(l, RWLOCK_WRITER) | waits_word(l, RWLOCK_WRITERS) | waits_waiters(l);

	if (likely(!(others | (waits_word(l, RWLOCK_PHASE) ^ WRITE_PHASE))))
		return true;
	return !(others | (waits_word(l, 0) & ~RWLOCK_FLAGS));
}

#define RWLOCK_SLOWLY(name, as_writer, parameters, arguments)                                      \
	static NOINLINE int name##_slowly parameters                                               \
	{                                                                                          \
		struct wait wait;                                                                  \
		if (waits_are_ours(caller) || !waits_begin(&wait, HELD_RWLOCK, l))                 \
			return waits_next.name arguments;                                          \
		wait.owner = writer_of(l);                                                         \
		int result = waits_next.name arguments;                                            \
		waits_end(&wait, flags_of(result), result == 0 && (as_writer));                    \
		return result;                                                                     \
	}

#define TIMED_PARAMETERS pthread_rwlock_t *l, const struct timespec *t
#define CLOCK_PARAMETERS pthread_rwlock_t *l, clockid_t c, const struct timespec *t
RWLOCK_SLOWLY(pthread_rwlock_rdlock, false, (pthread_rwlock_t * l, const void *caller), (l))
RWLOCK_SLOWLY(pthread_rwlock_wrlock, true, (pthread_rwlock_t * l, const void *caller), (l))
RWLOCK_SLOWLY(pthread_rwlock_timedrdlock, false, (TIMED_PARAMETERS, const void *caller), (l, t))
RWLOCK_SLOWLY(pthread_rwlock_timedwrlock, true, (TIMED_PARAMETERS, const void *caller), (l, t))
RWLOCK_SLOWLY(pthread_rwlock_clockrdlock, false, (CLOCK_PARAMETERS, const void *caller), (l, c, t))
RWLOCK_SLOWLY(pthread_rwlock_clockwrlock, true, (CLOCK_PARAMETERS, const void *caller), (l, c, t))

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (likely(has_no_writer(l)))
		return waits_next.pthread_rwlock_rdlock(l);
	return pthread_rwlock_rdlock_slowly(l, WAITS_CALLER());
}

EXPORT int pthread_rwlock_timedrdlock(TIMED_PARAMETERS)
{
	if (likely(has_no_writer(l)))
		return waits_next.pthread_rwlock_timedrdlock(l, t);
	return pthread_rwlock_timedrdlock_slowly(l, t, WAITS_CALLER());
}

EXPORT int pthread_rwlock_clockrdlock(CLOCK_PARAMETERS)
{
	if (likely(has_no_writer(l)))
		return waits_next.pthread_rwlock_clockrdlock(l, c, t);
	return pthread_rwlock_clockrdlock_slowly(l, c, t, WAITS_CALLER());
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (likely(is_unused(l)))
		return waits_next.pthread_rwlock_wrlock(l);
	return pthread_rwlock_wrlock_slowly(l, WAITS_CALLER());
}

EXPORT int pthread_rwlock_timedwrlock(TIMED_PARAMETERS)
{
	if (likely(is_unused(l)))
		return waits_next.pthread_rwlock_timedwrlock(l, t);
	return pthread_rwlock_timedwrlock_slowly(l, t, WAITS_CALLER());
}

EXPORT int pthread_rwlock_clockwrlock(CLOCK_PARAMETERS)
{
	if (likely(is_unused(l)))
		return waits_next.pthread_rwlock_clockwrlock(l, c, t);
	return pthread_rwlock_clockwrlock_slowly(l, c, t, WAITS_CALLER());
}

static NOINLINE int trywrlock_watched(pthread_rwlock_t *l)
{
	int result = waits_next.pthread_rwlock_trywrlock(l);

	if (result == 0)
		waits_took(l);
	return result;
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	if (likely(!waits_watched(l)))
		return waits_next.pthread_rwlock_trywrlock(l);
	return trywrlock_watched(l);
}

static NOINLINE int unlock_rwlock_watched(pthread_rwlock_t *l)
{
	if (writer_of(l) == waits_tid())
		waits_release(l, true);
	else
		waits_wake(l);
	return waits_next.pthread_rwlock_unlock(l);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (likely(!waits_watched(l)))
		return waits_next.pthread_rwlock_unlock(l);
	return unlock_rwlock_watched(l);
}

// A spinlock that is free holds a 1. Who has it is known from what is noted alone.
static NOINLINE int spin_slowly(pthread_spinlock_t *s, const void *caller)
{
	struct wait wait;

	if (waits_are_ours(caller) || !waits_begin(&wait, HELD_SPIN, s))
		return waits_next.pthread_spin_lock(s);
	int result = waits_next.pthread_spin_lock(s);
	waits_end(&wait, 0, result == 0);
	return result;
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *s)
{
	if (likely(waits_word(s, 0) == 1 && !waits_watched(s)))
		return waits_next.pthread_spin_lock(s);
	return spin_slowly(s, WAITS_CALLER());
}

static NOINLINE int tryspin_watched(pthread_spinlock_t *s)
{
	int result = waits_next.pthread_spin_trylock(s);

	if (result == 0)
		waits_took(s);
	return result;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *s)
{
	if (likely(!waits_watched(s)))
		return waits_next.pthread_spin_trylock(s);
	return tryspin_watched(s);
}

static NOINLINE int unlock_spin_watched(pthread_spinlock_t *s)
{
	waits_release(s, waits_waiters(s));
	return waits_next.pthread_spin_unlock(s);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *s)
{
	if (likely(!waits_watched(s)))
		return waits_next.pthread_spin_unlock(s);
	return unlock_spin_watched(s);
}

static void start(struct agent *a)
{
	waits_next_find();
	if (!a->config.waits)
		return;
	waits_find_fields();
	waits_start(a);
	wrap_hear_signals(waits_sent);
	waits_next_add();
}

const struct agent_provider waits_provider = {
	.start = start,
	.fork = waits_fork,
	.end = waits_finish,
};

#else

const struct agent_provider waits_provider = { 0 };

#endif
