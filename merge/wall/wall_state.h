/* SPDX-License-Identifier: MIT */
/*
 * What the files of merge/wall share, and nobody else sees. Their promise is merge/wall/wall.h.
 *
 *	wall.c          events come in: what threads do, samples, waits; and answers
 *	wall_guess.c    who runs at the moment, and so may have ended a wait
 *	wall_resolve.c  waits become what those did that were waited for
 *	wall_edges.c    who waited for whom, added up
 *	wall_settle.c   what has been resolved finds its places, and becomes bins
 *	semaphores.c    which semaphores are used as locks
 *	history.c       the queues and bins of one thread
 *
 * What one thread did, resolved, is pieces of the last WALL_KEEP_NS, and before that bins:
 *
 *	            folded_ns            resolved_ns      since_ns
 *	  bins ─────────┤ pieces ─────────────┤ raw ────────────┤ its present state
 *
 * A piece says who ran, or why nobody did; the owner's samples and waits say where.
 */
#pragma once

#include "base/clock.h"
#include "base/hash.h"
#include "merge/wall/semaphores.h"
#include "merge/wall/wall.h"

#include <stdlib.h>
#include <string.h>

/* A growing queue of plain items: push at the end, drop at the front. Zeroed is empty. */
struct deque {
	void *items;
	size_t begin, count, capacity;
};

#define deque_at(d, type, i) (&((type *)(d)->items)[(d)->begin + (i)])
#define deque_last(d, type)  deque_at(d, type, (d)->count - 1)
#define deque_push(d, type)  ((type *)deque_push_bytes((d), sizeof(type)))

/* Room for one more, at the end; NULL if there is no memory. */
static inline void *deque_push_bytes(struct deque *d, size_t size)
{
	if (d->items && d->begin + d->count == d->capacity && d->begin > d->capacity / 2) {
		memmove(d->items, (char *)d->items + d->begin * size, d->count * size);
		d->begin = 0;
	}
	if (d->begin + d->count == d->capacity) {
		size_t capacity = d->capacity ? d->capacity * 2 : 16;
		void *items = realloc(d->items, capacity * size);
		if (!items)
			return NULL;
		d->items = items;
		d->capacity = capacity;
	}
	return (char *)d->items + (d->begin + d->count++) * size;
}

static inline void deque_drop(struct deque *d, size_t count)
{
	d->begin += count;
	d->count -= count;
	if (!d->count)
		d->begin = 0;
}

static inline void deque_fini(struct deque *d)
{
	free(d->items);
	*d = (struct deque){ 0 };
}

/* Without records of switches it is an estimate when a thread was blocked, or ran: by a few ticks
   of the clock that its samples come by. */
#define ESTIMATE_NS (10 * NS_PER_MS)

/* So long it takes a thread that was sent a signal, or whose peer has ended, to get a CPU, at most:
   where it takes longer that has not woken it. */
#define WOKEN_NS (20 * NS_PER_MS)

struct piece {
	uint64_t from_ns, to_ns;
	uint32_t owner;
	uint8_t state; /* enum thread_state */
	uint8_t cause; /* enum metric, of THREAD_BLOCKED */
	bool own;      /* what the thread itself did, and is not the end of what it waited for */
	uint32_t via;  /* the innermost edge by which it came; 0: none */
};

/* A span that is not resolved yet. */
struct raw {
	uint64_t from_ns, to_ns;
	uint64_t began_ns; /* the span that it is the rest of did then; 0: it is a whole one */
	uint32_t guess;    /* thread that may have ended it; 0: nobody is known */
	uint64_t inode;    /* of the pipe or socket by which it did; 0: none */
	uint64_t woken_ns; /* when GUESS has ended it, if it had no CPU at once; 0: not known */
	bool signalled;    /* by a signal, which is no guess */
	bool told;         /* the kernel has told who ended it: nor is that one */
	bool spins;        /* it had no CPU, to spin on */
	bool ready;        /* it had none, to go on waiting: see wall_resolve.c */
	bool ran;          /* it had one, and did nothing with it but wait: the same */
	uint8_t state, cause;
};

/* Where a thread was: sample or interval. */
struct place {
	uint64_t from_ns, to_ns; /* the same: a sample */
	uint64_t weight_ns;
	uint32_t node;
	uint32_t metric;
	/* It spun: another thread that worked then, or was ready to; 0: it did not, or there was
	   none. VIA is the edge to that one. */
	uint32_t spun_on, via;
	bool spun_ready; /* that one had no CPU */
	bool uncounted;  /* what VIA had of it has been taken back */
	bool rest;       /* see struct wall_stack */
};

