// SPDX-License-Identifier: MIT
#include "sampler/unwind/cfi_program.h"

#include "base/record.h"
#include "sampler/unwind/cfi_section.h"

#include <dwarf.h>

/* Compilers nest remember_state once or twice. */
#define REMEMBER_MAX 32

/* Two that <dwarf.h> lacks. */
#define CFA_GNU_NEGATIVE_OFFSET_EXTENDED 0x2f
#define CFA_MIPS_ADVANCE_LOC8            0x1d

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cursor code;
	struct cfi_state state;
	uint64_t address;
	bool unusable; // met an instruction that we cannot follow
	bool changed;  // since the last row
	uint32_t remembered;
	struct cfi_state stack[REMEMBER_MAX];
};

/* Where the machine keeps the rule of COLUMN; NULL if nobody asks for it. */
static struct cfi_saved *saved(struct machine *m, uint64_t column)
{
	if (column == DWARF_RBP)
		return &m->state.rbp;
	if (column == m->cie->return_column)
		return &m->state.return_address;
	return NULL;
}

static void save(struct machine *m, uint64_t column, struct cfi_saved rule)
{
	struct cfi_saved *to = saved(m, column);

	if (to) {
		*to = rule;
		m->changed = true;
	}
}

static void save_at_cfa(struct machine *m, uint64_t column, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, m->cie->data_alignment, &offset))
		m->unusable = true;
	else
		save(m, column, (struct cfi_saved){ .kind = SAVED_AT_CFA, .offset = offset });
}

static void restore(struct machine *m, uint64_t column)
{
	if (column == DWARF_RBP)
		save(m, column, m->cie->initial.rbp);
	else if (column == m->cie->return_column)
		save(m, column, m->cie->initial.return_address);
}

static struct cfi_expression read_expression(struct machine *m)
{
	uint64_t size = cursor_uleb(&m->code);
	const uint8_t *bytes = cursor_take(&m->code, size);

	if (!bytes)
		return (struct cfi_expression){ 0 };
	return (struct cfi_expression){ (uint32_t)(bytes - m->section->bytes), (uint32_t)size };
}

static void define_cfa(struct machine *m, uint64_t column, int64_t offset)
{
	m->state.cfa = CFA_REGISTER;
	m->state.cfa_register = column < UINT32_MAX ? (uint32_t)column : UINT32_MAX;
	m->state.cfa_offset = offset;
	m->changed = true;
}

static int64_t factored(struct machine *m, int64_t value)
{
	int64_t product;

	if (__builtin_mul_overflow(value, m->cie->data_alignment, &product)) {
		m->unusable = true;
		return 0;
	}
	return product;
}

static void remember(struct machine *m)
{
	if (m->remembered == REMEMBER_MAX)
		m->unusable = true;
	else
		m->stack[m->remembered++] = m->state;
}

static void recall(struct machine *m)
{
	if (!m->remembered) {
		m->unusable = true;
		return;
	}
	m->state = m->stack[--m->remembered];
	m->changed = true;
}

