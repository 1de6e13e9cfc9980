// SPDX-License-Identifier: MIT
// Single calls of ops and works of GPUs for the timeline: the longest of them, as far as they fit;
// and of waits, who ended them.
#include "cli/report/graphs.h"

#include "base/array.h"
#include "base/error.h"
#include "cli/report/graph_frames.h"
#include "cli/report/view.h"
#include "merge/query/query_slices.h"
#include "merge/query/query_wakes.h"

#include <errno.h>
#include <stdlib.h>

#define SLICES_MAX  50000
#define ARROWS_MAX  2000
#define LENGTHS     64 // classes of durations: by their highest bit

#define PAGE(place) .at = { [READER_PAGE] = (place) }

struct box {
	uint64_t begin_ns, ns;
	uint32_t lane; // threads first, then streams
	uint32_t name; // of the texts
};

struct picked {
	struct box *slices;
	size_t count, capacity;
	uint64_t least_ns; // shorter ones are left out
	uint64_t left_out;
	uint32_t threads; // lanes of theirs
};

static void picked_at_scope_end(struct picked *picked)
{
	free(picked->slices);
}

static struct slice_query query_of(const struct report *r)
{
	return (struct slice_query){
		.thread = r->view->thread,
		.process = r->view->process,
		.kinds = 1u << SLICE_OP | 1u << SLICE_GPU,
	};
}

static int length_class(const struct slice_row *row)
{
	return 63 - __builtin_clzll((row->end_ns - row->begin_ns) | 1);
}

static bool has_length(const struct slice_row *row)
{
	return row->end_ns > row->begin_ns;
}

// Sets the length of the shortest slices that are in the page.
static int find_least(const struct report *r, struct picked *picked, struct error *err)
{
	const struct slice_query query = query_of(r);
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(r->profile, &query, err);
	uint64_t counts[LENGTHS] = { 0 }, taken = 0, all = 0;
	struct slice_row row;
	int more = -1, least = LENGTHS;

	if (!reader)
		return -1;
	while ((more = slice_reader_next(reader, &row, err)) > 0)
		counts[length_class(&row)] += has_length(&row);
	for (int i = 0; i < LENGTHS; i++)
		all += counts[i];
	while (least > 0 && taken + counts[least - 1] <= SLICES_MAX)
		taken += counts[--least];
	picked->least_ns = least == LENGTHS ? UINT64_MAX : UINT64_C(1) << least;
	if (!least)
		picked->least_ns = 0;
	picked->left_out = all - taken;
	picked->threads = slice_reader_threads(reader);
	return more;
}

static uint32_t name_of(struct graph_frames *frames, const struct slice_row *row)
{
	char name[256];

	if (!row->shape || !*row->shape)
		return graph_frames_text(frames, row->name);
	snprintf(name, sizeof(name), "%s %s", row->name, row->shape);
	return graph_frames_text(frames, name);
}

static bool pick(struct picked *picked, const struct slice_row *row, uint32_t name)
{
	if (!array_reserve(&picked->slices, &picked->capacity, picked->count + 1))
		return false;
	picked->slices[picked->count++] = (struct box){
		.begin_ns = row->begin_ns,
		.ns = row->end_ns - row->begin_ns,
		.lane = row->kind == SLICE_GPU ? picked->threads + row->stream : row->thread,
		.name = name,
	};
	return true;
}

