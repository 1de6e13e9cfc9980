// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"

// Pieces of a thread, and bins of all: beyond, they are folded early, and are wider.
#define PIECES_MAX 16384
#define FOLDS_MAX  (1u << 20)
#define BINS_MIN   4 // of a run: they become no fewer, however many paths there are
#define PATHS_MIN  16
#define PATHS_MAX  2048

// So many carries a thread has at most.
#define CARRIES_MAX 64
#define MANY        64 // threads

// So much waiting without a stack of its own goes to those of other waits at once.
#define CARRY_NS (100.0 * NS_PER_MS)
// Wall time that has a place.

void wall_widen(struct wall *w)
{
	w->width_ns *= 2;
	w->folds = 0;
	for (size_t i = 0; i < w->active_count; i++) {
		history_widen(w->active[i]);
		w->folds += w->active[i]->folds.count;
	}
}

void wall_tell(struct wall *w, const struct wall_part *part)
{
	struct wall_part tagged = *part;

	tagged.tag = wall_tag(w, part->thread);
	w->told(w->context, &tagged);
}

static struct origin origin_of(const struct piece *piece)
{
	return (struct origin){ piece->own, piece->via };
}

// All bins of all threads together are bounded: of thousands each has fewer paths.
static size_t paths_max(const struct wall *w)
{
	size_t each = FOLDS_MAX / BINS_MIN / (w->active_count + 1);

	return each < PATHS_MIN ? PATHS_MIN : each > PATHS_MAX ? PATHS_MAX : each;
}

void wall_settle(struct wall *w, struct history *h, const struct wall_part *part,
                 struct origin origin)
{
	size_t before = h->folds.count;

	if (part->weight_ns <= 0)
		return;
	if (h == w->root && !origin.own)
		wall_tell(w, part);
	if (h == w->root && origin.via) {
		struct edge_slot *edge = &w->edges[origin.via - 1];
		struct wall_time_part time = { .series = WALL_EDGE_WALL,
			                       .key = origin.via,
			                       .from_ns = part->from_ns,
			                       .to_ns = part->to_ns,
			                       .weight_ns = part->weight_ns };
		edge->wall_ns += part->weight_ns;
		wall_tell_time(w, &time);
		if (part->metric == METRIC_OFF_RUNNABLE) {
			edge->wall_ready_ns += part->weight_ns;
			time.series = WALL_EDGE_READY;
			wall_tell_time(w, &time);
		}
	}
	const struct bin_rules rules = { w->width_ns, paths_max(w), &w->seed };
	w->incomplete |= !history_bin(h, &rules, part, origin.via);
	w->folds += h->folds.count - before;
	if (w->folds > FOLDS_MAX &&
	    (w->now_ns - min_ns(w->now_ns, w->first_ns)) / w->width_ns >= BINS_MIN)
		wall_widen(w);
}

static void settle_loosely(struct wall *w, struct history *h, struct carry *c, bool at_last);

// Whether the cause of C's waiting is known.
static bool has_cause(const struct carry *c)
{
	return c->state == THREAD_BLOCKED && c->cause != METRIC_OFF_OTHER;
}

// Whether anything is known of where the owner of C may have been.
static bool has_loose(const struct wall *w, const struct carry *c)
{
	const struct history *owner = wall_find_thread(w, c->owner);
	uint16_t metrics = owner ? owner->loose_metrics[c->state] : 0;

	return has_cause(c) ? metrics >> c->cause & 1 : metrics;
}

// A place for one more: of many the one that has waited with most time goes, if there is somewhere
// to go.
static struct carry *new_carry(struct wall *w, struct history *h)
{
	struct carry *most = NULL;
	bool most_goes = false;

	if (h->carries.count < CARRIES_MAX)
		return deque_push(&h->carries, struct carry);
	for (size_t i = 0; i < h->carries.count; i++) {
		struct carry *c = deque_at(&h->carries, struct carry, i);
		if (!(c->ns > 0))
			return c;
		if (most && most->ns >= c->ns && most_goes)
			continue;
		bool goes = has_loose(w, c);
		if (most && (most_goes > goes || (most_goes == goes && most->ns >= c->ns)))
			continue;
		most = c;
		most_goes = goes;
	}
	settle_loosely(w, h, most, true);
	return most;
}

