// SPDX-License-Identifier: MIT
// What a profile is told of GPUs.
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "symbolize/cubin.h"

#include <stdio.h>
#include <string.h>

#define LAG_NS     (5 * NS_PER_SEC) // what is told later than that is late
#define SETTLES_NS NS_PER_SEC       // how often what is older becomes final

static struct frame frame_of_op(uint32_t op)
{
	return (struct frame){ .address = op, .kind = FRAME_OP };
}

void profile_add_gpu_site(struct profile *p, const struct gpu_site_event *event)
{
	struct gpu_live *live = &p->gpu.live;
	uint32_t slot = threads_slot(&p->threads, event->thread);
	const struct stack stack = {
		.thread = event->thread,
		.flags = event->flags,
		.count = event->count,
		.frames = event->frames,
	};

	profile_note_time(p, event->time_ns);
	if (!event->site || !slot ||
	    !array_reserve(&live->site_nodes, &live->site_capacity, event->site) ||
	    !array_reserve(&live->site_threads, &live->site_thread_capacity, event->site))
		return;
	for (; live->site_count < event->site; live->site_count++)
		live->site_nodes[live->site_count] = live->site_threads[live->site_count] = 0;
	live->site_nodes[event->site - 1] = profile_add_path(p, slot, &stack);
	live->site_threads[event->site - 1] = slot;
	gpu_idle_launches(&live->idle, slot);
}

// Who launched it; 0 if that is not known.
static uint32_t thread_of(const struct profile *p, const struct gpu_event *event)
{
	uint32_t site = event->call.site;

	return site && site <= p->gpu.live.site_count ? p->gpu.live.site_threads[site - 1] : 0;
}

// Without a call it stands in the process's first thread, below nobody.
static uint32_t node_without_call(struct profile *p, const struct gpu_event *event)
{
	const struct frame frame = frame_of_op(event->op);
	const struct stack stack = { .count = 1, .frames = &frame };
	uint32_t slot = threads_main(&p->threads, event->process);

	return slot ? profile_add_path(p, slot, &stack) : 0;
}

static uint32_t node_of(struct profile *p, const struct gpu_event *event)
{
	uint32_t site = event->call.site;

	if (!site || site > p->gpu.live.site_count || !profile_make_room(p, 1))
		return node_without_call(p, event);
	uint32_t node = p->gpu.live.site_nodes[site - 1]; // it may have been moved just now
	uint32_t location = node ? profile_add_location(p, frame_of_op(event->op)) : 0;
	return location ? paths_child(&p->paths, node, location) : 0;
}

bool profile_add_gpu_interval(struct profile *p, struct cells *c, uint32_t node, int metric,
                              const struct interval *interval)
{
	uint64_t missing;

	c->origin_ns = p->cells.origin_ns;
	while (c->count + cells_fit(c, interval) > p->limits.cells) {
		if (!c->last_bin)
			return false;
		cells_widen(c);
	}
	return cells_add(c, node, (enum metric)metric, interval, &missing);
}

struct settling {
	struct profile *profile;
	uint32_t device; // index + 1
};

static void on_state(void *context, enum gpu_state state, uint64_t begin_ns, uint64_t end_ns)
{
	const struct settling *s = context;
	struct profile *p = s->profile;
	const struct interval interval = { begin_ns, end_ns - begin_ns, end_ns - begin_ns, 0 };

	p->gpu.lost += !profile_add_gpu_interval(p, &p->gpu.states, s->device, state, &interval);
}

static void on_gap(void *context, uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	const struct settling *s = context;
	const struct gpu_gap_time gap = { begin_ns, end_ns, thread, s->device - 1 };
	struct gpu_device *device = &s->profile->gpu.devices[s->device - 1];

	if (end_ns - begin_ns > device->longest_gap_ns)
		device->longest_gap_ns = end_ns - begin_ns;

	gpu_idle_gap(&s->profile->gpu.live.idle, &gap);
}

static void on_shared(void *context, uint32_t stream, uint64_t ns)
{
	const struct settling *s = context;

	if (stream)
		s->profile->gpu.streams[stream - 1].shared_ns += ns;
}

static void on_idle(void *context, const struct gpu_idle_part *part)
{
	struct profile *p = context;
	const struct interval interval = { part->begin_ns, part->duration_ns, part->ns, 1 };
	uint32_t metric = gpu_idle_metric(part->device, part->stack->metric);

	p->gpu.lost += !profile_add_gpu_interval(p, &p->gpu.idle, part->stack->node, (int)metric,
	                                         &interval);
}

