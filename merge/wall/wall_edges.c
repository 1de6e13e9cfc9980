// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"

#include <math.h>

#define EDGES_MAX 32768
// Edges.

static struct edge_slot *edge_slot(struct wall *w, const struct wall_edge *key)
{
	uint64_t hashed = hash_pair(
		hash_pair(key->resource ^ (uint64_t)key->kind << 56 ^ (uint64_t)key->module << 40,
	                  (uint64_t)key->waiter << 32 | key->waiter_node),
		(uint64_t)key->holder << 8 | (uint64_t)key->cause);
	uint32_t at;

	for (at = hash_start(&w->edge_index, hashed); w->edge_index.slots[at];
	     at = hash_next(&w->edge_index, at)) {
		struct edge_slot *slot = &w->edges[w->edge_index.slots[at] - 1];
		const struct wall_edge *e = &slot->edge;
		if (e->resource == key->resource && e->module == key->module &&
		    e->made.module == key->made.module && e->made.address == key->made.address &&
		    e->kind == key->kind && e->waiter == key->waiter &&
		    e->waiter_node == key->waiter_node && e->holder == key->holder &&
		    e->cause == key->cause)
			return slot;
	}
	if (w->edge_count >= EDGES_MAX || !hash_make_room(&w->edge_index) ||
	    !array_reserve(&w->edges, &w->edge_capacity, w->edge_count + 1))
		return NULL;
	for (at = hash_start(&w->edge_index, hashed); w->edge_index.slots[at];)
		at = hash_next(&w->edge_index, at);
	w->edges[w->edge_count++] = (struct edge_slot){ .edge = *key };
	hash_insert(&w->edge_index, at, hashed, (uint32_t)w->edge_count);
	return &w->edges[w->edge_count - 1];
}

static size_t bin_of(uint64_t ns)
{
	double bin = ns > 0 ? floor(2 * log2((double)ns / EDGE_FIRST_NS)) : 0;

	return bin < 0 ? 0 : bin < EDGE_BINS ? (size_t)bin : EDGE_BINS - 1;
}

// The middle of the bin that the median is in, by its length.
static uint64_t median_of(const struct edge_slot *slot)
{
	uint64_t below = 0;
	size_t bin = 0;

	while (bin < EDGE_BINS - 1 && 2 * (below + slot->lengths[bin]) < slot->edge.count)
		below += slot->lengths[bin++];
	uint64_t middle = (uint64_t)(EDGE_FIRST_NS * exp2(((double)bin + 0.5) / 2));
	if (slot->edge.count == 1)
		return slot->edge.longest_ns;
	return min_ns(middle, slot->edge.longest_ns);
}

static void add_edge_place(struct edge_slot *slot, uint32_t node, double ns)
{
	size_t least = 0;

	for (size_t i = 0; i < EDGE_PLACES; i++) {
		if (slot->places[i].node == node && slot->places[i].ns > 0) {
			slot->places[i].ns += ns;
			return;
		}
		if (slot->places[i].ns < slot->places[least].ns)
			least = i;
	}
	// What is there often stays, what comes once goes again (space saving).
	slot->places[least].node = node;
	slot->places[least].ns += ns;
}

uint32_t wall_node_of_wait(const struct history *h, uint64_t from_ns)
{
	const struct deque *waits = &h->waits;
	size_t i =
		array_search(waits->count, k, deque_at(waits, struct place, k)->from_ns < from_ns);

	if (i < waits->count && deque_at(waits, struct place, i)->from_ns == from_ns)
		return deque_at(waits, struct place, i)->node;
	return 0;
}

static uint64_t overlap(uint64_t from_a, uint64_t to_a, uint64_t from_b, uint64_t to_b)
{
	uint64_t from = max_ns(from_a, from_b), to = min_ns(to_a, to_b);

	return to > from ? to - from : 0;
}

