// SPDX-License-Identifier: MIT
#include "sampler/unwind/image.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflated.h"
#include "base/mapped.h"

#include <dwarf.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

/* More than any linker writes; a larger number is damage. */
#define SEGMENTS_MAX      1024
#define SECTIONS_MAX      100000
#define NOTES_BYTES_MAX   (64u << 10)
#define SECTION_BYTES_MAX (512u << 20)

/* Code is looked at a few bytes at a time, again and again in the same places. */
#define CODE_PAGES      16
#define CODE_PAGE_BYTES 4096u

struct code_page {
	uint64_t offset; // in the file
	uint32_t size;   // 0: empty
	uint8_t bytes[CODE_PAGE_BYTES];
};

struct segment {
	uint64_t address, offset, file_bytes, memory_bytes;
	bool executable;
};

struct image {
	int fd;         // or -1: in BYTES
	uint8_t *bytes; // owned
	uint64_t size;
	struct segment *segments; // PT_LOAD, by address as the file has them
	size_t segment_count;
	uint64_t eh_frame_hdr; // address of PT_GNU_EH_FRAME; 0 if there is none
	uint64_t eh_frame_hdr_bytes;
	uint64_t section_headers; // file offset
	uint32_t section_count, section_names;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
	struct code_page *code; // CODE_PAGES, by page number; NULL until one is needed
	struct mapped map;      // of the file, once a section is asked for
	uint8_t *inflated;      // .debug_frame, if it is compressed
};

/* Reads exactly SIZE bytes at OFFSET of the file. */
static bool read_file(const struct image *image, uint64_t offset, void *buffer, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	if (image->fd < 0) {
		memcpy(buffer, image->bytes + offset, size);
		return true;
	}
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(image->fd, (char *)buffer + done, size - done,
		                    (off_t)(offset + done));
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* A copy of SIZE bytes at OFFSET; NULL if they are not there or are too many. */
static void *copy_file(const struct image *image, uint64_t offset, uint64_t size)
{
	if (!size || size > SECTION_BYTES_MAX || offset > image->size ||
	    size > image->size - offset)
		return NULL;

	cleanup_free uint8_t *copy = malloc(size);
	if (!copy || !read_file(image, offset, copy, size))
		return NULL;
	return steal(copy);
}

/* Notes are {name size, data size, type, name, data}, each padded to 4 bytes. */
static void take_build_id(struct image *image, struct cursor notes)
{
	while (cursor_left(&notes) >= 12 && !image->build_id_size) {
		uint32_t name_size = cursor_u32(&notes);
		uint32_t data_size = cursor_u32(&notes);
		uint32_t type = cursor_u32(&notes);
		const uint8_t *name = cursor_take(&notes, ((uint64_t)name_size + 3) & ~UINT64_C(3));
		const uint8_t *data = cursor_take(&notes, data_size);
		if (!name || !data)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
		    data_size && data_size <= BUILD_ID_MAX) {
			memcpy(image->build_id, data, data_size);
			image->build_id_size = data_size;
		}
		size_t padding = -data_size & 3;
		cursor_take(&notes, padding < cursor_left(&notes) ? padding : cursor_left(&notes));
	}
}

static void read_notes(struct image *image, const Elf64_Phdr *ph)
{
	uint64_t size = ph->p_filesz < NOTES_BYTES_MAX ? ph->p_filesz : NOTES_BYTES_MAX;
	cleanup_free uint8_t *notes = copy_file(image, ph->p_offset, size);

	if (notes)
		take_build_id(image, cursor_of(notes, size));
}

static void take_program_header(struct image *image, const Elf64_Phdr *ph)
{
	switch (ph->p_type) {
	case PT_LOAD:
		image->segments[image->segment_count++] =
			(struct segment){ .address = ph->p_vaddr,
			                  .offset = ph->p_offset,
			                  .file_bytes = ph->p_filesz,
			                  .memory_bytes = ph->p_memsz,
			                  .executable = ph->p_flags & PF_X };
		break;
	case PT_GNU_EH_FRAME:
		image->eh_frame_hdr = ph->p_vaddr;
		image->eh_frame_hdr_bytes = ph->p_filesz;
		break;
	case PT_NOTE:
		read_notes(image, ph);
		break;
	default:
		break;
	}
}

