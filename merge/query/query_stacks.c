// SPDX-License-Identifier: MIT
/*
 * query_stacks(): first by line, in one walk of the call paths; functions are made of that.
 */
#include "merge/query/query_stacks.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/keys.h"
#include "merge/scope/op_frames.h"
#include "merge/scope/scope.h"
#include "merge/table/allocations.h"
#include "merge/table/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The tree that query_stacks() is made of: one walk of a profile's call paths, with a frame for
// each line of a function, and what each node weighs.
//
// Call paths in which the same is shown become one node. The profile, and what the collector is
// given, must outlive it. One thread at a time.

/*
 * Nodes and frames while they are collected. Both are pairs of numbers: a node is one of a caller
 * and a frame, a frame one of the keys of its function and its line.
 */
struct stack_collector {
	const struct profile *profile;
	const struct scope *scope;
	const struct keys *keys;
	struct op_frames shown;
	const struct query *query;
	struct paths frames, nodes;
	struct stack_weight *weights; /* [node - 1] */
	size_t weight_capacity;
	/* [path node - 1]: the node of its innermost frame, of the frame that its ops stand in, and
	   of the one that its own time belongs to (0: it is the thread's) */
	uint32_t *inner, *caller, *owner;
	uint32_t homeless; /* key */
};

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not collect the stacks");
}

static void stack_collector_fini(struct stack_collector *c)
{
	op_frames_fini(&c->shown);
	paths_fini(&c->frames);
	paths_fini(&c->nodes);
	free(c->weights);
	free(c->inner);
	free(c->caller);
	free(c->owner);
}

static inline void stack_collector_at_scope_end(struct stack_collector *c)
{
	stack_collector_fini(c);
}

// QUERY is of functions (BY_FUNCTION). False if there is no memory; it may be ended all the same.
static bool stack_collector_init(struct stack_collector *c, const struct scope *scope,
                                 struct keys *keys, const struct query *query)
{
	const struct profile *p = scope->profile;
	size_t nodes = (size_t)profile_paths(p)->count + 1;
	struct key homeless = { .group = query->user_code ? KEY_OUTSIDE : KEY_HIDDEN };

	*c = (struct stack_collector){ .profile = p, .scope = scope, .keys = keys, .query = query };
	c->inner = calloc(nodes, sizeof(*c->inner));
	c->caller = calloc(nodes, sizeof(*c->caller));
	c->owner = calloc(nodes, sizeof(*c->owner));
	c->homeless = key_table_add(&keys->keys, &homeless);
	return c->inner && c->caller && c->owner && c->homeless &&
	       op_frames_init(&c->shown, p, keys) && paths_init(&c->frames) &&
	       paths_init(&c->nodes);
}

// 0 if there is no memory.
static uint32_t add_node(struct stack_collector *c, uint32_t above, uint32_t number)
{
	uint32_t node = paths_child(&c->nodes, above, number);

	if (!node || node <= c->weight_capacity)
		return node;
	size_t before = c->weight_capacity;
	if (!array_reserve(&c->weights, &c->weight_capacity, node))
		return 0;
	memset(c->weights + before, 0, (c->weight_capacity - before) * sizeof(*c->weights));
	return node;
}

static uint32_t add_frame(struct stack_collector *c, uint32_t above, uint32_t key, uint32_t line)
{
	uint32_t frame = paths_child(&c->frames, key, line);

	return frame ? add_node(c, above, frame) : 0;
}

// The node that the frames of path node ID hang below.
static uint32_t above(const struct stack_collector *c, uint32_t id)
{
	uint32_t parent = profile_node(c->profile, id)->parent;

	return op_frames_is_op(&c->shown, id) ? c->caller[parent - 1] : c->inner[parent - 1];
}

// Adds the frames that path node ID shows; without any it is as its caller.
static bool add_frames(struct stack_collector *c, uint32_t id)
{
	uint32_t parent = profile_node(c->profile, id)->parent;
	uint32_t node = above(c, id), calls_ops = op_frames_caller(&c->shown, id);

	c->caller[id - 1] = node;
	c->owner[id - 1] = c->owner[parent - 1];
	for (uint32_t at = op_frames_first(&c->shown, id); at != FRAME_NONE;
	     at = op_frames_next(&c->shown, id, at)) {
		const struct key_frame *frame = &c->keys->frames[at];
		node = add_frame(c, node, frame->key, frame->line);
		if (!node)
			return false;
		if (at == calls_ops)
			c->caller[id - 1] = node;
		if (frame->user || !c->query->user_code || (frame->ours && !c->owner[id - 1]))
			c->owner[id - 1] = node;
	}
	c->inner[id - 1] = node;
	return true;
}

