// SPDX-License-Identifier: MIT
// GPUs, and their streams: how busy they were, and what it was to wait for them.
#include "cli/report/sections.h"

#include "base/format.h"
#include "base/share.h"
#include "cli/report/view.h"
#include "merge/query/query_gpu.h"

#include <stdio.h>

#define GPUS_SHOWN  16
#define QUEUE_WORTH 0.05  // less is printed as none
#define SHARE_WORTH 0.005 // of the busy time, to be shown

REPORT_KEEPS(gpu_facts, struct gpu_facts *);
REPORT_KEEPS(gpu_stream_rows, struct gpu_stream_rows *);

// All of one machine, but not all of hundreds of ranks.
size_t section_gpus_shown(const struct report *r, const struct gpu_facts *facts)
{
	size_t most = r->view->top > GPUS_SHOWN ? r->view->top : GPUS_SHOWN;

	return facts->device_count < most ? facts->device_count : most;
}

static void name_device(const struct gpu_device_row *device, size_t count, char *buffer,
                        size_t size)
{
	char number[160] = "";

	if (count > 1)
		snprintf(number, sizeof(number), "%u%s%.100s: ", device->number,
		         *device->process ? " of " : "", device->process);
	snprintf(buffer, size, "%s%s", number, *device->name ? device->name : "unknown device");
}

static void say_states(struct section *s, const struct gpu_device_row *d)
{
	uint64_t busy = d->busy_ns;

	section_say(
		s,
		"busy %s %% of the %s from its first activity to its last: kernels %s %%, copies %s %%",
		format_percent(busy, d->span_ns).text, format_duration(d->span_ns).text,
		format_percent(d->kernel_ns, d->span_ns).text,
		format_percent(d->copy_ns, d->span_ns).text);
	if (d->streams > 1)
		section_say(s, "%u streams: for %s %% of the busy time several ran at once",
		            d->streams, format_percent(d->overlap_ns, busy).text);
	if (share_of(d->copy_ns, busy) >= SHARE_WORTH && d->kernel_ns)
		section_say(s, "%s %% of the time of copies was hidden behind kernels",
		            format_percent(d->copy_hidden_ns, d->copy_ns).text);
}

static void say_device(struct section *s, const struct gpu_device_row *d)
{
	const char *of = "";

	if (d->span_ns)
		say_states(s, d);
	else
		section_say(s, "nothing ran on it");
	if (d->memory_bytes)
		of = report_say(s->report, " of %s (%s %%)", format_bytes(d->memory_bytes).text,
		                format_percent(d->peak_bytes, d->memory_bytes).text);
	if (d->peak_bytes)
		section_say(s, "memory: at most %s%s allocated by the program%s",
		            format_bytes(d->peak_bytes).text, of,
		            d->peak_within ? "" : ", at another time of the run");
}

static struct section *make_device(struct report *r, const struct gpu_facts *facts, size_t index)
{
	const struct gpu_device_row *d = &facts->devices[index];
	struct section *s = section_new(r, "gpu", "GPU");
	char name[256];

	name_device(d, facts->device_count, name, sizeof(name));
	s->shown = true;
	s->subtitle = report_say(r, "%s", name);
	if (d->multiprocessors)
		s->subtitle = report_say(r, "%s, %u multiprocessors, compute %u.%u", name,
		                         d->multiprocessors, d->compute_major, d->compute_minor);
	say_device(s, d);
	return s;
}

static void say_latency(struct section *s, const struct gpu_facts *facts)
{
	bool windowed = s->report->view->from_ns || s->report->view->to_ns;

	if (windowed && facts->latency_average_ns)
		section_say(s,
		            "from the call to its beginning: %s on average (of the whole run: "
		            "median %s, 90 %% below %s); %.1f activities were in the queue on "
		            "average",
		            format_duration(facts->latency_average_ns).text,
		            format_duration(facts->latency_ns).text,
		            format_duration(facts->latency90_ns).text, facts->queue);
	else if (windowed && facts->queue >= QUEUE_WORTH)
		section_say(s, "%.1f activities were in the queue on average", facts->queue);
	else if (facts->latency_ns && !windowed)
		section_say(s,
		            "from the call to its beginning: median %s, 90 %% below %s; %.1f "
		            "activities were in the queue on average",
		            format_duration(facts->latency_ns).text,
		            format_duration(facts->latency90_ns).text, facts->queue);
}

