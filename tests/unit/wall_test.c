// SPDX-License-Identifier: MIT
// Threads that run, take locks, pass items, meet and join are played, on as many CPUs as they like:
// the resolver hears of it what the sampler would tell, and is compared with the definition, by
// recursion over all intervals.
#include "merge/wall/wall.h"

#include "base/clock.h"
#include "base/record.h"
#include "tests/support/expect.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 6
#define PLACES  16 // nodes 1 to 15
#define OPS     16
#define MS      NS_PER_MS

enum op_kind {
	RUN,
	LOCK,
	UNLOCK,
	PUT,
	GET,
	MEET,
	JOIN,
	AGAIN
};

struct step {
	enum op_kind kind;
	uint32_t what; // RUN: node; else a lock, a queue, a thread; AGAIN: how often in all
	double ms;
};

struct interval {
	uint64_t from_ns, to_ns;
	uint32_t node; // 0: blocked
	int on;        // thread waited for; -1: nobody
};

struct player {
	const struct step *program;
	uint32_t at, rounds;
	uint64_t due_ns; // when its run ends
	bool running, blocked, done, got;
	uint64_t since_ns;
	uint32_t node;
	double cpu_ns, tick_ns; // its CPU time, and when it is sampled next
	struct wall_share shares[64];
	uint32_t share_count;
	int on;
	struct interval *intervals;
	size_t count;
};

static struct player players[THREADS];
static uint32_t player_count;
static struct {
	int owner; // -1: free
	int queue[THREADS];
	int waiting;
} locks[4];
static struct {
	int items, room;
	int getters[THREADS], getting, putters[THREADS], putting;
} queues[4];
static int meeting[THREADS], meeting_count, meeting_of;
static uint64_t now;
static struct wall *wall;
static double told[PLACES], exact[PLACES];
static double taken_out[METRIC_COUNT];
static uint32_t seed;

static double uniform(void)
{
	seed = seed * 1664525 + 1013904223;
	return (double)(seed >> 8) / (1 << 24);
}

static void hear(void *context, const struct wall_part *part)
{
	uint32_t place = part->node < PLACES ? part->node : 0;

	(void)context;
	told[place] += part->minus ? -part->weight_ns : part->weight_ns;
	taken_out[part->metric] += part->minus ? part->weight_ns : 0;
}

static void keep(struct player *p, uint64_t from, uint64_t to, uint32_t node, int on)
{
	if (to <= from)
		return;
	if ((p->count & (p->count - 1)) == 0)
		p->intervals = realloc(p->intervals,
		                       (p->count ? p->count * 2 : 1) * sizeof(*p->intervals));
	p->intervals[p->count++] = (struct interval){ from, to, node, on };
}

static uint32_t number(const struct player *p)
{
	return (uint32_t)(p - players) + 1;
}

static void tell_span(struct player *p, enum thread_state state, enum thread_state next)
{
	wall_span(wall, &(struct span_event){ .thread = number(p),
	                                      .from_ns = p->since_ns,
	                                      .to_ns = now,
	                                      .state = state,
	                                      .next = next,
	                                      .cause = METRIC_OFF_LOCK });
}

static void block(struct player *p, int on)
{
	tell_span(p, THREAD_RUNS, THREAD_BLOCKED);
	p->blocked = true;
	p->since_ns = now;
	p->on = on;
	p->share_count = 0;
}

static void share(struct player *p, int with)
{
	if (p->share_count < 64)
		p->shares[p->share_count++] = (struct wall_share){ now, (uint32_t)with + 1 };
	keep(p, p->share_count > 1 ? p->shares[p->share_count - 2].until_ns : p->since_ns, now, 0,
	     with);
}

// P's wait ends, which WITH has done.
static void wake(struct player *p, int with)
{
	share(p, with);
	p->blocked = false;
	if (p == players)
		told[0] += (double)(now - p->since_ns);
	tell_span(p, THREAD_BLOCKED, THREAD_RUNS);
	wall_wait(wall, &(struct wall_wait){ .thread = number(p),
	                                     .from_ns = p->since_ns,
	                                     .to_ns = now,
	                                     .resource = 1,
	                                     .count = p->share_count,
	                                     .shares = p->shares });
	p->since_ns = now;
}

static void finish(struct player *p)
{
	p->done = true;
	wall_thread_end(wall, number(p), now);
	for (uint32_t i = 0; i < player_count; i++) {
		struct player *w = &players[i];
		const struct step *step = &w->program[w->at];
		if (w->blocked && step->kind == JOIN && step->what == number(p) - 1) {
			w->at++;
			wake(w, (int)number(p) - 1);
		}
	}
}

static void unlock(struct player *p, uint32_t i)
{
	locks[i].owner = -1;
	if (!locks[i].waiting)
		return;
	int next = locks[i].queue[0];
	memmove(locks[i].queue, locks[i].queue + 1, sizeof(int) * (size_t)--locks[i].waiting);
	locks[i].owner = next;
	for (int k = 0; k < locks[i].waiting; k++)
		share(&players[locks[i].queue[k]], (int)number(p) - 1);
	players[next].at++;
	wake(&players[next], (int)number(p) - 1);
}

static bool put(struct player *p, uint32_t i)
{
	if (queues[i].items == queues[i].room) {
		queues[i].putters[queues[i].putting++] = (int)number(p) - 1;
		block(p, -1);
		return false;
	}
	queues[i].items++;
	if (!queues[i].getting)
		return true;
	int next = queues[i].getters[0];
	memmove(queues[i].getters, queues[i].getters + 1,
	        sizeof(int) * (size_t)--queues[i].getting);
	queues[i].items--;
	players[next].at++;
	wake(&players[next], (int)number(p) - 1);
	return true;
}

static bool get(struct player *p, uint32_t i)
{
	if (!queues[i].items) {
		queues[i].getters[queues[i].getting++] = (int)number(p) - 1;
		block(p, -1);
		return false;
	}
	queues[i].items--;
	if (!queues[i].putting)
		return true;
	int next = queues[i].putters[0];
	memmove(queues[i].putters, queues[i].putters + 1,
	        sizeof(int) * (size_t)--queues[i].putting);
	wake(&players[next], (int)number(p) - 1); // and it tries again
	return true;
}

static bool meet(struct player *p)
{
	if (meeting_count + 1 < meeting_of) {
		meeting[meeting_count++] = (int)number(p) - 1;
		block(p, -1);
		return false;
	}
	for (int i = 0; i < meeting_count; i++) {
		players[meeting[i]].at++;
		wake(&players[meeting[i]], (int)number(p) - 1);
	}
	meeting_count = 0;
	return true;
}

// P does what its program says up to the next thing that takes time.
static void play(struct player *p)
{
	while (!p->running && !p->blocked && !p->done) {
		const struct step *step = &p->program[p->at];
		uint32_t what = step->what;
		switch (step->kind) {
		case RUN:
			p->running = true;
			p->node = what;
			p->due_ns = now + (uint64_t)(step->ms * 1e6 * (0.7 + 0.6 * uniform())) + 1;
			return;
		case LOCK:
			if (locks[what].owner >= 0) {
				locks[what].queue[locks[what].waiting++] = (int)number(p) - 1;
				block(p, locks[what].owner);
				return;
			}
			locks[what].owner = (int)number(p) - 1;
			break;
		case UNLOCK:
			unlock(p, what);
			break;
		case PUT:
			if (!put(p, what))
				return;
			break;
		case GET:
			if (!get(p, what))
				return;
			break;
		case MEET:
			if (!meet(p))
				return;
			break;
		case JOIN:
			if (!players[what].done) {
				block(p, (int)what);
				return;
			}
			break;
		case AGAIN:
			if (++p->rounds < what) {
				p->at = 0;
				continue;
			}
			p->rounds = 0;
			if (!p->program[p->at + 1].ms && p->program[p->at + 1].kind == RUN) {
				finish(p);
				return;
			}
			break;
		}
		p->at++;
	}
}

// What the run's thread does itself is known without the resolver.
static void sample(struct player *p, uint64_t from, uint64_t to)
{
	double ran = (double)(to - from);

	if (p == players)
		told[p->node] += ran;

	for (; p->tick_ns <= p->cpu_ns + ran; p->tick_ns += 1e6)
		wall_stack(wall, &(struct wall_stack){
					 .thread = number(p),
					 .node = p->node,
					 .metric = METRIC_ON_CPU,
					 .time_ns = from + (uint64_t)(p->tick_ns - p->cpu_ns),
					 .weight_ns = 1000000 });
	p->cpu_ns += ran;
}

static void step_to_next(void)
{
	struct player *next = NULL;
	uint64_t before = now;

	for (uint32_t i = 0; i < player_count; i++)
		if (players[i].running && (!next || players[i].due_ns < next->due_ns))
			next = &players[i];
	cr_assert(next != NULL, "nobody can go on at %lu", (unsigned long)now);
	now = next->due_ns < now + MS ? next->due_ns : now + MS; // samples come in order
	for (uint32_t i = 0; i < player_count; i++)
		if (players[i].running) {
			sample(&players[i], before, now);
			keep(&players[i], before, now, players[i].node, -1);
		}
	if (now < next->due_ns)
		return;
	next->running = false;
	next->at++;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < player_count; i++)
			if (!players[i].running && !players[i].blocked && !players[i].done) {
				play(&players[i]);
				again = true;
			}
	}
}

static void charge(int thread, uint64_t from, uint64_t to, int depth)
{
	const struct player *p = &players[thread];

	for (size_t i = 0; i < p->count; i++) {
		const struct interval *v = &p->intervals[i];
		uint64_t a = v->from_ns > from ? v->from_ns : from;
		uint64_t b = v->to_ns < to ? v->to_ns : to;
		if (a >= b)
			continue;
		if (v->node)
			exact[v->node] += (double)(b - a);
		else if (v->on < 0 || depth > 100)
			exact[0] += (double)(b - a);
		else
			charge(v->on, a, b, depth + 1);
	}
}

// The worst error of a place's share, in points; the programs' first is the run's.
static double play_all(const struct step (*programs)[OPS], uint32_t count, int barrier)
{
	double worst = 0, sum = 0;

	memset(players, 0, sizeof(players));
	memset(told, 0, sizeof(told));
	memset(exact, 0, sizeof(exact));
	memset(queues, 0, sizeof(queues));
	for (int i = 0; i < 4; i++) {
		locks[i].owner = -1;
		locks[i].waiting = 0;
		queues[i].room = 4;
	}
	meeting_count = 0;
	meeting_of = barrier;
	player_count = count;
	now = NS_PER_SEC;
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	for (uint32_t i = 0; i < count; i++) {
		struct player *p = &players[i];
		p->program = programs[i];
		p->since_ns = now;
		p->tick_ns = uniform() * 1e6;
		wall_thread(wall, i + 1, 1, 0, now);
		wall_span(wall, &(struct span_event){ .thread = i + 1,
		                                      .from_ns = now,
		                                      .to_ns = now,
		                                      .state = THREAD_READY,
		                                      .next = THREAD_RUNS });
	}
	for (uint32_t i = 0; i < count; i++)
		play(&players[i]);
	while (!players[0].done)
		step_to_next();
	wall_finish(wall, now);
	charge(0, 0, now, 0);
	double all = (double)(now - NS_PER_SEC);
	for (int i = 0; i < PLACES; i++) {
		worst = fmax(worst, fabs(told[i] - exact[i]) / all * 100);
		sum += told[i];
	}
	cr_expect(lt(dbl, fabs(sum - all) / all, 1e-6), "wall %f, told %f", all, sum);
	cr_expect(wall_is_whole(wall));
	wall_free(wall);
	for (uint32_t i = 0; i < count; i++)
		free(players[i].intervals);
	return worst;
}

