// SPDX-License-Identifier: MIT
// What ops did, what was allocated, what was counted.
#include "cli/export/tables.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/query/query_counters.h"
#include "merge/query/query_devices.h"
#include "merge/query/query_ops.h"

static void put_memory(struct sheet *s, const void *data)
{
	const struct memory_row *row = data;

	sheet_text(s, "name", row->name);
	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line > 0 ? (uint64_t)row->line : 0);
	sheet_text(s, "module", row->module);
	sheet_count(s, "allocated_bytes", row->allocated_bytes);
	sheet_count(s, "total_allocated_bytes", row->total_allocated_bytes);
	sheet_count(s, "live_at_peak_bytes", row->live_at_peak_bytes);
	sheet_count(s, "live_at_end_bytes", row->live_at_end_bytes);
	sheet_count(s, "samples", row->samples);
	sheet_number(s, "margin", row->margin);
}

static int write_memory_by(struct sheet *s, const struct exporting *e, enum memory_by by,
                           struct error *err)
{
	cleanup(memory_rows) struct memory_rows *rows = query_memory(e->profile, by, false, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_memory, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct memory_row){ 0 });
	return 0;
}

static int write_memory(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_memory_by(s, e, MEMORY_BY_FUNCTION, err);
}

static int write_memory_lines(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_memory_by(s, e, MEMORY_BY_LINE, err);
}

static void put_memory_totals(struct sheet *s, const void *data)
{
	const struct memory_rows *rows = data;

	sheet_count(s, "allocations", rows->allocations);
	sheet_count(s, "frees", rows->frees);
	sheet_count(s, "allocated_bytes", rows->allocated_bytes);
	sheet_count(s, "freed_bytes", rows->freed_bytes);
	sheet_count(s, "peak_bytes", rows->peak_bytes);
	sheet_count(s, "peak_at_ns", rows->peak_ns);
	sheet_count(s, "end_bytes", rows->end_bytes);
	sheet_count(s, "samples", rows->samples);
	sheet_count(s, "untracked_bytes", rows->untracked_bytes);
	sheet_count(s, "lost_samples", rows->lost);
}

static int write_memory_totals(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(e->profile, MEMORY_BY_FUNCTION, false, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_memory_totals, rows, rows->allocations || rows->samples, sizeof(*rows),
	           &(struct memory_rows){ 0 });
	return 0;
}

static void put_counter(struct sheet *s, const void *data)
{
	const struct counter_row *row = data;

	sheet_text(s, "name", row->name);
	sheet_text(s, "provider", row->provider);
	sheet_text(s, "domain", row->domain);
	sheet_count(s, "changes", row->changes);
	sheet_count(s, "untold", row->untold);
	sheet_number(s, "last", row->last);
	sheet_number(s, "min", row->min);
	sheet_number(s, "average", row->average);
	sheet_number(s, "max", row->max);
	sheet_number(s, "sum", row->sum);
}

static int write_counters(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct query query = view_query(e->view, BY_FUNCTION, SORT_SELF);
	cleanup(counter_rows) struct counter_rows *rows = query_counters(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_counter, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct counter_row){ 0 });
	return 0;
}

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
	{ "memory_totals", .write = write_memory_totals },
	{ "memory", .write = write_memory },
	{ "memory_lines", .write = write_memory_lines },
	{ "gpu_memory", .write = write_devices },
	{ "counters", .write = write_counters },
	{ 0 },
};
