// SPDX-License-Identifier: MIT
// Wall time by owner: what the end of the run waited for, and who waited for whom.
#include "cli/report/sections.h"

#include "base/metric.h"
#include "base/record.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/query/query.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/scope/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE    0.01 /* of wall time: what has less is not shown to people */
#define REASON_SHARE   0.05 /* of a row: what fewer waits for it would explain is not said */
#define PARALLEL_SHARE 0.02 /* of the run, with several threads on CPUs: less is chance */
#define SERIAL_SHARE   0.10 /* of the run, one thread alone at one place */
#define WIDE           100  /* narrower terminals get fewer columns, */
#define WIDEST         120  /* and these no places */
#define WAITS_SHARE    0.01 /* of all recorded waits: rarer ones are not shown to people */
#define KNOWN_ENOUGH   0.95 /* of blocked time: then who is not known needs no word */

REPORT_KEEPS(rows, struct rows *);
REPORT_KEEPS(wait_rows, struct wait_rows *);

struct owner {
	const char *name, *kind, *why;
	const char *file, *module;
	uint32_t line;
	uint64_t ns;
};

static void make_owner_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct owner *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.line = (int)row->line;
	cell->place.module = row->module;
}

static const struct section_column owner_columns[] = {
	{ "wall_ns", .heading = "wall", .type = CELL_NS, .at = { 1, 1, 1 },
	  FIELD(struct owner, ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 2 }, FIELD(struct owner, ns) },
	{ "kind", .heading = "kind", .type = CELL_TEXT, .at = { 0, 3, 3 },
	  FIELD(struct owner, kind) },
	{ "name", .heading = "what", .type = CELL_TEXT, .at = { 3, 4, 4 }, .clip = CLIP_SYMBOL,
	  .room = 2, FIELD(struct owner, name) },
	{ "place", .heading = "where", .type = CELL_PLACE, .at = { 4, 5, 0 }, .clip = CLIP_START,
	  .room = 1, .make = make_owner_place },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 5 }, FIELD(struct owner, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 6 }, .none = { 1, 1, 1 },
	  FIELD(struct owner, line) },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 7 }, FIELD(struct owner, module) },
	{ "why", .heading = "", .page_heading = "why", .type = CELL_TEXT, .at = { 5, 6, 8 },
	  .clip = CLIP_END, .room = 3, .if_any = true, FIELD(struct owner, why) },
};

static int compare_owners(const void *a, const void *b)
{
	const struct owner *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

// "3 threads", or the name of the one.
static const char *side_words(struct report *r, const struct wait_side *side)
{
	if (side->threads > 1)
		return report_say(r, "%u threads", side->threads);
	return side->process ? side->process : side->thread ? side->thread : "";
}

static const char *kind_words(const struct wait_row *row)
{
	const char *kind = wait_kind_name(row->kind, row->cause);

	if (row->python)
		return "Python lock";
	return *kind ? kind : metric_name(row->cause);
}

// "mutex `journal`", "mutex initialized at app.c:31", "semaphore in Queue.get".
static const char *named_words(struct report *r, const struct wait_row *row)
{
	const char *kind = kind_words(row);
	char place[256];

	if (row->resource && !row->made)
		return report_say(r, "%s `%s`", kind, row->resource);
	if (row->within)
		return report_say(r, "%s in %s", kind, row->within);
	if (!row->made)
		return kind;
	place_words(row->resource_file, row->resource_line, NULL, place, sizeof(place));
	return report_say(r, "%s initialized at %s", kind, place);
}

// "a mutex", "the end of a thread", "the mutex `journal`".
static const char *resource_words(struct report *r, const struct wait_row *row)
{
	const char *kind = kind_words(row);
	const char *named = named_words(r, row);
	bool one_of_many = row->kind != HELD_JOIN && row->kind != HELD_ONCE &&
	                   row->kind != WAIT_KIND_GIL && row->kind;

	if (row->resource && !row->made)
		return report_say(r, "the %s", named);
	return report_say(r, "%s %s", one_of_many ? "a" : "the", kind);
}

// Why a row has wall time that its own thread did not wait for: the waits that most of it ended.
static const char *why_of(struct report *r, const struct row *row, const struct wait_rows *waits)
{
	const struct wait_row *most = NULL;
	char place[256];
	uint64_t ns = 0;

	for (size_t i = 0; waits && i < waits->count; i++) {
		const struct wait_row *w = &waits->rows[i];
		if (!w->holder.function || strcmp(w->holder.function, row->name) != 0)
			continue;
		ns += w->ns;
		if (!most || w->ns > most->ns)
			most = w;
	}
	if (!most || (double)ns < REASON_SHARE * (double)row->self)
		return NULL;
	place_words(most->waiter.file, most->waiter.line, NULL, place, sizeof(place));
	return report_say(r, "%s wait%s for %s%s%s", side_words(r, &most->waiter),
	                  most->waiter.threads > 1 ? "" : "s", resource_words(r, most),
	                  *place ? " at " : "", place);
}

static bool parallel_is_news(const struct profile *p)
{
	struct parallel parallel;

	query_parallel(p, &parallel);
	return parallel.most >= 2 &&
	       (double)parallel.more_ns >= PARALLEL_SHARE * (double)parallel.all_ns;
}

// How much ran side by side, and what did not.
static void say_parallel(struct section *s)
{
	struct parallel p;
	char place[256];

	if (!parallel_is_news(s->report->profile))
		return;
	query_parallel(s->report->profile, &p);
	section_note(
		s, NOTE_LINE, false, "on CPUs at once: nothing %s %%, one thread %s %%, %s %s %%",
		format_percent(p.none_ns, p.all_ns).text, format_percent(p.one_ns, p.all_ns).text,
		p.most == 2 ? "two" : "two and more", format_percent(p.more_ns, p.all_ns).text);
	if (!p.alone.function || (double)p.alone_ns < SERIAL_SHARE * (double)p.all_ns)
		return;
	place_words(p.alone.file, p.alone.line, NULL, place, sizeof(place));
	section_say(
		s,
		"%s%s%s%s was alone on a CPU for %s of %s; more CPUs can make the run at most %.1f "
		"times as fast",
		p.alone.function, *place ? " (" : "", place, *place ? ")" : "",
		format_duration(p.alone_ns).text, format_duration(p.one_ns).text,
		(double)p.all_ns / (double)(p.none_ns + p.one_ns));
}

// Time of code that is not the user's own, on CPUs and blocked.
static uint64_t outside_ns(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, KEY_OUTSIDE_NAME) == 0)
			return rows->rows[i].self;
	return 0;
}

