// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/elf/elf_file.h"
#include "tests/support/expect.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <zlib.h>

// A file with the sections "", ".shstrtab", ".text", ".note" and ".debug_info" (compressed).
struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[5];
	char names[64];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[8];
	} note;
	Elf64_Chdr compression;
	uint8_t packed[128];
};

static const char contents[] = "the contents of a section, the contents of a section";

static void set_section(struct image *image, size_t index, uint32_t name, uint32_t type,
                        uint64_t offset, uint64_t size)
{
	image->sections[index] = (Elf64_Shdr){
		.sh_name = name, .sh_type = type, .sh_offset = offset, .sh_size = size
	};
}

static struct image *make(void)
{
	struct image *image = calloc(1, sizeof(*image));
	uLongf packed = sizeof(image->packed);

	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->header.e_machine = EM_X86_64;
	image->header.e_shoff = offsetof(struct image, sections);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 5;
	image->header.e_shstrndx = 1;
	memcpy(image->names, "\0.shstrtab\0.text\0.note\0.debug_info", 35);
	image->note.header = (Elf64_Nhdr){ 4, 8, NT_GNU_BUILD_ID };
	memcpy(image->note.name, "GNU", 4);
	memcpy(image->note.id, "\1\2\3\4\5\6\7\10", 8);
	cr_assert(eq(int, compress(image->packed, &packed, (const Bytef *)contents, 52), Z_OK));
	image->compression = (Elf64_Chdr){ ELFCOMPRESS_ZLIB, 0, 52, 1 };
	set_section(image, 1, 1, SHT_STRTAB, offsetof(struct image, names), 64);
	set_section(image, 2, 11, SHT_NOBITS, 0, 0x100);
	image->sections[2].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	image->sections[2].sh_addr = 0x4000;
	set_section(image, 3, 17, SHT_NOTE, offsetof(struct image, note), sizeof(image->note));
	set_section(image, 4, 23, SHT_PROGBITS, offsetof(struct image, compression),
	            sizeof(Elf64_Chdr) + packed);
	image->sections[4].sh_flags = SHF_COMPRESSED;
	return image;
}

static struct elf_file *open_image(struct image *image, size_t size, struct error *err)
{
	return elf_file_from_memory((struct bytes){ (uint8_t *)image, size }, image, err);
}

Test(elf_file, sections_are_found_by_name_and_decompressed)
{
	cleanup(elf_file) struct elf_file *elf = open_image(make(), sizeof(struct image), NULL);

	cr_assert(elf != NULL);
	for (int i = 0; i < 2; i++) {
		struct bytes bytes = elf_file_named_contents(elf, ".debug_info");
		cr_assert(eq(sz, bytes.size, 52));
		cr_expect(eq(int, memcmp(bytes.data, contents, 52), 0));
	}
	cr_expect(eq(sz, elf_file_named_contents(elf, ".text").size, 0));
	cr_expect(eq(sz, elf_file_named_contents(elf, ".nothing").size, 0));
	cr_expect(eq(u64, elf_file_lowest_code(elf), 0x4000));
	cr_expect(eq(str, (char *)elf_file_trouble(elf), ""));
}

Test(elf_file, the_build_id_is_read_from_the_note)
{
	cleanup(elf_file) struct elf_file *elf = open_image(make(), sizeof(struct image), NULL);
	struct bytes id = elf_file_build_id(elf);

	cr_assert(eq(sz, id.size, 8));
	cr_expect(eq(int, memcmp(id.data, "\1\2\3\4\5\6\7\10", 8), 0));
}

