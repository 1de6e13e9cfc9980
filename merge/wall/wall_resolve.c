// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"

// A wait is told by its thread, once that runs again: so long its span waits for that.
#define LAG_NS (5 * NS_PER_MS)

// And so long it takes it at most, on a CPU. Who is woken and finds the lock taken by another one
// waits on: it has not told of anything yet.
#define TELLING_NS NS_PER_MS

// So long a wait that timed out waits for the one that takes it up again.
#define AGAIN_NS (50 * NS_PER_MS)

// So long a wait that ended waits for the thread that was waited for to have a past that is known.
// If none goes on by then, the oldest are given up, and those that ended so soon after them.
#define PATIENCE_NS (700 * NS_PER_MS)
#define TOGETHER_NS (10 * NS_PER_MS)

// Who runs for so long in a wait spins, and its process has such waits: of their threads what they
// ran waits for so long at most.
#define SPINS_NS (100 * NS_PER_US)
#define SPUN_NS  (PATIENCE_NS / 2)

// Without a record of its end a child is missed so late, and has been seen last so long before.
#define MISSED_NS (300 * NS_PER_MS)
#define SEEN_NS   (50 * NS_PER_MS)
// Resolution.

// The wait that RAW lies in. NULL: none was told. An estimate may lie in several, and beside them:
// then RAW is cut to its first part, in one or in none.
static struct edge_times *times_of(struct history *h, struct raw *raw)
{
	struct edge_times *first = NULL, *next = NULL;

	for (size_t i = 0; i < h->edges.count && !next; i++) {
		struct edge_times *e = deque_at(&h->edges, struct edge_times, i);
		if (e->from_ns <= raw->from_ns && e->to_ns >= raw->to_ns)
			return e;
		if (e->from_ns >= raw->to_ns)
			break;
		if (e->to_ns <= raw->from_ns)
			continue;
		next = first ? e : NULL;
		first = first ? first : e;
	}
	if (!first || raw->spins || raw->cause != METRIC_OFF_LOCK)
		return NULL;
	if (first->from_ns > raw->from_ns + ESTIMATE_NS) {
		raw->to_ns = first->from_ns;
		return NULL;
	}
	if (next || raw->to_ns > first->to_ns + ESTIMATE_NS)
		raw->to_ns = min_ns(raw->to_ns, first->to_ns);
	return first;
}

// The wait that takes up again what TIMES was, and ended it; NULL: none is known by now.
static struct edge_times *end_of(struct history *h, struct edge_times *times)
{
	const struct edge_times *last = deque_last(&h->edges, struct edge_times);

	while (times->goes_on) {
		struct edge_times *e = times + 1;
		while (e <= last && (e->resource != times->resource || e->module != times->module))
			e++;
		if (e > last)
			return NULL;
		times = e;
		if (e->count)
			break;
	}
	return times;
}

// What H has done up to TO_NS is known.
static bool is_known(const struct history *h, uint64_t to_ns)
{
	if (h->resolved_ns >= to_ns || (h->ended && !h->raw.count))
		return true;
	if (h->raw.count || (h->state != THREAD_RUNS && h->state != THREAD_READY))
		return false;
	// Where switches are estimates, its next sample says for how long it had no CPU since its
	// last one.
	const struct place *last = h->samples.count ? deque_last(&h->samples, struct place) : NULL;
	return !h->estimated || (last && last->from_ns >= to_ns);
}

// The share of [FROM_NS, TO_NS) that V's bins have. What waits for a place in them is left out, so
// that they are as long as their paths together.
static void push_bins(struct wall *w, struct history *h, const struct history *v, uint64_t from_ns,
                      uint64_t to_ns, const struct raw *raw, uint32_t via)
{
	const uint64_t width = w->width_ns;
	uint64_t at_ns = from_ns;

	wall_fold(w, h, from_ns);
	for (size_t i = array_search(v->folds.count, k,
	                             (deque_at(&v->folds, struct fold, k)->bin + 1) * width <=
	                                     from_ns),
	            end = i;
	     i < v->folds.count && at_ns < to_ns; i = end) {
		uint32_t bin = deque_at(&v->folds, struct fold, i)->bin;
		uint64_t to = min_ns((bin + 1) * width, to_ns);
		double all = 0;
		for (; end < v->folds.count && deque_at(&v->folds, struct fold, end)->bin == bin;
		     end++)
			all += deque_at(&v->folds, struct fold, end)->ns;
		if (bin * width >= to_ns)
			break;
		for (; i < end && all > 0 && width == w->width_ns; i++) {
			const struct fold f = *deque_at(&v->folds, struct fold, i);
			wall_settle(w, h,
			            &(struct wall_part){ .thread = f.owner,
			                                 .node = f.node,
			                                 .metric = (enum metric)f.metric,
			                                 .from_ns = at_ns,
			                                 .to_ns = to,
			                                 .weight_ns = f.ns / all *
			                                              (double)(to - at_ns) },
			            (struct origin){ false, f.via ? f.via : via });
		}
		at_ns = to;
	}
	if (at_ns < to_ns)
		wall_settle(w, h,
		            &(struct wall_part){ .thread = h->number,
		                                 .metric = (enum metric)raw->cause,
		                                 .from_ns = at_ns,
		                                 .to_ns = to_ns,
		                                 .weight_ns = (double)(to_ns - at_ns) },
		            (struct origin){ false, via });
	h->folded_ns = to_ns;
}

