// SPDX-License-Identifier: MIT
#include "tracer/agent/op/chain.h"

#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void note(const char *theirs, const char *path)
{
	struct op_thread *t = op_enter();
	char text[512];

	if (!t)
		return;
	snprintf(text, sizeof(text), "could not load \"%s\", the %s", path, theirs);
	op_note(t, text);
	op_leave(t);
}

void *chain_open(enum op_provider provider)
{
	const struct provider *p = provider_get(provider);
	const char *path = getenv(p->chain);
	int error = errno;

	if (!path || !*path)
		return NULL;
	void *library = loader_open(path, RTLD_LAZY); // as they would be by their own loader
	if (!library)
		note(p->injection, path);
	errno = error;
	return library;
}

void *chain_find(void *library, const char *name, const void *ours)
{
	void *found = library ? dlsym(library, name) : NULL;

	return found == ours ? NULL : found;
}

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void chain_lock(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pid_t owner; // atomic: the process whose mutex it is
	pid_t known = __atomic_load_n(&owner, __ATOMIC_ACQUIRE), pid = getpid();

	if (known != pid &&
	    __atomic_compare_exchange_n(&owner, &known, pid, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_RELAXED) &&
	    known)
		mutex = fresh;
	pthread_mutex_lock(&mutex);
}

void chain_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}
