// SPDX-License-Identifier: MIT
// The memory of GPUs: what PyTorch's allocator has held of each, by process.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/query/query_devices.h"

REPORT_KEEPS(device_rows, struct device_rows *);

static void make_process(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct device_row *row = data;

	cell->text = report_say(s->report, "%s (%u)", row->command, row->pid);
}

// On the page they stand as in the text.
#define AT(text, sheet)                                                                            \
	.at = { [READER_TEXT] = (text), [READER_PAGE] = (text), [READER_SHEET] = (sheet) }

static const struct section_column columns[] = {
	{ "device", .heading = "device", .type = CELL_TEXT, AT(5, 1),
	  FIELD(struct device_row, device) },
	{ "told_process", .heading = "process", .type = CELL_TEXT, AT(6, 0), .clip = CLIP_MIDDLE,
	  .room = 1, .make = make_process },
	{ "process", .type = CELL_TEXT, AT(0, 2), FIELD(struct device_row, command) },
	{ "pid", .type = CELL_LABEL, AT(0, 3), FIELD(struct device_row, pid) },
	{ "peak_bytes", .heading = "tensors", .type = CELL_BYTES, AT(1, 4),
	  FIELD(struct device_row, peak_bytes) },
	{ "peak_reserved_bytes", .heading = "reserved", .type = CELL_BYTES, AT(2, 5),
	  FIELD(struct device_row, peak_reserved_bytes) },
	{ "last_bytes", .heading = "tensors at end", .type = CELL_BYTES, AT(3, 6),
	  FIELD(struct device_row, last_bytes) },
	{ "capacity_bytes", .heading = "of", .type = CELL_BYTES, AT(4, 7),
	  .none = { [READER_TEXT] = true, [READER_PAGE] = true, [READER_SHEET] = true },
	  FIELD(struct device_row, capacity_bytes) },
};

struct section *section_device_memory(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct device_rows *rows =
		keep_device_rows(r, query_devices(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "gpu_memory", "GPU memory of PyTorch");
	s->shown = rows->count != 0;
	s->subtitle = "peaks of the whole run; exact";
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}