// Nobody is known: it is H's own wait.
static void push_wait(struct wall *w, struct history *h, uint64_t from_ns, uint64_t to_ns,
                      enum metric cause, bool own)
{
	wall_push(w, h,
	          (struct piece){ .from_ns = from_ns,
	                          .to_ns = to_ns,
	                          .owner = h->number,
	                          .state = THREAD_BLOCKED,
	                          .cause = (uint8_t)cause,
	                          .own = own });
}

// The same of a part of RAW, in which it may have been on a CPU. OWN: it was not taken out.
static void push_own(struct wall *w, struct history *h, const struct raw *raw, uint64_t from_ns,
                     uint64_t to_ns, bool own)
{
	if (!raw->ran) {
		push_wait(w, h, from_ns, to_ns, (enum metric)raw->cause, own);
		return;
	}
	wall_push(w, h,
	          (struct piece){ .from_ns = from_ns,
	                          .to_ns = to_ns,
	                          .owner = h->number,
	                          .state = THREAD_RUNS,
	                          .own = own });
}

// All threads together copy so many pieces for a wait each: of few threads one has them all.
#define COPIES_MAX 65536
#define COPY_LEAST 8

// What V did from *AT to TO_NS, in pieces FIRST up to END, is many pieces: of each of COUNT equal
// parts of the time one is drawn, by an instant in it, so that shares are right on average.
static void push_drawn(struct wall *w, struct history *h, const struct history *v,
                       const struct piece *first, uint64_t *at, uint64_t to_ns, uint64_t count,
                       uint32_t via)
{
	const struct piece *p = first, *last = deque_last(&v->pieces, struct piece);
	uint64_t from_ns = *at;

	to_ns = min_ns(to_ns, last->to_ns);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = from_ns + (to_ns - from_ns) * i / count;
		uint64_t end = from_ns + (to_ns - from_ns) * (i + 1) / count;
		w->seed = w->seed * 1664525 + 1013904223;
		uint64_t instant = begin + (end - begin) * (w->seed >> 8) / (1 << 24);
		while (p < last && p->to_ns <= instant)
			p++;
		struct piece drawn = *p;
		drawn.from_ns = begin;
		drawn.to_ns = end;
		drawn.own = false;
		drawn.via = p->via ? p->via : via;
		wall_push(w, h, drawn);
	}
	*at = to_ns;
}

#define MAKERS_MAX 16 // a shell, its subshell, that one's command: more are rare

// Who was to start V, which H waited for up to TO_NS before there was any; NULL: it is not known,
// or is H itself.
static const struct history *known_maker(const struct wall *w, const struct history *h,
                                         const struct history *v, uint64_t to_ns)
{
	const struct history *maker = v->maker ? wall_find_thread(w, v->maker) : NULL;

	return maker && maker != h && is_known(maker, to_ns) ? maker : NULL;
}

// From FROM_NS to TO_NS nothing was known yet of V, which H waits for. A child says that it is
// there when it first runs: its parent, if it has no other thread that could make it meanwhile, has
// made it before it waits for it, so that it lacked a CPU.
static void push_unborn(struct wall *w, struct history *h, const struct history *v,
                        uint64_t from_ns, uint64_t to_ns, enum metric cause, uint32_t via)
{
	const struct process *p = wall_find_process(w, h->process);

	if (cause != METRIC_OFF_CHILD || !p || p->had_threads) {
		push_wait(w, h, from_ns, to_ns, cause, false);
		return;
	}
	wall_push(w, h,
	          (struct piece){ .from_ns = from_ns,
	                          .to_ns = to_ns,
	                          .owner = v->number,
	                          .state = THREAD_READY,
	                          .via = via });
}

// What V did from FROM_NS to TO_NS is what H waited for; before V began, what its MAKERS did, of
// which so many more are looked for.
static void push_copy(struct wall *w, struct history *h, const struct raw *raw,
                      const struct history *v, uint64_t from_ns, uint64_t to_ns, uint32_t via,
                      unsigned makers)
{
	uint64_t at = from_ns;
	enum metric cause = (enum metric)raw->cause;

	if (at < v->born_ns) {
		uint64_t born_ns = min_ns(v->born_ns, to_ns);
		const struct history *maker = makers ? known_maker(w, h, v, born_ns) : NULL;
		if (maker)
			push_copy(w, h, raw, maker, at, born_ns, via, makers - 1);
		else
			push_unborn(w, h, v, at, born_ns, cause, via);
		at = born_ns;
	}
	if (at < v->folded_ns && at < to_ns) {
		push_bins(w, h, v, at, min_ns(v->folded_ns, to_ns), raw, via);
		at = min_ns(v->folded_ns, to_ns);
	}
	size_t i = array_search(v->pieces.count, k,
	                        deque_at(&v->pieces, struct piece, k)->to_ns <= at);
	size_t end = i + array_search(v->pieces.count - i, k,
	                              deque_at(&v->pieces, struct piece, i + k)->from_ns < to_ns);
	uint64_t most =
		COPIES_MAX / (w->active_count + 1) * (to_ns - at) / (raw->to_ns - raw->from_ns);
	most = max_ns(most, COPY_LEAST);
	if (at < to_ns && end - i > most)
		push_drawn(w, h, v, deque_at(&v->pieces, struct piece, i), &at, to_ns, most, via);
	for (; i < end && at < to_ns; i++) {
		struct piece p = *deque_at(&v->pieces, struct piece, i);
		if (p.to_ns <= at)
			continue;
		if (p.from_ns > at) // nothing is known of it
			push_wait(w, h, at, min_ns(p.from_ns, to_ns), cause, false);
		p.from_ns = max_ns(at, p.from_ns);
		p.to_ns = min_ns(p.to_ns, to_ns);
		p.own = false;
		p.via = p.via ? p.via : via;
		wall_push(w, h, p);
		at = max_ns(at, p.to_ns);
	}
	if (at >= to_ns)
		return;
	struct piece rest = { .from_ns = at, .to_ns = to_ns, .owner = v->number, .via = via };
	if (!v->raw.count && !v->ended && (v->state == THREAD_RUNS || v->state == THREAD_READY)) {
		rest.state = (uint8_t)v->state;
		wall_push(w, h, rest);
		return;
	}
	// Who waits for the end of another has then been woken.
	if (v->ended && !v->raw.count) {
		rest.owner = h->number;
		rest.state = THREAD_READY;
		wall_push(w, h, rest);
		return;
	}
	w->coverage.late_ns += to_ns - at;
	push_wait(w, h, at, to_ns, cause, false);
}

