// SPDX-License-Identifier: MIT
// What PyTorch's allocator has held of the memory of GPUs.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/profile/profile.h"
#include "merge/query/query_devices.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "tensors", COLUMN_NUMBER, CLIP_MIDDLE, 1 },
	{ "reserved", COLUMN_NUMBER, CLIP_MIDDLE, 1 },
	{ "tensors at end", COLUMN_NUMBER, CLIP_MIDDLE, 1 },
	{ "of", COLUMN_NUMBER, CLIP_MIDDLE, 1 },
	{ "device", COLUMN_WORD, CLIP_MIDDLE, 1 },
	{ "process", COLUMN_TEXT, CLIP_MIDDLE, 1 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_row(struct table *table, const struct device_row *row)
{
	char process[256];

	table_row(table, STYLE_PLAIN);
	table_cell(table, format_bytes(row->peak_bytes).text);
	table_cell(table, format_bytes(row->peak_reserved_bytes).text);
	table_cell(table, format_bytes(row->last_bytes).text);
	table_cell(table, row->capacity_bytes ? format_bytes(row->capacity_bytes).text : "");
	table_cell(table, row->device);
	snprintf(process, sizeof(process), "%s (%u)", row->command, row->pid);
	table_cell(table, process);
}

int text_devices(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_SELF);

	cleanup(device_rows) struct device_rows *rows = query_devices(text->profile, &query, err);
	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	cleanup(table) struct table *table = table_new(columns, COLUMNS, &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(table, &rows->rows[i]);
	text_heading(text, "GPU memory of PyTorch", "peaks of the whole run; exact");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