// NULL: there is none, and CREATE is false, or no memory.
static struct carry *carry_of(struct wall *w, struct history *h, const struct piece *piece,
                              bool create)
{
	for (size_t i = h->carries.count; i-- > 0;) {
		struct carry *c = deque_at(&h->carries, struct carry, i);
		if (c->owner == piece->owner && c->state == piece->state &&
		    c->cause == piece->cause && c->own == piece->own && c->via == piece->via)
			return c;
	}
	struct carry *c = create ? new_carry(w, h) : NULL;
	if (!c) {
		w->incomplete |= create;
		return NULL;
	}
	*c = (struct carry){ .owner = piece->owner,
		             .state = piece->state,
		             .cause = piece->cause,
		             .own = piece->own,
		             .via = piece->via,
		             .from_ns = piece->from_ns };
	return c;
}

static enum metric metric_of(enum thread_state state, enum metric cause)
{
	return state == THREAD_RUNS    ? METRIC_ON_CPU
	       : state == THREAD_READY ? METRIC_OFF_RUNNABLE
	                               : cause;
}

// L is where the owner of C may have been then: it waited for the same.
static bool may_be_at(const struct carry *c, const struct loose *l)
{
	return l->state == c->state && (!has_cause(c) || l->metric == c->cause);
}

// How much is known of where the owner of C may have been.
static double loose_ns(const struct wall *w, const struct carry *c)
{
	const struct history *owner = wall_find_thread(w, c->owner);
	double ns = 0;

	for (size_t i = 0; owner && i < LOOSE_MAX; i++)
		ns += may_be_at(c, &owner->loose[i]) ? owner->loose[i].ns : 0;
	return ns;
}

// What waits for a place in H's share goes where its owner was in that state at other times.
static void settle_loosely(struct wall *w, struct history *h, struct carry *c, bool at_last)
{
	const struct history *owner = wall_find_thread(w, c->owner);
	const double all = loose_ns(w, c);

	if (all <= 0 && !at_last)
		return;
	struct wall_part part = { .thread = c->owner,
		                  .metric = metric_of(c->state, c->cause),
		                  .from_ns = c->from_ns,
		                  .to_ns = c->to_ns,
		                  .weight_ns = c->ns };
	// Of many threads' times each goes to one place, which is drawn.
	bool draw = all > 0 && w->active_count > MANY, drawn = false;
	w->seed = w->seed * 1664525 + 1013904223;
	double left = all * (double)(w->seed >> 8) / (1 << 24);
	for (size_t i = 0; owner && all > 0 && i < LOOSE_MAX; i++) {
		const struct loose *l = &owner->loose[i];
		if (!may_be_at(c, l))
			continue;
		left -= l->ns;
		if (draw && left >= 0)
			continue;
		part.node = l->node;
		part.metric = (enum metric)l->metric;
		part.weight_ns = draw ? c->ns : c->ns * l->ns / all;
		wall_settle(w, h, &part, (struct origin){ c->own, c->via });
		drawn = draw;
		if (drawn)
			break;
	}
	if (all <= 0 || (draw && !drawn))
		wall_settle(w, h, &part, (struct origin){ c->own, c->via });
	c->ns = 0;
}

static void keep_carry(struct wall *w, struct history *h, const struct piece *piece, double ns)
{
	struct carry *c = ns > 0 ? carry_of(w, h, piece, true) : NULL;

	if (!c)
		return;
	if (!(c->ns > 0))
		c->from_ns = piece->from_ns;
	c->ns += ns;
	c->to_ns = piece->to_ns;
	if (piece->state != THREAD_RUNS && c->ns >= CARRY_NS)
		settle_loosely(w, h, c, false);
}

