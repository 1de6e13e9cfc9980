// SPDX-License-Identifier: MIT
// The cycles of a schedule of steps: which steps, when, and what these spent their time on.
#include "cli/report/sections.h"

#include "cli/report/step_parts.h"
#include "cli/report/view.h"
#include "merge/query/query_cycles.h"

REPORT_KEEPS(cycles, struct cycles *);

static void make_steps(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct cycle_row *row = data;
	const char *first = format_count(row->first).text;

	if (row->steps > 1)
		cell->text = report_say(s->report, "%s-%s", first,
		                        format_count(row->first + row->steps - 1).text);
	else
		cell->text = report_say(s->report, "%s", first);
}

static void make_window(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct cycle_row *row = data;

	(void)s;
	cell->count = row->end_ns - row->begin_ns;
}

static void make_mean(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct cycle_row *row = data;

	(void)s;
	cell->count = row->known ? row->steps_ns / row->known : 0;
	cell->flags = row->known ? 0 : CELL_UNKNOWN;
}

// For people of one step on average, for programs of all.
static void put_part(const struct section *s, const struct cycle_row *row, enum step_part part,
                     struct section_cell *cell)
{
	bool mean = s->report->reader == READER_TEXT && row->parts_known;

	cell->count = row->parts.ns[part] / (mean ? row->parts_known : 1);
	cell->flags = row->parts.known ? 0 : CELL_UNKNOWN;
}

#define MAKE_PART(name, id, heading, part)                                                         \
	static void make_##name(const struct section *s, const void *row,                          \
	                        struct section_cell *cell)                                         \
	{                                                                                          \
		put_part(s, row, part, cell);                                                      \
	}

EACH_STEP_PART(MAKE_PART)

#define PART(name, id_, heading_, part)                                                            \
	{ id_ "_ns",                                                                               \
	  .heading = heading_,                                                                     \
	  .type = CELL_NS,                                                                         \
	  .at = { 6 + (part), 0, 10 + (part), 10 + (part) },                                       \
	  .none = { 1, 0, 0, 0 },                                                                  \
	  .if_any = true,                                                                          \
	  .make = make_##name },

static const struct section_column columns[] = {
	{ "cycle", .heading = "cycle", .type = CELL_LABEL, .at = { 1, 0, 1, 1 },
	  FIELD(struct cycle_row, number) },
	{ "first_step", .type = CELL_COUNT, .at = { 0, 0, 2, 2 }, FIELD(struct cycle_row, first) },
	{ "number", .heading = "steps", .type = CELL_TEXT, .at = { 2, 0, 0 }, .right = true,
	  .make = make_steps },
	{ "steps", .type = CELL_COUNT, .at = { 0, 0, 3, 3 }, FIELD(struct cycle_row, steps) },
	{ "complete", .type = CELL_BOOL, .at = { 0, 0, 4, 4 }, FIELD(struct cycle_row, complete) },
	{ "begin_ns", .heading = "at", .type = CELL_NS, .at = { 3, 0, 5, 5 }, .form = FORM_MOMENT,
	  FIELD(struct cycle_row, begin_ns) },
	{ "end_ns", .type = CELL_NS, .at = { 0, 0, 6, 6 }, FIELD(struct cycle_row, end_ns) },
	{ "window_ns", .heading = "for", .type = CELL_NS, .at = { 4, 0, 0 }, .form = FORM_DURATION,
	  .make = make_window },
	{ "steps_ns", .type = CELL_NS, .at = { 0, 0, 7, 7 }, FIELD(struct cycle_row, steps_ns) },
	{ "step_ns", .heading = "a step", .type = CELL_NS, .at = { 5, 0, 0 }, .make = make_mean },
	{ "parts_steps", .type = CELL_COUNT, .at = { 0, 0, 8, 8 },
	  FIELD(struct cycle_row, parts_known) },
	EACH_STEP_PART(PART)
};

struct section *section_cycles(struct report *r, struct error *err)
{
	const struct view *view = r->view;
	const struct cycles *cycles =
		keep_cycles(r, query_cycles(r->profile, view->schedule, view->steps, err), err);

	if (!cycles)
		return NULL;
	struct section *s = section_new(r, "cycles", "cycles");
	s->shown = view->schedule != NULL;
	if (view->schedule)
		s->subtitle = report_say(r, "%s over %s", view->schedule,
		                         cycles->name && *cycles->name ? cycles->name : "the loop");
	for (size_t i = 0; i < cycles->count; i++)
		if (cycles->rows[i].known && cycles->rows[i].steps_ns > s->unit_ns)
			s->unit_ns = cycles->rows[i].steps_ns / cycles->rows[i].known;
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, cycles->rows, cycles->count, sizeof(*cycles->rows));
	for (size_t i = 0; i < cycles->count; i++)
		if (!cycles->rows[i].complete)
			section_say(s, "Cycle %zu has %s of its steps: the run ended.", i + 1,
			            format_count(cycles->rows[i].steps).text);
	if (cycles->cut)
		section_say(s, "Cycles of later steps, which are averages, are not known.");
	return section_end(s, err);
}
