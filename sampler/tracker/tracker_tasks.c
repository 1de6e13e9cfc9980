// SPDX-License-Identifier: MIT
#include "sampler/tracker/tracker_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "sampler/agent/absence.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/proc/proc_stat.h"
#include "sampler/proc/proc_task.h"
#include "sampler/tracker/cpu_account.h"
#include "sampler/tracker/mapper.h"
#include "sampler/tracker/python_find.h"
#include "sampler/tracker/tracker.h"

#include <string.h>

// What runs for less is not worth a look: most processes are short.
#define AGENT_RUN_NS        (50 * NS_PER_MS)
#define AGENT_FIRST_WAIT_NS (100 * NS_PER_MS)
#define AGENT_LAST_WAIT_NS  (10 * NS_PER_SEC)

// A process whose title has not changed is looked at so much later, and then after twice as long.
#define TITLE_WAIT_NS (100 * NS_PER_MS)

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
		.title = *process->title ? process->title : NULL,
	};

	process->announced = true;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PROCESS, .process = &event });
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
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_THREAD, .thread = &event });
}

static void rename_thread(struct thread *thread, const char *name)
{
	snprintf(thread->name, sizeof(thread->name), "%s", name);
}

// Tasks begin.

static void begin_thread(struct tracker *t, struct thread *thread, uint64_t time_ns, bool running)
{
	announce_thread(t, thread, time_ns); // before what it does is reported
	if (t->off_cpu)
		off_cpu_begin(t->off_cpu, thread, time_ns);
	if (t->off_cpu && running)
		off_cpu_switch(t->off_cpu, thread, time_ns, true, false);
}

// No agent reports it.
static void find_python(struct tracker *t, struct process *process)
{
	struct event_python python;

	if (t->reader && !process->python.version && python_find(process->pid, &python))
		tracker_begin_python(t, process, &python);
}

// Events of PID came before anything that says where it is from.
static void adopt_process(struct tracker *t, struct process *process, uint64_t time_ns)
{
	char comm[16];

	proc_task_name(process->pid, process->pid, comm, sizeof(comm));
	proc_task_command(process->pid, comm, process->command, sizeof(process->command));
	proc_title_read(process->pid, process->command, process->title);
	mapper_reread(t->modules, process, time_ns);
	announce_process(t, process, time_ns, false);
	find_python(t, process);
}

struct thread *tracker_thread(struct tracker *t, const struct event *event, bool running)
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

// Tasks end.

static void give_thread_end(struct tracker *t, const struct thread *thread, uint64_t time_ns)
{
	struct thread_end end = {
		.thread = thread->number,
		.time_ns = time_ns,
		.exact = t->rules.switches,
		.gil_held_ns = thread->gil_held_ns,
		.gil_waited_ns = thread->gil_waited_ns,
	};

	memcpy(end.ns, thread->ns, sizeof(end.ns));
	if (!end.exact)
		end.ns[METRIC_ON_CPU] = thread->sampled_ns;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_THREAD_END, .thread_end = &end });
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
	tracker_give_rest(t, thread, time_ns);
	op_tracker_close(&t->ops, thread, time_ns);
	give_thread_end(t, thread, time_ns);
	t->ended_threads[t->ended_thread_count++ % TRACKER_ENDED_THREADS] =
		(struct tracker_ended_thread){ pid, thread->tid, thread->number };
	tasks_end_thread(t->tasks, thread, &process_ended);
	if (!process_ended)
		return;
	t->ended[t->ended_count++ % TRACKER_ENDED] = (struct tracker_ended){ pid, process };
	tracker_tell(t,
	             &(struct sampled){ .kind = SAMPLED_PROCESS_END, .at = { process, time_ns } });
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

void tracker_end_threads(struct tracker *t, struct process *of, struct thread *without,
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
		tracker_end_threads(t, old, NULL,
		                    event->time_ns); // its end was lost, the pid is used again

	struct process *process = tasks_fork(t->tasks, parent, event->pid, event->time_ns);
	if (!process) {
		t->no_memory = true;
		return;
	}
	announce_process(t, process, event->time_ns, false);
}

void tracker_on_birth(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);
	struct process *process = thread ? thread->process : NULL;

	if (!thread)
		return;
	thread->giving_birth = event->birth != 0;
	if (!event->birth)
		return;
	if (!address_space_find(process->space, event->birth))
		mapper_reread(t->modules, process, event->time_ns);
	thread->birth =
		unwinder_place(t->unwinder, process->space, event->birth, (int)process->pid);
}

void tracker_on_fork(struct tracker *t, const struct event *event)
{
	struct event parent = {
		.pid = event->fork.parent_pid,
		.tid = event->fork.parent_tid,
		.time_ns = event->time_ns,
	};
	struct thread *by = tracker_thread(t, &parent, true);
	if (!by)
		return;
	if (event->pid != parent.pid)
		on_new_process(t, by->process, event);
	// What was said of one that did not come to be, or of none, is not for the next one.
	bool born = event->pid == parent.pid && by->giving_birth;
	const struct frame start = born ? by->birth : (struct frame){ 0 };
	by->giving_birth &= !born;

	struct thread *thread = tasks_thread(t->tasks, event->pid, event->tid, event->time_ns);
	if (!thread || !thread->process->announced) {
		t->no_memory = true;
		return;
	}
	thread->start = start;
	if (event->pid != parent.pid && off_cpu_python_may(thread))
		thread->forked_by = off_cpu_python_tid(by);
	rename_thread(thread, by->name);
	begin_thread(t, thread, event->time_ns, false);
}