struct section *section_wall(struct report *r, struct error *err)
{
	struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	bool known = query_wall_ns(r->profile) != 0;

	query.of = known ? QUERY_WALL : QUERY_THREADS;
	query.on_cpu = query.off_cpu = false;
	query.without_others = false;
	if (!query.user_code)
		query.user_code = QUERY_OWN_CODE;
	const struct rows *rows = keep_rows(r, query_run(r->profile, &query, err), err);
	// A program that is none of the user's own has its functions as they are.
	if (rows && outside_ns(rows) * 2 > rows->all && !r->view->user_code) {
		query.user_code = NULL;
		rows = keep_rows(r, query_run(r->profile, &query, err), err);
	}
	const struct wait_rows *waits =
		rows ? keep_wait_rows(r, query_waits(r->profile, err), err) : NULL;
	if (!waits)
		return NULL;
	struct section *s = section_new(r, "wall", "wall time, by what the run waited for");
	struct owner *owners = report_take(r, (rows->count + 1) * sizeof(*owners));
	size_t count = 0;
	uint64_t contention = 0;
	s->all = s->unit_ns = rows->all;
	SECTION_COLUMNS(s, owner_columns);
	for (size_t i = 0; known && owners && i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		uint64_t ready = row->self_ns[METRIC_OFF_RUNNABLE];
		contention += ready;
		if (row->self > ready)
			owners[count++] = (struct owner){ .name = row->name,
				                          .kind = row_kind_words(row),
				                          .file = row->file,
				                          .module = row->module,
				                          .line = (uint32_t)row->line,
				                          .why = why_of(r, row, waits),
				                          .ns = row->self - ready };
	}
	if (owners && contention)
		owners[count++] = (struct owner){ .name = "[waiting for a free CPU]",
			                          .kind = "contention",
			                          .ns = contention };
	if (owners)
		qsort(owners, count, sizeof(*owners), compare_owners);
	for (size_t i = 0; i < count; i++)
		if (r->reader == READER_SHEET ||
		    (double)owners[i].ns >= LEAST_SHARE * (double)rows->all)
			section_row(s, &owners[i]);
	// Where the run has waited for nobody else, the hotspots say the same.
	s->shown = s->row_count > 0 && (waits->wall_ns || parallel_is_news(r->profile));
	say_parallel(s);
	return section_end(s, err);
}

// Who waited for whom.

static void put_place(const struct wait_side *side, struct section_cell *cell)
{
	cell->place.file = side->file;
	cell->place.line = side->line;
}

static void make_waiter(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;
	const char *name = row->waiter.function ? row->waiter.function : row->waiter.thread;

	cell->text = row->waiter.threads > 1 && name && s->report->reader != READER_SHEET
	                     ? report_say(s->report, "%s, %u threads", name, row->waiter.threads)
	                     : name;
}

static void make_waiter_place(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	put_place(&((const struct wait_row *)data)->waiter, cell);
}

static void make_holder(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;
	const char *name = row->holder.function ? row->holder.function : row->holder.thread;

	(void)s;
	cell->text = name;
}

static void make_holder_place(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	put_place(&((const struct wait_row *)data)->holder, cell);
}

static void make_resource(const struct section *s, const void *data, struct section_cell *cell)
{
	cell->text =
		s->report->reader == READER_SHEET ? kind_words(data) : named_words(s->report, data);
}

static void make_resource_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;

	(void)s;
	cell->text = row->made ? NULL : row->resource;
}

