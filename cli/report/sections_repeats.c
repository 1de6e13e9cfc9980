// SPDX-License-Identifier: MIT
// Repeated runs: what one takes, or how two compare, and how far that can be trusted.
#include "cli/report/sections.h"

#include "base/clock.h"
#include "base/format.h"
#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SHORT_NS      (5 * NS_PER_MS) // below, most of a run is the start of a process (hyperfine's)
#define OTHERS        0.1             // of all CPUs, for other programs: worth a word
#define SHORT_CALL_NS (50 * NS_PER_US) // of a range: recording is a per mille of that, or more
#define OTHERS_NS     NS_PER_SEC       // the machine counts too coarsely for less
#define BUSY_CPUS     1.05
#define DOUBTS_MAX    4 // sides whose doubts are said one by one

REPORT_KEEPS(repeat_rows, struct repeat_rows *);

// One side of what is measured: "A", "B" where there are several, else "". What is measured with
// several values or numbers of threads has one letter.
struct side {
	const char *letter;
	const char *threads; /* "2 threads"; NULL: there is one number of them */
	const struct repeat_row *row;
	bool mixed; /* there are commands and statements */
};

static const struct spread *main_spread(const struct repeat_row *row)
{
	return &row->spread[repeat_metric_of(row)];
}

static uint64_t ns_of(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static bool is_same_code(const struct repeat_row *a, const struct repeat_row *b)
{
	// The same command twice, with the same threads, is compared with itself.
	bool again = a->language || a->threads != b->threads;

	return again && a->language == b->language && strcmp(a->command, b->command) == 0;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

// The first row of the same statement or command.
static size_t first_of(const struct repeat_rows *rows, size_t index)
{
	size_t i = 0;

	while (i < index && !is_same_code(&rows->rows[i], &rows->rows[index]))
		i++;
	return i;
}

// How many statements or commands there are, and the place among them of that at INDEX.
static size_t count_codes(const struct repeat_rows *rows, size_t until)
{
	size_t count = 0;

	for (size_t i = 0; i < until; i++)
		count += first_of(rows, i) == i;
	return count;
}

// Whether there are measurements that are not to be compared with each other alone.
static bool has_groups(const struct repeat_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (rows->rows[i].threads != rows->rows[0].threads ||
		    !is_same_text(rows->rows[i].variant, rows->rows[0].variant))
			return true;
	return false;
}

// Whether commands and statements were measured in turns.
static bool are_mixed(const struct repeat_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (!rows->rows[i].language != !rows->rows[0].language)
			return true;
	return false;
}

// The first statement; NULL if there is none.
static const struct repeat_row *first_statement(const struct repeat_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].language)
			return &rows->rows[i];
	return NULL;
}

static struct side side_at(struct report *r, const struct repeat_rows *rows, size_t index)
{
	size_t place = count_codes(rows, first_of(rows, index));
	struct side side = { .letter = "", .row = &rows->rows[index], .mixed = are_mixed(rows) };

	if (count_codes(rows, rows->count) > 1)
		side.letter = place < 26 ? report_say(r, "%c", 'A' + (char)place)
		                         : report_say(r, "%zu", place + 1);
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].threads != side.row->threads)
			side.threads = report_say(r, "%u", side.row->threads);
	return side;
}

// "A, n = 64, 2 threads", for sentences; "" if there is nothing to tell it from.
static const char *name_of(struct report *r, const struct side *side)
{
	const char *letter = side->letter, *variant = side->row->variant ? side->row->variant : "";

	return report_say(r, "%s%s%s%s%s%s", letter, *letter && *variant ? ", " : "", variant,
	                  side->threads && (*letter || *variant) ? ", " : "",
	                  side->threads ? side->threads : "",
	                  !side->threads            ? ""
	                  : side->row->threads == 1 ? " thread"
	                                            : " threads");
}

// One unit and one rounding for all that is said of a side.
static struct time_unit unit_of(const struct spread *of)
{
	double width = of->count < SPREAD_COUNT_MIN ? of->q3 - of->q1 : of->high - of->low;

	return format_measured_unit(of->median, width);
}

static const struct section_column side_columns[] = {
	{ "letter", .type = CELL_TEXT, .at = { 1 }, FIELD(struct side, letter) },
	{ "command", .type = CELL_TEXT, .at = { 2 }, FIELD(struct side, threads) },
};