/* Where a thread was at times that are not told: how much of its time in STATE was at NODE. */
#define LOOSE_MAX     32
#define THREAD_STATES (THREAD_BLOCKED + 1)
struct loose {
	double ns;
	uint32_t node;
	uint16_t metric;
	uint8_t state; /* 0: the slot is free */
	bool unseen;   /* see struct wall_stack */
};

/* Time of OWNER in STATE that waits for a place. */
struct carry {
	double ns;
	uint64_t from_ns, to_ns; /* when that was */
	uint32_t owner;
	uint32_t via;
	uint8_t state, cause;
	bool own;
};

/* A bin of one path; in the order of bins. */
struct fold {
	double ns;
	uint32_t bin, node, owner, via;
	uint32_t metric;
};

struct edge_times {
	uint64_t from_ns, to_ns, resource;
	uint64_t woken_ns;    /* from then on its thread wanted a CPU, as far as is known */
	uint64_t first_share; /* in all that its thread ever had */
	struct frame made;
	uint32_t module, kind, count;
	uint32_t semaphore; /* its number; 0: it is none */
	bool goes_on;
	bool counted; /* as a wait of an edge, by its part on a CPU */
	bool spun;    /* it was on a CPU for long, and its samples have been taken out */
	bool parked;  /* see struct taken */
};

/* A thread had RESOURCE of MODULE from SINCE_NS on, for which it had waited from FROM_NS on. */
struct taken {
	uint64_t from_ns, since_ns, resource;
	uint32_t module;
	bool parked; /* RESOURCE is a semaphore that it alone waits for */
};

/* Processes at the other end of what a thread waits on. */
#define PEERS_KEPT 8
#define PEER_SETS  4
struct peers_kept {
	uint64_t time_ns, inode;
	uint64_t descriptors; /* see struct peers_event */
	bool outside;         /* nor are they all that it waits on */
	uint32_t count, processes[PEERS_KEPT];
};

/* Who ended a wait of a thread last, at some of the resources that it waits for. */
#define ENDERS 8
struct ender {
	uint64_t resource;
	uint32_t module;
	uint32_t thread; /* 0: the place is free */
};

struct history {
	uint32_t number, process, tag;
	uint32_t maker; /* the thread that started its process; 0: not known */
	uint64_t born_ns;
	enum thread_state state; /* THREAD_GONE: it has ended, or not begun */
	uint64_t since_ns;
	bool estimated;                        /* its spans are */
	uint64_t running_since_ns, stopped_ns; /* its last, or present, time on a CPU */
	/* Of its last waits that have some, each of other descriptors, the youngest first. */
	struct peers_kept peers[PEER_SETS];
	/* Its last wait of which the cause is known. */
	struct {
		enum metric cause;
		uint64_t length_ns, to_ns;
	} known;
	/* How long those were that somebody has looked at, for all causes and for locks; of late.
	 */
	uint64_t seen_ns, seen_lock_ns;
	struct ender enders[ENDERS];
	bool in_running;    /* it is in the list of those */
	bool spins;         /* it did in its last sample */
	bool abroad;        /* the same: for another process */
	bool wants, idles;  /* it is counted as ready, as one of those that run and spin */
	uint32_t last_edge; /* number of its youngest one, which leads to the others; 0: none */
	uint32_t spin_edge; /* of its last sample; 0: it did not spin, or for nobody */
	uint32_t spun_on;   /* the same: see struct place */
	uint64_t spin_ns;   /* of its last samples in a row by that edge */
	bool ended;
	bool over;      /* nobody waits for it any more: to be forgotten */
	bool placeless; /* an edge of it has no place where it waited */
	uint64_t ended_ns;
	uint64_t resolved_ns, folded_ns;
	uint64_t ran_from_ns; /* of wall_resolve.c: when a time began in which it ran for long */
	struct deque raw;     /* struct raw */
	struct deque pieces;  /* struct piece */
	struct deque samples, waits; /* struct place */
	struct deque edges;          /* struct edge_times */
	struct deque shares;         /* struct wall_share */
	struct deque taken;          /* struct taken, for as long as places are kept */
	uint64_t shares_dropped;
	struct deque folds; /* struct fold */
	struct {
		struct hash index; /* places in FOLDS, from 1 on; some are of paths that are gone */
		uint32_t bin;      /* whose, the last one */
		size_t first;      /* where that begins */
		bool valid;
	} last_bin;           /* once it has many paths */
	struct deque carries; /* struct carry */
	struct loose loose[LOOSE_MAX];
	uint16_t loose_metrics[THREAD_STATES]; /* of those with time, by state: a bit each */
	uint32_t lock_node;  /* where its last wait for a lock that WAITS has had was; 0: none */
	uint64_t unknown_ns; /* of its stacks of waits without a cause: what was not taken out */
};

