// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/image.h"
#include "tests/support/expect.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define TEXT          UINT64_C(0x1000)
#define SECTION_START UINT64_C(0x100000)

/* A section under construction. */
struct writer {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct writer *w, const void *bytes, size_t size)
{
	cr_assert(w->size + size <= sizeof(w->bytes));
	memcpy(w->bytes + w->size, bytes, size);
	w->size += size;
}

static void put_u32(struct writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static size_t open_entry(struct writer *w)
{
	put_u32(w, 0);
	return w->size;
}

static void close_entry(struct writer *w, size_t start)
{
	while (w->size % 4)
		put(w, "", 1); // DW_CFA_nop
	uint32_t length = (uint32_t)(w->size - start);
	memcpy(w->bytes + start - 4, &length, 4);
}

/* The CIE that gcc writes: CFA = rsp + 8, return address at CFA - 8. */
static void put_cie(struct writer *w, const char *augmentation)
{
	static const uint8_t factors[] = { 1, 0x78, 16 }; // 1, -8, rip
	static const uint8_t initial[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };
	size_t start = open_entry(w);

	put_u32(w, 0);
	put(w, "\x01", 1);
	put(w, augmentation, strlen(augmentation) + 1);
	put(w, factors, sizeof(factors));
	put(w, (uint8_t[]){ 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4 }, 2);
	put(w, initial, sizeof(initial));
	close_entry(w, start);
}

/* An FDE of the CIE at offset 0. */
static void put_fde(struct writer *w, uint64_t address, uint32_t size, const void *program,
                    size_t program_size)
{
	size_t start = open_entry(w);

	put_u32(w, (uint32_t)w->size);
	put_u32(w, (uint32_t)(address - SECTION_START - w->size));
	put_u32(w, size);
	put(w, "", 1);
	put(w, program, program_size);
	close_entry(w, start);
}

/* A copy of its own size, so that the sanitizer sees a read beyond the end. It lives until the next
   call. */
static struct cfi_section section_of(const void *bytes, size_t size, bool debug_frame)
{
	static uint8_t *copy;
	struct cfi_section section;

	free(copy);
	copy = malloc(size ? size : 1);
	cr_assert(copy != NULL);
	memcpy(copy, bytes, size);
	cr_assert(cfi_section_init(&section, copy, size, SECTION_START, debug_frame));
	return section;
}

/* The table for the code up to END. */
static struct cfi_table *table_up_to(uint64_t end, struct cfi_section section)
{
	struct cfi_table *table = cfi_table_new(&section, 1, 0, end, NULL);

	cr_assert(table != NULL);
	return table;
}

static struct cfi_table *table_of(const void *bytes, size_t size, bool debug_frame)
{
	return table_up_to(SECTION_START, section_of(bytes, size, debug_frame));
}

/* The table of one function of 100 bytes at TEXT with PROGRAM. */
static struct cfi_table *table_of_program(const void *program, size_t size)
{
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	put_fde(&w, TEXT, 100, program, size);
	return table_of(w.bytes, w.size, false);
}

/* "rsp+16", "rsp+16 rbp@-16", "*(rbp-8)+0 rbp@@0", "unusable" … */
static const char *rule_text(const struct cfi_rule *rule)
{
	static const char *const names[] = { "none", "unusable", "outermost", "rsp",   "rbp",
		                             "r10",  "plt",      "*(rsp",     "*(rbp", "ucontext" };
	static char text[80];
	bool memory = rule->cfa == CFI_RSP_MEMORY || rule->cfa == CFI_RBP_MEMORY;
	size_t size;

	if (rule->cfa <= CFI_OUTERMOST || rule->cfa == CFI_UCONTEXT)
		return names[rule->cfa];
	size = (size_t)snprintf(text, sizeof(text), "%s%+d", names[rule->cfa], rule->offset);
	if (rule->cfa == CFI_REGISTER)
		size = (size_t)snprintf(text, sizeof(text), "r%u%+d", rule->add, rule->offset);
	if (memory)
		size += (size_t)snprintf(text + size, sizeof(text) - size, ")+%d", rule->add);
	if (rule->rbp != CFI_RBP_KEPT)
		size += (size_t)snprintf(text + size, sizeof(text) - size, " rbp%s%d",
		                         rule->rbp == CFI_RBP_AT_CFA ? "@" : "@@",
		                         rule->rbp_offset);
	if (rule->signal)
		snprintf(text + size, sizeof(text) - size, " signal");
	return text;
}

static const char *rule_at(struct cfi_table *table, uint64_t address)
{
	return rule_text(cfi_table_rule(table, address));
}

#define OPS(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

Test(cfi_table, every_instruction_does_what_dwarf_says)
{
	static const struct {
		const char *name;
		uint8_t program[24];
		size_t size;
		const char *first, *second; // at TEXT + 1 and TEXT + 10
	} rows[] = {
		{ "nop", OPS(DW_CFA_nop), "rsp+8", "rsp+8" },
		{ "advance_loc", OPS(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16), "rsp+8",
		  "rsp+16" },
		{ "advance_loc1", OPS(DW_CFA_advance_loc1, 4, DW_CFA_def_cfa_offset, 16), "rsp+8",
		  "rsp+16" },
		{ "advance_loc2", OPS(DW_CFA_advance_loc2, 4, 0, DW_CFA_def_cfa_offset, 16),
		  "rsp+8", "rsp+16" },
		{ "advance_loc4", OPS(DW_CFA_advance_loc4, 4, 0, 0, 0, DW_CFA_def_cfa_offset, 16),
		  "rsp+8", "rsp+16" },
		{ "MIPS_advance_loc8", OPS(0x1d, 4, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16),
		  "rsp+8", "rsp+16" },
		{ "offset", OPS(DW_CFA_offset | 6, 2), "rsp+8 rbp@-16", "rsp+8 rbp@-16" },
		{ "offset_extended", OPS(DW_CFA_offset_extended, 6, 3), "rsp+8 rbp@-24",
		  "rsp+8 rbp@-24" },
		{ "offset_extended_sf", OPS(DW_CFA_offset_extended_sf, 6, 0x7e), "rsp+8 rbp@16",
		  "rsp+8 rbp@16" },
		{ "GNU_negative_offset_extended", OPS(0x2f, 6, 2), "rsp+8 rbp@16", "rsp+8 rbp@16" },
		{ "restore", OPS(DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 4, DW_CFA_restore | 6),
		  "rsp+8 rbp@-16", "rsp+8" },
		{ "restore_extended",
		  OPS(DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 4, DW_CFA_restore_extended, 6),
		  "rsp+8 rbp@-16", "rsp+8" },
		{ "restore of the return address",
		  OPS(DW_CFA_undefined, 16, DW_CFA_advance_loc | 4, DW_CFA_restore | 16),
		  "outermost", "rsp+8" },
		{ "undefined", OPS(DW_CFA_undefined, 16), "outermost", "outermost" },
		{ "undefined rbp", OPS(DW_CFA_offset | 6, 2, DW_CFA_undefined, 6), "rsp+8",
		  "rsp+8" },
		{ "same_value",
		  OPS(DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 4, DW_CFA_same_value, 6),
		  "rsp+8 rbp@-16", "rsp+8" },
		{ "register", OPS(DW_CFA_register, 6, 3), "unusable", "unusable" },
		{ "register of no interest", OPS(DW_CFA_register, 3, 12), "rsp+8", "rsp+8" },
		{ "remember and restore",
		  OPS(DW_CFA_def_cfa_offset, 64, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 8,
		      DW_CFA_advance_loc | 4, DW_CFA_restore_state),
		  "rsp+8", "rsp+64" },
		{ "def_cfa", OPS(DW_CFA_def_cfa, 6, 16), "rbp+16", "rbp+16" },
		{ "def_cfa_sf", OPS(DW_CFA_def_cfa_sf, 6, 0x7e), "rbp+16", "rbp+16" },
		{ "def_cfa_register", OPS(DW_CFA_def_cfa_register, 6), "rbp+8", "rbp+8" },
		{ "def_cfa_register r10", OPS(DW_CFA_def_cfa_register, 10), "r10+8", "r10+8" },
		{ "def_cfa_register rbx", OPS(DW_CFA_def_cfa_register, 3), "r3+8", "r3+8" },
		{ "def_cfa_register rip", OPS(DW_CFA_def_cfa_register, 16), "unusable",
		  "unusable" },
		{ "def_cfa_offset", OPS(DW_CFA_def_cfa_offset, 0x80, 1), "rsp+128", "rsp+128" },
		{ "def_cfa_offset_sf", OPS(DW_CFA_def_cfa_offset_sf, 0x7c), "rsp+32", "rsp+32" },
		{ "def_cfa_expression, realigned",
		  OPS(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
		      DW_CFA_expression, 6, 2, DW_OP_breg6, 0),
		  "*(rbp-8)+0 rbp@@0", "*(rbp-8)+0 rbp@@0" },
		{ "def_cfa_expression, asm",
		  OPS(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 0x18, DW_OP_deref,
		      DW_OP_plus_uconst, 8),
		  "*(rsp+24)+8", "*(rsp+24)+8" },
		{ "def_cfa_expression, PLT",
		  OPS(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15,
		      DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
		  "plt+11", "plt+11" },
		{ "def_cfa_expression, other", OPS(DW_CFA_def_cfa_expression, 2, DW_OP_breg3, 0),
		  "unusable", "unusable" },
		{ "expression of rbp, other", OPS(DW_CFA_expression, 6, 2, DW_OP_breg7, 8),
		  "unusable", "unusable" },
		{ "val_offset", OPS(DW_CFA_val_offset, 6, 2), "unusable", "unusable" },
		{ "val_offset_sf", OPS(DW_CFA_val_offset_sf, 6, 2), "unusable", "unusable" },
		{ "val_expression", OPS(DW_CFA_val_expression, 6, 2, DW_OP_breg7, 8), "unusable",
		  "unusable" },
		{ "val_expression of no interest", OPS(DW_CFA_val_expression, 3, 2, DW_OP_breg7, 8),
		  "rsp+8", "rsp+8" },
		{ "return address elsewhere", OPS(DW_CFA_offset | 16, 2), "unusable", "unusable" },
		{ "return address in a register", OPS(DW_CFA_register, 16, 2), "unusable",
		  "unusable" },
		{ "GNU_args_size", OPS(DW_CFA_GNU_args_size, 32, DW_CFA_def_cfa_offset, 16),
		  "rsp+16", "rsp+16" },
		{ "GNU_window_save", OPS(DW_CFA_GNU_window_save, DW_CFA_def_cfa_offset, 16),
		  "rsp+16", "rsp+16" },
		{ "an unknown one", OPS(DW_CFA_advance_loc | 4, 0x1f), "rsp+8", "unusable" },
		{ "restore_state without remember", OPS(DW_CFA_restore_state), "unusable",
		  "unusable" },
		{ "longer than its function's entry",
		  OPS(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_expression, 100), "rsp+8",
		  "unusable" },
		{ "an offset that does not fit",
		  OPS(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "unusable",
		  "unusable" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(cfi_table) struct cfi_table *table =
			table_of_program(rows[i].program, rows[i].size);
		cr_expect(eq(str, (char *)rule_at(table, TEXT + 1), (char *)rows[i].first), "%s",
		          rows[i].name);
		cr_expect(eq(str, (char *)rule_at(table, TEXT + 10), (char *)rows[i].second), "%s",
		          rows[i].name);
	}
}

Test(cfi_table, set_loc_moves_to_an_address)
{
	// The operand is relative to its own place: FDE at 24, program 17 bytes into it.
	struct writer w = { .size = 0 };
	uint8_t program[] = { DW_CFA_set_loc, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 48 };

	put_cie(&w, "zR");
	size_t operand = w.size + 4 + 4 + 4 + 4 + 1 + 1;
	uint32_t relative = (uint32_t)(TEXT + 5 - SECTION_START - operand);
	memcpy(program + 1, &relative, 4);
	put_fde(&w, TEXT, 100, program, sizeof(program));
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 4), "rsp+8"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 5), "rsp+48"));
}

