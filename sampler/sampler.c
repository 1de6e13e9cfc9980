// SPDX-License-Identifier: MIT
#include "sampler/sampler.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "sampler/cpu_account.h"
#include "sampler/ladder.h"
#include "sampler/mapper.h"
#include "sampler/off_cpu.h"
#include "sampler/proc_task.h"
#include "sampler/source.h"
#include "sampler/tasks.h"
#include "sampler/unwinder.h"
#include "sampler/wait.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

// Events come from several rings: one that is being written may be this much behind.
#define SETTLE_NS          NS_PER_MS

#define IDLE_TIMEOUT_MS    100
#define HOUSEKEEPING_NS    NS_PER_SEC
#define FREQUENCY_MIN      49
#define FREQUENCY_MAX      10000
#define STACK_BYTES_MIN    512
#define STACK_BYTES_MAX    65528
#define LOST_SHARE_TOO_BIG 50 // one event in so many
#define COLLECTOR_SHARE    2  // of a CPU: one in so many
#define COLLECTOR_NICE     (-15)

struct sampler {
	struct sampler_options options;
	struct sampler_sink sink;
	struct sampler_status status;
	struct modules *modules; // borrowed
	struct tasks *tasks;
	struct unwinder *unwinder;
	struct off_cpu *off_cpu; // NULL: the source tells nothing of switches
	struct source *source;
	struct cpu_account_rules rules;
	int epoll;
	pid_t child;
	bool finishing;
	bool no_memory;  // an event could not be handled
	uint64_t events; // handled so far

	struct {
		uint64_t since_ns, cpu_ns, events, lost;
	} window; // since the last housekeeping

	// A free frame comes first, for a mark on top of the stack.
	struct frame stack[1 + STACK_MAX_FRAMES];
};

static uint32_t clamp(uint32_t value, uint32_t otherwise, uint32_t low, uint32_t high)
{
	if (!value)
		return otherwise;
	return value < low ? low : value > high ? high : value;
}

struct sampler *sampler_new(const struct sampler_options *options, struct modules *modules,
                            const struct sampler_sink *sink, struct error *err)
{
	cleanup(sampler) struct sampler *s = calloc(1, sizeof(*s));
	if (!s) {
		error_set(err, errno, "could not start the sampler");
		return NULL;
	}
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->tasks = tasks_new();
	if (s->epoll < 0 || !s->tasks) {
		error_set(err, errno, "could not start the sampler");
		return NULL;
	}
	s->options = *options;
	s->options.frequency_hz =
		clamp(options->frequency_hz, SAMPLER_FREQUENCY_DEFAULT, 1, FREQUENCY_MAX);
	s->options.stack_bytes = clamp(options->stack_bytes, SAMPLER_STACK_BYTES_DEFAULT,
	                               STACK_BYTES_MIN, STACK_BYTES_MAX);
	s->modules = modules;
	s->sink = *sink;
	s->unwinder = unwinder_new(modules,
	                           options->unwinder == UNWINDER_LIBUNWIND ? UNWIND_BY_LIBUNWIND
	                                                                   : UNWIND_BY_TABLE,
	                           err);
	return s->unwinder ? steal(s) : NULL;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	if (s->source)
		s->source->ops->close(s->source);
	off_cpu_free(s->off_cpu);
	unwinder_free(s->unwinder);
	tasks_free(s->tasks);
	close_at_scope_end(&s->epoll);
	free(s);
}

// What the sink hears.

static void announce_process(struct sampler *s, struct process *process, uint64_t time_ns,
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
	if (s->sink.process)
		s->sink.process(s->sink.context, &event);
}

static void announce_thread(struct sampler *s, struct thread *thread, uint64_t time_ns)
{
	struct thread_event event = {
		.thread = thread->number,
		.process = thread->process->number,
		.tid = thread->tid,
		.time_ns = time_ns,
		.name = thread->name,
	};

	thread->announced = true;
	if (s->sink.thread)
		s->sink.thread(s->sink.context, &event);
}

