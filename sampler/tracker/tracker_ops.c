// SPDX-License-Identifier: MIT
#include "sampler/tracker/tracker_state.h"

#include "base/gpu_event.h"
#include "base/record_gpu.h"
#include "sampler/tracker/mapper.h"

void tracker_on_op_begin(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);

	if (!thread)
		return;
	thread->ops.codes = t->codes;
	op_tracker_begin(&t->ops, thread, event);
	if (event->op.correlation)
		gpu_calls_begin(t->gpu, thread, t->codes, event);
}

void tracker_on_op_mark(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);

	if (thread)
		op_tracker_mark(&t->ops, thread, event);
}

void tracker_on_op_end(struct tracker *t, const struct event *event)
{
	op_tracker_end(&t->ops, tasks_find_thread(t->tasks, event->pid, event->op_end.begin_tid),
	               event);
}

void tracker_on_op_site(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;

	if (!thread)
		return;
	size_t count = tracker_unwind(t, thread, &event->op_site.at, event->time_ns, frames,
	                              STACK_MAX_FRAMES, &flags);
	const uint64_t *sps = unwinder_stack_pointers(t->unwinder);
	op_sites_learn(&thread->process->sites, event->op_site.caller, event->op_site.stack, frames,
	               sps, count, t->is_wrapper, t->wrapper_context);
	if (!event->op_site.cuda)
		return;
	count = unwinder_complete(t->unwinder, &thread->last, event->time_ns, frames, count,
	                          STACK_MAX_FRAMES, &flags);
	gpu_calls_site(t->gpu, thread->process, &event->op_site, frames, sps, count, flags);
}

void tracker_on_op_count(struct tracker *t, const struct event *event)
{
	uint32_t process = tracker_process(t, event->pid);
	// It may be the first that is heard of the process.
	const struct thread *first = process ? NULL : tracker_thread(t, event, true);
	struct op_count_event count = { .op = event->op_count.op,
		                        .counts = event->op_count.counts };

	if (!process && !first)
		return;
	count.process = process ? process : first->process->number;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_OP_COUNT, .op_count = &count });
}

void tracker_on_alloc(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);
	struct alloc_event alloc = {
		.time_ns = event->time_ns,
		.address = event->alloc.address,
		.bytes = event->alloc.bytes,
		.weight_bytes = event->alloc.weight_bytes,
		.untracked = event->alloc.untracked,
		.frames = t->stack + 1,
	};

	if (!thread)
		return;
	alloc.thread = thread->number;
	alloc.count = (uint32_t)tracker_frames(t, thread, &event->alloc.at, event->time_ns,
	                                       t->stack + 1, STACK_MAX_FRAMES, &alloc.flags);
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_ALLOC, .alloc = &alloc });
}

void tracker_on_free(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);
	struct free_event freed = { .time_ns = event->time_ns, .address = event->freed };

	if (!process)
		return;
	freed.process = process->number;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_FREE, .freed = &freed });
}

void tracker_on_memory(struct tracker *t, const struct event *event)
{
	uint32_t process = tracker_process(t, event->pid);

	if (!process)
		return;
	struct memory_event memory = {
		.process = process,
		.time_ns = event->time_ns,
		.allocations = event->memory.allocations,
		.frees = event->memory.frees,
		.allocated_bytes = event->memory.allocated_bytes,
		.freed_bytes = event->memory.freed_bytes,
		.allocations_variance = event->memory.allocations_variance,
		.bytes_variance = event->memory.bytes_variance,
	};
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_MEMORY, .memory = &memory });
}

void tracker_on_patch(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);
	struct patch_event patch = {
		.pattern = event->patch.pattern,
		.reason = event->patch.reason,
		.count = event->patch.reason == PATCH_MANY ? event->patch.size : 1,
		.name = event->patch.name,
	};

	if (!thread)
		return;
	if (event->patch.reason != PATCH_PYTHON &&
	    !patches_add(&thread->process->patches, &event->patch))
		t->no_memory = true;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PATCH, .patch = &patch });
}

// Code that has come since it was last looked for is looked for again.
static struct frame frame_at(struct tracker *t, struct process *process, uint64_t pc,
                             uint64_t time_ns)
{
	if (!address_space_find(process->space, pc))
		mapper_reread(t->modules, process, time_ns);
	return unwinder_frame(t->unwinder, process->space, (int)process->pid, pc);
}

// No call is known to have caused it, but of a page fault the instruction is.
static void give_managed(struct tracker *t, uint32_t number, const struct event *event)
{
	const struct record_gpu_managed *managed =
		(const struct record_gpu_managed *)event->gpu.record;
	struct process *process = tasks_find_process(t->tasks, event->pid);
	struct gpu_event told = { .process = number, .record = &managed->head };

	if (managed->kind == GPU_MANAGED_HOST_FAULT && process)
		told.code = frame_at(t, process, managed->value, event->time_ns);
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_GPU, .gpu = &told });
}

void tracker_on_gpu(struct tracker *t, const struct event *event)
{
	uint32_t process = tracker_process(t, event->pid);

	if (!process)
		return;
	if (event->gpu.record->type == RECORD_GPU_MANAGED)
		give_managed(t, process, event);
	else
		gpu_calls_take(t->gpu, process, event);
}

void tracker_on_gpu_pc(struct tracker *t, const struct event *event)
{
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_GPU_PC, .gpu_pc = &event->gpu_pc });
}

void tracker_on_gpu_pc_sum(struct tracker *t, const struct event *event)
{
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_GPU_PC_SUM,
	                                   .gpu_pc_sum = &event->gpu_pc_sum });
}
