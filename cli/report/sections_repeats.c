// SPDX-License-Identifier: MIT
// Repeated runs: what one takes, or how two compare, and how far that can be trusted.
#include "cli/report/sections.h"

#include "base/clock.h"
#include "cli/format.h"
#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHORT_NS  (5 * NS_PER_MS) // below, most of a run is the start of a process (hyperfine's)
#define OTHERS    0.1             // of all CPUs, for other programs: worth a word
#define OTHERS_NS NS_PER_SEC      // the machine counts too coarsely for less
#define BUSY_CPUS 1.05

REPORT_KEEPS(repeat_rows, struct repeat_rows *);

// One side of what is measured: "A", "B" where there are several, else "".
struct side {
	const char *letter;
	const struct repeat_row *row;
};

static uint64_t ns_of(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static const struct spread *main_spread(const struct repeat_row *row)
{
	return &row->spread[repeat_metric_of(row)];
}

static struct side side_at(const struct repeat_rows *rows, size_t index)
{
	static const char *const letters[] = { "A", "B", "C", "D", "E", "F", "G", "H",
		                               "I", "J", "K", "L", "M", "N", "O", "P" };
	bool lettered = rows->count > 1 && index < sizeof(letters) / sizeof(letters[0]);

	return (struct side){ lettered ? letters[index] : "", &rows->rows[index] };
}

static void make_command(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	cell->text = side->row->command;
}

static const struct section_column side_columns[] = {
	{ "letter", .type = CELL_TEXT, .at = { 1 }, FIELD(struct side, letter) },
	{ "command", .type = CELL_TEXT, .at = { 2 }, .make = make_command },
};

static struct section *make_sides(struct report *r, const struct repeat_rows *rows)
{
	const struct repeat_row *first = &rows->rows[0];
	struct section *s = section_new(r, "sides", NULL);

	s->form = SECTION_SIDES;
	s->shown = true;
	s->title = report_say(r, "bottleneck bench: %s run%s%s", format_count(first->runs).text,
	                      first->runs == 1 ? "" : "s",
	                      rows->count > 1 ? " of each, in turns" : "");
	s->subtitle = report_say(r, "%s", format_duration(profile_run(r->profile)->wall_ns).text);
	SECTION_COLUMNS(s, side_columns);
	for (size_t i = 0; i < rows->count; i++) {
		const struct side side = side_at(rows, i);
		section_row(s, &side);
	}
	if (first->range)
		section_say(s, "times of calls of %s; of each run the median", first->range);
	return s;
}

static void say_alone(struct section *s, const struct repeat_row *row)
{
	const struct spread *of = main_spread(row);
	const char *what = row->range ? "A call" : "A run";
	struct short_text median = format_figures(ns_of(of->median), of->figures);

	if (!of->count)
		section_say(s, "No run has called it.");
	else if (of->count < SPREAD_COUNT_MIN)
		section_say(s,
		            "%s takes %s. With less than %d runs nobody knows how far that is off.",
		            what, median.text, SPREAD_COUNT_MIN);
	else
		section_say(s, "%s takes %s (with 95 %% confidence %s to %s).", what, median.text,
		            format_figures(ns_of(of->low), 4).text,
		            format_figures(ns_of(of->high), 4).text);
}

// Near 1 every digit counts.
static int digits_of(double ratio)
{
	return ratio < 2 ? 3 : ratio < 10 ? 2 : 1;
}

static int say_pair(struct section *s, const struct repeat_rows *rows, size_t other,
                    struct error *err)
{
	enum repeat_metric metric = repeat_metric_of(&rows->rows[0]);
	struct spread r;

	if (query_repeat_ratio(s->report->profile, 1, (uint32_t)other + 1, metric, &r, err) < 0)
		return -1;
	const char *name = side_at(rows, other).letter;
	if (r.count < SPREAD_COUNT_MIN)
		section_say(s, "Less than %d pairs of runs: which is faster cannot be determined.",
		            SPREAD_COUNT_MIN);
	else if (r.low <= 1 && r.high >= 1)
		section_say(
			s,
			"No significant difference: %s takes %.3f to %.3f times as long as A (95 %%, "
			"%zu pairs).",
			name, r.low, r.high, r.count);
	else if (r.median < 1)
		section_say(
			s,
			"%s is %.*f times as fast as A (with 95 %% confidence %.*f to %.*f, %zu "
			"pairs).",
			name, digits_of(1 / r.median), 1 / r.median, digits_of(1 / r.median),
			1 / r.high, digits_of(1 / r.median), 1 / r.low, r.count);
	else
		section_say(
			s,
			"%s is slower: it takes %.*f times as long as A (with 95 %% confidence %.*f to "
			"%.*f, %zu pairs).",
			name, digits_of(r.median), r.median, digits_of(r.median), r.low,
			digits_of(r.median), r.high, r.count);
	return 0;
}

// "122.9 to 124.1 ms"
static void make_interval(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);

	if (isnan(of->low))
		return;
	struct time_unit unit = format_time_unit(ns_of(of->high));
	cell->text = report_say(s->report, "%.*f to %s", unit.digits, of->low / unit.ns,
	                        format_time(ns_of(of->high), unit).text);
}