static void give_stack(struct sampler *s, const struct stack *stack)
{
	if (s->sink.stack && stack->weight_ns)
		s->sink.stack(s->sink.context, stack);
}

// off_cpu has finished an interval.
static void give_off_cpu(void *context, const struct stack *stack)
{
	struct sampler *s = context;

	if (s->options.off_cpu)
		give_stack(s, stack);
}

static void rename_thread(struct thread *thread, const char *name)
{
	snprintf(thread->name, sizeof(thread->name), "%s", name);
}

// Opening.

static int wait_for_source(struct sampler *s, struct error *err)
{
	int fd = s->source->ops->fd(s->source);
	struct epoll_event wanted = { .events = EPOLLIN };

	if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &wanted) < 0)
		return error_set(err, errno, "could not wait for samples");
	return 0;
}

static int start_off_cpu(struct sampler *s, struct error *err)
{
	struct off_cpu_options options = { .switch_samples = s->source->facts.switch_samples };

	// It also keeps the clocks by which samples are weighed, so it is there with off_cpu off.
	if (!s->source->facts.switches)
		return 0;
	s->off_cpu = off_cpu_new(&options, s->modules, s->unwinder, give_off_cpu, s, err);
	return s->off_cpu ? 0 : -1;
}

static void report_rung(struct sampler *s, const struct ladder_report *report)
{
	struct sampler_status *status = &s->status;
	const struct source_facts *facts = &s->source->facts;

	status->rung = s->source->ops->rung;
	status->kernel_stacks = facts->kernel_stacks;
	status->off_cpu_exact =
		facts->switches && !facts->switches_estimated && s->options.off_cpu;
	status->frequency_hz = facts->frequency_hz;
	memcpy(status->rung_reason, report->reason, sizeof(status->rung_reason));
	memcpy(status->rung_remedy, report->remedy, sizeof(status->rung_remedy));
	memcpy(status->rung_note, facts->note, sizeof(status->rung_note));
}

static void set_rules(struct sampler *s)
{
	const struct source_facts *facts = &s->source->facts;

	s->rules.switches = facts->switches;
	s->rules.kernel_samples = facts->kernel_samples;
	s->rules.period_ns = NS_PER_SEC / (facts->frequency_hz ? facts->frequency_hz : 1);
}

// Events wait in rings of fixed size while a full machine keeps the collector waiting. Where we
// may not ask for more than our share, we do without.
static void ask_for_priority(void)
{
	setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
}

int sampler_attach(struct sampler *s, pid_t child, struct error *err)
{
	struct ladder_report report;
	size_t count;
	const struct source_ops *const *rungs = ladder_rungs(&count);
	struct source_request request = {
		.child = child,
		.frequency_hz = s->options.frequency_hz,
		.stack_bytes = s->options.stack_bytes,
		.off_cpu = s->options.off_cpu,
		.agent_directory = s->options.agent_directory,
	};

	s->child = child;
	s->source = ladder_climb(rungs, count, s->options.best_rung, &request, &report, err);
	if (!s->source)
		return error_wrap(err, "could not sample process %d", (int)child);
	set_rules(s);
	report_rung(s, &report);
	s->window.since_ns = clock_now_ns();
	s->window.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (start_off_cpu(s, err) < 0)
		return -1;
	ask_for_priority();
	return wait_for_source(s, err);
}

// Tasks begin.

static void begin_thread(struct sampler *s, struct thread *thread, uint64_t time_ns, bool running)
{
	if (s->off_cpu)
		off_cpu_begin(s->off_cpu, thread, time_ns);
	if (s->off_cpu && running)
		off_cpu_switch(s->off_cpu, thread, time_ns, true, false);
	announce_thread(s, thread, time_ns);
}

