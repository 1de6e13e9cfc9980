// SPDX-License-Identifier: MIT
#include "sampler/unwind/cfi_table.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/record.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT 8

/* Between two functions fewer bytes than this are padding, which nothing executes. */
#define PADDING_MAX 15

/* Rules are numbered by u16. */
#define RULES_MAX 65536

/* An FDE with the section it came from. */
struct piece {
	struct cfi_fde fde;
	uint32_t section;
};

/* Rules met lately, by a cheap hash: most rows repeat one of a few dozen. */
#define RECENT 256

struct recent {
	struct cfi_rule rule;
	uint32_t number;
	bool used;
};

struct builder {
	struct cfi_section *sections;
	const struct cfi_table_options *options;
	struct cfi_table *table;
	struct piece *pieces;
	size_t piece_count, piece_capacity;
	size_t pc_capacity, row_capacity, rule_capacity;
	struct hash index; // of rules
	struct recent recent[RECENT];
	const struct cfi_section *section; // of the piece at work
	uint64_t floor;                    // addresses below have got their rule
	uint64_t ceiling;                  // end of the piece at work
	bool signal;                       // of the piece at work
	bool no_memory;
};

/* The constant of the expression that linkers give their PLT:
   rsp + 8 + ((rip & 15) >= CONSTANT) * 8; -1 if it is another one. */
