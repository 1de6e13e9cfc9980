// SPDX-License-Identifier: MIT
// Wall time by owner: what the end of the run waited for, and who waited for whom.
#include "cli/report/sections.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/metric.h"
#include "base/record.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/query/query.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE  0.01 /* of wall time: what has less is not shown to people */
#define REASON_SHARE 0.05 /* of a row: what fewer waits for it would explain is not said */
#define WIDE         100  /* narrower terminals get fewer columns, */
#define WIDEST       120  /* and these no places */
#define WAITS_SHARE  0.01 /* of all recorded waits: rarer ones are not shown to people */
#define KNOWN_ENOUGH 0.95 /* of blocked time: then who is not known needs no word */

REPORT_KEEPS(rows, struct rows *);
REPORT_KEEPS(wait_rows, struct wait_rows *);
REPORT_KEEPS(rank_rows, struct rank_rows *);

// Programs get all rows, and each fact in a column of its own.
static bool is_for_program(const struct report *r)
{
	return r->reader == READER_SHEET || r->reader == READER_JSON;
}

struct owner {
	const char *name, *kind, *why;
	const char *file, *module;
	uint32_t line;
	uint64_t ns, margin_ns;
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
	{ "wall_ns", .heading = "wall", .type = CELL_NS, .at = { 1, 1, 1, 1 },
	  FIELD(struct owner, ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 2, 2 },
	  FIELD(struct owner, ns) },
	{ "margin_ns", .heading = "\u00b1", .type = CELL_NS, .at = { 3, 3, 9, 9 },
	  .none = { 1, 1, 1, 1 }, .if_any = true, FIELD(struct owner, margin_ns) },
	{ "kind", .heading = "kind", .type = CELL_TEXT, .at = { 0, 4, 3, 3 },
	  .none = { 0, 0, 0, 1 }, FIELD(struct owner, kind) },
	{ "name", .heading = "what", .type = CELL_TEXT, .at = { 4, 5, 4, 4 }, .clip = CLIP_SYMBOL,
	  .room = 2, FIELD(struct owner, name) },
	{ "place", .heading = "where", .type = CELL_PLACE, .at = { 5, 6, 0, 0 }, .clip = CLIP_START,
	  .room = 1, .make = make_owner_place },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 5, 5 }, FIELD(struct owner, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 6, 6 }, .none = { 1, 1, 1, 1 },
	  FIELD(struct owner, line) },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 7, 7 }, FIELD(struct owner, module) },
	{ "why", .heading = "", .page_heading = "why", .type = CELL_TEXT, .at = { 6, 7, 8, 8 },
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

	if (row->lock)
		return row->lock;
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
	return report_say(r, "%s %s", one_of_many ? wait_kind_article(row->kind) : "the", kind);
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

// All that was waited for a free CPU is one row, whatever code wanted to run.
static int why_contention(struct report *r, uint64_t ns, struct owner *owner, struct error *err)
{
	struct contention_answer c;

	if (query_contention(r->profile, r->view->from_ns, r->view->to_ns, &c, err) < 0)
		return -1;
	contention_share(ns, &c);
	*owner = (struct owner){ .name = "[waiting for a free CPU]",
		                 .kind = "contention",
		                 .why = section_contention_words(r, &c.critical, ns),
		                 .ns = ns };
	return 0;
}

// "of rank 2, which the others wait for": whose wall time it is, of merged profiles. *WHOSE is NULL
// where it is that of a run. -1 on error.
static int say_whose(struct report *r, const char **whose, struct error *err)
{
	struct wall_rank rank;

	*whose = NULL;
	if (!query_wall_rank(r->profile, &rank))
		return 0;
	const struct rank_rows *ranks = keep_rank_rows(r, query_ranks(r->profile, err), err);
	if (!ranks)
		return -1;
	bool awaited = ranks->straggles && ranks->rows[0].number == rank.number &&
	               ranks->rows[0].numbered == rank.numbered;
	*whose = report_say(r, "of %s %u, which %s", rank.numbered ? "rank" : "profile",
	                    rank.number, awaited ? "the others wait for" : "works longest");
	return 0;
}

// What of a row samples have found: all that waits are not known to have taken exactly.
static uint64_t sampled_of(const struct report *r, const struct row *row)
{
	uint64_t ready = row->self_ns[METRIC_OFF_RUNNABLE];

	return profile_run(r->profile)->off_cpu_exact ? row->self_ns[METRIC_ON_CPU]
	       : row->self > ready                    ? row->self - ready
	                                              : 0;
}

struct section *section_wall(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct rows *rows = keep_rows(r, query_wall_owners(r->profile, &query, err), err);
	const struct wait_rows *waits =
		rows ? keep_wait_rows(
			       r, query_waits(r->profile, r->view->from_ns, r->view->to_ns, err),
			       err)
		     : NULL;
	if (!waits)
		return NULL;
	struct section *s = section_new(
		r, "wall",
		r->reader == READER_PAGE ? "Wall time" : "wall time, by what the run waited for");
	if (say_whose(r, &s->subtitle, err) < 0)
		return NULL;
	struct owner *owners = report_take(r, (rows->count + 1) * sizeof(*owners));
	size_t count = 0;
	uint64_t contention = 0, sampled = 0;
	double weight_ns = query_sampling_weight(r->profile);
	s->all = s->unit_ns = rows->all;
	SECTION_COLUMNS(s, owner_columns);
	for (size_t i = 0; i < rows->count; i++)
		sampled += sampled_of(r, &rows->rows[i]);
	for (size_t i = 0; owners && i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		uint64_t ready = row->self_ns[METRIC_OFF_RUNNABLE];
		contention += ready;
		if (row->self > ready)
			owners[count++] =
				(struct owner){ .name = row->name,
				                .kind = row_kind_words(row),
				                .file = row->file,
				                .module = row->module,
				                .line = (uint32_t)row->line,
				                .why = why_of(r, row, waits),
				                .ns = row->self - ready,
				                .margin_ns = query_weighted_margin(
							weight_ns, sampled_of(r, row), sampled) };
	}
	if (owners && contention && why_contention(r, contention, &owners[count], err) < 0)
		return NULL;
	count += owners && contention;
	if (owners)
		qsort(owners, count, sizeof(*owners), compare_owners);
	for (size_t i = 0; i < count; i++)
		if (is_for_program(r) || (double)owners[i].ns >= LEAST_SHARE * (double)rows->all)
			section_row(s, &owners[i]);
	// Where the run has waited for nobody else, the hotspots say the same.
	bool parallel = !is_for_program(r) && section_say_parallel(s);
	s->shown = s->row_count > 0 && (waits->wall_ns || parallel);
	return section_end(s, err);
}

// Who waited for whom.

static void put_place(const struct wait_side *side, struct section_cell *cell)
{
	cell->place.file = side->file;
	cell->place.line = side->line;
}

// Of several programs, as bash and sort; else their name is the command's.
static bool are_several(const struct wait_rows *waits)
{
	const char *first = NULL;

	for (size_t i = 0; i < 2 * waits->count; i++) {
		const struct wait_row *row = &waits->rows[i / 2];
		const char *process = i % 2 ? row->holder.process : row->waiter.process;
		if (first && process && strcmp(first, process) != 0)
			return true;
		first = first ? first : process;
	}
	return false;
}

// "render", "deflate in nginx": where no code is the user's own, the program is what they know. The
// context is there if there are several.
static const char *function_words(const struct section *s, const struct wait_side *side)
{
	const char *name = side->function ? side->function : side->thread;

	if (is_for_program(s->report) || side->own || !name || !side->process ||
	    strcmp(name, side->process) == 0)
		return name;
	if (side->nameless)
		return side->process;
	return s->context ? report_say(s->report, "%s in %s", name, side->process) : name;
}

static void make_waiter(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;
	const char *name = function_words(s, &row->waiter);

	cell->text = row->waiter.threads > 1 && name && !is_for_program(s->report)
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
	const struct wait_side *holder = &row->holder;
	bool ended = row->cause == METRIC_OFF_CHILD && !holder->own && holder->process;

	// What ends a wait for a child is the end of all of it, whatever it did most.
	cell->text =
		ended && !is_for_program(s->report) ? holder->process : function_words(s, holder);
}

static void make_holder_place(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	put_place(&((const struct wait_row *)data)->holder, cell);
}

static void make_resource(const struct section *s, const void *data, struct section_cell *cell)
{
	cell->text = is_for_program(s->report) ? kind_words(data) : named_words(s->report, data);
}

static void make_resource_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;

	(void)s;
	cell->text = row->made ? NULL : row->resource;
}

