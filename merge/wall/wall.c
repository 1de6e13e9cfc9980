// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"

#define PASS_NS (5 * NS_PER_MS)

// How long samples and waits of a thread are kept.
#define PLACES_NS (NS_PER_SEC + WALL_KEEP_NS)

// A thread that has ended is kept for so long.
#define FORGET_NS (2 * NS_PER_SEC)

// All threads are swept in so many passes, but so many at least in each.
#define SWEEPS      16
#define SWEEP_LEAST 64
#define FORGET_PART 8 // of all threads, one in so many is over

// So much waiting that was looked at says what a thread usually waits for.
#define SEEN_NS   NS_PER_SEC

#define ALONE_MAX 65536
#define BINS_MAX  16384
struct wall *wall_new(wall_told *told, void *context)
{
	struct wall *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->told = told;
	w->context = context;
	w->width_ns = WALL_WIDTH_NS;
	w->semaphores = semaphores_new();
	if (!w->semaphores || !hash_init(&w->thread_index, 64) ||
	    !hash_init(&w->process_index, 16) || !hash_init(&w->edge_index, 64) ||
	    !hash_init(&w->alone_index, 64)) {
		wall_free(w);
		return NULL;
	}
	return w;
}

void wall_hear_times(struct wall *w, wall_timed *timed)
{
	w->timed = timed;
}

void wall_free(struct wall *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->active_count; i++) {
		history_fini(w->active[i]);
		free(w->active[i]);
	}
	free(w->active);
	free(w->threads);
	free(w->processes);
	free(w->running);
	free(w->unresolved);
	free(w->edges);
	free(w->edges_seen);
	deque_fini(&w->surpluses);
	free(w->alone);
	semaphores_free(w->semaphores);
	hash_fini(&w->thread_index);
	hash_fini(&w->process_index);
	hash_fini(&w->edge_index);
	hash_fini(&w->alone_index);
	free(w);
}

// Who there is.

struct process *wall_find_process(const struct wall *w, uint32_t number)
{
	uint64_t hashed = hash_mix(number);

	for (uint32_t at = hash_start(&w->process_index, hashed); w->process_index.slots[at];
	     at = hash_next(&w->process_index, at)) {
		struct process *p = &w->processes[w->process_index.slots[at] - 1];
		if (p->number == number)
			return p;
	}
	return NULL;
}

void wall_process(struct wall *w, uint32_t number, uint32_t parent)
{
	uint64_t hashed = hash_mix(number);
	uint32_t at;

	if (wall_find_process(w, number))
		return; // it has become another program
	if (!hash_make_room(&w->process_index) ||
	    !array_reserve(&w->processes, &w->process_capacity, w->process_count + 1)) {
		w->incomplete = true;
		return;
	}
	for (at = hash_start(&w->process_index, hashed); w->process_index.slots[at];)
		at = hash_next(&w->process_index, at);
	w->processes[w->process_count++] = (struct process){ .number = number, .parent = parent };
	hash_insert(&w->process_index, at, hashed, (uint32_t)w->process_count);
}

static const struct known_thread *find_known(const struct wall *w, uint32_t number)
{
	uint64_t hashed = hash_mix(number);

	for (uint32_t at = hash_start(&w->thread_index, hashed); w->thread_index.slots[at];
	     at = hash_next(&w->thread_index, at)) {
		const struct known_thread *known = &w->threads[w->thread_index.slots[at] - 1];
		if (known->number == number)
			return known;
	}
	return NULL;
}

struct history *wall_find_thread(const struct wall *w, uint32_t number)
{
	const struct known_thread *known = find_known(w, number);

	return known ? known->history : NULL;
}

uint32_t wall_tag(const struct wall *w, uint32_t number)
{
	const struct known_thread *known = find_known(w, number);

	return known ? known->tag : 0;
}

static struct history *add_thread(struct wall *w, uint32_t number, uint32_t tag)
{
	uint64_t hashed = hash_mix(number);
	struct history *h = calloc(1, sizeof(*h));
	uint32_t at;

