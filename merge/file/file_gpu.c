// SPDX-License-Identifier: MIT
/*
 * What a profile file has of GPUs. A profile that knows of none has no such tables.
 */
#include "base/cleanup.h"
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] =
	"CREATE TABLE gpu_count(what TEXT, kind INTEGER, count INTEGER, ns INTEGER);"
	"CREATE TABLE gpu_device(id INTEGER PRIMARY KEY, name TEXT, uuid BLOB, process INTEGER,"
	" number INTEGER, clock_khz INTEGER, compute_major INTEGER, compute_minor INTEGER,"
	" multiprocessors INTEGER, max_warps INTEGER, max_blocks INTEGER, max_shared INTEGER,"
	" max_registers INTEGER, warp_threads INTEGER, copy_engines INTEGER, memory_bytes INTEGER,"
	" memory_bytes_per_s INTEGER, live_bytes INTEGER, peak_bytes INTEGER, peak_ns INTEGER,"
	" first_ns INTEGER, end_ns INTEGER, longest_gap_ns INTEGER, late INTEGER);"
	"CREATE TABLE gpu_stream(id INTEGER PRIMARY KEY, device INTEGER, process INTEGER,"
	" context INTEGER, stream INTEGER, works INTEGER, busy_ns INTEGER, kernels INTEGER,"
	" shared_ns INTEGER);"
	"CREATE TABLE gpu_managed(id INTEGER PRIMARY KEY, kind INTEGER, cause INTEGER,"
	" device INTEGER, process INTEGER, location INTEGER, count INTEGER, ns INTEGER,"
	" value INTEGER);"
	"CREATE TABLE gpu_work(id INTEGER PRIMARY KEY, kind INTEGER, op INTEGER, process INTEGER,"
	" device INTEGER, copy INTEGER, async INTEGER, grid_x INTEGER, grid_y INTEGER,"
	" grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER, registers INTEGER,"
	" static_shared INTEGER, dynamic_shared INTEGER, local_per_thread INTEGER, calls INTEGER,"
	" untimed INTEGER, untied INTEGER, total_ns INTEGER, min_ns INTEGER, max_ns INTEGER,"
	" bytes INTEGER, queued_ns INTEGER);"
	"CREATE TABLE gpu_duration_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE gpu_cell_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE gpu_idle_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE gpu_state_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE VIEW gpu(name, kind, device, calls, total_ns, average_ns, min_ns, max_ns, bytes) AS"
	" SELECT n.name, CASE w.kind WHEN 0 THEN 'kernel' WHEN 1 THEN 'copy' WHEN 2 THEN 'set'"
	" ELSE 'graph' END, w.device, sum(w.calls), sum(w.total_ns),"
	" sum(w.total_ns) / max(1, sum(w.calls - w.untimed)), min(w.min_ns), max(w.max_ns),"
	" sum(w.bytes) FROM gpu_work w JOIN op_name n ON n.id = w.op"
	" GROUP BY w.op, w.kind, w.device;";

#define COUNT_WIDTH 4

// Columns that are plain numbers of a struct.
struct field {
	size_t offset;
	uint8_t bytes; // 4, 8
};
#define FIELD(type, name)                                                                          \
	{                                                                                          \
		offsetof(type, name), sizeof(((type *)0)->name)                                    \
	}

