// SPDX-License-Identifier: MIT
// Compilers that the program ran: torch.compile's and others, with the programs that they started.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/rules/compiling.h"

#define LEAST_PERCENT 2 // of the time: below that compiling is no news

REPORT_KEEPS(compiling, struct compiling *);

static const struct section_column columns[] = {
	{ "wall_ns", .heading = "took", .type = CELL_NS, .at = { 1, 1, 3 },
	  FIELD(struct compiling_row, wall_ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 0 },
	  FIELD(struct compiling_row, wall_ns) },
	{ "cpu_ns", .heading = "CPU", .type = CELL_NS, .at = { 3, 3, 4 }, .form = FORM_BESIDE,
	  FIELD(struct compiling_row, cpu_ns) },
	{ "processes", .heading = "processes", .type = CELL_COUNT, .at = { 4, 4, 2 },
	  .none = { 1, 1, 0 }, FIELD(struct compiling_row, processes) },
	{ "compiler", .heading = "compiler", .type = CELL_TEXT, .at = { 5, 5, 1 }, .room = 1,
	  FIELD(struct compiling_row, name) },
};

static const struct compiling *ask(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);

	return keep_compiling(r, query_compiling(r->profile, &query, err), err);
}

struct section *section_sheet_compiling(struct report *r, struct error *err)
{
	const struct compiling *c = ask(r, err);

	if (!c)
		return NULL;
	struct section *s = section_new(r, "compiling", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, c->rows, c->count, sizeof(*c->rows));
	return section_end(s, err);
}

struct section *section_compiling(struct report *r, struct error *err)
{
	const struct compiling *c = ask(r, err);

	if (!c)
		return NULL;
	struct section *s =
		section_new(r, "compiling", r->reader == READER_PAGE ? "Compiling" : "compiling");
	s->shown = c->count && (c->wall_ns * 100 >= c->all_wall_ns * LEAST_PERCENT ||
	                        c->cpu_ns * 100 >= c->all_cpu_ns * LEAST_PERCENT);
	if (!s->shown)
		return section_end(s, err);
	s->subtitle =
		report_say(r, "%s of %s (%s %%), without waiting for a free CPU",
	                   format_duration(c->wall_ns).text, format_duration(c->all_wall_ns).text,
	                   format_percent(c->wall_ns, c->all_wall_ns).text);
	s->all = c->all_wall_ns;
	s->unit_ns = c->wall_ns;
	s->beside_ns = c->cpu_ns;
	SECTION_COLUMNS(s, columns);
	for (size_t i = 0; i < c->count && i < r->view->top; i++)
		if (c->rows[i].wall_ns * 1000 >= c->wall_ns ||
		    c->rows[i].cpu_ns * 1000 >= c->cpu_ns)
			section_row(s, &c->rows[i]);
	return section_end(s, err);
}
