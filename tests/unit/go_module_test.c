// SPDX-License-Identifier: MIT
#include "base/go_module.h"

#include "tests/support/expect.h"

#include <elf.h>
#include <string.h>

#define TEXT   UINT64_C(0x28400)
#define SHARED UINT64_C(0x100000) // .data.rel.ro
#define TABLE  (SHARED + 64)
#define DATA   UINT64_C(0x200000)
#define MODULE (DATA + 48)

// A program of Go that a linker of C has made, without symbols.
struct program {
	uint8_t code[4096], shared[512], data[1024];
	Elf64_Rela relocations[8];
	struct go_section sections[6];
	size_t count;
};

static void put(uint8_t *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

static void add(struct program *p, const char *name, uint64_t address, const void *bytes,
                size_t size, bool writable)
{
	p->sections[p->count++] = (struct go_section){ name, address, { bytes, size }, writable };
}

// A table of one function, that leaves the start of the code to the loader.
static void put_table(uint8_t *at)
{
	static const uint8_t magic[] = { 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8 };

	memcpy(at, magic, sizeof(magic));
	put(at + 8, 1);
	for (int i = 0; i < 5; i++)
		put(at + 32 + 8 * i, 72);
}

static void make(struct program *p, bool moves)
{
	*p = (struct program){ 0 };
	memset(p->shared, 0xf1, TABLE - SHARED); // what only begins like one
	put_table(p->shared + (TABLE - SHARED));
	const uint64_t words[][2] = { { 0, TABLE }, { 160, TEXT + 64 }, { 176, TEXT } };
	for (int i = 0; i < 3; i++) {
		uint64_t at = MODULE + words[i][0];
		if (moves)
			p->relocations[i + 1] =
				(Elf64_Rela){ at, ELF64_R_INFO(0, R_X86_64_RELATIVE),
				              (int64_t)words[i][1] };
		else
			put(p->data + (at - DATA), words[i][1]);
	}
	if (moves)
		add(p, ".rela.dyn", 0x400, p->relocations, sizeof(p->relocations), false);
	add(p, ".init", 0x28000, p->code, 16, false);
	add(p, ".text", 0x28300, p->code, sizeof(p->code), false);
	add(p, ".data.rel.ro", SHARED, p->shared, sizeof(p->shared), true);
	add(p, ".go.buildinfo", 0x1f0000, p->code, 16, true);
	add(p, ".noptrdata", DATA, p->data, sizeof(p->data), true);
}

static struct go_module find(const struct program *p)
{
	struct go_module module;

	go_module_find_table(p->sections, p->count, &module);
	go_module_find_rest(p->sections, p->count, &module);
	return module;
}

Test(go_module, is_found_where_the_table_has_no_section_of_its_own)
{
	for (int moves = 0; moves <= 1; moves++) {
		struct program p;
		make(&p, moves);
		struct go_module module = find(&p);
		cr_expect(eq(u64, module.table_address, TABLE));
		cr_expect(eq(u64, module.table.size, sizeof(p.shared) - (TABLE - SHARED)));
		cr_expect(eq(u64, module.text, TEXT));
	}
}

Test(go_module, of_a_section_of_its_own_has_a_start_of_the_code_behind_that_of_c)
{
	struct program p;

	make(&p, false);
	p.sections[2] = (struct go_section){
		".gopclntab", TABLE, { p.shared + (TABLE - SHARED), 200 }, false
	};
	cr_expect(eq(u64, find(&p).text, TEXT));
	p.sections[0].name = ".other"; // Go's own linker has put nothing before it
	memset(p.data, 0, sizeof(p.data));
	cr_expect(eq(u64, find(&p).text, 0x28300));
}

Test(go_module, is_not_made_up)
{
	struct program p;

	// Not a program of Go; a start of the code that lies outside of it, or behind its first
	// function.
	make(&p, false);
	p.sections[3].name = ".other";
	cr_expect(eq(sz, find(&p).table.size, 0));
	static const uint64_t words[][2] = { { 176, 0x10 }, { 176, 0x90000 }, { 176, TEXT + 128 },
		                             { 160, 0 },    { 160, 0x90000 }, { 0, TABLE + 8 } };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		make(&p, false);
		put(p.data + (MODULE - DATA) + words[i][0], words[i][1]);
		cr_expect(eq(u64, find(&p).text, 0), "%zu", i);
	}
	struct go_module module;
	go_module_find_table(NULL, 0, &module);
	go_module_find_rest(NULL, 0, &module);
	cr_expect(eq(sz, module.table.size, 0));
}

Test(go_module, that_is_cut_off_is_not_left)
{
	for (int moves = 0; moves <= 1; moves++)
		for (size_t size = 0; size < 1024; size++) {
			struct program p;
			make(&p, moves);
			for (size_t i = 0; i < p.count; i++)
				if (p.sections[i].bytes.size > size)
					p.sections[i].bytes.size = size;
			uint64_t text = find(&p).text;
			cr_expect(!text || text == TEXT, "%zu", size);
		}
}
