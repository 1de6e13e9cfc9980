// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/kallsyms.h"
#include "base/stack.h"
#include "sampler/off_cpu/off_cpu_parts.h"
#include "sampler/op/op_stack.h"
#include "sampler/task/tasks.h"
#include "sampler/task/wait_piles.h"
#include "sampler/wait/kernel_map.h"
#include "sampler/wait/probe.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Time for which a thread wanted a CPU and had none, until a sample tells where it was.
//
// That is soon by the thread's own clock, but by then it may be in another op; and on a busy
// machine it waits long, so that this would be much of that op's time. What was waited in some ops
// goes with a sample in the same ones: the next, or the one before. Which ops were open is known
// exactly, as they stay so while the thread does not run.
//
//	ops       ├───── a ─────┼───── b ─────┼───── a
//	samples       s     s                     s
//	waits            1     2       3            4    1, 4: the next; 2: the one before; 3: the
//	                                                 next in b, or that it was in b is all

static struct stack take(const struct thread *thread, struct wait_pile *pile, uint64_t now_ns)
{
	return pile ? wait_pile_take(pile, thread->number, now_ns) : (struct stack){ 0 };
}

static bool begin(struct thread *thread, struct wait_pile *pile, uint64_t key,
                  const struct stack *wait)
{
	struct frame frames[STACK_MAX_FRAMES] = { { MARK_UNKNOWN, 0, FRAME_MARK } };
	struct stack stack = *wait;

	stack.count = 1 + (uint32_t)op_stack_list(&thread->ops, frames + 1, STACK_MAX_FRAMES - 1);
	stack.frames = frames;
	return wait_pile_begin(pile, key, &stack);
}

// What has to make room before the next ready_keep(), with the ops that are all that is known of
// it. It weighs nothing if that is nothing, as what all these functions return.
static struct stack ready_make_room(struct thread *thread, uint64_t now_ns)
{
	struct wait_piles *piles = &thread->off_cpu.ready;
	struct wait_pile *pile = wait_piles_find(piles, op_stack_key(&thread->ops));
	bool there = pile || !(pile = wait_piles_room(piles)) || !pile->ns;

	return take(thread, there ? NULL : pile, now_ns);
}

// THREAD, which has not run since, wanted a CPU from START_NS on for NS. False if there is no
// memory for it.
static bool ready_keep(struct thread *thread, uint64_t start_ns, uint64_t ns)
{
	struct wait_piles *piles = &thread->off_cpu.ready;
	uint64_t key = op_stack_key(&thread->ops);
	struct wait_pile *pile = wait_piles_find(piles, key);
	struct stack stack = { .metric = METRIC_OFF_RUNNABLE,
		               .time_ns = start_ns,
		               .weight_ns = ns };

	if (!pile) {
		pile = wait_piles_room(piles);
		return pile && begin(thread, pile, key, &stack);
	}
	wait_pile_add(pile, &stack);
	return true;
}

// What THREAD has waited in the ops of KEY (op_stack_key()) by NOW_NS, for its taker to give it a
// better stack than the ops alone.
static struct stack ready_take(struct thread *thread, uint64_t key, uint64_t now_ns)
{
	return take(thread, wait_piles_find(&thread->off_cpu.ready, key), now_ns);
}

// The same for any ops, of what is left at the end; *KEY is theirs.
static struct stack ready_take_any(struct thread *thread, uint64_t now_ns, uint64_t *key)
{
	struct wait_pile *pile = thread->off_cpu.ready.piles;

	for (int i = 0; pile && i < WAIT_PILES_MAX; i++, pile++) {
		if (!pile->ns)
			continue;
		*key = pile->key;
		return take(thread, pile, now_ns);
	}
	return (struct stack){ 0 };
}

// To which stacks off-CPU time goes, once it is known how much there was.
//
//	interval ──┬─ has a stack ───────── handed on, with what is pending that it stands for
//	           ├─ waits for Python's ── piled up by its native stack until a look tells
//	           ├─ preempted ─────────── kept for a sample in the same ops (ready_keep())
//	           └─ has none ──────────── pending, under its cause