Test(cfi_table, rows_hold_from_their_first_byte_to_the_last)
{
	static const uint8_t program[] = { DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,   16,
		                           DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6 };
	cleanup(cfi_table) struct cfi_table *table = table_of_program(program, sizeof(program));

	cr_expect(eq(str, (char *)rule_at(table, TEXT - 1), "none"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT), "rsp+8"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 1), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 3), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 4), "rbp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 99), "rbp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 100), "none"));
	cr_expect(eq(str, (char *)rule_at(table, 0), "none"));
	cr_expect(eq(str, (char *)rule_at(table, UINT64_MAX), "none"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + (UINT64_C(1) << 32)), "none"));
}

Test(cfi_table, code_between_functions_has_no_rule_unless_it_is_padding)
{
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	put_fde(&w, TEXT, 20, "", 0);
	put_fde(&w, TEXT + 32, 20, (uint8_t[]){ DW_CFA_def_cfa_offset, 16 }, 2);
	put_fde(&w, TEXT + 100, 20, "", 0);
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 25), "rsp+8"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 32), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 60), "none"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 100), "rsp+8"));
}

Test(cfi_table, functions_may_come_in_any_order)
{
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	for (uint8_t i = 9; i-- > 0;) {
		uint8_t program[] = { DW_CFA_def_cfa_offset, (uint8_t)(16 + 8 * i) };
		put_fde(&w, TEXT + 100u * i, 100, program, sizeof(program));
	}
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	for (uint64_t i = 0; i < 9; i++)
		cr_expect(eq(i32, cfi_table_rule(table, TEXT + 100 * i + 50)->offset,
		             (int32_t)(16 + 8 * i)));
}