static const struct field device_fields[] = {
	FIELD(struct gpu_device, process),       FIELD(struct gpu_device, number),
	FIELD(struct gpu_device, clock_khz),     FIELD(struct gpu_device, compute_major),
	FIELD(struct gpu_device, compute_minor), FIELD(struct gpu_device, multiprocessors),
	FIELD(struct gpu_device, max_warps),     FIELD(struct gpu_device, max_blocks),
	FIELD(struct gpu_device, max_shared),    FIELD(struct gpu_device, max_registers),
	FIELD(struct gpu_device, warp_threads),  FIELD(struct gpu_device, copy_engines),
	FIELD(struct gpu_device, memory_bytes),  FIELD(struct gpu_device, memory_bytes_per_s),
	FIELD(struct gpu_device, live_bytes),    FIELD(struct gpu_device, peak_bytes),
	FIELD(struct gpu_device, peak_ns),       FIELD(struct gpu_device, first_ns),
	FIELD(struct gpu_device, end_ns),        FIELD(struct gpu_device, longest_gap_ns),
	FIELD(struct gpu_device, late),
};
static const struct field work_fields[] = {
	FIELD(struct gpu_work, key.kind),
	FIELD(struct gpu_work, key.op),
	FIELD(struct gpu_work, key.process),
	FIELD(struct gpu_work, key.device),
	FIELD(struct gpu_work, key.copy),
	FIELD(struct gpu_work, key.async),
	FIELD(struct gpu_work, key.shape.grid[0]),
	FIELD(struct gpu_work, key.shape.grid[1]),
	FIELD(struct gpu_work, key.shape.grid[2]),
	FIELD(struct gpu_work, key.shape.block[0]),
	FIELD(struct gpu_work, key.shape.block[1]),
	FIELD(struct gpu_work, key.shape.block[2]),
	FIELD(struct gpu_work, key.shape.registers),
	FIELD(struct gpu_work, key.shape.static_shared),
	FIELD(struct gpu_work, key.shape.dynamic_shared),
	FIELD(struct gpu_work, key.shape.local_per_thread),
	FIELD(struct gpu_work, sums.calls),
	FIELD(struct gpu_work, sums.untimed),
	FIELD(struct gpu_work, sums.untied),
	FIELD(struct gpu_work, sums.total_ns),
	FIELD(struct gpu_work, sums.min_ns),
	FIELD(struct gpu_work, sums.max_ns),
	FIELD(struct gpu_work, sums.bytes),
	FIELD(struct gpu_work, sums.queued_ns),
};
static const struct field stream_fields[] = {
	FIELD(struct gpu_stream, device),  FIELD(struct gpu_stream, process),
	FIELD(struct gpu_stream, context), FIELD(struct gpu_stream, number),
	FIELD(struct gpu_stream, works),   FIELD(struct gpu_stream, busy_ns),
	FIELD(struct gpu_stream, kernels), FIELD(struct gpu_stream, shared_ns),
};

static const struct field managed_fields[] = {
	FIELD(struct gpu_managed, kind),     FIELD(struct gpu_managed, cause),
	FIELD(struct gpu_managed, device),   FIELD(struct gpu_managed, process),
	FIELD(struct gpu_managed, location), FIELD(struct gpu_managed, count),
	FIELD(struct gpu_managed, ns),       FIELD(struct gpu_managed, value),
};

#define COUNT(array)  (int)(sizeof(array) / sizeof((array)[0]))
#define DEVICE_WIDTH  (3 + COUNT(device_fields))
#define WORK_WIDTH    (1 + COUNT(work_fields))
#define STREAM_WIDTH  (1 + COUNT(stream_fields))
#define MANAGED_WIDTH (1 + COUNT(managed_fields))

static const struct {
	const char *key;
	size_t offset; // in struct gpu
} facts[] = {
	{ "gpu_cell_bin_ns", offsetof(struct gpu, paths.width_ns) },
	{ "gpu_idle_bin_ns", offsetof(struct gpu, idle.width_ns) },
	{ "gpu_state_bin_ns", offsetof(struct gpu, states.width_ns) },
	{ "gpu_works_folded", offsetof(struct gpu, works.folded) },
	{ "gpu_works_lost", offsetof(struct gpu, works.lost) },
	{ "gpu_allocations", offsetof(struct gpu, allocations) },
	{ "gpu_untied", offsetof(struct gpu, untied) },
	{ "gpu_lost", offsetof(struct gpu, lost) },
};