/* An off-CPU interval that has ended. */
struct off_cpu_interval {
	uint64_t start_ns, off_ns;
	enum metric cause;
	bool has_frames; /* those of THREAD's state */
	bool has_python; /* a look has added Python's frames to a sample's */
};

// Pending time of unknown intervals settles at a fraction of this.
#define PILE_NS (100 * NS_PER_MS)

// Short waits of Python code go without their Python frames if no look has met one for so long.
#define PILE_AGE_NS (2 * NS_PER_SEC)

static void add_pending(struct off_cpu_state *s, const struct off_cpu_interval *interval)
{
	struct pending *p = &s->pending[interval->cause];

	if (!p->ns)
		p->since_ns = interval->start_ns;
	p->ns += interval->off_ns;
}

/* Takes NS out, the oldest first, and tells how long a span it came from: it is taken to lie evenly
   in its time. */
static uint64_t cut_pending(struct pending *p, uint64_t ns, uint64_t now_ns)
{
	uint64_t span_ns = now_ns > p->since_ns ? now_ns - p->since_ns : 0;
	uint64_t cut_ns = (uint64_t)((double)span_ns * ((double)ns / (double)p->ns));

	p->ns -= ns;
	p->since_ns += cut_ns;
	return cut_ns;
}

static void give(struct off_cpu *o, struct thread *thread, const struct stack *stack)
{
	const struct frame *leaf = stack->frames;

	if (stack->count && leaf->kind == FRAME_MARK && leaf->address == MARK_GIL)
		thread->gil_waited_ns += stack->weight_ns;
	o->stack(o->context, stack);
}

// Hands on NS of what is pending for FROM as STACK, whose frames and flags are set.
static void off_cpu_give_pending(struct off_cpu *o, struct thread *thread, enum metric from,
                                 uint64_t ns, uint64_t now_ns, struct stack stack)
{
	struct pending *p = &thread->off_cpu.pending[from];

	if (!ns)
		return;
	stack.time_ns = p->since_ns;
	stack.duration_ns = cut_pending(p, ns, now_ns);
	stack.weight_ns = ns;
	stack.samples = 0;
	thread->ns[from] -= ns;
	thread->ns[stack.metric] += ns;
	give(o, thread, &stack);
}

/* The cause of NS of unknown intervals is known now, but no stack yet. */
static void explain_pending(struct thread *thread, enum metric cause, uint64_t ns, uint64_t now_ns)
{
	struct pending *from = &thread->off_cpu.pending[METRIC_OFF_OTHER];
	struct off_cpu_interval part = { from->since_ns, ns, cause, false, false };

	if (!ns)
		return;
	cut_pending(from, ns, now_ns);
	add_pending(&thread->off_cpu, &part);
	thread->ns[METRIC_OFF_OTHER] -= ns;
	thread->ns[cause] += ns;
}

/*
 * How much time of unknown intervals an interval of LENGTH stands for, itself
 * left out. Looks come at times that have nothing to do with what the thread
 * does, so one falls into an interval with odds of its length, less that of the
 * look, to the time between looks. An interval that is longer is always met,
 * and stands for itself alone. Samples of switches stand for nothing else:
 * which switch the kernel samples depends on how long the thread waited before.
 */
static double stands_for(const struct off_cpu_state *s, uint64_t length_ns)
{
	uint64_t look_ns = s->seen_until_ns - s->seen_from_ns;
	uint64_t room_ns = max_ns(length_ns - min_ns(look_ns, length_ns), length_ns / 8 + 1);

	if (s->seen != SEEN_BY_LOOK || s->stands_for_ns <= room_ns)
		return 0;
	return (double)length_ns * ((double)s->stands_for_ns / (double)room_ns - 1);
}

/* The more has piled up, by chance, the more of it goes with each. */
static uint64_t share_of_unknown(const struct off_cpu_state *s, uint64_t length_ns)
{
	uint64_t pending_ns = s->pending[METRIC_OFF_OTHER].ns;
	double share = stands_for(s, length_ns) * (1 + (double)pending_ns / (double)PILE_NS);

	return share < (double)pending_ns ? (uint64_t)share : pending_ns;
}

