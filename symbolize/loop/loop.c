// SPDX-License-Identifier: MIT
// Finds loops: decodes the function, and asks which jumps lead back to what dominates them.
#include "symbolize/loop/loop.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "symbolize/loop/loop_body.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE     UINT32_MAX
#define MEMBERS_MAX 200000 // instructions of all loops together; compilers nest none as deeply
#define ROOT        0 // of the dominators: whence the function, and what only tables lead to, begins

// What calls may change: rax, rcx, rdx, rsi, rdi, r8 to r11, all vectors, masks and flags.
#define CALL_WRITES (UINT64_C(0x0fc7) | (((UINT64_C(1) << INSN_OTHER) - 1) & ~UINT64_C(0xffff)))

struct graph {
	struct insn *insns;
	uint32_t count;
	size_t capacity;
	uint32_t *index_at; // [offset]: instruction + 1; 0: none begins there
	uint32_t *first_pred, *preds;
	uint32_t *order;     // reverse postorder; nodes are instructions + 1, ROOT before all
	uint32_t *rank;      // [node]: its place in that order
	uint32_t *dominator; // [node]
	uint32_t order_count;
};

// A loop, before it is known whether it matters.
struct candidate {
	uint32_t header, jump; // instructions: where it begins, the last that leads back there
	uint32_t count;
	uint64_t ns;
	struct loop_found found;
};

// Jumps of one function's code that are asked whether they lead into a loop, for all its loops:
// beyond, no loop is known to be whole.
#define JUMPS_MAX 20000

struct finder {
	struct graph graph;
	const struct loop_sample *samples;
	size_t sample_count;
	uint32_t vector_bytes;
	uint64_t *ns; // [instruction]
	const uint64_t **regs, **others;
	uint32_t *members;  // of the loop at hand, instructions, ascending
	uint32_t *position; // [instruction]: in MEMBERS + 1
	uint32_t *stack;
	struct candidate *candidates;
	size_t candidate_count, candidate_capacity;
	uint32_t *inner; // [instruction]: the innermost loop around it, from 1
	uint32_t jumps;  // that were asked where they lead, see JUMPS_MAX
};

static void finder_at_scope_end(struct finder *f)
{
	struct graph *g = &f->graph;

	free(g->insns);
	free(g->index_at);
	free(g->first_pred);
	free(g->preds);
	free(g->order);
	free(g->rank);
	free(g->dominator);
	free(f->ns);
	free(f->regs);
	free(f->others);
	free(f->members);
	free(f->position);
	free(f->stack);
	free(f->candidates);
	free(f->inner);
}

static bool decode_all(struct graph *g, struct bytes code)
{
	g->index_at = calloc(code.size + 1, sizeof(*g->index_at));
	for (uint32_t at = 0; g->index_at && at < code.size;) {
		if (!array_reserve(&g->insns, &g->capacity, (size_t)g->count + 1))
			return false;
		struct insn *insn = &g->insns[g->count];
		if (!insn_decode(code.data, code.size, at, insn))
			break;
		if (insn->flow == INSN_CALL)
			insn->writes |= CALL_WRITES;
		g->index_at[at] = ++g->count;
		at += insn->length;
	}
	return g->index_at != NULL;
}

// Where INSN goes on: up to two instructions.
static uint32_t successors(const struct graph *g, struct bytes code, uint32_t index,
                           uint32_t next[2])
{
	const struct insn *insn = &g->insns[index];
	uint32_t count = 0;

	if (insn->flow != INSN_JUMP && insn->flow != INSN_END && insn->flow != INSN_AWAY &&
	    index + 1 < g->count)
		next[count++] = index + 1;
	if ((insn->flow == INSN_JUMP || insn->flow == INSN_BRANCH) && insn->target >= 0 &&
	    insn->target < (int64_t)code.size && g->index_at[insn->target])
		next[count++] = g->index_at[insn->target] - 1;
	return count;
}

