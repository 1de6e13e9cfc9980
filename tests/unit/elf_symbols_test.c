// SPDX-License-Identifier: MIT
#include "symbolize/elf/elf_symbols.h"
#include "tests/support/expect.h"
#include "tests/unit/elf_builder.h"

struct row {
	const char *name;
	uint64_t start, size;
	unsigned char info;
	uint16_t section;
};

#define FUNC(bind)  ELF64_ST_INFO(STB_##bind, STT_FUNC)
#define LABEL(bind) ELF64_ST_INFO(STB_##bind, STT_NOTYPE)
#define DATA(bind)  ELF64_ST_INFO(STB_##bind, STT_OBJECT)
#define TEXT        1 /* number of the section .text, at 0x1000, 0x1000 bytes */

/* Of the names the last MISSING bytes are left out. */
static struct elf_file *make_cut(struct elf_builder *b, const struct row *rows, size_t count,
                                 size_t missing)
{
	Elf64_Sym symbols[32] = { 0 };
	char names[1024] = "";
	size_t used = 1;

	elf_builder_init(b);
	Elf64_Shdr *text = elf_builder_add(b, ".text", SHT_NOBITS, NULL, 0x1000);
	text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	text->sh_addr = 0x1000;
	for (size_t i = 0; i < count; i++) {
		symbols[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)used,
			                      .st_info = rows[i].info,
			                      .st_shndx = rows[i].section,
			                      .st_value = rows[i].start,
			                      .st_size = rows[i].size };
		strcpy(names + used, rows[i].name);
		used += strlen(rows[i].name) + 1;
	}
	elf_builder_add(b, ".symtab", SHT_SYMTAB, symbols, (count + 1) * sizeof(symbols[0]))
		->sh_link = 3;
	elf_builder_add(b, ".strtab", SHT_STRTAB, names, used - missing);
	elf_builder_finish(b);
	return elf_file_from_memory((struct bytes){ b->bytes, b->used }, NULL, NULL);
}

static struct elf_file *make(struct elf_builder *b, const struct row *rows, size_t count)
{
	return make_cut(b, rows, count, 0);
}

static const char *name_at(struct elf_file *elf, uint64_t address, char buffer[64])
{
	struct symbol_name name = { 0 };

	cr_assert(eq(int, elf_symbols_find(elf, ".symtab", &address, 1, &name), 1));
	if (!name.text)
		return "(none)";
	snprintf(buffer, 64, "%.*s", (int)name.length, name.text);
	return buffer;
}

Test(elf_symbols, the_symbol_that_covers_an_address_names_it)
{
	static const struct row rows[] = {
		{ "outer", 0x1000, 0x100, FUNC(GLOBAL), TEXT },
		{ "inner", 0x1040, 0x10, FUNC(LOCAL), TEXT },
		{ "label", 0x1080, 0, LABEL(LOCAL), TEXT },
		{ ".L5", 0x1090, 0, LABEL(LOCAL), TEXT },
		{ "after_hole", 0x1200, 0x10, FUNC(GLOBAL), TEXT },
		{ "asm_code", 0x1300, 0, LABEL(GLOBAL), TEXT },
		{ "data", 0x1300, 0x100, DATA(GLOBAL), TEXT },
		{ "elsewhere", 0x1350, 0, LABEL(GLOBAL), SHN_UNDEF },
	};
	static const struct {
		uint64_t address;
		const char *name;
	} expected[] = {
		{ 0xfff, "(none)" },      { 0x1000, "outer" },  { 0x103f, "outer" },
		{ 0x1040, "inner" },      { 0x104f, "inner" },  { 0x1050, "outer" },
		{ 0x1085, "outer" },      { 0x1095, "outer" },  { 0x10ff, "outer" },
		{ 0x1205, "after_hole" }, { 0x1210, "(none)" }, { 0x1300, "asm_code" },
		{ 0x1fff, "asm_code" },   { 0x2000, "(none)" },
	};
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 8);
	char buffer[64];

	cr_assert(elf != NULL);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		cr_expect(eq(str, (char *)name_at(elf, expected[i].address, buffer),
		             (char *)expected[i].name),
		          "%#lx", expected[i].address);
}

Test(elf_symbols, a_name_that_does_not_end_is_none)
{
	static const struct row rows[] = {
		{ "whole", 0x1000, 0x10, FUNC(GLOBAL), TEXT },
		{ "cut", 0x1010, 0x10, FUNC(GLOBAL), TEXT },
	};
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make_cut(&builder, rows, 2, 1);
	char buffer[64];

	cr_expect(eq(str, (char *)name_at(elf, 0x1000, buffer), "whole"));
	cr_expect(eq(str, (char *)name_at(elf, 0x1010, buffer), "(none)"));
}

