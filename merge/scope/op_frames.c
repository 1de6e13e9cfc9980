// SPDX-License-Identifier: MIT
#include "merge/scope/op_frames.h"

#include "base/array.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"

#include <stdlib.h>

// An op that is begun in more places than this is not looked for in the others.
#define CALLERS_MAX 64

// Where an op was begun.
struct begun {
	uint32_t op, caller;
};

static int compare_begun(const void *a, const void *b)
{
	const struct begun *left = a, *right = b;

	if (left->op != right->op)
		return left->op < right->op ? -1 : 1;
	return (left->caller > right->caller) - (left->caller < right->caller);
}

// By op, each once.
static struct begun *list_begun(const struct op_table *t, size_t *count)
{
	struct begun *begun = calloc((size_t)t->count + 1, sizeof(*begun));
	size_t all = 0;

	*count = 0;
	for (uint32_t i = 0; begun && i < t->count; i++)
		if (t->entries[i].key.caller)
			begun[all++] =
				(struct begun){ t->entries[i].key.op, t->entries[i].key.caller };
	if (all)
		qsort(begun, all, sizeof(*begun), compare_begun);
	for (size_t i = 0; i < all; i++)
		if (!i || compare_begun(&begun[i - 1], &begun[i]) != 0)
			begun[(*count)++] = begun[i];
	return begun;
}

static const struct path_node *path_of(const struct op_frames *f, uint32_t node)
{
	return profile_node(f->profile, node);
}

// NULL for the root of a thread.
static const struct location *location_of(const struct op_frames *f, uint32_t node)
{
	const struct path_node *path = path_of(f, node);

	return path->parent ? profile_location(f->profile, path->location) : NULL;
}

bool op_frames_is_op(const struct op_frames *f, uint32_t node)
{
	const struct location *at = location_of(f, node);

	return at && at->kind == FRAME_OP;
}

// What has begun the op, or the ops, that NODE stands right below.
static uint32_t find_owner(const struct op_frames *f, uint32_t node)
{
	uint32_t above = path_of(f, node)->parent;

	if (op_frames_is_op(f, above))
		return f->owner[above - 1];
	return location_of(f, above) ? above : 0;
}

/*
 * Where an op's owner runs itself, both its frames are the instruction that was interrupted.
 * Recursion looks different: its callers are to be returned to.
 */
static bool is_owner_again(const struct op_frames *f, uint32_t node)
{
	const struct path_node *path = path_of(f, node);

	if (!path->parent || !op_frames_is_op(f, path->parent))
		return false;
	uint32_t owner = find_owner(f, node);
	return owner && path_of(f, owner)->location == path->location &&
	       location_of(f, node)->kind == FRAME_EXACT;
}

// How many functions two locations have in common, outermost first.
static uint32_t common_frames(const struct keys *keys, uint32_t a, uint32_t b)
{
	uint32_t at = keys->first[a - 1], other = keys->first[b - 1], common = 0;

	while (at + common < keys->first[a] && other + common < keys->first[b] &&
	       keys->frames[at + common].key == keys->frames[other + common].key)
		common++;
	return common;
}

// The most that LOCATION has in common with a line that has begun OP.
static uint32_t common_with_callers(const struct op_frames *f, uint32_t op, uint32_t location,
                                    const struct begun *begun, size_t count)
{
	size_t first = array_search(count, i, begun[i].op < op);
	uint32_t most = 0;

	for (size_t i = first; i < count && i < first + CALLERS_MAX && begun[i].op == op; i++) {
		uint32_t common = common_frames(f->keys, location, begun[i].caller);
		most = common > most ? common : most;
	}
	return most;
}

// Until something better is known, all frames of an owner are above its ops.
static void split_owner(struct op_frames *f, uint32_t node, const struct begun *begun, size_t count)
{
	uint32_t owner = find_owner(f, node);

	f->owner[node - 1] = owner;
	if (!owner)
		return;
	uint32_t location = path_of(f, owner)->location, first = f->keys->first[location - 1];
	uint32_t common = common_with_callers(f, (uint32_t)location_of(f, node)->address, location,
	                                      begun, count);
	if (common && first + common < f->split[owner - 1])
		f->split[owner - 1] = first + common;
}

bool op_frames_init(struct op_frames *f, const struct profile *p, const struct keys *keys)
{
	size_t nodes = (size_t)profile_paths(p)->count + 1, count;
	cleanup_free struct begun *begun = list_begun(profile_op_table(p), &count);

	*f = (struct op_frames){ .profile = p, .keys = keys };
	f->again = calloc(nodes, sizeof(*f->again));
	f->owner = calloc(nodes, sizeof(*f->owner));
	f->split = calloc(nodes, sizeof(*f->split));
	if (!begun || !f->again || !f->owner || !f->split) {
		op_frames_fini(f);
		return false;
	}
	for (uint32_t node = 1; node <= profile_paths(p)->count; node++) {
		const struct location *at = location_of(f, node);
		f->split[node - 1] = at ? keys->first[path_of(f, node)->location] : 0;
		if (at && at->kind == FRAME_OP)
			split_owner(f, node, begun, count);
		else if (at)
			f->again[node - 1] = is_owner_again(f, node);
	}
	return true;
}

void op_frames_fini(struct op_frames *f)
{
	free(f->again);
	free(f->owner);
	free(f->split);
	*f = (struct op_frames){ 0 };
}

static uint32_t visible(const struct op_frames *f, uint32_t at, uint32_t end)
{
	while (at < end && f->keys->frames[at].hidden)
		at++;
	return at < end ? at : FRAME_NONE;
}

uint32_t op_frames_first(const struct op_frames *f, uint32_t node)
{
	uint32_t location = path_of(f, node)->location;

	if (!location_of(f, node) || f->again[node - 1])
		return FRAME_NONE;
	return visible(f, f->keys->first[location - 1], f->keys->first[location]);
}

uint32_t op_frames_next(const struct op_frames *f, uint32_t node, uint32_t frame)
{
	uint32_t owner = f->owner[node - 1];
	uint32_t end = f->keys->first[path_of(f, node)->location];

	if (!op_frames_is_op(f, node))
		return visible(f, frame + 1, end);
	if (!owner)
		return FRAME_NONE;
	// An op is followed by what is inlined in its owner.
	bool is_op_itself = frame + 1 == end;
	return visible(f, is_op_itself ? f->split[owner - 1] : frame + 1,
	               f->keys->first[path_of(f, owner)->location]);
}

uint32_t op_frames_caller(const struct op_frames *f, uint32_t node)
{
	uint32_t caller = op_frames_first(f, node), next;

	if (op_frames_is_op(f, node))
		return caller;
	for (; caller != FRAME_NONE; caller = next) {
		next = op_frames_next(f, node, caller);
		if (next == FRAME_NONE || next >= f->split[node - 1])
			return caller;
	}
	return FRAME_NONE;
}