static bool link_all(struct graph *g, struct bytes code)
{
	uint32_t next[2];

	g->first_pred = calloc((size_t)g->count + 2, sizeof(*g->first_pred));
	g->preds = calloc(2 * (size_t)g->count + 1, sizeof(*g->preds));
	if (!g->first_pred || !g->preds)
		return false;
	for (uint32_t i = 0; i < g->count; i++)
		for (uint32_t k = successors(g, code, i, next); k > 0; k--)
			g->first_pred[next[k - 1] + 1]++;
	for (uint32_t i = 0; i < g->count; i++)
		g->first_pred[i + 1] += g->first_pred[i];
	// Filled from the end of each list, which then begins where it should.
	for (uint32_t i = 0; i < g->count; i++)
		for (uint32_t k = successors(g, code, i, next); k > 0; k--) {
			uint32_t to = next[k - 1];
			uint32_t at = g->first_pred[to];
			while (g->preds[at])
				at++;
			g->preds[at] = i + 1;
		}
	return true;
}

// Depth first from each root; ORDER is filled from its end.
static bool put_in_order(struct graph *g, struct bytes code)
{
	size_t nodes = (size_t)g->count + 1;
	cleanup_free uint32_t *stack = calloc(nodes + 1, sizeof(*stack));
	cleanup_free uint8_t *state = calloc(nodes + 1, 1); // successors taken, + 1
	uint32_t next[2];

	g->order = calloc(nodes + 1, sizeof(*g->order));
	g->rank = calloc(nodes + 1, sizeof(*g->rank));
	g->dominator = calloc(nodes + 1, sizeof(*g->dominator));
	if (!stack || !state || !g->order || !g->rank || !g->dominator)
		return false;
	uint32_t left = g->count;
	for (uint32_t root = g->count; root > 0; root--) {
		// What fills the gap before a loop runs into it, but is never run.
		bool begins = root == 1 || (g->first_pred[root - 1] == g->first_pred[root] &&
		                            !g->insns[root - 1].nothing);
		if (!begins || state[root])
			continue;
		uint32_t depth = 0;
		stack[depth++] = root;
		state[root] = 1;
		while (depth) {
			uint32_t node = stack[depth - 1];
			uint32_t count = successors(g, code, node - 1, next);
			uint32_t taken = (uint32_t)state[node] - 1;
			if (taken == count) {
				g->order[left--] = node;
				depth--;
				continue;
			}
			state[node]++;
			if (!state[next[taken] + 1]) {
				state[next[taken] + 1] = 1;
				stack[depth++] = next[taken] + 1;
			}
		}
	}
	// What nothing leads to but itself is left out.
	g->order_count = g->count - left;
	memmove(g->order + 1, g->order + left + 1, g->order_count * sizeof(*g->order));
	for (uint32_t i = 1; i <= g->order_count; i++)
		g->rank[g->order[i]] = i;
	return true;
}

static uint32_t common(const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->rank[a] > g->rank[b])
			a = g->dominator[a];
		while (g->rank[b] > g->rank[a])
			b = g->dominator[b];
	}
	return a;
}

static uint32_t dominator_of(const struct graph *g, uint32_t node)
{
	uint32_t found = NOWHERE, first = g->first_pred[node - 1], end = g->first_pred[node];

	if (node == 1 || first == end)
		return ROOT;
	for (uint32_t i = first; i < end; i++) {
		uint32_t pred = g->preds[i];
		if (!g->rank[pred] || g->dominator[pred] == NOWHERE)
			continue;
		found = found == NOWHERE ? pred : common(g, found, pred);
	}
	return found;
}

// Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm.
static void find_dominators(struct graph *g)
{
	bool changed = true;

	for (uint32_t node = 1; node <= g->count; node++)
		g->dominator[node] = NOWHERE;
	for (int pass = 0; changed && pass < 20; pass++) {
		changed = false;
		for (uint32_t i = 1; i <= g->order_count; i++) {
			uint32_t node = g->order[i], found = dominator_of(g, node);
			changed |= found != g->dominator[node];
			g->dominator[node] = found;
		}
	}
	// Not settled: then nothing is said.
	if (changed)
		g->order_count = 0;
}

static bool dominates(const struct graph *g, uint32_t a, uint32_t node)
{
	while (g->rank[node] > g->rank[a])
		node = g->dominator[node];
	return node == a;
}

