// SPDX-License-Identifier: MIT
// Of profiles that are no recorded runs: repeated ones, and counted instructions.
#include "cli/export/tables.h"
#include "merge/profile/profile.h"
#include "merge/query/query_counts.h"
#include "merge/query/query_repeats.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

static void put_run(struct sheet *s, const void *row)
{
	const struct repeat *run = row;
	bool exited = WIFEXITED(run->status), killed = WIFSIGNALED(run->status);

	sheet_known(s, "side", run->side);
	sheet_count(s, "begin_ns", run->begin_ns);
	if (exited)
		sheet_integer(s, "exit_status", WEXITSTATUS(run->status));
	else
		sheet_text(s, "exit_status", NULL);
	sheet_known(s, "signal", killed ? (uint64_t)WTERMSIG(run->status) : 0);
	sheet_count(s, "wall_ns", run->wall_ns);
	sheet_count(s, "user_ns", run->user_ns);
	sheet_count(s, "system_ns", run->system_ns);
	sheet_count(s, "peak_rss_bytes", run->peak_rss_bytes);
	sheet_known(s, "calls", run->calls);
	sheet_known(s, "calls_ns", run->calls_ns);
	sheet_known(s, "median_call_ns", run->call_ns);
}

static int write_runs(struct sheet *s, const struct exporting *e, struct error *err)
{
	size_t count;
	const struct repeat *runs = query_repeat_runs(e->profile, &count);

	(void)err;
	sheet_rows(s, put_run, runs, count, sizeof(*runs), &(struct repeat){ 0 });
	return 0;
}

// One of the values that are measured of a side.
struct measured {
	size_t side;
	const struct repeat_row *row;
	enum repeat_metric metric;
};

// Of ns and bytes there are no parts.
static void put_whole(struct sheet *s, const char *column, double number)
{
	if (isfinite(number))
		sheet_integer(s, column, llround(number));
	else
		sheet_text(s, column, NULL);
}

static void put_spread(struct sheet *s, const void *row)
{
	static const struct {
		const char *name, *unit;
	} metrics[REPEAT_METRICS] = {
		[REPEAT_WALL] = { "wall", "ns" },     [REPEAT_USER] = { "user", "ns" },
		[REPEAT_SYSTEM] = { "system", "ns" }, [REPEAT_PEAK_RSS] = { "peak_rss", "bytes" },
		[REPEAT_CALL] = { "call", "ns" },
	};
	static const struct repeat_row none = { 0 };
	const struct measured *m = row;
	const struct repeat_row *of = m->row ? m->row : &none;
	const struct spread *spread = &of->spread[m->metric];

	sheet_known(s, "side", m->side);
	sheet_text(s, "command", of->command);
	sheet_text(s, "range", of->range);
	sheet_text(s, "metric", metrics[m->metric].name);
	sheet_text(s, "unit", metrics[m->metric].unit);
	sheet_count(s, "runs", of->runs);
	sheet_count(s, "failed", of->failed);
	put_whole(s, "median", spread->median);
	put_whole(s, "low", spread->count < SPREAD_COUNT_MIN ? NAN : spread->low);
	put_whole(s, "high", spread->count < SPREAD_COUNT_MIN ? NAN : spread->high);
	put_whole(s, "q1", spread->q1);
	put_whole(s, "q3", spread->q3);
	put_whole(s, "iqr", round(spread->q3) - round(spread->q1)); // as they are told
	put_whole(s, "min", spread->min);
	put_whole(s, "max", spread->max);
	put_whole(s, "mean", spread->mean);
	sheet_count(s, "significant_figures", (uint64_t)spread->figures);
	sheet_count(s, "outliers", spread->outliers);
	sheet_bool(s, "slow_first", of->slow_first);
}

static int write_spreads(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(repeat_rows) struct repeat_rows *rows = query_repeats(e->profile, err);
	struct measured all[REPEAT_SIDES_MAX * REPEAT_METRICS];
	size_t count = 0;

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count && i < REPEAT_SIDES_MAX; i++)
		for (int m = 0; m < REPEAT_METRICS; m++)
			if (m != REPEAT_CALL || rows->rows[i].range)
				all[count++] = (struct measured){ i + 1, &rows->rows[i],
					                          (enum repeat_metric)m };
	sheet_rows(s, put_spread, all, count, sizeof(*all), &(struct measured){ 0 });
	return 0;
}

