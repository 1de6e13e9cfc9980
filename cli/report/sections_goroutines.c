// SPDX-License-Identifier: MIT
// Goroutines of Go programs: by the function that they run, with the places where they waited and
// why.
#include "cli/report/sections.h"

#include "cli/report/await_cells.h"
#include "cli/report/view.h"
#include "merge/query/query_awaits.h"

#include <stdlib.h>
#include <string.h>

#define KINDS_MAX     8
#define WAITS_MAX     3  // of a kind
#define PLACES_MAX    64 // of a kind, most first, that are summed up
#define LEAST_PERCENT 1  // of the time of all, or of the kind's: below that it is no news

REPORT_KEEPS(await_rows, struct await_rows *);

// A function that goroutines run; or one of its waits, for people below it.
struct line {
	const char *kind; // for programs: "goroutine", "wait"
	const char *name;
	const struct await_function *at; // NULL: unknown
	const char *function, *reason, *chain;
	uint64_t total_ns, most, running_ns, runnable_ns, waiting_ns;
	double mean;
};

static void make_place(const struct section *s, const void *line, struct section_cell *cell)
{
	(void)s;
	await_cell_place(cell, ((const struct line *)line)->at);
}

static void make_at_function(const struct section *s, const void *line, struct section_cell *cell)
{
	(void)s;
	await_cell_name(cell, ((const struct line *)line)->at);
}

static void make_at_file(const struct section *s, const void *line, struct section_cell *cell)
{
	(void)s;
	await_cell_file(cell, ((const struct line *)line)->at);
}

static void make_at_line(const struct section *s, const void *line, struct section_cell *cell)
{
	(void)s;
	await_cell_line(cell, ((const struct line *)line)->at);
}

static const struct section_column columns[] = {
	{ "at_once", .heading = "at once", .type = CELL_NUMBER, .at = { 1, 1, 0 },
	  .none = { 1, 1, 0 }, .form = FORM_DECIMAL, FIELD(struct line, mean) },
	{ "running_ns", .heading = "running", .type = CELL_NS, .at = { 2, 2, 0 },
	  .none = { 1, 1, 0 }, FIELD(struct line, running_ns) },
	{ "runnable_ns", .heading = "runnable", .type = CELL_NS, .at = { 3, 3, 0 },
	  .none = { 1, 1, 0 }, FIELD(struct line, runnable_ns) },
	{ "waiting_ns", .heading = "waiting", .type = CELL_NS, .at = { 4, 4, 0 },
	  .none = { 1, 1, 0 }, FIELD(struct line, waiting_ns) },
	{ "goroutine", .heading = "goroutines, their waits", .type = CELL_TEXT, .at = { 5, 5, 0 },
	  .clip = CLIP_MIDDLE, .room = 2, FIELD(struct line, name) },
	{ "where", .heading = "where", .type = CELL_PLACE, .at = { 6, 6, 0 }, .clip = CLIP_START,
	  .room = 1, .make = make_place },
};

#define SHEET(place) .at = { 0, 0, place }

static const struct section_column sheet_columns[] = {
	{ "kind", .type = CELL_TEXT, SHEET(1), FIELD(struct line, kind) },
	{ "function", .type = CELL_TEXT, SHEET(2), FIELD(struct line, function) },
	{ "reason", .type = CELL_TEXT, SHEET(3), FIELD(struct line, reason) },
	{ "at_function", .type = CELL_TEXT, SHEET(4), .make = make_at_function },
	{ "at_file", .type = CELL_TEXT, SHEET(5), .make = make_at_file },
	{ "at_line", .type = CELL_COUNT, SHEET(6), .make = make_at_line },
	{ "chain", .type = CELL_TEXT, SHEET(7), FIELD(struct line, chain) },
	{ "mean_at_once", .type = CELL_NUMBER, SHEET(8), FIELD(struct line, mean) },
	{ "most_at_once", .type = CELL_COUNT, SHEET(9), FIELD(struct line, most) },
	{ "total_ns", .type = CELL_NS, SHEET(10), FIELD(struct line, total_ns) },
	{ "running_ns", .type = CELL_NS, SHEET(11), FIELD(struct line, running_ns) },
	{ "runnable_ns", .type = CELL_NS, SHEET(12), FIELD(struct line, runnable_ns) },
	{ "waiting_ns", .type = CELL_NS, SHEET(13), FIELD(struct line, waiting_ns) },
};

// So many were there at a time that have taken NS in sum.
static double mean_of(const struct report *r, uint64_t ns)
{
	const struct run *run = profile_run(r->profile);
	uint64_t whole_ns = run->recorded_ns ? run->recorded_ns : run->wall_ns;

	return whole_ns ? (double)ns / (double)whole_ns : 0;
}

