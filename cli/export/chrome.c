// SPDX-License-Identifier: MIT
#include "cli/export/chrome.h"

#include "base/array.h"
#include "cli/export/work_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// HTA 0.5.0 keeps numbers of rows in the type that correlations fit in, which is to be a large one.
#define CALLS_FROM (1u << 20)

#define DIMS_DEPTH 3       // lists of lists of tensors
#define GPUS_PLACE 1000000 // in the list: behind all processes
#define GPU_OWNER  (UINT64_C(1) << 63)
#define PIDS_MADE  (CHROME_NO_PROCESS + 1) // no process has a number from there on

int chrome_init(struct chrome *c, struct json *j, const struct slice_reader *reader)
{
	*c = (struct chrome){ .j = j, .reader = reader, .calls = CALLS_FROM };
	c->of_threads = calloc((size_t)slice_reader_threads(reader) + 1, sizeof(*c->of_threads));
	c->of_streams = calloc((size_t)slice_reader_streams(reader) + 1, sizeof(*c->of_streams));
	if (c->of_threads && c->of_streams && launches_init(&c->launches) == 0)
		return 0;
	chrome_fini(c);
	return -1;
}

void chrome_fini(struct chrome *c)
{
	tracks_fini(&c->tracks);
	free(c->owners);
	launches_fini(&c->launches);
	free(c->of_threads);
	free(c->of_streams);
	c->of_threads = c->of_streams = NULL;
	c->owners = NULL;
}

// Numbers, not texts: speedscope wants those, and Perfetto sorts by them.
static void open_event(struct chrome *c, const char *phase, const char *name, uint32_t pid,
                       uint32_t tid)
{
	json_open(c->j, NULL, '{');
	json_put_text(c->j, "ph", phase);
	json_put_text(c->j, "name", name);
	json_put_count(c->j, "pid", pid);
	json_put_count(c->j, "tid", tid);
}

static void put_metadata(struct chrome *c, uint32_t pid, uint32_t tid, const char *what,
                         const char *name)
{
	open_event(c, "M", what, pid, tid);
	json_open(c->j, "args", '{');
	json_put_text(c->j, "name", name);
	json_close(c->j);
	json_close(c->j);
}

// NAME of process PID, or of a GPU, and where it stands in the list.
static void put_process(struct chrome *c, uint32_t pid, const char *name, int64_t place)
{
	put_metadata(c, pid, 0, "process_name", name);
	open_event(c, "M", "process_sort_index", pid, 0);
	json_open(c->j, "args", '{');
	json_put_integer(c->j, "sort_index", place);
	json_close(c->j);
	json_close(c->j);
}

void chrome_put_thread(struct chrome *c, uint32_t pid, uint32_t tid, const char *name)
{
	put_metadata(c, pid, tid, "thread_name", name);
}

static void put_times(struct chrome *c, uint64_t begin_ns, uint64_t end_ns)
{
	json_put_microseconds(c->j, "ts", begin_ns);
	json_put_microseconds(c->j, "dur", end_ns - begin_ns);
	if (end_ns > c->last_ns)
		c->last_ns = end_ns;
}

void chrome_put_span(struct chrome *c, uint32_t pid, uint32_t tid, const char *category,
                     const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	open_event(c, "X", name, pid, tid);
	json_put_text(c->j, "cat", category);
	put_times(c, begin_ns, end_ns);
	json_close(c->j);
}

void chrome_put_counter(struct chrome *c, uint32_t pid, const char *name, const char *unit,
                        uint64_t at_ns, double value)
{
	open_event(c, "C", name, pid, 0);
	json_put_microseconds(c->j, "ts", at_ns);
	json_open(c->j, "args", '{');
	json_put_number(c->j, unit, value);
	json_close(c->j);
	json_close(c->j);
}

void chrome_put_note(struct chrome *c, const char *words)
{
	open_event(c, "i", words, CHROME_NO_PROCESS, 0);
	json_put_text(c->j, "s", "g");
	json_put_microseconds(c->j, "ts", c->last_ns);
	json_close(c->j);
}

static bool is_taken(const struct chrome *c, uint32_t pid)
{
	for (size_t i = 0; i < c->owner_count; i++)
		if (c->owners[i].pid == pid)
			return true;
	return false;
}

// The number of WHO, the one WANTED if nobody has it; *IS_NEW: there was none yet. False if there
// is no memory.
static bool number_of(struct chrome *c, uint64_t who, uint32_t wanted, uint32_t *pid, bool *is_new)
{
	*is_new = true;
	for (size_t i = 0; *is_new && i < c->owner_count; i++)
		if (c->owners[i].who == who) {
			*pid = c->owners[i].pid;
			*is_new = false;
		}
	if (!*is_new)
		return true;
	if (!array_reserve(&c->owners, &c->owner_capacity, c->owner_count + 1))
		return false;
	*pid = is_taken(c, wanted) ? PIDS_MADE + (uint32_t)c->owner_count : wanted;
	c->owners[c->owner_count++] = (struct chrome_owner){ who, *pid };
	return true;
}

