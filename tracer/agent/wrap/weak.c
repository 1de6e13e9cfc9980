// SPDX-License-Identifier: MIT
/*
 * Weak references to routines that no library has.
 *
 * A program may ask so whether there is a BLAS at all: the address is NULL if not. With the agent
 * it would be a stub's. What was loaded at the start has all its references bound when constructors
 * run, and is given the NULL that it would have got without us; a library that comes later does not
 * change that, nor would it have. What is loaded later is looked at when a symbol is next looked up
 * with dlsym(), before it can be called by that.
 */
#include "tracer/agent/wrap/wrap.h"

#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"

#include <errno.h>

#ifdef __x86_64__

// NOLINTNEXTLINE(bugprone-reserved-identifier): the names are the linker's
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static const void *stub_called(const char *name)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };
	const void *ours = loaded_define(&us, name);

	return ours && detour_is_stub(ours) ? ours : NULL;
}

// The loader is not asked: its lock for lists of objects is held here, before that for loading.
static bool is_missing(void *context, const char *name)
{
	(void)context;
	return stub_called(name) && !definition_behind_us(name);
}

static void unbind(void *context, uint64_t *slot, uint64_t value)
{
	if (detour_is_stub((const void *)(uintptr_t)*slot))
		loaded_bind(context, slot, value);
}

static struct {
	bool begun;
	uint64_t adds, subs; // atomic: what the loader had counted at the last look
	uint32_t seen;       // atomic: objects, in its order
} last;

struct look {
	uint64_t adds, subs;
	uint32_t from, count;
};

static int count(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;

	(void)size;
	look->adds = info->dlpi_adds;
	look->subs = info->dlpi_subs;
	return 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;
	struct loaded loaded;

	(void)size;
	if (look->count++ < look->from || loaded_holds(info, (uintptr_t)&visit) ||
	    !loaded_of(info, &loaded))
		return 0;
	loaded_weak(&loaded, is_missing, unbind, info);
	providers_bind(info, &loaded);
	return 0;
}

static void visit_new(void)
{
	struct look look = { 0 };
	int error = errno;

	loader_each(count, &look);
	bool same = __atomic_load_n(&last.subs, __ATOMIC_RELAXED) == look.subs;
	if (last.begun && same && __atomic_load_n(&last.adds, __ATOMIC_RELAXED) == look.adds)
		return;
	// New ones come last; where some have gone, nobody knows which is where.
	look.from = same ? __atomic_load_n(&last.seen, __ATOMIC_RELAXED) : 0;
	loader_each(visit, &look);
	__atomic_store_n(&last.seen, look.count, __ATOMIC_RELAXED);
	__atomic_store_n(&last.subs, look.subs, __ATOMIC_RELAXED);
	__atomic_store_n(&last.adds, look.adds, __ATOMIC_RELAXED);
	last.begun = true;
	errno = error;
}

void wrap_look_at_weak(void)
{
	struct loader_lock lock;

	if (!last.begun || !loader_lock_soon(&lock))
		return;
	visit_new();
	loader_unlock(&lock);
}

__attribute__((constructor)) static void unbind_weak(void)
{
	if (!wrap_is_late()) // else nobody is bound to us
		visit_new();
}

#endif