static int read_headers(struct image *image, struct error *err)
{
	Elf64_Ehdr eh;

	if (!read_file(image, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, 0, "not an ELF file");
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64)
		return error_set(err, 0, "not an x86-64 ELF file");
	if (eh.e_phentsize != sizeof(Elf64_Phdr) || !eh.e_phnum || eh.e_phnum > SEGMENTS_MAX)
		return error_set(err, 0, "unusable program headers");

	cleanup_free Elf64_Phdr *headers =
		copy_file(image, eh.e_phoff, eh.e_phnum * sizeof(Elf64_Phdr));
	image->segments = calloc(eh.e_phnum, sizeof(*image->segments));
	if (!headers || !image->segments)
		return error_set(err, 0, "unreadable program headers");
	for (size_t i = 0; i < eh.e_phnum; i++)
		take_program_header(image, &headers[i]);
	if (!image->segment_count)
		return error_set(err, 0, "nothing to load");

	if (eh.e_shentsize == sizeof(Elf64_Shdr)) {
		image->section_headers = eh.e_shoff;
		image->section_count = eh.e_shnum;
		image->section_names = eh.e_shstrndx;
	}
	return 0;
}

static struct image *image_new(int fd, uint8_t *bytes, uint64_t size, struct error *err)
{
	cleanup(image) struct image *image = calloc(1, sizeof(*image));

	if (!image) {
		if (fd >= 0)
			close(fd);
		free(bytes);
		error_set(err, ENOMEM, "could not open an image");
		return NULL;
	}
	image->fd = fd;
	image->bytes = bytes;
	image->size = size;
	if (read_headers(image, err) < 0)
		return NULL;
	return steal(image);
}

struct image *image_of_bytes(uint8_t *bytes, size_t size, struct error *err)
{
	return image_new(-1, bytes, size, err);
}

struct image *image_of_file(int fd, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		error_set(err, 0, "not a regular file");
		return NULL;
	}
	return image_new(fd, NULL, (uint64_t)status.st_size, err);
}

int image_descriptor(const struct image *image)
{
	return image->fd;
}

void image_free(struct image *image)
{
	if (!image)
		return;
	if (image->fd >= 0)
		close(image->fd);
	free(image->bytes);
	free(image->segments);
	free(image->code);
	free(image->inflated);
	mapped_close(&image->map);
	free(image);
}

bool image_locate(const struct image *image, struct mapping *mapping)
{
	const struct segment *best = NULL;

	for (size_t i = 0; i < image->segment_count; i++) {
		const struct segment *s = &image->segments[i];
		uint64_t first = s->offset & ~UINT64_C(4095); // pages are mapped whole
		if (mapping->file_offset < first ||
		    mapping->file_offset - first >= s->file_bytes + (s->offset - first))
			continue;
		// Two segments may share a page of the file; only one of them is code.
		if (!best || (s->executable && !best->executable))
			best = s;
	}
	if (!best)
		return false;
	mapping->bias = mapping->start - (best->address + mapping->file_offset - best->offset);
	mapping->has_bias = true;
	return true;
}

/* The loaded segment that holds the file's byte at ADDRESS; NULL if none does. */
static const struct segment *segment_at(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct segment *s = &image->segments[i];
		if (address >= s->address && address - s->address < s->file_bytes)
			return s;
	}
	return NULL;
}

bool image_holds(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct segment *s = &image->segments[i];
		if (address >= s->address && address - s->address < s->memory_bytes)
			return true;
	}
	return false;
}

size_t image_read(const struct image *image, uint64_t address, void *buffer, size_t size)
{
	const struct segment *s = segment_at(image, address);

	if (!s)
		return 0;
	uint64_t into = address - s->address;
	if (size > s->file_bytes - into)
		size = s->file_bytes - into;
	return read_file(image, s->offset + into, buffer, size) ? size : 0;
}

static const struct code_page *code_page(struct image *image, uint64_t offset)
{
	if (!image->code && !(image->code = calloc(CODE_PAGES, sizeof(*image->code))))
		return NULL;

	struct code_page *page = &image->code[offset / CODE_PAGE_BYTES % CODE_PAGES];
	offset -= offset % CODE_PAGE_BYTES;
	if (page->size && page->offset == offset)
		return page;
	uint64_t left = offset < image->size ? image->size - offset : 0;
	page->offset = offset;
	page->size = left < CODE_PAGE_BYTES ? (uint32_t)left : CODE_PAGE_BYTES;
	if (!read_file(image, offset, page->bytes, page->size))
		page->size = 0;
	return page;
}