static bool is_back_edge(const struct graph *g, uint32_t from, uint32_t to)
{
	return g->rank[from + 1] && g->rank[to + 1] && dominates(g, to + 1, from + 1);
}

static bool add_candidate(struct finder *f, uint32_t header, uint32_t jump)
{
	for (size_t i = 0; i < f->candidate_count; i++) {
		if (f->candidates[i].header != header)
			continue;
		if (jump > f->candidates[i].jump)
			f->candidates[i].jump = jump;
		return true;
	}
	if (!array_reserve(&f->candidates, &f->candidate_capacity, f->candidate_count + 1))
		return false;
	f->candidates[f->candidate_count++] =
		(struct candidate){ header, jump, 0, 0, { { 0 }, 0, 0 } };
	return true;
}

static bool find_candidates(struct finder *f)
{
	const struct graph *g = &f->graph;

	for (uint32_t to = 0; g->order_count && to < g->count; to++)
		for (uint32_t i = g->first_pred[to]; i < g->first_pred[to + 1]; i++)
			if (is_back_edge(g, g->preds[i] - 1, to) &&
			    !add_candidate(f, to, g->preds[i] - 1))
				return false;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void forget_members(struct finder *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		f->position[f->members[i]] = 0;
}

// Fills MEMBERS and POSITION of the loop: the header, and all that leads back to it without it.
static uint32_t collect(struct finder *f, const struct candidate *c)
{
	const struct graph *g = &f->graph;
	uint32_t count = 0, depth = 0;

	f->members[count++] = c->header;
	f->position[c->header] = count;
	f->stack[depth++] = c->header;
	while (depth) {
		uint32_t at = f->stack[--depth];
		for (uint32_t i = g->first_pred[at]; i < g->first_pred[at + 1]; i++) {
			uint32_t pred = g->preds[i] - 1;
			bool wanted = at != c->header || is_back_edge(g, pred, at);
			if (!wanted || f->position[pred] || !g->rank[pred + 1])
				continue;
			f->members[count++] = pred;
			f->position[pred] = count;
			f->stack[depth++] = pred;
		}
	}
	qsort(f->members, count, sizeof(*f->members), by_number);
	for (uint32_t i = 0; i < count; i++)
		f->position[f->members[i]] = i + 1;
	return count;
}

static bool has_inner_loop(const struct finder *f, const struct candidate *c)
{
	for (size_t i = 0; i < f->candidate_count; i++)
		if (f->candidates[i].header != c->header && f->position[f->candidates[i].header])
			return true;
	return false;
}

// What jumps where only the running program knows may lead back into the loop, by ways that are
// not in the graph.
static bool is_whole(struct finder *f, const struct candidate *c)
{
	const struct graph *g = &f->graph;

	for (uint32_t i = 0; i < g->count; i++)
		if (g->insns[i].flow == INSN_AWAY &&
		    (f->jumps++ >= JUMPS_MAX || is_back_edge(g, i, c->header)))
			return false;
	return true;
}

// Its kind, from the members that were collected.
static bool judge(struct finder *f, struct bytes code, struct candidate *c)
{
	const struct graph *g = &f->graph;
	cleanup_free uint32_t *first = calloc((size_t)c->count + 1, sizeof(*first));
	cleanup_free uint32_t *preds = calloc(2 * (size_t)c->count + 1, sizeof(*preds));
	cleanup_free bool *exits = calloc((size_t)c->count + 1, sizeof(*exits));
	cleanup_free uint64_t *ns = calloc((size_t)c->count + 1, sizeof(*ns));
	struct loop_body body = { g->insns, f->members, c->count, f->position[c->header] - 1,
		                  first,    preds,      exits,    0,
		                  NULL,     NULL };
	cleanup_free const uint64_t **regs = calloc((size_t)c->count + 1, sizeof(*regs));
	cleanup_free const uint64_t **others = calloc((size_t)c->count + 1, sizeof(*others));
	uint32_t used = 0, next[2];

	if (!first || !preds || !exits || !ns || !regs || !others)
		return false;
	body.regs = regs;
	body.others = others;
	for (uint32_t k = 0; k < c->count; k++) {
		uint32_t at = f->members[k];
		first[k] = used;
		for (uint32_t i = g->first_pred[at]; i < g->first_pred[at + 1]; i++)
			if (f->position[g->preds[i] - 1])
				preds[used++] = f->position[g->preds[i] - 1] - 1;
		uint32_t count = successors(g, code, at, next);
		for (uint32_t i = 0; i < count; i++)
			exits[k] |= !f->position[next[i]];
		// What jumps to another function, as calls at the end do, leaves it, too.
		exits[k] |= g->insns[at].flow == INSN_BRANCH && count < 2;
		body.writes |= g->insns[at].writes;
		ns[k] = f->ns[at];
		regs[k] = f->regs[at];
		others[k] = f->others[at];
	}
	first[c->count] = used;
	return loop_kind_find(&body, ns, f->vector_bytes, &c->found.fact);
}

// The innermost loop around each instruction, and what samples in it weigh.
static void note_inner(struct finder *f, uint32_t candidate)
{
	struct candidate *c = &f->candidates[candidate];

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t *inner = &f->inner[f->members[i]];
		c->ns += f->ns[f->members[i]];
		if (!*inner || f->candidates[*inner - 1].count > c->count)
			*inner = candidate + 1;
	}
}

