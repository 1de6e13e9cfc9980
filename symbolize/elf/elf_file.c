// SPDX-License-Identifier: MIT
#include "symbolize/elf/elf_file.h"

#include "base/error.h"
#include "base/foreign_file.h"
#include "base/inflated.h"
#include "base/mapped.h"
#include "symbolize/elf/decompress.h"
#include "symbolize/elf/section_cache.h"

#include <errno.h>
#include <gelf.h>

#define SHRANK "the file shrank while it was read"

// libelf takes 200 bytes for each section, of which a sparse file may claim any number.
#define SECTIONS_MAX   ((uint64_t)1 << 20)
#define SEGMENTS_MAX   ((size_t)1 << 16)
#define NOTE_BYTES_MAX ((size_t)1 << 20) // of all notes together

struct inflated {
	const struct elf_section *section;
	struct bytes bytes; // empty if it is damaged
	struct mapped map;  // has them, if an earlier run has kept them
};

struct elf_file {
	struct bytes image;
	void *owned; // free()d
	struct mapped map;
	Elf *elf;
	GElf_Ehdr header;
	struct elf_section *sections;
	size_t section_count;
	struct inflated *inflated;
	size_t inflated_count;
	uint64_t inflated_bytes; // of all, as they claim
	const char *kept;        // a directory; NULL: they are not kept
	char trouble[ERROR_TEXT_SIZE];
};

static struct bytes raw_contents(const struct elf_file *elf, const struct elf_section *section)
{
	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return (struct bytes){ 0 };
	if (section->size > elf->image.size || section->offset > elf->image.size - section->size)
		return (struct bytes){ 0 };
	return bytes_slice(elf->image, section->offset, section->size);
}

static struct elf_section read_section(const struct elf_file *elf, size_t index, struct bytes names)
{
	GElf_Shdr header = { 0 };
	const char *name;

	gelf_getshdr(elf_getscn(elf->elf, index), &header);
	name = bytes_string(names, header.sh_name);
	return (struct elf_section){ .name = name ? name : "",
		                     .type = header.sh_type,
		                     .link = header.sh_link,
		                     .flags = header.sh_flags,
		                     .address = header.sh_addr,
		                     .offset = header.sh_offset,
		                     .size = header.sh_size,
		                     .entry_size = header.sh_entsize };
}

static int read_sections(struct elf_file *elf, struct error *err)
{
	size_t count = 0, names_index = 0;

	elf_getshdrnum(elf->elf, &count);
	elf_getshdrstrndx(elf->elf, &names_index);
	// A file without a section table is not damaged: it has no names.
	if (!count && elf->header.e_shoff)
		snprintf(elf->trouble, sizeof(elf->trouble), "the section table is cut off");
	if (!count)
		return 0;
	elf->sections = calloc(count, sizeof(*elf->sections));
	elf->inflated = calloc(count, sizeof(*elf->inflated));
	if (!elf->sections || !elf->inflated)
		return error_set(err, ENOMEM, "could not read the section table");
	struct elf_section of_names = read_section(elf, names_index, (struct bytes){ 0 });
	struct bytes names = raw_contents(elf, &of_names);
	for (; elf->section_count < count; elf->section_count++)
		elf->sections[elf->section_count] = read_section(elf, elf->section_count, names);
	return 0;
}

// Counts that do not fit the header stand in the first section.
static bool has_too_many_sections(struct bytes image, bool is_64)
{
	unsigned int word = is_64 ? 8 : 4;
	struct cursor c = cursor_at(image, is_64 ? offsetof(Elf64_Ehdr, e_shoff)
	                                         : offsetof(Elf32_Ehdr, e_shoff));
	uint64_t first = cursor_number(&c, word);

	c = cursor_at(image, first + (is_64 ? offsetof(Elf64_Shdr, sh_size)
	                                    : offsetof(Elf32_Shdr, sh_size)));
	return cursor_number(&c, word) > SECTIONS_MAX;
}

