// SPDX-License-Identifier: MIT
#include "tracer/agent/chain.h"

#include "tracer/agent/op.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

void *chain_open(const char *variable, const char *theirs)
{
	const char *path = getenv(variable);
	int error = errno;

	if (!path || !*path)
		return NULL;
	void *library = dlopen(path, RTLD_LAZY); // as they would be by their own loader
	if (!library)
		note(theirs, path);
	errno = error;
	return library;
}

void *chain_find(void *library, const char *name, const void *ours)
{
	void *found = library ? dlsym(library, name) : NULL;

	return found == ours ? NULL : found;
}
