// SPDX-License-Identifier: MIT
// Which blocked threads are looked at through /proc, and when: those whose waits no sample
// explains, the longest waiting first, for at most 1/200 of a core. The passes themselves are
// off_cpu_probe().
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "sampler/off_cpu/off_cpu_parts.h"
#include "sampler/wait/kernel_map.h"
#include "sampler/wait/probe.h"

#include <string.h>

// What looks show of a thread that is blocked, kept in its state until the records tell to which
// interval it belongs. Samples of switches come by off_cpu_sample().

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

static uint64_t key_of(const struct frame *frames, const uint64_t *sps, size_t count)
{
	uint64_t key = hash_bytes(sps, count * sizeof(*sps));

	for (size_t i = 0; i < count; i++)
		key = hash_pair(key, frames[i].address ^ (uint64_t)frames[i].module << 48);
	return key;
}

static bool is_exact(uint32_t flags)
{
	return !(flags & (STACK_TRUNCATED | STACK_GUESSED | STACK_JOINED));
}

uint64_t off_cpu_place_of(const struct frame *frames, const uint64_t *sps, size_t count,
                          uint32_t flags)
{
	return count && is_exact(flags) ? key_of(frames, sps, count) : 0;
}

uint64_t off_cpu_place_in_ops(uint64_t place, const struct frame *frames, size_t count)
{
	for (size_t i = 0; place && i < count; i++)
		if (frames[i].kind == FRAME_OP)
			place = hash_pair(place, frames[i].address);
	return place;
}

static size_t unwind(struct off_cpu *o, struct thread *thread, const struct event_sample *sample,
                     const struct python_chain *chain, uint64_t time_ns, uint32_t *flags)
{
	*flags = 0;
	o->key = 0;
	if (!sample->has_user)
		return 0;
	unwinder_follow(o->unwinder, &thread->process->patches, thread->process->live_threads,
	                &thread->ops);
	size_t count =
		unwinder_unwind(o->unwinder, thread->process->space, sample,
	                        (int)thread->process->pid, o->frames, STACK_MAX_FRAMES, flags);
	count = unwinder_complete(o->unwinder, &thread->last, time_ns, o->frames, count,
	                          STACK_MAX_FRAMES, flags);
	const uint64_t *sps = unwinder_stack_pointers(o->unwinder);
	if (chain)
		count = off_cpu_python_place(o->python, thread, chain, o->frames, &sps, count,
		                             STACK_MAX_FRAMES, flags);
	else if (off_cpu_wants_python(o, thread))
		o->key = key_of(o->frames, sps, count);
	size_t with_ops = op_stack_place(&thread->ops, o->frames, sps, count, STACK_MAX_FRAMES);
	if (with_ops != count)
		o->key = off_cpu_place_in_ops(o->key, o->frames, with_ops);
	return with_ops;
}

/* A wait for the GIL is marked on top of its COUNT frames. Returns the new count. */
static size_t mark_gil(struct off_cpu *o, const struct thread *thread,
                       const struct event_sample *sample, enum metric cause, size_t count)
{
	if (cause != METRIC_OFF_LOCK || !count || count == STACK_MAX_FRAMES ||
	    !off_cpu_wants_python(o, thread) ||
	    !off_cpu_python_is_gil(thread, sample->regs[DWARF_RDI]))
		return count;
	memmove(o->frames + 1, o->frames, count * sizeof(*o->frames));
	o->frames[0] = (struct frame){ .address = MARK_GIL, .kind = FRAME_MARK };
	return count + 1;
}

static struct kernel_map *kernel_map_of(struct off_cpu *o)
{
	const struct off_cpu_options *options = &o->options;

	if (!o->kernel_map_tried)
		o->kernel_map = options->names ? kernel_map_new(options->names, NULL)
		                               : kernel_map_open(options->kallsyms, NULL);
	o->kernel_map_tried = true;
	return o->kernel_map;
}

static struct wait wait_of_chain(struct off_cpu *o, const struct event_sample *sample)
{
	struct wait wait = { WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };

	if (!sample->kernel_count)
		return wait;
	struct kernel_map *map = kernel_map_of(o);
	if (!map) // looks will tell
		return wait;
	wait = kernel_map_wait(map, sample->kernel, sample->kernel_count);
	// A system call keeps its arguments in its caller's registers.
	if (sample->has_user)
		wait.cause =
			wait_with_arguments(wait, sample->regs[DWARF_RDI], sample->regs[DWARF_RSI]);
	return wait;
}

