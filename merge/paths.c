// SPDX-License-Identifier: MIT
#include "merge/paths.h"

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

static uint64_t hash_of_id(uint32_t id, const void *context)
{
	const struct paths *p = context;

	return hash_pair(p->nodes[id - 1].parent, p->nodes[id - 1].location);
}

static bool make_room(struct paths *p)
{
	if (hash_is_full(&p->index) && !hash_grow(&p->index, hash_of_id, p))
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
	hash_insert(&p->index, slot, p->count);
	return p->count;
}

static void rebuild_index(struct paths *p)
{
	memset(p->index.slots, 0, ((size_t)p->index.mask + 1) * sizeof(*p->index.slots));
	p->index.used = 0;
	for (uint32_t id = 1; id <= p->count; id++) {
		uint32_t at = hash_start(&p->index, hash_of_id(id, p));
		while (p->index.slots[at])
			at = hash_next(&p->index, at);
		hash_insert(&p->index, at, id);
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

bool paths_fold(struct paths *p, const uint64_t *weights, uint32_t keep, uint32_t folded_location,
                uint32_t *map)
{
	// By new id: the child that takes its folded callees in.
	cleanup_free uint32_t *folded = calloc((size_t)p->count + 1, sizeof(*folded));
	struct quota quota = find_quota(p, weights, keep);
	uint32_t count = 0;

	if (!folded)
		return false;
	for (uint32_t i = 0; i < p->count; i++) {
		struct path_node node = p->nodes[i];
		bool is_folded = node.location == folded_location && node.parent;
		// Read before anything is written: a new id never exceeds the old one.
		uint32_t parent = node.parent ? map[node.parent - 1] : 0;

		if (parent && p->nodes[parent - 1].location == folded_location &&
		    p->nodes[parent - 1].parent) {
			map[i] = parent;
		} else if (!parent || (!is_folded && is_kept(&quota, weights[i]))) {
			p->nodes[count++] = (struct path_node){ parent, node.location };
			map[i] = count;
		} else {
			if (!folded[parent]) {
				p->nodes[count++] = (struct path_node){ parent, folded_location };
				folded[parent] = count;
			}
			map[i] = folded[parent];
		}
	}
	p->count = count;
	rebuild_index(p);
	return true;
}

void paths_move_locations(struct paths *p, const uint32_t *map)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->nodes[i].parent)
			p->nodes[i].location = map[p->nodes[i].location - 1];
	rebuild_index(p);
}
