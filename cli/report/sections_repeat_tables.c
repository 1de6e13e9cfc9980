// SPDX-License-Identifier: MIT
// Repeated runs as tables: each run, what was measured of each side, and sides against the first.
#include "cli/report/sections.h"

#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

REPORT_KEEPS(repeat_rows, struct repeat_rows *);

static void make_exit_status(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct repeat *run = data;

	(void)s;
	cell->integer = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : 0;
	cell->flags = WIFEXITED(run->status) ? 0 : CELL_UNKNOWN;
}

static void make_signal(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct repeat *run = data;

	(void)s;
	cell->count = WIFSIGNALED(run->status) ? (uint64_t)WTERMSIG(run->status) : 0;
}

#define SHEET(place) .at = { [READER_SHEET] = (place) }
#define KNOWN        .none = { [READER_SHEET] = true }

static const struct section_column run_columns[] = {
	{ "side", .type = CELL_LABEL, SHEET(1), KNOWN, FIELD(struct repeat, side) },
	{ "begin_ns", .type = CELL_NS, SHEET(2), FIELD(struct repeat, begin_ns) },
	{ "exit_status", .type = CELL_INTEGER, SHEET(3), .make = make_exit_status },
	{ "signal", .type = CELL_LABEL, SHEET(4), KNOWN, .make = make_signal },
	{ "wall_ns", .type = CELL_NS, SHEET(5), FIELD(struct repeat, wall_ns) },
	{ "user_ns", .type = CELL_NS, SHEET(6), FIELD(struct repeat, user_ns) },
	{ "system_ns", .type = CELL_NS, SHEET(7), FIELD(struct repeat, system_ns) },
	{ "peak_rss_bytes", .type = CELL_BYTES, SHEET(8), FIELD(struct repeat, peak_rss_bytes) },
	{ "calls", .type = CELL_COUNT, SHEET(9), KNOWN, FIELD(struct repeat, calls) },
	{ "calls_ns", .type = CELL_NS, SHEET(10), KNOWN, FIELD(struct repeat, calls_ns) },
	{ "median_call_ns", .type = CELL_NS, SHEET(11), KNOWN, FIELD(struct repeat, call_ns) },
	{ "range_cost_ns", .type = CELL_NS, SHEET(12), KNOWN, FIELD(struct repeat, cost_ns) },
};

struct section *section_repeat_runs(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "repeats", NULL);
	size_t count;
	const struct repeat *runs = query_repeat_runs(r->profile, &count);

	SECTION_COLUMNS(s, run_columns);
	section_rows(s, runs, count, sizeof(*runs));
	return section_end(s, err);
}

// One of the values that are measured of a side.
struct measured {
	uint64_t side;
	const char *command, *range, *metric, *unit, *language, *variant;
	uint32_t threads;
	uint32_t runs, failed;
	bool slow_first;
	double low, high, iqr;
	struct spread spread;
};

static bool are_few(const struct spread *spread)
{
	return spread->count < SPREAD_COUNT_MIN;
}

static struct measured measured_of(uint64_t side, const struct repeat_row *row,
                                   const struct spread *spread, const char *metric,
                                   const char *unit)
{
	return (struct measured){
		.side = side,
		.command = row->command,
		.range = row->range,
		.metric = metric,
		.unit = unit,
		.runs = row->runs,
		.failed = row->failed,
		.slow_first = row->slow_first,
		.low = are_few(spread) ? NAN : spread->low,
		.high = are_few(spread) ? NAN : spread->high,
		.iqr = round(spread->q3) - round(spread->q1), // as the report shows them
		.spread = *spread,
		.language = row->language == REPEAT_CXX      ? "c++"
		            : row->language == REPEAT_PYTHON ? "python"
		                                             : NULL,
		.variant = row->variant,
		.threads = row->threads,
	};
}

// A call of a statement may take less than a nanosecond.
static struct spread in_picoseconds(const struct spread *ns)
{
	struct spread ps = *ns;
	double *const of[] = { &ps.median, &ps.q1,  &ps.q3,   &ps.min, &ps.max,
		               &ps.mean,   &ps.low, &ps.high, &ps.mad };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		*of[i] *= 1000;
	return ps;
}

