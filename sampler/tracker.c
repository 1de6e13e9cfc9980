// SPDX-License-Identifier: MIT
#include "sampler/tracker.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "sampler/cpu_account.h"
#include "sampler/mapper.h"
#include "sampler/off_cpu.h"
#include "sampler/op_tracker.h"
#include "sampler/proc_task.h"
#include "sampler/tasks.h"
#include "sampler/unwinder.h"
#include "sampler/wait.h"

#include <errno.h>
#include <string.h>

// A thread that has run for so long without a sample is told of without one.
#define SILENT_NS (500 * NS_PER_MS)

// Of a process's ops some are only counted, and told of a little after its end.
#define ENDED 256

struct ended {
	uint32_t pid, number;
};

struct tracker {
	struct sampler_sink sink;
	struct modules *modules;       // borrowed
	struct kallsyms *kernel_names; // borrowed; may be NULL
	struct tasks *tasks;
	struct unwinder *unwinder;
	struct off_cpu *off_cpu; // NULL: the source tells nothing of switches
	bool tell_off_cpu;
	struct cpu_account_rules rules;
	struct op_tracker ops;
	struct ended ended[ENDED]; // a ring
	uint32_t ended_count;
	bool finishing;
	bool no_memory;   // an event could not be handled
	uint64_t events;  // handled so far
	uint64_t samples; // on a CPU, among them
	uint64_t cut;     // among those
	uint32_t unseen_processes;
	char unseen_name[64];

	// A free frame comes first, for a mark on top of the stack.
	struct frame stack[1 + STACK_MAX_FRAMES];
};

struct tracker *tracker_new(struct modules *modules, enum unwinder_kind unwinder,
                            const struct sampler_sink *sink, struct error *err)
{
	cleanup(tracker) struct tracker *t = calloc(1, sizeof(*t));
	enum unwinder_mode mode =
		unwinder == UNWINDER_LIBUNWIND ? UNWIND_BY_LIBUNWIND : UNWIND_BY_TABLE;

	if (!t || !(t->tasks = tasks_new())) {
		error_set(err, errno, "could not start following processes");
		return NULL;
	}
	t->modules = modules;
	t->sink = *sink;
	t->ops.sink = &t->sink;
	t->unwinder = unwinder_new(modules, mode, err);
	return t->unwinder ? steal(t) : NULL;
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	off_cpu_free(t->off_cpu);
	unwinder_free(t->unwinder);
	tasks_free(t->tasks);
	free(t);
}

// What the sink hears.

static void announce_process(struct tracker *t, struct process *process, uint64_t time_ns,
                             bool exec)
{
	struct process_event event = {
		.process = process->number,
		.parent = process->parent,
		.pid = process->pid,
		.time_ns = time_ns,
		.exec = exec,
		.command = process->command,
	};

	process->announced = true;
	if (t->sink.process)
		t->sink.process(t->sink.context, &event);
}

static void announce_thread(struct tracker *t, struct thread *thread, uint64_t time_ns)
{
	struct thread_event event = {
		.thread = thread->number,
		.process = thread->process->number,
		.tid = thread->tid,
		.time_ns = time_ns,
		.name = thread->name,
	};

	thread->announced = true;
	if (t->sink.thread)
		t->sink.thread(t->sink.context, &event);
}

static void give_stack(struct tracker *t, const struct stack *stack)
{
	if (t->sink.stack && stack->weight_ns)
		t->sink.stack(t->sink.context, stack);
}

// off_cpu has finished an interval.
static void give_off_cpu(void *context, const struct stack *stack)
{
	struct tracker *t = context;

	if (t->tell_off_cpu)
		give_stack(t, stack);
}

static void rename_thread(struct thread *thread, const char *name)
{
	snprintf(thread->name, sizeof(thread->name), "%s", name);
}

void tracker_adjust(struct tracker *t, const struct source_facts *facts)
{
	t->rules.switches = facts->switches;
	t->rules.kernel_samples = facts->kernel_samples;
	t->rules.estimated = facts->switches_estimated;
	t->rules.period_ns = NS_PER_SEC / (facts->frequency_hz ? facts->frequency_hz : 1);
}