static const struct wall_share *share_at(const struct history *h, const struct edge_times *times,
                                         uint32_t i)
{
	return deque_at(&h->shares, struct wall_share, times->first_share - h->shares_dropped + i);
}

static bool add_share(struct deque *shares, uint64_t until_ns, uint32_t thread)
{
	struct wall_share *share = deque_push(shares, struct wall_share);

	if (share)
		*share = (struct wall_share){ until_ns, thread };
	return share != NULL;
}

static struct ender *ender_of(struct history *h, const struct edge_times *times)
{
	return &h->enders[(times->resource >> 3 ^ times->module) % ENDERS];
}

// V had nothing to do throughout RAW, a wait of H, but to wait for H, or for nobody who is known.
// What is not known of it by the time that others are given up is a wait that nobody has ended.
static bool idled(const struct history *v, const struct history *h, const struct raw *raw,
                  bool force)
{
	if (!is_known(v, raw->to_ns))
		return force;
	size_t at = array_search(v->pieces.count, k,
	                         deque_at(&v->pieces, struct piece, k)->to_ns <= raw->from_ns);
	if (at == v->pieces.count)
		return false;
	const struct piece *p = deque_at(&v->pieces, struct piece, at);
	bool own = p->owner == v->number &&
	           (p->cause == METRIC_OFF_LOCK || p->cause == METRIC_OFF_OTHER);
	return p->from_ns <= raw->from_ns && p->to_ns >= raw->to_ns && p->state == THREAD_BLOCKED &&
	       (own || p->owner == h->number);
}

// Who is taken to be going to end what has timed out: who did the last time, unless it idles and
// another one works; or else who ran when it timed out. 0: nobody is known.
static uint32_t likely_end(const struct wall *w, struct history *h, const struct raw *raw,
                           const struct edge_times *times, bool force)
{
	const struct ender *e = ender_of(h, times);
	bool same = e->thread && e->resource == times->resource && e->module == times->module;
	const struct history *last = same ? wall_find_thread(w, e->thread) : NULL;

	if (!same || (raw->guess && raw->guess != e->thread && last && idled(last, h, raw, force)))
		return raw->guess;
	return e->thread;
}

// TIMES tells of a thread that was waited for.
static bool names_anybody(const struct history *h, const struct edge_times *times)
{
	for (uint32_t i = 0; times && i < times->count; i++) {
		uint32_t thread = share_at(h, times, i)->thread;
		if (thread && thread != WALL_NOBODY)
			return true;
	}
	return false;
}

// RAW is a wait for a child, which ended or ran another program within it: that is no guess.
static bool is_child_known(const struct wall *w, const struct history *h, const struct raw *raw)
{
	return raw->cause == METRIC_OFF_CHILD && raw->guess &&
	       wall_awaited_child(w, h, raw->from_ns, raw->to_ns) == raw->guess;
}

// Up to when H waited for V, of which it is only known that it ended the wait RAW. Who has been
// seen last before the wait was there still.
static uint64_t waited_until(const struct wall *w, const struct history *h, const struct raw *raw,
                             const struct history *v)
{
	bool child = raw->cause == METRIC_OFF_CHILD;

	if (v->ended && v->ended_ns <= raw->to_ns && (v->ended_ns > raw->from_ns || !child))
		return v->ended_ns;
	uint64_t exec_ns = child ? wall_exec_ns(w, h, v->number, raw->from_ns + 1, raw->to_ns) : 0;
	return exec_ns ? exec_ns : raw->to_ns;
}

// The end of another thread, at END_NS, ends no sleep, and a poll only at once, as SIGCHLD and the
// end of a file do. Who looks after children from time to time, or polls with a timeout, waits on
// until its time is over.
static bool waits_on(const struct raw *raw, const struct edge_times *times, uint64_t end_ns)
{
	bool polls = raw->cause == METRIC_OFF_NET || raw->cause == METRIC_OFF_PIPE;

	if (times || raw->signalled)
		return false;
	return raw->cause == METRIC_OFF_SLEEP || (polls && raw->to_ns > end_ns + WOKEN_NS);
}

// One after the other: who was waited for in RAW. What TIMES tells may have been taken up again,
// and was ENDed then. False: nobody is known.
static bool find_shares(struct wall *w, struct history *h, const struct raw *raw,
                        const struct edge_times *times, const struct edge_times *end, bool force,
                        struct deque *shares, bool *guessed)
{
	const bool told = raw->told && !names_anybody(h, times);

