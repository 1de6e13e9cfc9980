// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/line_program.h"
#include "tests/support/expect.h"

#include <dwarf.h>

// Builds a line table of DWARF 2 to 4 by hand, as an assembler does.
struct table {
	uint8_t bytes[1024];
	size_t used;
	size_t length_at, header_at;
};

static void put(struct table *t, uint64_t number, size_t size)
{
	memcpy(t->bytes + t->used, &number, size);
	t->used += size;
}

static void put_text(struct table *t, const char *text)
{
	memcpy(t->bytes + t->used, text, strlen(text) + 1);
	t->used += strlen(text) + 1;
}

static void put_u32_at(struct table *t, size_t at, size_t number)
{
	uint32_t word = (uint32_t)number;

	memcpy(t->bytes + at, &word, 4);
}

static void put_opcodes(struct table *t)
{
	static const uint8_t lengths[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

	put(t, 1, 1);           // bytes per instruction
	put(t, 1, 1);           // operations per instruction
	put(t, 1, 1);           // default_is_stmt
	put(t, (uint8_t)-5, 1); // line_base
	put(t, 14, 1);          // line_range
	put(t, 13, 1);          // opcode_base
	for (size_t i = 0; i < 12; i++)
		put(t, lengths[i], 1);
}

static void begin(struct table *t)
{
	*t = (struct table){ 0 };
	put(t, 0, 4);
	put(t, 4, 2);
	t->header_at = t->used;
	put(t, 0, 4);
	put_opcodes(t);
	put_text(t, "include");
	put_text(t, "/abs");
	put(t, 0, 1);
	put_text(t, "a.c");
	put(t, 0, 3);
	put_text(t, "b.h");
	put(t, 1, 1);
	put(t, 0, 2);
	put_text(t, "c.h");
	put(t, 2, 1);
	put(t, 0, 2);
	put_text(t, "/root/d.h");
	put(t, 0, 3);
	put(t, 0, 1);
	put_u32_at(t, t->header_at, t->used - t->header_at - 4);
}

static void set_address(struct table *t, uint64_t address)
{
	put(t, 0, 1);
	put(t, 9, 1);
	put(t, DW_LNE_set_address, 1);
	put(t, address, 8);
}

// One special opcode: a row ADVANCE bytes on and LINES lines on.
static void row(struct table *t, unsigned int advance, int lines)
{
	put(t, (uint64_t)(13 + advance * 14 + (unsigned int)(lines + 5)), 1);
}

static void end_sequence(struct table *t, unsigned int advance)
{
	put(t, DW_LNS_advance_pc, 1);
	put(t, advance, 1);
	put(t, 0, 1);
	put(t, 1, 1);
	put(t, DW_LNE_end_sequence, 1);
}

static void finish(struct table *t)
{
	put_u32_at(t, 0, t->used - 4);
}

static struct line_program *open_table(const struct table *t)
{
	struct line_sections sections = { .line = { t->bytes, t->used } };

	return line_program_new(&sections, 0, "/src", "/src/a.c");
}

static struct line_row find(const struct table *t, uint64_t address, uint64_t lowest)
{
	cleanup(line_program) struct line_program *p = open_table(t);
	struct line_row line;

	cr_assert(p != NULL);
	line_program_run(p, lowest, &address, 1, &line);
	return line;
}

Test(line_program, a_row_holds_up_to_the_next_one)
{
	struct table t;

	begin(&t);
	set_address(&t, 0x1000);
	row(&t, 0, 4);
	row(&t, 4, 1);
	row(&t, 4, -3);
	end_sequence(&t, 8);
	finish(&t);
	static const struct {
		uint64_t address;
		bool known;
		uint32_t line;
	} rows[] = {
		{ 0xfff, false, 0 }, { 0x1000, true, 5 }, { 0x1003, true, 5 },  { 0x1004, true, 6 },
		{ 0x1008, true, 3 }, { 0x100f, true, 3 }, { 0x1010, false, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct line_row line = find(&t, rows[i].address, 0);
		cr_expect(eq(int, line.known, rows[i].known), "%#lx", rows[i].address);
		cr_expect(eq(u32, line.line, rows[i].line), "%#lx", rows[i].address);
	}
}

Test(line_program, of_rows_with_one_address_the_last_counts)
{
	struct table t;

	begin(&t);
	set_address(&t, 0x1000);
	row(&t, 0, 1);
	row(&t, 0, 5);
	end_sequence(&t, 8);
	finish(&t);
	cr_expect(eq(u32, find(&t, 0x1000, 0).line, 7));
}

Test(line_program, sequences_of_discarded_functions_are_not_believed)
{
	struct table t;

	begin(&t);
	set_address(&t, 0x1000);
	row(&t, 0, 4);
	end_sequence(&t, 8);
	set_address(&t, 0); // a tombstone that is so long that it reaches into real code
	row(&t, 0, 8);
	put(&t, DW_LNS_advance_pc, 1);
	put(&t, 0xa080, 2); // 0x1000
	row(&t, 0, 1);
	end_sequence(&t, 0x20);
	finish(&t);
	cr_expect(eq(u32, find(&t, 0x1004, 0x800).line, 5));
}

Test(line_program, paths_are_joined_with_the_directory_that_the_compiler_ran_in)
{
	static const char *const paths[] = { "/src/a.c", "/src/a.c", "/src/include/b.h", "/abs/c.h",
		                             "/root/d.h" };
	struct table t;
	char path[256];

	begin(&t);
	finish(&t);
	cleanup(line_program) struct line_program *p = open_table(&t);
	cr_assert(p != NULL);
	for (size_t i = 0; i < 5; i++) {
		const char *found = line_program_path(p, i, path, sizeof(path));
		cr_assert(found != NULL, "file %zu", i);
		cr_expect(eq(str, (char *)found, (char *)paths[i]));
	}
	cr_expect(eq(ptr, (void *)line_program_path(p, 5, path, sizeof(path)), NULL));
	cr_expect(eq(ptr, (void *)line_program_path(p, UINT64_MAX, path, sizeof(path)), NULL));
}

static void begin_5(struct table *t)
{
	*t = (struct table){ 0 };
	put(t, 0, 4);
	put(t, 5, 2);
	put(t, 8, 1);
	put(t, 0, 1);
	t->header_at = t->used;
	put(t, 0, 4);
	put_opcodes(t);
	put(t, 1, 1);
	put(t, DW_LNCT_path, 1);
	put(t, DW_FORM_string, 1);
	put(t, 2, 1);
	put_text(t, "/build");
	put_text(t, "lib");
	put(t, 2, 1);
	put(t, DW_LNCT_path, 1);
	put(t, DW_FORM_string, 1);
	put(t, DW_LNCT_directory_index, 1);
	put(t, DW_FORM_udata, 1);
	put(t, 2, 1);
	put_text(t, "a.c");
	put(t, 0, 1);
	put_text(t, "b.c");
	put(t, 1, 1);
	put_u32_at(t, t->header_at, t->used - t->header_at - 4);
}

Test(line_program, version_5_counts_files_and_directories_from_0)
{
	struct table t;
	char path[256];

	begin_5(&t);
	finish(&t);
	struct line_sections sections = { .line = { t.bytes, t.used } };
	cleanup(line_program) struct line_program *p =
		line_program_new(&sections, 0, "/build", NULL);
	cr_assert(p != NULL);
	cr_expect(eq(str, (char *)line_program_path(p, 0, path, sizeof(path)), "/build/a.c"));
	cr_expect(eq(str, (char *)line_program_path(p, 1, path, sizeof(path)), "/build/lib/b.c"));
}

Test(line_program, a_table_that_is_cut_off_anywhere_does_no_harm)
{
	struct table t;

	begin(&t);
	set_address(&t, 0x1000);
	row(&t, 0, 4);
	end_sequence(&t, 8);
	finish(&t);
	for (size_t size = 0; size <= t.used; size++) {
		uint8_t *copy = malloc(size + 1); // so that a sanitizer sees a read beyond it
		memcpy(copy, t.bytes, size);
		struct line_sections sections = { .line = { copy, size } };
		cleanup(line_program) struct line_program *p =
			line_program_new(&sections, 0, NULL, NULL);
		uint64_t address = 0x1000;
		struct line_row line = { 0 };
		if (p)
			line_program_run(p, 0, &address, 1, &line);
		cr_expect(eq(int, line.known, size == t.used), "%zu of %zu bytes", size, t.used);
		free(copy);
	}
}

Test(line_program, a_row_that_goes_back_and_forth_does_not_take_for_ever)
{
	static uint8_t bytes[200000];
	static uint64_t addresses[4096];
	static struct line_row rows[4096];
	struct table t;

	begin(&t);
	set_address(&t, 0x1000);
	memcpy(bytes, t.bytes, t.used);
	size_t used = t.used;
	// 255 + 4096 on, then 4096 back by a 64-bit overflow of set_address: over and over.
	while (used + 32 < sizeof(bytes)) {
		struct table more = { 0 };
		row(&more, 0, 0);
		set_address(&more, 0x3000);
		row(&more, 0, 0);
		set_address(&more, 0x1000);
		memcpy(bytes + used, more.bytes, more.used);
		used += more.used;
	}
	memset(bytes, 0, 4);
	uint32_t length = (uint32_t)used - 4;
	memcpy(bytes, &length, 4);
	for (size_t i = 0; i < 4096; i++)
		addresses[i] = 0x1000 + i;
	struct line_sections sections = { .line = { bytes, used } };
	cleanup(line_program) struct line_program *p = line_program_new(&sections, 0, NULL, NULL);
	cr_assert(p != NULL);
	uint64_t operations = line_program_run(p, 0, addresses, 4096, rows);
	cr_expect(lt(u64, operations, used / 10), "it gave up after %lu", operations);
	cr_expect(rows[0].known);
}

Test(line_program, the_pieces_that_matter_say_what_the_whole_program_says)
{
	struct line_index index = { 0 };
	struct table t;

	begin(&t);
	// In order, out of order within itself, over the one before, and without a row that counts.
	static const uint64_t starts[] = { 0x1000, 0x3000, 0x1008, 0x2000 };
	for (size_t i = 0; i < 4; i++) {
		set_address(&t, starts[i]);
		row(&t, 0, (int)i + 1);
		row(&t, 4, 2);
		if (i == 1)
			set_address(&t, 0x2ff0);
		row(&t, 4, 1);
		end_sequence(&t, i == 3 ? 0 : 8);
	}
	finish(&t);
	cleanup(line_program) struct line_program *p = open_table(&t);
	cr_assert(p != NULL);
	for (int again = 0; again < 2; again++) {
		for (uint64_t address = 0xff0; address < 0x3020; address++) {
			struct line_row whole = find(&t, address, 0), piece;
			line_program_set_index(p, &index);
			uint64_t operations = line_program_run(p, 0, &address, 1, &piece);
			cr_expect(eq(int, piece.known, whole.known), "%#lx", address);
			cr_expect(eq(u32, piece.line, whole.line), "%#lx", address);
			cr_assert(index.complete && index.count == 4);
			if (address == 0x2800) // in none of them
				cr_expect(eq(u64, operations, 4));
		}
	}
	line_index_fini(&index);
}
