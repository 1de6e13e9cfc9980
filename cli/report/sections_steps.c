// SPDX-License-Identifier: MIT
// The steps of the run: how long they took, how steadily, what on, and what the slowest spent
// longer on.
#include "cli/report/sections.h"

#include "base/path.h"
#include "cli/report/row_words.h"
#include "cli/report/step_parts.h"
#include "cli/report/view.h"
#include "merge/query/query_excess.h"
#include "merge/query/query_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX         3
#define SLOW             1.5 // times the median: worth a row
#define UNSTEADY         10  // percent of the median that the middle half spreads over
#define VERY_UNSTEADY    25
#define NAME_WIDTH       40
#define FIGURES_WIDTH    40 // of the columns before the words
#define EXCESS_MAX       1000
#define UNPLACED_PERCENT 5 // of the steps' time, that is worth a word
#define NOISE_BINS       4 // so far apart durations may look that are known by samples alone

REPORT_KEEPS(steps, struct steps *);

static void step_parts_free(void *parts)
{
	free(parts);
}

REPORT_KEEPS(step_parts, struct step_parts *);

// Of a row, for people; EXCESS is not for programs.
struct step {
	const struct steps *steps;
	const struct step_parts *parts; // [step]
	const char *excess;             // what took longer than in others, a part each line
};

// What several steps spent their time on, each of them on average.
struct part_row {
	const char *which;
	size_t count; // of steps whose parts are known
	uint64_t ns;  // of one, from its begin to its end
	struct step_parts parts;
};

static void make_number(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct run_step *step = data;
	const char *first = format_count(step->first).text;

	if (step->calls > 1)
		cell->text = report_say(s->report, "%s-%s", first,
		                        format_count(step->first + step->calls - 1).text);
	else
		cell->text = report_say(s->report, "%s", first);
}

static void make_ratio(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct run_step *step = data;
	const struct step *own = s->context;

	cell->number = (double)step->ns / (double)step_usual_ns(own->steps, step);
}

static void make_excess(const struct section *s, const void *row, struct section_cell *cell)
{
	const struct step *own = s->context;

	(void)row;
	cell->text = own->excess;
}

static void put_part(const struct step_parts *parts, enum step_part part, struct section_cell *cell)
{
	cell->count = parts->ns[part];
	cell->flags = parts->known ? 0 : CELL_UNKNOWN;
}

static const struct step_parts *parts_of(const struct section *s, const void *row)
{
	const struct step *own = s->context;
	const struct run_step *step = row;

	return &own->parts[step - own->steps->steps];
}

// For each part how a cell is made: of a step, of a row of the table for people, of the series.
#define MAKE_PART(name, id, heading, part)                                                         \
	static void make_##name(const struct section *s, const void *row,                          \
	                        struct section_cell *cell)                                         \
	{                                                                                          \
		put_part(parts_of(s, row), part, cell);                                            \
	}                                                                                          \
	static void make_all_##name(const struct section *s, const void *row,                      \
	                            struct section_cell *cell)                                     \
	{                                                                                          \
		(void)row;                                                                         \
		put_part(&((const struct part_row *)s->context)->parts, part, cell);               \
	}                                                                                          \
	static void make_row_##name(const struct section *s, const void *row,                      \
	                            struct section_cell *cell)                                     \
	{                                                                                          \
		(void)s;                                                                           \
		put_part(&((const struct part_row *)row)->parts, part, cell);                      \
	}

EACH_STEP_PART(MAKE_PART)