Test(cfi_table, a_terminator_in_the_middle_ends_nothing)
{
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	put_fde(&w, TEXT, 20, "", 0);
	put_u32(&w, 0); // crtend.o of one library, linked before the next object
	put_fde(&w, TEXT + 100, 20, "", 0);
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 100), "rsp+8"));
}

Test(cfi_table, a_signal_trampoline_is_known_by_its_augmentation_and_its_rip)
{
	static const uint8_t rip[] = { DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 0x01 };
	struct writer w = { .size = 0 };

	put_cie(&w, "zRS");
	put_fde(&w, TEXT, 20, rip, sizeof(rip));
	put_fde(&w, TEXT + 100, 20, "", 0);
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	cr_expect(eq(str, (char *)rule_at(table, TEXT), "ucontext"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 100), "rsp+8 signal"));
}

Test(cfi_table, debug_frame_has_absolute_addresses_and_cies_by_offset)
{
	static const uint8_t cie[] = {
		4, 0, 8, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1
	};
	struct writer w = { .size = 0 };
	uint64_t address = TEXT, size = 100;

	size_t start = open_entry(&w);
	put_u32(&w, UINT32_MAX);
	put(&w, cie, sizeof(cie));
	close_entry(&w, start);
	start = open_entry(&w);
	put_u32(&w, 0);
	put(&w, &address, 8);
	put(&w, &size, 8);
	put(&w, (uint8_t[]){ DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 24 }, 3);
	close_entry(&w, start);
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, true);
	cr_expect(eq(str, (char *)rule_at(table, TEXT), "rsp+8"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 1), "rsp+24"));
}

