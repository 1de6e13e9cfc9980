// SPDX-License-Identifier: MIT
// What GPUs ran: kernels, copies, sets and graphs; and how kernels were launched.
#include "cli/report/sections.h"

#include "base/format.h"
#include "base/share.h"
#include "cli/report/view.h"
#include "cli/short_name.h"
#include "merge/query/query_gpu.h"

#include <stdio.h>

#define WIDE 100 // terminals below this get fewer columns

REPORT_KEEPS(gpu_rows, struct gpu_rows *);

static void make_kind(const struct section *s, const void *data, struct section_cell *cell)
{
	static const char *const kinds[GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "kernel",
		[GPU_WORK_COPY] = "copy",
		[GPU_WORK_SET] = "set",
		[GPU_WORK_GRAPH] = "graph",
	};
	const struct gpu_row *row = data;

	(void)s;
	cell->text = kinds[row->kind];
}

// For people on a terminal without what tells overloads apart.
static void make_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;
	char name[1024];

	if (s->report->view->verbose || row->kind != GPU_WORK_KERNEL)
		snprintf(name, sizeof(name), "%s", row->name);
	else
		short_name(row->name, name, sizeof(name));
	cell->text = report_say(s->report, "%s%s", name,
	                        row->kind == GPU_WORK_COPY && row->async ? " (async)" : "");
}

static void make_rate(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->number = row->bytes_per_s / 1e9;
}

static void make_direction(const struct section *s, const void *data, struct section_cell *cell)
{
	static const char *const names[] = {
		[GPU_COPY_HOST_TO_DEVICE] = "host-to-device",
		[GPU_COPY_DEVICE_TO_HOST] = "device-to-host",
		[GPU_COPY_HOST_TO_ARRAY] = "host-to-array",
		[GPU_COPY_ARRAY_TO_HOST] = "array-to-host",
		[GPU_COPY_ARRAY_TO_ARRAY] = "array-to-array",
		[GPU_COPY_ARRAY_TO_DEVICE] = "array-to-device",
		[GPU_COPY_DEVICE_TO_ARRAY] = "device-to-array",
		[GPU_COPY_DEVICE_TO_DEVICE] = "device-to-device",
		[GPU_COPY_HOST_TO_HOST] = "host-to-host",
		[GPU_COPY_PEER] = "peer",
	};
	const struct gpu_row *row = data;
	bool known = row->kind == GPU_WORK_COPY &&
	             (size_t)row->direction < sizeof(names) / sizeof(names[0]);

	(void)s;
	cell->text = known ? names[row->direction] : NULL;
}

static const char *memory_name(const struct gpu_row *row, enum gpu_memory_kind kind)
{
	static const char *const names[] = {
		[GPU_MEMORY_PAGEABLE] = "pageable",
		[GPU_MEMORY_PINNED] = "pinned",
		[GPU_MEMORY_DEVICE] = "device",
		[GPU_MEMORY_ARRAY] = "array",
		[GPU_MEMORY_MANAGED] = "managed",
		[GPU_MEMORY_DEVICE_STATIC] = "device-static",
		[GPU_MEMORY_MANAGED_STATIC] = "managed-static",
	};
	bool known = row->kind == GPU_WORK_COPY && (size_t)kind < sizeof(names) / sizeof(names[0]);

	return known ? names[kind] : NULL;
}

static void make_from(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->text = memory_name(row, row->from);
}

static void make_to(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->text = memory_name(row, row->to);
}

// "8x1x1"; for people without what is 1 at the end.
static const char *say_three(const struct section *s, const struct gpu_row *row,
                             const uint32_t n[3])
{
	if (!row->shape.block[0])
		return NULL;
	if (s->report->reader == READER_TEXT && n[1] <= 1 && n[2] <= 1)
		return report_say(s->report, "%u", n[0]);
	if (s->report->reader == READER_TEXT && n[2] <= 1)
		return report_say(s->report, "%ux%u", n[0], n[1]);
	return report_say(s->report, "%ux%ux%u", n[0], n[1], n[2]);
}

static void make_grid(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	cell->text = say_three(s, row, row->shape.grid);
}

static void make_block(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	cell->text = say_three(s, row, row->shape.block);
}

