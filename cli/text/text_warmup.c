// SPDX-License-Identifier: MIT
// Whether the run measured its warm-up: facts first, then what to do.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "merge/query/query_causes.h"
#include "merge/query/query_clock.h"
#include "merge/query/query_warmup.h"

#include <string.h>

#define ROWS_SHOWN    3
#define NAME_WIDTH    48 /* of an op in a sentence */
#define CAUSES_SHOWN  3
#define CAUSE_PERCENT 5  /* of the warm-up: what is less is not worth a word */
#define CAUSE_SAMPLES 20 /* fewer tell no shares */
#define STEADY_MIN    3  /* calls that have to be left to be looked at */

static const char *const headings[] = {
	[WARMUP_INCLUDED] = "warning: this profile includes warm-up",
	[WARMUP_TOO_SHORT] = "warning: this run is too short: much of it is warm-up",
	[WARMUP_NO_STEADY_STATE] = "note: no steady state",
	[WARMUP_SLOWS_DOWN] = "note: calls take longer and longer",
};

// "gemm (512x512x64)"
static void describe(const struct text *text, const struct warmup_row *row, char *buffer,
                     size_t size)
{
	bool ascii = text->terminal.ascii;
	cleanup_free char *name = format_clip(row->name, NAME_WIDTH, CLIP_MIDDLE, ascii);
	cleanup_free char *shape = format_clip(row->shape, NAME_WIDTH, CLIP_END, ascii);

	if (row->kind == WARMUP_TURNS) {
		char place[160];
		place_words(row->file, row->line, NULL, place, sizeof(place));
		snprintf(buffer, size, "the loop%s%s%s%s%s", *row->name ? " in " : "",
		         name ? name : row->name, *place ? " (" : "", place, *place ? ")" : "");
		return;
	}
	snprintf(buffer, size, row->shape[0] ? "%s%s (%s)" : "%s%s",
	         row->kind == WARMUP_STEPS ? "steps from " : "", name ? name : row->name,
	         shape ? shape : row->shape);
}

// What the rows' series are made of.
static const char *unit_of(const struct warmup_row *row)
{
	static const char *const units[] = {
		[WARMUP_CALLS] = "calls",
		[WARMUP_STEPS] = "steps",
		[WARMUP_TURNS] = "turns",
	};

	return units[row->kind];
}

static struct short_text average(uint64_t ns, uint64_t calls)
{
	return format_duration(calls ? ns / calls : 0);
}

static void print_slow_start(const struct text *text, const struct warmup_row *row)
{
	uint64_t slow = row->judged.calls;
	char name[256];

	describe(text, row, name, sizeof(name));
	if (slow == 1)
		text_say(text, "%s: the first of %s %s took %s, later ones %s each", name,
		         format_count(row->calls).text, unit_of(row),
		         format_duration(row->slow_ns).text,
		         format_duration((uint64_t)row->judged.steady_ns).text);
	else
		text_say(text, "%s: the first %s of %s %s took %s each, later ones %s", name,
		         format_count(slow).text, format_count(row->calls).text, unit_of(row),
		         average(row->slow_ns, slow).text,
		         format_duration((uint64_t)row->judged.steady_ns).text);
}

static void print_trend(const struct text *text, const struct warmup_row *row)
{
	char name[256];

	describe(text, row, name, sizeof(name));
	text_say(text, "%s: %s %s, %s each in the second half, and still %s at the end", name,
	         format_count(row->calls).text, unit_of(row),
	         format_duration((uint64_t)row->judged.steady_ns).text,
	         row->judged.verdict == WARMUP_SLOWS_DOWN ? "longer" : "changing");
}

static bool leaves_something(const struct warmup_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].calls < rows->rows[i].judged.calls + STEADY_MIN)
			return false;
	return true;
}

static void print_remedy(const struct text *text, const struct warmup_rows *rows)
{
	bool steps = rows->steps_ns > rows->ops_ns;
	uint64_t all = steps ? rows->steps_ns : rows->ops_ns;

	text_say(text, "Together that is %s of %s in %s (%s %%), over after %s.",
	         format_duration(rows->excess_ns).text, format_duration(all).text,
	         !steps         ? "ops"
	         : rows->ops_ns ? "steps"
	                        : "the loop",
	         format_percent(rows->excess_ns, all).text, format_duration(rows->steady_ns).text);
	if (rows->verdict == WARMUP_TOO_SHORT || !leaves_something(rows))
		text_say(text, "Run more iterations, and measure after the first ones.");
	else
		text_say(
			text,
			"For the rest alone: bottleneck report --from-steady (or --from %.3f); next "
			"time, add warm-up iterations before what is measured.",
			(double)rows->steady_ns / 1e9);
}