// From here on a gap may still be open, and nobody knows whose it is.
static uint64_t gaps_known_until(const struct gpu *g, uint64_t until_ns)
{
	for (uint32_t i = 0; i < g->device_count; i++) {
		const struct gpu_busy *busy = &g->live.busy[i];
		if (busy->first_ns && busy->end_ns < until_ns)
			until_ns = busy->end_ns;
	}
	return until_ns;
}

static void settle(struct profile *p, uint64_t until_ns)
{
	struct gpu *g = &p->gpu;

	if (!g->live.busy)
		return;
	for (uint32_t i = 0; i < g->device_count; i++) {
		struct gpu_busy *busy = &g->live.busy[i];
		struct settling settling = { p, i + 1 };
		const struct gpu_busy_sink sink = { &settling, on_state, on_gap, on_shared };
		g->lost += !gpu_busy_settle(busy, until_ns, &sink);
		g->devices[i].first_ns = busy->first_ns;
		g->devices[i].end_ns = busy->end_ns;
		g->devices[i].late = busy->late;
	}
	gpu_idle_settle(&g->live.idle, gaps_known_until(g, until_ns), on_idle, p);
	g->live.settled_ns = until_ns;
}

void profile_note_idle(struct profile *p, uint32_t node, uint32_t slot, const struct stack *stack)
{
	const struct gpu_idle_stack waiting = {
		.begin_ns = stack->time_ns,
		.duration_ns = stack->duration_ns,
		.weight_ns = stack->weight_ns,
		.node = node,
		.thread = slot,
		.metric = stack->metric,
	};

	gpu_idle_add(&p->gpu.live.idle, &waiting);
}

void profile_end_gpu(struct profile *p)
{
	struct gpu_live *live = &p->gpu.live;

	settle(p, UINT64_MAX);
	for (int i = 0; i < GPU_GAPS; i++) {
		if (!live->gap_begin_ns[i])
			continue;
		const struct record_gpu_gap open = { .begin_ns = live->gap_begin_ns[i],
			                             .end_ns = p->last_ns,
			                             .what = (uint32_t)i };
		gpu_count_gap(&p->gpu, &open);
	}
}

static void note_told(struct profile *p, const struct record *record)
{
	struct gpu_live *live = &p->gpu.live;

	if (record->time_ns > live->told_ns)
		live->told_ns = record->time_ns;
	if (live->told_ns > live->settled_ns + LAG_NS + SETTLES_NS)
		settle(p, live->told_ns - LAG_NS);
}

static struct gpu_shape shape_of(const struct record_gpu_kernel *kernel)
{
	return (struct gpu_shape){
		.grid = { kernel->grid[0], kernel->grid[1], kernel->grid[2] },
		.block = { kernel->block[0], kernel->block[1], kernel->block[2] },
		.registers = kernel->registers,
		.static_shared = kernel->static_shared,
		.dynamic_shared = kernel->dynamic_shared,
		.local_per_thread = kernel->local_per_thread,
	};
}

static struct gpu_work_key key_of(const struct gpu_event *event, uint32_t process, uint32_t device)
{
	struct gpu_work_key key = { .op = event->op, .process = process, .device = device };

	switch (event->record->type) {
	case RECORD_GPU_KERNEL:
		key.kind = GPU_WORK_KERNEL;
		key.shape = shape_of((const struct record_gpu_kernel *)event->record);
		break;
	case RECORD_GPU_COPY: {
		const struct record_gpu_copy *copy = (const struct record_gpu_copy *)event->record;
		key.kind = GPU_WORK_COPY;
		key.copy = copy->kind | (uint32_t)copy->from << 8 | (uint32_t)copy->to << 16;
		key.async = (copy->head.flags & GPU_ASYNC) != 0;
		break;
	}
	case RECORD_GPU_SET:
		key.kind = GPU_WORK_SET;
		break;
	default:
		key.kind = GPU_WORK_GRAPH;
		break;
	}
	return key;
}

static uint64_t bytes_of(const struct record *record)
{
	if (record->type == RECORD_GPU_COPY)
		return ((const struct record_gpu_copy *)record)->bytes;
	return record->type == RECORD_GPU_SET ? ((const struct record_gpu_set *)record)->bytes : 0;
}

