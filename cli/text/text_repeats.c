// SPDX-License-Identifier: MIT
// Repeated runs: what one takes, or how two compare, and how far that can be trusted.
#include "cli/text/text.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHORT_NS  (5 * NS_PER_MS) // below, most of a run is the start of a process (hyperfine's)
#define OTHERS    0.1             // of all CPUs, for other programs: worth a word
#define OTHERS_NS NS_PER_SEC      // the machine counts too coarsely for less
#define BUSY_CPUS 1.05

static const struct column run_columns[] = {
	{ "", COLUMN_WORD, 0, 0 },           { "median", COLUMN_NUMBER, 0, 0 },
	{ "95 %", COLUMN_NUMBER, 0, 0 },     { "IQR", COLUMN_NUMBER, 0, 0 },
	{ "min", COLUMN_NUMBER, 0, 0 },      { "max", COLUMN_NUMBER, 0, 0 },
	{ "user", COLUMN_NUMBER, 0, 0 },     { "system", COLUMN_NUMBER, 0, 0 },
	{ "peak RSS", COLUMN_NUMBER, 0, 0 },
};

static const struct column call_columns[] = {
	{ "", COLUMN_WORD, 0, 0 },        { "median", COLUMN_NUMBER, 0, 0 },
	{ "95 %", COLUMN_NUMBER, 0, 0 },  { "IQR", COLUMN_NUMBER, 0, 0 },
	{ "min", COLUMN_NUMBER, 0, 0 },   { "max", COLUMN_NUMBER, 0, 0 },
	{ "calls", COLUMN_NUMBER, 0, 0 }, { "whole run", COLUMN_NUMBER, 0, 0 },
};

static uint64_t ns_of(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static const struct spread *main_spread(const struct repeat_row *row)
{
	return &row->spread[repeat_metric_of(row)];
}

// "A", "B" where there are several.
static const char *letter(const struct repeat_rows *rows, size_t index)
{
	static const char *const letters[] = { "A", "B", "C", "D", "E", "F", "G", "H",
		                               "I", "J", "K", "L", "M", "N", "O", "P" };

	return rows->count > 1 && index < sizeof(letters) / sizeof(letters[0]) ? letters[index]
	                                                                       : "";
}

static void print_heading(const struct text *text, const struct repeat_rows *rows)
{
	const struct terminal *t = &text->terminal;
	const struct repeat_row *first = &rows->rows[0];

	fprintf(text->out, "%sbottleneck bench: %s run%s%s%s %s %s\n",
	        terminal_style(t, STYLE_BOLD), format_count(first->runs).text,
	        first->runs == 1 ? "" : "s", rows->count > 1 ? " of each, in turns" : "",
	        terminal_style(t, STYLE_PLAIN), t->dot,
	        format_duration(profile_run(text->profile)->wall_ns).text);
	for (size_t i = 0; i < rows->count; i++) {
		const struct repeat_row *row = &rows->rows[i];
		size_t room = (size_t)t->width - 6;
		cleanup_free char *clean = format_clean(row->command, t->ascii);
		cleanup_free char *command =
			clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
		fprintf(text->out, "  %s%s%s\n", letter(rows, i), rows->count > 1 ? "  " : "",
		        command ? command : "?");
	}
	if (first->range)
		text_say(text, "times of calls of %s; of each run the median", first->range);
}

static void print_alone(const struct text *text, const struct repeat_row *row)
{
	const struct spread *s = main_spread(row);
	const char *what = row->range ? "A call" : "A run";
	struct short_text median = format_figures(ns_of(s->median), s->figures);

	if (!s->count)
		text_say(text, "No run has called it.");
	else if (s->count < SPREAD_COUNT_MIN)
		text_say(text,
		         "%s takes %s. With less than %d runs nobody knows how far that is off.",
		         what, median.text, SPREAD_COUNT_MIN);
	else
		text_say(text, "%s takes %s (with 95 %% confidence %s to %s).", what, median.text,
		         format_figures(ns_of(s->low), 4).text,
		         format_figures(ns_of(s->high), 4).text);
}

// Near 1 every digit counts.
static int digits_of(double ratio)
{
	return ratio < 2 ? 3 : ratio < 10 ? 2 : 1;
}

static int print_pair(const struct text *text, const struct repeat_rows *rows, size_t other,
                      struct error *err)
{
	enum repeat_metric metric = repeat_metric_of(&rows->rows[0]);
	struct spread r;

	if (query_repeat_ratio(text->profile, 1, (uint32_t)other + 1, metric, &r, err) < 0)
		return -1;
	const char *name = letter(rows, other);
	if (r.count < SPREAD_COUNT_MIN)
		text_say(text, "Less than %d pairs of runs: which is faster cannot be determined.",
		         SPREAD_COUNT_MIN);
	else if (r.low <= 1 && r.high >= 1)
		text_say(
			text,
			"No significant difference: %s takes %.3f to %.3f times as long as A (95 %%, "
			"%zu pairs).",
			name, r.low, r.high, r.count);
	else if (r.median < 1)
		text_say(text,
		         "%s is %.*f times as fast as A (with 95 %% confidence %.*f to %.*f, %zu "
		         "pairs).",
		         name, digits_of(1 / r.median), 1 / r.median, digits_of(1 / r.median),
		         1 / r.high, digits_of(1 / r.median), 1 / r.low, r.count);
	else
		text_say(
			text,
			"%s is slower: it takes %.*f times as long as A (with 95 %% confidence %.*f to "
			"%.*f, %zu pairs).",
			name, digits_of(r.median), r.median, digits_of(r.median), r.low,
			digits_of(r.median), r.high, r.count);
	return 0;
}

// "122.9 to 124.1 ms"
static void put_interval(struct table *table, const struct spread *s)
{
	char words[80];

	if (isnan(s->low)) {
		table_cell(table, "-");
		return;
	}
	struct time_unit unit = format_time_unit(ns_of(s->high));
	snprintf(words, sizeof(words), "%.*f to %s", unit.digits, s->low / unit.ns,
	         format_time(ns_of(s->high), unit).text);
	table_cell(table, words);
}

static void put_ns(struct table *table, double ns)
{
	table_cell(table, format_duration(ns_of(ns)).text);
}

static void add_row(struct table *table, const struct repeat_row *row, const char *name)
{
	const struct spread *s = main_spread(row);
	char percent[32];

	snprintf(percent, sizeof(percent), "%.1f %%",
	         s->median > 0 ? 100 * (s->q3 - s->q1) / s->median : 0.0);
	table_row(table, STYLE_PLAIN);
	table_cell(table, name);
	table_cell(table, format_figures(ns_of(s->median), s->figures).text);
	put_interval(table, s);
	table_cell(table, percent);
	put_ns(table, s->min);
	put_ns(table, s->max);
	if (row->range) {
		table_cell(table, format_count(row->calls).text);
		put_ns(table, row->spread[REPEAT_WALL].median);
		return;
	}
	put_ns(table, row->spread[REPEAT_USER].median);
	put_ns(table, row->spread[REPEAT_SYSTEM].median);
	table_cell(table, format_bytes(ns_of(row->spread[REPEAT_PEAK_RSS].median)).text);
}

static int print_table(const struct text *text, const struct repeat_rows *rows, struct error *err)
{
	bool calls = rows->rows[0].range != NULL;
	const struct column *columns = calls ? call_columns : run_columns;
	size_t count = calls ? sizeof(call_columns) / sizeof(call_columns[0])
	                     : sizeof(run_columns) / sizeof(run_columns[0]);
	cleanup(table) struct table *table = table_new(columns, count, &text->terminal);

	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count; i++)
		if (main_spread(&rows->rows[i])->count)
			add_row(table, &rows->rows[i], letter(rows, i));
	fputc('\n', text->out);
	return table_print(table, text->out, 2) < 0
	               ? error_set(err, ENOMEM, "could not print the report")
	               : 0;
}