static void make_wall_range(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct wait_row *row = data;

	cell->text = range_words(s->report, row->wall_low_ns, row->wall_high_ns, s->unit_ns);
}

static const struct section_column wait_columns[] = {
	{ "total_ns", .heading = "total", .type = CELL_NS, .at = { 3, 1, 1, 1 },
	  FIELD(struct wait_row, ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 0, 2, 2, 2 }, .width_min = WIDE,
	  FIELD(struct wait_row, ns) },
	{ "wall_ns", .heading = "wall", .page_heading = "of wall time", .type = CELL_NS,
	  .at = { 1, 3, 3, 3 }, FIELD(struct wait_row, wall_ns) },
	{ "wall_range", .heading = "range", .type = CELL_TEXT, .right = true, .at = { 2, 4, 0, 0 },
	  .width_min = WIDEST, .if_any = true, .make = make_wall_range },
	{ "waits", .heading = "waits", .type = CELL_COUNT, .at = { 4, 5, 4, 4 },
	  FIELD(struct wait_row, count) },
	{ "median_ns", .heading = "median", .type = CELL_NS, .form = FORM_OWN, .at = { 5, 6, 5, 5 },
	  .width_min = WIDEST, FIELD(struct wait_row, median_ns) },
	{ "longest_ns", .heading = "longest", .type = CELL_NS, .form = FORM_OWN,
	  .at = { 6, 7, 6, 6 }, FIELD(struct wait_row, longest_ns) },
	{ "waiter", .heading = "waiter", .type = CELL_TEXT, .at = { 7, 8, 7, 7 },
	  .clip = CLIP_SYMBOL, .room = 2, .make = make_waiter },
	{ "waiter_place", .heading = "", .page_heading = "at", .type = CELL_PLACE,
	  .width_min = WIDEST, .at = { 8, 9, 0, 0 }, .clip = CLIP_START, .room = 1,
	  .make = make_waiter_place },
	{ "waiter_file", .type = CELL_TEXT, .at = { 0, 0, 8, 8 },
	  FIELD(struct wait_row, waiter.file) },
	{ "waiter_line", .type = CELL_INTEGER, .at = { 0, 0, 9, 9 }, .none = { 1, 1, 1, 1 },
	  FIELD(struct wait_row, waiter.line) },
	{ "waiters", .type = CELL_COUNT, .at = { 0, 0, 10, 10 },
	  FIELD(struct wait_row, waiter.threads) },
	{ "resource", .heading = "for", .type = CELL_TEXT, .at = { 9, 10, 11, 11 },
	  .clip = CLIP_END, .room = 1, .make = make_resource },
	{ "holder", .heading = "held or ended by", .type = CELL_TEXT, .at = { 10, 11, 12, 12 },
	  .clip = CLIP_SYMBOL, .room = 2, .nothing = "not known", .make = make_holder },
	{ "holder_place", .heading = "", .page_heading = "at", .type = CELL_PLACE,
	  .width_min = WIDEST, .at = { 11, 12, 0, 0 }, .clip = CLIP_START, .room = 1,
	  .make = make_holder_place },
	{ "holder_file", .type = CELL_TEXT, .at = { 0, 0, 13, 13 },
	  FIELD(struct wait_row, holder.file) },
	{ "holder_line", .type = CELL_INTEGER, .at = { 0, 0, 14, 14 }, .none = { 1, 1, 1, 1 },
	  FIELD(struct wait_row, holder.line) },
	{ "guessed", .type = CELL_BOOL, .at = { 0, 0, 15, 15 }, FIELD(struct wait_row, guessed) },
	{ "resource_name", .type = CELL_TEXT, .at = { 0, 0, 16, 16 }, .make = make_resource_name },
	{ "resource_within", .type = CELL_TEXT, .at = { 0, 0, 17, 17 },
	  FIELD(struct wait_row, within) },
	{ "resource_file", .type = CELL_TEXT, .at = { 0, 0, 18, 18 },
	  FIELD(struct wait_row, resource_file) },
	{ "resource_line", .type = CELL_INTEGER, .at = { 0, 0, 19, 19 }, .none = { 1, 1, 1, 1 },
	  FIELD(struct wait_row, resource_line) },
	{ "wall_ready_ns", .type = CELL_NS, .at = { 0, 0, 20, 20 },
	  FIELD(struct wait_row, wall_ready_ns) },
	{ "wall_low_ns", .type = CELL_NS, .at = { 0, 0, 21, 21 },
	  FIELD(struct wait_row, wall_low_ns) },
	{ "wall_high_ns", .type = CELL_NS, .at = { 0, 0, 22, 22 },
	  FIELD(struct wait_row, wall_high_ns) },
};