bool image_read_code(struct image *image, uint64_t address, void *buffer, size_t size)
{
	const struct segment *s = segment_at(image, address);
	uint8_t *to = buffer;

	if (!s || size > s->file_bytes - (address - s->address))
		return false;
	for (uint64_t offset = s->offset + (address - s->address); size;) {
		const struct code_page *page = code_page(image, offset);
		uint32_t into = offset % CODE_PAGE_BYTES;
		if (!page || into >= page->size)
			return false;
		size_t part = page->size - into < size ? page->size - into : size;
		memcpy(to, page->bytes + into, part);
		to += part;
		offset += part;
		size -= part;
	}
	return true;
}

uint64_t image_base(const struct image *image)
{
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].address < base)
			base = image->segments[i].address;
	return base;
}

void image_text(const struct image *image, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct segment *s = &image->segments[i];
		uint64_t behind = s->address + s->memory_bytes;
		if (!s->executable || behind < s->address)
			continue;
		*start = s->address < *start ? s->address : *start;
		*end = behind > *end ? behind : *end;
	}
}

size_t image_build_id(const struct image *image, const uint8_t **id)
{
	*id = image->build_id;
	return image->build_id_size;
}

struct headers {
	Elf64_Shdr *sections;
	char *names;
	uint32_t count;
	uint64_t names_bytes;
};

static void free_headers(struct headers *h)
{
	free(h->sections);
	free(h->names);
}

/* Section headers, which a stripped or strange file may lack: COUNT is 0 then. */
static void read_section_headers(const struct image *image, struct headers *h)
{
	*h = (struct headers){ 0 };
	if (!image->section_count || image->section_count > SECTIONS_MAX ||
	    image->section_names >= image->section_count)
		return;
	h->sections =
		copy_file(image, image->section_headers, image->section_count * sizeof(Elf64_Shdr));
	if (!h->sections)
		return;
	const Elf64_Shdr *names = &h->sections[image->section_names];
	h->names = copy_file(image, names->sh_offset, names->sh_size);
	h->names_bytes = names->sh_size;
	if (h->names && !h->names[names->sh_size - 1])
		h->count = image->section_count;
}

/* The section called NAME that has contents; NULL if there is none. */
static const Elf64_Shdr *find_section(const struct headers *h, const char *name)
{
	for (uint32_t i = 1; i < h->count; i++) {
		const Elf64_Shdr *s = &h->sections[i];
		if (s->sh_type != SHT_NOBITS && s->sh_name < h->names_bytes &&
		    strcmp(h->names + s->sh_name, name) == 0)
			return s;
	}
	return NULL;
}

/* The address of .eh_frame as .eh_frame_hdr has it; 0 if it does not say. */
static uint64_t eh_frame_address(const struct image *image)
{
	uint8_t head[12] = { 0 };
	uint64_t value;

	if (!image->eh_frame_hdr ||
	    image_read(image, image->eh_frame_hdr, head, sizeof(head)) < 8 || head[0] != 1)
		return 0;
	switch (head[1] & 0x0f) {
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4: {
		int32_t narrow;
		memcpy(&narrow, head + 4, sizeof(narrow));
		value = (uint64_t)(int64_t)narrow;
		break;
	}
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		memcpy(&value, head + 4, sizeof(value));
		break;
	default:
		return 0;
	}
	return (head[1] & 0x70) == DW_EH_PE_pcrel ? value + image->eh_frame_hdr + 4 : value;
}

/* SIZE bytes at OFFSET of the file, in memory; NULL if they are not there or are too many. */
static const uint8_t *map_file(struct image *image, uint64_t offset, uint64_t size)
{
	if (!size || size > SECTION_BYTES_MAX || offset > image->size ||
	    size > image->size - offset)
		return NULL;
	if (image->fd < 0)
		return image->bytes + offset;
	if (!image->map.data &&
	    mapped_open(&image->map, image->fd, image->size, MAPPED_READ, NULL) < 0)
		return NULL;
	return image->map.data + offset;
}

/* SIZE bytes at ADDRESS, less if the segment ends before. */
static struct image_section section_at(struct image *image, uint64_t address, uint64_t size)
{
	const struct segment *s = segment_at(image, address);

	if (!s)
		return (struct image_section){ 0 };
	uint64_t into = address - s->address;
	if (size > s->file_bytes - into)
		size = s->file_bytes - into;
	const uint8_t *bytes = map_file(image, s->offset + into, size);
	return bytes ? (struct image_section){ bytes, size, address } : (struct image_section){ 0 };
}

