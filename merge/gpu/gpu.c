// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool gpu_init(struct gpu *g)
{
	return cells_init(&g->paths) && cells_init(&g->idle) && cells_init(&g->states);
}

void gpu_fini(struct gpu *g)
{
	for (uint32_t i = 0; g->live.busy && i < g->device_count; i++)
		gpu_busy_fini(&g->live.busy[i]);
	free(g->live.busy);
	gpu_idle_fini(&g->live.idle);
	free(g->live.aliases);
	free(g->live.site_nodes);
	free(g->live.site_threads);
	free(g->devices);
	free(g->streams);
	free(g->managed);
	gpu_works_fini(&g->works);
	histogram_fini(&g->latencies);
	cells_fini(&g->paths);
	cells_fini(&g->idle);
	cells_fini(&g->states);
	*g = (struct gpu){ 0 };
}

bool gpu_is_empty(const struct gpu *g)
{
	bool lost = false;

	for (int i = 0; i < GPU_LOSSES; i++)
		lost |= g->losses[i] != 0;
	return !g->device_count && !lost && !g->gaps[GPU_GAP_ACTIVITY].count;
}

static uint32_t find_alias(const struct gpu *g, uint32_t process, uint32_t number)
{
	for (size_t i = 0; i < g->live.alias_count; i++)
		if (g->live.aliases[i].process == process && g->live.aliases[i].number == number)
			return g->live.aliases[i].device;
	return 0;
}

static bool add_alias(struct gpu *g, uint32_t process, uint32_t number, uint32_t device)
{
	struct gpu_live *live = &g->live;

	if (!array_reserve(&live->aliases, &live->alias_capacity, live->alias_count + 1))
		return false;
	live->aliases[live->alias_count++] = (struct gpu_alias){ process, number, device };
	return true;
}

static uint32_t add_device(struct gpu *g, uint32_t slot, uint32_t number)
{
	if (!g->live.busy)
		g->live.busy = calloc(GPU_DEVICES_MAX, sizeof(*g->live.busy));
	if (!g->live.busy || g->device_count == GPU_DEVICES_MAX ||
	    !array_reserve(&g->devices, &g->device_capacity, (size_t)g->device_count + 1))
		return 0;
	g->devices[g->device_count++] = (struct gpu_device){ .number = number, .process = slot };
	return g->device_count;
}

uint32_t gpu_device_of(struct gpu *g, uint32_t process, uint32_t slot, uint32_t number)
{
	uint32_t device = find_alias(g, process, number);

	if (device)
		return device;
	device = add_device(g, slot, number);
	return device && add_alias(g, process, number, device) ? device : 0;
}

static bool has_uuid(const uint8_t uuid[16])
{
	static const uint8_t none[16];

	return memcmp(uuid, none, sizeof(none)) != 0;
}

// Processes may number the same devices differently (CUDA_VISIBLE_DEVICES).
static uint32_t find_uuid(const struct gpu *g, const uint8_t uuid[16])
{
	for (uint32_t i = 0; has_uuid(uuid) && i < g->device_count; i++)
		if (memcmp(g->devices[i].uuid, uuid, sizeof(g->devices[i].uuid)) == 0)
			return i + 1;
	return 0;
}

void gpu_know_device(struct gpu *g, uint32_t process, uint32_t slot,
                     const struct record_gpu_device *record, uint32_t name)
{
	uint32_t known = find_uuid(g, record->uuid);

	if (known && !find_alias(g, process, record->device))
		add_alias(g, process, record->device, known);
	uint32_t id = known ? known : gpu_device_of(g, process, slot, record->device);
	if (!id)
		return;
	struct gpu_device *device = &g->devices[id - 1];
	device->name = name;
	memcpy(device->uuid, record->uuid, sizeof(device->uuid));
	device->memory_bytes = record->memory_bytes;
	device->memory_bytes_per_s = record->memory_bytes_per_s;
	device->clock_khz = record->clock_khz;
	device->compute_major = record->compute_major;
	device->compute_minor = record->compute_minor;
	device->multiprocessors = record->multiprocessors;
	device->max_warps = record->max_warps;
	device->max_blocks = record->max_blocks;
	device->max_shared = record->max_shared;
	device->max_registers = record->max_registers;
	device->warp_threads = record->warp_threads;
	device->copy_engines = record->copy_engines;
}

// Most activities are of one stream after the other: the newest are looked at first.
struct gpu_stream *gpu_stream_of(struct gpu *g, uint32_t device, uint32_t process_slot,
                                 uint32_t context, uint32_t number)
{
	for (uint32_t i = g->stream_count; i > 0; i--) {
		struct gpu_stream *s = &g->streams[i - 1];
		if (s->number == number && s->context == context && s->device == device &&
		    s->process == process_slot)
			return s;
	}
	if (g->stream_count == GPU_STREAMS_MAX ||
	    !array_reserve(&g->streams, &g->stream_capacity, (size_t)g->stream_count + 1))
		return NULL;
	g->streams[g->stream_count++] = (struct gpu_stream){
		.device = device, .process = process_slot, .context = context, .number = number
	};
	return &g->streams[g->stream_count - 1];
}

