// SPDX-License-Identifier: MIT
// Whether the run measured its warm-up: facts first, then what to do.
#include "cli/report/sections.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/query/query_causes.h"
#include "merge/query/query_clock.h"
#include "merge/query/query_excess.h"
#include "merge/query/query_warmup.h"

#include <stdio.h>
#include <string.h>

#define ROWS_SHOWN    3
#define NAME_WIDTH    48 /* of an op in a sentence */
#define CAUSES_SHOWN  3
#define CAUSE_PERCENT 5  /* of the warm-up: what is less is not worth a word */
#define CAUSE_SAMPLES 20 /* fewer tell no shares */
#define STEADY_MIN    3  /* calls of a steady state worth showing */

REPORT_KEEPS(warmup_rows, struct warmup_rows *);

static const char *const headings[] = {
	[WARMUP_INCLUDED] = "warning: this profile includes warm-up",
	[WARMUP_TOO_SHORT] = "warning: this run is too short: warm-up is a large part",
	[WARMUP_NO_STEADY_STATE] = "note: no steady state",
	[WARMUP_SLOWS_DOWN] = "note: calls become slower",
};

// "gemm (512x512x64)"
static void describe(const struct report *r, const struct warmup_row *row, char *buffer,
                     size_t size)
{
	cleanup_free char *name = format_clip(row->name, NAME_WIDTH, CLIP_MIDDLE, r->ascii);
	cleanup_free char *shape = format_clip(row->shape, NAME_WIDTH, CLIP_END, r->ascii);

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

static void say_slow_start(struct section *s, const struct warmup_row *row)
{
	uint64_t slow = row->judged.calls;
	char name[256];

	describe(s->report, row, name, sizeof(name));
	if (slow == 1)
		section_say(s, "%s: the first of %s %s took %s, later ones %s each", name,
		            format_count(row->calls).text, unit_of(row),
		            format_duration(row->slow_ns).text,
		            format_duration((uint64_t)row->judged.steady_ns).text);
	else
		section_say(s, "%s: the first %s of %s %s took %s each, later ones %s", name,
		            format_count(slow).text, format_count(row->calls).text, unit_of(row),
		            average(row->slow_ns, slow).text,
		            format_duration((uint64_t)row->judged.steady_ns).text);
}

static void say_trend(struct section *s, const struct warmup_row *row)
{
	char name[256];

	describe(s->report, row, name, sizeof(name));
	section_say(s, "%s: %s %s, %s each in the second half, and still %s at the end", name,
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

static void say_remedy(struct section *s, const struct warmup_rows *rows)
{
	bool steps = rows->steps_ns > rows->ops_ns;
	uint64_t all = steps ? rows->steps_ns : rows->ops_ns;

	section_say(s, "Together that is %s of %s in %s (%s %%), over after %s.",
	            format_duration(rows->excess_ns).text, format_duration(all).text,
	            !steps         ? "ops"
	            : rows->ops_ns ? "steps"
	                           : "the loop",
	            format_percent(rows->excess_ns, all).text,
	            format_duration(rows->steady_ns).text);
	if (rows->verdict == WARMUP_TOO_SHORT || !leaves_something(rows))
		section_say(s, "Run more iterations, and measure after the first ones.");
	else
		section_say(
			s,
			"For the steady state alone: bottleneck report --from-steady (or --from %.3f); next "
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
static int say_causes(struct section *s, const struct warmup_rows *rows, struct error *err)
{
	struct causes causes;
	char list[200];

	if (query_causes(s->report->profile, rows, &causes, err) < 0)
		return -1;
	list_causes(&causes, list, sizeof(list));
	if (!causes.samples)
		return 0;
	if (causes.samples < CAUSE_SAMPLES)
		section_say(s, "Its %s samples are too few to attribute it.",
		            format_count(causes.samples).text);
	else if (*list)
		section_say(s, "Extra time during warm-up went to: %s (of %s samples).", list,
		            format_count(causes.samples).text);
	return 0;
}

// Steps of the warm-up: those that ended by then.
static size_t count_slow(const struct steps *steps, uint64_t steady_ns)
{
	size_t count = 0;

	while (count < steps->count && steps->steps[count].end_ns <= steady_ns)
		count++;
	return count;
}

// Which code of the user's own took longer in the steps of the warm-up than later.
static int say_where(struct section *s, const struct warmup_rows *rows, struct error *err)
{
	const struct view *view = s->report->view;
	const struct steps_query query = {
		.name = view->steps,
		.from_ns = view->from_ns,
		.to_ns = view->to_ns,
	};
	cleanup(steps) struct steps *steps = query_steps(s->report->profile, &query, err);
	struct step_excess excesses[STEP_EXCESSES];
	const char *words = "";

	if (!steps)
		return -1;
	size_t slow = count_slow(steps, rows->steady_ns);
	int count = slow && slow < steps->count
	                    ? steps_explain(s->report->profile, steps, 0, slow, excesses, err)
	                    : 0;
	for (int i = 0; i < count; i++) {
		const struct step_excess *e = &excesses[i];
		cleanup_free char *name =
			format_clip(e->name, NAME_WIDTH, CLIP_SYMBOL, s->report->ascii);
		char place[160];
		place_words(e->file, e->line, NULL, place, sizeof(place));
		words = report_say(s->report, "%s%s%s in %s%s%s%s", words, i ? ", " : "",
		                   format_duration(e->excess_ns).text, name ? name : e->name,
		                   *place ? " (" : "", place, *place ? ")" : "");
	}
	if (count > 0)
		section_say(s, "These steps spent more time than later ones: %s.", words);
	return count < 0 ? -1 : 0;
}

// Of a slow start.
static void say_rise(struct section *s, const struct warmup_rows *rows)
{
	struct clock_change change;

	if (query_clock_rise(s->report->profile, rows, &change))
		section_say(
			s,
			"Meanwhile the CPUs' clock rose from %.2f to %.2f GHz: that is up to %s %% of "
			"what the slow ones took longer.",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_percent(change.excess_ns, rows->excess_ns).text);
}

// Of calls that take longer and longer.
static void say_fall(struct section *s, const struct warmup_rows *rows)
{
	struct clock_change change;

	if (rows->verdict == WARMUP_SLOWS_DOWN && query_clock_fall(s->report->profile, &change))
		section_say(
			s,
			"The CPUs' clock fell from %.2f to %.2f GHz after %s: work on them takes up "
			"to %.0f %% longer for that.",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_duration(change.at_ns).text,
			(change.before_mhz / change.after_mhz - 1) * 100);
}

static int say_verdict(struct section *s, const struct warmup_rows *rows, struct error *err)
{
	bool warm = rows->verdict == WARMUP_INCLUDED || rows->verdict == WARMUP_TOO_SHORT;

	s->title = headings[rows->verdict];
	for (size_t i = 0; i < rows->count && i < ROWS_SHOWN; i++) {
		// The steps of a label say it, not the library's calls that they are made of.
		if (rows->rows[i].nested && rows->rows[0].labelled && !rows->rows[i].labelled)
			continue;
		if (warm)
			say_slow_start(s, &rows->rows[i]);
		else
			say_trend(s, &rows->rows[i]);
	}
	say_fall(s, rows);
	if (!warm)
		return 0;
	if (say_where(s, rows, err) < 0 || say_causes(s, rows, err) < 0)
		return -1;
	say_rise(s, rows);
	say_remedy(s, rows);
	return 0;
}

static struct warmup_rows *find(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);

	return keep_warmup_rows(r, query_warmup(r->profile, &query, err), err);
}

struct section *section_warmup(struct report *r, struct error *err)
{
	const struct warmup_rows *rows = find(r, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "warmup", NULL);
	s->shown = rows->verdict != WARMUP_NONE || rows->too_few;
	if (rows->verdict != WARMUP_NONE && say_verdict(s, rows, err) < 0)
		return NULL;
	if (rows->verdict == WARMUP_NONE && rows->too_few) {
		s->title = "note: cannot determine whether this is warm-up";
		section_say(s, "Most of the time in ops was spent in ops that ran once or twice.");
	}
	return section_end(s, err);
}

static void make_kind(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct warmup_row *row = data;

	(void)s;
	cell->text = unit_of(row);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct warmup_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_verdict(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct warmup_row *row = data;

	(void)s;
	cell->text = warmup_verdict_name(row->judged.verdict);
}

#define SHEET(place) .at = { [READER_SHEET] = (place) }

static const struct section_column columns[] = {
	{ "kind", .type = CELL_TEXT, SHEET(1), .make = make_kind },
	{ "name", .type = CELL_TEXT, SHEET(2), FIELD(struct warmup_row, name) },
	{ "provider", .type = CELL_TEXT, SHEET(3), FIELD(struct warmup_row, provider) },
	{ "domain", .type = CELL_TEXT, SHEET(4), FIELD(struct warmup_row, domain) },
	{ "shape", .type = CELL_TEXT, SHEET(5), FIELD(struct warmup_row, shape) },
	{ "file", .type = CELL_TEXT, SHEET(6), FIELD(struct warmup_row, file) },
	{ "line", .type = CELL_COUNT, SHEET(7), .none = { [READER_SHEET] = true },
	  .make = make_line },
	{ "verdict", .type = CELL_TEXT, SHEET(8), .make = make_verdict },
	{ "calls", .type = CELL_COUNT, SHEET(9), FIELD(struct warmup_row, calls) },
	{ "slow_calls", .type = CELL_COUNT, SHEET(10), FIELD(struct warmup_row, judged.calls) },
	{ "slow_to_steady", .type = CELL_NUMBER, SHEET(11),
	  FIELD(struct warmup_row, judged.ratio) },
	{ "steady_ns", .type = CELL_NUMBER, SHEET(12), FIELD(struct warmup_row, judged.steady_ns) },
	{ "slow_ns", .type = CELL_NS, SHEET(13), FIELD(struct warmup_row, slow_ns) },
	{ "excess_ns", .type = CELL_NS, SHEET(14), FIELD(struct warmup_row, excess_ns) },
	{ "begin_ns", .type = CELL_NS, SHEET(15), FIELD(struct warmup_row, begin_ns) },
	{ "end_ns", .type = CELL_NS, SHEET(16), FIELD(struct warmup_row, end_ns) },
	{ "nested", .type = CELL_BOOL, SHEET(17), FIELD(struct warmup_row, nested) },
};

struct section *section_all_warmup(struct report *r, struct error *err)
{
	const struct warmup_rows *rows = find(r, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "warmup", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}
