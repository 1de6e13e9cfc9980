// SPDX-License-Identifier: MIT
#include "merge/wall/wall_state.h"

#include "base/array.h"
#include "base/clock.h"

// Who has just left its CPU may have been the one that woke another thread.
#define JUST_NS (100 * NS_PER_US)

// Of processes, between one that looks after others and those: launchers, shells.
#define GENERATIONS 8

// Who runs, and who may have woken whom.

void wall_note_busy(struct wall *w, uint64_t time_ns)
{
	size_t busy = w->running_count - w->spinning_count;

	busy = busy < WALL_BUSY_MAX ? busy : WALL_BUSY_MAX;
	if (time_ns <= w->busy_ns)
		return;
	struct wall_time_part part = { .series = WALL_BUSY,
		                       .key = (uint32_t)busy + 1,
		                       .from_ns = w->busy_ns,
		                       .to_ns = time_ns,
		                       .weight_ns = (double)(time_ns - w->busy_ns) };
	w->busy.ns[busy] += time_ns - w->busy_ns;
	wall_tell_time(w, &part);
	if (busy == 1 && w->ready_count) {
		w->busy.wanted_ns += time_ns - w->busy_ns;
		part.series = WALL_WANTED;
		part.key = 1;
		wall_tell_time(w, &part);
	}
	if (w->ready_count) {
		size_t running = w->running_count;
		part.series = WALL_READY;
		part.key = (uint32_t)(running < WALL_BUSY_MAX ? running : WALL_BUSY_MAX) + 1;
		part.weight_ns *= (double)w->ready_count;
		wall_tell_time(w, &part);
	}
	w->busy_ns = time_ns;
}

void wall_count_thread(struct wall *w, struct history *h, uint64_t time_ns)
{
	bool wants = h->state == THREAD_READY && !h->spins, idles = h->in_running && h->spins;

	if (wants == h->wants && idles == h->idles)
		return;
	wall_note_busy(w, time_ns);
	w->ready_count += (size_t)wants - (size_t)h->wants;
	w->spinning_count += (size_t)idles - (size_t)h->idles;
	h->wants = wants;
	h->idles = idles;
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
	wall_count_thread(w, h, time_ns);
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
	wall_count_thread(w, h, time_ns);
}

// So long a wait that nobody has looked at is taken for one like the last that was.
#define ALIKE_NS    NS_PER_SEC
#define ALIKE_TIMES 2 // as long, or as short

// Where it is not known how long each is: so much of what was looked at is for the same.
#define ALIKE_SHARE 0.8

// Of more threads it would take too long to ask what each did in a wait.
#define ASKED_MAX 256

// What a thread waits on stays the same for longer, but its short waits are seldom looked at.
#define PEERS_NS (10 * NS_PER_SEC)

static bool has_process(const struct peers_kept *peers, uint32_t process)
{
	for (uint32_t i = 0; i < peers->count; i++)
		if (peers->processes[i] == process)
			return true;
	return false;
}

static void add_process(struct peers_kept *peers, uint32_t process)
{
	if (peers->count < PEERS_KEPT && !has_process(peers, process))
		peers->processes[peers->count++] = process;
}

// Who was at the other ends of the same descriptors may not have been known before, or have been
// others: a connection is accepted a moment after it was made.
static bool is_same_set(const struct peers_kept *a, const struct peers_kept *b)
{
	return a->descriptors && b->descriptors ? a->descriptors == b->descriptors
	                                        : a->inode == b->inode;
}

void wall_keep_peers(struct wall *w, struct history *h, const struct peers_kept *peers)
{
	size_t at = 0;

	// What it waits on again moves to the front, or else what is oldest goes.
	while (at < PEER_SETS - 1 && h->peers[at].count && !is_same_set(&h->peers[at], peers))
		at++;
	for (; at > 0; at--)
		h->peers[at] = h->peers[at - 1];
	h->peers[0] = *peers;
	// Whose other end H has waits for H at times.
	for (uint32_t i = 0; i < peers->count; i++) {
		struct process *p = wall_find_process(w, peers->processes[i]);
		if (!p)
			continue;
		p->partners.time_ns = peers->time_ns;
		p->partners.inode = peers->inode;
		add_process(&p->partners, h->process);
	}
}

// A thread may wait on other descriptors in turns, as a server's does for its client, and for a
// signal or the end of its parent: each of its waits that nobody has looked at may be any of those.
static const struct peers_kept *all_peers(const struct wall *w, const struct history *h,
                                          struct peers_kept *all)
{
	const struct process *own = wall_find_process(w, h->process);
	const uint64_t since_ns = h->since_ns - min_ns(PEERS_NS, h->since_ns);
	const struct peers_kept *kept = own ? &own->partners : NULL;

