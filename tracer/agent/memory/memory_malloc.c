// SPDX-License-Identifier: MIT
// malloc() and its family. Each goes through a table of functions:
//
//	early      nothing is known yet: look, and go on with what has been found
//	plain      straight on to the next allocator in scope: libc's, or the program's own
//	counted    the same, and it is counted (memory.h), each call or in part
//
// reallocarray(), strdup() and their like are made of these. What the allocator calls within itself
// does not come by here.
#include "tracer/agent/agent.h"
#include "tracer/agent/memory/allocator.h"
#include "tracer/agent/memory/memory.h"
#include "tracer/agent/memory/memory_early.h"
#include "tracer/agent/memory/memory_hooks.h"
#include "tracer/agent/memory/memory_pages.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/late.h"
#include "tracer/agent/wrap/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static struct allocator calls;
static __thread bool looking __attribute__((tls_model("initial-exec")));
static struct agent *agent; // NULL: nothing is counted

// What was there before the allocator was known stays where it is.
static void *leave_early(void *p, size_t size)
{
	size_t had = memory_early_size(p);
	void *moved = size ? calls.malloc(size) : NULL;

	if (moved)
		memcpy(moved, p, had < size ? had : size);
	return moved;
}

static void plain_free(void *p)
{
	if (likely(!memory_early_owns(p)))
		allocator.free(p);
}

static void *plain_realloc(void *p, size_t size)
{
	return unlikely(memory_early_owns(p)) ? leave_early(p, size) : allocator.realloc(p, size);
}

static size_t plain_usable_size(void *p)
{
	return unlikely(memory_early_owns(p)) ? memory_early_size(p)
	                                      : allocator.malloc_usable_size(p);
}

// False while a look is under way in this thread.
static bool find(void)
{
	int error = errno;

	if (looking)
		return false;
	looking = true;
	bool found = allocator_find();
	looking = false;
	if (found) {
		struct allocator plain = allocator;
		if (memory_early_is_used()) { // mostly the look itself has allocated nothing
			plain.realloc = plain_realloc;
			plain.free = plain_free;
			plain.malloc_usable_size = plain_usable_size;
		}
		calls = plain;
	}
	errno = error;
	return found;
}

static void *early_malloc(size_t size)
{
	return find() ? calls.malloc(size) : memory_early_take(size, 1);
}

static void *early_calloc(size_t count, size_t size)
{
	if (find())
		return calls.calloc(count, size);
	return size && count > SIZE_MAX / size ? NULL : memory_early_take(count * size, 1);
}

static void *early_realloc(void *p, size_t size)
{
	if (find())
		return calls.realloc(p, size);
	void *moved = memory_early_take(size, 1);
	if (moved && p)
		memcpy(moved, p, memory_early_size(p) < size ? memory_early_size(p) : size);
	return moved;
}

static void early_free(void *p)
{
	if (find())
		calls.free(p);
}

static int early_posix_memalign(void **p, size_t alignment, size_t size)
{
	if (find())
		return calls.posix_memalign(p, alignment, size);
	*p = memory_early_take(size, alignment);
	return *p ? 0 : ENOMEM;
}

static void *early_aligned_alloc(size_t alignment, size_t size)
{
	return find() ? calls.aligned_alloc(alignment, size) : memory_early_take(size, alignment);
}

static void *early_memalign(size_t alignment, size_t size)
{
	return find() ? calls.memalign(alignment, size) : memory_early_take(size, alignment);
}

static void *early_valloc(size_t size)
{
	return find() ? calls.valloc(size) : memory_early_take(size, 4096);
}

static void *early_pvalloc(size_t size)
{
	return find() ? calls.pvalloc(size) : NULL;
}

static size_t early_usable_size(void *p)
{
	return find() ? calls.malloc_usable_size(p) : memory_early_size(p);
}

static struct allocator calls = {
	early_malloc,        early_calloc,   early_realloc, early_free,    early_posix_memalign,
	early_aligned_alloc, early_memalign, early_valloc,  early_pvalloc, early_usable_size,
};