struct quotient {
	size_t base, other;
	struct spread spread;
};

static void put_quotient(struct sheet *s, const void *row)
{
	const struct quotient *q = row;
	bool few = q->spread.count < SPREAD_COUNT_MIN;

	sheet_known(s, "base", q->base);
	sheet_known(s, "other", q->other);
	sheet_count(s, "pairs", q->spread.count);
	sheet_number(s, "median", q->spread.median);
	sheet_number(s, "low", few ? NAN : q->spread.low);
	sheet_number(s, "high", few ? NAN : q->spread.high);
}

static int write_quotients(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(repeat_rows) struct repeat_rows *rows = query_repeats(e->profile, err);
	struct quotient all[REPEAT_SIDES_MAX];
	size_t count = 0;

	if (!rows)
		return -1;
	for (size_t i = 1; i < rows->count && i < REPEAT_SIDES_MAX; i++, count++) {
		all[count] = (struct quotient){ .base = 1, .other = i + 1 };
		if (query_repeat_ratio(e->profile, 1, (uint32_t)i + 1,
		                       repeat_metric_of(&rows->rows[0]), &all[count].spread,
		                       err) < 0)
			return -1;
	}
	sheet_rows(s, put_quotient, all, count, sizeof(*all), &(struct quotient){ 0 });
	return 0;
}

static void put_count(struct sheet *s, const void *data)
{
	const struct count_row *row = data;

	sheet_text(s, "name", row->name);
	sheet_text(s, "file", row->file);
	sheet_text(s, "module", row->module);
	sheet_integer(s, "self_instructions", row->self);
	sheet_integer(s, "total_instructions", row->total);
	sheet_integer(s, "calls", row->calls);
}

static void put_counted_line(struct sheet *s, const void *data)
{
	const struct count_row *row = data;

	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line > 0 ? (uint64_t)row->line : 0);
	sheet_integer(s, "self_instructions", row->self);
}

// All of them, what varies from run to run as well: they sum to what was executed.
static int write_counted(struct sheet *s, const struct exporting *e, enum counts_by by,
                         struct error *err)
{
	const struct counts_query query = { .by = by, .noise = true };
	cleanup(count_rows) struct count_rows *rows = query_counts(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, by == COUNTS_BY_LINE ? put_counted_line : put_count, rows->rows, rows->count,
	           sizeof(*rows->rows), &(struct count_row){ 0 });
	return 0;
}

static int write_counts(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_counted(s, e, COUNTS_BY_FUNCTION, err);
}

static int write_count_lines(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_counted(s, e, COUNTS_BY_LINE, err);
}

static void put_total(struct sheet *s, const void *data)
{
	const struct count_rows *rows = data;

	sheet_count(s, "instructions", rows->all);
	sheet_integer(s, "noise_instructions", rows->noise);
	sheet_count(s, "unnamed_instructions", rows->unnamed);
	sheet_text(s, "unnamed_module", rows->unnamed_module);
	sheet_count(s, "unlined_instructions", rows->unlined);
	sheet_text(s, "unlined_module", rows->unlined_module);
}

static int write_count_totals(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct counts_query query = { .by = COUNTS_BY_FUNCTION };
	cleanup(count_rows) struct count_rows *rows = query_counts(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_total, rows, profile_has_counts(e->profile), sizeof(*rows),
	           &(struct count_rows){ 0 });
	return 0;
}

const struct export_table tables_of_measurements[] = {
	{ "repeats", .write = write_runs },
	{ "repeat_spreads", .write = write_spreads },
	{ "repeat_ratios", .write = write_quotients },
	{ "count_totals", .write = write_count_totals },
	{ "counts", .write = write_counts },
	{ "count_lines", .write = write_count_lines },
	{ 0 },
};