	if (!h || !hash_make_room(&w->thread_index) ||
	    !array_reserve(&w->threads, &w->thread_capacity, w->thread_count + 1) ||
	    !array_reserve(&w->active, &w->active_capacity, w->active_count + 1)) {
		free(h);
		w->incomplete = true;
		return NULL;
	}
	for (at = hash_start(&w->thread_index, hashed); w->thread_index.slots[at];)
		at = hash_next(&w->thread_index, at);
	h->number = number;
	h->tag = tag;
	w->active[w->active_count++] = h;
	w->threads[w->thread_count++] = (struct known_thread){ number, tag, h };
	hash_insert(&w->thread_index, at, hashed, (uint32_t)w->thread_count);
	return h;
}

// Who started P, whose first thread begins: a parent with one thread is no question. 0: not known.
static uint32_t maker_of(const struct wall *w, const struct process *p)
{
	const struct process *parent = p->first_thread ? NULL : wall_find_process(w, p->parent);
	const struct history *first =
		parent && parent->live == 1 ? wall_find_thread(w, parent->first_thread) : NULL;

	return first && !first->ended ? first->number : 0;
}

void wall_thread(struct wall *w, uint32_t number, uint32_t process, uint32_t tag, uint64_t time_ns)
{
	struct process *p = wall_find_process(w, process);

	if (find_known(w, number))
		return; // it has got another name
	struct history *h = add_thread(w, number, tag);
	if (!h)
		return;
	h->process = process;
	h->born_ns = h->since_ns = h->resolved_ns = h->folded_ns = time_ns;
	h->state = THREAD_READY;
	if (!w->root)
		w->busy_ns = time_ns;
	wall_count_thread(w, h, time_ns);
	w->first_ns = w->root ? min_ns(w->first_ns, time_ns) : time_ns;
	if (!w->root)
		w->root = h;
	if (!p)
		return;
	h->maker = maker_of(w, p);
	p->live++;
	p->had_threads |= p->live > 1;
	if (!p->first_thread)
		p->first_thread = number;
}

// Time of a state that goes on: it can be told already.
static void cut_state(struct wall *w, struct history *h, uint64_t now_ns)
{
	if ((h->state != THREAD_RUNS && h->state != THREAD_READY) || h->since_ns >= now_ns)
		return;
	struct raw raw = { .from_ns = h->since_ns, .to_ns = now_ns, .state = (uint8_t)h->state };
	wall_add_raw(w, h, &raw);
	h->since_ns = now_ns;
}

static void forget_places(struct deque *places, uint64_t before_ns)
{
	size_t old = 0;

	while (old < places->count && deque_at(places, struct place, old)->to_ns < before_ns)
		old++;
	deque_drop(places, old);
}

// Times are what programs write into rings: none makes more bins than that.
static void bound_bins(struct wall *w)
{
	while ((w->now_ns - min_ns(w->now_ns, w->first_ns)) / w->width_ns > BINS_MAX)
		wall_widen(w);
}

// Nobody waits for H any more: whose wait is reported late has ended before.
static bool is_over(const struct wall *w, const struct history *h)
{
	return h->ended && !h->raw.count && !h->pieces.count && h != w->root &&
	       h != w->last_ended && w->now_ns > h->ended_ns + FORGET_NS;
}

static void forget_thread(struct wall *w, struct history *h)
{
	struct known_thread *known = (struct known_thread *)find_known(w, h->number);

	if (known)
		known->history = NULL;
	w->folds -= h->folds.count;
	wall_place_edges(w, h);
	history_fini(h);
	free(h);
}

