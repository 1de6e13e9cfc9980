// SPDX-License-Identifier: MIT
#include "sampler/tracker/tracker_state.h"

#include "sampler/off_cpu/off_cpu.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/python/python_remote_names.h"
#include "sampler/tracker/cpu_account.h"
#include "sampler/tracker/mapper.h"
#include "sampler/wait/wait.h"

#include <string.h>

// Reads of the frames of a thread that runs, until all of them are there.
#define READS_MAX   4
#define LEFT_MAX    8
#define LOOK_FRAMES 4 // the innermost is asked for: the last one may be a mark

void tracker_give(struct tracker *t, const struct stack *stack)
{
	if (stack->weight_ns)
		tracker_tell(t, &(struct sampled){ .kind = SAMPLED_STACK, .stack = stack });
}

static size_t add_kernel_frames(struct tracker *t, const struct event_sample *sample,
                                struct frame *frames, size_t max)
{
	if (!sample->kernel_count)
		return 0;

	struct module wanted = { .kind = MODULE_KERNEL, .path = "[kernel]", .fd = -1 };
	const struct module *kernel = modules_add(t->modules, &wanted, NULL);
	size_t count = sample->kernel_count < max ? sample->kernel_count : max;
	for (size_t i = 0; i < count; i++) {
		frames[i].module = kernel ? kernel->id : 0;
		frames[i].kind = i ? FRAME_RETURN : FRAME_EXACT;
		memcpy(&frames[i].address, (const uint8_t *)sample->kernel + i * 8, 8);
	}
	return count;
}

static bool is_unmapped(const struct frame *frame)
{
	return frame->kind != FRAME_MARK && !frame->module;
}

size_t tracker_unwind(struct tracker *t, struct thread *thread, const struct event_sample *sample,
                      uint64_t time_ns, struct frame *frames, size_t max, uint32_t *flags)
{
	struct process *process = thread->process;
	int pid = (int)process->pid;

	if (!sample->has_user)
		return 0;
	if (!address_space_find(process->space, sample->regs[DWARF_RIP]))
		mapper_reread(t->modules, process, time_ns);

	uint32_t before = *flags;
	unwinder_follow(t->unwinder, &process->patches, process->live_threads, &thread->ops);
	size_t count =
		unwinder_unwind(t->unwinder, process->space, sample, pid, frames, max, flags);
	for (size_t i = 0; i < count; i++) {
		if (!is_unmapped(&frames[i]))
			continue;
		if (!mapper_reread(t->modules, process, time_ns))
			break;
		*flags = before;
		return unwinder_unwind(t->unwinder, process->space, sample, pid, frames, max,
		                       flags);
	}
	return count;
}

// Of generators that have been left while they were read.
struct left {
	struct python_frame frames[LEFT_MAX];
	uint32_t count;
};

static void keep_left(struct left *left, const struct python_chain *chain)
{
	if (left->count) // the first read is nearest to the sample
		return;
	left->count = chain->count < LEFT_MAX ? chain->count : LEFT_MAX;
	memcpy(left->frames, chain->frames, left->count * sizeof(left->frames[0]));
}

// What was left stands above where the thread was a moment later, unless it is there once more.
static const struct python_chain *join(struct tracker *t, const struct left *left,
                                       const struct python_chain *chain)
{
	struct python_chain *joined = t->joined;

	for (uint32_t i = 0; i < chain->count && i < LEFT_MAX; i++)
		if (chain->frames[i].code == left->frames[0].code)
			return chain;
	uint32_t rest = PYTHON_FRAMES_MAX - left->count;
	rest = chain->count < rest ? chain->count : rest;
	*joined = *chain;
	memcpy(joined->frames, left->frames, left->count * sizeof(joined->frames[0]));
	memcpy(joined->frames + left->count, chain->frames, rest * sizeof(joined->frames[0]));
	joined->count = left->count + rest;
	return joined;
}

struct naming {
	struct tracker *tracker;
	struct process *process;
	uint64_t time_ns;
};

