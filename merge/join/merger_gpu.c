// SPDX-License-Identifier: MIT
/*
 * What GPUs did in one part.
 *
 * Each part has its devices and streams for itself, as far as there is room: when a device was busy
 * for two that share it is not known. What ran is a row of the first device that is called alike
 * where processes share rows, too.
 */
#include "base/array.h"
#include "merge/join/merger_data.h"

#include <stdlib.h>
#include <string.h>

static bool is_alike(const struct gpu_device *a, const struct gpu_device *b)
{
	return a->name == b->name && a->compute_major == b->compute_major &&
	       a->compute_minor == b->compute_minor && a->multiprocessors == b->multiprocessors;
}

// The first device of the profile that is like it: its index + 1; 0: there is none.
static uint32_t model_of(const struct gpu *g, const struct gpu_device *device)
{
	for (uint32_t i = 0; i < g->device_count; i++)
		if (is_alike(&g->devices[i], device))
			return i + 1;
	return 0;
}

static bool is_known(const struct gpu *g, const struct gpu_device *device)
{
	static const uint8_t none[sizeof(device->uuid)];

	if (memcmp(device->uuid, none, sizeof(none)) == 0)
		return false;
	for (uint32_t i = 0; i < g->device_count; i++)
		if (memcmp(g->devices[i].uuid, device->uuid, sizeof(none)) == 0)
			return true;
	return false;
}

static bool add_device(struct merger *m, uint32_t index)
{
	struct gpu *to = &m->profile->gpu;
	struct gpu_device device = m->part->gpu.devices[index];

	if (!merger_text(m, device.name, &device.name))
		return false;
	m->models[index] = merger_is_apart(m) ? 0 : model_of(to, &device);
	if (to->device_count == GPU_DEVICES_MAX) {
		m->gpus_left_out++;
		return true;
	}
	if (!array_reserve(&to->devices, &to->device_capacity, (size_t)to->device_count + 1))
		return false;
	m->gpus_shared += is_known(to, &device);
	device.process = merger_number(m->processes, device.process);
	device.peak_ns = merger_time(m, device.peak_ns);
	device.first_ns = merger_time(m, device.first_ns);
	device.end_ns = merger_time(m, device.end_ns);
	to->devices[to->device_count++] = device;
	m->devices[index] = to->device_count;
	if (!m->models[index])
		m->models[index] = to->device_count;
	return true;
}

static bool add_devices(struct merger *m)
{
	for (uint32_t i = 0; i < m->part->gpu.device_count; i++)
		if (!add_device(m, i))
			return false;
	return true;
}

static bool add_streams(struct merger *m)
{
	const struct gpu *from = &m->part->gpu;
	struct gpu *to = &m->profile->gpu;

	for (uint32_t i = 0; i < from->stream_count; i++) {
		struct gpu_stream stream = from->streams[i];
		stream.device = merger_number(m->devices, stream.device);
		stream.process = merger_number(m->processes, stream.process);
		if (!stream.device)
			continue; // of a GPU that is left out
		if (to->stream_count == GPU_STREAMS_MAX) {
			m->streams_left_out++;
			continue;
		}
		if (!array_reserve(&to->streams, &to->stream_capacity,
		                   (size_t)to->stream_count + 1))
			return false;
		to->streams[to->stream_count++] = stream;
		m->streams[i] = to->stream_count;
	}
	return true;
}

static bool add_works(struct merger *m)
{
	const struct gpu_works *from = &m->part->gpu.works;
	struct gpu_works *to = &m->profile->gpu.works;

	for (uint32_t i = 0; i < from->count; i++) {
		struct gpu_work_key key = from->works[i].key;
		key.op = merger_number(m->ops, key.op);
		key.process = merger_number(m->processes, key.process);
		key.device = merger_number(m->models, key.device);
		uint64_t calls = from->works[i].sums.calls, folded = to->folded;
		struct gpu_work *work = gpu_works_get(to, &key);
		if (!work) {
			to->lost += calls;
			continue;
		}
		to->folded = folded + (to->folded > folded ? calls : 0);
		gpu_work_sums_add(&work->sums, &from->works[i].sums);
		if (!histogram_merge(&work->durations, &from->works[i].durations))
			return false;
		m->works[i] = (uint32_t)(work - to->works) + 1;
	}
	to->folded += from->folded;
	to->lost += from->lost;
	return true;
}

