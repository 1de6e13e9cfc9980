// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"

// Who has just left its CPU may have been the one that woke another thread.
#define JUST_NS (100 * NS_PER_US)
// Who runs, and who may have woken whom.

void wall_note_busy(struct wall *w, uint64_t time_ns)
{
	size_t busy = w->running_count < WALL_BUSY_MAX ? w->running_count : WALL_BUSY_MAX;

	if (time_ns <= w->busy_ns)
		return;
	w->busy.ns[busy] += time_ns - w->busy_ns;
	w->busy_ns = time_ns;
}

void wall_starts_running(struct wall *w, struct history *h, uint64_t time_ns)
{
	wall_note_busy(w, time_ns);
	h->running_since_ns = time_ns;
	if (h->in_running ||
	    !array_reserve(&w->running, &w->running_capacity, w->running_count + 1))
		return;
	w->running[w->running_count++] = h;
	h->in_running = true;
}

void wall_stops_running(struct wall *w, struct history *h, uint64_t time_ns)
{
	struct process *p = wall_find_process(w, h->process);

	wall_note_busy(w, time_ns);
	h->stopped_ns = time_ns;
	if (p)
		p->last_stopped = h->number;
	w->stopped[w->stopped_at++ % STOPPED] = h->number;
	for (size_t i = 0; i < w->running_count; i++)
		if (w->running[i] == h)
			w->running[i] = w->running[--w->running_count];
	h->in_running = false;
}

// The peers of the wait that began at H's since_ns; NULL: none are known.
const struct peers_kept *wall_peers_of(const struct history *h, enum metric cause)
{
	bool by_descriptor = cause == METRIC_OFF_PIPE || cause == METRIC_OFF_NET;

	// The sample of a switch may be a moment before its record.
	return by_descriptor && h->peers.count && h->peers.time_ns + JUST_NS >= h->since_ns
	               ? &h->peers
	               : NULL;
}

static bool may_wake(const struct history *v, const struct history *h,
                     const struct peers_kept *peers)
{
	bool may = !peers && v->process == h->process;

	for (uint32_t i = 0; peers && i < peers->count; i++)
		may |= peers->processes[i] == v->process;
	return may && v != h;
}

static bool is_better(const struct history *v, const struct history *best)
{
	return !best || v->running_since_ns < best->running_since_ns;
}

static uint32_t guess_child(const struct wall *w, const struct history *h)
{
	const struct process *p = wall_find_process(w, h->process);

	return p && p->child_ended_ns >= h->since_ns ? p->ended_child : 0;
}

// Who may have ended the wait of H that ends at AT_NS: a thread that ran then or has just stopped,
// in its own process or at the other end of what it waits on. Of several it is the one that has run
// for longest, as the others may have been woken along with H.
uint32_t wall_guess(struct wall *w, const struct history *h, enum metric cause, uint64_t at_ns)
{
	const struct peers_kept *peers = wall_peers_of(h, cause);
	const struct history *best = NULL;

	if (cause == METRIC_OFF_CHILD)
		return guess_child(w, h);
	if (cause != METRIC_OFF_LOCK && !peers)
		return 0;
	for (size_t i = 0; i < w->running_count; i++) {
		const struct history *v = w->running[i];
		if (may_wake(v, h, peers) && v->running_since_ns < at_ns && is_better(v, best))
			best = v;
	}
	for (size_t i = 0; i < STOPPED; i++) {
		const struct history *v = w->stopped[i] ? wall_find_thread(w, w->stopped[i]) : NULL;
		if (v && !v->in_running && may_wake(v, h, peers) &&
		    v->stopped_ns + JUST_NS >= at_ns && is_better(v, best))
			best = v;
	}
	if (best)
		return best->number;
	// On a busy machine whoever has woken it may be long gone when it gets a CPU.
	const struct process *p = wall_find_process(w, peers ? peers->processes[0] : h->process);
	const struct history *last = p ? wall_find_thread(w, p->last_stopped) : NULL;
	if (peers)
		return !p ? 0 : p->last_stopped ? p->last_stopped : p->first_thread;
	// Of its own process it must have run meanwhile, as else somebody unknown has.
	return last && last != h && last->stopped_ns > h->since_ns ? last->number : 0;
}
