// SPDX-License-Identifier: MIT
#include "merge/profile/profile.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/code.h"
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "merge/profile/run_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_DEFAULT   (1u << 19)
#define CELLS_DEFAULT   (1u << 19)
#define THREADS_DEFAULT 4096u

// The reader refuses more than this (merge/file/file.h), so the writer must not get there.
#define LIMIT_MAX   (1u << 22)
#define THREADS_MAX (1u << 14)

static const struct frame folded_frame = { .address = MARK_FOLDED, .kind = FRAME_MARK };
static const struct frame unknown_frame = { .address = MARK_UNKNOWN, .kind = FRAME_MARK };
static const struct frame truncated_frame = { .address = MARK_TRUNCATED, .kind = FRAME_MARK };

static uint32_t clamp(uint32_t wanted, uint32_t fallback, uint32_t least, uint32_t most)
{
	uint32_t limit = wanted ? wanted : fallback;

	return limit < least ? least : limit > most ? most : limit;
}

// Folding leaves the roots and what one stack needs, so the caps must hold that twice over.
static struct profile_limits workable(const struct profile_limits *wanted)
{
	struct profile_limits limits = wanted ? *wanted : (struct profile_limits){ 0 };

	limits.threads = clamp(limits.threads, THREADS_DEFAULT, 1, THREADS_MAX);
	uint32_t roots = 2 * threads_slots_max(limits.threads);
	limits.nodes =
		clamp(limits.nodes, NODES_DEFAULT, 2 * roots + 4 * STACK_MAX_FRAMES, LIMIT_MAX);
	limits.cells = clamp(limits.cells, CELLS_DEFAULT, 2 * METRIC_COUNT * roots + 2 * CELLS_BINS,
	                     LIMIT_MAX);
	return limits;
}

struct profile *profile_alloc(const struct profile_limits *limits, struct error *err)
{
	cleanup(profile) struct profile *p = calloc(1, sizeof(*p));

	if (p) {
		p->limits = workable(limits);
		p->strings = strings_new();
		p->run.exit_status = -1;
		slices_init(&p->slices, PROFILE_TIMELINE);
	}
	if (!p || !p->strings || !threads_init(&p->threads, p->limits.threads) ||
	    !locations_init(&p->locations) || !paths_init(&p->paths) || !paths_init(&p->chains) ||
	    !cells_init(&p->cells) || !op_table_init(&p->op_table, 0, 0) ||
	    !allocations_init(&p->allocations) || !gpu_init(&p->gpu)) {
		error_set(err, ENOMEM, "could not start a profile");
		return NULL;
	}
	return steal(p);
}

struct profile *profile_new(struct modules *modules, const struct profile_limits *limits,
                            struct error *err)
{
	struct profile *p = profile_alloc(limits, err);

	if (p)
		p->modules = modules;
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < LAST_PATHS; i++) {
		free(p->last[i].frames);
		free(p->last[i].nodes);
	}
	free(p->facts);
	allocations_fini(&p->allocations);
	free(p->curves_text);
	callables_fini(&p->callables);
	leaf_registers_fini(&p->leaf_registers);
	call_counts_fini(&p->call_counts);
	awaits_fini(&p->awaits);
	goroutines_fini(&p->goroutines);
	op_shapes_fini(&p->shapes);
	op_table_fini(&p->op_table);
	series_fini(&p->series);
	counters_fini(&p->counters);
	gpu_fini(&p->gpu);
	gpu_lines_fini(&p->gpu_lines);
	repeats_fini(&p->repeats);
	ranks_fini(&p->ranks);
	slices_fini(&p->slices);
	wall_time_fini(&p->wall_time);
	counts_fini(&p->counts);
	sources_fini(&p->sources);
	cells_fini(&p->cells);
	paths_fini(&p->paths);
	paths_fini(&p->chains);
	free(p->chain_nodes);
	locations_fini(&p->locations);
	threads_fini(&p->threads);
	strings_free(p->strings);
	ops_free(p->own_ops);
	modules_free(p->own_modules);
	free(p);
}