#define END                                                                                        \
	{ AGAIN, 1, 0 },                                                                           \
	{                                                                                          \
		RUN, 0, 0                                                                          \
	}

Test(wall, convoy_on_a_lock_is_its_holders)
{
	static const struct step programs[][OPS] = {
		{ { JOIN, 1, 0 }, { JOIN, 2, 0 }, { JOIN, 3, 0 }, { JOIN, 4, 0 }, END },
		{ { LOCK, 0, 0 },
		  { RUN, 1, .3 },
		  { UNLOCK, 0, 0 },
		  { RUN, 2, .3 },
		  { AGAIN, 150, 0 },
		  { RUN, 0, 0 } },
		{ { LOCK, 0, 0 },
		  { RUN, 1, .3 },
		  { UNLOCK, 0, 0 },
		  { RUN, 2, .3 },
		  { AGAIN, 150, 0 },
		  { RUN, 0, 0 } },
		{ { LOCK, 0, 0 },
		  { RUN, 1, .3 },
		  { UNLOCK, 0, 0 },
		  { RUN, 2, .3 },
		  { AGAIN, 150, 0 },
		  { RUN, 0, 0 } },
		{ { LOCK, 0, 0 },
		  { RUN, 3, 9 },
		  { UNLOCK, 0, 0 },
		  { RUN, 4, .5 },
		  { AGAIN, 150, 0 },
		  { RUN, 0, 0 } },
	};

	seed = 1;
	double worst = play_all(programs, 5, 0);
	cr_expect(lt(dbl, worst, 2), "off by %.2f points", worst);
	cr_expect(gt(dbl, exact[3] / (double)(now - NS_PER_SEC), .8));
}

Test(wall, pipeline_is_its_slowest_stage)
{
	static const struct step programs[][OPS] = {
		{ { GET, 1, 0 }, { RUN, 1, 1.5 }, { AGAIN, 250, 0 }, { RUN, 0, 0 } },
		{ { GET, 0, 0 }, { RUN, 2, 6 }, { PUT, 1, 0 }, { AGAIN, 250, 0 }, { RUN, 0, 0 } },
		{ { RUN, 3, 1 }, { PUT, 0, 0 }, { AGAIN, 250, 0 }, { RUN, 0, 0 } },
	};

	seed = 2;
	double worst = play_all(programs, 3, 0);
	cr_expect(lt(dbl, worst, 2), "off by %.2f points", worst);
	cr_expect(gt(dbl, told[2] / (double)(now - NS_PER_SEC), .7));
}

Test(wall, barrier_is_who_comes_last)
{
	static const struct step programs[][OPS] = {
		{ { RUN, 1, 6 }, { MEET, 0, 0 }, { AGAIN, 180, 0 }, { RUN, 0, 0 } },
		{ { RUN, 2, 3 },
		  { MEET, 0, 0 },
		  { RUN, 2, 9 },
		  { MEET, 0, 0 },
		  { AGAIN, 90, 0 },
		  { RUN, 0, 0 } },
	};

	seed = 3;
	double worst = play_all(programs, 2, 2);
	cr_expect(lt(dbl, worst, 2), "off by %.2f points", worst);
}

Test(wall, locks_barriers_and_serial_parts_together)
{
#define WORKER(ms)                                                                                 \
	{                                                                                          \
		{ RUN, 1, ms }, { LOCK, 0, 0 }, { RUN, 2, 1.5 }, { UNLOCK, 0, 0 }, { MEET, 0, 0 }, \
			{ MEET, 0, 0 }, { AGAIN, 60, 0 },                                          \
		{                                                                                  \
			RUN, 0, 0                                                                  \
		}                                                                                  \
	}
	static const struct step programs[][OPS] = {
		{ { JOIN, 1, 0 }, { JOIN, 2, 0 }, { JOIN, 3, 0 }, { JOIN, 4, 0 }, END },
		{ { RUN, 1, 5 },
		  { LOCK, 0, 0 },
		  { RUN, 2, 1.5 },
		  { UNLOCK, 0, 0 },
		  { MEET, 0, 0 },
		  { RUN, 3, 4 },
		  { MEET, 0, 0 },
		  { AGAIN, 60, 0 },
		  { RUN, 0, 0 } },
		WORKER(6),
		WORKER(7),
		WORKER(8),
	};

	seed = 4;
	double worst = play_all(programs, 5, 4);
	cr_expect(lt(dbl, worst, 2), "off by %.2f points", worst);
}

Test(wall, long_run_is_kept_in_bins)
{
	static const struct step programs[][OPS] = {
		{ { JOIN, 1, 0 }, END },
		{ { RUN, 1, 1000 },
		  { RUN, 2, 3000 },
		  { RUN, 3, 20000 },
		  { AGAIN, 3, 0 },
		  { RUN, 0, 0 } },
	};

	seed = 5;
	double worst = play_all(programs, 2, 0);
	cr_expect(lt(dbl, worst, .5), "off by %.2f points", worst);
}

// Without records of switches a wait for a child is known once its thread has a sample again: by
// then the next child may have ended, too.
Test(wall, a_wait_for_a_child_that_is_known_late_is_not_for_the_next_one)
{
	const uint64_t start = NS_PER_SEC;
	size_t edges;

	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	wall_thread(wall, 1, 1, 1, start);
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = start,
	                                      .to_ns = start,
	                                      .state = THREAD_READY,
	                                      .next = THREAD_RUNS });
	for (uint32_t child = 2; child <= 3; child++) {
		uint64_t begin = start + (child - 2) * 12 * MS + 2 * MS;
		wall_process(wall, child, 1);
		wall_thread(wall, child, child, child, begin);
		wall_span(wall, &(struct span_event){ .thread = child,
		                                      .from_ns = begin,
		                                      .to_ns = begin,
		                                      .state = THREAD_READY,
		                                      .next = THREAD_RUNS });
		for (uint64_t at = begin + MS; at < begin + 10 * MS; at += MS)
			wall_stack(wall, &(struct wall_stack){ .thread = child,
			                                       .node = child,
			                                       .metric = METRIC_ON_CPU,
			                                       .time_ns = at,
			                                       .weight_ns = MS });
		wall_thread_end(wall, child, begin + 10 * MS);
	}
	for (uint32_t child = 2; child <= 3; child++) {
		uint64_t begin = start + (child - 2) * 12 * MS;
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin,
		                                      .to_ns = begin + 2 * MS,
		                                      .state = THREAD_RUNS,
		                                      .next = THREAD_BLOCKED,
		                                      .estimated = true });
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin + 2 * MS,
		                                      .to_ns = begin + 12 * MS,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = METRIC_OFF_CHILD,
		                                      .estimated = true });
	}
	wall_finish(wall, start + 30 * MS);
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 2));
	for (size_t i = 0; i < edges; i++) {
		cr_expect(eq(u32, e[i].holder, (uint32_t)i + 2));
		cr_expect(eq(u64, e[i].ns, 10 * MS));
		cr_expect(eq(int, e[i].guessed, false));
	}
	cr_expect(epsilon_eq(dbl, told[2] / MS, 10, 0.1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, 10, 0.1));
	wall_free(wall);
}

// Thread 1 waits for 30 ms for its child, which is first heard of after 20 ms, and works from then
// on. Another thread of its process might have made it meanwhile.
Test(wall, a_child_that_was_not_heard_of_before_had_no_cpu)
{
	for (uint32_t others = 0; others <= 1; others++) {
		uint64_t begin = NS_PER_SEC, heard = begin + 20 * MS, end = begin + 30 * MS;
		double ready_ms = 0;
		size_t count;
		memset(told, 0, sizeof(told));
		wall = wall_new(hear, NULL);
		wall_process(wall, 1, 0);
		wall_thread(wall, 1, 1, 1, begin - MS);
		if (others)
			wall_thread(wall, 3, 1, 3, begin - MS);
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin - MS,
		                                      .to_ns = begin,
		                                      .state = THREAD_RUNS,
		                                      .next = THREAD_BLOCKED });
		wall_process(wall, 2, 1);
		wall_thread(wall, 2, 2, 2, heard);
		wall_span(wall, &(struct span_event){ .thread = 2,
		                                      .from_ns = heard,
		                                      .to_ns = heard,
		                                      .state = THREAD_READY,
		                                      .next = THREAD_RUNS });
		wall_stack(wall, &(struct wall_stack){ .thread = 2,
		                                       .node = 2,
		                                       .metric = METRIC_ON_CPU,
		                                       .time_ns = heard + 5 * MS,
		                                       .weight_ns = 10 * MS });
		wall_thread_end(wall, 2, end);
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin,
		                                      .to_ns = end,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = METRIC_OFF_CHILD });
		wall_finish(wall, end + MS);
		const struct wall_edge *e = wall_edges(wall, &count);
		for (size_t i = 0; i < count; i++)
			ready_ms += (double)e[i].wall_ready_ns / MS;
		cr_expect(epsilon_eq(dbl, ready_ms, others ? 0 : 20, 0.1));
		cr_expect(epsilon_eq(dbl, told[2] / MS, 10, 0.1));
		wall_free(wall);
	}
}

// A build: its first thread waits for one short process after the other, for minutes.
Test(wall, those_who_have_ended_long_ago_are_forgotten_and_have_their_time)
{
	uint64_t start = NS_PER_SEC;

	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	wall_thread(wall, 1, 1, 0, start);
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = start,
	                                      .to_ns = start,
	                                      .state = THREAD_READY,
	                                      .next = THREAD_RUNS });
	now = start;
	for (uint32_t i = 2; i < 20002; i++, now += 10 * MS) {
		uint64_t begin = now + MS, end = now + 10 * MS;
		wall_process(wall, i, 1);
		wall_thread(wall, i, i, 0, begin);
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = now,
		                                      .to_ns = begin,
		                                      .state = THREAD_RUNS,
		                                      .next = THREAD_BLOCKED,
		                                      .cause = METRIC_OFF_CHILD });
		wall_span(wall, &(struct span_event){ .thread = i,
		                                      .from_ns = begin,
		                                      .to_ns = begin,
		                                      .state = THREAD_READY,
		                                      .next = THREAD_RUNS });
		for (uint64_t at = begin; at < end; at += MS)
			wall_stack(wall, &(struct wall_stack){ .thread = i,
			                                       .node = 1 + i % 2,
			                                       .metric = METRIC_ON_CPU,
			                                       .time_ns = at,
			                                       .weight_ns = MS });
		wall_thread_end(wall, i, end);
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin,
		                                      .to_ns = end,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = METRIC_OFF_CHILD });
	}
	wall_finish(wall, now);
	cr_expect(wall_is_whole(wall));
	double all = (double)(now - start);
	cr_expect(epsilon_eq(dbl, told[1] / all, 0.45, 0.005));
	cr_expect(epsilon_eq(dbl, told[2] / all, 0.45, 0.005));
	wall_free(wall);
}