Test(elf_file, the_build_id_is_read_from_a_segment_where_there_are_no_sections)
{
	struct image *image = make();
	Elf64_Phdr segment = { .p_type = PT_NOTE,
		               .p_offset = offsetof(struct image, note),
		               .p_filesz = sizeof(image->note) };

	memcpy(image->packed, &segment, sizeof(segment));
	image->header.e_shoff = image->header.e_shnum = 0;
	image->header.e_phoff = offsetof(struct image, packed);
	image->header.e_phentsize = sizeof(segment);
	image->header.e_phnum = 1;
	cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), NULL);
	struct bytes id = elf_file_build_id(elf);

	cr_assert(eq(sz, id.size, 8));
	cr_expect(eq(int, memcmp(id.data, "\1\2\3\4\5\6\7\10", 8), 0));
	cr_expect(eq(str, (char *)elf_file_trouble(elf), ""));
}

Test(elf_file, a_note_that_claims_more_than_there_is_gives_nothing)
{
	struct image *image = make();
	image->note.header.n_descsz = 0xfffffffe;
	cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), NULL);

	cr_expect(eq(sz, elf_file_build_id(elf).size, 0));
}

Test(elf_file, notes_are_read_up_to_a_megabyte)
{
	static const size_t sizes[] = { 1 << 20, (1 << 20) + 4 };

	for (size_t i = 0; i < 2; i++) {
		size_t size = sizeof(struct image) + sizes[i];
		struct image *image = make(), *file = calloc(1, size);
		memcpy(file, image, sizeof(*image));
		free(image);
		file->sections[3].sh_size = sizes[i];
		cleanup(elf_file) struct elf_file *elf = open_image(file, size, NULL);
		cr_expect(eq(sz, elf_file_build_id(elf).size, i ? 0 : 8), "%zu bytes", sizes[i]);
	}
}

Test(elf_file, a_compressed_section_that_is_damaged_says_so)
{
	static const uint64_t sizes[] = { 0, 1, 51, 53, (uint64_t)1 << 40, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct image *image = make();
		image->compression.ch_size = sizes[i];
		cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), NULL);
		cr_expect(eq(sz, elf_file_named_contents(elf, ".debug_info").size, 0));
		cr_expect(ne(str, (char *)elf_file_trouble(elf), ""), "size %lu", sizes[i]);
	}
}

Test(elf_file, a_section_outside_the_file_is_empty)
{
	static const uint64_t offsets[] = { sizeof(struct image), UINT64_MAX, UINT64_MAX - 63 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct image *image = make();
		image->sections[3].sh_offset = offsets[i];
		cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), NULL);
		cr_expect(eq(sz, elf_file_named_contents(elf, ".note").size, 0));
	}
}

Test(elf_file, what_is_no_elf_file_is_refused_with_a_reason)
{
	static const size_t sizes[] = { 0, 3, 15, 40, 63 };
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct elf_file *elf = open_image(make(), sizes[i], &err);
		cr_expect(eq(ptr, elf, NULL), "%zu bytes", sizes[i]);
		cr_expect(ne(str, err.text, ""));
	}
	cr_expect(eq(ptr, elf_file_open("/nonexistent/file", &err), NULL));
	cr_expect(eq(ptr, elf_file_open("/proc", &err), NULL));
	cr_expect(eq(ptr, elf_file_open("/dev/zero", &err), NULL));
}

Test(elf_file, a_section_table_that_is_cut_off_counts_as_none_and_says_so)
{
	struct image *image = make();
	image->header.e_shnum = 60000;
	cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), NULL);

	cr_assert(elf != NULL);
	cr_expect(eq(sz, elf_file_section_count(elf), 0));
	cr_expect(eq(sz, elf_file_named_contents(elf, ".debug_info").size, 0));
	cr_expect(eq(str, (char *)elf_file_trouble(elf), "the section table is cut off"));
}