void profile_note_time(struct profile *p, uint64_t time_ns)
{
	// Bins begin with the run, or, if nobody has said when that was, with its first event.
	if (!p->cells.origin_ns)
		p->cells.origin_ns = p->run.start_ns ? p->run.start_ns : time_ns;
	if (time_ns > p->last_ns)
		p->last_ns = time_ns;
}

void profile_add_process(struct profile *p, const struct process_event *event)
{
	profile_note_time(p, event->time_ns);
	if (event->exec)
		allocations_end_process(&p->allocations, event->process);
	p->lost += !threads_add_process(&p->threads, p->strings, event);
	profile_wall_process(p, event);
}

void profile_end_process(struct profile *p, uint32_t process, uint64_t time_ns)
{
	profile_note_time(p, time_ns);
	allocations_end_process(&p->allocations, process);
	threads_end_process(&p->threads, process, time_ns);
}

void profile_add_thread(struct profile *p, const struct thread_event *event)
{
	profile_note_time(p, event->time_ns);
	p->lost += !threads_add_thread(&p->threads, p->strings, event);
	profile_wall_thread(p, event);
}

void profile_end_thread(struct profile *p, const struct thread_end *end)
{
	profile_note_time(p, end->time_ns);
	profile_wall_thread_end(p, end);
	p->lost += !threads_end_thread(&p->threads, end);
}

void profile_hide_thread(struct profile *p, uint32_t thread)
{
	threads_hide(&p->threads, thread);
}

static void forget_last_paths(struct profile *p)
{
	for (size_t i = 0; i < LAST_PATHS; i++)
		p->last[i].thread = 0;
}

// Locations that no node stands at any more would pile up where code comes and goes (JITs).
static void drop_locations(struct profile *p)
{
	cleanup_free bool *kept = calloc(p->locations.count, sizeof(*kept));
	cleanup_free uint32_t *map = calloc(p->locations.count, sizeof(*map));

	if (!kept || !map)
		return; // the next folding tries again
	for (uint32_t i = 0; i < p->paths.count; i++)
		if (p->paths.nodes[i].parent)
			kept[p->paths.nodes[i].location - 1] = true;
	for (uint32_t i = 0; i < p->op_table.count; i++)
		if (p->op_table.entries[i].key.caller)
			kept[p->op_table.entries[i].key.caller - 1] = true;
	for (uint32_t i = 0; i < p->chains.count; i++)
		if (p->chains.nodes[i].parent)
			kept[p->chains.nodes[i].location - 1] = true;
	gpu_keep_locations(&p->gpu, kept);
	locations_drop(&p->locations, kept, map);
	paths_move_locations(&p->paths, map);
	paths_move_locations(&p->chains, map);
	op_table_move_callers(&p->op_table, map);
	gpu_move_locations(&p->gpu, map);
}

// All that was allocated weighs as much as all time: neither folds the other away.
static void weigh_memory(const struct profile *p, uint64_t all_ns, uint64_t *weights)
{
	const struct allocations *m = &p->allocations;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->site_count; i++)
		bytes += m->sites[i].allocated_bytes;
	double scale = all_ns && bytes ? (double)all_ns / (double)bytes : 1;
	for (uint32_t i = 0; i < m->site_count; i++)
		weights[m->sites[i].node - 1] +=
			ns_whole((double)m->sites[i].allocated_bytes * scale);
}

