// SPDX-License-Identifier: MIT
#include "merge/record/recorder.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/module.h"
#include "base/op.h"
#include "merge/profile/profile.h"
#include "sampler/proc/proc_stat.h"
#include "tracer/protocol.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct live_process {
	uint32_t process; // number
	uint32_t pid;
	char name[32];
};

static struct live_process *find_live(struct recorder *r, uint32_t process)
{
	for (size_t i = r->live_count; i-- > 0;) // the newest end first
		if (r->live[i].process == process)
			return &r->live[i];
	return NULL;
}

static void add_process(struct recorder *r, const struct process_event *event)
{
	struct live_process *live = find_live(r, event->process);

	profile_add_process(r->profile, event);
	r->execs += live && event->exec;
	if (!live) {
		if (!array_reserve(&r->live, &r->live_capacity, r->live_count + 1))
			return; // then it is missing from a count in the limits
		live = &r->live[r->live_count++];
		live->process = event->process;
		r->processes++;
	}
	live->pid = event->pid;
	snprintf(live->name, sizeof(live->name), "%s", event->command);
}

static void end_process(struct recorder *r, uint32_t process, uint64_t time_ns)
{
	struct live_process *live = find_live(r, process);

	profile_end_process(r->profile, process, time_ns);
	if (live)
		*live = r->live[--r->live_count];
}

// The newest ones first.
static bool is_own(const struct recorder *r, uint32_t thread)
{
	for (size_t i = r->own_count; i-- > 0;)
		if (r->own_threads[i] == thread)
			return true;
	return false;
}

// A thread of the agent's gives itself its name, so that it may have been taken for the program's.
static void add_thread(struct recorder *r, const struct thread_event *event)
{
	if (is_own(r, event->thread))
		return;
	if (recorded_is_partial(&r->recorded))
		profile_forget_wall(r->profile); // see add_span()
	if (strcmp(event->name, PROTOCOL_OWN_THREAD) != 0 ||
	    !array_reserve(&r->own_threads, &r->own_capacity, r->own_count + 1)) {
		profile_add_thread(r->profile, event);
		return;
	}
	r->own_threads[r->own_count++] = event->thread;
	profile_hide_thread(r->profile, event->thread);
}

// There is one agent in a run: its module is found once.
static bool is_agent(struct recorder *r, const struct frame *frame)
{
	if (!frame->module || frame->kind == FRAME_MARK || frame->kind == FRAME_OP ||
	    frame->module == r->not_agent)
		return false;
	if (r->agent)
		return frame->module == r->agent;
	const struct module *module = modules_get(r->modules, frame->module);
	const char *slash = module ? strrchr(module->path, '/') : NULL;
	if (slash && strcmp(slash + 1, PROTOCOL_AGENT_LIBRARY) == 0)
		r->agent = frame->module;
	else
		r->not_agent = frame->module;
	return r->agent != 0;
}

static bool is_user_code(const struct recorder *r, const struct frame *frame)
{
	const struct module *module = modules_get(r->modules, frame->module);

	return frame->kind != FRAME_MARK && frame->kind != FRAME_OP &&
	       frame->kind != FRAME_PYTHON && !(module && module->kind == MODULE_KERNEL);
}

// The first frame of user space; COUNT if there is none.
static uint32_t innermost(const struct recorder *r, const struct frame *frames, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && !is_user_code(r, &frames[i]))
		i++;
	return i;
}

// FRAMES from BEGIN on without those of the agent, which are one mark where BEGIN is its code, see
// HOOK; returns how many there are with those before.
static uint32_t leave_out_agent(struct recorder *r, const struct frame *frames, uint32_t count,
                                uint32_t begin, bool hook)
{
	uint32_t kept = begin;

	memcpy(r->frames, frames, begin * sizeof(*frames));
	if (hook)
		r->frames[kept++] = (struct frame){ .address = MARK_OURS, .kind = FRAME_MARK };
	for (uint32_t i = begin; i < count; i++)
		if (!is_agent(r, &frames[i]))
			r->frames[kept++] = frames[i];
	return kept;
}

// What lies beyond the frame of a handler's return was interrupted.
static bool is_interrupted(const struct stack *stack, uint32_t begin)
{
	if (begin + 1 >= stack->count)
		return false;
	uint32_t kind = stack->frames[begin + 1].kind;
	return kind == FRAME_EXACT || kind == FRAME_INTERPRETER_EXACT;
}

uint64_t recorder_hooks_ns(const void *recorder)
{
	const struct hooks *hooks = &((const struct recorder *)recorder)->hooks;

	// Starts of processes are no cheaper for fewer samples, and short ones need all of them.
	return hooks_all_ns(hooks) - hooks->ns[HOOKS_SETUP];
}

// Whoever else may use CUPTI, the program's own work is not done there.
static bool is_cupti(struct recorder *r, const struct frame *frame)
{
	if (!frame->module || frame->kind == FRAME_MARK || frame->kind == FRAME_OP ||
	    frame->module == r->not_cupti)
		return false;
	if (frame->module == r->cupti)
		return true;
	const struct module *module = modules_get(r->modules, frame->module);
	const char *slash = module ? strrchr(module->path, '/') : NULL;
	if (slash && strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) == 0)
		r->cupti = frame->module;
	else
		r->not_cupti = frame->module;
	return r->cupti == frame->module;
}

