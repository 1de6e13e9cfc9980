// SPDX-License-Identifier: MIT
// Calls that were counted: of each function, and of each by each caller.
#include "cli/report/called.h"

#include "cli/report/sections.h"
#include "cli/report/view.h"

REPORT_KEEPS(called_rows, struct called_rows *);

static const struct section_column columns[] = {
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 1 }, FIELD(struct called, name) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct called, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 },
	  FIELD(struct called, line) },
	{ "calls", .type = CELL_COUNT, .at = { 0, 0, 4 }, FIELD(struct called, calls) },
	{ "primitive_calls", .type = CELL_COUNT, .at = { 0, 0, 5 },
	  FIELD(struct called, primitive) },
	{ "self_ns", .type = CELL_NS, .at = { 0, 0, 6 }, FIELD(struct called, self_ns) },
	{ "total_ns", .type = CELL_NS, .at = { 0, 0, 7 }, FIELD(struct called, total_ns) },
};

static const struct called_rows *ask(struct report *r, enum called_sort sort, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);

	return keep_called_rows(r, query_called(r->profile, &query, sort, err), err);
}

int called_list(struct report *r, struct called_list *list, struct error *err)
{
	static const char *const orders[] = {
		[CALLED_BY_SELF] = "internal time",
		[CALLED_BY_TOTAL] = "cumulative time",
		[CALLED_BY_CALLS] = "call count",
	};
	const struct view *view = r->view;
	enum called_sort sort = view->sort == VIEW_SORT_TOTAL   ? CALLED_BY_TOTAL
	                        : view->sort == VIEW_SORT_CALLS ? CALLED_BY_CALLS
	                                                        : CALLED_BY_SELF;
	const struct called_rows *rows = ask(r, sort, err);

	if (!rows)
		return -1;
	*list = (struct called_list){
		.rows = rows,
		.shown = rows->count < view->top ? rows->count : view->top,
		.order = orders[sort],
		.edges = view_as(view) != VIEW_AS_CPROFILE,
		.callers = view_as(view) == VIEW_AS_CALLERS,
	};
	return 0;
}

struct section *section_sheet_calls(struct report *r, struct error *err)
{
	const struct called_rows *rows = ask(r, CALLED_BY_SELF, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "calls", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

// The function that was called, or its caller.
static const struct called *row_of(const struct section *s, size_t row)
{
	const struct called_rows *rows = s->context;

	return &rows->rows[row];
}

static void make_callee(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->text = row_of(s, ((const struct called_edge *)edge)->callee)->name;
}

static void make_callee_file(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->text = row_of(s, ((const struct called_edge *)edge)->callee)->file;
}

static void make_callee_line(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->count = row_of(s, ((const struct called_edge *)edge)->callee)->line;
}

static void make_caller(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->text = row_of(s, ((const struct called_edge *)edge)->caller)->name;
}

static void make_caller_file(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->text = row_of(s, ((const struct called_edge *)edge)->caller)->file;
}

static void make_caller_line(const struct section *s, const void *edge, struct section_cell *cell)
{
	cell->count = row_of(s, ((const struct called_edge *)edge)->caller)->line;
}

static const struct section_column edge_columns[] = {
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 1 }, .make = make_callee },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, .make = make_callee_file },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 },
	  .make = make_callee_line },
	{ "caller", .type = CELL_TEXT, .at = { 0, 0, 4 }, .make = make_caller },
	{ "caller_file", .type = CELL_TEXT, .at = { 0, 0, 5 }, .make = make_caller_file },
	{ "caller_line", .type = CELL_COUNT, .at = { 0, 0, 6 }, .none = { 0, 0, 1 },
	  .make = make_caller_line },
	{ "calls", .type = CELL_COUNT, .at = { 0, 0, 7 }, FIELD(struct called_edge, calls) },
	{ "primitive_calls", .type = CELL_COUNT, .at = { 0, 0, 8 },
	  FIELD(struct called_edge, primitive) },
	{ "self_ns", .type = CELL_NS, .at = { 0, 0, 9 }, FIELD(struct called_edge, self_ns) },
	{ "total_ns", .type = CELL_NS, .at = { 0, 0, 10 }, FIELD(struct called_edge, total_ns) },
};

struct section *section_sheet_callers(struct report *r, struct error *err)
{
	const struct called_rows *rows = ask(r, CALLED_BY_SELF, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "callers", NULL);
	s->context = (void *)rows;
	SECTION_COLUMNS(s, edge_columns);
	section_rows(s, rows->edges, rows->edge_count, sizeof(*rows->edges));
	return section_end(s, err);
}
