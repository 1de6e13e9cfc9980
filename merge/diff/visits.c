// SPDX-License-Identifier: MIT
#include "merge/diff/visits.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Samples of a key in one bin of a thread.
struct visit {
	uint32_t thread, key, bin, samples;
};

struct visits {
	struct visit *visits;
	size_t count, capacity;
	double *variance; // [key - 1]
	size_t keys;
	// Of the thread that is looked at, [bin]:
	uint32_t samples[CELLS_BINS];
	uint32_t before[CELLS_BINS],
		behind[CELLS_BINS]; // the next bins with samples; CELLS_BINS: none
};

static void visits_free(struct visits *v)
{
	if (!v)
		return;
	free(v->visits);
	free(v->variance);
	free(v);
}

CLEANUP(visits, struct visits *, visits_free)

static bool add(struct visits *v, const struct visit *visit)
{
	if (!array_reserve(&v->visits, &v->capacity, v->count + 1))
		return false;
	v->visits[v->count++] = *visit;
	return true;
}

static bool add_cells(struct visits *v, const struct scope *scope, uint32_t node, uint32_t thread,
                      uint32_t key)
{
	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		struct visit visit = { thread, key, cell->bin, scope_samples(scope, cell) };
		if (cell->metric == METRIC_ON_CPU && visit.samples && !add(v, &visit))
			return false;
	}
	return true;
}

static bool collect(struct visits *v, const struct scope *scope, const struct keys *keys,
                    const uint32_t *owners)
{
	const struct paths *paths = profile_paths(scope->profile);
	cleanup_free uint32_t *threads = calloc((size_t)paths->count + 1, sizeof(*threads));

	for (uint32_t id = 1; threads && id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		threads[id - 1] = node->parent ? threads[node->parent - 1] : node->location;
		uint32_t thread = threads[id - 1], owner = owners[id - 1];
		uint32_t key = owner == OWNER_NONE ? 0 : keys->frames[owner].key;
		if (scope->threads[thread - 1] && !add_cells(v, scope, id, thread, key))
			return false;
	}
	return threads != NULL;
}

static int compare_visits(const void *a, const void *b)
{
	const struct visit *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->bin < y->bin ? -1 : x->bin > y->bin;
}

// A function has many paths: their samples of one bin become one visit.
static void join(struct visits *v)
{
	size_t kept = 0;

	if (v->count)
		qsort(v->visits, v->count, sizeof(*v->visits), compare_visits);
	for (size_t i = 0; i < v->count; i++) {
		struct visit *last = kept ? &v->visits[kept - 1] : NULL;
		if (last && compare_visits(last, &v->visits[i]) == 0)
			last->samples += v->visits[i].samples;
		else
			v->visits[kept++] = v->visits[i];
	}
	v->count = kept;
}

static void look_at_thread(struct visits *v, size_t from, size_t end)
{
	uint32_t last = CELLS_BINS;

	memset(v->samples, 0, sizeof(v->samples));
	for (size_t i = from; i < end; i++)
		v->samples[v->visits[i].bin] += v->visits[i].samples;
	for (uint32_t bin = 0; bin < CELLS_BINS; bin++) {
		v->before[bin] = last;
		if (v->samples[bin])
			last = bin;
	}
	last = CELLS_BINS;
	for (uint32_t bin = CELLS_BINS; bin--;) {
		v->behind[bin] = last;
		if (v->samples[bin])
			last = bin;
	}
}

static bool is_inside(const struct visits *v, const struct visit *visit)
{
	return 2 * visit->samples >= v->samples[visit->bin];
}

// Whether the visits AT and OTHER are of one key, next to each other, and most of both bins is its.
static bool goes_on(const struct visits *v, const struct visit *at, const struct visit *other,
                    uint32_t bin)
{
	return other && other->key == at->key && other->thread == at->thread && other->bin == bin &&
	       is_inside(v, other);
}

static double variance_at(const struct visits *v, size_t i)
{
	const struct visit *at = &v->visits[i];
	double n = v->samples[at->bin], share = at->samples / n;
	double variance = n * share * (1 - share);

	if (!is_inside(v, at))
		return variance;
	const struct visit *last = i ? at - 1 : NULL, *next = i + 1 < v->count ? at + 1 : NULL;
	uint32_t before = v->before[at->bin], behind = v->behind[at->bin];
	if (before < CELLS_BINS && !goes_on(v, at, last, before))
		variance += 0.5;
	if (behind < CELLS_BINS && !goes_on(v, at, next, behind))
		variance += 0.5;
	return variance;
}

static void sum_up(struct visits *v)
{
	for (size_t from = 0, end = 0; from < v->count; from = end) {
		while (end < v->count && v->visits[end].thread == v->visits[from].thread)
			end++;
		look_at_thread(v, from, end);
		for (size_t i = from; i < end; i++)
			if (v->visits[i].key)
				v->variance[v->visits[i].key - 1] += variance_at(v, i);
	}
}

int visits_of_rows(const struct profile *p, const struct query *query, const struct rows *rows,
                   double *variance, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(keys) struct keys keys = { 0 };
	cleanup(visits) struct visits *v = calloc(1, sizeof(*v));

	// The same keys, by the same numbers, as query_run() has found.
	if (scope_init(&scope, p, query, err) < 0 ||
	    keys_init(&keys, p, query, answer_keys_wanted(query), err) < 0)
		return -1;
	cleanup_free uint32_t *owners =
		scope_owners(&scope, &keys, query->user_code ? scope_user_code : scope_shown);
	if (v)
		v->variance = calloc((size_t)keys.keys.count + 1, sizeof(*v->variance));
	if (!v || !v->variance || !owners || !collect(v, &scope, &keys, owners))
		return error_set(err, ENOMEM, "could not tell how sure the samples are");
	join(v);
	sum_up(v);
	for (size_t i = 0; i < rows->count; i++) {
		uint32_t id = answer_of(rows)->ids[i];
		variance[i] = id <= keys.keys.count ? v->variance[id - 1] : 0;
	}
	return 0;
}
