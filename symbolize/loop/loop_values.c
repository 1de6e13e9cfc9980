// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "symbolize/loop/loop_body.h"

#include <stdlib.h>
#include <string.h>

#define BIT(reg)  (UINT64_C(1) << (reg))
#define DEPTH_MAX 24
#define DEFS_MAX  4
#define WALKS_MAX 20000 // of one loop: beyond, nothing more is known

struct values {
	const struct loop_body *body;
	uint32_t *stack, *seen; // [position]; SEEN: the walk that has been there
	uint32_t walk;
	bool *cached;
	struct value *cache; // [position]: what it writes to DST, or to all that it writes
};

struct reaching {
	uint32_t defs[DEFS_MAX];
	uint32_t count; // DEFS_MAX + 1: too many
	bool carried;
};

struct values *values_new(const struct loop_body *body)
{
	struct values *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->body = body;
	v->stack = calloc((size_t)body->count + 1, sizeof(*v->stack));
	v->seen = calloc((size_t)body->count + 1, sizeof(*v->seen));
	v->cached = calloc((size_t)body->count + 1, sizeof(*v->cached));
	v->cache = calloc((size_t)body->count + 1, sizeof(*v->cache));
	if (v->stack && v->seen && v->cached && v->cache)
		return v;
	values_free(v);
	return NULL;
}

void values_free(struct values *v)
{
	if (!v)
		return;
	free(v->stack);
	free(v->seen);
	free(v->cached);
	free(v->cache);
	free(v);
}

static const struct insn *insn_at(const struct values *v, uint32_t position)
{
	return &v->body->insns[v->body->members[position]];
}

// Adds where control comes from to what is still to be looked at. Behind the header lies the
// iteration before.
static uint32_t push_preds(struct values *v, uint32_t position, uint32_t depth)
{
	const struct loop_body *b = v->body;

	for (uint32_t i = b->first_pred[position]; i < b->first_pred[position + 1]; i++) {
		if (v->seen[b->preds[i]] == v->walk)
			continue;
		v->seen[b->preds[i]] = v->walk;
		v->stack[depth++] = b->preds[i];
	}
	return depth;
}

static struct reaching walk_back(struct values *v, uint32_t depth, uint8_t reg, bool carried)
{
	struct reaching r = { .carried = carried };

	while (depth) {
		uint32_t at = v->stack[--depth];
		if (insn_at(v, at)->writes & BIT(reg)) {
			if (r.count < DEFS_MAX)
				r.defs[r.count] = at;
			r.count += r.count <= DEFS_MAX;
		} else if (at == v->body->header) {
			r.carried = true;
		} else {
			depth = push_preds(v, at, depth);
		}
	}
	return r;
}

static struct reaching reaching_before(struct values *v, uint32_t position, uint8_t reg)
{
	v->walk++;
	if (position == v->body->header)
		return (struct reaching){ .carried = true };
	return walk_back(v, push_preds(v, position, 0), reg, false);
}

int64_t values_definition(struct values *v, uint32_t position, uint8_t reg, bool *carried)
{
	struct reaching r = reaching_before(v, position, reg);

	*carried = r.carried;
	return r.count == 1 ? (int64_t)r.defs[0] : -1;
}

static struct value constant(int64_t number)
{
	return (struct value){ .known = true, .linear = true, .constant = number };
}

static struct value held(uint8_t reg)
{
	return (struct value){ .known = true,
		               .linear = true,
		               .term_count = 1,
		               .terms = { { reg, 1 } },
		               .depends = BIT(reg) };
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void join(struct value *to, const struct value *from)
{
	to->known &= from->known;
	to->loaded |= from->loaded;
	to->depends |= from->depends;
	to->through |= from->through;
}

static void add_term(struct value *to, uint16_t reg, int64_t factor)
{
	for (uint8_t i = 0; i < to->term_count; i++) {
		if (to->terms[i].reg != reg)
			continue;
		to->terms[i].times = plus(to->terms[i].times, factor);
		if (!to->terms[i].times)
			to->terms[i] = to->terms[--to->term_count];
		return;
	}
	if (!factor)
		return;
	if (to->term_count == VALUE_TERMS) {
		to->linear = false;
		return;
	}
	to->terms[to->term_count].reg = reg;
	to->terms[to->term_count++].times = factor;
}

// TO + FACTOR * FROM.
static void add_value(struct value *to, const struct value *from, int64_t factor)
{
	join(to, from);
	to->linear &= from->linear;
	if (!to->linear)
		return;
	to->constant = plus(to->constant, times(from->constant, factor));
	for (uint8_t i = 0; i < from->term_count; i++)
		add_term(to, from->terms[i].reg, times(from->terms[i].times, factor));
}

static bool is_same(const struct value *a, const struct value *b)
{
	if (!a->linear || !b->linear || a->constant != b->constant ||
	    a->term_count != b->term_count)
		return false;
	for (uint8_t i = 0; i < a->term_count; i++)
		if (a->terms[i].reg != b->terms[i].reg || a->terms[i].times != b->terms[i].times)
			return false;
	return true;
}

static struct value value_before(struct values *v, uint32_t position, uint8_t reg, int depth);

static struct value address_at(struct values *v, uint32_t position, int depth)
{
	const struct insn_memory *memory = &insn_at(v, position)->memory;
	struct value sum = constant(memory->displacement);