static bool number_of_process(struct chrome *c, const struct slice_thread *info, uint32_t *pid)
{
	uint64_t who = info->process_slot ? info->process_slot : (uint64_t)info->pid << 32;
	bool is_new;

	if (!number_of(c, who, info->pid ? info->pid : CHROME_NO_PROCESS, pid, &is_new))
		return false;
	if (is_new)
		put_process(c, *pid, info->process, info->process_slot);
	return true;
}

uint32_t chrome_gpu(struct chrome *c, const struct slice_stream *stream)
{
	char name[256];
	uint32_t pid;
	bool is_new;

	if (!number_of(c, GPU_OWNER | stream->device_id, stream->device_number, &pid, &is_new))
		return CHROME_NO_PROCESS;
	snprintf(name, sizeof(name), "GPU %u %.100s%s%.100s", stream->device_number, stream->device,
	         *stream->process ? " of " : "", stream->process);
	if (is_new)
		put_process(c, pid, name, GPUS_PLACE + stream->device_id);
	return pid;
}

// The track of THREAD; index + 1, 0: no memory.
static size_t track_of_thread(struct chrome *c, uint32_t thread)
{
	size_t *index = &c->of_threads[thread - 1];
	struct slice_thread info = { 0 };

	if (*index)
		return *index;
	uint32_t pid;
	slice_reader_thread(c->reader, thread, &info);
	if (!number_of_process(c, &info, &pid) || !tracks_add(&c->tracks, pid, info.tid, true))
		return 0;
	return *index = c->tracks.count;
}

static size_t track_of_stream(struct chrome *c, uint32_t stream)
{
	size_t *index = &c->of_streams[stream - 1];
	struct slice_stream info = { 0 };

	if (*index)
		return *index;
	slice_reader_stream(c->reader, stream, &info);
	if (!tracks_add(&c->tracks, chrome_gpu(c, &info), info.number, false))
		return 0;
	return *index = c->tracks.count;
}

// What stands in the further lanes of a track overlaps what is in the first.
static void name_lane(struct chrome *c, const struct slice_row *row, const struct track *track,
                      uint32_t tid)
{
	struct slice_thread thread = { .name = "", .process = "" };
	struct slice_stream stream = { .device = "" };
	char text[256];

	if (row->kind == SLICE_GPU) {
		slice_reader_stream(c->reader, row->stream, &stream);
		snprintf(text, sizeof(text), "stream %u%s", stream.number,
		         track->lane_count > 1 ? " (at the same time)" : "");
	} else {
		slice_reader_thread(c->reader, row->thread, &thread);
		snprintf(text, sizeof(text), "%s %u%s%s", thread.name, thread.tid,
		         thread.apart ? "" : " and others",
		         track->lane_count > 1 ? " (at the same time)" : "");
	}
	chrome_put_thread(c, track->pid, tid, text);
}

static void open_slice(struct chrome *c, const char *name, const char *category,
                       const struct slice_row *row, const struct track *track, uint32_t tid)
{
	open_event(c, "X", name, track->pid, tid);
	json_put_text(c->j, "cat", category);
	put_times(c, row->begin_ns, row->end_ns);
	json_open(c->j, "args", '{');
}

static void close_slice(struct chrome *c)
{
	json_close(c->j);
	json_close(c->j);
}

static bool is_cuda(const struct slice_row *row)
{
	return strcmp(row->provider, "cuda") == 0;
}

static const char *category_of(const struct slice_row *row)
{
	if (is_cuda(row)) // cuLaunchKernel, cudaLaunchKernel
		return isupper((unsigned char)row->name[strnlen(row->name, 2)]) ? "cuda_driver"
		                                                                : "cuda_runtime";
	if (strcmp(row->provider, "python") == 0)
		return "python_function";
	return row->labelled ? "user_annotation" : "cpu_op";
}

// The length of the array of arrays of numbers that TEXT begins with; 0: it is none.
static size_t dims_length(const char *text)
{
	int depth = 0;

	if (*text != '[')
		return 0;
	for (size_t i = 0; text[i]; i++) {
		depth += (text[i] == '[') - (text[i] == ']');
		if (depth == 0)
			return i + 1;
		if (depth > DIMS_DEPTH)
			return 0;
		if (!strchr("[], 0123456789", text[i]))
			return 0;
	}
	return 0;
}