// What all steps have to tell of stands there even if it is nothing.
#define PART_OF_ROW(name, id_, heading_, part)                                                     \
	{ id_ "_ns",                                                                               \
	  .heading = heading_,                                                                     \
	  .type = CELL_NS,                                                                         \
	  .at = { 3 + (part) },                                                                    \
	  .none = { (part) != STEP_OTHER },                                                        \
	  .if_any = (part) != STEP_OTHER,                                                          \
	  .make = make_row_##name },

static const struct section_column part_columns[] = {
	{ "step", .heading = "step", .type = CELL_TEXT, .at = { 1, 0, 0 }, .right = true,
	  FIELD(struct part_row, which) },
	{ "step_ns", .heading = "took", .type = CELL_NS, .at = { 2, 0, 0 },
	  FIELD(struct part_row, ns) },
	EACH_STEP_PART(PART_OF_ROW)
};

// Of all that are known, in the series.
#define PART_SUM(name, id_, heading_, part)                                                        \
	{ id_ "_ns", .type = CELL_NS, .at = { 0, 8 + (part), 20 + (part), 20 + (part) },           \
	  .make = make_all_##name },

// The slowest ones, for people.
static const struct section_column columns[] = {
	{ "number", .heading = "step", .type = CELL_TEXT, .right = true, .at = { 1, 1, 0 },
	  .make = make_number },
	{ "begin_ns", .heading = "at", .type = CELL_NS, .at = { 2, 2, 0 }, .form = FORM_MOMENT,
	  FIELD(struct run_step, begin_ns) },
	{ "step_ns", .heading = "took", .type = CELL_NS, .at = { 3, 3, 0 }, .form = FORM_DURATION,
	  FIELD(struct run_step, ns) },
	{ "ratio", .heading = "\u00d7 median", .type = CELL_NUMBER, .at = { 4, 4, 0 },
	  .form = FORM_DECIMAL, .make = make_ratio },
	{ "excess", .heading = "more than others", .type = CELL_TEXT, .at = { 5, 5, 0 },
	  .clip = CLIP_END, .room = 1, .parts = FIGURES_WIDTH, .make = make_excess },
};

// All of them.
#define PART_OF_STEP(name, id_, heading_, part)                                                    \
	{ id_ "_ns", .type = CELL_NS, .at = { 0, 5 + (part), 6 + (part) }, .make = make_##name },

static const struct section_column all_columns[] = {
	{ "first", .type = CELL_COUNT, .at = { 0, 1, 1 }, FIELD(struct run_step, first) },
	{ "steps", .type = CELL_COUNT, .at = { 0, 2, 2 }, FIELD(struct run_step, calls) },
	{ "begin_ns", .type = CELL_NS, .at = { 0, 3, 3 }, FIELD(struct run_step, begin_ns) },
	{ "end_ns", .type = CELL_NS, .at = { 0, 0, 4 }, FIELD(struct run_step, end_ns) },
	{ "step_ns", .type = CELL_NS, .at = { 0, 4, 5 }, FIELD(struct run_step, ns) },
	EACH_STEP_PART(PART_OF_STEP)
};

static void make_first_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct steps *steps = data;

	(void)s;
	cell->count = steps->first_line > 0 ? (uint64_t)steps->first_line : 0;
}

static void make_last_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct steps *steps = data;

	(void)s;
	cell->count = steps->last_line > 0 ? (uint64_t)steps->last_line : 0;
}

static void make_unplaced(const struct section *s, const void *row, struct section_cell *cell)
{
	cell->count = query_unplaced_waits(s->report->profile, row);
}

static void make_short(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->count = (uint64_t)((const struct steps *)row)->lengths.brief.median;
}

static void make_long(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->count = (uint64_t)((const struct steps *)row)->lengths.lengthy.median;
}

static void make_limit(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->count = (uint64_t)((const struct steps *)row)->lengths.limit;
}

static void make_parts_steps(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->count = ((const struct part_row *)s->context)->count;
}

static const struct section_column series_columns[] = {
	{ "name", .type = CELL_TEXT, .at = { 0, 1, 1, 1 }, FIELD(struct steps, name) },
	{ "provider", .type = CELL_TEXT, .at = { 0, 0, 2, 2 }, FIELD(struct steps, provider) },
	{ "domain", .type = CELL_TEXT, .at = { 0, 0, 3, 3 }, FIELD(struct steps, domain) },
	{ "shape", .type = CELL_TEXT, .at = { 0, 2, 4, 4 }, .none = { 0, 1, 0 },
	  FIELD(struct steps, shape) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 5, 5 }, FIELD(struct steps, file) },
	{ "first_line", .type = CELL_COUNT, .at = { 0, 0, 6, 6 }, .none = { 0, 0, 1, 1 },
	  .make = make_first_line },
	{ "last_line", .type = CELL_COUNT, .at = { 0, 0, 7, 7 }, .none = { 0, 0, 1, 1 },
	  .make = make_last_line },
	{ "between_calls", .page_id = "between", .type = CELL_BOOL, .at = { 0, 3, 8, 8 },
	  FIELD(struct steps, between) },
	{ "resolution_ns", .type = CELL_NS, .at = { 0, 0, 9, 9 }, .none = { 0, 0, 1, 1 },
	  FIELD(struct steps, bin_ns) },
	{ "tid", .type = CELL_LABEL, .at = { 0, 0, 10, 10 }, .none = { 0, 0, 1, 1 },
	  FIELD(struct steps, tid) },
	{ "steps", .page_id = "calls", .type = CELL_COUNT, .at = { 0, 4, 11, 11 },
	  FIELD(struct steps, calls) },
	{ "sum_ns", .type = CELL_NS, .at = { 0, 0, 12, 12 }, FIELD(struct steps, sum_ns) },
	{ "min_ns", .type = CELL_NS, .at = { 0, 0, 13, 13 }, FIELD(struct steps, min_ns) },
	{ "q1_ns", .type = CELL_NS, .at = { 0, 0, 14, 14 }, FIELD(struct steps, q1_ns) },
	{ "median_ns", .type = CELL_NS, .at = { 0, 5, 15, 15 }, FIELD(struct steps, median_ns) },
	{ "q3_ns", .type = CELL_NS, .at = { 0, 0, 16, 16 }, FIELD(struct steps, q3_ns) },
	{ "p95_ns", .type = CELL_NS, .at = { 0, 0, 17, 17 }, FIELD(struct steps, p95_ns) },
	{ "max_ns", .type = CELL_NS, .at = { 0, 0, 18, 18 }, FIELD(struct steps, max_ns) },
	{ "parts_steps", .type = CELL_COUNT, .at = { 0, 0, 19, 19 }, .make = make_parts_steps },
	{ "unplaced_wait_ns", .type = CELL_NS, .at = { 0, 0, 27, 27 }, .make = make_unplaced },
	EACH_STEP_PART(PART_SUM){ "short_steps", .type = CELL_COUNT, .at = { 0, 15, 28, 28 },
	                          .none = { 0, 0, 1, 1 },
	                          FIELD(struct steps, lengths.brief.count) },
	{ "short_median_ns", .type = CELL_NS, .at = { 0, 16, 29, 29 }, .none = { 0, 0, 1, 1 },
	  .make = make_short },
	{ "long_steps", .type = CELL_COUNT, .at = { 0, 17, 30, 30 }, .none = { 0, 0, 1, 1 },
	  FIELD(struct steps, lengths.lengthy.count) },
	{ "long_median_ns", .type = CELL_NS, .at = { 0, 18, 31, 31 }, .none = { 0, 0, 1, 1 },
	  .make = make_long },
	{ "long_from_ns", .type = CELL_NS, .at = { 0, 19, 32, 32 }, .none = { 0, 0, 1, 1 },
	  .make = make_limit },
	{ "every", .type = CELL_COUNT, .at = { 0, 20, 33, 33 }, .none = { 0, 0, 1, 1 },
	  FIELD(struct steps, lengths.every) },
};

