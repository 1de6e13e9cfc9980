// SPDX-License-Identifier: MIT
// What ops did, what was allocated, what was counted.
#include "cli/export/tables.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/query/query_devices.h"

static void put_device(struct sheet *s, const void *data)
{
	const struct device_row *row = data;

	sheet_text(s, "device", row->device);
	sheet_text(s, "process", row->command);
	sheet_count(s, "pid", row->pid);
	sheet_count(s, "peak_bytes", row->peak_bytes);
	sheet_count(s, "peak_reserved_bytes", row->peak_reserved_bytes);
	sheet_count(s, "last_bytes", row->last_bytes);
	sheet_known(s, "capacity_bytes", row->capacity_bytes);
}

static int write_devices(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct query query = view_query(e->view, BY_FUNCTION, SORT_SELF);
	cleanup(device_rows) struct device_rows *rows = query_devices(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_device, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct device_row){ 0 });
	return 0;
}

const struct export_table tables_of_ops[] = {
	{ "ops", .make = section_sheet_ops },
	{ "op_shapes", .make = section_sheet_op_shapes },
	{ "memory_totals", .make = section_sheet_memory_totals },
	{ "memory", .make = section_sheet_memory },
	{ "memory_lines", .make = section_sheet_memory_lines },
	{ "gpu_memory", .write = write_devices },
	{ "counters", .make = section_counters },
	{ 0 },
};