void tracker_set_kernel_names(struct tracker *t, struct kallsyms *names)
{
	t->kernel_names = names;
}

void tracker_set_wrappers(struct tracker *t, op_is_wrapper *is_wrapper, void *context)
{
	t->ops.is_wrapper = is_wrapper;
	t->ops.context = context;
}

int tracker_start(struct tracker *t, const struct source_facts *facts, bool off_cpu,
                  struct error *err)
{
	struct off_cpu_options options = { .switch_samples = facts->switch_samples,
		                           .names = t->kernel_names };

	t->tell_off_cpu = off_cpu;
	tracker_adjust(t, facts);
	// It also keeps the clocks by which samples are weighed, so it is there with OFF_CPU off.
	if (!facts->switches)
		return 0;
	t->off_cpu = off_cpu_new(&options, t->modules, t->unwinder, give_off_cpu, t, err);
	return t->off_cpu ? 0 : -1;
}

// Tasks begin.

static void begin_thread(struct tracker *t, struct thread *thread, uint64_t time_ns, bool running)
{
	if (t->off_cpu)
		off_cpu_begin(t->off_cpu, thread, time_ns);
	if (t->off_cpu && running)
		off_cpu_switch(t->off_cpu, thread, time_ns, true, false);
	announce_thread(t, thread, time_ns);
}

// Events of PID came before anything that says where it is from.
static void adopt_process(struct tracker *t, struct process *process, uint64_t time_ns)
{
	char comm[16];

	proc_task_name(process->pid, process->pid, comm, sizeof(comm));
	proc_task_command(process->pid, comm, process->command, sizeof(process->command));
	mapper_reread(t->modules, process, time_ns);
	announce_process(t, process, time_ns, false);
}

// RUNNING: whether a thread that was not known is on a CPU.
static struct thread *thread_of(struct tracker *t, const struct event *event, bool running)
{
	struct thread *thread = tasks_thread(t->tasks, event->pid, event->tid, event->time_ns);

	if (!thread) {
		t->no_memory = true;
		return NULL;
	}
	if (!thread->process->announced)
		adopt_process(t, thread->process, event->time_ns);
	if (!thread->announced) {
		proc_task_name(event->pid, event->tid, thread->name, sizeof(thread->name));
		begin_thread(t, thread, event->time_ns, running);
	}
	return thread;
}

// Stacks.

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

static size_t unwind(struct tracker *t, struct process *process, const struct event_sample *sample,
                     uint64_t time_ns, struct frame *frames, size_t max, uint32_t *flags)
{
	int pid = (int)process->pid;

	if (!sample->has_user)
		return 0;
	if (!address_space_find(process->space, sample->regs[DWARF_RIP]))
		mapper_reread(t->modules, process, time_ns);

	uint32_t before = *flags;
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

// With the ops that are open.
static size_t add_user_frames(struct tracker *t, struct thread *thread,
                              const struct event_sample *sample, uint64_t time_ns,
                              struct frame *frames, size_t max, uint32_t *flags)
{
	size_t count = unwind(t, thread->process, sample, time_ns, frames, max, flags);

	if (sample->has_user)
		count = unwinder_complete(t->unwinder, &thread->last, time_ns, frames, count, max,
		                          flags);
	return op_stack_place(&thread->ops, frames, unwinder_stack_pointers(t->unwinder), count,
	                      max);
}

static struct frame mark_of(enum mark mark)
{
	return (struct frame){ .address = mark, .kind = FRAME_MARK };
}

// What no sample could tell. If it has ended at a switch, then on top of where that was.
static void give_short(struct tracker *t, const struct thread *thread, uint64_t time_ns,
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
	if (frames)
		memcpy(t->stack + 1, frames, count * sizeof(*frames));
	stack.count += (uint32_t)(count < STACK_MAX_FRAMES ? count : STACK_MAX_FRAMES - 1);
	give_stack(t, &stack);
}

// FRAMES[-1] is free, for the mark of kernel time.
static void give_on_cpu(struct tracker *t, struct thread *thread, uint64_t time_ns,
                        const struct cpu_split *split, struct frame *frames, size_t count,
                        uint32_t flags, uint32_t samples)
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
	};

	give_stack(t, &stack);
	stack.samples = split->user_ns ? 0 : samples;
	frames[-1] = mark_of(MARK_KERNEL);
	stack.frames = frames - 1;
	stack.count = (uint32_t)(count < STACK_MAX_FRAMES ? count + 1 : count);
	stack.weight_ns = split->kernel_ns;
	give_stack(t, &stack);
	stack.samples = 0;
	stack.flags = 0;
	stack.count = 1;
	stack.weight_ns = split->callless_ns;
	give_stack(t, &stack);
	stack.frames = &unseen;
	stack.weight_ns = split->unknown_ns;
	give_stack(t, &stack);
	give_short(t, thread, time_ns, split->short_ns);
}