static void change(uint32_t thread, uint64_t from_ns, enum thread_state state,
                   enum thread_state next)
{
	wall_span(wall, &(struct span_event){ .thread = thread,
	                                      .from_ns = from_ns,
	                                      .to_ns = now,
	                                      .state = state,
	                                      .next = next,
	                                      .cause = METRIC_OFF_LOCK });
}

// THREAD of PROCESS begins, on a CPU.
static void begin_running(uint32_t thread, uint32_t process)
{
	wall_thread(wall, thread, process, thread, now);
	change(thread, now, THREAD_READY, THREAD_RUNS);
}

// Threads 1 and 2 of one process run from now on.
static void two_run(void)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	for (uint32_t i = 1; i <= 2; i++)
		begin_running(i, 1);
}

// A millisecond of THREAD, on a CPU.
static void tick(uint32_t thread, uint32_t node, bool spins)
{
	wall_stack(wall, &(struct wall_stack){ .thread = thread,
	                                       .node = node,
	                                       .metric = METRIC_ON_CPU,
	                                       .time_ns = now,
	                                       .weight_ns = MS,
	                                       .spins = spins });
}

// A wait of THREAD that nobody looked at ends now.
static void end_unseen_wait(uint32_t thread, uint64_t from_ns)
{
	wall_span(wall, &(struct span_event){ .thread = thread,
	                                      .from_ns = from_ns,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_OTHER });
}

// A wait of thread 1 for thread 2, told as it ended now.
static void tell_wait_for_2(uint64_t from_ns, uint64_t to_ns)
{
	struct wall_share by = { to_ns, 2 };

	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = from_ns,
	                                     .to_ns = to_ns,
	                                     .resource = 1,
	                                     .kind = HELD_MUTEX,
	                                     .count = 1,
	                                     .shares = &by });
}

// Of many short waits one stack stands for all, and none is that of one of them.
Test(wall, waits_whose_stacks_were_not_taken_are_where_their_thread_mostly_waits)
{
	size_t edges;

	two_run();
	for (int round = 0; round < 10; round++) {
		uint64_t begin = now;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		for (int ms = 0; ms < 5; ms++) {
			now += MS;
			tick(2, 2, false);
		}
		change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
		tell_wait_for_2(begin, now);
		now += MS;
		tick(1, 1, false);
		change(1, now - MS, THREAD_RUNS, THREAD_RUNS);
	}
	wall_stack(wall, &(struct wall_stack){ .thread = 1,
	                                       .node = 7,
	                                       .metric = METRIC_OFF_LOCK,
	                                       .time_ns = NS_PER_SEC,
	                                       .duration_ns = 60 * MS,
	                                       .weight_ns = 50 * MS });
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(u32, e->waiter_node, 7));
	cr_expect(eq(u64, e->count, 10));
	wall_free(wall);
}

// Thread 1 waits for thread 2, for one resource at node 6 and for the other at node 7, as long for
// each. Of each third wait no stack is known.
Test(wall, a_wait_whose_stack_was_not_taken_is_where_others_for_that_resource_are)
{
	uint64_t ns[3] = { 0 };
	size_t edges;

	two_run();
	for (uint32_t round = 0; round < 12; round++) {
		uint64_t begin = now;
		uint32_t resource = 1 + round % 2;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		for (int ms = 0; ms < 5; ms++) {
			now += MS;
			tick(2, 2, false);
		}
		if (round % 3)
			wall_stack(wall, &(struct wall_stack){ .thread = 1,
			                                       .node = 5 + resource,
			                                       .metric = METRIC_OFF_LOCK,
			                                       .time_ns = begin,
			                                       .duration_ns = 5 * MS,
			                                       .weight_ns = 5 * MS });
		change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
		wall_wait(wall, &(struct wall_wait){ .thread = 1,
		                                     .from_ns = begin,
		                                     .to_ns = now,
		                                     .resource = resource,
		                                     .kind = HELD_MUTEX,
		                                     .count = 1,
		                                     .shares = &(struct wall_share){ now, 2 } });
		now += MS;
		tick(1, 1, false);
		change(1, now - MS, THREAD_RUNS, THREAD_RUNS);
	}
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	for (size_t i = 0; i < edges; i++)
		if (e[i].waiter_node == 5 + e[i].resource)
			ns[e[i].resource] += e[i].ns;
	cr_expect(eq(u64, ns[1], 30 * MS));
	cr_expect(eq(u64, ns[2], 30 * MS));
	wall_free(wall);
}

// The same stack, which comes when none of those waits is over, of which nobody knows the cause.
Test(wall, a_stack_that_stands_for_later_waits_is_of_those)
{
	two_run();
	memset(taken_out, 0, sizeof(taken_out));
	wall_stack(wall, &(struct wall_stack){ .thread = 1,
	                                       .node = 7,
	                                       .metric = METRIC_OFF_LOCK,
	                                       .time_ns = now,
	                                       .duration_ns = MS,
	                                       .weight_ns = 50 * MS });
	for (int round = 0; round < 10; round++) {
		uint64_t begin = now;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		for (int ms = 0; ms < 5; ms++) {
			now += MS;
			tick(2, 2, false);
		}
		end_unseen_wait(1, begin);
		tell_wait_for_2(begin, now);
		now += MS;
		tick(1, 1, false);
		change(1, now - MS, THREAD_RUNS, THREAD_RUNS);
	}
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_LOCK] / MS, 50, 1));
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_RUNNABLE] / MS, 0, 1));
	wall_free(wall);
}

// Waits of thread 1 for thread 2, which sleeps. Of every fifth no stack is known, of neither
// thread, as nobody looked then; but of thread 2, for a moment, where it was right after that.
Test(wall, waits_that_nobody_looked_at_are_for_whom_the_others_there_are)
{
	size_t edges;

	two_run();
	for (int round = 0; round < 50; round++) {
		uint64_t begin = now;
		bool looked = round % 5 != 0;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		change(2, now, THREAD_RUNS, THREAD_BLOCKED);
		now += 6 * MS;
		for (uint32_t i = 1; i <= 2 && looked; i++)
			wall_stack(wall, &(struct wall_stack){ .thread = i,
			                                       .node = 5 + i,
			                                       .metric = METRIC_OFF_LOCK,
			                                       .time_ns = begin,
			                                       .duration_ns = 6 * MS,
			                                       .weight_ns = 6 * MS });
		if (!looked)
			wall_stack(wall, &(struct wall_stack){ .thread = 2,
			                                       .node = 9,
			                                       .metric = METRIC_ON_CPU,
			                                       .time_ns = now,
			                                       .weight_ns = MS / 10 });
		wall_span(wall, &(struct span_event){ .thread = 2,
		                                      .from_ns = begin,
		                                      .to_ns = now,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = looked ? METRIC_OFF_LOCK
		                                                      : METRIC_OFF_OTHER });
		change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
		tell_wait_for_2(begin, now);
		now += MS;
		change(1, now - MS, THREAD_RUNS, THREAD_RUNS);
	}
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	uint64_t ns = 0;
	for (size_t i = 0; i < edges; i++) {
		if (e[i].waiter != 1)
			continue;
		ns += e[i].ns;
		cr_expect(eq(u32, e[i].waiter_node, 6));
		cr_expect(eq(u32, e[i].holder_node, 7));
	}
	cr_expect(eq(u64, ns, 300 * MS));
	wall_free(wall);
}

// Thread 1 waits for thread 2, which sleeps. Nobody looks then; a stack that stands for some of the
// sleeps came before, one of a wait that is not known to be one, and the rest, which nobody saw.
Test(wall, a_holder_that_nobody_looked_at_is_where_it_waits_at_other_times)
{
	size_t edges;

	two_run();
	wall_stack(wall, &(struct wall_stack){ .thread = 2,
	                                       .node = 7,
	                                       .metric = METRIC_OFF_SLEEP,
	                                       .time_ns = now,
	                                       .duration_ns = 6 * MS,
	                                       .weight_ns = 60 * MS });
	wall_stack(wall, &(struct wall_stack){ .thread = 2,
	                                       .node = 9,
	                                       .metric = METRIC_OFF_OTHER,
	                                       .time_ns = now,
	                                       .duration_ns = MS,
	                                       .weight_ns = 4 * MS });
	wall_stack(wall, &(struct wall_stack){ .thread = 2,
	                                       .node = 8,
	                                       .metric = METRIC_OFF_OTHER,
	                                       .unseen = true,
	                                       .time_ns = now,
	                                       .duration_ns = MS,
	                                       .weight_ns = 400 * MS });
	for (int round = 0; round < 10; round++) {
		uint64_t begin = now;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		change(2, now, THREAD_RUNS, THREAD_BLOCKED);
		now += 6 * MS;
		end_unseen_wait(2, begin);
		change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
		tell_wait_for_2(begin, now);
		now += MS;
		change(1, now - MS, THREAD_RUNS, THREAD_RUNS);
	}
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(u32, e->holder_node, 7));
	wall_free(wall);
}

// A child reports its first wait when that is over, which it spent in several parts.
Test(wall, the_first_wait_of_a_process_is_reported_late)
{
	two_run();
	uint64_t begin = now, since = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 300; ms++) {
		now += MS;
		tick(2, 2, false);
		if (ms % 10 != 9)
			continue;
		change(1, since, THREAD_BLOCKED, THREAD_RUNS);
		change(1, now, THREAD_RUNS, ms == 299 ? THREAD_RUNS : THREAD_BLOCKED);
		since = now;
	}
	tell_wait_for_2(begin, now);
	now += 100 * MS;
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(
		epsilon_eq(dbl, (double)(coverage.known_ns - coverage.guessed_ns) / MS, 300, 0.1));
	wall_free(wall);
}

// Thread 1 is woken each 2 ms and finds the lock taken again, by the same thread; it tells of its
// wait once it has got it.
Test(wall, who_is_woken_in_vain_waits_on)
{
	const uint64_t wakes_ns = 2 * MS, vain_ns = MS / 20;
	struct wall_share by = { .thread = 2 };

	two_run();
	uint64_t begin = now, since = now;
	wall_wait(wall, &(struct wall_wait){ .thread = 2, .from_ns = now, .to_ns = now });
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (now += MS; now < begin + 500 * MS; now += MS) {
		tick(2, 2, false);
		if ((now - begin) % wakes_ns)
			continue;
		change(1, since, THREAD_BLOCKED, THREAD_RUNS);
		since = now;
		now += vain_ns;
		change(1, since, THREAD_RUNS, THREAD_BLOCKED);
		since = now;
		now -= vain_ns;
	}
	change(1, since, THREAD_BLOCKED, THREAD_RUNS);
	by.until_ns = now;
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .resource = 1,
	                                     .count = 1,
	                                     .shares = &by });
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(ge(u64, coverage.known_ns, 480 * MS));
	cr_expect(eq(u64, coverage.guessed_ns, 0));
	// What it ran in vain is a part of its wait, too.
	cr_expect(epsilon_eq(dbl, told[2] / MS, 500, 1));
	wall_free(wall);
}

