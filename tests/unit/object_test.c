// SPDX-License-Identifier: MIT
#include "sampler/inject/object.h"

#include "tests/support/expect.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_libc(const char *name)
{
	return strcmp(name, "libc.so.6") == 0;
}

static bool is_damaged(const char *name)
{
	return strncmp(name, "damaged-", 8) == 0;
}

static bool is_nothing(const char *name)
{
	(void)name;
	return false;
}

static bool is_any(const char *name)
{
	(void)name;
	return true;
}

Test(object, functions_are_where_the_loader_finds_them)
{
	static const char *const names[] = { "dl_iterate_phdr", "getpid", "syscall", "open64" };
	struct object *o = calloc(1, sizeof(*o));

	cr_assert(object_find(o, getpid(), is_libc));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t found = object_function(o, names[i]);
		cr_expect(eq(ptr, (void *)found, dlsym(RTLD_NEXT, names[i])), "%s", names[i]);
	}
	uint64_t start = object_function(o, "getpid") - o->bias;
	cr_expect(not(eq(ptr, object_name(o, start + 1), NULL)));
	cr_expect(eq(ptr, object_name(o, 1), NULL));
	cr_expect(eq(u64, object_function(o, "no_such_function"), 0));
	object_fini(o);
	free(o);
}

Test(object, what_is_not_mapped_is_not_found)
{
	struct object *o = calloc(1, sizeof(*o));

	cr_expect(not(object_find(o, getpid(), is_nothing)));
	cr_expect(eq(str, o->path, ""));
	object_fini(o);
	free(o);
}

Test(object, a_function_of_any_library)
{
	cr_expect(object_any(getpid(), "dl_iterate_phdr", is_nothing));
	cr_expect(not(object_any(getpid(), "dl_iterate_phdr", is_any)));
}

// A copy of libc of which the bytes at AT are garbage, as a process would have it mapped.
static void find_damaged(size_t at, size_t size)
{
	char path[] = "/tmp/damaged-XXXXXX";
	struct object *o = calloc(1, sizeof(*o));
	struct stat status;

	cr_assert(object_find(o, getpid(), is_libc));
	int from = open(o->path, O_RDONLY), to = mkstemp(path);
	object_fini(o);
	cr_assert(from >= 0 && to >= 0 && fstat(from, &status) == 0);
	size_t bytes = (size_t)status.st_size;
	uint8_t *file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
	cr_assert(not(eq(ptr, file, MAP_FAILED)));
	memset(file + at % bytes, 0xff, size);
	cr_assert(write(to, file, bytes) == (ssize_t)bytes);
	void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0);
	cr_assert(not(eq(ptr, code, MAP_FAILED)));
	cr_expect(object_find(o, getpid(), is_damaged));
	for (size_t i = 0; i < o->count; i++)
		cr_expect(memchr(o->functions[i].name, 0, 65536) != NULL);
	object_fini(o);
	munmap(code, bytes);
	munmap(file, bytes);
	unlink(path);
	close(from);
	close(to);
	free(o);
}

Test(object, damaged_files_have_fewer_functions)
{
	const size_t section_headers = offsetof(Elf64_Ehdr, e_shoff);

	find_damaged(0, 4);                                       // no ELF file
	find_damaged(section_headers, 8);                         // no sections
	find_damaged(offsetof(Elf64_Ehdr, e_phoff), 8);           // no segments
	find_damaged(offsetof(Elf64_Ehdr, e_shnum), 2);           // too many
	find_damaged(sizeof(Elf64_Ehdr) + 8, sizeof(Elf64_Phdr)); // a segment that is none
	for (size_t at = 4096; at < 200000; at += 16384)          // names and symbols
		find_damaged(at, 4096);
	for (size_t at = 1; at < 70; at++) // the section headers, at the end
		find_damaged(SIZE_MAX / 4096 * 4096 - at * 64, 64);
}