static int compare_slices(const void *left, const void *right)
{
	const struct box *a = left, *b = right;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

// Slices of one thread or stream.
struct lane {
	const struct box *slices;
	size_t count;
	bool is_stream, known;
	uint32_t device, number, pid; // NUMBER: of the thread or the stream
};

static void find_owner(struct lane *lane, const struct picked *picked,
                       const struct slice_reader *reader)
{
	uint32_t number = lane->slices->lane;
	struct slice_thread thread;
	struct slice_stream stream;

	if (number <= picked->threads) {
		lane->known = slice_reader_thread(reader, number, &thread);
		if (lane->known) {
			lane->number = thread.tid;
			lane->pid = thread.pid;
		}
		return;
	}
	lane->is_stream = true;
	lane->known = slice_reader_stream(reader, number - picked->threads, &stream);
	if (lane->known) {
		lane->device = stream.device_id;
		lane->number = stream.number;
		lane->pid = stream.pid;
	}
}

static void put_label(struct section_cell *cell, bool known, uint32_t label)
{
	cell->count = label;
	cell->flags = known ? 0 : CELL_ABSENT;
}

static void make_tid(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;

	(void)s;
	put_label(cell, lane->known && !lane->is_stream, lane->number);
}

static void make_device(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;

	(void)s;
	put_label(cell, lane->known && lane->is_stream, lane->device);
}

static void make_stream(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;

	(void)s;
	put_label(cell, lane->known && lane->is_stream, lane->number);
}

static void make_pid(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;

	(void)s;
	put_label(cell, lane->known, lane->pid);
}

static uint64_t *take_series(const struct section *s, const struct lane *lane,
                             struct section_cell *cell)
{
	uint64_t *values = report_take(s->report, lane->count * sizeof(*values));

	cell->series.values = values;
	cell->series.count = values ? lane->count : 0;
	return values;
}

// Differences to the one before: most are small.
static void make_begin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;
	uint64_t *values = take_series(s, lane, cell), last_ns = 0;

	for (size_t i = 0; values && i < lane->count; i++) {
		values[i] = lane->slices[i].begin_ns - last_ns;
		last_ns = lane->slices[i].begin_ns;
	}
}

static void make_ns(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;
	uint64_t *values = take_series(s, lane, cell);

	for (size_t i = 0; values && i < lane->count; i++)
		values[i] = lane->slices[i].ns;
}

static void make_names(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lane *lane = data;
	uint64_t *values = take_series(s, lane, cell);

	for (size_t i = 0; values && i < lane->count; i++)
		values[i] = lane->slices[i].name;
}

static const struct section_column lane_columns[] = {
	{ "tid", .type = CELL_LABEL, PAGE(1), .make = make_tid },
	{ "device", .type = CELL_LABEL, PAGE(2), .make = make_device },
	{ "stream", .type = CELL_LABEL, PAGE(3), .make = make_stream },
	{ "pid", .type = CELL_LABEL, PAGE(4), .make = make_pid },
	{ "begin", .type = CELL_SERIES, PAGE(5), .make = make_begin },
	{ "ns", .type = CELL_SERIES, PAGE(6), .make = make_ns },
	{ "name", .type = CELL_SERIES, PAGE(7), .make = make_names },
};

struct lanes {
	const struct picked *picked;
	const struct slice_reader *reader;
	uint64_t least_ns, left_out;
};

static void make_lanes(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lanes *lanes = data;
	const struct picked *picked = lanes->picked;
	struct section *rows = section_new(s->report, "lanes", NULL);

	SECTION_COLUMNS(rows, lane_columns);
	for (size_t first = 0, end; first < picked->count; first = end) {
		for (end = first + 1;
		     end < picked->count && picked->slices[end].lane == picked->slices[first].lane;)
			end++;
		struct lane lane = { .slices = &picked->slices[first], .count = end - first };
		find_owner(&lane, picked, lanes->reader);
		section_row(rows, &lane);
	}
	cell->section = rows;
}

static struct section *section_of(struct report *r, const struct picked *picked,
                                  const struct slice_reader *reader, struct error *err)
{
	static const struct section_column columns[] = {
		{ "left_out", .type = CELL_COUNT, PAGE(1), FIELD(struct lanes, left_out) },
		{ "least_ns", .type = CELL_NS, PAGE(2), FIELD(struct lanes, least_ns) },
		{ "lanes", .type = CELL_ROWS, .form = FORM_NAMED, PAGE(3), .make = make_lanes },
	};
	const struct lanes lanes = {
		.picked = picked,
		.reader = reader,
		.least_ns = picked->left_out ? picked->least_ns : 0,
		.left_out = picked->left_out,
	};
	struct section *s = section_new(r, "slices", NULL);

	SECTION_COLUMNS(s, columns);
	section_row(s, &lanes);
	return section_end(s, err);
}

struct section *section_slices(struct report *r, struct graph_frames *frames, struct error *err)
{
	const struct slice_query query = query_of(r);
	cleanup(picked) struct picked picked = { .slices = NULL };
	struct slice_row row;
	int more;

