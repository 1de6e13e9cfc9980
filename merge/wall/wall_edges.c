// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/record.h"

#include <math.h>

#define EDGES_MAX    32768
#define SURE_SHARE   0.1 // of the time of an edge, at one place for certain
#define USUAL_SHARE  0.8 // of a thread's waits for the same, at one place
#define TAKEN_LOOKED 256 // of what a thread has had, the last
#define EDGES_LOOKED 256 // of a thread's edges, the youngest
// Edges.

static uint64_t hash_edge(const struct wall_edge *key)
{
	return hash_pair(
		hash_pair(key->resource ^ (uint64_t)key->kind << 56 ^ (uint64_t)key->module << 40,
	                  (uint64_t)key->waiter << 32 | key->waiter_node),
		(uint64_t)key->holder << 8 | (uint64_t)key->cause);
}

static struct edge_slot *find_edge(const struct wall *w, const struct wall_edge *key)
{
	for (uint32_t at = hash_start(&w->edge_index, hash_edge(key)); w->edge_index.slots[at];
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
	return NULL;
}

// KEY is an edge of H.
static struct edge_slot *edge_slot(struct wall *w, struct history *h, const struct wall_edge *key)
{
	struct edge_slot *slot = find_edge(w, key);
	uint64_t hashed = hash_edge(key);
	uint32_t at;

	if (slot)
		return slot;
	if (w->edge_count >= EDGES_MAX || !hash_make_room(&w->edge_index) ||
	    !array_reserve(&w->edges, &w->edge_capacity, w->edge_count + 1))
		return NULL;
	for (at = hash_start(&w->edge_index, hashed); w->edge_index.slots[at];)
		at = hash_next(&w->edge_index, at);
	w->edges[w->edge_count++] = (struct edge_slot){ .edge = *key, .next = h->last_edge };
	h->last_edge = (uint32_t)w->edge_count;
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

static void add_edge_place(struct wall *w, struct edge_slot *slot, uint32_t node, double ns)
{
	size_t least = 0;

	w->seed = w->seed * 1664525 + 1013904223;
	slot->places_ns += ns;
	if ((double)(w->seed >> 8) / (1 << 24) * slot->places_ns < ns)
		slot->drawn = node;

	for (size_t i = 0; i < EDGE_PLACES; i++) {
		if (slot->places[i].node == node && slot->places[i].ns > 0) {
			slot->places[i].ns += (float)ns;
			return;
		}
		if (slot->places[i].ns < slot->places[least].ns)
			least = i;
	}
	// What is there often stays, what comes once goes again (space saving: Metwally, Agrawal
	// and El Abbadi, 2005).
	slot->places[least].node = node;
	slot->places[least].more_ns = slot->places[least].ns;
	slot->places[least].ns += (float)ns;
}

uint32_t wall_node_of_wait(const struct history *h, const struct raw *raw)
{
	const struct deque *waits = &h->waits;
	uint64_t from_ns = raw->began_ns ? raw->began_ns : raw->from_ns;
	size_t i =
		array_search(waits->count, k, deque_at(waits, struct place, k)->from_ns < from_ns);

	if (i < waits->count && deque_at(waits, struct place, i)->from_ns == from_ns)
		return deque_at(waits, struct place, i)->node;
	return 0;
}

// Where H was in its last wait for a lock within TIMES; else where it waited for one at all.
static uint32_t node_of_lock(const struct history *h, const struct edge_times *times)
{
	const struct deque *waits = &h->waits;
	size_t i = array_search(waits->count, k,
	                        deque_at(waits, struct place, k)->from_ns < times->to_ns);

	while (i-- > 0) {
		const struct place *p = deque_at(waits, struct place, i);
		if (p->to_ns <= times->from_ns)
			break;
		if (p->metric == METRIC_OFF_LOCK)
			return p->node;
	}
	return h->lock_node;
}

// Where H spun last before TIME_NS.
static uint32_t node_of_spin(const struct history *h, uint64_t time_ns)
{
	const struct deque *s = &h->samples;
	size_t i = array_search(s->count, k, deque_at(s, struct place, k)->from_ns <= time_ns);

	while (i > 0 && !deque_at(s, struct place, i - 1)->spun_on)
		i--;
	return i > 0 ? deque_at(s, struct place, i - 1)->node : 0;
}

// Where H was on a CPU in the wait of TIMES; or where it waits for such.
static uint32_t node_of_run(const struct history *h, const struct edge_times *times)
{
	const struct deque *s = &h->samples;
	size_t i =
		array_search(s->count, k, deque_at(s, struct place, k)->from_ns <= times->from_ns);

	return i < s->count && deque_at(s, struct place, i)->from_ns <= times->to_ns
	               ? deque_at(s, struct place, i)->node
	       : times->kind == HELD_SPIN ? node_of_spin(h, times->from_ns)
	                                  : node_of_lock(h, times);
}

// Where H was in the wait of TIMES while it had no CPU, from which no stack comes.
static uint32_t node_of_ready(const struct history *h, const struct edge_times *times)
{
	return times->kind == HELD_SPIN ? node_of_run(h, times) : node_of_lock(h, times);
}

static uint64_t overlap(uint64_t from_a, uint64_t to_a, uint64_t from_b, uint64_t to_b)
{
	uint64_t from = max_ns(from_a, from_b), to = min_ns(to_a, to_b);

	return to > from ? to - from : 0;
}

// NS that V waited for METRIC without a stack go to where it waits for that at other times. What is
// not known to be a wait for anything may be any of its waits. Where it was seen in some of them it
// is taken to have been there in those that nobody looked at.
static void add_loose_place(struct wall *w, struct edge_slot *slot, const struct history *v,
                            enum metric metric, double ns)
{
	double shares[LOOSE_MAX] = { 0 }, all = 0;

