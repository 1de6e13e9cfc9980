// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwarf_file.h"

#include "base/array.h"
#include "base/error.h"
#include "symbolize/elf/elf_file.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>

#define FUEL_PER_BYTE 64
#define FUEL_MINIMUM  ((uint64_t)1 << 20)

// libdw keeps the abbreviations of each unit that is read, and of the others those up to their root
// entry's: tables that many small units share could be made to fill all memory.
#define ABBREVS_FREE     ((uint64_t)1 << 18)
#define BYTES_PER_ABBREV 4

// What libdw takes at once, at most, without asking whether it got it.
#define UNIT_BYTES    ((size_t)64 << 10)
#define ABBREV_BYTES  ((size_t)64)

#define SECTION_COUNT 10
#define NAME_BYTES    20

/*
 * An ELF file whose sections are those that libdw looks for, wherever they lie in memory: as
 * offsets are modulo 2^64, each is as far from the header as it is in memory. So libdw sees what we
 * have decompressed, cut out of a package or taken from another file, and nothing else: no link to
 * a file that it would open, and no section that we do not need. Since elfutils 0.189 libdw reads
 * but what lies in the file: not what elf_newdata() adds.
 */
struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[2 + SECTION_COUNT];
	char names[SECTION_COUNT][NAME_BYTES];
};

static const char names[SECTION_COUNT][NAME_BYTES] = {
	".debug_info",     ".debug_abbrev", ".debug_str",    ".debug_str_offsets", ".debug_line",
	".debug_line_str", ".debug_addr",   ".debug_ranges", ".debug_rnglists",    ".debug_aranges",
};

// Of each of the names.
static const size_t places[SECTION_COUNT] = {
	offsetof(struct dwarf_sections, info),     offsetof(struct dwarf_sections, abbrev),
	offsetof(struct dwarf_sections, str),      offsetof(struct dwarf_sections, str_offsets),
	offsetof(struct dwarf_sections, line),     offsetof(struct dwarf_sections, line_str),
	offsetof(struct dwarf_sections, addr),     offsetof(struct dwarf_sections, ranges),
	offsetof(struct dwarf_sections, rnglists), offsetof(struct dwarf_sections, aranges),
};

struct dwarf_file {
	struct dwarf_sections sections;
	struct dwarf_file *alt;
	struct image *image;
	Elf *elf;     // what libdw sees: the image
	Dwarf *dwarf; // NULL: there is no .debug_info
	struct unit *units;
	size_t unit_count, unit_capacity;
	uint64_t abbrevs_left; // that libdw may yet be made to keep
	uint64_t fuel;
};

struct dwarf_sections dwarf_sections_of(struct elf_file *elf, const char *suffix)
{
	struct dwarf_sections sections;

	for (size_t i = 0; i < SECTION_COUNT; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%.*s%s", NAME_BYTES, names[i], suffix);
		struct bytes bytes = elf_file_named_contents(elf, name);
		memcpy((char *)&sections + places[i], &bytes, sizeof(bytes));
	}
	return sections;
}

static struct image *image_new(const struct dwarf_sections *sections)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	memcpy(image->names, names, sizeof(names));
	image->header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
		             EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 2,
		.e_shstrndx = 1,
	};
	image->sections[1] = (Elf64_Shdr){ .sh_name = NAME_BYTES - 1, // ""
		                           .sh_type = SHT_STRTAB,
		                           .sh_offset = offsetof(struct image, names),
		                           .sh_size = sizeof(image->names),
		                           .sh_addralign = 1 };
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		struct bytes bytes;
		memcpy(&bytes, (const char *)sections + places[i], sizeof(bytes));
		if (!bytes.size)
			continue;
		image->sections[image->header.e_shnum++] = (Elf64_Shdr){
			.sh_name = (uint32_t)(i * NAME_BYTES),
			.sh_type = SHT_PROGBITS,
			.sh_offset = (uintptr_t)bytes.data - (uintptr_t)image,
			.sh_size = bytes.size,
			.sh_addralign = 1,
		};
	}
	return image;
}

// Without memory libdw would print a message and exit. Instead, each call that may take memory is
// left by a jump to where it was made; a handler must not return.
static _Thread_local jmp_buf *no_memory;

__attribute__((noreturn)) static void give_up(void)
{
	if (!no_memory)
		abort();
	longjmp(*no_memory, 1);
}

