// SPDX-License-Identifier: MIT
// Hot source lines, with what is written there.
#include "cli/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/source.h"
#include "cli/table.h"
#include "merge/profile.h"

#include <errno.h>
#include <stdio.h>

static const struct column by_self[] = {
	{ "self", COLUMN_NUMBER, 0, 0 },
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "line", COLUMN_TEXT, CLIP_START, 1 },
	{ "source", COLUMN_TEXT, CLIP_END, 2 },
};

static const struct column by_total[] = {
	{ "total", COLUMN_NUMBER, 0, 0 },
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "line", COLUMN_TEXT, CLIP_START, 1 },
	{ "source", COLUMN_TEXT, CLIP_END, 2 },
};

static uint64_t ranked(const struct text *text, const struct row *row)
{
	return text->view->sort == VIEW_SORT_TOTAL ? row->total : row->self;
}

// Returns true if the source is newer than the program.
static bool add_row(const struct text *text, struct table *table, const struct rows *rows,
                    const struct row *row)
{
	char place[512], line[512] = "", marked[520];
	bool newer = false;

	text_place(row->file, row->line, row->module, place, sizeof(place));
	if (!source_line(row->file, profile_run(text->profile)->directory, row->line, row->module,
	                 line, sizeof(line), &newer))
		line[0] = '\0';
	snprintf(marked, sizeof(marked), "%s%s", newer ? "! " : "", line);
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(ranked(text, row), format_time_unit(rows->all)).text);
	table_cell(table, format_percent(ranked(text, row), rows->all).text);
	table_cell(table, place);
	table_cell(table, marked);
	return newer;
}

static size_t add_rows(const struct text *text, struct table *table, const struct rows *rows,
                       bool *newer)
{
	uint64_t least = (uint64_t)(view_min_share(text->view, false) * (double)rows->all);
	size_t added = 0;

	for (size_t i = 0; i < rows->count && added < text->view->top; i++) {
		const struct row *row = &rows->rows[i];
		if (!ranked(text, row) || ranked(text, row) < least)
			break;
		if (!row->file || !row->line)
			continue; // code without lines is named in the limits
		if (add_row(text, table, rows, row))
			*newer = true;
		added++;
	}
	return added;
}

// A line of Python mostly costs what it calls: where there are any, a line has that, too, down to
// the next line of the user's own.
static struct rows *rows_of(const struct text *text, enum query_sort sort, bool *own_code,
                            struct error *err)
{
	struct view view = *text->view;
	struct text own = *text;
	struct rows *rows = text_rows(text, BY_LINE, sort, err);

	*own_code = rows && !view.user_code && text_has_python(rows);
	if (!*own_code)
		return rows;
	rows_free(rows);
	view.user_code = QUERY_OWN_CODE;
	own.view = &view;
	return text_rows(&own, BY_LINE, sort, err);
}

int text_lines(const struct text *text, struct error *err)
{
	bool total = text->view->sort == VIEW_SORT_TOTAL;
	bool newer = false, own_code;
	cleanup(rows) struct rows *rows =
		rows_of(text, total ? SORT_TOTAL : SORT_SELF, &own_code, err);

	if (!rows)
		return -1;
	cleanup(table) struct table *table = table_new(
		total ? by_total : by_self, sizeof(by_self) / sizeof(by_self[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	if (!add_rows(text, table, rows, &newer))
		return 0;
	text_heading(text, total ? "hot lines by total time" : "hot lines",
	             own_code ? "of your own code, with the libraries that they call" : "");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (newer)
		fputs("  ! the source is newer than the program: the line may have moved\n",
		      text->out);
	return 0;
}