static uint64_t *weigh_nodes(const struct profile *p)
{
	uint64_t *weights = calloc(p->paths.count, sizeof(*weights));
	uint64_t all_ns = 0;

	if (!weights)
		return NULL;
	for (uint32_t i = 0; i < p->cells.count; i++) {
		uint64_t ns = cells_whole(&p->cells, &p->cells.cells[i]);
		weights[p->cells.cells[i].node - 1] += ns;
		all_ns += ns;
	}
	weigh_memory(p, all_ns, weights);
	for (uint32_t i = 0; i < p->gpu.paths.count; i++)
		weights[p->gpu.paths.cells[i].node - 1] +=
			cells_whole(&p->gpu.paths, &p->gpu.paths.cells[i]);
	for (uint32_t id = p->paths.count; id > 0; id--) {
		uint32_t parent = paths_node(&p->paths, id)->parent;
		if (parent)
			weights[parent - 1] += weights[id - 1];
	}
	return weights;
}

static uint32_t root_count(const struct profile *p)
{
	return threads_slots_max(p->limits.threads);
}

static bool fold(struct profile *p, uint32_t keep)
{
	cleanup_free uint64_t *weights = weigh_nodes(p);
	cleanup_free uint32_t *map = calloc(p->paths.count, sizeof(*map));
	cleanup_free uint32_t *sites =
		calloc((size_t)p->allocations.site_count + 1, sizeof(*sites));
	uint32_t folded = locations_add(&p->locations, folded_frame);

	if (!weights || !map || !sites || !folded ||
	    !paths_fold(&p->paths, weights, keep, 2 * (keep + root_count(p)), folded, map))
		return false;
	cells_move_nodes(&p->cells, map);
	gpu_move_nodes(&p->gpu, map);
	slices_move_nodes(&p->slices, map);
	wall_time_move_nodes(&p->wall_time, map);
	allocations_move_nodes(&p->allocations, map, sites);
	for (uint32_t i = 0; i < p->held_count; i++)
		p->held[i] = map[p->held[i] - 1];
	forget_last_paths(p);
	drop_locations(p);
	return true;
}

bool profile_make_room(struct profile *p, uint32_t wanted)
{
	callables_undo(p); // the tree is about to change
	uint32_t limit = p->limits.nodes - 2 * root_count(p);

	if (p->paths.count + wanted <= p->limits.nodes)
		return true;
	// Each node that stays may have a folded child: half of the room is free again.
	return fold(p, (limit - STACK_MAX_FRAMES) / 4);
}

/*
 * Wider bins merge the cells of a node, fewer nodes those of a bin. While there are many
 * bins, or many cells for each node, the former costs least; else folding does.
 */
#define BINS_ENOUGH    64
#define CELLS_A_NODE   4

#define UNKNOWN_PYTHON "[unknown Python function]"

static bool should_widen(const struct profile *p)
{
	return p->cells.last_bin >= BINS_ENOUGH ||
	       (p->cells.last_bin && p->cells.count / CELLS_A_NODE > p->paths.count);
}

static bool make_cell_room(struct profile *p, const struct interval *interval)
{
	uint32_t wanted = cells_fit(&p->cells, interval);
	uint32_t keep = p->paths.count;

	if (p->cells.count + wanted <= p->limits.cells)
		return true;
	// Down to three quarters, so that it does not happen again at the next stack.
	while (p->cells.count + wanted > p->limits.cells / 4 * 3) {
		if (!should_widen(p) && keep && fold(p, keep /= 2))
			continue;
		if (!p->cells.last_bin)
			break;
		cells_widen(&p->cells);
		wanted = cells_fit(&p->cells, interval);
	}
	return p->cells.count + wanted <= p->limits.cells;
}

bool profile_add_interval(struct profile *p, const uint32_t *node, enum metric metric,
                          const struct interval *interval)
{
	uint64_t missing_ns;

	return make_cell_room(p, interval) &&
	       cells_add(&p->cells, *node, metric, interval, &missing_ns);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->address == b->address && a->module == b->module && a->kind == b->kind;
}

// Outermost first; beyond the frames come the marks that the stack itself does not hold.
static const struct frame *frame_from_top(const struct stack *stack, uint32_t depth)
{
	if (!stack->count)
		return &unknown_frame;
	return &stack->frames[stack->count - 1 - depth];
}

