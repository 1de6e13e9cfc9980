// SPDX-License-Identifier: MIT
#include "merge/table/paths.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <string.h>

// Weights are ranked in buckets that are a sixteenth wide.
#define BUCKETS 1024

bool paths_init(struct paths *p)
{
	*p = (struct paths){ 0 };
	return hash_init(&p->index, 1024);
}

void paths_fini(struct paths *p)
{
	free(p->nodes);
	hash_fini(&p->index);
}

static bool make_room(struct paths *p)
{
	if (!hash_make_room(&p->index))
		return false;
	return array_reserve(&p->nodes, &p->capacity, (size_t)p->count + 1);
}

static uint32_t find(const struct paths *p, uint32_t parent, uint32_t location, uint32_t *slot)
{
	uint32_t at = hash_start(&p->index, hash_pair(parent, location));

	for (; p->index.slots[at]; at = hash_next(&p->index, at)) {
		const struct path_node *node = &p->nodes[p->index.slots[at] - 1];
		if (node->parent == parent && node->location == location)
			break;
	}
	*slot = at;
	return p->index.slots[at];
}

uint32_t paths_child(struct paths *p, uint32_t parent, uint32_t location)
{
	uint32_t slot;
	uint32_t known = find(p, parent, location, &slot);

	if (known)
		return known;
	return paths_append(p, parent, location);
}

uint32_t paths_append(struct paths *p, uint32_t parent, uint32_t location)
{
	uint32_t slot;

	if (!make_room(p))
		return 0;
	find(p, parent, location, &slot);
	p->nodes[p->count++] = (struct path_node){ parent, location };
	hash_insert(&p->index, slot, hash_pair(parent, location), p->count);
	return p->count;
}

static void rebuild_index(struct paths *p)
{
	hash_clear(&p->index);
	for (uint32_t id = 1; id <= p->count; id++) {
		const struct path_node *node = &p->nodes[id - 1];
		uint64_t hash = hash_pair(node->parent, node->location);
		uint32_t at = hash_start(&p->index, hash);
		while (p->index.slots[at])
			at = hash_next(&p->index, at);
		hash_insert(&p->index, at, hash, id);
	}
}

// Monotonic: the exponent, then the four bits behind the leading one.
static unsigned bucket_of(uint64_t weight)
{
	if (weight < 16)
		return (unsigned)weight;
	unsigned exponent = 63 - (unsigned)__builtin_clzll(weight);
	return (exponent - 3) * 16 + (unsigned)(weight >> (exponent - 4) & 15);
}

/*
 * The KEEP heaviest nodes, older ones first where they weigh the same: a parent is as heavy as its
 * child and older, so whatever is kept has its callers kept too.
 */
struct quota {
	unsigned bucket; // heavier ones are all kept
	uint32_t left;   // of this bucket, in order of id
};

static struct quota find_quota(const struct paths *p, const uint64_t *weights, uint32_t keep)
{
	uint32_t counts[BUCKETS] = { 0 };
	unsigned bucket = BUCKETS - 1;

	for (uint32_t i = 0; i < p->count; i++)
		counts[bucket_of(weights[i])] += p->nodes[i].parent != 0;
	for (; bucket > 0 && counts[bucket] <= keep; bucket--)
		keep -= counts[bucket];
	return (struct quota){ bucket, keep };
}

static bool is_kept(struct quota *quota, uint64_t weight)
{
	unsigned bucket = bucket_of(weight);

	if (bucket != quota->bucket)
		return bucket > quota->bucket;
	return quota->left && quota->left--;
}

// What a folding knows about the old nodes [id - 1].
struct folding {
	const struct paths *old;
	const uint64_t *weights;
	uint64_t *below;   // of that, in callees
	uint32_t *anchors; // new node that takes in what is folded here
	bool *gone;        // it is folded
	uint32_t *map;     // its new node
	uint32_t location; // of what takes folded nodes in
};

static void folding_at_scope_end(struct folding *f)
{
	free(f->below);
	free(f->anchors);
	free(f->gone);
}

static bool folding_init(struct folding *f)
{
	uint32_t count = f->old->count;

	f->below = calloc((size_t)count + 1, sizeof(*f->below));
	f->anchors = calloc((size_t)count + 1, sizeof(*f->anchors));
	f->gone = calloc((size_t)count + 1, sizeof(*f->gone));
	if (!f->below || !f->anchors || !f->gone)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (f->old->nodes[i].parent)
			f->below[f->old->nodes[i].parent - 1] += f->weights[i];
	return true;
}

/*
 * How a folding goes about it. With leaves, "anchor > [folded] > leaf" is what remains of a
 * path: every function keeps its own time, only callers between are forgotten.
 */
struct manner {
	uint32_t keep;    // nodes that stay
	uint32_t anchors; // of these, the heaviest, beside the roots
	bool leaves;
};

// The new node for node I, which goes.
static uint32_t fold_node(struct paths *p, const struct folding *f, uint32_t i, bool leaves)
{
	uint32_t location = f->old->nodes[i].location;
	uint32_t folded = paths_child(p, f->anchors[i], f->location);

	if (!folded || !leaves || location == f->location || f->weights[i] == f->below[i])
		return folded;
	return paths_child(p, folded, location);
}

// False if there is no memory, or more nodes than BUDGET.
static bool build_folded(struct paths *p, struct folding *f, struct manner manner, uint32_t budget)
{
	struct quota kept = find_quota(f->old, f->weights, manner.keep);
	struct quota anchors = find_quota(f->old, f->weights, manner.anchors);

	for (uint32_t i = 0; i < f->old->count && p->count <= budget; i++) {
		struct path_node node = f->old->nodes[i];
		uint32_t caller = node.parent - 1; // of no meaning for a root
		f->gone[i] = node.parent && (f->gone[caller] || node.location == f->location ||
		                             !is_kept(&kept, f->weights[i]));
		f->anchors[i] = node.parent ? f->anchors[caller] : 0;
		if (f->gone[i])
			f->map[i] = fold_node(p, f, i, manner.leaves);
		else
			f->map[i] =
				paths_append(p, node.parent ? f->map[caller] : 0, node.location);
		if (!f->map[i])
			return false;
		if (!node.parent || (!f->gone[i] && is_kept(&anchors, f->weights[i])))
			f->anchors[i] = f->map[i];
	}
	return p->count <= budget;
}

bool paths_fold(struct paths *p, const uint64_t *weights, uint32_t keep, uint32_t budget,
                uint32_t folded_location, uint32_t *map)
{
	const struct manner manners[] = {
		{ keep, keep / 64, true },
		{ keep, 0, true },
		{ keep, keep, false },
	};
	cleanup(folding) struct folding f = {
		.old = p, .weights = weights, .map = map, .location = folded_location
	};

	if (!folding_init(&f))
		return false;
	for (size_t i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
		struct paths folded;
		bool last = i + 1 == sizeof(manners) / sizeof(manners[0]);
		if (paths_init(&folded) &&
		    build_folded(&folded, &f, manners[i], last ? UINT32_MAX : budget)) {
			paths_fini(p);
			*p = folded;
			return true;
		}
		paths_fini(&folded);
	}
	return false;
}

void paths_move_locations(struct paths *p, const uint32_t *map)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->nodes[i].parent)
			p->nodes[i].location = map[p->nodes[i].location - 1];
	rebuild_index(p);
}