// V was blocked itself for a part of its time that no stack of a wait covers: it is taken to have
// waited where it does mostly.
static void add_loose_places(struct edge_slot *slot, const struct history *v, uint64_t from_ns,
                             uint64_t to_ns, const uint64_t covered_ns[METRIC_COUNT])
{
	uint64_t blocked_ns[METRIC_COUNT] = { 0 };
	size_t i = array_search(v->pieces.count, k,
	                        deque_at(&v->pieces, struct piece, k)->to_ns <= from_ns);

	for (; i < v->pieces.count; i++) {
		const struct piece *p = deque_at(&v->pieces, struct piece, i);
		if (p->from_ns >= to_ns)
			break;
		if (p->own && p->state == THREAD_BLOCKED)
			blocked_ns[p->cause] += overlap(p->from_ns, p->to_ns, from_ns, to_ns);
	}
	for (int m = 0; m < METRIC_COUNT; m++) {
		const struct loose *most = NULL;
		for (size_t k = 0; blocked_ns[m] > covered_ns[m] && k < LOOSE_MAX; k++)
			if (v->loose[k].state == THREAD_BLOCKED && v->loose[k].metric == m &&
			    (!most || v->loose[k].ns > most->ns))
				most = &v->loose[k];
		if (most)
			add_edge_place(slot, most->node, (double)(blocked_ns[m] - covered_ns[m]));
	}
}

// Returns the edge's number; 0 if there are too many.
uint32_t wall_count_edge(struct wall *w, const struct history *h, const struct raw *raw,
                         const struct edge_times *times, uint64_t from_ns, uint64_t to_ns,
                         uint32_t holder, bool guessed)
{
	struct wall_edge key = { .waiter = h->number,
		                 .waiter_node = wall_node_of_wait(h, raw->from_ns),
		                 .holder = holder,
		                 .resource = times ? times->resource : raw->inode,
		                 .module = times ? times->module : 0,
		                 .made = times ? times->made : (struct frame){ 0 },
		                 .kind = times        ? times->kind
		                         : raw->inode ? WALL_DESCRIPTOR
		                                      : 0,
		                 .cause = (enum metric)raw->cause,
		                 .guessed = guessed };
	struct edge_slot *slot = edge_slot(w, &key);
	const struct history *v = holder ? wall_find_thread(w, holder) : NULL;
	uint64_t ns = to_ns - from_ns, covered_ns[METRIC_COUNT] = { 0 };

	if (!slot)
		return 0;
	slot->edge.guessed &= guessed;
	slot->edge.ns += ns;
	slot->edge.count++;
	slot->edge.longest_ns = max_ns(slot->edge.longest_ns, ns);
	slot->lengths[bin_of(ns)]++;
	if (!v)
		return (uint32_t)(slot - w->edges) + 1;
	size_t i = array_search(v->samples.count, k,
	                        deque_at(&v->samples, struct place, k)->from_ns <= from_ns);
	for (; i < v->samples.count; i++) {
		const struct place *place = deque_at(&v->samples, struct place, i);
		if (place->from_ns > to_ns)
			break;
		add_edge_place(slot, place->node, (double)place->weight_ns);
	}
	i = array_search(v->waits.count, k, deque_at(&v->waits, struct place, k)->to_ns <= from_ns);
	for (; i < v->waits.count; i++) {
		const struct place *place = deque_at(&v->waits, struct place, i);
		if (place->from_ns >= to_ns)
			break;
		ns = overlap(place->from_ns, place->to_ns, from_ns, to_ns);
		covered_ns[place->metric] += ns;
		add_edge_place(slot, place->node, (double)ns);
	}
	add_loose_places(slot, v, from_ns, to_ns, covered_ns);
	return (uint32_t)(slot - w->edges) + 1;
}

const struct wall_edge *wall_edges(const struct wall *w, size_t *count)
{
	struct wall *own = (struct wall *)w;

	*count = 0;
	if (!array_reserve(&own->edges_seen, &own->seen_capacity, w->edge_count + 1))
		return NULL;
	for (size_t i = 0; i < w->edge_count; i++) {
		const struct edge_slot *slot = &w->edges[i];
		size_t best = 0;
		for (size_t k = 1; k < EDGE_PLACES; k++)
			if (slot->places[k].ns > slot->places[best].ns)
				best = k;
		own->edges_seen[i] = slot->edge;
		own->edges_seen[i].waiter = wall_tag(w, slot->edge.waiter);
		own->edges_seen[i].holder = wall_tag(w, slot->edge.holder);
		own->edges_seen[i].holder_node = slot->places[best].node;
		own->edges_seen[i].median_ns = median_of(slot);
		own->edges_seen[i].wall_ns = (uint64_t)slot->wall_ns;
	}
	*count = w->edge_count;
	return own->edges_seen;
}