// What is known of all GPUs together.
static struct section *make_calls(struct report *r, const struct gpu_facts *facts)
{
	bool any = facts->latency_ns || facts->queue >= QUEUE_WORTH || facts->sync_count ||
	           facts->jit_count;
	bool windowed = r->view->from_ns || r->view->to_ns;
	struct section *s =
		section_new(r, "gpu_calls", any && facts->device_count > 1 ? "GPUs" : "");

	s->shown = true;
	s->subtitle = "all together";
	say_latency(s, facts);
	if (facts->sync_count)
		section_say(s, "the program waited %s time%s for the GPU, for %s in all",
		            format_count(facts->sync_count).text, facts->sync_count == 1 ? "" : "s",
		            format_duration(facts->sync_ns).text);
	if (facts->jit_count)
		section_say(s, "the driver compiled or loaded code %s time%s, for %s%s",
		            format_count(facts->jit_count).text, facts->jit_count == 1 ? "" : "s",
		            format_duration(facts->jit_ns).text,
		            windowed ? ", in the whole run" : "");
	return s;
}

struct section *section_gpu_devices(struct report *r, const struct gpu_facts *facts)
{
	size_t shown = section_gpus_shown(r, facts);
	struct section *first = NULL, **next = &first, *last = NULL;

	for (size_t i = 0; i < shown; i++) {
		last = make_device(r, facts, i);
		*next = last;
		next = &last->next;
	}
	if (last && shown < facts->device_count)
		section_say(last, "%zu more GPUs are left out: -n %zu shows all",
		            facts->device_count - shown, facts->device_count);
	*next = make_calls(r, facts);
	return first;
}

#define AT(page, sheet) .at = { [READER_PAGE] = (page), [READER_SHEET] = (sheet) }
#define KNOWN           .none = { [READER_PAGE] = true, [READER_SHEET] = true }

static void make_busy_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_device_row *row = data;

	(void)s;
	cell->share.part = row->busy_ns;
	cell->share.all = row->span_ns;
}

static const struct section_column columns[] = {
	{ "device", "number", .heading = "number", .type = CELL_LABEL, AT(1, 1),
	  FIELD(struct gpu_device_row, number) },
	{ "name", .heading = "GPU", .type = CELL_TEXT, AT(2, 2),
	  FIELD(struct gpu_device_row, name) },
	{ "busy_share", .heading = "busy %", .type = CELL_SHARE, AT(3, 0),
	  .make = make_busy_share },
	{ "span_ns", "span", .heading = "of", .type = CELL_NS, AT(8, 3),
	  FIELD(struct gpu_device_row, span_ns) },
	{ "busy_ns", "busy", .heading = "busy", .type = CELL_NS, AT(4, 4),
	  FIELD(struct gpu_device_row, busy_ns) },
	{ "kernel_ns", "kernels", .heading = "kernels", .type = CELL_NS, AT(5, 5),
	  FIELD(struct gpu_device_row, kernel_ns) },
	{ "copy_ns", "copies", .heading = "copies", .type = CELL_NS, AT(6, 6),
	  FIELD(struct gpu_device_row, copy_ns) },
	{ "overlap_ns", "overlap", .heading = "several at once", .type = CELL_NS, AT(7, 7),
	  FIELD(struct gpu_device_row, overlap_ns) },
	{ "copy_hidden_ns", .type = CELL_NS, AT(0, 8),
	  FIELD(struct gpu_device_row, copy_hidden_ns) },
	{ "streams", .heading = "streams", .type = CELL_COUNT, AT(9, 9),
	  FIELD(struct gpu_device_row, streams) },
	{ "multiprocessors", .type = CELL_COUNT, AT(0, 10), KNOWN,
	  FIELD(struct gpu_device_row, multiprocessors) },
	{ "compute_major", .type = CELL_COUNT, AT(0, 11), KNOWN,
	  FIELD(struct gpu_device_row, compute_major) },
	{ "compute_minor", .type = CELL_COUNT, AT(0, 12),
	  FIELD(struct gpu_device_row, compute_minor) },
	{ "memory_bytes", .type = CELL_BYTES, AT(0, 13), KNOWN,
	  FIELD(struct gpu_device_row, memory_bytes) },
	{ "memory_bytes_per_s", .type = CELL_COUNT, AT(0, 14), KNOWN,
	  FIELD(struct gpu_device_row, memory_bytes_per_s) },
	{ "peak_bytes", "peak", .heading = "most memory", .type = CELL_BYTES, AT(10, 15), KNOWN,
	  FIELD(struct gpu_device_row, peak_bytes) },
	// Of a merged profile: its rank.
	{ "process", .type = CELL_TEXT, AT(0, 16), FIELD(struct gpu_device_row, process) },
};

