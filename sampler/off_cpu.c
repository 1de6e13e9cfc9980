// SPDX-License-Identifier: MIT
#include "sampler/off_cpu.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/kallsyms.h"
#include "sampler/kernel_map.h"
#include "sampler/off_cpu_python.h"
#include "sampler/probe.h"
#include "sampler/ready.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_AFTER_DEFAULT_NS (5 * NS_PER_MS)
#define PROBE_STACK_BYTES      ((size_t)32 << 10)

// Looking costs at most 1/200 of a core: some 8 µs each, so some 600 a second.
#define PASS_LOOKS_MAX  64
#define PASS_COST_SHARE 200

// After this many passes in which no thread blocked unseen the collector sleeps longer, but not so
// long without samples of switches that it learns of a wait only when that is over.
#define QUIET_PASSES     20
#define QUIET_TIMEOUT_MS 20

// A sample and a record that are no further apart than this are of the same switch.
#define SAME_SWITCH_NS NS_PER_MS

// Pending time of unknown intervals settles at a fraction of this.
#define PILE_NS (100 * NS_PER_MS)

// A thread runs no Python if so many looks in a row have found none.
#define NO_PYTHON 2

// The most that a look at a GIL stands for.
#define GIL_STEP_NS (200 * NS_PER_MS)

// Short waits of Python code go without their Python frames if no look has met one for so long.
#define PILE_AGE_NS (2 * NS_PER_SEC)

struct waiter {
	uint32_t pid, tid;
};

struct off_cpu {
	struct off_cpu_options options;
	struct unwinder *unwinder;
	void (*stack)(void *context, const struct stack *stack);
	void *context;

	struct probe *probe; /* NULL: there is no /proc */
	struct kernel_map *kernel_map;
	bool kernel_map_tried;
	struct off_cpu_python *python; /* NULL: no process has needed it yet */

	struct waiter *queue; /* threads to look at, longest waiting first */
	size_t queue_count, queue_capacity;
	uint64_t pass_ns;      /* when threads were last looked at, */
	uint64_t next_pass_ns; /* and will be again */
	unsigned quiet;        /* passes since a thread last blocked unseen */
	uint32_t dither;
	uint64_t looks;

	struct frame frames[STACK_MAX_FRAMES];
	uint64_t key; /* of the last native stack, where there may be Python */
};

/* An off-CPU interval that has ended. */
struct interval {
	uint64_t start_ns, off_ns;
	enum metric cause;
	bool has_frames;
	bool has_python; /* a look has added Python's frames to a sample's */
};

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

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Pending time */

static void add_pending(struct off_cpu_state *s, const struct interval *interval)
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

