// SPDX-License-Identifier: MIT
// Streams of GPUs: how busy each was, and how much of that beside others.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "busy", COLUMN_NUMBER, 0, 0 },      { "%", COLUMN_NUMBER, 0, 0 },
	{ "at once %", COLUMN_NUMBER, 0, 0 }, { "kernels", COLUMN_NUMBER, 0, 0 },
	{ "others", COLUMN_NUMBER, 0, 0 },    { "stream", COLUMN_TEXT, CLIP_END, 1 },
};

// "GPU 1, process 4711, context 1, stream 13": as much of it as tells them apart.
static void name_stream(const struct gpu_stream_rows *rows, const struct gpu_stream_row *row,
                        char *buffer, size_t size)
{
	char device[24] = "", process[112] = "";

	if (rows->devices > 1)
		snprintf(device, sizeof(device), "GPU %u, ", row->device);
	if (*row->process)
		snprintf(process, sizeof(process), "%.100s, ", row->process);
	else if (rows->processes > 1)
		snprintf(process, sizeof(process), "process %u, ", row->pid);
	snprintf(buffer, size, "%s%sstream %u", device, process, row->number);
}

static void add_row(struct table *table, const struct gpu_stream_rows *rows,
                    const struct gpu_stream_row *row, struct time_unit unit)
{
	char name[192];

	name_stream(rows, row, name, sizeof(name));
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(row->busy_ns, unit).text);
	table_cell(table, format_percent(row->busy_ns, row->span_ns).text);
	table_cell(table, format_percent(row->shared_ns, row->busy_ns).text);
	table_cell(table, format_count(row->kernels).text);
	table_cell(table, format_count(row->works - row->kernels).text);
	table_cell(table, name);
}

int text_gpu_streams(const struct text *text, struct error *err)
{
	cleanup(gpu_stream_rows) struct gpu_stream_rows *rows =
		query_gpu_streams(text->profile, err);

	if (!rows)
		return -1;
	if (!rows->count) {
		text_no_gpu(text);
		return 0;
	}
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(table, rows, &rows->rows[i], format_time_unit(rows->rows[0].busy_ns));
	text_heading(text, "GPU streams",
	             "% of the GPU's time from first to last; at once: of that beside others");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