// Code on one line.
static const char *flatten(struct report *r, const char *code)
{
	size_t size = strlen(code) + 1;
	char *flat = report_take(r, size);

	for (size_t i = 0; flat && i < size; i++)
		flat[i] = code[i] == '\n' || code[i] == '\t' ? ' ' : code[i];
	return flat;
}

// "10 runs of each, in turns", "12 to 900 runs and blocks of each, in turns"
static const char *say_counts(struct report *r, const struct repeat_rows *rows)
{
	const struct repeat_row *first = &rows->rows[0];
	uint32_t least = first->runs, most = first->runs;
	const char *what = are_mixed(rows) ? "runs and blocks" : first->language ? "block" : "run";

	for (size_t i = 0; i < rows->count; i++) {
		least = rows->rows[i].runs < least ? rows->rows[i].runs : least;
		most = rows->rows[i].runs > most ? rows->rows[i].runs : most;
	}
	// Runs that fail do not count: the number is that of the first command.
	if (!first_statement(rows))
		least = most = first->runs;
	return report_say(r, "%s%s%s %s%s%s", format_count(least).text, least < most ? " to " : "",
	                  least < most ? format_count(most).text : "", what,
	                  most == 1 || are_mixed(rows) ? "" : "s",
	                  rows->count > 1 ? " of each, in turns" : "");
}

// What all statements have in common, and what is measured of them.
static void say_statements(struct section *s, const struct repeat_rows *rows)
{
	const struct repeat_row *first = first_statement(rows);
	const char *language = first->language == REPEAT_CXX ? "C++" : "Python";
	const char *of = are_mixed(rows) ? "of each block the time of a call, of commands the time "
	                                   "of a run"
	                                 : "of each block the time of a call";

	if (first->setup)
		section_say(s, "setup: %s", flatten(s->report, first->setup));
	if (side_at(s->report, rows, (size_t)(first - rows->rows)).threads)
		section_say(s, "%s; %s", language, of);
	else
		section_say(s, "%s, %u thread%s of libraries; %s", language, first->threads,
		            first->threads == 1 ? "" : "s", of);
}

static struct section *make_sides(struct report *r, const struct repeat_rows *rows)
{
	struct section *s = section_new(r, "sides", NULL);

	s->form = SECTION_SIDES;
	s->shown = true;
	s->title = report_say(r, "bottleneck bench: %s", say_counts(r, rows));
	s->subtitle = report_say(r, "%s", format_duration(profile_run(r->profile)->wall_ns).text);
	SECTION_COLUMNS(s, side_columns);
	for (size_t i = 0; i < rows->count; i++) {
		struct side side = side_at(r, rows, i);
		if (first_of(rows, i) != i)
			continue;
		side.threads = flatten(r, side.row->command);
		section_row(s, &side);
	}
	if (rows->rows[0].range)
		section_say(s, "times of calls of %s; of each run the median", rows->rows[0].range);
	if (first_statement(rows))
		say_statements(s, rows);
	return s;
}

static void say_alone(struct section *s, const struct repeat_row *row)
{
	const struct spread *of = main_spread(row);
	const char *what = row->range || row->language ? "A call" : "A run";
	const char *runs = row->language ? "blocks" : "runs";
	struct time_unit unit = unit_of(of);
	struct short_text median = format_measured(of->median, unit);

	if (!of->count)
		section_say(s, "No run has called it.");
	else if (of->count < SPREAD_COUNT_MIN)
		section_say(s,
		            "%s takes %s. With less than %d %s nobody knows how far that is off.",
		            what, median.text, SPREAD_COUNT_MIN, runs);
	else
		section_say(s, "%s takes %s (with 95 %% confidence %.*f to %s).", what, median.text,
		            unit.digits, of->low / unit.ns, format_measured(of->high, unit).text);
}

// Near 1 every digit counts.
static int digits_of(double ratio)
{
	return ratio < 2 ? 3 : ratio < 10 ? 2 : 1;
}

static int say_pair(struct section *s, const struct repeat_rows *rows, size_t other,
                    struct error *err)
{
	struct spread r;