/* Who is at the other end is asked for within bounds of its own, which looks do not pay for. */
static void tell_descriptors(struct off_cpu *o, struct thread *thread, struct wait wait,
                             const struct event_sample *sample, uint64_t time_ns)
{
	bool by_descriptor = wait.cause == METRIC_OFF_PIPE || wait.cause == METRIC_OFF_NET;
	struct wait_on on = { wait.detail,
		              { sample->regs[DWARF_RDI], sample->regs[DWARF_RSI],
		                sample->regs[DWARF_RDX] } };

	if (!by_descriptor || !o->options.waits_on || !sample->has_user)
		return;
	uint64_t start_ns = o->options.cost_ns();
	o->options.waits_on(o->context, thread, &on, time_ns);
	o->asked_ns += o->options.cost_ns() - start_ns;
}

void off_cpu_sample(struct off_cpu *o, struct thread *thread, const struct event *event)
{
	struct off_cpu_state *s = &thread->off_cpu;
	const struct wait wait = wait_of_chain(o, &event->sample);
	enum metric cause = wait.cause;
	uint32_t flags;
	size_t count;

	off_cpu_begin(o, thread, thread->start_ns ? thread->start_ns : event->time_ns);
	// Nobody is switched out twice: the record of its running in between was lost.
	if (s->out && s->switched && event->time_ns > s->since_ns + OFF_CPU_SAME_SWITCH_NS)
		off_cpu_switch(o, thread, event->time_ns, false, false);
	count = unwind(o, thread, &event->sample, NULL, event->time_ns, &flags);
	s->python.key = hash_pair(cause, o->key);
	s->python.place = is_exact(flags) ? o->key : 0;
	count = mark_gil(o, thread, &event->sample, cause, count);
	keep(o, s, SEEN_BY_SAMPLE, cause, count, flags);
	s->seen_from_ns = s->seen_until_ns = max_ns(event->time_ns, s->since_ns);
	tell_descriptors(o, thread, wait, &event->sample, event->time_ns);
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

// Stack and cause of VIEW; CHAIN is its Python, NULL if it has none.
static void off_cpu_keep_look(struct off_cpu *o, struct thread *thread, enum probe_result result,
                              const struct python_chain *chain, const struct probe_view *view)
{
	struct off_cpu_state *s = &thread->off_cpu;
	struct wait wait = wait_of_call(view->sample.syscall);
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
	wait.cause = cause;
	tell_descriptors(o, thread, wait, &view->sample, view->from_ns);
}

// The same where a sample has told all else of this wait.
static void off_cpu_keep_python(struct off_cpu *o, struct thread *thread,
                                const struct python_chain *chain, const struct probe_view *view)
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

// Looking costs at most 1/200 of a core: some 8 µs each, so some 600 a second. What it has left of
// that for a while it may spend at once: a look that first reads a module's tables, or a pass that
// an interrupt fell into, costs as much as hundreds of looks, and a pause of half a second after
// it would leave whole waits unseen.
#define PASS_LOOKS_MAX  64
#define PASS_COST_SHARE 200
#define PASS_CREDIT_NS  ((int64_t)(5 * NS_PER_MS))

// After this many passes in which no thread blocked unseen the collector sleeps longer, but not so
// long without samples of switches that it learns of a wait only when that is over.
#define QUIET_PASSES     20
#define QUIET_TIMEOUT_MS 20

// The most that a look at a GIL stands for.
#define GIL_STEP_NS (200 * NS_PER_MS)

static void queue(struct off_cpu *o, struct thread *thread)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (s->queued || !o->probe ||
	    !array_reserve(&o->queue, &o->queue_capacity, o->queue_count + 1))
		return;
	o->queue[o->queue_count++] = (struct off_cpu_waiter){ thread->process->pid, thread->tid };
	s->queued = true;
	// Until now it could not have been found waiting: as if every pass had looked.
	s->looked_ns = max_ns(s->looked_ns, o->pass_ns);
}

