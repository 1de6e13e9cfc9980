// SPDX-License-Identifier: MIT
#include "symbolize/elf/elf_file.h"

#include "base/error.h"
#include "base/foreign_file.h"
#include "base/inflated.h"
#include "base/mapped.h"
#include "symbolize/elf/decompress.h"

#include <elf.h>
#include <errno.h>

#define SHRANK "the file shrank while it was read"

struct inflated {
	const struct elf_section *section;
	struct bytes bytes; // empty if it is damaged
};

struct elf_file {
	struct bytes image;
	void *owned; // free()d
	struct mapped map;
	bool is_64;
	uint16_t machine;
	uint64_t program_headers; // offset
	uint16_t program_header_size, program_header_count;
	struct elf_section *sections;
	size_t section_count;
	struct inflated *inflated;
	size_t inflated_count;
	uint64_t inflated_bytes; // of all, as they claim
	char trouble[ERROR_TEXT_SIZE];
};

static struct elf_section read_section_header(struct cursor *c, bool is_64)
{
	unsigned int word = is_64 ? 8 : 4;
	uint32_t name = cursor_u32(c);
	struct elf_section section = { .type = cursor_u32(c) };

	section.flags = cursor_number(c, word);
	section.address = cursor_number(c, word);
	section.offset = cursor_number(c, word);
	section.size = cursor_number(c, word);
	section.link = cursor_u32(c);
	section.info = cursor_u32(c);
	cursor_skip(c, word); // sh_addralign
	section.entry_size = cursor_number(c, word);
	// The offset of the name, until the table of names is known.
	section.name = (const char *)(uintptr_t)name;
	return section;
}

static struct bytes raw_contents(const struct elf_file *elf, const struct elf_section *section)
{
	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return (struct bytes){ 0 };
	if (section->size > elf->image.size || section->offset > elf->image.size - section->size)
		return (struct bytes){ 0 };
	return bytes_slice(elf->image, section->offset, section->size);
}

static void name_sections(struct elf_file *elf, uint32_t names_index)
{
	struct bytes names = { 0 };

	if (names_index < elf->section_count)
		names = raw_contents(elf, &elf->sections[names_index]);
	for (size_t i = 0; i < elf->section_count; i++) {
		const char *name = bytes_string(names, (uintptr_t)elf->sections[i].name);
		elf->sections[i].name = name ? name : "";
	}
}

