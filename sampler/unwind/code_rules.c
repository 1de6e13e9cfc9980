// SPDX-License-Identifier: MIT
#include "sampler/unwind/code_rules.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/record.h"
#include "base/x86.h"

#include <stdlib.h>
#include <string.h>

/* Instructions that are followed for one rule: kernels of matrix products are unrolled. */
#define STEPS_MAX 20000
/* … and for all that one stack asks for, guesses included. */
#define STACK_STEPS_MAX 40000
/* … and jumps, each to where the code has not been followed yet. */
#define BRANCHES_MAX 64
/* Words that the rest of a function pushes before it pops them. */
#define PUSHED_MAX 24
/* So far from each other do rules lie that are kept for the way of others. */
#define KEPT_STEPS 48
#define KEPT_MAX   256
/* Of all code; then they are found anew. */
#define RULES_MAX 65536
/* Rules are forgotten only after so many were asked for. */
#define DOUBT_FINDS 512

#define DEPTH_MAX   2

/* Room for an instruction, and to read four bytes where its immediate has two. */
#define CODE_BYTES (X86_LENGTH_MAX + 3)

/* What a register holds, by the registers at the beginning: reg + offsets[0], then, as often as
   DEPTH says, what memory has there, and offsets[i] more. */
struct value {
	uint8_t reg;
	uint8_t depth;
	bool known;
	int32_t offsets[DEPTH_MAX + 1];
};

struct machine {
	uint64_t pc;
	struct value regs[DWARF_REGISTERS - 1]; // by enum dwarf_register
	struct value pushed_at[PUSHED_MAX], pushed[PUSHED_MAX];
	size_t pushed_count;
	bool lost; // more was stored than there is room for: what is loaded may be any of that
};

struct run {
	uint64_t start, end; // what was followed, one instruction after the other
};

struct known_rule {
	uint32_t module;
	uint64_t pc;
	struct cfi_rule rule;
};

struct code_rules {
	struct hash index;
	struct known_rule *known;
	size_t count, capacity;
	unsigned finds; // since the last doubt
	struct remote_memory memory;
	// Of the walk through one function's rest.
	uint32_t module;
	bool keeps;
	struct machine machine;
	struct machine branches[BRANCHES_MAX];
	size_t branch_count;
	struct run runs[BRANCHES_MAX + 1];
	size_t run_count;
	unsigned steps, left; // LEFT: of STACK_STEPS_MAX
	uint64_t kept[KEPT_MAX];
	size_t kept_count;
};

struct code_rules *code_rules_new(void)
{
	cleanup(code_rules) struct code_rules *rules = calloc(1, sizeof(*rules));

	if (!rules || !hash_init(&rules->index, 1024))
		return NULL;
	code_rules_begin_stack(rules);
	return steal(rules);
}

void code_rules_free(struct code_rules *rules)
{
	if (!rules)
		return;
	hash_fini(&rules->index);
	free(rules->known);
	free(rules);
}

/* As instructions number registers, and as DWARF does. */
static unsigned dwarf_register(unsigned reg)
{
	static const uint8_t low[] = { DWARF_RAX, DWARF_RCX, DWARF_RDX, DWARF_RBX,
		                       DWARF_RSP, DWARF_RBP, DWARF_RSI, DWARF_RDI };

	return reg < 8 ? low[reg] : reg;
}

/* A byte of two's complement, or four. */
static int32_t number_at(const uint8_t *at, bool brief)
{
	int32_t number;

	if (brief)
		return *at < 0x80 ? *at : *at - 0x100;
	memcpy(&number, at, sizeof(number));
	return number;
}

static struct value unknown(void)
{
	return (struct value){ 0 };
}

static struct value plus(struct value value, int64_t bytes)
{
	int64_t sum = value.offsets[value.depth] + bytes;

	if (!value.known || sum != (int32_t)sum)
		return unknown();
	value.offsets[value.depth] = (int32_t)sum;
	return value;
}

static bool same(const struct value *a, const struct value *b)
{
	return a->known && b->known && a->reg == b->reg && a->depth == b->depth &&
	       memcmp(a->offsets, b->offsets, (a->depth + 1u) * sizeof(a->offsets[0])) == 0;
}