static bool add_root(struct stack_collector *c, uint32_t id)
{
	uint32_t node = add_node(c, 0, profile_node(c->profile, id)->location);

	c->inner[id - 1] = c->caller[id - 1] = node;
	return node;
}

static bool has_weight(const struct scope *scope, uint32_t id)
{
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++)
		if (scope_counts(scope, &scope->table->cells[scope->cells[i]]))
			return true;
	return false;
}

// The weight of what owns path node ID's own time, in the thread of ROOT. NULL if there is no
// memory.
static struct stack_weight *weight_of(struct stack_collector *c, uint32_t id, uint32_t root)
{
	uint32_t node = c->owner[id - 1];

	if (!node)
		node = c->owner[id - 1] = add_frame(c, c->inner[root - 1], c->homeless, 0);
	return node ? &c->weights[node - 1] : NULL;
}

static bool weigh_threads(struct stack_collector *c, uint32_t id, uint32_t root)
{
	const struct scope *scope = c->scope;
	struct stack_weight *weight = has_weight(scope, id) ? weight_of(c, id, root) : NULL;

	if (!weight)
		return !has_weight(scope, id);
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		if (!scope_counts(scope, cell))
			continue;
		weight->ns[cell->metric] += scope_ns(scope, cell);
		weight->samples[cell->metric] += scope_samples(scope, cell);
	}
	return true;
}

// One walk: nodes are born in its order.
static bool collect(struct stack_collector *c)
{
	uint32_t root = 0;

	for (struct step step = scope_first(c->scope); step.node;
	     step = scope_next(c->scope, step)) {
		if (!step.entering)
			continue;
		bool is_root = !profile_node(c->profile, step.node)->parent;
		root = is_root ? step.node : root;
		if (!(is_root ? add_root(c, step.node) : add_frames(c, step.node)) ||
		    !weigh_threads(c, step.node, root))
			return false;
	}
	return true;
}

static uint32_t root_of(const struct profile *p, uint32_t id)
{
	while (profile_node(p, id)->parent)
		id = profile_node(p, id)->parent;
	return id;
}

static bool weigh_gpus(struct stack_collector *c, const struct scope *gpu)
{
	for (uint32_t id = 1; id <= profile_paths(c->profile)->count; id++) {
		if (!c->inner[id - 1] || gpu->first_cell[id - 1] == gpu->first_cell[id])
			continue;
		struct stack_weight *weight = weight_of(c, id, root_of(c->profile, id));
		if (!weight)
			return false;
		for (uint32_t i = gpu->first_cell[id - 1]; i < gpu->first_cell[id]; i++)
			weight->gpu_ns += scope_ns(gpu, &gpu->table->cells[gpu->cells[i]]);
	}
	return true;
}

static bool weigh_memory(struct stack_collector *c)
{
	const struct allocations *a = profile_allocations(c->profile);

	for (uint32_t i = 0; i < a->site_count; i++) {
		uint32_t id = a->sites[i].node;
		if (!id || !c->inner[id - 1] || !a->sites[i].allocated_bytes)
			continue;
		struct stack_weight *weight = weight_of(c, id, root_of(c->profile, id));
		if (!weight)
			return false;
		weight->allocated_bytes += a->sites[i].allocated_bytes;
	}
	return true;
}

static int weigh_others(struct stack_collector *c, struct error *err)
{
	cleanup(scope) struct scope gpu = { 0 };
	struct query of_gpu = *c->query;

	of_gpu.of = QUERY_GPU;
	if (profile_gpu(c->profile)->paths.count &&
	    (scope_init(&gpu, c->profile, &of_gpu, err) < 0 ||
	     (!weigh_gpus(c, &gpu) && no_memory(err) < 0)))
		return -1;
	if (c->scope->whole_run && !weigh_memory(c))
		return no_memory(err);
	return 0;
}