	if (find_least(r, &picked, err) < 0)
		return NULL;
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(r->profile, &query, err);
	if (!reader)
		return NULL;
	while ((more = slice_reader_next(reader, &row, err)) > 0)
		if (has_length(&row) && row.end_ns - row.begin_ns >= picked.least_ns &&
		    !pick(&picked, &row, name_of(frames, &row))) {
			error_set(err, ENOMEM, "could not write the timeline");
			return NULL;
		}
	if (more < 0)
		return NULL;
	if (picked.count)
		qsort(picked.slices, picked.count, sizeof(*picked.slices), compare_slices);
	return section_of(r, &picked, reader, err);
}

static int compare_wakes(const void *a, const void *b)
{
	const struct wake *left = a, *right = b;
	uint64_t left_ns = left->end_ns - left->begin_ns,
		 right_ns = right->end_ns - right->begin_ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	return left->begin_ns < right->begin_ns ? -1 : left->begin_ns > right->begin_ns;
}

struct arrows {
	struct wake *wakes;
	size_t count, capacity;
};

static void arrows_at_scope_end(struct arrows *arrows)
{
	free(arrows->wakes);
}

// The longest stay, where there are twice as many as are wanted.
static bool take_wakes(struct arrows *arrows, struct wakes *wakes, uint64_t until_ns)
{
	struct wake wake;

	while (wakes_next(wakes, until_ns, &wake)) {
		if (!array_reserve(&arrows->wakes, &arrows->capacity, arrows->count + 1))
			return false;
		arrows->wakes[arrows->count++] = wake;
		if (arrows->count < (size_t)2 * ARROWS_MAX)
			continue;
		qsort(arrows->wakes, arrows->count, sizeof(*arrows->wakes), compare_wakes);
		arrows->count = ARROWS_MAX;
	}
	return true;
}

struct arrow {
	uint64_t begin_ns, ns;
	struct slice_thread waiter, waker;
};

static const struct section_column arrow_columns[] = {
	{ "begin_ns", .type = CELL_NS, PAGE(1), FIELD(struct arrow, begin_ns) },
	{ "ns", .type = CELL_NS, PAGE(2), FIELD(struct arrow, ns) },
	{ "tid", .type = CELL_LABEL, PAGE(3), FIELD(struct arrow, waiter.tid) },
	{ "pid", .type = CELL_LABEL, PAGE(4), FIELD(struct arrow, waiter.pid) },
	{ "waker_tid", .type = CELL_LABEL, PAGE(5), FIELD(struct arrow, waker.tid) },
	{ "waker_pid", .type = CELL_LABEL, PAGE(6), FIELD(struct arrow, waker.pid) },
};

// The longest first.
static void put_arrows(struct section *s, const struct arrows *arrows,
                       const struct slice_reader *reader)
{
	if (arrows->count)
		qsort(arrows->wakes, arrows->count, sizeof(*arrows->wakes), compare_wakes);
	for (size_t i = 0; i < arrows->count && i < ARROWS_MAX; i++) {
		const struct wake *wake = &arrows->wakes[i];
		struct arrow arrow = { .begin_ns = wake->begin_ns,
			               .ns = wake->end_ns - wake->begin_ns };
		slice_reader_thread(reader, wake->waiter, &arrow.waiter);
		slice_reader_thread(reader, wake->waker, &arrow.waker);
		section_row(s, &arrow);
	}
}

struct section *section_arrows(struct report *r, struct error *err)
{
	struct slice_query query = query_of(r);
	query.kinds = 1u << SLICE_WAIT;
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(r->profile, &query, err);
	cleanup(wakes) struct wakes *wakes = reader ? wakes_new(r->profile, err) : NULL;
	cleanup(arrows) struct arrows arrows = { .wakes = NULL };
	struct slice_row row;
	bool room = true;
	int more;

	if (!wakes)
		return NULL;
	while ((more = slice_reader_next(reader, &row, err)) > 0 && room)
		room = take_wakes(&arrows, wakes, row.begin_ns) && wakes_add(wakes, &row, 0);
	if (more < 0)
		return NULL;
	if (!room || !take_wakes(&arrows, wakes, UINT64_MAX)) {
		error_set(err, ENOMEM, "could not write the timeline");
		return NULL;
	}
	struct section *s = section_new(r, "arrows", NULL);
	SECTION_COLUMNS(s, arrow_columns);
	put_arrows(s, &arrows, reader);
	return section_end(s, err);
}
