// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/trace/object_file.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME_BYTES 4

struct note {
	ElfW(Nhdr) head;
	char name[NAME_BYTES];
	uint8_t id[8];
};

static const struct note build_id = { { NAME_BYTES, 8, NT_GNU_BUILD_ID },
	                              "GNU",
	                              { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 } };
static uint8_t *end; // of memory: what lies beyond cannot be read

static void make_memory(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(ne(ptr, pages, MAP_FAILED));
	cr_assert(eq(int, mprotect(pages + page, page, PROT_NONE), 0));
	end = pages + page;
}

TestSuite(object_file, .init = make_memory);

// Of an object whose notes are BYTES from AT on.
static bool find(const uint8_t *at, size_t bytes, char *path, size_t size)
{
	const ElfW(Phdr) notes = { .p_type = PT_NOTE, .p_memsz = bytes };
	const struct dl_phdr_info info = { .dlpi_addr = (uintptr_t)at,
		                           .dlpi_phdr = &notes,
		                           .dlpi_phnum = 1 };

	return object_file_debug_path(&info, path, size);
}

Test(object_file, debug_information_is_named_by_the_build_id)
{
	const struct note other = { { NAME_BYTES, 8, NT_GNU_ABI_TAG }, "GNU", "" };
	char path[64];

	memcpy(end - 2 * sizeof(other), &other, sizeof(other));
	memcpy(end - sizeof(build_id), &build_id, sizeof(build_id));
	cr_assert(find(end - 2 * sizeof(build_id), 2 * sizeof(build_id), path, sizeof(path)));
	cr_expect(eq(str, path, "/usr/lib/debug/.build-id/ab/cdef0102030405.debug"));
	cr_expect(not(find(end - 2 * sizeof(build_id), 2 * sizeof(build_id), path, 48)),
	          "there is no room for it");
}

Test(object_file, notes_that_are_cut_end_where_memory_does)
{
	static const struct {
		const char *what;
		ElfW(Nhdr) head;
		size_t bytes;
	} table[] = {
		{ "a last note without its padding", { NAME_BYTES, 7, NT_GNU_ABI_TAG }, 23 },
		{ "a build-id that is cut", { NAME_BYTES, 8, NT_GNU_BUILD_ID }, 23 },
		{ "a name of gigabytes", { UINT32_MAX, 0, NT_GNU_ABI_TAG }, 24 },
		{ "data of gigabytes", { NAME_BYTES, UINT32_MAX, NT_GNU_ABI_TAG }, 24 },
		{ "a build-id of gigabytes", { NAME_BYTES, 0x80000000, NT_GNU_BUILD_ID }, 24 },
	};
	char path[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		memcpy(end - 24, &table[i].head, sizeof(table[i].head));
		cr_expect(not(find(end - 24, table[i].bytes, path, sizeof(path))), "%s",
		          table[i].what);
	}
}