/* The last threads that left their CPUs. */
#define STOPPED 16

/* Children of a process to which the same has happened, by their first threads, and when: the last
   ones, in the order of time. */
#define CHILDREN_KEPT 8
struct children {
	uint32_t threads[CHILDREN_KEPT]; /* 0: the place is free */
	uint64_t times_ns[CHILDREN_KEPT];
};

struct process {
	uint32_t number, parent;
	uint32_t first_thread;         /* 0: none was reported */
	struct children ended, execed; /* execed: they run another program since then */
	uint32_t live;
	bool had_threads;      /* more than one at once */
	uint32_t last_stopped; /* the thread that has left its CPU last */
	bool tells_waits;      /* it has reported one */
	bool tells_spins;      /* and one for a spinlock */
	bool mute;             /* it has not reported one that was over */
	bool runs_in_waits;    /* its threads spent part of one on a CPU */
	uint64_t signalled_ns; /* when it was sent a signal last */
	/* Processes that were seen to wait on what this one has the other end of. */
	struct peers_kept partners;
};

/* Signals that were sent: the last ones, a ring. */
#define SIGNALS_KEPT 4096
struct signal_kept {
	uint64_t time_ns;
	uint32_t from;    /* thread */
	uint32_t process; /* that it was for */
	uint32_t to;      /* its thread that it was for; 0: any */
	bool taken;       /* it has ended a wait */
};

/* Where the waited-for thread ran, in one edge: the most frequent places. */
#define EDGE_PLACES 8

/* Waits by length, two bins to each doubling, from 1 µs on. */
#define EDGE_BINS     56
#define EDGE_FIRST_NS 1024.0

struct edge_slot {
	struct wall_edge edge; /* as callers see it, once they ask */
	uint32_t semaphore;    /* see struct edge_times */
	uint32_t next;         /* number of its waiter's edge before; 0: it is the first */
	double wall_ns, wall_ready_ns;
	uint32_t lengths[EDGE_BINS];
	struct {
		uint32_t node;
		float ns, more_ns; /* MORE_NS of them may be of places that it has taken the place
		                      of */
	} places[EDGE_PLACES];
	double places_ns; /* of all places */
	uint32_t drawn;   /* one of them, by their times */
};

/* All that is kept of a thread that has ended, once nobody can wait for it any more. */
struct known_thread {
	uint32_t number, tag;
	struct history *history; /* NULL: forgotten */
};

#define SPUN_NODES 8
#define WAKES_KEPT 1024

/* Semaphores, and which thread waits for each. */
#define PARKS_KEPT 1024
struct park {
	uint64_t resource; /* 0: the place is free */
	uint32_t thread;   /* 0: several do */
};

/* So much more at about that time. */
struct surplus {
	uint64_t time_ns;
	double ns;
};

/* Why the first wait of a thread is not resolved yet: all that can be asked without a look at it.
   OF is alive for as long as it is in the way, as its history is not known up to then. */
struct obstacle {
	const struct history *of; /* NULL: nothing of this kind */
	uint64_t until_ns;        /* OF has to be known up to there */
	uint32_t pass;            /* in that one nothing else will come of it; 0: of none */
};

/* A thread with raw spans. */
struct unresolved {
	struct history *history;
	uint64_t to_ns; /* of the first one; UINT64_MAX: there is none any more */
	struct obstacle obstacle;
};