	*guessed = !told && !times && !raw->signalled && !is_child_known(w, h, raw);
	if (told || (!times && raw->woken_ns))
		return add_share(shares, min_ns(raw->woken_ns, raw->to_ns), raw->guess) &&
		       (raw->woken_ns >= raw->to_ns || add_share(shares, raw->to_ns, WALL_NOBODY));
	if (!times) {
		const struct history *v = raw->guess ? wall_find_thread(w, raw->guess) : NULL;
		uint64_t until = v ? waited_until(w, h, raw, v) : 0;
		if (!v || until <= raw->from_ns || !add_share(shares, until, raw->guess))
			return false;
	}
	for (uint32_t i = 0; times && i < times->count; i++) {
		const struct wall_share *s = share_at(h, times, i);
		if (s->until_ns <= raw->from_ns)
			continue;
		if (!add_share(shares, min_ns(s->until_ns, raw->to_ns), s->thread))
			return false;
		if (s->until_ns >= raw->to_ns)
			return true;
	}
	uint64_t until = shares->count ? deque_last(shares, struct wall_share)->until_ns : 0;
	if (times && times->goes_on) {
		// Who ends it has not done so yet.
		uint32_t thread =
			end && end != times && end->count ? share_at(h, end, 0)->thread : 0;
		*guessed = !thread;
		thread = thread ? thread : likely_end(w, h, raw, times, force);
		return (thread || shares->count) && add_share(shares, raw->to_ns, thread);
	}
	if (!shares->count)
		return false;
	if (until >= raw->to_ns)
		return true;
	// What lies beside the wait is a part of it.
	bool beside = times && until >= times->to_ns;
	uint32_t last = deque_last(shares, struct wall_share)->thread;
	return add_share(shares, raw->to_ns,
	                 beside                        ? last
	                 : waits_on(raw, times, until) ? 0
	                                               : WALL_NOBODY);
}

// The same; but since its thread was woken it has waited for a CPU.
static bool shares_of(struct wall *w, struct history *h, const struct raw *raw,
                      const struct edge_times *times, const struct edge_times *end, bool force,
                      struct deque *shares, bool *guessed)
{
	bool known = find_shares(w, h, raw, times, end, force, shares, guessed);

	if (!times || times->woken_ns >= raw->to_ns || raw->ran)
		return known;
	size_t kept =
		array_search(shares->count, k,
	                     deque_at(shares, struct wall_share, k)->until_ns <= times->woken_ns);
	// What nobody is known for up to then stays so.
	if (kept < shares->count || !known) {
		uint32_t thread = kept < shares->count
		                          ? deque_at(shares, struct wall_share, kept)->thread
		                          : 0;
		shares->count = kept;
		if (times->woken_ns > raw->from_ns && !add_share(shares, times->woken_ns, thread))
			return false;
	}
	return add_share(shares, raw->to_ns, WALL_NOBODY);
}

// NS more of the run's own thread on a CPU at NODE, or less.
static void tell_own(struct wall *w, uint32_t node, uint64_t time_ns, double ns)
{
	wall_tell(w, &(struct wall_part){ .minus = ns < 0,
	                                  .thread = w->root->number,
	                                  .node = node,
	                                  .metric = METRIC_ON_CPU,
	                                  .from_ns = time_ns,
	                                  .to_ns = time_ns,
	                                  .weight_ns = ns < 0 ? -ns : ns });
}

static bool has_spun_at(const struct wall *w, uint32_t node)
{
	for (size_t i = 0; i < SPUN_NODES; i++)
		if (w->spun_nodes[i] == node)
			return true;
	return false;
}

// At TIME_NS the run's own thread has samples of NS more in its waits than it was there.
static void add_surplus(struct wall *w, uint64_t time_ns, double ns)
{
	struct surplus *last =
		w->surpluses.count ? deque_last(&w->surpluses, struct surplus) : NULL;

	if (!last || last->time_ns + NS_PER_MS < time_ns) {
		last = deque_push(&w->surpluses, struct surplus);
		w->incomplete |= !last;
		if (!last)
			return;
		*last = (struct surplus){ .time_ns = time_ns };
	}
	last->ns += ns;
}

// What there was by TIME_NS goes to places from now on.
static void take_surplus(struct wall *w, uint64_t time_ns)
{
	size_t taken = 0;

	for (; taken < w->surpluses.count; taken++) {
		const struct surplus *s = deque_at(&w->surpluses, struct surplus, taken);
		if (s->time_ns > time_ns)
			break;
		w->surplus_ns += s->ns;
	}
	deque_drop(&w->surpluses, taken);
}

// The samples that the run's own thread has from FROM_NS to TO_NS are not of what the run waited
// for.
static void take_out_samples(struct wall *w, uint64_t from_ns, uint64_t to_ns)
{
	const struct deque *s = &w->root->samples;
	size_t first = array_search(s->count, k, deque_at(s, struct place, k)->from_ns <= from_ns);
	size_t end = array_search(s->count, k, deque_at(s, struct place, k)->from_ns <= to_ns);

	for (size_t i = first; i < end; i++) {
		const struct place *place = deque_at(s, struct place, i);
		add_surplus(w, place->from_ns, (double)place->weight_ns);
		if (!has_spun_at(w, place->node))
			w->spun_nodes[w->spun_at++ % SPUN_NODES] = place->node;
		tell_own(w, place->node, place->from_ns, -(double)place->weight_ns);
	}
}

// Where there are too many samples in waits, there are too few elsewhere. Where there are too few,
// some came late: they are beside their waits.
static bool is_uneven(const struct wall *w, const struct place *place)
{
	bool spun = has_spun_at(w, place->node);

	return w->surplus_ns < 0 ? spun : !spun && !place->rest;
}