// Thread 1 works for 100 ms, then for 300 ms of CPU time waits for a lock that thread 2 has, in
// which it is sampled each EVERY milliseconds, and works for 100 ms.
static void spin_for_lock(uint64_t every)
{
	two_run();
	uint64_t begin = now + 100 * MS;
	for (uint64_t ms = 0; ms < 500; ms++) {
		bool waits = ms >= 100 && ms < 400;
		now += MS;
		if (!waits || ms % every == 0)
			tick(1, waits ? 3 : 1, false);
		tick(2, 2, false);
		if (ms == 399)
			tell_wait_for_2(begin, now);
	}
	wall_finish(wall, now);
}

Test(wall, who_is_on_a_cpu_in_a_wait_that_is_told_waits_for_the_holder)
{
	size_t edges;

	spin_for_lock(1);
	cr_expect(epsilon_eq(dbl, told[1] / MS, 0, 1));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, -300, 1));
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(u32, e->kind, HELD_MUTEX));
	cr_expect(eq(u32, e->waiter_node, 3));
	cr_expect(eq(u32, e->holder, 2));
	cr_expect(eq(u64, e->count, 1));
	cr_expect(eq(int, e->guessed, false));
	cr_expect(epsilon_eq(dbl, (double)e->wall_ns / MS, 300, 1));
	wall_free(wall);
}

// Of a thread that has more samples in its waits than those are long, there are too few elsewhere.
Test(wall, what_waits_have_too_many_samples_of_others_have_too_few_of)
{
	two_run();
	uint64_t begin = now + 10 * MS;
	for (int ms = 0; ms < 40; ms++) {
		now += MS;
		tick(1, ms >= 10 && ms < 30 ? 3 : 1, false);
		if (ms == 14) // one more, by chance
			tick(1, 3, false);
		tick(2, 2, false);
		if (ms == 29)
			tell_wait_for_2(begin, now);
	}
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[1] / MS, 1, 0.01));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 20, 0.01));
	cr_expect(epsilon_eq(dbl, told[3] / MS, -21, 0.01));
	wall_free(wall);
}

// Thread 1 works for 2 ms at NODE and waits for 8 ms of CPU time in the kernel for thread 2. It is
// sampled, for all 10 ms, as it returns: when an estimate has it off its CPU for the last 20 us.
// The record of its wait comes right after that.
static void spin_in_kernel(uint32_t node, bool sampled)
{
	const uint64_t end = now + 10 * MS, back = end - MS / 50, free = back - MS / 50;
	const uint64_t begin = end - 8 * MS, since = now;
	const struct wall_share shares[] = { { free, 2 }, { end, WALL_NOBODY } };

	if (sampled) {
		now = begin - MS;
		tick(1, node, false);
	}
	while (now + MS < end) {
		now += MS;
		tick(2, 2, false);
	}
	now = end - MS / 100;
	wall_stack(wall, &(struct wall_stack){ .thread = 1,
	                                       .node = 3,
	                                       .metric = METRIC_ON_CPU,
	                                       .time_ns = now,
	                                       .weight_ns = (sampled ? 9 : 10) * MS });
	now = end;
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = end,
	                                     .resource = 1,
	                                     .kind = HELD_MUTEX,
	                                     .count = 2,
	                                     .shares = shares });
	now = back;
	change(1, since, THREAD_RUNS, THREAD_BLOCKED);
	now = end;
	change(1, back, THREAD_BLOCKED, THREAD_RUNS);
	tick(2, 2, false);
}

Test(wall, a_sample_that_comes_as_a_wait_in_the_kernel_ends_is_of_that_wait)
{
	two_run();
	for (int round = 0; round < 20; round++)
		spin_in_kernel(1, true);
	wall_finish(wall, now);
	// Of 180 ms of samples none are left there, and what is too much of them is beside.
	cr_expect(epsilon_eq(dbl, told[3] / MS, -180, 0.5));
	cr_expect(epsilon_eq(dbl, told[1] / MS, 20, 0.5));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 160, 1));
	wall_free(wall);
}

// All samples of the second half of the run are in waits: they stand for what was beside those.
Test(wall, what_has_no_samples_beside_its_waits_is_where_it_was_at_other_times)
{
	two_run();
	for (int round = 0; round < 20; round++)
		spin_in_kernel(1, round < 10);
	// At the end, what no sample was taken of goes with the last one's stack.
	now += 2 * MS;
	wall_stack(wall, &(struct wall_stack){ .thread = 1,
	                                       .node = 4,
	                                       .metric = METRIC_ON_CPU,
	                                       .time_ns = now,
	                                       .weight_ns = MS / 10,
	                                       .rest = true });
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[3] / MS, -190, 0.5));
	cr_expect(epsilon_eq(dbl, told[1] / MS, 30, 1));
	cr_expect(epsilon_eq(dbl, told[4] / MS, 0, 0.5));
	wall_free(wall);
}

Test(wall, what_waits_have_too_many_samples_of_others_have_at_that_time)
{
	two_run();
	for (int round = 0; round < 40; round++)
		spin_in_kernel(round < 20 ? 1 : 5, true);
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[1] / MS, 20, 1));
	cr_expect(epsilon_eq(dbl, told[5] / MS, 20, 1));
	wall_free(wall);
}

// It spins at first, and is blocked then for longer than others wait to be told. It has done so
// before.
Test(wall, who_spins_before_it_is_blocked_waits_for_the_holder_all_the_while)
{
	two_run();
	wall_wait(wall, &(struct wall_wait){ .thread = 2, .from_ns = now, .to_ns = now });
	for (int round = 0; round < 2; round++) {
		uint64_t begin = now, since;
		for (int ms = 0; ms < 100; ms++) {
			now += MS;
			tick(1, 3, false);
			tick(2, 2, false);
		}
		if (round) {
			change(1, begin, THREAD_RUNS, THREAD_BLOCKED);
			since = now;
			for (int ms = 0; ms < 100; ms++) {
				now += MS;
				tick(2, 2, false);
			}
			change(1, since, THREAD_BLOCKED, THREAD_RUNS);
			since = now;
		} else {
			change(1, begin, THREAD_RUNS, THREAD_READY);
			change(1, now, THREAD_READY, THREAD_RUNS);
			since = now;
		}
		tell_wait_for_2(begin, now);
		for (int ms = 0; ms < 20; ms++) {
			now += MS;
			tick(1, 1, false);
		}
		change(1, since, THREAD_RUNS, THREAD_READY);
		change(1, now, THREAD_READY, THREAD_RUNS);
	}
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, -200, 1));
	wall_free(wall);
}

// What it was counted to spin for turns out to be the beginning of a wait that is known.
Test(wall, no_wait_is_longer_than_all_of_them_where_spinning_was_counted_twice)
{
	uint64_t begin;
	size_t count;

	two_run();
	begin = now;
	wall_wait(wall, &(struct wall_wait){ .thread = 2, .from_ns = now, .to_ns = now });
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(1, 3, true);
		tick(2, 2, false);
	}
	change(1, begin, THREAD_RUNS, THREAD_READY);
	change(1, now, THREAD_READY, THREAD_RUNS);
	tell_wait_for_2(begin, now);
	wall_finish(wall, now);
	const struct wall_edge *edges = wall_edges(wall, &count);
	cr_assert(gt(sz, count, 1));
	for (size_t i = 0; i < count; i++) {
		cr_expect(le(u64, edges[i].longest_ns, edges[i].ns), "edge %zu", i);
		cr_expect(le(u64, edges[i].median_ns, edges[i].longest_ns), "edge %zu", i);
		cr_expect(le(u64, edges[i].wall_ready_ns, edges[i].wall_ns), "edge %zu", i);
	}
	wall_free(wall);
}

// Thread 1 works for 100 ms, spins for 300 ms, and works for 100 ms. Meanwhile thread 2 is IN a
// state.
static void spin_while(enum thread_state in)
{
	two_run();
	for (uint64_t ms = 0; ms < 500; ms++) {
		bool spins = ms >= 100 && ms < 400;
		if (ms == 100)
			change(2, NS_PER_SEC, THREAD_RUNS, in);
		if (ms == 400)
			change(2, NS_PER_SEC + 100 * MS, in, THREAD_RUNS);
		now += MS;
		tick(1, spins ? 3 : 1, spins);
		if (in == THREAD_RUNS || !spins)
			tick(2, 2, false);
	}
	wall_finish(wall, now);
}

Test(wall, who_spins_waits_for_a_thread_that_works)
{
	size_t edges, places;

	spin_while(THREAD_RUNS);
	cr_expect(epsilon_eq(dbl, told[1] / MS, 0, 1));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 2));
	cr_expect(epsilon_eq(dbl, told[3] / MS, -300, 2));
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(u32, e->kind, WALL_SPIN));
	cr_expect(eq(u32, e->waiter_node, 3));
	cr_expect(eq(u32, e->holder_node, 2));
	cr_expect(eq(u64, e->count, 1));
	cr_expect(eq(u64, e->ns, 300 * MS));
	cr_expect(eq(u64, e->longest_ns, 300 * MS));
	cr_expect(eq(int, e->guessed, true));
	cr_expect(epsilon_eq(dbl, (double)wall_busy(wall)->ns[1] / MS, 300, 2));
	const struct wall_alone *alone = wall_alone(wall, &places);
	cr_assert(eq(sz, places, 1));
	cr_expect(eq(u32, alone->node, 2));
	wall_free(wall);
}

Test(wall, who_spins_waits_for_a_cpu_with_the_one_that_would_work)
{
	size_t edges;

	spin_while(THREAD_READY);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 2));
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(epsilon_eq(dbl, (double)e->wall_ready_ns / MS, 300, 2));
	wall_free(wall);
}

Test(wall, who_spins_while_nobody_works_has_that_time_itself)
{
	size_t edges;

	spin_while(THREAD_BLOCKED);
	cr_expect(epsilon_eq(dbl, told[2], 0, 1));
	cr_expect(epsilon_eq(dbl, told[3], 0, 1));
	wall_edges(wall, &edges);
	cr_expect(le(sz, edges, 1)); // of thread 2's wait
	wall_free(wall);
}

// Two ranks that one launcher has started, and a program of another's: rank 1 polls for 300 of 500
// ms in a call of MPI's, and the others work.
Test(wall, who_polls_for_other_ranks_waits_for_one_that_works)
{
	size_t edges;

	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 3; i++)
		wall_process(wall, i, i < 3 ? 9 : 8);
	for (uint32_t i = 1; i <= 3; i++)
		begin_running(i, i);
	for (uint64_t ms = 0; ms < 500; ms++) {
		bool polls = ms >= 100 && ms < 400;
		now += MS;
		wall_stack(wall, &(struct wall_stack){ .thread = 1,
		                                       .node = polls ? 3 : 1,
		                                       .metric = METRIC_ON_CPU,
		                                       .time_ns = now,
		                                       .weight_ns = MS,
		                                       .spins = polls,
		                                       .abroad = polls });
		tick(2, 2, false);
		tick(3, 4, false);
	}
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 2));
	cr_expect(epsilon_eq(dbl, told[3] / MS, -300, 2));
	cr_expect(epsilon_eq(dbl, told[4] / MS, 0, 1));
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(u32, e->holder, 2));
	wall_free(wall);
}