static void on_tick(struct tracker *t, struct thread *thread, const struct event *event)
{
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;
	size_t count = add_kernel_frames(t, &event->sample, frames, STACK_MAX_FRAMES);

	count += add_user_frames(t, thread, &event->sample, event->time_ns, frames + count,
	                         STACK_MAX_FRAMES - count, &flags);
	if (!count)
		frames[count++] = mark_of(MARK_UNKNOWN);
	struct cpu_split split = cpu_account_sample(thread, event, &t->rules);
	cpu_account_keep(thread, frames, count, flags, event->sample.in_kernel);
	give_on_cpu(t, thread, event->time_ns, &split, frames, count, flags, 1);
	if (t->off_cpu)
		off_cpu_running(t->off_cpu, thread, frames, count, flags, event->time_ns);
	thread->process->samples++;
	t->samples++;
	t->cut += (flags & STACK_TRUNCATED) != 0;
}

// A source that probes by itself: what the thread waits for, for as long as the source says.
static void on_probe(struct tracker *t, struct thread *thread, const struct event *event)
{
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;
	size_t count = add_user_frames(t, thread, &event->sample, event->time_ns, frames,
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
	give_stack(t, &stack);
}

static void on_sample(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, event->sample.kind == SAMPLE_ON_CPU);

	if (!thread)
		return;
	if (event->sample.kind == SAMPLE_ON_CPU)
		on_tick(t, thread, event);
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
	give_on_cpu(t, thread, time_ns, split, frames, kept->count, kept->flags, 0);
}

// Time of THREAD for which no sample has come or will come.
static void give_rest(struct tracker *t, struct thread *thread, uint64_t time_ns)
{
	struct cpu_split split =
		cpu_account_rest(thread, cpu_account_clock(thread, time_ns), &t->rules);
	const struct cpu_split user = { .user_ns = split.user_ns };

	split.user_ns = 0;
	give_kept(t, thread, time_ns, &user, &thread->cpu.last);
	give_kept(t, thread, time_ns, &split, &thread->cpu.kernel);
}

// Tasks end.

static void give_thread_end(struct tracker *t, const struct thread *thread, uint64_t time_ns)
{
	struct thread_end end = {
		.thread = thread->number,
		.time_ns = time_ns,
		.exact = t->rules.switches,
	};

	memcpy(end.ns, thread->ns, sizeof(end.ns));
	if (!end.exact)
		end.ns[METRIC_ON_CPU] = thread->sampled_ns;
	if (t->sink.thread_end)
		t->sink.thread_end(t->sink.context, &end);
}

// The kernel takes our events off a process that runs a program which we may not read, and
// reports that as its end.
static void check_unseen(struct tracker *t, uint32_t pid, uint64_t time_ns)
{
	struct proc_task task;

	if (t->finishing || !proc_task_lives(pid, time_ns, &task))
		return;
	if (!t->unseen_processes++)
		snprintf(t->unseen_name, sizeof(t->unseen_name), "%s", task.name);
}

