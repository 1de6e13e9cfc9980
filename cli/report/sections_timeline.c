// SPDX-License-Identifier: MIT
// Lanes of threads and GPUs over the run.
#include "cli/report/graphs.h"

#include "cli/report/view.h"
#include "merge/gpu/gpu_busy.h"
#include "merge/query/query_timeline.h"

#define BINS_MAX  2048
#define LANES_MAX 64

REPORT_KEEPS(timeline, struct timeline *);

#define PAGE(place) .at = { [READER_PAGE] = (place) }

static void make_metric_key(const struct section *s, const void *metric, struct section_cell *cell)
{
	(void)s;
	cell->text = metric_key(*(const enum metric *)metric);
}

static void make_metric_name(const struct section *s, const void *metric, struct section_cell *cell)
{
	(void)s;
	cell->text = metric_name(*(const enum metric *)metric);
}

struct section *section_metric_names(struct report *r, struct error *err)
{
	static const struct section_column columns[] = {
		{ "key", .type = CELL_TEXT, PAGE(1), .make = make_metric_key },
		{ "name", .type = CELL_TEXT, PAGE(2), .make = make_metric_name },
	};
	struct section *s = section_new(r, "metrics", NULL);

	SECTION_COLUMNS(s, columns);
	for (enum metric m = METRIC_ON_CPU; m < METRIC_COUNT; m++)
		section_row(s, &m);
	return section_end(s, err);
}

// The bins of one metric, or of one state of a GPU.
static void fill_bins(struct report *r, const struct timeline_lane *lane, size_t metric,
                      struct section_cell *cell)
{
	const uint64_t *ns = &lane->ns[metric * lane->bins];
	uint32_t end = lane->bins, first = 0;

	while (end && !ns[end - 1])
		end--;
	while (first < end && !ns[first])
		first++;
	uint64_t *values =
		first < end ? report_take(r, ((size_t)end - first + 1) * sizeof(*values)) : NULL;
	cell->flags = values ? 0 : CELL_ABSENT;
	if (!values)
		return;
	values[0] = first;
	// A page draws it no finer.
	for (uint32_t i = first; i < end; i++)
		values[1 + i - first] = (ns[i] * 1000 + lane->bin_ns / 2) / lane->bin_ns;
	cell->series.values = values;
	cell->series.count = (size_t)end - first + 1;
}

static void make_bins(const struct section *s, const void *data, struct section_cell *cell)
{
	static const char *const gpu_states[GPU_STATES] = {
		[GPU_BUSY] = "busy",
		[GPU_KERNELS] = "kernels",
		[GPU_COPIES] = "copies",
		[GPU_OVERLAP] = "several at once",
		[GPU_COPY_HIDDEN] = "copies behind kernels",
	};
	const struct timeline_lane *lane = data;
	int count = lane->gpu ? (int)GPU_STATES : (int)METRIC_COUNT;
	struct section *bins = section_new(s->report, "bins", NULL);

	for (int m = 0; m < count; m++) {
		const struct section_column column = {
			.id = lane->gpu ? gpu_states[m] : metric_name((enum metric)m),
			.type = CELL_SERIES,
			PAGE(1),
		};
		section_columns(bins, &column, 1);
	}
	struct section_row *row = section_row(bins, &(const uint64_t){ 0 });
	for (size_t m = 0; row && m < bins->column_count; m++)
		fill_bins(s->report, lane, m, &row->cells[m]);
	cell->section = bins;
}

static void make_device(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct timeline_lane *lane = data;

	(void)s;
	cell->count = lane->device;
	cell->flags = lane->gpu ? 0 : CELL_ABSENT;
}

static const struct section_column lane_columns[] = {
	{ "thread", .type = CELL_TEXT, PAGE(1), FIELD(struct timeline_lane, thread) },
	{ "process", .type = CELL_TEXT, PAGE(2), FIELD(struct timeline_lane, process) },
	{ "tid", .type = CELL_LABEL, PAGE(3), FIELD(struct timeline_lane, tid) },
	{ "pid", .type = CELL_LABEL, PAGE(4), FIELD(struct timeline_lane, pid) },
	{ "merged", .type = CELL_COUNT, PAGE(5), FIELD(struct timeline_lane, merged) },
	{ "gpu", .type = CELL_BOOL, PAGE(6), FIELD(struct timeline_lane, gpu) },
	{ "device", .type = CELL_LABEL, PAGE(7), .make = make_device },
	{ "begin_ns", .type = CELL_NS, PAGE(8), FIELD(struct timeline_lane, begin_ns) },
	{ "end_ns", .type = CELL_NS, PAGE(9), FIELD(struct timeline_lane, end_ns) },
	{ "busy_ns", .type = CELL_NS, PAGE(10), FIELD(struct timeline_lane, on_cpu_ns) },
	{ "origin_ns", .type = CELL_INTEGER, PAGE(11), FIELD(struct timeline_lane, origin_ns) },
	{ "bin_ns", .type = CELL_NS, PAGE(12), FIELD(struct timeline_lane, bin_ns) },
	{ "bins", .type = CELL_ROW, PAGE(13), .make = make_bins },
};

static void make_left_out(const struct section *s, const void *timeline, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct timeline *)timeline)->left_out;
}

static void make_lanes(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct timeline *timeline = data;
	struct section *lanes = section_new(s->report, "lanes", NULL);

	SECTION_COLUMNS(lanes, lane_columns);
	section_rows(lanes, timeline->lanes, timeline->count, sizeof(*timeline->lanes));
	cell->section = lanes;
}

struct section *section_timeline(struct report *r, struct error *err)
{
	static const struct section_column columns[] = {
		{ "left_out", .type = CELL_COUNT, PAGE(1), .make = make_left_out },
		{ "lanes", .type = CELL_ROWS, .form = FORM_NAMED, PAGE(2), .make = make_lanes },
	};
	const struct query query = view_query(r->view, BY_THREAD, SORT_SELF);
	const struct timeline *timeline =
		keep_timeline(r, query_timeline(r->profile, &query, BINS_MAX, LANES_MAX, err), err);

	if (!timeline)
		return NULL;
	struct section *s = section_new(r, "timeline", NULL);
	SECTION_COLUMNS(s, columns);
	section_row(s, timeline);
	return section_end(s, err);
}