// A stack has shown where the thread was in the ops of KEY: READY is what it has waited there.
static void off_cpu_give_ready(struct off_cpu *o, struct thread *thread, struct stack ready,
                               const struct frame *frames, size_t count, uint32_t flags)
{
	if (!ready.weight_ns)
		return;
	ready.frames = frames;
	ready.count = (uint32_t)count;
	ready.flags = flags;
	give(o, thread, &ready);
}

/* Hands on an interval that has a stack, and what that stands for. */
static void hand_on_one(struct off_cpu *o, struct thread *thread,
                        const struct off_cpu_interval *interval, uint64_t unknown_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct stack stack = off_cpu_stack_of(thread, interval->cause, s->frames, s->frame_count,
	                                      s->frame_flags);
	uint64_t end_ns = interval->start_ns + interval->off_ns;

	stack.time_ns = interval->start_ns;
	stack.duration_ns = stack.weight_ns = interval->off_ns;
	stack.samples = 1;
	give(o, thread, &stack);
	if (interval->cause == METRIC_OFF_RUNNABLE)
		off_cpu_give_ready(o, thread,
		                   ready_take(thread, op_stack_key(&thread->ops), end_ns),
		                   s->frames, s->frame_count, s->frame_flags);
	if (interval->cause != METRIC_OFF_OTHER)
		off_cpu_give_pending(o, thread, interval->cause, s->pending[interval->cause].ns,
		                     end_ns, stack);
	off_cpu_give_pending(o, thread, METRIC_OFF_OTHER, unknown_ns, end_ns, stack);
}

/* Hands on a pile whose Python frames are not known. */
static void give_pile(struct off_cpu *o, struct thread *thread, struct wait_pile *pile,
                      uint64_t now_ns)
{
	struct stack stack = wait_pile_take(pile, thread->number, now_ns);

	if (stack.weight_ns)
		give(o, thread, &stack);
}

/* The same of a pile whose waits were all in FRAMES, Python's among them. */
static void give_pile_in(struct off_cpu *o, struct thread *thread, struct wait_pile *pile,
                         const struct frame *frames, size_t count, uint64_t now_ns)
{
	struct stack stack = wait_pile_take(pile, thread->number, now_ns);
	size_t mark = stack.count && stack.frames[0].kind == FRAME_MARK; // it waited for the GIL

	count = count + mark < STACK_MAX_FRAMES ? count : STACK_MAX_FRAMES - mark;
	if (mark)
		o->frames[0] = stack.frames[0];
	memcpy(o->frames + mark, frames, count * sizeof(*frames));
	stack.frames = o->frames;
	stack.count = (uint32_t)(count + mark);
	give(o, thread, &stack);
}

void off_cpu_seen(struct off_cpu *o, struct thread *thread, uint64_t place,
                  const struct frame *frames, size_t count, uint64_t time_ns)
{
	struct wait_piles *piles = &thread->off_cpu.python.piles;

	if (!o->options.switch_samples || !piles->piles)
		return;
	uint64_t since_ns = wait_piles_see(piles, place, time_ns, frames, (uint32_t)count);
	for (int i = 0; since_ns < time_ns && i < WAIT_PILES_MAX; i++) {
		struct wait_pile *pile = &piles->piles[i];
		if (!pile->ns || pile->place != place)
			continue;
		if (pile->since_ns >= since_ns)
			give_pile_in(o, thread, pile, frames, count, time_ns);
		else // the first of them are older than what is known; the next pile will not be
			give_pile(o, thread, pile, time_ns);
	}
}

/* Keeps an interval for a look to tell where in Python it was. False: it is to be handed on. */
static bool pile_up(struct off_cpu *o, struct thread *thread,
                    const struct off_cpu_interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct wait_pile *pile = wait_piles_find(&s->python.piles, s->python.key);
	uint64_t end_ns = interval->start_ns + interval->off_ns;
	struct stack stack = off_cpu_stack_of(thread, interval->cause, s->frames, s->frame_count,
	                                      s->frame_flags);

	stack.time_ns = interval->start_ns;
	stack.weight_ns = interval->off_ns;
	stack.samples = 1;
	if (pile && end_ns - pile->since_ns > PILE_AGE_NS)
		give_pile(o, thread, pile, interval->start_ns);
	else if (pile) {
		wait_pile_add(pile, &stack);
		return true;
	}
	pile = wait_piles_room(&s->python.piles);
	if (!pile)
		return false;
	give_pile(o, thread, pile, interval->start_ns);
	if (!wait_pile_begin(pile, s->python.key, &stack))
		return false;
	pile->place = s->python.place;
	return true;
}