jmp_buf *dwarf_file_set_escape(jmp_buf *escape)
{
	jmp_buf *before = no_memory;

	no_memory = escape;
	return before;
}

// libdw's hash tables do not ask whether they got their memory.
static bool has_memory(size_t bytes)
{
	void *volatile probe = malloc(bytes);

	free(probe);
	return probe != NULL;
}

static bool open_dwarf(struct dwarf_file *file)
{
	if (!file->sections.info.size)
		return true;
	elf_version(EV_CURRENT);
	file->image = image_new(&file->sections);
	// All of memory; SIZE_MAX itself would be a file of unknown size.
	file->elf = file->image ? elf_memory((char *)file->image, SIZE_MAX - 1) : NULL;
	file->dwarf = file->elf ? dwarf_begin_elf(file->elf, DWARF_C_READ, NULL) : NULL;
	if (file->dwarf)
		dwarf_new_oom_handler(file->dwarf, give_up);
	return file->dwarf != NULL;
}

static bool is_readable(const struct unit *unit)
{
	return unit->version >= 2 && unit->version <= 5 && unit->root < unit->end &&
	       (unit->address_bytes == 4 || unit->address_bytes == 8);
}

// False once libdw would have to keep more than an honest file makes it.
static bool may_keep(struct dwarf_file *file, size_t abbrevs)
{
	file->abbrevs_left -= abbrevs < file->abbrevs_left ? abbrevs : file->abbrevs_left;
	return file->abbrevs_left > 0;
}

// Steps over the attributes of an abbreviation, names and forms up to two zeros. Nearly all are of
// a byte each: the C library has some 700 KB of them, and whoever
// names one function in it passes all.
static void skip_attributes(struct cursor *c)
{
	for (;;) {
		while (cursor_left(c) >= 2 && c->at[0] < 0x80 && c->at[1] < 0x80 &&
		       c->at[1] != DW_FORM_implicit_const) {
			c->at += 2;
			if (!(c->at[-2] | c->at[-1]))
				return;
		}
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		if (form == DW_FORM_implicit_const)
			cursor_skip_leb(c);
		if (!name && !form)
			return;
	}
}

// How many abbreviations of UNIT stand before the one of CODE; 0: how many there are.
static size_t count_abbrevs(const struct unit *unit, uint64_t code)
{
	struct cursor c = cursor_at(unit->file->sections.abbrev, unit->abbrev_offset);
	size_t count = 0;

	for (uint64_t at; (at = cursor_uleb(&c)); count++) {
		if (at == code)
			break;
		cursor_skip_leb(&c); // tag
		cursor_skip(&c, 1);  // whether it has children
		skip_attributes(&c);
	}
	return count;
}

static bool may_keep_root(struct dwarf_file *file, const struct unit *unit)
{
	struct cursor c = cursor_at(file->sections.info, unit->root);

	return may_keep(file, 1 + count_abbrevs(unit, cursor_uleb(&c)));
}

// Makes libdw know the unit. It does that in their order, whichever is asked about, and stops at
// one of an unknown version, which it has stepped over when it is asked again.
static bool open_unit(struct dwarf_file *file, struct unit *unit)
{
	bool readable = is_readable(unit);

	if (!has_memory(UNIT_BYTES))
		return false;
	Dwarf_Off offset = readable ? unit->root : unit->offset;
	unit->is_good = dwarf_offdie(file->dwarf, offset, &unit->die) && readable;
	return true;
}

// Up to the first that is damaged.
static int read_units(struct dwarf_file *file, struct error *err)
{
	Dwarf_Off next;

	for (Dwarf_Off at = 0;; at = next) {
		struct unit unit = { .file = file, .offset = at };
		size_t header_bytes;
		if (dwarf_next_unit(file->dwarf, at, &next, &header_bytes, &unit.version,
		                    &unit.abbrev_offset, &unit.address_bytes, &unit.offset_bytes,
		                    NULL, NULL) != 0 ||
		    next <= at || next > file->sections.info.size)
			return 0;
		unit.end = next;
		unit.root = at + header_bytes;
		// Also one that is not for us: libdw looks at it on its way to the next.
		if (!may_keep_root(file, &unit))
			return 0;
		if (!array_reserve(&file->units, &file->unit_capacity, file->unit_count + 1) ||
		    !open_unit(file, &unit))
			return error_set(err, ENOMEM, "could not list the compilation units");
		if (is_readable(&unit))
			file->units[file->unit_count++] = unit;
	}
}

