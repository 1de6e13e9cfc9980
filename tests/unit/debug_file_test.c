// SPDX-License-Identifier: MIT
#include "symbolize/elf/debug_file.h"
#include "tests/support/expect.h"
#include "tests/unit/elf_builder.h"

#include <lzma.h>
#include <sys/stat.h>
#include <zlib.h>

struct directory {
	char path[64];
	char program[96];
};

static void setup(struct directory *d)
{
	strcpy(d->path, "/tmp/debug-file-XXXXXX");
	cr_assert(mkdtemp(d->path) != NULL);
	snprintf(d->program, sizeof(d->program), "%s/program", d->path);
}

static void teardown(const struct directory *d)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", d->path);
	cr_assert(eq(int, system(command), 0)); // NOLINT: the path is our own
}

static void save(const struct directory *d, const char *name, const struct elf_builder *b)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	for (char *at = strchr(path + 5, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	cleanup_fclose FILE *file = fopen(path, "wb");
	cr_assert(file != NULL, "%s", path);
	cr_assert(eq(sz, fwrite(b->bytes, 1, b->used, file), b->used));
}

static void build_debug(struct elf_builder *b, const char *id)
{
	elf_builder_init(b);
	if (id)
		elf_builder_add_build_id(b, id);
	elf_builder_add(b, ".debug_info", SHT_PROGBITS, "some", 4);
	elf_builder_finish(b);
}

// A program that says that its debug file is program.debug, with the checksum CRC.
static struct elf_file *build_program(struct elf_builder *b, const char *id, uint32_t crc)
{
	uint8_t link[20] = "program.debug";

	memcpy(link + 16, &crc, 4);
	elf_builder_init(b);
	if (id)
		elf_builder_add_build_id(b, id);
	elf_builder_add(b, ".gnu_debuglink", SHT_PROGBITS, link, sizeof(link));
	elf_builder_finish(b);
	return elf_file_from_memory((struct bytes){ b->bytes, b->used }, NULL, NULL);
}

static uint32_t checksum(const struct elf_builder *b)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), b->bytes, (uInt)b->used);
}

Test(debug_file, it_is_found_beside_the_program_in_debug_and_in_the_directories)
{
	static const char *const places[] = { "", ".debug/", "usr/lib/debug" };
	static struct elf_builder debug, program;

	for (size_t i = 0; i < 3; i++) {
		struct directory d;
		char name[256], directories[128], found[PATH_MAX], why[256] = "";
		setup(&d);
		build_debug(&debug, NULL);
		snprintf(name, sizeof(name), "%s%s%sprogram.debug", places[i], i == 2 ? d.path : "",
		         i == 2 ? "/" : "");
		save(&d, name, &debug);
		snprintf(directories, sizeof(directories), "/nonexistent:%s/usr/lib/debug", d.path);
		struct debug_search search = { d.program, "", directories };
		cleanup(elf_file) struct elf_file *elf =
			build_program(&program, NULL, checksum(&debug));
		cleanup(elf_file) struct elf_file *out =
			debug_file_find(elf, &search, found, why, sizeof(why));
		cr_expect(out != NULL, "%s: %s", places[i], why);
		teardown(&d);
	}
}

Test(debug_file, a_file_with_another_checksum_is_refused_and_named)
{
	static struct elf_builder debug, program;
	struct directory d;
	char found[PATH_MAX], why[256] = "";

	setup(&d);
	build_debug(&debug, NULL);
	save(&d, "program.debug", &debug);
	struct debug_search search = { d.program, "", "/nonexistent" };
	cleanup(elf_file) struct elf_file *elf =
		build_program(&program, NULL, checksum(&debug) ^ 1);
	cr_expect(eq(ptr, debug_file_find(elf, &search, found, why, sizeof(why)), NULL));
	cr_expect(ne(ptr, strstr(why, "program.debug\" is of another build"), NULL), "%s", why);
	teardown(&d);
}