/* The waits at the same native stack since the last look there. */
static void hand_on_pile(struct off_cpu *o, struct thread *thread,
                         const struct off_cpu_interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct wait_pile *pile = wait_piles_find(&s->python.piles, s->python.key);
	size_t mark = s->frame_count && s->frames[0].kind == FRAME_MARK;

	if (s->python.place && s->python.piles.piles && s->frame_count > mark)
		wait_piles_see(&s->python.piles, s->python.place, interval->start_ns,
		               s->frames + mark, (uint32_t)(s->frame_count - mark));
	if (!pile)
		return;
	struct stack stack = wait_pile_take(pile, thread->number, interval->start_ns);
	stack.samples = 0;
	stack.frames = s->frames;
	stack.count = s->frame_count;
	stack.flags = s->frame_flags;
	give(o, thread, &stack);
}

static void hand_on(struct off_cpu *o, struct thread *thread,
                    const struct off_cpu_interval *interval, uint64_t unknown_ns)
{
	const struct off_cpu_state *s = &thread->off_cpu;
	bool may_pile = s->seen == SEEN_BY_SAMPLE && off_cpu_wants_python(o, thread) &&
	                s->python.misses < OFF_CPU_NO_PYTHON &&
	                interval->cause != METRIC_OFF_RUNNABLE;

	if (may_pile && !interval->has_python && pile_up(o, thread, interval))
		return;
	if (may_pile && interval->has_python)
		hand_on_pile(o, thread, interval);
	hand_on_one(o, thread, interval, unknown_ns);
}

/* Keeps time of a thread that was preempted for a sample in the same ops. */
static bool keep_ready(struct off_cpu *o, struct thread *thread,
                       const struct off_cpu_interval *interval)
{
	struct stack before = ready_make_room(thread, interval->start_ns);

	if (before.weight_ns)
		give(o, thread, &before);
	return ready_keep(thread, interval->start_ns, interval->off_ns);
}

/* The wait that is under way lies within a call that its thread has reported. */
static bool is_in_call(const struct off_cpu_state *s)
{
	return s->out && s->call_ns && s->call_ns <= s->since_ns && s->call != METRIC_OFF_OTHER;
}

/* Where switches are estimates: most of the wait that ends at END_NS was in a call for a child that
   is over by now, as the wait is reported after the call. */
static bool was_in_call(const struct off_cpu *o, const struct off_cpu_state *s, uint64_t end_ns)
{
	if (!o->options.estimated || !s->out || s->called != METRIC_OFF_CHILD || !s->call_ns)
		return false;
	uint64_t from_ns = s->call_ns > s->since_ns ? s->call_ns : s->since_ns;
	uint64_t to_ns = s->returned_ns ? min_ns(s->returned_ns, end_ns) : end_ns;
	return to_ns > from_ns && 2 * (to_ns - from_ns) > end_ns - s->since_ns;
}

/* Its thread has reported the wait that is under way. */
static bool is_reported(const struct off_cpu_state *s)
{
	return s->out && s->reported != METRIC_ON_CPU;
}

// Adds it to thread->ns, and hands it on or keeps it.
static void off_cpu_give_interval(struct off_cpu *o, struct thread *thread,
                                  const struct off_cpu_interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	// A preempted thread is known to be runnable, and one that has reported its call to be in
	// that: their times are not part of the unknown.
	bool known = s->preempted || is_in_call(s) || is_reported(s);
	uint64_t unknown_ns = known ? 0 : share_of_unknown(s, interval->off_ns);

	thread->ns[interval->cause] += interval->off_ns;
	if (interval->has_frames) {
		hand_on(o, thread, interval, unknown_ns);
		return;
	}
	if (interval->cause == METRIC_OFF_RUNNABLE && s->preempted &&
	    keep_ready(o, thread, interval))
		return;
	add_pending(s, interval);
	if (interval->cause != METRIC_OFF_OTHER)
		explain_pending(thread, interval->cause, unknown_ns,
		                interval->start_ns + interval->off_ns);
}