/* Two sections over the same code, the second one with more of it. */
Test(cfi_table, of_two_sections_the_first_holds_and_the_second_fills_the_gaps)
{
	struct writer first = { .size = 0 }, second = { .size = 0 };
	struct cfi_section sections[2];

	put_cie(&first, "zR");
	put_fde(&first, TEXT + 100, 100, (uint8_t[]){ DW_CFA_def_cfa_offset, 16 }, 2);
	put_cie(&second, "zR");
	put_fde(&second, TEXT, 300, (uint8_t[]){ DW_CFA_def_cfa_offset, 32 }, 2);
	put_fde(&second, TEXT + 100, 300, (uint8_t[]){ DW_CFA_def_cfa_offset, 64 }, 2);
	cfi_section_init(&sections[0], first.bytes, first.size, SECTION_START, false);
	cfi_section_init(&sections[1], second.bytes, second.size, SECTION_START, false);
	cleanup(cfi_table) struct cfi_table *table =
		cfi_table_new(sections, 2, 0, SECTION_START, NULL);
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 50), "rsp+32"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 150), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 350), "rsp+64"));
}

Test(cfi_table, code_that_is_not_in_the_modules_text_is_left_out)
{
	struct writer w = { .size = 0 };
	struct cfi_section section;

	put_cie(&w, "zR");
	put_fde(&w, 0x10, 20, "", 0); // of a function that the linker has thrown away
	put_fde(&w, TEXT, 20, "", 0);
	// A section that is mapped 2 GB above TEXT reaches code more than 4 GB above it.
	cfi_section_init(&section, w.bytes, w.size, SECTION_START + 0x180000000, false);
	cleanup(cfi_table) struct cfi_table *far =
		cfi_table_new(&section, 1, TEXT, UINT64_MAX, NULL);
	cr_expect(eq(str, (char *)rule_at(far, TEXT + 0x180000000), "none"));

	cfi_section_init(&section, w.bytes, w.size, SECTION_START, false);
	cleanup(cfi_table) struct cfi_table *near =
		cfi_table_new(&section, 1, TEXT, SECTION_START, NULL);
	cr_expect(eq(str, (char *)rule_at(near, 0x10), "none"));
	cr_expect(eq(str, (char *)rule_at(near, TEXT), "rsp+8"));
}

