// SPDX-License-Identifier: MIT
// Tasks of event loops: by coroutine, with the awaits in which they stood; and who blocked the
// loop.
#include "cli/report/sections.h"

#include "cli/report/await_cells.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/query/query_awaits.h"

#include <ctype.h>
#include <stdio.h>

#define TASKS_MAX     8
#define WAITS_MAX     3 // of a coroutine
#define BLOCKS_MAX    3
#define LEAST_PERCENT 1 // of the time of all tasks, or of the coroutine's: below that it is no news

REPORT_KEEPS(await_rows, struct await_rows *);

// For people: a coroutine, or one of its awaits below it.
struct line {
	const char *name;
	const struct await_function *at;
	uint64_t total_ns, tasks, running_ns, ready_ns, waiting_ns;
};

static void make_place(const struct section *s, const void *line, struct section_cell *cell)
{
	(void)s;
	await_cell_place(cell, ((const struct line *)line)->at);
}

static const struct section_column columns[] = {
	{ "total_ns", .heading = "total", .type = CELL_NS, .at = { 1, 1, 0 }, .none = { 1, 1, 0 },
	  FIELD(struct line, total_ns) },
	{ "tasks", .heading = "tasks", .type = CELL_COUNT, .at = { 2, 2, 0 }, .none = { 1, 1, 0 },
	  FIELD(struct line, tasks) },
	{ "running_ns", .heading = "running", .type = CELL_NS, .at = { 3, 3, 0 },
	  .none = { 1, 1, 0 }, FIELD(struct line, running_ns) },
	{ "ready_ns", .heading = "ready", .type = CELL_NS, .at = { 4, 4, 0 }, .none = { 1, 1, 0 },
	  FIELD(struct line, ready_ns) },
	{ "waiting_ns", .heading = "waiting", .type = CELL_NS, .at = { 5, 5, 0 },
	  .none = { 1, 1, 0 }, FIELD(struct line, waiting_ns) },
	{ "coroutine", .heading = "coroutine, its awaits", .type = CELL_TEXT, .at = { 6, 6, 0 },
	  .clip = CLIP_MIDDLE, .room = 2, FIELD(struct line, name) },
	{ "where", .heading = "where", .type = CELL_PLACE, .at = { 7, 7, 0 }, .clip = CLIP_START,
	  .room = 1, .make = make_place },
};

// For programs: one row of any kind.
struct sheet_row {
	const char *kind;
	const struct await_function *of, *other; /* OTHER: NULL: none */
	const char *chain, *names, *library;
	uint64_t count, steps, total_ns, running_ns, ready_ns, waiting_ns, longest_ns;
};

static void make_function(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_name(cell, ((const struct sheet_row *)row)->of);
}

static void make_file(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_file(cell, ((const struct sheet_row *)row)->of);
}

static void make_line(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_line(cell, ((const struct sheet_row *)row)->of);
}

static void make_other(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_name(cell, ((const struct sheet_row *)row)->other);
}

static void make_other_file(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_file(cell, ((const struct sheet_row *)row)->other);
}

static void make_other_line(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	await_cell_line(cell, ((const struct sheet_row *)row)->other);
}

#define SHEET(place) .at = { 0, 0, place }

