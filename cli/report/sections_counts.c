// SPDX-License-Identifier: MIT
// Counted instructions: the report of a count, and tables of what was executed in all, by function,
// and by line.
#include "cli/report/counts.h"

#include "cli/report/row_words.h"
#include "cli/report/sections.h"
#include "merge/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define NAMELESS 0.05 // of all instructions: worth a word

REPORT_KEEPS(count_rows, struct count_rows *);

// All of them, what varies from run to run as well: they sum to what was executed.
static const struct count_rows *find(struct report *r, enum counts_by by, struct error *err)
{
	const struct counts_query query = { .by = by, .noise = true };

	return keep_count_rows(r, query_counts(r->profile, &query, err), err);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct count_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

#define SHEET(place) .at = { [READER_SHEET] = (place) }

static const struct section_column columns[] = {
	{ "name", .type = CELL_TEXT, SHEET(1), FIELD(struct count_row, name) },
	{ "file", .type = CELL_TEXT, SHEET(2), FIELD(struct count_row, file) },
	{ "module", .type = CELL_TEXT, SHEET(3), FIELD(struct count_row, module) },
	{ "self_instructions", .type = CELL_INTEGER, SHEET(4), FIELD(struct count_row, self) },
	{ "total_instructions", .type = CELL_INTEGER, SHEET(5), FIELD(struct count_row, total) },
	{ "calls", .type = CELL_INTEGER, SHEET(6), FIELD(struct count_row, calls) },
};

struct section *section_counts(struct report *r, struct error *err)
{
	const struct count_rows *rows = find(r, COUNTS_BY_FUNCTION, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "counts", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

static const struct section_column line_columns[] = {
	{ "file", .type = CELL_TEXT, SHEET(1), FIELD(struct count_row, file) },
	{ "line", .type = CELL_COUNT, SHEET(2), .none = { [READER_SHEET] = true },
	  .make = make_line },
	{ "self_instructions", .type = CELL_INTEGER, SHEET(3), FIELD(struct count_row, self) },
};

struct section *section_count_lines(struct report *r, struct error *err)
{
	const struct count_rows *rows = find(r, COUNTS_BY_LINE, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "count_lines", NULL);
	SECTION_COLUMNS(s, line_columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

static const struct section_column total_columns[] = {
	{ "instructions", .type = CELL_COUNT, SHEET(1), FIELD(struct count_rows, all) },
	{ "noise_instructions", .type = CELL_INTEGER, SHEET(2), FIELD(struct count_rows, noise) },
	{ "unnamed_instructions", .type = CELL_COUNT, SHEET(3), FIELD(struct count_rows, unnamed) },
	{ "unnamed_module", .type = CELL_TEXT, SHEET(4), FIELD(struct count_rows, unnamed_module) },
	{ "unlined_instructions", .type = CELL_COUNT, SHEET(5), FIELD(struct count_rows, unlined) },
	{ "unlined_module", .type = CELL_TEXT, SHEET(6), FIELD(struct count_rows, unlined_module) },
};

struct section *section_count_totals(struct report *r, struct error *err)
{
	const struct counts_query query = { .by = COUNTS_BY_FUNCTION };
	const struct count_rows *rows =
		keep_count_rows(r, query_counts(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "count_totals", NULL);
	SECTION_COLUMNS(s, total_columns);
	section_rows(s, rows, profile_has_counts(r->profile), sizeof(*rows));
	return section_end(s, err);
}

// What the columns of a report on a count share.
struct shown {
	const struct counts_shown *as;
	const struct count_rows *rows;
	uint64_t all; /* what shares are of */
};

// With its sign where it is a difference.
static struct short_text number(const struct counts_shown *as, int64_t value)
{
	struct short_text plain = format_count((uint64_t)llabs(value)), out;

	if (!as->query.baseline || !value)
		return plain;
	snprintf(out.text, sizeof(out.text), "%c%.30s", value < 0 ? '-' : '+', plain.text);
	return out;
}

static void put_number(const struct section *s, int64_t value, struct section_cell *cell)
{
	const struct shown *shown = s->context;

	cell->text = report_say(s->report, "%s", number(shown->as, value).text);
}

static void put_percent(const struct section *s, int64_t part, struct section_cell *cell)
{
	const struct shown *shown = s->context;
	double all = (double)shown->all;

	cell->text = report_say(s->report, "%.2f", shown->all ? 100 * (double)part / all : 0.0);
}

#define MAKE_NUMBERS(field)                                                                        \
	static void make_##field(const struct section *s, const void *data,                        \
	                         struct section_cell *cell)                                        \
	{                                                                                          \
		put_number(s, ((const struct count_row *)data)->field, cell);                      \
	}                                                                                          \
	static void make_##field##_share(const struct section *s, const void *data,                \
	                                 struct section_cell *cell)                                \
	{                                                                                          \
		put_percent(s, ((const struct count_row *)data)->field, cell);                     \
	}

MAKE_NUMBERS(self)
MAKE_NUMBERS(total)

static void make_calls(const struct section *s, const void *data, struct section_cell *cell)
{
	put_number(s, ((const struct count_row *)data)->calls, cell);
}

static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct count_row *row = data;
	char place[400];

	place_words(row->file, 0, row->module, place, sizeof(place));
	cell->text = report_say(s->report, "%s", place);
}

// What a row that is no function is called.
static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct shown *shown = s->context;
	const struct count_row *row = data;

	if (shown->as->query.by == COUNTS_BY_LINE && row->line)
		cell->text = report_say(s->report, "%s:%d", row->name, row->line);
	else
		cell->text = row->name;
}

#define WORDS(place) .type = CELL_TEXT, .at = { [READER_TEXT] = (place) }, .right = true
#define JSON(place)  .at = { [READER_JSON] = (place) }

static const struct section_column shown_columns[] = {
	{ "self_words", .heading = "self", WORDS(1), .make = make_self },
	{ "self_share", .heading = "%", WORDS(2), .make = make_self_share },
	{ "total_words", .heading = "total", WORDS(3), .make = make_total },
	{ "total_share", .heading = "%", WORDS(4), .make = make_total_share },
	{ "call_words", .heading = "calls", WORDS(5), .make = make_calls },
	{ "function", .heading = "function", .type = CELL_TEXT, .at = { 6 }, .clip = CLIP_SYMBOL,
	  .room = 3, FIELD(struct count_row, name) },
	{ "where", .heading = "where", .type = CELL_TEXT, .at = { 7 }, .clip = CLIP_START,
	  .room = 2, .make = make_where },
	{ "name", .type = CELL_TEXT, JSON(1), FIELD(struct count_row, name) },
	{ "file", .type = CELL_TEXT, JSON(2), FIELD(struct count_row, file) },
	{ "line", .type = CELL_COUNT, JSON(3), .none = { [READER_JSON] = true },
	  .make = make_line },
	{ "module", .type = CELL_TEXT, JSON(4), FIELD(struct count_row, module) },
	{ "self", .type = CELL_INTEGER, JSON(5), FIELD(struct count_row, self) },
	{ "total", .type = CELL_INTEGER, JSON(6), FIELD(struct count_row, total) },
	{ "calls", .type = CELL_INTEGER, JSON(7), FIELD(struct count_row, calls) },
};

static const struct section_column place_columns[] = {
	{ "self_words", .heading = "self", WORDS(1), .make = make_self },
	{ "self_share", .heading = "%", WORDS(2), .make = make_self_share },
	{ "where", .heading = "where", .type = CELL_TEXT, .at = { 3 }, .clip = CLIP_START,
	  .room = 1, .make = make_place },
};

static void say_nameless(struct section *s, uint64_t part, const char *what, const char *module)
{
	const struct shown *shown = s->context;
	uint64_t all = shown->rows->all;

	if ((double)part > NAMELESS * (double)all)
		section_say(s,
		            "%s %% of the instructions are in code without %s, most in %s: install "
		            "its debug symbols (-dbgsym, -debuginfo), or compile with -g",
		            format_percent(part, all).text, what,
		            module ? module : "code of no file");
}

static void say_limits(struct section *s)
{
	const struct shown *shown = s->context;
	const struct count_rows *rows = shown->rows;
	enum counts_by by = shown->as->query.by;

	if (rows->count > shown->as->top)
		section_say(s, "and %s more rows: --top",
		            format_count(rows->count - shown->as->top).text);
	if (!rows->count)
		section_say(s,
		            shown->as->query.baseline ? "No row differs." : "No row is asked for.");
	if (rows->noise)
		section_say(s,
		            "without %s of the dynamic loader and of look-ups of names, which vary "
		            "from run to run (--noise)",
		            number(shown->as, rows->noise).text);
	say_nameless(s, rows->unnamed, "symbols", rows->unnamed_module);
	if (by == COUNTS_BY_LINE || by == COUNTS_BY_FILE)
		say_nameless(s, rows->unlined, "lines", rows->unlined_module);
}

// As people see them: so many rows, and what these leave out.
static struct section *shown_rows(struct report *r, struct shown *shown)
{
	const struct count_rows *rows = shown->rows;
	struct section *s = section_new(r, "rows", NULL);
	bool people = r->reader == READER_TEXT;

	s->shown = true;
	s->context = shown;
	if (people && shown->as->query.by != COUNTS_BY_FUNCTION)
		SECTION_COLUMNS(s, place_columns);
	else
		SECTION_COLUMNS(s, shown_columns);
	section_rows(s, rows->rows,
	             people && shown->as->top < rows->count ? shown->as->top : rows->count,
	             sizeof(*rows->rows));
	if (people)
		say_limits(s);
	return s;
}

// A report on a count, before its rows.
struct count_head {
	const char *command, *facts;
	const struct count_rows *counts;
	const struct section *rows;
	bool has_baseline;
};

static const char *say_facts(struct report *r, const struct count_rows *rows)
{
	int status = profile_run(r->profile)->exit_status;
	const char *all = format_count(rows->all).text;

	if (WIFSIGNALED(status))
		return report_say(r, "%s instructions \u00b7 killed by signal %d", all,
		                  WTERMSIG(status));
	if (WEXITSTATUS(status))
		return report_say(r, "%s instructions \u00b7 exit %d", all, WEXITSTATUS(status));
	return report_say(r, "%s instructions", all);
}

// "1,234.5": of many a tenth is of no interest.
static struct short_text each(double instructions)
{
	struct short_text out = format_count((uint64_t)(instructions < 0 ? 0 : instructions + 0.5));

	if (instructions < 1000)
		snprintf(out.text, sizeof(out.text), "%.1f", instructions);
	return out;
}

static const char *say_each(struct report *r, const struct counts_calls *calls)
{
	return report_say(r, "%s instructions a call, by %s calls beside one",
	                  each(calls->each).text, format_count(calls->count).text);
}

static void say_versus(struct section *s, const struct counts_calls *calls)
{
	if (calls->versus)
		section_say(s,
		            "%s: %s (%+.2f %%); below, how the first differs in all calls, and in "
		            "percent of what those of the second take",
		            calls->versus, each(calls->versus_each).text,
		            calls->each > 0 ? 100 * (calls->versus_each / calls->each - 1) : 0.0);
}

static void say_baseline(struct section *s, const struct counts_shown *as,
                         const struct count_rows *rows)
{
	double base = (double)rows->baseline_all, all = (double)rows->all;

	if (as->baseline)
		section_say(s, "%s than %s, which has %s (%+.2f %%)",
		            number(as, (int64_t)(rows->all - rows->baseline_all)).text,
		            as->baseline, format_count(rows->baseline_all).text,
		            rows->baseline_all ? 100 * (all / base - 1) : 0.0);
}

static void make_all(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct count_head *)data)->counts->all;
}