// Kernels of one launch shape: what is to take the same time each time.
static uint32_t series_of(struct profile *p, const struct gpu_work_key *key)
{
	const struct gpu_shape *s = &key->shape;
	char text[96] = "";

	if (s->block[0])
		snprintf(text, sizeof(text), "%ux%ux%u x %ux%ux%u", s->grid[0], s->grid[1],
		         s->grid[2], s->block[0], s->block[1], s->block[2]);
	uint32_t shape = *text ? strings_add(p->strings, text) : 0;
	return key->process ? series_get(&p->series, key->op, shape, key->process) : 0;
}

// The index of the row + 1; 0: there is no room for one.
static uint32_t add_to_work(struct profile *p, const struct gpu_work_key *key,
                            const struct gpu_work_sums *sums, uint64_t begin_ns)
{
	struct gpu_work *work = gpu_works_get(&p->gpu.works, key);
	bool timed = !sums->untimed;

	if (!work) {
		p->gpu.works.lost++;
		return 0;
	}
	uint32_t number = (uint32_t)(work - p->gpu.works.works) + 1;
	gpu_work_sums_add(&work->sums, sums);
	if (!timed)
		return number;
	if (!histogram_add(&work->durations, sums->total_ns, 1))
		histogram_add_near(&work->durations, sums->total_ns, 1);
	if (key->kind != GPU_WORK_KERNEL && key->kind != GPU_WORK_GRAPH)
		return number; // copies are of all sizes
	if (!work->series)
		work->series = series_of(p, &work->key);
	series_add(&p->series, work->series, begin_ns, sums->total_ns);
	return number;
}

// Of what runs nowhere there is nothing to draw.
static void add_slice(struct profile *p, const struct gpu_event *event, const struct gpu_span *span,
                      uint32_t work, const struct gpu_stream *stream)
{
	const struct slice slice = {
		.kind = SLICE_GPU,
		.begin_ns = span->begin_ns,
		.end_ns = span->end_ns,
		.thread = span->thread,
		.what = work,
		.place = stream ? (uint32_t)(stream - p->gpu.streams) + 1 : 0,
		.number = bytes_of(event->record),
		.call_ns = event->call.op ? event->call.begin_ns : 0,
	};

	if (work && stream)
		slices_add(&p->slices, &slice);
}

static void add_work(struct profile *p, const struct gpu_event *event, uint32_t process)
{
	struct gpu *g = &p->gpu;
	struct gpu_place place;
	uint64_t begin_ns, end_ns;

	gpu_record_work(event->record, &place, &begin_ns, &end_ns);
	bool timed = !(event->record->flags & GPU_UNTIMED) && end_ns >= begin_ns;
	uint64_t ns = timed ? end_ns - begin_ns : 0;
	uint32_t device = gpu_device_of(g, event->process, process, place.device);
	bool tied = event->call.op != 0, queued = tied && timed && begin_ns > event->call.begin_ns;
	const struct gpu_work_sums sums = {
		.calls = 1,
		.untimed = !timed,
		.untied = !tied,
		.total_ns = ns,
		.min_ns = ns,
		.max_ns = ns,
		.bytes = bytes_of(event->record),
		.queued_ns = queued ? begin_ns - event->call.begin_ns : 0,
	};
	const struct gpu_work_key key = key_of(event, process, device);
	struct gpu_span span = { begin_ns, end_ns, thread_of(p, event),
		                 key.kind == GPU_WORK_COPY || key.kind == GPU_WORK_SET, 0 };
	const struct interval interval = { begin_ns, ns, ns, 1 };

	g->untied += !tied;
	uint32_t work = add_to_work(p, &key, &sums, begin_ns);
	if (!device || !timed)
		return;
	if (queued) {
		const struct interval waiting = { event->call.begin_ns, sums.queued_ns,
			                          sums.queued_ns, 1 };
		histogram_add(&g->latencies, sums.queued_ns, 1);
		g->lost += !profile_add_gpu_interval(p, &g->states, device, GPU_QUEUED, &waiting);
	}
	struct gpu_stream *stream = gpu_stream_of(g, device, process, place.context, place.stream);
	if (stream) {
		stream->works++;
		stream->kernels += key.kind == GPU_WORK_KERNEL;
		stream->busy_ns += ns;
		span.stream = (uint32_t)(stream - g->streams) + 1;
	}
	add_slice(p, event, &span, work, stream);
	profile_note_time(p, begin_ns);
	uint32_t node = node_of(p, event);
	g->lost += !node || !profile_add_gpu_interval(p, &g->paths, node, 0, &interval);
	g->lost += !gpu_busy_add(&g->live.busy[device - 1], &span);
}

