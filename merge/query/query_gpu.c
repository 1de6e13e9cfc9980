// SPDX-License-Identifier: MIT
#include "merge/query/query_gpu.h"

#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/gpu_occupancy.h"
#include "merge/scope/own_place.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gpu_rows_free(struct gpu_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

void gpu_facts_free(struct gpu_facts *facts)
{
	if (facts)
		free(facts->devices);
	free(facts);
}

// What there is of one op while rows are made.
struct group {
	const struct gpu_work *most; // of its works, the one with most time
	struct gpu_work_sums sums;
	struct histogram durations;
	size_t shapes;
	bool sync;          // not all of it was asynchronous
	uint64_t calls, ns; // within the window
	uint32_t node;      // of the path that has most of it; 0: none
	uint64_t node_ns;
};

struct asking {
	const struct profile *profile;
	const struct scope *scope;
	struct group *groups; // [op - 1]
	uint32_t ops;
	bool all; // no window, and all threads
};

static void free_groups(struct asking *a)
{
	for (uint32_t i = 0; a->groups && i < a->ops; i++)
		histogram_fini(&a->groups[i].durations);
	free(a->groups);
}

static void asking_at_scope_end(struct asking *a)
{
	free_groups(a);
}

// A process counts if one of its threads does.
static bool has_process(const struct scope *scope, uint32_t process)
{
	const struct threads *t = profile_threads(scope->profile);

	for (size_t i = 0; i < t->thread_count; i++)
		if (t->threads[i].process == process && scope->threads[i])
			return true;
	return false;
}

static bool group_works(struct asking *a)
{
	const struct gpu_works *works = &profile_gpu(a->profile)->works;

	for (uint32_t i = 0; i < works->count; i++) {
		const struct gpu_work *work = &works->works[i];
		if (!has_process(a->scope, work->key.process))
			continue;
		struct group *g = &a->groups[work->key.op - 1];
		gpu_work_sums_add(&g->sums, &work->sums);
		g->sync |= !work->key.async;
		g->shapes++;
		if (!g->most || work->sums.total_ns > g->most->sums.total_ns)
			g->most = work;
		if (!histogram_merge(&g->durations, &work->durations))
			return false;
	}
	return true;
}

static uint32_t op_at(const struct profile *p, uint32_t node)
{
	const struct path_node *at = profile_node(p, node);
	const struct location *location = at->parent ? profile_location(p, at->location) : NULL;

	return location && location->kind == FRAME_OP ? (uint32_t)location->address : 0;
}

// What the call tree has of each op within the window.
static void add_cells(struct asking *a)
{
	const struct scope *scope = a->scope;

	for (struct step step = scope_first(scope); step.node; step = scope_next(scope, step)) {
		uint32_t op = step.entering ? op_at(a->profile, step.node) : 0;
		if (!op || op > a->ops)
			continue;
		struct group *g = &a->groups[op - 1];
		uint64_t before = g->ns;
		for (uint32_t i = scope->first_cell[step.node - 1];
		     i < scope->first_cell[step.node]; i++) {
			const struct cell *cell = &scope->table->cells[scope->cells[i]];
			g->ns += scope_ns(scope, cell);
			g->calls += scope_samples(scope, cell);
		}
		if (g->ns - before > g->node_ns) {
			g->node_ns = g->ns - before;
			g->node = step.node;
		}
	}
}

