// SPDX-License-Identifier: MIT
#include "cli/export/firefox_markers.h"

#include "base/array.h"
#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/export/work_name.h"
#include "cli/report/cut.h"
#include "cli/report/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void firefox_markers_fini(struct firefox_markers *m)
{
	free(m->markers);
	free(m->tracks);
	free(m->of_threads);
	free(m->of_streams);
	slice_reader_free(m->reader);
	*m = (struct firefox_markers){ 0 };
}

// Index + 1; 0 if there is no memory.
static size_t add_track(struct firefox_markers *m, const struct firefox_track *track)
{
	if (!array_reserve(&m->tracks, &m->track_capacity, m->track_count + 1))
		return 0;
	m->tracks[m->track_count++] = *track;
	return m->track_count;
}

static bool add_threads(struct firefox_markers *m, const struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->thread_count; i++) {
		const struct stack_thread *thread = &stacks->threads[i];
		const struct firefox_track track = { .stacks = thread, .thread = thread->slot };
		size_t number = add_track(m, &track);
		if (!number)
			return false;
		if (thread->slot && thread->slot <= slice_reader_threads(m->reader))
			m->of_threads[thread->slot - 1] = number;
	}
	return true;
}

static size_t track_of(struct firefox_markers *m, const struct slice_row *row)
{
	bool gpu = row->kind == SLICE_GPU;
	size_t *number = gpu ? &m->of_streams[row->stream - 1] : &m->of_threads[row->thread - 1];
	const struct firefox_track track = { .thread = gpu ? 0 : row->thread,
		                             .stream = gpu ? row->stream : 0 };

	if (!*number)
		*number = add_track(m, &track);
	return *number;
}

static bool add(struct firefox_markers *m, const struct firefox_marker *marker)
{
	if (!array_reserve(&m->markers, &m->capacity, m->count + 1))
		return false;
	m->markers[m->count++] = *marker;
	return true;
}

static bool add_slice(struct firefox_markers *m, const struct slice_row *row)
{
	static const enum firefox_marker_kind kinds[] = {
		[SLICE_OP] = FIREFOX_CALL, [SLICE_WAIT] = FIREFOX_WAIT, [SLICE_GPU] = FIREFOX_WORK
	};
	size_t number = track_of(m, row);
	const struct firefox_marker marker = { .row = *row,
		                               .track = (uint32_t)number - 1,
		                               .kind = kinds[row->kind] };

	return number && add(m, &marker);
}

static int read_slices(struct firefox_markers *m, const struct view *view, struct error *err)
{
	struct slice_row row;
	int more;

	while ((more = slice_reader_next(m->reader, &row, err)) > 0) {
		if (view->max_events && m->count >= view->max_events)
			m->left_out++;
		else if (!add_slice(m, &row))
			return error_set(err, ENOMEM, "could not hold the timeline");
	}
	return more;
}

// The row of the thread with the number TID, else the first one.
static uint32_t track_of_tid(const struct firefox_markers *m, uint32_t tid)
{
	struct slice_thread thread;

	for (size_t i = 0; i < m->track_count; i++)
		if (m->tracks[i].thread && tid &&
		    slice_reader_thread(m->reader, m->tracks[i].thread, &thread) &&
		    thread.tid == tid)
			return (uint32_t)i;
	return 0;
}

static bool add_span(struct firefox_markers *m, enum firefox_marker_kind kind, uint32_t track,
                     const char *name, uint64_t begin_ns, uint64_t end_ns, uint64_t number)
{
	const struct firefox_marker marker = {
		.row = { .begin_ns = begin_ns, .end_ns = end_ns, .name = name },
		.number = number,
		.track = track,
		.kind = kind,
	};

	return end_ns <= begin_ns || add(m, &marker);
}

// Late ones are averages, of which nobody knows when they were.
static int add_steps(struct firefox_markers *m, const struct firefox *f, struct error *err)
{
	cleanup(steps) struct steps *steps = answer_steps(f->e->profile, f->e->view, err);

	if (!steps)
		return -1;
	if (!steps->name || !m->track_count)
		return 0;
	snprintf(m->step_name, sizeof(m->step_name), "step: %s", steps->name);
	uint32_t track = track_of_tid(m, steps->tid);
	for (size_t i = 0; i < steps->count; i++) {
		const struct run_step *step = &steps->steps[i];
		if (step->calls == 1 && !add_span(m, FIREFOX_STEP, track, m->step_name,
		                                  step->begin_ns, step->end_ns, step->first))
			return error_set(err, ENOMEM, "could not hold the steps");
	}
	return 0;
}

static int add_phases(struct firefox_markers *m, const struct firefox *f, struct error *err)
{
	const struct view *view = f->e->view;
	uint64_t wall_ns = f->e->facts.run->wall_ns, steady_ns;
	uint64_t end_ns = view->to_ns && view->to_ns < wall_ns ? view->to_ns : wall_ns;

	if (cut_steady(view, f->e->profile, &steady_ns, err) < 0)
		return -1;
	if (!steady_ns || !m->track_count)
		return 0;
	if (!add_span(m, FIREFOX_PHASE, 0, "warm-up", view->from_ns, steady_ns, 0) ||
	    !add_span(m, FIREFOX_PHASE, 0, "steady state",
	              view->from_ns > steady_ns ? view->from_ns : steady_ns, end_ns, 0))
		return error_set(err, ENOMEM, "could not hold the phases");
	return 0;
}