// The rows of gpu_count.
static const struct {
	const char *what;
	size_t offset;
	uint32_t count;
	bool timed; // struct gpu_count; else uint64_t
} counts[] = {
	{ "sync", offsetof(struct gpu, syncs), GPU_SYNC_KINDS, true },
	{ "overhead", offsetof(struct gpu, overheads), GPU_OVERHEADS, true },
	{ "gap", offsetof(struct gpu, gaps), GPU_GAPS, true },
	{ "jit", offsetof(struct gpu, jit), 1, true },
	{ "loss", offsetof(struct gpu, losses), GPU_LOSSES, false },
};

static void put_fields(struct file_writer *w, const void *from, const struct field *fields,
                       int count)
{
	for (int i = 0; i < count; i++) {
		const char *at = (const char *)from + fields[i].offset;
		uint64_t value = 0;
		memcpy(&value, at, fields[i].bytes); // little-endian, as all that we run on
		file_writer_int(w, (int64_t)value);
	}
}

int write_gpu_facts(struct file_writer *w)
{
	const struct gpu *g = &w->profile->gpu;

	if (gpu_is_empty(g))
		return 0;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (file_writer_fact(w, facts[i].key,
		                     *(const int64_t *)((const char *)g + facts[i].offset)) < 0)
			return -1;
	if (file_writer_fact(w, "gpu_devices", g->device_count) < 0 ||
	    file_writer_fact(w, "gpu_streams", g->stream_count) < 0)
		return -1;
	return file_writer_fact(w, "gpu_works", g->works.count);
}

static int write_counts(struct file_writer *w)
{
	if (file_writer_begin(w, "gpu_count", COUNT_WIDTH, true) < 0)
		return -1;
	for (int i = 0; i < COUNT(counts); i++) {
		const char *at = (const char *)&w->profile->gpu + counts[i].offset;
		for (uint32_t kind = 0; kind < counts[i].count; kind++) {
			const struct gpu_count *timed = (const struct gpu_count *)at + kind;
			uint64_t count =
				counts[i].timed ? timed->count : ((const uint64_t *)at)[kind];
			if (!count)
				continue;
			file_writer_text(w, counts[i].what);
			file_writer_int(w, kind);
			file_writer_int(w, (int64_t)count);
			file_writer_int(w, counts[i].timed ? (int64_t)timed->ns : 0);
			if (file_writer_row(w) < 0)
				return -1;
		}
	}
	return 0;
}