// How many callers STACK has in common with the last one of its thread.
static uint32_t common_callers(const struct last_path *last, const struct stack *stack)
{
	uint32_t most = last->count < stack->count ? last->count : stack->count;
	uint32_t depth = 0;

	while (depth < most && same_frame(&last->frames[depth], frame_from_top(stack, depth)))
		depth++;
	return depth;
}

// The interpreter has said what it is.
static bool name_python(struct profile *p, uint32_t location, struct frame frame)
{
	const struct code *code = p->codes ? codes_get(p->codes, frame_python_code(frame)) : NULL;
	struct place place = {
		.function = strings_add(p->strings, code ? code->name : UNKNOWN_PYTHON),
		.file = strings_add(p->strings, code ? code->file : NULL),
		.line = frame_python_line(frame),
	};

	return place.function && locations_name(&p->locations, location, &place, 1);
}

static bool name_torch_module(struct profile *p, uint32_t location)
{
	uint64_t module = locations_get(&p->locations, location)->address;
	const char *name = p->codes ? codes_module(p->codes, (uint32_t)module) : NULL;
	struct place place = { .function = strings_add(p->strings, name ? name : "?") };

	return place.function && locations_name(&p->locations, location, &place, 1);
}

bool profile_name_torch_modules(struct profile *p)
{
	for (uint32_t id = 1; p->codes && id <= p->locations.count; id++)
		if (locations_get(&p->locations, id)->kind == FRAME_MODULE &&
		    !name_torch_module(p, id))
			return false;
	return true;
}

uint32_t profile_add_location(struct profile *p, struct frame frame)
{
	uint32_t known = p->locations.count, location = locations_add(&p->locations, frame);

	if (location > known && frame.kind == FRAME_PYTHON && !name_python(p, location, frame))
		return 0;
	if (location > known && frame.kind == FRAME_MODULE && !name_torch_module(p, location))
		return 0;
	return location;
}

// An op that nobody knows is left out.
static uint32_t child_at(struct profile *p, uint32_t parent, const struct frame *frame)
{
	if (frame->kind == FRAME_OP && !profile_op(p, frame->address))
		return parent;
	uint32_t location = profile_add_location(p, *frame);
	return location ? paths_child(&p->paths, parent, location) : 0;
}

// Callers are missing, and no frame says so.
static bool needs_mark(const struct stack *stack)
{
	return (stack->flags & STACK_TRUNCATED) && frame_from_top(stack, 0)->kind != FRAME_MARK;
}

// The node that a stack's outermost frame hangs under.
static uint32_t root_of(struct profile *p, uint32_t slot, const struct stack *stack)
{
	uint32_t root = paths_child(&p->paths, 0, slot);

	return root && needs_mark(stack) ? child_at(p, root, &truncated_frame) : root;
}

static bool remember(struct last_path *last, uint32_t depth, const struct frame *frame,
                     uint32_t node)
{
	if (!array_reserve(&last->frames, &last->frame_capacity, (size_t)depth + 1) ||
	    !array_reserve(&last->nodes, &last->node_capacity, (size_t)depth + 1))
		return false;
	last->frames[depth] = *frame;
	last->nodes[depth] = node;
	return true;
}

