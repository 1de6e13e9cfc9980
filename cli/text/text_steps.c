// SPDX-License-Identifier: MIT
// The steps of the run: how long they took, how steadily, and what the slowest spent longer on.
#include "cli/text/text.h"

#include "base/error.h"
#include "base/path.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/query/query_steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MAX      3
#define SLOW          1.5 // times the median: worth a row
#define UNSTEADY      10  // percent of the median that the middle half spreads over
#define VERY_UNSTEADY 25
#define NAME_WIDTH    40
#define FIGURES_WIDTH 40 // of the columns before the words
#define EXCESS_MAX    600
#define NOISE_BINS    4 // so far apart durations may look that are known by samples alone

static const struct column columns[] = {
	{ "step", COLUMN_NUMBER, 0, 0 },
	{ "at", COLUMN_NUMBER, 0, 0 },
	{ "took", COLUMN_NUMBER, 0, 0 },
	{ "\u00d7 median", COLUMN_NUMBER, 0, 0 },
	{ "more than others", COLUMN_TEXT, CLIP_END, 1 },
};

static const struct column ascii_columns[] = {
	{ "step", COLUMN_NUMBER, 0, 0 },
	{ "at", COLUMN_NUMBER, 0, 0 },
	{ "took", COLUMN_NUMBER, 0, 0 },
	{ "x median", COLUMN_NUMBER, 0, 0 },
	{ "more than others", COLUMN_TEXT, CLIP_END, 1 },
};

static double spread(const struct steps *s)
{
	return s->median_ns ? 100 * (double)(s->q3_ns - s->q1_ns) / (double)s->median_ns : 0;
}

// "main (app.c:12-30)"
static void describe_loop(const struct steps *s, char *buffer, size_t size)
{
	const char *file = path_base(s->file);
	char lines[32] = "";

	if (s->last_line > s->first_line)
		snprintf(lines, sizeof(lines), "-%d", s->last_line);
	snprintf(buffer, size, "turns of a loop%s%s", *s->name ? " in " : "", s->name);
	size_t used = strlen(buffer);
	if (file)
		snprintf(buffer + used, size - used, " (%s:%d%s), by samples", file, s->first_line,
		         lines);
	else
		snprintf(buffer + used, size - used, ", by samples");
}

static void print_heading(const struct text *text, const struct steps *s)
{
	cleanup_free char *name = format_clip(s->name, 60, CLIP_MIDDLE, text->terminal.ascii);
	char note[400];

	snprintf(note, sizeof(note), "%s%s%s%s%s%s", s->between ? "from one call of " : "calls of ",
	         name ? name : s->name, s->shape[0] ? " (" : "", s->shape, s->shape[0] ? ")" : "",
	         s->between ? " to the next" : "");
	if (!s->provider)
		describe_loop(s, note, sizeof(note));
	text_heading(text, "steps", note);
}

static void print_figures(const struct text *text, const struct steps *s)
{
	double percent = spread(s);

	text_say(text,
	         "%s, median %s, the middle half within %s (%.1f %%), 95 %% up to %s, %s to %s",
	         format_count(s->calls).text, format_duration(s->median_ns).text,
	         format_duration(s->q3_ns - s->q1_ns).text, percent,
	         format_duration(s->p95_ns).text, format_duration(s->min_ns).text,
	         format_duration(s->max_ns).text);
	if (s->bin_ns)
		text_say(text, "Each is known to %s; the pattern of samples repeats so often.",
		         format_duration(s->bin_ns).text);
	if (s->q3_ns - s->q1_ns <= NOISE_BINS * s->bin_ns)
		return;
	if (percent > VERY_UNSTEADY)
		text_say(text, "They vary very much: one run tells little of another.");
	else if (percent > UNSTEADY)
		text_say(text, "They vary: compare medians of several runs.");
}