	if (memory->base != INSN_NO_REG) {
		struct value base = value_before(v, position, memory->base, depth);
		add_value(&sum, &base, 1);
	}
	if (memory->index != INSN_NO_REG) {
		struct value index = value_before(v, position, memory->index, depth);
		add_value(&sum, &index, memory->scale);
	}
	if (memory->elsewhere)
		sum.linear = false;
	return sum;
}

static void add_load(struct values *v, uint32_t position, int depth, struct value *to)
{
	struct value address = address_at(v, position, depth);

	to->known &= address.known;
	to->loaded = true;
	to->depends |= address.depends;
	to->through |= address.depends | address.through;
}

static struct value sources_at(struct values *v, uint32_t position, int depth)
{
	const struct insn *insn = insn_at(v, position);
	struct value all = { .known = insn->flow != INSN_CALL };

	if (insn->loads)
		add_load(v, position, depth, &all);
	for (uint8_t reg = 0; reg < INSN_REGS; reg++) {
		bool addresses = (insn->loads || insn->stores) &&
		                 (reg == insn->memory.base || reg == insn->memory.index) &&
		                 reg != insn->dst && reg != insn->src;
		if (!(insn->reads & BIT(reg)) || reg == INSN_FLAGS || addresses)
			continue;
		struct value source = value_before(v, position, reg, depth);
		join(&all, &source);
	}
	all.linear = false;
	return all;
}

static bool is_same_place(const struct insn_memory *a, const struct insn_memory *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale &&
	       a->displacement == b->displacement && a->elsewhere == b->elsewhere;
}

/*
 * What the instruction at POSITION reads is taken to be the same each time if its address is, and
 * nothing is stored by that address: compilers read a pointer again where a store might have
 * changed it, as in a vector of char.
 */
static bool reads_the_same(const struct values *v, uint32_t position)
{
	const struct loop_body *b = v->body;
	const struct insn_memory *memory = &insn_at(v, position)->memory;

	if ((memory->base != INSN_NO_REG && b->writes & BIT(memory->base)) ||
	    (memory->index != INSN_NO_REG && b->writes & BIT(memory->index)) || memory->elsewhere)
		return false;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct insn *insn = insn_at(v, i);
		if (insn->flow == INSN_CALL || insn->atomic ||
		    (insn->stores && is_same_place(&insn->memory, memory)))
			return false;
	}
	return true;
}

static struct value read_again(struct values *v, uint32_t position, int depth)
{
	struct value value = sources_at(v, position, depth);

	value.linear = true;
	value.constant = 0;
	value.term_count = 1;
	value.terms[0].reg = (uint16_t)(INSN_REGS + position);
	value.terms[0].times = 1;
	return value;
}

static struct value compute(struct values *v, uint32_t position, uint8_t reg, int depth)
{
	const struct insn *insn = insn_at(v, position);
	struct value result, other;

	if (insn->dst != reg || insn->op == INSN_OP_OTHER || insn->op == INSN_OP_SELECT)
		return sources_at(v, position, depth);
	switch (insn->op) {
	case INSN_OP_MOVE:
		if (insn->loads && reg < INSN_VECTOR && insn->memory.bytes == sizeof(uint64_t) &&
		    reads_the_same(v, position))
			return read_again(v, position, depth);
		if (insn->loads)
			return sources_at(v, position, depth);
		if (insn->has_imm || insn->src == INSN_NO_REG)
			return insn->has_imm ? constant(insn->imm) : sources_at(v, position, depth);
		return value_before(v, position, insn->src, depth);
	case INSN_OP_LEA:
		return address_at(v, position, depth);
	case INSN_OP_SCALE:
		result = constant(0);
		if (insn->src == INSN_NO_REG)
			return sources_at(v, position, depth);
		other = value_before(v, position, insn->src, depth);
		add_value(&result, &other, insn->imm);
		return result;
	default:
		result = value_before(v, position, reg, depth);
		if (insn->has_imm) {
			result.constant = plus(result.constant, insn->imm);
			return result;
		}
		if (insn->src == INSN_NO_REG)
			return sources_at(v, position, depth);
		other = value_before(v, position, insn->src, depth);
		add_value(&result, &other, insn->op == INSN_OP_SUBTRACT ? -1 : 1);
		return result;
	}
}