/* STACK is the best that is known where no ops are. */
static void flush_ready(struct off_cpu *o, struct thread *thread, const struct stack *stack,
                        uint64_t now_ns)
{
	bool sampled = thread->cpu.last.count > 0;
	struct stack ready;
	uint64_t key = 0;

	while ((ready = ready_take_any(thread, now_ns, &key)).weight_ns) {
		bool known = sampled ? key == thread->off_cpu.sample_key : !key;
		if (known && (sampled || !thread->cpu.sample_ns))
			off_cpu_give_ready(o, thread, ready, stack->frames, stack->count,
			                   stack->flags);
		else
			give(o, thread, &ready);
	}
}

/* Hands on what never found a stack. */
static void flush_pending(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	static const struct frame unknown = { MARK_UNKNOWN, 0, FRAME_MARK };
	const struct frame brief[] = { { MARK_SHORT, thread->process->program, FRAME_MARK },
		                       thread->start };
	const struct cpu_account *cpu = &thread->cpu;
	struct stack stack = off_cpu_stack_of(thread, METRIC_OFF_RUNNABLE, brief,
	                                      thread->start.address ? 2 : 1, 0);

	// It waited for a CPU where it had run and would have run on, or at its very start.
	if (cpu->last.count)
		stack = off_cpu_stack_of(thread, METRIC_OFF_RUNNABLE, cpu->last.frames,
		                         cpu->last.count, cpu->last.flags);
	if (cpu->last.count || !cpu->sample_ns)
		off_cpu_give_pending(o, thread, METRIC_OFF_RUNNABLE,
		                     thread->off_cpu.pending[METRIC_OFF_RUNNABLE].ns, now_ns,
		                     stack);
	flush_ready(o, thread, &stack, now_ns);
	if (thread->off_cpu.call_ns) {
		enum metric called = thread->off_cpu.called;
		off_cpu_give_pending(
			o, thread, called, thread->off_cpu.pending[called].ns, now_ns,
			off_cpu_stack_of(thread, called, thread->off_cpu.call_frames, 2, 0));
	}
	for (enum metric cause = 0; cause < METRIC_COUNT; cause++)
		off_cpu_give_pending(o, thread, cause, thread->off_cpu.pending[cause].ns, now_ns,
		                     off_cpu_stack_of(thread, cause, &unknown, 1, 0));
}

// The thread ends: hands on all that is kept.
static void off_cpu_give_rest(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	for (int i = 0; s->python.piles.piles && i < WAIT_PILES_MAX; i++)
		give_pile(o, thread, &s->python.piles.piles[i], now_ns);
	flush_pending(o, thread, now_ns);
}

#define PROBE_AFTER_DEFAULT_NS (5 * NS_PER_MS)
#define PROBE_STACK_BYTES      ((size_t)32 << 10)

static uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct off_cpu *off_cpu_new(const struct off_cpu_options *options, struct modules *modules,
                            struct unwinder *unwinder,
                            void (*stack)(void *context, const struct stack *stack), void *context,
                            struct error *err)
{
	struct off_cpu *o = calloc(1, sizeof(*o));

	(void)modules;
	if (!o) {
		error_set(err, errno, "could not start following blocked threads");
		return NULL;
	}
	o->options = *options;
	if (!o->options.probe_after_ns)
		o->options.probe_after_ns = PROBE_AFTER_DEFAULT_NS;
	if (!o->options.cost_ns)
		o->options.cost_ns = thread_cpu_ns;
	if (!o->options.kallsyms)
		o->options.kallsyms = KALLSYMS_PATH;
	o->unwinder = unwinder;
	o->stack = stack;
	o->context = context;
	o->probe = probe_new(PROBE_STACK_BYTES, NULL);
	return o;
}

void off_cpu_free(struct off_cpu *o)
{
	if (!o)
		return;
	probe_free(o->probe);
	kernel_map_free(o->kernel_map);
	off_cpu_python_free(o->python);
	free(o->queue);
	free(o);
}