static int plt_constant(struct cursor e)
{
	static const uint8_t head[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };

	if (cursor_left(&e) != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(e.at, head, sizeof(head)) != 0 ||
	    memcmp(e.at + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return -1;
	int constant = e.at[sizeof(head)] - DW_OP_lit0;
	return constant >= 0 && constant < 16 ? constant : -1;
}

/* Takes "register OP + OFFSET" from the front of E. False if it begins otherwise. */
static bool take_offset(struct cursor *e, uint8_t op, int32_t *offset)
{
	if (cursor_u8(e) != op)
		return false;
	int64_t wide = cursor_sleb(e);
	*offset = (int32_t)wide;
	return !e->bad && wide == *offset;
}

static bool set_memory_cfa(struct cfi_rule *rule, struct cursor e)
{
	bool rsp = cursor_left(&e) && *e.at == DW_OP_breg7;

	rule->cfa = rsp ? CFI_RSP_MEMORY : CFI_RBP_MEMORY;
	if (!take_offset(&e, rsp ? DW_OP_breg7 : DW_OP_breg6, &rule->offset) ||
	    cursor_u8(&e) != DW_OP_deref)
		return false;
	if (cursor_left(&e)) { // asm by hand: "*(rsp + n) + 8"
		if (cursor_u8(&e) != DW_OP_plus_uconst)
			return false;
		uint64_t add = cursor_uleb(&e);
		rule->add = (uint8_t)add;
		if (add != rule->add)
			return false;
	}
	return !e.bad && !cursor_left(&e);
}

static struct cursor expression(const struct builder *b, struct cfi_expression e)
{
	return cursor_of(b->section->bytes + e.offset, e.size);
}

static bool set_expression_cfa(struct cfi_rule *rule, struct cursor e)
{
	int constant = plt_constant(e);

	if (constant < 0)
		return set_memory_cfa(rule, e);
	rule->cfa = CFI_PLT;
	rule->offset = constant;
	return true;
}

static bool set_cfa(const struct builder *b, struct cfi_rule *rule, const struct cfi_state *state)
{
	if (state->cfa == CFA_UNKNOWN)
		return false;
	if (state->cfa == CFA_EXPRESSION)
		return set_expression_cfa(rule, expression(b, state->cfa_expression));

	if (state->cfa_register >= DWARF_RIP)
		return false;
	rule->cfa = state->cfa_register == DWARF_RSP   ? CFI_RSP
	            : state->cfa_register == DWARF_RBP ? CFI_RBP
	                                               : CFI_REGISTER;
	rule->add = rule->cfa == CFI_REGISTER ? (uint8_t)state->cfa_register : 0;
	rule->offset = (int32_t)state->cfa_offset;
	return rule->offset == state->cfa_offset;
}

static bool set_rbp(const struct builder *b, struct cfi_rule *rule, const struct cfi_saved *rbp)
{
	switch (rbp->kind) {
	case SAVED_NOT:
	case SAVED_UNDEFINED: // nobody will ask for it
		rule->rbp = CFI_RBP_KEPT;
		return true;
	case SAVED_AT_CFA:
		rule->rbp = CFI_RBP_AT_CFA;
		rule->rbp_offset = (int32_t)rbp->offset;
		return rule->rbp_offset == rbp->offset;
	case SAVED_AT_EXPRESSION: {
		struct cursor e = expression(b, rbp->expression);
		rule->rbp = CFI_RBP_AT_RBP;
		return take_offset(&e, DW_OP_breg6, &rule->rbp_offset) && !cursor_left(&e);
	}
	default:
		return false;
	}
}

/* The return address is where the kernel's struct ucontext has rip: at rsp + 168. */
static bool is_ucontext(const struct builder *b, const struct cfi_saved *return_address)
{
	static const uint8_t rip[] = { DW_OP_breg7, 0xa8, 0x01 };

	if (return_address->kind != SAVED_AT_EXPRESSION)
		return false;
	struct cursor e = expression(b, return_address->expression);
	return cursor_left(&e) == sizeof(rip) && memcmp(e.at, rip, sizeof(rip)) == 0;
}

static struct cfi_rule make_rule(const struct builder *b, const struct cfi_state *state)
{
	struct cfi_rule rule = { .signal = b->signal };

	if (state->cfa != CFA_UNKNOWN && state->return_address.kind == SAVED_UNDEFINED)
		return (struct cfi_rule){ .cfa = CFI_OUTERMOST };
	if (b->signal && is_ucontext(b, &state->return_address))
		return (struct cfi_rule){ .cfa = CFI_UCONTEXT, .signal = 1 };
	if (state->return_address.kind == SAVED_AT_CFA && state->return_address.offset == -8 &&
	    set_cfa(b, &rule, state) && set_rbp(b, &rule, &state->rbp))
		return rule;
	return (struct cfi_rule){ .cfa = CFI_UNUSABLE, .signal = b->signal };
}

static uint64_t hash_of_rule(uint32_t id, const void *context)
{
	const struct cfi_table *table = context;
	uint64_t low;
	uint32_t high;

	memcpy(&low, &table->rules[id - 1], 8);
	memcpy(&high, (const char *)&table->rules[id - 1] + 8, 4);
	return hash_pair(low, high);
}

/* The number of RULE, which is new or known. */
static __attribute__((noinline)) uint32_t look_up_rule(struct builder *b, struct cfi_rule rule)
{
	struct cfi_table *t = b->table;

	if (hash_is_full(&b->index) && !hash_grow(&b->index, hash_of_rule, t))
		b->no_memory = true;
	if (!array_reserve(&t->rules, &b->rule_capacity, t->rule_count + 1))
		b->no_memory = true;
	if (b->no_memory)
		return CFI_NO_RULE;

	t->rules[t->rule_count] = rule; // so that it can be hashed
	uint32_t at;
	for (at = hash_start(&b->index, hash_of_rule(t->rule_count + 1, t)); b->index.slots[at];
	     at = hash_next(&b->index, at))
		if (memcmp(&t->rules[b->index.slots[at] - 1], &rule, sizeof(rule)) == 0)
			return b->index.slots[at] - 1;
	if (t->rule_count == RULES_MAX)
		return CFI_UNUSABLE; // libunwind needs no numbers
	hash_insert(&b->index, at, ++t->rule_count);
	return t->rule_count - 1;
}

static inline bool same_rule(struct cfi_rule a, struct cfi_rule b)
{
	return a.offset == b.offset && a.rbp_offset == b.rbp_offset && a.cfa == b.cfa &&
	       a.rbp == b.rbp && a.add == b.add && a.signal == b.signal;
}

/* By value and field by field, so that RULE stays in registers: it is made for each of a million
   rows, and reading back what has just been written in pieces stalls. */
static inline uint32_t number_rule(struct builder *b, struct cfi_rule rule)
{
	uint32_t key = (uint32_t)rule.offset / 8 + (uint32_t)rule.rbp_offset * 5 + rule.cfa * 64u;
	struct recent *recent = &b->recent[key % RECENT];

	if (!recent->used || !same_rule(recent->rule, rule))
		*recent = (struct recent){ rule, look_up_rule(b, rule), true };
	return recent->number;
}

static void add_row(struct builder *b, uint64_t address, uint32_t rule)
{
	struct cfi_table *t = b->table;
	uint32_t pc = (uint32_t)(address - t->base);

	if (t->rows && t->pc[t->rows - 1] == pc)
		t->rows--; // nothing lies between
	if (t->rows && t->rule[t->rows - 1] == rule)
		return;
	if (t->rows == UINT32_MAX - 1 || !array_reserve(&t->pc, &b->pc_capacity, t->rows + 1) ||
	    !array_reserve(&t->rule, &b->row_capacity, t->rows + 1)) {
		b->no_memory = true;
		return;
	}
	t->pc[t->rows] = pc;
	t->rule[t->rows++] = (uint16_t)rule;
}

static void take_row(void *context, uint64_t address, const struct cfi_state *state)
{
	struct builder *b = context;
	struct cfi_rule rule = make_rule(b, state);

	if (address < b->ceiling)
		add_row(b, address < b->floor ? b->floor : address, number_rule(b, rule));
}

static bool wanted(const struct builder *b, const struct cfi_fde *fde)
{
	const struct cfi_table_options *o = b->options;

	return fde->start >= o->text_start && fde->start + fde->size <= o->text_end &&
	       fde->start >= o->base && fde->start + fde->size - o->base <= UINT32_MAX;
}

static bool collect(struct builder *b, uint32_t section)
{
	struct piece piece = { .section = section };

	while (cfi_section_next(&b->sections[section], &piece.fde)) {
		if (!wanted(b, &piece.fde))
			continue;
		if (!array_reserve(&b->pieces, &b->piece_capacity, b->piece_count + 1))
			return false;
		b->pieces[b->piece_count++] = piece;
	}
	return true;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->fde.start != b->fde.start)
		return a->fde.start < b->fde.start ? -1 : 1;
	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	return a->fde.offset < b->fde.offset ? -1 : a->fde.offset > b->fde.offset;
}

static void sort_pieces(struct builder *b)
{
	for (size_t i = 1; i < b->piece_count; i++) {
		if (compare_pieces(&b->pieces[i - 1], &b->pieces[i]) > 0) {
			qsort(b->pieces, b->piece_count, sizeof(*b->pieces), compare_pieces);
			return;
		}
	}
}

/* Where the next piece that comes first in its place begins, if it cuts PIECE short. */
static uint64_t end_of(const struct builder *b, size_t i)
{
	const struct piece *piece = &b->pieces[i];
	uint64_t end = piece->fde.start + piece->fde.size;

	if (i + 1 < b->piece_count && b->pieces[i + 1].section < piece->section &&
	    b->pieces[i + 1].fde.start < end)
		return b->pieces[i + 1].fde.start;
	return end;
}

static void run_piece(struct builder *b, size_t i)
{
	const struct piece *piece = &b->pieces[i];
	const struct cfi_section *section = &b->sections[piece->section];
	uint64_t end = end_of(b, i);

	if (end <= b->floor)
		return;
	if (b->floor && piece->fde.start > b->floor + PADDING_MAX)
		add_row(b, b->floor, CFI_NO_RULE);
	b->ceiling = end;
	b->section = section;
	b->signal = cfi_section_cie(section, &piece->fde)->signal;
	cfi_section_run(section, &piece->fde, take_row, b);
	b->floor = end;
}

static bool index_pages(struct cfi_table *t, uint64_t end)
{
	t->low = t->rows ? t->pc[0] : 0;
	t->high = t->rows ? (uint32_t)(end - t->base) : 0;
	t->page_shift = PAGE_SHIFT;
	// A file may claim gigabytes of code with three rows in it.
	while ((t->high - t->low) >> t->page_shift > (uint64_t)t->rows * 16 + 1024)
		t->page_shift++;
	t->page_count = ((t->high - t->low) >> t->page_shift) + 2;
	t->pages = calloc(t->page_count, sizeof(*t->pages));
	if (!t->pages)
		return false;

	uint32_t row = 0;
	for (uint32_t page = 0; page < t->page_count; page++) {
		uint64_t start = t->low + ((uint64_t)page << t->page_shift);
		while (row + 1 < t->rows && t->pc[row + 1] <= start)
			row++;
		t->pages[page] = row;
	}
	return true;
}

static void shrink(void **items, size_t bytes)
{
	void *smaller = realloc(*items, bytes ? bytes : 1);

	if (smaller)
		*items = smaller;
}

static bool build(struct builder *b, size_t section_count)
{
	struct cfi_table *t = b->table;

	for (uint32_t cfa = CFI_NO_RULE; cfa <= CFI_UNUSABLE; cfa++) // their numbers are fixed
		number_rule(b, (struct cfi_rule){ .cfa = (uint8_t)cfa });
	for (uint32_t i = 0; i < section_count; i++)
		if (!collect(b, i))
			return false;
	sort_pieces(b);
	for (size_t i = 0; i < b->piece_count && !b->no_memory; i++)
		run_piece(b, i);
	if (b->no_memory || !index_pages(t, b->floor))
		return false;
	shrink((void **)&t->pc, t->rows * sizeof(*t->pc));
	shrink((void **)&t->rule, t->rows * sizeof(*t->rule));
	shrink((void **)&t->rules, t->rule_count * sizeof(*t->rules));
	return true;
}

struct cfi_table *cfi_table_new(struct cfi_section *sections, size_t section_count,
                                const struct cfi_table_options *options, struct error *err)
{
	cleanup(cfi_table) struct cfi_table *table = calloc(1, sizeof(*table));
	struct builder b = { .sections = sections, .options = options, .table = table };

	bool built = table && hash_init(&b.index, 512);
	if (built) {
		table->base = options->base;
		built = build(&b, section_count);
	}
	hash_fini(&b.index);
	free(b.pieces);
	if (!built) {
		error_set(err, ENOMEM, "could not build an unwind table");
		return NULL;
	}
	return steal(table);
}

void cfi_table_free(struct cfi_table *table)
{
	if (!table)
		return;
	free(table->pc);
	free(table->rule);
	free(table->rules);
	free(table->pages);
	free(table);
}

size_t cfi_table_bytes(const struct cfi_table *table)
{
	return sizeof(*table) + table->rows * (sizeof(*table->pc) + sizeof(*table->rule)) +
	       table->rule_count * sizeof(*table->rules) +
	       table->page_count * sizeof(*table->pages);
}