static const struct steps *find(struct report *r, struct error *err)
{
	const struct steps_query query = {
		.name = r->view->steps,
		.from_ns = r->view->from_ns,
		.to_ns = r->view->to_ns,
	};

	return keep_steps(r, query_steps(r->profile, &query, err), err);
}

static const struct step_parts *divide(struct report *r, const struct steps *steps,
                                       struct error *err)
{
	return keep_step_parts(r, query_step_parts(r->profile, steps, err), err);
}

struct section *section_all_steps(struct report *r, struct error *err)
{
	const struct steps *steps = find(r, err);
	const struct step_parts *parts = steps ? divide(r, steps, err) : NULL;
	struct step own = { .steps = steps, .parts = parts };

	if (!parts)
		return NULL;
	struct section *s = section_new(r, "steps", NULL);
	s->context = &own;
	SECTION_COLUMNS(s, all_columns);
	section_rows(s, steps->steps, steps->count, sizeof(*steps->steps));
	s->context = NULL;
	return section_end(s, err);
}

struct section *section_step_series(struct report *r, struct error *err)
{
	const struct steps *steps = find(r, err);
	const struct step_parts *parts = steps ? divide(r, steps, err) : NULL;
	struct part_row all = { 0 };

	if (!parts)
		return NULL;
	struct section *s = section_new(r, "step_series", NULL);
	all.parts = step_parts_sum(steps, parts, &all.count);
	s->context = &all;
	SECTION_COLUMNS(s, series_columns);
	if (steps->name)
		section_row(s, steps);
	s->context = NULL;
	return section_end(s, err);
}

