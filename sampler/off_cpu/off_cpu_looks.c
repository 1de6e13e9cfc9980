// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu_looks.h"

#include "base/array.h"
#include "base/clock.h"
#include "sampler/off_cpu/off_cpu_seen.h"

#include <string.h>

// Looking costs at most 1/200 of a core: some 8 µs each, so some 600 a second.
#define PASS_LOOKS_MAX  64
#define PASS_COST_SHARE 200

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
	bool looked = (s->seen == SEEN_BY_LOOK && s->seen_from_ns >= s->since_ns) ||
	              (s->python.count && s->python.from_ns >= s->since_ns);

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

/* True if it is to stay in the queue. */
static bool look(struct off_cpu *o, struct thread *thread)
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
		return again;
	}
	if (result != PROBE_FAILED && (result != PROBE_RUNNING || s->seen != SEEN_BY_SAMPLE))
		off_cpu_keep_look(o, thread, result, chain, &view);
	s->looked_ns = view.from_ns;
	return again;
}

/* True if THREAD is to stay in the queue. */
static bool visit(struct off_cpu *o, struct thread *thread, uint64_t now_ns)
{
	struct off_cpu_state *s = &thread->off_cpu;

	// What is known is a moment old. A thread that switches often may by now be in an interval
	// without a sample: another pass will look, for this one too.
	if (off_cpu_is_explained(s) && !off_cpu_wants_python(o, thread))
		return now_ns - s->since_ns < o->options.probe_after_ns;
	return look(o, thread);
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