int section_wall_unknown(struct report *r, const char **why, struct error *err)
{
	const struct run *run = profile_run(r->profile);
	bool part = run->recorded_from_ns || run->recorded_to_ns || run->recorded_range ||
	            run->recorded_gates || run->recorded_schedule;

	*why = NULL;
	if (query_wall_ns(r->profile))
		return 0;
	const struct rank_rows *ranks = keep_rank_rows(r, query_ranks(r->profile, err), err);
	if (!ranks)
		return -1;
	if (ranks->count)
		*why = "of these merged profiles: that of who works longest has nothing of it";
	else if (part)
		*why = "of a run that was recorded in part; record all of it, and take the part "
		       "with bottleneck report --from and --to";
	return 0;
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait_row *left = *(const struct wait_row *const *)a;
	const struct wait_row *right = *(const struct wait_row *const *)b;

	if (left->wall_ns != right->wall_ns)
		return left->wall_ns < right->wall_ns ? 1 : -1;
	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return left < right ? -1 : left > right;
}

// What the end of the run waited for comes first: most threads of a server wait longer for work,
// and nobody waits for them meanwhile.
static int put_wait_rows(struct report *r, struct section *s, const struct wait_rows *waits,
                         struct error *err)
{
	cleanup_free const struct wait_row **rows = calloc(waits->count + 1, sizeof(*rows));