static const struct section_column wait_columns[] = {
	{ "total_ns", .heading = "total", .type = CELL_NS, .at = { 1, 1, 1 },
	  FIELD(struct wait_row, ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 2 }, .width_min = WIDE,
	  FIELD(struct wait_row, ns) },
	{ "wall_ns", .heading = "of wall time", .type = CELL_NS, .at = { 0, 3, 3 },
	  FIELD(struct wait_row, wall_ns) },
	{ "waits", .heading = "waits", .type = CELL_COUNT, .at = { 3, 4, 4 },
	  FIELD(struct wait_row, count) },
	{ "median_ns", .heading = "median", .type = CELL_NS, .form = FORM_OWN, .at = { 4, 5, 5 },
	  .width_min = WIDE, FIELD(struct wait_row, median_ns) },
	{ "longest_ns", .heading = "longest", .type = CELL_NS, .form = FORM_OWN, .at = { 5, 6, 6 },
	  FIELD(struct wait_row, longest_ns) },
	{ "waiter", .heading = "who waits", .type = CELL_TEXT, .at = { 6, 7, 7 },
	  .clip = CLIP_SYMBOL, .room = 2, .make = make_waiter },
	{ "waiter_place", .heading = "", .page_heading = "at", .type = CELL_PLACE,
	  .width_min = WIDEST, .at = { 7, 8, 0 }, .clip = CLIP_START, .room = 1,
	  .make = make_waiter_place },
	{ "waiter_file", .type = CELL_TEXT, .at = { 0, 0, 8 },
	  FIELD(struct wait_row, waiter.file) },
	{ "waiter_line", .type = CELL_INTEGER, .at = { 0, 0, 9 }, .none = { 1, 1, 1 },
	  FIELD(struct wait_row, waiter.line) },
	{ "waiters", .type = CELL_COUNT, .at = { 0, 0, 10 },
	  FIELD(struct wait_row, waiter.threads) },
	{ "resource", .heading = "for", .type = CELL_TEXT, .at = { 8, 9, 11 }, .clip = CLIP_END,
	  .room = 1, .make = make_resource },
	{ "holder", .heading = "held or ended by", .type = CELL_TEXT, .at = { 9, 10, 12 },
	  .clip = CLIP_SYMBOL, .room = 2, .nothing = "not known", .make = make_holder },
	{ "holder_place", .heading = "", .page_heading = "at", .type = CELL_PLACE,
	  .width_min = WIDEST, .at = { 10, 11, 0 }, .clip = CLIP_START, .room = 1,
	  .make = make_holder_place },
	{ "holder_file", .type = CELL_TEXT, .at = { 0, 0, 13 },
	  FIELD(struct wait_row, holder.file) },
	{ "holder_line", .type = CELL_INTEGER, .at = { 0, 0, 14 }, .none = { 1, 1, 1 },
	  FIELD(struct wait_row, holder.line) },
	{ "guessed", .type = CELL_BOOL, .at = { 0, 0, 15 }, FIELD(struct wait_row, guessed) },
	{ "resource_name", .type = CELL_TEXT, .at = { 0, 0, 16 }, .make = make_resource_name },
	{ "resource_within", .type = CELL_TEXT, .at = { 0, 0, 17 },
	  FIELD(struct wait_row, within) },
	{ "resource_file", .type = CELL_TEXT, .at = { 0, 0, 18 },
	  FIELD(struct wait_row, resource_file) },
	{ "resource_line", .type = CELL_INTEGER, .at = { 0, 0, 19 }, .none = { 1, 1, 1 },
	  FIELD(struct wait_row, resource_line) },
};

struct section *section_waits(struct report *r, struct error *err)
{
	const struct wait_rows *waits = keep_wait_rows(r, query_waits(r->profile, err), err);

	if (!waits)
		return NULL;
	struct section *s = section_new(r, "waits", "waits for other threads and processes");
	s->all = s->unit_ns = waits->ns;
	SECTION_COLUMNS(s, wait_columns);
	for (size_t i = 0; i < waits->count; i++)
		if (r->reader == READER_SHEET ||
		    (double)waits->rows[i].ns >= WAITS_SHARE * (double)waits->ns)
			section_row(s, &waits->rows[i]);
	s->shown = true;
	if (!waits->count)
		section_say(s, "No thread or process was seen to wait for another one.");
	uint64_t unknown_ns = waits->blocked_ns - waits->known_ns;
	if ((double)waits->known_ns < KNOWN_ENOUGH * (double)waits->blocked_ns)
		section_say(
			s,
			"The holder is unknown for %s %% of this time: it is recorded for locks of "
			"the C library, pipes, sockets and child processes.",
			format_percent(unknown_ns, waits->blocked_ns).text);
	if (waits->guessed_ns)
		section_say(
			s,
			"The holder is inferred for %s %% of this time, from which thread was on a "
			"CPU when the wait ended.",
			format_percent(waits->guessed_ns, waits->blocked_ns).text);
	return section_end(s, err);
}