// Without records of switches: thread 1 waits for 20 ms twice, which is taken for one wait, beside
// them; and waits for 60 ms more that nobody tells of.
Test(wall, an_estimate_of_a_wait_is_what_is_told_beside_it)
{
	size_t edges;

	two_run();
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 105; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	tell_wait_for_2(begin - 3 * MS, begin + 17 * MS);
	tell_wait_for_2(begin + 18 * MS, begin + 38 * MS);
	change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
	now += 10 * MS;
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.blocked_ns / MS, 105, 0.1));
	cr_expect(epsilon_eq(dbl, (double)(coverage.known_ns - coverage.guessed_ns) / MS, 38, 0.1));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 105, 1));
	const struct wall_edge *e = wall_edges(wall, &edges);
	for (size_t i = 0; i < edges; i++)
		cr_expect(eq(u32, e[i].holder, 2));
	wall_free(wall);
}

Test(wall, a_wait_that_is_told_is_one_for_a_lock_whether_or_not_anybody_has_looked)
{
	size_t edges;

	two_run();
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 20; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	tell_wait_for_2(begin, now);
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_OTHER });
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	cr_assert(eq(sz, edges, 1));
	cr_expect(eq(int, (int)e->cause, METRIC_OFF_LOCK));
	cr_expect(eq(u32, e->holder, 2));
	wall_free(wall);
}

static void estimate(uint32_t thread, uint64_t from_ns, uint64_t to_ns, enum thread_state state,
                     enum thread_state next)
{
	wall_span(wall, &(struct span_event){ .thread = thread,
	                                      .from_ns = from_ns,
	                                      .to_ns = to_ns,
	                                      .state = state,
	                                      .next = next,
	                                      .cause = METRIC_OFF_LOCK,
	                                      .estimated = true });
}

// Thread 1 waits for 20 ms, in which thread 2 had a CPU for 6 ms: that shows by its next sample.
Test(wall, who_seems_to_run_may_turn_out_to_have_had_no_cpu)
{
	two_run();
	uint64_t begin = now;
	estimate(2, begin, begin, THREAD_READY, THREAD_RUNS);
	estimate(1, begin, begin, THREAD_RUNS, THREAD_BLOCKED);
	now += 20 * MS;
	tell_wait_for_2(begin, now);
	estimate(1, begin, now, THREAD_BLOCKED, THREAD_RUNS);
	for (int ms = 0; ms < 20; ms++) {
		now += MS;
		tick(1, 1, false);
	}
	estimate(2, begin, begin + 5 * MS, THREAD_RUNS, THREAD_READY);
	estimate(2, begin + 5 * MS, begin + 19 * MS, THREAD_READY, THREAD_RUNS);
	tick(2, 2, false);
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 6, 0.1), "%.2f", told[2] / MS);
	wall_free(wall);
}

// THREAD has waited for MS milliseconds, until WAKER, which ran, ended that.
static void woken(uint32_t thread, unsigned ms, uint32_t waker)
{
	wall_span(wall, &(struct span_event){ .thread = thread,
	                                      .from_ns = now - ms * MS,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_LOCK,
	                                      .waker = waker,
	                                      .woken_ns = now,
	                                      .woken_by = WOKEN_BY_THREAD });
}

// Threads 1 and 2 wake each other in turns for 2 s. What thread 2 waited for at first is never
// known: thread 3, which has not run since. Only that wait is given up, and not all that stand
// behind it.
Test(wall, of_waits_for_each_other_one_is_given_up)
{
	two_run();
	wall_thread(wall, 3, 1, 3, now);
	change(3, now, THREAD_READY, THREAD_RUNS);
	change(3, now, THREAD_RUNS, THREAD_BLOCKED);
	change(2, now, THREAD_RUNS, THREAD_BLOCKED);
	now += MS;
	tick(1, 1, false);
	woken(2, 1, 3);
	for (int ms = 0; ms < 2000; ms += 2) {
		change(1, now - MS, THREAD_RUNS, THREAD_BLOCKED);
		now += MS;
		tick(2, 2, false);
		woken(1, 1, 2);
		change(2, now - MS, THREAD_RUNS, THREAD_BLOCKED);
		now += MS;
		tick(1, 1, false);
		woken(2, 1, 1);
	}
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(coverage.late_ns <= MS, "%" PRIu64, coverage.late_ns);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 1000, 2));
	wall_free(wall);
}

// A wait of thread 1 for MS milliseconds, of which CAUSE is known; ESTIMATED or exact.
static void estimate_of_1(unsigned ms, enum metric cause, bool estimated)
{
	uint64_t begin = now;

	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (unsigned i = 0; i < ms; i++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause,
	                                      .estimated = estimated });
	now += MS;
	tick(1, 1, false);
}

static void wait_of_1(unsigned ms, enum metric cause)
{
	estimate_of_1(ms, cause, false);
}

// Thread 1 waits for thread 2 again and again, and nobody looks at some of the waits.
Test(wall, a_wait_that_nobody_looked_at_is_like_one_that_somebody_has)
{
	static const struct {
		enum metric seen;
		unsigned seen_ms, unseen_ms;
		bool known;
	} table[] = {
		{ METRIC_OFF_LOCK, 6, 6, true },   { METRIC_OFF_LOCK, 6, 4, true },
		{ METRIC_OFF_LOCK, 6, 2, false },  { METRIC_OFF_LOCK, 6, 20, false },
		{ METRIC_OFF_SLEEP, 6, 6, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		two_run();
		wait_of_1(table[i].seen_ms, table[i].seen);
		wait_of_1(table[i].unseen_ms, METRIC_OFF_OTHER);
		wall_finish(wall, now);
		unsigned ms = table[i].seen == METRIC_OFF_LOCK ? table[i].seen_ms : 0;
		ms += table[i].known ? table[i].unseen_ms : 0;
		cr_expect(epsilon_eq(dbl, told[2] / MS, ms, 0.1), "row %zu: %f", i, told[2] / MS);
		struct wall_coverage coverage = wall_coverage(wall);
		cr_expect(eq(u64, coverage.guessed_ns, coverage.known_ns));
		wall_free(wall);
	}
}

// The same, where an estimate takes several waits for one, or parts one.
Test(wall, an_estimated_wait_that_nobody_looked_at_is_like_most_of_the_others)
{
	static const struct {
		unsigned lock_ms, sleep_ms, unseen_ms;
		bool known;
	} table[] = {
		{ 6, 0, 20, true },  { 6, 0, 2, true },  { 60, 10, 20, true },
		{ 6, 6, 20, false }, { 6, 6, 6, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		two_run();
		if (table[i].sleep_ms)
			estimate_of_1(table[i].sleep_ms, METRIC_OFF_SLEEP, true);
		estimate_of_1(table[i].lock_ms, METRIC_OFF_LOCK, true);
		estimate_of_1(table[i].unseen_ms, METRIC_OFF_OTHER, true);
		wall_finish(wall, now);
		unsigned ms = table[i].lock_ms + (table[i].known ? table[i].unseen_ms : 0);
		cr_expect(epsilon_eq(dbl, told[2] / MS, ms, 0.1), "row %zu: %f", i, told[2] / MS);
		wall_free(wall);
	}
}

// Thread 1 waits for 10 ms for thread 2, which has no CPU meanwhile, as is known before that wait.
Test(wall, who_seems_to_have_had_no_cpu_may_have_ended_an_estimated_wait)
{
	for (int estimated = 0; estimated <= 1; estimated++) {
		two_run();
		uint64_t begin = now + 2 * MS;
		now += MS;
		change(2, now - MS, THREAD_RUNS, THREAD_READY);
		now = begin + 12 * MS;
		change(2, begin - MS, THREAD_READY, THREAD_RUNS);
		now = begin;
		change(1, begin - 2 * MS, THREAD_RUNS, THREAD_BLOCKED);
		now = begin + 10 * MS;
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = begin,
		                                      .to_ns = now,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = METRIC_OFF_LOCK,
		                                      .estimated = estimated });
		now += 10 * MS;
		wall_finish(wall, now);
		struct wall_coverage coverage = wall_coverage(wall);
		cr_expect(
			epsilon_eq(dbl, (double)coverage.guessed_ns / MS, estimated ? 10 : 0, 0.1));
		wall_free(wall);
	}
}

// Thread 1 waits for 10 ms, which it reports and nobody looked at, runs for 1 ms and wants a CPU
// for 20 ms. Where it did so is known only later.
Test(wall, wanting_a_cpu_is_not_a_wait_that_nobody_looked_at)
{
	two_run();
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 10; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_OTHER });
	now += MS;
	tell_wait_for_2(begin, begin + 10 * MS);
	change(1, now - MS, THREAD_RUNS, THREAD_READY);
	now += 20 * MS;
	change(1, now - 20 * MS, THREAD_READY, THREAD_RUNS);
	now += 100 * MS;
	const struct {
		enum metric metric;
		uint32_t node;
		uint64_t ms;
	} late[] = { { METRIC_OFF_RUNNABLE, 5, 20 }, { METRIC_OFF_OTHER, 6, 10 } };
	for (size_t i = 0; i < 2; i++)
		wall_stack(wall, &(struct wall_stack){ .thread = 1,
		                                       .node = late[i].node,
		                                       .metric = late[i].metric,
		                                       .time_ns = now,
		                                       .weight_ns = late[i].ms * MS });
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 10, 0.1));
	cr_expect(epsilon_eq(dbl, told[5] / MS, 0, 0.1));
	cr_expect(epsilon_eq(dbl, told[6] / MS, -10, 0.1));
	wall_free(wall);
}

// Thread 1 waits for 20 ms, of which it is taken to be ready to run for the first 8 ms,
// and then for 5 ms more, when it has been woken.
Test(wall, who_has_no_cpu_to_wait_on_waits_all_the_same)
{
	two_run();
	uint64_t begin = now;
	wall_wait(wall, &(struct wall_wait){ .thread = 2, .from_ns = now, .to_ns = now });
	change(1, now, THREAD_RUNS, THREAD_READY);
	for (int ms = 0; ms < 25; ms++) {
		now += MS;
		tick(2, 2, false);
		if (ms == 7)
			change(1, begin, THREAD_READY, THREAD_BLOCKED);
		if (ms == 19)
			change(1, begin + 8 * MS, THREAD_BLOCKED, THREAD_READY);
	}
	change(1, begin + 20 * MS, THREAD_READY, THREAD_RUNS);
	tell_wait_for_2(begin, begin + 20 * MS);
	for (int ms = 0; ms < 25; ms++) {
		now += MS;
		tick(1, 1, false);
	}
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 20, 0.1));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 20, 0.1));
	wall_free(wall);
}

// Without records of ends a child is missed some time after its parent goes on.
Test(wall, a_child_that_is_missed_late_was_waited_for)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 3; i++) {
		wall_process(wall, i, i == 1 ? 0 : 1);
		begin_running(i, i);
	}
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(2, 2, false);
		tick(3, 3, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_CHILD });
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(1, 1, false);
		tick(3, 3, false);
	}
	wall_thread_end(wall, 2, begin + 95 * MS);
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 95, 6));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 95, 1));
	wall_free(wall);
}