	if (!rows)
		return error_set(err, ENOMEM, "could not sort waits");
	for (size_t i = 0; i < waits->count; i++)
		rows[i] = &waits->rows[i];
	if (r->reader == READER_TEXT)
		qsort(rows, waits->count, sizeof(const struct wait_row *), compare_waits);
	for (size_t i = 0; i < waits->count; i++)
		if (is_for_program(r) || (double)rows[i]->ns >= WAITS_SHARE * (double)waits->ns ||
		    (double)rows[i]->wall_ns >= WAITS_SHARE * (double)waits->wall_ns)
			section_row(s, rows[i]);
	return 0;
}

struct section *section_waits(struct report *r, struct error *err)
{
	const char *unknown;
	if (section_wall_unknown(r, &unknown, err) < 0)
		return NULL;
	const struct wait_rows *waits = keep_wait_rows(
		r, query_waits(r->profile, r->view->from_ns, r->view->to_ns, err), err);

	if (!waits)
		return NULL;
	bool page = r->reader == READER_PAGE;
	struct section *s =
		section_new(r, "waits", page ? "Waits" : "waits for other threads and processes");
	const char *whose;
	if (say_whose(r, &whose, err) < 0)
		return NULL;
	bool of_all = view_is_window(r->view) && waits->whole_run;
	if (page)
		s->subtitle =
			report_say(r, "for other threads and processes%s%s%s", whose ? ", " : "",
		                   whose ? whose : "", of_all ? ", of the whole run" : "");
	else if (whose || of_all)
		s->subtitle =
			report_say(r, "%s%s%s", whose ? whose : "", whose && of_all ? ", " : "",
		                   of_all ? "of the whole run" : "");
	s->all = s->unit_ns = waits->ns;
	SECTION_COLUMNS(s, wait_columns);
	s->context = are_several(waits) ? s : NULL;
	if (put_wait_rows(r, s, waits, err) < 0)
		return NULL;
	s->shown = waits->count || !page;
	if (!waits->count && unknown)
		section_say(s, "Who waited for whom is not known %s.", unknown);
	else if (!waits->count)
		section_say(s, "No waits of threads or processes for each other were recorded.");
	uint64_t unknown_ns = waits->blocked_ns - waits->known_ns;
	if ((double)waits->known_ns < KNOWN_ENOUGH * (double)waits->blocked_ns)
		section_say(
			s,
			"The holder is unknown for %s %% of this time: it is recorded for locks of "
			"the C library, pipes, sockets, signals and child processes.",
			format_percent(unknown_ns, waits->blocked_ns).text);
	if (waits->count && view_is_window(r->view) && !waits->whole_run)
		section_say(
			s,
			"Of this window in steps of %s; median and longest wait are of the whole "
			"run.",
			format_duration(waits->step_ns).text);
	if (waits->guessed_ns)
		section_say(
			s,
			"The holder is inferred for %s %% of this time, from which thread was on a "
			"CPU when the wait ended.",
			format_percent(waits->guessed_ns, waits->blocked_ns).text);
	return section_end(s, err);
}

