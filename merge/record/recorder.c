// SPDX-License-Identifier: MIT
#include "merge/record/recorder.h"

#include "base/array.h"
#include "base/module.h"
#include "cli/run/proc_state.h"
#include "merge/profile/profile.h"
#include "tracer/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct live_process *find_live(struct sink *sink, uint32_t process)
{
	for (size_t i = sink->live_count; i-- > 0;) // the newest end first
		if (sink->live[i].process == process)
			return &sink->live[i];
	return NULL;
}

static void add_process(void *context, const struct process_event *event)
{
	struct sink *sink = context;
	struct live_process *live = find_live(sink, event->process);

	profile_add_process(sink->profile, event);
	if (!live) {
		if (!array_reserve(&sink->live, &sink->live_capacity, sink->live_count + 1))
			return; // then it is missing from a count in the limits
		live = &sink->live[sink->live_count++];
		live->process = event->process;
	}
	live->pid = event->pid;
	snprintf(live->name, sizeof(live->name), "%s", event->command);
}

static void end_process(void *context, uint32_t process, uint64_t time_ns)
{
	struct sink *sink = context;
	struct live_process *live = find_live(sink, process);

	profile_end_process(sink->profile, process, time_ns);
	if (live)
		*live = sink->live[--sink->live_count];
}

static void add_thread(void *context, const struct thread_event *event)
{
	struct sink *sink = context;
	bool was_ours = own_threads_has(&sink->own_threads, event->thread);

	if (!own_threads_take(&sink->own_threads, event->thread, event->name))
		profile_add_thread(sink->profile, event);
	else if (!was_ours)
		profile_hide_thread(sink->profile, event->thread);
}

static void end_thread(void *context, const struct thread_end *end)
{
	struct sink *sink = context;

	if (!own_threads_has(&sink->own_threads, end->thread))
		profile_end_thread(sink->profile, end);
}

// There is one agent in a run: its module is found once.
static bool is_agent(struct sink *sink, const struct frame *frame)
{
	if (!frame->module || frame->kind == FRAME_MARK || frame->kind == FRAME_OP ||
	    frame->module == sink->not_agent)
		return false;
	if (sink->agent)
		return frame->module == sink->agent;
	const struct module *module = modules_get(sink->modules, frame->module);
	const char *slash = module ? strrchr(module->path, '/') : NULL;
	if (slash && strcmp(slash + 1, PROTOCOL_AGENT_LIBRARY) == 0)
		sink->agent = frame->module;
	else
		sink->not_agent = frame->module;
	return sink->agent != 0;
}

static bool is_user_code(const struct sink *sink, const struct frame *frame)
{
	const struct module *module = modules_get(sink->modules, frame->module);

	return frame->kind != FRAME_MARK && frame->kind != FRAME_OP &&
	       frame->kind != FRAME_PYTHON && !(module && module->kind == MODULE_KERNEL);
}

// The first frame of user space; COUNT if there is none.
static uint32_t innermost(const struct sink *sink, const struct frame *frames, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && !is_user_code(sink, &frames[i]))
		i++;
	return i;
}

// FRAMES from BEGIN on without those of the agent, which are one mark where BEGIN is its code, see
// HOOK; returns how many there are with those before.
static uint32_t leave_out_agent(struct sink *sink, const struct frame *frames, uint32_t count,
                                uint32_t begin, bool hook)
{
	uint32_t kept = begin;

	memcpy(sink->frames, frames, begin * sizeof(*frames));
	if (hook)
		sink->frames[kept++] = (struct frame){ .address = MARK_OURS, .kind = FRAME_MARK };
	for (uint32_t i = begin; i < count; i++)
		if (!is_agent(sink, &frames[i]))
			sink->frames[kept++] = frames[i];
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

uint64_t sink_hooks_ns(const void *sink)
{
	const struct hooks *hooks = &((const struct sink *)sink)->hooks;

	return hooks_ops_ns(hooks) + hooks->ns[HOOKS_MEMORY] + hooks->cupti_ns;
}

// Whoever else may use CUPTI, the program's own work is not done there.
static bool is_cupti(struct sink *sink, const struct frame *frame)
{
	if (!frame->module || frame->kind == FRAME_MARK || frame->kind == FRAME_OP ||
	    frame->module == sink->not_cupti)
		return false;
	if (frame->module == sink->cupti)
		return true;
	const struct module *module = modules_get(sink->modules, frame->module);
	const char *slash = module ? strrchr(module->path, '/') : NULL;
	if (slash && strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) == 0)
		sink->cupti = frame->module;
	else
		sink->not_cupti = frame->module;
	return sink->cupti == frame->module;
}