// The parent goes on as its child runs another program, not as that one ends.
Test(wall, vfork_waits_for_the_exec_of_its_child)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		wall_process(wall, i, i - 1);
		begin_running(i, i);
	}
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 50; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_exec(wall, 2, now);
	now += 2 * MS; // without a CPU
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_CHILD });
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(1, 1, false);
		tick(2, 3, false);
	}
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 52, 0.1));
	cr_expect(eq(u64, coverage.guessed_ns, 0));
	cr_expect(epsilon_eq(dbl, told[2] / MS, 50, 0.1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, 0, 0.1));
	wall_free(wall);
}

// A script waits for another script, and that for a program, from before the recording until after
// it: all that is waited for ends with the recording, in no order.
Test(wall, waits_for_children_that_outlive_the_recording_are_followed_to_the_last_one)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 4; i++) {
		wall_process(wall, i, i - 1);
		wall_thread(wall, i, i, i, now);
		change(i, now, THREAD_READY, i < 4 ? THREAD_BLOCKED : THREAD_RUNS);
	}
	uint64_t begin = now;
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(4, 4, false);
	}
	for (uint32_t i = 1; i <= 3; i++)
		wall_span(wall, &(struct span_event){ .thread = i,
		                                      .from_ns = begin,
		                                      .to_ns = now,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_GONE,
		                                      .cause = METRIC_OFF_CHILD });
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 300, 0.1));
	cr_expect(epsilon_eq(dbl, told[4] / MS, 100, 1));
	wall_free(wall);
}

// What THREAD was seen to wait on: process PEER has the other end.
static void tell_peer(uint32_t thread, uint32_t peer, uint64_t inode)
{
	wall_peers(wall, &(struct peers_event){ .thread = thread,
	                                        .time_ns = now,
	                                        .inode = inode,
	                                        .count = 1,
	                                        .processes = &peer });
}

// A shell reads what a subshell's command writes: before that command there was the subshell, which
// had yet to start it. With another thread in the subshell it is not known who did.
static void wait_for_grandchild(bool alone)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		wall_process(wall, i, i - 1);
		begin_running(i, i);
	}
	if (!alone) {
		wall_thread(wall, 4, 2, 4, now);
		change(4, now, THREAD_READY, THREAD_BLOCKED);
	}
	uint64_t begin = now, born = now + 40 * MS;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 40; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_process(wall, 3, 2);
	begin_running(3, 3);
	change(2, begin, THREAD_RUNS, THREAD_BLOCKED);
	tell_peer(1, 3, 4711);
	for (int ms = 0; ms < 60; ms++) {
		now += MS;
		tick(3, 3, false);
	}
	change(3, born, THREAD_RUNS, THREAD_GONE);
	wall_thread_end(wall, 3, now);
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_PIPE });
	wall_finish(wall, now);
	wall_free(wall);
}

Test(wall, who_waits_for_a_process_that_is_yet_to_be_started_waits_for_who_starts_it)
{
	wait_for_grandchild(true);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 40, 1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, 60, 1));
	cr_expect(epsilon_eq(dbl, told[0] / MS, -100, 1)); // of the wait nothing is left
	wait_for_grandchild(false);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 0, 1));
	cr_expect(epsilon_eq(dbl, told[3] / MS, 60, 1));
}

// Thread 1, the first of its process, sleeps or polls for 100 ms three times, for CAUSE, and looks
// after a process that it has started, whose only thread runs for 300 ms if it WORKS, and is else
// blocked.
static void look_after(bool works, enum metric cause)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	wall_process(wall, 2, 1);
	wall_thread(wall, 1, 1, 1, now);
	wall_thread(wall, 2, 2, 2, now);
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = now,
	                                      .to_ns = now,
	                                      .state = THREAD_READY,
	                                      .next = THREAD_RUNS });
	wall_span(wall, &(struct span_event){ .thread = 2,
	                                      .from_ns = now,
	                                      .to_ns = now,
	                                      .state = THREAD_READY,
	                                      .next = works ? THREAD_RUNS : THREAD_BLOCKED });
	for (int i = 0; i < 3; i++) {
		uint64_t since = now;
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = now,
		                                      .to_ns = now,
		                                      .state = THREAD_RUNS,
		                                      .next = THREAD_BLOCKED });
		for (int ms = 0; ms < 100; ms++) {
			now += MS;
			if (works)
				tick(2, 2, false);
		}
		wall_stack(wall, &(struct wall_stack){ .thread = 1,
		                                       .node = 3,
		                                       .metric = cause,
		                                       .time_ns = since,
		                                       .duration_ns = now - since,
		                                       .weight_ns = now - since });
		wall_span(wall, &(struct span_event){ .thread = 1,
		                                      .from_ns = since,
		                                      .to_ns = now,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = cause });
		now += MS;
		tick(1, 1, false);
	}
	wall_finish(wall, now);
}

Test(wall, who_sleeps_while_a_process_that_it_started_works_waits_for_that)
{
	const enum metric causes[] = { METRIC_OFF_SLEEP, METRIC_OFF_NET, METRIC_OFF_PIPE,
		                       METRIC_OFF_LOCK };

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		look_after(true, causes[i]);
		cr_expect(epsilon_eq(dbl, told[2] / MS, 300, 6));
		cr_expect(epsilon_eq(dbl, told[3] / MS, -300, 6));
		struct wall_coverage coverage = wall_coverage(wall);
		cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 300, 6));
		cr_expect(eq(u64, coverage.known_ns, coverage.guessed_ns));
		cr_expect(ge(u64, coverage.blocked_ns, coverage.known_ns));
		// From the first thread's begin, not from the clock's.
		cr_expect(lt(u64, wall_busy(wall)->ns[0], MS));
		cr_expect(epsilon_eq(dbl, (double)wall_busy(wall)->ns[1] / MS, 300, 6));
		wall_free(wall);
	}
}

Test(wall, who_sleeps_while_no_process_that_it_started_works_sleeps)
{
	look_after(false, METRIC_OFF_SLEEP);
	cr_expect(epsilon_eq(dbl, told[2], 0, 1));
	cr_expect(epsilon_eq(dbl, told[3], 0, 1));
	cr_expect(eq(u64, wall_coverage(wall).known_ns, 0));
	wall_free(wall);
}

// The child, process 2, works for WORKS_MS of the 100 ms that thread 1 waits, and ends.
static void wait_beside_child(int works_ms, enum metric cause)
{
	uint64_t since;

	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	memset(taken_out, 0, sizeof(taken_out));
	wall = wall_new(hear, NULL);
	wall_process(wall, 1, 0);
	wall_process(wall, 2, 1);
	begin_running(1, 1);
	begin_running(2, 2);
	since = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < works_ms; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	change(2, since, THREAD_RUNS, THREAD_RUNS);
	wall_thread_end(wall, 2, now);
	now = since + 100 * MS;
	wall_stack(wall, &(struct wall_stack){ .thread = 1,
	                                       .node = 3,
	                                       .metric = cause,
	                                       .time_ns = since,
	                                       .duration_ns = now - since,
	                                       .weight_ns = now - since });
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = since,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause });
	now += MS;
	tick(1, 1, false);
	wall_finish(wall, now);
}

Test(wall, who_looks_after_a_child_from_time_to_time_sleeps_on_after_its_end)
{
	wait_beside_child(20, METRIC_OFF_SLEEP);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 20, 2));
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_SLEEP] / MS, 20, 2));
	wall_free(wall);
	// So does a poll with a timeout; one that the child's end has ended does not.
	wait_beside_child(20, METRIC_OFF_NET);
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_NET] / MS, 20, 2));
	wall_free(wall);
	wait_beside_child(90, METRIC_OFF_NET);
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_NET] / MS, 100, 2));
	wall_free(wall);
	// wait4() ends with the child: from then on no CPU was free.
	wait_beside_child(20, METRIC_OFF_CHILD);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 20, 2));
	cr_expect(epsilon_eq(dbl, taken_out[METRIC_OFF_CHILD] / MS, 100, 2));
	wall_free(wall);
}

static void begin_two_processes(void)
{
	now = NS_PER_SEC;
	memset(told, 0, sizeof(told));
	wall = wall_new(hear, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		wall_process(wall, i, 0);
		begin_running(i, i);
	}
}

static void tell_peer_2(bool outside)
{
	const uint32_t other = 2;

	wall_peers(wall, &(struct peers_event){ .thread = 1,
	                                        .time_ns = now,
	                                        .inode = 4711,
	                                        .outside = outside,
	                                        .count = 1,
	                                        .processes = &other });
}

// Thread 1 waits for LENGTH_MS, in which thread 2 works at node 2.
static void wait_while_2_works(uint64_t length_ms, enum metric cause)
{
	uint64_t begin = now;

	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (uint64_t ms = 1; ms <= length_ms; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause });
	now += MS;
}

// A server's process waits for its client, and in turns, on other descriptors, for the end of its
// parent, which never comes: what a short wait was for that nobody has looked at is not what was
// looked at last.
Test(wall, a_wait_that_nobody_has_seen_is_for_any_that_its_thread_waits_for)
{
	static const struct {
		bool idle, own,
			others; // what was seen: of the parent, of the client, by the client
	} seen[] = { { true, true, false }, { false, true, false }, { true, false, true } };

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		begin_two_processes();
		wall_process(wall, 3, 0);
		wall_thread(wall, 3, 3, 3, now);
		if (seen[i].own)
			tell_peer(1, 2, 4711);
		if (seen[i].others)
			tell_peer(2, 1, 4712);
		if (seen[i].idle)
			tell_peer(1, 3, 4713);
		wait_while_2_works(1, METRIC_OFF_NET);
		for (int k = 0; k < 10; k++)
			wait_while_2_works(10, METRIC_OFF_OTHER);
		now += 10 * MS;
		wall_finish(wall, now);
		cr_expect(gt(dbl, told[2] / MS, 97), "%zu: %f ms", i, told[2] / MS);
		cr_expect(ge(u64, wall_coverage(wall).known_ns, 100 * MS), "%zu", i);
		wall_free(wall);
	}
}

// Thread 1 has waited for thread 2, which is blocked for long, so that this is not resolved; and
// then it yields its CPU all the time, as ranks of MPI do that share CPUs. Looking at all of that
// for each of it would take minutes.
Test(wall, a_thread_that_yields_all_the_time_costs_little, .timeout = 30)
{
	const uint64_t short_ns = 2 * NS_PER_US;
	struct wall_share share = { .thread = 2 };

	begin_two_processes();
	change(2, now, THREAD_RUNS, THREAD_BLOCKED);
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	share.until_ns = now += 10 * MS;
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .kind = HELD_MUTEX,
	                                     .shares = &share,
	                                     .count = 1 });
	change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
	for (uint32_t i = 0; i < 450000; i++) {
		const enum thread_state states[] = { THREAD_RUNS, THREAD_READY };
		now += short_ns;
		change(1, now - short_ns, states[i % 2], states[(i + 1) % 2]);
	}
	wall_finish(wall, now);
	cr_expect(wall_is_whole(wall));
	cr_expect(epsilon_eq(dbl, (double)wall_busy(wall)->ns[1] / MS, 450, 5));
	wall_free(wall);
}