void gpu_count_memory(struct gpu *g, uint32_t device, const struct record_gpu_memory *record)
{
	struct gpu_device *d = &g->devices[device - 1];
	bool on_device =
		record->memory == GPU_MEMORY_DEVICE || record->memory == GPU_MEMORY_DEVICE_STATIC;

	if (!on_device)
		return;
	if (record->operation == GPU_ALLOCATED) {
		g->allocations++;
		d->live_bytes += record->bytes;
	} else {
		d->live_bytes -= d->live_bytes < record->bytes ? d->live_bytes : record->bytes;
	}
	if (d->live_bytes <= d->peak_bytes)
		return;
	d->peak_bytes = d->live_bytes;
	d->peak_ns = record->at_ns;
}

static void count(struct gpu_count *c, uint64_t begin_ns, uint64_t end_ns)
{
	c->count++;
	c->ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
}

void gpu_count_sync(struct gpu *g, const struct record_gpu_sync *record)
{
	count(&g->syncs[record->kind < GPU_SYNC_KINDS ? record->kind : 0], record->begin_ns,
	      record->end_ns);
}

static bool is_alike(const struct gpu_managed *a, const struct gpu_managed *b)
{
	return a->kind == b->kind && a->cause == b->cause && a->device == b->device &&
	       a->process == b->process && a->location == b->location;
}

static struct gpu_managed *find_managed(struct gpu *g, const struct gpu_managed *like)
{
	for (uint32_t i = 0; i < g->managed_count; i++)
		if (is_alike(&g->managed[i], like))
			return &g->managed[i];
	return NULL;
}

// Wherever faults are, there is room for the other kinds.
static struct gpu_managed *make_managed(struct gpu *g, const struct gpu_managed *like)
{
	struct gpu_managed made = *like;

	if (made.location && g->managed_count >= GPU_PLACES_MAX) {
		made.location = 0;
		struct gpu_managed *placeless = find_managed(g, &made);
		if (placeless)
			return placeless;
	}
	made.count = made.ns = made.value = 0;
	if (g->managed_count == GPU_MANAGED_MAX ||
	    !array_reserve(&g->managed, &g->managed_capacity, (size_t)g->managed_count + 1))
		return NULL;
	g->managed[g->managed_count] = made;
	return &g->managed[g->managed_count++];
}

bool gpu_add_managed(struct gpu *g, const struct gpu_managed *more)
{
	struct gpu_managed *m = find_managed(g, more);

	if (!m && !(m = make_managed(g, more)))
		return false;
	m->count += more->count;
	m->ns += more->ns;
	m->value += more->value;
	return true;
}

bool gpu_place_managed(struct gpu *g, const struct gpu_managed *some, uint32_t location)
{
	struct gpu_managed placed = *some, *m = find_managed(g, some);

	if (!m || m->count < some->count || m->ns < some->ns || m->value < some->value)
		return true; // it was not added: there was no room
	m->count -= some->count;
	m->ns -= some->ns;
	m->value -= some->value;
	placed.location = location;
	return gpu_add_managed(g, &placed);
}

void gpu_keep_locations(const struct gpu *g, bool *kept)
{
	size_t faults = g->live.touches.touch_count;

	for (uint32_t i = 0; i < g->managed_count; i++)
		if (g->managed[i].location)
			kept[g->managed[i].location - 1] = true;
	for (size_t i = 0; i < faults && i < GPU_TOUCHES_KEPT; i++)
		kept[g->live.touches.touches[i].location - 1] = true;
}

void gpu_move_locations(struct gpu *g, const uint32_t *map)
{
	for (uint32_t i = 0; i < g->managed_count; i++)
		if (g->managed[i].location)
			g->managed[i].location = map[g->managed[i].location - 1];
	gpu_touches_move_locations(&g->live.touches, map);
}

void gpu_count_overhead(struct gpu *g, const struct record_gpu_overhead *record)
{
	uint32_t kind = record->what == 1 ? GPU_OVERHEADS - 1 : record->what >> 16;

	count(&g->overheads[kind < GPU_OVERHEADS ? kind : 0], record->begin_ns, record->end_ns);
}

void gpu_count_gap(struct gpu *g, const struct record_gpu_gap *record)
{
	if (record->what >= GPU_GAPS)
		return;
	g->live.gap_begin_ns[record->what] = record->end_ns ? 0 : record->begin_ns;
	if (record->end_ns)
		count(&g->gaps[record->what], record->begin_ns, record->end_ns);
}

void gpu_move_nodes(struct gpu *g, const uint32_t *map)
{
	cells_move_nodes(&g->paths, map);
	cells_move_nodes(&g->idle, map);
	gpu_idle_move_nodes(&g->live.idle, map);
	for (size_t i = 0; i < g->live.site_count; i++)
		if (g->live.site_nodes[i])
			g->live.site_nodes[i] = map[g->live.site_nodes[i] - 1];
}