static bool have_headers;

static inline size_t size_of(void *p)
{
	if (likely(have_headers && !(allocator_header(p) & ALLOCATOR_MAPPED)))
		return allocator_header_bytes(p);
	return allocator.malloc_usable_size(p);
}

/*
 * jemalloc's blocks of one size are alone in their pages, and what it makes of a request is what
 * nallocx() says, whatever has come before. Asking for the size of each block would cost as much
 * as what it does itself.
 */
#define CLASSED_BYTES ((size_t)4096)

static bool have_pages;
AGENT_LARGE static struct memory_pages pages;

static uint16_t classes[CLASSED_BYTES / 8 + 1]; // atomic: what requests get; 0: not known yet

// 0: unknown
static inline size_t class_of(size_t size)
{
	return size <= CLASSED_BYTES ? __atomic_load_n(&classes[(size + 7) / 8], __ATOMIC_RELAXED)
	                             : 0;
}

static inline size_t size_of_known(void *p)
{
	size_t bytes = have_pages ? memory_pages_find(&pages, p) : 0;

	return likely(bytes) ? bytes : size_of(p);
}

static inline void *count(void *p)
{
	if (unlikely(!p))
		return p;
	size_t bytes = size_of(p);
	if (have_pages)
		memory_pages_note(&pages, p, bytes);
	memory_allocated(p, bytes);
	return p;
}

// P, which was asked for with SIZE, has not passed.
static void *count_in_part(void *p, size_t size)
{
	if (likely(p))
		memory_allocated_in_part(p, size, size_of(p));
	return p;
}

// For all that is rare. Whoever asks to be aligned gets more than that, which is left to size_of().
static inline void *count_any(void *p)
{
	if (likely(!memory_is_in_part()))
		return count(p);
	size_t bytes = p ? size_of(p) : 0;
	return p && memory_passes(bytes) ? p : count_in_part(p, bytes);
}

static __attribute__((noinline)) void *count_unclassed(void *p, size_t size)
{
	size_t bytes = p && size <= CLASSED_BYTES ? allocator.malloc_usable_size(p) : 0;

	if (bytes && bytes <= UINT16_MAX)
		__atomic_store_n(&classes[(size + 7) / 8], (uint16_t)bytes, __ATOMIC_RELAXED);
	return count(p);
}

static inline void *count_classed(void *p, size_t size)
{
	size_t bytes = class_of(size);

	if (unlikely(!p || !bytes))
		return count_unclassed(p, size);
	memory_pages_note(&pages, p, bytes);
	return likely(memory_allocated_quickly(bytes)) ? p : count_unclassed(p, size);
}

static void *classed_malloc(size_t size)
{
	return count_classed(allocator.malloc(size), size);
}

static void *classed_calloc(size_t number, size_t size)
{
	return count_classed(allocator.calloc(number, size),
	                     number * size); // no overflow if there is p
}

static void *counted_malloc(size_t size)
{
	return count(allocator.malloc(size));
}

static void *counted_calloc(size_t number, size_t size)
{
	return count(allocator.calloc(number, size));
}

// If it fails, what stays is taken for freed: it was hit by chance alone.
static void *reallocate_in_part(void *p, size_t size)
{
	memory_freed_in_part(p, size_of(p));
	bool passes = memory_passes(size);
	void *moved = allocator.realloc(p, size);
	return passes ? moved : count_in_part(moved, size);
}

// A free and an allocation, wherever it comes to lie.
static void *counted_realloc(void *p, size_t size)
{
	if (!p)
		return count_any(allocator.realloc(p, size));
	if (unlikely(memory_early_owns(p)))
		return leave_early(p, size);
	if (memory_is_in_part())
		return reallocate_in_part(p, size);
	size_t before = size_of_known(p);
	memory_freed(p, before); // while it is not yet another's
	void *moved = allocator.realloc(p, size);
	if (!moved && size)
		memory_kept(before);
	return count(moved);
}

