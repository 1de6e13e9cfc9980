// SPDX-License-Identifier: MIT
// The comparison for people as sections: the two sides, and a table of the rows that changed for
// each kind of row.
#include "base/format.h"
#include "cli/report/diff_report.h"
#include "cli/report/row_words.h"
#include "cli/report/section.h"
#include "merge/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDE         80    // terminals below this get fewer columns
#define WIDEST       100   // and those below this no medians
#define UNSURE_SHARE 0.005 // of all time, that a row has to have changed by to be worth its line
#define UNSURE_ROWS  5     // of a whole report
#define NAME_SIZE    1024

static const struct {
	const char *title, *name;
} titles[DIFF_TABLES] = {
	[DIFF_RUN] = { "the run", "" },
	[DIFF_OWNER] = { "wall time, by what the run waited for", "what" },
	[DIFF_FUNCTION] = { "functions", "function" },
	[DIFF_LINE] = { "lines", "line" },
	[DIFF_MODULE] = { "modules", "module" },
	[DIFF_FILE] = { "files", "file" },
	[DIFF_THREAD] = { "threads", "thread" },
	[DIFF_PROCESS] = { "processes", "process" },
	[DIFF_OP] = { "ops", "op" },
	[DIFF_SHAPE] = { "ops by shape", "op" },
	[DIFF_KERNEL] = { "what GPUs ran", "kernel" },
};

// "+0.29 s"
static struct short_text signed_time(double ns, struct time_unit unit)
{
	struct short_text out, size = format_time((uint64_t)fabs(ns), unit);

	snprintf(out.text, sizeof(out.text), "%s%.28s", ns < 0 ? "-" : "+", size.text);
	return out;
}

// "+9.8", "new", "gone"
static struct short_text relative(const struct diff_row *row)
{
	struct short_text out = { "" };
	double ratio = diff_ratio(row);

	if (!row->base.runs || row->base.ns <= 0)
		snprintf(out.text, sizeof(out.text), "new");
	else if (!row->next.runs)
		snprintf(out.text, sizeof(out.text), "gone");
	else if (ratio >= 9)
		snprintf(out.text, sizeof(out.text), "%.1fx", ratio + 1);
	else
		snprintf(out.text, sizeof(out.text), "%+.1f", 100 * ratio);
	return out;
}

// "1,000 > 1,200"; one number where they are alike.
static struct short_text calls(const struct diff_row *row)
{
	struct short_text out = { "" }, was = format_count((uint64_t)llround(row->base.calls)),
			  is = format_count((uint64_t)llround(row->next.calls));

	if (row->base.calls <= 0 && row->next.calls <= 0)
		return out;
	if (strcmp(was.text, is.text) == 0)
		return is;
	snprintf(out.text, sizeof(out.text), "%.13s > %.13s", was.text, is.text);
	return out;
}

// What a call takes, by the medians.
static struct short_text medians(const struct diff_row *row)
{
	struct short_text out = { "" };

	if (row->base.median_ns <= 0 || row->next.median_ns <= 0)
		return out;
	snprintf(out.text, sizeof(out.text), "%+.1f",
	         100 * (row->next.median_ns / row->base.median_ns - 1));
	return out;
}

static enum tone tone_of(const struct diff_row *row)
{
	if (row->verdict != DIFF_CHANGED)
		return TONE_DIM;
	return row->change_ns > 0 ? TONE_HOT : TONE_WARM;
}

static void put_side(const struct diff_value *value, struct section_cell *cell)
{
	cell->count = (uint64_t)value->ns;
	cell->flags = value->runs ? 0 : CELL_UNKNOWN;
}

static void make_base(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	put_side(&((const struct diff_row *)row)->base, cell);
}

static void make_next(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	put_side(&((const struct diff_row *)row)->next, cell);
}

static void make_change(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct diff_row *row = data;
	struct time_unit unit = format_time_unit(s->unit_ns);

	cell->text = report_say(s->report, "%s", signed_time(row->change_ns, unit).text);
	cell->tone = tone_of(row);
}

static void make_margin(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->count = (uint64_t)((const struct diff_row *)row)->margin_ns;
	cell->tone = TONE_DIM;
}

static void make_ratio(const struct section *s, const void *row, struct section_cell *cell)
{
	cell->text = report_say(s->report, "%s", relative(row).text);
	cell->tone = tone_of(row);
}

static void make_calls(const struct section *s, const void *row, struct section_cell *cell)
{
	cell->text = report_say(s->report, "%s", calls(row).text);
}

static void make_medians(const struct section *s, const void *row, struct section_cell *cell)
{
	cell->text = report_say(s->report, "%s", medians(row).text);
}

static void make_verdict(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->text = diff_row_word(row);
	cell->tone = tone_of(row);
}

static void name_line(const struct diff_row *row, char *name)
{
	place_words(row->file, row->next.line ? row->next.line : row->base.line, row->module, name,
	            NAME_SIZE);
	if (row->base.line && row->next.line && row->base.line != row->next.line) {
		size_t used = strlen(name);
		snprintf(name + used, NAME_SIZE - used, " (was %d)", row->base.line);
	}
}

