// SPDX-License-Identifier: MIT
/*
 * C++'s new and delete, where they are an allocator's own, as jemalloc and tcmalloc have them:
 * else they are made of malloc(), which is counted.
 *
 * To stand in front of them in every process would be in the way of more than it is good for. So
 * only there, who would call them calls us: each reference is bound anew, in what was loaded at the
 * start and, as weak.c looks at it, later.
 */
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/memory/memory.h"
#include "tracer/agent/memory/memory_hooks.h"
#include "tracer/agent/wrap/wrap.h"

#include <dlfcn.h>
#include <string.h>

// All arguments there can be are passed on: size or block, alignment, nothrow, size.
typedef void *new_function(uintptr_t, uintptr_t, uintptr_t);
typedef void delete_function(void *, uintptr_t, uintptr_t);

#define NEWS(X)                                                                                    \
	X(0, "_Znwm")                                                                              \
	X(1, "_Znam")                                                                              \
	X(2, "_ZnwmRKSt9nothrow_t")                                                                \
	X(3, "_ZnamRKSt9nothrow_t")                                                                \
	X(4, "_ZnwmSt11align_val_t")                                                               \
	X(5, "_ZnamSt11align_val_t")                                                               \
	X(6, "_ZnwmSt11align_val_tRKSt9nothrow_t")                                                 \
	X(7, "_ZnamSt11align_val_tRKSt9nothrow_t")

#define DELETES(X)                                                                                 \
	X(8, "_ZdlPv")                                                                             \
	X(9, "_ZdaPv")                                                                             \
	X(10, "_ZdlPvm")                                                                           \
	X(11, "_ZdaPvm")                                                                           \
	X(12, "_ZdlPvRKSt9nothrow_t")                                                              \
	X(13, "_ZdaPvRKSt9nothrow_t")                                                              \
	X(14, "_ZdlPvSt11align_val_t")                                                             \
	X(15, "_ZdaPvSt11align_val_t")                                                             \
	X(16, "_ZdlPvmSt11align_val_t")                                                            \
	X(17, "_ZdaPvmSt11align_val_t")                                                            \
	X(18, "_ZdlPvSt11align_val_tRKSt9nothrow_t")                                               \
	X(19, "_ZdaPvSt11align_val_tRKSt9nothrow_t")

#define FUNCTIONS 20

static void *theirs[FUNCTIONS];
static const void *allocator; // whose they are; NULL: there is nothing to do

static uint64_t allocations(void)
{
	return op_memory ? op_memory->allocations : 0;
}

static uint64_t frees(void)
{
	return op_memory ? op_memory->frees : 0;
}

// Some of an allocator's are made of its malloc() after all, and are counted by then. An exception
// goes through these as through any frame.
#define NEW(index, name)                                                                           \
	static void *new_##index(uintptr_t size, uintptr_t a, uintptr_t b)                         \
	{                                                                                          \
		uint64_t before = allocations();                                                   \
		void *p = ((new_function *)theirs[index])(size, a, b);                             \
		return allocations() == before ? memory_hooks_count(p) : p;                        \
	}
NEWS(NEW)

// While it is not yet another's.
#define DELETE(index, name)                                                                        \
	static void delete_##index(void *p, uintptr_t a, uintptr_t b)                              \
	{                                                                                          \
		size_t bytes = memory_hooks_uncount(p);                                            \
		uint64_t before = frees();                                                         \
		((delete_function *)theirs[index])(p, a, b);                                       \
		if (__builtin_expect(bytes && frees() != before, 0))                               \
			memory_kept(bytes);                                                        \
	}
DELETES(DELETE)

#define NEW_ENTRY(index, name)    [index] = { name, (void *)new_##index },
#define DELETE_ENTRY(index, name) [index] = { name, (void *)delete_##index },

static const struct {
	const char *name;
	void *ours;
} functions[FUNCTIONS] = { NEWS(NEW_ENTRY) DELETES(DELETE_ENTRY) };

static int find(const char *name)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (theirs[i] && strcmp(functions[i].name, name) == 0)
			return i;
	return -1;
}

static bool is_wanted(void *context, const char *name)
{
	(void)context;
	return name[0] == '_' && name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd') &&
	       find(name) >= 0;
}

// What is bound already, and to another's, has its reasons. Before it is bound, a place leads to
// the object itself.
static void bind(void *context, const char *name, uint64_t *slot, bool lazy)
{
	struct dl_phdr_info *info = context;
	int i = find(name);

	(void)lazy;
	if (*slot == (uint64_t)(uintptr_t)theirs[i] || loaded_holds(info, *slot))
		loaded_bind(info, slot, (uint64_t)(uintptr_t)functions[i].ours);
}

static int find_theirs(struct dl_phdr_info *info, size_t size, void *of)
{
	struct loaded loaded;

	(void)size;
	if (!loaded_holds(info, (uintptr_t)of) || !loaded_of(info, &loaded))
		return 0;
	for (int i = 0; i < FUNCTIONS; i++)
		theirs[i] = loaded_define(&loaded, functions[i].name);
	return 1;
}

void memory_new_bind(struct dl_phdr_info *info, const struct loaded *object)
{
	if (allocator && !loaded_holds(info, (uintptr_t)allocator))
		loaded_references(info, object, is_wanted, bind, info);
}

static int bind_all(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded loaded;

	(void)size;
	(void)context;
	if (!loaded_holds(info, (uintptr_t)&find) && loaded_of(info, &loaded))
		memory_new_bind(info, &loaded);
	return 0;
}

void memory_new_start(const void *of)
{
	bool some = false;

	loader_each(find_theirs, (void *)of);
	// Where the program has its own, that is what is called.
	for (int i = 0; i < FUNCTIONS; i++) {
		if (theirs[i] && dlsym(RTLD_DEFAULT, functions[i].name) != theirs[i])
			theirs[i] = NULL;
		some |= theirs[i] != NULL;
	}
	if (!some)
		return;
	allocator = of;
	loader_each(bind_all, NULL);
}