static bool contains(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

// By what cuBLAS, cuDNN and CUTLASS call kernels that use them.
static bool uses_tensor_cores(const char *name)
{
	static const char *const parts[] = { "gmma",     "tensorop", "16816",     "1688",
		                             "884cudnn", "s884",     "h884",      "i8816",
		                             "imma",     "hmma",     "xmma",      "wmma",
		                             "_mma_",    "tcgen05",  "flash_fwd", "flash_bwd" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (contains(name, parts[i]))
			return true;
	return false;
}

static void fill_copy(const struct group *g, struct gpu_row *row)
{
	uint32_t copy = g->most->key.copy;

	row->direction = (enum gpu_copy_kind)(copy & 0xff);
	row->from = (enum gpu_memory_kind)(copy >> 8 & 0xff);
	row->to = (enum gpu_memory_kind)(copy >> 16 & 0xff);
	row->async = !g->sync;
}

static void fill_kernel(const struct profile *p, const struct group *g, struct gpu_row *row)
{
	const struct gpu_work_key *key = &g->most->key;

	row->shape = key->shape;
	row->shapes = g->shapes;
	row->tensor_cores = uses_tensor_cores(row->name);
	if (!key->device)
		return;
	const struct gpu_device *device = &profile_gpu(p)->devices[key->device - 1];
	row->occupancy = gpu_occupancy(device, &key->shape, &row->limit);
	row->at_work = gpu_at_work(device, &key->shape);
}

// Anybody's: the innermost place that has a line.
static const struct place *any_place_above(const struct profile *p, uint32_t node)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *at = profile_location(p, profile_node(p, node)->location);
		const struct place *places = profile_places(p, at);
		for (uint32_t i = 0; at->kind != FRAME_OP && i < at->place_count; i++)
			if (places[i].line && profile_string(p, places[i].file))
				return &places[i];
	}
	return NULL;
}

static void fill_launcher(const struct profile *p, uint32_t node, struct gpu_row *row)
{
	const struct place *own = own_place_above(p, node);
	const struct place *place = own ? own : any_place_above(p, node);

	if (!place)
		return;
	row->function = profile_string(p, place->function);
	row->file = profile_string(p, place->file);
	row->line = (int)place->line;
}

// Bytes of a part of the calls: as many for each as for all.
static uint64_t scale(uint64_t value, uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((double)value * (double)part / (double)all) : 0;
}