static int compare_markers(const void *left, const void *right)
{
	const struct firefox_marker *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->row.begin_ns != b->row.begin_ns)
		return a->row.begin_ns < b->row.begin_ns ? -1 : 1;
	return a->row.end_ns > b->row.end_ns ? -1 : a->row.end_ns < b->row.end_ns;
}

static void sort(struct firefox_markers *m)
{
	size_t first = 0;

	if (m->count)
		qsort(m->markers, m->count, sizeof(*m->markers), compare_markers);
	while (first < m->count) {
		struct firefox_track *track = &m->tracks[m->markers[first].track];
		track->first_marker = first;
		while (first < m->count && &m->tracks[m->markers[first].track] == track)
			first++;
		track->markers = first - track->first_marker;
	}
}

int firefox_markers_read(struct firefox_markers *m, const struct firefox *f, struct error *err)
{
	const struct view *view = f->e->view;

	m->reader = answer_slices(f->e->profile, view, err);
	if (!m->reader)
		return -1;
	m->of_threads = calloc((size_t)slice_reader_threads(m->reader) + 1, sizeof(size_t));
	m->of_streams = calloc((size_t)slice_reader_streams(m->reader) + 1, sizeof(size_t));
	if (!m->of_threads || !m->of_streams || !add_threads(m, f->stacks))
		return error_set(err, ENOMEM, "could not hold the timeline");
	if (read_slices(m, view, err) < 0 || add_steps(m, f, err) < 0 || add_phases(m, f, err) < 0)
		return -1;
	sort(m);
	return 0;
}

struct field {
	const char *key, *label, *format;
};

#define FIELDS_MAX 12

static const struct schema {
	const char *name, *description, *chart_label, *table_label;
	bool in_timeline; // in the small one on top, too
	struct field fields[FIELDS_MAX];
} schemas[FIREFOX_MARKER_KINDS] = {
	[FIREFOX_CALL] = { "op",
	                   "A call of an operation",
	                   "{marker.name}",
	                   "{marker.name} {marker.data.shape}",
	                   true,
	                   { { "provider", "Known by", "string" },
	                     { "domain", "Domain", "string" },
	                     { "shape", "On", "string" },
	                     { "open", "Had not ended", "string" } } },
	[FIREFOX_WAIT] = { "wait",
	                   "A thread that waits",
	                   "{marker.data.function}",
	                   "{marker.name} {marker.data.function}",
	                   false,
	                   { { "function", "In", "string" },
	                     { "file", "File", "file-path" },
	                     { "line", "Line", "integer" } } },
	[FIREFOX_WORK] = { "gpu",
	                   "What a GPU ran",
	                   "{marker.name}",
	                   "{marker.name}",
	                   true,
	                   { { "grid", "Grid", "string" },
	                     { "block", "Block", "string" },
	                     { "registers", "Registers per thread", "integer" },
	                     { "shared", "Shared memory", "bytes" },
	                     { "bytes", "Bytes", "bytes" },
	                     { "queued", "From the call to the begin", "duration" },
	                     { "thread", "Launched by thread", "tid" } } },
	[FIREFOX_STEP] = { "step",
	                   "A step of the run",
	                   "{marker.data.number}",
	                   "{marker.name} {marker.data.number}",
	                   true,
	                   { { "number", "Number", "integer" } } },
	[FIREFOX_PHASE] = { "phase",
	                    "A part of the run",
	                    "{marker.name}",
	                    "{marker.name}",
	                    true,
	                    { { 0 } } },
};

static void put_field(struct json *j, const struct field *field)
{
	json_open(j, NULL, '{');
	json_put_text(j, "key", field->key);
	json_put_text(j, "label", field->label);
	json_put_text(j, "format", field->format);
	json_close(j);
}

