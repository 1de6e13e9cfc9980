// SPDX-License-Identifier: MIT
#include "sampler/agent/follow_state.h"

#include "base/array.h"
#include "base/strings.h"

#include <string.h>

struct event *follow_push(struct follow *f, enum record_type type, const struct follow_proc *p,
                          const struct follow_task *task, uint64_t time_ns)
{
	static struct event nowhere;

	if (!array_reserve(&f->queue, &f->queue_capacity, f->queue_count + 1))
		return &nowhere; // out of memory: the event is lost
	struct event *event = &f->queue[f->queue_count++];
	*event = (struct event){
		.type = type,
		.pid = p->pid,
		.tid = task ? task->tid : p->pid,
		.time_ns = time_ns,
	};
	return event;
}

static void push_switches(struct follow *f, const struct follow_proc *p,
                          const struct follow_task *task, const struct timeline_switch *switches,
                          size_t count, enum metric cause)
{
	for (size_t i = 0; i < count; i++) {
		struct event *event = follow_push(f, RECORD_SWITCH, p, task, switches[i].time_ns);
		event->sched.in = switches[i].in;
		event->sched.preempted = switches[i].preempted;
		event->sched.cause = switches[i].reported ? cause : METRIC_ON_CPU;
	}
}

// Of more, the first ones are reported without the rest of the time off the CPU between them.
#define WAITS_KEPT 1024

// WAIT, or what of it comes after the last switch; no length: nothing does.
static struct timeline_wait cut(const struct timeline *t, struct timeline_wait wait)
{
	uint64_t from_ns = timeline_from_ns(t);

	wait.begin_ns = timeline_is_open(t, &wait) ? from_ns : follow_later(wait.begin_ns, from_ns);
	wait.begin_ns = wait.begin_ns < wait.end_ns ? wait.begin_ns : wait.end_ns;
	return wait;
}

// How long it was in COUNT of its waits that are known.
static uint64_t known_ns(const struct follow_task *task, size_t count)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++) {
		struct timeline_wait wait = cut(&task->timeline, task->waits[i].times);
		ns += wait.end_ns - wait.begin_ns;
	}
	return ns;
}

static uint64_t part_of(uint64_t ns, uint64_t of_ns, uint64_t part_ns)
{
	return of_ns ? (uint64_t)((double)ns * ((double)part_ns / (double)of_ns)) : 0;
}

// How long it had waited for a CPU: what is left to tell, if it was off its CPU for no other
// reason.
static uint64_t waited_ns(const struct follow_task *task)
{
	if (!task->kept_cpu)
		return task->wait_ns;
	// Who says how long it has run runs then, and often lacks a CPU next, as the one has it
	// that it has woken.
	return task->at_ran ? TIMELINE_NO_CPU - 1 : TIMELINE_NO_CPU;
}

// Those of TASK's waits that were over by NOW_NS, when it had run for CPU_NS. For the rest of the
// time that it was off its CPU nobody knows when that was: each pause between two waits has the
// same share of it. Who spins at first as it waits has been off its CPU for less than that.
static void tell_waits(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                       uint64_t now_ns, uint64_t cpu_ns)
{
	struct timeline *t = &task->timeline;
	size_t count = 0;

	while (count < task->wait_count && task->waits[count].times.end_ns <= now_ns)
		count++;
	if (!count || now_ns < timeline_from_ns(t))
		return;
	uint64_t off = timeline_off_ns(t, now_ns, cpu_ns), known = known_ns(task, count);
	uint64_t life = now_ns - timeline_from_ns(t);
	uint64_t rest = off > known ? off - known : 0, beside = life > known ? life - known : 0;
	uint64_t last =
		now_ns - follow_later(task->waits[count - 1].times.end_ns, timeline_from_ns(t));
	bool spins = known > off + FOLLOW_SLACK_LOOKED_NS;

	// Time without a CPU comes last: see TIMELINE_NO_CPU.
	if (task->kept_cpu && !task->at_ran && !t->out) {
		rest -= rest < last ? rest : last;
		beside -= beside < last ? beside : last;
	}

	for (size_t i = 0; i < count; i++) {
		struct timeline_switch switches[TIMELINE_SWITCHES_MAX];
		struct timeline_wait wait = cut(t, task->waits[i].times);
		uint64_t pause = wait.begin_ns - timeline_from_ns(t);
		uint64_t share = part_of(rest, beside, pause);
		if (i == 0 && t->out && pause)
			share = rest < pause ? rest : pause; // it is known to have begun
		if (spins)
			wait.end_ns =
				wait.begin_ns + part_of(off, known, wait.end_ns - wait.begin_ns);
		rest -= share < rest ? share : rest;
		beside -= pause < beside ? pause : beside;
		push_switches(f, p, task, switches,
		              timeline_waited(t, &wait, share, waited_ns(task),
		                              FOLLOW_SLACK_SAMPLED_NS, switches),
		              task->waits[i].cause);
	}
	task->wait_count -= count;
	memmove(task->waits, task->waits + count, task->wait_count * sizeof(*task->waits));
}