// Thread 2 waits for a client and for a disk in turns, of which few have stacks: it is not where it
// waits for the other.
Test(wall, a_wait_without_a_stack_is_where_its_thread_waited_for_the_same)
{
	static const enum metric causes[] = { METRIC_OFF_NET, METRIC_OFF_FILE };

	begin_two_processes();
	const uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int i = 0; i < 20; i++) {
		const uint64_t from = now;
		change(2, now, THREAD_RUNS, THREAD_BLOCKED);
		now += 20 * MS;
		wall_span(wall, &(struct span_event){ .thread = 2,
		                                      .from_ns = from,
		                                      .to_ns = now,
		                                      .state = THREAD_BLOCKED,
		                                      .next = THREAD_RUNS,
		                                      .cause = causes[i % 2] });
		if (i % 2 == 0 || i == 1)
			wall_stack(wall, &(struct wall_stack){ .thread = 2,
			                                       .node = 3 + (uint32_t)i % 2,
			                                       .metric = causes[i % 2],
			                                       .time_ns = from,
			                                       .duration_ns = now - from,
			                                       .weight_ns = now - from });
	}
	const struct wall_share share = { .until_ns = now, .thread = 2 };
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .kind = HELD_JOIN,
	                                     .shares = &share,
	                                     .count = 1 });
	change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
	now += 10 * MS;
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[3] / MS, 200, 1));
	cr_expect(epsilon_eq(dbl, told[4] / MS, 200, 1));
	wall_free(wall);
}

// A connection is polled before its other end is accepted: then somebody outside of the run may
// have it. Once it is known who has it, that was the same set, though another of them comes first.
Test(wall, a_set_of_descriptors_is_what_was_seen_of_it_last)
{
	const uint32_t others[] = { 3, 2 };

	for (uint64_t set = 7; set <= 8; set++) {
		begin_two_processes();
		wall_process(wall, 3, 0);
		wall_thread(wall, 3, 3, 3, now);
		wall_peers(wall, &(struct peers_event){ .thread = 1,
		                                        .time_ns = now,
		                                        .inode = 4712,
		                                        .descriptors = set,
		                                        .outside = true,
		                                        .count = 1,
		                                        .processes = others });
		wall_peers(wall, &(struct peers_event){ .thread = 1,
		                                        .time_ns = now,
		                                        .inode = 4711,
		                                        .descriptors = 7,
		                                        .count = 2,
		                                        .processes = others });
		wait_while_2_works(1, METRIC_OFF_NET);
		for (int k = 0; k < 10; k++)
			wait_while_2_works(10, METRIC_OFF_OTHER);
		now += 10 * MS;
		wall_finish(wall, now);
		cr_expect(set == 7 ? told[2] / MS > 97 : told[2] / MS < 3, "%f ms", told[2] / MS);
		wall_free(wall);
	}
}

// Thread 1 waits for 100 ms, in which thread 2 works at node 2; after 90 ms it was woken, as the
// kernel tells. What is counted as waits for thread 2 that are no guess.
static uint64_t wait_to_be_woken(enum woken_by by, uint32_t waker, enum metric cause, bool peers)
{
	uint64_t begin, known_ns = 0;
	size_t count;

	begin_two_processes();
	if (peers)
		tell_peer_2(false);
	begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 1; ms <= 100; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause,
	                                      .woken_ns = begin + 90 * MS,
	                                      .waker = waker,
	                                      .woken_by = by });
	now += 10 * MS;
	wall_finish(wall, now);
	const struct wall_edge *edges = wall_edges(wall, &count);
	for (size_t i = 0; i < count; i++)
		known_ns += edges[i].holder == 2 && !edges[i].guessed ? edges[i].ns : 0;
	return known_ns;
}

Test(wall, who_wakes_a_thread_ends_its_wait_and_from_then_on_it_wants_a_cpu)
{
	static const enum metric causes[] = { METRIC_OFF_LOCK, METRIC_OFF_PIPE, METRIC_OFF_NET,
		                              METRIC_OFF_FILE, METRIC_OFF_OTHER };

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		cr_expect(eq(u64, wait_to_be_woken(WOKEN_BY_THREAD, 2, causes[i], false), 90 * MS));
		cr_expect(epsilon_eq(dbl, told[2] / MS, 90, 3));
		cr_expect(eq(u64, wall_coverage(wall).guessed_ns, 0));
		wall_free(wall);
	}
}

Test(wall, an_interrupt_is_nobody_whoever_ran_then)
{
	cr_expect(eq(u64, wait_to_be_woken(WOKEN_BY_INTERRUPT, 2, METRIC_OFF_FILE, false), 0));
	wall_free(wall);
	cr_expect(eq(u64, wait_to_be_woken(WOKEN_AFTER_INTERRUPT, 2, METRIC_OFF_NET, false), 0));
	wall_free(wall);
}

Test(wall, a_packet_within_the_machine_is_of_who_has_the_other_end)
{
	cr_expect(
		eq(u64, wait_to_be_woken(WOKEN_AFTER_INTERRUPT, 2, METRIC_OFF_NET, true), 90 * MS));
	wall_free(wall);
}

// THREAD waits at a condition from now on for 100 ms, in which thread 2 works, and wakes at each of
// AT_MS, up to a 0. For how long it waits for thread 2.
static uint64_t wait_for_wakes(uint32_t thread, const int *at_ms, uint64_t step_ms)
{
	struct wall_share shares[4];
	uint64_t begin = now, ns = 0;
	uint32_t count = 0;
	size_t edges;

	for (; at_ms[count]; count++)
		shares[count] = (struct wall_share){ begin + (uint64_t)at_ms[count] * MS, 2 };
	change(thread, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 1; ms <= 100; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	wall_wait(wall, &(struct wall_wait){ .thread = thread,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .resource = 1,
	                                     .kind = WALL_GIL,
	                                     .goes_on = !count,
	                                     .failed = !count,
	                                     .wakes = true,
	                                     .step_ns = step_ms * MS,
	                                     .shares = shares,
	                                     .count = count });
	change(thread, begin, THREAD_BLOCKED, THREAD_RUNS);
	now += 200 * MS;
	change(thread, now - 200 * MS, THREAD_RUNS, THREAD_RUNS);
	const struct wall_edge *e = wall_edges(wall, &edges);
	for (size_t i = 0; i < edges; i++)
		ns += e[i].holder == 2 && e[i].waiter == thread ? e[i].ns : 0;
	return ns / MS;
}

// A thread that was woken and has no CPU is woken in vain by whoever lets go again meanwhile, as
// Python's lock is around each system call: it does not wait for that one any more.
Test(wall, who_was_woken_waits_for_nobody_however_often_it_is_woken_again)
{
	two_run();
	cr_expect(eq(u64, wait_for_wakes(1, (const int[]){ 20, 60, 90, 0 }, 0), 20));
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 20, 2));
	wall_free(wall);
}

// Two wait: the first wakeup is of the one that ends its wait first.
Test(wall, a_wakeup_ends_one_wait)
{
	const uint64_t begin = NS_PER_SEC;
	struct wall_share shares[] = { { begin + 20 * MS, 2 }, { begin + 60 * MS, 2 } };
	uint64_t ns[4] = { 0 };
	size_t edges;

	two_run();
	wall_thread(wall, 3, 1, 3, now);
	change(3, now, THREAD_READY, THREAD_RUNS);
	for (uint32_t thread = 1; thread <= 3; thread += 2)
		change(thread, now, THREAD_RUNS, THREAD_BLOCKED);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = i ? 1 : 3;
		for (int ms = 0; ms < (i ? 60 : 30); ms++) {
			now += MS;
			tick(2, 2, false);
		}
		wall_wait(wall, &(struct wall_wait){ .thread = thread,
		                                     .from_ns = begin,
		                                     .to_ns = now,
		                                     .resource = 1,
		                                     .kind = HELD_CONDITION,
		                                     .wakes = true,
		                                     .shares = shares,
		                                     .count = i + 1 });
		change(thread, begin, THREAD_BLOCKED, THREAD_RUNS);
	}
	now += 200 * MS;
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	for (size_t i = 0; i < edges; i++)
		ns[e[i].waiter] += e[i].holder == 2 ? e[i].ns / MS : 0;
	cr_expect(eq(u64, ns[3], 20));
	cr_expect(eq(u64, ns[1], 60), "the other one");
	wall_free(wall);
}

// Python's lock is waited for in steps of 5 ms: what is longer is the wait for a CPU behind a step.
Test(wall, who_is_woken_after_a_step_wants_a_cpu_from_then_on)
{
	two_run();
	cr_expect(eq(u64, wait_for_wakes(1, (const int[]){ 90, 0 }, 5), 5));
	cr_expect(eq(u64, wait_for_wakes(1, (const int[]){ 3, 90, 0 }, 5), 8), "3 ms more");
	wall_finish(wall, now);
	wall_free(wall);
}

// The agent tells that thread 1 waited for 100 ms at a condition, for TOLD; the kernel that thread
// 2 woke it. How much of it is of thread 2.
static uint64_t wait_as_agent_tells(uint32_t told_thread)
{
	uint64_t begin, ns = 0;
	size_t count;

	begin_two_processes();
	begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 1; ms <= 100; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	struct wall_share share = { .until_ns = now, .thread = told_thread };
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .kind = HELD_CONDITION,
	                                     .shares = &share,
	                                     .count = 1 });
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = METRIC_OFF_LOCK,
	                                      .woken_ns = now,
	                                      .waker = 2 });
	now += 10 * MS;
	wall_finish(wall, now);
	const struct wall_edge *edges = wall_edges(wall, &count);
	for (size_t i = 0; i < count; i++)
		ns += edges[i].holder == 2 && edges[i].kind == HELD_CONDITION ? edges[i].ns : 0;
	wall_free(wall);
	return ns;
}

Test(wall, who_wakes_counts_where_the_agent_knows_nobody)
{
	cr_expect(eq(u64, wait_as_agent_tells(0), 100 * MS));
	cr_expect(eq(u64, wait_as_agent_tells(2), 100 * MS));
	cr_expect(eq(u64, wait_as_agent_tells(77), 0), "who held it is known better");
}

// Thread 1 waits for 100 ms, in which thread 2 works at node 2 and sends it a signal at each of
// AT_MS, up to a 0.
static void wait_for_signals(const int *at_ms, enum metric cause)
{
	uint64_t begin = now;

	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 1; ms <= 100; ms++) {
		now += MS;
		tick(2, 2, false);
		if (*at_ms != ms)
			continue;
		wall_signal(wall,
		            &(struct signal_event){ .thread = 2, .process = 1, .time_ns = now });
		at_ms++;
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause });
	now += 10 * MS;
	wall_finish(wall, now);
}

static uint64_t signalled_ns(void)
{
	uint64_t ns = 0;
	size_t count;
	const struct wall_edge *edges = wall_edges(wall, &count);

	for (size_t i = 0; i < count; i++)
		ns += edges[i].kind == WALL_SIGNAL && edges[i].holder == 2 && !edges[i].guessed
		              ? edges[i].ns
		              : 0;
	return ns;
}