// All of it in one row, for JSON.

struct summary {
	struct wall_account account;
	struct contention_parts contention;
	uint64_t blocked_ns, known_ns, guessed_ns;
	bool whole_run;
	uint64_t step_ns;
	const char *whose;
	const struct section *owners, *parallel, *waits;
};

static void put_owners(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->section = ((const struct summary *)row)->owners;
}

static void put_parallel(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->section = ((const struct summary *)row)->parallel;
}

static void put_waits(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->section = ((const struct summary *)row)->waits;
}

#define JSON(place) .at = { [READER_JSON] = (place) }

static const struct section_column summary_columns[] = {
	{ "wall_ns", .type = CELL_NS, JSON(1), FIELD(struct summary, account.all_ns) },
	{ "ranks", .type = CELL_BOOL, JSON(2), FIELD(struct summary, account.ranks) },
	{ "runnable_quota_ns", .type = CELL_NS, JSON(3),
	  FIELD(struct summary, contention.quota_ns) },
	{ "runnable_own_threads_ns", .type = CELL_NS, JSON(4),
	  FIELD(struct summary, contention.own_ns) },
	{ "runnable_others_ns", .type = CELL_NS, JSON(5),
	  FIELD(struct summary, contention.others_ns) },
	{ "runnable_idle_ns", .type = CELL_NS, JSON(15),
	  FIELD(struct summary, contention.nobody_ns) },
	{ "owners", .type = CELL_ROWS, JSON(6), .make = put_owners },
	{ "parallel", .type = CELL_ROWS, JSON(7), .make = put_parallel },
	{ "blocked_ns", .type = CELL_NS, JSON(8), FIELD(struct summary, blocked_ns) },
	{ "known_ns", .type = CELL_NS, JSON(9), FIELD(struct summary, known_ns) },
	{ "guessed_ns", .type = CELL_NS, JSON(10), FIELD(struct summary, guessed_ns) },
	{ "waits", .type = CELL_ROWS, JSON(11), .make = put_waits },
	{ "waits_whole_run", .type = CELL_BOOL, JSON(12), FIELD(struct summary, whole_run) },
	{ "whose", .type = CELL_TEXT, JSON(14), .none = { 0, 0, 0, 1 },
	  FIELD(struct summary, whose) },
	{ "waits_step_ns", .type = CELL_NS, JSON(13), .none = { 0, 0, 0, 1 },
	  FIELD(struct summary, step_ns) },
};

struct section *section_wall_summary(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct wait_rows *waits = keep_wait_rows(
		r, query_waits(r->profile, r->view->from_ns, r->view->to_ns, err), err);
	struct summary sum = { 0 };
	struct contention_answer c;

	if (!waits || query_wall_account(r->profile, &query, &sum.account, err) < 0 ||
	    query_contention(r->profile, r->view->from_ns, r->view->to_ns, &c, err) < 0 ||
	    !(sum.owners = section_wall(r, err)) || !(sum.parallel = section_parallel(r, err)) ||
	    !(sum.waits = section_waits(r, err)))
		return NULL;
	if (say_whose(r, &sum.whose, err) < 0)
		return NULL;
	contention_share(sum.account.ns[METRIC_OFF_RUNNABLE], &c);
	sum.contention = c.critical;
	sum.blocked_ns = waits->blocked_ns;
	sum.known_ns = waits->known_ns;
	sum.guessed_ns = waits->guessed_ns;
	sum.whole_run = waits->whole_run;
	sum.step_ns = waits->step_ns;
	struct section *s = section_new(r, "wall", NULL);
	SECTION_COLUMNS(s, summary_columns);
	section_rows(s, &sum, query_wall_ns(r->profile) != 0, sizeof(sum));
	return section_end(s, err);
}