// Where V was next to TIME_NS, when it worked; NULL: it is not known.
static const struct place *place_near(const struct history *v, uint64_t time_ns)
{
	const struct deque *s = &v->samples;
	size_t next = array_search(s->count, i, deque_at(s, struct place, i)->from_ns < time_ns);
	const struct place *best = NULL;

	for (size_t i = next ? next - 1 : 0; i <= next && i < s->count; i++) {
		const struct place *p = deque_at(s, struct place, i);
		uint64_t off = max_ns(p->from_ns, time_ns) - min_ns(p->from_ns, time_ns);
		if (!p->spun_on && (!best || off < max_ns(best->from_ns, time_ns) -
		                                             min_ns(best->from_ns, time_ns)))
			best = p;
	}
	return best;
}

// PART, at PLACE, is of a thread that spun: it is that of who was waited for. False: that one has
// no place.
static bool settle_spin(struct wall *w, struct history *h, const struct piece *piece,
                        const struct place *place, const struct wall_part *part)
{
	const struct history *v = wall_find_thread(w, place->spun_on);
	const struct place *near = v ? place_near(v, place->from_ns) : NULL;
	struct wall_part spun = *part;

	if (!near)
		return false;
	if (h == w->root && piece->own) {
		spun.minus = true;
		wall_tell(w, &spun);
		spun.minus = false;
	}
	spun.thread = v->number;
	spun.node = near->node;
	spun.metric = place->spun_ready ? METRIC_OFF_RUNNABLE : METRIC_ON_CPU;
	wall_settle(w, h, &spun, (struct origin){ false, place->via ? place->via : piece->via });
	return true;
}

// The samples that fall into a piece share its time, and what was carried along.
static void settle_run(struct wall *w, struct history *h, const struct piece *piece)
{
	const struct history *owner = wall_find_thread(w, piece->owner);
	double ns = (double)(piece->to_ns - piece->from_ns), all = 0;
	size_t first = 0, end = 0;

	if (owner) {
		const struct deque *s = &owner->samples;
		first = array_search(s->count, i,
		                     deque_at(s, struct place, i)->from_ns <= piece->from_ns);
		end = array_search(s->count, i,
		                   deque_at(s, struct place, i)->from_ns <= piece->to_ns);
		for (size_t i = first; i < end; i++)
			all += (double)deque_at(s, struct place, i)->weight_ns;
	}
	if (!owner || all <= 0) {
		keep_carry(w, h, piece, ns);
		return;
	}
	struct carry *c = carry_of(w, h, piece, false);
	struct wall_part part = { .thread = piece->owner };
	double carried = c ? c->ns : 0;
	for (size_t i = first; i < end; i++) {
		const struct place *place = deque_at(&owner->samples, struct place, i);
		part.node = place->node;
		part.metric = (enum metric)place->metric;
		part.from_ns = part.to_ns = min_ns(place->from_ns, piece->to_ns - 1);
		part.weight_ns = (ns + carried) * (double)place->weight_ns / all;
		if (!place->spun_on || !settle_spin(w, h, piece, place, &part))
			wall_settle(w, h, &part, origin_of(piece));
	}
	if (c)
		c->ns = 0;
	if (h == w->root && piece->own)
		wall_even_out(w, piece->to_ns, deque_at(&owner->samples, struct place, first),
		              end - first);
}

// A piece of a wait is at the stack of that wait.
static void settle_wait(struct wall *w, struct history *h, const struct piece *piece)
{
	const struct history *owner = wall_find_thread(w, piece->owner);
	const struct deque *waits = owner ? &owner->waits : NULL;
	uint64_t at_ns = piece->from_ns;
	size_t i = owner ? array_search(waits->count, k,
	                                deque_at(waits, struct place, k)->to_ns <= piece->from_ns)
	                 : 0;

	for (; owner && i < waits->count; i++) {
		const struct place *place = deque_at(waits, struct place, i);
		bool ready = place->metric == METRIC_OFF_RUNNABLE;
		uint64_t from = max_ns(at_ns, place->from_ns);
		uint64_t to = min_ns(piece->to_ns, place->to_ns);
		if (place->from_ns >= piece->to_ns)
			break;
		// The end of a wait, when it has been woken, is a wait for a CPU at that stack.
		if (from >= to || (ready && piece->state == THREAD_BLOCKED))
			continue;
		struct piece gap = *piece;
		gap.from_ns = at_ns;
		gap.to_ns = from;
		keep_carry(w, h, &gap, (double)(from - at_ns));
		wall_settle(w, h,
		            &(struct wall_part){ .thread = piece->owner,
		                                 .node = place->node,
		                                 .metric = piece->state == THREAD_READY
		                                                   ? METRIC_OFF_RUNNABLE
		                                                   : (enum metric)place->metric,
		                                 .from_ns = from,
		                                 .to_ns = to,
		                                 .weight_ns = (double)(to - from) },
		            origin_of(piece));
		at_ns = to;
	}
	if (at_ns < piece->to_ns)
		keep_carry(w, h, piece, (double)(piece->to_ns - at_ns));
}