struct wall {
	wall_told *told;
	wall_timed *timed; /* NULL: nobody wants to know */
	void *context;
	struct known_thread *threads;
	size_t thread_count, thread_capacity;
	struct history **active; /* those that are not forgotten */
	size_t active_count, active_capacity;
	size_t over_count;          /* of those, the ones that are over */
	size_t swept;               /* of those, in this round; see advance() */
	struct history *last_ended; /* NULL: nobody has ended */
	struct hash thread_index;
	struct process *processes;
	size_t process_count, process_capacity;
	struct hash process_index;
	struct history *root;            /* whose life the wall time is */
	uint64_t minus_ns[METRIC_COUNT]; /* of its waits, whose stacks are to come */
	uint64_t early_ns[METRIC_COUNT]; /* stacks that came before their waits were taken out */
	/* How much more of its samples was in its waits than it was there on a CPU, up to where its
	   pieces are bins, and after that; and where the last of them were. */
	double surplus_ns;
	struct deque surpluses;          /* struct surplus */
	uint32_t spun_nodes[SPUN_NODES]; /* 0: none */
	uint32_t spun_at;
	struct history **running;
	size_t running_count, running_capacity;
	size_t ready_count; /* threads that wait for a CPU, to work, as far as is known at the time
	                     */
	size_t spinning_count; /* of RUNNING, those that spin */
	struct signal_kept signals[SIGNALS_KEPT];
	uint64_t signal_count;     /* all that there have been */
	uint32_t stopped[STOPPED]; /* that left their CPUs last */
	uint32_t stopped_at;
	struct unresolved *unresolved; /* with raw spans */
	uint32_t pass;                 /* of those: how often they have been looked at */
	size_t unresolved_count, unresolved_capacity;
	uint64_t first_ns; /* when the first thread began */
	uint64_t now_ns, pass_ns;
	uint64_t width_ns;
	size_t folds;
	uint32_t seed;
	struct edge_slot *edges;
	struct wall_edge *edges_seen; /* answer of wall_edges() */
	size_t edge_count, edge_capacity, seen_capacity;
	struct hash edge_index;
	struct semaphores *semaphores;
	struct park parks[PARKS_KEPT];
	uint64_t wakes[WAKES_KEPT]; /* those that have ended a wait: a hash of each */
	struct wall_coverage coverage;
	struct wall_busy busy;
	uint64_t busy_ns; /* when the number of threads that run, or are ready to, changed last */
	struct wall_alone *alone;
	size_t alone_count, alone_capacity;
	struct hash alone_index;
	bool incomplete;
	bool finished; /* all has been told */
};

static inline void wall_tell_time(const struct wall *w, const struct wall_time_part *part)
{
	if (w->timed)
		w->timed(w->context, part);
}

static inline uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* NULL if there is none of that number. */
struct process *wall_find_process(const struct wall *w, uint32_t number);
struct history *wall_find_thread(const struct wall *w, uint32_t number);

/* The tag of thread NUMBER, forgotten or not; 0: there is none of that number. */
uint32_t wall_tag(const struct wall *w, uint32_t number);

/* wall_guess.c */

/* H has reported a wait of that time. */
bool wall_has_reported(const struct history *h, uint64_t from_ns, uint64_t to_ns);

/* H's state, or whether it spins, has changed, at TIME_NS: it counts as what it is now. */
void wall_count_thread(struct wall *w, struct history *h, uint64_t time_ns);

/* Who works in the process of H, which spins, or beside that: of several the one that has run for
   longest, or else one that is ready to. NULL: nobody. */
const struct history *wall_spun_on(const struct wall *w, const struct history *h);

/* H is on a CPU from TIME_NS on, or no longer. */
void wall_starts_running(struct wall *w, struct history *h, uint64_t time_ns);
void wall_stops_running(struct wall *w, struct history *h, uint64_t time_ns);

/* The time up to TIME_NS goes to so many threads on CPUs, before their number changes, or that of
   those that wait for one. */
void wall_note_busy(struct wall *w, uint64_t time_ns);

/* The peers of the wait that began at H's since_ns, in ROOM or where they are kept; NULL: none are
   known. */
const struct peers_kept *wall_peers_of(const struct wall *w, const struct history *h,
                                       enum metric cause, struct peers_kept *room);

/* H waits for PEERS, as was seen: they are the youngest. */
void wall_keep_peers(struct wall *w, struct history *h, const struct peers_kept *peers);

/* The inode by which THREAD, one that may end waits of H for PEERS, is known; or that of PEERS. */
uint64_t wall_inode_of(const struct wall *w, const struct history *h,
                       const struct peers_kept *peers, uint32_t thread);

/* V is another thread of H's process, or where there are PEERS, of one of those. */
bool wall_may_wake(const struct history *v, const struct history *h,
                   const struct peers_kept *peers);

/* Who may have ended the wait of H that ends at AT_NS; 0: nobody. */
uint32_t wall_guess(struct wall *w, const struct history *h, enum metric cause, uint64_t at_ns);

/* Which child the wait of H from FROM_NS to TO_NS was for, as far as is known by now: the last one
   that ended then, or else ran another program, as a wait in vfork() ends so; or else the first one
   that did so right after, as times may be estimates. 0: none is known. */