static const struct section_column sheet_columns[] = {
	{ "kind", .type = CELL_TEXT, SHEET(1), FIELD(struct sheet_row, kind) },
	{ "function", .type = CELL_TEXT, SHEET(2), .make = make_function },
	{ "file", .type = CELL_TEXT, SHEET(3), .make = make_file },
	{ "line", .type = CELL_COUNT, SHEET(4), .make = make_line },
	{ "other_function", .type = CELL_TEXT, SHEET(5), .make = make_other },
	{ "other_file", .type = CELL_TEXT, SHEET(6), .make = make_other_file },
	{ "other_line", .type = CELL_COUNT, SHEET(7), .make = make_other_line },
	{ "chain", .type = CELL_TEXT, SHEET(8), FIELD(struct sheet_row, chain) },
	{ "count", .type = CELL_COUNT, SHEET(9), FIELD(struct sheet_row, count) },
	{ "steps", .type = CELL_COUNT, SHEET(10), FIELD(struct sheet_row, steps) },
	{ "total_ns", .type = CELL_NS, SHEET(11), FIELD(struct sheet_row, total_ns) },
	{ "running_ns", .type = CELL_NS, SHEET(12), FIELD(struct sheet_row, running_ns) },
	{ "ready_ns", .type = CELL_NS, SHEET(13), FIELD(struct sheet_row, ready_ns) },
	{ "waiting_ns", .type = CELL_NS, SHEET(14), FIELD(struct sheet_row, waiting_ns) },
	{ "longest_ns", .type = CELL_NS, SHEET(15), FIELD(struct sheet_row, longest_ns) },
	{ "names", .type = CELL_TEXT, SHEET(16), FIELD(struct sheet_row, names) },
	{ "library", .type = CELL_TEXT, SHEET(17), FIELD(struct sheet_row, library) },
};

// Sums of the whole run say nothing of a part of it.
static bool is_about_all(const struct view *view)
{
	return !view_is_filtered(view);
}

static void put_tasks(struct section *s, const struct await_rows *rows)
{
	for (size_t i = 0; i < rows->task_count; i++) {
		const struct await_tasks *t = &rows->tasks[i];
		section_row(s, &(struct sheet_row){ .kind = "task",
		                                    .of = &t->coroutine,
		                                    .names = t->names,
		                                    .library = t->library,
		                                    .count = t->tasks,
		                                    .steps = t->steps,
		                                    .total_ns = t->total_ns,
		                                    .running_ns = t->running_ns,
		                                    .ready_ns = t->ready_ns,
		                                    .waiting_ns = t->waiting_ns,
		                                    .longest_ns = t->longest_ns });
	}
	for (size_t i = 0; i < rows->wait_count; i++) {
		const struct await_wait *w = &rows->waits[i];
		section_row(s, &(struct sheet_row){ .kind = "wait",
		                                    .of = &rows->tasks[w->tasks].coroutine,
		                                    .other = &w->place,
		                                    .chain = w->chain,
		                                    .library = rows->tasks[w->tasks].library,
		                                    .count = w->count,
		                                    .total_ns = w->ns,
		                                    .waiting_ns = w->ns,
		                                    .longest_ns = w->longest_ns });
	}
}

static const struct await_function nowhere;