// What makes the figures worth less, and what to do about it.
static void print_doubts(const struct text *text, const struct repeat_row *row, const char *name)
{
	const struct spread *s = main_spread(row);
	double share = s->median > 0 ? (s->q3 - s->q1) / s->median : 0;
	const char *sep = *name ? ": " : "";

	if (row->slow_first)
		text_say(
			text,
			"%s%sThe first run took %.1f times as long as the median: caches were cold. "
			"--warmup 1 leaves it out.",
			name, sep, row->first / s->median);
	if (s->outliers > (row->slow_first ? 1 : 0))
		text_say(text,
		         "%s%s%zu of %zu runs are far from the others: something disturbed them.",
		         name, sep, s->outliers, s->count);
	if (share > SPREAD_VERY_UNSTEADY)
		text_say(
			text,
			"%s%sRuns vary very much (IQR %.0f %% of the median): find out what else the "
			"machine does.",
			name, sep, 100 * share);
	else if (share > SPREAD_UNSTEADY)
		text_say(text,
		         "%s%sRuns vary (IQR %.0f %% of the median): use more of them (--runs).",
		         name, sep, 100 * share);
	if (!row->range && s->count && s->median < SHORT_NS)
		text_say(text,
		         "%s%sA run takes less than 5 ms: most of that is the start of a process. "
		         "--range measures a part of it.",
		         name, sep);
	if (row->failed)
		text_say(text, "%s%s%u runs failed, and do not count.", name, sep, row->failed);
}

static void print_cpus(const struct text *text, const struct repeat_row *row, const char *name)
{
	double wall = row->spread[REPEAT_WALL].median;
	double cpu = row->spread[REPEAT_USER].median + row->spread[REPEAT_SYSTEM].median;

	if (!row->range && wall > 0 && cpu / wall > BUSY_CPUS)
		text_say(text, "%s%sIt keeps %.1f CPUs busy.", name, *name ? ": " : "", cpu / wall);
}

static double cpu_ns(const struct repeat_row *row)
{
	return (row->spread[REPEAT_USER].mean + row->spread[REPEAT_SYSTEM].mean) *
	       (double)row->spread[REPEAT_USER].count;
}

static void print_others(const struct text *text, const struct repeat_rows *rows)
{
	const struct run *run = profile_run(text->profile);
	double others = (double)run->machine_busy_ns;
	double all = (double)run->machine_cpus * (double)run->wall_ns;

	for (size_t i = 0; i < rows->count; i++)
		others -= cpu_ns(&rows->rows[i]);
	if (run->wall_ns >= OTHERS_NS && all > 0 && others / all > OTHERS)
		text_say(text, "Other programs kept %.1f of %u CPUs busy meanwhile.",
		         others / (double)run->wall_ns, run->machine_cpus);
}

int text_repeats(const struct text *text, struct error *err)
{
	cleanup(repeat_rows) struct repeat_rows *rows = query_repeats(text->profile, err);

	if (!rows)
		return -1;
	print_heading(text, rows);
	fputc('\n', text->out);
	if (rows->count == 1)
		print_alone(text, &rows->rows[0]);
	for (size_t i = 1; i < rows->count; i++)
		if (print_pair(text, rows, i, err) < 0)
			return -1;
	if (print_table(text, rows, err) < 0)
		return -1;
	fputc('\n', text->out);
	for (size_t i = 0; i < rows->count; i++) {
		print_cpus(text, &rows->rows[i], letter(rows, i));
		print_doubts(text, &rows->rows[i], letter(rows, i));
	}
	print_others(text, rows);
	return 0;
}
