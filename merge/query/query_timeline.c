// SPDX-License-Identifier: MIT
#include "merge/query/query_timeline.h"

#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct asking {
	const struct profile *p;
	struct scope scope;
	uint32_t *slots;   // [node - 1]: of its thread
	uint64_t *on_cpu;  // [slot - 1]
	uint32_t *lane_of; // [slot - 1]: index + 1; 0: none
	uint32_t *by_cpu;  // slots that are asked for, busiest first
	size_t asked;
	uint32_t bins_max;
};

static void asking_at_scope_end(struct asking *a)
{
	scope_fini(&a->scope);
	free(a->slots);
	free(a->on_cpu);
	free(a->lane_of);
	free(a->by_cpu);
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->lanes[i].ns);
	free(t->lanes);
	free(t);
}

static void find_slots(struct asking *a)
{
	const struct cells *cells = profile_cells(a->p);
	const struct paths *paths = profile_paths(a->p);

	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		a->slots[id - 1] = node->parent ? a->slots[node->parent - 1] : node->location;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (cell->metric == METRIC_ON_CPU)
			a->on_cpu[a->slots[cell->node - 1] - 1] += cells_whole(cells, cell);
	}
}

static int compare_busy(const void *left, const void *right, void *context)
{
	const uint32_t *a = left, *b = right;
	const uint64_t *on_cpu = context;

	if (on_cpu[*a - 1] != on_cpu[*b - 1])
		return on_cpu[*a - 1] < on_cpu[*b - 1] ? 1 : -1;
	return *a < *b ? -1 : *a > *b;
}

static bool prepare(struct asking *a)
{
	const struct threads *threads = profile_threads(a->p);
	size_t count = threads->thread_count;

	a->slots = calloc((size_t)profile_paths(a->p)->count + 1, sizeof(*a->slots));
	a->on_cpu = calloc(count + 1, sizeof(*a->on_cpu));
	a->lane_of = calloc(count + 1, sizeof(*a->lane_of));
	a->by_cpu = calloc(count + 1, sizeof(*a->by_cpu));
	if (!a->slots || !a->on_cpu || !a->lane_of || !a->by_cpu)
		return false;
	find_slots(a);
	for (uint32_t slot = 1; slot <= count; slot++)
		if (a->scope.threads[slot - 1])
			a->by_cpu[a->asked++] = slot;
	qsort_r(a->by_cpu, a->asked, sizeof(*a->by_cpu), compare_busy, a->on_cpu);
	return true;
}

// Since the start of the run.
// How many bins of CELLS become one of a lane.
static uint32_t bins_in_one(const struct asking *a, const struct cells *cells)
{
	uint32_t used = cells->last_bin + 1, in_one = 1;

	while ((used + in_one - 1) / in_one > a->bins_max)
		in_one *= 2;
	return in_one;
}

// With room for METRICS times its bins.
static bool size_lane(const struct asking *a, struct timeline_lane *lane, const struct cells *cells,
                      size_t metrics)
{
	uint32_t in_one = bins_in_one(a, cells);

	lane->bins = (cells->last_bin + in_one) / in_one;
	lane->bin_ns = in_one * cells->width_ns;
	lane->origin_ns = (int64_t)(cells->origin_ns - profile_start_ns(a->p));
	lane->ns = calloc(metrics * lane->bins, sizeof(*lane->ns));
	return lane->ns != NULL;
}

static bool make_lane(const struct asking *a, uint32_t slot, struct timeline_lane *lane)
{
	const struct profile *p = a->p;
	const struct thread_info *info = profile_thread(p, slot);
	const struct process_info *process = profile_process(p, info->process);
	const char *name = profile_string(p, info->name);
	const char *command = process ? profile_string(p, process->command) : NULL;

	*lane = (struct timeline_lane){
		.thread = name ? name : "",
		.process = command ? command : "",
		.tid = info->tid,
		.pid = process ? process->pid : 0,
		.merged = info->merged,
		.begin_ns = profile_since_start(p, info->start_ns),
		.end_ns = profile_since_start(p, info->end_ns ? info->end_ns : profile_last_ns(p)),
	};
	return size_lane(a, lane, profile_cells(p), METRIC_COUNT);
}