static struct value value_of(struct values *v, uint32_t position, uint8_t reg, int depth)
{
	const struct insn *insn = insn_at(v, position);
	bool keeps = insn->dst == reg || insn->op == INSN_OP_OTHER || insn->op == INSN_OP_SELECT;

	if (keeps && v->cached[position])
		return v->cache[position];
	struct value value = compute(v, position, reg, depth);
	if (keeps && depth) {
		v->cached[position] = true;
		v->cache[position] = value;
	}
	return value;
}

static struct value merge(struct values *v, const struct reaching *r, uint8_t reg, int depth)
{
	struct value all = held(reg);

	if (depth <= 0 || v->walk > WALKS_MAX || r->count > DEFS_MAX)
		return (struct value){ 0 };
	for (uint32_t i = 0; i < r->count; i++) {
		struct value one = value_of(v, r->defs[i], reg, depth - 1);
		if (!i && !r->carried) {
			all = one;
			continue;
		}
		bool same = is_same(&all, &one);
		join(&all, &one);
		all.linear = same;
	}
	return all;
}

static struct value value_before(struct values *v, uint32_t position, uint8_t reg, int depth)
{
	if (!(v->body->writes & BIT(reg)))
		return held(reg);
	struct reaching r = reaching_before(v, position, reg);
	return merge(v, &r, reg, depth);
}

struct value values_before(struct values *v, uint32_t position, uint8_t reg)
{
	return value_before(v, position, reg, DEPTH_MAX);
}

struct value values_next(struct values *v, uint8_t reg)
{
	if (!(v->body->writes & BIT(reg)))
		return held(reg);
	v->walk++;
	struct reaching r = walk_back(v, push_preds(v, v->body->header, 0), reg, false);
	return merge(v, &r, reg, DEPTH_MAX);
}

struct value values_address(struct values *v, uint32_t position)
{
	return address_at(v, position, DEPTH_MAX);
}

struct value values_sources(struct values *v, uint32_t position)
{
	return sources_at(v, position, DEPTH_MAX);
}

static bool moves(const struct values *v, uint16_t reg)
{
	return reg < INSN_REGS && v->body->writes & BIT(reg);
}

static void add_step_term(struct step *step, uint16_t reg, int64_t by)
{
	step->kind = STEP_REGISTER;
	for (uint8_t i = 0; i < step->term_count; i++)
		if (step->terms[i].reg == reg) {
			step->terms[i].times = plus(step->terms[i].times, by);
			return;
		}
	if (reg >= INSN_VECTOR || step->term_count == VALUE_TERMS) {
		step->whole = false;
		return;
	}
	step->terms[step->term_count].reg = (uint8_t)reg;
	step->terms[step->term_count++].times = by;
}

// By how much REG moves, if by no other register that moves.
static struct step step_of(struct values *v, uint16_t reg)
{
	struct step step = { .kind = STEP_CONSTANT, .whole = true };
	bool itself = false;

	if (!moves(v, reg))
		return step;
	struct value next = values_next(v, (uint8_t)reg);
	if (!next.known || !next.linear)
		return (struct step){ .kind = STEP_NONE };
	step.bytes = next.constant;
	for (uint8_t i = 0; i < next.term_count; i++) {
		if (next.terms[i].reg == reg && next.terms[i].times == 1)
			itself = true;
		else if (moves(v, next.terms[i].reg))
			return (struct step){ .kind = STEP_NONE };
		else
			add_step_term(&step, next.terms[i].reg, next.terms[i].times);
	}
	// Else it is the same in each iteration behind the first.
	return itself ? step : (struct step){ .kind = STEP_CONSTANT, .whole = true };
}

struct step values_step(struct values *v, const struct value *value)
{
	struct step sum = { .kind = STEP_CONSTANT, .whole = true };

	if (!value->known || !value->linear)
		return (struct step){ .kind = STEP_NONE };
	for (uint8_t i = 0; i < value->term_count; i++) {
		struct step step = step_of(v, value->terms[i].reg);
		if (step.kind == STEP_NONE)
			return step;
		if (step.kind == STEP_REGISTER)
			sum.kind = STEP_REGISTER;
		sum.whole &= step.whole;
		for (uint8_t k = 0; k < step.term_count; k++)
			add_step_term(&sum, step.terms[k].reg,
			              times(step.terms[k].times, value->terms[i].times));
		sum.bytes = plus(sum.bytes, times(step.bytes, value->terms[i].times));
	}
	return sum;
}