static void *classed_realloc(void *p, size_t size)
{
	size_t before = memory_pages_find(&pages, p);

	if (!p)
		return count_classed(allocator.realloc(p, size), size);
	if (unlikely(!before || !size || !memory_freed_quickly(p, before)))
		return counted_realloc(p, size);
	void *moved = allocator.realloc(p, size);
	if (unlikely(!moved))
		memory_kept(before);
	return count_classed(moved, size);
}

static void counted_free(void *p)
{
	if (unlikely(!p || memory_early_owns(p)))
		return;
	if (memory_is_in_part())
		memory_freed_in_part(p, size_of(p));
	else
		memory_freed(p, size_of_known(p));
	allocator.free(p);
}

static void classed_free(void *p)
{
	size_t bytes = memory_pages_find(&pages, p);

	if (likely(bytes && memory_freed_quickly(p, bytes)))
		allocator.free(p);
	else
		counted_free(p);
}

static int counted_posix_memalign(void **p, size_t alignment, size_t size)
{
	int result = allocator.posix_memalign(p, alignment, size);

	if (likely(result == 0))
		count_any(*p);
	return result;
}

static void *counted_aligned_alloc(size_t alignment, size_t size)
{
	return count_any(allocator.aligned_alloc(alignment, size));
}

static void *counted_memalign(size_t alignment, size_t size)
{
	return count_any(allocator.memalign(alignment, size));
}

static void *counted_valloc(size_t size)
{
	return count_any(allocator.valloc(size));
}

static void *counted_pvalloc(size_t size)
{
	return count_any(allocator.pvalloc(size));
}

static const struct allocator counted = {
	counted_malloc,         counted_calloc,        counted_realloc,  counted_free,
	counted_posix_memalign, counted_aligned_alloc, counted_memalign, counted_valloc,
	counted_pvalloc,        plain_usable_size,
};

void *memory_hooks_count(void *p)
{
	return count(p);
}

size_t memory_hooks_uncount(void *p)
{
	size_t bytes = p ? size_of_known(p) : 0;

	if (p)
		memory_freed(p, bytes);
	return bytes;
}

// What an allocator lacks comes from libc, as it would without us: jemalloc has no pvalloc().
static struct allocator counted_calls(void)
{
	struct allocator kin = counted;
	const void *own = (const void *)allocator.malloc;

	if (!memory_early_is_used())
		kin.malloc_usable_size = allocator.malloc_usable_size;
	// Nobody else has that. tcmalloc has nallocx(), but its realloc() leaves blocks too large.
	have_pages = !late_has_begun() && allocator_is_kin(own, dlsym(RTLD_NEXT, "xallocx"));
	if (have_pages) {
		kin.malloc = classed_malloc;
		kin.calloc = classed_calloc;
		kin.realloc = classed_realloc;
		kin.free = classed_free;
	}
	if (!allocator_is_kin(own, (const void *)allocator.posix_memalign))
		kin.posix_memalign = allocator.posix_memalign;
	if (!allocator_is_kin(own, (const void *)allocator.aligned_alloc))
		kin.aligned_alloc = allocator.aligned_alloc;
	if (!allocator_is_kin(own, (const void *)allocator.memalign))
		kin.memalign = allocator.memalign;
	if (!allocator_is_kin(own, (const void *)allocator.valloc))
		kin.valloc = allocator.valloc;
	if (!allocator_is_kin(own, (const void *)allocator.pvalloc))
		kin.pvalloc = allocator.pvalloc;
	return kin;
}

// Those of the allocator itself: what it has not got is another's.
static void add_late(void)
{
	late_add("malloc", (const void *)allocator.malloc);
	late_add("calloc", (const void *)allocator.calloc);
	late_add("realloc", (const void *)allocator.realloc);
	late_add("free", (const void *)allocator.free);
	late_add("posix_memalign", (const void *)allocator.posix_memalign);
	late_add("aligned_alloc", (const void *)allocator.aligned_alloc);
	late_add("memalign", (const void *)allocator.memalign);
	late_add("valloc", (const void *)allocator.valloc);
	if (allocator_is_kin((const void *)allocator.malloc, (const void *)allocator.pvalloc))
		late_add("pvalloc", (const void *)allocator.pvalloc);
}