// Tensors as Kineto has them: each a list of its sizes.
static void put_dims(struct json *j, const char *text, size_t length)
{
	json_open(j, "Input Dims", '[');
	bool open = false;
	for (size_t i = 1; i + 1 < length;) {
		if (isdigit((unsigned char)text[i])) {
			char *end;
			if (!open && text[1] != '[') { // of one tensor
				json_open(j, NULL, '[');
				open = true;
			}
			json_put_count(j, NULL, strtoull(text + i, &end, 10));
			i = (size_t)(end - text);
			continue;
		}
		if (text[i] == '[')
			json_open(j, NULL, '[');
		else if (text[i] == ']')
			json_close(j);
		i++;
	}
	if (open)
		json_close(j);
	json_close(j);
}

static void put_shape(struct chrome *c, const struct slice_row *row)
{
	size_t length = strcmp(row->provider, "torch") == 0 ? dims_length(row->shape) : 0;

	if (length)
		put_dims(c->j, row->shape, length);
	else if (*row->shape)
		json_put_text(c->j, "on", row->shape);
	const char *type = row->shape + length;
	while (*type == ' ')
		type++;
	if (length && *type)
		json_put_text(c->j, "Input type", type);
}

// What is open around the newest slice of LANE and has a number.
static uint64_t external_around(const struct lane *lane)
{
	for (size_t i = lane->depth - 1; i-- > 0;)
		if (lane->open[i].id)
			return lane->open[i].id;
	return 0;
}

static void put_call_numbers(struct chrome *c, const struct slice_row *row,
                             const struct track *track, const struct lane *lane)
{
	const struct launch_call call = {
		.thread = row->thread,
		.pid = track->pid,
		.tid = lane->tid,
		.begin_ns = row->begin_ns,
		.number = ++c->calls,
		.external = external_around(lane),
	};

	json_put_count(c->j, "correlation", call.number);
	if (call.external)
		json_put_count(c->j, "External id", call.external);
	launches_add(&c->launches, &call);
}

static void put_mark(struct chrome *c, const struct slice_row *row, const struct track *track,
                     const struct lane *lane)
{
	open_event(c, "i", row->name, track->pid, lane->tid);
	json_put_text(c->j, "cat", category_of(row));
	json_put_text(c->j, "s", "t");
	json_put_microseconds(c->j, "ts", row->begin_ns);
	json_open(c->j, "args", '{');
	if (*row->domain)
		json_put_text(c->j, "domain", row->domain);
	put_shape(c, row);
	close_slice(c);
}

static void put_op(struct chrome *c, const struct slice_row *row, const struct track *track,
                   const struct lane *lane)
{
	open_slice(c, row->name, category_of(row), row, track, lane->tid);
	if (is_cuda(row))
		put_call_numbers(c, row, track, lane);
	else
		json_put_count(c->j, "External id", lane->open[lane->depth - 1].id);
	json_put_text(c->j, "provider", row->provider);
	if (*row->domain)
		json_put_text(c->j, "domain", row->domain);
	put_shape(c, row);
	if (row->left_open)
		json_put_bool(c->j, "left open", true);
	close_slice(c);
}

static void put_wait(struct chrome *c, const struct slice_row *row, const struct track *track,
                     const struct lane *lane)
{
	char name[64];

	snprintf(name, sizeof(name), "waiting: %s", row->name);
	open_slice(c, name, "wait", row, track, lane->tid);
	if (row->function)
		json_put_text(c->j, "function", row->function);
	if (row->file)
		json_put_text(c->j, "file", row->file);
	if (row->file && row->line)
		json_put_integer(c->j, "line", row->line);
	close_slice(c);
}

static const char *category_of_work(const struct gpu_work_key *key)
{
	return key->kind == GPU_WORK_COPY  ? "gpu_memcpy"
	       : key->kind == GPU_WORK_SET ? "gpu_memset"
	                                   : "kernel";
}

static void put_three(struct json *j, const char *key, const uint32_t *numbers)
{
	json_open(j, key, '[');
	for (int i = 0; i < 3; i++)
		json_put_count(j, NULL, numbers[i]);
	json_close(j);
}

static void put_launch_shape(struct json *j, const struct gpu_shape *shape)
{
	if (!shape->block[0])
		return;
	put_three(j, "grid", shape->grid);
	put_three(j, "block", shape->block);
	json_put_count(j, "registers per thread", shape->registers);
	json_put_count(j, "shared memory", (uint64_t)shape->static_shared + shape->dynamic_shared);
}

static void put_bytes(struct json *j, const struct slice_row *row)
{
	uint64_t ns = row->end_ns - row->begin_ns;

	json_put_count(j, "bytes", row->bytes);
	if (ns)
		json_put_number(j, "memory bandwidth (GB/s)", (double)row->bytes / (double)ns);
}