/* Without a section header only the entry of length 0 tells where the entries end. */
static void cut_at_terminator(struct image_section *section)
{
	struct cursor b = cursor_of(section->bytes, section->size);

	while (cursor_left(&b) >= 4) {
		const uint8_t *start = b.at;
		uint64_t length = cursor_u32(&b);
		if (length == UINT32_MAX)
			length = cursor_u64(&b);
		if (!length || !cursor_take(&b, length)) {
			section->size = (size_t)(start - section->bytes);
			return;
		}
	}
}

struct image_section image_eh_frame(struct image *image)
{
	uint64_t address = eh_frame_address(image);
	struct image_section section = { 0 };
	struct headers headers;

	read_section_headers(image, &headers);
	const Elf64_Shdr *header = find_section(&headers, ".eh_frame");
	if (header && (!address || header->sh_addr == address)) {
		section = section_at(image, header->sh_addr, header->sh_size);
	} else if (address) {
		section = section_at(image, address, UINT64_MAX);
		if (section.bytes)
			cut_at_terminator(&section);
	}
	free_headers(&headers);
	return section;
}

struct image_section image_eh_frame_hdr(struct image *image)
{
	if (!image->eh_frame_hdr)
		return (struct image_section){ 0 };
	return section_at(image, image->eh_frame_hdr, image->eh_frame_hdr_bytes);
}

/* What a section of the older kind, "ZLIB" and a big-endian size, claims to hold. */
static uint64_t gnu_size(Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t size;

	if (!data || data->d_size < 4 + sizeof(size))
		return UINT64_MAX;
	memcpy(&size, (const char *)data->d_buf + 4, sizeof(size));
	return be64toh(size);
}

/* Has libelf decompress section INDEX. Returns its size; 0 if that cannot be. */
static size_t inflate_section(struct image *image, Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr header;
	GElf_Chdr compressed;
	uint64_t most = inflated_max(image->size);

	if (most > SECTION_BYTES_MAX)
		most = SECTION_BYTES_MAX;
	if (!scn || !gelf_getshdr(scn, &header))
		return 0;
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &compressed) || compressed.ch_size > most ||
		    elf_compress(scn, 0, 0) < 0)
			return 0;
	} else if (gnu_size(scn) > most || elf_compress_gnu(scn, 0, 0) < 0) {
		return 0;
	}

	Elf_Data *data = elf_rawdata(scn, NULL);
	if (!data || !data->d_size)
		return 0;
	free(image->inflated);
	image->inflated = malloc(data->d_size);
	if (!image->inflated)
		return 0;
	memcpy(image->inflated, data->d_buf, data->d_size);
	return data->d_size;
}

static struct image_section inflate(struct image *image, size_t index)
{
	elf_version(EV_CURRENT);
	Elf *elf = image->fd >= 0 ? elf_begin(image->fd, ELF_C_READ, NULL)
	                          : elf_memory((char *)image->bytes, image->size);
	size_t size = elf ? inflate_section(image, elf, index) : 0;

	elf_end(elf);
	return size ? (struct image_section){ image->inflated, size, 0 }
	            : (struct image_section){ 0 };
}

struct image_section image_debug_frame(struct image *image)
{
	struct image_section section = { 0 };
	struct headers headers;

	read_section_headers(image, &headers);
	const Elf64_Shdr *plain = find_section(&headers, ".debug_frame");
	const Elf64_Shdr *gnu = plain ? NULL : find_section(&headers, ".zdebug_frame");
	const Elf64_Shdr *header = plain ? plain : gnu;
	if (gnu || (plain && plain->sh_flags & SHF_COMPRESSED)) {
		section = inflate(image, (size_t)(header - headers.sections));
	} else if (plain) {
		section.bytes = map_file(image, plain->sh_offset, plain->sh_size);
		section.size = section.bytes ? plain->sh_size : 0;
	}
	free_headers(&headers);
	return section;
}

struct image_section image_go_code(struct image *image)
{
	struct image_section section = { 0 };
	struct headers headers;

	read_section_headers(image, &headers);
	bool is_go = find_section(&headers, ".go.buildinfo") ||
	             find_section(&headers, ".note.go.buildid");
	for (size_t i = 0; is_go && i < image->segment_count && !section.bytes; i++)
		if (image->segments[i].executable)
			section = section_at(image, image->segments[i].address, UINT64_MAX);
	free_headers(&headers);
	return section;
}
