// SPDX-License-Identifier: MIT
#include "sampler/unwind/cfi_table.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/record.h"
#include "sampler/unwind/go_stacks.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES (1u << CFI_PART_SHIFT)

/* Of code behind START; more is damage. */
#define CODE_BYTES_MAX (UINT64_C(4) << 30)

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

/* Makes one part. */
struct builder {
	struct cfi_table *table;
	uint64_t start, end; // of the part
	struct piece *pieces;
	size_t piece_count, piece_capacity;
	struct cfi_row *rows;
	size_t row_count, row_capacity;
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

static uint64_t hash_of(const struct cfi_rule *rule)
{
	uint64_t low;
	uint32_t high;

	memcpy(&low, rule, 8);
	memcpy(&high, (const char *)rule + 8, 4);
	return hash_pair(low, high);
}

/* The number of RULE, which is new or known. */
static __attribute__((noinline)) uint32_t look_up_rule(struct builder *b, struct cfi_rule rule)
{
	struct cfi_table *t = b->table;

	if (!hash_make_room(&t->index))
		b->no_memory = true;
	if (!array_reserve(&t->rules, &t->rule_capacity, t->rule_count + 1))
		b->no_memory = true;
	if (b->no_memory)
		return CFI_NO_RULE;

	uint64_t hash = hash_of(&rule);
	uint32_t at;
	for (at = hash_start(&t->index, hash); t->index.slots[at]; at = hash_next(&t->index, at))
		if (memcmp(&t->rules[t->index.slots[at] - 1], &rule, sizeof(rule)) == 0)
			return t->index.slots[at] - 1;
	if (t->rule_count == RULES_MAX)
		return CFI_UNUSABLE; // libunwind needs no numbers
	t->rules[t->rule_count] = rule;
	hash_insert(&t->index, at, hash, ++t->rule_count);
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
	uint16_t pc = (uint16_t)(address - b->start);

	if (b->row_count && b->rows[b->row_count - 1].pc == pc)
		b->row_count--; // nothing lies between
	if (b->row_count && b->rows[b->row_count - 1].rule == rule)
		return;
	if (!array_reserve(&b->rows, &b->row_capacity, b->row_count + 1)) {
		b->no_memory = true;
		return;
	}
	b->rows[b->row_count++] = (struct cfi_row){ pc, (uint16_t)rule };
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
	return fde->start >= b->table->start && fde->start + fde->size <= b->table->end;
}

/* Takes what describes the part from section NUMBER. False if there is no memory. */
static bool collect(struct builder *b, uint32_t number)
{
	struct cfi_section *section = &b->table->sections[number];
	const struct cfi_search *search = &section->search;
	size_t end = cfi_search_up_to(search, b->end - 1);
	size_t i = cfi_search_up_to(search, b->start);

	// The function before may reach into the part.
	for (i -= i > 0; i < end; i++) {
		struct piece piece = { .section = number };
		uint64_t offset = cfi_search_fde(search, i) - section->address;
		if (!cfi_section_at(section, offset, &piece.fde) || !wanted(b, &piece.fde))
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

	if (end > b->end)
		end = b->end;
	if (i + 1 < b->piece_count && b->pieces[i + 1].section < piece->section &&
	    b->pieces[i + 1].fde.start < end)
		return b->pieces[i + 1].fde.start;
	return end;
}

static void run_piece(struct builder *b, size_t i)
{
	const struct piece *piece = &b->pieces[i];
	const struct cfi_section *section = &b->table->sections[piece->section];
	uint64_t end = end_of(b, i);

	if (end <= b->floor)
		return;
	if (piece->fde.start > b->floor + PADDING_MAX)
		add_row(b, b->floor, CFI_NO_RULE);
	b->ceiling = end;
	b->section = section;
	b->signal = cfi_section_cie(section, &piece->fde)->signal;
	cfi_section_run(section, &piece->fde, take_row, b);
	b->floor = end;
}

static void add_rows(struct builder *b)
{
	add_row(b, b->start, CFI_NO_RULE);
	for (size_t i = 0; i < b->piece_count && !b->no_memory; i++)
		run_piece(b, i);
	if (b->floor < b->end)
		add_row(b, b->floor, CFI_NO_RULE);
}

/* RULE holds from START up to END, as far as these are in the part, in place of what does so. */
static void override(struct builder *b, uint64_t start, uint64_t end, uint32_t rule)
{
	cleanup_free struct cfi_row *rows = steal(b->rows);
	size_t count = b->row_count, i = 0;
	uint32_t after = CFI_NO_RULE;

	start = start < b->start ? b->start : start;
	end = end > b->end ? b->end : end;
	b->row_count = b->row_capacity = 0;
	for (; i < count && b->start + rows[i].pc < start; i++)
		add_row(b, b->start + rows[i].pc, after = rows[i].rule);
	add_row(b, start, rule);
	for (; i < count && b->start + rows[i].pc <= end; i++)
		after = rows[i].rule;
	if (end < b->end)
		add_row(b, end, after);
	for (; i < count; i++)
		add_row(b, b->start + rows[i].pc, rows[i].rule);
}

/* Where the code of a Go program changes stacks, in the part and what reaches into it. */
static void add_go(struct builder *b)
{
	const struct cfi_table *t = b->table;
	uint64_t from = b->start > GO_SWITCH_MAX ? b->start - GO_SWITCH_MAX : 0;
	uint64_t until = b->end + GO_SWITCH_MAX;
	struct go_switch found;

	from = from < t->go_address ? t->go_address : from;
	if (until > t->go_address + t->go_bytes)
		until = t->go_address + t->go_bytes;
	while (from < until &&
	       go_switch_find(t->go_code + (from - t->go_address), until - from, from, &found)) {
		if (found.start < b->end && found.end > b->start)
			override(b, found.start, found.end, number_rule(b, found.rule));
		from = found.end;
	}
}

/* The part that holds the rows. NULL if there is no memory. */
static struct cfi_part *index_rows(const struct builder *b)
{
	struct cfi_part *part = malloc(sizeof(*part) + b->row_count * sizeof(*b->rows));
	size_t row = 0;

	if (!part)
		return NULL;
	for (uint32_t page = 0; page <= CFI_PART_PAGES; page++) {
		while (row + 1 < b->row_count && b->rows[row + 1].pc <= page << CFI_PAGE_SHIFT)
			row++;
		part->pages[page] = (uint16_t)row;
	}
	memcpy(part->rows, b->rows, b->row_count * sizeof(*b->rows));
	return part;
}

static bool make_part(struct cfi_table *t, uint64_t number)
{
	uint64_t start = t->start + (number << CFI_PART_SHIFT);
	struct builder b = {
		.table = t, .start = start, .end = start + PART_BYTES, .floor = start
	};
	bool ok = true;

	for (uint32_t i = 0; ok && i < t->section_count; i++)
		ok = collect(&b, i);
	if (ok) {
		sort_pieces(&b);
		add_rows(&b);
		if (t->go_code && !b.no_memory)
			add_go(&b);
		t->parts[number] = b.no_memory ? NULL : index_rows(&b);
	}
	if (t->parts[number]) {
		t->parts[number]->next = t->made;
		t->made = t->parts[number];
		t->bytes += sizeof(struct cfi_part) + b.row_count * sizeof(*b.rows);
	}
	free(b.pieces);
	free(b.rows);
	return t->parts[number];
}

const struct cfi_rule *cfi_table_rule(struct cfi_table *t, uint64_t address)
{
	uint64_t part = (address - t->start) >> CFI_PART_SHIFT;

	if (part >= t->part_count || (!t->parts[part] && !make_part(t, part)))
		return &t->rules[CFI_NO_RULE];
	return cfi_table_find(t, address);
}

/* Those whose numbers are fixed. */
static bool add_first_rules(struct cfi_table *t)
{
	struct builder b = { .table = t };

	for (uint32_t cfa = CFI_NO_RULE; cfa <= CFI_UNUSABLE; cfa++)
		look_up_rule(&b, (struct cfi_rule){ .cfa = (uint8_t)cfa });
	return !b.no_memory;
}

static bool make_searches(struct cfi_table *t)
{
	for (size_t i = 0; i < t->section_count; i++) {
		struct cfi_section *section = &t->sections[i];
		if (section->search.count)
			continue;
		if (!cfi_search_make(&section->search, section))
			return false;
		t->bytes += section->search.count * 8;
	}
	return true;
}

/* Room for the parts, none of which is made. */
static bool add_parts(struct cfi_table *t)
{
	uint64_t size = t->end > t->start ? t->end - t->start : 0;

	if (size > CODE_BYTES_MAX)
		size = CODE_BYTES_MAX;
	uint64_t count = (size + PART_BYTES - 1) >> CFI_PART_SHIFT;
	t->parts = calloc(count + 1, sizeof(struct cfi_part *));
	t->part_count = t->parts ? (uint32_t)count : 0;
	t->bytes += count * sizeof(struct cfi_part *);
	return t->parts;
}

static void fini(struct cfi_table *t)
{
	// A damaged file can claim 4 GB of code, of which few parts are ever made.
	while (t->made) {
		struct cfi_part *part = t->made;
		t->made = part->next;
		free(part);
	}
	for (size_t i = 0; i < t->section_count; i++)
		cfi_section_fini(&t->sections[i]);
	free(t->parts);
	free(t->rules);
	hash_fini(&t->index);
}

struct cfi_table *cfi_table_new(const struct cfi_section *sections, size_t section_count,
                                uint64_t start, uint64_t end, struct error *err)
{
	struct cfi_table *table = malloc(sizeof(*table));
	struct cfi_table t = {
		.start = start, .end = end, .section_count = section_count, .bytes = sizeof(t)
	};

	memcpy(t.sections, sections, section_count * sizeof(*sections));
	if (!table || !add_parts(&t) || !hash_init(&t.index, 64) || !add_first_rules(&t) ||
	    !make_searches(&t)) {
		fini(&t);
		free(table);
		error_set(err, ENOMEM, "could not start an unwind table");
		return NULL;
	}
	*table = t;
	return table;
}

void cfi_table_set_go(struct cfi_table *t, const uint8_t *code, size_t size, uint64_t address)
{
	t->go_code = code;
	t->go_bytes = size;
	t->go_address = address;
}

void cfi_table_free(struct cfi_table *t)
{
	if (t)
		fini(t);
	free(t);
}