/* The instructions that say where the CFA is; false if OP is none of them. */
static bool step_cfa(struct machine *m, uint8_t op)
{
	struct cursor *b = &m->code;
	uint64_t column;

	switch (op) {
	case DW_CFA_def_cfa:
		column = cursor_uleb(b);
		define_cfa(m, column, (int64_t)cursor_uleb(b));
		return true;
	case DW_CFA_def_cfa_sf:
		column = cursor_uleb(b);
		define_cfa(m, column, factored(m, cursor_sleb(b)));
		return true;
	case DW_CFA_def_cfa_register:
		define_cfa(m, cursor_uleb(b), m->state.cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		define_cfa(m, m->state.cfa_register, (int64_t)cursor_uleb(b));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(m, m->state.cfa_register, factored(m, cursor_sleb(b)));
		return true;
	case DW_CFA_def_cfa_expression:
		m->state.cfa_expression = read_expression(m);
		m->state.cfa = CFA_EXPRESSION;
		m->changed = true;
		return true;
	default:
		return false;
	}
}

/* The instructions that say where a register is; false if OP is none of them. */
static bool step_register(struct machine *m, uint8_t op)
{
	struct cursor *b = &m->code;
	uint64_t column;

	switch (op) {
	case DW_CFA_offset_extended:
		column = cursor_uleb(b);
		save_at_cfa(m, column, (int64_t)cursor_uleb(b));
		return true;
	case DW_CFA_offset_extended_sf:
		column = cursor_uleb(b);
		save_at_cfa(m, column, cursor_sleb(b));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		column = cursor_uleb(b);
		save_at_cfa(m, column, (int64_t)-cursor_uleb(b));
		return true;
	case DW_CFA_restore_extended:
		restore(m, cursor_uleb(b));
		return true;
	case DW_CFA_undefined:
		save(m, cursor_uleb(b), (struct cfi_saved){ .kind = SAVED_UNDEFINED });
		return true;
	case DW_CFA_same_value:
		save(m, cursor_uleb(b), (struct cfi_saved){ .kind = SAVED_NOT });
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		column = cursor_uleb(b);
		cursor_uleb(b);
		save(m, column, (struct cfi_saved){ .kind = SAVED_OTHER });
		return true;
	case DW_CFA_expression:
		column = cursor_uleb(b);
		save(m, column,
		     (struct cfi_saved){ .kind = SAVED_AT_EXPRESSION,
		                         .expression = read_expression(m) });
		return true;
	case DW_CFA_val_expression:
		column = cursor_uleb(b);
		read_expression(m);
		save(m, column, (struct cfi_saved){ .kind = SAVED_OTHER });
		return true;
	default:
		return false;
	}
}

/* The rest, but for those that move on. */
static void step_other(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save:
		break;
	case DW_CFA_GNU_args_size:
		cursor_uleb(&m->code);
		break;
	case DW_CFA_remember_state:
		remember(m);
		break;
	case DW_CFA_restore_state:
		recall(m);
		break;
	default:
		m->unusable = !step_cfa(m, op) && !step_register(m, op);
	}
}

/* The address that OP moves to; UINT64_MAX if it does not move. */
static uint64_t moves_to(struct machine *m, uint8_t op)
{
	uint64_t delta;

	switch (op) {
	case DW_CFA_set_loc:
		return cfi_section_pointer(m->section, &m->code, m->cie->pointer_encoding);
	case DW_CFA_advance_loc1:
		delta = cursor_u8(&m->code);
		break;
	case DW_CFA_advance_loc2:
		delta = cursor_u16(&m->code);
		break;
	case DW_CFA_advance_loc4:
		delta = cursor_u32(&m->code);
		break;
	case CFA_MIPS_ADVANCE_LOC8:
		delta = cursor_u64(&m->code);
		break;
	default:
		if ((op & 0xc0) != DW_CFA_advance_loc)
			return UINT64_MAX;
		delta = op & 0x3f;
	}
	return m->address + delta * m->cie->code_alignment;
}

static void step(struct machine *m, uint8_t op)
{
	if ((op & 0xc0) == DW_CFA_offset)
		save_at_cfa(m, op & 0x3f, (int64_t)cursor_uleb(&m->code));
	else if ((op & 0xc0) == DW_CFA_restore)
		restore(m, op & 0x3f);
	else
		step_other(m, op);
}

static void run(struct machine *m, uint64_t end, cfi_row *row, void *context)
{
	static const struct cfi_state unknown = { .cfa = CFA_UNKNOWN };

	m->changed = true;
	while (cursor_left(&m->code) && !m->unusable) {
		uint8_t op = cursor_u8(&m->code);
		uint64_t to = moves_to(m, op);
		if (to == UINT64_MAX) {
			step(m, op);
			m->unusable |= m->code.bad;
			continue;
		}
		if (m->code.bad || to < m->address) {
			m->unusable = true;
			break;
		}
		if (to == m->address)
			continue;
		if (m->changed)
			row(context, m->address, &m->state);
		m->changed = false;
		m->address = to;
		if (to >= end)
			return;
	}
	if (m->unusable)
		row(context, m->address, &unknown);
	else if (m->changed)
		row(context, m->address, &m->state);
}

bool cfi_program_run(const struct cfi_section *section, const struct cfi_cie *cie,
                     struct cursor code, uint64_t start, uint64_t end, struct cfi_state *state,
                     cfi_row *row, void *context)
{
	struct machine m;

	// Field by field: clearing the remembered states would cost more than the program.
	m.section = section;
	m.cie = cie;
	m.code = code;
	m.state = *state;
	m.address = start;
	m.unusable = false;
	m.remembered = 0;
	run(&m, end, row, context);
	*state = m.state;
	return !m.unusable;
}
