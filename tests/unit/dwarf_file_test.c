// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/dwarf/dwarf_units.h"
#include "symbolize/dwarf/inlines.h"
#include "symbolize/dwarf/optimization.h"
#include "symbolize/dwarf/unit_values.h"
#include "tests/support/expect.h"

#include <dwarf.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

struct buffer {
	uint8_t bytes[4096];
	size_t used;
};

static void put(struct buffer *b, uint64_t number, size_t size)
{
	memcpy(b->bytes + b->used, &number, size);
	b->used += size;
}

static void put_text(struct buffer *b, const char *text)
{
	memcpy(b->bytes + b->used, text, strlen(text) + 1);
	b->used += strlen(text) + 1;
}

static void put_abbrev(struct buffer *b, unsigned int code, unsigned int tag, bool children,
                       const uint8_t *pairs, size_t count)
{
	put(b, code, 1);
	put(b, tag, 1);
	put(b, children, 1);
	for (size_t i = 0; i < count; i++)
		put(b, pairs[i], 1);
	put(b, 0, 2);
}

enum code {
	CODE_UNIT = 1,
	CODE_FUNCTION = 2,
	CODE_INLINED = 3,
	CODE_LEAF = 4,
	CODE_RANGED = 5,
	CODE_VARIABLE = 6,
	CODE_LISTED = 7
};

static void make_abbrevs(struct buffer *b)
{
	static const uint8_t unit[] = { DW_AT_name,   DW_FORM_string, DW_AT_low_pc,
		                        DW_FORM_addr, DW_AT_high_pc,  DW_FORM_data4 };
	static const uint8_t function[] = { DW_AT_name,    DW_FORM_string, DW_AT_low_pc,
		                            DW_FORM_addr,  DW_AT_high_pc,  DW_FORM_data4,
		                            DW_AT_sibling, DW_FORM_ref4 };
	static const uint8_t inlined[] = { DW_AT_abstract_origin, DW_FORM_ref4,  DW_AT_low_pc,
		                           DW_FORM_addr,          DW_AT_high_pc, DW_FORM_data4,
		                           DW_AT_call_file,       DW_FORM_data1, DW_AT_call_line,
		                           DW_FORM_data1 };
	static const uint8_t leaf[] = { DW_AT_name, DW_FORM_string };
	static const uint8_t ranged[] = { DW_AT_ranges, DW_FORM_sec_offset };

	put_abbrev(b, CODE_UNIT, DW_TAG_compile_unit, true, unit, sizeof(unit));
	put_abbrev(b, CODE_FUNCTION, DW_TAG_subprogram, true, function, sizeof(function));
	put_abbrev(b, CODE_INLINED, DW_TAG_inlined_subroutine, false, inlined, sizeof(inlined));
	put_abbrev(b, CODE_LEAF, DW_TAG_subprogram, false, leaf, sizeof(leaf));
	put_abbrev(b, CODE_RANGED, DW_TAG_subprogram, false, ranged, sizeof(ranged));
	put(b, 0, 1);
}

static void begin_unit(struct buffer *b)
{
	put(b, 0, 4);
	put(b, 4, 2);
	put(b, 0, 4);
	put(b, 8, 1);
	put(b, CODE_UNIT, 1);
	put_text(b, "a.c");
	put(b, 0x1000, 8);
	put(b, 0x1000, 4);
}

static void end_unit(struct buffer *b)
{
	uint32_t length;

	put(b, 0, 1);
	length = (uint32_t)b->used - 4;
	memcpy(b->bytes, &length, 4);
}

// A function at START with the children that follow; its sibling is at SIBLING.
static size_t put_function(struct buffer *b, const char *name, uint64_t start, uint32_t size)
{
	put(b, CODE_FUNCTION, 1);
	put_text(b, name);
	put(b, start, 8);
	put(b, size, 4);
	put(b, 0, 4);
	return b->used - 4;
}

