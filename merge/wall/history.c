// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"

void history_fini(struct history *h)
{
	deque_fini(&h->raw);
	deque_fini(&h->pieces);
	deque_fini(&h->samples);
	deque_fini(&h->waits);
	deque_fini(&h->edges);
	deque_fini(&h->shares);
	deque_fini(&h->taken);
	deque_fini(&h->folds);
	deque_fini(&h->carries);
	hash_fini(&h->last_bin.index);
}

bool history_push(struct history *h, const struct piece *piece)
{
	struct piece *last = h->pieces.count ? deque_last(&h->pieces, struct piece) : NULL;

	if (piece->to_ns <= piece->from_ns)
		return true;
	// A wait keeps its ends: by them its stack is found.
	if (last && last->to_ns == piece->from_ns && last->owner == piece->owner &&
	    last->state == piece->state && last->own == piece->own && last->via == piece->via &&
	    piece->state != THREAD_BLOCKED) {
		last->to_ns = piece->to_ns;
		return true;
	}
	struct piece *next = deque_push(&h->pieces, struct piece);
	if (next)
		*next = *piece;
	return next != NULL;
}

void history_add_loose(struct history *h, enum thread_state state, enum metric metric,
                       uint32_t node, bool unseen, double ns)
{
	struct loose *least = NULL;

	for (size_t i = 0; i < LOOSE_MAX; i++) {
		struct loose *l = &h->loose[i];
		if (l->state == state && l->node == node && l->metric == metric) {
			l->ns += ns;
			return;
		}
		if (!least || !l->state || (least->state && l->ns < least->ns))
			least = l;
	}
	if (least->state && least->ns >= ns)
		return;
	*least = (struct loose){ ns, node, (uint16_t)metric, (uint8_t)state, unseen };
	memset(h->loose_metrics, 0, sizeof(h->loose_metrics));
	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (h->loose[i].ns > 0)
			h->loose_metrics[h->loose[i].state] |= (uint16_t)(1u << h->loose[i].metric);
}

// PART, or LEAST itself, has LEAST's place, and the time of both.
static void share_place(struct fold *least, const struct bin_rules *rules,
                        const struct wall_part *part, uint32_t via)
{
	*rules->seed = *rules->seed * 1664525 + 1013904223;
	double chance = (double)(*rules->seed >> 8) / (1 << 24);

	least->ns += part->weight_ns;
	if (chance * least->ns >= part->weight_ns)
		return;
	least->node = part->node;
	least->owner = part->thread;
	least->via = via;
	least->metric = (uint32_t)part->metric;
}

// A bin of fewer paths is searched one by one.
#define INDEX_LEAST 32

// Of a bin that is full so many paths are looked at for one with little time.
#define TRIES 16

static bool is_path(const struct fold *f, const struct wall_part *part, uint32_t via)
{
	return f->node == part->node && f->owner == part->thread &&
	       f->metric == (uint32_t)part->metric && f->via == via;
}

static uint64_t hash_path(uint32_t node, uint32_t owner, uint32_t metric, uint32_t via)
{
	return hash_pair((uint64_t)node << 32 | owner, (uint64_t)metric << 32 | via);
}

// The fold at PLACE of the last bin is found from now on. The index counts from where that bin
// begins, which moves when something late is put into an earlier one.
static void index_fold(struct history *h, size_t place)
{
	const struct fold *f = deque_at(&h->folds, struct fold, place);
	uint64_t hashed = hash_path(f->node, f->owner, f->metric, f->via);

	if (!hash_make_room(&h->last_bin.index)) {
		h->last_bin.valid = false;
		return;
	}
	uint32_t at = hash_start(&h->last_bin.index, hashed);
	while (h->last_bin.index.slots[at])
		at = hash_next(&h->last_bin.index, at);
	hash_insert(&h->last_bin.index, at, hashed, (uint32_t)(place - h->last_bin.first) + 1);
}