static void know_device(struct profile *p, const struct gpu_event *event, uint32_t process)
{
	const struct record_gpu_device *device = (const struct record_gpu_device *)event->record;

	gpu_know_device(&p->gpu, event->process, process, device,
	                strings_add(p->strings, (const char *)(device + 1)));
}

static void count_memory(struct profile *p, const struct gpu_event *event, uint32_t process)
{
	const struct record_gpu_memory *memory = (const struct record_gpu_memory *)event->record;
	uint32_t device = gpu_device_of(&p->gpu, event->process, process, memory->place.device);

	if (device)
		gpu_count_memory(&p->gpu, device, memory);
}

// What the flags of a kind of event say.
static uint32_t cause_of(const struct record_gpu_managed *told)
{
	bool has_cause = gpu_managed_moves(told->kind) || told->kind == GPU_MANAGED_HOST_FAULT ||
	                 told->kind == GPU_MANAGED_DEVICE_FAULT ||
	                 told->kind == GPU_MANAGED_REMOTE_MAP;

	return has_cause && told->cause < GPU_MANAGED_CAUSES ? told->cause : 0;
}

struct placing {
	struct profile *profile;
	uint32_t location;
};

static void place_move(void *context, const struct gpu_move *move)
{
	const struct placing *placing = context;
	const struct gpu_managed some = {
		.kind = GPU_MANAGED_TO_HOST,
		.cause = move->cause,
		.device = move->device,
		.process = move->process,
		.count = 1,
		.ns = move->ns,
		.value = move->bytes,
	};
	struct gpu *g = &placing->profile->gpu;

	g->lost += !gpu_place_managed(g, &some, placing->location);
}

// Of a page fault the instruction; of what came to the host for one, that one's.
static uint32_t location_of(struct profile *p, const struct gpu_event *event,
                            const struct record_gpu_managed *told, const struct gpu_managed *more)
{
	const struct gpu_move move = { told->begin_ns, told->address, more->value, more->ns,
		                       more->process,  more->device,  more->cause };
	bool is_fault = told->kind == GPU_MANAGED_HOST_FAULT && event->code.module;
	uint32_t location = is_fault ? profile_add_location(p, event->code) : 0;
	const struct gpu_touch fault = { told->begin_ns, told->address, more->process, location };
	struct placing placing = { p, location };

	if (location)
		gpu_touches_add(&p->gpu.live.touches, &fault, &placing, place_move);
	if (told->kind == GPU_MANAGED_TO_HOST &&
	    (more->cause == GPU_MANAGED_ACCESS || more->cause == GPU_MANAGED_AHEAD))
		return gpu_touches_move(&p->gpu.live.touches, &move);
	return location;
}

static void count_managed(struct profile *p, const struct gpu_event *event, uint32_t process)
{
	const struct record_gpu_managed *told = (const struct record_gpu_managed *)event->record;
	struct gpu_managed more = {
		.kind = told->kind < GPU_MANAGED_KINDS ? told->kind : 0,
		.cause = cause_of(told),
		.process = process,
		.count = 1,
		.ns = told->end_ns > told->begin_ns ? told->end_ns - told->begin_ns : 0,
		.value = told->kind == GPU_MANAGED_HOST_FAULT ? 0 : told->value,
	};

	if (told->device != GPU_MANAGED_HOST)
		more.device = gpu_device_of(&p->gpu, event->process, process, told->device);
	more.location = location_of(p, event, told, &more);
	p->gpu.lost += !gpu_add_managed(&p->gpu, &more);
}

static void count_sync(struct profile *p, const struct record_gpu_sync *sync)
{
	bool timed = sync->begin_ns && sync->end_ns >= sync->begin_ns;
	uint64_t ns = timed ? sync->end_ns - sync->begin_ns : 0;
	const struct interval waiting = { sync->begin_ns, ns, ns, 1 };

	gpu_count_sync(&p->gpu, sync);
	if (timed && sync->kind != GPU_SYNC_STREAM_WAIT && sync->kind < GPU_SYNC_KINDS)
		p->gpu.lost +=
			!profile_add_gpu_interval(p, &p->gpu.states, 1, GPU_HOST_WAITS, &waiting);
}