static struct line line_of(const struct report *r, const struct await_tasks *t)
{
	return (struct line){ .kind = "goroutine",
		              .name = t->coroutine.name,
		              .function = t->coroutine.name,
		              .at = &t->coroutine,
		              .total_ns = t->total_ns,
		              .mean = mean_of(r, t->total_ns),
		              .most = t->tasks,
		              .running_ns = t->running_ns,
		              .runnable_ns = t->ready_ns,
		              .waiting_ns = t->waiting_ns };
}

// Goroutines that went on while they were looked at waited at a place that is not known.
static struct line line_of_wait(const struct report *r, const struct await_rows *rows,
                                const struct await_wait *w)
{
	bool known = w->place.file != NULL || w->place.line;

	return (struct line){ .kind = "wait",
		              .function = rows->tasks[w->tasks].coroutine.name,
		              .reason = w->awaited ? w->awaited : "unknown",
		              .at = known ? &w->place : NULL,
		              .chain = w->chain,
		              .total_ns = w->ns,
		              .mean = mean_of(r, w->ns),
		              .waiting_ns = w->ns };
}

struct section *section_sheet_goroutines(struct report *r, struct error *err)
{
	const struct await_rows *rows = keep_await_rows(r, query_goroutines(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "goroutines", NULL);
	SECTION_COLUMNS(s, sheet_columns);
	// Sums of the whole run say nothing of a part of it.
	if (view_is_filtered(r->view))
		return section_end(s, err);
	for (size_t i = 0; i < rows->task_count; i++) {
		struct line line = line_of(r, &rows->tasks[i]);
		section_row(s, &line);
	}
	for (size_t i = 0; i < rows->wait_count; i++) {
		struct line line = line_of_wait(r, rows, &rows->waits[i]);
		section_row(s, &line);
	}
	return section_end(s, err);
}

static bool is_same_place(const struct await_wait *a, const struct await_wait *b)
{
	return a->tasks == b->tasks && a->place.name == b->place.name &&
	       a->place.file == b->place.file && a->place.line == b->place.line &&
	       (a->awaited == b->awaited ||
	        (a->awaited && b->awaited && strcmp(a->awaited, b->awaited) == 0));
}

// For people a wait is the same wherever in a library it is: WAITS, of one kind, with their sums.
static size_t sum_up(struct await_wait *waits, size_t count)
{
	size_t sums = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < sums && !is_same_place(&waits[at], &waits[i]))
			at++;
		if (at < sums)
			waits[at].ns += waits[i].ns;
		else
			waits[sums++] = waits[i];
	}
	return sums;
}

static int more_first(const void *left, const void *right)
{
	const struct await_wait *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

static void put_waits(struct section *s, const struct await_rows *rows, size_t tasks)
{
	struct await_wait waits[PLACES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < rows->wait_count && count < PLACES_MAX; i++)
		if (rows->waits[i].tasks == tasks)
			waits[count++] = rows->waits[i];
	count = sum_up(waits, count);
	qsort(waits, count, sizeof(waits[0]), more_first);
	for (size_t i = 0; i < count && i < WAITS_MAX; i++) {
		if (waits[i].ns * 100 < rows->tasks[tasks].total_ns * LEAST_PERCENT)
			break;
		struct line line = line_of_wait(s->report, rows, &waits[i]);
		line.name = line.at && line.at->name ? report_say(s->report, "  %s in %s",
		                                                  line.reason, line.at->name)
		                                     : report_say(s->report, "  %s", line.reason);
		section_row(s, &line);
	}
}

struct section *section_goroutines(struct report *r, struct error *err)
{
	const struct await_rows *rows = keep_await_rows(r, query_goroutines(r->profile, err), err);
	size_t most = r->view->top < KINDS_MAX ? r->view->top : KINDS_MAX;

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "goroutines",
	                                r->reader == READER_PAGE ? "Goroutines" : "goroutines");
	const struct await_tasks *all = &rows->all;
	s->shown = rows->task_count && !view_is_filtered(r->view);
	if (!s->shown)
		return section_end(s, err);
	s->subtitle = report_say(
		r, "%.1f at once on average: running %s %%, runnable %s %%, waiting %s %%",
		mean_of(r, all->total_ns), format_percent(all->running_ns, all->total_ns).text,
		format_percent(all->ready_ns, all->total_ns).text,
		format_percent(all->waiting_ns, all->total_ns).text);
	s->unit_ns = rows->tasks[0].total_ns;
	SECTION_COLUMNS(s, columns);
	for (size_t i = 0; i < rows->task_count && i < most; i++) {
		const struct await_tasks *t = &rows->tasks[i];
		if (t->total_ns * 100 < all->total_ns * LEAST_PERCENT)
			break;
		struct line line = line_of(r, t);
		section_row(s, &line);
		put_waits(s, rows, i);
	}
	return section_end(s, err);
}