	if (query_repeat_ratio(s->report->profile, 1, (uint32_t)other + 1, &r, err) < 0)
		return -1;
	const char *name = side_at(s->report, rows, other).letter;
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

// Whether I and J were measured beside each other.
static bool is_one_group(const struct repeat_rows *rows, size_t i, size_t j)
{
	const struct repeat_row *a = &rows->rows[i], *b = &rows->rows[j];

	return a->threads == b->threads && is_same_text(a->variant, b->variant);
}

// Index of the one that takes least time of those that were measured beside INDEX.
static size_t fastest_beside(const struct repeat_rows *rows, size_t index)
{
	size_t best = index;

	for (size_t i = 0; i < rows->count; i++)
		if (is_one_group(rows, i, index) && main_spread(&rows->rows[i])->count &&
		    main_spread(&rows->rows[i])->median < main_spread(&rows->rows[best])->median)
			best = i;
	return best;
}

// The fastest of several, and how the others compare to it.
static int say_fastest(struct section *s, const struct repeat_rows *rows, struct error *err)
{
	size_t best = fastest_beside(rows, 0);
	const char *text = "";

	if (!main_spread(&rows->rows[best])->count)
		return 0;
	for (size_t i = 0; i < rows->count; i++) {
		const char *name = side_at(s->report, rows, i).letter, *sep = *text ? ", " : "";
		struct spread r;
		if (i == best)
			continue;
		if (query_repeat_ratio(s->report->profile, (uint32_t)best + 1, (uint32_t)i + 1, &r,
		                       err) < 0)
			return -1;
		if (r.count < SPREAD_COUNT_MIN)
			text = report_say(s->report, "%s%s%s takes %.2f times as long", text, sep,
			                  name, r.median);
		else if (r.low <= 1 && r.high >= 1)
			text = report_say(s->report,
			                  "%s%s%s is not significantly slower (%.3f to %.3f times)",
			                  text, sep, name, r.low, r.high);
		else
			text = report_say(s->report,
			                  "%s%s%s takes %.*f times as long (%.*f to %.*f)", text,
			                  sep, name, digits_of(r.median), r.median,
			                  digits_of(r.median), r.low, digits_of(r.median), r.high);
	}
	section_say(s, "%s is the fastest: %s.", side_at(s->report, rows, best).letter, text);
	return 0;
}

/* Statements by variant, and commands, with threads as columns. */

#define COMPARED_MAX 16

struct compared {
	const char *letter, *variant;
	const char *cells[COMPARED_MAX];
};

// The median, with a star if it is the fastest of its column, or not significantly slower.
static const char *say_compared(struct report *r, const struct repeat_rows *rows, size_t index,
                                struct error *err)
{
	const struct spread *of = main_spread(&rows->rows[index]);
	size_t best = fastest_beside(rows, index);
	bool star = best == index;
	struct spread ratio;

	if (!of->count)
		return NULL;
	if (!star) {
		if (query_repeat_ratio(r->profile, (uint32_t)best + 1, (uint32_t)index + 1, &ratio,
		                       err) < 0)
			return NULL;
		star = ratio.count >= SPREAD_COUNT_MIN && ratio.low <= 1;
	}
	return report_say(r, "%s%s", format_measured(of->median, unit_of(of)).text,
	                  count_codes(rows, rows->count) < 2 ? ""
	                  : star                             ? " *"
	                                                     : "  ");
}

// Whether I and J differ in their number of threads at most.
static bool is_one_line(const struct repeat_rows *rows, size_t i, size_t j)
{
	const struct repeat_row *a = &rows->rows[i], *b = &rows->rows[j];

	return i == j || (is_same_code(a, b) && is_same_text(a->variant, b->variant));
}

static struct section *make_compared(struct report *r, const struct repeat_rows *rows,
                                     struct error *err)
{
	static const struct section_column heads[] = {
		{ "letter", .heading = "", .type = CELL_TEXT, .at = { 1 }, .if_any = true,
		  FIELD(struct compared, letter) },
		{ "variant", .heading = "", .type = CELL_TEXT, .at = { 2 }, .if_any = true,
		  FIELD(struct compared, variant) },
	};
	struct section_column *columns = report_take(r, COMPARED_MAX * sizeof(*columns));
	struct section *s = section_new(r, "compared",
	                                are_mixed(rows)         ? "median of a run, or of a call"
	                                : first_statement(rows) ? "median of a call"
	                                                        : "median of a run");
	uint32_t threads[COMPARED_MAX];
	size_t count = 0;

