// SPDX-License-Identifier: MIT
#include "merge/query/query_causes.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"
#include "merge/warmup/causes.h"

#include <errno.h>
#include <stdlib.h>

struct asking {
	const struct profile *profile;
	uint8_t *causes; // [node - 1]
	bool *first;     // [node - 1]: of the first thread
};

static void asking_at_scope_end(struct asking *a)
{
	free(a->causes);
	free(a->first);
}

static bool asking_init(struct asking *a, const struct profile *p)
{
	uint32_t slot = threads_first(profile_threads(p));

	*a = (struct asking){ .profile = p, .causes = causes_of_nodes(p) };
	a->first = calloc((size_t)profile_paths(p)->count + 1, sizeof(*a->first));
	if (!a->causes || !a->first)
		return false;
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		a->first[id - 1] =
			node->parent ? a->first[node->parent - 1] : node->location == slot;
	}
	return true;
}

static bool counts(const struct asking *a, const struct cell *cell)
{
	return cell->metric == METRIC_ON_CPU ||
	       (cell->metric != METRIC_OFF_RUNNABLE && a->first[cell->node - 1]);
}

static struct causes causes_in(const struct asking *a, uint64_t from_ns, uint64_t to_ns)
{
	const struct cells *cells = profile_cells(a->profile);
	struct window w = window_of(a->profile, from_ns, to_ns);
	struct causes sums = { 0 };

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint64_t ns = cells_between(cells, cell, w.first_bin, w.end_bin);
		if (!counts(a, cell))
			continue;
		enum cause cause = causes_of_time((enum cause)a->causes[cell->node - 1],
		                                  (enum metric)cell->metric);
		sums.ns[cause] += ns; // parts of an interval are modulo 2^64
		sums.all_ns += ns;
		if (cell->metric == METRIC_ON_CPU && cell->bin >= w.first_bin &&
		    cell->bin < w.end_bin)
			sums.samples += cell->samples;
	}
	return sums;
}

// What STEADY does all the time is not why SLOW was slow.
static void leave_out_steady(struct causes *slow, const struct causes *steady)
{
	double scale = steady->all_ns ? (double)slow->all_ns / (double)steady->all_ns : 0;

	slow->ns[CAUSE_NONE] = slow->all_ns;
	for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		double usual = scale * (double)steady->ns[cause];
		double ns = (double)slow->ns[cause];
		slow->ns[cause] = ns > usual ? (uint64_t)(ns - usual) : 0;
		slow->ns[CAUSE_NONE] -= slow->ns[cause];
	}
}

static uint64_t first_begin(const struct warmup_rows *rows)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < rows->count; i++)
		first = rows->rows[i].begin_ns < first ? rows->rows[i].begin_ns : first;
	return first;
}

int query_causes(const struct profile *p, const struct warmup_rows *rows, struct causes *causes,
                 struct error *err)
{
	cleanup(asking) struct asking a = { 0 };
	uint64_t begin = first_begin(rows);

	*causes = (struct causes){ 0 };
	if (!rows->steady_ns || begin >= rows->steady_ns)
		return 0;
	if (!asking_init(&a, p))
		return error_set(err, ENOMEM, "could not look for causes");
	// From 0 on means the whole run where there is no end, either.
	struct causes slow = causes_in(&a, begin, rows->steady_ns);
	struct causes steady = causes_in(&a, rows->steady_ns, 0);
	leave_out_steady(&slow, &steady);
	*causes = slow;
	return 0;
}
