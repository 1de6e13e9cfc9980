// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu_give.h"

#include "base/clock.h"
#include "sampler/off_cpu/ready.h"

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

void off_cpu_give_pending(struct off_cpu *o, struct thread *thread, enum metric from, uint64_t ns,
                          uint64_t now_ns, struct stack stack)
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

void off_cpu_give_ready(struct off_cpu *o, struct thread *thread, struct stack ready,
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

/* Hands on a pile whose Python frames nobody knows. */
static void give_pile(struct off_cpu *o, struct thread *thread, struct wait_pile *pile,
                      uint64_t now_ns)
{
	struct stack stack = wait_pile_take(pile, thread->number, now_ns);

	if (stack.weight_ns)
		give(o, thread, &stack);
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
	return wait_pile_begin(pile, s->python.key, &stack);
}

/* The waits at the same native stack since the last look there. */
static void hand_on_pile(struct off_cpu *o, struct thread *thread,
                         const struct off_cpu_interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct wait_pile *pile = wait_piles_find(&s->python.piles, s->python.key);

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

void off_cpu_give_interval(struct off_cpu *o, struct thread *thread,
                           const struct off_cpu_interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	// A preempted thread is known to be runnable: its time is not part of the unknown.
	uint64_t unknown_ns = s->preempted ? 0 : share_of_unknown(s, interval->off_ns);

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
	uint64_t key;

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
	for (enum metric cause = 0; cause < METRIC_COUNT; cause++)
		off_cpu_give_pending(o, thread, cause, thread->off_cpu.pending[cause].ns, now_ns,
		                     off_cpu_stack_of(thread, cause, &unknown, 1, 0));
}

void off_cpu_give_rest(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	for (int i = 0; s->python.piles.piles && i < WAIT_PILES_MAX; i++)
		give_pile(o, thread, &s->python.piles.piles[i], now_ns);
	flush_pending(o, thread, now_ns);
}