static void end_thread(struct tracker *t, struct thread *thread, uint64_t time_ns)
{
	uint32_t pid = thread->process->pid;
	uint32_t process = thread->process->number;
	bool process_ended;

	if (t->off_cpu)
		off_cpu_end(t->off_cpu, thread, time_ns);
	give_rest(t, thread, time_ns);
	op_tracker_close(&t->ops, thread, time_ns);
	give_thread_end(t, thread, time_ns);
	tasks_end_thread(t->tasks, thread, &process_ended);
	if (!process_ended)
		return;
	t->ended[t->ended_count++ % ENDED] = (struct ended){ pid, process };
	if (t->sink.process_end)
		t->sink.process_end(t->sink.context, process, time_ns);
	check_unseen(t, pid, time_ns);
}

struct thread_list {
	struct process *of;     // NULL: all threads
	struct thread *without; // not this one
	struct thread **threads;
	size_t count, capacity;
};

static void list_thread(void *context, struct thread *thread)
{
	struct thread_list *list = context;

	if ((list->of && thread->process != list->of) || thread == list->without)
		return;
	if (array_reserve(&list->threads, &list->capacity, list->count + 1))
		list->threads[list->count++] = thread;
}

static int by_number(const void *a, const void *b)
{
	uint32_t left = (*(struct thread *const *)a)->number;
	uint32_t right = (*(struct thread *const *)b)->number;

	return left < right ? -1 : left > right;
}

static void end_threads(struct tracker *t, struct process *of, struct thread *without,
                        uint64_t time_ns)
{
	struct thread_list list = { .of = of, .without = without };

	tasks_each_thread(t->tasks, list_thread, &list);
	if (list.count)
		qsort(list.threads, list.count, sizeof(struct thread *), by_number);
	for (size_t i = 0; i < list.count; i++)
		end_thread(t, list.threads[i], time_ns);
	free(list.threads);
}

// Events.

static void on_new_process(struct tracker *t, struct process *parent, const struct event *event)
{
	struct process *old = tasks_find_process(t->tasks, event->pid);
	if (old && old->live_threads)
		end_threads(t, old, NULL,
		            event->time_ns); // its end was lost, the pid is used again

	struct process *process = tasks_fork(t->tasks, parent, event->pid, event->time_ns);
	if (!process) {
		t->no_memory = true;
		return;
	}
	announce_process(t, process, event->time_ns, false);
}

static void on_fork(struct tracker *t, const struct event *event)
{
	struct event parent = {
		.pid = event->fork.parent_pid,
		.tid = event->fork.parent_tid,
		.time_ns = event->time_ns,
	};
	struct thread *by = thread_of(t, &parent, true);
	if (!by)
		return;
	if (event->pid != parent.pid)
		on_new_process(t, by->process, event);

	struct thread *thread = tasks_thread(t->tasks, event->pid, event->tid, event->time_ns);
	if (!thread || !thread->process->announced) {
		t->no_memory = true;
		return;
	}
	rename_thread(thread, by->name);
	begin_thread(t, thread, event->time_ns, false);
}

static void on_exec(struct tracker *t, const struct event *event)
{
	struct thread *thread = tasks_thread(t->tasks, event->pid, event->tid, event->time_ns);
	if (!thread) {
		t->no_memory = true;
		return;
	}

	struct process *process = thread->process;
	bool again = process->announced;
	if (again) {
		// Other threads die in an exec, and the caller takes the name of the first.
		end_threads(t, process, thread, event->time_ns);
		give_rest(t, thread, event->time_ns);
		cpu_account_exec(thread);
		op_tracker_close(&t->ops, thread, event->time_ns);
		op_sites_fini(&process->sites);
		last_stack_fini(&thread->last);
	}
	address_space_clear(process->space);
	mapper_reset(process);
	process->program = 0;
	process->loading = true;
	proc_task_command(event->pid, event->name, process->command, sizeof(process->command));
	announce_process(t, process, event->time_ns, again);
	rename_thread(thread, event->name);
	if (thread->announced)
		announce_thread(t, thread, event->time_ns);
	else
		begin_thread(t, thread, event->time_ns, true);
}

static void on_name(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);

	if (!thread || (thread->named && !event->given))
		return;
	thread->named |= event->given;
	if (strcmp(thread->name, event->name) == 0)
		return;
	rename_thread(thread, event->name);
	announce_thread(t, thread, event->time_ns);
}