void off_cpu_queue(struct off_cpu *o, struct thread *thread)
{
	struct off_cpu_state *s = &thread->off_cpu;
	// An estimate takes two waits with a short run between for one: who looked at the first has
	// not seen the one that is under way.
	bool looked = !o->options.estimated &&
	              ((s->seen == SEEN_BY_LOOK && s->seen_from_ns >= s->since_ns) ||
	               (s->python.count && s->python.from_ns >= s->since_ns));

	if (off_cpu_is_explained(s) && !off_cpu_wants_python(o, thread))
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

/* The Python frames of a thread that VIEW has found blocked. NULL: it has none. */
static const struct python_chain *read_python(struct off_cpu *o, struct thread *thread,
                                              struct probe_view *view)
{
	if (!off_cpu_wants_python(o, thread) || !view->sample.has_user ||
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
	bool prove = o->options.estimated && off_cpu_wants_python(o, thread);
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

	if (result != PROBE_STACK || !off_cpu_wants_python(o, thread))
		return false;
	s->python.misses = chain ? 0 : s->python.misses + (s->python.misses < OFF_CPU_NO_PYTHON);
	return s->python.misses > 0 && s->python.misses < OFF_CPU_NO_PYTHON;
}

// What is known is a moment old. A thread that switches often may by now be in an interval of which
// nothing is known, or no Python frames: another pass will look for this one too.
static bool is_fresh(const struct off_cpu *o, const struct off_cpu_state *s, uint64_t now_ns)
{
	return now_ns - s->since_ns < o->options.probe_after_ns;
}

/* True if it is to stay in the queue. */
static bool look(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;
	const struct python_chain *chain;
	struct probe_view view;
	enum probe_result result = look_at(o, thread, &view, &chain);

	bool again = s->out && (result == PROBE_RUNNING || missed_python(o, thread, result, chain));

	o->looks++;
	if (off_cpu_is_explained(s)) {
		if (chain)
			off_cpu_keep_python(o, thread, chain, &view);
		return again || is_fresh(o, s, now_ns);
	}
	// It may run again by now: what is known of this wait stays. Where waits are estimates,
	// their places are not exact: a thread that runs where one is laid did not lack a CPU for
	// all of it. Those for a CPU are laid by a total of their own.
	bool knows = s->seen == SEEN_BY_SAMPLE || o->options.estimated ||
	             (s->seen == SEEN_BY_LOOK && s->has_frames && s->seen_from_ns >= s->since_ns);
	if (result != PROBE_FAILED && (result != PROBE_RUNNING || !knows))
		off_cpu_keep_look(o, thread, result, chain, &view);
	s->looked_ns = view.from_ns;
	return again;
}

/* True if THREAD is to stay in the queue. */
static bool visit(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	if (off_cpu_is_explained(s) && !off_cpu_wants_python(o, thread))
		return is_fresh(o, s, now_ns);
	return look(o, thread, now_ns);
}

static void visit_queue(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns)
{
	size_t visits = o->queue_count < PASS_LOOKS_MAX ? o->queue_count : PASS_LOOKS_MAX;
	struct off_cpu_waiter again[PASS_LOOKS_MAX];
	size_t again_count = 0;

	for (size_t i = 0; i < visits; i++) {
		struct off_cpu_waiter w = o->queue[i];
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

/* The thread of FIRST's process that is TID in its own PID namespace; NULL if there is none. */
struct wanted {
	const struct process *process;
	uint32_t tid;
	struct thread *found;
};

static void look_at_tid(void *context, struct thread *thread)
{
	struct wanted *wanted = context;

	if (thread->process == wanted->process && off_cpu_python_tid(thread) == wanted->tid)
		wanted->found = thread;
}

static struct thread *thread_called(struct tasks *tasks, struct thread *first, uint32_t tid)
{
	struct wanted wanted = { .process = first->process, .tid = tid };

	if (off_cpu_python_tid(first) == first->tid)
		return tasks_find_thread(tasks, first->process->pid, tid);
	tasks_each_thread(tasks, look_at_tid, &wanted);
	return wanted.found;
}

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
		struct thread *by = holder ? thread_called(look->tasks, thread, holder) : NULL;
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

static void earn(struct off_cpu *o, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - min_ns(o->pass_ns, now_ns);

	o->credit_ns += (int64_t)(since_ns / PASS_COST_SHARE);
	if (o->credit_ns > PASS_CREDIT_NS)
		o->credit_ns = PASS_CREDIT_NS;
}

void off_cpu_probe(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns)
{
	uint64_t start_ns, pause_ns;

	if (now_ns < o->next_pass_ns)
		return;
	earn(o, now_ns);
	o->asked_ns = 0;
	start_ns = o->options.cost_ns();
	if (o->queue_count)
		visit_queue(o, tasks, now_ns);
	if (o->python) {
		struct gil_look look = { o, tasks, now_ns };
		tasks_each_thread(tasks, look_at_gil, &look);
	}
	o->credit_ns -= (int64_t)(o->options.cost_ns() - start_ns - o->asked_ns);
	pause_ns = o->credit_ns < 0 ? (uint64_t)-o->credit_ns * PASS_COST_SHARE : 0;
	o->pass_ns = now_ns;
	o->next_pass_ns = now_ns + dither_ns(o) + max_ns(o->options.probe_after_ns, pause_ns);
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
