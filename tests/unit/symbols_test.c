// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/trace/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *file;
static size_t bytes;

// This very program, which is not stripped.
static void open_self(void)
{
	struct stat status;
	int fd = open("/proc/self/exe", O_RDONLY);

	cr_assert(fstat(fd, &status) == 0);
	bytes = (size_t)status.st_size;
	file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_assert(ne(ptr, file, MAP_FAILED));
	close(fd);
}

static void close_self(void)
{
	munmap(file, bytes);
}

TestSuite(symbols, .init = open_self, .fini = close_self);

__attribute__((noinline)) static int a_static_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static bool find(const struct symbols *s, const char *name, struct symbol *out)
{
	for (size_t i = 0; i < s->count; i++)
		if (symbols_function(s, i, out) && strcmp(out->name, name) == 0)
			return true;
	return false;
}

Test(symbols, static_functions_are_found_with_their_code)
{
	struct symbols s;
	struct symbol f;

	cr_expect(eq(int, a_static_function(1), 2));
	cr_assert(symbols_open(&s, file, bytes));
	cr_expect(s.all);
	cr_assert(find(&s, "a_static_function", &f));
	cr_expect(ne(u64, f.size, 0));
	const uint8_t *code = symbols_code(file, bytes, f.address, f.size);
	cr_assert(ne(ptr, (void *)code, NULL));
	cr_expect(eq(int, memcmp(code, (void *)(uintptr_t)&a_static_function, f.size), 0));
	cr_expect(ge(u64, symbols_next(&s, f.address), f.address + f.size));
	cr_expect(not(find(&s, "printf", &f)), "what others define is none of its own");
}

Test(symbols, sections_are_found_by_their_names)
{
	cr_expect(symbols_section(file, bytes, ".text"));
	cr_expect(not(symbols_section(file, bytes, ".gopclntab")));
	cr_expect(not(symbols_section(file, bytes, ".tex")));
}

Test(symbols, data_is_no_code)
{
	struct symbols s;

	cr_assert(symbols_open(&s, file, bytes));
	for (size_t i = 0; i < s.count; i++)
		if (ELF64_ST_TYPE(s.symbols[i].st_info) == STT_OBJECT && s.symbols[i].st_value &&
		    strcmp(s.strings + s.symbols[i].st_name, "file") == 0)
			cr_expect(eq(ptr,
			             (void *)symbols_code(file, bytes, s.symbols[i].st_value, 8),
			             NULL));
}

static void use(const void *f, size_t size)
{
	struct symbols s;
	struct symbol symbol;

	symbols_section(f, size, ".gopclntab");
	if (!symbols_open(&s, f, size))
		return;
	for (size_t i = 0; i < s.count; i++)
		if (symbols_function(&s, i, &symbol))
			symbols_code(f, size, symbol.address, symbol.size);
}

Test(symbols, cut_files_are_read_no_further)
{
	// Each length of the head and of the tables at the end.
	for (size_t size = 0; size < bytes; size += size < 8192 ? 1 : 997) {
		void *copy = calloc(1, size ? size : 1);
		memcpy(copy, file, size);
		use(copy, size);
		free(copy);
	}
}

Test(symbols, files_that_lie_are_read_no_further)
{
	Elf64_Ehdr *e = file;
	Elf64_Shdr *table = (Elf64_Shdr *)((char *)file + e->e_shoff);

	for (unsigned i = 0; i < e->e_shnum; i++) {
		Elf64_Shdr kept = table[i];
		table[i].sh_size = UINT64_MAX;
		use(file, bytes);
		table[i].sh_size = bytes;
		table[i].sh_offset = bytes - 8;
		use(file, bytes);
		table[i] = kept;
		table[i].sh_link = 0xffff;
		use(file, bytes);
		table[i] = kept;
	}
	e->e_shoff = bytes - 8;
	use(file, bytes);
}