Test(cfi_table, more_rules_than_there_are_numbers_become_unusable)
{
	enum {
		ROWS = 70000
	};
	struct writer w = { .size = 0 };
	struct cfi_section section;

	// One function with ROWS rules: advance 1, CFA offset 16 + i.
	put_cie(&w, "zR");
	size_t size = w.size + 17 + ROWS * 5u;
	cleanup_free uint8_t *bytes = calloc(1, size + 4);
	put_fde(&w, TEXT, ROWS, "", 0);
	memcpy(bytes, w.bytes, w.size);
	size_t at = w.size - 3; // behind the augmentation's size; the rest was padding
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t offset = 16 + i;
		bytes[at++] = DW_CFA_def_cfa_offset;
		bytes[at++] = 0x80 | (offset & 0x7f);
		bytes[at++] = 0x80 | (offset >> 7 & 0x7f);
		bytes[at++] = (uint8_t)(offset >> 14);
		bytes[at++] = DW_CFA_advance_loc | 1;
	}
	uint32_t fde = 4 + (uint32_t)(*(uint32_t *)bytes), length = (uint32_t)(at - fde - 4);
	memcpy(bytes + fde, &length, 4);

	cr_assert(at <= size + 4);
	cfi_section_init(&section, bytes, at, SECTION_START, false);
	cleanup(cfi_table) struct cfi_table *table = table_up_to(SECTION_START, section);
	cr_expect(eq(i32, cfi_table_rule(table, TEXT)->offset, 16));
	cr_expect(eq(i32, cfi_table_rule(table, TEXT + 60000)->offset, 60016));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + ROWS - 1), "unusable"));
	cr_expect(eq(u32, table->rule_count, 65536));
}

Test(cfi_table, only_what_is_asked_for_is_made)
{
	struct writer w = { .size = 0 };

	// A file may claim gigabytes of code with two rows in it.
	put_cie(&w, "zR");
	put_fde(&w, TEXT, 0x6fffffff,
	        (uint8_t[]){ DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16 }, 3);
	cleanup(cfi_table) struct cfi_table *table =
		table_up_to(UINT64_C(1) << 33, section_of(w.bytes, w.size, false));
	size_t bytes = table->bytes;
	cr_expect(lt(sz, bytes, 1 << 20));
	cr_expect(eq(ptr, (void *)cfi_table_find(table, TEXT), NULL));
	cr_expect(eq(str, (char *)rule_at(table, TEXT), "rsp+8"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 0x6ffffffe), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, TEXT + 0x6fffffff), "none"));
	cr_expect(lt(sz, table->bytes, bytes + 2000), "two parts");
	bytes = table->bytes;
	cr_expect(
		eq(ptr, (void *)cfi_table_find(table, TEXT), (void *)cfi_table_rule(table, TEXT)));
	cr_expect(eq(sz, table->bytes, bytes));
	cr_expect(eq(ptr, (void *)cfi_table_find(table, TEXT + 0x10000), NULL));
}

Test(cfi_table, a_function_may_lie_in_several_parts)
{
	enum {
		PART = 1 << CFI_PART_SHIFT
	};
	static const uint8_t large[] = { DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc4, 0, 0, 1, 0,
		                         DW_CFA_def_cfa_offset, 24 };
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	put_fde(&w, PART - 8, 3 * PART, large, sizeof(large));
	put_fde(&w, 4 * PART - 8, 16, (uint8_t[]){ DW_CFA_def_cfa_offset, 32 }, 2);
	cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, w.size, false);
	cr_expect(eq(str, (char *)rule_at(table, 4 * PART + 8), "none"));
	cr_expect(eq(str, (char *)rule_at(table, 4 * PART + 7), "rsp+32"));
	cr_expect(eq(str, (char *)rule_at(table, 4 * PART - 8), "rsp+32"));
	cr_expect(eq(str, (char *)rule_at(table, 4 * PART - 9), "rsp+24"));
	cr_expect(eq(str, (char *)rule_at(table, 2 * PART - 8), "rsp+24"));
	cr_expect(eq(str, (char *)rule_at(table, 2 * PART - 9), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, PART - 8), "rsp+16"));
	cr_expect(eq(str, (char *)rule_at(table, PART - 9), "none"));
}