// Many at once: each of the others may hold some of their time, and a program may start a thread
// for each of thousands of tasks.
static void forget_threads(struct wall *w)
{
	size_t kept = 0;

	w->over_count = 0;
	for (size_t i = 0; i < w->active_count; i++)
		w->active[i]->over = w->active[i]->over && is_over(w, w->active[i]);
	for (size_t i = 0; i < w->active_count; i++)
		if (w->active[i]->carries.count)
			wall_settle_over(w, w->active[i]);
	for (size_t i = 0; i < w->active_count; i++) {
		struct history *h = w->active[i];
		if (h->over)
			forget_thread(w, h);
		else
			w->active[kept++] = h;
	}
	w->active_count = kept;
}

static void forget_taken(struct deque *taken, uint64_t before_ns)
{
	size_t old = 0;

	while (old < taken->count && deque_at(taken, struct taken, old)->since_ns < before_ns)
		old++;
	deque_drop(taken, old);
}

// What is old of the next threads is folded and forgotten: of all of them in some passes, as there
// may be thousands.
static void sweep(struct wall *w)
{
	uint64_t old_ns = w->now_ns - min_ns(w->now_ns, WALL_KEEP_NS);
	uint64_t place_ns = w->now_ns - min_ns(w->now_ns, PLACES_NS);
	size_t count = w->active_count / SWEEPS;

	count = count > SWEEP_LEAST ? count : SWEEP_LEAST;
	count = count < w->active_count ? count : w->active_count;
	for (; count && w->active_count; count--) {
		if (w->swept >= w->active_count)
			w->swept = 0;
		struct history *h = w->active[w->swept];
		if (h->since_ns < old_ns && !h->ended)
			cut_state(w, h, old_ns + WALL_KEEP_NS / 2);
		if (h->pieces.count && deque_at(&h->pieces, struct piece, 0)->from_ns < old_ns)
			wall_fold(w, h, old_ns);
		forget_places(&h->samples, place_ns);
		forget_places(&h->waits, place_ns);
		forget_taken(&h->taken, place_ns);
		if (!h->over && is_over(w, h)) {
			h->over = true;
			w->over_count++;
		}
		w->swept++;
	}
	if (w->over_count * FORGET_PART > w->active_count)
		forget_threads(w);
}

static void advance(struct wall *w, uint64_t now_ns)
{
	if (now_ns > w->now_ns)
		w->now_ns = now_ns;
	if (w->now_ns < w->pass_ns + PASS_NS)
		return;
	w->pass_ns = w->now_ns;
	bound_bins(w);
	wall_resolve(w, false);
	sweep(w);
}

// What NODE's thread did while no other one ran or wanted to.
static void add_alone(struct wall *w, uint32_t node, uint64_t time_ns, uint64_t ns)
{
	uint64_t hashed = hash_mix(node);
	uint32_t at;

	wall_tell_time(w, &(struct wall_time_part){ .series = WALL_ALONE,
	                                            .key = node,
	                                            .from_ns = time_ns,
	                                            .to_ns = time_ns,
	                                            .weight_ns = (double)ns });

	for (at = hash_start(&w->alone_index, hashed); w->alone_index.slots[at];
	     at = hash_next(&w->alone_index, at))
		if (w->alone[w->alone_index.slots[at] - 1].node == node) {
			w->alone[w->alone_index.slots[at] - 1].ns += ns;
			return;
		}
	if (w->alone_count >= ALONE_MAX || !hash_make_room(&w->alone_index) ||
	    !array_reserve(&w->alone, &w->alone_capacity, w->alone_count + 1))
		return;
	for (at = hash_start(&w->alone_index, hashed); w->alone_index.slots[at];)
		at = hash_next(&w->alone_index, at);
	w->alone[w->alone_count++] = (struct wall_alone){ node, ns };
	hash_insert(&w->alone_index, at, hashed, (uint32_t)w->alone_count);
}

// Events.

static void set_state(struct wall *w, struct history *h, enum thread_state state, uint64_t time_ns)
{
	h->state = state;
	wall_count_thread(w, h, time_ns);
}

// H waits for a CPU, but only to see whether that one is done for which it spins.
static bool waits_to_spin(const struct wall *w, const struct history *h)
{
	const struct history *v = h->spins && h->spun_on ? wall_find_thread(w, h->spun_on) : NULL;

	return v && !v->spins && !v->ended;
}

