// SPDX-License-Identifier: MIT
#include "symbolize/elf/section_cache.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "symbolize/elf/elf_file.h"
#include "tests/support/expect.h"
#include "tests/unit/elf_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SIZE (SECTION_CACHE_LEAST + 100)

static char root[] = "/tmp/section-cache-test-XXXXXX";
static char directory[64];
static uint8_t *contents;

static void begin(void)
{
	cr_assert(mkdtemp(root));
	snprintf(directory, sizeof(directory), "%s/names/sections", root);
	contents = malloc(SIZE);
	cr_assert(contents);
	for (size_t i = 0; i < SIZE; i++)
		contents[i] = (uint8_t)(i * i >> 8);
}

static void end(void)
{
	char command[96];

	free(contents);
	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(section_cache, .init = begin, .fini = end);

// An ELF file whose section NAME has the contents, compressed.
static struct elf_file *make(const char *id, const char *name)
{
	static struct elf_builder b;
	static uint8_t packed[sizeof(Elf64_Chdr) + 32768];
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = SIZE, .ch_addralign = 1 };
	uLongf size = sizeof(packed) - sizeof(header);

	memcpy(packed, &header, sizeof(header));
	cr_assert(eq(int, compress(packed + sizeof(header), &size, contents, SIZE), Z_OK));
	elf_builder_init(&b);
	if (id)
		elf_builder_add_build_id(&b, id);
	elf_builder_add(&b, name, SHT_PROGBITS, packed, sizeof(header) + size)->sh_flags =
		SHF_COMPRESSED;
	elf_builder_finish(&b);
	struct elf_file *elf = elf_file_from_memory((struct bytes){ b.bytes, b.used }, NULL, NULL);
	cr_assert(elf);
	elf_file_keep_in(elf, directory);
	return elf;
}

static bool reads_as(const char *id, const char *name, const uint8_t *expected)
{
	cleanup(elf_file) struct elf_file *elf = make(id, name);
	struct bytes bytes = elf_file_named_contents(elf, name);

	return bytes.size == SIZE && memcmp(bytes.data, expected, SIZE) == 0 &&
	       !*elf_file_trouble(elf);
}

// The path of the only file; "" if there is none.
static const char *kept_file(void)
{
	static char path[256];
	char command[128];

	snprintf(command, sizeof(command), "find %s -type f 2>/dev/null", root);
	FILE *found = popen(command, "re");
	cr_assert(found);
	if (!fgets(path, sizeof(path), found))
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	cr_expect(eq(int, fgetc(found), EOF), "no other file");
	pclose(found);
	return path;
}

// Other contents of SIZE bytes in the file that is kept.
static uint8_t *change_file(size_t size)
{
	uint8_t *changed = malloc(SIZE);
	FILE *file = fopen(kept_file(), "we");

	cr_assert(changed && file);
	memset(changed, 'x', SIZE);
	cr_assert(eq(sz, fwrite(changed, 1, size, file), size));
	fclose(file);
	return changed;
}

Test(section_cache, what_one_run_has_decompressed_the_next_one_maps)
{
	cr_expect(reads_as("12345678", ".debug_info", contents));
	cleanup_free uint8_t *changed = change_file(SIZE);
	cr_expect(reads_as("12345678", ".debug_info", changed), "the file is what is read");
}

Test(section_cache, files_are_ours_alone_and_whole)
{
	struct stat st;

	cr_expect(reads_as("12345678", ".debug_info", contents));
	cr_assert(eq(int, stat(kept_file(), &st), 0));
	cr_expect(eq(u32, st.st_mode & 07777, 0600));
	cleanup_free uint8_t *changed = change_file(SIZE);
	cr_assert(eq(int, chmod(kept_file(), 0620), 0));
	cr_expect(reads_as("12345678", ".debug_info", contents), "others may write it");
	cr_assert(eq(int, chmod(kept_file(), 0600), 0));
	cleanup_free uint8_t *cut = change_file(SIZE - 1);
	cr_expect(reads_as("12345678", ".debug_info", contents), "it is cut off");
	cr_assert(eq(int, unlink(kept_file()), 0));
	cr_expect(reads_as("12345678", ".debug_info", contents), "it is gone");
}

Test(section_cache, another_content_of_the_same_build_is_decompressed)
{
	cr_expect(reads_as("12345678", ".debug_info", contents));
	cleanup_free uint8_t *changed = change_file(SIZE);
	contents[7] ^= 1; // by which the checksum differs
	cr_expect(reads_as("12345678", ".debug_info", contents));
	contents[7] ^= 1;
	cr_expect(reads_as("87654321", ".debug_info", contents), "another build");
	cr_expect(reads_as("12345678", ".debug_line", contents), "another section");
	cr_expect(reads_as("12345678", ".debug_info", changed));
}

Test(section_cache, what_has_no_build_id_or_a_strange_name_is_not_kept)
{
	struct section_key key;
	const struct bytes id = { contents, 20 }, some = { contents, 64 };

	cr_expect(reads_as(NULL, ".debug_info", contents));
	cr_expect(reads_as("12345678", ".debug/../../x", contents));
	cr_expect(eq(str, (char *)kept_file(), ""));
	cr_expect(not(section_cache_key(directory, id, ".debug_info", some, SECTION_CACHE_LEAST - 1,
	                                &key)));
	cr_expect(section_cache_key(directory, id, ".debug_info", some, SECTION_CACHE_LEAST, &key));
}