// How many frames from FIRST on, where user space begins, are the agent's and what it calls.
static uint32_t agents_frames(struct recorder *r, const struct stack *stack, uint32_t first)
{
	for (uint32_t i = first; i < stack->count; i++)
		if (is_agent(r, &stack->frames[i]))
			return (uint32_t)hooks_depth(&r->hooks, r->modules, r->agent,
			                             stack->frames + first, stack->count - first);
	return 0;
}

// The stack without the agent's frames, to r->frames; returns how many there are. What is in its
// hooks is CPU time that the program would not have taken, and none of those who called them.
static uint32_t take_out(struct recorder *r, const struct stack *stack, uint32_t first, bool hook)
{
	if (!hook || stack->metric != METRIC_ON_CPU)
		return leave_out_agent(r, stack->frames, stack->count, first, hook);
	r->frames[0] = (struct frame){ .address = MARK_OURS, .kind = FRAME_MARK };
	return 1;
}

static void add_whole_stack(struct recorder *r, const struct stack *stack)
{
	struct stack ours = *stack;

	if (is_own(r, stack->thread)) {
		r->hooks.cupti_ns += stack->metric == METRIC_ON_CPU ? stack->weight_ns : 0;
		return;
	}
	if (!r->modules || stack->count > STACK_MAX_FRAMES) {
		profile_add_stack(r->profile, stack);
		return;
	}
	uint32_t first = innermost(r, stack->frames, stack->count);
	uint32_t begin = first + agents_frames(r, stack, first);
	bool hook = begin > first;

	if (!hook && first < stack->count && stack->metric == METRIC_ON_CPU &&
	    is_cupti(r, &stack->frames[first]))
		r->hooks.cupti_ns += stack->weight_ns;
	// The time of handlers of ticks is known exactly, see struct sampler_status.
	if (hook && stack->metric == METRIC_ON_CPU && !is_interrupted(stack, begin))
		hooks_add(&r->hooks, modules_get(r->modules, r->agent), stack->frames + first,
		          begin - first, stack->weight_ns);
	ours.count = take_out(r, stack, first, hook);
	ours.frames = r->frames;
	profile_add_stack(r->profile, &ours);
}

// Of an interval only that is taken which is recorded, with as much of its weight.
static void add_stack(struct recorder *r, const struct stack *stack)
{
	struct recorded_span part;
	uint64_t at = stack->time_ns, end = at + stack->duration_ns;

	if (!recorded_is_partial(&r->recorded)) {
		add_whole_stack(r, stack);
		return;
	}
	if (!stack->duration_ns && recorded_has(&r->recorded, at))
		add_whole_stack(r, stack);
	while (at < end && recorded_next(&r->recorded, &at, end, &part)) {
		struct stack some = *stack;
		some.time_ns = part.from_ns;
		some.duration_ns = part.to_ns - part.from_ns;
		some.weight_ns = (uint64_t)((double)stack->weight_ns * (double)some.duration_ns /
		                            (double)stack->duration_ns);
		add_whole_stack(r, &some);
	}
}

static void add_span(struct recorder *r, const struct span_event *span)
{
	// Of a part of a run nobody knows what its end waited for.
	if (!is_own(r, span->thread) && !recorded_is_partial(&r->recorded))
		profile_take(r->profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = span });
}

// The marks by which a program says what is recorded of it.
static void obey(struct recorder *r, const struct op_event *event)
{
	const struct op *op = r->ops ? ops_get(r->ops, event->op) : NULL;
	bool before = recorded_is_partial(&r->recorded);

	if (!op || op->provider != OP_API)
		return;
	if (strcmp(op->name, OP_API_START) == 0)
		recorded_gate(&r->recorded, true, event->begin_ns);
	else if (strcmp(op->name, OP_API_STOP) == 0)
		recorded_gate(&r->recorded, false, event->begin_ns);
	if (!before && recorded_is_partial(&r->recorded))
		profile_forget_wall(r->profile); // see add_span()
}

static void add_op(struct recorder *r, const struct op_event *event)
{
	if (is_own(r, event->thread))
		return;
	if (event->mark)
		obey(r, event);
	else
		recorded_op_ends(&r->recorded, event->op, event->thread, event->end_ns);
	if (recorded_has(&r->recorded, event->begin_ns) ||
	    recorded_is_step(&r->recorded, event->op))
		profile_add_op(r->profile, event);
}

// *FRAMES, *COUNT: without those of the agent, by way of which the program calls the allocator and
// CUDA.
static void leave_out_caller(struct recorder *r, const struct frame **frames, uint32_t *count)
{
	if (!r->modules || *count > STACK_MAX_FRAMES)
		return;
	*count = leave_out_agent(r, *frames, *count, 0, false);
	*frames = r->frames;
}