// What the rows of a table are of.
static enum diff_by by_of(const struct section *s)
{
	return *(const enum diff_by *)s->context;
}

static void make_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct diff_row *row = data;
	enum diff_by by = by_of(s);
	char name[NAME_SIZE];

	if (by == DIFF_LINE && row->file)
		name_line(row, name);
	else if (by == DIFF_OP || by == DIFF_SHAPE)
		snprintf(name, sizeof(name), "%s%s%s", row->name, *row->shape ? " " : "",
		         row->shape);
	else
		snprintf(name, sizeof(name), "%s", row->name);
	cell->text = report_say(s->report, "%s", name);
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct diff_row *row = data;
	char place[512];

	place_words(row->file, row->next.line ? row->next.line : row->base.line, row->module, place,
	            sizeof(place));
	cell->text = report_say(s->report, "%s", place_beside(row->name, place));
}

static const struct section_column columns[] = {
	{ "base", .heading = "base", .type = CELL_NS, .at = { 1 }, .width_min = WIDE,
	  .make = make_base },
	{ "new", .heading = "new", .type = CELL_NS, .at = { 2 }, .width_min = WIDE,
	  .make = make_next },
	{ "change", .heading = "change", .type = CELL_TEXT, .at = { 3 }, .right = true,
	  .make = make_change },
	{ "margin", .heading = "\u00b1", .type = CELL_NS, .at = { 4 }, .width_min = WIDE,
	  .make = make_margin },
	{ "ratio", .heading = "%", .type = CELL_TEXT, .at = { 5 }, .right = true,
	  .make = make_ratio },
	{ "calls", .heading = "calls", .type = CELL_TEXT, .at = { 6 }, .right = true,
	  .width_min = WIDE, .if_any = true, .make = make_calls },
	{ "medians", .heading = "a call %", .type = CELL_TEXT, .at = { 7 }, .right = true,
	  .width_min = WIDEST, .if_any = true, .make = make_medians },
	{ "verdict", .heading = "", .type = CELL_TEXT, .at = { 8 }, .make = make_verdict },
	{ "name", .heading = "", .type = CELL_TEXT, .at = { 9 }, .clip = CLIP_MIDDLE, .room = 3,
	  .make = make_name },
	{ "place", .heading = "", .type = CELL_TEXT, .at = { 10 }, .clip = CLIP_START, .room = 2,
	  .make = make_place },
};

static void add_columns(struct section *s, enum diff_by by)
{
	SECTION_COLUMNS(s, columns);
	struct section_column *name = section_column(s, "name");
	if (name)
		name->heading = titles[by].name;
	if (name && (by == DIFF_FUNCTION || by == DIFF_OWNER))
		name->clip = CLIP_SYMBOL;
	else if (name && (by == DIFF_MODULE || by == DIFF_FILE || by == DIFF_LINE))
		name->clip = CLIP_START;
	if (by != DIFF_FUNCTION && by != DIFF_OWNER)
		section_without(s, "place");
	if (by == DIFF_RUN) {
		section_without(s, "calls");
		section_without(s, "medians");
	}
}

static double largest_of(const struct diff *diff)
{
	double most = 0;

	for (size_t i = 0; i < diff->count; i++)
		most = fmax(most, fmax(diff->rows[i].base.ns, diff->rows[i].next.ns));
	return most;
}

static size_t count_changed(const struct diff *diff)
{
	size_t changed = 0;

	for (size_t i = 0; i < diff->count; i++)
		changed += diff->rows[i].verdict == DIFF_CHANGED;
	return changed;
}

// In a whole report, rows that tell nothing are left out, and of those that may tell something
// there are few.
static bool is_shown(const struct diff_report *report, enum diff_by by, const struct diff_row *row,
                     size_t *unsure)
{
	if (report->chosen || by == DIFF_RUN || row->verdict == DIFF_CHANGED)
		return true;
	if (row->verdict == DIFF_SAME ||
	    fabs(row->change_ns) < UNSURE_SHARE * report->tables[by]->base_ns)
		return false;
	return (*unsure)++ < UNSURE_ROWS;
}

static const char *subtitle_of(struct report *r, const struct diff_report *report, enum diff_by by)
{
	if (by == DIFF_RUN)
		return report_say(r, "%s: %.0f %% interval, all rows together",
		                  r->ascii ? "+-" : "\u00b1", 100 * report->confidence);
	if (by == DIFF_KERNEL || by == DIFF_OWNER)
		return NULL;
	bool total = report->total || (report->ops_total && by == DIFF_OP);
	return report_say(r, "by %s time%s", total ? "total" : "self",
	                  by == DIFF_OP || by == DIFF_SHAPE ? "" : ", CPU + waiting");
}

struct section *diff_report_table(struct report *r, const struct diff_report *report,
                                  enum diff_by by, struct error *err)
{
	const struct diff *diff = report->tables[by];
	struct section *s = section_new(r, "table", titles[by].title);
	size_t unsure = 0;