// When PIECE comes to its first place: up to there its time is only carried along. UINT64_MAX: it
// comes to none.
static uint64_t first_place_ns(const struct wall *w, const struct piece *piece)
{
	const struct history *owner = wall_find_thread(w, piece->owner);

	if (!owner)
		return UINT64_MAX;
	if (piece->state == THREAD_RUNS) {
		const struct deque *s = &owner->samples;
		size_t i = array_search(s->count, k,
		                        deque_at(s, struct place, k)->from_ns <= piece->from_ns);
		return i < s->count ? deque_at(s, struct place, i)->from_ns : UINT64_MAX;
	}
	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (owner->loose[i].state == piece->state)
			return piece->from_ns; // there what is carried goes, from time to time
	const struct deque *waits = &owner->waits;
	size_t i = array_search(waits->count, k,
	                        deque_at(waits, struct place, k)->to_ns <= piece->from_ns);
	return i < waits->count ? deque_at(waits, struct place, i)->from_ns : UINT64_MAX;
}

// Where the part of PIECE ends that is settled at once: no part has places in two bins.
static uint64_t part_end_ns(const struct wall *w, const struct piece *piece)
{
	uint64_t next_ns = (piece->from_ns / w->width_ns + 1) * w->width_ns;

	if (next_ns <= piece->from_ns || next_ns >= piece->to_ns)
		return piece->to_ns;
	uint64_t place_ns = first_place_ns(w, piece);
	return min_ns(piece->to_ns, max_ns(next_ns, place_ns / w->width_ns * w->width_ns));
}

// H's pieces up to UNTIL_NS become bins.
void wall_fold(struct wall *w, struct history *h, uint64_t until_ns)
{
	size_t folded = 0;

	while (folded < h->pieces.count) {
		struct piece *piece = deque_at(&h->pieces, struct piece, folded);
		struct piece part = *piece;
		if (piece->from_ns >= until_ns)
			break;
		part.to_ns = min_ns(part.to_ns, until_ns);
		part.to_ns = part_end_ns(w, &part);
		if (part.state == THREAD_RUNS)
			settle_run(w, h, &part);
		else
			settle_wait(w, h, &part);
		h->folded_ns = part.to_ns;
		piece->from_ns = part.to_ns;
		folded += part.to_ns == piece->to_ns;
	}
	deque_drop(&h->pieces, folded);
}

void wall_push(struct wall *w, struct history *h, struct piece piece)
{
	w->incomplete |= !history_push(h, &piece);
	if (h->pieces.count > PIECES_MAX)
		wall_fold(w, h, deque_at(&h->pieces, struct piece, PIECES_MAX / 2)->from_ns);
}

void wall_settle_rest(struct wall *w, struct history *h)
{
	for (size_t i = 0; i < h->carries.count; i++) {
		struct carry *c = deque_at(&h->carries, struct carry, i);
		if (c->ns > 0)
			settle_loosely(w, h, c, true);
	}
}

void wall_settle_over(struct wall *w, struct history *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->carries.count; i++) {
		struct carry *c = deque_at(&h->carries, struct carry, i);
		const struct history *owner = wall_find_thread(w, c->owner);
		bool over = !owner || owner->over;
		if (over && c->ns > 0)
			settle_loosely(w, h, c, true);
		if (!over)
			*deque_at(&h->carries, struct carry, kept++) = *c;
	}
	h->carries.count = kept;
}
