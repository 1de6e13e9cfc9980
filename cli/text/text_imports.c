// SPDX-License-Identifier: MIT
// Python's imports: a phase of its own, and what was slow in it.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/query/query_imports.h"

#include <errno.h>
#include <stdio.h>

#define LEAST_PERCENT 2 // of the thread's time: below that imports are no news
#define ROW_PERCENT   5 // of all imports
#define ROWS_MAX      8

static const struct column columns[] = {
	{ "total", COLUMN_NUMBER, 0, 0 },
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "self", COLUMN_NUMBER, 0, 0 },
	{ "module", COLUMN_TEXT, CLIP_MIDDLE, 1 },
	{ "imported by", COLUMN_TEXT, CLIP_START, 1 },
};

static void add_row(struct table *table, const struct import_rows *rows,
                    const struct import_row *row)
{
	struct time_unit unit = format_time_unit(rows->all);
	char importer[512];

	place_words(row->importer, row->importer_line, NULL, importer, sizeof(importer));
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(row->total, unit).text);
	table_cell(table, format_percent(row->total, rows->time).text);
	table_cell(table, format_time(row->self, unit).text);
	table_cell(table, row->name);
	table_cell(table, importer);
}

static size_t add_rows(const struct text *text, struct table *table, const struct import_rows *rows)
{
	size_t most = text->view->top < ROWS_MAX ? text->view->top : ROWS_MAX;
	size_t added = 0;

	while (added < rows->count && added < most &&
	       rows->rows[added].total * 100 >= rows->all * ROW_PERCENT)
		add_row(table, rows, &rows->rows[added++]);
	return added;
}

static void print_heading(const struct text *text, const struct import_rows *rows)
{
	cleanup_free char *process =
		format_clean(rows->process ? rows->process : "?", text->terminal.ascii);
	char where[160] = "", note[320];

	if (rows->tid != rows->pid)
		snprintf(where, sizeof(where), " of thread %u", rows->tid);
	snprintf(note, sizeof(note), "%s of %s%s in %s (%s %%)", format_duration(rows->all).text,
	         format_duration(rows->time).text, where, process ? process : "?",
	         format_percent(rows->all, rows->time).text);
	text_heading(text, "imports", note);
}

int text_imports(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_TOTAL);
	cleanup(import_rows) struct import_rows *rows = query_imports(text->profile, &query, err);

	if (!rows)
		return -1;
	if (!rows->all || rows->all * 100 < rows->time * LEAST_PERCENT)
		return 0;
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	size_t added = add_rows(text, table, rows);
	print_heading(text, rows);
	if (added && table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (rows->others * 100 >= rows->all * ROW_PERCENT)
		fprintf(text->out, "  and %s in other threads and processes\n",
		        format_duration(rows->others).text);
	return 0;
}