Test(debug_file, the_build_id_directory_comes_first_and_must_match)
{
	static struct elf_builder debug, program;
	static const char *const ids[] = { "\1\2\3\4\5\6\7\10", "\1\2\3\4\5\6\7\11" };
	static const char at[] = "debug/.build-id/01/02030405060708.debug";

	for (int i = 0; i < 2; i++) {
		struct directory d;
		char directories[128], found[PATH_MAX], why[256] = "";
		setup(&d);
		build_debug(&debug, ids[i]);
		save(&d, at, &debug);
		snprintf(directories, sizeof(directories), "%s/debug", d.path);
		struct debug_search search = { d.program, "", directories };
		cleanup(elf_file) struct elf_file *elf = build_program(&program, ids[0], 0);
		cleanup(elf_file) struct elf_file *out =
			debug_file_find(elf, &search, found, why, sizeof(why));
		cr_expect(eq(int, out != NULL, i == 0));
		cr_expect(eq(int, *why != '\0', i == 1), "%s", why);
		teardown(&d);
	}
}

Test(debug_file, paths_are_looked_for_in_the_root_of_the_process_first)
{
	static struct elf_builder debug, program;
	struct directory d;
	char found[PATH_MAX], why[256] = "";

	setup(&d);
	build_debug(&debug, NULL);
	save(&d, "srv/program.debug", &debug);
	struct debug_search search = { "/srv/program", d.path, "/nonexistent" };
	cleanup(elf_file) struct elf_file *elf = build_program(&program, NULL, checksum(&debug));
	cleanup(elf_file) struct elf_file *out =
		debug_file_find(elf, &search, found, why, sizeof(why));
	cr_assert(out != NULL);
	cr_expect(eq(str, found, "/srv/program.debug"));
	teardown(&d);
}

Test(debug_file, a_missing_common_file_of_dwz_is_named)
{
	static struct elf_builder b;
	char why[256] = "";

	elf_builder_init(&b);
	elf_builder_add(&b, ".gnu_debugaltlink", SHT_PROGBITS, "../common.debug\0\1\2\3\4", 20);
	elf_builder_finish(&b);
	cleanup(elf_file) struct elf_file *elf =
		elf_file_from_memory((struct bytes){ b.bytes, b.used }, NULL, NULL);
	struct debug_search search = { "/nonexistent/bin/program", "", "/nonexistent" };
	cr_expect(eq(ptr, debug_file_find_alt(elf, &search, why, sizeof(why)), NULL));
	cr_expect(ne(ptr, strstr(why, "../common.debug"), NULL), "%s", why);
}

Test(debug_file, the_small_symbol_table_is_unpacked)
{
	static struct elf_builder inner, outer;
	static uint8_t packed[16384];
	size_t size = 0;

	elf_builder_init(&inner);
	elf_builder_add(&inner, ".symtab", SHT_SYMTAB, "", 1);
	elf_builder_finish(&inner);
	cr_assert(eq(int,
	             lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner.bytes, inner.used,
	                                     packed, &size, sizeof(packed)),
	             LZMA_OK));
	for (int i = 0; i < 2; i++) {
		elf_builder_init(&outer);
		elf_builder_add(&outer, ".gnu_debugdata", SHT_PROGBITS, packed, size);
		elf_builder_finish(&outer);
		cleanup(elf_file) struct elf_file *elf =
			elf_file_from_memory((struct bytes){ outer.bytes, outer.used }, NULL, NULL);
		cleanup(elf_file) struct elf_file *minimal = debug_file_open_minimal(elf);
		cr_expect(eq(int, minimal != NULL, i == 0));
		if (minimal)
			cr_expect(elf_file_find(minimal, ".symtab") != NULL);
		packed[size / 2] ^= 0x55; // the second time it is damaged
	}
}

// Who has no build-id has debug information of another time, which was not that large.
Test(debug_file, a_huge_file_is_not_summed_up)
{
	static struct elf_builder debug, program;
	struct directory d;
	char path[128], found[PATH_MAX], why[256] = "";

	setup(&d);
	build_debug(&debug, NULL);
	save(&d, "program.debug", &debug);
	snprintf(path, sizeof(path), "%s/program.debug", d.path);
	cr_assert(eq(int, truncate(path, (off_t)3 << 30), 0));
	struct debug_search search = { d.program, "", "/nonexistent" };
	cleanup(elf_file) struct elf_file *elf = build_program(&program, NULL, checksum(&debug));
	cr_expect(eq(ptr, debug_file_find(elf, &search, found, why, sizeof(why)), NULL));
	cr_expect(ne(ptr, strstr(why, "program.debug\" is too large for a checksum"), NULL), "%s",
	          why);
	teardown(&d);
}