// "54 % compilation, 9 % page faults": the largest first.
static void list_causes(const struct causes *causes, char *buffer, size_t size)
{
	size_t used = 0;
	bool told[CAUSE_COUNT] = { true };

	buffer[0] = '\0';
	for (int n = 0; n < CAUSES_SHOWN; n++) {
		int most = CAUSE_NONE;
		for (int c = 1; c < CAUSE_COUNT; c++)
			if (!told[c] && (!most || causes->ns[c] > causes->ns[most]))
				most = c;
		if (!most || causes->ns[most] * 100 < causes->all_ns * CAUSE_PERCENT)
			return;
		told[most] = true;
		used += (size_t)snprintf(buffer + used, size - used, "%s%s %% %s", n ? ", " : "",
		                         format_percent(causes->ns[most], causes->all_ns).text,
		                         cause_name((enum cause)most));
	}
}

// What was done meanwhile that is not done later.
static int print_causes(const struct text *text, const struct warmup_rows *rows, struct error *err)
{
	struct causes causes;
	char list[200];

	if (query_causes(text->profile, rows, &causes, err) < 0)
		return -1;
	list_causes(&causes, list, sizeof(list));
	if (!causes.samples)
		return 0;
	if (causes.samples < CAUSE_SAMPLES)
		text_say(text, "Its %s samples are too few to tell what it was for.",
		         format_count(causes.samples).text);
	else if (*list)
		text_say(text, "More than later there was in it: %s (of %s samples).", list,
		         format_count(causes.samples).text);
	return 0;
}

// Of a slow start.
static void print_rise(const struct text *text, const struct warmup_rows *rows)
{
	struct clock_change change;

	if (query_clock_rise(text->profile, rows, &change))
		text_say(
			text,
			"Meanwhile the CPUs' clock rose from %.2f to %.2f GHz: that is up to %s %% of "
			"what the slow ones took longer.",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_percent(change.excess_ns, rows->excess_ns).text);
}

// Of calls that take longer and longer.
static void print_fall(const struct text *text, const struct warmup_rows *rows)
{
	struct clock_change change;

	if (rows->verdict == WARMUP_SLOWS_DOWN && query_clock_fall(text->profile, &change))
		text_say(
			text,
			"The CPUs' clock fell from %.2f to %.2f GHz after %s: work on them takes up "
			"to %.0f %% longer for that.",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_duration(change.at_ns).text,
			(change.before_mhz / change.after_mhz - 1) * 100);
}

static void print_heading(const struct text *text, const char *words)
{
	const struct terminal *t = &text->terminal;

	fprintf(text->out, "\n%s%s%s\n", terminal_style(t, STYLE_BOLD), words,
	        terminal_style(t, STYLE_PLAIN));
}

static int print_rows(const struct text *text, const struct warmup_rows *rows, struct error *err)
{
	bool warm = rows->verdict == WARMUP_INCLUDED || rows->verdict == WARMUP_TOO_SHORT;

	print_heading(text, headings[rows->verdict]);
	for (size_t i = 0; i < rows->count && i < ROWS_SHOWN; i++) {
		if (warm)
			print_slow_start(text, &rows->rows[i]);
		else
			print_trend(text, &rows->rows[i]);
	}
	print_fall(text, rows);
	if (!warm)
		return 0;
	if (print_causes(text, rows, err) < 0)
		return -1;
	print_rise(text, rows);
	print_remedy(text, rows);
	return 0;
}

int text_warmup(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_SELF);
	cleanup(warmup_rows) struct warmup_rows *rows = query_warmup(text->profile, &query, err);

	if (!rows)
		return -1;
	if (rows->verdict != WARMUP_NONE)
		return print_rows(text, rows, err);
	if (rows->too_few) {
		print_heading(text, "note: whether this is warm-up cannot be determined");
		text_say(text, "Most of the time in ops was spent in such as ran once or twice.");
	}
	return 0;
}
