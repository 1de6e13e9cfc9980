// SPDX-License-Identifier: MIT
/*
 * Where locks and their like were initialized: who finds no symbol at an address asks for that.
 *
 * The calls are left by a jump, as the others are: what is noted is the instruction behind the
 * call, at the address, in a table without order in which the younger of two that collide stays.
 */
#include "tracer/agent/waits/waits_hooks.h"

#ifdef __x86_64__

#define NOTE(name, parameters, arguments, object)                                                  \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		waits_made(object, WAITS_CALLER());                                                \
		return waits_next.name arguments;                                                  \
	}
// pthread_mutexattr_t, since glibc 2.3
#define ATTRIBUTE_SHARED UINT32_C(0x80000000)

EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
	if (unlikely(a && waits_word(a, 0) & ATTRIBUTE_SHARED))
		waits_share = true;
	waits_made(m, WAITS_CALLER());
	return waits_next.pthread_mutex_init(m, a);
}

NOTE(pthread_rwlock_init, (pthread_rwlock_t * l, const pthread_rwlockattr_t *a), (l, a), l)
NOTE(pthread_cond_init, (pthread_cond_t * c, const pthread_condattr_t *a), (c, a), c)
NOTE(pthread_barrier_init, (pthread_barrier_t * b, const pthread_barrierattr_t *a, unsigned n),
     (b, a, n), b)
NOTE(sem_init, (sem_t * s, int shared, unsigned value), (s, shared, value), s)

#endif