static void make_baseline(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct count_head *head = data;

	(void)s;
	cell->count = head->counts->baseline_all;
	cell->flags = head->has_baseline ? 0 : CELL_UNKNOWN;
}

static void make_noise(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->integer = ((const struct count_head *)data)->counts->noise;
}

static void make_unnamed(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct count_head *)data)->counts->unnamed;
}

static void make_unlined(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct count_head *)data)->counts->unlined;
}

static void make_rows(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->section = ((const struct count_head *)data)->rows;
}

static const struct section_column head_columns[] = {
	{ "command", .type = CELL_TEXT, .at = { [READER_TEXT] = 1, [READER_JSON] = 1 },
	  FIELD(struct count_head, command) },
	{ "facts", .type = CELL_TEXT, .at = { 2 }, .prose = true, FIELD(struct count_head, facts) },
	{ "instructions", .type = CELL_COUNT, JSON(2), .make = make_all },
	{ "baseline_instructions", .type = CELL_COUNT, JSON(3), .make = make_baseline },
	{ "noise", .type = CELL_INTEGER, JSON(4), .make = make_noise },
	{ "unnamed", .type = CELL_COUNT, JSON(5), .make = make_unnamed },
	{ "unlined", .type = CELL_COUNT, JSON(6), .make = make_unlined },
	{ "rows", .type = CELL_ROWS, JSON(7), .make = make_rows },
};

