// SPDX-License-Identifier: MIT
// Managed memory: what moved between host and devices, and why.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/report/managed_words.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "time", COLUMN_NUMBER, 0, 0 },      { "times", COLUMN_NUMBER, 0, 0 },
	{ "bytes", COLUMN_NUMBER, 0, 0 },     { "GB/s", COLUMN_NUMBER, 0, 0 },
	{ "what", COLUMN_TEXT, CLIP_END, 1 },
};

static void add_row(struct table *table, const struct gpu_managed_row *row, bool devices)
{
	char name[256], rate[32] = "";

	managed_words(row, devices, name, sizeof(name));
	if (row->bytes_per_s > 0)
		snprintf(rate, sizeof(rate), "%.3g", row->bytes_per_s / 1e9);
	table_row(table, STYLE_PLAIN);
	table_cell(table, row->ns ? format_time(row->ns, format_time_unit(row->ns)).text : "");
	table_cell(table, format_count(row->groups ? row->groups : row->count).text);
	table_cell(table, row->bytes ? format_bytes(row->bytes).text : "");
	table_cell(table, rate);
	table_cell(table, name);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not print the report");
}

static void add_fault_row(const struct text *text, struct table *table,
                          const struct gpu_fault_row *row)
{
	char function[1024], caller[1024], name[2100], code[2240], place[512];
	const char *file = row->caller ? row->caller_file : row->file;
	struct gpu_fault_row shown = *row;

	if (row->function && !text->view->verbose) {
		short_name(row->function, function, sizeof(function));
		shown.function = function;
	}
	if (row->caller && !text->view->verbose) {
		short_name(row->caller, caller, sizeof(caller));
		shown.caller = caller;
	}
	managed_code(&shown, name, sizeof(name));
	snprintf(code, sizeof(code), "%s%s%s", name, *row->process ? ", " : "", row->process);
	place_words(file, row->caller ? row->caller_line : row->line, row->module, place,
	            sizeof(place));
	table_row(table, STYLE_PLAIN);
	table_cell(table, row->ns ? format_time(row->ns, format_time_unit(row->ns)).text : "");
	table_cell(table, format_count(row->faults).text);
	table_cell(table, row->bytes ? format_bytes(row->bytes).text : "");
	table_cell(table, managed_access(row));
	table_cell(table, code);
	table_cell(table, place);
}

// Who had pages come back from a GPU.
static int print_faults(const struct text *text, struct error *err)
{
	static const struct column lines[] = {
		{ "time", COLUMN_NUMBER, 0, 0 },
		{ "faults", COLUMN_NUMBER, 0, 0 },
		{ "came", COLUMN_NUMBER, 0, 0 },
		{ "", COLUMN_WORD, 0, 0 },
		{ "function", COLUMN_TEXT, CLIP_SYMBOL, 4 },
		{ "line", COLUMN_TEXT, CLIP_START, 3 },
	};
	cleanup(gpu_fault_rows) struct gpu_fault_rows *rows = query_gpu_faults(text->profile, err);

	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	cleanup(table) struct table *table =
		table_new(lines, sizeof(lines) / sizeof(lines[0]), &text->terminal);
	if (!table)
		return out_of_memory(err);
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_fault_row(text, table, &rows->rows[i]);
	text_heading(text, "host page faults on managed memory",
	             "pages that were on a GPU; of the whole run");
	return table_print(table, text->out, 2) < 0 ? out_of_memory(err) : 0;
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
		return out_of_memory(err);
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(table, &rows->rows[i], managed_has_devices(rows));
	text_heading(text, "GPU managed memory",
	             "pages that moved by themselves, and faults; of the whole run");
	if (table_print(table, text->out, 2) < 0)
		return out_of_memory(err);
	return print_faults(text, err);
}
