// SPDX-License-Identifier: MIT
// mmap() and its like, as far as a program takes memory by them that no allocator hands out: large
// mappings of nothing that may be written to. Reserved addresses (PROT_NONE, MAP_NORESERVE) and
// stacks are not memory yet. What the allocator itself maps is counted where it hands it out.
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/memory/memory.h"
#include "tracer/agent/memory/memory_hooks.h"
#include "tracer/agent/memory/memory_maps.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/late.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAST     ((size_t)128 << 10) // where glibc's malloc() begins to map
#define PAGE      ((uintptr_t)4096)
#define up(bytes) (((bytes) + PAGE - 1) & ~(PAGE - 1))
#define RESERVED  (MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN)
#define HERE()    ((uintptr_t)__builtin_return_address(0))
#define OBJECTS   2

typedef void *map_function(void *, size_t, int, int, int, off_t);
typedef int unmap_function(void *, size_t);
typedef void *remap_function(void *, size_t, size_t, int, void *);

static map_function *next_mmap;
static unmap_function *next_munmap;
static remap_function *next_mremap;
static bool counting;
AGENT_LARGE static struct memory_maps maps;

// Who maps for himself: the allocator, and we.
static struct loaded_span objects[OBJECTS];

// Before anything is known: there may be no dlsym() in the middle of an allocator.
static long system_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result = number;

	__asm__ volatile("syscall"
	                 : "+a"(result)
	                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static bool is_counted(size_t length, int protection, int flags, uintptr_t caller)
{
	if (!counting || length < LEAST || !(protection & PROT_WRITE) || !(flags & MAP_ANONYMOUS) ||
	    flags & RESERVED)
		return false;
	for (int i = 0; i < OBJECTS; i++)
		if (caller - objects[i].start < objects[i].end - objects[i].start)
			return false;
	return true;
}

// What is known of [P, P + BYTES) is the program's no more. Returns how much that was.
static size_t give(const void *p, size_t bytes)
{
	uintptr_t start = (uintptr_t)p;
	struct memory_piece piece;
	size_t given = 0;

	while (memory_maps_take(&maps, start, start + up(bytes), &piece)) {
		if (piece.last)
			memory_freed((const void *)piece.block, piece.bytes);
		else
			memory_shrunk(piece.bytes);
		given += piece.bytes;
	}
	return given;
}

// What was there before went without our being told.
static void take(const void *p, size_t bytes)
{
	uintptr_t start = (uintptr_t)p;

	give(p, bytes);
	if (memory_maps_add(&maps, start, start + up(bytes)))
		memory_allocated(p, up(bytes));
}

static inline __attribute__((always_inline)) void *
map(void *address, size_t length, int protection, int flags, int fd, off_t offset, uintptr_t caller)
{
	if (counting && flags & MAP_FIXED)
		give(address, length);
	void *p = next_mmap ? next_mmap(address, length, protection, flags, fd, offset)
	                    : (void *)system_call(SYS_mmap, (long)address, (long)length, protection,
	                                          flags, fd, offset);
	if (p != MAP_FAILED && is_counted(length, protection, flags, caller))
		take(p, length);
	return p;
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	return map(address, length, protection, flags, fd, offset, HERE());
}

EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	return map(address, length, protection, flags, fd, offset, HERE());
}

// It fails where the addresses cannot be any, or the kernel has no room for more mappings.
EXPORT int munmap(void *p, size_t length)
{
	if (counting && (uintptr_t)p % PAGE == 0)
		give(p, length);
	return next_munmap ? next_munmap(p, length)
	                   : (int)system_call(SYS_munmap, (long)p, (long)length, 0, 0, 0, 0);
}

// A new mapping for an old one, wherever it comes to lie, as with realloc().
EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	va_list list;

	va_start(list, flags);
	void *to = va_arg(list, void *); // what is there if nothing was given is not looked at
	va_end(list);
	size_t given = counting && old_length ? give(old, old_length) : 0;
	void *p = next_mremap ? next_mremap(old, old_length, length, flags, to)
	                      : (void *)system_call(SYS_mremap, (long)old, (long)old_length,
	                                            (long)length, flags, (long)to, 0);
	if (given && p != MAP_FAILED)
		take(p, length);
	else if (given && memory_maps_add(&maps, (uintptr_t)old, (uintptr_t)old + up(old_length)))
		memory_kept(given);
	return p;
}

struct search {
	uintptr_t address;
	struct loaded_span *found;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;

	(void)size;
	if (!loaded_holds(info, search->address))
		return 0;
	*search->found = loaded_span(info);
	return 1;
}

void memory_mmap_start(const void *allocator)
{
	static void *map_place, *unmap_place, *remap_place;
	struct search theirs = { (uintptr_t)allocator, &objects[0] };
	struct search ours = { (uintptr_t)&visit, &objects[1] };

	loader_each(visit, &theirs);
	loader_each(visit, &ours);
	next_mmap = (map_function *)wrap_next(&map_place, "mmap");
	next_munmap = (unmap_function *)wrap_next(&unmap_place, "munmap");
	next_mremap = (remap_function *)wrap_next(&remap_place, "mremap");
	maps.count = 0; // what was there the last time may be gone
	counting = objects[0].end && objects[1].end;
	if (!counting)
		return;
	late_add("mmap", (const void *)next_mmap);
	late_add("mmap64", (const void *)next_mmap);
	late_add("munmap", (const void *)next_munmap);
	late_add("mremap", (const void *)next_mremap);
}

void memory_mmap_stop(void)
{
	__atomic_store_n(&counting, false, __ATOMIC_RELAXED);
}
