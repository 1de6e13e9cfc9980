// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_thin.h"

#include "base/clock.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#define OWN          static __thread __attribute__((tls_model("initial-exec")))
#define unlikely(x)  __builtin_expect(!!(x), 0)

#define PERIOD_OPS   4096 // from one judgement of the rate to the next, where all are recorded
#define PERIOD_NS    (5 * NS_PER_MS)
#define ALL_SHARE    0.7 // where so many could be recorded, all are
#define STOP_TRIES   10000
#define SKIPPED_MOST 32   // ops after which one that lies as far out as any before is no part
#define GAP_CALLS    1024 // of the scout, at most

enum mode {
	ALL,
	GAP,
	WINDOW
};

static const struct torch_switch *switches;
static double allowed; // share of the time
static uint32_t mode;  // atomic
static bool closing;   // atomic: the time in which all are recorded is to end
static int busy;       // atomic: a thread changes the mode

// By atomic additions of any thread.
static uint32_t counted; // ALL: ops since the last judgement
static uint32_t calls;   // GAP: of the scout
static uint32_t passed;  // WINDOW: ops since the scout

struct moment {
	uint64_t wall_ns, cpu_ns;
};

// Of who is busy alone.
static struct moment judged;
static uint64_t all_first; // ops that have been counted of TORCH_ALL_FIRST
static uint32_t gap_calls; // of the scout, in a gap before a window such as this one, or the next
static uint32_t gap_left;  // atomic: the same, of this gap
static uint32_t window;    // atomic: number of this window, or of the last
static uint64_t random_state;

// Where ops are that may be parts of others which began before a window's begin, or its end.
struct edge {
	uint32_t window;
	bool passed;
	uint32_t seen, caller; // of them
	uint64_t top;
};

OWN struct {
	uint32_t depth; // of ops that were taken
	uint32_t count;
	bool closes;
	struct edge begin, end;
} own;

void torch_thin_start(const struct torch_switch *s, uint32_t millionths)
{
	switches = s;
	allowed = (double)millionths / 1e6;
	mode = ALL;
	closing = false;
	busy = 0;
	counted = calls = passed = gap_calls = gap_left = window = 0;
	judged = (struct moment){ 0 };
	all_first = 0;
	memset(&own, 0, sizeof(own));
}

static struct moment moment_now(void)
{
	struct moment now = { .wall_ns = clock_now_ns() };
	struct timespec cpu;

	now.cpu_ns = now.wall_ns;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
		now.cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_SEC + (uint64_t)cpu.tv_nsec;
	return now;
}

// What the program has had since BEFORE: no more than has passed, and no more than it got of CPUs.
static uint64_t between(struct moment before, struct moment now)
{
	uint64_t wall_ns = now.wall_ns - before.wall_ns, cpu_ns = now.cpu_ns - before.cpu_ns;

	return wall_ns < cpu_ns ? wall_ns : cpu_ns;
}

static bool take_turn(void)
{
	return !__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE);
}