// In which waits a thread may be that was woken by a signal. Where it is not known of a thread in
// which it is, that was short.
static bool is_woken_by_signals(enum metric cause)
{
	return cause == METRIC_OFF_NET || cause == METRIC_OFF_PIPE || cause == METRIC_OFF_SLEEP ||
	       cause == METRIC_OFF_CHILD || cause == METRIC_OFF_OTHER;
}

// The oldest signal that H may have been woken by after FROM_NS, up to TO_NS. NULL: there is none.
static struct signal_kept *find_signal(struct wall *w, const struct history *h, uint64_t from_ns,
                                       uint64_t to_ns)
{
	uint64_t least = w->signal_count - min_ns(w->signal_count, SIGNALS_KEPT);
	struct signal_kept *found = NULL;

	for (uint64_t i = w->signal_count; i > least; i--) {
		struct signal_kept *s = &w->signals[(i - 1) % SIGNALS_KEPT];
		if (s->time_ns <= from_ns)
			break;
		if (s->process == h->process && !s->taken && s->time_ns <= to_ns &&
		    (!s->to || s->to == h->number))
			found = s;
	}
	return found;
}

// RAW, a wait of H, is cut at each signal that it was sent: it was woken then. Of several there is
// more than one only where times are estimates, and waits were taken for one. What is left over is
// RAW.
static void cut_at_signals(struct wall *w, struct history *h, struct raw *raw)
{
	const struct process *p = wall_find_process(w, h->process);
	uint64_t began_ns = raw->from_ns;
	struct signal_kept *next, *s = NULL;

	if (!p || p->signalled_ns <= raw->from_ns || !is_woken_by_signals((enum metric)raw->cause))
		return;
	for (s = find_signal(w, h, raw->from_ns, raw->to_ns); s; s = next) {
		next = find_signal(w, h, s->time_ns, raw->to_ns);
		if (!next && raw->to_ns > s->time_ns + WOKEN_NS)
			return;
		struct raw part = *raw;
		part.guess = s->from;
		part.woken_ns = s->time_ns;
		part.signalled = true;
		part.began_ns = began_ns;
		s->taken = true;
		if (!next) {
			*raw = part;
			return;
		}
		part.to_ns = s->time_ns;
		wall_add_raw(w, h, &part);
		raw->from_ns = s->time_ns;
		raw->began_ns = began_ns;
	}
}

// Who is taken to have ended RAW, a wait for PEERS, did so while it ran: since it has stopped, the
// one that waited has wanted a CPU.
static uint64_t woken_ns(const struct wall *w, const struct raw *raw,
                         const struct peers_kept *peers)
{
	const struct history *v = peers && raw->guess ? wall_find_thread(w, raw->guess) : NULL;

	return v && !v->in_running && v->stopped_ns > raw->from_ns && v->stopped_ns < raw->to_ns &&
	                       raw->to_ns - v->stopped_ns <= WOKEN_NS
	               ? v->stopped_ns
	               : 0;
}

// The kernel tells that THREAD was on the CPU, or sent a packet there, as the wait of H ended.
static bool is_waker(const struct wall *w, const struct history *h, const struct span_event *span)
{
	struct peers_kept room;
	const struct peers_kept *peers = wall_peers_of(w, h, span->cause, &room);
	const struct history *v = span->waker ? wall_find_thread(w, span->waker) : NULL;

	if (!v || v == h || span->woken_by == WOKEN_BY_INTERRUPT)
		return false;
	// The thread that a packet of another machine interrupts has nothing to do with it.
	return span->woken_by == WOKEN_BY_THREAD || (peers && wall_may_wake(v, h, peers));
}

// Whoever has ended RAW, since it has the one that waited has wanted a CPU.
static void take_waker(const struct wall *w, const struct history *h, const struct span_event *span,
                       struct raw *raw)
{
	bool told = is_waker(w, h, span);

