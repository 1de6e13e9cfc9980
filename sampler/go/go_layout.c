// SPDX-License-Identifier: MIT
#include "sampler/go/go_layout.h"

#include "base/cleanup.h"
#include "sampler/elf/elf_section.h"
#include "sampler/go/go_stripped.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNITS_MAX   100000
#define REASONS_MAX 255 // the reason is one byte

struct search {
	struct go_layout *out;
	bool g, length, pointer, reasons;
};

static bool offset_of(Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(member, DW_AT_data_member_location, &attribute) ||
	    dwarf_formudata(&attribute, &word) || word > GO_G_BYTES_MAX)
		return false;
	*offset = word;
	return true;
}

// The type of DIE, without the names that it may have been given.
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type) &&
	       dwarf_peel_type(type, type) == 0;
}

struct field {
	const char *name; // "sched.pc"
	int32_t *to;      // -1: not found yet
	uint32_t most;    // bytes that are read of it
};

// The fields of STRUCTURE, which lies at BASE of the g and is called PREFIX there.
static void take_fields(Dwarf_Die *structure, const char *prefix, uint64_t base,
                        const struct field *fields, size_t count)
{
	size_t length = strlen(prefix);
	Dwarf_Die member, type;
	uint64_t offset;

	if (dwarf_child(structure, &member))
		return;
	do {
		const char *name = dwarf_diename(&member);
		if (!name || dwarf_tag(&member) != DW_TAG_member || !offset_of(&member, &offset))
			continue;
		for (size_t i = 0; i < count; i++) {
			const char *field = fields[i].name;
			const char *dot = strchr(field, '.');
			if (strncmp(field, prefix, length) == 0 &&
			    strcmp(field + length, name) == 0 && (!dot || length))
				*fields[i].to = (int32_t)(base + offset);
		}
		if (!length && (strcmp(name, "sched") == 0 || strcmp(name, "stack") == 0) &&
		    type_of(&member, &type))
			take_fields(&type, strcmp(name, "sched") == 0 ? "sched." : "stack.", offset,
			            fields, count);
	} while (dwarf_siblingof(&member, &member) == 0);
}

static bool take_g(struct go_layout *l, Dwarf_Die *g)
{
	const struct field fields[] = {
		{ "atomicstatus", &l->status, 4 }, { "waitreason", &l->reason, 1 },
		{ "goid", &l->goid, 8 },           { "startpc", &l->start, 8 },
		{ "stack.hi", &l->stack_high, 8 }, { "sched.sp", &l->sp, 8 },
		{ "sched.pc", &l->pc, 8 },         { "sched.bp", &l->bp, 8 },
		{ "syscallsp", &l->call_sp, 8 },   { "syscallpc", &l->call_pc, 8 },
		{ "syscallbp", &l->call_bp, 8 },
	};
	const size_t count = sizeof(fields) / sizeof(fields[0]);

	for (size_t i = 0; i < count; i++)
		*fields[i].to = -1;
	take_fields(g, "", 0, fields, count);
	l->g_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		if (*fields[i].to < 0 && fields[i].to != &l->call_bp)
			return false;
		uint32_t end = *fields[i].to < 0 ? 0 : (uint32_t)*fields[i].to + fields[i].most;
		l->g_bytes = end > l->g_bytes ? end : l->g_bytes;
	}
	return l->g_bytes <= GO_G_BYTES_MAX;
}

// Go's linker writes the address itself, whatever the version of DWARF.
static bool address_of(Dwarf_Die *variable, uint64_t *address)
{
	Dwarf_Attribute attribute;
	Dwarf_Block block;

	if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
	    dwarf_formblock(&attribute, &block) || block.length != 1 + sizeof(*address) ||
	    block.data[0] != DW_OP_addr)
		return false;
	memcpy(address, block.data + 1, sizeof(*address));
	return true;
}