	s->shown = diff && (diff->count || (report->chosen && by != DIFF_RUN));
	if (!s->shown)
		return section_end(s, err);
	s->subtitle = subtitle_of(r, report, by);
	s->unit_ns = (uint64_t)largest_of(diff);
	s->context = &by;
	add_columns(s, by);
	for (size_t i = 0; i < diff->count && s->row_count < report->top && !r->failed; i++)
		if (is_shown(report, by, &diff->rows[i], &unsure))
			section_row(s, &diff->rows[i]);
	size_t hidden = diff->count - s->row_count;
	if (by != DIFF_RUN && hidden)
		section_note(s, NOTE_LINE, false, "%s of %s rows have changed%s%s%s",
		             format_count(count_changed(diff)).text, format_count(diff->count).text,
		             s->row_count ? "; " : "",
		             s->row_count ? format_count(hidden).text : "",
		             !s->row_count ? ""
		             : hidden == 1 ? " more is not shown"
		                           : " more are not shown");
	return section_end(s, err);
}

static void put_amount(const struct section *s, const struct diff_amount *amount, double value,
                       struct section_cell *cell)
{
	if (value > 0)
		cell->text = report_say(s->report, "%s", diff_amount_words(amount, value).text);
}

static void make_amount_base(const struct section *s, const void *row, struct section_cell *cell)
{
	put_amount(s, row, ((const struct diff_amount *)row)->base, cell);
}

static void make_amount_next(const struct section *s, const void *row, struct section_cell *cell)
{
	put_amount(s, row, ((const struct diff_amount *)row)->next, cell);
}

static void make_amount_ratio(const struct section *s, const void *row, struct section_cell *cell)
{
	const struct diff_amount *a = row;

	cell->tone = a->next > a->base ? TONE_HOT : TONE_WARM;
	if (a->next > 0 && a->base > 0)
		cell->text = report_say(s->report, "%+.1f", 100 * (a->next / a->base - 1));
	else
		cell->text = a->next > 0 ? "new" : "gone";
}

static void make_amount_name(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->text = ((const struct diff_amount *)row)->name;
}

static const struct section_column amount_columns[] = {
	{ "base", .heading = "base", .type = CELL_TEXT, .at = { 1 }, .right = true,
	  .make = make_amount_base },
	{ "new", .heading = "new", .type = CELL_TEXT, .at = { 2 }, .right = true,
	  .make = make_amount_next },
	{ "ratio", .heading = "%", .type = CELL_TEXT, .at = { 3 }, .right = true,
	  .make = make_amount_ratio },
	{ "name", .heading = "", .type = CELL_TEXT, .at = { 4 }, .clip = CLIP_MIDDLE, .room = 1,
	  .make = make_amount_name },
};

struct section *diff_report_amounts(struct report *r, const struct diff_report *report,
                                    struct error *err)
{
	struct section *s = section_new(r, "amounts", "calls and bytes");

	s->subtitle = "counted, not sampled";
	s->shown = report->amount_count && (!report->chosen || report->tables[DIFF_OP]);
	SECTION_COLUMNS(s, amount_columns);
	section_rows(s, report->amounts, report->amount_count, sizeof(report->amounts[0]));
	return section_end(s, err);
}

struct side {
	const char *name, *command, *facts, *path, *more;
};

static const char *say_facts(struct report *r, const struct diff_side *side)
{
	double wall = 0, cpu = 0;

	for (size_t i = 0; i < side->count; i++) {
		const struct run *one = profile_run(side->parts[i].profile);
		wall += (double)one->wall_ns / (double)side->count;
		cpu += (double)one->target_cpu_ns / (double)side->count;
	}
	const char *times =
		report_say(r, "%s wall \u00b7 %s CPU", format_duration((uint64_t)wall).text,
	                   format_duration((uint64_t)cpu).text);
	return side->count > 1 ? report_say(r, "%s \u00b7 mean of %zu runs", times, side->count)
	                       : times;
}

static void add_side(struct section *s, const char *name, const struct diff_side *side,
                     const char *const *paths)
{
	const char *command = profile_run(side->parts[0].profile)->command;
	const struct side row = { name, command ? command : "?", say_facts(s->report, side),
		                  paths[0], side->count > 1 ? ", ..." : "" };

	section_row(s, &row);
}

// In the order of enum diff_side_column.
static const struct section_column side_columns[] = {
	{ "name", .type = CELL_TEXT, .at = { 1 }, FIELD(struct side, name) },
	{ "command", .type = CELL_TEXT, .at = { 2 }, FIELD(struct side, command) },
	{ "facts", .type = CELL_TEXT, .at = { 3 }, FIELD(struct side, facts) },
	{ "path", .type = CELL_TEXT, .at = { 4 }, FIELD(struct side, path) },
	{ "more", .type = CELL_TEXT, .at = { 5 }, FIELD(struct side, more) },
};

struct section *diff_report_sides(struct report *r, const struct diff_report *report,
                                  struct error *err)
{
	struct section *s = section_new(r, "sides", NULL);

	s->shown = true;
	SECTION_COLUMNS(s, side_columns);
	add_side(s, "BASE", report->base, report->base_paths);
	add_side(s, "NEW", report->next, report->next_paths);
	return section_end(s, err);
}
