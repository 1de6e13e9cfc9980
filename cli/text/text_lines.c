// SPDX-License-Identifier: MIT
// Hot source lines, with what is written there.
#include "cli/text/text.h"

#include "base/error.h"
#include "base/origin.h"
#include "cli/format.h"
#include "cli/report/source.h"
#include "cli/table.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdio.h>

#define COLUMNS_MAX 5

struct layout {
	const struct rows *rows;
	struct column columns[COLUMNS_MAX];
	size_t count;
	bool gpu; // some have launched what ran on a GPU
};

static void add_column(struct layout *layout, const char *title, enum column_kind kind,
                       enum clip clip, int share)
{
	layout->columns[layout->count++] = (struct column){ title, kind, clip, share };
}

static void make_layout(struct layout *layout, const struct rows *rows, bool total)
{
	*layout = (struct layout){ .rows = rows };
	for (size_t i = 0; i < rows->count; i++)
		layout->gpu |= rows->rows[i].gpu_total_ns != 0;
	add_column(layout, total ? "total" : "self", COLUMN_NUMBER, 0, 0);
	add_column(layout, "%", COLUMN_NUMBER, 0, 0);
	if (layout->gpu)
		add_column(layout, "on GPU", COLUMN_NUMBER, 0, 0);
	add_column(layout, "line", COLUMN_TEXT, CLIP_START, 1);
	add_column(layout, "source", COLUMN_TEXT, CLIP_END, 2);
}

static uint64_t ranked(const struct text *text, const struct row *row)
{
	return text->view->sort == VIEW_SORT_TOTAL ? row->total : row->self;
}

// Of source text: some is newer than the program, some is not shown.
struct doubts {
	bool newer, kept_back;
};

// A line of a library's, of which there is nothing to be read, says less than its function.
static bool is_wanted(const struct text *text, const struct row *row, const char *line)
{
	return *line || view_table(text->view) != VIEW_TABLE_NONE ||
	       !origin_is_foreign(row->module, row->file);
}

// False if ROW is not worth a line.
static bool add_row(const struct text *text, struct table *table, const struct layout *layout,
                    const struct row *row, struct doubts *doubts)
{
	const struct rows *rows = layout->rows;
	char place[512], line[512] = "", marked[520];
	bool newer = false;

	struct source_scope scope = source_scope_of(text->profile, text->view);
	scope.kept_back = &doubts->kept_back;
	if (!source_line(&scope, row->file, row->line, row->module, line, sizeof(line), &newer))
		line[0] = '\0';
	if (!is_wanted(text, row, line))
		return false;
	text_place(row->file, row->line, row->module, place, sizeof(place));
	snprintf(marked, sizeof(marked), "%s%s", newer ? "! " : "", line);
	doubts->newer |= newer;
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(ranked(text, row), format_time_unit(rows->all)).text);
	table_cell(table, format_percent(ranked(text, row), rows->all).text);
	if (layout->gpu)
		table_cell(
			table,
			row->gpu_total_ns
				? format_time(row->gpu_total_ns, format_time_unit(rows->all)).text
				: "");
	table_cell(table, place);
	table_cell(table, marked);
	return true;
}

static size_t add_rows(const struct text *text, struct table *table, const struct layout *layout,
                       struct doubts *doubts)
{
	const struct rows *rows = layout->rows;
	uint64_t least = (uint64_t)(view_min_share(text->view, false) * (double)rows->all);
	size_t added = 0;

	for (size_t i = 0; i < rows->count && added < text->view->top; i++) {
		const struct row *row = &rows->rows[i];
		if (!ranked(text, row) || ranked(text, row) < least)
			break;
		if (!row->file || !row->line)
			continue; // code without lines is named in the limits
		added += add_row(text, table, layout, row, doubts);
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
	struct doubts doubts = { 0 };
	bool own_code;
	cleanup(rows) struct rows *rows =
		rows_of(text, total ? SORT_TOTAL : SORT_SELF, &own_code, err);

	if (!rows)
		return -1;
	struct layout layout;
	make_layout(&layout, rows, total);
	cleanup(table) struct table *table =
		table_new(layout.columns, layout.count, &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	if (!add_rows(text, table, &layout, &doubts))
		return 0;
	text_heading(text, total ? "hot lines by total time" : "hot lines",
	             own_code ? "of your own code, with the libraries that they call" : "");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (doubts.kept_back)
		fputs("  source that need not be what was recorded is left out: --source shows it\n",
		      text->out);
	if (doubts.newer)
		fputs("  ! the source is newer than the program: the line may have moved\n",
		      text->out);
	return 0;
}
