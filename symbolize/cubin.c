// SPDX-License-Identifier: MIT
#include "symbolize/cubin.h"

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "symbolize/dwarf/line_program.h"
#include "symbolize/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define ROWS_MAX (8u << 20)

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

struct row {
	uint32_t section;
	uint32_t order; // in the table: of rows at one address the last one holds
	uint64_t address;
	uint32_t file; // string; 0: none, the function's lines end here
	uint32_t line;
	uint32_t call;     // index of the row that calls, and 1; 0: of no inlined function
	uint32_t function; // string
};

struct function {
	uint32_t name; // string
	uint32_t section;
	uint64_t address, size;
};

struct relocation {
	uint64_t at; // in .debug_line
	uint32_t section;
	int64_t addend; // and the symbol's value
	bool replaces;  // what stands there does not count
};

struct cubin {
	struct strings *strings;
	struct row *rows; // in the table's order, in which others refer to them
	size_t row_count, row_capacity;
	uint32_t *by_address; // of rows
	struct function *functions;
	size_t function_count, function_capacity;
};

// What is needed while it is read.
struct reading {
	struct cubin *cubin;
	struct bytes symbols, names, texts; // texts: .debug_str
	size_t symbol_bytes;
	struct relocation *relocations; // ascending
	size_t relocation_count, relocation_capacity;
	const struct line_program *program;
	size_t first; // row of the sequence
	uint64_t file;
	uint32_t path; // of FILE
	bool no_memory;
};

static bool symbol_at(const struct reading *r, uint64_t index, Elf64_Sym *symbol)
{
	if (index >= r->symbols.size / sizeof(*symbol))
		return false;
	memcpy(symbol, r->symbols.data + index * sizeof(*symbol), sizeof(*symbol));
	return true;
}

static void add_relocation(struct reading *r, uint64_t at, uint64_t info, int64_t addend,
                           bool replaces)
{
	Elf64_Sym symbol;

	if (!symbol_at(r, ELF64_R_SYM(info), &symbol) || symbol.st_shndx >= SHN_LORESERVE)
		return;
	if (!array_reserve(&r->relocations, &r->relocation_capacity, r->relocation_count + 1)) {
		r->no_memory = true;
		return;
	}
	r->relocations[r->relocation_count++] =
		(struct relocation){ at, symbol.st_shndx,
		                     (int64_t)(symbol.st_value + (uint64_t)addend), replaces };
}

static int compare_relocations(const void *a, const void *b)
{
	uint64_t left = ((const struct relocation *)a)->at;
	uint64_t right = ((const struct relocation *)b)->at;

	return (left > right) - (left < right);
}

static void read_relocations(struct reading *r, struct elf_file *elf)
{
	struct bytes rel = elf_file_named_contents(elf, ".rel.debug_line");
	struct bytes rela = elf_file_named_contents(elf, ".rela.debug_line");
	Elf64_Rel plain;
	Elf64_Rela full;

	for (size_t at = 0; rel.size - at >= sizeof(plain) && rel.size; at += sizeof(plain)) {
		memcpy(&plain, rel.data + at, sizeof(plain));
		add_relocation(r, plain.r_offset, plain.r_info, 0, false);
	}
	for (size_t at = 0; rela.size - at >= sizeof(full) && rela.size; at += sizeof(full)) {
		memcpy(&full, rela.data + at, sizeof(full));
		add_relocation(r, full.r_offset, full.r_info, full.r_addend, true);
	}
	if (r->relocation_count)
		qsort(r->relocations, r->relocation_count, sizeof(*r->relocations),
		      compare_relocations);
}

static const struct relocation *relocation_at(const struct reading *r, uint64_t at)
{
	size_t found = array_search(r->relocation_count, i, r->relocations[i].at < at);

	return found < r->relocation_count && r->relocations[found].at == at
	               ? &r->relocations[found]
	               : NULL;
}

static void read_functions(struct reading *r)
{
	struct cubin *c = r->cubin;
	Elf64_Sym symbol;

	for (uint64_t i = 0; symbol_at(r, i, &symbol); i++) {
		const char *name = bytes_string(r->names, symbol.st_name);
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_shndx ||
		    symbol.st_shndx >= SHN_LORESERVE || !name)
			continue;
		uint32_t id = strings_add(c->strings, name);
		if (!id ||
		    !array_reserve(&c->functions, &c->function_capacity, c->function_count + 1)) {
			r->no_memory = true;
			return;
		}
		c->functions[c->function_count++] =
			(struct function){ id, symbol.st_shndx, symbol.st_value, symbol.st_size };
	}
}

static uint32_t path_of(struct reading *r, uint64_t file)
{
	char path[PATH_MAX];

	if (r->file == file)
		return r->path;
	const char *text = line_program_path(r->program, file, path, sizeof(path));
	r->file = file;
	r->path = text ? strings_add(r->cubin->strings, text) : 0;
	r->no_memory |= text && !r->path;
	return r->path;
}

static uint32_t name_of(struct reading *r, uint64_t offset)
{
	const char *text = bytes_string(r->texts, offset);
	uint32_t id = text ? strings_add(r->cubin->strings, text) : 0;

	r->no_memory |= text && !id;
	return id;
}