/* What a look has added to a sample, if it was in this interval. */
static bool take_python(struct off_cpu_state *s, uint64_t end_ns)
{
	struct frame *frames = s->frames;
	size_t capacity = s->frame_capacity;

	if (!s->python.count || s->seen != SEEN_BY_SAMPLE || s->python.from_ns < s->since_ns ||
	    s->python.until_ns > end_ns)
		return false;
	s->has_frames = true;
	s->frames = s->python.frames;
	s->frame_capacity = s->python.capacity;
	s->frame_count = s->python.count;
	s->frame_flags = s->python.flags;
	s->python.frames = frames;
	s->python.capacity = capacity;
	return true;
}

/* By whatever means CUDA has the thread sleep until its GPU is done. */
static bool waits_for_gpu(const struct thread *thread, enum metric cause)
{
	bool sleeps = cause == METRIC_OFF_LOCK || cause == METRIC_OFF_NET ||
	              cause == METRIC_OFF_PIPE || cause == METRIC_OFF_FILE ||
	              cause == METRIC_OFF_SLEEP || cause == METRIC_OFF_OTHER;

	return sleeps && op_stack_waits(&thread->ops);
}

/* The interval that ends now, OFF_NS of it off the CPU. Returns its cause. */
static enum metric end_interval(struct off_cpu *o, struct thread *thread, uint64_t end_ns,
                                uint64_t off_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	bool matches = s->seen != SEEN_NOTHING && s->seen_from_ns >= s->since_ns &&
	               s->seen_until_ns <= end_ns;
	struct off_cpu_interval interval = { s->since_ns, off_ns, METRIC_OFF_OTHER, false, false };

	if (matches) {
		interval.has_python = take_python(s, end_ns);
		interval.cause = waits_for_gpu(thread, s->cause) ? METRIC_OFF_GPU : s->cause;
		interval.has_frames = s->has_frames;
	}
	if (interval.cause == METRIC_OFF_OTHER && is_in_call(s))
		interval.cause = s->call;
	if (interval.cause == METRIC_OFF_OTHER && !is_reported(s) && was_in_call(o, s, end_ns))
		s->reported = s->called;
	if (interval.cause == METRIC_OFF_OTHER && is_reported(s))
		interval.cause = s->reported;
	if (s->out && s->preempted) {
		interval.cause = METRIC_OFF_RUNNABLE;
		// Where it was preempted its own samples tell better: they have Python's frames.
		interval.has_frames &= !thread->process->python.samples &&
		                       !(o->options.reads_python && off_cpu_python_may(thread));
	}
	if (off_ns)
		off_cpu_give_interval(o, thread, &interval);
	// A look may be ahead of the records: it then belongs to an interval still to come.
	if (s->seen_from_ns <= end_ns)
		s->seen = SEEN_NOTHING;
	if (s->python.from_ns <= end_ns)
		s->python.count = 0;
	return interval.cause;
}

static void tell_span(const struct off_cpu *o, struct span_event span, enum thread_state next)
{
	span.next = next;
	span.estimated = o->options.estimated;
	if (o->options.span)
		o->options.span(o->context, &span);
}

// The kernel may wake a thread that is still on its way off the CPU: by so much before its record.
#define WOKEN_EARLY_NS (50 * NS_PER_US)

/* OFF is a wait from FROM_NS to TO_NS. What woke the thread before it last got a CPU ended the wait
   before that, however short the time between the two. */
static void add_waker(const struct off_cpu_state *s, struct span_event *off, uint64_t from_ns,
                      uint64_t to_ns)
{
	bool before = s->in_ns < from_ns && s->woken_ns <= s->in_ns;

	if (!s->out || before || s->woken_ns > to_ns || s->woken_ns + WOKEN_EARLY_NS < from_ns)
		return;
	off->woken_ns = max_ns(s->woken_ns, from_ns);
	off->waker = s->waker;
	off->woken_by = s->woken_by;
}