struct section *section_all_gpu_devices(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct gpu_facts *facts =
		keep_gpu_facts(r, query_gpu_facts(r->profile, &query, err), err);

	if (!facts)
		return NULL;
	struct section *s = section_new(r, "devices", "GPUs");
	s->subtitle = "from the first activity to the last";
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, facts->devices, facts->device_count, sizeof(*facts->devices));
	return section_end(s, err);
}

static void make_stream_busy(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_stream_row *row = data;

	(void)s;
	cell->share.part = row->busy_ns;
	cell->share.all = row->span_ns;
}

static void make_stream_shared(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_stream_row *row = data;

	(void)s;
	cell->share.part = row->shared_ns;
	cell->share.all = row->busy_ns;
}

static void make_stream_others(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_stream_row *row = data;

	(void)s;
	cell->count = row->works - row->kernels;
}

// "GPU 1, process 4711, stream 13": as much of it as tells them apart.
static void make_stream_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_stream_rows *rows = s->context;
	const struct gpu_stream_row *row = data;
	char device[24] = "", process[112] = "";

	if (rows->devices > 1)
		snprintf(device, sizeof(device), "GPU %u, ", row->device);
	if (*row->process)
		snprintf(process, sizeof(process), "%.100s, ", row->process);
	else if (rows->processes > 1)
		snprintf(process, sizeof(process), "process %u, ", row->pid);
	cell->text = report_say(s->report, "%s%sstream %u", device, process, row->number);
}

static const struct section_column stream_columns[] = {
	{ "device", .type = CELL_LABEL, .at = { 0, 0, 1 }, FIELD(struct gpu_stream_row, device) },
	{ "context", .type = CELL_LABEL, .at = { 0, 0, 2 }, FIELD(struct gpu_stream_row, context) },
	{ "stream", .type = CELL_LABEL, .at = { 0, 0, 3 }, FIELD(struct gpu_stream_row, number) },
	{ "pid", .type = CELL_LABEL, .at = { 0, 0, 4 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_stream_row, pid) },
	{ "works", .type = CELL_COUNT, .at = { 0, 0, 5 }, FIELD(struct gpu_stream_row, works) },
	{ "busy_ns", .heading = "busy", .type = CELL_NS, .at = { 1, 0, 7 },
	  FIELD(struct gpu_stream_row, busy_ns) },
	{ "busy_share", .heading = "%", .type = CELL_SHARE, .at = { 2, 0, 0 },
	  .make = make_stream_busy },
	{ "shared_share", .heading = "at once %", .type = CELL_SHARE, .at = { 3, 0, 0 },
	  .make = make_stream_shared },
	{ "kernels", .heading = "kernels", .type = CELL_COUNT, .at = { 4, 0, 6 },
	  FIELD(struct gpu_stream_row, kernels) },
	{ "others", .heading = "others", .type = CELL_COUNT, .at = { 5, 0, 0 },
	  .make = make_stream_others },
	{ "name", .heading = "stream", .type = CELL_TEXT, .at = { 6, 0, 0 }, .clip = CLIP_END,
	  .room = 1, .make = make_stream_name },
	{ "shared_ns", .type = CELL_NS, .at = { 0, 0, 8 },
	  FIELD(struct gpu_stream_row, shared_ns) },
	{ "span_ns", .type = CELL_NS, .at = { 0, 0, 9 }, FIELD(struct gpu_stream_row, span_ns) },
	// Of a merged profile: its rank.
	{ "process", .type = CELL_TEXT, .at = { 0, 0, 10 }, FIELD(struct gpu_stream_row, process) },
};

struct section *section_gpu_streams(struct report *r, struct error *err)
{
	struct gpu_stream_rows *rows =
		keep_gpu_stream_rows(r, query_gpu_streams(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "gpu_streams", "GPU streams");
	s->subtitle = "% of the GPU's time from first to last; at once: of that beside others";
	s->shown = true;
	if (!rows->count && r->reader == READER_TEXT) {
		section_no_gpu(s);
		return section_end(s, err);
	}
	s->unit_ns = rows->count ? rows->rows[0].busy_ns : 0;
	s->context = rows;
	SECTION_COLUMNS(s, stream_columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}