	if (!span->woken_ns || raw->cause == METRIC_OFF_CHILD)
		return;
	// A signal is a kind of wait of its own, where it was what woke.
	raw->signalled &= !told || raw->guess == span->waker;
	raw->woken_ns = told || raw->guess ? max_ns(span->woken_ns, raw->from_ns) : 0;
	raw->guess = told ? span->waker : raw->guess;
	raw->told = told;
}

void wall_signal(struct wall *w, const struct signal_event *signal)
{
	struct process *p = wall_find_process(w, signal->process);

	if (!p)
		return;
	p->signalled_ns = max_ns(p->signalled_ns, signal->time_ns);
	w->signals[w->signal_count++ % SIGNALS_KEPT] =
		(struct signal_kept){ .time_ns = signal->time_ns,
		                      .from = signal->thread,
		                      .process = signal->process,
		                      .to = signal->to };
}

// The cause of a wait of H is known.
static void take_known(struct history *h, enum metric cause, uint64_t from_ns, uint64_t to_ns)
{
	h->known.cause = cause;
	h->known.length_ns = to_ns - min_ns(from_ns, to_ns);
	h->known.to_ns = to_ns;
	if (wall_has_reported(h, from_ns, to_ns))
		return;
	h->seen_ns += h->known.length_ns;
	h->seen_lock_ns += cause == METRIC_OFF_LOCK ? h->known.length_ns : 0;
	for (; h->seen_ns > SEEN_NS; h->seen_lock_ns /= 2)
		h->seen_ns /= 2;
}

void wall_span(struct wall *w, const struct span_event *span)
{
	struct history *h = wall_find_thread(w, span->thread);

	if (!h || h->ended)
		return;
	h->estimated = span->estimated;
	struct raw raw = { .from_ns = max_ns(span->from_ns, h->since_ns),
		           .to_ns = span->to_ns,
		           .state = (uint8_t)span->state,
		           .cause = (uint8_t)span->cause };
	if (span->state == THREAD_BLOCKED) {
		struct peers_kept room;
		const struct peers_kept *peers = wall_peers_of(w, h, span->cause, &room);
		raw.guess = wall_guess(w, h, span->cause, span->to_ns);
		raw.woken_ns = woken_ns(w, &raw, peers);
		bool looked = span->cause != METRIC_OFF_OTHER;
		raw.inode =
			peers && (looked || raw.guess) ? wall_inode_of(w, h, peers, raw.guess) : 0;
		if (looked)
			take_known(h, span->cause, raw.from_ns, span->to_ns);
		cut_at_signals(w, h, &raw);
		take_waker(w, h, span, &raw);
	}
	if (span->state == THREAD_READY && waits_to_spin(w, h)) {
		raw.state = THREAD_BLOCKED;
		raw.cause = METRIC_OFF_RUNNABLE;
		raw.guess = h->spun_on;
		raw.spins = true;
	}
	if (span->next == THREAD_RUNS)
		wall_starts_running(w, h, span->to_ns);
	else if (h->in_running)
		wall_stops_running(w, h, span->to_ns);
	wall_add_raw(w, h, &raw);
	set_state(w, h, span->next, span->to_ns);
	h->since_ns = max_ns(span->to_ns, h->since_ns);
	advance(w, span->to_ns);
}

// H was in a loop that spins at its last sample, PLACE, or not.
static void take_spin(struct wall *w, struct history *h, struct place *place,
                      const struct wall_stack *stack)
{
	h->abroad = stack->abroad;
	const struct history *v = stack->spins ? wall_spun_on(w, h) : NULL;

	h->spins = stack->spins;
	wall_count_thread(w, h, place->from_ns);
	h->spun_on = v ? v->number : 0;
	if (!v) {
		h->spin_edge = 0;
		return;
	}
	place->spun_on = v->number;
	place->spun_ready = !v->in_running;
	place->via = wall_count_spin(w, h, place->node, v, place->weight_ns);
	w->coverage.blocked_ns += place->weight_ns;
	w->coverage.known_ns += place->weight_ns;
	w->coverage.guessed_ns += place->weight_ns;
}

