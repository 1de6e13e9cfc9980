// SPDX-License-Identifier: MIT
#include "symbolize/elf/symbol_order.h"

#include "base/cleanup.h"
#include "symbolize/elf/elf_symbols.h"
#include "tests/support/expect.h"
#include "tests/support/many_symbols.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static char directory[] = "/tmp/symbol-order-test-XXXXXX";
static char sections[64];
static struct many_symbols *many;

static void begin(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(sections, sizeof(sections), "%s/names/sections", directory);
	many = many_symbols_new();
	cr_assert(many != NULL);
}

static void end(void)
{
	char command[96];

	free(many);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(symbol_order, .init = begin, .fini = end);

// The only file of the directory. False if there is not one.
static bool kept_file(char *path, size_t size)
{
	DIR *d = opendir(sections);
	int count = 0;

	for (const struct dirent *entry; d && (entry = readdir(d));)
		if (entry->d_name[0] != '.' && ++count)
			snprintf(path, size, "%s/%.200s", sections, entry->d_name);
	if (d)
		closedir(d);
	return count == 1;
}

// The function of the highest start that covers ADDRESS, as the table says; NULL: none does.
static const Elf64_Sym *innermost(uint64_t address)
{
	const Elf64_Sym *best = NULL;

	for (size_t i = 1; i < MANY_SYMBOLS; i++) {
		const Elf64_Sym *s = &many->symbols[i];
		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value <= address &&
		    address < s->st_value + s->st_size && (!best || s->st_value > best->st_value))
			best = s;
	}
	return best;
}

static struct symbol_name name_at(struct elf_file *elf, uint64_t address)
{
	struct symbol_name name = { 0 };

	cr_assert(eq(int, elf_symbols_find(elf, ".symtab", &address, 1, &name), 1));
	return name;
}

Test(symbol_order, the_innermost_function_is_found_without_reading_the_table)
{
	cleanup(elf_file) struct elf_file *elf = many_symbols_open(many);
	uint64_t state = 7;
	size_t covered = 0;

	cr_assert(elf && symbol_order_of(elf, elf_file_find(elf, ".symtab")).numbers);
	elf_file_keep_in(elf, sections);
	for (int i = 0; i < 2000; i++) {
		uint64_t address = many_random(&state) % MANY_SPAN;
		const Elf64_Sym *expected = innermost(address);
		if (!expected)
			continue;
		covered++;
		cr_assert(eq(u64, name_at(elf, address).start, expected->st_value));
	}
	cr_expect(covered > 500);
}

Test(symbol_order, another_run_finds_the_order_that_the_first_one_has_kept)
{
	char path[320];
	const char *first;

	{
		cleanup(elf_file) struct elf_file *elf = many_symbols_open(many);
		cr_assert(elf);
		elf_file_keep_in(elf, sections);
		first = name_at(elf, 5000).text;
	}
	cr_assert(kept_file(path, sizeof(path)));
	cleanup(elf_file) struct elf_file *again = many_symbols_open(many);
	cr_assert(again);
	elf_file_keep_in(again, sections);
	cr_expect(eq(ptr, (void *)name_at(again, 5000).text, (void *)first));
	struct symbol_order o = symbol_order_of(again, elf_file_find(again, ".symtab"));
	cr_assert(o.numbers != NULL);
	for (size_t i = 1; i < o.count; i++)
		cr_assert(symbol_order_value(&o, i - 1) <= symbol_order_value(&o, i));
}

// Writes NUMBERS in place of the order that is kept.
static void keep(const uint32_t numbers[MANY_SYMBOLS])
{
	char path[320];

	{
		cleanup(elf_file) struct elf_file *elf = many_symbols_open(many);
		cr_assert(elf);
		elf_file_keep_in(elf, sections);
		name_at(elf, 5000);
	}
	cr_assert(kept_file(path, sizeof(path)));
	cleanup_fclose FILE *file = fopen(path, "we");
	cr_assert(file && fwrite(numbers, sizeof(*numbers), MANY_SYMBOLS, file) == MANY_SYMBOLS);
}

static struct elf_file *open_again(void)
{
	struct elf_file *elf = many_symbols_open(many);

	cr_assert(elf);
	elf_file_keep_in(elf, sections);
	return elf;
}

Test(symbol_order, many_addresses_have_the_names_that_reading_the_whole_table_gives)
{
	static uint32_t no_order[MANY_SYMBOLS];
	static uint64_t addresses[4096];
	static struct symbol_name names[4096], expected[4096];

	for (size_t i = 0; i < 4096; i++)
		addresses[i] = i * (MANY_SPAN / 4096) + i % 7;
	cleanup(elf_file) struct elf_file *elf = many_symbols_open(many);
	cr_assert(elf && elf_symbols_find(elf, ".symtab", addresses, 4096, names) == 1);
	memset(no_order, 255, sizeof(no_order));
	keep(no_order);
	cleanup(elf_file) struct elf_file *whole = open_again();
	cr_assert(eq(int, elf_symbols_find(whole, ".symtab", addresses, 4096, expected), 1));
	for (size_t i = 0; i < 4096; i++) {
		cr_expect(eq(ptr, (void *)names[i].text, (void *)expected[i].text));
		cr_expect(eq(u64, names[i].start, expected[i].start));
	}
}

Test(symbol_order, a_file_of_nonsense_leads_out_of_no_table)
{
	static uint32_t numbers[MANY_SYMBOLS];
	uint64_t state = 11;

	for (uint32_t most = UINT32_MAX; most >= MANY_SYMBOLS; most /= 477218) {
		for (size_t i = 0; i < MANY_SYMBOLS; i++)
			numbers[i] = (uint32_t)(many_random(&state) % most);
		keep(numbers);
		cleanup(elf_file) struct elf_file *elf = open_again();
		for (uint64_t address = 0; address < MANY_SPAN; address += 997) {
			struct symbol_name name = name_at(elf, address);
			cr_expect(!name.text ||
			          (name.text >= many->names &&
			           name.text + name.length < many->names + sizeof(many->names)));
		}
	}
}