static int read_sections(struct elf_file *elf, uint64_t offset, uint16_t size, uint32_t count,
                         uint32_t names_index, struct error *err)
{
	struct cursor c = cursor_at(elf->image, offset);

	if (!offset || size < (elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return 0; // no section table is a file without names, not a wrong file
	// Counts that do not fit the header stand in the first section header.
	struct cursor first_at = c;
	struct elf_section first = read_section_header(&first_at, elf->is_64);
	if (count == 0)
		count = first.size > UINT32_MAX ? UINT32_MAX : (uint32_t)first.size;
	if (names_index == SHN_XINDEX)
		names_index = first.link;
	if (count > cursor_left(&c) / size)
		count = (uint32_t)(cursor_left(&c) / size); // cut off: use what is there
	if (!count)
		return 0;
	elf->sections = calloc(count, sizeof(*elf->sections));
	elf->inflated = calloc(count, sizeof(*elf->inflated));
	if (!elf->sections || !elf->inflated)
		return error_set(err, ENOMEM, "could not read the section table");
	for (uint32_t i = 0; i < count; i++) {
		struct cursor header = cursor_at(elf->image, offset + (uint64_t)i * size);
		elf->sections[i] = read_section_header(&header, elf->is_64);
	}
	elf->section_count = count;
	name_sections(elf, names_index);
	return 0;
}

static int read_header(struct elf_file *elf, struct error *err)
{
	struct cursor c = cursor_at(elf->image, 0);
	const uint8_t *ident = cursor_take(&c, EI_NIDENT);

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, 0, "not an ELF file");
	if (ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return error_set(err, 0, "an ELF file of a machine that is not supported");
	elf->is_64 = ident[EI_CLASS] == ELFCLASS64;
	unsigned int word = elf->is_64 ? 8 : 4;
	cursor_skip(&c, 2); // e_type
	elf->machine = cursor_u16(&c);
	cursor_skip(&c, 4 + word); // e_version, e_entry
	elf->program_headers = cursor_number(&c, word);
	uint64_t sections = cursor_number(&c, word);
	cursor_skip(&c, 4 + 2); // e_flags, e_ehsize
	elf->program_header_size = cursor_u16(&c);
	elf->program_header_count = cursor_u16(&c);
	uint16_t size = cursor_u16(&c);
	uint16_t count = cursor_u16(&c);
	uint16_t names = cursor_u16(&c);
	if (c.bad)
		return error_set(err, 0, "the ELF header is cut off");
	return read_sections(elf, sections, size, count, names, err);
}

struct elf_file *elf_file_from_memory(struct bytes image, void *owned, struct error *err)
{
	cleanup(elf_file) struct elf_file *elf = calloc(1, sizeof(*elf));

	if (!elf) {
		free(owned);
		error_set(err, ENOMEM, "could not open the file");
		return NULL;
	}
	elf->image = image;
	elf->owned = owned;
	if (read_header(elf, err) < 0)
		return NULL;
	return steal(elf);
}

struct elf_file *elf_file_open_fd(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		error_set(err, errno, "could not examine the file");
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT) {
		error_set(err, 0, "not an ELF file");
		return NULL;
	}
	struct mapped map;
	if (mapped_open(&map, fd, (size_t)st.st_size, MAPPED_READ, err) < 0)
		return NULL;
	struct bytes bytes = { map.data, map.size };
	struct elf_file *elf = elf_file_from_memory(bytes, NULL, err);
	if (mapped_shrank(&map))
		error_set(err, 0, SHRANK);
	if (elf && !mapped_shrank(&map)) {
		elf->map = map;
		return elf;
	}
	elf_file_close(elf);
	mapped_close(&map);
	return NULL;
}

struct elf_file *elf_file_open(const char *path, struct error *err)
{
	cleanup_close int fd = foreign_open(path, NULL, NULL, err);

	if (fd < 0)
		return NULL;
	struct elf_file *elf = elf_file_open_fd(fd, err);
	if (!elf)
		error_wrap(err, "\"%s\"", path);
	return elf;
}

void elf_file_close(struct elf_file *elf)
{
	if (!elf)
		return;
	for (size_t i = 0; i < elf->inflated_count; i++)
		free((void *)elf->inflated[i].bytes.data);
	free(elf->inflated);
	free(elf->sections);
	mapped_close(&elf->map);
	free(elf->owned);
	free(elf);
}

bool elf_file_is_64(const struct elf_file *elf)
{
	return elf->is_64;
}

uint16_t elf_file_machine(const struct elf_file *elf)
{
	return elf->machine;
}

struct bytes elf_file_image(const struct elf_file *elf)
{
	return elf->image;
}

size_t elf_file_section_count(const struct elf_file *elf)
{
	return elf->section_count;
}

const struct elf_section *elf_file_section(const struct elf_file *elf, size_t index)
{
	return index < elf->section_count ? &elf->sections[index] : NULL;
}

const struct elf_section *elf_file_find(const struct elf_file *elf, const char *name)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	return NULL;
}

const char *elf_file_trouble(const struct elf_file *elf)
{
	// What was found damaged is explained by that.
	return mapped_shrank(&elf->map) ? SHRANK : elf->trouble;
}

// SHF_COMPRESSED: an Elf_Chdr in front. The older .zdebug_*: "ZLIB" and a big-endian size.
static bool compression_header(const struct elf_file *elf, const struct elf_section *section,
                               struct cursor *c, enum compression *how, uint64_t *size)
{
	if (section->flags & SHF_COMPRESSED) {
		*how = (enum compression)cursor_u32(c);
		cursor_skip(c, elf->is_64 ? 4 : 0); // ch_reserved
		*size = cursor_number(c, elf->is_64 ? 8 : 4);
		cursor_skip(c, elf->is_64 ? 8 : 4); // ch_addralign
	} else {
		const uint8_t *magic = cursor_take(c, 4);
		*how = COMPRESSION_ZLIB;
		*size = __builtin_bswap64(cursor_u64(c));
		if (!magic || memcmp(magic, "ZLIB", 4) != 0)
			return false;
	}
	return !c->bad && (*how == COMPRESSION_ZLIB || *how == COMPRESSION_ZSTD);
}

static bool is_compressed(const struct elf_section *section)
{
	return (section->flags & SHF_COMPRESSED) || strncmp(section->name, ".zdebug_", 8) == 0;
}

// What was not good for its claim counts, too: it took the time.
static bool may_inflate(struct elf_file *elf, uint64_t size, struct error *err)
{
	uint64_t most = inflated_max(elf->image.size);

	if (size > most - elf->inflated_bytes) {
		error_set(err, 0,
		          "the compressed sections claim to hold more than %llu MB, of a file of "
		          "%llu MB",
		          (unsigned long long)most >> 20,
		          (unsigned long long)elf->image.size >> 20);
		return false;
	}
	elf->inflated_bytes += size;
	return true;
}