static void set_u32(struct buffer *b, size_t at, size_t number)
{
	uint32_t word = (uint32_t)number;

	memcpy(b->bytes + at, &word, 4);
}

static void put_inlined(struct buffer *b, size_t origin, uint64_t start, uint32_t size, int line)
{
	put(b, CODE_INLINED, 1);
	put(b, origin, 4);
	put(b, start, 8);
	put(b, size, 4);
	put(b, 1, 1);
	put(b, (uint64_t)line, 1);
}

static struct dwarf_file *open_buffers(const struct buffer *info, const struct buffer *abbrev,
                                       const struct buffer *ranges)
{
	struct dwarf_sections sections = { .info = { info->bytes, info->used },
		                           .abbrev = { abbrev->bytes, abbrev->used } };

	if (ranges)
		sections.ranges = (struct bytes){ ranges->bytes, ranges->used };
	return dwarf_file_new(&sections, NULL);
}

Test(dwarf_file, inlined_calls_are_found_with_their_names_and_lines)
{
	struct buffer info = { 0 }, abbrev = { 0 };
	uint64_t addresses[] = { 0x1010, 0x1110, 0x1120, 0x1200 };
	uint32_t scopes[4];
	struct inlines inlines = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	size_t origin = info.used;
	put(&info, CODE_LEAF, 1);
	put_text(&info, "tiny");
	size_t first = put_function(&info, "first", 0x1000, 0x100);
	put(&info, 0, 1);
	set_u32(&info, first, info.used);
	size_t second = put_function(&info, "second", 0x1100, 0x100);
	put_inlined(&info, origin, 0x1110, 8, 42);
	put(&info, 0, 1);
	set_u32(&info, second, info.used);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	cr_assert(eq(sz, dwarf_file_unit_count(file), 1));
	cr_assert(inlines_find(&inlines, dwarf_file_unit(file, 0), addresses, 4, scopes));
	const struct scope *tiny = &inlines.scopes[scopes[1] - 1];
	cr_expect(eq(str, (char *)inlines.scopes[scopes[0] - 1].name.text, "first"));
	cr_expect(eq(str, (char *)tiny->name.text, "tiny"));
	cr_expect(eq(u64, tiny->call_line, 42));
	cr_expect(eq(str, (char *)inlines.scopes[tiny->outer - 1].name.text, "second"));
	cr_expect(eq(u32, scopes[2], tiny->outer));
	cr_expect(eq(u32, scopes[3], 0));
	inlines_fini(&inlines);
}

Test(dwarf_file, a_sibling_that_leads_back_is_not_followed)
{
	struct buffer info = { 0 }, abbrev = { 0 };
	uint64_t address = 0x1800;
	uint32_t scope;
	struct inlines inlines = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	size_t start = info.used;
	size_t sibling = put_function(&info, "loop", 0x1000, 0x100);
	put(&info, 0, 1);
	set_u32(&info, sibling, start);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	cr_assert(inlines_find(&inlines, dwarf_file_unit(file, 0), &address, 1, &scope));
	cr_expect(eq(u32, scope, 0));
	inlines_fini(&inlines);
}

Test(dwarf_file, an_origin_that_is_its_own_origin_ends)
{
	struct buffer info = { 0 }, abbrev = { 0 };
	uint64_t address = 0x1010;
	uint32_t scope;
	struct inlines inlines = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	size_t sibling = put_function(&info, "f", 0x1000, 0x100);
	put_inlined(&info, info.used, 0x1010, 8, 1);
	put(&info, 0, 1);
	set_u32(&info, sibling, info.used);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	cr_assert(inlines_find(&inlines, dwarf_file_unit(file, 0), &address, 1, &scope));
	cr_assert(ne(u32, scope, 0));
	cr_expect(eq(ptr, (void *)inlines.scopes[scope - 1].name.text, NULL));
	inlines_fini(&inlines);
}