void wall_even_out(struct wall *w, uint64_t time_ns, const struct place *places, size_t count)
{
	double all = 0;

	take_surplus(w, time_ns);
	for (size_t i = 0; i < count; i++)
		all += is_uneven(w, &places[i]) ? (double)places[i].weight_ns : 0;
	if (all <= 0)
		return;
	double ns = w->surplus_ns < -all ? -all : w->surplus_ns;
	for (size_t i = 0; i < count && ns != 0; i++)
		if (is_uneven(w, &places[i]))
			tell_own(w, places[i].node, places[i].from_ns,
			         ns * (double)places[i].weight_ns / all);
	w->surplus_ns -= ns;
}

// The run's own wait in RAW is not what the run waited for; TIMES tells it. If it was on a CPU,
// there may be more samples of that time by chance, or fewer, than it is long. One that was due in
// the kernel comes as the system call returns, and stands for all that was before: the wait has
// been ended by then, and an estimate may have the thread off its CPU, but wherever such a sample
// lies in the wait, it is of that.
static void take_out(struct wall *w, const struct raw *raw, struct edge_times *times,
                     uint64_t from_ns, uint64_t to_ns)
{
	if (raw->ran) {
		bool spins = times && to_ns - from_ns >= SPINS_NS;
		if (!times || !times->spun)
			take_out_samples(w, from_ns, spins ? times->to_ns : to_ns);
		if (spins)
			times->spun = true;
		add_surplus(w, to_ns, -(double)(to_ns - from_ns));
		return;
	}

	enum metric metric = raw->ready ? METRIC_OFF_RUNNABLE : (enum metric)raw->cause;
	uint32_t node = wall_node_of_wait(w->root, raw);

	if (!node) {
		w->minus_ns[metric] += to_ns - from_ns;
		return;
	}
	if (raw->cause == METRIC_OFF_OTHER)
		w->root->unknown_ns -= min_ns(to_ns - from_ns, w->root->unknown_ns);
	wall_tell(w, &(struct wall_part){ .minus = true,
	                                  .thread = w->root->number,
	                                  .node = node,
	                                  .metric = metric,
	                                  .from_ns = from_ns,
	                                  .to_ns = to_ns,
	                                  .weight_ns = (double)(to_ns - from_ns) });
}

// Of MOST_NS, what was taken out under METRIC, and where that is the cause of waits that had none
// then, the rest of those. Time without a CPU is mostly of who had not been waiting before: see
// wall_take_out_woken().
static uint64_t taken_out(struct wall *w, enum metric metric, uint32_t node, uint64_t most_ns)
{
	const enum metric causes[] = { metric, METRIC_OFF_OTHER };
	uint64_t left_ns = most_ns;

	for (int i = 0; i < (node && metric != METRIC_OFF_RUNNABLE ? 2 : 1); i++) {
		uint64_t ns = min_ns(w->minus_ns[causes[i]], left_ns);
		w->minus_ns[causes[i]] -= ns;
		left_ns -= ns;
	}
	return most_ns - left_ns;
}

// The same of waits that had no stack by then, and now have NODE; 0: never.
void wall_take_out_late(struct wall *w, enum metric metric, uint32_t node, uint64_t time_ns,
                        uint64_t most_ns)
{
	uint64_t ns = taken_out(w, metric, node, most_ns);

	if (node && metric == METRIC_OFF_OTHER)
		w->root->unknown_ns -= min_ns(ns, w->root->unknown_ns);
	if (node)
		w->early_ns[metric] += most_ns - ns;
	if (ns)
		wall_tell(w, &(struct wall_part){ .minus = true,
		                                  .thread = w->root->number,
		                                  .node = node,
		                                  .metric = metric,
		                                  .from_ns = time_ns,
		                                  .to_ns = time_ns,
		                                  .weight_ns = (double)ns });
}

// At the end: waits without a cause that were taken out, and are not there under it, are those of
// stacks that stand for many and came before they were; and the rest is of who had been woken and
// had no CPU.
void wall_take_out_woken(struct wall *w)
{
	static const enum metric ended[] = { METRIC_OFF_LOCK, METRIC_OFF_PIPE, METRIC_OFF_NET,
		                             METRIC_OFF_CHILD };
	uint64_t *unknown_ns = &w->minus_ns[METRIC_OFF_OTHER];
	uint64_t left_ns = *unknown_ns - min_ns(*unknown_ns, w->root->unknown_ns);

	*unknown_ns -= left_ns;
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
		uint64_t ns = min_ns(w->early_ns[ended[i]], left_ns);
		w->minus_ns[ended[i]] += ns;
		left_ns -= ns;
	}
	w->minus_ns[METRIC_OFF_RUNNABLE] += left_ns;
}

// Where the run's own thread was on a CPU outside of its waits, it was for NS more. False: it is
// not known to have been anywhere.
static bool tell_beside(struct wall *w, double ns)
{
	const struct loose *loose = w->root->loose;
	double all = 0;

	for (size_t i = 0; i < LOOSE_MAX; i++)
		if (loose[i].state == THREAD_RUNS && !has_spun_at(w, loose[i].node))
			all += loose[i].ns;
	for (size_t i = 0; all > 0 && i < LOOSE_MAX; i++)
		if (loose[i].state == THREAD_RUNS && !has_spun_at(w, loose[i].node))
			tell_own(w, loose[i].node, w->root->ended_ns, ns * loose[i].ns / all);
	return all > 0;
}