static void add_alloc(struct recorder *r, const struct alloc_event *event)
{
	struct alloc_event without = *event;

	if (is_own(r, event->thread) || !recorded_has(&r->recorded, event->time_ns))
		return;
	leave_out_caller(r, &without.frames, &without.count);
	profile_add_alloc(r->profile, &without);
}

static void add_gpu_site(struct recorder *r, const struct gpu_site_event *event)
{
	struct gpu_site_event without = *event;

	leave_out_caller(r, &without.frames, &without.count);
	profile_add_gpu_site(r->profile, &without);
}

static void add_gpu(struct recorder *r, const struct gpu_event *event)
{
	struct gpu_event readable = *event;
	struct gpu_place place;
	uint64_t begin_ns, end_ns;

	if (gpu_record_work(event->record, &place, &begin_ns, &end_ns) &&
	    !recorded_has(&r->recorded, begin_ns))
		return;
	if (r->ops && event->record->type == RECORD_GPU_KERNEL)
		readable.op = kernel_names_get(&r->kernel_names, r->ops, event->op);
	profile_add_gpu(r->profile, &readable);
}

// What the profile gets as it is goes there at once.
static void take(void *context, const struct sampled *what)
{
	struct recorder *r = context;

	switch (what->kind) {
	case SAMPLED_PROCESS:
		add_process(r, what->process);
		return;
	case SAMPLED_PROCESS_END:
		end_process(r, what->at.number, what->at.time_ns);
		return;
	case SAMPLED_THREAD:
		add_thread(r, what->thread);
		return;
	case SAMPLED_THREAD_END:
		r->tasks++;
		if (!is_own(r, what->thread_end->thread))
			break;
		return;
	case SAMPLED_STACK:
		add_stack(r, what->stack);
		return;
	case SAMPLED_OP_BEGIN:
		recorded_op_begins(&r->recorded, what->at.number, what->at.thread,
		                   what->at.time_ns);
		return;
	case SAMPLED_OP:
		add_op(r, what->op);
		return;
	case SAMPLED_OP_COUNT:
	case SAMPLED_PYTHON_CALLS:
	case SAMPLED_PYTHON_AWAIT:
		// These are sums: nobody knows when it was.
		if (!recorded_is_partial(&r->recorded))
			break;
		return;
	case SAMPLED_GOROUTINES:
		if (recorded_has(&r->recorded, what->goroutines->time_ns))
			break;
		return;
	case SAMPLED_ALLOC:
		add_alloc(r, what->alloc);
		return;
	case SAMPLED_MEMORY:
		// What an agent that has joined reports is of the time that it was there, and what
		// is left, if all is little, comes when it leaves.
		if (r->joined || recorded_has(&r->recorded, what->memory->time_ns))
			break;
		return;
	case SAMPLED_PATCH:
		traced_add(&r->traced, what->patch);
		return;
	case SAMPLED_GPU_SITE:
		add_gpu_site(r, what->gpu_site);
		return;
	case SAMPLED_GPU:
		add_gpu(r, what->gpu);
		return;
	case SAMPLED_SPAN:
		add_span(r, what->span);
		return;
	case SAMPLED_PEERS:
	case SAMPLED_SIGNAL:
	case SAMPLED_FREE:
	case SAMPLED_PYTHON_NAME:
	case SAMPLED_GPU_PC:
	case SAMPLED_GPU_PC_SUM:
	case SAMPLED_WAIT:
		break;
	}
	profile_take(r->profile, what);
}

static bool wants(void *context, uint64_t time_ns)
{
	const struct recorder *r = context;

	return recorded_has(&r->recorded, time_ns);
}

struct sampler_sink recorder_sink(struct recorder *r)
{
	return (struct sampler_sink){ .context = r, .take = take, .wants = wants };
}

void recorder_init(struct recorder *r, struct profile *profile, const struct modules *modules,
                   struct ops *ops)
{
	memset(r, 0, sizeof(*r));
	r->profile = profile;
	r->modules = modules;
	r->ops = ops;
}

void recorder_fini(struct recorder *r)
{
	kernel_names_fini(&r->kernel_names);
	free(r->live);
	free(r->own_threads);
	recorded_fini(&r->recorded);
}

// Its exit record may still be on the way, so the kernel is asked. A zombie does not run.
static bool is_running(uint32_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

#define RESIDENT_MAX 64 // processes that are asked

// 0 if it has ended.
static uint64_t resident_of(uint32_t pid)
{
	char path[64], text[128];
	unsigned long long pages;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/statm", pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (count <= 0)
		return 0;
	text[count] = '\0';
	return sscanf(text, "%*s %llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t recorder_resident(const struct recorder *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->live_count && i < RESIDENT_MAX; i++)
		bytes += resident_of(r->live[i].pid);
	return bytes;
}

uint32_t recorder_count_running(const struct recorder *r, uint32_t main_pid, const char **name)
{
	uint32_t count = 0;

	*name = "";
	for (size_t i = 0; i < r->live_count; i++) {
		if (r->live[i].pid == main_pid || !is_running(r->live[i].pid))
			continue;
		if (count++ == 0)
			*name = r->live[i].name;
	}
	return count;
}