static void count_loss(struct gpu *g, const struct record_gpu_lost *lost)
{
	if (lost->what < GPU_LOSSES)
		g->losses[lost->what] += lost->count;
}

static void count_jit(struct gpu *g, const struct record_gpu_jit *jit)
{
	g->jit.count++;
	g->jit.ns += jit->end_ns > jit->begin_ns ? jit->end_ns - jit->begin_ns : 0;
}

void profile_add_gpu(struct profile *p, const struct gpu_event *event)
{
	uint32_t process = threads_process_slot(&p->threads, event->process);
	const struct record *record = event->record;

	switch (record->type) {
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_COPY:
	case RECORD_GPU_SET:
	case RECORD_GPU_GRAPH:
		add_work(p, event, process);
		break;
	case RECORD_GPU_DEVICE:
		know_device(p, event, process);
		break;
	case RECORD_GPU_MEMORY:
		count_memory(p, event, process);
		break;
	case RECORD_GPU_MANAGED:
		count_managed(p, event, process);
		break;
	case RECORD_GPU_SYNC:
		count_sync(p, (const struct record_gpu_sync *)record);
		break;
	case RECORD_GPU_JIT:
		count_jit(&p->gpu, (const struct record_gpu_jit *)record);
		break;
	case RECORD_GPU_OVERHEAD:
		gpu_count_overhead(&p->gpu, (const struct record_gpu_overhead *)record);
		break;
	case RECORD_GPU_LOST:
		count_loss(&p->gpu, (const struct record_gpu_lost *)record);
		break;
	case RECORD_GPU_GAP:
		gpu_count_gap(&p->gpu, (const struct record_gpu_gap *)record);
		break;
	default:
		break;
	}
	note_told(p, record);
}

void profile_add_gpu_pc(struct profile *p, const struct gpu_pc_event *event)
{
	struct gpu_lines *g = &p->gpu_lines;
	const struct gpu_pc wanted = {
		.cubin_crc = event->cubin_crc,
		.offset = event->offset,
		.function = *event->function ? strings_add(p->strings, event->function) : 0,
	};
	uint32_t pc = gpu_lines_pc(g, &wanted);

	for (uint32_t i = 0; i < event->stall_count; i++) {
		const struct gpu_pc_stall *stall = &event->stalls[i];
		uint32_t reason = strings_add(p->strings, stall->reason);
		if (!pc ||
		    !gpu_lines_add(g, &(struct gpu_pc_samples){ pc, reason, stall->samples }))
			g->lost += stall->samples;
	}
}

void profile_add_gpu_pc_sum(struct profile *p, const struct gpu_pc_sum_event *event)
{
	p->gpu_lines.samples += event->samples;
	p->gpu_lines.dropped += event->dropped;
	p->gpu_lines.other += event->other;
}

bool profile_next_cubin(const struct profile *p, uint64_t *crc)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < p->gpu_lines.pc_count; i++) {
		uint64_t other = p->gpu_lines.pcs[i].cubin_crc;
		if (other > *crc && other < next)
			next = other;
	}
	*crc = next;
	return next != UINT64_MAX;
}

static void name_pc(struct profile *p, const struct cubin *cubin, struct gpu_pc *pc)
{
	struct cubin_place places[CUBIN_PLACES];
	const char *function = strings_get(p->strings, pc->function);
	uint32_t count = function ? cubin_find(cubin, function, pc->offset, places) : 0;

	if (!count)
		return;
	pc->file = strings_add(p->strings, places[0].file);
	pc->line = places[0].line;
	pc->inlined = strings_add(p->strings, places[0].function);
	pc->call_file = strings_add(p->strings, places[count - 1].file);
	pc->call_line = places[count - 1].line;
}

int profile_name_gpu_lines(struct profile *p, uint64_t crc, struct bytes image, struct error *err)
{
	cleanup(cubin) struct cubin *cubin = cubin_new(image, err);

	if (!cubin)
		return -1;
	for (uint32_t i = 0; i < p->gpu_lines.pc_count; i++)
		if (p->gpu_lines.pcs[i].cubin_crc == crc)
			name_pc(p, cubin, &p->gpu_lines.pcs[i]);
	return 0;
}