static void start(struct agent *a)
{
	if (!a->config.malloc_bytes)
		return;
	if (calls.malloc == early_malloc && !find())
		return;
	const char *obstacle = allocator_obstacle();
	if (obstacle) {
		op_say(obstacle);
		return;
	}
	have_headers = allocator_has_headers();
	if (late_has_begun())
		memory_begin_again();
	memory_start(a);
	agent = a;
	calls = counted_calls();
	// What was there before the allocator was known would pass as the allocator's.
	if (have_headers && !memory_early_is_used())
		memory_way = MEMORY_DIRECTLY;
	if (!late_has_begun())
		memory_new_start((const void *)allocator.malloc);
	memory_mmap_start((const void *)allocator.malloc);
	add_late();
}

// Nothing is counted any more, whoever comes by.
static void idle(void)
{
	if (!agent)
		return;
	__atomic_store_n(&memory_way, MEMORY_BY_TABLE, __ATOMIC_RELAXED);
	calls = allocator;
	memory_mmap_stop();
}

/*
 * Nearly all calls are of glibc's malloc(), and have nothing to do but to count. They do not go by
 * the table, and leave to it what they find to be more, before anything is counted.
 */
static __attribute__((noinline)) void *count_slowly(void *p)
{
	return count(p);
}

static inline __attribute__((always_inline)) void *count_directly(void *p)
{
	if (likely(p && !(allocator_header(p) & ALLOCATOR_MAPPED) &&
	           memory_allocated_quickly(allocator_header_bytes(p))))
		return p;
	return count_slowly(p);
}

// Apart, or what passes would save registers for them.
static __attribute__((noinline)) void *malloc_slowly(size_t size)
{
	return memory_is_in_part() ? count_in_part(allocator.malloc(size), size)
	                           : calls.malloc(size);
}

static __attribute__((noinline)) void *calloc_slowly(size_t number, size_t size)
{
	return memory_is_in_part() ? count_in_part(allocator.calloc(number, size), number * size)
	                           : calls.calloc(number, size);
}

EXPORT void *malloc(size_t size)
{
	if (memory_get_way() == MEMORY_DIRECTLY)
		return count_directly(allocator.malloc(size));
	return likely(memory_passes(size)) ? allocator.malloc(size) : malloc_slowly(size);
}

// If the product overflows, there is no block.
EXPORT void *calloc(size_t number, size_t size)
{
	if (memory_get_way() == MEMORY_DIRECTLY)
		return count_directly(allocator.calloc(number, size));
	return likely(memory_passes(number * size)) ? allocator.calloc(number, size)
	                                            : calloc_slowly(number, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return calls.realloc(p, size);
}

EXPORT void free(void *p)
{
	uint8_t way = memory_get_way();
	bool done = way == MEMORY_IN_PART
	                    ? !memory_table_may_hold(&memory.sampled, (uintptr_t)p)
	                    : way == MEMORY_DIRECTLY && p &&
	                              !(allocator_header(p) & ALLOCATOR_MAPPED) &&
	                              memory_freed_quickly(p, allocator_header_bytes(p));

	if (likely(done))
		allocator.free(p);
	else
		calls.free(p);
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t size)
{
	return calls.posix_memalign(p, alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return calls.aligned_alloc(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return calls.memalign(alignment, size);
}

EXPORT void *valloc(size_t size)
{
	return calls.valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
	return calls.pvalloc(size);
}

EXPORT size_t malloc_usable_size(void *p)
{
	return calls.malloc_usable_size(p);
}

static void leave(void)
{
	// A vfork child leaves in its parent's memory.
	if (agent && agent->on && agent->pid == (uint32_t)getpid())
		memory_finish();
}

const struct agent_provider malloc_provider = {
	.start = start,
	.bind = memory_new_bind,
	.before_fork = memory_prepare_fork,
	.fork = memory_fork,
	.exit = leave,
	.end = memory_finish,
	.idle = idle,
};