void follow_keep_wait(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                      const struct follow_wait *wait)
{
	const struct follow_wait *last =
		task->wait_count ? &task->waits[task->wait_count - 1] : NULL;
	struct follow_wait next = *wait;

	// A wait within another one is a part of that.
	if (last && next.times.begin_ns < last->times.end_ns)
		next.times.begin_ns = last->times.end_ns;
	if (next.times.begin_ns >= next.times.end_ns)
		return;
	if (last && task->wait_count >= WAITS_KEPT) {
		uint64_t now_ns = last->times.end_ns;
		uint64_t life_ns = now_ns - task->timeline.start_ns;
		uint64_t off_ns = task->timeline.off_ns + known_ns(task, task->wait_count);
		tell_waits(f, p, task, now_ns,
		           task->timeline.start_cpu_ns + (life_ns > off_ns ? life_ns - off_ns : 0));
	}
	if (array_reserve(&task->waits, &task->wait_capacity, task->wait_count + 1))
		task->waits[task->wait_count++] = next;
}

uint64_t follow_unexplained_ns(const struct follow_task *task)
{
	uint64_t off_ns = timeline_off_ns(&task->timeline, task->looked_ns, task->run_ns);
	uint64_t known = known_ns(task, task->wait_count);

	return off_ns > known ? off_ns - known : 0;
}

void follow_keep_ran(struct follow_task *task, const struct follow_ran *ran)
{
	const struct follow_ran *last = task->ran_count ? &task->rans[task->ran_count - 1] : NULL;

	// Whoever scribbles in the files may have it run backwards.
	if (last && (ran->time_ns < last->time_ns || ran->cpu_ns < last->cpu_ns))
		return;
	if (task->ran_count < WAITS_KEPT &&
	    array_reserve(&task->rans, &task->ran_capacity, task->ran_count + 1))
		task->rans[task->ran_count++] = *ran;
}

static void tell_running(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                         uint64_t now_ns, uint64_t cpu_ns, uint64_t slack_ns)
{
	struct timeline_switch switches[TIMELINE_SWITCHES_MAX];

	tell_waits(f, p, task, now_ns, cpu_ns);
	size_t count = timeline_running(&task->timeline, now_ns, cpu_ns, waited_ns(task), slack_ns,
	                                switches);

	push_switches(f, p, task, switches, count, METRIC_ON_CPU);
}

// Up to NOW_NS, when it had run for CPU_NS, as far as TASK has said how long it had. False: it has
// not.
static bool tell_rans(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                      uint64_t now_ns, uint64_t cpu_ns)
{
	const bool kept_cpu = task->kept_cpu;
	size_t count = 0;

	task->at_ran = true;
	for (; count < task->ran_count && task->rans[count].time_ns <= now_ns; count++) {
		const struct follow_ran *ran = &task->rans[count];
		task->kept_cpu = ran->kept_cpu;
		if (ran->cpu_ns <= cpu_ns)
			tell_running(f, p, task, ran->time_ns, ran->cpu_ns,
			             FOLLOW_SLACK_SAMPLED_NS);
	}
	task->at_ran = false;
	task->kept_cpu = kept_cpu;
	if (!count)
		return false;
	task->ran_count -= count;
	memmove(task->rans, task->rans + count, task->ran_count * sizeof(*task->rans));
	return true;
}

void follow_tell_running(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                         uint64_t now_ns, uint64_t cpu_ns, uint64_t slack_ns)
{
	task->at_ran = tell_rans(f, p, task, now_ns, cpu_ns);
	tell_running(f, p, task, now_ns, cpu_ns, slack_ns);
	task->at_ran = false;
}

void follow_tell_blocked(struct follow *f, const struct follow_proc *p, struct follow_task *task)
{
	struct timeline_switch switches[TIMELINE_SWITCHES_MAX];

	tell_rans(f, p, task, task->looked_ns, task->run_ns);
	tell_waits(f, p, task, task->looked_ns, task->run_ns);
	// It has waited for a CPU before it blocked; or as it was woken from waits that are known.
	// Who reports all its waits will say when this one began.
	uint64_t wait_ns = task->tells_all ? 0 : task->wait_ns;
	size_t count =
		timeline_blocked(&task->timeline, task->looked_ns, task->run_ns, wait_ns, switches);

	push_switches(f, p, task, switches, count, METRIC_ON_CPU);
}