static void fill_row(const struct asking *a, uint32_t id, struct gpu_row *row)
{
	const struct group *g = &a->groups[id - 1];
	const struct op *op = profile_op(a->profile, id);
	uint64_t calls = a->all ? g->sums.calls : g->calls;
	uint64_t ns = a->all ? g->sums.total_ns : g->ns;
	uint64_t timed = a->all ? calls - g->sums.untimed : calls;
	const struct histogram *h = &g->durations;
	uint64_t least = g->sums.min_ns, most = g->sums.max_ns;

	*row = (struct gpu_row){
		.name = op ? op->name : "?",
		.op = id,
		.kind = (enum gpu_work_kind)g->most->key.kind,
		.calls = calls,
		.untimed = calls - timed,
		.total_ns = ns,
		.average_ns = timed ? ns / timed : 0,
		.median_ns = histogram_quantile_within(h, 0.5, least, most),
		.q1_ns = histogram_quantile_within(h, 0.25, least, most),
		.q3_ns = histogram_quantile_within(h, 0.75, least, most),
		.min_ns = least,
		.max_ns = most,
		.bytes = a->all ? g->sums.bytes : scale(g->sums.bytes, calls, g->sums.calls),
	};
	fill_launcher(a->profile, g->node, row);
	if (row->bytes && ns)
		row->bytes_per_s = (double)scale(row->bytes, timed, calls) * 1e9 / (double)ns;
	if (row->kind == GPU_WORK_COPY)
		fill_copy(g, row);
	else if (row->kind == GPU_WORK_KERNEL)
		fill_kernel(a->profile, g, row);
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b)
{
	const struct gpu_row *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	if (left->calls != right->calls)
		return left->calls < right->calls ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void make_rows(const struct asking *a, struct gpu_rows *rows)
{
	for (uint32_t id = 1; id <= a->ops; id++) {
		const struct group *g = &a->groups[id - 1];
		if (!g->most || !(a->all ? g->sums.calls : g->calls + g->ns))
			continue;
		struct gpu_row *row = &rows->rows[rows->count++];
		fill_row(a, id, row);
		rows->total_ns += row->total_ns;
		rows->calls += row->calls;
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
}

struct gpu_rows *query_gpu(const struct profile *p, const struct query *query, struct error *err)
{
	struct query of_gpu = *query;
	cleanup(scope) struct scope scope = { 0 };
	cleanup(gpu_rows) struct gpu_rows *rows = calloc(1, sizeof(*rows));
	cleanup(asking) struct asking a = {
		.profile = p,
		.scope = &scope,
		.ops = profile_ops(p) ? ops_count(profile_ops(p)) : 0,
		.all = !query->from_ns && !query->to_ns && !query->thread,
	};

	of_gpu.of = QUERY_GPU;
	if (rows && scope_init(&scope, p, &of_gpu, err) < 0)
		return NULL;
	a.groups = calloc((size_t)a.ops + 1, sizeof(*a.groups));
	if (rows)
		rows->rows = calloc((size_t)a.ops + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows || !a.groups || !group_works(&a)) {
		error_set(err, ENOMEM, "could not list what the GPU ran");
		return NULL;
	}
	add_cells(&a);
	make_rows(&a, rows);
	return steal(rows);
}

// Facts.

// A window of the run, in bins of the states and in time.
struct window {
	uint32_t first_bin, end_bin;
	uint64_t begin_ns, end_ns;
};

static struct window window_of(const struct profile *p, const struct query *query)
{
	const struct cells *c = &profile_gpu(p)->states;
	uint64_t start = profile_start_ns(p);
	struct window w = { 0, CELLS_BINS, 0, UINT64_MAX };

	if (query->from_ns) {
		w.begin_ns = start + query->from_ns;
		w.first_bin = scope_bin(c, w.begin_ns);
	}
	if (query->to_ns) {
		w.end_ns = start + query->to_ns;
		w.end_bin = scope_bin(c, w.end_ns);
	}
	return w;
}

static uint64_t span_of(const struct gpu_device *device, const struct window *w)
{
	uint64_t begin = device->first_ns > w->begin_ns ? device->first_ns : w->begin_ns;
	uint64_t end = device->end_ns < w->end_ns ? device->end_ns : w->end_ns;

	return end > begin ? end - begin : 0;
}

static void add_states(const struct profile *p, const struct window *w, struct gpu_facts *facts)
{
	const struct cells *c = &profile_gpu(p)->states;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct cell *cell = &c->cells[i];
		if (cell->metric >= GPU_STATES)
			continue;
		struct gpu_device_row *row = &facts->devices[cell->node - 1];
		uint64_t *sums[GPU_STATES] = { &row->busy_ns, &row->kernel_ns, &row->copy_ns,
			                       &row->overlap_ns, &row->copy_hidden_ns };
		*sums[cell->metric] += cells_between(c, cell, w->first_bin, w->end_bin);
	}
}

static void fill_device(const struct profile *p, const struct gpu_device *device,
                        const struct window *w, struct gpu_device_row *row)
{
	const char *name = profile_string(p, device->name);

	*row = (struct gpu_device_row){
		.name = name ? name : "",
		.process = profile_owner(p, device->process),
		.number = device->number,
		.compute_major = device->compute_major,
		.compute_minor = device->compute_minor,
		.multiprocessors = device->multiprocessors,
		.memory_bytes = device->memory_bytes,
		.memory_bytes_per_s = device->memory_bytes_per_s,
		.peak_bytes = device->peak_bytes,
		.peak_within = device->peak_ns >= w->begin_ns && device->peak_ns < w->end_ns,
		.span_ns = span_of(device, w),
	};
}

static void count_streams(const struct gpu *g, struct gpu_facts *facts)
{
	for (uint32_t i = 0; i < g->stream_count; i++)
		if (g->streams[i].works)
			facts->devices[g->streams[i].device - 1].streams++;
}

static void fill_calls(const struct gpu *g, struct gpu_facts *facts)
{
	static const enum gpu_sync_kind host[] = { GPU_SYNC_EVENT, GPU_SYNC_STREAM,
		                                   GPU_SYNC_CONTEXT };
	uint64_t queued = 0, calls = 0;

	for (size_t i = 0; i < sizeof(host) / sizeof(host[0]); i++) {
		facts->sync_count += g->syncs[host[i]].count;
		facts->sync_ns += g->syncs[host[i]].ns;
	}
	facts->stream_waits = g->syncs[GPU_SYNC_STREAM_WAIT].count;
	facts->latency_ns = histogram_quantile(&g->latencies, 0.5);
	facts->latency90_ns = histogram_quantile(&g->latencies, 0.9);
	for (uint32_t i = 0; i < g->works.count; i++) {
		queued += g->works.works[i].sums.queued_ns;
		calls += g->works.works[i].sums.calls - g->works.works[i].sums.untied;
	}
	facts->latency_average_ns = calls ? queued / calls : 0;
	// Little's law: how many there are on average is how often one comes times how long it
	// stays.
	facts->queue = facts->span_ns ? (double)queued / (double)facts->span_ns : 0;
}

// The same of a part of the run; what began in it counts, for as long as it lasted there.
static void fill_window(const struct gpu *g, const struct window *w, struct gpu_facts *facts)
{
	const struct cells *c = &g->states;
	uint64_t ns[GPU_STATE_METRICS] = { 0 }, count[GPU_STATE_METRICS] = { 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		const struct cell *cell = &c->cells[i];
		ns[cell->metric] += cells_between(c, cell, w->first_bin, w->end_bin);
		if (cell->bin >= w->first_bin && cell->bin < w->end_bin)
			count[cell->metric] += cell->samples;
	}
	facts->sync_count = count[GPU_HOST_WAITS];
	facts->sync_ns = ns[GPU_HOST_WAITS];
	facts->latency_average_ns = count[GPU_QUEUED] ? ns[GPU_QUEUED] / count[GPU_QUEUED] : 0;
	facts->queue = facts->span_ns ? (double)ns[GPU_QUEUED] / (double)facts->span_ns : 0;
}

static bool writes(const struct gpu_managed *m)
{
	return m->cause == GPU_MANAGED_WRITE || m->cause == GPU_MANAGED_ATOMIC;
}

static void add_move(const struct gpu_managed *m, struct gpu_paging *paging)
{
	if (m->cause == GPU_MANAGED_ASKED)
		return;
	paging->ns += m->ns;
	paging->bytes += m->value;
	paging->to_host_ns += m->kind == GPU_MANAGED_TO_HOST ? m->ns : 0;
	paging->evicted_ns += m->cause == GPU_MANAGED_EVICTED ? m->ns : 0;
}

static void add_managed(const struct gpu_managed *m, struct gpu_paging *paging)
{
	switch (m->kind) {
	case GPU_MANAGED_TO_DEVICE:
	case GPU_MANAGED_TO_HOST:
	case GPU_MANAGED_BETWEEN:
		add_move(m, paging);
		break;
	case GPU_MANAGED_HOST_FAULT:
		paging->host_faults += m->count;
		paging->host_writes += writes(m) ? m->count : 0;
		break;
	case GPU_MANAGED_DEVICE_FAULT:
		paging->device_groups += m->value;
		paging->device_writes += writes(m) ? m->value : 0;
		break;
	case GPU_MANAGED_THRASHING:
		paging->thrashing += m->count;
		break;
	case GPU_MANAGED_THROTTLING:
		paging->throttled_ns += m->ns;
		break;
	case GPU_MANAGED_REMOTE_MAP:
		paging->remote_bytes += m->value;
		break;
	default:
		break;
	}
}

static void fill_troubles(const struct gpu *g, struct gpu_facts *facts)
{
	facts->allocations = g->allocations;
	facts->jit_count = g->jit.count;
	facts->jit_ns = g->jit.ns;
	facts->overhead_compile_ns = g->overheads[GPU_OVERHEADS - 1].ns;
	for (int i = 0; i < GPU_OVERHEADS - 1; i++)
		facts->overhead_ns += g->overheads[i].ns;
	memcpy(facts->losses, g->losses, sizeof(facts->losses));
	facts->gap_count = g->gaps[GPU_GAP_ACTIVITY].count;
	facts->gap_ns = g->gaps[GPU_GAP_ACTIVITY].ns;
	facts->untied = g->untied;
	facts->lost = g->lost + g->works.lost;
	facts->folded = g->works.folded;
	for (uint32_t i = 0; i < g->device_count; i++)
		facts->late += g->devices[i].late;
}

struct gpu_facts *query_gpu_facts(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	const struct gpu *g = profile_gpu(p);
	struct window w = window_of(p, query);
	cleanup(gpu_facts) struct gpu_facts *facts = calloc(1, sizeof(*facts));

	if (facts)
		facts->devices = calloc((size_t)g->device_count + 1, sizeof(*facts->devices));
	if (!facts || !facts->devices) {
		error_set(err, ENOMEM, "could not list the GPUs");
		return NULL;
	}
	facts->device_count = g->device_count;
	for (uint32_t i = 0; i < g->device_count; i++)
		fill_device(p, &g->devices[i], &w, &facts->devices[i]);
	add_states(p, &w, facts);
	count_streams(g, facts);
	for (uint32_t i = 0; i < g->device_count; i++) {
		facts->span_ns += facts->devices[i].span_ns;
		facts->busy_ns += facts->devices[i].busy_ns;
	}
	fill_calls(g, facts);
	if (query->from_ns || query->to_ns)
		fill_window(g, &w, facts);
	for (uint32_t i = 0; i < g->managed_count; i++)
		add_managed(&g->managed[i], &facts->managed);
	fill_troubles(g, facts);
	return steal(facts);
}

void gpu_stream_rows_free(struct gpu_stream_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void fill_stream_row(const struct profile *p, const struct gpu_stream *stream,
                            struct gpu_stream_row *row)
{
	const struct gpu_device *device = &profile_gpu(p)->devices[stream->device - 1];
	const struct process_info *process = profile_process(p, stream->process);
	const char *name = profile_string(p, device->name);

	*row = (struct gpu_stream_row){
		.number = stream->number,
		.context = stream->context,
		.device = device->number,
		.device_name = name ? name : "",
		.process = profile_owner(p, stream->process),
		.pid = process ? process->pid : 0,
		.works = stream->works,
		.kernels = stream->kernels,
		.busy_ns = stream->busy_ns,
		.shared_ns = stream->shared_ns,
		.span_ns = device->end_ns - device->first_ns,
	};
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

// Total: the same profile gives the same order on every machine.
static int compare_stream_rows(const void *a, const void *b)
{
	const struct gpu_stream_row *left = a, *right = b;

	if (left->busy_ns != right->busy_ns)
		return left->busy_ns < right->busy_ns ? 1 : -1;
	int order = compare_u32(left->device, right->device);
	order = order ? order : compare_u32(left->pid, right->pid);
	order = order ? order : compare_u32(left->context, right->context);
	return order ? order : compare_u32(left->number, right->number);
}

// Whether stream AT is the first of its device, or process.
static bool is_first(const struct gpu *g, uint32_t at, bool of_process)
{
	for (uint32_t i = 0; i < at; i++) {
		const struct gpu_stream *s = &g->streams[i];
		if (s->works && (of_process ? s->process == g->streams[at].process
		                            : s->device == g->streams[at].device))
			return false;
	}
	return true;
}

struct gpu_stream_rows *query_gpu_streams(const struct profile *p, struct error *err)
{
	const struct gpu *g = profile_gpu(p);
	cleanup(gpu_stream_rows) struct gpu_stream_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->rows = calloc((size_t)g->stream_count + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows) {
		error_set(err, ENOMEM, "could not list the streams of the GPU");
		return NULL;
	}
	for (uint32_t i = 0; i < g->stream_count; i++) {
		if (!g->streams[i].works)
			continue;
		fill_stream_row(p, &g->streams[i], &rows->rows[rows->count++]);
		rows->devices += is_first(g, i, false);
		rows->processes += is_first(g, i, true);
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_stream_rows);
	return steal(rows);
}
