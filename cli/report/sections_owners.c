// SPDX-License-Identifier: MIT
// Threads and processes: how long each was on a CPU, and what it waited for.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/query/query.h"

REPORT_KEEPS(rows, struct rows *);

static uint64_t waiting_ns(const struct row *row)
{
	uint64_t waiting = 0;

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		waiting += row->self_ns[m];
	return waiting;
}

static void make_waiting(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->count = waiting_ns(row);
}

static void make_on_cpu_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->share.part = row->self_ns[METRIC_ON_CPU];
	cell->share.all = row->self_ns[METRIC_ON_CPU] + waiting_ns(row);
}

static void make_waiting_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->share.part = waiting_ns(row);
	cell->share.all = row->self_ns[METRIC_ON_CPU] + waiting_ns(row);
}

static void make_longest_wait(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;
	int most = METRIC_ON_CPU;

	(void)s;
	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		if (row->self_ns[m] &&
		    (most == METRIC_ON_CPU || row->self_ns[m] > row->self_ns[most]))
			most = m;
	cell->text = most == METRIC_ON_CPU ? NULL : metric_name((enum metric)most);
	cell->tone = TONE_WAIT;
}

static const struct section_column columns[] = {
	{ "on_cpu", .heading = "on a CPU", .type = CELL_NS, .at = { 1, 1, 0 },
	  FIELD(struct row, self_ns[METRIC_ON_CPU]) },
	{ "on_cpu_share", .heading = "%", .type = CELL_SHARE, .at = { 2, 0, 0 },
	  .make = make_on_cpu_share },
	{ "waiting", .heading = "waiting", .type = CELL_NS, .at = { 3, 2, 0 },
	  .make = make_waiting },
	{ "waiting_share", .heading = "%", .type = CELL_SHARE, .at = { 4, 0, 0 },
	  .make = make_waiting_share },
	{ "runnable", .heading = "for a CPU", .type = CELL_NS, .at = { 0, 3, 0 },
	  FIELD(struct row, self_ns[METRIC_OFF_RUNNABLE]) },
	{ "mostly", .heading = "mostly for", .type = CELL_TEXT, .at = { 5, 4, 0 },
	  .make = make_longest_wait },
	{ "name", .heading = "name", .type = CELL_TEXT, .at = { 6, 5, 1 }, .clip = CLIP_MIDDLE,
	  .room = 1, FIELD(struct row, name) },
	{ "number", .heading = "number", .type = CELL_LABEL, .at = { 7, 6, 2 },
	  FIELD(struct row, id) },
	{ "total_ns", .type = CELL_NS, .at = { 0, 0, 3 }, FIELD(struct row, self) },
	{ "share", .type = CELL_SHARE, .at = { 0, 0, 4 }, FIELD(struct row, self) },
	{ "samples", .type = CELL_COUNT, .at = { 0, 0, 5 }, FIELD(struct row, self_samples) },
	{ "gpu_ns", .type = CELL_NS, .at = { 0, 0, 7 }, FIELD(struct row, gpu_self_ns) },
};

// With its columns, and the ROWS that are to go into it. NULL on error.
static struct section *new_section(struct report *r, enum query_by by, const struct rows **rows,
                                   struct error *err)
{
	static const char *const titles[][2] = {
		[READER_TEXT] = { "threads", "processes" },
		[READER_PAGE] = { "Threads", "Processes" },
		[READER_SHEET] = { NULL, NULL },
	};
	const struct query query = view_query(r->view, by, SORT_SELF);

	*rows = keep_rows(r, query_run(r->profile, &query, err), err);
	if (!*rows)
		return NULL;
	struct section *s = section_new(r, by == BY_THREAD ? "threads" : "processes",
	                                titles[r->reader][by != BY_THREAD]);
	s->all = (*rows)->all;
	SECTION_COLUMNS(s, columns);
	section_metrics(s, "", 6, offsetof(struct row, self_ns));
	return s;
}

// Ranked by what was asked for: the time of one thread is the time of all of its kinds.
struct section *section_owners(struct report *r, enum query_by by, struct error *err)
{
	const struct rows *rows;
	struct section *s = new_section(r, by, &rows, err);

	if (!s)
		return NULL;
	uint64_t least = (uint64_t)(view_min_share(r->view, false) * (double)rows->all);
	s->subtitle = "each %: of its own time";
	s->unit_ns = rows->count ? rows->rows[0].self : 0;
	for (size_t i = 0; i < rows->count && s->row_count < r->view->top; i++) {
		if (!rows->rows[i].self || rows->rows[i].self < least)
			break;
		if (!section_row(s, &rows->rows[i]))
			break;
	}
	s->shown = s->row_count != 0;
	return section_end(s, err);
}

static struct section *all_owners(struct report *r, enum query_by by, struct error *err)
{
	const struct rows *rows;
	struct section *s = new_section(r, by, &rows, err);

	if (!s)
		return NULL;
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

struct section *section_all_threads(struct report *r, struct error *err)
{
	return all_owners(r, BY_THREAD, err);
}

struct section *section_all_processes(struct report *r, struct error *err)
{
	return all_owners(r, BY_PROCESS, err);
}