/* Hands on NS of what is pending for FROM as STACK, whose frames and flags are set. */
static void take_pending(struct off_cpu *o, struct thread *thread, enum metric from, uint64_t ns,
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
	struct interval part = { from->since_ns, ns, cause, false, false };

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

/* Intervals */

static struct stack stack_of(const struct thread *thread, enum metric metric,
                             const struct frame *frames, size_t count, uint32_t flags)
{
	return (struct stack){ .thread = thread->number,
		               .metric = metric,
		               .frames = frames,
		               .count = (uint32_t)count,
		               .flags = flags };
}

/* Samples of switches do not tell where in Python. */
static bool wants_python(const struct off_cpu *o, const struct thread *thread)
{
	return o->options.codes && o->probe && off_cpu_python_may(thread);
}

/* A stack has shown where the thread was in the ops of KEY: READY is what it has waited there. */
static void give_ready(struct off_cpu *o, struct thread *thread, struct stack ready,
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
static void hand_on_one(struct off_cpu *o, struct thread *thread, const struct interval *interval,
                        uint64_t unknown_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct stack stack =
		stack_of(thread, interval->cause, s->frames, s->frame_count, s->frame_flags);
	uint64_t end_ns = interval->start_ns + interval->off_ns;

	stack.time_ns = interval->start_ns;
	stack.duration_ns = stack.weight_ns = interval->off_ns;
	stack.samples = 1;
	give(o, thread, &stack);
	if (interval->cause == METRIC_OFF_RUNNABLE)
		give_ready(o, thread, ready_take(thread, op_stack_key(&thread->ops), end_ns),
		           s->frames, s->frame_count, s->frame_flags);
	if (interval->cause != METRIC_OFF_OTHER)
		take_pending(o, thread, interval->cause, s->pending[interval->cause].ns, end_ns,
		             stack);
	take_pending(o, thread, METRIC_OFF_OTHER, unknown_ns, end_ns, stack);
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
static bool pile_up(struct off_cpu *o, struct thread *thread, const struct interval *interval)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct wait_pile *pile = wait_piles_find(&s->python.piles, s->python.key);
	uint64_t end_ns = interval->start_ns + interval->off_ns;
	struct stack stack =
		stack_of(thread, interval->cause, s->frames, s->frame_count, s->frame_flags);

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
static void hand_on_pile(struct off_cpu *o, struct thread *thread, const struct interval *interval)
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

static void hand_on(struct off_cpu *o, struct thread *thread, const struct interval *interval,
                    uint64_t unknown_ns)
{
	const struct off_cpu_state *s = &thread->off_cpu;
	bool may_pile = s->seen == SEEN_BY_SAMPLE && wants_python(o, thread) &&
	                s->python.misses < NO_PYTHON && interval->cause != METRIC_OFF_RUNNABLE;

	if (may_pile && !interval->has_python && pile_up(o, thread, interval))
		return;
	if (may_pile && interval->has_python)
		hand_on_pile(o, thread, interval);
	hand_on_one(o, thread, interval, unknown_ns);
}

/* Keeps time of a thread that was preempted for a sample in the same ops. */
static bool keep_ready(struct off_cpu *o, struct thread *thread, const struct interval *interval)
{
	struct stack before = ready_make_room(thread, interval->start_ns);

	if (before.weight_ns)
		give(o, thread, &before);
	return ready_keep(thread, interval->start_ns, interval->off_ns);
}

static void account_interval(struct off_cpu *o, struct thread *thread,
                             const struct interval *interval)
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

/* The interval that ends now, OFF_NS of it off the CPU. */
static void end_interval(struct off_cpu *o, struct thread *thread, uint64_t end_ns, uint64_t off_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	bool matches = s->seen != SEEN_NOTHING && s->seen_from_ns >= s->since_ns &&
	               s->seen_until_ns <= end_ns;
	struct interval interval = { s->since_ns, off_ns, METRIC_OFF_OTHER, false, false };

	if (matches) {
		interval.has_python = take_python(s, end_ns);
		interval.cause = waits_for_gpu(thread, s->cause) ? METRIC_OFF_GPU : s->cause;
		interval.has_frames = s->has_frames;
	}
	if (s->out && s->preempted) {
		interval.cause = METRIC_OFF_RUNNABLE;
		// Where it was preempted its own samples tell better: they have Python's frames.
		interval.has_frames &= !thread->process->python.samples;
	}
	if (off_ns)
		account_interval(o, thread, &interval);
	// A look may be ahead of the records: it then belongs to an interval still to come.
	if (s->seen_from_ns <= end_ns)
		s->seen = SEEN_NOTHING;
	if (s->python.from_ns <= end_ns)
		s->python.count = 0;
}

/* The present state ends. NEXT_IN: another one in which it is on the CPU, else off it, begins. */
static void end_state(struct off_cpu *o, struct thread *thread, uint64_t end_ns, bool next_in)
{
	struct off_cpu_state *s = &thread->off_cpu;
	uint64_t length_ns = end_ns - s->since_ns, on_ns = s->out ? 0 : length_ns;

	if (next_in != s->out) // a record was lost, so it was both
		on_ns = min_ns(length_ns, thread->sampled_ns - s->sampled_ns);
	thread->ns[METRIC_ON_CPU] += on_ns;
	if (s->out || next_in)
		end_interval(o, thread, end_ns, length_ns - on_ns);
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

static bool is_explained(const struct off_cpu_state *s)
{
	return s->seen == SEEN_BY_SAMPLE && s->cause != METRIC_OFF_OTHER;
}

static void queue(struct off_cpu *o, struct thread *thread)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (s->queued || !o->probe ||
	    !array_reserve(&o->queue, &o->queue_capacity, o->queue_count + 1))
		return;
	o->queue[o->queue_count++] = (struct waiter){ thread->process->pid, thread->tid };
	s->queued = true;
	// Until now it could not have been found waiting: as if every pass had looked.
	s->looked_ns = max_ns(s->looked_ns, o->pass_ns);
}

static void queue_for_a_look(struct off_cpu *o, struct thread *thread)
{
	struct off_cpu_state *s = &thread->off_cpu;
	bool looked = (s->seen == SEEN_BY_LOOK && s->seen_from_ns >= s->since_ns) ||
	              (s->python.count && s->python.from_ns >= s->since_ns);

	if (is_explained(s) && !wants_python(o, thread))
		return;
	o->quiet = 0;
	if (!looked)
		queue(o, thread);
}

void off_cpu_again(struct off_cpu *o, struct thread *thread)
{
	const struct off_cpu_state *s = &thread->off_cpu;

	if (s->begun && s->out && s->switched && !s->preempted)
		queue(o, thread);
}

/* The second of two reports of one switch out: the sample was the first. */
static bool is_known_switch(const struct off_cpu_state *s, uint64_t time_ns)
{
	return s->begun && s->out && s->switched && s->seen == SEEN_BY_SAMPLE &&
	       time_ns - s->since_ns < SAME_SWITCH_NS;
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
	time_ns = max_ns(time_ns, s->since_ns);
	end_state(o, thread, time_ns, in);
	s->since_ns = time_ns;
	s->sampled_ns = thread->sampled_ns;
	s->out = !in;
	s->preempted = !in && preempted;
	if (s->out && s->seen == SEEN_BY_SAMPLE) // it came first, and is of this switch
		s->seen_from_ns = s->seen_until_ns = time_ns;
	if (s->out && !preempted)
		queue_for_a_look(o, thread);
}

/* What was seen */

/* Keeps COUNT frames of o->frames. Without memory for them the cause is kept alone. */
static void keep(struct off_cpu *o, struct off_cpu_state *s, enum seen seen, enum metric cause,
                 size_t count, uint32_t flags)
{
	s->seen = seen;
	s->cause = cause;
	s->has_frames = count > 0 && array_reserve(&s->frames, &s->frame_capacity, count);
	if (!s->has_frames)
		return;
	memcpy(s->frames, o->frames, count * sizeof(*s->frames));
	s->frame_count = (uint32_t)count;
	s->frame_flags = flags;
}

/* What tells native stacks, and the ops in them, apart: of COUNT frames with SPS. */
static uint64_t key_of(const struct off_cpu *o, const uint64_t *sps, size_t count)
{
	uint64_t key = hash_bytes(sps, count * sizeof(*sps));

	for (size_t i = 0; i < count; i++)
		key = hash_pair(key, o->frames[i].address ^ (uint64_t)o->frames[i].module << 48);
	return key;
}

static size_t unwind(struct off_cpu *o, struct thread *thread, const struct event_sample *sample,
                     const struct python_chain *chain, uint64_t time_ns, uint32_t *flags)
{
	*flags = 0;
	if (!sample->has_user)
		return 0;
	unwinder_follow(o->unwinder, &thread->process->patches, &thread->ops);
	size_t count =
		unwinder_unwind(o->unwinder, thread->process->space, sample,
	                        (int)thread->process->pid, o->frames, STACK_MAX_FRAMES, flags);
	count = unwinder_complete(o->unwinder, &thread->last, time_ns, o->frames, count,
	                          STACK_MAX_FRAMES, flags);
	const uint64_t *sps = unwinder_stack_pointers(o->unwinder);
	if (chain)
		count = off_cpu_python_place(o->python, thread, chain, o->frames, &sps, count,
		                             STACK_MAX_FRAMES, flags);
	else if (wants_python(o, thread))
		o->key = key_of(o, sps, count);
	size_t with_ops = op_stack_place(&thread->ops, o->frames, sps, count, STACK_MAX_FRAMES);
	for (size_t i = 0; with_ops != count && i < with_ops; i++)
		if (o->frames[i].kind == FRAME_OP)
			o->key = hash_pair(o->key, o->frames[i].address);
	return with_ops;
}

/* A wait for the GIL is marked on top of its COUNT frames. Returns the new count. */
static size_t mark_gil(struct off_cpu *o, const struct thread *thread,
                       const struct event_sample *sample, enum metric cause, size_t count)
{
	if (cause != METRIC_OFF_LOCK || !count || count == STACK_MAX_FRAMES ||
	    !wants_python(o, thread) || !off_cpu_python_is_gil(thread, sample->regs[DWARF_RDI]))
		return count;
	memmove(o->frames + 1, o->frames, count * sizeof(*o->frames));
	o->frames[0] = (struct frame){ .address = MARK_GIL, .kind = FRAME_MARK };
	return count + 1;
}

static const struct kernel_map *kernel_map_of(struct off_cpu *o)
{
	const struct off_cpu_options *options = &o->options;

	if (!o->kernel_map_tried)
		o->kernel_map = options->names ? kernel_map_new(options->names, NULL)
		                               : kernel_map_open(options->kallsyms, NULL);
	o->kernel_map_tried = true;
	return o->kernel_map;
}

static enum metric cause_of_chain(struct off_cpu *o, const struct event_sample *sample)
{
	struct wait wait;

	if (!sample->kernel_count)
		return METRIC_OFF_OTHER;
	const struct kernel_map *map = kernel_map_of(o);
	if (!map) // looks will tell
		return METRIC_OFF_OTHER;
	wait = kernel_map_wait(map, sample->kernel, sample->kernel_count);
	if (!sample->has_user)
		return wait.cause;
	// A system call keeps its arguments in its caller's registers.
	return wait_with_arguments(wait, sample->regs[DWARF_RDI], sample->regs[DWARF_RSI]);
}

void off_cpu_sample(struct off_cpu *o, struct thread *thread, const struct event *event)
{
	struct off_cpu_state *s = &thread->off_cpu;
	enum metric cause = cause_of_chain(o, &event->sample);
	uint32_t flags;
	size_t count;

	off_cpu_begin(o, thread, thread->start_ns ? thread->start_ns : event->time_ns);
	// Nobody is switched out twice: the record of its running in between was lost.
	if (s->out && s->switched && event->time_ns > s->since_ns + SAME_SWITCH_NS)
		off_cpu_switch(o, thread, event->time_ns, false, false);
	count = unwind(o, thread, &event->sample, NULL, event->time_ns, &flags);
	s->python.key = hash_pair(cause, o->key);
	count = mark_gil(o, thread, &event->sample, cause, count);
	keep(o, s, SEEN_BY_SAMPLE, cause, count, flags);
	s->seen_from_ns = s->seen_until_ns = max_ns(event->time_ns, s->since_ns);
}

const struct frame *off_cpu_stack(const struct thread *thread, size_t *count, uint32_t *flags)
{
	const struct off_cpu_state *s = &thread->off_cpu;

	if (!s->out || s->seen != SEEN_BY_SAMPLE || !s->has_frames)
		return NULL;
	*count = s->frame_count;
	*flags = s->frame_flags;
	return s->frames;
}

void off_cpu_running(struct off_cpu *o, struct thread *thread, const struct frame *frames,
                     size_t count, uint32_t flags, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	const struct kept_stack *last = &thread->cpu.last;

	if (s->begun && s->out && s->switched) // the record of its coming in was lost
		off_cpu_switch(o, thread, time_ns, true, false);
	take_pending(o, thread, METRIC_OFF_RUNNABLE, s->pending[METRIC_OFF_RUNNABLE].ns, time_ns,
	             stack_of(thread, METRIC_OFF_RUNNABLE, frames, count, flags));
	uint64_t key = op_stack_key(&thread->ops);
	give_ready(o, thread, ready_take(thread, key, time_ns), frames, count, flags);
	if (s->sample_key != key && last->count)
		give_ready(o, thread, ready_take(thread, s->sample_key, time_ns), last->frames,
		           last->count, last->flags);
	s->sample_key = key;
}

/* Looks */

static void keep_look(struct off_cpu *o, struct thread *thread, enum probe_result result,
                      const struct python_chain *chain, const struct probe_view *view)
{
	struct off_cpu_state *s = &thread->off_cpu;
	enum metric cause = view->cause;
	uint32_t flags = 0;
	size_t count = 0;

	// If the records will show that it was off the CPU at that time, then it had been woken
	// and waited for a CPU.
	if (result == PROBE_RUNNING)
		cause = METRIC_OFF_RUNNABLE;
	else
		count = unwind(o, thread, &view->sample, chain, view->from_ns, &flags);
	count = mark_gil(o, thread, &view->sample, cause, count);
	keep(o, s, SEEN_BY_LOOK, cause, count, flags);
	s->seen_from_ns = view->from_ns;
	s->seen_until_ns = view->until_ns;
	s->stands_for_ns = view->from_ns - min_ns(s->looked_ns, view->from_ns);
}

/* A sample has told all else of this wait. */
static void keep_python(struct off_cpu *o, struct thread *thread, const struct python_chain *chain,
                        const struct probe_view *view)
{
	struct off_cpu_state *s = &thread->off_cpu;
	uint32_t flags;
	size_t count = unwind(o, thread, &view->sample, chain, view->from_ns, &flags);

	s->python.count = 0;
	count = mark_gil(o, thread, &view->sample, s->cause, count);
	if (!count || !array_reserve(&s->python.frames, &s->python.capacity, count))
		return;
	memcpy(s->python.frames, o->frames, count * sizeof(*s->python.frames));
	s->python.count = (uint32_t)count;
	s->python.flags = flags;
	s->python.from_ns = view->from_ns;
	s->python.until_ns = view->until_ns;
}

/* The Python frames of a thread that VIEW has found blocked. NULL: it has none. */
static const struct python_chain *read_python(struct off_cpu *o, struct thread *thread,
                                              struct probe_view *view)
{
	if (!wants_python(o, thread) || !view->sample.has_user ||
	    (!o->python && !(o->python = off_cpu_python_new(o->options.codes))))
		return NULL;
	return off_cpu_python_read(o->python, thread, view->sample.regs[DWARF_RSP],
	                           &view->until_ns);
}

/* Looks at THREAD, and at its Python if it has moved neither before nor meanwhile. */
static enum probe_result look_at(struct off_cpu *o, struct thread *thread, struct probe_view *view,
                                 const struct python_chain **chain)
{
	char before[PROBE_SCHEDULE], after[PROBE_SCHEDULE];
	int pid = (int)thread->process->pid, tid = (int)thread->tid;
	// The records of switches will tell, but for those that are estimates.
	bool prove = o->options.estimated && wants_python(o, thread);
	bool counts = prove && probe_schedule(o->probe, pid, tid, before);
	enum probe_result result = probe_look(o->probe, pid, tid, false, view);

	*chain = result == PROBE_STACK && (!prove || counts) ? read_python(o, thread, view) : NULL;
	if (*chain && prove &&
	    (!probe_schedule(o->probe, pid, tid, after) || strcmp(before, after) != 0))
		*chain = NULL;
	return result;
}

/* A thread that has, or may have, Python frames showed none. Once is no proof that there are none.
 */
static bool missed_python(const struct off_cpu *o, struct thread *thread, enum probe_result result,
                          const struct python_chain *chain)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (result != PROBE_STACK || !wants_python(o, thread))
		return false;
	s->python.misses = chain ? 0 : s->python.misses + (s->python.misses < NO_PYTHON);
	return s->python.misses > 0 && s->python.misses < NO_PYTHON;
}

/* True if it is to stay in the queue. */
static bool look(struct off_cpu *o, struct thread *thread)
{
	struct off_cpu_state *s = &thread->off_cpu;
	const struct python_chain *chain;
	struct probe_view view;
	enum probe_result result = look_at(o, thread, &view, &chain);

	bool again = s->out && (result == PROBE_RUNNING || missed_python(o, thread, result, chain));

	o->looks++;
	if (is_explained(s)) {
		if (chain)
			keep_python(o, thread, chain, &view);
		return again;
	}
	if (result != PROBE_FAILED && (result != PROBE_RUNNING || s->seen != SEEN_BY_SAMPLE))
		keep_look(o, thread, result, chain, &view);
	s->looked_ns = view.from_ns;
	return again;
}

/* True if THREAD is to stay in the queue. */
static bool visit(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	// What is known is a moment old. A thread that switches often may by now be in an interval
	// without a sample: another pass will look, for this one too.
	if (is_explained(s) && !wants_python(o, thread))
		return now_ns - s->since_ns < o->options.probe_after_ns;
	return look(o, thread);
}

static void visit_queue(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns)
{
	size_t visits = o->queue_count < PASS_LOOKS_MAX ? o->queue_count : PASS_LOOKS_MAX;
	struct waiter again[PASS_LOOKS_MAX];
	size_t again_count = 0;

	for (size_t i = 0; i < visits; i++) {
		struct waiter w = o->queue[i];
		struct thread *thread = tasks_find_thread(tasks, w.pid, w.tid);
		if (!thread || !thread->off_cpu.queued) // it ended, another one may have its number
			continue;
		thread->off_cpu.queued = visit(o, thread, now_ns);
		if (thread->off_cpu.queued)
			again[again_count++] = w;
	}
	o->queue_count -= visits;
	memmove(o->queue, o->queue + visits, o->queue_count * sizeof(*o->queue));
	memcpy(o->queue + o->queue_count, again, again_count * sizeof(*again));
	o->queue_count += again_count;
}

struct gil_look {
	struct off_cpu *off_cpu;
	struct tasks *tasks;
	uint64_t now_ns;
};

/* Who holds a GIL now has held it since the last pass: one pass errs, many do not. */
static void look_at_gil(void *context, struct thread *thread)
{
	const struct gil_look *look = context;
	struct process *process = thread->process;
	uint64_t since_ns = process->python.gil_ns;
	uint32_t holder;

	if (thread->tid != process->pid || !process->python.remote)
		return;
	process->python.gil_ns = look->now_ns;
	for (uint32_t i = 0; off_cpu_python_gil(look->off_cpu->python, process, i, &holder); i++) {
		struct thread *by =
			holder ? tasks_find_thread(look->tasks, process->pid, holder) : NULL;
		if (by && since_ns)
			by->gil_held_ns += min_ns(look->now_ns - since_ns, GIL_STEP_NS);
	}
}

/* Programs like to wait for whole milliseconds: do not fall into step with them. */
static uint64_t dither_ns(struct off_cpu *o)
{
	o->dither = o->dither * 1664525 + 1013904223;
	return o->dither >> 12; // up to 1 ms
}

void off_cpu_probe(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns)
{
	uint64_t start_ns, cost_ns;

	if (now_ns < o->next_pass_ns)
		return;
	start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (o->queue_count)
		visit_queue(o, tasks, now_ns);
	if (o->python) {
		struct gil_look look = { o, tasks, now_ns };
		tasks_each_thread(tasks, look_at_gil, &look);
	}
	cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	o->pass_ns = now_ns;
	o->next_pass_ns = now_ns + dither_ns(o) +
	                  max_ns(o->options.probe_after_ns, cost_ns * PASS_COST_SHARE);
	if (o->quiet < QUIET_PASSES)
		o->quiet++;
}

int off_cpu_timeout_ms(const struct off_cpu *o, uint64_t now_ns, int limit_ms)
{
	uint64_t wait_ms;

	if (!o->queue_count && o->quiet >= QUIET_PASSES)
		return o->options.switch_samples || limit_ms < QUIET_TIMEOUT_MS ? limit_ms
		                                                                : QUIET_TIMEOUT_MS;
	if (now_ns >= o->next_pass_ns)
		return 0;
	wait_ms = (o->next_pass_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return wait_ms < (uint64_t)limit_ms ? (int)wait_ms : limit_ms;
}

/* The end */

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
			give_ready(o, thread, ready, stack->frames, stack->count, stack->flags);
		else
			give(o, thread, &ready);
	}
}

/* Hands on what never found a stack. */
static void flush_pending(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	static const struct frame unknown = { MARK_UNKNOWN, 0, FRAME_MARK };
	const struct frame brief = { MARK_SHORT, thread->process->program, FRAME_MARK };
	const struct cpu_account *cpu = &thread->cpu;
	struct stack stack = stack_of(thread, METRIC_OFF_RUNNABLE, &brief, 1, 0);

	// It waited for a CPU where it had run and would have run on, or at its very start.
	if (cpu->last.count)
		stack = stack_of(thread, METRIC_OFF_RUNNABLE, cpu->last.frames, cpu->last.count,
		                 cpu->last.flags);
	if (cpu->last.count || !cpu->sample_ns)
		take_pending(o, thread, METRIC_OFF_RUNNABLE,
		             thread->off_cpu.pending[METRIC_OFF_RUNNABLE].ns, now_ns, stack);
	flush_ready(o, thread, &stack, now_ns);
	for (enum metric cause = 0; cause < METRIC_COUNT; cause++)
		take_pending(o, thread, cause, thread->off_cpu.pending[cause].ns, now_ns,
		             stack_of(thread, cause, &unknown, 1, 0));
}

void off_cpu_end(struct off_cpu *o, struct thread *thread, uint64_t time_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (s->begun) {
		correct_beginning(s, true);
		end_state(o, thread, max_ns(time_ns, s->since_ns), s->out);
	}
	for (int i = 0; s->python.piles.piles && i < WAIT_PILES_MAX; i++)
		give_pile(o, thread, &s->python.piles.piles[i], time_ns);
	flush_pending(o, thread, time_ns);
	s->begun = s->queued = false;
}

uint64_t off_cpu_probes(const struct off_cpu *o)
{
	return o->looks;
}