static struct bytes inflate_section(struct elf_file *elf, const struct elf_section *section)
{
	struct cursor c = cursor_at(raw_contents(elf, section), 0);
	struct error err = { .text = "a section is compressed in a way that is not known" };
	enum compression how;
	uint64_t size;
	uint8_t *out = NULL;

	if (compression_header(elf, section, &c, &how, &size) && may_inflate(elf, size, &err))
		out = decompress(how, (struct bytes){ c.at, cursor_left(&c) }, size, &err);
	if (!out) {
		snprintf(elf->trouble, sizeof(elf->trouble), "%s: %s", section->name, err.text);
		return (struct bytes){ 0 };
	}
	return (struct bytes){ out, (size_t)size };
}

struct bytes elf_file_contents(struct elf_file *elf, const struct elf_section *section)
{
	if (!section)
		return (struct bytes){ 0 };
	if (!is_compressed(section))
		return raw_contents(elf, section);
	for (size_t i = 0; i < elf->inflated_count; i++)
		if (elf->inflated[i].section == section)
			return elf->inflated[i].bytes;
	struct inflated *room = &elf->inflated[elf->inflated_count++];
	*room = (struct inflated){ section, inflate_section(elf, section) };
	return room->bytes;
}

struct bytes elf_file_named_contents(struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_find(elf, name);

	if (!section && strncmp(name, ".debug_", 7) == 0) {
		char old_name[64];
		snprintf(old_name, sizeof(old_name), ".z%s", name + 1);
		section = elf_file_find(elf, old_name);
	}
	return elf_file_contents(elf, section);
}

struct bytes elf_note_find(struct bytes notes, size_t align, const char *name, uint32_t type)
{
	struct cursor c = cursor_at(notes, 0);
	size_t name_size = strlen(name) + 1;

	align = align == 8 ? 8 : 4;
	while (!c.bad && cursor_left(&c) >= sizeof(Elf32_Nhdr)) {
		uint64_t names = cursor_u32(&c), descriptor = cursor_u32(&c);
		uint32_t its_type = cursor_u32(&c);
		const uint8_t *its_name = cursor_take(&c, (names + 3) & ~UINT64_C(3));
		size_t at = (size_t)(c.at - notes.data);
		cursor_skip(&c, (align - at % align) % align);
		const uint8_t *bytes = cursor_take(&c, descriptor);
		if (its_name && bytes && its_type == type && names == name_size &&
		    memcmp(its_name, name, name_size) == 0)
			return (struct bytes){ bytes, (size_t)descriptor };
		// The last descriptor may go without its padding.
		uint64_t padding = (align - descriptor % align) % align;
		cursor_skip(&c, padding < cursor_left(&c) ? padding : cursor_left(&c));
	}
	return (struct bytes){ 0 };
}

struct segment {
	uint32_t type, flags;
	uint64_t offset, address, file_size, align;
};

static struct segment read_segment(const struct elf_file *elf, size_t index)
{
	uint64_t at = elf->program_headers + (uint64_t)index * elf->program_header_size;
	struct cursor c = cursor_at(elf->image, at);
	unsigned int word = elf->is_64 ? 8 : 4;
	struct segment segment = { .type = cursor_u32(&c) };

	if (elf->is_64)
		segment.flags = cursor_u32(&c);
	segment.offset = cursor_number(&c, word);
	segment.address = cursor_number(&c, word);
	cursor_skip(&c, word); // p_paddr
	segment.file_size = cursor_number(&c, word);
	cursor_skip(&c, word); // p_memsz
	if (!elf->is_64)
		segment.flags = cursor_u32(&c);
	segment.align = cursor_number(&c, word);
	return c.bad ? (struct segment){ 0 } : segment;
}

struct bytes elf_file_build_id(const struct elf_file *elf)
{
	struct bytes id = { 0 };

	for (size_t i = 0; i < elf->section_count && !id.size; i++)
		if (elf->sections[i].type == SHT_NOTE)
			id = elf_note_find(raw_contents(elf, &elf->sections[i]), 4, "GNU",
			                   NT_GNU_BUILD_ID);
	for (size_t i = 0; i < elf->program_header_count && !id.size; i++) {
		struct segment segment = read_segment(elf, i);
		if (segment.type == PT_NOTE)
			id = elf_note_find(
				bytes_slice(elf->image, segment.offset, segment.file_size),
				(size_t)segment.align, "GNU", NT_GNU_BUILD_ID);
	}
	return id;
}

uint64_t elf_file_lowest_code(const struct elf_file *elf)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) &&
		    section->address < lowest)
			lowest = section->address;
	}
	for (size_t i = 0; lowest == UINT64_MAX && i < elf->program_header_count; i++) {
		struct segment segment = read_segment(elf, i);
		if (segment.type == PT_LOAD && (segment.flags & PF_X))
			lowest = segment.address;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}