static void make_limit(const struct section *s, const void *data, struct section_cell *cell)
{
	static const struct {
		const char *key, *words;
	} names[] = {
		[GPU_LIMIT_UNKNOWN] = { NULL, "" },
		[GPU_LIMIT_WARPS] = { "none", "nothing" },
		[GPU_LIMIT_BLOCKS] = { "blocks", "blocks" },
		[GPU_LIMIT_REGISTERS] = { "registers", "registers" },
		[GPU_LIMIT_SHARED] = { "shared-memory", "shared mem" },
		[GPU_LIMIT_GRID] = { "grid", "small grid" },
	};
	const struct gpu_row *row = data;
	bool people = s->report->reader == READER_TEXT;

	cell->text = people ? names[row->limit].words : names[row->limit].key;
}

static void make_shared(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->count = (uint64_t)row->shape.static_shared + row->shape.dynamic_shared;
}

static void make_short_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;
	char name[1024];

	short_name(row->name, name, sizeof(name));
	cell->text = report_say(s->report, "%s", name);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_row *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.line = row->line;
}

static const struct section_column columns[] = {
	{ "name", .heading = "on the GPU", .type = CELL_TEXT, .at = { 0, 11, 1 },
	  FIELD(struct gpu_row, name) },
	{ "told_name", .heading = "on the GPU", .type = CELL_TEXT, .at = { 8 }, .clip = CLIP_SYMBOL,
	  .room = 4, .make = make_name },
	{ "kind", .type = CELL_TEXT, .at = { 0, 0, 2 }, .make = make_kind },
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 3, 3, 3 },
	  FIELD(struct gpu_row, calls) },
	{ "untimed_calls", .type = CELL_COUNT, .at = { 0, 0, 4 }, FIELD(struct gpu_row, untimed) },
	{ "total_ns", "time", .heading = "time", .type = CELL_NS, .at = { 1, 1, 5 },
	  FIELD(struct gpu_row, total_ns) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 2, 6 },
	  FIELD(struct gpu_row, total_ns) },
	{ "average_ns", "average", .heading = "average", .type = CELL_NS, .form = FORM_OWN,
	  .at = { 4, 4, 7 }, .none = { 1, 0, 1 }, FIELD(struct gpu_row, average_ns) },
	{ "min_ns", .type = CELL_NS, .at = { 0, 0, 8 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_row, min_ns) },
	{ "median_ns", "median", .heading = "median", .type = CELL_NS, .form = FORM_OWN,
	  .at = { 5, 5, 9 }, .none = { 1, 1, 1 }, .width_min = WIDE,
	  FIELD(struct gpu_row, median_ns) },
	{ "max_ns", "max", .heading = "max", .type = CELL_NS, .at = { 0, 6, 10 },
	  .none = { 0, 1, 1 }, FIELD(struct gpu_row, max_ns) },
	{ "bytes", .heading = "bytes", .type = CELL_BYTES, .at = { 6, 7, 11 }, .none = { 1, 1, 1 },
	  FIELD(struct gpu_row, bytes) },
	{ "rate", .heading = "GB/s", .type = CELL_NUMBER, .at = { 7, 8, 0 }, .none = { 1, 1, 0 },
	  .make = make_rate },
	{ "direction", .type = CELL_TEXT, .at = { 0, 0, 12 }, .make = make_direction },
	{ "from_memory", .type = CELL_TEXT, .at = { 0, 0, 13 }, .make = make_from },
	{ "to_memory", .type = CELL_TEXT, .at = { 0, 0, 14 }, .make = make_to },
	{ "grid", .type = CELL_TEXT, .at = { 0, 0, 15 }, .make = make_grid },
	{ "block", .type = CELL_TEXT, .at = { 0, 0, 16 }, .make = make_block },
	{ "launch_shapes", .type = CELL_COUNT, .at = { 0, 0, 17 }, FIELD(struct gpu_row, shapes) },
	{ "registers", .type = CELL_COUNT, .at = { 0, 0, 18 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_row, shape.registers) },
	{ "occupancy", .heading = "occupancy", .type = CELL_FRACTION, .at = { 0, 9, 19 },
	  .none = { 0, 1, 0 }, FIELD(struct gpu_row, occupancy) },
	{ "occupancy_limit", .type = CELL_TEXT, .at = { 0, 0, 20 }, .make = make_limit },
	{ "multiprocessors_at_work", "at_work", .heading = "SMs at work", .type = CELL_FRACTION,
	  .at = { 0, 10, 21 }, .none = { 0, 1, 0 }, FIELD(struct gpu_row, at_work) },
	{ "tensor_cores", .type = CELL_BOOL, .at = { 0, 0, 22 },
	  FIELD(struct gpu_row, tensor_cores) },
	{ "function", .heading = "launched by", .type = CELL_TEXT, .at = { 0, 12, 23 },
	  FIELD(struct gpu_row, function) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 24 }, FIELD(struct gpu_row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 25 }, .none = { 0, 0, 1 }, .make = make_line },
	{ "place", .heading = "launched from", .page_heading = "where", .type = CELL_PLACE,
	  .at = { 9, 13, 0 }, .clip = CLIP_START, .room = 3, .make = make_place },
};