// Collects the nodes, in the order of the walk, and all that they weigh; -1 on error.
static int stack_collector_run(struct stack_collector *c, struct error *err)
{
	return collect(c) ? weigh_others(c, err) : no_memory(err);
}

static void add_weight(struct stack_weight *to, const struct stack_weight *by)
{
	for (int m = 0; m < METRIC_COUNT; m++)
		to->ns[m] += by->ns[m], to->samples[m] += by->samples[m];
	to->gpu_ns += by->gpu_ns;
	to->allocated_bytes += by->allocated_bytes;
}

uint64_t stack_weight_off_cpu(const struct stack_weight *weight)
{
	uint64_t ns = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		ns += metric_is_off_cpu(m) ? weight->ns[m] : 0;
	return ns;
}

uint64_t stack_weight_samples(const struct stack_weight *weight)
{
	uint64_t samples = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		samples += weight->samples[m];
	return samples;
}

// What chooses the line that stands for a function: its own time there, or else all of it.
struct line_weight {
	uint64_t self, total;
};

static uint64_t sum_of(const struct stack_weight *weight)
{
	return stack_weight_on_cpu(weight) + stack_weight_off_cpu(weight);
}

// [frame - 1]: the frame of the same function that stands for it. NULL if there is no memory.
static uint32_t *choose_lines(const struct stack_collector *c)
{
	size_t nodes = c->nodes.count, frames = c->frames.count;
	cleanup_free uint64_t *totals = calloc(nodes + 1, sizeof(*totals));
	cleanup_free struct line_weight *lines = calloc(frames + 1, sizeof(*lines));
	cleanup_free uint32_t *best = calloc((size_t)c->keys->keys.count + 1, sizeof(*best));
	uint32_t *chosen = calloc(frames + 1, sizeof(*chosen));

	if (!totals || !lines || !best || !chosen) {
		free(chosen);
		return NULL;
	}
	for (size_t i = nodes; i-- > 0;) {
		const struct path_node *node = &c->nodes.nodes[i];
		uint64_t self = sum_of(&c->weights[i]);
		totals[i] += self;
		if (!node->parent)
			continue;
		totals[node->parent - 1] += totals[i];
		lines[node->location - 1].self += self;
		lines[node->location - 1].total += totals[i];
	}
	for (size_t i = 0; i < frames; i++) {
		uint32_t *than = &best[c->frames.nodes[i].parent - 1];
		const struct line_weight *line = &lines[i], *old = *than ? &lines[*than - 1] : line;
		if (!*than || line->self > old->self ||
		    (line->self == old->self && line->total > old->total))
			*than = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < frames; i++)
		chosen[i] = best[c->frames.nodes[i].parent - 1];
	return chosen;
}

static bool fill_frame(const struct stack_collector *c, struct stacks *stacks, uint32_t frame,
                       struct stack_frame *out)
{
	const struct profile *p = c->profile;
	const struct key *key = &c->keys->keys.keys[c->frames.nodes[frame].parent - 1];
	uint32_t line = c->frames.nodes[frame].location;
	const struct key *place = line ? &c->keys->lines.keys[line - 1] : key;

	*out = (struct stack_frame){
		.name = key_name(p, key, stacks->texts),
		.file = profile_string(p, place->file),
		.declared = profile_string(p, key->file),
		.module = key_module(p, key),
		.line = (int)place->line,
		.kernel = key->kernel,
		.inlined = place->inlined,
		.python = key->python,
		.called = key->called,
		.op = key->group == KEY_OP,
		.gil = key->group == KEY_GIL,
	};
	return out->name != NULL;
}

// All frames, or those that CHOSEN says. MAP receives their indices [frame - 1].
static bool fill_frames(const struct stack_collector *c, struct stacks *stacks,
                        const uint32_t *chosen, uint32_t *map)
{
	size_t count = c->frames.count;
	cleanup_free uint32_t *functions =
		calloc((size_t)c->keys->keys.count + 1, sizeof(*functions));

	stacks->frames = calloc(count + 1, sizeof(*stacks->frames));
	if (!functions || !stacks->frames)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *function = &functions[c->frames.nodes[i].parent - 1];
		if (chosen && chosen[i] != i + 1)
			continue;
		map[i] = (uint32_t)stacks->frame_count++;
		if (!fill_frame(c, stacks, i, &stacks->frames[map[i]]))
			return false;
		*function = *function ? *function : ++stacks->function_count;
		stacks->frames[map[i]].function = *function;
	}
	for (uint32_t i = 0; chosen && i < count; i++)
		map[i] = map[chosen[i] - 1];
	return true;
}