static void add_whole_stack(struct sink *sink, const struct stack *stack)
{
	struct stack ours = *stack;

	if (own_threads_has(&sink->own_threads, stack->thread)) {
		sink->hooks.cupti_ns += stack->metric == METRIC_ON_CPU ? stack->weight_ns : 0;
		return;
	}
	if (!sink->modules || stack->count > STACK_MAX_FRAMES) {
		profile_add_stack(sink->profile, stack);
		return;
	}
	uint32_t begin = innermost(sink, stack->frames, stack->count);
	bool hook = begin < stack->count && is_agent(sink, &stack->frames[begin]);
	uint32_t first = begin;

	if (!hook && begin < stack->count && stack->metric == METRIC_ON_CPU &&
	    is_cupti(sink, &stack->frames[begin]))
		sink->hooks.cupti_ns += stack->weight_ns;
	while (hook && begin < stack->count && is_agent(sink, &stack->frames[begin]))
		begin++;
	// The time of handlers of ticks is known exactly, see struct sampler_status.
	if (hook && stack->metric == METRIC_ON_CPU && !is_interrupted(stack, begin))
		hooks_add(&sink->hooks, modules_get(sink->modules, sink->agent),
		          stack->frames + first, begin - first, stack->weight_ns);
	ours.count = leave_out_agent(sink, stack->frames, stack->count, first, hook);
	ours.frames = sink->frames;
	profile_add_stack(sink->profile, &ours);
}

// Of an interval only that is taken which is recorded, with as much of its weight.
static void add_stack(void *context, const struct stack *stack)
{
	struct sink *sink = context;
	struct recorded_span part;
	uint64_t at = stack->time_ns, end = at + stack->duration_ns;

	if (!recorded_is_partial(&sink->recorded)) {
		add_whole_stack(sink, stack);
		return;
	}
	if (!stack->duration_ns && recorded_has(&sink->recorded, at))
		add_whole_stack(sink, stack);
	while (at < end && recorded_next(&sink->recorded, &at, end, &part)) {
		struct stack some = *stack;
		some.time_ns = part.from_ns;
		some.duration_ns = part.to_ns - part.from_ns;
		some.weight_ns = (uint64_t)((double)stack->weight_ns * (double)some.duration_ns /
		                            (double)stack->duration_ns);
		add_whole_stack(sink, &some);
	}
}

static bool wants(void *context, uint64_t time_ns)
{
	return recorded_has(&((struct sink *)context)->recorded, time_ns);
}

static void op_begins(void *context, uint32_t op, uint64_t time_ns)
{
	recorded_op_begins(&((struct sink *)context)->recorded, op, time_ns);
}

static void add_op(void *context, const struct op_event *event)
{
	struct sink *sink = context;

	if (own_threads_has(&sink->own_threads, event->thread))
		return;
	if (!event->mark)
		recorded_op_ends(&sink->recorded, event->op, event->end_ns);
	if (recorded_has(&sink->recorded, event->begin_ns))
		profile_add_op(sink->profile, event);
}

// Of what is told in sums nobody knows when it was.
static bool is_whole(const struct sink *sink)
{
	return !recorded_is_partial(&sink->recorded);
}

static void add_op_count(void *context, const struct op_count_event *event)
{
	struct sink *sink = context;

	if (is_whole(sink))
		profile_add_op_count(sink->profile, event);
}

// Who allocates calls the allocator by way of the agent: that one has no part in it.
static void add_alloc(void *context, const struct alloc_event *event)
{
	struct sink *sink = context;
	struct alloc_event ours = *event;

	if (own_threads_has(&sink->own_threads, event->thread) ||
	    !recorded_has(&sink->recorded, event->time_ns))
		return;
	if (sink->modules && event->count <= STACK_MAX_FRAMES) {
		ours.count = leave_out_agent(sink, event->frames, event->count, 0, false);
		ours.frames = sink->frames;
	}
	profile_add_alloc(sink->profile, &ours);
}