static int list_units(struct dwarf_file *file, struct error *err)
{
	jmp_buf escape, *before = dwarf_file_set_escape(&escape);
	int result = setjmp(escape) ? error_set(err, ENOMEM, "could not list the compilation units")
	                            : read_units(file, err);

	dwarf_file_set_escape(before);
	return result;
}

struct dwarf_file *dwarf_file_new(const struct dwarf_sections *sections, struct error *err)
{
	cleanup(dwarf_file) struct dwarf_file *file = calloc(1, sizeof(*file));

	if (file)
		file->sections = *sections;
	if (!file || !open_dwarf(file)) {
		error_set(err, ENOMEM, "could not read the debug information");
		return NULL;
	}
	file->abbrevs_left = ABBREVS_FREE + sections->info.size / BYTES_PER_ABBREV;
	file->fuel = FUEL_MINIMUM +
	             FUEL_PER_BYTE * ((uint64_t)sections->info.size + sections->line.size +
	                              sections->ranges.size + sections->rnglists.size);
	if (file->dwarf && list_units(file, err) < 0)
		return NULL;
	return steal(file);
}

void dwarf_file_free(struct dwarf_file *file)
{
	if (!file)
		return;
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	free(file->image);
	free(file->units);
	free(file);
}

void dwarf_file_set_alt(struct dwarf_file *file, struct dwarf_file *alt)
{
	file->alt = alt;
	if (file->dwarf && alt)
		dwarf_setalt(file->dwarf, alt->dwarf);
}

struct dwarf_file *dwarf_file_alt(const struct dwarf_file *file)
{
	return file->alt;
}

const struct dwarf_sections *dwarf_file_sections(const struct dwarf_file *file)
{
	return &file->sections;
}

size_t dwarf_file_unit_count(const struct dwarf_file *file)
{
	return file->unit_count;
}

struct unit *dwarf_file_unit(struct dwarf_file *file, size_t index)
{
	return index < file->unit_count ? &file->units[index] : NULL;
}

struct unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset)
{
	size_t count = array_search(file->unit_count, i, file->units[i].offset <= offset);

	struct unit *unit = count ? &file->units[count - 1] : NULL;
	return unit && offset < unit->end ? unit : NULL;
}

bool dwarf_file_burn(struct dwarf_file *file, uint64_t work)
{
	file->fuel -= work < file->fuel ? work : file->fuel;
	return file->fuel > 0;
}

bool dwarf_file_is_burnt(const struct dwarf_file *file)
{
	return file->fuel == 0;
}

static int slot_of(unsigned int attribute)
{
	switch (attribute) {
	case DW_AT_low_pc:
		return SLOT_LOW_PC;
	case DW_AT_high_pc:
		return SLOT_HIGH_PC;
	case DW_AT_ranges:
		return SLOT_RANGES;
	case DW_AT_name:
		return SLOT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return SLOT_LINKAGE_NAME;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return SLOT_ORIGIN;
	case DW_AT_decl_file:
		return SLOT_DECL_FILE;
	case DW_AT_call_file:
		return SLOT_CALL_FILE;
	case DW_AT_call_line:
		return SLOT_CALL_LINE;
	default:
		return -1;
	}
}

static int take_value(Dwarf_Attribute *value, void *context)
{
	struct entry *entry = context;
	int slot = slot_of(dwarf_whatattr(value));

	if (slot >= 0)
		entry->values[slot] = *value;
	return DWARF_CB_OK;
}

bool unit_read(struct unit *unit, uint64_t offset, struct entry *entry)
{
	// dwarf_offdie() would look for the unit each time.
	*entry = (struct entry){ .die = { .addr = (char *)unit->die.addr + (offset - unit->root),
		                          .cu = unit->die.cu } };
	// The root's have been counted with the unit.
	if (!unit->is_kept && offset != unit->root) {
		size_t count = count_abbrevs(unit, 0);
		if (!may_keep(unit->file, count) || !has_memory(count * ABBREV_BYTES + UNIT_BYTES))
			return false;
		unit->is_kept = true;
	}
	return dwarf_getattrs(&entry->die, take_value, entry, 0) == 1;
}