static int compare_slots(const void *left, const void *right, void *context)
{
	const uint32_t *a = left, *b = right;
	const struct threads *threads = context;
	const struct thread_info *x = threads_get(threads, *a), *y = threads_get(threads, *b);

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static bool make_thread_lanes(struct asking *a, struct timeline *t, size_t lanes_max)
{
	size_t count = a->asked < lanes_max ? a->asked : lanes_max;

	qsort_r(a->by_cpu, count, sizeof(*a->by_cpu), compare_slots, (void *)profile_threads(a->p));
	t->left_out = a->asked - count;
	for (; t->count < count; t->count++) {
		uint32_t slot = a->by_cpu[t->count];
		if (!make_lane(a, slot, &t->lanes[t->count]))
			return false;
		a->lane_of[slot - 1] = (uint32_t)t->count + 1;
	}
	return true;
}

static bool make_gpu_lanes(const struct asking *a, struct timeline *t)
{
	const struct gpu *gpu = profile_gpu(a->p);

	for (uint32_t i = 0; i < gpu->device_count; i++) {
		const struct gpu_device *device = &gpu->devices[i];
		const char *name = profile_string(a->p, device->name);
		struct timeline_lane *lane = &t->lanes[t->count++];
		*lane = (struct timeline_lane){
			.thread = name ? name : "GPU",
			.process = profile_owner(a->p, device->process),
			.tid = device->number,
			.device = i + 1,
			.merged = 1,
			.gpu = true,
			.begin_ns = profile_since_start(a->p, device->first_ns),
			.end_ns = profile_since_start(a->p, device->end_ns),
		};
		if (!size_lane(a, lane, &gpu->states, GPU_STATES))
			return false;
	}
	return true;
}

// Intervals are told by where they begin and end: see merge/table/cells.h.
struct change {
	uint64_t ns;
	int64_t rate;
};

// Adds up METRIC of LANE from what its cells have left in CHANGES, and clears them.
static void fill_metric(struct timeline_lane *lane, const struct cells *cells, uint32_t metric,
                        struct change *changes)
{
	uint32_t in_one = (uint32_t)(lane->bin_ns / cells->width_ns);
	uint64_t *to = &lane->ns[(size_t)metric * lane->bins];
	int64_t open = 0;

	for (uint32_t bin = 0; bin <= cells->last_bin; bin++) {
		open += changes[bin].rate;
		to[bin / in_one] += changes[bin].ns + (uint64_t)open * cells->width_ns;
		changes[bin] = (struct change){ 0 };
	}
}

// Changes of all lanes and metrics, [(lane * METRICS + metric) * bins + bin].
static struct change *collect(const struct asking *a, const struct cells *cells, bool gpu,
                              size_t first_lane, size_t lanes, size_t metrics)
{
	size_t bins = (size_t)cells->last_bin + 1;
	struct change *changes = calloc(lanes * metrics * bins + 1, sizeof(*changes));

	for (uint32_t i = 0; changes && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		size_t lane =
			gpu ? first_lane + cell->node : a->lane_of[a->slots[cell->node - 1] - 1];
		if (!lane || lane - 1 - first_lane >= lanes || cell->metric >= metrics ||
		    cell->bin >= bins)
			continue;
		lane -= 1 + first_lane;
		struct change *change =
			&changes[(lane * metrics + cell->metric) * bins + cell->bin];
		change->ns += cell->ns;
		change->rate += cell->rate;
	}
	return changes;
}

// The lanes from FIRST up to END, which are all of one kind.
static bool fill_lanes(const struct asking *a, struct timeline *t, size_t first, size_t end)
{
	bool gpu = first < end && t->lanes[first].gpu;
	const struct cells *cells = gpu ? &profile_gpu(a->p)->states : profile_cells(a->p);
	uint32_t metrics = gpu ? GPU_STATES : METRIC_COUNT;
	size_t bins = (size_t)cells->last_bin + 1;
	cleanup_free struct change *changes = collect(a, cells, gpu, first, end - first, metrics);

	if (!changes)
		return false;
	for (size_t i = first; i < end; i++) {
		struct timeline_lane *lane = &t->lanes[i];
		for (uint32_t m = 0; m < metrics; m++)
			fill_metric(lane, cells, m, &changes[((i - first) * metrics + m) * bins]);
		for (uint32_t bin = 0; bin < lane->bins; bin++)
			lane->on_cpu_ns += lane->ns[bin]; // metric 0: on a CPU, or busy
	}
	return true;
}

static bool answer(struct asking *a, struct timeline *t, size_t lanes_max)
{
	size_t most = a->asked + profile_gpu(a->p)->device_count;

	t->lanes = calloc(most + 1, sizeof(*t->lanes));
	if (!t->lanes || !make_thread_lanes(a, t, lanes_max))
		return false;
	size_t threads = t->count;
	return make_gpu_lanes(a, t) && fill_lanes(a, t, 0, threads) &&
	       fill_lanes(a, t, threads, t->count);
}

struct timeline *query_timeline(const struct profile *p, const struct query *query,
                                uint32_t bins_max, size_t lanes_max, struct error *err)
{
	cleanup(asking) struct asking a = { .p = p, .bins_max = bins_max };
	const struct query whole = { .thread = query->thread, .process = query->process };
	cleanup(timeline) struct timeline *t = calloc(1, sizeof(*t));

	if (scope_init(&a.scope, p, &whole, err) < 0)
		return NULL;
	if (!t || !prepare(&a) || !answer(&a, t, lanes_max)) {
		error_set(err, ENOMEM, "could not lay out the timeline");
		return NULL;
	}
	return steal(t);
}
