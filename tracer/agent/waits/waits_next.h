/* SPDX-License-Identifier: MIT */
/*
 * The functions that waits_hooks.c, waits_sync.c, waits_signals.c, waits_files.c and
 * waits_children.c stand in front of: those that would be called without us, found when the first
 * of them is called.
 *
 * Each pointer leads at first to a function that looks; where nobody has the function, that answers
 * as a C library does which has none.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

/* X(name, by which other name libc has it, or NULL, what a call gives if nobody has it, parameters,
   arguments); each returns an int */
// clang-format off
#define WAITS_FUNCTIONS(X)                                                                         \
	X(pthread_mutex_lock, __pthread_mutex_lock, 0, (pthread_mutex_t *m), (m))                                   \
	X(pthread_mutex_trylock, __pthread_mutex_trylock, 0, (pthread_mutex_t *m), (m))                                \
	X(pthread_mutex_unlock, __pthread_mutex_unlock, 0, (pthread_mutex_t *m), (m))                                 \
	X(pthread_mutex_timedlock, NULL, ENOSYS, (pthread_mutex_t *m, const struct timespec *t),    \
	  (m, t))                                                                                  \
	X(pthread_mutex_clocklock, NULL, EINVAL,                                                    \
	  (pthread_mutex_t *m, clockid_t c, const struct timespec *t), (m, c, t))                  \
	X(pthread_rwlock_rdlock, NULL, 0, (pthread_rwlock_t *l), (l))                               \
	X(pthread_rwlock_wrlock, NULL, 0, (pthread_rwlock_t *l), (l))                               \
	X(pthread_rwlock_trywrlock, NULL, 0, (pthread_rwlock_t *l), (l))                            \
	X(pthread_rwlock_unlock, NULL, 0, (pthread_rwlock_t *l), (l))                               \
	X(pthread_rwlock_timedrdlock, NULL, ENOSYS,                                                 \
	  (pthread_rwlock_t *l, const struct timespec *t), (l, t))                                 \
	X(pthread_rwlock_timedwrlock, NULL, ENOSYS,                                                 \
	  (pthread_rwlock_t *l, const struct timespec *t), (l, t))                                 \
	X(pthread_rwlock_clockrdlock, NULL, EINVAL,                                                 \
	  (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), (l, c, t))                 \
	X(pthread_rwlock_clockwrlock, NULL, EINVAL,                                                 \
	  (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), (l, c, t))                 \
	X(pthread_cond_wait, NULL, ENOSYS, (pthread_cond_t *c, pthread_mutex_t *m), (c, m))         \
	X(pthread_cond_timedwait, NULL, ENOSYS,                                                     \
	  (pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t), (c, m, t))            \
	X(pthread_cond_clockwait, NULL, EINVAL,                                                     \
	  (pthread_cond_t *c, pthread_mutex_t *m, clockid_t k, const struct timespec *t),          \
	  (c, m, k, t))                                                                            \
	X(pthread_cond_signal, NULL, 0, (pthread_cond_t *c), (c))                                   \
	X(pthread_cond_broadcast, NULL, 0, (pthread_cond_t *c), (c))                                \
	X(sem_wait, NULL, waits_no_call(), (sem_t *s), (s))                                    \
	X(sem_timedwait, NULL, waits_no_call(), (sem_t *s, const struct timespec *t), (s, t))  \
	X(sem_clockwait, NULL, waits_no_call(),                                                \
	  (sem_t *s, clockid_t c, const struct timespec *t), (s, c, t))                            \
	X(sem_post, NULL, waits_no_call(), (sem_t *s), (s))                                    \
	X(pthread_barrier_wait, NULL, ENOSYS, (pthread_barrier_t *b), (b))                          \
	X(pthread_join, NULL, ENOSYS, (pthread_t t, void **r), (t, r))                              \
	X(pthread_timedjoin_np, NULL, ENOSYS, (pthread_t t, void **r, const struct timespec *a),    \
	  (t, r, a))                                                                               \
	X(pthread_clockjoin_np, NULL, EINVAL,                                                       \
	  (pthread_t t, void **r, clockid_t c, const struct timespec *a), (t, r, c, a))            \
	X(pthread_once, NULL, waits_once(o, f), (pthread_once_t *o, void (*f)(void)), (o, f))       \
	X(pthread_spin_lock, NULL, ENOSYS, (pthread_spinlock_t *s), (s))                            \
	X(pthread_spin_trylock, NULL, ENOSYS, (pthread_spinlock_t *s), (s))                         \
	X(pthread_spin_unlock, NULL, ENOSYS, (pthread_spinlock_t *s), (s))                          \
	X(pthread_mutex_init, __pthread_mutex_init, ENOSYS,                                         \
	  (pthread_mutex_t *m, const pthread_mutexattr_t *a), (m, a))                              \
	X(pthread_rwlock_init, __pthread_rwlock_init, ENOSYS,                                       \
	  (pthread_rwlock_t *l, const pthread_rwlockattr_t *a), (l, a))                            \
	X(pthread_cond_init, NULL, ENOSYS, (pthread_cond_t *c, const pthread_condattr_t *a),        \
	  (c, a))                                                                                  \
	X(pthread_barrier_init, NULL, ENOSYS,                                                       \
	  (pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n), (b, a, n))           \
	X(sem_init, NULL, waits_no_call(), (sem_t *s, int shared, unsigned value),             \
	  (s, shared, value))                                                                      \
	X(kill, NULL, waits_no_call(), (pid_t to, int number), (to, number))                      \
	X(sigqueue, NULL, waits_no_call(), (pid_t to, int number, union sigval value),            \
	  (to, number, value))                                                                     \
	X(tgkill, NULL, (int)syscall(SYS_tgkill, process, to, number),                              \
	  (pid_t process, pid_t to, int number), (process, to, number))                            \
	X(pthread_kill, NULL, ENOSYS, (pthread_t to, int number), (to, number))                     \
	X(pthread_sigqueue, NULL, ENOSYS, (pthread_t to, int number, union sigval value),           \
	  (to, number, value))                                                                     \
	X(pidfd_send_signal, NULL, (int)syscall(SYS_pidfd_send_signal, to, number, info, flags),    \
	  (int to, int number, siginfo_t *info, unsigned flags), (to, number, info, flags))        \
	X(fsync, NULL, waits_no_call(), (int fd), (fd))                                             \
	X(fdatasync, NULL, waits_no_call(), (int fd), (fd))                                         \
	X(syncfs, NULL, waits_no_call(), (int fd), (fd))                                            \
	X(sync_file_range, NULL, waits_no_call(),                                                   \
	  (int fd, off64_t from, off64_t bytes, unsigned flags), (fd, from, bytes, flags))          \
	X(msync, NULL, waits_no_call(), (void *address, size_t bytes, int flags),                   \
	  (address, bytes, flags))                                                                 \
	X(wait, NULL, waits_no_call(), (int *status), (status))                                     \
	X(waitpid, NULL, waits_no_call(), (pid_t child, int *status, int options),                  \
	  (child, status, options))                                                                \
	X(wait3, NULL, waits_no_call(), (int *status, int options, struct rusage *usage),           \
	  (status, options, usage))                                                                \
	X(wait4, NULL, waits_no_call(),                                                             \
	  (pid_t child, int *status, int options, struct rusage *usage),                           \
	  (child, status, options, usage))                                                         \
	X(waitid, NULL, waits_no_call(), (idtype_t which, id_t child, siginfo_t *info, int options),\
	  (which, child, info, options))
// clang-format on

struct waits_next {
#define MEMBER(name, early, missing, parameters, arguments) int(*name) parameters;
	WAITS_FUNCTIONS(MEMBER)
#undef MEMBER
};

extern struct waits_next waits_next;

/* Finds all of them. Keeps errno. */
void waits_next_find(void);

/* Those that were found are stood in front of, where the agent has been loaded late: late_add(). */
void waits_next_add(void);