Test(dwarf_file, work_without_end_burns_out)
{
	static struct buffer info, abbrev, ranges;
	static uint64_t addresses[200];
	static uint32_t scopes[200];
	struct inlines inlines = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	for (int i = 0; i < 700; i++) {
		put(&info, CODE_RANGED, 1);
		put(&info, 0, 4);
	}
	end_unit(&info);
	for (int i = 0; i < 250; i++) {
		put(&ranges, 0, 8); // from where the unit starts
		put(&ranges, 0x1000, 8);
	}
	for (size_t i = 0; i < 200; i++)
		addresses[i] = 0x1000 + i;
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, &ranges);
	cr_assert(inlines_find(&inlines, dwarf_file_unit(file, 0), addresses, 200, scopes));
	cr_expect(dwarf_file_is_burnt(file), "700 functions of 250 ranges on 200 addresses");
	inlines_fini(&inlines);
}

Test(dwarf_file, a_unit_of_an_unknown_version_is_stepped_over)
{
	struct buffer info = { 0 }, abbrev = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	end_unit(&info);
	size_t bytes = info.used;
	for (; info.used < 3 * bytes; info.used += bytes)
		memcpy(info.bytes + info.used, info.bytes, bytes);
	info.bytes[bytes + 4] = 6;
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);

	cr_assert(eq(sz, dwarf_file_unit_count(file), 2));
	cr_expect(unit_prepare(dwarf_file_unit(file, 0)));
	cr_expect(unit_prepare(dwarf_file_unit(file, 1)));
	cr_expect(eq(ptr, dwarf_file_unit_at(file, bytes), NULL));
	cr_expect(eq(ptr, dwarf_file_unit_at(file, 2 * bytes), dwarf_file_unit(file, 1)));
}

enum {
	MANY = 20000,
	MANY_UNIT_BYTES = 16,
	MANY_ABBREV_BYTES = 7
};

// MANY units without children, whose abbreviation is number CODE of MANY. All but the last have
// addresses of ADDRESS_BYTES.
static struct dwarf_file *open_many(uint32_t code, uint8_t address_bytes, struct error *err)
{
	static uint8_t info[MANY * MANY_UNIT_BYTES], abbrev[MANY * MANY_ABBREV_BYTES + 1];
	struct dwarf_sections sections = { .info = { info, sizeof(info) },
		                           .abbrev = { abbrev, sizeof(abbrev) } };

	for (uint32_t i = 0; i < MANY; i++) {
		uint8_t *unit = info + (size_t)i * MANY_UNIT_BYTES;
		uint8_t *one = abbrev + (size_t)i * MANY_ABBREV_BYTES;
		uint32_t number = i + 1;
		unit[0] = MANY_UNIT_BYTES - 4;
		unit[4] = 4; // version
		unit[10] = number < MANY ? address_bytes : 8;
		unit[11] = (uint8_t)(code & 0x7f) | 0x80;
		unit[12] = (uint8_t)(code >> 7 & 0x7f) | 0x80;
		unit[13] = (uint8_t)(code >> 14);
		one[0] = (uint8_t)(number & 0x7f) | 0x80;
		one[1] = (uint8_t)(number >> 7 & 0x7f) | 0x80;
		one[2] = (uint8_t)(number >> 14);
		one[3] = DW_TAG_compile_unit; // without children and attributes
	}
	return dwarf_file_new(&sections, err);
}

Test(dwarf_file, a_long_table_that_many_units_share_does_not_fill_the_memory)
{
	cleanup(dwarf_file) struct dwarf_file *honest = open_many(1, 8, NULL);
	cr_expect(eq(sz, dwarf_file_unit_count(honest), MANY));
	cleanup(dwarf_file) struct dwarf_file *file = open_many(MANY, 8, NULL);
	// Each of them would make libdw keep the whole table: 400 million abbreviations.
	cr_expect(lt(sz, dwarf_file_unit_count(file), 100));
	cleanup(dwarf_units) struct dwarf_units *units = dwarf_units_new(file, 0, NULL);
	cr_expect(ne(ptr, units, NULL));
}

