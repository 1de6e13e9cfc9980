// SPDX-License-Identifier: MIT
#include "merge/query/stack_collector.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not collect the stacks");
}

void stack_collector_fini(struct stack_collector *c)
{
	op_frames_fini(&c->shown);
	paths_fini(&c->frames);
	paths_fini(&c->nodes);
	free(c->weights);
	free(c->inner);
	free(c->caller);
	free(c->owner);
}

bool stack_collector_init(struct stack_collector *c, const struct scope *scope, struct keys *keys,
                          const struct query *query)
{
	const struct profile *p = scope->profile;
	size_t nodes = (size_t)p->paths.count + 1;
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
	uint32_t parent = paths_node(&c->profile->paths, id)->parent;

	return op_frames_is_op(&c->shown, id) ? c->caller[parent - 1] : c->inner[parent - 1];
}

// Adds the frames that path node ID shows; without any it is as its caller.
static bool add_frames(struct stack_collector *c, uint32_t id)
{
	uint32_t parent = paths_node(&c->profile->paths, id)->parent;
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
		if (frame->user || !c->query->user_code)
			c->owner[id - 1] = node;
	}
	c->inner[id - 1] = node;
	return true;
}

static bool add_root(struct stack_collector *c, uint32_t id)
{
	uint32_t node = add_node(c, 0, paths_node(&c->profile->paths, id)->location);

	c->inner[id - 1] = c->caller[id - 1] = node;
	return node;
}

static bool has_weight(const struct scope *scope, uint32_t id)
{
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++)
		if (scope->metrics[scope->table->cells[scope->cells[i]].metric])
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
		if (!scope->metrics[cell->metric])
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
		bool is_root = !paths_node(&c->profile->paths, step.node)->parent;
		root = is_root ? step.node : root;
		if (!(is_root ? add_root(c, step.node) : add_frames(c, step.node)) ||
		    !weigh_threads(c, step.node, root))
			return false;
	}
	return true;
}

static uint32_t root_of(const struct profile *p, uint32_t id)
{
	while (paths_node(&p->paths, id)->parent)
		id = paths_node(&p->paths, id)->parent;
	return id;
}

static bool weigh_gpus(struct stack_collector *c, const struct scope *gpu)
{
	for (uint32_t id = 1; id <= c->profile->paths.count; id++) {
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
	const struct allocations *a = &c->profile->allocations;

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
	if (c->profile->gpu.paths.count && (scope_init(&gpu, c->profile, &of_gpu, err) < 0 ||
	                                    (!weigh_gpus(c, &gpu) && no_memory(err) < 0)))
		return -1;
	if (c->scope->whole_run && !weigh_memory(c))
		return no_memory(err);
	return 0;
}

int stack_collector_run(struct stack_collector *c, struct error *err)
{
	return collect(c) ? weigh_others(c, err) : no_memory(err);
}