Test(cfi_table, a_section_cut_anywhere_is_read_as_far_as_it_goes)
{
	static const uint8_t program[] = { DW_CFA_advance_loc | 1,
		                           DW_CFA_def_cfa_offset,
		                           16,
		                           DW_CFA_def_cfa_expression,
		                           3,
		                           DW_OP_breg6,
		                           0x78,
		                           DW_OP_deref };
	struct writer w = { .size = 0 };

	put_cie(&w, "zR");
	put_fde(&w, TEXT, 100, program, sizeof(program));
	size_t whole = w.size;
	put_fde(&w, TEXT + 200, 100, program, sizeof(program));
	for (size_t size = 0; size < w.size; size++) {
		cleanup(cfi_table) struct cfi_table *table = table_of(w.bytes, size, false);
		cr_expect(eq(str, (char *)rule_at(table, TEXT), size < whole ? "none" : "rsp+8"),
		          "%zu bytes", size);
		cr_expect(eq(str, (char *)rule_at(table, TEXT + 200), "none"), "%zu bytes", size);
	}
}

/* What libdw says at an address, in the words of rule_text(). */
static const char *libdw_text(Dwarf_CFI *cfi, uint64_t address)
{
	static char text[80];
	Dwarf_Op memory[3], *ops;
	Dwarf_Frame *frame;
	size_t count, size = 0;
	bool signal;

	if (dwarf_cfi_addrframe(cfi, address, &frame) != 0)
		return "none";
	dwarf_frame_info(frame, NULL, NULL, &signal);

	dwarf_frame_register(frame, 16, memory, &ops, &count);
	bool undefined = count == 0 && ops == memory;
	bool usual = count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	             ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == -8;
	// libdw puts the CFA on the stack before the expression, as DWARF says.
	bool context = signal && count == 2 && ops[1].atom == DW_OP_breg7 && ops[1].number == 168;
	snprintf(text, sizeof(text), "unusable");
	if (undefined || context) {
		snprintf(text, sizeof(text), "%s", undefined ? "outermost" : "ucontext");
	} else if (usual && dwarf_frame_cfa(frame, &ops, &count) == 0) {
		int64_t offset =
			(int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
		uint64_t reg = ops[0].atom == DW_OP_bregx ? ops[0].number
		                                          : (uint64_t)(ops[0].atom - DW_OP_breg0);
		char other[8];
		snprintf(other, sizeof(other), "r%lu", reg);
		const char *name = reg == 7 ? "rsp" : reg == 6 ? "rbp" : reg < 16 ? other : NULL;
		bool deref = count >= 2 && ops[1].atom == DW_OP_deref && (reg == 6 || reg == 7);
		if (count == 1 && name)
			size = (size_t)snprintf(text, sizeof(text), "%s%+ld", name, offset);
		else if (deref && name &&
		         (count == 2 || (count == 3 && ops[2].atom == DW_OP_plus_uconst)))
			size = (size_t)snprintf(text, sizeof(text), "*(%s%+ld)+%lu", name, offset,
			                        count == 3 ? ops[2].number : 0);
		else if (count == 9 && ops[8].atom == DW_OP_plus)
			size = (size_t)snprintf(text, sizeof(text), "plt+%d",
			                        ops[4].atom - DW_OP_lit0);
	}
	if (size && dwarf_frame_register(frame, 6, memory, &ops, &count) == 0 && count) {
		bool at_cfa = count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst);
		bool at_rbp = count == 2 && ops[1].atom == DW_OP_breg6;
		long offset = count == 2 ? (long)ops[1].number : 0;
		if (at_cfa || at_rbp)
			size += (size_t)snprintf(text + size, sizeof(text) - size, " rbp%s%ld",
			                         at_cfa ? "@" : "@@", offset);
		else
			snprintf(text, sizeof(text), "unusable");
	}
	if (size && signal)
		snprintf(text + size, sizeof(text) - size, " signal");
	free(frame);
	return text;
}