Test(elf_symbols, a_table_that_is_not_aligned_is_not_read)
{
	static const struct row rows[] = { { "function", 0x1000, 0x100, FUNC(GLOBAL), TEXT } };
	struct elf_builder b;
	char buffer[64];
	cleanup(elf_file) struct elf_file *elf = make(&b, rows, 1);

	cr_expect(eq(str, (char *)name_at(elf, 0x1000, buffer), "function"));
	// One byte further, where it would be copied to be read. The name behind it begins with 0.
	Elf64_Ehdr *header = (Elf64_Ehdr *)b.bytes;
	Elf64_Shdr *table = (Elf64_Shdr *)(b.bytes + header->e_shoff) + 2;
	memmove(b.bytes + table->sh_offset + 1, b.bytes + table->sh_offset, table->sh_size);
	table->sh_offset++;
	struct bytes image = { b.bytes, b.used };
	cleanup(elf_file) struct elf_file *shifted = elf_file_from_memory(image, NULL, NULL);
	cr_assert(ne(ptr, shifted, NULL));
	cr_expect(eq(str, (char *)name_at(shifted, 0x1000, buffer), "(none)"));
}

Test(elf_symbols, a_batch_gives_what_single_addresses_give)
{
	static const struct row rows[] = {
		{ "c", 0x1200, 0x80, FUNC(GLOBAL), TEXT },
		{ "a", 0x1000, 0x180, FUNC(GLOBAL), TEXT },
		{ "b", 0x1010, 0x20, FUNC(GLOBAL), TEXT },
		{ "label", 0x1300, 0, LABEL(GLOBAL), TEXT },
	};
	static struct elf_builder builder;
	static uint64_t addresses[0x500];
	static struct symbol_name names[0x500];
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 4);
	char buffer[64];

	for (size_t i = 0; i < 0x500; i++)
		addresses[i] = 0xf80 + i;
	cr_assert(eq(int, elf_symbols_find(elf, ".symtab", addresses, 0x500, names), 1));
	for (size_t i = 0; i < 0x500; i++) {
		const char *single = name_at(elf, addresses[i], buffer);
		char batch[64] = "(none)";
		if (names[i].text)
			snprintf(batch, sizeof(batch), "%.*s", (int)names[i].length, names[i].text);
		cr_expect(eq(str, batch, (char *)single), "%#lx", addresses[i]);
	}
}

Test(elf_symbols, of_aliases_the_one_that_people_call_is_taken)
{
	static const struct row rows[] = {
		{ "__internal_malloc", 0x1000, 0x10, FUNC(LOCAL), TEXT },
		{ "__libc_malloc", 0x1000, 0x10, FUNC(GLOBAL), TEXT },
		{ "malloc@@GLIBC_2.2.5", 0x1000, 0x10, FUNC(GLOBAL), TEXT },
		{ "weak_malloc", 0x1000, 0x10, FUNC(WEAK), TEXT },
		{ "start_label", 0x1000, 0, LABEL(GLOBAL), TEXT },
		{ "__nanosleep", 0x1100, 0x10, FUNC(GLOBAL), TEXT },
		{ "nanosleep", 0x1100, 0x10, FUNC(WEAK), TEXT },
		{ "__memmove_erms", 0x1200, 0x10, FUNC(LOCAL), TEXT },
		{ "__memcpy_erms", 0x1200, 0x10, FUNC(LOCAL), TEXT },
		{ "__GI___memcpy_erms", 0x1200, 0x10, FUNC(LOCAL), TEXT },
		{ "_ZN3barC1Ev", 0x1300, 0x10, FUNC(GLOBAL), TEXT },
		{ "_bar", 0x1300, 0x10, FUNC(GLOBAL), TEXT },
	};
	static const char *const expected[] = { "malloc", "nanosleep", "__memmove_erms",
		                                "_ZN3barC1Ev" };
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 12);
	char buffer[64];

	for (size_t i = 0; i < 4; i++)
		cr_expect(eq(str, (char *)name_at(elf, 0x1008 + i * 0x100, buffer),
		             (char *)expected[i]));
}

Test(elf_symbols, the_start_of_the_function_comes_with_its_name)
{
	static const struct row rows[] = { { "table", 0x1010, 0x10, FUNC(GLOBAL), TEXT } };
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 1);
	struct symbol_name name = { 0 };
	uint64_t address = 0x1018;

	cr_assert(eq(int, elf_symbols_find(elf, ".symtab", &address, 1, &name), 1));
	cr_expect(eq(u64, name.start, 0x1010));
}