// No other thread works, or would if it had a CPU.
static bool works_alone(const struct wall *w, const struct history *h)
{
	return h->in_running && !h->spins && w->running_count - w->spinning_count == 1 &&
	       !w->ready_count;
}

void wall_stack(struct wall *w, const struct wall_stack *stack)
{
	struct history *h = wall_find_thread(w, stack->thread);
	bool on_cpu = stack->metric == METRIC_ON_CPU;
	bool exact = on_cpu || (stack->duration_ns && stack->weight_ns == stack->duration_ns);
	struct deque *places;

	if (!h || !stack->weight_ns)
		return;
	places = on_cpu ? &h->samples : &h->waits;
	history_add_loose(h,
	                  on_cpu                                 ? THREAD_RUNS
	                  : stack->metric == METRIC_OFF_RUNNABLE ? THREAD_READY
	                                                         : THREAD_BLOCKED,
	                  stack->metric, stack->node, stack->unseen, (double)stack->weight_ns);
	if (stack->metric == METRIC_OFF_OTHER)
		h->unknown_ns += stack->weight_ns;
	if (!exact ||
	    (places->count && deque_last(places, struct place)->from_ns > stack->time_ns)) {
		if (h == w->root && !on_cpu)
			wall_take_out_late(w, stack->metric, stack->node, stack->time_ns,
			                   stack->weight_ns);
		return; // it stands for many, or comes late
	}
	struct place *place = deque_push(places, struct place);
	if (place)
		*place = (struct place){ .from_ns = stack->time_ns,
			                 .to_ns = stack->time_ns + stack->duration_ns,
			                 .weight_ns = stack->weight_ns,
			                 .node = stack->node,
			                 .metric = stack->metric,
			                 .rest = stack->rest };
	w->incomplete |= !place;
	if (place && stack->metric == METRIC_OFF_LOCK)
		h->lock_node = stack->node;
	if (!on_cpu)
		return;
	if (place)
		take_spin(w, h, place, stack);
	if (works_alone(w, h))
		add_alone(w, stack->node, stack->time_ns, stack->weight_ns);
	advance(w, stack->time_ns);
}

// Which of its shares has ended WAIT: the first wakeup that has ended no other wait. Who is woken
// and has no CPU yet changes nothing by what comes then, however often the same thread wakes. Where
// all have ended others they were broadcasts, and the last one counts.
static uint32_t ended_by(struct wall *w, const struct wall_wait *wait)
{
	for (uint32_t i = 0; i < wait->count; i++) {
		const struct wall_share *s = &wait->shares[i];
		uint64_t wake = hash_pair(s->until_ns, s->thread);
		uint64_t *kept = &w->wakes[wake % WAKES_KEPT];
		if (*kept == wake)
			continue;
		*kept = wake;
		return i;
	}
	return wait->count - 1;
}

// From when on the thread of WAIT, of which COUNT shares are kept, wanted a CPU; UINT64_MAX: that
// is not known.
static uint64_t woken_in(const struct wall_wait *wait, uint32_t count)
{
	bool ended = wait->wakes && !wait->failed && count;
	uint64_t step_ns = wait->step_ns ? wait->from_ns + wait->step_ns : UINT64_MAX;

	return min_ns(step_ns, ended ? wait->shares[count - 1].until_ns : UINT64_MAX);
}

// A thread that parks waits for a semaphore of its own, whatever lock it is that another one then
// gives it: CPython's locks from 3.13 on, and others that keep their waiters in a list.
static bool parks(struct wall *w, const struct wall_wait *wait)
{
	struct park *park = &w->parks[hash_pair(wait->resource, wait->module) % PARKS_KEPT];

	if (wait->kind != HELD_SEMAPHORE || !wait->resource)
		return false;
	if (park->resource != wait->resource)
		*park = (struct park){ wait->resource, wait->thread };
	else if (park->thread != wait->thread)
		park->thread = 0;
	return park->thread == wait->thread;
}