// The node of STACK's innermost frame, added with its callers. 0 if there is no memory.
static uint32_t node_of(struct profile *p, uint32_t slot, const struct stack *stack)
{
	struct last_path *last = &p->last[slot % LAST_PATHS];
	// With the mark above them, the same frames hang elsewhere.
	uint32_t key = needs_mark(stack) ? 0 : slot;
	uint32_t depth = key && last->thread == key ? common_callers(last, stack) : 0;
	uint32_t node = depth ? last->nodes[depth - 1] : root_of(p, slot, stack);
	uint32_t count = stack->count ? stack->count : 1;

	last->thread = 0;
	for (; node && depth < count; depth++) {
		const struct frame *frame = frame_from_top(stack, depth);
		node = child_at(p, node, frame);
		if (!node || !remember(last, depth, frame, node))
			return 0;
	}
	if (!node)
		return 0;
	last->thread = key;
	last->count = count;
	return node;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = text ? strlen(text) : 0, wanted = strlen(end);

	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

// A process of Python's multiprocessing begins there.
static bool begins_process(const struct profile *p, const struct frame *frame)
{
	const struct code *code = frame->kind == FRAME_PYTHON && p->codes
	                                  ? codes_get(p->codes, frame_python_code(*frame))
	                                  : NULL;

	return code && ends_with(code->name, "_bootstrap") &&
	       ends_with(code->file, "multiprocessing/process.py");
}

// Bounded, and without what was on the stack when the process was forked: frames of its parent's,
// which do nothing here, and whose lines did not call this work.
static struct stack own_part(const struct profile *p, const struct stack *stack)
{
	struct stack cut = *stack;

	if (cut.count > STACK_MAX_FRAMES) {
		cut.count = STACK_MAX_FRAMES;
		cut.flags |= STACK_TRUNCATED;
	}
	for (uint32_t i = 0; p->codes && i + 1 < cut.count; i++) {
		if (!begins_process(p, &cut.frames[i]))
			continue;
		cut.count = i + 1;
		cut.flags &= ~(uint32_t)STACK_TRUNCATED;
	}
	return cut;
}

uint32_t profile_add_path(struct profile *p, uint32_t slot, const struct stack *stack)
{
	struct stack cut = own_part(p, stack);

	return profile_make_room(p, cut.count + 3) ? node_of(p, slot, &cut) : 0;
}

static void lose(struct profile *p, uint64_t weight_ns)
{
	p->lost++;
	p->lost_ns += weight_ns;
}

// Short waits that are told together are in no one's place; rounding is of parts of an interval.
static bool is_one_wait(const struct stack *stack)
{
	return metric_is_off_cpu(stack->metric) && stack->duration_ns &&
	       stack->weight_ns + 1 >= stack->duration_ns;
}

static void add_wait(struct profile *p, uint32_t node, uint32_t slot, const struct stack *stack)
{
	const struct slice slice = {
		.kind = SLICE_WAIT,
		.begin_ns = stack->time_ns,
		.end_ns = stack->time_ns + stack->duration_ns,
		.thread = slot,
		.what = stack->metric,
		.place = node,
	};

	slices_add(&p->slices, &slice);
}

void profile_take(struct profile *p, const struct sampled *what)
{
	switch (what->kind) {
	case SAMPLED_PROCESS:
		profile_add_process(p, what->process);
		break;
	case SAMPLED_PROCESS_END:
		profile_end_process(p, what->at.number, what->at.time_ns);
		break;
	case SAMPLED_THREAD:
		profile_add_thread(p, what->thread);
		break;
	case SAMPLED_THREAD_END:
		profile_end_thread(p, what->thread_end);
		break;
	case SAMPLED_STACK:
		profile_add_stack(p, what->stack);
		break;
	case SAMPLED_SPAN:
		profile_wall_span(p, what->span);
		break;
	case SAMPLED_WAIT:
		profile_wall_wait(p, what->wait);
		break;
	case SAMPLED_PEERS:
		profile_wall_peers(p, what->peers);
		break;
	case SAMPLED_SIGNAL:
		profile_wall_signal(p, what->signal);
		break;
	case SAMPLED_OP:
		profile_add_op(p, what->op);
		break;
	case SAMPLED_OP_COUNT:
		profile_add_op_count(p, what->op_count);
		break;
	case SAMPLED_ALLOC:
		profile_add_alloc(p, what->alloc);
		break;
	case SAMPLED_FREE:
		profile_add_free(p, what->freed);
		break;
	case SAMPLED_MEMORY:
		profile_add_memory(p, what->memory);
		break;
	case SAMPLED_PYTHON_NAME:
		profile_add_python_name(p, what->python_name);
		break;
	case SAMPLED_PYTHON_CALLS:
		profile_add_python_calls(p, what->python_calls);
		break;
	case SAMPLED_PYTHON_AWAIT:
		profile_add_python_await(p, what->python_await);
		break;
	case SAMPLED_GOROUTINES:
		profile_add_goroutines(p, what->goroutines);
		break;
	case SAMPLED_GPU_SITE:
		profile_add_gpu_site(p, what->gpu_site);
		break;
	case SAMPLED_GPU:
		profile_add_gpu(p, what->gpu);
		break;
	case SAMPLED_GPU_PC:
		profile_add_gpu_pc(p, what->gpu_pc);
		break;
	case SAMPLED_GPU_PC_SUM:
		profile_add_gpu_pc_sum(p, what->gpu_pc_sum);
		break;
	case SAMPLED_OP_BEGIN:
	case SAMPLED_PATCH:
		break;
	}
}

void profile_add_stack(struct profile *p, const struct stack *stack)
{
	struct stack cut = own_part(p, stack);
	struct interval interval = { cut.time_ns, cut.duration_ns, cut.weight_ns, cut.samples };
	uint32_t slot = threads_slot(&p->threads, cut.thread);
	uint64_t missing_ns = cut.weight_ns;

	if (!cut.weight_ns && cut.subnormal) {
		leaf_registers_look(&p->leaf_registers, cut.frames[0].module, cut.frames[0].address,
		                    *cut.subnormal);
		return;
	}
	profile_note_time(p, cut.time_ns);
	if (!slot || (unsigned)cut.metric >= METRIC_COUNT) {
		lose(p, cut.weight_ns);
		return;
	}
	// Root, frames, and the marks that may be added.
	bool room = profile_make_room(p, cut.count + 3) && make_cell_room(p, &interval);
	uint32_t node = room ? node_of(p, slot, &cut) : 0;
	if (!node || !cells_add(&p->cells, node, cut.metric, &interval, &missing_ns))
		lose(p, missing_ns);
	if (node && cut.regs && cut.frames[0].kind == FRAME_EXACT)
		leaf_registers_add(
			&p->leaf_registers, cut.frames[0].module, cut.frames[0].address,
			(struct leaf_thread){ threads_get(&p->threads, slot)->process, slot },
			cut.regs, cut.subnormal);
	if (node) {
		profile_note_idle(p, node, slot, &cut);
		profile_wall_stack(p, node, &cut);
	}
	if (node && is_one_wait(&cut))
		add_wait(p, node, slot, &cut);
}

void profile_set_timeline(struct profile *p, uint32_t limit)
{
	p->slices.limit = limit;
}

int profile_set_run(struct profile *p, const struct run *run, struct error *err)
{
	struct run copy = *run;

	op_table_settle(&p->op_table);
	for (size_t i = 0; i < run_field_count; i++) {
		const struct run_field *field = &run_fields[i];
		if (field->type != RUN_TEXT)
			continue;
		const char *text = *run_text((struct run *)run, field);
		const char *kept = strings_get(p->strings, strings_add(p->strings, text));
		if (text && !kept)
			return error_set(err, ENOMEM, "could not keep the facts of the run");
		*run_text(&copy, field) = kept;
	}
	p->run = copy;
	return 0;
}

const struct run *profile_run(const struct profile *p)
{
	return &p->run;
}

bool profile_is_symbolized(const struct profile *p)
{
	return p->locations.unnamed == 0;
}

bool profile_make_facts(struct profile *p)
{
	size_t wanted = modules_count(p->modules);

	if (wanted <= p->fact_count)
		return true;
	if (!array_reserve(&p->facts, &p->fact_capacity, wanted))
		return false;
	memset(p->facts + p->fact_count, 0, (wanted - p->fact_count) * sizeof(*p->facts));
	p->fact_count = wanted;
	return true;
}