static void fill_thread(const struct profile *p, uint32_t slot, struct stack_thread *out)
{
	const struct thread_info *info = profile_thread(p, slot);
	const struct process_info *process = profile_process(p, info->process);

	*out = (struct stack_thread){
		.name = key_task_name(p, info->name),
		.process = key_task_name(p, process ? process->command : 0),
		.tid = info->tid,
		.pid = process ? process->pid : 0,
		.slot = slot,
		.process_slot = info->process,
		.is_main = process && process->pid == info->tid,
		.begin_ns = profile_since_start(p, info->start_ns),
		.end_ns = profile_since_start(p, info->end_ns ? info->end_ns : profile_last_ns(p)),
	};
}

// The nodes again, each frame as MAP has it: where two become one, weights add up. IDS receives
// the new number of each.
static bool merge_nodes(struct stack_collector *c, const uint32_t *map, struct paths *merged,
                        struct stack_weight *weights, uint32_t *ids)
{
	for (uint32_t i = 0; i < c->nodes.count; i++) {
		const struct path_node *node = &c->nodes.nodes[i];
		uint32_t caller = node->parent ? ids[node->parent - 1] : 0;
		uint32_t number = node->parent ? map[node->location - 1] : node->location - 1;
		ids[i] = paths_child(merged, caller, number);
		if (!ids[i])
			return false;
		add_weight(&weights[ids[i] - 1], &c->weights[i]);
	}
	return true;
}

// What a walk in order needs: callees of each node [id - 1], and whether there is anything in it.
struct links {
	uint32_t first_root;
	uint32_t *child, *sibling;
	bool *used;
};

static void links_at_scope_end(struct links *links)
{
	free(links->child);
	free(links->sibling);
	free(links->used);
}

static bool is_something(const struct stack_weight *weight)
{
	return sum_of(weight) || stack_weight_samples(weight) || weight->gpu_ns ||
	       weight->allocated_bytes;
}

static bool link_nodes(struct links *links, const struct paths *paths,
                       const struct stack_weight *weights)
{
	size_t count = (size_t)paths->count + 1;

	links->child = calloc(count, sizeof(*links->child));
	links->sibling = calloc(count, sizeof(*links->sibling));
	links->used = calloc(count, sizeof(*links->used));
	if (!links->child || !links->sibling || !links->used)
		return false;
	for (uint32_t id = paths->count; id > 0; id--) {
		uint32_t parent = paths_node(paths, id)->parent;
		uint32_t *head = parent ? &links->child[parent - 1] : &links->first_root;
		links->used[id - 1] |= is_something(&weights[id - 1]);
		if (!links->used[id - 1])
			continue;
		links->sibling[id - 1] = *head;
		*head = id;
		if (parent)
			links->used[parent - 1] = true;
	}
	return true;
}

// After node ID and all below it: its own next, or that of a caller.
static uint32_t next_aside(const struct links *links, const struct paths *paths, uint32_t id)
{
	while (id && !links->sibling[id - 1])
		id = paths_node(paths, id)->parent;
	return id ? links->sibling[id - 1] : 0;
}

static void put_node(struct stacks *stacks, const struct path_node *node, size_t caller,
                     const struct stack_weight *weight)
{
	struct stack_node *to = &stacks->nodes[stacks->count++];

	*to = (struct stack_node){
		.caller = caller,
		.frame = node->location,
		.depth = caller == STACK_NO_CALLER ? 0 : stacks->nodes[caller].depth + 1,
		.self = *weight,
	};
	add_weight(&stacks->all, weight);
	stacks->depth = to->depth > stacks->depth ? to->depth : stacks->depth;
}

static void put_thread(const struct stack_collector *c, struct stacks *stacks, uint32_t slot)
{
	if (stacks->thread_count)
		stacks->threads[stacks->thread_count - 1].end = stacks->count;
	fill_thread(c->profile, slot, &stacks->threads[stacks->thread_count]);
	stacks->threads[stacks->thread_count++].first = stacks->count;
}

