// SPDX-License-Identifier: MIT
#include "tracer/agent/waits/waits_next.h"

#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/wrap/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

// Headers before Linux 5.1 do not have it.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

// Who looks for a symbol may allocate, and the program's own malloc() may lock: these are in libc
// by other names, too.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
extern int __pthread_mutex_lock(pthread_mutex_t *m) __attribute__((weak));
extern int __pthread_mutex_trylock(pthread_mutex_t *m) __attribute__((weak));
extern int __pthread_mutex_unlock(pthread_mutex_t *m) __attribute__((weak));
extern int __pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
	__attribute__((weak));
extern int __pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a)
	__attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)

static __thread bool looking __attribute__((tls_model("initial-exec")));

static int waits_no_call(void)
{
	errno = ENOSYS;
	return -1;
}

// Without libpthread there is but one thread.
static int waits_once(pthread_once_t *control, void (*function)(void))
{
	if (*control == PTHREAD_ONCE_INIT) {
		*control = 2; // what glibc has there when all is done
		function();
	}
	return 0;
}

struct pair {
	uintptr_t one, other;
	bool same;
};

static int hold_both(struct dl_phdr_info *info, size_t size, void *context)
{
	struct pair *pair = context;

	(void)size;
	if (!loaded_holds(info, pair->one))
		return 0;
	pair->same = loaded_holds(info, pair->other);
	return 1;
}

/*
 * Condition variables changed in glibc 2.3.2, and up to 2.35 RTLD_NEXT finds the old functions. Who
 * asks for the version would pass over another library in front of libc, which has none.
 */
static void *newer(const char *name, void *found)
{
	void *versioned = found && dlvsym ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
	struct pair pair = { (uintptr_t)found, (uintptr_t)versioned, false };

	if (!versioned || versioned == found)
		return found;
	loader_each(hold_both, &pair);
	return pair.same ? versioned : found;
}

// The others are newer than that: to ask for an old one would leave an error to the program's
// dlerror(), in memory that counts as its own.
static bool has_older(const char *name)
{
	static const char prefix[] = "pthread_cond_";

	for (int i = 0; prefix[i]; i++)
		if (name[i] != prefix[i])
			return false;
	return name[sizeof(prefix) - 1] != 'c'; // pthread_cond_clockwait()
}

static void *find(const char *name)
{
	int error = errno;
	bool was = looking;

	if (late_has_begun())
		return late_find(name);
	looking = true;
	loader_enter();
	void *found = dlsym(RTLD_NEXT, name);
	if (has_older(name))
		found = newer(name, found);
	loader_leave();
	looking = was;
	errno = error;
	return found;
}

// Each stands in its place until the function has been found.
#define FINDER(name, early, missing, parameters, arguments)                                        \
	static int find_##name parameters                                                          \
	{                                                                                          \
		typedef int function parameters;                                                   \
		function *found = looking ? (function *)(early) : NULL;                            \
		if (!found) {                                                                      \
			found = (function *)find(#name);                                           \
			if (!found)                                                                \
				return missing;                                                    \
			__atomic_store_n(&waits_next.name, found, __ATOMIC_RELAXED);               \
		}                                                                                  \
		return found arguments;                                                            \
	}
WAITS_FUNCTIONS(FINDER)

#define INITIAL(name, early, missing, parameters, arguments) .name = find_##name,
struct waits_next waits_next = { WAITS_FUNCTIONS(INITIAL) };

void waits_next_find(void)
{
	void *found;

#define FIND(name, early, missing, parameters, arguments)                                          \
	found = waits_next.name == find_##name ? find(#name) : NULL;                               \
	if (found)                                                                                 \
		__atomic_store_n(&waits_next.name, (int(*) parameters)found, __ATOMIC_RELAXED);
	WAITS_FUNCTIONS(FIND)
}

void waits_next_add(void)
{
#define ADD(name, early, missing, parameters, arguments)                                           \
	if (waits_next.name != find_##name)                                                        \
		late_add(#name, (const void *)waits_next.name);
	WAITS_FUNCTIONS(ADD)
}