static bool is_windowed(const struct report *r)
{
	return r->view->from_ns || r->view->to_ns;
}

static bool is_worth_a_line(const struct report *r, const struct gpu_rows *rows,
                            const struct gpu_row *row)
{
	return share_of(row->total_ns, rows->total_ns) >= view_min_share(r->view, false) ||
	       !rows->total_ns;
}

static bool have_bytes(const struct gpu_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].bytes)
			return true;
	return false;
}

struct section *section_gpu_work(struct report *r, const struct gpu_rows *rows)
{
	struct section *s = section_new(r, "gpu_work", "GPU kernels and copies by time");

	s->shown = true;
	s->subtitle = report_say(r, "exact; %% of their %s", format_duration(rows->total_ns).text);
	s->all = rows->total_ns;
	s->unit_ns = rows->count ? rows->rows[0].total_ns : 0;
	SECTION_COLUMNS(s, columns);
	if (is_windowed(r) && section_column(s, "median_ns"))
		section_column(s, "median_ns")->legend = "medians of the whole run";
	if (!have_bytes(rows)) {
		section_without(s, "bytes");
		section_without(s, "rate");
	}
	for (size_t i = 0; i < rows->count && i < r->view->top; i++)
		if (is_worth_a_line(r, rows, &rows->rows[i]))
			section_row(s, &rows->rows[i]);
	return s;
}

struct section *section_all_gpu_work(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct gpu_rows *rows = keep_gpu_rows(r, query_gpu(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "gpu", "GPU kernels and copies");
	s->subtitle = "exact";
	s->all = rows->total_ns;
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

#define TEXT(place) .at = { [READER_TEXT] = (place) }

static const struct section_column launch_columns[] = {
	{ "grid", .heading = "grid", .type = CELL_TEXT, TEXT(1), .right = true, .make = make_grid },
	{ "block", .heading = "block", .type = CELL_TEXT, TEXT(2), .right = true,
	  .make = make_block },
	{ "registers", .heading = "registers", .type = CELL_LABEL, TEXT(3),
	  FIELD(struct gpu_row, shape.registers) },
	{ "shared", .heading = "shared", .type = CELL_BYTES, TEXT(4), .make = make_shared },
	{ "occupancy", .heading = "occupancy", .type = CELL_FRACTION, TEXT(5), .none = { 1 },
	  FIELD(struct gpu_row, occupancy) },
	{ "limit", .heading = "limited by", .type = CELL_TEXT, TEXT(6), .make = make_limit },
	{ "at_work", .heading = "SMs", .type = CELL_FRACTION, TEXT(7), .none = { 1 },
	  FIELD(struct gpu_row, at_work) },
	{ "tensor_cores", .heading = "tensor", .type = CELL_BOOL, TEXT(8), .none = { 1 },
	  FIELD(struct gpu_row, tensor_cores) },
	{ "shapes", .heading = "shapes", .type = CELL_LABEL, TEXT(9),
	  FIELD(struct gpu_row, shapes) },
	{ "kernel", .heading = "kernel", .type = CELL_TEXT, TEXT(10), .clip = CLIP_SYMBOL,
	  .room = 1, .make = make_short_name },
};

struct section *section_gpu_launches(struct report *r, const struct gpu_rows *rows)
{
	struct section *s = section_new(r, "gpu_launches", "GPU launches");

	s->subtitle = is_windowed(r)
	                      ? "each kernel as most of its time in the whole run; estimates"
	                      : "each kernel as most of its time; occupancy, multiprocessors at "
	                        "work and tensor cores are estimates";
	SECTION_COLUMNS(s, launch_columns);
	for (size_t i = 0; i < rows->count && i < r->view->top; i++) {
		const struct gpu_row *row = &rows->rows[i];
		if (row->kind == GPU_WORK_KERNEL && row->shape.block[0] &&
		    is_worth_a_line(r, rows, row))
			section_row(s, row);
	}
	s->shown = s->row_count > 0;
	return s;
}