static void name_function(void *context, uint64_t address, const char *name)
{
	const struct naming *naming = context;

	tracker_name_function(naming->tracker, naming->process, address, name, naming->time_ns);
}

// The sample is a moment old, and the thread may have gone on: its frames are those of now. What
// has been left by then has no place in the native stack.
static const struct python_chain *read_python(struct tracker *t, struct thread *thread,
                                              const struct event_sample *sample, uint64_t time_ns)
{
	struct naming naming = { t, thread->process, time_ns };
	const struct python_name_sink names = { name_function, &naming };
	// Without registers there is no native stack that they would have to fit.
	uint64_t sp = sample->has_user ? sample->regs[DWARF_RSP] : 0, until_ns;
	const struct python_chain *chain = NULL;
	struct left left = { .count = 0 };

	if (!t->reader || !off_cpu_python_may(thread))
		return NULL;
	for (int i = 0; i < READS_MAX; i++) {
		chain = off_cpu_python_read(t->reader, thread, sp, &until_ns);
		if (chain && !(chain->flags & PYTHON_CUT))
			break;
		if (chain) // else it was leaving a call of the interpreter, or it is in none
			keep_left(&left, chain);
	}
	if (chain)
		off_cpu_python_called(t->reader, thread, &names);
	return chain && left.count && !(chain->flags & PYTHON_CUT) ? join(t, &left, chain) : chain;
}

// What short copies have cut is completed by stacks that were whole, of any thread.
static size_t complete(struct tracker *t, struct thread *thread, uint64_t time_ns,
                       struct frame *frames, size_t count, size_t max, uint32_t *flags)
{
	struct whole_stacks *whole = &thread->process->whole;

	count = unwinder_complete(t->unwinder, &thread->last, time_ns, frames, count, max, flags);
	if (!t->short_stacks)
		return count;
	if (*flags & STACK_TRUNCATED)
		return unwinder_complete_alike(t->unwinder, whole, frames, count, max, flags);
	if (!(*flags & (STACK_JOINED | STACK_GUESSED)))
		whole_stacks_keep(whole, frames, unwinder_stack_pointers(t->unwinder), count,
		                  time_ns);
	return count;
}

size_t tracker_frames(struct tracker *t, struct thread *thread, const struct event_sample *sample,
                      uint64_t time_ns, struct frame *frames, size_t max, uint32_t *flags)
{
	// First of all: a thread that runs goes on meanwhile.
	const struct python_chain *python =
		sample->python ? sample->python : read_python(t, thread, sample, time_ns);
	size_t count = tracker_unwind(t, thread, sample, time_ns, frames, max, flags);

	t->read_later = !sample->python;
	t->place = 0;
	if (sample->has_user)
		count = complete(t, thread, time_ns, frames, count, max, flags);
	const uint64_t *sps = unwinder_stack_pointers(t->unwinder);
	// Callers that were read later, or are those of the stack before, may be of another call.
	if (sample->has_user && !(*flags & (STACK_TRUNCATED | STACK_GUESSED | STACK_JOINED)))
		op_tracker_see(thread, frames, sps, count, time_ns);
	if (off_cpu_shows_call(sample))
		t->place = off_cpu_place_of(frames, sps, count, *flags);
	if (python)
		count = tracker_add_python(t, thread->process, python, frames, &sps, count, max,
		                           flags);
	size_t with_ops = op_stack_place(&thread->ops, frames, sps, count, max);
	if (with_ops != count)
		t->place = off_cpu_place_in_ops(t->place, frames, with_ops);
	return with_ops;
}

static struct frame mark_of(enum mark mark)
{
	return (struct frame){ .address = mark, .kind = FRAME_MARK };
}