// At the end: what has no samples beside it goes to those at other times, or stays where it was.
void wall_take_out_rest(struct wall *w)
{
	const uint32_t node = w->spun_nodes[(w->spun_at - 1) % SPUN_NODES];

	take_surplus(w, UINT64_MAX);
	if (w->surplus_ns < 0 && !node)
		w->minus_ns[METRIC_ON_CPU] += (uint64_t)-w->surplus_ns;
	else if (w->surplus_ns < 0 || (w->surplus_ns > 0 && !tell_beside(w, w->surplus_ns)))
		tell_own(w, node, w->root->ended_ns, w->surplus_ns);
	w->surplus_ns = 0;
}

static bool others_can_end(const struct raw *raw)
{
	return raw->cause == METRIC_OFF_LOCK || raw->cause == METRIC_OFF_CHILD ||
	       raw->cause == METRIC_OFF_PIPE || raw->inode || raw->spins || raw->signalled ||
	       raw->told ||
	       ((raw->cause == METRIC_OFF_SLEEP || raw->cause == METRIC_OFF_NET) && raw->guess);
}

// H has been on CPUs for long enough between two waits since its first raw span to have told of
// that. Who spins has thousands of spans: the last such time is looked for, and counts until the
// first span is later.
static bool has_run(const struct wall *w, struct history *h)
{
	uint64_t ns = h->state == THREAD_RUNS ? w->now_ns - min_ns(h->since_ns, w->now_ns) : 0;

	if (ns >= TELLING_NS ||
	    (h->raw.count && h->ran_from_ns >= deque_at(&h->raw, struct raw, 0)->to_ns))
		return true;
	for (size_t i = h->raw.count; i-- > 1;) {
		const struct raw *raw = deque_at(&h->raw, struct raw, i);
		ns = raw->state == THREAD_BLOCKED ? 0 : ns;
		ns += raw->state == THREAD_RUNS ? raw->to_ns - raw->from_ns : 0;
		if (ns < TELLING_NS)
			continue;
		h->ran_from_ns = raw->from_ns;
		return true;
	}
	return false;
}

// A thread reports what it waited for once it runs again, for which it may lack a CPU. A child may
// be in its first wait: whether it reports any is not known before that is over.
static bool may_be_told(const struct wall *w, struct history *h, uint64_t to_ns, enum metric cause)
{
	uint64_t age = w->now_ns - min_ns(to_ns, w->now_ns);
	struct process *p = wall_find_process(w, h->process);

	// In the end nothing is reported any more, but who is waited for may not be resolved yet.
	if (w->finished)
		return false;
	if (age < LAG_NS)
		return true;
	if (!p || cause != METRIC_OFF_LOCK || (p->mute && !p->tells_waits))
		return false;
	if (!h->ended && age < PATIENCE_NS && !has_run(w, h))
		return true;
	p->mute = true;
	return false;
}

// H, whose first raw span is a wait, has waited again since: so somebody had ended that.
static bool has_waited_again(const struct history *h)
{
	for (size_t i = h->raw.count; i-- > 1;)
		if (deque_at(&h->raw, struct raw, i)->state == THREAD_BLOCKED)
			return true;
	return false;
}

// The process of H ended in its wait RAW, which was told of no more: nobody ended it.
static bool is_killed(const struct wall *w, struct history *h, const struct raw *raw)
{
	const struct process *p = wall_find_process(w, h->process);

	return raw->cause == METRIC_OFF_LOCK && h != w->root && h->ended && p && !p->live &&
	       deque_last(&h->raw, struct raw)->to_ns == h->ended_ns && !has_run(w, h) &&
	       !has_waited_again(h);
}

// Why RAW cannot be resolved yet, as far as that is certain. Where TIMES covers all of RAW and is
// not taken up again, its shares stay as they are: the first of them that is not known is in the
// way.
static void note_obstacle(struct obstacle *o, const struct raw *raw, const struct edge_times *times,
                          const struct history *v, uint64_t until_ns)
{
	if (times && times->from_ns <= raw->from_ns && times->to_ns >= raw->to_ns &&
	    !times->goes_on)
		*o = (struct obstacle){ .of = v, .until_ns = until_ns };
}

// Resolves RAW, or its first part, and cuts it to that. False: who is waited for is not known yet,
// by O if that is certain.
static bool resolve_blocked(struct wall *w, struct history *h, struct raw *raw, bool force,
                            struct obstacle *o)
{
	const uint64_t raw_to_ns = raw->to_ns;
	struct edge_times *times = times_of(h, raw), *end = times ? end_of(h, times) : NULL;
	bool whole = (times && times->to_ns >= raw_to_ns) || raw->ran;
	struct deque shares = { 0 };
	uint64_t age = w->now_ns - min_ns(raw_to_ns, w->now_ns);
	const bool heard = force || w->finished;
	bool known, guessed, ready = true;