static void give_turn(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

bool torch_thin_stop(void)
{
	for (int i = 0; i < STOP_TRIES; i++) {
		if (take_turn())
			return true;
		sched_yield();
	}
	return false;
}

void torch_thin_fork(void)
{
	give_turn();
}

static uint32_t get(const uint32_t *atomic)
{
	return __atomic_load_n(atomic, __ATOMIC_RELAXED);
}

static void set(uint32_t *atomic, uint32_t value)
{
	__atomic_store_n(atomic, value, __ATOMIC_RELAXED);
}

static uint32_t add(uint32_t *atomic, uint32_t value)
{
	return __atomic_add_fetch(atomic, value, __ATOMIC_RELAXED);
}

bool torch_thin_is_wanted(void)
{
	return get(&mode) != ALL;
}

// The share of OPS, which took NS, that may be recorded.
static double share_of(uint64_t ops, uint64_t ns)
{
	return ops ? allowed * (double)ns / ((double)ops * TORCH_OP_NS) : 1;
}

static uint32_t calls_for(double share)
{
	double gap = share > 0 ? OP_WINDOW_OPS * (1 / share - 1) : 1e9;
	double wanted = gap / OP_SCOUT_OPS;

	return wanted < 1 ? 1 : wanted > GAP_CALLS ? GAP_CALLS : (uint32_t)(wanted + 0.5);
}

// From 0 to 1: xorshift64*.
static double random_share(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (double)(random_state * UINT64_C(0x2545f4914f6cdd1d) >> 11) / 0x1p53;
}

// Where all are recorded. The first gap may have begun long before: or what comes after the last
// window would stand for nothing.
static void judge_all(struct moment now)
{
	uint32_t ops = get(&counted);

	if (all_first < TORCH_ALL_FIRST) {
		all_first += ops;
		add(&counted, -ops);
		judged = now;
		return;
	}
	if (ops < PERIOD_OPS || now.wall_ns < judged.wall_ns + PERIOD_NS)
		return;
	double share = share_of(ops, between(judged, now));
	add(&counted, -ops);
	judged = now;
	if (share >= ALL_SHARE || !switches->may_thin())
		return;
	gap_calls = calls_for(share);
	random_state = random_state ? random_state : now.wall_ns | 1;
	set(&gap_left, (uint32_t)(random_share() * gap_calls) + 1);
	__atomic_store_n(&closing, true, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void look(void)
{
	add(&counted, TORCH_LOOK_OPS);
	if (get(&mode) != ALL || !take_turn())
		return;
	if (get(&mode) == ALL)
		judge_all(moment_now());
	give_turn();
}

// Whoever is busy: all are recorded from here on.
static void go_back_to_all(struct moment now)
{
	judged = now;
	set(&counted, 0);
	set(&mode, ALL);
}

static void begin_gap(void)
{
	set(&calls, 0);
	set(&mode, GAP);
	switches->record(false);
	switches->scout(true);
}

// All were recorded.
static __attribute__((noinline)) void begin_first_gap(void)
{
	if (!take_turn())
		return;
	if (__atomic_exchange_n(&closing, false, __ATOMIC_RELAXED) && get(&mode) == ALL)
		begin_gap();
	give_turn();
}

void torch_thin_end(void)
{
	if (own.depth && --own.depth)
		return;
	if (unlikely(__atomic_load_n(&closing, __ATOMIC_RELAXED)))
		begin_first_gap();
}

void torch_thin_scout(void)
{
	bool may_thin = switches->may_thin();

	if (get(&mode) != GAP || (add(&calls, 1) < get(&gap_left) && may_thin) || !take_turn())
		return;
	if (get(&mode) == GAP) {
		set(&passed, 0);
		set(&window, window + 1);
		if (may_thin)
			set(&mode, WINDOW);
		else
			go_back_to_all(moment_now());
		switches->scout(false);
		switches->record(true);
	}
	give_turn();
}

// Whether the op at ADDRESS is no part of one that began before the edge: then none is any more.
static bool passes(struct edge *e, uint64_t address, uint32_t caller)
{
	uint32_t now = get(&window);

	if (e->window != now)
		*e = (struct edge){ .window = now };
	if (e->passed)
		return true;
	e->passed = (e->caller && caller && caller != e->caller) ||
	            (e->seen >= SKIPPED_MOST && address >= e->top);
	e->seen++;
	e->caller = caller;
	e->top = address > e->top ? address : e->top;
	return e->passed;
}

// This window is over. Whether all are recorded now.
static bool end_window(void)
{
	bool all = false;

	if (!take_turn())
		return false;
	if (get(&mode) == WINDOW) {
		struct moment now = moment_now();
		double share = share_of((uint64_t)gap_calls * OP_SCOUT_OPS + OP_WINDOW_OPS,
		                        between(judged, now));
		judged = now;
		all = share >= ALL_SHARE || !switches->may_thin();
		if (all)
			go_back_to_all(now);
		gap_calls = calls_for(share);
		set(&gap_left, gap_calls);
		own.closes = !all;
	}
	if (!own.closes)
		give_turn();
	return all;
}

void torch_thin_left_out(void)
{
	if (!own.closes)
		return;
	own.closes = false;
	begin_gap();
	give_turn();
}

static struct torch_taken take(uint32_t weight, uint32_t number)
{
	own.depth++;
	return (struct torch_taken){ weight, number };
}

static uint32_t weight(void)
{
	return (uint32_t)((1 + (double)gap_calls * OP_SCOUT_OPS / OP_WINDOW_OPS) * OP_WEIGHT_ONE);
}

static __attribute__((noinline)) struct torch_taken begin_in_window(uint64_t address,
                                                                    uint32_t caller)
{
	struct torch_taken none = { 0 };

	if (get(&mode) != WINDOW)
		return none;
	bool ends = add(&passed, 1) > OP_WINDOW_OPS && passes(&own.end, address, caller);
	if (ends && end_window())
		return take(OP_WEIGHT_ONE, 0);
	if (ends || !passes(&own.begin, address, caller))
		return none;
	return take(weight(), own.begin.window);
}

struct torch_taken torch_thin_begin(uint64_t address, uint32_t caller)
{
	if (unlikely(get(&mode) != ALL))
		return begin_in_window(address, caller);
	if (unlikely(++own.count % TORCH_LOOK_OPS == 0) && allowed > 0)
		look();
	return take(OP_WEIGHT_ONE, 0);
}