void firefox_put_schemas(struct json *j)
{
	json_open(j, "markerSchema", '[');
	for (size_t i = 0; i < FIREFOX_MARKER_KINDS; i++) {
		const struct schema *schema = &schemas[i];
		json_open(j, NULL, '{');
		json_put_text(j, "name", schema->name);
		json_put_text(j, "description", schema->description);
		json_put_text(j, "tooltipLabel", "{marker.name}");
		json_put_text(j, "chartLabel", schema->chart_label);
		json_put_text(j, "tableLabel", schema->table_label);
		json_open(j, "display", '[');
		json_put_text(j, NULL, "marker-chart");
		json_put_text(j, NULL, "marker-table");
		if (schema->in_timeline)
			json_put_text(j, NULL, "timeline-overview");
		json_close(j);
		json_open(j, "fields", '[');
		for (size_t n = 0; n < FIELDS_MAX && schema->fields[n].key; n++)
			put_field(j, &schema->fields[n]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

static void put_known(struct json *j, const char *key, const char *text)
{
	if (text && *text)
		json_put_text(j, key, text);
}

static void put_call(struct json *j, const struct slice_row *row)
{
	put_known(j, "provider", row->provider);
	put_known(j, "domain", row->domain);
	put_known(j, "shape", row->shape);
	if (row->left_open)
		json_put_text(j, "open", "at the end of the run");
}

static void put_wait(struct json *j, const struct slice_row *row)
{
	put_known(j, "function", row->function);
	put_known(j, "file", row->file);
	if (row->file && row->line > 0)
		json_put_integer(j, "line", row->line);
}

static void put_three(struct json *j, const char *key, const uint32_t numbers[3])
{
	char text[48];

	snprintf(text, sizeof(text), "%u x %u x %u", numbers[0], numbers[1], numbers[2]);
	json_put_text(j, key, text);
}

static void put_work(struct json *j, const struct firefox_markers *m, const struct slice_row *row)
{
	const struct gpu_shape *shape = &row->work->shape;
	struct slice_thread thread;

	if (shape->block[0]) {
		put_three(j, "grid", shape->grid);
		put_three(j, "block", shape->block);
		json_put_count(j, "registers", shape->registers);
		json_put_count(j, "shared", (uint64_t)shape->static_shared + shape->dynamic_shared);
	}
	if (row->bytes)
		json_put_count(j, "bytes", row->bytes);
	if (row->called && row->begin_ns > row->call_ns)
		json_put_milliseconds(j, "queued", row->begin_ns - row->call_ns);
	if (row->thread && slice_reader_thread(m->reader, row->thread, &thread))
		json_put_count(j, "thread", thread.tid);
}

static void put_data(struct json *j, const struct firefox_markers *m,
                     const struct firefox_marker *marker)
{
	json_open(j, NULL, '{');
	json_put_text(j, "type", schemas[marker->kind].name);
	if (marker->kind == FIREFOX_CALL)
		put_call(j, &marker->row);
	else if (marker->kind == FIREFOX_WAIT)
		put_wait(j, &marker->row);
	else if (marker->kind == FIREFOX_WORK)
		put_work(j, m, &marker->row);
	else if (marker->kind == FIREFOX_STEP)
		json_put_count(j, "number", marker->number);
	json_close(j);
}

static uint32_t name_of(struct firefox *f, const struct firefox_marker *marker)
{
	struct work_name work = { "" };
	char wait[80];

	if (marker->kind == FIREFOX_WORK)
		work = work_name(marker->row.work);
	if (marker->kind != FIREFOX_WAIT)
		return firefox_text(f, *work.text ? work.text : marker->row.name);
	snprintf(wait, sizeof(wait), "waiting: %s", marker->row.name);
	return firefox_text(f, wait);
}

static enum firefox_category category_of(const struct firefox_marker *marker)
{
	static const enum firefox_category categories[] = {
		[FIREFOX_CALL] = FIREFOX_OP,     [FIREFOX_WAIT] = FIREFOX_WAITING,
		[FIREFOX_WORK] = FIREFOX_GPU,    [FIREFOX_STEP] = FIREFOX_OTHER,
		[FIREFOX_PHASE] = FIREFOX_OTHER,
	};

	if (marker->kind == FIREFOX_CALL && strcmp(marker->row.provider, "python") == 0)
		return FIREFOX_PYTHON;
	return categories[marker->kind];
}

static bool is_instant(const struct firefox_marker *marker)
{
	return marker->kind == FIREFOX_CALL && marker->row.mark;
}

static void put_times(struct json *j, const struct firefox_marker *markers, size_t count)
{
	json_open(j, "startTime", '[');
	for (size_t i = 0; i < count; i++)
		json_put_milliseconds(j, NULL, markers[i].row.begin_ns);
	json_close(j);
	json_open(j, "endTime", '[');
	for (size_t i = 0; i < count; i++) {
		if (is_instant(&markers[i]))
			json_put_null(j, NULL);
		else
			json_put_milliseconds(j, NULL, markers[i].row.end_ns);
	}
	json_close(j);
	json_open(j, "phase", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, is_instant(&markers[i]) ? 0 : 1);
	json_close(j);
}

void firefox_put_markers(struct firefox *f, const struct firefox_markers *m,
                         const struct firefox_track *track)
{
	const struct firefox_marker *markers = m->markers + track->first_marker;
	struct json *j = f->j;

	json_open(j, "markers", '{');
	json_open(j, "data", '[');
	for (size_t i = 0; i < track->markers; i++)
		put_data(j, m, &markers[i]);
	json_close(j);
	json_open(j, "name", '[');
	for (size_t i = 0; i < track->markers; i++)
		json_put_count(j, NULL, name_of(f, &markers[i]));
	json_close(j);
	put_times(j, markers, track->markers);
	json_open(j, "category", '[');
	for (size_t i = 0; i < track->markers; i++)
		json_put_count(j, NULL, category_of(&markers[i]));
	json_close(j);
	json_put_count(j, "length", track->markers);
	json_close(j);
}