/* The present state, of which ON_NS were on the CPU, ends at END_NS. */
static void tell_state(const struct off_cpu *o, const struct thread *thread, uint64_t end_ns,
                       uint64_t on_ns, enum metric cause, enum thread_state next)
{
	const struct off_cpu_state *s = &thread->off_cpu;
	struct span_event on = { .thread = thread->number, .state = THREAD_RUNS };
	struct span_event off = { .thread = thread->number,
		                  .state = THREAD_BLOCKED,
		                  .cause = cause };

	if (cause == METRIC_OFF_RUNNABLE)
		off.state = THREAD_READY;
	else
		add_waker(s, &off, s->since_ns, end_ns);
	// Where a record was lost, it was what it is known to have been first, and then the other.
	if (s->out) {
		off.from_ns = s->since_ns;
		off.to_ns = on.from_ns = end_ns - on_ns;
		on.to_ns = end_ns;
		tell_span(o, off, on_ns ? THREAD_RUNS : next);
		if (on_ns)
			tell_span(o, on, next);
		return;
	}
	on.from_ns = s->since_ns;
	on.to_ns = off.from_ns = s->since_ns + on_ns;
	off.to_ns = end_ns;
	tell_span(o, on, off.to_ns > off.from_ns ? off.state : next);
	if (off.to_ns > off.from_ns)
		tell_span(o, off, next);
}

// An estimate of a wait does not lie where the wait was, but nearby.
#define NEARBY_NS (20 * NS_PER_MS)

// Where switches are estimates, a wait does not lie within the call that was reported: as much of
// it as there was time in such calls is theirs. Nothing, if a look tells the same.
static void give_called(struct off_cpu *o, struct thread *thread, uint64_t end_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct span_event span = { .thread = thread->number,
		                   .from_ns = s->since_ns,
		                   .state = THREAD_BLOCKED,
		                   .cause = s->called,
		                   .next = THREAD_BLOCKED,
		                   .estimated = true };
	uint64_t ns = min_ns(s->called_ns, end_ns - s->since_ns);
	struct off_cpu_interval interval = { s->since_ns, ns, s->called, false, false };

	if (!s->out || s->preempted || !ns || is_reported(s))
		return;
	if (s->since_ns > s->called_until_ns + NEARBY_NS) {
		s->called_ns = 0;
		return;
	}
	s->called_ns -= ns;
	if (s->seen != SEEN_NOTHING && s->cause == s->called && s->seen_from_ns >= s->since_ns)
		return;
	thread->ns[s->called] += ns;
	add_pending(s, &interval);
	s->since_ns = span.to_ns = s->since_ns + ns;
	if (o->options.span)
		o->options.span(o->context, &span);
}

/* The present state ends; NEXT is another one, or THREAD_GONE: the same goes on no longer. */
static void end_state(struct off_cpu *o, struct thread *thread, uint64_t end_ns,
                      enum thread_state next)
{
	struct off_cpu_state *s = &thread->off_cpu;
	if (s->called_ns)
		give_called(o, thread, end_ns);
	uint64_t length_ns = end_ns - s->since_ns, on_ns = s->out ? 0 : length_ns;
	bool next_in = next == THREAD_GONE ? s->out : next == THREAD_RUNS;
	enum metric cause = METRIC_OFF_RUNNABLE;

	if (next_in != s->out) // a record was lost, so it was both
		on_ns = min_ns(length_ns, thread->sampled_ns - s->sampled_ns);
	thread->ns[METRIC_ON_CPU] += on_ns;
	if (s->out || next_in)
		cause = end_interval(o, thread, end_ns, length_ns - on_ns);
	tell_state(o, thread, end_ns, on_ns, cause, next);
}

/* In the records of a thread that began to be followed while it ran, the first one is OUT. */
static void correct_beginning(struct off_cpu_state *s, bool was_running)
{
	if (!s->switched && was_running)
		s->out = s->preempted = false;
	s->switched = true;
}

void off_cpu_begin(struct off_cpu *o, struct thread *thread, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	(void)o;
	if (s->begun)
		return;
	s->begun = s->out = s->preempted = true;
	s->since_ns = time_ns;
	s->sampled_ns = thread->sampled_ns;
}

void off_cpu_found(struct off_cpu *o, struct thread *thread, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (o->options.estimated || (s->begun && (s->out || s->since_ns != time_ns)))
		return; // its records say more, or are none of switches
	off_cpu_begin(o, thread, time_ns);
	s->found = true;
	s->out = s->preempted = false;
	s->switched = true;
}

// Who was found, and comes in, has waited for a CPU since, if it was not sampled on one: an OUT
// would be missing else.
static void correct_found(const struct thread *thread, struct off_cpu_state *s, bool in)
{
	if (s->found && in && !s->out && thread->sampled_ns == s->sampled_ns)
		s->out = s->preempted = true;
	s->found = false;
}