static struct value load(const struct machine *m, struct value at)
{
	for (size_t i = m->pushed_count; i > 0; i--)
		if (same(&m->pushed_at[i - 1], &at))
			return m->pushed[i - 1];
	if (!at.known || at.depth == DEPTH_MAX || m->lost)
		return unknown();
	at.offsets[++at.depth] = 0;
	return at;
}

static void store(struct machine *m, struct value at, struct value what)
{
	size_t i = 0;

	while (i < m->pushed_count && !same(&m->pushed_at[i], &at))
		i++;
	m->lost |= at.known && i == PUSHED_MAX;
	if (i == PUSHED_MAX || !at.known)
		return;
	m->pushed_at[i] = at;
	m->pushed[i] = what;
	m->pushed_count += i == m->pushed_count;
}

static void push(struct machine *m, struct value what)
{
	m->regs[DWARF_RSP] = plus(m->regs[DWARF_RSP], -8);
	store(m, m->regs[DWARF_RSP], what);
}

static struct value pop(struct machine *m)
{
	struct value what = load(m, m->regs[DWARF_RSP]);

	m->regs[DWARF_RSP] = plus(m->regs[DWARF_RSP], 8);
	return what;
}

/* One instruction of the basic map, taken to pieces. */
struct instruction {
	uint8_t opcode, rex;
	unsigned mode, what, reg, rm; // of its ModRM; WHAT: the instruction among those of a group
	const uint8_t *operand;       // what follows that
};

/* The address of INS's operand in memory, if that is a register and a displacement. */
static struct value operand_address(const struct machine *m, const struct instruction *ins)
{
	const uint8_t *at = ins->operand;
	unsigned base = ins->rm;
	int32_t displacement = 0;