static void add_free(void *context, const struct free_event *event)
{
	struct sink *sink = context;

	profile_add_free(sink->profile, event);
}

static void add_python_name(void *context, const struct python_name_event *event)
{
	struct sink *sink = context;

	profile_add_python_name(sink->profile, event);
}

static void add_python_calls(void *context, const struct python_calls_event *event)
{
	struct sink *sink = context;

	if (is_whole(sink))
		profile_add_python_calls(sink->profile, event);
}

static void add_memory(void *context, const struct memory_event *event)
{
	struct sink *sink = context;

	if (recorded_has(&sink->recorded, event->time_ns))
		profile_add_memory(sink->profile, event);
}

static void add_patch(void *context, const struct patch_event *event)
{
	struct sink *sink = context;

	traced_add(&sink->traced, event);
}

static void add_gpu_site(void *context, const struct gpu_site_event *event)
{
	struct sink *sink = context;
	struct gpu_site_event ours = *event;

	if (sink->modules && event->count <= STACK_MAX_FRAMES) {
		ours.count = leave_out_agent(sink, event->frames, event->count, 0, false);
		ours.frames = sink->frames;
	}
	profile_add_gpu_site(sink->profile, &ours);
}

static void add_gpu(void *context, const struct gpu_event *event)
{
	struct sink *sink = context;
	struct gpu_event ours = *event;
	struct gpu_place place;
	uint64_t begin_ns, end_ns;

	if (gpu_record_work(event->record, &place, &begin_ns, &end_ns) &&
	    !recorded_has(&sink->recorded, begin_ns))
		return;
	if (sink->ops && event->record->type == RECORD_GPU_KERNEL)
		ours.op = kernel_names_get(&sink->kernel_names, sink->ops, event->op);
	profile_add_gpu(sink->profile, &ours);
}

static void add_gpu_pc(void *context, const struct gpu_pc_event *event)
{
	struct sink *sink = context;

	profile_add_gpu_pc(sink->profile, event);
}

static void add_gpu_pc_sum(void *context, const struct gpu_pc_sum_event *event)
{
	struct sink *sink = context;

	profile_add_gpu_pc_sum(sink->profile, event);
}

void sink_init(struct sink *sink, struct profile *profile, const struct modules *modules)
{
	memset(sink, 0, sizeof(*sink));
	sink->profile = profile;
	sink->modules = modules;
}

void sink_fini(struct sink *sink)
{
	kernel_names_fini(&sink->kernel_names);
	free(sink->live);
	own_threads_fini(&sink->own_threads);
	recorded_fini(&sink->recorded);
}

struct sampler_sink sink_functions(struct sink *sink)
{
	return (struct sampler_sink){
		.context = sink,
		.process = add_process,
		.process_end = end_process,
		.thread = add_thread,
		.thread_end = end_thread,
		.stack = add_stack,
		.op = add_op,
		.op_count = add_op_count,
		.alloc = add_alloc,
		.freed = add_free,
		.memory = add_memory,
		.patch = add_patch,
		.op_begins = op_begins,
		.wants = wants,
		.gpu_site = add_gpu_site,
		.gpu = add_gpu,
		.gpu_pc = add_gpu_pc,
		.gpu_pc_sum = add_gpu_pc_sum,
		.python_name = add_python_name,
		.python_calls = add_python_calls,
	};
}

// Its exit record may still be on the way, so the kernel is asked. A zombie does not run.
static bool is_running(uint32_t pid)
{
	char state = proc_state((pid_t)pid);

	return state && state != 'Z' && state != 'X';
}

uint32_t sink_count_running(const struct sink *sink, uint32_t main_pid, const char **name)
{
	uint32_t count = 0;

	*name = "";
	for (size_t i = 0; i < sink->live_count; i++) {
		if (sink->live[i].pid == main_pid || !is_running(sink->live[i].pid))
			continue;
		if (count++ == 0)
			*name = sink->live[i].name;
	}
	return count;
}