	*all = (struct peers_kept){ .time_ns = h->peers[0].time_ns, .inode = h->peers[0].inode };
	for (size_t i = 0; i < PEER_SETS; i++) {
		if (!h->peers[i].count || h->peers[i].time_ns < since_ns)
			continue;
		all->outside |= h->peers[i].outside;
		for (uint32_t k = 0; k < h->peers[i].count; k++)
			add_process(all, h->peers[i].processes[k]);
	}
	for (uint32_t k = 0; kept && kept->time_ns >= since_ns && k < kept->count; k++)
		add_process(all, kept->processes[k]);
	if (kept)
		all->time_ns = max_ns(all->time_ns, kept->time_ns);
	return all;
}

// Whether a wait of H that nobody has looked at may be one for descriptors. One for a lock is
// reported where the agent is; else it is taken for one like the last that was looked at.
static bool may_be_by_descriptor(const struct wall *w, const struct history *h)
{
	const struct process *p = wall_find_process(w, h->process);

	return h->known.cause == METRIC_OFF_PIPE || h->known.cause == METRIC_OFF_NET ||
	       (h->known.cause == METRIC_OFF_LOCK && p && p->tells_waits);
}

const struct peers_kept *wall_peers_of(const struct wall *w, const struct history *h,
                                       enum metric cause, struct peers_kept *room)
{
	bool unseen = cause == METRIC_OFF_OTHER;
	bool by_descriptor = unseen ? may_be_by_descriptor(w, h)
	                            : cause == METRIC_OFF_PIPE || cause == METRIC_OFF_NET;

	if (!by_descriptor)
		return NULL;
	const struct peers_kept *peers = unseen ? all_peers(w, h, room) : &h->peers[0];
	// The sample of a switch may be a moment before its record. Who serves others, outside of
	// the run, too, has most of its waits ended by those.
	return peers->count && !peers->outside &&
	                       peers->time_ns + (unseen ? ALIKE_NS : JUST_NS) >= h->since_ns
	               ? peers
	               : NULL;
}

uint64_t wall_inode_of(const struct wall *w, const struct history *h,
                       const struct peers_kept *peers, uint32_t thread)
{
	const struct process *own = wall_find_process(w, h->process);
	const struct history *v = thread ? wall_find_thread(w, thread) : NULL;

	for (size_t i = 0; v && i < PEER_SETS; i++)
		if (has_process(&h->peers[i], v->process))
			return h->peers[i].inode;
	return v && own && has_process(&own->partners, v->process) ? own->partners.inode
	                                                           : peers->inode;
}

bool wall_may_wake(const struct history *v, const struct history *h, const struct peers_kept *peers)
{
	bool may = peers ? has_process(peers, v->process) : v->process == h->process;

	return may && v != h;
}

static bool is_better(const struct history *v, const struct history *best)
{
	return !best || v->running_since_ns < best->running_since_ns;
}

static bool may_end_spin(const struct wall *w, const struct history *v, const struct history *h)
{
	if (!h->abroad)
		return wall_may_wake(v, h, NULL);
	const struct process *own = wall_find_process(w, h->process);
	const struct process *other = wall_find_process(w, v->process);
	return own && other && own != other && own->parent && own->parent == other->parent;
}

const struct history *wall_spun_on(const struct wall *w, const struct history *h)
{
	const struct history *best = NULL;

	for (size_t i = 0; i < w->running_count; i++) {
		const struct history *v = w->running[i];
		if (!v->spins && may_end_spin(w, v, h) && is_better(v, best))
			best = v;
	}
	for (size_t i = 0; !best && w->ready_count && i < w->active_count; i++)
		if (w->active[i]->wants && may_end_spin(w, w->active[i], h))
			best = w->active[i];
	// Or would not spin any more, if it had a CPU.
	const struct history *last = h->spun_on ? wall_find_thread(w, h->spun_on) : NULL;
	return best || !last || last->state != THREAD_READY ? best : last;
}

// The last of CHILDREN between FROM_NS and TO_NS; 0: there is none.
static uint32_t last_child(const struct children *children, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = CHILDREN_KEPT; i-- > 0;)
		if (children->times_ns[i] >= from_ns && children->times_ns[i] <= to_ns)
			return children->threads[i];
	return 0;
}

// The first of CHILDREN after FROM_NS, up to TO_NS; 0: there is none.
static uint32_t next_child(const struct children *children, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < CHILDREN_KEPT; i++)
		if (children->times_ns[i] > from_ns && children->times_ns[i] <= to_ns)
			return children->threads[i];
	return 0;
}