static double percent_within(double q1, double median, double q3)
{
	return median > 0 ? 100 * (q3 - q1) / median : 0;
}

// Of steps of two lengths, that of those that spread more.
static double spread(const struct steps *s)
{
	const struct length *brief = &s->lengths.brief, *lengthy = &s->lengths.lengthy;

	if (!steps_have_two_lengths(s))
		return percent_within((double)s->q1_ns, (double)s->median_ns, (double)s->q3_ns);
	double a = percent_within(brief->q1, brief->median, brief->q3);
	double b = percent_within(lengthy->q1, lengthy->median, lengthy->q3);
	return a > b ? a : b;
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

static void head(struct section *s, const struct steps *steps)
{
	bool ascii = s->report->ascii;
	cleanup_free char *name = format_clip(steps->name, 60, CLIP_MIDDLE, ascii);
	char note[400];

	snprintf(note, sizeof(note), "%s%s%s%s%s%s",
	         steps->between ? "from one call of " : "calls of ", name ? name : steps->name,
	         steps->shape[0] ? " (" : "", steps->shape, steps->shape[0] ? ")" : "",
	         steps->between ? " to the next" : "");
	if (!steps->provider)
		describe_loop(steps, note, sizeof(note));
	s->subtitle = report_say(s->report, "%s", note);
}

// "45 of 40.1 ms (IQR 2.1 %)"
static const char *say_length(const struct section *s, const struct length *l)
{
	return report_say(s->report, "%s of %s (IQR %.1f %%)", format_count(l->count).text,
	                  format_duration((uint64_t)l->median).text,
	                  percent_within(l->q1, l->median, l->q3));
}

// One median would be that of neither.
static void say_lengths(struct section *s, const struct steps *steps)
{
	const struct two_lengths *l = &steps->lengths;
	bool rare = l->lengthy.count <= l->brief.count;
	const char *every = "";

	if (l->every)
		every = report_say(s->report, "; each %zu%s is %s", l->every,
		                   l->every == 2   ? "nd"
		                   : l->every == 3 ? "rd"
		                                   : "th",
		                   rare ? "long" : "short");
	section_note(s, NOTE_SAY, true, "%s, of two lengths: %s, and %s%s; %s to %s",
	             format_count(steps->calls).text, say_length(s, &l->brief),
	             say_length(s, &l->lengthy), every, format_duration(steps->min_ns).text,
	             format_duration(steps->max_ns).text);
}

// "6.04 ms decode app.c:12 > read_block: locks"
static void describe_excess(const struct report *r, const struct step_excess *e, char *words,
                            size_t size)
{
	cleanup_free char *name = format_clip(e->name, NAME_WIDTH, CLIP_SYMBOL, r->ascii);
	const char *wait = wait_words((enum metric)e->metric);
	char place[160];

	place_words(e->file, e->line, NULL, place, sizeof(place));
	cleanup_free char *via = format_clip(e->via, NAME_WIDTH, CLIP_SYMBOL, r->ascii);
	snprintf(words, size, "%s %s%s%s%s%s%s%s", format_duration(e->excess_ns).text,
	         name ? name : e->name, *place ? " " : "", place, *e->via ? " > " : "",
	         via ? via : e->via, *wait ? ": " : "", wait);
}

// NULL on error.
static const char *explain(struct report *r, const struct steps *steps, size_t index,
                           struct error *err)
{
	struct step_excess excesses[STEP_EXCESSES];
	int count = steps_explain(r->profile, steps, index, 1, excesses, err);
	const char *words = "";

	for (int i = 0; i < count; i++) {
		char excess[EXCESS_MAX];
		describe_excess(r, &excesses[i], excess, sizeof(excess));
		words = report_say(r, "%s%s%s", words, i ? "\n" : "", excess);
	}
	return count < 0 ? NULL : words;
}

// The slowest ones of those that are not among BEFORE; s->count: there is none.
static size_t next_slowest(const struct steps *s, const size_t *before, size_t count)
{
	size_t best = s->count;

	for (size_t i = 0; i < s->count; i++) {
		bool known = false;
		for (size_t j = 0; j < count; j++)
			known |= before[j] == i;
		if (!known &&
		    (double)s->steps[i].ns >= SLOW * (double)step_usual_ns(s, &s->steps[i]) &&
		    (best == s->count || s->steps[i].ns > s->steps[best].ns))
			best = i;
	}
	return best;
}

// Fills SHOWN, whose number it returns; -1 on error.
static int add_slowest(struct section *s, const struct steps *steps, size_t shown[ROWS_MAX],
                       struct error *err)
{
	struct step own = { .steps = steps };
	int count = 0;

	s->context = &own;
	for (; count < ROWS_MAX; count++) {
		size_t index = next_slowest(steps, shown, (size_t)count);
		shown[count] = index;
		if (index == steps->count)
			break;
		own.excess = explain(s->report, steps, index, err);
		if (!own.excess)
			return -1;
		section_row(s, &steps->steps[index]);
	}
	s->context = NULL;
	return count;
}

static double distance_to_long(const struct steps *s, size_t index)
{
	double ns = (double)s->steps[index].ns;

	return ns > s->lengths.lengthy.median ? ns - s->lengths.lengthy.median
	                                      : s->lengths.lengthy.median - ns;
}

// What the long ones do that the others do not: by that which is nearest to their median.
static int say_long(struct section *s, const struct steps *steps, struct error *err)
{
	size_t best = steps->count;

	for (size_t i = 0; i < steps->count; i++)
		if (step_is_long(steps, &steps->steps[i]) && steps->steps[i].calls == 1 &&
		    (best == steps->count ||
		     distance_to_long(steps, i) < distance_to_long(steps, best)))
			best = i;
	if (best == steps->count)
		return 0;
	struct step_excess excesses[STEP_EXCESSES];
	int count = steps_explain(s->report->profile, steps, best, 1, excesses, err);
	const char *words = "";
	for (int i = 0; i < count; i++) {
		char excess[EXCESS_MAX];
		describe_excess(s->report, &excesses[i], excess, sizeof(excess));
		words = report_say(s->report, "%s%s%s", words, i ? ", " : "", excess);
	}
	if (count > 0)
		section_note(s, NOTE_SAY, true,
		             "A long one (step %s) spends more than others on: %s",
		             format_count(steps->steps[best].first).text, words);
	return count < 0 ? -1 : 0;
}

static int say_figures(struct section *s, const struct steps *steps, struct error *err)
{
	double percent = spread(steps);

	if (steps_have_two_lengths(steps))
		say_lengths(s, steps);
	if (steps_have_two_lengths(steps) && say_long(s, steps, err) < 0)
		return -1;
	if (!steps_have_two_lengths(steps))
		section_note(
			s, NOTE_SAY, true,
			"%s, median %s, IQR %s (%.1f %%), 95 %% up to %s, "
			"%s to %s",
			format_count(steps->calls).text, format_duration(steps->median_ns).text,
			format_duration(steps->q3_ns - steps->q1_ns).text, percent,
			format_duration(steps->p95_ns).text, format_duration(steps->min_ns).text,
			format_duration(steps->max_ns).text);
	if (steps->bin_ns)
		section_note(s, NOTE_SAY, true,
		             "Each is known to %s; the pattern of samples repeats so often.",
		             format_duration(steps->bin_ns).text);
	if (percent * (double)steps->median_ns / 100 <= NOISE_BINS * (double)steps->bin_ns)
		return 0;
	if (percent > VERY_UNSTEADY)
		section_note(s, NOTE_SAY, true,
		             "Steps vary widely: a single run says little about another.");
	else if (percent > UNSTEADY)
		section_note(s, NOTE_SAY, true, "Steps vary: compare medians of several runs.");
	return 0;
}

static uint64_t length_of(const struct step_parts *parts)
{
	uint64_t ns = 0;

	for (int part = 0; part < STEP_PARTS; part++)
		ns += parts->ns[part];
	return ns;
}

// The mean of the steps that are short, or long.
static void add_length(struct section *s, const struct steps *steps, const struct step_parts *parts,
                       bool lengthy)
{
	struct part_row row = { .which = lengthy ? "long" : "short", .parts.known = true };

	for (size_t i = 0; i < steps->count; i++) {
		if (!parts[i].known || step_is_long(steps, &steps->steps[i]) != lengthy)
			continue;
		row.count++;
		for (int part = 0; part < STEP_PARTS; part++)
			row.parts.ns[part] += parts[i].ns[part];
	}
	if (!row.count)
		return;
	for (int part = 0; part < STEP_PARTS; part++)
		row.parts.ns[part] /= row.count;
	row.ns = length_of(&row.parts);
	section_row(s, &row);
}

// The mean of all, of both lengths where there are two, and then the slowest.
static struct section *make_parts(struct report *r, const struct steps *steps,
                                  const size_t *slowest, int count, struct error *err)
{
	const struct step_parts *parts = divide(r, steps, err);
	struct part_row row = { 0 };

	if (!parts)
		return NULL;
	struct section *s = section_new(r, "step_parts", "where steps spend their time");
	struct step_parts all = step_parts_sum(steps, parts, &row.count);
	s->shown = all.known && row.count && length_of(&all);
	if (!s->shown)
		return section_end(s, err);
	// Bins of time tell how much that is: less than some of them is none.
	uint64_t unplaced = query_unplaced_waits(r->profile, steps);
	if (unplaced * 100 >= length_of(&all) * UNPLACED_PERCENT)
		section_say(s,
		            "%s of waiting in these steps was not kept one by one: it is in Python "
		            "and other, or in CPU ops.",
		            format_duration(unplaced).text);
	if (row.count < steps->count)
		s->subtitle = report_say(r, "of the %s steps that were kept one by one",
		                         format_count(row.count).text);
	row.which = row.count > 1 ? "mean" : "1";
	row.parts.known = true;
	for (int part = 0; part < STEP_PARTS; part++)
		row.parts.ns[part] = all.ns[part] / row.count;
	row.ns = length_of(&all) / row.count;
	s->unit_ns = row.ns;
	SECTION_COLUMNS(s, part_columns);
	section_row(s, &row);
	if (steps_have_two_lengths(steps)) {
		add_length(s, steps, parts, false);
		add_length(s, steps, parts, true);
	}
	for (int i = 0; i < count; i++) {
		const struct step_parts *of = &parts[slowest[i]];
		row.which = report_say(r, "%s", format_count(steps->steps[slowest[i]].first).text);
		row.parts = *of;
		row.ns = length_of(of);
		if (of->known)
			section_row(s, &row);
	}
	return section_end(s, err);
}

struct section *section_steps(struct report *r, struct error *err)
{
	const struct steps *steps = find(r, err);
	size_t slowest[ROWS_MAX];

	if (!steps)
		return NULL;
	struct section *s = section_new(r, "steps", "steps");
	s->shown = steps->count || r->view->steps;
	if (!steps->count) {
		s->subtitle = steps->name ? "none in this part of the run" : "no such op";
		return section_end(s, err);
	}
	// Those of a loop that samples found are nobody's question.
	if (r->view->brief && !steps->provider && !r->view->steps) {
		s->shown = false;
		return section_end(s, err);
	}
	SECTION_COLUMNS(s, columns);
	head(s, steps);
	if (say_figures(s, steps, err) < 0)
		return NULL;
	if (r->view->brief) {
		section_keep_notes(s, steps_have_two_lengths(steps) ? 2 : 1, 0);
		if (!r->view->steps) // nobody has asked which are slow
			return section_end(s, err);
		return add_slowest(s, steps, slowest, err) < 0 ? NULL : section_end(s, err);
	}
	int count = add_slowest(s, steps, slowest, err);
	if (count < 0 || !(s->next = make_parts(r, steps, slowest, count, err)))
		return NULL;
	return section_end(s, err);
}