void tracker_give_short(struct tracker *t, const struct thread *thread, uint64_t time_ns,
                        uint64_t weight_ns)
{
	struct stack stack = {
		.thread = thread->number,
		.metric = METRIC_ON_CPU,
		.time_ns = time_ns,
		.weight_ns = weight_ns,
		.count = 1,
		.frames = t->stack,
	};
	size_t count = 0;
	const struct frame *frames = off_cpu_stack(thread, &count, &stack.flags);

	if (!weight_ns)
		return;
	t->stack[0] = mark_of(MARK_SHORT);
	t->stack[0].module = thread->process->program;
	if (!count && thread->start.address) {
		frames = &thread->start;
		count = 1;
	}
	if (frames)
		memcpy(t->stack + 1, frames, count * sizeof(*frames));
	stack.count += (uint32_t)(count < STACK_MAX_FRAMES ? count : STACK_MAX_FRAMES - 1);
	tracker_give(t, &stack);
}

// FRAMES[-1] is free, for the mark of kernel time.
static void give_on_cpu(struct tracker *t, struct thread *thread, uint64_t time_ns,
                        const struct cpu_split *split, struct frame *frames, size_t count,
                        uint32_t flags, uint32_t samples, const struct event_sample *known)
{
	struct frame unseen = mark_of(MARK_UNKNOWN);
	struct stack stack = {
		.thread = thread->number,
		.metric = METRIC_ON_CPU,
		.time_ns = time_ns,
		.weight_ns = split->user_ns,
		.samples = samples,
		.flags = flags,
		.count = (uint32_t)count,
		.frames = frames,
		.regs = known ? known->regs : NULL,
		.subnormal = known && known->has_vectors ? &known->subnormal : NULL,
	};

	stack.flags &= ~(uint32_t)STACK_FAULTS;
	tracker_give(t, &stack);
	stack.regs = NULL;
	stack.subnormal = NULL;
	stack.samples = split->user_ns ? 0 : samples;
	stack.flags &= ~(uint32_t)STACK_SPINS;
	frames[-1] = mark_of(flags & STACK_FAULTS ? MARK_FAULT : MARK_KERNEL);
	stack.frames = frames - 1;
	stack.count = (uint32_t)(count < STACK_MAX_FRAMES ? count + 1 : count);
	stack.weight_ns = split->kernel_ns;
	tracker_give(t, &stack);
	stack.samples = 0;
	stack.flags = 0;
	stack.count = 1;
	frames[-1] = mark_of(MARK_KERNEL);
	stack.weight_ns = split->callless_ns;
	tracker_give(t, &stack);
	stack.frames = &unseen;
	stack.weight_ns = split->unknown_ns;
	tracker_give(t, &stack);
	tracker_give_short(t, thread, time_ns, split->short_ns);
}

static void on_tick(struct tracker *t, struct thread *thread, const struct event *source)
{
	struct frame *frames = t->stack + 1;
	struct event copy = *source;
	const struct event *event = &copy;
	uint32_t flags = 0;

	if (t->rules.kernel_samples && copy.sample.by_agent)
		tracker_add_kernel(thread, &copy.sample);
	bool wanted = !t->sink.wants || t->sink.wants(t->sink.context, event->time_ns);
	size_t count = 0, in_kernel = 0;
	t->place = 0;
	if (wanted) {
		count = in_kernel = add_kernel_frames(t, &event->sample, frames, STACK_MAX_FRAMES);
		count += tracker_frames(t, thread, &event->sample, event->time_ns, frames + count,
		                        STACK_MAX_FRAMES - count, &flags);
	}
	if (copy.sample.kernel_count ||
	    copy.sample.in_kernel) // it has left its loop, or was taken out
		flags &= ~(uint32_t)STACK_SPINS;
	if (!count)
		frames[count++] = mark_of(MARK_UNKNOWN);
	else if (copy.sample.in_kernel && copy.sample.by_fault)
		flags |= STACK_FAULTS;
	bool known = copy.sample.has_user && copy.sample.has_rbp && !copy.sample.in_kernel &&
	             !copy.sample.kernel_count;
	struct cpu_split split = cpu_account_sample(thread, event, &t->rules);
	give_on_cpu(t, thread, event->time_ns, &split, frames, count, flags, 1,
	            known ? &copy.sample : NULL);
	if (t->off_cpu && t->place && count > in_kernel)
		off_cpu_seen(t->off_cpu, thread, t->place, frames + in_kernel, count - in_kernel,
		             event->time_ns);
	// Time between two samples may belong to the one before.
	if (t->off_cpu)
		off_cpu_running(t->off_cpu, thread, frames, count, flags, event->time_ns);
	cpu_account_keep(thread, frames, count, flags, event->sample.in_kernel);
	thread->process->samples++;
	if (!wanted)
		return;
	t->samples++;
	t->self_samples += event->sample.by_agent && event->sample.python;
	t->cut += (flags & STACK_TRUNCATED) != 0;
}

