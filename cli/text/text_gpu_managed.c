// SPDX-License-Identifier: MIT
// Managed memory: what moved between host and devices, and why.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "time", COLUMN_NUMBER, 0, 0 },      { "times", COLUMN_NUMBER, 0, 0 },
	{ "bytes", COLUMN_NUMBER, 0, 0 },     { "GB/s", COLUMN_NUMBER, 0, 0 },
	{ "what", COLUMN_TEXT, CLIP_END, 1 },
};

static const char *kind_name(enum gpu_managed_kind kind)
{
	static const char *const names[GPU_MANAGED_KINDS] = {
		"something that CUPTI does not name",
		[GPU_MANAGED_TO_DEVICE] = "host to device",
		[GPU_MANAGED_TO_HOST] = "device to host",
		[GPU_MANAGED_HOST_FAULT] = "page faults of the host",
		[GPU_MANAGED_DEVICE_FAULT] = "page faults of the GPU",
		[GPU_MANAGED_THRASHING] = "thrashing: host and GPU want the same pages",
		[GPU_MANAGED_THROTTLING] = "one that thrashes has to wait",
		[GPU_MANAGED_REMOTE_MAP] = "pages used from afar",
		[GPU_MANAGED_BETWEEN] = "device to device",
	};

	return names[kind];
}

static const char *cause_name(enum gpu_managed_cause cause)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_UNKNOWN] = "",
		[GPU_MANAGED_ASKED] = ", asked for by the program",
		[GPU_MANAGED_ACCESS] = ", for a page fault",
		[GPU_MANAGED_AHEAD] = ", by the driver's foresight",
		[GPU_MANAGED_EVICTED] = ", as the GPU had no room",
		[GPU_MANAGED_OFTEN] = ", as they were used often",
	};

	return names[cause];
}

static void name_row(const struct gpu_managed_row *row, bool devices, char *buffer, size_t size)
{
	char device[24] = "", process[112] = "";

	if (devices && row->has_device)
		snprintf(device, sizeof(device), ", GPU %u", row->device);
	if (*row->process)
		snprintf(process, sizeof(process), ", %.100s", row->process);
	snprintf(buffer, size, "%s%s%s%s", kind_name(row->kind), cause_name(row->cause), device,
	         process);
}

static void add_row(struct table *table, const struct gpu_managed_row *row, bool devices)
{
	char name[256], rate[32] = "";

	name_row(row, devices, name, sizeof(name));
	if (row->bytes_per_s > 0)
		snprintf(rate, sizeof(rate), "%.3g", row->bytes_per_s / 1e9);
	table_row(table, STYLE_PLAIN);
	table_cell(table, row->ns ? format_time(row->ns, format_time_unit(row->ns)).text : "");
	table_cell(table, format_count(row->groups ? row->groups : row->count).text);
	table_cell(table, row->bytes ? format_bytes(row->bytes).text : "");
	table_cell(table, rate);
	table_cell(table, name);
}

static bool has_devices(const struct gpu_managed_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].device != rows->rows[0].device)
			return true;
	return false;
}

int text_gpu_managed(const struct text *text, struct error *err)
{
	cleanup(gpu_managed_rows) struct gpu_managed_rows *rows =
		query_gpu_managed(text->profile, err);

	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(table, &rows->rows[i], has_devices(rows));
	text_heading(text, "GPU managed memory",
	             "pages that moved by themselves, and faults; of the whole run");
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
