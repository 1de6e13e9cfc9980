// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu_seen.h"

#include "base/array.h"
#include "base/hash.h"
#include "sampler/wait/kernel_map.h"

#include <string.h>

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
	else if (off_cpu_wants_python(o, thread))
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
	    !off_cpu_wants_python(o, thread) ||
	    !off_cpu_python_is_gil(thread, sample->regs[DWARF_RDI]))
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
	if (s->out && s->switched && event->time_ns > s->since_ns + OFF_CPU_SAME_SWITCH_NS)
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

void off_cpu_keep_look(struct off_cpu *o, struct thread *thread, enum probe_result result,
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

void off_cpu_keep_python(struct off_cpu *o, struct thread *thread, const struct python_chain *chain,
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