// Of BIN, which begins at last_bin.first and ends at END.
static void index_last_bin(struct history *h, uint32_t bin, size_t end)
{
	if (!h->last_bin.index.slots && !hash_init(&h->last_bin.index, 4 * INDEX_LEAST))
		return;
	hash_clear(&h->last_bin.index);
	h->last_bin.bin = bin;
	h->last_bin.valid = true;
	for (size_t i = h->last_bin.first; i < end && h->last_bin.valid; i++)
		index_fold(h, i);
}

// Whether BIN is the last one, and has an index.
static bool is_indexed(struct history *h, uint32_t bin)
{
	size_t count = h->folds.count, first = count;

	if (!count || deque_last(&h->folds, struct fold)->bin != bin)
		return false;
	bool stale = h->last_bin.index.used > 4 * (count - h->last_bin.first);
	if (h->last_bin.valid && h->last_bin.bin == bin && !stale)
		return true;
	while (first && deque_at(&h->folds, struct fold, first - 1)->bin == bin)
		first--;
	h->last_bin.valid = false;
	if (count - first < INDEX_LEAST)
		return false;
	h->last_bin.first = first;
	index_last_bin(h, bin, count);
	return h->last_bin.valid;
}

static struct fold *find_indexed(struct history *h, const struct wall_part *part, uint32_t via)
{
	const struct hash *index = &h->last_bin.index;

	for (uint32_t at = hash_start(
		     index, hash_path(part->node, part->thread, (uint32_t)part->metric, via));
	     index->slots[at]; at = hash_next(index, at)) {
		struct fold *f =
			deque_at(&h->folds, struct fold, h->last_bin.first + index->slots[at] - 1);
		if (is_path(f, part, via))
			return f;
	}
	return NULL;
}

// One with little time, of the last bin.
static size_t find_little(const struct history *h, uint32_t *seed)
{
	size_t count = h->folds.count - h->last_bin.first, least = h->last_bin.first;

	for (int i = 0; i < TRIES; i++) {
		*seed = *seed * 1664525 + 1013904223;
		size_t place = h->last_bin.first + (size_t)((uint64_t)*seed * count >> 32);
		if (deque_at(&h->folds, struct fold, place)->ns <
		    deque_at(&h->folds, struct fold, least)->ns)
			least = place;
	}
	return least;
}

static bool push_fold(struct history *h, uint32_t bin, const struct wall_part *part, uint32_t via)
{
	struct fold *fold = deque_push(&h->folds, struct fold);

	if (!fold)
		return false;
	*fold = (struct fold){ part->weight_ns, bin, part->node,
		               part->thread,    via, (uint32_t)part->metric };
	return true;
}

static bool bin_by_index(struct history *h, const struct bin_rules *rules,
                         const struct wall_part *part, uint32_t via)
{
	struct fold *f = find_indexed(h, part, via);

	if (f) {
		f->ns += part->weight_ns;
		return true;
	}
	if (h->folds.count - h->last_bin.first >= rules->paths_max) {
		size_t place = find_little(h, rules->seed);
		f = deque_at(&h->folds, struct fold, place);
		share_place(f, rules, part, via);
		if (is_path(f, part, via))
			index_fold(h, place);
		return true;
	}
	if (!push_fold(h, h->last_bin.bin, part, via))
		return false;
	index_fold(h, h->folds.count - 1);
	return true;
}

// Where the folds of BIN and of later ones begin.
static size_t bin_begin(const struct history *h, uint32_t bin)
{
	return array_search(h->folds.count, i, deque_at(&h->folds, struct fold, i)->bin < bin);
}

// The last fold came late: its place is END, behind the others of its bin.
static void put_in_place(struct history *h, size_t end)
{
	struct fold *place = deque_at(&h->folds, struct fold, end);
	struct fold late = *deque_last(&h->folds, struct fold);

	memmove(place + 1, place, (h->folds.count - 1 - end) * sizeof(*place));
	*place = late;
	h->last_bin.first++;
	h->last_bin.valid &= late.bin < h->last_bin.bin;
}

