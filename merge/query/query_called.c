// SPDX-License-Identifier: MIT
#include "merge/query/query_called.h"

#include "base/error.h"
#include "base/strings.h"
#include "merge/op/call_counts.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void called_rows_free(struct called_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->edges);
	free(rows);
}

struct times {
	uint64_t self_ns, total_ns;
	size_t seen; // the last stack that it was in, + 1
};

// One walk over the stacks. Ids are those of counts and edges.
struct timing {
	const struct profile *profile;
	const struct call_counts *counts;
	const struct stacks *stacks;
	struct times *functions, *edges; // [id - 1]
	uint32_t *ids;                   // [frame]: the function that it is; 0: none
	size_t *above;                   // [node]: the innermost node above that is a function, + 1
};

static void timing_at_scope_end(struct timing *t)
{
	free(t->functions);
	free(t->edges);
	free(t->ids);
	free(t->above);
}

// Of several functions of one name, as lambdas, the last that begins before LINE.
static uint32_t nearest(const struct call_counts *c, uint32_t function, uint32_t file, int line)
{
	uint32_t best = 0;

	for (uint32_t id = 1; id <= c->count; id++) {
		const struct call_count *count = &c->all[id - 1];
		if (count->function != function || count->file != file ||
		    (line && count->line > (uint32_t)line))
			continue;
		if (!best || count->line > c->all[best - 1].line)
			best = id;
	}
	return best;
}

static uint32_t id_of(const struct timing *t, const struct stack_frame *frame)
{
	const struct strings *strings = profile_strings(t->profile);
	const char *in = frame->python ? frame->declared : NULL;

	if (!frame->python && !frame->called)
		return 0;
	uint32_t function = strings_find(strings, frame->name);
	uint32_t file = in ? strings_find(strings, in) : 0;
	return function ? nearest(t->counts, function, file, frame->python ? frame->line : 0) : 0;
}

static uint64_t ns_of(const struct stack_node *node)
{
	uint64_t ns = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		ns += node->self.ns[m];
	return ns;
}

static void spend(struct times *times, uint64_t ns, bool self, size_t stack)
{
	times->self_ns += self ? ns : 0;
	if (times->seen == stack)
		return;
	times->seen = stack;
	times->total_ns += ns;
}

static uint32_t function_of(const struct timing *t, size_t node)
{
	return t->ids[t->stacks->nodes[node].frame];
}

// What is spent in NODE is its innermost function's, and part of all above it.
static void add_time(struct timing *t, size_t node, uint64_t ns)
{
	bool self = true;

	for (size_t at = t->above[node]; at; self = false) {
		uint32_t callee = function_of(t, at - 1);
		size_t next = t->stacks->nodes[at - 1].caller;
		next = next == STACK_NO_CALLER ? 0 : t->above[next];
		spend(&t->functions[callee - 1], ns, self, node + 1);
		uint32_t caller = next ? function_of(t, next - 1) : 0;
		uint32_t edge = caller ? call_counts_find_edge(t->counts, caller, callee) : 0;
		if (edge)
			spend(&t->edges[edge - 1], ns, self, node + 1);
		at = next;
	}
}

static int take_times(struct timing *t, struct error *err)
{
	const struct stacks *s = t->stacks;

	t->functions = calloc((size_t)t->counts->count + 1, sizeof(*t->functions));
	t->edges = calloc((size_t)t->counts->edge_count + 1, sizeof(*t->edges));
	t->ids = calloc(s->frame_count + 1, sizeof(*t->ids));
	t->above = calloc(s->count + 1, sizeof(*t->above));
	if (!t->functions || !t->edges || !t->ids || !t->above)
		return error_set(err, ENOMEM, "could not rank functions by their calls");
	for (size_t i = 0; i < s->frame_count; i++)
		t->ids[i] = id_of(t, &s->frames[i]);
	for (size_t i = 0; i < s->count; i++) {
		const struct stack_node *node = &s->nodes[i];
		if (node->caller == STACK_NO_CALLER)
			continue;
		t->above[i] = t->ids[node->frame] ? i + 1 : t->above[node->caller];
		uint64_t ns = ns_of(node);
		if (ns)
			add_time(t, i, ns);
	}
	return 0;
}