Test(elf_file, a_count_of_sections_that_does_not_fit_the_header_is_read_and_bounded)
{
	static const struct {
		uint64_t claimed;
		size_t count;
	} rows[] = { { 5, 5 }, { 1 << 20, 0 } };
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct image *image = make();
		image->header.e_shnum = 0;
		image->sections[0].sh_size = rows[i].claimed;
		cleanup(elf_file) struct elf_file *elf = open_image(image, sizeof(*image), &err);
		cr_assert(elf != NULL);
		cr_expect(eq(sz, elf_file_section_count(elf), rows[i].count), "row %zu", i);
	}
	struct image *image = make();
	image->header.e_shnum = 0;
	image->sections[0].sh_size = (1 << 20) + 1;
	cr_expect(eq(ptr, open_image(image, sizeof(*image), &err), NULL));
	cr_expect(eq(str, err.text, "the ELF file claims more than a million sections"));
}

static int copy_of_ourselves(void)
{
	cleanup_close int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("elf_file", MFD_CLOEXEC);
	char buffer[65536];

	for (ssize_t count; (count = read(from, buffer, sizeof(buffer))) > 0;)
		cr_assert(eq(sz, (size_t)write(to, buffer, (size_t)count), (size_t)count));
	return to;
}

Test(elf_file, a_file_that_is_cut_short_while_it_is_read_says_so)
{
	cleanup_close int fd = copy_of_ourselves();
	struct error err = { 0 };
	cleanup(elf_file) struct elf_file *elf = elf_file_open_fd(fd, &err);
	unsigned sum = 0;

	cr_assert(elf != NULL, "%s", err.text);
	struct bytes image = elf_file_image(elf);
	cr_assert(gt(sz, image.size, 8192));
	cr_assert(eq(int, ftruncate(fd, 4096), 0));
	cr_expect(eq(str, (char *)elf_file_trouble(elf), ""),
	          "it is not known before it is missed");
	for (size_t i = 4096; i < image.size; i++)
		sum += image.data[i];
	cr_expect(eq(uint, sum, 0));
	cr_expect(eq(str, (char *)elf_file_trouble(elf), "the file shrank while it was read"));
}

// As many sections as like, all of the same few bytes, which become a hundred megabytes each.
Test(elf_file, what_all_sections_become_together_is_bounded)
{
	enum {
		SECTIONS = 12,
		EACH = 100 << 20
	};
	uLongf packed = 200 << 10;
	size_t headers = sizeof(Elf64_Ehdr), names = headers + SECTIONS * sizeof(Elf64_Shdr);
	size_t data = names + 512, size = data + sizeof(Elf64_Chdr) + packed, whole = 0;
	uint8_t *file = calloc(1, size), *zeros = calloc(1, EACH);
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Shdr *sections = (Elf64_Shdr *)(file + headers);

	cr_assert(file != NULL && zeros != NULL);
	cr_assert(eq(int, compress(file + data + sizeof(Elf64_Chdr), &packed, zeros, EACH), Z_OK));
	free(zeros);
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_shoff = headers;
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = SECTIONS;
	header->e_shstrndx = 1;
	*(Elf64_Chdr *)(file + data) = (Elf64_Chdr){ ELFCOMPRESS_ZLIB, 0, EACH, 1 };
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = 512 };
	for (unsigned i = 2; i < SECTIONS; i++) {
		snprintf((char *)file + names + 16 * i, 16, ".debug_%u", i);
		sections[i] = (Elf64_Shdr){ .sh_name = 16 * i,
			                    .sh_type = SHT_PROGBITS,
			                    .sh_flags = SHF_COMPRESSED,
			                    .sh_offset = data,
			                    .sh_size = sizeof(Elf64_Chdr) + packed };
	}
	cleanup(elf_file) struct elf_file *elf =
		elf_file_from_memory((struct bytes){ file, size }, file, NULL);
	cr_assert(elf != NULL);
	for (size_t i = 2; i < SECTIONS; i++)
		whole += elf_file_contents(elf, elf_file_section(elf, i)).size;
	cr_expect(eq(sz, whole, (size_t)2 * EACH));
	const char *trouble = elf_file_trouble(elf);
	cr_expect(strstr(trouble, "claim to hold more than 256 MB, of a file of 0 MB") != NULL,
	          "\"%s\"", trouble);
}
