// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/allocator.h"

#include "tracer/agent/loaded.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/wrap/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

struct allocator allocator;

extern const char *gnu_get_libc_version(void) __attribute__((weak)); // only glibc has it

// Only where a sanitizer's runtime is in the process, which has its own ideas of malloc().
extern void asan_init(void) __asm__("__asan_init") __attribute__((weak));
extern void hwasan_init(void) __asm__("__hwasan_init") __attribute__((weak));
extern void lsan_init(void) __asm__("__lsan_init") __attribute__((weak));
extern void msan_init(void) __asm__("__msan_init") __attribute__((weak));
extern void tsan_init(void) __asm__("__tsan_init") __attribute__((weak));

static void *has_none(size_t size)
{
	(void)size;
	errno = ENOMEM;
	return NULL;
}

// Where we have been loaded late, nobody has looked behind us: what the program calls comes first.
static void *find(const char *name)
{
	return late_has_begun() ? definition_first(name) : dlsym(RTLD_NEXT, name);
}

bool allocator_find(void)
{
	allocator.malloc = find("malloc");
	allocator.calloc = find("calloc");
	allocator.realloc = find("realloc");
	allocator.free = find("free");
	allocator.posix_memalign = find("posix_memalign");
	allocator.aligned_alloc = find("aligned_alloc");
	allocator.memalign = find("memalign");
	allocator.valloc = find("valloc");
	allocator.pvalloc = find("pvalloc");
	allocator.malloc_usable_size = find("malloc_usable_size");
	if (!allocator.pvalloc)
		allocator.pvalloc = has_none; // musl
	return allocator.malloc && allocator.calloc && allocator.realloc && allocator.free;
}

static bool header_agrees(void *p)
{
	bool agrees = p && !(allocator_header(p) & ALLOCATOR_MAPPED) &&
	              allocator_header_bytes(p) == allocator.malloc_usable_size(p);

	allocator.free(p);
	return agrees;
}

struct object_search {
	uintptr_t address;
	const void *found;
};

static int contains(struct dl_phdr_info *object, size_t size, void *context)
{
	struct object_search *search = context;

	(void)size;
	if (!loaded_holds(object, search->address))
		return 0;
	search->found = object->dlpi_phdr;
	return 1;
}

// NULL if unknown. Not dladdr(), which looks at each symbol there is.
static const void *object_of(const void *address)
{
	struct object_search search = { (uintptr_t)address, NULL };

	if (address)
		dl_iterate_phdr(contains, &search);
	return search.found;
}

bool allocator_is_kin(const void *one, const void *other)
{
	const void *object = object_of(one);

	return object && object == object_of(other);
}

static bool is_whole(void)
{
	const void *object = (const void *)allocator.malloc;

	return allocator_is_kin(object, (const void *)allocator.calloc) &&
	       allocator_is_kin(object, (const void *)allocator.realloc) &&
	       allocator_is_kin(object, (const void *)allocator.free) &&
	       allocator_is_kin(object, (const void *)allocator.malloc_usable_size);
}

// A program at a fixed place that takes a function's address has an entry for it, which is its
// address everywhere, and leads to wherever the function is.
static bool is_entry(const void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1 && dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

static int is_in_program(struct dl_phdr_info *program, size_t size, void *context)
{
	bool *within = context;

	(void)size;
	*within = loaded_holds(program, (uintptr_t)allocator.malloc);
	return 1; // the program comes first
}

// Else the program has an allocator in front of ours, and we see but some of the calls. If that is
// its own, it calls it directly.
static bool is_first(void)
{
	bool within = false;

	if (late_has_begun()) {
		dl_iterate_phdr(is_in_program, &within);
		return !within;
	}
	const void *first = dlsym(RTLD_DEFAULT, "malloc");

	return object_of(first) == object_of(&allocator) || is_entry(first);
}

bool allocator_has_headers(void)
{
	static const size_t sizes[] = { 1, 24, 25, 100, 1000, 5000, 70000 };

	if (!allocator_is_kin((const void *)allocator.malloc, (const void *)gnu_get_libc_version))
		return false; // another allocator
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!header_agrees(allocator.malloc(sizes[i])))
			return false;
	return header_agrees(allocator.memalign(4096, 100));
}

// Under valgrind libc's functions are valgrind's, whatever their addresses say.
static int is_of_valgrind(struct dl_phdr_info *object, size_t size, void *context)
{
	(void)size;
	(void)context;
	return object->dlpi_name && strstr(object->dlpi_name, "/vgpreload_");
}

static bool is_sanitized(void)
{
	return dl_iterate_phdr(is_of_valgrind, NULL) || asan_init || hwasan_init || lsan_init ||
	       msan_init || tsan_init;
}

const char *allocator_obstacle(void)
{
	if (is_sanitized())
		return "allocations are not counted: a memory checker has taken malloc() over";
	if (!is_first())
		return "allocations are not counted: the program has an allocator of its own";
	if (!is_whole())
		return "allocations are not counted: the allocator does not say how large its "
		       "blocks are";
	return NULL;
}
