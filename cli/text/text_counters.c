// SPDX-License-Identifier: MIT
// What the program has counted itself, by ITT's and NVTX's counters.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/profile/profile.h"
#include "merge/query/query_counters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define WIDE        80
#define COMMAS_MAX  1e8  /* whole numbers up to here are printed as they are */
#define PREFIX_MAX  1e18 /* and up to here with a prefix */
#define COLUMNS_MAX 8

static struct short_text absolute(double value)
{
	struct short_text out;

	if (value < COMMAS_MAX && value == floor(value))
		return format_count((uint64_t)value);
	if (value >= COMMAS_MAX && value < PREFIX_MAX)
		return format_scaled(value);
	snprintf(out.text, sizeof(out.text), "%.4g", value);
	return out;
}

// "41,022", "-3", "2.5", "1.10 T", "1.2e+30".
static struct short_text number(double value)
{
	struct short_text out;

	snprintf(out.text, sizeof(out.text), "%s%.30s", value < 0 ? "-" : "",
	         absolute(fabs(value)).text);
	return out;
}

static struct short_text mean(double value)
{
	return number(fabs(value) >= 1000 ? round(value) : value);
}

struct layout {
	struct column columns[COLUMNS_MAX];
	size_t count;
	bool wide;
};

static void add_column(struct layout *layout, const char *title, enum column_kind kind)
{
	layout->columns[layout->count++] = (struct column){ title, kind, CLIP_MIDDLE, 1 };
}

static void make_columns(struct layout *layout)
{
	add_column(layout, "last", COLUMN_NUMBER);
	add_column(layout, "min", COLUMN_NUMBER);
	add_column(layout, "max", COLUMN_NUMBER);
	if (layout->wide) {
		add_column(layout, "average", COLUMN_NUMBER);
		add_column(layout, "sum", COLUMN_NUMBER);
	}
	add_column(layout, "changes", COLUMN_NUMBER);
	if (layout->wide)
		add_column(layout, "kind", COLUMN_WORD);
	add_column(layout, "counter", COLUMN_TEXT);
}

static void add_row(struct table *table, const struct layout *layout, const struct counter_row *row)
{
	const struct short_text none = { "" };
	char name[1024];

	table_row(table, STYLE_PLAIN);
	table_cell(table, (row->changes ? number(row->last) : none).text);
	table_cell(table, (row->changes ? number(row->min) : none).text);
	table_cell(table, (row->changes ? number(row->max) : none).text);
	if (layout->wide) {
		table_cell(table, (row->changes ? mean(row->average) : none).text);
		table_cell(table, (row->changes ? number(row->sum) : none).text);
	}
	table_cell(table, format_count(row->changes).text);
	if (layout->wide)
		table_cell(table, row->provider);
	snprintf(name, sizeof(name), "%s%s%s", row->domain, *row->domain ? ": " : "", row->name);
	table_cell(table, name);
}

static void print_untold(const struct text *text, const struct counter_rows *rows)
{
	uint64_t untold = rows->lost;

	for (size_t i = 0; i < rows->count; i++)
		untold += rows->rows[i].untold;
	if (!untold)
		return;
	text_say(text, "%s more changes: their values came too fast to be kept, or were no numbers",
	         format_count(untold).text);
}

int text_counters(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_SELF);
	bool windowed = text->view->from_ns || text->view->to_ns;
	struct layout layout = { .wide = text->terminal.width >= WIDE };

	cleanup(counter_rows) struct counter_rows *rows =
		query_counters(text->profile, &query, err);
	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	make_columns(&layout);
	cleanup(table) struct table *table =
		table_new(layout.columns, layout.count, &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(table, &layout, &rows->rows[i]);
	text_heading(text, "counters", windowed ? "of the whole run" : "");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	print_untold(text, rows);
	return 0;
}