	o->pass = w->pass;
	if (!force && !whole && may_be_told(w, h, raw_to_ns, (enum metric)raw->cause))
		return false;
	if (!heard && times && !end && age < AGAIN_NS)
		return false;
	o->pass = 0;
	if (raw->cause == METRIC_OFF_CHILD && !raw->guess) {
		raw->guess = wall_awaited_child(w, h, raw->from_ns + 1, raw->to_ns);
		if (!heard && !raw->guess && age < MISSED_NS)
			return false;
		if (!raw->guess)
			raw->guess = wall_awaited_child(
				w, h, raw->from_ns - min_ns(SEEN_NS, raw->from_ns), raw->to_ns);
	}
	if (!times && !raw->ran && is_killed(w, h, raw)) {
		push_wait(w, h, raw->from_ns, raw->to_ns, (enum metric)raw->cause, true);
		return true;
	}
	known = shares_of(w, h, raw, times, end, force, &shares, &guessed);
	for (size_t i = 0; i < shares.count; i++) {
		const struct wall_share *s = deque_at(&shares, struct wall_share, i);
		const struct history *v = s->thread && s->thread != WALL_NOBODY
		                                  ? wall_find_thread(w, s->thread)
		                                  : NULL;
		if (!v || v == h || is_known(v, s->until_ns))
			continue;
		ready = false;
		note_obstacle(o, raw, times, v, s->until_ns);
		break;
	}
	if (!ready && !force) {
		deque_fini(&shares);
		return false;
	}
	if (times && times->count && !times->goes_on) {
		uint32_t last = share_at(h, times, times->count - 1)->thread;
		if (last && last != WALL_NOBODY)
			*ender_of(h, times) =
				(struct ender){ times->resource, times->module, last };
	}
	if ((times || others_can_end(raw)) && (known || !raw->ran))
		w->coverage.blocked_ns += raw->to_ns - raw->from_ns;
	if (!known) {
		shares.count = 0;
		push_own(w, h, raw, raw->from_ns, raw->to_ns, true);
		if ((times || others_can_end(raw)) && !raw->ran)
			wall_count_edge(w, h, raw, times, raw->from_ns, raw->to_ns, 0, false);
	}
	uint64_t at = raw->from_ns;
	for (size_t i = 0; i < shares.count; i++) {
		const struct wall_share *s = deque_at(&shares, struct wall_share, i);
		const struct history *v = s->thread && s->thread != WALL_NOBODY
		                                  ? wall_find_thread(w, s->thread)
		                                  : NULL;
		if (s->until_ns <= at)
			continue;
		if (v && v != h) {
			uint32_t via = wall_count_edge(w, h, raw, times, at, s->until_ns, s->thread,
			                               guessed);
			push_copy(w, h, raw, v, at, s->until_ns, via, MAKERS_MAX);
			w->coverage.known_ns += s->until_ns - at;
			w->coverage.guessed_ns += guessed ? s->until_ns - at : 0;
			if (raw->ran)
				wall_uncount_spins(w, h, at, s->until_ns);
		} else if (s->thread == WALL_NOBODY && !raw->ran) {
			wall_push(w, h,
			          (struct piece){ .from_ns = at,
			                          .to_ns = s->until_ns,
			                          .owner = h->number,
			                          .state = THREAD_READY });
			w->coverage.known_ns += s->until_ns - at;
		} else {
			if (!raw->ran)
				wall_count_edge(w, h, raw, times, at, s->until_ns, 0, false);
			push_own(w, h, raw, at, s->until_ns, !raw->ran);
		}
		if (h == w->root && ((v && v != h) || s->thread == WALL_NOBODY || raw->ran))
			take_out(w, raw, times, at, s->until_ns);
		at = s->until_ns;
	}
	deque_fini(&shares);
	return true;
}

static void forget_edges(struct history *h, uint64_t before_ns)
{
	size_t old = 0;

	while (old < h->edges.count &&
	       deque_at(&h->edges, struct edge_times, old)->to_ns < before_ns) {
		struct edge_times *e = deque_at(&h->edges, struct edge_times, old++);
		if (e->count) {
			deque_drop(&h->shares, e->count);
			h->shares_dropped += e->count;
		}
	}
	deque_drop(&h->edges, old);
}

// Up to when another thread had not ended the wait that TIMES tells; 0: nobody is known to have.
static uint64_t ended_ns(const struct history *h, const struct edge_times *times)
{
	for (uint32_t i = times->count; i-- > 0;) {
		const struct wall_share *s = share_at(h, times, i);
		if (s->thread && s->thread != WALL_NOBODY)
			return min_ns(min_ns(s->until_ns, times->woken_ns), times->to_ns);
	}
	return 0;
}

// Who was on a CPU in RAW did nothing with it, by a wait that may be told only later: that thread
// has been blocked since, or waits for a CPU. Few programs have such waits: of the others nothing
// is held back for long.
static bool may_have_spun(const struct wall *w, struct history *h, const struct process *p,
                          const struct raw *raw)
{
	uint64_t age = w->now_ns - min_ns(raw->to_ns, w->now_ns);

	return !w->finished && (age < LAG_NS || (p->runs_in_waits && age < SPUN_NS &&
	                                         may_be_told(w, h, raw->to_ns, METRIC_OFF_LOCK)));
}

// Who has no CPU before its wait is ended could do nothing with one but wait, and who has one does
// nothing else with it: it spins, in the kernel for a mutex that inherits priorities, or in libc.
// RAW, or its first part, is made what it is. So a wait is whole where only estimates say when its
// thread was blocked, too. False: its wait may not have been told yet.
static bool find_wait(const struct wall *w, struct history *h, struct raw *raw, bool force)
{
	struct process *p = wall_find_process(w, h->process);
	const bool runs = raw->state == THREAD_RUNS;

	if (!p || !p->tells_waits)
		return true;
	for (size_t i = 0; i < h->edges.count; i++) {
		const struct edge_times *e = deque_at(&h->edges, struct edge_times, i);
		uint64_t until_ns = ended_ns(h, e);
		if (e->from_ns >= raw->to_ns)
			break;
		if (until_ns <= raw->from_ns || e->goes_on)
			continue;
		if (e->from_ns > raw->from_ns) {
			raw->to_ns = e->from_ns;
			return true;
		}
		// A sample of time in the kernel comes as that is over, when the lock is free.
		raw->to_ns = min_ns(raw->to_ns, runs ? e->to_ns : until_ns);
		raw->state = THREAD_BLOCKED;
		raw->cause = METRIC_OFF_LOCK;
		raw->ready = !runs;
		raw->ran = runs;
		p->runs_in_waits |= runs && raw->to_ns - raw->from_ns >= SPINS_NS;
		return true;
	}
	const struct edge_times *last =
		h->edges.count ? deque_last(&h->edges, struct edge_times) : NULL;
	if (force || (last && last->to_ns >= raw->to_ns))
		return true;
	return runs ? !may_have_spun(w, h, p, raw)
	            : !may_be_told(w, h, raw->to_ns, METRIC_OFF_LOCK);
}