void tracker_on_found(struct tracker *t, const struct event *event)
{
	struct process *parent = tasks_find_process(t->tasks, event->found.parent_pid);
	bool first = event->pid == event->tid && !tasks_find_process(t->tasks, event->pid);

	if (first && parent) {
		struct process *process = tasks_fork(t->tasks, parent, event->pid, event->time_ns);
		if (!process) {
			t->no_memory = true;
			return;
		}
		// It may run another program than its parent.
		address_space_clear(process->space);
		python_fini(&process->python);
		patches_fini(&process->patches);
		process->program = 0;
	}
	struct thread *thread = tracker_thread(t, event, true);
	if (thread && t->off_cpu && event->found.blocked)
		off_cpu_switch(t->off_cpu, thread, event->time_ns, false, false);
	else if (thread && t->off_cpu)
		off_cpu_found(t->off_cpu, thread, event->time_ns);
}

void tracker_on_exec(struct tracker *t, const struct event *event)
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
		tracker_end_threads(t, process, thread, event->time_ns);
		tracker_give_rest(t, thread, event->time_ns);
		cpu_account_exec(thread);
		op_tracker_close(&t->ops, thread, event->time_ns);
		op_sites_fini(&process->sites);
		patches_fini(&process->patches);
		python_fini(&process->python);
		go_remote_free(process->go.remote);
		process->go = (struct go_watch){ 0 };
		await_watch_fini(&process->tasks);
		last_stack_fini(&thread->last);
		wait_piles_forget(&thread->off_cpu.python.piles);
		whole_stacks_fini(&process->whole);
		thread->start = (struct frame){ 0 };
		thread->giving_birth = false;
	}
	address_space_clear(process->space);
	mapper_reset(process);
	process->program = 0;
	process->loading = true;
	process->agent_due_ns = 0;
	proc_task_command(event->pid, event->name, process->command, sizeof(process->command));
	proc_title_read(event->pid, process->command, process->title);
	process->title_due_ns = 0;
	announce_process(t, process, event->time_ns, again);
	rename_thread(thread, event->name);
	if (thread->announced)
		announce_thread(t, thread, event->time_ns);
	else
		begin_thread(t, thread, event->time_ns, true);
}

void tracker_on_name(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);

	if (!thread || (thread->named && !event->given))
		return;
	thread->named |= event->given;
	if (strcmp(thread->name, event->name) == 0)
		return;
	rename_thread(thread, event->name);
	announce_thread(t, thread, event->time_ns);
}

void tracker_on_exit(struct tracker *t, const struct event *event)
{
	struct thread *thread = tasks_find_thread(t->tasks, event->pid, event->tid);

	if (thread)
		end_thread(t, thread, event->time_ns);
}

// What is looked at from time to time: titles, and agents that are missing.

struct task_look {
	struct tracker *tracker;
	uint64_t now_ns;
};

static void note_absence(struct absences *absences, const struct process *process)
{
	enum absence why = absence_of(process->pid);

	// Events of an exec may be the agent's, too.
	if (!absences->count[why]++)
		proc_task_name(process->pid, process->pid, absences->name[why],
		               sizeof(absences->name[why]));
}

static void look_for_agent(void *context, struct thread *thread)
{
	const struct task_look *look = context;
	struct process *process = thread->process;
	uint64_t run_ns, wait_ns;

	if (thread->tid != process->pid || look->now_ns < process->agent_due_ns)
		return;
	if (!process->agent_due_ns) {
		process->agent_wait_ns = AGENT_FIRST_WAIT_NS;
	} else if (proc_stat_times(process->pid, thread->tid, &run_ns, &wait_ns) &&
	           run_ns >= AGENT_RUN_NS) {
		note_absence(&look->tracker->absences, process);
		process->agent_due_ns = UINT64_MAX;
		return;
	}
	process->agent_due_ns = look->now_ns + process->agent_wait_ns;
	if (process->agent_wait_ns < AGENT_LAST_WAIT_NS)
		process->agent_wait_ns *= 2;
}

// Servers write what a process of theirs does into its command line, once they have forked.
static void look_for_title(void *context, struct thread *thread)
{
	const struct task_look *look = context;
	struct process *process = thread->process;
	char title[PROC_TITLE_MAX];

	if (thread->tid != process->pid || look->now_ns < process->title_due_ns)
		return;
	if (process->title_due_ns) {
		find_python(look->tracker, process);
		proc_title_read(process->pid, process->command, title);
		if (*title && strcmp(title, process->title) != 0) {
			memcpy(process->title, title, sizeof(title));
			announce_process(look->tracker, process, look->now_ns, false);
		}
	}
	process->title_wait_ns = process->title_due_ns ? 2 * process->title_wait_ns : TITLE_WAIT_NS;
	process->title_due_ns = look->now_ns + process->title_wait_ns;
}

void tracker_look_for_titles(struct tracker *t, uint64_t now_ns)
{
	struct task_look look = { t, now_ns };

	tasks_each_thread(t->tasks, look_for_title, &look);
}

void tracker_look_for_agents(struct tracker *t, uint64_t now_ns)
{
	struct task_look look = { t, now_ns };

	tasks_each_thread(t->tasks, look_for_agent, &look);
}

bool tracker_has_process(const struct tracker *t, uint32_t pid)
{
	return tasks_find_process(t->tasks, pid);
}

uint32_t tracker_process(struct tracker *t, uint32_t pid)
{
	const struct process *process = tasks_find_process(t->tasks, pid);

	if (process)
		return process->number;
	for (uint32_t i = t->ended_count; i > 0 && t->ended_count - i < TRACKER_ENDED; i--)
		if (t->ended[(i - 1) % TRACKER_ENDED].pid == pid)
			return t->ended[(i - 1) % TRACKER_ENDED].number;
	return 0;
}