/* The table of IMAGE's .eh_frame, searched by the table of .eh_frame_hdr or by one that we make. */
static struct cfi_table *table_of_image(struct image *image, bool by_hdr)
{
	struct image_section eh = image_eh_frame(image), hdr = image_eh_frame_hdr(image);
	struct cfi_section section;
	uint64_t start, end;

	cfi_section_init(&section, eh.bytes, eh.size, eh.address, false);
	image_text(image, &start, &end);
	if (by_hdr && !cfi_search_take(&section.search, hdr.bytes, hdr.size, hdr.address)) {
		cfi_section_fini(&section);
		return NULL;
	}
	return cfi_table_new(&section, 1, start, end, NULL);
}

/* Calls VISIT with the first and the last address of each row. From the last part to the first, so
   that each is made before the one whose functions reach into it. */
static void visit_rows(struct cfi_table *table,
                       void (*visit)(void *context, uint64_t first, uint64_t last), void *context)
{
	for (uint32_t i = table->part_count; i-- > 0;) {
		uint64_t start = table->start + ((uint64_t)i << CFI_PART_SHIFT);
		cfi_table_rule(table, start);
		const struct cfi_part *part = table->parts[i];
		uint32_t last = part->pages[CFI_PART_PAGES];
		for (uint32_t row = 0; row <= last; row++)
			visit(context, start + part->rows[row].pc,
			      start + (row < last ? part->rows[row + 1].pc : 1 << CFI_PART_SHIFT) -
			              1);
	}
}

struct comparison {
	const char *path;
	struct cfi_table *table, *other; // of a search table that we made
	Dwarf_CFI *cfi;
	uint32_t rows, wrong, unusable;
};

static void compare_row(void *context, uint64_t first, uint64_t last)
{
	struct comparison *c = context;
	uint64_t addresses[2] = { first, last };

	c->rows++;
	c->unusable += cfi_table_rule(c->table, first)->cfa == CFI_UNUSABLE;
	for (int i = 0; i < 2; i++) {
		const char *theirs = libdw_text(c->cfi, addresses[i]);
		const char *ours = rule_at(c->table, addresses[i]);
		// Where padding begins our rows run on; libdw's end with the function.
		bool same = strcmp(ours, theirs) == 0 || (i == 1 && strcmp(theirs, "none") == 0);
		if (!same && c->wrong++ < 5)
			cr_expect(eq(str, (char *)ours, (char *)theirs), "%s at %lx", c->path,
			          addresses[i]);
		c->wrong += c->other && memcmp(cfi_table_rule(c->table, addresses[i]),
		                               cfi_table_rule(c->other, addresses[i]),
		                               sizeof(struct cfi_rule)) != 0;
	}
}

static void compare_with_libdw(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY);
	cleanup(image) struct image *image = fd < 0 ? NULL : image_of_file(dup(fd), NULL);

	if (!image) {
		fprintf(stderr, "%s: not here, skipped\n", path);
		return;
	}
	cleanup(cfi_table) struct cfi_table *table = table_of_image(image, true);
	cleanup(cfi_table) struct cfi_table *other = table_of_image(image, false);
	cr_assert(table && other, "%s", path);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	struct comparison c = { path, table, other, dwarf_getcfi_elf(elf), 0, 0, 0 };
	cr_assert(c.cfi != NULL, "%s", path);
	visit_rows(table, compare_row, &c);
	// Node may be no more than the way to its library.
	cr_expect(gt(u32, c.rows, 5), "%s", path);
	cr_expect(eq(u32, c.wrong, 0), "%s: %u of %u rows", path, c.wrong, c.rows);
	cr_expect(lt(u32, c.unusable * 100, c.rows), "%s: %u unusable", path, c.unusable);
	dwarf_cfi_end(c.cfi);
	elf_end(elf);
}

Test(cfi_table, every_row_of_real_libraries_is_libdws)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/bin/bash",
		"/usr/bin/perl",
		"/usr/bin/python3",
		"/usr/lib/x86_64-linux-gnu/libgfortran.so.5",
		"/usr/bin/node",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		compare_with_libdw(paths[i]);
}