Test(elf_symbols, variables_are_named_where_they_cover_the_address)
{
	static const struct row rows[] = {
		{ "app.c", 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_FILE), SHN_ABS },
		{ "journal", 0x4000, 0x28, DATA(LOCAL), TEXT },
		{ "code", 0x4000, 0x100, FUNC(LOCAL), TEXT },
		{ "_end", 0x4028, 0, DATA(GLOBAL), TEXT },
		{ "table", 0x4040, 0x40, DATA(GLOBAL), TEXT },
		{ "elsewhere", 0x4080, 0x40, DATA(GLOBAL), SHN_UNDEF },
	};
	static const struct {
		uint64_t address;
		const char *name, *file;
		uint64_t start;
	} wanted[] = {
		{ 0x3fff, NULL, NULL, 0 },
		{ 0x4000, "journal", "app.c", 0x4000 },
		{ 0x4027, "journal", "app.c", 0x4000 },
		{ 0x4028, NULL, NULL, 0 },
		{ 0x4060, "table", NULL, 0x4040 },
		{ 0x4080, NULL, NULL, 0 },
	};
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 6);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct symbol_name name = { 0 };
		cr_assert(eq(int,
		             elf_symbols_find_data(elf, ".symtab", &wanted[i].address, 1, &name),
		             1));
		cr_expect(eq(int, !name.text, !wanted[i].name), "%zu", i);
		if (!name.text || !wanted[i].name)
			continue;
		cr_expect(eq(u32, name.length, (uint32_t)strlen(wanted[i].name)), "%zu", i);
		cr_expect(eq(int, strncmp(name.text, wanted[i].name, name.length), 0), "%zu", i);
		cr_expect(eq(u64, name.start, wanted[i].start), "%zu", i);
		cr_expect(eq(int, !name.file, !wanted[i].file), "%zu", i);
		if (name.file && wanted[i].file)
			cr_expect(eq(str, (char *)name.file, (char *)wanted[i].file), "%zu", i);
	}
}

Test(elf_symbols, names_that_are_known_are_left_alone)
{
	static const struct row rows[] = { { "table", 0x1000, 0x10, FUNC(GLOBAL), TEXT } };
	static struct elf_builder builder;
	cleanup(elf_file) struct elf_file *elf = make(&builder, rows, 1);
	struct symbol_name names[2] = { { .text = "known", .length = 5 }, { 0 } };
	uint64_t addresses[2] = { 0x1000, 0x1001 };

	cr_assert(eq(int, elf_symbols_find(elf, ".symtab", addresses, 2, names), 1));
	cr_expect(eq(str, (char *)names[0].text, "known"));
	cr_expect(eq(str, (char *)names[1].text, "table"));
	cr_expect(eq(int, elf_symbols_find(elf, ".dynsym", addresses, 2, names), 0));
}

Test(elf_symbols, stubs_of_the_linkage_table_are_named_after_what_they_call)
{
	static const uint8_t plt[48] = {
		[16] = 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, // endbr64; push $1
		[32] = 0xff, 0x25, 0xda, 0x1f, 0,    0,          // jmp *0x1fda(%rip): 0x4000
	};
	static const Elf64_Rela relocations[] = {
		{ 0x4000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
		{ 0x4008, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0 },
	};
	static const Elf64_Sym symbols[] = { { 0 }, { .st_name = 1 }, { .st_name = 6 } };
	static struct elf_builder b;
	uint64_t addresses[] = { 0x2000, 0x2010, 0x2025, 0x2030 };
	struct symbol_name names[4] = { 0 };

	elf_builder_init(&b);
	Elf64_Shdr *section = elf_builder_add(&b, ".plt", SHT_PROGBITS, plt, sizeof(plt));
	section->sh_addr = 0x2000;
	section->sh_entsize = 16;
	elf_builder_add(&b, ".rela.plt", SHT_RELA, relocations, sizeof(relocations));
	elf_builder_add(&b, ".dynsym", SHT_DYNSYM, symbols, sizeof(symbols))->sh_link = 4;
	elf_builder_add(&b, ".dynstr", SHT_STRTAB, "\0puts\0exit", 11);
	elf_builder_finish(&b);
	cleanup(elf_file) struct elf_file *elf =
		elf_file_from_memory((struct bytes){ b.bytes, b.used }, NULL, NULL);
	elf_symbols_find_plt(elf, addresses, 4, names);
	cr_expect(eq(ptr, (void *)names[0].text, NULL));
	cr_assert(names[1].text != NULL);
	cr_expect(eq(str, (char *)names[1].text, "exit"));
	cr_assert(names[2].text != NULL);
	cr_expect(eq(str, (char *)names[2].text, "puts"));
	cr_expect(names[2].is_plt);
	cr_expect(eq(ptr, (void *)names[3].text, NULL));
}
