// SPDX-License-Identifier: MIT
/*
 * Weak references to routines that no library has.
 *
 * A program may ask so whether there is a BLAS at all: the address is NULL if not. With the agent
 * it would be a stub's. What was loaded at the start has all its references bound when constructors
 * run, and is given the NULL that it would have got without us; a library that comes later does not
 * change that, nor would it have. Objects that are loaded later keep the stub.
 */
#include "tracer/agent/definition.h"
#include "tracer/agent/detour.h"
#include "tracer/agent/loaded.h"

#ifdef __x86_64__

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static const void *stub_called(const char *name)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };
	const void *ours = loaded_define(&us, name);

	return ours && detour_is_stub(ours) ? ours : NULL;
}

static bool is_missing(void *context, const char *name)
{
	(void)context;
	return stub_called(name) && !definition_find(name, 0);
}

static void unbind(void *context, uint64_t *slot, uint64_t value)
{
	if (detour_is_stub((const void *)(uintptr_t)*slot))
		loaded_bind(context, slot, value);
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded loaded;

	(void)size;
	(void)context;
	if (!loaded_holds(info, (uintptr_t)&visit) && loaded_of(info, &loaded))
		loaded_weak(&loaded, is_missing, unbind, info);
	return 0;
}

__attribute__((constructor)) static void unbind_weak(void)
{
	dl_iterate_phdr(visit, NULL);
}

#endif