// The kernel maps a program before the libraries that it needs.
static void name_program(struct process *process, const struct event_map *map)
{
	const struct mapping *mapping = address_space_find(process->space, map->start);

	process->program = mapping ? mapping->module : 0;
	process->loading = !mapping;
}

static void on_map(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);

	if (!thread)
		return;
	if (!mapper_add(t->modules, thread->process, &event->map))
		t->no_memory = true;
	if (thread->process->loading)
		name_program(thread->process, &event->map);
}

static void on_unmap(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (!process)
		return;
	if (!address_space_unmap(process->space, event->map.start, event->map.length))
		t->no_memory = true;
	// What is loaded there next need not be told: the first sample in it finds it.
	mapper_reset(process);
}

static void on_exit_event(struct tracker *t, const struct event *event)
{
	struct thread *thread = tasks_find_thread(t->tasks, event->pid, event->tid);

	if (thread)
		end_thread(t, thread, event->time_ns);
}

static void on_switch(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, !event->sched.in);

	if (!thread || !t->off_cpu)
		return;
	off_cpu_switch(t->off_cpu, thread, event->time_ns, event->sched.in, event->sched.preempted);
	if (event->sched.in)
		return;
	struct cpu_split split = cpu_account_switched(thread, event->sched.preempted, &t->rules);
	give_short(t, thread, event->time_ns, split.short_ns);
}

static void on_lost(struct tracker *t, const struct event *event)
{
	t->rules.loss_ns = event->time_ns;
}

// Ops and allocations.

static void on_op_begin(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);

	if (thread)
		op_tracker_begin(&t->ops, thread, event);
}

static void on_op_mark(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);

	if (thread)
		op_tracker_mark(&t->ops, thread, event);
}

static void on_op_end(struct tracker *t, const struct event *event)
{
	op_tracker_end(&t->ops, tasks_find_thread(t->tasks, event->pid, event->op_end.begin_tid),
	               event);
}

static void on_op_site(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);
	struct frame *frames = t->stack + 1;
	uint32_t flags = 0;

	if (!thread)
		return;
	size_t count = unwind(t, thread->process, &event->op_site.at, event->time_ns, frames,
	                      STACK_MAX_FRAMES, &flags);
	op_tracker_site(&t->ops, thread->process, event, frames,
	                unwinder_stack_pointers(t->unwinder), count);
}

// Also of one that has ended lately; 0: none.
static uint32_t process_number(struct tracker *t, uint32_t pid)
{
	const struct process *process = tasks_find_process(t->tasks, pid);

	if (process)
		return process->number;
	for (uint32_t i = t->ended_count; i > 0 && t->ended_count - i < ENDED; i--)
		if (t->ended[(i - 1) % ENDED].pid == pid)
			return t->ended[(i - 1) % ENDED].number;
	return 0;
}

static void on_op_count(struct tracker *t, const struct event *event)
{
	uint32_t process = process_number(t, event->pid);

	if (process)
		op_tracker_count(&t->ops, process, event);
}

static void on_alloc(struct tracker *t, const struct event *event)
{
	struct thread *thread = thread_of(t, event, true);
	struct alloc_event alloc = {
		.time_ns = event->time_ns,
		.address = event->alloc.address,
		.bytes = event->alloc.bytes,
		.weight_bytes = event->alloc.weight_bytes,
		.frames = t->stack + 1,
	};

	if (!thread || !t->sink.alloc)
		return;
	alloc.thread = thread->number;
	alloc.count = (uint32_t)add_user_frames(t, thread, &event->alloc.at, event->time_ns,
	                                        t->stack + 1, STACK_MAX_FRAMES, &alloc.flags);
	t->sink.alloc(t->sink.context, &alloc);
}

static void on_free(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);
	struct free_event freed = { .time_ns = event->time_ns, .address = event->freed };

	if (!process || !t->sink.freed)
		return;
	freed.process = process->number;
	t->sink.freed(t->sink.context, &freed);
}