// A row and its place before and after it is ranked.
struct ranked {
	struct called row;
	uint32_t id;
	enum called_sort sort;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b); // descending
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_rows(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	const struct called *left = &x->row, *right = &y->row;
	int self = compare_u64(left->self_ns, right->self_ns);
	int total = compare_u64(left->total_ns, right->total_ns);
	int calls = compare_u64(left->calls, right->calls);
	int order = x->sort == CALLED_BY_SELF ? self : x->sort == CALLED_BY_TOTAL ? total : calls;

	order = order ? order : self;
	order = order ? order : total;
	order = order ? order : calls;
	order = order ? order : compare_texts(left->file, right->file);
	order = order ? order : (left->line > right->line) - (left->line < right->line);
	return order ? order : compare_texts(left->name, right->name);
}

static int compare_edges(const void *a, const void *b)
{
	const struct called_edge *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

static void fill_edges(struct called_rows *rows, const struct timing *t, const size_t *places)
{
	const struct call_counts *c = t->counts;

	for (uint32_t i = 0; i < c->edge_count; i++)
		rows->edges[i] = (struct called_edge){
			.caller = places[c->edges[i].caller - 1],
			.callee = places[c->edges[i].callee - 1],
			.calls = c->edges[i].calls,
			.primitive = c->edges[i].calls - c->edges[i].recursive,
			.self_ns = t->edges[i].self_ns,
			.total_ns = t->edges[i].total_ns,
		};
	rows->edge_count = c->edge_count;
	qsort(rows->edges, rows->edge_count, sizeof(*rows->edges), compare_edges);
	for (size_t i = 0; i < rows->edge_count; i++) {
		struct called *callee = &rows->rows[rows->edges[i].callee];
		if (!callee->callers_end)
			callee->callers = i;
		callee->callers_end = i + 1;
	}
}

static void fill_rows(struct called_rows *rows, const struct timing *t, struct ranked *ranked,
                      size_t *places, enum called_sort sort)
{
	const struct call_counts *c = t->counts;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct call_count *count = &c->all[i];
		ranked[i] = (struct ranked){
			.row = { .name = profile_string(t->profile, count->function),
			         .file = profile_string(t->profile, count->file),
			         .line = count->line,
			         .calls = count->calls,
			         .primitive = count->calls - count->recursive,
			         .self_ns = t->functions[i].self_ns,
			         .total_ns = t->functions[i].total_ns },
			.id = i,
			.sort = sort,
		};
		rows->calls += count->calls;
		rows->primitive += count->calls - count->recursive;
		rows->self_ns += t->functions[i].self_ns;
	}
	qsort(ranked, c->count, sizeof(*ranked), compare_rows);
	for (uint32_t i = 0; i < c->count; i++) {
		rows->rows[i] = ranked[i].row;
		places[ranked[i].id] = i;
	}
	rows->count = c->count;
	fill_edges(rows, t, places);
}

static struct called_rows *no_memory(struct error *err)
{
	error_set(err, ENOMEM, "could not rank functions by their calls");
	return NULL;
}

struct called_rows *query_called(const struct profile *p, const struct query *query,
                                 enum called_sort sort, struct error *err)
{
	const struct call_counts *c = profile_call_counts(p);
	cleanup(called_rows) struct called_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return no_memory(err);
	if (!c->count)
		return steal(rows); // no need to look at all samples
	cleanup(stacks) struct stacks *stacks = query_stacks(p, query, STACKS_BY_LINE, err);
	cleanup(timing) struct timing t = { .profile = p, .counts = c, .stacks = stacks };
	cleanup_free struct ranked *ranked = calloc((size_t)c->count + 1, sizeof(*ranked));
	cleanup_free size_t *places = calloc((size_t)c->count + 1, sizeof(*places));

	if (!stacks || take_times(&t, err) < 0)
		return NULL;
	if (!ranked || !places)
		return no_memory(err);
	rows->rows = calloc((size_t)c->count + 1, sizeof(*rows->rows));
	rows->edges = calloc((size_t)c->edge_count + 1, sizeof(*rows->edges));
	if (!rows->rows || !rows->edges)
		return no_memory(err);
	fill_rows(rows, &t, ranked, places, sort);
	return steal(rows);
}
