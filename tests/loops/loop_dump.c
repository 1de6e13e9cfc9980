// SPDX-License-Identifier: MIT
/*
 * loop_dump FILE [BYTES]: the kind of each loop in each function of an object file, a line each, as
 * if what loads or divides were waited for: "walk chase 0 0". BYTES are the CPU's vectors.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/loop/insn.h"
#include "symbolize/loop/loop.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// Times what other instructions take.
#define LOADED  20
#define DIVIDED 1000

static void print_loops(const char *name, const struct loop_found *found, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool seen = !found[i].jump;
		for (size_t k = 0; k < i; k++)
			seen |= found[k].jump == found[i].jump;
		if (seen)
			continue;
		const char *kind = loop_kind_name(found[i].fact.kind);
		printf("%s %s %" PRIu64 " %" PRIu32 "\n", name, kind ? kind : "-",
		       found[i].fact.bytes, found[i].fact.detail);
	}
}

static int dump_function(const char *name, struct bytes code, uint32_t vector_bytes)
{
	cleanup_free struct loop_sample *samples = calloc(code.size + 1, sizeof(*samples));
	cleanup_free struct loop_found *found = calloc(code.size + 1, sizeof(*found));
	struct insn insn;
	size_t count = 0;
	uint64_t ns = 1;

	if (!samples || !found)
		return -1;
	for (uint32_t at = 0; insn_decode(code.data, code.size, at, &insn); at += insn.length) {
		samples[count++] = (struct loop_sample){ at, ns, NULL, NULL };
		ns = insn.divides ? DIVIDED : insn.loads ? LOADED : 1;
	}
	if (!loops_find(code, samples, count, vector_bytes, found))
		return -1;
	print_loops(name, found, count);
	return 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	cleanup(elf_file) struct elf_file *elf = argc > 1 ? elf_file_open(argv[1], &err) : NULL;
	const struct elf_section *table = elf ? elf_file_find(elf, ".symtab") : NULL;
	Elf_Data *symbols = table ? elf_file_data(elf, table) : NULL;
	GElf_Sym symbol;

	if (!insn_decoder())
		return 77;
	if (!symbols)
		return 1;
	struct bytes names = elf_file_contents(elf, elf_file_section(elf, table->link));
	for (int i = 0; gelf_getsym(symbols, i, &symbol); i++) {
		const struct elf_section *section = elf_file_section(elf, symbol.st_shndx);
		const char *name = bytes_string(names, symbol.st_name);
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !name || !section ||
		    symbol.st_value < section->address)
			continue;
		struct bytes code = bytes_slice(elf_file_contents(elf, section),
		                                symbol.st_value - section->address, symbol.st_size);
		if (dump_function(name, code, argc > 2 ? (uint32_t)atoi(argv[2]) : 0) < 0)
			return 1;
	}
	return 0;
}