static void make_median(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);

	cell->text =
		report_say(s->report, "%s", format_figures(ns_of(of->median), of->figures).text);
}

static void make_iqr(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);

	cell->text = report_say(s->report, "%.1f %%",
	                        of->median > 0 ? 100 * (of->q3 - of->q1) / of->median : 0.0);
}

static void make_min(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	cell->count = ns_of(main_spread(side->row)->min);
}

static void make_max(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	cell->count = ns_of(main_spread(side->row)->max);
}

static void make_calls(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	cell->count = side->row->calls;
}

static uint64_t median_of(const struct side *side, enum repeat_metric metric)
{
	return ns_of(side->row->spread[metric].median);
}

static void make_whole(const struct section *s, const void *side, struct section_cell *cell)
{
	(void)s;
	cell->count = median_of(side, REPEAT_WALL);
}

static void make_user(const struct section *s, const void *side, struct section_cell *cell)
{
	(void)s;
	cell->count = median_of(side, REPEAT_USER);
}

static void make_system(const struct section *s, const void *side, struct section_cell *cell)
{
	(void)s;
	cell->count = median_of(side, REPEAT_SYSTEM);
}

static void make_peak(const struct section *s, const void *side, struct section_cell *cell)
{
	(void)s;
	cell->count = median_of(side, REPEAT_PEAK_RSS);
}

#define DURATION .type = CELL_NS, .form = FORM_DURATION

static const struct section_column columns[] = {
	{ "letter", .heading = "", .type = CELL_TEXT, .at = { 1 }, FIELD(struct side, letter) },
	{ "median", .heading = "median", .type = CELL_TEXT, .at = { 2 }, .right = true,
	  .make = make_median },
	{ "interval", .heading = "95 %", .type = CELL_TEXT, .at = { 3 }, .right = true,
	  .nothing = "-", .make = make_interval },
	{ "iqr", .heading = "IQR", .type = CELL_TEXT, .at = { 4 }, .right = true,
	  .make = make_iqr },
	{ "min", .heading = "min", DURATION, .at = { 5 }, .make = make_min },
	{ "max", .heading = "max", DURATION, .at = { 6 }, .make = make_max },
};

// Of whole runs, and of calls of a range.
static const struct section_column run_columns[] = {
	{ "user", .heading = "user", DURATION, .at = { 7 }, .make = make_user },
	{ "system", .heading = "system", DURATION, .at = { 8 }, .make = make_system },
	{ "peak_rss", .heading = "peak RSS", .type = CELL_BYTES, .at = { 9 }, .make = make_peak },
};

static const struct section_column call_columns[] = {
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 7 }, .make = make_calls },
	{ "whole_run", .heading = "whole run", DURATION, .at = { 8 }, .make = make_whole },
};

static struct section *make_table(struct report *r, const struct repeat_rows *rows)
{
	struct section *s = section_new(r, "spreads", NULL);