static uint32_t elements_of(Dwarf_Die *variable)
{
	Dwarf_Die type, range;
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!type_of(variable, &type) || dwarf_tag(&type) != DW_TAG_array_type ||
	    dwarf_child(&type, &range))
		return 0;
	if (dwarf_attr(&range, DW_AT_count, &attribute) && dwarf_formudata(&attribute, &word) == 0)
		return word > REASONS_MAX ? REASONS_MAX : (uint32_t)word;
	if (dwarf_attr(&range, DW_AT_upper_bound, &attribute) &&
	    dwarf_formudata(&attribute, &word) == 0)
		return word >= REASONS_MAX ? REASONS_MAX : (uint32_t)word + 1;
	return 0;
}

static void take_die(struct search *s, Dwarf_Die *die)
{
	struct go_layout *l = s->out;
	int tag = dwarf_tag(die);

	if (tag != DW_TAG_structure_type && tag != DW_TAG_variable)
		return;
	const char *name = dwarf_diename(die);
	if (!name || strncmp(name, "runtime.", 8) != 0)
		return;
	name += 8;
	if (tag == DW_TAG_structure_type && strcmp(name, "g") == 0)
		s->g = take_g(l, die);
	else if (tag == DW_TAG_variable && strcmp(name, "allglen") == 0)
		s->length = address_of(die, &l->all_length);
	else if (tag == DW_TAG_variable && strcmp(name, "allgptr") == 0)
		s->pointer = address_of(die, &l->all_pointer);
	else if (tag == DW_TAG_variable && strcmp(name, "waitReasonStrings") == 0) {
		s->reasons = address_of(die, &l->reasons);
		l->reason_count = s->reasons ? elements_of(die) : 0;
	}
}

static bool is_complete(const struct search *s)
{
	return s->g && s->length && s->pointer;
}

// Types and variables of the runtime may stand in two units.
static void take_units(struct search *s, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;

	for (int i = 0; i < UNITS_MAX && !(is_complete(s) && s->reasons); i++) {
		if (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &top, NULL))
			return;
		if (dwarf_child(&top, &die))
			continue;
		do
			take_die(s, &die);
		while (dwarf_siblingof(&die, &die) == 0);
	}
}

static void take_headers(struct go_layout *l, Elf *elf)
{
	GElf_Ehdr header;
	GElf_Phdr segment;
	size_t count;

	l->moves = gelf_getehdr(elf, &header) && header.e_type == ET_DYN;
	if (elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_PHDR)
			l->headers = segment.p_vaddr;
}

bool go_layout_bias(const struct go_layout *l, uint32_t pid, uint64_t *bias)
{
	char path[64];
	Elf64_auxv_t entry;

	if (!l->moves) {
		*bias = 0;
		return true;
	}
	snprintf(path, sizeof(path), "/proc/%u/auxv", pid);
	cleanup_fclose FILE *file = l->headers ? fopen(path, "re") : NULL;
	while (file && fread(&entry, sizeof(entry), 1, file) == 1)
		if (entry.a_type == AT_PHDR) {
			*bias = entry.a_un.a_val - l->headers;
			return true;
		}
	return false;
}

static bool is_go(Elf *elf)
{
	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
	       elf_section_find(elf, ".go.buildinfo");
}

bool go_layout_is_go(int fd)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool go = is_go(elf);

	elf_end(elf);
	return go;
}

enum go_found go_layout_read(int fd, struct go_layout *out)
{
	struct go_layout layout = { 0 };
	struct search search = { .out = &layout };
	enum go_found found = GO_NONE;

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (is_go(elf)) {
		found = GO_STRIPPED;
		Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
		if (dwarf) {
			take_units(&search, dwarf);
			found = is_complete(&search) ? GO_KNOWN : GO_UNKNOWN;
			dwarf_end(dwarf);
		}
		if (found != GO_KNOWN) {
			layout = (struct go_layout){ 0 };
			found = go_stripped_read(elf, &layout) ? GO_KNOWN : found;
		}
		take_headers(&layout, elf);
	}
	elf_end(elf);
	if (found == GO_KNOWN)
		*out = layout;
	return found;
}