Test(wall, who_sends_a_signal_ends_the_wait_for_it)
{
	for (int i = 0; i < 3; i++) {
		const enum metric causes[] = { METRIC_OFF_NET, METRIC_OFF_SLEEP, METRIC_OFF_OTHER };
		begin_two_processes();
		wait_for_signals((const int[]){ 95, 0 }, causes[i]);
		cr_expect(eq(u64, signalled_ns(), 95 * MS));
		cr_expect(epsilon_eq(dbl, told[2] / MS, 95, 3));
		cr_expect(eq(u64, wall_coverage(wall).guessed_ns, 0));
		wall_free(wall);
	}
}

Test(wall, a_wait_that_was_taken_for_several_is_of_all_who_sent_signals)
{
	begin_two_processes();
	wait_for_signals((const int[]){ 20, 50, 95, 0 }, METRIC_OFF_NET);
	cr_expect(eq(u64, signalled_ns(), 95 * MS));
	wall_free(wall);
}

Test(wall, a_signal_that_did_not_wake_ends_no_wait)
{
	begin_two_processes();
	wait_for_signals((const int[]){ 30, 0 }, METRIC_OFF_NET);
	cr_expect(eq(u64, signalled_ns(), 0));
	wall_free(wall);
	// Who waits for a disk is not woken by signals.
	begin_two_processes();
	wait_for_signals((const int[]){ 95, 0 }, METRIC_OFF_FILE);
	cr_expect(eq(u64, signalled_ns(), 0));
	wall_free(wall);
}

// Thread 1 waits for 100 ms, of which CAUSE is known, on what process 2 has the other end of, as
// somebody who LOOKED knows; thread 2 WORKS or not.
static void poll_once(bool works, bool looked, enum metric cause)
{
	uint64_t begin = now;

	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	if (looked)
		tell_peer_2(false);
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		if (works)
			tick(2, 2, false);
	}
	wall_span(wall, &(struct span_event){ .thread = 1,
	                                      .from_ns = begin,
	                                      .to_ns = now,
	                                      .state = THREAD_BLOCKED,
	                                      .next = THREAD_RUNS,
	                                      .cause = cause });
	now += 10 * MS;
}

// Returns for how long thread 2, which WORKS or not, was waited for, in ms, by one who waits for
// somebody OUTSIDE of the run, too, or not.
static double poll_for_2(bool works, bool outside)
{
	begin_two_processes();
	if (!works) {
		now += MS;
		change(2, now - MS, THREAD_RUNS, THREAD_BLOCKED);
		now += 50 * MS;
	}
	tell_peer_2(outside);
	poll_once(works, false, METRIC_OFF_PIPE);
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	wall_free(wall);
	return (double)coverage.known_ns / MS;
}

Test(wall, who_waits_for_a_process_at_the_other_end_waits_for_its_work)
{
	cr_expect(epsilon_eq(dbl, poll_for_2(true, false), 100, 1));
}

Test(wall, a_process_that_has_not_run_has_ended_no_wait)
{
	cr_expect(epsilon_eq(dbl, poll_for_2(false, false), 0, 1));
}

// Of the second of two waits alike nobody knows the cause.
Test(wall, a_wait_that_nobody_looked_at_is_like_the_last_one)
{
	for (int looked = 0; looked <= 1; looked++) {
		begin_two_processes();
		poll_once(true, looked, METRIC_OFF_NET);
		poll_once(true, false, METRIC_OFF_OTHER);
		wall_finish(wall, now);
		struct wall_coverage coverage = wall_coverage(wall);
		cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, looked ? 200 : 0, 1));
		cr_expect(epsilon_eq(dbl, told[2] / MS, looked ? 200 : 0, 1));
		wall_free(wall);
	}
}

// A worker of a server has a pipe to its master, and the connections of clients.
Test(wall, who_serves_others_waits_for_none_of_the_run)
{
	cr_expect(epsilon_eq(dbl, poll_for_2(false, true), 0, 1));
	cr_expect(epsilon_eq(dbl, poll_for_2(true, true), 0, 1));
}

// Thread 2, idle since its begin, is killed as its process ends, 100 ms after thread 1 began; or,
// not KILLED, it goes on for some time.
static struct wall_coverage idle_to_the_end(bool killed)
{
	two_run();
	uint64_t begin = now;
	change(2, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(1, 1, false);
	}
	change(2, begin, THREAD_BLOCKED, THREAD_RUNS);
	uint64_t since = now;
	now += killed ? MS / 20 : 50 * MS;
	change(2, since, THREAD_RUNS, THREAD_RUNS);
	wall_thread_end(wall, 2, now);
	wall_thread_end(wall, 1, now);
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	wall_free(wall);
	return coverage;
}

Test(wall, nobody_ends_the_wait_of_an_idle_thread_whose_process_ends)
{
	struct wall_coverage coverage = idle_to_the_end(true);

	cr_expect(eq(u64, coverage.blocked_ns, 0));
	cr_expect(eq(u64, coverage.known_ns, 0));
	coverage = idle_to_the_end(false);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 100, 1));
}

// Who joins threads one after the other, and ends soon, was idle in the last of these waits at
// most.
Test(wall, somebody_ended_a_wait_after_which_the_thread_has_waited_again)
{
	two_run();
	uint64_t begin = now;
	change(2, now, THREAD_RUNS, THREAD_BLOCKED);
	for (int ms = 0; ms < 100; ms++) {
		now += MS;
		tick(1, 1, false);
	}
	change(2, begin, THREAD_BLOCKED, THREAD_RUNS);
	begin = now;
	now += MS / 20;
	change(2, begin, THREAD_RUNS, THREAD_BLOCKED);
	begin = now;
	now += MS;
	tick(1, 1, false);
	change(2, begin, THREAD_BLOCKED, THREAD_RUNS);
	begin = now;
	now += MS / 20;
	change(2, begin, THREAD_RUNS, THREAD_RUNS);
	wall_thread_end(wall, 2, now);
	wall_thread_end(wall, 1, now);
	wall_finish(wall, now);
	struct wall_coverage coverage = wall_coverage(wall);
	wall_free(wall);
	cr_expect(epsilon_eq(dbl, (double)coverage.known_ns / MS, 100, 1));
}

// Thread 3 has ended a wait of thread 1, and idles from then on. Thread 1 waits for the same again,
// in turns of 100 ms that time out, while thread 2 works.
Test(wall, who_idles_is_not_going_to_end_a_wait_that_timed_out)
{
	struct wall_wait wait = { .thread = 1, .resource = 1, .count = 1 };
	struct wall_share by;

	two_run();
	wall_thread(wall, 3, 1, 3, now);
	wall_wait(wall, &(struct wall_wait){ .thread = 3, .from_ns = now, .to_ns = now });
	change(3, now, THREAD_READY, THREAD_RUNS);
	for (int turn = 0; turn < 21; turn++) {
		wait.from_ns = now;
		change(1, now, THREAD_RUNS, THREAD_BLOCKED);
		for (int ms = 0; ms < 100; ms++) {
			now += MS;
			tick(2, 2, false);
		}
		change(1, wait.from_ns, THREAD_BLOCKED, THREAD_RUNS);
		wait.to_ns = now;
		by = (struct wall_share){ now, 3 };
		wait.shares = &by;
		wall_wait(wall, &wait);
		now += MS;
		tick(1, 1, false);
		if (turn == 0)
			change(3, NS_PER_SEC, THREAD_RUNS, THREAD_BLOCKED);
		wait.goes_on = true;
		wait.count = 0;
	}
	wall_finish(wall, now);
	cr_expect(epsilon_eq(dbl, told[2] / MS, 2000, 1));
	wall_free(wall);
}

// Thread 1 waits for thread 2, which is seen COUNT times, by turns at nodes 100 to 123, or OFTEN at
// node 2 between them, and once at node 99.
static uint32_t holder_after(uint32_t count, bool often)
{
	size_t edges;

	two_run();
	uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	for (uint32_t i = 0; i < count; i++) {
		now += MS;
		tick(2, often && i % 2 ? 2 : 100 + i / (often ? 2 : 1) % 24, false);
	}
	now += MS;
	tick(2, 99, false);
	struct wall_share by = { now, 2 };
	change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
	wall_wait(wall, &(struct wall_wait){ .thread = 1,
	                                     .from_ns = begin,
	                                     .to_ns = now,
	                                     .resource = 1,
	                                     .count = 1,
	                                     .shares = &by });
	wall_finish(wall, now);
	const struct wall_edge *e = wall_edges(wall, &edges);
	uint32_t node = edges == 1 ? e->holder_node : 0;
	wall_free(wall);
	return node;
}

Test(wall, a_holder_is_where_it_was_for_most_of_the_time)
{
	cr_expect(eq(u32, holder_after(480, true), 2));
	cr_expect(ge(u32, holder_after(480, false), 100)); // nowhere most: it is not the last one
}

// Threads 1 and 2 wait for a lock that somebody else has for 40 ms: by a mutex, or each by a
// semaphore of its own. Then thread 2 has it for HELD_MS, in which it is seen at node 2.
static uint32_t holder_of_queue(enum held_kind kind, int held_ms)
{
	size_t count;
	uint32_t node = 0;

	two_run();
	const uint64_t begin = now;
	change(1, now, THREAD_RUNS, THREAD_BLOCKED);
	change(2, now, THREAD_RUNS, THREAD_BLOCKED);
	now += 40 * MS;
	change(2, begin, THREAD_BLOCKED, THREAD_RUNS);
	wall_stack(wall, &(struct wall_stack){ .thread = 2,
	                                       .node = 9,
	                                       .metric = METRIC_OFF_LOCK,
	                                       .time_ns = begin,
	                                       .duration_ns = now - begin,
	                                       .weight_ns = now - begin });
	struct wall_wait wait = {
		.thread = 2, .from_ns = begin, .to_ns = now, .kind = kind, .resource = 1
	};
	wall_wait(wall, &wait);
	for (int ms = 0; ms < held_ms; ms++) {
		now += MS;
		tick(2, 2, false);
	}
	now += MS / 10;
	const struct wall_share by = { now, 2 };
	change(1, begin, THREAD_BLOCKED, THREAD_RUNS);
	wait.thread = 1;
	wait.resource += kind == HELD_SEMAPHORE;
	wait.to_ns = now;
	wait.shares = &by;
	wait.count = 1;
	wall_wait(wall, &wait);
	wall_finish(wall, now);
	const struct wall_edge *edges = wall_edges(wall, &count);
	for (size_t i = 0; i < count; i++)
		node = edges[i].waiter == 1 ? edges[i].holder_node : node;
	wall_free(wall);
	return node;
}

Test(wall, a_holder_is_where_it_was_since_it_had_the_lock)
{
	cr_expect(eq(u32, holder_of_queue(HELD_MUTEX, 20), 2));
	cr_expect(eq(u32, holder_of_queue(HELD_MUTEX, 0), 9)); // it was seen nowhere else
	cr_expect(eq(u32, holder_of_queue(HELD_SEMAPHORE, 20), 2));
}