// PLACES receives the index of each node.
static bool put_nodes(const struct stack_collector *c, struct stacks *stacks,
                      const struct paths *paths, const struct stack_weight *weights, size_t *places)
{
	cleanup(links) struct links links = { 0 };

	stacks->nodes = calloc((size_t)paths->count + 1, sizeof(*stacks->nodes));
	stacks->threads =
		calloc(profile_threads(c->profile)->thread_count + 1, sizeof(*stacks->threads));
	if (!stacks->nodes || !stacks->threads || !link_nodes(&links, paths, weights))
		return false;
	uint32_t id = links.first_root;
	while (id) {
		struct path_node node = *paths_node(paths, id);
		size_t caller = node.parent ? places[node.parent - 1] : STACK_NO_CALLER;
		if (!node.parent) {
			put_thread(c, stacks, node.location + 1);
			node.location = (uint32_t)stacks->thread_count - 1;
		}
		places[id - 1] = stacks->count;
		put_node(stacks, &node, caller, &weights[id - 1]);
		id = links.child[id - 1] ? links.child[id - 1] : next_aside(&links, paths, id);
	}
	if (stacks->thread_count)
		stacks->threads[stacks->thread_count - 1].end = stacks->count;
	return true;
}

static bool fill_owners(const struct stack_collector *c, struct stacks *stacks, const uint32_t *ids,
                        const size_t *places)
{
	uint32_t count = profile_paths(c->profile)->count;

	stacks->owners = calloc((size_t)count + 1, sizeof(*stacks->owners));
	for (uint32_t i = 0; stacks->owners && i < count; i++)
		if (c->owner[i])
			stacks->owners[i] = places[ids[c->owner[i] - 1] - 1];
	return stacks->owners != NULL;
}

static bool fill(struct stack_collector *c, struct stacks *stacks, enum stacks_by by)
{
	struct paths merged;
	cleanup_free uint32_t *ids = calloc((size_t)c->nodes.count + 1, sizeof(*ids));
	cleanup_free size_t *places = calloc((size_t)c->nodes.count + 1, sizeof(*places));
	cleanup_free uint32_t *chosen = by == STACKS_BY_FUNCTION ? choose_lines(c) : NULL;
	cleanup_free uint32_t *map = calloc((size_t)c->frames.count + 1, sizeof(*map));
	cleanup_free struct stack_weight *weights =
		calloc((size_t)c->nodes.count + 1, sizeof(*weights));

	stacks->texts = strings_new();
	if ((by == STACKS_BY_FUNCTION && !chosen) || !ids || !places || !map || !weights ||
	    !stacks->texts || !fill_frames(c, stacks, chosen, map) || !paths_init(&merged))
		return false;
	bool ok = merge_nodes(c, map, &merged, weights, ids) &&
	          put_nodes(c, stacks, &merged, weights, places) &&
	          fill_owners(c, stacks, ids, places);
	paths_fini(&merged);
	return ok;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->nodes);
	free(stacks->frames);
	free(stacks->threads);
	free(stacks->owners);
	strings_free(stacks->texts);
	free(stacks);
}

struct stacks *query_stacks(const struct profile *p, const struct query *query, enum stacks_by by,
                            struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(keys) struct keys keys = { 0 };
	cleanup(stack_collector) struct stack_collector c = { 0 };
	cleanup(stacks) struct stacks *stacks = calloc(1, sizeof(*stacks));
	struct query by_function = *query;

	by_function.by = BY_FUNCTION;
	if (!stacks) {
		no_memory(err);
		return NULL;
	}
	if (scope_init(&scope, p, &by_function, err) < 0 ||
	    keys_init(&keys, p, &by_function, KEYS_CODE | KEYS_LINES | KEYS_OPS, err) < 0)
		return NULL;
	if (!stack_collector_init(&c, &scope, &keys, &by_function)) {
		no_memory(err);
		return NULL;
	}
	if (stack_collector_run(&c, err) < 0)
		return NULL;
	if (!fill(&c, stacks, by)) {
		no_memory(err);
		return NULL;
	}
	stacks->bytes_left_out = !scope.whole_run && profile_allocations(p)->site_count;
	return steal(stacks);
}
