// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

void history_fini(struct history *h)
{
	deque_fini(&h->raw);
	deque_fini(&h->pieces);
	deque_fini(&h->samples);
	deque_fini(&h->waits);
	deque_fini(&h->edges);
	deque_fini(&h->shares);
	deque_fini(&h->folds);
	deque_fini(&h->carries);
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
                       uint32_t node, double ns)
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
	if (!least->state || least->ns < ns)
		*least = (struct loose){ ns, node, (uint16_t)metric, (uint16_t)state };
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

bool history_bin(struct history *h, const struct bin_rules *rules, const struct wall_part *part,
                 uint32_t via)
{
	uint32_t bin = (uint32_t)(part->from_ns / rules->width_ns);
	struct fold *least = NULL;
	size_t count = 0;

	for (size_t i = h->folds.count; i-- > 0;) {
		struct fold *f = deque_at(&h->folds, struct fold, i);
		if (f->bin < bin)
			break;
		if (f->bin == bin) {
			count++;
			least = least && least->ns <= f->ns ? least : f;
		}
		if (f->bin == bin && f->node == part->node && f->owner == part->thread &&
		    f->metric == (uint32_t)part->metric && f->via == via) {
			f->ns += part->weight_ns;
			return true;
		}
	}
	if (least && count >= rules->paths_max) {
		share_place(least, rules, part, via);
		return true;
	}
	struct fold *fold = deque_push(&h->folds, struct fold);
	if (!fold)
		return false;
	*fold = (struct fold){ part->weight_ns, bin, part->node,
		               part->thread,    via, (uint32_t)part->metric };
	// What comes late is put in its place.
	for (size_t i = h->folds.count - 1; i > 0; i--) {
		struct fold *before = deque_at(&h->folds, struct fold, i - 1);
		if (before->bin <= bin)
			break;
		struct fold moved = *before;
		*before = *deque_at(&h->folds, struct fold, i);
		*deque_at(&h->folds, struct fold, i) = moved;
	}
	return true;
}

void history_widen(struct history *h)
{
	size_t kept = 0, first = 0; // of the bin that is being filled

	for (size_t i = 0; i < h->folds.count; i++) {
		struct fold f = *deque_at(&h->folds, struct fold, i);
		size_t at;
		f.bin /= 2;
		if (kept && deque_at(&h->folds, struct fold, kept - 1)->bin != f.bin)
			first = kept;
		for (at = first; at < kept; at++) {
			struct fold *other = deque_at(&h->folds, struct fold, at);
			if (other->node == f.node && other->owner == f.owner &&
			    other->metric == f.metric && other->via == f.via)
				break;
		}
		if (at == kept)
			*deque_at(&h->folds, struct fold, kept++) = f;
		else
			deque_at(&h->folds, struct fold, at)->ns += f.ns;
	}
	h->folds.count = kept;
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
	move_places(&h->samples, map);
	move_places(&h->waits, map);
	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (h->loose[i].state && h->loose[i].node)
			h->loose[i].node = map[h->loose[i].node - 1];
	for (size_t i = 0; i < h->folds.count; i++) {
		struct fold *f = deque_at(&h->folds, struct fold, i);
		f->node = f->node ? map[f->node - 1] : 0;
	}
}