// "6.04 ms decode app.c:12: locks"
static int describe_excess(const struct text *text, const struct step_excess *e, char *words,
                           size_t size)
{
	cleanup_free char *name =
		format_clip(e->name, NAME_WIDTH, CLIP_SYMBOL, text->terminal.ascii);
	const char *wait = wait_words((enum metric)e->metric);
	char place[160];

	place_words(e->file, e->line, NULL, place, sizeof(place));
	return snprintf(words, size, "%s %s%s%s%s%s", format_duration(e->excess_ns).text,
	                name ? name : e->name, *place ? " " : "", place, *wait ? ": " : "", wait);
}

// As many as have room in the line, but one at least.
static int explain(const struct text *text, const struct steps *s, size_t index, char *words,
                   size_t size, struct error *err)
{
	struct step_excess excesses[STEP_EXCESSES];
	int count = steps_explain(text->profile, s, index, excesses, err);
	size_t used = 0, room = text->terminal.width > FIGURES_WIDTH
	                                ? (size_t)text->terminal.width - FIGURES_WIDTH
	                                : 0;

	words[0] = '\0';
	for (int i = 0; i < count; i++) {
		char excess[EXCESS_MAX];
		describe_excess(text, &excesses[i], excess, sizeof(excess));
		if (i && used + 2 + format_width(excess) > room)
			break;
		int length = snprintf(words + used, size - used, "%s%s", i ? ", " : "", excess);
		used += (size_t)length < size - used ? (size_t)length : size - used - 1;
	}
	return count < 0 ? -1 : 0;
}

static int add_row(const struct text *text, struct table *table, const struct steps *s,
                   size_t index, struct error *err)
{
	const struct run_step *step = &s->steps[index];
	char number[80], ratio[32], at[32], words[2 * EXCESS_MAX];

	if (explain(text, s, index, words, sizeof(words), err) < 0)
		return -1;
	if (step->calls > 1)
		snprintf(number, sizeof(number), "%s-%s", format_count(step->first).text,
		         format_count(step->first + step->calls - 1).text);
	else
		snprintf(number, sizeof(number), "%s", format_count(step->first).text);
	snprintf(ratio, sizeof(ratio), "%.1f", (double)step->ns / (double)s->median_ns);
	snprintf(at, sizeof(at), "%.3f s", (double)step->begin_ns / 1e9);
	table_row(table, STYLE_PLAIN);
	table_cell(table, number);
	table_cell(table, at);
	table_cell(table, format_duration(step->ns).text);
	table_cell(table, ratio);
	table_cell(table, words);
	return 0;
}

// The slowest ones of those that are not among BEFORE; s->count: there is none.
static size_t next_slowest(const struct steps *s, const size_t *before, size_t count)
{
	size_t best = s->count;

	for (size_t i = 0; i < s->count; i++) {
		bool known = false;
		for (size_t j = 0; j < count; j++)
			known |= before[j] == i;
		if (!known && (double)s->steps[i].ns >= SLOW * (double)s->median_ns &&
		    (best == s->count || s->steps[i].ns > s->steps[best].ns))
			best = i;
	}
	return best;
}

static int print_slowest(const struct text *text, const struct steps *s, struct error *err)
{
	const struct column *which = text->terminal.ascii ? ascii_columns : columns;
	cleanup(table) struct table *table =
		table_new(which, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	size_t shown[ROWS_MAX], count = 0;

	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	while (count < ROWS_MAX) {
		shown[count] = next_slowest(s, shown, count);
		if (shown[count] == s->count)
			break;
		if (add_row(text, table, s, shown[count++], err) < 0)
			return -1;
	}
	if (count && table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}

int text_steps(const struct text *text, struct error *err)
{
	const struct steps_query wanted = {
		.name = text->view->steps,
		.from_ns = text->view->from_ns,
		.to_ns = text->view->to_ns,
	};
	cleanup(steps) struct steps *s = query_steps(text->profile, &wanted, err);

	if (!s)
		return -1;
	if (!s->count) {
		if (text->view->steps)
			text_heading(text, "steps",
			             s->name ? "none in this part of the run" : "no such op");
		return 0;
	}
	print_heading(text, s);
	print_figures(text, s);
	return print_slowest(text, s, err);
}