static int write_devices(struct file_writer *w)
{
	const struct gpu *g = &w->profile->gpu;

	if (file_writer_begin(w, "gpu_device", DEVICE_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < g->device_count; i++) {
		const struct gpu_device *device = &g->devices[i];
		file_writer_int(w, i + 1);
		file_writer_string(w, device->name);
		file_writer_bytes(w, SQLITE_BLOB, device->uuid, sizeof(device->uuid));
		put_fields(w, device, device_fields, COUNT(device_fields));
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_rows(struct file_writer *w, const char *table, const void *rows, uint32_t count,
                      size_t row_bytes, const struct field *fields, int field_count)
{
	if (file_writer_begin(w, table, field_count + 1, true) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		file_writer_int(w, i + 1);
		put_fields(w, (const char *)rows + i * row_bytes, fields, field_count);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

// Which bucket of which histogram a row is.
struct bucket_id {
	uint32_t work; // id; the one after the last: what calls waited
	uint32_t bucket;
};

static const struct histogram *histogram_of(const struct gpu *g, uint32_t work)
{
	return work <= g->works.count ? &g->works.works[work - 1].durations : &g->latencies;
}

static void fill_duration(const struct file_writer *w, const void *context, uint32_t index,
                          struct columns *c, uint32_t at)
{
	const struct bucket_id *id = &((const struct bucket_id *)context)[index];
	const struct histogram *h = histogram_of(&w->profile->gpu, id->work);

	*columns_at(c, 0, at) = id->work;
	*columns_at(c, 1, at) = h->buckets[id->bucket].bucket;
	*columns_at(c, 2, at) = h->buckets[id->bucket].count;
}

static int write_durations(struct file_writer *w)
{
	const struct gpu *g = &w->profile->gpu;
	size_t count = 0;

	for (uint32_t work = 1; work <= g->works.count + 1; work++)
		count += histogram_of(g, work)->count;
	cleanup_free struct bucket_id *ids = calloc(count + 1, sizeof(*ids));
	const struct chunked chunked = { "gpu_duration_chunk", (uint32_t)count, DURATION_WIDTH,
		                         DURATION_DELTAS,      fill_duration,   ids };
	if (!ids)
		return file_writer_no_memory(w);
	count = 0;
	for (uint32_t work = 1; work <= g->works.count + 1; work++)
		for (uint32_t i = 0; i < histogram_of(g, work)->count; i++)
			ids[count++] = (struct bucket_id){ work, i };
	return file_writer_chunks(w, &chunked);
}

int write_gpu(struct file_writer *w)
{
	const struct gpu *g = &w->profile->gpu;

	if (gpu_is_empty(g))
		return 0;
	if (file_writer_sql(w, schema) < 0 || write_counts(w) < 0 || write_devices(w) < 0 ||
	    write_rows(w, "gpu_stream", g->streams, g->stream_count, sizeof(*g->streams),
	               stream_fields, COUNT(stream_fields)) < 0 ||
	    write_rows(w, "gpu_work", g->works.works, g->works.count, sizeof(*g->works.works),
	               work_fields, COUNT(work_fields)) < 0 ||
	    write_rows(w, "gpu_managed", g->managed, g->managed_count, sizeof(*g->managed),
	               managed_fields, COUNT(managed_fields)) < 0 ||
	    write_durations(w) < 0)
		return -1;
	if (write_cell_table(w, "gpu_idle_chunk", &g->idle, 0) < 0)
		return -1;
	return write_cell_table(w, "gpu_cell_chunk", &g->paths, 0) < 0
	               ? -1
	               : write_cell_table(w, "gpu_state_chunk", &g->states, 0);
}

bool take_gpu_fact(struct file_reader *r, const char *key, int64_t value)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].key, key) == 0) {
			*(int64_t *)((char *)&r->profile->gpu + facts[i].offset) = value;
			return true;
		}
	if (strcmp(key, "gpu_devices") == 0)
		r->gpu_devices = (uint64_t)value;
	else if (strcmp(key, "gpu_streams") == 0)
		r->gpu_streams = (uint64_t)value;
	else if (strcmp(key, "gpu_works") == 0)
		r->gpu_works = (uint64_t)value;
	else
		return false;
	r->has_gpu = true;
	return true;
}

// False if a number is none that the field can hold, or is less than 0.
static bool get_fields(struct file_reader *r, int column, void *to, const struct field *fields,
                       int count)
{
	for (int i = 0; i < count; i++) {
		int64_t value = file_reader_int(r, column + i);
		if (value < 0 || (fields[i].bytes == 4 && value > UINT32_MAX))
			return false;
		memcpy((char *)to + fields[i].offset, &value, fields[i].bytes);
	}
	return true;
}

static int take_count(struct file_reader *r)
{
	const char *what = file_reader_text(r, 0);
	int64_t kind = file_reader_int(r, 1), count = file_reader_int(r, 2);
	int64_t ns = file_reader_int(r, 3);

	for (int i = 0; what && i < COUNT(counts); i++) {
		char *at = (char *)&r->profile->gpu + counts[i].offset;
		if (strcmp(counts[i].what, what) != 0)
			continue;
		if (kind < 0 || kind >= counts[i].count || count < 0 || ns < 0)
			break;
		if (counts[i].timed)
			((struct gpu_count *)at)[kind] =
				(struct gpu_count){ (uint64_t)count, (uint64_t)ns };
		else
			((uint64_t *)at)[kind] = (uint64_t)count;
		return 0;
	}
	return file_reader_damaged(r, "what a GPU did cannot be counted so");
}

static bool get_uuid(struct file_reader *r, int column, uint8_t uuid[16])
{
	const void *bytes = sqlite3_column_blob(r->select, column);

	if (!bytes || sqlite3_column_bytes(r->select, column) != 16)
		return false;
	memcpy(uuid, bytes, 16);
	return true;
}

static int take_device(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct gpu *g = &p->gpu;
	struct gpu_device device = { 0 };
	bool ok = true;

	device.name = file_reader_string(r, 1, &ok);
	if (!ok)
		return file_reader_no_memory(r);
	if (g->device_count >= r->gpu_devices || file_reader_int(r, 0) != g->device_count + 1 ||
	    !get_uuid(r, 2, device.uuid) ||
	    !get_fields(r, 3, &device, device_fields, COUNT(device_fields)) ||
	    device.process > p->threads.process_count || device.end_ns < device.first_ns)
		return file_reader_damaged(r, "a GPU cannot be");
	g->devices[g->device_count++] = device;
	return 0;
}

static int take_stream(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct gpu *g = &p->gpu;
	struct gpu_stream stream;

	if (g->stream_count >= r->gpu_streams || file_reader_int(r, 0) != g->stream_count + 1 ||
	    !get_fields(r, 1, &stream, stream_fields, COUNT(stream_fields)) || !stream.device ||
	    stream.device > g->device_count || stream.process > p->threads.process_count ||
	    stream.kernels > stream.works)
		return file_reader_damaged(r, "a stream of a GPU cannot be");
	g->streams[g->stream_count++] = stream;
	return 0;
}

static int take_managed(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct gpu *g = &p->gpu;
	struct gpu_managed m;
	uint32_t before = g->managed_count;

	if (before >= GPU_MANAGED_MAX || file_reader_int(r, 0) != before + 1 ||
	    !get_fields(r, 1, &m, managed_fields, COUNT(managed_fields)) ||
	    m.kind >= GPU_MANAGED_KINDS || m.cause >= GPU_MANAGED_CAUSES ||
	    m.device > g->device_count || m.process > p->threads.process_count ||
	    m.location > p->locations.count || !file_reader_add(&r->gpu_managed.count, m.count) ||
	    !file_reader_add(&r->gpu_managed.ns, m.ns) ||
	    !file_reader_add(&r->gpu_managed.value, m.value))
		return file_reader_damaged(r, "what was done with managed memory cannot be");
	if (!gpu_add_managed(g, &m))
		return file_reader_no_memory(r);
	return g->managed_count > before
	               ? 0
	               : file_reader_damaged(r, "what was done with managed memory is there twice");
}

static bool work_can_be(struct file_reader *r, const struct gpu_work *work)
{
	const struct gpu_work_sums *s = &work->sums;
	struct gpu_work_sums *all = &r->gpu_sums;

	return work->key.kind < GPU_WORK_KINDS && work->key.op && work->key.op <= r->ops &&
	       work->key.process <= r->profile->threads.process_count &&
	       work->key.device <= r->profile->gpu.device_count && s->untimed <= s->calls &&
	       s->untied <= s->calls && s->min_ns <= s->max_ns &&
	       file_reader_add(&all->calls, s->calls) &&
	       file_reader_add(&all->total_ns, s->total_ns) &&
	       file_reader_add(&all->bytes, s->bytes) &&
	       file_reader_add(&all->queued_ns, s->queued_ns);
}

static int take_work(struct file_reader *r)
{
	struct gpu_works *works = &r->profile->gpu.works;
	struct gpu_work work = { 0 };
	uint32_t before = works->count;

	if (before >= r->gpu_works || file_reader_int(r, 0) != before + 1 ||
	    !get_fields(r, 1, &work, work_fields, COUNT(work_fields)) || !work_can_be(r, &work))
		return file_reader_damaged(r, "what a GPU ran cannot be");
	struct gpu_work *added = gpu_works_append(works, &work.key);
	if (!added)
		return file_reader_no_memory(r);
	if (works->count == before)
		return file_reader_damaged(r, "what a GPU ran is there twice");
	added->sums = work.sums;
	return 0;
}

static int take_duration(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct gpu *g = &r->profile->gpu;
	uint64_t work = *columns_at(c, 0, row), bucket = *columns_at(c, 1, row);
	uint64_t count = *columns_at(c, 2, row);

	if (!work || work > g->works.count + 1 || bucket >= HISTOGRAM_BUCKETS || !count ||
	    count > UINT32_MAX || work < r->last_gpu_work ||
	    (work == r->last_gpu_work && bucket <= r->last_gpu_bucket))
		return file_reader_damaged(r, "the durations on a GPU cannot be");
	r->last_gpu_work = (uint32_t)work;
	r->last_gpu_bucket = (uint32_t)bucket;
	struct histogram *h = (struct histogram *)histogram_of(g, (uint32_t)work);
	return histogram_add_bucket(h, (uint32_t)bucket, (uint32_t)count)
	               ? 0
	               : file_reader_no_memory(r);
}

static bool width_can_be(uint64_t width_ns)
{
	return width_ns && width_ns <= INT64_MAX / 2 / CELLS_BINS;
}

static int prepare(struct file_reader *r)
{
	struct gpu *g = &r->profile->gpu;

	if (r->gpu_devices > GPU_DEVICES_MAX || r->gpu_streams > GPU_STREAMS_MAX ||
	    r->gpu_works > GPU_WORKS_MAX || !width_can_be(g->paths.width_ns) ||
	    !width_can_be(g->idle.width_ns) || !width_can_be(g->states.width_ns))
		return file_reader_damaged(r, "its GPUs cannot be");
	g->paths.origin_ns = g->idle.origin_ns = g->states.origin_ns = r->profile->cells.origin_ns;
	g->devices = calloc(r->gpu_devices + 1, sizeof(*g->devices));
	g->streams = calloc(r->gpu_streams + 1, sizeof(*g->streams));
	if (!g->devices || !g->streams)
		return file_reader_no_memory(r);
	g->device_capacity = r->gpu_devices + 1;
	g->stream_capacity = r->gpu_streams + 1;
	return 0;
}

static int read_gpu_cells(struct file_reader *r)
{
	struct gpu *g = &r->profile->gpu;
	const struct file_cells paths = { .cells = &g->paths,
		                          .nodes = r->profile->paths.count,
		                          .metrics = 1 };
	const struct file_cells idle = { .cells = &g->idle,
		                         .nodes = r->profile->paths.count,
		                         .metrics = METRIC_COUNT * g->device_count };
	const struct file_cells states = { .cells = &g->states,
		                           .nodes = g->device_count,
		                           .metrics = GPU_STATE_METRICS };

	if (read_cell_table(r, "gpu_idle_chunk", &idle) < 0)
		return -1;
	return read_cell_table(r, "gpu_cell_chunk", &paths) < 0
	               ? -1
	               : read_cell_table(r, "gpu_state_chunk", &states);
}

int read_gpu(struct file_reader *r)
{
	const struct gpu *g = &r->profile->gpu;

	if (!r->has_gpu)
		return 0;
	if (prepare(r) < 0 || file_reader_rows(r, "gpu_count", COUNT_WIDTH, take_count) < 0 ||
	    file_reader_rows(r, "gpu_device", DEVICE_WIDTH, take_device) < 0 ||
	    file_reader_rows(r, "gpu_stream", STREAM_WIDTH, take_stream) < 0 ||
	    file_reader_rows(r, "gpu_work", WORK_WIDTH, take_work) < 0 ||
	    file_reader_rows(r, "gpu_managed", MANAGED_WIDTH, take_managed) < 0 ||
	    file_reader_chunks(r, "gpu_duration_chunk", DURATION_WIDTH, DURATION_DELTAS,
	                       take_duration) < 0 ||
	    read_gpu_cells(r) < 0)
		return -1;
	return g->device_count == r->gpu_devices && g->stream_count == r->gpu_streams &&
	                       g->works.count == r->gpu_works
	               ? 0
	               : file_reader_damaged(r, "something of its GPUs is missing");
}