// Events of PID came before anything that says where it is from.
static void adopt_process(struct sampler *s, struct process *process, uint64_t time_ns)
{
	char comm[16];

	proc_task_name(process->pid, process->pid, comm, sizeof(comm));
	proc_task_command(process->pid, comm, process->command, sizeof(process->command));
	mapper_reread(s->modules, process, time_ns);
	announce_process(s, process, time_ns, false);
}

// RUNNING: whether a thread that was not known is on a CPU.
static struct thread *thread_of(struct sampler *s, const struct event *event, bool running)
{
	struct thread *thread = tasks_thread(s->tasks, event->pid, event->tid, event->time_ns);

	if (!thread) {
		s->no_memory = true;
		return NULL;
	}
	if (!thread->process->announced)
		adopt_process(s, thread->process, event->time_ns);
	if (!thread->announced) {
		proc_task_name(event->pid, event->tid, thread->name, sizeof(thread->name));
		begin_thread(s, thread, event->time_ns, running);
	}
	return thread;
}

// Stacks.

static size_t add_kernel_frames(struct sampler *s, const struct event_sample *sample,
                                struct frame *frames, size_t max)
{
	if (!sample->kernel_count)
		return 0;

	struct module wanted = { .kind = MODULE_KERNEL, .path = "[kernel]", .fd = -1 };
	const struct module *kernel = modules_add(s->modules, &wanted, NULL);
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

static size_t add_user_frames(struct sampler *s, struct process *process, const struct event *event,
                              struct frame *frames, size_t max, uint32_t *flags)
{
	const struct event_sample *sample = &event->sample;

	if (!sample->has_user)
		return 0;
	if (!address_space_find(process->space, sample->regs[REG_RIP]))
		mapper_reread(s->modules, process, event->time_ns);