Test(dwarf_file, nor_do_units_that_are_not_read)
{
	cleanup(dwarf_file) struct dwarf_file *file = open_many(MANY, 2, NULL);

	// libdw would look at them on its way to the last one.
	cr_expect(eq(sz, dwarf_file_unit_count(file), 0));
}

#ifndef __SANITIZE_ADDRESS__ // which needs more address space than there is memory

static uint64_t mapped_bytes(void)
{
	char text[64] = "";
	FILE *file = fopen("/proc/self/statm", "re");

	cr_assert(file != NULL && fgets(text, sizeof(text), file) != NULL);
	fclose(file);
	return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

Test(dwarf_file, no_memory_for_libdw_is_an_error_and_no_exit)
{
	struct rlimit before, limit;
	bool reached = false;

	cr_assert(eq(int, getrlimit(RLIMIT_AS, &before), 0));
	for (uint64_t room = 0; !reached && room < (256 << 20); room += 1 << 20) {
		struct error err = { 0 };
		limit = before;
		limit.rlim_cur = mapped_bytes() + room;
		cr_assert(eq(int, setrlimit(RLIMIT_AS, &limit), 0));
		cleanup(dwarf_file) struct dwarf_file *file = open_many(1, 8, &err);
		cleanup(dwarf_units) struct dwarf_units *units =
			file ? dwarf_units_new(file, 0, &err) : NULL;
		cr_assert(eq(int, setrlimit(RLIMIT_AS, &before), 0));
		reached = units != NULL;
		cr_expect(reached || err.errnum == ENOMEM);
	}
	cr_expect(reached);
}

#endif

Test(dwarf_file, files_that_are_cut_off_anywhere_do_no_harm)
{
	struct buffer info = { 0 }, abbrev = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	size_t sibling = put_function(&info, "f", 0x1000, 0x100);
	put(&info, 0, 1);
	set_u32(&info, sibling, info.used);
	end_unit(&info);
	for (size_t size = 0; size <= info.used; size++) {
		struct buffer cut = { .used = size };
		uint64_t address = 0x1010;
		uint32_t scope = 0;
		struct inlines inlines = { 0 };
		memcpy(cut.bytes, info.bytes, size);
		if (size >= 4)
			set_u32(&cut, 0, size - 4);
		cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&cut, &abbrev, NULL);
		struct unit *unit = dwarf_file_unit(file, 0);
		if (unit)
			cr_expect(inlines_find(&inlines, unit, &address, 1, &scope));
		cr_expect(size < info.used || scope == 1, "the whole file");
		inlines_fini(&inlines);
	}
}

Test(dwarf_file, a_unit_is_found_by_what_it_covers)
{
	struct buffer info = { 0 }, abbrev = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	cleanup(dwarf_units) struct dwarf_units *units = dwarf_units_new(file, 0, NULL);
	cr_expect(eq(ptr, dwarf_units_find(units, 0xfff), NULL));
	cr_expect(eq(ptr, dwarf_units_find(units, 0x1000), dwarf_file_unit(file, 0)));
	cr_expect(eq(ptr, dwarf_units_find(units, 0x1fff), dwarf_file_unit(file, 0)));
	cr_expect(eq(ptr, dwarf_units_find(units, 0x2000), NULL));
}

Test(dwarf_file, what_lies_below_all_code_was_discarded)
{
	struct buffer info = { 0 }, abbrev = { 0 };

	make_abbrevs(&abbrev);
	begin_unit(&info);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	cleanup(dwarf_units) struct dwarf_units *units = dwarf_units_new(file, 0x1800, NULL);
	cr_expect(eq(ptr, dwarf_units_find(units, 0x1900), NULL));
}