	s->shown = true;
	if (!columns)
		return NULL;
	for (size_t i = 0; i < rows->count; i++) {
		size_t at = 0;
		while (at < count && threads[at] != rows->rows[i].threads)
			at++;
		if (at < count || count == COMPARED_MAX)
			continue;
		threads[count] = rows->rows[i].threads;
		columns[count] = (struct section_column){
			.id = report_say(r, "threads_%u", threads[count]),
			.heading = report_say(r, "%u thread%s", threads[count],
			                      threads[count] == 1 ? "" : "s"),
			.type = CELL_TEXT,
			.at = { 3 },
			.right = true,
			.nothing = "-",
			.field = FIELD_TEXT,
			.offset = offsetof(struct compared, cells) + count * sizeof(const char *),
		};
		count++;
	}
	SECTION_COLUMNS(s, heads);
	section_columns(s, columns, count);
	for (size_t i = 0; i < rows->count; i++) {
		const struct repeat_row *row = &rows->rows[i];
		struct compared line = { side_at(r, rows, i).letter, row->variant, { NULL } };
		bool seen = false;
		for (size_t j = 0; j < i; j++)
			seen |= is_one_line(rows, i, j);
		for (size_t j = i; j < rows->count && !seen; j++)
			for (size_t k = 0; k < count; k++)
				if (is_one_line(rows, i, j) && rows->rows[j].threads == threads[k])
					line.cells[k] = say_compared(r, rows, j, err);
		if (!seen)
			section_row(s, &line);
	}
	if (count_codes(rows, rows->count) > 1)
		section_say(s, "*: the fastest of those beside it, or not significantly slower");
	return s;
}

// "122.9 to 124.1 ms"
static void make_interval(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);
	struct time_unit unit = unit_of(of);

	if (!isnan(of->low))
		cell->text = report_say(s->report, "%.*f to %s", unit.digits, of->low / unit.ns,
		                        format_measured(of->high, unit).text);
}

static void make_median(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);

	cell->text = report_say(s->report, "%s", format_measured(of->median, unit_of(of)).text);
}

static void make_variant(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	cell->text = side->row->variant;
}

// Where there are both.
static void make_of(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	(void)s;
	if (side->mixed)
		cell->text = side->row->language ? "call" : "run";
}

static void make_iqr(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;
	const struct spread *of = main_spread(side->row);

	cell->text = report_say(s->report, "%.1f %%",
	                        of->median > 0 ? 100 * (of->q3 - of->q1) / of->median : 0.0);
}

static const char *say_extreme(const struct section *s, double ns)
{
	return report_say(s->report, "%s", format_measured(ns, format_measured_unit(ns, 0)).text);
}

static void make_min(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	cell->text = say_extreme(s, main_spread(side->row)->min);
}

static void make_max(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct side *side = data;

	cell->text = say_extreme(s, main_spread(side->row)->max);
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
	{ "of", .heading = "of", .type = CELL_TEXT, .at = { 1 }, .if_any = true, .make = make_of },
	{ "variant", .heading = "", .type = CELL_TEXT, .at = { 1 }, .if_any = true,
	  .make = make_variant },
	{ "threads", .heading = "threads", .type = CELL_TEXT, .at = { 1 }, .right = true,
	  .if_any = true, FIELD(struct side, threads) },
	{ "median", .heading = "median", .type = CELL_TEXT, .at = { 2 }, .right = true,
	  .make = make_median },
	{ "interval", .heading = "95 %", .type = CELL_TEXT, .at = { 3 }, .right = true,
	  .nothing = "-", .make = make_interval },
	{ "iqr", .heading = "IQR", .type = CELL_TEXT, .at = { 4 }, .right = true,
	  .make = make_iqr },
	{ "min", .heading = "min", .type = CELL_TEXT, .at = { 5 }, .right = true,
	  .make = make_min },
	{ "max", .heading = "max", .type = CELL_TEXT, .at = { 6 }, .right = true,
	  .make = make_max },
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

static const struct section_column statement_columns[] = {
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 7 }, .nothing = "-",
	  .none = { 1 }, .make = make_calls },
	{ "peak_rss", .heading = "peak RSS", .type = CELL_BYTES, .at = { 8 }, .make = make_peak },
};

static struct section *make_table(struct report *r, const struct repeat_rows *rows)
{
	struct section *s = section_new(r, "spreads", NULL);

	s->shown = true;
	SECTION_COLUMNS(s, columns);
	if (first_statement(rows))
		SECTION_COLUMNS(s, statement_columns);
	else if (rows->rows[0].range)
		SECTION_COLUMNS(s, call_columns);
	else
		SECTION_COLUMNS(s, run_columns);
	for (size_t i = 0; i < rows->count; i++) {
		const struct side side = side_at(r, rows, i);
		if (main_spread(side.row)->count)
			section_row(s, &side);
	}
	return s;
}

