// SPDX-License-Identifier: MIT
#include "cli/report/repeats_json.h"

#include "base/cleanup.h"
#include "cli/json.h"
#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[REPEAT_METRICS] = {
	[REPEAT_WALL] = "wall_ns",     [REPEAT_USER] = "user_ns",
	[REPEAT_SYSTEM] = "system_ns", [REPEAT_PEAK_RSS] = "peak_rss_bytes",
	[REPEAT_CALL] = "call_ns",
};

// Of ns and bytes there are no parts.
static void put_whole(struct json *j, const char *key, double number)
{
	if (isfinite(number))
		json_put_integer(j, key, llround(number));
	else
		json_put_null(j, key);
}

typedef void put_value(struct json *j, const char *key, double value);

// Of a call of a STATEMENT parts of a ns count.
static int put_spread(struct json *j, const struct profile *p, uint32_t side, bool statement,
                      enum repeat_metric metric, const struct spread *s, struct error *err)
{
	size_t count;
	cleanup_free double *values = query_repeat_values(p, side, metric, &count, err);

	if (!values)
		return -1;
	put_value *put = statement && metric == REPEAT_CALL ? json_put_number : put_whole;

	json_open(j, names[metric], '{');
	put(j, "median", s->median);
	put(j, "low", s->low);
	put(j, "high", s->high);
	put(j, "q1", s->q1);
	put(j, "q3", s->q3);
	put(j, "min", s->min);
	put(j, "max", s->max);
	put(j, "mean", s->mean);
	json_put_integer(j, "significant_figures", s->figures);
	json_put_count(j, "outliers", s->outliers);
	json_open(j, "values", '[');
	for (size_t i = 0; i < count; i++)
		put(j, NULL, values[i]);
	json_close(j);
	json_close(j);
	return 0;
}

static int put_side(struct json *j, const struct profile *p, uint32_t side,
                    const struct repeat_row *row, struct error *err)
{
	json_open(j, NULL, '{');
	json_put_text(j, "command", row->command);
	json_put_text(j, "range", row->range);
	json_put_count(j, "runs", row->runs);
	json_put_count(j, "failed", row->failed);
	json_put_count(j, "calls", row->calls);
	json_put_bool(j, "slow_first", row->slow_first);
	if (row->cost)
		json_put_count(j, "range_cost_ns", row->cost_ns);
	else
		json_put_null(j, "range_cost_ns");
	json_put_text(j, "range_cost",
	              row->cost == REPEAT_COST_WHOLE  ? "whole"
	              : row->cost == REPEAT_COST_PART ? "part"
	                                              : NULL);
	json_put_text(j, "language",
	              row->language == REPEAT_CXX      ? "c++"
	              : row->language == REPEAT_PYTHON ? "python"
	                                               : NULL);
	json_put_text(j, "setup", row->setup);
	json_put_text(j, "variant", row->variant);
	if (row->threads)
		json_put_count(j, "threads", row->threads);
	else
		json_put_null(j, "threads");
	for (int m = 0; m < REPEAT_METRICS; m++) {
		bool statement = row->language != REPEAT_COMMAND;
		if (m == REPEAT_CALL && !row->range && !statement)
			continue;
		if (put_spread(j, p, side, statement, (enum repeat_metric)m, &row->spread[m], err) <
		    0)
			return -1;
	}
	json_close(j);
	return 0;
}

static int put_ratio(struct json *j, const struct profile *p, uint32_t side, struct error *err)
{
	struct spread r;

	if (query_repeat_ratio(p, 1, side, &r, err) < 0)
		return -1;
	json_open(j, NULL, '{');
	json_put_count(j, "base", 0);
	json_put_count(j, "other", side - 1);
	json_put_count(j, "pairs", r.count);
	json_put_number(j, "median", r.median);
	json_put_number(j, "low", r.count < SPREAD_COUNT_MIN ? NAN : r.low);
	json_put_number(j, "high", r.count < SPREAD_COUNT_MIN ? NAN : r.high);
	json_close(j);
	return 0;
}

int repeats_json_members(struct json *j, const struct profile *profile, struct error *err)
{
	cleanup(repeat_rows) struct repeat_rows *rows = query_repeats(profile, err);

	if (!rows)
		return -1;
	json_put_text(j, "schema", "bottleneck-bench");
	json_put_integer(j, "schema_version", REPEATS_JSON_VERSION);
	json_open(j, "sides", '[');
	for (size_t i = 0; i < rows->count; i++)
		if (put_side(j, profile, (uint32_t)i + 1, &rows->rows[i], err) < 0)
			return -1;
	json_close(j);
	json_open(j, "ratios", '[');
	for (size_t i = 1; i < rows->count; i++)
		if (put_ratio(j, profile, (uint32_t)i + 1, err) < 0)
			return -1;
	json_close(j);
	return 0;
}

int repeats_json(const struct profile *profile, FILE *out, struct error *err)
{
	struct json j = json_start(out);

	json_open(&j, NULL, '{');
	if (repeats_json_members(&j, profile, err) < 0)
		return -1;
	json_close(&j);
	return 0;
}
