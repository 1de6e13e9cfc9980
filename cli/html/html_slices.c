// SPDX-License-Identifier: MIT
// Single calls of ops and works of GPUs for the timeline: the longest of them, as far as they fit.
#include "cli/html/html_parts.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/query/query_slices.h"

#include <errno.h>
#include <stdlib.h>

#define SLICES_MAX 50000
#define LENGTHS    64 // classes of durations: by their highest bit

struct box {
	uint64_t begin_ns, ns;
	uint32_t lane; // threads first, then streams
	uint32_t name; // index of texts
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

static struct slice_query query_of(const struct html *h)
{
	return (struct slice_query){
		.thread = h->view->thread,
		.process = h->view->process,
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
static int find_least(const struct html *h, struct picked *picked, struct error *err)
{
	const struct slice_query query = query_of(h);
	cleanup(slice_reader) struct slice_reader *r = slice_reader_new(h->profile, &query, err);
	uint64_t counts[LENGTHS] = { 0 }, taken = 0, all = 0;
	struct slice_row row;
	int more = -1, least = LENGTHS;

	if (!r)
		return -1;
	while ((more = slice_reader_next(r, &row, err)) > 0)
		counts[length_class(&row)] += has_length(&row);
	for (int i = 0; i < LENGTHS; i++)
		all += counts[i];
	while (least > 0 && taken + counts[least - 1] <= SLICES_MAX)
		taken += counts[--least];
	picked->least_ns = least == LENGTHS ? UINT64_MAX : UINT64_C(1) << least;
	if (!least)
		picked->least_ns = 0;
	picked->left_out = all - taken;
	picked->threads = slice_reader_threads(r);
	return more;
}

static uint32_t name_of(const struct html *h, const struct slice_row *row)
{
	char name[256];

	if (!row->shape || !*row->shape)
		return html_frames_text(h->frames, row->name);
	snprintf(name, sizeof(name), "%s %s", row->name, row->shape);
	return html_frames_text(h->frames, name);
}

static bool pick(const struct html *h, struct picked *picked, const struct slice_row *row)
{
	if (!array_reserve(&picked->slices, &picked->capacity, picked->count + 1))
		return false;
	picked->slices[picked->count++] = (struct box){
		.begin_ns = row->begin_ns,
		.ns = row->end_ns - row->begin_ns,
		.lane = row->kind == SLICE_GPU ? picked->threads + row->stream : row->thread,
		.name = name_of(h, row),
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

static void put_owner(struct json *j, const struct picked *picked, const struct slice_reader *r,
                      uint32_t lane)
{
	struct slice_thread thread;
	struct slice_stream stream;

	if (lane <= picked->threads && slice_reader_thread(r, lane, &thread)) {
		json_put_count(j, "tid", thread.tid);
		json_put_count(j, "pid", thread.pid);
	} else if (lane > picked->threads &&
	           slice_reader_stream(r, lane - picked->threads, &stream)) {
		json_put_count(j, "device", stream.device_id);
		json_put_count(j, "stream", stream.number);
		json_put_count(j, "pid", stream.pid);
	}
}

// Beginnings are differences to the one before: most are small.
static void put_lane(struct json *j, const struct box *slices, size_t count)
{
	json_open(j, "begin", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL,
		               slices[i].begin_ns - (i ? slices[i - 1].begin_ns : UINT64_C(0)));
	json_close(j);
	json_open(j, "ns", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, slices[i].ns);
	json_close(j);
	json_open(j, "name", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, slices[i].name);
	json_close(j);
}

static void put_picked(struct json *j, const struct picked *picked, const struct slice_reader *r)
{
	json_open(j, "slices", '{');
	json_put_count(j, "left_out", picked->left_out);
	json_put_count(j, "least_ns", picked->left_out ? picked->least_ns : 0);
	json_open(j, "lanes", '[');
	for (size_t first = 0, end; first < picked->count; first = end) {
		uint32_t lane = picked->slices[first].lane;
		for (end = first + 1; end < picked->count && picked->slices[end].lane == lane;)
			end++;
		json_open(j, NULL, '{');
		put_owner(j, picked, r, lane);
		put_lane(j, &picked->slices[first], end - first);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

int html_slices(const struct html *h, struct error *err)
{
	const struct slice_query query = query_of(h);
	cleanup(picked) struct picked picked = { .slices = NULL };
	struct slice_row row;
	int more;

	if (find_least(h, &picked, err) < 0)
		return -1;
	cleanup(slice_reader) struct slice_reader *r = slice_reader_new(h->profile, &query, err);
	if (!r)
		return -1;
	while ((more = slice_reader_next(r, &row, err)) > 0)
		if (has_length(&row) && row.end_ns - row.begin_ns >= picked.least_ns &&
		    !pick(h, &picked, &row))
			return error_set(err, ENOMEM, "could not write the timeline");
	if (more < 0)
		return -1;
	if (picked.count)
		qsort(picked.slices, picked.count, sizeof(*picked.slices), compare_slices);
	put_picked(h->j, &picked, r);
	return 0;
}
