// SPDX-License-Identifier: MIT
#include "merge/query/query_stack_times.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>

struct asking {
	struct scope scope;
	const struct stacks *stacks;
	uint32_t *thread_of; // [index of a node]
	struct cell *cells;  // of one node of the paths, by metric and bin
	size_t cell_capacity;
	uint32_t in_one; // bins of cells that are one here
	struct stack_times *times;
	size_t capacity, count_max;
};

static void asking_at_scope_end(struct asking *a)
{
	scope_fini(&a->scope);
	free(a->thread_of);
	free(a->cells);
}

void stack_times_free(struct stack_times *times)
{
	if (!times)
		return;
	free(times->parts);
	free(times);
}

static int compare_cells(const void *left, const void *right)
{
	const struct cell *a = left, *b = right;

	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	return a->bin < b->bin ? -1 : a->bin > b->bin;
}

static int compare_parts(const void *left, const void *right)
{
	const struct stack_part *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->bin != b->bin)
		return a->bin < b->bin ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->metric < b->metric ? -1 : a->metric > b->metric;
}

enum put {
	PUT_OK,
	PUT_FULL, // more than there may be
	PUT_FAILED
};

// NS in BIN of the cells, of the same NODE and METRIC as the one before or of others.
static enum put put_part(struct asking *a, size_t node, enum metric metric, uint32_t bin,
                         uint64_t ns)
{
	struct stack_times *t = a->times;
	struct stack_part *last = t->count ? &t->parts[t->count - 1] : NULL;

	bin /= a->in_one;
	if (!ns)
		return PUT_OK;
	if (last && last->node == node && last->metric == metric && last->bin == bin) {
		last->ns += ns;
		return PUT_OK;
	}
	if (t->count >= a->count_max)
		return PUT_FULL;
	if (!array_reserve(&t->parts, &a->capacity, t->count + 1))
		return PUT_FAILED;
	t->parts[t->count++] = (struct stack_part){
		.node = node, .thread = a->thread_of[node], .bin = bin, .metric = metric, .ns = ns
	};
	return PUT_OK;
}

// What COUNT cells of one metric say: see merge/table/cells.h.
static enum put put_metric(struct asking *a, size_t node, const struct cell *cells, size_t count)
{
	const struct scope *scope = &a->scope;
	uint32_t end = scope->table->last_bin + 1 < scope->end_bin ? scope->table->last_bin + 1
	                                                           : scope->end_bin;
	uint64_t width_ns = scope->table->width_ns;
	int64_t rate = 0;
	size_t next = 0;

	for (uint32_t bin = cells[0].bin; bin < end && (next < count || rate); bin++) {
		uint64_t ns = 0;
		for (; next < count && cells[next].bin == bin; next++) {
			ns += cells[next].ns;
			rate += cells[next].rate;
		}
		ns += (uint64_t)rate * width_ns;
		enum put put = bin < scope->first_bin
		                       ? PUT_OK
		                       : put_part(a, node, (enum metric)cells[0].metric, bin, ns);
		if (put != PUT_OK)
			return put;
		if (!rate && next < count)
			bin = cells[next].bin - 1;
	}
	return PUT_OK;
}

// The cells of node ID of the paths that count, sorted; their number, SIZE_MAX without memory.
static size_t take_cells(struct asking *a, uint32_t id)
{
	const struct scope *scope = &a->scope;
	uint32_t first = scope->first_cell[id - 1], end = scope->first_cell[id];
	size_t count = 0;

	if (!array_reserve(&a->cells, &a->cell_capacity, (size_t)(end - first) + 1))
		return SIZE_MAX;
	for (uint32_t i = first; i < end; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		if (scope_counts(scope, cell))
			a->cells[count++] = *cell;
	}
	qsort(a->cells, count, sizeof(*a->cells), compare_cells);
	return count;
}

static enum put put_path(struct asking *a, uint32_t id)
{
	size_t count = take_cells(a, id), first = 0;

	if (count == SIZE_MAX)
		return PUT_FAILED;
	while (first < count) {
		size_t end = first + 1;
		while (end < count && a->cells[end].metric == a->cells[first].metric)
			end++;
		enum put put =
			put_metric(a, a->stacks->owners[id - 1], a->cells + first, end - first);
		if (put != PUT_OK)
			return put;
		first = end;
	}
	return PUT_OK;
}

static enum put put_all(struct asking *a)
{
	const struct scope *scope = &a->scope;

	a->times->count = 0;
	for (struct step step = scope_first(scope); step.node; step = scope_next(scope, step)) {
		enum put put = step.entering ? put_path(a, step.node) : PUT_OK;
		if (put != PUT_OK)
			return put;
	}
	return PUT_OK;
}

// Several paths may be one stack.
static void join_parts(struct stack_times *t)
{
	size_t kept = 0;

	qsort(t->parts, t->count, sizeof(*t->parts), compare_parts);
	for (size_t i = 0; i < t->count; i++) {
		if (kept && compare_parts(&t->parts[kept - 1], &t->parts[i]) == 0)
			t->parts[kept - 1].ns += t->parts[i].ns;
		else
			t->parts[kept++] = t->parts[i];
	}
	t->count = kept;
}

static bool prepare(struct asking *a)
{
	const struct stacks *stacks = a->stacks;

	a->times = calloc(1, sizeof(*a->times));
	a->thread_of = calloc(stacks->count + 1, sizeof(*a->thread_of));
	if (!a->times || !a->thread_of)
		return false;
	for (uint32_t i = 0; i < stacks->thread_count; i++)
		for (size_t n = stacks->threads[i].first; n < stacks->threads[i].end; n++)
			a->thread_of[n] = i;
	return true;
}

static enum put collect(struct asking *a, size_t parts_max)
{
	enum put put = PUT_FULL;

	for (a->in_one = 1; put == PUT_FULL; a->in_one *= 2) {
		a->count_max = a->in_one < CELLS_BINS ? parts_max : SIZE_MAX;
		put = put_all(a);
		a->times->bin_ns = a->in_one * a->scope.table->width_ns;
	}
	return put;
}

struct stack_times *query_stack_times(const struct profile *p, const struct query *query,
                                      const struct stacks *stacks, size_t parts_max,
                                      struct error *err)
{
	cleanup(asking) struct asking a = { .stacks = stacks };
	struct query by_function = *query;

	by_function.by = BY_FUNCTION;
	if (scope_init(&a.scope, p, &by_function, err) < 0)
		return NULL;
	if (!prepare(&a) || collect(&a, parts_max) != PUT_OK) {
		stack_times_free(a.times);
		error_set(err, ENOMEM, "could not tell when the stacks were");
		return NULL;
	}
	a.times->origin_ns = (int64_t)(a.scope.table->origin_ns - profile_start_ns(p));
	if (a.times->count)
		join_parts(a.times);
	return a.times;
}