	uint32_t before = *flags;
	size_t count = unwinder_unwind(s->unwinder, process->space, sample, (int)event->pid, frames,
	                               max, flags);
	for (size_t i = 0; i < count; i++) {
		if (!is_unmapped(&frames[i]))
			continue;
		if (!mapper_reread(s->modules, process, event->time_ns))
			break;
		*flags = before;
		return unwinder_unwind(s->unwinder, process->space, sample, (int)event->pid, frames,
		                       max, flags);
	}
	return count;
}

static struct frame mark_of(enum mark mark)
{
	return (struct frame){ .address = mark, .kind = FRAME_MARK };
}

// FRAMES[-1] is free, for the mark of kernel time.
static void give_on_cpu(struct sampler *s, struct thread *thread, uint64_t time_ns,
                        const struct cpu_split *split, struct frame *frames, size_t count,
                        uint32_t flags, uint32_t samples)
{
	struct frame unknown = mark_of(MARK_UNKNOWN);
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

	give_stack(s, &stack);
	stack.samples = 0;
	frames[-1] = mark_of(MARK_KERNEL);
	stack.frames = frames - 1;
	stack.count = (uint32_t)(count < STACK_MAX_FRAMES ? count + 1 : count);
	stack.weight_ns = split->kernel_ns;
	give_stack(s, &stack);
	stack.frames = &unknown;
	stack.count = 1;
	stack.flags = 0;
	stack.weight_ns = split->unknown_ns;
	give_stack(s, &stack);
}

static void on_tick(struct sampler *s, struct thread *thread, const struct event *event)
{
	struct frame *frames = s->stack + 1;
	uint32_t flags = 0;
	size_t count = add_kernel_frames(s, &event->sample, frames, STACK_MAX_FRAMES);

	count += add_user_frames(s, thread->process, event, frames + count,
	                         STACK_MAX_FRAMES - count, &flags);
	if (!count)
		frames[count++] = mark_of(MARK_UNKNOWN);
	struct cpu_split split = cpu_account_sample(thread, event, &s->rules);
	cpu_account_keep(thread, frames, count, flags);
	give_on_cpu(s, thread, event->time_ns, &split, frames, count, flags, 1);
	if (s->off_cpu)
		off_cpu_running(s->off_cpu, thread, frames, count, flags, event->time_ns);
	thread->process->samples++;
	s->status.samples++;
}

// A source that probes by itself: what the thread waits for, for as long as the source says.
static void on_probe(struct sampler *s, struct thread *thread, const struct event *event)
{
	struct frame *frames = s->stack + 1;
	uint32_t flags = 0;
	size_t count = add_user_frames(s, thread->process, event, frames, STACK_MAX_FRAMES, &flags);
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
	give_stack(s, &stack);
}

static void on_sample(struct sampler *s, const struct event *event)
{
	struct thread *thread = thread_of(s, event, event->sample.kind == SAMPLE_ON_CPU);

	if (!thread)
		return;
	if (event->sample.kind == SAMPLE_ON_CPU)
		on_tick(s, thread, event);
	else if (event->sample.kind == SAMPLE_PROBE)
		on_probe(s, thread, event);
	else if (s->off_cpu)
		off_cpu_sample(s->off_cpu, thread, event);
}

// Time of THREAD for which no sample has come or will come.
static void give_rest(struct sampler *s, struct thread *thread, uint64_t time_ns)
{
	struct cpu_split split =
		cpu_account_rest(thread, cpu_account_clock(thread, time_ns), &s->rules);
	struct frame *frames = s->stack + 1;
	size_t count = thread->cpu.frame_count;

	if (count)
		memcpy(frames, thread->cpu.frames, count * sizeof(*frames));
	give_on_cpu(s, thread, time_ns, &split, frames, count, thread->cpu.frame_flags, 0);
}

// Tasks end.

static void give_thread_end(struct sampler *s, const struct thread *thread, uint64_t time_ns)
{
	struct thread_end end = {
		.thread = thread->number,
		.time_ns = time_ns,
		.exact = s->rules.switches,
	};

	memcpy(end.ns, thread->ns, sizeof(end.ns));
	if (!end.exact)
		end.ns[METRIC_ON_CPU] = thread->sampled_ns;
	if (s->sink.thread_end)
		s->sink.thread_end(s->sink.context, &end);
}

// The kernel takes our events off a process that runs a program which we may not read, and
// reports that as its end.
static void check_unseen(struct sampler *s, uint32_t pid, uint64_t time_ns)
{
	struct proc_task task;

	if (s->finishing || !proc_task_lives(pid, time_ns, &task))
		return;
	if (!s->status.unseen_processes++)
		snprintf(s->status.unseen_name, sizeof(s->status.unseen_name), "%s", task.name);
}

static void end_thread(struct sampler *s, struct thread *thread, uint64_t time_ns)
{
	uint32_t pid = thread->process->pid;
	uint32_t process = thread->process->number;
	bool process_ended;

	if (s->off_cpu)
		off_cpu_end(s->off_cpu, thread, time_ns);
	give_rest(s, thread, time_ns);
	give_thread_end(s, thread, time_ns);
	tasks_end_thread(s->tasks, thread, &process_ended);
	if (!process_ended)
		return;
	if (s->sink.process_end)
		s->sink.process_end(s->sink.context, process, time_ns);
	check_unseen(s, pid, time_ns);
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

static void end_threads(struct sampler *s, struct process *of, struct thread *without,
                        uint64_t time_ns)
{
	struct thread_list list = { .of = of, .without = without };

	tasks_each_thread(s->tasks, list_thread, &list);
	if (list.count)
		qsort(list.threads, list.count, sizeof(struct thread *), by_number);
	for (size_t i = 0; i < list.count; i++)
		end_thread(s, list.threads[i], time_ns);
	free(list.threads);
}

// Events.

static void on_new_process(struct sampler *s, struct process *parent, const struct event *event)
{
	struct process *old = tasks_find_process(s->tasks, event->pid);
	if (old && old->live_threads)
		end_threads(s, old, NULL,
		            event->time_ns); // its end was lost, the pid is used again

	struct process *process = tasks_fork(s->tasks, parent, event->pid, event->time_ns);
	if (!process) {
		s->no_memory = true;
		return;
	}
	announce_process(s, process, event->time_ns, false);
}

static void on_fork(struct sampler *s, const struct event *event)
{
	struct event parent = {
		.pid = event->fork.parent_pid,
		.tid = event->fork.parent_tid,
		.time_ns = event->time_ns,
	};
	struct thread *by = thread_of(s, &parent, true);
	if (!by)
		return;
	if (event->pid != parent.pid)
		on_new_process(s, by->process, event);

	struct thread *thread = tasks_thread(s->tasks, event->pid, event->tid, event->time_ns);
	if (!thread || !thread->process->announced) {
		s->no_memory = true;
		return;
	}
	rename_thread(thread, by->name);
	begin_thread(s, thread, event->time_ns, false);
}

static void on_exec(struct sampler *s, const struct event *event)
{
	struct thread *thread = tasks_thread(s->tasks, event->pid, event->tid, event->time_ns);
	if (!thread) {
		s->no_memory = true;
		return;
	}

	struct process *process = thread->process;
	bool again = process->announced;
	if (again) {
		// Other threads die in an exec, and the caller takes the name of the first.
		end_threads(s, process, thread, event->time_ns);
		give_rest(s, thread, event->time_ns);
		cpu_account_keep(thread, NULL, 0, 0);
	}
	address_space_clear(process->space);
	mapper_reset(process);
	proc_task_command(event->pid, event->name, process->command, sizeof(process->command));
	announce_process(s, process, event->time_ns, again);
	rename_thread(thread, event->name);
	if (thread->announced)
		announce_thread(s, thread, event->time_ns);
	else
		begin_thread(s, thread, event->time_ns, true);
}

static void on_name(struct sampler *s, const struct event *event)
{
	struct thread *thread = thread_of(s, event, true);

	if (!thread || strcmp(thread->name, event->name) == 0)
		return;
	rename_thread(thread, event->name);
	announce_thread(s, thread, event->time_ns);
}

static void on_map(struct sampler *s, const struct event *event)
{
	struct thread *thread = thread_of(s, event, true);

	if (thread && !mapper_add(s->modules, thread->process, &event->map))
		s->no_memory = true;
}

static void on_exit_event(struct sampler *s, const struct event *event)
{
	struct thread *thread = tasks_find_thread(s->tasks, event->pid, event->tid);

	if (thread)
		end_thread(s, thread, event->time_ns);
}

static void on_switch(struct sampler *s, const struct event *event)
{
	struct thread *thread = thread_of(s, event, !event->sched.in);

	if (!thread || !s->off_cpu)
		return;
	off_cpu_switch(s->off_cpu, thread, event->time_ns, event->sched.in, event->sched.preempted);
	if (!event->sched.in)
		cpu_account_switched(thread);
}

static void on_lost(struct sampler *s, const struct event *event)
{
	s->rules.loss_ns = event->time_ns;
}

static void handle(struct sampler *s, const struct event *event)
{
	static void (*const handlers[])(struct sampler *, const struct event *) = {
		[RECORD_SAMPLE] = on_sample,   [RECORD_MAP] = on_map,
		[RECORD_EXEC] = on_exec,       [RECORD_FORK] = on_fork,
		[RECORD_EXIT] = on_exit_event, [RECORD_SWITCH] = on_switch,
		[RECORD_LOST] = on_lost,       [RECORD_THREAD] = on_name,
	};
	size_t type = (size_t)event->type;

	s->events++;
	if (type < sizeof(handlers) / sizeof(handlers[0]) && handlers[type])
		handlers[type](s, event);
}

// Once a second.

static void flush_silent(void *context, struct thread *thread)
{
	struct sampler *s = context;
	uint64_t now = s->window.since_ns - SETTLE_NS;

	// It computes in the kernel, where this source takes no samples.
	if (cpu_account_clock(thread, now) > thread->sampled_ns + HOUSEKEEPING_NS / 2)
		give_rest(s, thread, now);
}

static bool is_overrun(uint64_t wall_ns, uint64_t cpu_ns, uint64_t events, uint64_t lost)
{
	return lost * LOST_SHARE_TOO_BIG > events || cpu_ns * COLLECTOR_SHARE > wall_ns;
}

static void lower_frequency(struct sampler *s)
{
	uint32_t lower = s->source->facts.frequency_hz / 2;

	if (lower < FREQUENCY_MIN || !s->source->ops->set_frequency ||
	    !s->source->ops->set_frequency(s->source, lower))
		return;
	set_rules(s);
	s->status.frequency_hz = s->source->facts.frequency_hz;
}

static void keep_house(struct sampler *s, uint64_t now_ns)
{
	uint64_t wall = now_ns - s->window.since_ns;
	if (wall < HOUSEKEEPING_NS)
		return;

	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t lost = s->source->ops->lost(s->source, false);
	if (is_overrun(wall, cpu - s->window.cpu_ns, s->events - s->window.events,
	               lost - s->window.lost))
		lower_frequency(s);
	s->window.since_ns = now_ns;
	s->window.cpu_ns = cpu;
	s->window.events = s->events;
	s->window.lost = lost;
	if (!s->rules.kernel_samples)
		tasks_each_thread(s->tasks, flush_silent, s);
}

static void update_status(struct sampler *s)
{
	const struct unwinder_stats *stats = unwinder_stats(s->unwinder);
	struct sampler_status *status = &s->status;

	status->lost = s->source->ops->lost(s->source, s->finishing);
	status->truncated = stats->truncated;
	status->joined = stats->joined;
	status->guessed = stats->guessed;
	status->libunwind_frames = stats->libunwind_frames;
	status->fp_frames = stats->fp_frames;
	status->probes = s->off_cpu ? off_cpu_probes(s->off_cpu) : 0;
}

static int handle_until(struct sampler *s, uint64_t until_ns, struct error *err)
{
	struct error why = { 0 };
	const struct event *event;

	while ((event = s->source->ops->next(s->source, until_ns, &why)))
		handle(s, event);
	update_status(s);
	if (why.text[0]) {
		if (err)
			*err = why;
		return -1;
	}
	return s->no_memory ? error_set(err, ENOMEM, "could not follow the target") : 0;
}

int sampler_fd(const struct sampler *s)
{
	return s->epoll;
}

int sampler_timeout_ms(const struct sampler *s)
{
	uint64_t now = clock_now_ns();
	int timeout = IDLE_TIMEOUT_MS;

	if (s->source && s->source->ops->timeout_ms)
		timeout = s->source->ops->timeout_ms(s->source, now, timeout);
	if (s->off_cpu && s->options.off_cpu)
		timeout = off_cpu_timeout_ms(s->off_cpu, now, timeout);
	return timeout;
}

int sampler_drain(struct sampler *s, struct error *err)
{
	uint64_t now = clock_now_ns();

	if (handle_until(s, now - SETTLE_NS, err) < 0)
		return -1;
	if (s->off_cpu && s->options.off_cpu)
		off_cpu_probe(s->off_cpu, s->tasks, clock_now_ns());
	keep_house(s, now);
	return 0;
}

int sampler_finish(struct sampler *s, struct error *err)
{
	if (!s->source)
		return 0;
	uint64_t now = clock_now_ns();
	int result = handle_until(s, now, err);

	s->finishing = true;
	end_threads(s, NULL, NULL, now);
	update_status(s);
	return result;
}

const struct sampler_status *sampler_status(const struct sampler *s)
{
	return &s->status;
}
