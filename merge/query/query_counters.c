// SPDX-License-Identifier: MIT
#include "merge/query/query_counters.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"
#include "merge/table/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void counter_rows_free(struct counter_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

// Entries of one op lie beside each other.
static int compare_entries(const void *a, const void *b)
{
	const struct counter_entry *left = *(const struct counter_entry *const *)a;
	const struct counter_entry *right = *(const struct counter_entry *const *)b;

	if (left->op != right->op)
		return left->op < right->op ? -1 : 1;
	return (left->thread > right->thread) - (left->thread < right->thread);
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b)
{
	const struct counter_row *left = a, *right = b;
	int order = strcmp(left->domain, right->domain);

	order = order ? order : strcmp(left->name, right->name);
	return order ? order : strcmp(left->provider, right->provider);
}

static void fill_row(const struct op *op, const struct counter_sums *sums, struct counter_row *row)
{
	*row = (struct counter_row){
		.name = op->name,
		.provider = op_provider_name(op->provider),
		.domain = op->domain,
		.changes = sums->values,
		.untold = sums->untold,
		.last = sums->last,
		.min = sums->min,
		.max = sums->max,
		.average = sums->values ? sums->sum / (double)sums->values : 0,
		.sum = sums->sum,
	};
}

static size_t choose_entries(const struct scope *scope, const struct counter_entry **entries)
{
	const struct counters *c = profile_counters(scope->profile);
	size_t count = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (scope->threads[c->entries[i].thread - 1] &&
		    profile_op(scope->profile, c->entries[i].op)->provider != OP_TORCH)
			entries[count++] = &c->entries[i];
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	return count;
}

static bool fill_rows(const struct scope *scope, struct counter_rows *rows)
{
	size_t most = profile_counters(scope->profile)->count + 1;
	cleanup_free const struct counter_entry **entries = calloc(most, sizeof(*entries));

	rows->rows = calloc(most, sizeof(*rows->rows));
	if (!entries || !rows->rows)
		return false;
	size_t count = choose_entries(scope, entries);
	for (size_t first = 0, end; first < count; first = end) {
		struct counter_sums sums = { 0 };
		for (end = first; end < count && entries[end]->op == entries[first]->op; end++)
			counter_sums_add(&sums, &entries[end]->sums);
		fill_row(profile_op(scope->profile, entries[first]->op), &sums,
		         &rows->rows[rows->count++]);
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	rows->lost = profile_counters(scope->profile)->lost;
	return true;
}

struct counter_rows *query_counters(const struct profile *p, const struct query *query,
                                    struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(counter_rows) struct counter_rows *rows = calloc(1, sizeof(*rows));

	if (rows && scope_init(&scope, p, query, err) < 0)
		return NULL;
	if (rows && fill_rows(&scope, rows))
		return steal(rows);
	error_set(err, ENOMEM, "could not list the counters");
	return NULL;
}