// NAME is cut as comm is; NULL if there is no memory.
static const char *keep_name(struct follow *f, const char *name)
{
	return strings_get(f->names,
	                   strings_add_bytes(f->names, name, strnlen(name, FOLLOW_NAME_MAX)));
}

void follow_tell_name(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                      const char *name, uint64_t time_ns)
{
	const char *kept = keep_name(f, name);

	if (!kept || kept == task->name)
		return;
	task->name = kept;
	follow_push(f, RECORD_THREAD, p, task, time_ns)->name = kept;
}

static void begin_task(struct follow_task *task, uint64_t start_ns, uint64_t cpu_ns,
                       uint64_t wait_ns)
{
	task->told = true;
	task->told_cpu_ns = cpu_ns;
	task->wait_count = 0;
	task->ran_count = 0;
	task->reported = 0;
	task->sleeps = !cpu_ns && !wait_ns; // who has just been made has not slept
	task->tells_all = task->sleeps != 0;
	timeline_start(&task->timeline, start_ns, cpu_ns, wait_ns);
}

static struct event *push_fork(struct follow *f, const struct follow_proc *p,
                               const struct follow_task *task, uint32_t parent_pid,
                               uint32_t parent_tid, uint64_t time_ns)
{
	struct event *event = follow_push(f, RECORD_FORK, p, task, time_ns);

	event->fork.parent_pid = parent_pid;
	event->fork.parent_tid = parent_tid;
	return event;
}

// What a new thread does until its first switch is to run.
static void push_first_in(struct follow *f, const struct follow_proc *p,
                          const struct follow_task *task)
{
	follow_push(f, RECORD_SWITCH, p, task, task->timeline.start_ns)->sched.in = true;
}

void follow_tell_process(struct follow *f, struct follow_proc *p, uint64_t start_ns)
{
	struct follow_task *main = follow_add_task(p, p->pid);
	struct follow_proc *parent = follow_proc(f, p->parent_pid);

	if (p->told || !main)
		return;
	p->told = true;
	// A child may come to speak first: who is told of as a parent alone would begin once more.
	if (parent && !parent->told && parent->parent_pid)
		follow_tell_process(f, parent, start_ns);
	p->agent |= parent && parent->agent; // until it is seen to be another program
	p->start_ns = start_ns;
	begin_task(main, start_ns, 0, 0);
	if (parent)
		push_fork(f, p, main, p->parent_pid, p->parent_pid, start_ns);
	push_first_in(f, p, main);
}

void follow_tell_thread(struct follow *f, struct follow_proc *p, struct follow_task *task,
                        uint32_t parent_tid, uint64_t start_ns)
{
	if (task->told)
		return;
	begin_task(task, start_ns, 0, 0);
	push_fork(f, p, task, p->pid, parent_tid, start_ns);
	push_first_in(f, p, task);
}

void follow_tell_found(struct follow *f, struct follow_proc *p, struct follow_task *task,
                       uint64_t now_ns)
{
	begin_task(task, now_ns, task->run_ns, task->wait_ns);
	follow_push(f, RECORD_FOUND, p, task, now_ns)->found.parent_pid = p->parent_pid;
}

void follow_tell_exec(struct follow *f, struct follow_proc *p, const char *name, uint64_t time_ns)
{
	struct follow_task *main = follow_add_task(p, p->pid);
	const char *kept = keep_name(f, name);

	if (!main || !kept)
		return;
	p->waiting = false;
	if (!main->told)
		begin_task(main, time_ns, main->run_ns, main->wait_ns);
	main->name = kept;
	follow_push(f, RECORD_EXEC, p, main, time_ns)->name = kept;
	for (size_t i = p->task_count; i-- > 0;)
		if (p->tasks[i].tid != p->pid)
			follow_remove_task(p, &p->tasks[i]);
}

void follow_tell_end(struct follow *f, struct follow_proc *p, struct follow_task *task,
                     uint64_t time_ns)
{
	if (task->told)
		follow_push(f, RECORD_EXIT, p, task,
		            follow_later(time_ns, task->timeline.emitted_ns));
}

void follow_tell_vanished(struct follow *f, struct follow_proc *p, struct follow_task *task)
{
	if (task->told && (!task->timeline.out || task->wait_count))
		follow_tell_running(f, p, task, task->looked_ns, task->run_ns, 0);
	follow_tell_end(f, p, task, task->looked_ns);
}