uint32_t wall_awaited_child(const struct wall *w, const struct history *h, uint64_t from_ns,
                            uint64_t to_ns)
{
	const struct process *p = wall_find_process(w, h->process);
	const uint64_t late_ns = to_ns + ESTIMATE_NS;
	uint32_t child = p ? last_child(&p->ended, from_ns, to_ns) : 0;

	if (!p || child)
		return child;
	child = last_child(&p->execed, from_ns, to_ns);
	child = child ? child : next_child(&p->ended, to_ns, late_ns);
	return child ? child : next_child(&p->execed, to_ns, late_ns);
}

uint64_t wall_exec_ns(const struct wall *w, const struct history *h, uint32_t thread,
                      uint64_t from_ns, uint64_t to_ns)
{
	const struct process *p = wall_find_process(w, h->process);

	for (size_t i = p ? CHILDREN_KEPT : 0; i-- > 0;)
		if (p->execed.threads[i] == thread && p->execed.times_ns[i] >= from_ns &&
		    p->execed.times_ns[i] <= to_ns)
			return p->execed.times_ns[i];
	return 0;
}

// One that ended: who sleeps or polls is not in vfork().
static uint32_t ended_child(const struct wall *w, const struct history *h)
{
	const struct process *p = wall_find_process(w, h->process);

	return p ? last_child(&p->ended, h->since_ns, UINT64_MAX) : 0;
}

// The child of PROCESS that NUMBER is, or descends from; NULL: it does not.
static const struct process *child_of(const struct wall *w, uint32_t process, uint32_t number)
{
	const struct process *p = wall_find_process(w, number);

	for (int i = 0; p && i < GENERATIONS; i++, p = wall_find_process(w, p->parent))
		if (p->parent == process)
			return p;
	return NULL;
}

// In which waits a program may look after others: as it sleeps, and polls what nobody else of the
// run has, as make does for a free job and until SIGCHLD comes.
static bool is_looked_after(enum metric cause)
{
	return cause == METRIC_OFF_SLEEP || cause == METRIC_OFF_NET || cause == METRIC_OFF_PIPE;
}

// A program that sleeps while those that it has started work looks after them from time to time, as
// torchrun does: what it waits for is the first thread of the one that works for longest, or would
// if it had a CPU, or has worked in the meantime. If none of them has, it waits for its own
// reasons.
static uint32_t guess_worker(struct wall *w, const struct history *h)
{
	const struct process *own = wall_find_process(w, h->process), *child = NULL;
	const struct history *best = NULL;
	uint32_t ended = ended_child(w, h);

	if (ended)
		return ended; // which SIGCHLD tells of
	if (!own || own->first_thread != h->number)
		return 0;
	for (size_t i = 0; i < w->active_count; i++) {
		const struct history *v = w->active[i];
		bool works = v->in_running && !v->spins;
		bool worked = v->wants || v->stopped_ns > h->since_ns;
		bool best_works = best && best->in_running && !best->spins;
		if (v->process == h->process || (!works && !worked) ||
		    (best && (best_works > works || (best_works == works && !is_better(v, best)))))
			continue;
		const struct process *of = child_of(w, h->process, v->process);
		if (!of || !of->live || !of->first_thread)
			continue;
		best = v;
		child = of;
	}
	return child ? child->first_thread : 0;
}

bool wall_has_reported(const struct history *h, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = h->edges.count; i-- > 0;) {
		const struct edge_times *e = deque_at(&h->edges, struct edge_times, i);
		if (e->to_ns <= from_ns)
			return false;
		if (e->from_ns < to_ns)
			return true;
	}
	return false;
}

// The wait of H that ends at AT_NS, which nobody has looked at, is about as long as the last one
// that somebody has, which was for another thread: barriers of OpenMP come so. Of a thread's short
// waits only some are looked at, of each kind as many as there are of it. An estimate takes several
// waits for one, or parts one: then lengths say nothing, and it is what most of the time is.
static bool is_like_known(const struct history *h, uint64_t at_ns)
{
	uint64_t length_ns = at_ns - min_ns(h->since_ns, at_ns), like_ns = h->known.length_ns;

	if (h->known.cause != METRIC_OFF_LOCK || h->known.to_ns + ALIKE_NS < h->since_ns)
		return false;
	if (h->estimated)
		return (double)h->seen_lock_ns > ALIKE_SHARE * (double)h->seen_ns;
	return length_ns >= like_ns / ALIKE_TIMES && length_ns <= like_ns * ALIKE_TIMES;
}

