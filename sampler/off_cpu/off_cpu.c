// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/kallsyms.h"
#include "sampler/off_cpu/off_cpu_give.h"
#include "sampler/off_cpu/off_cpu_looks.h"
#include "sampler/off_cpu/ready.h"
#include "sampler/wait/kernel_map.h"
#include "sampler/wait/probe.h"

#include <errno.h>
#include <stdlib.h>

#define PROBE_AFTER_DEFAULT_NS (5 * NS_PER_MS)
#define PROBE_STACK_BYTES      ((size_t)32 << 10)

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
	struct off_cpu_interval interval = { s->since_ns, off_ns, METRIC_OFF_OTHER, false, false };

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
		off_cpu_give_interval(o, thread, &interval);
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
	time_ns = max_ns(time_ns, s->since_ns);
	end_state(o, thread, time_ns, in);
	s->since_ns = time_ns;
	s->sampled_ns = thread->sampled_ns;
	s->out = !in;
	s->preempted = !in && preempted;
	if (s->out && s->seen == SEEN_BY_SAMPLE) // it came first, and is of this switch
		s->seen_from_ns = s->seen_until_ns = time_ns;
	if (s->out && !preempted)
		off_cpu_queue(o, thread);
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
		end_state(o, thread, max_ns(time_ns, s->since_ns), s->out);
	}
	off_cpu_give_rest(o, thread, time_ns);
	s->begun = s->queued = false;
}

uint64_t off_cpu_probes(const struct off_cpu *o)
{
	return o->looks;
}
