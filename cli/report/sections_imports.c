// SPDX-License-Identifier: MIT
// Python's imports: a phase of its own, and what was slow in it.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/query/query_imports.h"

#define LEAST_PERCENT 2  // of the thread's time: below that imports are no news
#define BRIEF_PERCENT 10 // and in a report of one screen
#define ROW_PERCENT   5  // of all imports
#define ROW_BRIEF     3  // of the thread's time, in a report of one screen
#define ROWS_MAX      8
#define ROWS_BRIEF    3 // most of them are imported by the one above

REPORT_KEEPS(import_rows, struct import_rows *);

static void make_importer(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct import_row *row = data;

	(void)s;
	cell->place.file = row->importer;
	cell->place.line = row->importer_line;
}

static void make_importer_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct import_row *row = data;

	(void)s;
	cell->count = row->importer_line > 0 ? (uint64_t)row->importer_line : 0;
}

static const struct section_column columns[] = {
	{ "total_share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 0 },
	  FIELD(struct import_row, total) },
	{ "module", .heading = "module", .type = CELL_TEXT, .at = { 4, 4, 1 }, .clip = CLIP_MIDDLE,
	  .room = 1, FIELD(struct import_row, name) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct import_row, file) },
	{ "importer", .type = CELL_TEXT, .at = { 0, 0, 3 }, FIELD(struct import_row, importer) },
	{ "importer_line", .type = CELL_COUNT, .at = { 0, 0, 4 }, .none = { 0, 0, 1 },
	  .make = make_importer_line },
	{ "imported_by", .heading = "imported by", .type = CELL_PLACE, .at = { 5, 5, 0 },
	  .clip = CLIP_START, .room = 1, .make = make_importer },
	{ "self_ns", .heading = "self", .type = CELL_NS, .at = { 3, 3, 5 },
	  FIELD(struct import_row, self) },
	{ "total_ns", .heading = "total", .type = CELL_NS, .at = { 1, 1, 6 },
	  FIELD(struct import_row, total) },
};

struct section *section_sheet_imports(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct import_rows *rows =
		keep_import_rows(r, query_imports(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "imports", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

// Of which thread, where it is not the first of its process.
static const char *say_whole(struct report *r, const struct import_rows *rows)
{
	const char *where = rows->tid != rows->pid ? report_say(r, " of thread %u", rows->tid) : "";

	return report_say(r, "%s of %s%s in %s (%s %%)", format_duration(rows->all).text,
	                  format_duration(rows->time).text, where,
	                  rows->process ? rows->process : "?",
	                  format_percent(rows->all, rows->time).text);
}

struct section *section_imports(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_TOTAL);
	size_t max = r->view->brief ? ROWS_BRIEF : ROWS_MAX;
	size_t most = r->view->top < max ? r->view->top : max;
	const struct import_rows *rows =
		keep_import_rows(r, query_imports(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s =
		section_new(r, "imports", r->reader == READER_PAGE ? "Imports" : "imports");
	unsigned least = r->view->brief ? BRIEF_PERCENT : LEAST_PERCENT;
	s->shown = rows->all && rows->all * 100 >= rows->time * least;
	if (!s->shown)
		return section_end(s, err);
	s->subtitle = say_whole(r, rows);
	s->all = rows->time;
	s->unit_ns = rows->all;
	SECTION_COLUMNS(s, columns);
	for (size_t i = 0; i < rows->count && i < most; i++) {
		bool little = r->view->brief && rows->rows[i].total * 100 < rows->time * ROW_BRIEF;
		if (rows->rows[i].total * 100 < rows->all * ROW_PERCENT || little)
			break;
		section_row(s, &rows->rows[i]);
	}
	if (rows->others * 100 >= rows->all * ROW_PERCENT)
		section_note(s, NOTE_LINE, false, "and %s in other threads and processes",
		             format_duration(rows->others).text);
	return section_end(s, err);
}
