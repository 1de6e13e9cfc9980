// SPDX-License-Identifier: MIT
#include "symbolize/elf/elf_symbols.h"

#include "base/array.h"
#include "symbolize/elf/symbol_order.h"

#include <gelf.h>
#include <limits.h>

#define NESTED_MAX  8
#define ORDER_WORTH 64 // addresses, for which alone a table is sorted

struct elf_symbol {
	uint64_t start, size;
	const char *name;
	uint32_t section;
	uint8_t type, binding;
};

// A symbol that may be the answer for an address and for those behind it.
struct candidate {
	uint64_t start, end;
	const char *name; // NULL: none
	const char *file; // of a local one
	int rank;
};

struct search {
	struct elf_file *elf;
	const uint64_t *addresses;
	size_t count;
	bool data;        // variables are wanted, not functions
	const char *file; // whose local symbols come now
	// Of the symbols that start above the address before, and not above this one:
	struct candidate *covering; // the last one that covers the address
	struct candidate *nearest;  // the last one; its end is its start if it covers nothing
};

// Labels within functions: the assembler's own, and ARM's marks of code and data.
static bool is_local_label(const struct elf_symbol *symbol)
{
	const char *name = symbol->name;

	return symbol->binding == STB_LOCAL &&
	       ((name[0] == '.' && name[1] == 'L') || name[0] == '$');
}

static bool is_function(const struct elf_file *elf, const struct elf_symbol *symbol)
{
	if (symbol->section == SHN_UNDEF || !*symbol->name)
		return false;
	if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
		return true;
	// Assembly code often gives its functions no type.
	const struct elf_section *section = elf_file_section(elf, symbol->section);
	return symbol->type == STT_NOTYPE && section && (section->flags & SHF_EXECINSTR) &&
	       !is_local_label(symbol);
}

static bool is_wanted(const struct search *s, const struct elf_symbol *symbol)
{
	if (!s->data)
		return is_function(s->elf, symbol);
	return symbol->section != SHN_UNDEF && *symbol->name && symbol->size &&
	       (symbol->type == STT_OBJECT || symbol->type == STT_COMMON);
}

// Of names for the same code: what everyone may call, and what a person would write. The weak
// name is as good as another: the C library makes that of "read" and keeps "__read" to itself.
static int rank_of(const struct elf_symbol *symbol)
{
	int rank = symbol->type == STT_NOTYPE ? 0 : 1000;
	size_t underscores = strspn(symbol->name, "_");

	rank += symbol->binding == STB_LOCAL ? 0 : 100;
	rank += symbol->binding == STB_WEAK ? 0 : 1;
	if (underscores == 1 && (symbol->name[1] == 'Z' || symbol->name[1] == 'R'))
		return rank; // mangled
	if (strncmp(symbol->name, "__GI_", 5) == 0)
		return rank - 80; // how glibc marks what it calls itself
	return rank - (int)(underscores < 20 ? underscores : 20) * 4;
}

static size_t name_length(const char *name)
{
	return strcspn(name, "@"); // of a version
}

// At last the longer name, as perf does: "__memmove_..." of what is "__memcpy_...", too.
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b->name || a->start != b->start)
		return !b->name || a->start > b->start;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->end != b->end ? a->end > b->end : name_length(a->name) > name_length(b->name);
}

static size_t lower_bound(const struct search *s, uint64_t wanted)
{
	return array_search(s->count, i, s->addresses[i] < wanted);
}

static void consider(struct search *s, const struct elf_symbol *symbol)
{
	size_t at = lower_bound(s, symbol->start);

	if (at == s->count)
		return;
	// Most symbols are told to be no answer without a look at their names, of which there may
	// be a hundred megabytes.
	bool covers = s->addresses[at] < symbol->start + symbol->size;
	if ((!covers && symbol->start < s->nearest[at].start) || !is_wanted(s, symbol))
		return;
	struct candidate candidate = { symbol->start, symbol->start + symbol->size, symbol->name,
		                       symbol->binding == STB_LOCAL ? s->file : NULL,
		                       rank_of(symbol) };
	if (covers && is_better(&candidate, &s->covering[at]))
		s->covering[at] = candidate;
	if (s->data)
		return;
	if (!symbol->size) {
		// Goes up to the next symbol, but not beyond its section.
		const struct elf_section *section = elf_file_section(s->elf, symbol->section);
		if (section)
			candidate.end = section->address + section->size;
	} else {
		candidate.end = candidate.start;
		candidate.rank += 10000;
	}
	if (is_better(&candidate, &s->nearest[at]))
		s->nearest[at] = candidate;
}

static void give_name(struct symbol_name *name, const struct candidate *candidate)
{
	if (name->text)
		return;
	name->text = candidate->name;
	name->length = (uint32_t)name_length(candidate->name);
	name->start = candidate->start;
	name->file = candidate->file;
}

