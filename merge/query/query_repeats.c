// SPDX-License-Identifier: MIT
#include "merge/query/query_repeats.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/profile/repeats.h"

#include <errno.h>
#include <stdlib.h>

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not compare the runs");
}

static double value_of(const struct repeat *repeat, bool statement, enum repeat_metric metric)
{
	switch (metric) {
	case REPEAT_WALL:
		return (double)repeat->wall_ns;
	case REPEAT_USER:
		return (double)repeat->user_ns;
	case REPEAT_SYSTEM:
		return (double)repeat->system_ns;
	case REPEAT_PEAK_RSS:
		return (double)repeat->peak_rss_bytes;
	default:
		break;
	}
	return statement ? (double)repeat->calls_ns / (double)repeat->calls
	                 : (double)repeat->call_ns;
}

// A run without a call of the range has no time of it.
static bool counts(const struct repeat *repeat, uint32_t side, enum repeat_metric metric)
{
	return repeat->side == side && repeat->status == 0 &&
	       (metric != REPEAT_CALL || repeat->calls);
}

double *query_repeat_values(const struct profile *p, uint32_t side, enum repeat_metric metric,
                            size_t *count, struct error *err)
{
	const struct repeats *r = profile_repeats(p);
	bool statement = side && side <= r->side_count && r->sides[side - 1].language;
	double *values = calloc((size_t)r->count + 1, sizeof(*values));

	if (!values) {
		no_memory(err);
		return NULL;
	}
	*count = 0;
	for (uint32_t i = 0; i < r->count; i++)
		if (counts(&r->repeats[i], side, metric))
			values[(*count)++] = value_of(&r->repeats[i], statement, metric);
	return values;
}

const struct repeat *query_repeat_runs(const struct profile *p, size_t *count)
{
	*count = profile_repeats(p)->count;
	return profile_repeats(p)->repeats;
}

static void count_runs(const struct repeats *r, uint32_t side, struct repeat_row *row)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct repeat *repeat = &r->repeats[i];
		if (repeat->side != side)
			continue;
		row->runs += repeat->status == 0;
		row->failed += repeat->status != 0;
		row->calls += repeat->status == 0 ? repeat->calls : 0;
	}
}

// Judged by the others alone: a first run that is ten times as slow makes the spread itself wide.
static bool is_slow_first(const double *values, size_t count, bool *slow)
{
	struct spread others;

	if (count < 4 || !spread_of(values + 1, count - 1, &others))
		return count < 4;
	*slow = values[0] > others.median && spread_is_far(&others, values[0]);
	return true;
}

// What recording a call of the range has cost in the runs that count.
static int fill_cost(const struct repeats *r, uint32_t side, struct repeat_row *row,
                     struct error *err)
{
	cleanup_free double *values = calloc((size_t)r->count + 1, sizeof(*values));
	struct spread spread;
	size_t count = 0;

	if (!values)
		return no_memory(err);
	row->cost = REPEAT_COST_WHOLE;
	for (uint32_t i = 0; i < r->count; i++) {
		if (!counts(&r->repeats[i], side, REPEAT_CALL))
			continue;
		values[count++] = (double)r->repeats[i].cost_ns;
		if (r->repeats[i].cost < row->cost)
			row->cost = (enum repeat_cost)r->repeats[i].cost;
	}
	if (!count || !row->range)
		row->cost = REPEAT_COST_UNKNOWN;
	if (!spread_of(values, count, &spread))
		return no_memory(err);
	row->cost_ns = row->cost ? (uint64_t)(spread.median + 0.5) : 0;
	return 0;
}

static int fill_row(const struct profile *p, uint32_t side, struct repeat_row *row,
                    struct error *err)
{
	const struct repeat_side *s = &profile_repeats(p)->sides[side - 1];

	row->command = profile_string(p, s->command);
	row->range = s->range ? profile_string(p, s->range) : NULL;
	row->language = (enum repeat_language)s->language;
	row->threads = s->threads;
	row->setup = s->setup ? profile_string(p, s->setup) : NULL;
	row->variant = s->variant ? profile_string(p, s->variant) : NULL;
	count_runs(profile_repeats(p), side, row);
	if (fill_cost(profile_repeats(p), side, row, err) < 0)
		return -1;
	for (int m = 0; m < REPEAT_METRICS; m++) {
		size_t count;
		cleanup_free double *values =
			query_repeat_values(p, side, (enum repeat_metric)m, &count, err);
		if (!values)
			return -1;
		if (!spread_of(values, count, &row->spread[m]))
			return no_memory(err);
		if (m != (int)repeat_metric_of(row) || !count)
			continue;
		row->first = values[0];
		if (!is_slow_first(values, count, &row->slow_first))
			return no_memory(err);
	}
	return 0;
}

bool profile_has_repeats(const struct profile *p)
{
	return profile_repeats(p)->side_count > 0;
}

struct repeat_rows *query_repeats(const struct profile *p, struct error *err)
{
	uint32_t sides = profile_repeats(p)->side_count;
	cleanup(repeat_rows) struct repeat_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->rows = calloc((size_t)sides + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows) {
		no_memory(err);
		return NULL;
	}
	rows->count = sides;
	for (uint32_t side = 1; side <= sides; side++)
		if (fill_row(p, side, &rows->rows[side - 1], err) < 0)
			return NULL;
	return steal(rows);
}

void repeat_rows_free(struct repeat_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows);
}

static enum repeat_metric metric_of(const struct profile *p, uint32_t side)
{
	const struct repeat_side *s = &profile_repeats(p)->sides[side - 1];

	return s->range || s->language ? REPEAT_CALL : REPEAT_WALL;
}

int query_repeat_ratio(const struct profile *p, uint32_t base, uint32_t other, struct spread *ratio,
                       struct error *err)
{
	size_t base_count, other_count, pairs = 0;
	cleanup_free double *a = query_repeat_values(p, base, metric_of(p, base), &base_count, err);
	cleanup_free double *b =
		a ? query_repeat_values(p, other, metric_of(p, other), &other_count, err) : NULL;

	if (!a || !b)
		return -1;
	for (size_t i = 0; i < base_count && i < other_count; i++)
		if (a[i] > 0)
			a[pairs++] = b[i] / a[i];
	return spread_of(a, pairs, ratio) ? 0 : no_memory(err);
}