	for (int unseen = 0; unseen <= 1 && all <= 0; unseen++)
		for (size_t i = 0; i < LOOSE_MAX; i++) {
			const struct loose *l = &v->loose[i];
			if (l->state == THREAD_BLOCKED && l->unseen == unseen &&
			    (l->metric == metric || metric == METRIC_OFF_OTHER))
				all += shares[i] = l->ns;
		}
	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (shares[i] > 0)
			add_edge_place(w, slot, v->loose[i].node, ns * shares[i] / all);
}

// V was blocked itself for a part of its time that no stack of a wait covers.
static void add_loose_places(struct wall *w, struct edge_slot *slot, const struct history *v,
                             uint64_t from_ns, uint64_t to_ns,
                             const uint64_t covered_ns[METRIC_COUNT])
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
	for (int m = 0; m < METRIC_COUNT; m++)
		if (blocked_ns[m] > covered_ns[m])
			add_loose_place(w, slot, v, (enum metric)m,
			                (double)(blocked_ns[m] - covered_ns[m]));
}

static void tell_wait(const struct wall *w, const struct edge_slot *slot, uint64_t from_ns,
                      uint64_t to_ns, uint32_t count)
{
	wall_tell_time(w, &(struct wall_time_part){ .series = WALL_WAITED,
	                                            .key = (uint32_t)(slot - w->edges) + 1,
	                                            .count = count,
	                                            .from_ns = from_ns,
	                                            .to_ns = to_ns,
	                                            .weight_ns = (double)(to_ns - from_ns) });
}

// Where V was in that time.
static void add_places(struct wall *w, struct edge_slot *slot, const struct history *v,
                       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t covered_ns[METRIC_COUNT] = { 0 };
	size_t i = array_search(v->samples.count, k,
	                        deque_at(&v->samples, struct place, k)->from_ns <= from_ns);

	for (; i < v->samples.count; i++) {
		const struct place *place = deque_at(&v->samples, struct place, i);
		if (place->from_ns > to_ns)
			break;
		add_edge_place(w, slot, place->node, (double)place->weight_ns);
	}
	i = array_search(v->waits.count, k, deque_at(&v->waits, struct place, k)->to_ns <= from_ns);
	for (; i < v->waits.count; i++) {
		const struct place *place = deque_at(&v->waits, struct place, i);
		if (place->from_ns >= to_ns)
			break;
		uint64_t ns = overlap(place->from_ns, place->to_ns, from_ns, to_ns);
		covered_ns[place->metric] += ns;
		add_edge_place(w, slot, place->node, (double)ns);
	}
	add_loose_places(w, slot, v, from_ns, to_ns, covered_ns);
}

// TAKEN is of what TIMES is a wait for; of threads that park it is taken to be.
static bool is_same(const struct taken *taken, const struct edge_times *times)
{
	return (taken->resource == times->resource && taken->module == times->module) ||
	       (taken->parked && times->parked);
}

// Since when, of that time, V had what TIMES is a wait for: while it waited for the same itself,
// others had it.
static uint64_t held_since(const struct history *v, const struct edge_times *times,
                           uint64_t from_ns, uint64_t to_ns)
{
	size_t i = array_search(v->taken.count, k,
	                        deque_at(&v->taken, struct taken, k)->from_ns < to_ns);
	size_t least = i > TAKEN_LOOKED ? i - TAKEN_LOOKED : 0;

	for (; i > least && times && times->resource; i--) {
		const struct taken *taken = deque_at(&v->taken, struct taken, i - 1);
		if (taken->since_ns <= from_ns)
			break;
		if (is_same(taken, times))
			return min_ns(taken->since_ns, to_ns);
	}
	return from_ns;
}

// Where V was while it had what it was waited for; if nothing was seen in that time, which may be
// short, where it was while it waited for it.
static void add_holders_places(struct wall *w, struct edge_slot *slot, const struct history *v,
                               const struct edge_times *times, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t since_ns = held_since(v, times, from_ns, to_ns);

	add_places(w, slot, v, since_ns, to_ns);
	if (slot->places_ns <= 0)
		add_places(w, slot, v, from_ns, since_ns);
}

// Returns the edge's number; 0 if there are too many.
uint32_t wall_count_edge(struct wall *w, struct history *h, const struct raw *raw,
                         struct edge_times *times, uint64_t from_ns, uint64_t to_ns,
                         uint32_t holder, bool guessed)
{
	struct wall_edge key = { .waiter = h->number,
		                 .waiter_node = raw->spins          ? node_of_spin(h, raw->from_ns)
		                                : raw->ran && times ? node_of_run(h, times)
		                                : raw->ready && times ? node_of_ready(h, times)
		                                                      : wall_node_of_wait(h, raw),
		                 .holder = holder,
		                 .resource = times            ? times->resource
		                             : raw->signalled ? 0
		                                              : raw->inode,
		                 .module = times ? times->module : 0,
		                 .made = times ? times->made : (struct frame){ 0 },
		                 .kind = raw->spins       ? WALL_SPIN
		                         : times          ? times->kind
		                         : raw->signalled ? WALL_SIGNAL
		                         : raw->inode     ? WALL_DESCRIPTOR
		                                          : 0,
		                 // Nobody has looked, but its thread has reported it.
		                 .cause = times && raw->cause == METRIC_OFF_OTHER
		                                  ? METRIC_OFF_LOCK
		                                  : (enum metric)raw->cause,
		                 .guessed = guessed };
	struct edge_slot *slot = edge_slot(w, h, &key);
	const struct history *v = holder ? wall_find_thread(w, holder) : NULL;
	uint64_t ns = to_ns - from_ns;

	if (!slot)
		return 0;
	h->placeless |= !slot->edge.waiter_node;
	slot->semaphore = times ? times->semaphore : 0;
	slot->edge.guessed &= guessed;
	// A part of a wait is no other one.
	bool ran = raw->ran && times;
	bool first = ran ? from_ns <= times->from_ns || from_ns == raw->from_ns : !raw->ready;
	bool counts = (first && !(times && times->counted)) || !slot->edge.count;
	if (ran)
		times->counted = true;
	slot->edge.ns += ns;
	slot->edge.count += counts;
	slot->edge.longest_ns = max_ns(slot->edge.longest_ns, ns);
	slot->lengths[bin_of(ns)] += counts;
	tell_wait(w, slot, from_ns, to_ns, counts);
	if (v)
		add_holders_places(w, slot, v, times, from_ns, to_ns);
	return (uint32_t)(slot - w->edges) + 1;
}

uint32_t wall_count_spin(struct wall *w, struct history *h, uint32_t node, const struct history *v,
                         uint64_t ns)
{
	const struct wall_edge key = { .waiter = h->number,
		                       .waiter_node = node,
		                       .holder = v->number,
		                       .kind = WALL_SPIN,
		                       .cause = METRIC_ON_CPU,
		                       .guessed = true };
	struct edge_slot *slot = edge_slot(w, h, &key);
	uint32_t edge = slot ? (uint32_t)(slot - w->edges) + 1 : 0;
	bool goes_on = edge && h->spin_edge == edge;

	h->spin_edge = edge;
	if (!slot)
		return 0;
	if (goes_on)
		slot->lengths[bin_of(h->spin_ns)]--;
	else
		slot->edge.count++;
	h->spin_ns = goes_on ? h->spin_ns + ns : ns;
	slot->lengths[bin_of(h->spin_ns)]++;
	slot->edge.ns += ns;
	tell_wait(w, slot, w->now_ns - min_ns(w->now_ns, ns), w->now_ns, !goes_on);
	slot->edge.longest_ns = max_ns(slot->edge.longest_ns, h->spin_ns);
	if (v->samples.count)
		add_edge_place(w, slot, deque_last(&v->samples, struct place)->node, (double)ns);
	return edge;
}

// Where H was for most of the time that it waited for CAUSE; 0: in several places, or none is
// known.
static uint32_t usual_place(const struct history *h, enum metric cause)
{
	const struct loose *most = NULL;
	double all = 0;

	for (size_t i = 0; i < LOOSE_MAX; i++) {
		const struct loose *l = &h->loose[i];
		if (l->state != THREAD_BLOCKED || l->metric != cause)
			continue;
		all += l->ns;
		most = most && most->ns >= l->ns ? most : l;
	}
	return most && most->ns >= USUAL_SHARE * all ? most->node : 0;
}

// Where H waited most of the time for what E is of, as far as that has a place: one resource is
// mostly wanted at one place, also of a thread that waits for others elsewhere. 0: not known.
static uint32_t place_of_resource(const struct wall *w, const struct history *h,
                                  const struct wall_edge *e)
{
	const struct edge_slot *most = NULL;
	uint32_t i = e->resource ? h->last_edge : 0;
	uint64_t all = 0;

	for (size_t looked = 0; i && looked < EDGES_LOOKED; looked++, i = w->edges[i - 1].next) {
		const struct edge_slot *slot = &w->edges[i - 1];
		if (slot->edge.resource != e->resource || slot->edge.module != e->module ||
		    slot->edge.kind != e->kind || !slot->edge.waiter_node)
			continue;
		all += slot->edge.ns;
		most = most && most->edge.ns >= slot->edge.ns ? most : slot;
	}
	return most && (double)most->edge.ns >= USUAL_SHARE * (double)all ? most->edge.waiter_node
	                                                                  : 0;
}

// SLOT's waits are taken for ones like those that have a place: so is what is known of who was
// waited for, if more was seen of that there. Waits that nobody has looked at are mostly ones of
// which nobody has looked at the other thread either.
static void take_places(const struct wall *w, struct edge_slot *slot)
{
	const struct edge_slot *like = slot->edge.waiter_node ? find_edge(w, &slot->edge) : NULL;

	if (!like || like == slot || like->places_ns <= slot->places_ns)
		return;
	memcpy(slot->places, like->places, sizeof(slot->places));
	slot->places_ns = like->places_ns;
	slot->drawn = like->drawn;
}

void wall_place_edges(struct wall *w, const struct history *h)
{
	for (uint32_t i = h->placeless ? h->last_edge : 0; i; i = w->edges[i - 1].next) {
		struct wall_edge *e = &w->edges[i - 1].edge;
		if (!e->waiter_node && e->kind != WALL_GIL && e->kind != WALL_SPIN) {
			uint32_t node = place_of_resource(w, h, e);
			e->waiter_node = node ? node : usual_place(h, e->cause);
			take_places(w, &w->edges[i - 1]);
		}
	}
}

void wall_uncount_spins(struct wall *w, struct history *h, uint64_t from_ns, uint64_t to_ns)
{
	struct deque *s = &h->samples;

	for (size_t i = array_search(s->count, k, deque_at(s, struct place, k)->from_ns <= from_ns);
	     i < s->count && deque_at(s, struct place, i)->from_ns <= to_ns; i++) {
		struct place *place = deque_at(s, struct place, i);
		struct edge_slot *slot = place->via ? &w->edges[place->via - 1] : NULL;
		if (!slot || place->uncounted)
			continue;
		place->uncounted = true;
		slot->edge.ns -= min_ns(place->weight_ns, slot->edge.ns);
		slot->edge.longest_ns = min_ns(slot->edge.longest_ns, slot->edge.ns);
		w->coverage.blocked_ns -= place->weight_ns;
		w->coverage.known_ns -= place->weight_ns;
		w->coverage.guessed_ns -= place->weight_ns;
	}
}

// Where the one that was waited for was most: what was seen there for certain, as of many paths the
// last one may have the time of others; or else one by chance.
static uint32_t most_frequent(const struct edge_slot *slot)
{
	uint32_t node = slot->drawn;
	double most = SURE_SHARE * slot->places_ns;

	for (size_t i = 0; i < EDGE_PLACES; i++) {
		double ns = (double)slot->places[i].ns - (double)slot->places[i].more_ns;
		if (ns <= most)
			continue;
		most = ns;
		node = slot->places[i].node;
	}
	return node;
}

const struct wall_edge *wall_edges(const struct wall *w, size_t *count)
{
	struct wall *own = (struct wall *)w;

	*count = 0;
	if (!array_reserve(&own->edges_seen, &own->seen_capacity, w->edge_count + 1))
		return NULL;
	for (size_t i = 0; i < w->edge_count; i++) {
		const struct edge_slot *slot = &w->edges[i];
		own->edges_seen[i] = slot->edge;
		own->edges_seen[i].number = (uint32_t)i + 1;
		if (slot->edge.kind == HELD_SEMAPHORE &&
		    semaphores_is_lock(w->semaphores, slot->semaphore))
			own->edges_seen[i].kind = WALL_LOCK;
		own->edges_seen[i].waiter = wall_tag(w, slot->edge.waiter);
		own->edges_seen[i].holder = wall_tag(w, slot->edge.holder);
		own->edges_seen[i].holder_node = most_frequent(slot);
		own->edges_seen[i].median_ns = median_of(slot);
		own->edges_seen[i].wall_ns = ns_whole(slot->wall_ns);
		own->edges_seen[i].wall_ready_ns = ns_whole(slot->wall_ready_ns);
	}
	*count = w->edge_count;
	return own->edges_seen;
}