// Carries the candidates on to the addresses behind, as long as they cover them.
static void give_names(const struct search *s, struct symbol_name *names)
{
	struct candidate open[NESTED_MAX];
	struct candidate nearest = { 0 };
	size_t depth = 0;

	for (size_t i = 0; i < s->count; i++) {
		while (depth && open[depth - 1].end <= s->addresses[i])
			depth--;
		if (s->covering[i].name) {
			if (depth == NESTED_MAX)
				memmove(open, open + 1, --depth * sizeof(*open));
			open[depth++] = s->covering[i];
		}
		if (s->nearest[i].name)
			nearest = s->nearest[i];
		if (depth)
			give_name(&names[i], &open[depth - 1]);
		else if (nearest.name && s->addresses[i] < nearest.end)
			give_name(&names[i], &nearest);
	}
}

// NAMES without what no NUL ends, so that there is a text at each offset.
static struct bytes whole_names(struct bytes names)
{
	const uint8_t *last = names.size ? memrchr(names.data, '\0', names.size) : NULL;

	return bytes_slice(names, 0, last ? (size_t)(last - names.data) + 1 : 0);
}

static void read_entry(struct search *s, struct bytes names, const GElf_Sym *symbol)
{
	if (symbol->st_name >= names.size)
		return;
	if (GELF_ST_TYPE(symbol->st_info) == STT_FILE)
		s->file = (const char *)names.data + symbol->st_name;
	consider(s, &(struct elf_symbol){ .start = symbol->st_value,
	                                  .size = symbol->st_size,
	                                  .name = (const char *)names.data + symbol->st_name,
	                                  .section = symbol->st_shndx,
	                                  .type = GELF_ST_TYPE(symbol->st_info),
	                                  .binding = GELF_ST_BIND(symbol->st_info) });
}

static struct bytes names_of(struct search *s, const struct elf_section *section)
{
	return whole_names(elf_file_contents(s->elf, elf_file_section(s->elf, section->link)));
}

static void read_table(struct search *s, const struct elf_section *section)
{
	Elf_Data *table = elf_file_data(s->elf, section);
	struct bytes names = names_of(s, section);
	GElf_Sym symbol;

	for (int i = 0; i < INT_MAX && gelf_getsym(table, i, &symbol); i++)
		read_entry(s, names, &symbol);
}

// Of the entries that come first in the order, COUNT, those of the highest values, as far down as
// one covers the address at AT, or to the address before.
static void read_below(struct search *s, const struct symbol_order *order, struct bytes names,
                       size_t at, size_t count)
{
	while (count && !s->covering[at].name) {
		size_t end = count--;
		uint64_t start = symbol_order_value(order, count);
		if (at && start <= s->addresses[at - 1])
			return;
		while (count && symbol_order_value(order, count - 1) == start)
			count--;
		for (size_t i = count; i < end; i++) {
			GElf_Sym symbol; // Elf64_Sym by another name
			if (order->numbers[i] >= order->count)
				continue;
			memcpy(&symbol, &order->table[order->numbers[i]], sizeof(symbol));
			read_entry(s, names, &symbol);
		}
	}
}

// Functions alone: whose a local variable is depends on the entries before it.
static bool read_in_order(struct search *s, const struct elf_section *section)
{
	struct symbol_order order = { 0 };

	// To sort a table takes four times as long as to look for one address in it.
	if (!s->data && (elf_file_is_kept(s->elf) || s->count >= ORDER_WORTH))
		order = symbol_order_of(s->elf, section);
	if (!order.numbers)
		return false;
	struct bytes names = names_of(s, section);
	for (size_t i = 0, count; i < s->count; i++) {
		if (!symbol_order_search(&order, s->addresses[i], &count))
			return false;
		read_below(s, &order, names, i, count);
	}
	return true;
}

static int find(struct elf_file *elf, const char *section, bool data, const uint64_t *addresses,
                size_t count, struct symbol_name *names)
{
	const struct elf_section *table = elf_file_find(elf, section);
	struct search s = { .elf = elf, .addresses = addresses, .count = count, .data = data };

	if (!table || (table->type != SHT_SYMTAB && table->type != SHT_DYNSYM))
		return 0;
	cleanup_free struct candidate *covering = calloc(count + 1, sizeof(*covering));
	cleanup_free struct candidate *nearest = calloc(count + 1, sizeof(*nearest));
	if (!covering || !nearest)
		return -1;
	s.covering = covering;
	s.nearest = nearest;
	if (!read_in_order(&s, table))
		read_table(&s, table);
	give_names(&s, names);
	return 1;
}

