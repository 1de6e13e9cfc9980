// SPDX-License-Identifier: MIT
#include "sampler/tracker/tracker_state.h"

#include "base/array.h"
#include "base/await.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/python/python_command.h"
#include "sampler/tracker/mapper.h"

#include <string.h>

struct look_again {
	struct tracker *tracker;
	const struct process *process;
};

static void look_again(void *context, struct thread *thread)
{
	const struct look_again *again = context;

	if (thread->process == again->process)
		off_cpu_again(again->tracker->off_cpu, thread);
}

static void tell_calls(struct tracker *t, struct process *process,
                       const struct event_python_calls *calls)
{
	const struct python_calls_event told = {
		.function = { python_code_of(&process->python, calls->code), calls->name },
		.caller = { python_code_of(&process->python, calls->caller), calls->caller_name },
		.has_caller = calls->has_caller,
		.calls = calls->calls,
		.recursive = calls->recursive,
		.first = !process->python.counts,
		.last = calls->all,
	};

	process->python.counts = true;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PYTHON_CALLS, .python_calls = &told });
}

void tracker_begin_python(struct tracker *t, struct process *process,
                          const struct event_python *python)
{
	struct look_again again = { t, process };
	bool first = !process->python.runtime;

	python_begin(&process->python, python);
	process->python.in_file = python_has_file(process->pid);
	// One that is killed before it tells a call has told that it counts.
	if (python->counts && !process->python.counts)
		tell_calls(t, process, &(struct event_python_calls){ 0 });
	if (t->off_cpu && first) // threads that wait already
		tasks_each_thread(t->tasks, look_again, &again);
}

void tracker_on_python(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);

	if (thread)
		tracker_begin_python(t, thread->process, &event->python);
}

void tracker_on_python_code(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (process && t->codes &&
	    !python_add_code(&process->python, t->codes, &event->python_code))
		t->no_memory = true;
}

void tracker_on_python_chain(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (process && t->codes &&
	    !python_add_chain(&process->python, t->codes, &event->python_chain))
		t->no_memory = true;
}

void tracker_on_torch_module(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (process && t->codes &&
	    !python_name_module(&process->python, t->codes, &event->torch_module))
		t->no_memory = true;
}

void tracker_name_function(struct tracker *t, struct process *process, uint64_t address,
                           const char *text, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(process->space, address);
	if (!mapping && mapper_reread(t->modules, process, time_ns))
		mapping = address_space_find(process->space, address);
	if (!mapping)
		return;
	struct python_name_event name = {
		.module = mapping->module,
		.file_offset = address - mapping->start + mapping->file_offset,
		.name = text,
	};
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PYTHON_NAME, .python_name = &name });
}

void tracker_on_python_name(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (process)
		tracker_name_function(t, process, event->python_name.address,
		                      event->python_name.name, event->time_ns);
}

void tracker_on_python_calls(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);
	const struct event_python_calls *calls = &event->python_calls;

	if (process)
		tell_calls(t, process, calls);
}

void tracker_on_python_await(struct tracker *t, const struct event *event)
{
	const struct event_python_await *await = &event->python_await;
	struct python_await_event told = {
		.kind = (enum await_kind)await->kind,
		.count = await->count,
		.ns = await->ns,
		.longest_ns = await->longest_ns,
		.place_count = await->place_count,
	};

	if (await_read_places(await->places, await->place_bytes, await->place_count, told.places))
		tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PYTHON_AWAIT,
		                                   .python_await = &told });
}

static void keep_kernel(struct kernel_chain *chain, const struct event_sample *sample)
{
	chain->count = 0;
	if (!array_reserve(&chain->addresses, &chain->capacity, sample->kernel_count))
		return;
	memcpy(chain->addresses, sample->kernel, sample->kernel_count * sizeof(*chain->addresses));
	chain->count = sample->kernel_count;
	chain->ip = sample->regs[DWARF_RIP];
	chain->sp = sample->regs[DWARF_RSP];
}

bool tracker_is_double(struct thread *thread, const struct event_sample *sample)
{
	if (sample->by_agent || !thread->process->python.samples)
		return false;
	if (sample->kernel_count && sample->has_user)
		keep_kernel(&thread->kernel_chain, sample);
	return true;
}

// The agent's tick in the kernel comes on the way out of it, to where the call or the fault was.
static bool fits(const struct kernel_chain *chain, const struct event_sample *sample)
{
	return chain->count && chain->ip == sample->regs[DWARF_RIP] &&
	       chain->sp == sample->regs[DWARF_RSP];
}

void tracker_add_kernel(struct thread *thread, struct event_sample *sample)
{
	struct kernel_chain *chain = &thread->kernel_chain;

	if (fits(chain, sample)) {
		sample->kernel = chain->addresses;
		sample->kernel_count = chain->count;
		sample->in_kernel = false; // its frames say so
	}
	chain->count = 0;
}

size_t tracker_add_python(struct tracker *t, struct process *process,
                          const struct python_chain *chain, struct frame *frames,
                          const uint64_t **sps, size_t count, size_t max, uint32_t *flags)
{
	const struct python_native native = {
		process->space, t->modules, frames, *sps, count, .earlier = t->read_later
	};
	struct python_stack *placed = &t->python;

	python_place(&process->python, chain, &native, placed);
	if (placed->whole)
		*flags &= ~(uint32_t)STACK_TRUNCATED;
	count = placed->count < max ? placed->count : max;
	memcpy(frames, placed->frames, count * sizeof(*frames));
	*sps = placed->sps;
	return count;
}