Test(dwarf_file, compilers_say_whether_they_optimize)
{
	static const struct {
		const char *producer;
		bool unoptimized;
	} table[] = {
		{ NULL, false },
		{ "", false },
		{ "GNU C17 12.2.0 -mtune=generic -march=x86-64 -g", true },
		{ "GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O0 -fPIC", true },
		{ "GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2", false },
		{ "GNU C++17 12.2.0 -g -O", false },
		{ "GNU C++17 12.2.0 -g -Og", false },
		{ "GNU C++17 12.2.0 -g -O2 -O0", true },
		{ "GNU C++17 12.2.0 -g -O0 -Os", false },
		{ "GNU C17 12.2.0", false }, // -gno-record-gcc-switches
		{ "GNU AS 2.40", false },
		{ "Debian clang version 14.0.6", false },
		{ "clang version 14.0.6 -g -O0 a.c", true },
		{ "clang LLVM (rustc version 1.70.0)", false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect(eq(int, producer_is_unoptimized(table[i].producer), table[i].unoptimized),
		          "%s", table[i].producer);
}

// Variables with expressions that begin with OPS, and as many again with LISTS.
static bool unit_is_unoptimized(const uint8_t *ops, size_t count, bool lists, const char *producer)
{
	static const uint8_t fixed[] = { DW_AT_name, DW_FORM_string, DW_AT_location,
		                         DW_FORM_exprloc };
	static const uint8_t listed[] = { DW_AT_location, DW_FORM_sec_offset };
	struct buffer info = { 0 }, abbrev = { 0 };

	make_abbrevs(&abbrev);
	abbrev.used--; // its end
	put_abbrev(&abbrev, CODE_VARIABLE, DW_TAG_variable, false, fixed, sizeof(fixed));
	put_abbrev(&abbrev, CODE_LISTED, DW_TAG_variable, false, listed, sizeof(listed));
	put(&abbrev, 0, 1);
	begin_unit(&info);
	size_t sibling = put_function(&info, "f", 0x1000, 0x100);
	for (size_t i = 0; i < count; i++) {
		put(&info, CODE_VARIABLE, 1);
		put_text(&info, "v");
		put(&info, 2, 1);
		put(&info, ops[i], 1);
		put(&info, 0x70, 1);
		if (lists)
			put(&info, CODE_LISTED, 1);
		if (lists)
			put(&info, 0, 4);
	}
	put(&info, 0, 1);
	set_u32(&info, sibling, info.used);
	end_unit(&info);
	cleanup(dwarf_file) struct dwarf_file *file = open_buffers(&info, &abbrev, NULL);
	return optimization_is_off(dwarf_file_unit(file, 0), producer);
}

// LLVM's compilers do not say what they were asked for.
Test(dwarf_file, variables_that_stay_on_the_stack_are_those_of_unoptimized_code)
{
	static const char clang[] = "Debian clang version 14.0.6";
	static const uint8_t stack[] = { DW_OP_fbreg, DW_OP_fbreg, DW_OP_fbreg, DW_OP_breg4 };
	static const uint8_t few[] = { DW_OP_fbreg, DW_OP_addr, DW_OP_fbreg };
	static const uint8_t registers[] = { DW_OP_fbreg, DW_OP_fbreg, DW_OP_fbreg, DW_OP_breg5,
		                             DW_OP_breg4 };

	cr_expect(unit_is_unoptimized(stack, 4, false, clang));
	cr_expect(unit_is_unoptimized(stack, 4, false, "clang LLVM (rustc version 1.70.0)"));
	cr_expect(!unit_is_unoptimized(stack, 4, true, clang));
	cr_expect(!unit_is_unoptimized(registers, 5, false, clang));
	cr_expect(!unit_is_unoptimized(few, 3, false, clang));
	cr_expect(!unit_is_unoptimized(stack, 4, false, "GNU C17 12.2.0 -g -O2"));
	cr_expect(!unit_is_unoptimized(stack, 4, false, "clang version 14.0.6 -g -O1 a.c"));
	cr_expect(!unit_is_unoptimized(stack, 4, false, NULL));
}