bool elf_symbols_has_functions(struct elf_file *elf, const char *section)
{
	const struct elf_section *table = elf_file_find(elf, section);
	GElf_Sym symbol;

	if (!table || (table->type != SHT_SYMTAB && table->type != SHT_DYNSYM))
		return false;
	Elf_Data *data = elf_file_data(elf, table);
	struct bytes names =
		whole_names(elf_file_contents(elf, elf_file_section(elf, table->link)));
	for (int i = 0; i < INT_MAX && gelf_getsym(data, i, &symbol); i++)
		if (symbol.st_name < names.size &&
		    is_function(elf, &(struct elf_symbol){
					     .name = (const char *)names.data + symbol.st_name,
					     .section = symbol.st_shndx,
					     .type = GELF_ST_TYPE(symbol.st_info),
					     .binding = GELF_ST_BIND(symbol.st_info) }))
			return true;
	return false;
}

int elf_symbols_find(struct elf_file *elf, const char *section, const uint64_t *addresses,
                     size_t count, struct symbol_name *names)
{
	return find(elf, section, false, addresses, count, names);
}

int elf_symbols_find_data(struct elf_file *elf, const char *section, const uint64_t *addresses,
                          size_t count, struct symbol_name *names)
{
	return find(elf, section, true, addresses, count, names);
}

// The relocation that fills the slot at ADDRESS, or number INDEX (ADDRESS 0), of SECTION.
static uint32_t relocated_symbol(struct elf_file *elf, const char *section, uint64_t address,
                                 uint64_t index)
{
	struct bytes table = elf_file_named_contents(elf, section);
	struct cursor c = cursor_at(table, 0);

	if (!address && index < table.size / sizeof(Elf64_Rela))
		c = cursor_at(table, index * sizeof(Elf64_Rela));
	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t slot = cursor_u64(&c);
		uint64_t info = cursor_u64(&c);
		cursor_skip(&c, 8);
		if (!address || slot == address)
			return (uint32_t)ELF64_R_SYM(info);
	}
	return 0;
}

static const char *dynamic_name(struct elf_file *elf, uint32_t symbol)
{
	const struct elf_section *table = elf_file_find(elf, ".dynsym");

	if (!table || !symbol)
		return NULL;
	struct bytes names = elf_file_contents(elf, elf_file_section(elf, table->link));
	struct cursor c =
		cursor_at(elf_file_contents(elf, table), (uint64_t)symbol * sizeof(Elf64_Sym));
	return bytes_string(names, cursor_u32(&c));
}

/*
 * What the stub at ADDRESS jumps through:
 *
 *	ff 25 rel32     jmp *slot(%rip), perhaps behind endbr64 or bnd
 *	68 imm32        push the relocation's number (lazy stubs of -fcf-protection)
 */
static const char *stub_target(struct elf_file *elf, struct bytes code, uint64_t address)
{
	for (size_t i = 0; i + 6 <= code.size; i++) {
		struct cursor c = cursor_at(code, i);
		uint16_t opcode = cursor_u16(&c);
		int32_t relative = (int32_t)cursor_u32(&c);
		if (opcode == 0x25ff) {
			uint64_t slot = address + i + 6 + (uint64_t)(int64_t)relative;
			uint32_t symbol = relocated_symbol(elf, ".rela.plt", slot, 0);
			if (!symbol)
				symbol = relocated_symbol(elf, ".rela.dyn", slot, 0);
			return dynamic_name(elf, symbol);
		}
		if ((opcode & 0xff) == 0x68) {
			c = cursor_at(code, i + 1);
			return dynamic_name(elf,
			                    relocated_symbol(elf, ".rela.plt", 0, cursor_u32(&c)));
		}
	}
	return NULL;
}

static void name_stub(struct elf_file *elf, const struct elf_section *section, uint64_t address,
                      struct symbol_name *name)
{
	uint64_t entry =
		section->entry_size >= 8 && section->entry_size <= 64 ? section->entry_size : 16;
	uint64_t offset = (address - section->address) / entry * entry;
	struct bytes code = bytes_slice(elf_file_contents(elf, section), offset, entry);
	bool is_first = offset == 0 && strcmp(section->name, ".plt") == 0;
	const char *target = is_first ? NULL : stub_target(elf, code, section->address + offset);

	if (target && *target)
		*name = (struct symbol_name){ .text = target,
			                      .length = (uint32_t)name_length(target),
			                      .is_plt = true };
}

void elf_symbols_find_plt(struct elf_file *elf, const uint64_t *addresses, size_t count,
                          struct symbol_name *names)
{
	if (elf_file_machine(elf) != EM_X86_64 || !elf_file_is_64(elf))
		return;
	for (size_t k = 0; k < elf_file_section_count(elf); k++) {
		const struct elf_section *section = elf_file_section(elf, k);
		if (strncmp(section->name, ".plt", 4) != 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (!names[i].text && addresses[i] >= section->address &&
			    addresses[i] - section->address < section->size)
				name_stub(elf, section, addresses[i], &names[i]);
	}
}