static const struct section_column spread_columns[] = {
	{ "side", .type = CELL_LABEL, SHEET(1), KNOWN, FIELD(struct measured, side) },
	{ "command", .type = CELL_TEXT, SHEET(2), FIELD(struct measured, command) },
	{ "range", .type = CELL_TEXT, SHEET(3), FIELD(struct measured, range) },
	{ "metric", .type = CELL_TEXT, SHEET(4), FIELD(struct measured, metric) },
	{ "unit", .type = CELL_TEXT, SHEET(5), FIELD(struct measured, unit) },
	{ "runs", .type = CELL_COUNT, SHEET(6), FIELD(struct measured, runs) },
	{ "failed", .type = CELL_COUNT, SHEET(7), FIELD(struct measured, failed) },
	{ "median", .type = CELL_INTEGER, SHEET(8), FIELD(struct measured, spread.median) },
	{ "low", .type = CELL_INTEGER, SHEET(9), FIELD(struct measured, low) },
	{ "high", .type = CELL_INTEGER, SHEET(10), FIELD(struct measured, high) },
	{ "q1", .type = CELL_INTEGER, SHEET(11), FIELD(struct measured, spread.q1) },
	{ "q3", .type = CELL_INTEGER, SHEET(12), FIELD(struct measured, spread.q3) },
	{ "iqr", .type = CELL_INTEGER, SHEET(13), FIELD(struct measured, iqr) },
	{ "min", .type = CELL_INTEGER, SHEET(14), FIELD(struct measured, spread.min) },
	{ "max", .type = CELL_INTEGER, SHEET(15), FIELD(struct measured, spread.max) },
	{ "mean", .type = CELL_INTEGER, SHEET(16), FIELD(struct measured, spread.mean) },
	{ "significant_figures", .type = CELL_COUNT, SHEET(17),
	  FIELD(struct measured, spread.figures) },
	{ "outliers", .type = CELL_COUNT, SHEET(18), FIELD(struct measured, spread.outliers) },
	{ "slow_first", .type = CELL_BOOL, SHEET(19), FIELD(struct measured, slow_first) },
	{ "language", .type = CELL_TEXT, SHEET(20), FIELD(struct measured, language) },
	{ "threads", .type = CELL_COUNT, SHEET(21), KNOWN, FIELD(struct measured, threads) },
	{ "variant", .type = CELL_TEXT, SHEET(22), FIELD(struct measured, variant) },
};

struct section *section_repeat_spreads(struct report *r, struct error *err)
{
	static const struct {
		const char *name, *unit;
	} metrics[REPEAT_METRICS] = {
		[REPEAT_WALL] = { "wall", "ns" },     [REPEAT_USER] = { "user", "ns" },
		[REPEAT_SYSTEM] = { "system", "ns" }, [REPEAT_PEAK_RSS] = { "peak_rss", "bytes" },
		[REPEAT_CALL] = { "call", "ns" },
	};
	const struct repeat_rows *rows = keep_repeat_rows(r, query_repeats(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "repeat_spreads", NULL);
	SECTION_COLUMNS(s, spread_columns);
	for (size_t i = 0; i < rows->count && i < REPEAT_SIDES_MAX; i++)
		for (int m = 0; m < REPEAT_METRICS; m++) {
			const struct repeat_row *row = &rows->rows[i];
			bool fine = m == REPEAT_CALL && row->language;
			struct spread spread =
				fine ? in_picoseconds(&row->spread[m]) : row->spread[m];
			const struct measured measured =
				measured_of(i + 1, row, &spread, metrics[m].name,
			                    fine ? "ps" : metrics[m].unit);
			if (m != REPEAT_CALL || row->range || row->language)
				section_row(s, &measured);
		}
	return section_end(s, err);
}

struct quotient {
	uint64_t base, other, pairs;
	double median, low, high;
};

static const struct section_column ratio_columns[] = {
	{ "base", .type = CELL_LABEL, SHEET(1), KNOWN, FIELD(struct quotient, base) },
	{ "other", .type = CELL_LABEL, SHEET(2), KNOWN, FIELD(struct quotient, other) },
	{ "pairs", .type = CELL_COUNT, SHEET(3), FIELD(struct quotient, pairs) },
	{ "median", .type = CELL_NUMBER, SHEET(4), FIELD(struct quotient, median) },
	{ "low", .type = CELL_NUMBER, SHEET(5), FIELD(struct quotient, low) },
	{ "high", .type = CELL_NUMBER, SHEET(6), FIELD(struct quotient, high) },
};

struct section *section_repeat_ratios(struct report *r, struct error *err)
{
	const struct repeat_rows *rows = keep_repeat_rows(r, query_repeats(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "repeat_ratios", NULL);
	SECTION_COLUMNS(s, ratio_columns);
	for (size_t i = 1; i < rows->count && i < REPEAT_SIDES_MAX; i++) {
		struct spread spread;
		if (query_repeat_ratio(r->profile, 1, (uint32_t)i + 1, &spread, err) < 0)
			return NULL;
		const struct quotient q = { .base = 1,
			                    .other = i + 1,
			                    .pairs = spread.count,
			                    .median = spread.median,
			                    .low = are_few(&spread) ? NAN : spread.low,
			                    .high = are_few(&spread) ? NAN : spread.high };
		section_row(s, &q);
	}
	return section_end(s, err);
}