// A source that probes by itself: what the thread waits for, for as long as the source says.
static void on_probe(struct tracker *t, struct thread *thread, const struct event *event)
{
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;
	size_t count = tracker_frames(t, thread, &event->sample, event->time_ns, frames,
	                              STACK_MAX_FRAMES, &flags);
	struct wait wait = wait_of_call(event->sample.syscall);

	if (!count)
		frames[count++] = mark_of(MARK_UNKNOWN);
	struct stack stack = {
		.thread = thread->number,
		.metric = wait.rank == WAIT_UNKNOWN ? METRIC_OFF_OTHER : wait.cause,
		.time_ns = event->time_ns,
		.duration_ns = event->sample.weight_ns,
		.weight_ns = event->sample.weight_ns,
		.samples = 1,
		.flags = flags,
		.count = (uint32_t)count,
		.frames = frames,
	};
	thread->ns[stack.metric] += stack.weight_ns;
	tracker_give(t, &stack);
}

// What registers held, of a thread whose time is known from elsewhere.
static void on_look(struct tracker *t, struct thread *thread, const struct event *event)
{
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;

	if (event->sample.in_kernel ||
	    !tracker_unwind(t, thread, &event->sample, event->time_ns, frames, LOOK_FRAMES,
	                    &flags) ||
	    frames[0].kind != FRAME_EXACT)
		return;
	struct stack stack = {
		.thread = thread->number,
		.metric = METRIC_ON_CPU,
		.time_ns = event->time_ns,
		.count = 1,
		.frames = frames,
		.subnormal = &event->sample.subnormal,
	};
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_STACK, .stack = &stack });
}

void tracker_on_sample(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, event->sample.kind == SAMPLE_ON_CPU);

	if (!thread)
		return;
	if (event->sample.kind == SAMPLE_ON_CPU && tracker_is_double(thread, &event->sample))
		return;
	if (event->sample.kind == SAMPLE_ON_CPU)
		on_tick(t, thread, event);
	else if (event->sample.kind == SAMPLE_LOOK)
		on_look(t, thread, event);
	else if (event->sample.kind == SAMPLE_PROBE)
		on_probe(t, thread, event);
	else if (t->off_cpu)
		off_cpu_sample(t->off_cpu, thread, event);
}

static void give_kept(struct tracker *t, struct thread *thread, uint64_t time_ns,
                      const struct cpu_split *split, const struct kept_stack *kept)
{
	struct frame *frames = t->stack + 1;

	if (kept->count)
		memcpy(frames, kept->frames, kept->count * sizeof(*frames));
	give_on_cpu(t, thread, time_ns, split, frames, kept->count, kept->flags, 0, NULL);
}

void tracker_give_rest(struct tracker *t, struct thread *thread, uint64_t time_ns)
{
	struct cpu_split split =
		cpu_account_rest(thread, cpu_account_clock(thread, time_ns), &t->rules);
	const struct cpu_split user = { .user_ns = split.user_ns };

	split.user_ns = 0;
	give_kept(t, thread, time_ns, &user, &thread->cpu.last);
	give_kept(t, thread, time_ns, &split, &thread->cpu.kernel);
}