static bool is_active(enum thread_state state)
{
	return state == THREAD_RUNS || state == THREAD_READY;
}

// Up to when V had a CPU, or wanted one, of the time from FROM_NS to TO_NS; 0: it did not.
static uint64_t active_until(const struct history *v, uint64_t from_ns, uint64_t to_ns)
{
	if (is_active(v->state) && v->since_ns < to_ns)
		return to_ns;
	for (size_t i = v->raw.count; i-- > 0;) {
		const struct raw *raw = deque_at(&v->raw, struct raw, i);
		if (raw->to_ns <= from_ns)
			return 0;
		if (raw->from_ns < to_ns && is_active(raw->state))
			return min_ns(raw->to_ns, to_ns);
	}
	for (size_t i = v->pieces.count; i-- > 0;) {
		const struct piece *p = deque_at(&v->pieces, struct piece, i);
		if (p->to_ns <= from_ns)
			return 0;
		if (p->from_ns < to_ns && p->owner == v->number && is_active(p->state))
			return min_ns(p->to_ns, to_ns);
	}
	return 0;
}

// Who may have ended the wait of H that ends at AT_NS where switches are estimates: those of a
// thread come late, with its next sample, so that it may run again by now; and who seems to have
// wanted a CPU all the time may have had one. Of several it is the one that did so last; of many
// threads it is not looked for.
static const struct history *active_meanwhile(const struct wall *w, const struct history *h,
                                              uint64_t at_ns)
{
	const struct history *best = NULL;
	uint64_t best_ns = 0;

	for (size_t i = 0; w->active_count <= ASKED_MAX && i < w->active_count; i++) {
		const struct history *v = w->active[i];
		uint64_t until_ns = wall_may_wake(v, h, NULL) && !v->over
		                            ? active_until(v, h->since_ns, at_ns)
		                            : 0;
		if (until_ns <= best_ns)
			continue;
		best = v;
		best_ns = until_ns;
	}
	return best;
}

// Who may have ended the wait of H that ends at AT_NS: a thread that ran then or has just stopped,
// in its own process or at the other end of what it waits on. Of several it is the one that has run
// for longest, as the others may have been woken along with H.
uint32_t wall_guess(struct wall *w, const struct history *h, enum metric cause, uint64_t at_ns)
{
	struct peers_kept room;
	const struct peers_kept *peers = wall_peers_of(w, h, cause, &room);
	const struct history *best = NULL;

	if (cause == METRIC_OFF_CHILD)
		return wall_awaited_child(w, h, h->since_ns, at_ns);
	if (cause == METRIC_OFF_OTHER && is_like_known(h, at_ns))
		cause = METRIC_OFF_LOCK;
	if (cause != METRIC_OFF_LOCK && !peers)
		return is_looked_after(cause) ? guess_worker(w, h) : 0;
	for (size_t i = 0; i < w->running_count; i++) {
		const struct history *v = w->running[i];
		if (wall_may_wake(v, h, peers) && v->running_since_ns < at_ns && is_better(v, best))
			best = v;
	}
	for (size_t i = 0; i < STOPPED; i++) {
		const struct history *v = w->stopped[i] ? wall_find_thread(w, w->stopped[i]) : NULL;
		if (v && !v->in_running && wall_may_wake(v, h, peers) &&
		    v->stopped_ns + JUST_NS >= at_ns && is_better(v, best))
			best = v;
	}
	if (best)
		return best->number;
	// On a busy machine whoever has woken it may be long gone when it gets a CPU; but it must
	// have run meanwhile.
	for (uint32_t i = 0; peers && i < peers->count; i++) {
		const struct process *p = wall_find_process(w, peers->processes[i]);
		const struct history *v = p ? wall_find_thread(w, p->last_stopped) : NULL;
		if (v && v != h && v->stopped_ns + ESTIMATE_NS > h->since_ns &&
		    (!best || v->stopped_ns > best->stopped_ns))
			best = v;
	}
	if (best)
		return best->number;
	// Both ends are its own: no other thread of the run writes there.
	if (peers)
		return is_looked_after(cause) ? guess_worker(w, h) : 0;
	const struct process *p = wall_find_process(w, h->process);
	const struct history *last = p ? wall_find_thread(w, p->last_stopped) : NULL;
	if (last && last != h && last->stopped_ns > h->since_ns)
		return last->number;
	if (h->estimated && !wall_has_reported(h, h->since_ns, at_ns))
		best = active_meanwhile(w, h, at_ns);
	if (best)
		return best->number;
	// Nobody else was there to end it: it timed out, as the waits of a master process do that
	// looks after its workers each second.
	return guess_worker(w, h);
}