// Who spins without a CPU does so for a lock that its thread has reported, or for a word that
// nobody knows. False: such a lock may not have been reported yet.
static bool find_spun_lock(const struct wall *w, struct history *h, struct raw *raw, bool force)
{
	const struct process *p = wall_find_process(w, h->process);
	struct raw told = *raw;

	told.state = THREAD_READY;
	told.spins = false;
	told.guess = 0;
	if (!find_wait(w, h, &told, force || !p || !p->tells_spins))
		return false;
	raw->to_ns = told.to_ns;
	if (told.state == THREAD_BLOCKED)
		*raw = told;
	return true;
}

// Resolves what can be. True if there was something.
static bool resolve(struct wall *w, struct unresolved *u, bool force)
{
	struct history *h = u->history;
	bool any = false;

	u->obstacle = (struct obstacle){ 0 };
	while (h->raw.count) {
		struct raw *first = deque_at(&h->raw, struct raw, 0), raw = *first;
		if ((raw.state == THREAD_READY || raw.state == THREAD_RUNS) &&
		    !find_wait(w, h, &raw, force)) {
			u->obstacle.pass = w->pass;
			break;
		}
		if (raw.spins && !find_spun_lock(w, h, &raw, force)) {
			u->obstacle.pass = w->pass;
			break;
		}
		if (raw.state == THREAD_BLOCKED) {
			if (!resolve_blocked(w, h, &raw, force, &u->obstacle))
				break;
			force = false; // one at a time
		} else {
			wall_push(w, h,
			          (struct piece){ .from_ns = raw.from_ns,
			                          .to_ns = raw.to_ns,
			                          .owner = h->number,
			                          .state = raw.state,
			                          .own = true });
		}
		h->resolved_ns = raw.to_ns;
		first->began_ns = first->began_ns ? first->began_ns : first->from_ns;
		first->from_ns = raw.to_ns;
		if (first->from_ns >= first->to_ns)
			deque_drop(&h->raw, 1);
		forget_edges(h, raw.to_ns);
		any = true;
	}
	u->to_ns = h->raw.count ? deque_at(&h->raw, struct raw, 0)->to_ns : UINT64_MAX;
	return any;
}

// Whether what was in the way of U still is: then nothing is to be looked at.
static bool is_obstructed(const struct wall *w, const struct unresolved *u)
{
	const struct obstacle *o = &u->obstacle;

	return o->pass == w->pass || (o->of && !is_known(o->of, o->until_ns));
}

// Up to when waits are given up that nothing else can resolve: 0 if none is.
static uint64_t give_up_until(const struct wall *w, bool force)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < w->unresolved_count; i++)
		oldest_ns = min_ns(oldest_ns, w->unresolved[i].to_ns);
	if (!w->unresolved_count)
		return 0;
	if (force)
		return oldest_ns;
	return oldest_ns + PATIENCE_NS <= w->now_ns
	               ? min_ns(oldest_ns + TOGETHER_NS, w->now_ns - PATIENCE_NS)
	               : 0;
}

// One wait of each thread: with it the others may be resolved as they should be.
static bool give_up(struct wall *w, bool force)
{
	uint64_t until_ns = give_up_until(w, force);
	bool any = false;

	for (size_t i = 0; i < w->unresolved_count; i++)
		if (!(force && any) && w->unresolved[i].to_ns <= until_ns)
			any |= resolve(w, &w->unresolved[i], true);
	return any;
}

void wall_resolve(struct wall *w, bool force)
{
	bool any = true;

	w->pass++;
	while (any) {
		size_t kept = 0;
		any = false;
		for (size_t i = 0; i < w->unresolved_count; i++) {
			struct unresolved *u = &w->unresolved[i];
			if (!is_obstructed(w, u))
				any |= resolve(w, u, false);
			if (u->to_ns != UINT64_MAX)
				w->unresolved[kept++] = *u;
		}
		w->unresolved_count = kept;
		any = any || give_up(w, force);
	}
}

void wall_add_raw(struct wall *w, struct history *h, const struct raw *raw)
{
	struct raw *last;

	if (raw->to_ns <= raw->from_ns)
		return;
	const struct process *p =
		raw->state == THREAD_BLOCKED ? NULL : wall_find_process(w, h->process);
	bool waits = raw->state == THREAD_BLOCKED || (p && p->tells_waits);

	if (!h->raw.count && !waits) {
		wall_push(w, h,
		          (struct piece){ .from_ns = raw->from_ns,
		                          .to_ns = raw->to_ns,
		                          .owner = h->number,
		                          .state = raw->state,
		                          .own = true });
		h->resolved_ns = raw->to_ns;
		return;
	}
	if (!h->raw.count) {
		if (!array_reserve(&w->unresolved, &w->unresolved_capacity,
		                   w->unresolved_count + 1)) {
			w->incomplete = true;
			return;
		}
		w->unresolved[w->unresolved_count++] =
			(struct unresolved){ .history = h, .to_ns = raw->to_ns };
	}
	last = deque_push(&h->raw, struct raw);
	if (last)
		*last = *raw;
	w->incomplete |= !last;
}