// What recording has cost, where that matters.
static void say_cost(struct section *s, const struct repeat_row *row, const char *name)
{
	const struct spread *of = main_spread(row);
	const char *sep = *name ? ": " : "";
	double recorded = of->median + (double)row->cost_ns;

	if (!of->count || recorded >= SHORT_CALL_NS)
		return;
	if (row->cost == REPEAT_COST_UNKNOWN)
		section_say(s,
		            "%s%sWhat recording a call costs could not be measured: some 20 to 200 "
		            "ns are part of the times. --stmt measures without.",
		            name, sep);
	else
		section_say(s,
		            "%s%sRecording took %s of each call, by empty ranges in the same runs: "
		            "that is subtracted%s.",
		            name, sep,
		            format_measured((double)row->cost_ns,
		                            format_measured_unit((double)row->cost_ns, 0))
		                    .text,
		            row->cost == REPEAT_COST_WHOLE
		                    ? ""
		                    : ", but not what the program takes to get there. --stmt "
		                      "measures without");
}

// What makes the figures worth less, and what to do about it.
static void say_doubts(struct section *s, const struct repeat_row *row, const char *name)
{
	const struct spread *of = main_spread(row);
	double share = of->median > 0 ? (of->q3 - of->q1) / of->median : 0;
	const char *sep = *name ? ": " : "";
	const char *run = row->language ? "block" : "run", *Run = row->language ? "Blocks" : "Runs";

	if (row->slow_first)
		section_say(
			s,
			"%s%sThe first %s took %.1f times as long as the median: caches were cold. "
			"--warmup 1 leaves it out.",
			name, sep, run, row->first / of->median);
	if (of->outliers > (row->slow_first ? 1 : 0))
		section_say(s,
		            "%s%s%zu of %zu %ss are far from the others: something disturbed them.",
		            name, sep, of->outliers, of->count, run);
	if (share > SPREAD_VERY_UNSTEADY)
		section_say(
			s,
			"%s%s%s vary very much (IQR %.0f %% of the median): find out what else the "
			"machine does.",
			name, sep, Run, 100 * share);
	else if (share > SPREAD_UNSTEADY)
		section_say(s,
		            "%s%s%s vary (IQR %.0f %% of the median): use more of them (--runs).",
		            name, sep, Run, 100 * share);
	if (!row->range && !row->language && of->count && of->median < SHORT_NS)
		section_say(
			s,
			"%s%sA run takes less than 5 ms: most of that is the start of a process. "
			"--range measures one part.",
			name, sep);
	if (row->range)
		say_cost(s, row, name);
	if (row->failed)
		section_say(s, "%s%s%u runs failed, and do not count.", name, sep, row->failed);
}

// The same of many, in a line.
static void say_unsteady(struct section *s, const struct repeat_rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct spread *of = main_spread(&rows->rows[i]);
		count += of->median > 0 && of->q3 - of->q1 > SPREAD_UNSTEADY * of->median;
	}
	if (count)
		section_say(s,
		            "%zu of %zu measurements vary (IQR above %.0f %% of the median): find "
		            "out what else the machine does, or measure longer (--min-time).",
		            count, rows->count, 100 * SPREAD_UNSTEADY);
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

	verdict->shown = !has_groups(rows);
	if (rows->count == 1)
		say_alone(verdict, &rows->rows[0]);
	if (rows->count == 2 && !has_groups(rows) && say_pair(verdict, rows, 1, err) < 0)
		return NULL;
	if (rows->count > 2 && !has_groups(rows) && say_fastest(verdict, rows, err) < 0)
		return NULL;
	doubts->shown = true;
	if (rows->count > DOUBTS_MAX)
		say_unsteady(doubts, rows);
	for (size_t i = 0; i < rows->count && rows->count <= DOUBTS_MAX; i++) {
		const struct side side = side_at(r, rows, i);
		say_cpus(doubts, side.row, name_of(r, &side));
		say_doubts(doubts, side.row, name_of(r, &side));
	}
	say_others(doubts, rows);
	sides->next = verdict;
	verdict->next = table;
	if (has_groups(rows) || are_mixed(rows)) {
		verdict->next = make_compared(r, rows, err);
		if (!verdict->next)
			return NULL;
		verdict->next->next = table;
	}
	table->next = doubts;
	return section_end(sides, err);
}