void wall_wait(struct wall *w, const struct wall_wait *wait)
{
	uint32_t count =
		wait->wakes && !wait->failed && wait->count ? ended_by(w, wait) + 1 : wait->count;
	struct history *h = wall_find_thread(w, wait->thread);
	struct edge_times *times = h ? deque_push(&h->edges, struct edge_times) : NULL;

	struct process *p = h ? wall_find_process(w, h->process) : NULL;

	if (!h)
		return;
	if (p)
		p->tells_waits = true;
	if (p && wait->kind == HELD_SPIN)
		p->tells_spins = true;
	w->incomplete |= !times;
	if (!times)
		return;
	*times =
		(struct edge_times){ .from_ns = wait->from_ns,
		                     .to_ns = wait->to_ns,
		                     .resource = wait->resource,
		                     .woken_ns = woken_in(wait, count),
		                     .module = wait->module,
		                     .made = wait->made,
		                     .kind = wait->kind,
		                     .goes_on = wait->goes_on,
		                     .parked = parks(w, wait),
		                     .semaphore =
		                             wait->object ? semaphores_add(w->semaphores, wait) : 0,
		                     .first_share = h->shares_dropped + h->shares.count };
	for (; times->count < count; times->count++) {
		struct wall_share *share = deque_push(&h->shares, struct wall_share);
		if (!share)
			return;
		*share = wait->shares[times->count];
	}
	struct taken *taken =
		wait->resource && !wait->failed ? deque_push(&h->taken, struct taken) : NULL;
	if (taken)
		*taken = (struct taken){ .from_ns = wait->from_ns,
			                 .since_ns = wait->to_ns,
			                 .resource = wait->resource,
			                 .module = wait->module,
			                 .parked = times->parked };
}

void wall_peers(struct wall *w, const struct peers_event *peers)
{
	struct history *h = wall_find_thread(w, peers->thread);

	if (!h)
		return;
	struct peers_kept kept = { .time_ns = peers->time_ns,
		                   .inode = peers->inode,
		                   .descriptors = peers->descriptors,
		                   .outside = peers->outside };
	for (; kept.count < peers->count && kept.count < PEERS_KEPT; kept.count++)
		kept.processes[kept.count] = peers->processes[kept.count];
	wall_keep_peers(w, h, &kept);
}

// Those before it move on.
static void keep_child(struct children *children, uint32_t thread, uint64_t time_ns)
{
	size_t at = 1;

	if (!thread || time_ns < children->times_ns[0])
		return;
	for (; at < CHILDREN_KEPT && children->times_ns[at] <= time_ns; at++) {
		children->threads[at - 1] = children->threads[at];
		children->times_ns[at - 1] = children->times_ns[at];
	}
	children->threads[at - 1] = thread;
	children->times_ns[at - 1] = time_ns;
}

void wall_exec(struct wall *w, uint32_t process, uint64_t time_ns)
{
	const struct process *p = wall_find_process(w, process);
	struct process *parent = p ? wall_find_process(w, p->parent) : NULL;

	if (parent)
		keep_child(&parent->execed, p->first_thread, time_ns);
}

void wall_thread_end(struct wall *w, uint32_t thread, uint64_t time_ns)
{
	struct history *h = wall_find_thread(w, thread);
	struct process *p = h ? wall_find_process(w, h->process) : NULL;

	if (!h || h->ended)
		return;
	if (h->state != THREAD_GONE) {
		struct raw raw = { .from_ns = h->since_ns,
			           .to_ns = time_ns,
			           .state = (uint8_t)h->state,
			           .cause = METRIC_OFF_OTHER };
		if (h->in_running)
			wall_stops_running(w, h, time_ns);
		wall_add_raw(w, h, &raw);
	}
	set_state(w, h, THREAD_GONE, time_ns);
	h->ended = true;
	h->ended_ns = max_ns(time_ns, h->born_ns);
	if (!w->last_ended || h->ended_ns > w->last_ended->ended_ns)
		w->last_ended = h;
	if (!p)
		return;
	p->live--;
	struct process *parent = p->live ? NULL : wall_find_process(w, p->parent);
	if (parent)
		keep_child(&parent->ended, p->first_thread, time_ns);
}