static bool judge_all(struct finder *f, struct bytes code)
{
	size_t collected = 0;

	for (uint32_t i = 0; i < f->candidate_count && collected < MEMBERS_MAX; i++) {
		struct candidate *c = &f->candidates[i];
		bool ok = true;
		c->count = collect(f, c);
		collected += c->count;
		// Where control falls into the header, the test stands there.
		const struct insn *jump = &f->graph.insns[c->jump];
		bool falls = jump->flow != INSN_JUMP && jump->flow != INSN_BRANCH;
		c->found.begin = f->graph.insns[c->header].at;
		c->found.jump = f->graph.insns[falls ? c->header : c->jump].at;
		note_inner(f, i);
		if (c->ns && c->count <= LOOP_INSNS_MAX && !has_inner_loop(f, c) && is_whole(f, c))
			ok = judge(f, code, c);
		forget_members(f, c->count);
		if (!ok)
			return false;
	}
	return true;
}

static bool take_memory(struct finder *f)
{
	size_t count = (size_t)f->graph.count + 1;

	f->ns = calloc(count, sizeof(*f->ns));
	f->regs = calloc(count, sizeof(*f->regs));
	f->others = calloc(count, sizeof(*f->others));
	f->members = calloc(count, sizeof(*f->members));
	f->position = calloc(count, sizeof(*f->position));
	f->stack = calloc(count, sizeof(*f->stack));
	f->inner = calloc(count, sizeof(*f->inner));
	return f->ns && f->regs && f->others && f->members && f->position && f->stack && f->inner;
}

static void take_sample(struct finder *f, uint32_t index, const struct loop_sample *sample)
{
	f->ns[index] += sample->ns;
	f->regs[index] = sample->regs;
	f->others[index] = sample->other;
}

bool loops_find(struct bytes code, const struct loop_sample *samples, size_t count,
                uint32_t vector_bytes, struct loop_found *found)
{
	cleanup(finder) struct finder f = { .samples = samples,
		                            .sample_count = count,
		                            .vector_bytes = vector_bytes };
	struct graph *g = &f.graph;

	memset(found, 0, count * sizeof(*found));
	if (code.size > LOOP_CODE_MAX)
		code.size = LOOP_CODE_MAX;
	if (!decode_all(g, code) || !link_all(g, code) || !put_in_order(g, code) ||
	    !take_memory(&f))
		return false;
	for (size_t i = 0; i < count; i++)
		if (samples[i].at < code.size && g->index_at[samples[i].at])
			take_sample(&f, g->index_at[samples[i].at] - 1, &samples[i]);
	find_dominators(g);
	if (!find_candidates(&f) || !judge_all(&f, code))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t index = samples[i].at < code.size ? g->index_at[samples[i].at] : 0;
		if (index && f.inner[index - 1])
			found[i] = f.candidates[f.inner[index - 1] - 1].found;
	}
	return true;
}