static void put_work_args(struct chrome *c, const struct slice_row *row,
                          const struct launch_call *call)
{
	struct slice_stream stream = { 0 };

	slice_reader_stream(c->reader, row->stream, &stream);
	json_put_count(c->j, "device", stream.device_number);
	json_put_count(c->j, "context", stream.context);
	json_put_count(c->j, "stream", stream.number);
	json_put_count(c->j, "correlation", call ? call->number : ++c->calls);
	if (call && call->external)
		json_put_count(c->j, "External id", call->external);
	if (row->called && row->begin_ns > row->call_ns)
		json_put_microseconds(c->j, "queued", row->begin_ns - row->call_ns);
	put_launch_shape(c->j, &row->work->shape);
	if (row->work->kind == GPU_WORK_COPY || row->work->kind == GPU_WORK_SET)
		put_bytes(c->j, row);
}

static void put_flow(struct chrome *c, const char *name, const char *phase, uint64_t id,
                     uint32_t pid, uint32_t tid, uint64_t at_ns)
{
	open_event(c, phase, name, pid, tid);
	json_put_text(c->j, "cat", name);
	json_put_microseconds(c->j, "ts", at_ns);
	json_put_count(c->j, "id", id);
	if (*phase == 'f')
		json_put_text(c->j, "bp", "e");
	json_close(c->j);
}

static void put_work(struct chrome *c, const struct slice_row *row, const struct track *track,
                     const struct lane *lane)
{
	const struct work_name name = work_name(row->work);
	const struct launch_call *call =
		row->called ? launches_find(&c->launches, row->thread, row->call_ns) : NULL;

	open_slice(c, *name.text ? name.text : row->name, category_of_work(row->work), row, track,
	           lane->tid);
	put_work_args(c, row, call);
	close_slice(c);
	if (!call)
		return;
	// Each has an arrow of its own, even of the same call.
	put_flow(c, "ac2g", "s", ++c->externals, call->pid, call->tid, call->begin_ns);
	put_flow(c, "ac2g", "f", c->externals, track->pid, lane->tid, row->begin_ns);
}

bool chrome_put_slice(struct chrome *c, const struct slice_row *row, struct chrome_place *place)
{
	bool is_gpu = row->kind == SLICE_GPU, is_op = row->kind == SLICE_OP, is_new;
	size_t index = is_gpu ? track_of_stream(c, row->stream) : track_of_thread(c, row->thread);

	if (!index) {
		c->crowded++;
		return false;
	}
	struct track *track = &c->tracks.tracks[index - 1];
	uint64_t id = is_op && !is_cuda(row) ? ++c->externals : 0;
	const struct lane *lane =
		tracks_place(&c->tracks, track, row->begin_ns, row->end_ns, id, &is_new);
	if (!lane) {
		c->crowded++;
		return false;
	}
	c->written++;
	if (is_new)
		name_lane(c, row, track, lane->tid);
	if (is_gpu)
		put_work(c, row, track, lane);
	else if (is_op && row->mark)
		put_mark(c, row, track, lane);
	else if (is_op)
		put_op(c, row, track, lane);
	else
		put_wait(c, row, track, lane);
	*place = (struct chrome_place){ track->pid, lane->tid };
	return true;
}

void chrome_put_wake(struct chrome *c, const struct wake *wake, const struct chrome_place *place)
{
	size_t index = track_of_thread(c, wake->waker);
	struct slice_thread waiter = { .name = "?" };
	struct slice_row row = { .kind = SLICE_WAIT,
		                 .thread = wake->waker,
		                 .begin_ns = wake->end_ns,
		                 .end_ns = wake->end_ns + 1 }; // an arrow needs a slice to end in
	bool is_new;
	char name[128];

	if (!index)
		return;
	struct track *track = &c->tracks.tracks[index - 1];
	const struct lane *lane =
		tracks_place(&c->tracks, track, row.begin_ns, row.end_ns, 0, &is_new);
	if (!lane)
		return;
	if (is_new)
		name_lane(c, &row, track, lane->tid);
	slice_reader_thread(c->reader, wake->waiter, &waiter);
	snprintf(name, sizeof(name), "wakes %s", waiter.name);
	open_slice(c, name, "wake", &row, track, lane->tid);
	json_put_count(c->j, "thread", waiter.tid);
	json_put_microseconds(c->j, "waited", wake->end_ns - wake->begin_ns);
	close_slice(c);
	c->written++;
	put_flow(c, "wake", "s", ++c->externals, place->pid, place->tid, wake->begin_ns);
	put_flow(c, "wake", "f", c->externals, track->pid, lane->tid, row.begin_ns);
}