/* The second of two reports of one switch out: the sample was the first. */
static bool is_known_switch(const struct off_cpu_state *s, uint64_t time_ns)
{
	return s->begun && s->out && s->switched && s->seen == SEEN_BY_SAMPLE &&
	       time_ns - s->since_ns < OFF_CPU_SAME_SWITCH_NS;
}

void off_cpu_switch(struct off_cpu *o, struct thread *thread, uint64_t time_ns, bool in,
                    bool preempted)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (!in && is_known_switch(s, time_ns)) {
		s->preempted = preempted;
		return;
	}
	off_cpu_begin(o, thread, thread->start_ns ? thread->start_ns : time_ns);
	correct_beginning(s, !in);
	correct_found(thread, s, in);
	time_ns = max_ns(time_ns, s->since_ns);
	end_state(o, thread, time_ns, in ? THREAD_RUNS : preempted ? THREAD_READY : THREAD_BLOCKED);
	s->since_ns = time_ns;
	s->in_ns = in ? time_ns : s->in_ns;
	s->sampled_ns = thread->sampled_ns;
	s->out = !in;
	s->reported = METRIC_ON_CPU;
	s->preempted = !in && preempted;
	if (s->out && s->seen == SEEN_BY_SAMPLE) // it came first, and is of this switch
		s->seen_from_ns = s->seen_until_ns = time_ns;
	if (s->out && !preempted)
		off_cpu_queue(o, thread);
}

void off_cpu_reported(struct off_cpu *o, struct thread *thread, enum metric cause)
{
	(void)o;
	thread->off_cpu.reported = cause;
}

void off_cpu_woken(struct off_cpu *o, struct thread *thread, uint64_t time_ns, uint32_t waker,
                   enum woken_by by)
{
	struct off_cpu_state *s = &thread->off_cpu;

	(void)o;
	s->woken_ns = time_ns;
	s->waker = waker;
	s->woken_by = by;
}

void off_cpu_call(struct off_cpu *o, struct thread *thread, enum metric cause,
                  const struct frame frames[2], uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	(void)o;
	s->call = s->called = cause;
	s->call_ns = time_ns;
	s->returned_ns = 0;
	s->call_frames[0] = frames[0];
	s->call_frames[1] = frames[1];
}

void off_cpu_returned(struct off_cpu *o, struct thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	s->call = METRIC_OFF_OTHER;
	s->returned_ns = end_ns;
	// Who estimates lays waits for children where they were.
	if (!o->options.estimated || s->called == METRIC_OFF_CHILD)
		return;
	s->called_ns += end_ns - min_ns(begin_ns, end_ns);
	s->called_until_ns = end_ns;
}

void off_cpu_running(struct off_cpu *o, struct thread *thread, const struct frame *frames,
                     size_t count, uint32_t flags, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	const struct kept_stack *last = &thread->cpu.last;

	if (s->begun && s->out && s->switched) // the record of its coming in was lost
		off_cpu_switch(o, thread, time_ns, true, false);
	off_cpu_give_pending(o, thread, METRIC_OFF_RUNNABLE, s->pending[METRIC_OFF_RUNNABLE].ns,
	                     time_ns,
	                     off_cpu_stack_of(thread, METRIC_OFF_RUNNABLE, frames, count, flags));
	uint64_t key = op_stack_key(&thread->ops);
	off_cpu_give_ready(o, thread, ready_take(thread, key, time_ns), frames, count, flags);
	if (s->sample_key != key && last->count)
		off_cpu_give_ready(o, thread, ready_take(thread, s->sample_key, time_ns),
		                   last->frames, last->count, last->flags);
	s->sample_key = key;
}

void off_cpu_end(struct off_cpu *o, struct thread *thread, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (s->begun) {
		correct_beginning(s, true);
		end_state(o, thread, max_ns(time_ns, s->since_ns), THREAD_GONE);
	}
	off_cpu_give_rest(o, thread, time_ns);
	s->begun = s->queued = false;
}

uint64_t off_cpu_probes(const struct off_cpu *o)
{
	return o->looks;
}