	s->shown = true;
	SECTION_COLUMNS(s, columns);
	if (rows->rows[0].range)
		SECTION_COLUMNS(s, call_columns);
	else
		SECTION_COLUMNS(s, run_columns);
	for (size_t i = 0; i < rows->count; i++) {
		const struct side side = side_at(rows, i);
		if (main_spread(side.row)->count)
			section_row(s, &side);
	}
	return s;
}

// What makes the figures worth less, and what to do about it.
static void say_doubts(struct section *s, const struct repeat_row *row, const char *name)
{
	const struct spread *of = main_spread(row);
	double share = of->median > 0 ? (of->q3 - of->q1) / of->median : 0;
	const char *sep = *name ? ": " : "";

	if (row->slow_first)
		section_say(
			s,
			"%s%sThe first run took %.1f times as long as the median: caches were cold. "
			"--warmup 1 leaves it out.",
			name, sep, row->first / of->median);
	if (of->outliers > (row->slow_first ? 1 : 0))
		section_say(
			s, "%s%s%zu of %zu runs are far from the others: something disturbed them.",
			name, sep, of->outliers, of->count);
	if (share > SPREAD_VERY_UNSTEADY)
		section_say(
			s,
			"%s%sRuns vary very much (IQR %.0f %% of the median): find out what else the "
			"machine does.",
			name, sep, 100 * share);
	else if (share > SPREAD_UNSTEADY)
		section_say(s,
		            "%s%sRuns vary (IQR %.0f %% of the median): use more of them (--runs).",
		            name, sep, 100 * share);
	if (!row->range && of->count && of->median < SHORT_NS)
		section_say(
			s,
			"%s%sA run takes less than 5 ms: most of that is the start of a process. "
			"--range measures a part of it.",
			name, sep);
	if (row->failed)
		section_say(s, "%s%s%u runs failed, and do not count.", name, sep, row->failed);
}

static void say_cpus(struct section *s, const struct repeat_row *row, const char *name)
{
	double wall = row->spread[REPEAT_WALL].median;
	double cpu = row->spread[REPEAT_USER].median + row->spread[REPEAT_SYSTEM].median;

	if (!row->range && wall > 0 && cpu / wall > BUSY_CPUS)
		section_say(s, "%s%sIt keeps %.1f CPUs busy.", name, *name ? ": " : "", cpu / wall);
}

static double cpu_ns(const struct repeat_row *row)
{
	return (row->spread[REPEAT_USER].mean + row->spread[REPEAT_SYSTEM].mean) *
	       (double)row->spread[REPEAT_USER].count;
}

static void say_others(struct section *s, const struct repeat_rows *rows)
{
	const struct run *run = profile_run(s->report->profile);
	double others = (double)run->machine_busy_ns;
	double all = (double)run->machine_cpus * (double)run->wall_ns;

	for (size_t i = 0; i < rows->count; i++)
		others -= cpu_ns(&rows->rows[i]);
	if (run->wall_ns >= OTHERS_NS && all > 0 && others / all > OTHERS)
		section_say(s, "Other programs kept %.1f of %u CPUs busy meanwhile.",
		            others / (double)run->wall_ns, run->machine_cpus);
}

struct section *section_repeats(struct report *r, struct error *err)
{
	const struct repeat_rows *rows = keep_repeat_rows(r, query_repeats(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *sides = make_sides(r, rows);
	struct section *verdict = section_new(r, "verdict", NULL);
	struct section *table = make_table(r, rows);
	struct section *doubts = section_new(r, "doubts", NULL);

	verdict->shown = true;
	if (rows->count == 1)
		say_alone(verdict, &rows->rows[0]);
	for (size_t i = 1; i < rows->count; i++)
		if (say_pair(verdict, rows, i, err) < 0)
			return NULL;
	doubts->shown = true;
	for (size_t i = 0; i < rows->count; i++) {
		const struct side side = side_at(rows, i);
		say_cpus(doubts, side.row, side.letter);
		say_doubts(doubts, side.row, side.letter);
	}
	say_others(doubts, rows);
	sides->next = verdict;
	verdict->next = table;
	table->next = doubts;
	return section_end(sides, err);
}