	if ((ins->rm & 7) == 4) {
		if ((*at >> 3 & 7) != 4 || ins->rex & 2)
			return unknown(); // with an index
		base = (*at++ & 7u) | (ins->rex & 1u) << 3;
	}
	if (ins->mode == 0 && (base & 7) == 5)
		return unknown(); // no base, or the place of the instruction
	if (ins->mode == 1 || ins->mode == 2)
		displacement = number_at(at, ins->mode == 1);
	return plus(m->regs[dwarf_register(base)], displacement);
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static void calculate(struct machine *m, const struct instruction *ins)
{
	struct value *to = &m->regs[dwarf_register(ins->rm)];

	if (ins->mode != 3 || ins->what == 7)
		return;
	int32_t immediate = number_at(ins->operand, ins->opcode == 0x83);
	if (ins->rex & 8 && (ins->what == 0 || ins->what == 5))
		*to = plus(*to, ins->what ? -(int64_t)immediate : immediate);
	else
		*to = unknown();
}

static void move(struct machine *m, const struct instruction *ins, bool loads)
{
	struct value *reg = &m->regs[dwarf_register(ins->reg)];
	struct value *rm = &m->regs[dwarf_register(ins->rm)];
	bool whole = ins->rex & 8;

	if (ins->mode == 3 && loads)
		*reg = whole ? *rm : unknown();
	else if (ins->mode == 3)
		*rm = whole ? *reg : unknown();
	else if (loads)
		*reg = whole ? load(m, operand_address(m, ins)) : unknown();
	else if (whole)
		store(m, operand_address(m, ins), *reg);
}

static void execute_modrm(struct machine *m, const struct instruction *ins)
{
	switch (ins->opcode) {
	case 0x81:
	case 0x83:
		calculate(m, ins);
		break;
	case 0x89:
	case 0x8b:
		move(m, ins, ins->opcode == 0x8b);
		break;
	case 0x8d:
		m->regs[dwarf_register(ins->reg)] =
			ins->rex & 8 ? operand_address(m, ins) : unknown();
		break;
	case 0x8f: {
		struct value what = pop(m);
		if (ins->mode == 3)
			m->regs[dwarf_register(ins->rm)] = what;
		break;
	}
	case 0x01:
	case 0x29:
	case 0x31:
	case 0x87:
	case 0xc7:
		if (ins->mode == 3)
			m->regs[dwarf_register(ins->rm)] = unknown();
		if (ins->opcode == 0x87)
			m->regs[dwarf_register(ins->reg)] = unknown();
		break;
	case 0x03:
	case 0x2b:
	case 0x33:
		m->regs[dwarf_register(ins->reg)] = unknown();
		break;
	case 0xff:
		if (ins->what == 6)
			push(m, unknown());
		break;
	default:
		break;
	}
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

static void execute_plain(struct machine *m, const struct instruction *ins)
{
	struct value *low = &m->regs[dwarf_register((ins->opcode & 7u) | (ins->rex & 1u) << 3)];

	if (ins->opcode >= 0x90 && ins->opcode <= 0x97) { // exchanges it with rax
		if (low != &m->regs[DWARF_RAX])
			*low = m->regs[DWARF_RAX] = unknown();
	} else if (ins->opcode >= 0x50 && ins->opcode <= 0x57) {
		push(m, *low);
	} else if (ins->opcode >= 0x58 && ins->opcode <= 0x5f) {
		*low = pop(m);
	} else if (ins->opcode >= 0xb8 && ins->opcode <= 0xbf) {
		*low = unknown();
	} else if (ins->opcode == 0x68 || ins->opcode == 0x6a || ins->opcode == 0x9c) {
		push(m, unknown());
	} else if (ins->opcode == 0x9d) {
		pop(m);
	} else if (ins->opcode == 0xc9) { // leave
		m->regs[DWARF_RSP] = m->regs[DWARF_RBP];
		m->regs[DWARF_RBP] = pop(m);
	} else if (ins->opcode == 0xc8) { // enter
		m->regs[DWARF_RSP] = unknown();
	}
}

static bool has_modrm(uint8_t opcode)
{
	return opcode < 0x50 || (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc7 ||
	       opcode == 0xff;
}

/* What CODE, decoded as X, does to the registers and the stack. */
static void execute(struct machine *m, const uint8_t *code, const struct x86 *x)
{
	struct instruction ins = { 0 };
	unsigned at = 0;

	while (is_prefix(code[at]))
		at++;
	if ((code[at] & 0xf0) == 0x40)
		ins.rex = code[at++];
	if (at != x->opcode)
		return; // of another map: none of those moves the stack, or a pointer to it
	ins.opcode = code[at];
	if (!has_modrm(ins.opcode)) {
		execute_plain(m, &ins);
		return;
	}
	uint8_t modrm = code[at + 1];
	ins.operand = code + at + 2;
	ins.mode = modrm >> 6;
	ins.what = modrm >> 3 & 7;
	ins.reg = ins.what | (ins.rex & 4u) << 1;
	ins.rm = (modrm & 7u) | (ins.rex & 1u) << 3;
	execute_modrm(m, &ins);
}

/* What a function that was called may have changed. */
static void clobber(struct machine *m)
{
	static const uint8_t scratch[] = { DWARF_RAX, DWARF_RCX, DWARF_RDX, DWARF_RSI, DWARF_RDI,
		                           DWARF_R8,  DWARF_R9,  DWARF_R10, DWARF_R11 };

	for (size_t i = 0; i < sizeof(scratch); i++)
		m->regs[scratch[i]] = unknown();
}

/* Where M returns now. */
static struct cfi_rule rule_of(const struct machine *m)
{
	const struct value *sp = &m->regs[DWARF_RSP], *rbp = &m->regs[DWARF_RBP];
	struct cfi_rule rule = { .cfa = CFI_NO_RULE };
	int64_t cfa = (int64_t)sp->offsets[sp->depth] + 8;

	if (!sp->known || sp->depth > 1 || cfa != (int32_t)cfa)
		return rule;
	if (sp->depth == 1) {
		if ((sp->reg != DWARF_RSP && sp->reg != DWARF_RBP) || cfa < 0 || cfa > UINT8_MAX)
			return rule;
		rule.cfa = sp->reg == DWARF_RSP ? CFI_RSP_MEMORY : CFI_RBP_MEMORY;
		rule.offset = sp->offsets[0];
		rule.add = (uint8_t)cfa;
	} else {
		rule.cfa = sp->reg == DWARF_RSP   ? CFI_RSP
		           : sp->reg == DWARF_RBP ? CFI_RBP
		                                  : CFI_REGISTER;
		rule.offset = (int32_t)cfa;
		rule.add = rule.cfa == CFI_REGISTER ? sp->reg : 0;
	}
	// Where it holds anything else a part of the function returns to another part, which will
	// take its own caller's from the stack.
	if (!rbp->known)
		return rule;
	if (rbp->depth == sp->depth + 1 && rbp->reg == sp->reg && !rbp->offsets[rbp->depth] &&
	    (!sp->depth || rbp->offsets[0] == sp->offsets[0])) {
		rule.rbp = CFI_RBP_AT_CFA;
		rule.rbp_offset = (int32_t)(rbp->offsets[sp->depth] - cfa);
	} else if (rbp->depth == 1 && rbp->reg == DWARF_RBP && !rbp->offsets[1]) {
		rule.rbp = CFI_RBP_AT_RBP;
		rule.rbp_offset = rbp->offsets[0];
	}
	return rule;
}

/* Goes where RULE leads, which holds where M is. */
static void go_on(struct machine *m, const struct cfi_rule *rule)
{
	struct value sp = m->regs[DWARF_RSP], rbp = m->regs[DWARF_RBP];
	struct value cfa = rule->cfa == CFI_REGISTER ? m->regs[rule->add] : sp;

	if (rule->cfa == CFI_RBP || rule->cfa == CFI_RBP_MEMORY)
		cfa = rbp;
	cfa = plus(cfa, rule->offset);
	if (rule->cfa == CFI_RSP_MEMORY || rule->cfa == CFI_RBP_MEMORY)
		cfa = plus(load(m, cfa), rule->add);
	if (rule->rbp == CFI_RBP_AT_CFA)
		m->regs[DWARF_RBP] = load(m, plus(cfa, rule->rbp_offset));
	else if (rule->rbp == CFI_RBP_AT_RBP)
		m->regs[DWARF_RBP] = load(m, plus(rbp, rule->rbp_offset));
	m->regs[DWARF_RSP] = plus(cfa, -8);
}

static uint64_t hash_of(uint32_t module, uint64_t pc)
{
	return hash_pair(module, pc);
}

static const struct cfi_rule *lookup(const struct code_rules *r, uint32_t module, uint64_t pc)
{
	uint32_t at = hash_start(&r->index, hash_of(module, pc));

	for (; r->index.slots[at]; at = hash_next(&r->index, at)) {
		const struct known_rule *known = &r->known[r->index.slots[at] - 1];
		if (known->pc == pc && known->module == module)
			return &known->rule;
	}
	return NULL;
}

static void forget(struct code_rules *r)
{
	hash_clear(&r->index);
	r->count = 0;
}

static void keep(struct code_rules *r, uint32_t module, uint64_t pc, struct cfi_rule rule)
{
	uint64_t hash = hash_of(module, pc);

	if (r->count == RULES_MAX)
		forget(r);
	if (!hash_make_room(&r->index) || !array_reserve(&r->known, &r->capacity, r->count + 1))
		return;
	uint32_t at = hash_start(&r->index, hash);
	while (r->index.slots[at])
		at = hash_next(&r->index, at);
	r->known[r->count++] = (struct known_rule){ module, pc, rule };
	hash_insert(&r->index, at, hash, (uint32_t)r->count);
}

static bool is_followed(const struct code_rules *r, uint64_t pc)
{
	for (size_t i = 0; i < r->run_count; i++)
		if (pc >= r->runs[i].start && pc < r->runs[i].end)
			return true;
	return false;
}

static bool begin_run(struct code_rules *r)
{
	if (r->run_count == sizeof(r->runs) / sizeof(r->runs[0]))
		return false;
	r->runs[r->run_count++] = (struct run){ r->machine.pc, r->machine.pc };
	return true;
}

/* Turns to the last branch that led elsewhere. */
static bool turn_back(struct code_rules *r)
{
	while (r->branch_count) {
		r->machine = r->branches[--r->branch_count];
		if (!is_followed(r, r->machine.pc))
			return begin_run(r);
	}
	return false;
}

static bool fetch(struct code_rules *r, uint8_t code[CODE_BYTES], struct x86 *x)
{
	uint64_t pc = r->machine.pc;
	size_t size = X86_LENGTH_MAX, left = REMOTE_PAGE - pc % REMOTE_PAGE;

	if (!remote_memory_read(&r->memory, pc, code, size)) {
		// The end of what is mapped.
		if (left >= size || !remote_memory_read(&r->memory, pc, code, left))
			return false;
		size = left;
	}
	memset(code + size, 0, CODE_BYTES - size);
	return x86_decode(code, size, x);
}

/* One instruction further; false if the way ends there. */
static bool advance(struct code_rules *r, const uint8_t *code, const struct x86 *x)
{
	struct machine *m = &r->machine;
	uint64_t next = m->pc + x->length;
	uint64_t target = x->relative_at && !x->memory ? x86_target(x, code, m->pc) : 0;

	r->runs[r->run_count - 1].end = next;
	switch (x->flow) {
	case X86_BRANCH:
		if (r->branch_count < BRANCHES_MAX && !is_followed(r, target)) {
			r->branches[r->branch_count] = *m;
			r->branches[r->branch_count++].pc = target;
		}
		break;
	case X86_JUMP:
		m->pc = target;
		return !is_followed(r, target) && begin_run(r);
	case X86_CALL:
		if (target == next)
			push(m, unknown()); // to learn its own place
		else
			clobber(m);
		break;
	case X86_CALL_INDIRECT:
		clobber(m);
		break;
	case X86_NEXT:
		execute(m, code, x);
		break;
	default:
		return false;
	}
	m->pc = next;
	return true;
}

/* The rule at PC, by the first way to a return instruction. */
static struct cfi_rule follow(struct code_rules *r, uint64_t pc)
{
	struct machine *m = &r->machine;
	struct cfi_rule rule;
	uint8_t code[CODE_BYTES];
	struct x86 x;

	*m = (struct machine){ .pc = pc };
	for (size_t i = 0; i < DWARF_REGISTERS - 1; i++)
		m->regs[i] = (struct value){ .reg = (uint8_t)i, .known = true };
	r->branch_count = r->run_count = r->kept_count = 0;
	begin_run(r);
	for (r->steps = 0; r->steps < STEPS_MAX && r->left; r->steps++, r->left--) {
		const struct cfi_rule *known = r->keeps ? lookup(r, r->module, m->pc) : NULL;
		bool on = false;
		if (known && known->cfa != CFI_NO_RULE) {
			go_on(m, known);
			rule = rule_of(m);
			if (rule.cfa != CFI_NO_RULE)
				return rule;
		} else if (!known && fetch(r, code, &x)) {
			rule = x.flow == X86_RETURN ? rule_of(m) : (struct cfi_rule){ 0 };
			if (rule.cfa != CFI_NO_RULE)
				return rule;
			if (r->steps && r->steps % KEPT_STEPS == 0 && r->kept_count < KEPT_MAX)
				r->kept[r->kept_count++] = m->pc;
			on = advance(r, code, &x);
		}
		if (!on && !turn_back(r))
			break;
	}
	return (struct cfi_rule){ .cfa = CFI_NO_RULE };
}

/* That there is none is known only where the way was followed to its end. */
static void keep_found(struct code_rules *r, uint32_t module, uint64_t pc, struct cfi_rule rule)
{
	if (rule.cfa != CFI_NO_RULE || r->left)
		keep(r, module, pc, rule);
}

struct cfi_rule code_rules_read(struct code_rules *r, uint64_t pc, remote_read_function *read,
                                void *context)
{
	remote_memory_begin(&r->memory, read, context);
	r->keeps = false;
	r->left = STACK_STEPS_MAX;
	return follow(r, pc);
}

struct cfi_rule code_rules_find(struct code_rules *r, uint32_t module, uint64_t pc, pid_t pid)
{
	const struct cfi_rule *known = lookup(r, module, pc);
	uint64_t kept[KEPT_MAX];

	r->finds++;
	if (known)
		return *known;
	if (!pid || !r->left)
		return (struct cfi_rule){ .cfa = CFI_NO_RULE };
	remote_memory_begin(&r->memory, remote_memory_of_process, &pid);
	r->module = module;
	r->keeps = true;
	struct cfi_rule rule = follow(r, pc);
	size_t count = r->kept_count;
	memcpy(kept, r->kept, count * sizeof(kept[0]));
	// The last one first: each of the others ends at the one behind it.
	for (; rule.cfa != CFI_NO_RULE && count > 0 && r->left; count--)
		if (!lookup(r, module, kept[count - 1]))
			keep_found(r, module, kept[count - 1], follow(r, kept[count - 1]));
	if (!lookup(r, module, pc))
		keep_found(r, module, pc, rule);
	return rule;
}

void code_rules_begin_stack(struct code_rules *r)
{
	r->left = STACK_STEPS_MAX;
}

void code_rules_doubt(struct code_rules *r)
{
	if (r->finds < DOUBT_FINDS)
		return;
	forget(r);
	r->finds = 0;
}