bool history_bin(struct history *h, const struct bin_rules *rules, const struct wall_part *part,
                 uint32_t via)
{
	// What was carried along goes with the last of it: earlier bins are full mostly, and long.
	uint64_t at_ns = part->to_ns > part->from_ns ? part->to_ns - 1 : part->from_ns;
	uint32_t bin = (uint32_t)(at_ns / rules->width_ns);
	struct fold *least = NULL;

	if (is_indexed(h, bin))
		return bin_by_index(h, rules, part, via);
	size_t first = bin_begin(h, bin), end = first;
	for (; end < h->folds.count; end++) {
		struct fold *f = deque_at(&h->folds, struct fold, end);
		if (f->bin != bin)
			break;
		if (is_path(f, part, via)) {
			f->ns += part->weight_ns;
			return true;
		}
		least = least && least->ns <= f->ns ? least : f;
	}
	if (least && end - first >= rules->paths_max) {
		share_place(least, rules, part, via);
		return true;
	}
	if (!push_fold(h, bin, part, via))
		return false;
	if (end + 1 < h->folds.count)
		put_in_place(h, end);
	return true;
}

// The fold of the last bin, from FIRST to KEPT, that is of the same path as F; KEPT: there is none.
static size_t find_widened(struct history *h, const struct fold *f, size_t kept)
{
	const struct wall_part part = { .node = f->node,
		                        .thread = f->owner,
		                        .metric = (enum metric)f->metric };

	if (h->last_bin.valid) {
		const struct fold *found = find_indexed(h, &part, f->via);
		return found ? (size_t)(found - deque_at(&h->folds, struct fold, 0)) : kept;
	}
	size_t at = h->last_bin.first;
	while (at < kept && !is_path(deque_at(&h->folds, struct fold, at), &part, f->via))
		at++;
	return at;
}

void history_widen(struct history *h)
{
	size_t kept = 0;

	// The bin that is being filled is the last one meanwhile.
	h->last_bin.first = 0;
	h->last_bin.valid = false;
	for (size_t i = 0; i < h->folds.count; i++) {
		struct fold f = *deque_at(&h->folds, struct fold, i);
		f.bin /= 2;
		if (kept && deque_at(&h->folds, struct fold, kept - 1)->bin != f.bin) {
			h->last_bin.first = kept;
			h->last_bin.valid = false;
		}
		if (!h->last_bin.valid && kept - h->last_bin.first == INDEX_LEAST)
			index_last_bin(h, f.bin, kept);
		size_t at = find_widened(h, &f, kept);
		if (at < kept) {
			deque_at(&h->folds, struct fold, at)->ns += f.ns;
			continue;
		}
		*deque_at(&h->folds, struct fold, kept++) = f;
		if (h->last_bin.valid)
			index_fold(h, at);
	}
	h->folds.count = kept;
	h->last_bin.valid = false;
}

static void move_places(struct deque *places, const uint32_t *map)
{
	for (size_t i = 0; i < places->count; i++) {
		struct place *place = deque_at(places, struct place, i);
		place->node = place->node ? map[place->node - 1] : 0;
	}
}

void history_move_nodes(struct history *h, const uint32_t *map)
{
	h->last_bin.valid = false;
	move_places(&h->samples, map);
	move_places(&h->waits, map);
	h->lock_node = h->lock_node ? map[h->lock_node - 1] : 0;
	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (h->loose[i].state && h->loose[i].node)
			h->loose[i].node = map[h->loose[i].node - 1];
	for (size_t i = 0; i < h->folds.count; i++) {
		struct fold *f = deque_at(&h->folds, struct fold, i);
		f->node = f->node ? map[f->node - 1] : 0;
	}
}