static void on_memory(struct tracker *t, const struct event *event)
{
	uint32_t process = process_number(t, event->pid);

	if (!process || !t->sink.memory)
		return;
	struct memory_event memory = {
		.process = process,
		.time_ns = event->time_ns,
		.allocations = event->memory.allocations,
		.frees = event->memory.frees,
		.allocated_bytes = event->memory.allocated_bytes,
		.freed_bytes = event->memory.freed_bytes,
	};
	t->sink.memory(t->sink.context, &memory);
}

void tracker_handle(struct tracker *t, const struct event *event)
{
	static void (*const handlers[])(struct tracker *, const struct event *) = {
		[RECORD_SAMPLE] = on_sample,   [RECORD_MAP] = on_map,
		[RECORD_EXEC] = on_exec,       [RECORD_FORK] = on_fork,
		[RECORD_EXIT] = on_exit_event, [RECORD_SWITCH] = on_switch,
		[RECORD_LOST] = on_lost,       [RECORD_THREAD] = on_name,
		[RECORD_UNMAP] = on_unmap,     [RECORD_OP_BEGIN] = on_op_begin,
		[RECORD_OP_END] = on_op_end,   [RECORD_OP_MARK] = on_op_mark,
		[RECORD_OP_SITE] = on_op_site, [RECORD_OP_COUNT] = on_op_count,
		[RECORD_ALLOC] = on_alloc,     [RECORD_FREE] = on_free,
		[RECORD_MEMORY] = on_memory,
	};
	size_t type = (size_t)event->type;

	t->events++;
	if (type < sizeof(handlers) / sizeof(handlers[0]) && handlers[type])
		handlers[type](t, event);
}

// From time to time.

struct flush {
	struct tracker *tracker;
	uint64_t now_ns;
};

static void flush_thread(void *context, struct thread *thread)
{
	const struct flush *flush = context;

	if (!cpu_account_waits(thread) &&
	    cpu_account_clock(thread, flush->now_ns) > thread->sampled_ns + SILENT_NS)
		give_rest(flush->tracker, thread, flush->now_ns);
}

void tracker_flush(struct tracker *t, uint64_t now_ns)
{
	struct flush flush = { t, now_ns };

	if (!t->rules.kernel_samples && !t->rules.estimated)
		tasks_each_thread(t->tasks, flush_thread, &flush);
}

void tracker_probe(struct tracker *t, uint64_t now_ns)
{
	if (t->off_cpu && t->tell_off_cpu)
		off_cpu_probe(t->off_cpu, t->tasks, now_ns);
}

int tracker_timeout_ms(const struct tracker *t, uint64_t now_ns, int limit_ms)
{
	if (!t->off_cpu || !t->tell_off_cpu)
		return limit_ms;
	return off_cpu_timeout_ms(t->off_cpu, now_ns, limit_ms);
}

void tracker_finish(struct tracker *t, uint64_t now_ns)
{
	t->finishing = true;
	end_threads(t, NULL, NULL, now_ns);
}

uint64_t tracker_deep(const struct tracker *t)
{
	const struct unwinder_stats *stats = unwinder_stats(t->unwinder);

	return stats->joined + stats->truncated;
}

uint64_t tracker_events(const struct tracker *t)
{
	return t->events;
}

int tracker_check(const struct tracker *t, struct error *err)
{
	return t->no_memory ? error_set(err, ENOMEM, "could not follow the target") : 0;
}

void tracker_report(const struct tracker *t, struct sampler_status *status)
{
	const struct unwinder_stats *stats = unwinder_stats(t->unwinder);

	status->samples = t->samples;
	status->truncated = t->cut;
	status->joined = stats->joined;
	status->guessed = stats->guessed;
	status->libunwind_frames = stats->libunwind_frames;
	status->fp_frames = stats->fp_frames;
	status->probes = t->off_cpu ? off_cpu_probes(t->off_cpu) : 0;
	status->lost_ops = t->ops.unmatched;
	status->unseen_processes = t->unseen_processes;
	memcpy(status->unseen_name, t->unseen_name, sizeof(status->unseen_name));
}
