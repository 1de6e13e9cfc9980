// SPDX-License-Identifier: MIT
#include "merge/query/op_samples.h"

#include <stdlib.h>

bool op_samples_init(struct op_samples *s, const struct scope *scope, uint32_t groups)
{
	*s = (struct op_samples){ .scope = scope };
	s->groups = calloc((size_t)groups + 1, sizeof(*s->groups));
	s->innermost = calloc((size_t)scope->profile->paths.count + 1, sizeof(*s->innermost));
	if (s->groups && s->innermost)
		return true;
	op_samples_fini(s);
	return false;
}

void op_samples_fini(struct op_samples *s)
{
	free(s->groups);
	free(s->innermost);
	*s = (struct op_samples){ 0 };
}

static uint64_t own_ns(const struct scope *scope, uint32_t node)
{
	uint64_t ns = 0;

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++)
		ns += scope_ns(scope, &scope->table->cells[scope->cells[i]]);
	return ns;
}

// The group of the op that NODE is; 0 if it is none.
static uint32_t group_at(const struct profile *p, const struct path_node *node,
                         const uint32_t *groups)
{
	if (!node->parent)
		return 0;
	const struct location *location = locations_get(&p->locations, node->location);
	return location->kind == FRAME_OP ? groups[location->address - 1] : 0;
}

static void enter(struct op_samples *s, uint32_t id, uint32_t group)
{
	uint32_t parent = paths_node(&s->scope->profile->paths, id)->parent;
	uint32_t innermost = parent ? s->innermost[parent - 1] : 0;
	uint64_t own = own_ns(s->scope, id);

	if (group) {
		innermost = group;
		if (s->groups[group - 1].open++ == 0)
			s->groups[group - 1].before_ns = s->all_ns;
	}
	s->innermost[id - 1] = innermost;
	if (innermost)
		s->groups[innermost - 1].self_ns += own;
	s->all_ns += own;
}

static void leave(struct op_samples *s, uint32_t group)
{
	struct op_sample *sample = group ? &s->groups[group - 1] : NULL;

	if (sample && --sample->open == 0)
		sample->total_ns += s->all_ns - sample->before_ns;
}

void op_samples_add(struct op_samples *s, uint32_t root, const uint32_t *groups)
{
	const struct profile *p = s->scope->profile;
	struct step step = { root, true };

	while (step.node != root || step.entering) {
		uint32_t group = group_at(p, paths_node(&p->paths, step.node), groups);
		if (step.entering)
			enter(s, step.node, group);
		else
			leave(s, group);
		step = scope_next(s->scope, step);
	}
}
