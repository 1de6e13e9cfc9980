// SPDX-License-Identifier: MIT
// Processes of one run that exchange data: what each computes and communicates, and both at once.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/query/query_workers.h"

REPORT_KEEPS(workers, struct workers *);

static void make_computing(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct worker_row *row = data;

	(void)s;
	cell->share.part = row->computing_ns;
	cell->share.all = row->lifetime_ns;
}

static void make_overlapping(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct worker_row *row = data;

	(void)s;
	cell->share.part = row->overlapping_ns;
	cell->share.all = row->lifetime_ns;
}

static void make_communicating(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct worker_row *row = data;

	(void)s;
	cell->share.part = row->communicating_ns;
	cell->share.all = row->lifetime_ns;
}

static const struct section_column columns[] = {
	{ "lifetime_ns", .heading = "ran", .type = CELL_NS, .at = { 1, 1, 3, 3 },
	  FIELD(struct worker_row, lifetime_ns) },
	{ "computing_ns", .heading = "computing", .type = CELL_NS, .at = { 2, 2, 4, 4 },
	  FIELD(struct worker_row, computing_ns) },
	{ "computing", .heading = "%", .type = CELL_SHARE, .at = { 3, 3 }, .make = make_computing },
	{ "overlapping_ns", .heading = "both", .page_heading = "overlapping", .type = CELL_NS,
	  .at = { 4, 4, 5, 5 }, FIELD(struct worker_row, overlapping_ns) },
	{ "overlapping", .heading = "%", .type = CELL_SHARE, .at = { 5, 5 },
	  .make = make_overlapping },
	{ "communicating_ns", .heading = "communicating", .type = CELL_NS, .at = { 6, 6, 6, 6 },
	  FIELD(struct worker_row, communicating_ns) },
	{ "communicating", .heading = "%", .type = CELL_SHARE, .at = { 7, 7 },
	  .make = make_communicating },
	{ "other_ns", .heading = "other", .type = CELL_NS, .at = { 8, 8, 7, 7 },
	  FIELD(struct worker_row, other_ns) },
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 9, 9, 8, 8 },
	  FIELD(struct worker_row, calls) },
	{ "process", .heading = "process", .type = CELL_TEXT, .at = { 10, 10, 1, 1 },
	  FIELD(struct worker_row, process) },
	{ "pid", .heading = "number", .type = CELL_LABEL, .at = { 11, 11, 2, 2 },
	  FIELD(struct worker_row, pid) },
};

// Programs without ops but those of MPI compute outside of ops: that is not told apart.
static bool has_ops(const struct workers *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->rows[i].computing_ns || w->rows[i].overlapping_ns)
			return true;
	return false;
}

// How much of the communication was hidden behind work.
static const char *say_overlap(struct report *r, const struct workers *w)
{
	uint64_t both = 0, all = 0;

	if (!has_ops(w))
		return "other: outside of calls that communicate";

	for (size_t i = 0; i < w->count; i++) {
		both += w->rows[i].overlapping_ns;
		all += w->rows[i].overlapping_ns + w->rows[i].communicating_ns;
	}
	return report_say(r, "%s %% of the communication is hidden behind computing",
	                  format_percent(both, all).text);
}

struct section *section_workers(struct report *r, struct error *err)
{
	const struct workers *w = keep_workers(
		r, query_workers(r->profile, r->view->from_ns, r->view->to_ns, err), err);
	bool people = r->reader == READER_TEXT || r->reader == READER_PAGE;

	if (!w)
		return NULL;
	struct section *s = section_new(r, "workers",
	                                !people                    ? NULL
	                                : r->reader == READER_PAGE ? "Workers"
	                                                           : "workers");
	s->shown = w->count > 0;
	if (people && s->shown)
		s->subtitle = say_overlap(r, w);
	for (size_t i = 0; i < w->count; i++)
		if (w->rows[i].lifetime_ns > s->unit_ns)
			s->unit_ns = w->rows[i].lifetime_ns;
	SECTION_COLUMNS(s, columns);
	if (people && !has_ops(w)) {
		section_without(s, "computing_ns");
		section_without(s, "computing");
		section_without(s, "overlapping_ns");
		section_without(s, "overlapping");
	}
	section_all_rows(s, w->rows, w->count, sizeof(*w->rows));
	if (people && w->count && w->until_ns)
		section_say(s, "of the first %s, whose single calls were kept (--timeline-limit)",
		            format_duration(w->until_ns).text);
	return section_end(s, err);
}