static int read_header(struct elf_file *elf, struct error *err)
{
	const uint8_t *ident = elf->image.data;

	if (elf->image.size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, 0, "not an ELF file");
	if (ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return error_set(err, 0, "an ELF file of a machine that is not supported");
	if (has_too_many_sections(elf->image, ident[EI_CLASS] == ELFCLASS64))
		return error_set(err, 0, "the ELF file claims more than a million sections");
	elf_version(EV_CURRENT);
	elf->elf = elf_memory((char *)ident, elf->image.size); // is only read
	if (!gelf_getehdr(elf->elf, &elf->header))
		return error_set(err, 0, "the ELF header is cut off or damaged");
	return read_sections(elf, err);
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
		if (elf->inflated[i].map.data)
			mapped_close(&elf->inflated[i].map);
		else
			free((void *)elf->inflated[i].bytes.data);
	free(elf->inflated);
	free(elf->sections);
	elf_end(elf->elf);
	mapped_close(&elf->map);
	free(elf->owned);
	free(elf);
}

bool elf_file_is_64(const struct elf_file *elf)
{
	return elf->header.e_ident[EI_CLASS] == ELFCLASS64;
}

uint16_t elf_file_machine(const struct elf_file *elf)
{
	return elf->header.e_machine;
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
		unsigned int word = elf_file_is_64(elf) ? 8 : 4;
		cursor_skip(c, word - 4); // ch_reserved
		*size = cursor_number(c, word);
		cursor_skip(c, word); // ch_addralign
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

void elf_file_keep_in(struct elf_file *elf, const char *directory)
{
	elf->kept = directory;
}

bool elf_file_is_kept(const struct elf_file *elf)
{
	return elf->kept != NULL;
}

// What IN becomes: SIZE bytes of an earlier run's, in MAP, or memory of their own.
static const uint8_t *inflate(struct elf_file *elf, const struct elf_section *section,
                              enum compression how, struct bytes in, uint64_t size,
                              struct mapped *map, struct error *err)
{
	struct section_key key;
	// Only zlib is sure to end with a checksum.
	bool keep =
		elf->kept && how == COMPRESSION_ZLIB &&
		section_cache_key(elf->kept, elf_file_build_id(elf), section->name, in, size, &key);

	if (keep && section_cache_read(&key, size, map))
		return map->data;
	const uint8_t *out = decompress(how, in, size, err);
	if (keep && out)
		section_cache_write(&key, (struct bytes){ out, (size_t)size });
	return out;
}

static struct bytes inflate_section(struct elf_file *elf, const struct elf_section *section,
                                    struct mapped *map)
{
	struct cursor c = cursor_at(raw_contents(elf, section), 0);
	struct error err = { .text = "a section is compressed in a way that is not known" };
	enum compression how;
	uint64_t size;
	const uint8_t *out = NULL;

	if (compression_header(elf, section, &c, &how, &size) && may_inflate(elf, size, &err))
		out = inflate(elf, section, how, (struct bytes){ c.at, cursor_left(&c) }, size, map,
		              &err);
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
	*room = (struct inflated){ .section = section };
	room->bytes = inflate_section(elf, section, &room->map);
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

struct bytes elf_file_derived(struct elf_file *elf, const struct elf_section *section,
                              const char *name, size_t size,
                              bool (*make)(struct elf_file *elf, const struct elf_section *section,
                                           void *out))
{
	struct section_key key;

	for (size_t i = 0; i < elf->inflated_count; i++)
		if (elf->inflated[i].section == section)
			return elf->inflated[i].bytes;
	if (is_compressed(section)) // its place is taken by what it holds
		return (struct bytes){ 0 };
	struct inflated *room = &elf->inflated[elf->inflated_count++];
	*room = (struct inflated){ .section = section };
	bool keep = elf->kept && section_cache_key(elf->kept, elf_file_build_id(elf), name,
	                                           raw_contents(elf, section), size, &key);
	if (keep && section_cache_read(&key, size, &room->map)) {
		room->bytes = (struct bytes){ room->map.data, size };
		return room->bytes;
	}
	cleanup_free void *out = malloc(size);
	if (!out || !make(elf, section, out))
		return room->bytes;
	room->bytes = (struct bytes){ steal(out), size };
	if (keep)
		section_cache_write(&key, room->bytes);
	return room->bytes;
}

Elf_Data *elf_file_data(struct elf_file *elf, const struct elf_section *section)
{
	struct bytes raw = raw_contents(elf, section);

	// libelf would copy what is not aligned, of any size.
	if (!raw.size || (uintptr_t)raw.data % (elf_file_is_64(elf) ? 8 : 4))
		return NULL;
	return elf_getdata(elf_getscn(elf->elf, (size_t)(section - elf->sections)), NULL);
}

static size_t segment_count(const struct elf_file *elf)
{
	size_t count = 0;

	elf_getphdrnum(elf->elf, &count);
	return count < SEGMENTS_MAX ? count : SEGMENTS_MAX;
}

static GElf_Phdr read_segment(const struct elf_file *elf, size_t index)
{
	GElf_Phdr segment = { .p_type = PT_NULL };

	gelf_getphdr(elf->elf, (int)index, &segment);
	return segment;
}

// LEFT: of NOTE_BYTES_MAX.
static struct bytes id_among_notes(const struct elf_file *elf, uint64_t offset, uint64_t size,
                                   uint64_t align, size_t *left)
{
	Elf_Data *notes = NULL;
	GElf_Nhdr note;
	size_t name, id;

	if (size && size <= *left) {
		*left -= size;
		notes = elf_getdata_rawchunk(elf->elf, (int64_t)offset, size,
		                             align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	}
	// The file may change meanwhile: what was in its bounds is cut to them again.
	for (size_t at = 0; notes && (at = gelf_getnote(notes, at, &note, &name, &id));) {
		struct bytes all = { notes->d_buf, notes->d_size };
		struct bytes its_name = bytes_slice(all, name, note.n_namesz);
		if (note.n_type == NT_GNU_BUILD_ID && its_name.size == sizeof(ELF_NOTE_GNU) &&
		    memcmp(its_name.data, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
			return bytes_slice(all, id, note.n_descsz);
	}
	return (struct bytes){ 0 };
}

struct bytes elf_file_build_id(const struct elf_file *elf)
{
	size_t left = NOTE_BYTES_MAX, segments = segment_count(elf);
	struct bytes id = { 0 };

	for (size_t i = 0; i < elf->section_count && !id.size; i++) {
		const struct elf_section *section = &elf->sections[i];
		if (section->type == SHT_NOTE)
			id = id_among_notes(elf, section->offset, section->size, 4, &left);
	}
	for (size_t i = 0; i < segments && !id.size; i++) {
		GElf_Phdr segment = read_segment(elf, i);
		if (segment.p_type == PT_NOTE)
			id = id_among_notes(elf, segment.p_offset, segment.p_filesz,
			                    segment.p_align, &left);
	}
	return id;
}

uint64_t elf_file_lowest_code(const struct elf_file *elf)
{
	size_t segments = segment_count(elf);
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) &&
		    section->address < lowest)
			lowest = section->address;
	}
	for (size_t i = 0; lowest == UINT64_MAX && i < segments; i++) {
		GElf_Phdr segment = read_segment(elf, i);
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
			lowest = segment.p_vaddr;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}
