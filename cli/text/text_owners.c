// SPDX-License-Identifier: MIT
// Threads or processes: how long each was on a CPU, and what it waited for.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "on a CPU", COLUMN_NUMBER, 0, 0 }, { "%", COLUMN_NUMBER, 0, 0 },
	{ "waiting", COLUMN_NUMBER, 0, 0 },  { "%", COLUMN_NUMBER, 0, 0 },
	{ "mostly for", COLUMN_WORD, 0, 0 }, { "name", COLUMN_TEXT, CLIP_MIDDLE, 1 },
	{ "number", COLUMN_NUMBER, 0, 0 },
};

static const char *longest_wait(const struct row *row)
{
	enum metric most = METRIC_ON_CPU;

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		if (row->self_ns[m] &&
		    (most == METRIC_ON_CPU || row->self_ns[m] > row->self_ns[most]))
			most = (enum metric)m;
	return most == METRIC_ON_CPU ? "" : metric_name(most);
}

static void add_row(struct table *table, const struct row *row, struct time_unit unit)
{
	uint64_t on_cpu = row->self_ns[METRIC_ON_CPU], waiting = 0;
	char number[16];

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		waiting += row->self_ns[m];
	snprintf(number, sizeof(number), "%u", row->id);
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(on_cpu, unit).text);
	table_cell(table, format_percent(on_cpu, on_cpu + waiting).text);
	table_cell(table, format_time(waiting, unit).text);
	table_cell(table, format_percent(waiting, on_cpu + waiting).text);
	table_styled(table, longest_wait(row), STYLE_WAIT);
	table_cell(table, row->name);
	table_cell(table, number);
}

// Ranked by what was asked for: the time of one thread is the time of all of its kinds.
static size_t add_rows(const struct text *text, struct table *table, const struct rows *rows)
{
	uint64_t least = (uint64_t)(view_min_share(text->view, false) * (double)rows->all);
	uint64_t longest = rows->count ? rows->rows[0].self : 0;
	size_t added = 0;

	for (size_t i = 0; i < rows->count && added < text->view->top; i++) {
		const struct row *row = &rows->rows[i];
		if (!row->self || row->self < least)
			break;
		add_row(table, row, format_time_unit(longest));
		added++;
	}
	return added;
}

int text_owners(const struct text *text, enum query_by by, struct error *err)
{
	struct query query = view_query(text->view, by, SORT_SELF);
	cleanup(rows) struct rows *rows = query_run(text->profile, &query, err);

	if (!rows)
		return -1;
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	if (!add_rows(text, table, rows))
		return 0;
	text_heading(text, by == BY_THREAD ? "threads" : "processes", "each %: of its own time");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