struct section *section_sheet_tasks(struct report *r, struct error *err)
{
	const struct await_rows *rows = keep_await_rows(r, query_awaits(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "asyncio_tasks", NULL);
	SECTION_COLUMNS(s, sheet_columns);
	if (!is_about_all(r->view))
		return section_end(s, err);
	put_tasks(s, rows);
	if (rows->loops)
		section_row(s, &(struct sheet_row){ .kind = "loop",
		                                    .of = &nowhere,
		                                    .count = rows->loops,
		                                    .total_ns = rows->loop_ns });
	for (size_t i = 0; i < rows->block_count; i++) {
		const struct await_block *b = &rows->blocks[i];
		section_row(s, &(struct sheet_row){ .kind = "block",
		                                    .of = &b->blocker,
		                                    .count = b->steps,
		                                    .total_ns = b->ns,
		                                    .running_ns = b->ns,
		                                    .longest_ns = b->longest_ns });
	}
	for (size_t i = 0; i < rows->delay_count; i++) {
		const struct await_delay *d = &rows->delays[i];
		section_row(s, &(struct sheet_row){ .kind = "delay",
		                                    .of = &d->blocker,
		                                    .other = &d->victim,
		                                    .count = d->count,
		                                    .total_ns = d->ns,
		                                    .ready_ns = d->ns,
		                                    .longest_ns = d->longest_ns });
	}
	return section_end(s, err);
}

static void put_waits(struct section *s, const struct await_rows *rows, size_t tasks)
{
	size_t shown = 0;

	for (size_t i = 0; i < rows->wait_count && shown < WAITS_MAX; i++) {
		const struct await_wait *w = &rows->waits[i];
		if (w->tasks != tasks)
			continue;
		if (w->ns * 100 < rows->tasks[tasks].total_ns * LEAST_PERCENT)
			break;
		shown++;
		const char *name =
			w->awaited ? report_say(s->report, "  %s > %s", w->place.name, w->awaited)
				   : report_say(s->report, "  %s", w->place.name);
		section_row(s,
		            &(struct line){ .name = name, .at = &w->place, .waiting_ns = w->ns });
	}
}

static void put_blocks(struct section *s, const struct await_rows *rows)
{
	for (size_t i = 0; i < rows->block_count && i < BLOCKS_MAX; i++) {
		const struct await_block *b = &rows->blocks[i];
		char place[256], victim[300] = "";
		if (b->ns * 100 < rows->all.total_ns * LEAST_PERCENT / 10)
			break;
		place_words(b->blocker.file, b->blocker.line, NULL, place, sizeof(place));
		if (b->victim.name)
			snprintf(victim, sizeof(victim), " (%s %s)", b->victim.name,
			         format_duration(b->victim_ns).text);
		section_note(s, NOTE_SAY, false,
		             "%s (%s) blocked the loop for %s in %llu step%s: others waited %s%s",
		             b->blocker.name, *place ? place : "C", format_duration(b->ns).text,
		             (unsigned long long)b->steps, b->steps == 1 ? "" : "s",
		             format_duration(b->delayed_ns).text, victim);
	}
}

static const char *name_of(struct report *r, const struct await_tasks *t)
{
	return t->names ? report_say(r, "%s [%s]", t->coroutine.name, t->names) : t->coroutine.name;
}

// "asyncio tasks"; "asyncio, trio tasks"
static const char *title_of(struct report *r, const char *library)
{
	const char *title = report_say(r, "%s tasks", library);

	return r->reader == READER_PAGE
	               ? report_say(r, "%c%s", toupper((unsigned char)*title), title + 1)
	               : title;
}

struct section *section_tasks(struct report *r, struct error *err)
{
	const struct await_rows *rows = keep_await_rows(r, query_awaits(r->profile, err), err);
	size_t most = r->view->top < TASKS_MAX ? r->view->top : TASKS_MAX;

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "asyncio_tasks", title_of(r, rows->all.library));
	const struct await_tasks *all = &rows->all;
	s->shown = rows->task_count && is_about_all(r->view);
	if (!s->shown)
		return section_end(s, err);
	s->subtitle =
		report_say(r,
	                   "%llu tasks, %s: running %s %%, ready but waiting for the loop %s "
	                   "%%, waiting %s %%",
	                   (unsigned long long)all->tasks, format_duration(all->total_ns).text,
	                   format_percent(all->running_ns, all->total_ns).text,
	                   format_percent(all->ready_ns, all->total_ns).text,
	                   format_percent(all->waiting_ns, all->total_ns).text);
	s->unit_ns = rows->tasks[0].total_ns;
	SECTION_COLUMNS(s, columns);
	for (size_t i = 0; i < rows->task_count && i < most; i++) {
		const struct await_tasks *t = &rows->tasks[i];
		if (t->total_ns * 100 < all->total_ns * LEAST_PERCENT)
			break;
		section_row(s, &(struct line){ .name = name_of(r, t),
		                               .at = &t->coroutine,
		                               .total_ns = t->total_ns,
		                               .tasks = t->tasks,
		                               .running_ns = t->running_ns,
		                               .ready_ns = t->ready_ns,
		                               .waiting_ns = t->waiting_ns });
		put_waits(s, rows, i);
	}
	put_blocks(s, rows);
	return section_end(s, err);
}