uint32_t wall_awaited_child(const struct wall *w, const struct history *h, uint64_t from_ns,
                            uint64_t to_ns);

/* When the child of H that THREAD is the first of ran another program, between FROM_NS and TO_NS;
   0: it is not known to have. */
uint64_t wall_exec_ns(const struct wall *w, const struct history *h, uint32_t thread,
                      uint64_t from_ns, uint64_t to_ns);

/* wall_resolve.c */

/* H was in RAW, after all that was reported of it before. */
void wall_add_raw(struct wall *w, struct history *h, const struct raw *raw);

/* Resolves what can be by now; FORCE: all, and who is not known by now stays so. */
void wall_resolve(struct wall *w, bool force);

/* Waits of the run's own thread that were resolved before they had a stack now have NODE (0:
   never), MOST_NS of them. */
void wall_take_out_late(struct wall *w, enum metric metric, uint32_t node, uint64_t time_ns,
                        uint64_t most_ns);
void wall_take_out_woken(struct wall *w);
void wall_take_out_rest(struct wall *w);

/* What the samples of the run's own thread in its waits by TIME_NS had too much, or too little, is
   of the COUNT that it has outside of those up to then, PLACES. */
void wall_even_out(struct wall *w, uint64_t time_ns, const struct place *places, size_t count);

/* wall_edges.c */

/* The node of the wait of H that RAW is, or is a part of; 0: it has no stack. */
uint32_t wall_node_of_wait(const struct history *h, const struct raw *raw);

/* H waited for HOLDER (0: unknown) in the part FROM_NS to TO_NS of RAW. TIMES: what was reported of
   that; NULL: nothing. GUESSED: it is not known that it was HOLDER. Returns the edge's number; 0 if
   there are too many. */
uint32_t wall_count_edge(struct wall *w, struct history *h, const struct raw *raw,
                         struct edge_times *times, uint64_t from_ns, uint64_t to_ns,
                         uint32_t holder, bool guessed);

/* H spun from FROM_NS to TO_NS in a wait of which it is known who was waited for: what its samples
   made of that does not count. */
void wall_uncount_spins(struct wall *w, struct history *h, uint64_t from_ns, uint64_t to_ns);

/* Edges of H without a place get the one where it waited for the same at other times, if that is
   most of them. */
void wall_place_edges(struct wall *w, const struct history *h);

/* H, at NODE, spun for NS more until V had done something. Returns the edge's number; 0 if there
   are too many. */
uint32_t wall_count_spin(struct wall *w, struct history *h, uint32_t node, const struct history *v,
                         uint64_t ns);

/* wall_settle.c */

/* How a part came into a thread's history. */
struct origin {
	bool own;     /* it has been reported to that thread already */
	uint32_t via; /* see struct piece */
};

/* Bins become twice as wide. */
void wall_widen(struct wall *w);

/* Hands PART on, with its owner's tag. */
void wall_tell(struct wall *w, const struct wall_part *part);

/* PART is of H's wall time. */
void wall_settle(struct wall *w, struct history *h, const struct wall_part *part,
                 struct origin origin);

/* PIECE comes next in H's history. */
void wall_push(struct wall *w, struct history *h, struct piece piece);

/* H's pieces up to UNTIL_NS become bins. */
void wall_fold(struct wall *w, struct history *h, uint64_t until_ns);

/* What still waits for a place goes to where it is most likely. */
void wall_settle_rest(struct wall *w, struct history *h);

/* The same of what in the share of H is of owners who are over. */
void wall_settle_over(struct wall *w, struct history *h);

/* history.c */

void history_fini(struct history *h);

/* PIECE comes next; nothing, if it has no length. False if there is no memory. */
bool history_push(struct history *h, const struct piece *piece);

/* STATE's time of H goes to NODE, too, of which nothing is known if it is UNSEEN. */
void history_add_loose(struct history *h, enum thread_state state, enum metric metric,
                       uint32_t node, bool unseen, double ns);

/* How the bins of a thread are filled: so many paths in one at most. Of more each stays with a
   chance in proportion to its time, and has that of those that go: sums are exact, and shares are
   right on average. */
struct bin_rules {
	uint64_t width_ns;
	size_t paths_max;
	uint32_t *seed;
};

/* PART, which came by edge VIA, goes into the bins. False if there is no memory. */
bool history_bin(struct history *h, const struct bin_rules *rules, const struct wall_part *part,
                 uint32_t via);

/* Half as many bins. */
void history_widen(struct history *h);

void history_move_nodes(struct history *h, const uint32_t *map);
