// SPDX-License-Identifier: MIT
#include "base/go_module.h"

#include "base/go_table.h"

#include <elf.h>

#define TABLE_ALIGNMENT 8

// Offsets in runtime.moduledata, of Go 1.16 to 1.27. Where that of the data of functions is depends
// on the version.
#define MODULE_MIN_PC     160
#define MODULE_TEXT       176
#define MODULE_FUNCS_FROM 256
#define MODULE_FUNCS_TO   512

#define MODULES_TRIED     8 // places that hold the address of the table

struct search {
	const struct go_section *sections;
	size_t count;
	struct go_module *module;
};

static const struct go_section *section_called(const struct search *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->sections[i].name, name) == 0)
			return &s->sections[i];
	return NULL;
}

static bool take_table(struct go_module *module, const struct go_section *section, uint64_t at)
{
	struct bytes table = bytes_slice(section->bytes, at, section->bytes.size);

	if (!go_table_is_known(table))
		return false;
	module->table = table;
	module->table_address = section->address + at;
	return true;
}

static bool search_for_table(struct go_module *module, const struct go_section *section)
{
	uint64_t odd = section->address % TABLE_ALIGNMENT;

	for (uint64_t at = odd ? TABLE_ALIGNMENT - odd : 0; at < section->bytes.size;
	     at += TABLE_ALIGNMENT)
		if (take_table(module, section, at))
			return true;
	return false;
}

void go_module_find_table(const struct go_section *sections, size_t count, struct go_module *module)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	const struct search s = { sections, count, module };
	const struct go_section *code = section_called(&s, ".text");

	*module = (struct go_module){ 0 };
	// A linker of C puts its own code before Go's.
	if (code && !section_called(&s, ".init"))
		module->text = code->address;
	for (int i = 0; i < 2; i++) {
		const struct go_section *own = section_called(&s, names[i]);
		if (own && take_table(module, own, 0))
			return;
	}
	const struct go_section *shared = section_called(&s, ".data.rel.ro");
	if (shared && section_called(&s, ".go.buildinfo"))
		search_for_table(module, shared);
}

// From ADDRESS to the end of the section that holds it.
static struct bytes memory_at(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct go_section *section = &s->sections[i];
		if (address >= section->address && address - section->address < section->bytes.size)
			return bytes_slice(section->bytes, address - section->address,
			                   section->bytes.size);
	}
	return (struct bytes){ 0 };
}

static bool take_funcs(struct search *s, uint64_t address)
{
	struct bytes funcs = memory_at(s, address);

	if (!funcs.size || !go_table_has(s->module->table, s->module->text, funcs))
		return false;
	s->module->funcs = funcs;
	return true;
}

// The code of Go begins within .text, and its first function is not before it.
static bool take_text(struct search *s, uint64_t text, uint64_t first)
{
	const struct go_section *code = section_called(s, ".text");

	if (!code || text < code->address || text - code->address >= code->bytes.size ||
	    first < text || first - code->address >= code->bytes.size)
		return false;
	s->module->text = text;
	return true;
}

static uint64_t word_at(struct bytes bytes, uint64_t at)
{
	struct cursor c = cursor_at(bytes, at);

	return cursor_u64(&c);
}

// MODULE is one if its words fit; then what it has is taken.
static bool take_module(struct search *s, struct bytes module)
{
	if (!take_text(s, word_at(module, MODULE_TEXT), word_at(module, MODULE_MIN_PC)))
		return false;
	for (uint64_t at = MODULE_FUNCS_FROM; at < MODULE_FUNCS_TO; at += 8)
		if (take_funcs(s, word_at(module, at)))
			break;
	return true;
}

static bool find_module(struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct go_section *section = &s->sections[i];
		for (uint64_t at = 0; section->is_writable && at + 8 <= section->bytes.size;
		     at += 8)
			if (word_at(section->bytes, at) == s->module->table_address &&
			    take_module(s, bytes_slice(section->bytes, at, section->bytes.size)))
				return true;
	}
	return false;
}

// In a position-independent program the loader puts the addresses there: { where, type, what }
// each.
static bool next_relocation(struct cursor *c, uint64_t *where, uint64_t *address)
{
	while (!c->bad && cursor_left(c) >= sizeof(Elf64_Rela)) {
		*where = cursor_u64(c);
		bool relative = ELF64_R_TYPE(cursor_u64(c)) == R_X86_64_RELATIVE;
		*address = cursor_u64(c);
		if (relative)
			return true;
	}
	return false;
}

// As take_module(), of one that the loader fills in at START.
static bool take_relocated(struct search *s, struct bytes relocations, uint64_t start)
{
	struct cursor c = cursor_at(relocations, 0);
	uint64_t words[MODULE_FUNCS_TO / 8] = { 0 }, where, address;

	while (next_relocation(&c, &where, &address))
		if (where >= start && where - start < sizeof(words) && (where - start) % 8 == 0)
			words[(where - start) / 8] = address;
	return take_module(s, (struct bytes){ (const uint8_t *)words, sizeof(words) });
}

static void find_relocated_module(struct search *s, struct bytes relocations)
{
	struct cursor c = cursor_at(relocations, 0);
	uint64_t where, address;

	for (int tries = 0; tries < MODULES_TRIED && next_relocation(&c, &where, &address);)
		if (address == s->module->table_address && ++tries &&
		    take_relocated(s, relocations, where))
			return;
}

void go_module_find_rest(const struct go_section *sections, size_t count, struct go_module *module)
{
	static const char *const names[] = { ".rela.dyn", ".rela" };
	struct search s = { sections, count, module };

	if (!module->table.size || find_module(&s))
		return;
	for (int i = 0; i < 2; i++) {
		const struct go_section *relocations = section_called(&s, names[i]);
		if (relocations && relocations->bytes.size) {
			find_relocated_module(&s, relocations->bytes);
			return;
		}
	}
}