// From where the run's thread ended on it is the one that ended last.
static void tell_rest(struct wall *w)
{
	const struct history *last = w->last_ended;

	if (!last || last->ended_ns <= w->root->ended_ns)
		return;
	uint64_t from_ns = w->root->ended_ns;
	for (size_t i = 0; i < last->folds.count; i++) {
		const struct fold *f = deque_at(&last->folds, struct fold, i);
		uint64_t begin = max_ns(f->bin * w->width_ns, last->born_ns);
		uint64_t end = min_ns((f->bin + 1) * w->width_ns, last->ended_ns);
		uint64_t from = max_ns(begin, from_ns);
		if (from >= end)
			continue;
		wall_tell(w, &(struct wall_part){ .thread = f->owner,
		                                  .node = f->node,
		                                  .metric = (enum metric)f->metric,
		                                  .from_ns = from,
		                                  .to_ns = end,
		                                  .weight_ns = f->ns * (double)(end - from) /
		                                               (double)(end - begin) });
	}
}

void wall_finish(struct wall *w, uint64_t now_ns)
{
	w->now_ns = max_ns(w->now_ns, now_ns);
	w->finished = true;
	bound_bins(w);
	wall_note_busy(w, w->now_ns);
	for (size_t i = 0; i < w->active_count; i++)
		wall_thread_end(w, w->active[i]->number, w->now_ns);
	wall_resolve(w, true);
	for (size_t i = 0; i < w->active_count; i++) {
		struct history *h = w->active[i];
		wall_fold(w, h, UINT64_MAX);
		wall_settle_rest(w, h);
		wall_place_edges(w, h);
	}
	if (!w->root)
		return;
	wall_take_out_woken(w);
	wall_take_out_rest(w);
	for (int m = 0; m < METRIC_COUNT; m++)
		wall_take_out_late(w, (enum metric)m, 0, w->root->ended_ns, UINT64_MAX);
	tell_rest(w);
}

uint32_t wall_root(const struct wall *w)
{
	return w->root ? w->root->tag : 0;
}

void wall_move_nodes(struct wall *w, const uint32_t *map)
{
	for (size_t i = 0; i < w->active_count; i++)
		history_move_nodes(w->active[i], map);
	hash_clear(&w->alone_index);
	for (size_t i = 0; i < w->alone_count; i++)
		w->alone[i].node = map[w->alone[i].node - 1];
	hash_clear(&w->edge_index);
	// Edges at nodes that are one now are two rows still: readers add them up.
	for (size_t i = 0; i < w->edge_count; i++) {
		struct edge_slot *slot = &w->edges[i];
		if (slot->edge.waiter_node)
			slot->edge.waiter_node = map[slot->edge.waiter_node - 1];
		for (size_t k = 0; k < EDGE_PLACES; k++)
			if (slot->places[k].node)
				slot->places[k].node = map[slot->places[k].node - 1];
		if (slot->drawn)
			slot->drawn = map[slot->drawn - 1];
	}
	for (size_t i = 0; i < SPUN_NODES; i++)
		if (w->spun_nodes[i])
			w->spun_nodes[i] = map[w->spun_nodes[i] - 1];
}

struct wall_coverage wall_coverage(const struct wall *w)
{
	return w->coverage;
}

const struct wall_busy *wall_busy(const struct wall *w)
{
	return &w->busy;
}

const struct wall_alone *wall_alone(const struct wall *w, size_t *count)
{
	*count = w->alone_count;
	return w->alone;
}

bool wall_is_whole(const struct wall *w)
{
	return !w->incomplete;
}