static void add_managed(struct merger *m)
{
	const struct gpu *from = &m->part->gpu;

	for (uint32_t i = 0; i < from->managed_count; i++) {
		struct gpu_managed more = from->managed[i];
		more.device = merger_number(m->devices, more.device);
		more.process = merger_number(m->processes, more.process);
		more.location = merger_number(m->locations, more.location);
		m->profile->gpu.lost += !gpu_add_managed(&m->profile->gpu, &more);
	}
}

static void add_counts(struct gpu_count *to, const struct gpu_count *from, int kinds)
{
	for (int i = 0; i < kinds; i++) {
		to[i].count += from[i].count;
		to[i].ns += from[i].ns;
	}
}

static bool add_facts(struct gpu *to, const struct gpu *from)
{
	add_counts(to->syncs, from->syncs, GPU_SYNC_KINDS);
	add_counts(to->overheads, from->overheads, GPU_OVERHEADS);
	add_counts(to->gaps, from->gaps, GPU_GAPS);
	add_counts(&to->jit, &from->jit, 1);
	for (int i = 0; i < GPU_LOSSES; i++)
		to->losses[i] += from->losses[i];
	to->allocations += from->allocations;
	to->untied += from->untied;
	to->lost += from->lost;
	return histogram_merge(&to->latencies, &from->latencies);
}

// What finds no room is counted, as while a program runs.
static bool add_to(struct merger *m, struct cells *to, uint32_t node, uint32_t metric,
                   const struct interval *interval)
{
	m->profile->gpu.lost +=
		!profile_add_gpu_interval(m->profile, to, node, (int)metric, interval);
	return true;
}

static bool add_path(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	return add_to(m, &m->profile->gpu.paths, m->nodes[cell->node - 1], cell->metric, interval);
}

static bool add_idle(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	uint32_t device = m->devices[cell->metric / METRIC_COUNT];
	uint32_t metric = gpu_idle_metric(device - 1, cell->metric % METRIC_COUNT);

	return !device ||
	       add_to(m, &m->profile->gpu.idle, m->nodes[cell->node - 1], metric, interval);
}

static bool add_state(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	uint32_t device = m->devices[cell->node - 1];

	return !device || add_to(m, &m->profile->gpu.states, device, cell->metric, interval);
}

static bool add_times(struct merger *m)
{
	const struct gpu *from = &m->part->gpu;
	struct gpu *to = &m->profile->gpu;
	const struct merger_cells tables[] = {
		{ &from->paths, &to->paths, add_path },
		{ &from->idle, &to->idle, add_idle },
		{ &from->states, &to->states, add_state },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!merger_move_cells(m, &tables[i]))
			return false;
	return true;
}

bool merger_add_gpu(struct merger *m)
{
	if (gpu_is_empty(&m->part->gpu))
		return true;
	if (!add_devices(m) || !add_streams(m) || !add_works(m) || !add_times(m))
		return false;
	add_managed(m);
	return add_facts(&m->profile->gpu, &m->part->gpu);
}

static bool translate_pc(struct merger *m, const struct gpu_pc *from, struct gpu_pc *pc)
{
	*pc = *from;
	return merger_text(m, from->function, &pc->function) &&
	       merger_text(m, from->file, &pc->file) &&
	       merger_text(m, from->inlined, &pc->inlined) &&
	       merger_text(m, from->call_file, &pc->call_file);
}

// An instruction is the same in all parts if its cubin is.
bool merger_add_gpu_lines(struct merger *m)
{
	const struct gpu_lines *from = &m->part->gpu_lines;
	struct gpu_lines *to = &m->profile->gpu_lines;

	for (uint32_t i = 0; i < from->stall_count; i++) {
		struct gpu_pc_samples samples = from->stalls[i];
		struct gpu_pc pc;
		if (!translate_pc(m, &from->pcs[samples.pc - 1], &pc) ||
		    !merger_text(m, samples.reason, &samples.reason))
			return false;
		samples.pc = gpu_lines_pc(to, &pc);
		if (!samples.pc || !gpu_lines_add(to, &samples))
			to->lost += samples.samples;
	}
	to->samples += from->samples;
	to->dropped += from->dropped;
	to->other += from->other;
	to->lost += from->lost;
	return true;
}