// What was relocated says whose the row is; without, code that lies nowhere.
static bool take_row(void *context, const struct line_visit *visit)
{
	struct reading *r = context;
	struct cubin *c = r->cubin;
	const struct relocation *base = relocation_at(r, visit->set_at);
	size_t number = c->row_count - r->first; // of rows before it in the sequence

	if (!array_reserve(&c->rows, &c->row_capacity, c->row_count + 1)) {
		r->no_memory = true;
		return false;
	}
	struct row *row = &c->rows[c->row_count];
	*row = (struct row){ .section = base ? base->section : 0,
		             .order = (uint32_t)c->row_count,
		             .address = visit->address + (base ? (uint64_t)base->addend : 0),
		             .line = (uint32_t)visit->line };
	if (!visit->is_end) {
		row->file = path_of(r, visit->file);
		row->call = visit->call && visit->call <= number
		                    ? (uint32_t)(r->first + visit->call)
		                    : 0;
		row->function = row->call ? name_of(r, visit->function) : 0;
	}
	c->row_count++;
	if (visit->is_end)
		r->first = c->row_count;
	return !r->no_memory && c->row_count < ROWS_MAX;
}

// One unit after the other.
static void read_lines(struct reading *r, struct elf_file *elf)
{
	struct line_sections sections = { elf_file_named_contents(elf, ".debug_line"),
		                          elf_file_named_contents(elf, ".debug_str"),
		                          elf_file_named_contents(elf, ".debug_line_str") };
	uint64_t at = 0;

	r->texts = sections.str;
	while (at + 4 < sections.line.size && !r->no_memory) {
		struct cursor c = cursor_at(sections.line, at);
		uint64_t length = cursor_u32(&c), head = 4;
		if (length == UINT32_MAX) {
			length = cursor_u64(&c);
			head = 12;
		}
		cleanup(line_program) struct line_program *program =
			line_program_new(&sections, at, NULL, NULL);
		r->program = program;
		r->file = UINT64_MAX;
		r->first = r->cubin->row_count;
		if (program)
			line_program_visit(program, take_row, r);
		if (c.bad || length > sections.line.size - at)
			return;
		at += head + length;
	}
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct row *rows = context;
	const struct row *left = &rows[*(const uint32_t *)a], *right = &rows[*(const uint32_t *)b];

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

static bool sort_rows(struct cubin *c)
{
	c->by_address = c->row_count ? calloc(c->row_count, sizeof(*c->by_address)) : NULL;
	if (c->row_count && !c->by_address)
		return false;
	for (uint32_t i = 0; i < c->row_count; i++)
		c->by_address[i] = i;
	if (c->row_count)
		qsort_r(c->by_address, c->row_count, sizeof(*c->by_address), compare_rows, c->rows);
	return true;
}

static bool read_all(struct cubin *c, struct elf_file *elf)
{
	struct reading r = { .cubin = c,
		             .symbols = elf_file_named_contents(elf, ".symtab"),
		             .names = elf_file_named_contents(elf, ".strtab") };

	read_functions(&r);
	read_relocations(&r, elf);
	if (!r.no_memory)
		read_lines(&r, elf);
	free(r.relocations);
	return !r.no_memory && sort_rows(c);
}

struct cubin *cubin_new(struct bytes image, struct error *err)
{
	cleanup(elf_file) struct elf_file *elf = elf_file_from_memory(image, NULL, err);

	if (!elf)
		return NULL;
	if (elf_file_machine(elf) != EM_CUDA || !elf_file_is_64(elf)) {
		error_set(err, 0, "this is no cubin");
		return NULL;
	}
	cleanup(cubin) struct cubin *c = calloc(1, sizeof(*c));
	if (c)
		c->strings = strings_new();
	if (!c || !c->strings || !read_all(c, elf)) {
		error_set(err, ENOMEM, "could not read a cubin");
		return NULL;
	}
	return steal(c);
}

void cubin_free(struct cubin *c)
{
	if (!c)
		return;
	strings_free(c->strings);
	free(c->rows);
	free(c->by_address);
	free(c->functions);
	free(c);
}

static const struct function *function_named(const struct cubin *c, const char *name)
{
	uint32_t id = strings_find(c->strings, name);

	for (size_t i = 0; id && i < c->function_count; i++)
		if (c->functions[i].name == id)
			return &c->functions[i];
	return NULL;
}

static bool is_behind(const struct row *row, uint32_t section, uint64_t address)
{
	return row->section != section ? row->section > section : row->address > address;
}

// The last row at or before ADDRESS of SECTION.
static const struct row *row_at(const struct cubin *c, uint32_t section, uint64_t address)
{
	size_t behind = array_search(c->row_count, i,
	                             !is_behind(&c->rows[c->by_address[i]], section, address));
	const struct row *row = behind ? &c->rows[c->by_address[behind - 1]] : NULL;

	return row && row->section == section && row->file ? row : NULL;
}

uint32_t cubin_find(const struct cubin *c, const char *function, uint64_t offset,
                    struct cubin_place places[CUBIN_PLACES])
{
	const struct function *f = function_named(c, function);
	const struct row *row = NULL;
	uint32_t count = 0;

	if (f && (offset < f->size || !f->size))
		row = row_at(c, f->section, f->address + offset);
	while (row && row->file && count < CUBIN_PLACES) {
		places[count++] =
			(struct cubin_place){ strings_get(c->strings, row->function),
			                      strings_get(c->strings, row->file), row->line };
		row = row->call ? &c->rows[row->call - 1] : NULL; // which stands before this one
	}
	return count;
}