// What shares are of: of a statement, what its calls take, not what the interpreter took to start.
static uint64_t shares_of(const struct counts_shown *as, const struct count_rows *rows)
{
	const struct counts_calls *calls = as->calls;

	if (!calls)
		return as->query.baseline ? rows->baseline_all : rows->all;
	double each = calls->versus ? calls->versus_each : calls->each;
	return each > 0 ? (uint64_t)(each * calls->count + 0.5) : 0;
}

struct section *section_count_report(struct report *r, const struct counts_shown *as,
                                     struct error *err)
{
	const struct count_rows *rows =
		keep_count_rows(r, query_counts(r->profile, &as->query, err), err);

	if (!rows)
		return NULL;
	const char *command = profile_run(r->profile)->command;
	struct shown shown = { as, rows, shares_of(as, rows) };
	struct section *s = section_new(r, "count", "bottleneck count");
	const struct count_head head = {
		.command = command || r->reader == READER_JSON ? command : "?",
		.facts = as->calls ? say_each(r, as->calls) : say_facts(r, rows),
		.counts = rows,
		.rows = shown_rows(r, &shown),
		.has_baseline = as->query.baseline
	};
	s->form = SECTION_HEADER;
	s->shown = true;
	SECTION_COLUMNS(s, head_columns);
	section_row(s, &head);
	if (as->calls)
		say_versus(s, as->calls);
	else
		say_baseline(s, as, rows);
	if (r->reader == READER_TEXT)
		s->next = section_end((struct section *)head.rows, err);
	return section_end(s, err);
}
