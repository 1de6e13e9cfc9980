// SPDX-License-Identifier: MIT
#include "sampler/agent/follow.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "sampler/agent/follow_state.h"
#include "sampler/proc/proc_stat.h"
#include "sampler/proc/proc_tree.h"

#include <errno.h>
#include <string.h>

#define ROUND_MIN_NS    (10 * NS_PER_MS)
#define ROUND_MAX_NS    (200 * NS_PER_MS)
#define LOOKS_MAX_NS    NS_PER_SEC // between looks at each thread, however many there are
#define COST_SHARE      50         // a round takes at most one in so many of the time
#define LOOK_ALL_ROUNDS 16         // threads and children are listed at least so often

struct follow_proc *follow_proc(struct follow *f, uint32_t pid)
{
	for (size_t i = 0; i < f->proc_count; i++)
		if (f->procs[i].pid == pid)
			return &f->procs[i];
	return NULL;
}

struct follow_task *follow_task(struct follow_proc *p, uint32_t tid)
{
	for (size_t i = 0; i < p->task_count; i++)
		if (p->tasks[i].tid == tid)
			return &p->tasks[i];
	return NULL;
}

struct follow_task *follow_add_task(struct follow_proc *p, uint32_t tid)
{
	struct follow_task *task = follow_task(p, tid);

	if (task)
		return task;
	if (!array_reserve(&p->tasks, &p->task_capacity, p->task_count + 1))
		return NULL;
	task = &p->tasks[p->task_count++];
	*task = (struct follow_task){ .tid = tid };
	return task;
}

void follow_remove_task(struct follow_proc *p, struct follow_task *task)
{
	free(task->waits);
	free(task->rans);
	*task = p->tasks[--p->task_count];
}

static void free_tasks(struct follow_proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		free(p->tasks[i].waits);
		free(p->tasks[i].rans);
	}
	free(p->tasks);
}

// Reads TASK's totals from /proc.
static void look_at(const struct follow_proc *p, struct follow_task *task)
{
	uint64_t run, wait;
	uint64_t before = task->looked_ns;

	if (!proc_stat_times(p->pid, task->tid, &run, &wait))
		return;
	task->looked_ns = clock_now_ns();
	task->gap_ns = before ? task->looked_ns - before : 0;
	task->recent_ns = run - task->run_ns;
	task->run_ns = run;
	task->wait_ns = wait;
}

struct follow_proc *follow_add_proc(struct follow *f, uint32_t pid, uint32_t parent_pid)
{
	struct follow_proc *p = follow_proc(f, pid);

	if (p)
		return p;
	if (!array_reserve(&f->procs, &f->proc_capacity, f->proc_count + 1))
		return NULL;
	p = &f->procs[f->proc_count++];
	*p = (struct follow_proc){
		.pid = pid,
		.parent_pid = parent_pid,
		.last_ns = f->round_ns,
	};
	return p;
}

static struct follow *make(uint32_t root, struct error *err)
{
	cleanup(follow) struct follow *f = calloc(1, sizeof(*f));

	if (f)
		f->names = strings_new();
	if (!f || !f->names || !array_reserve(&f->procs, &f->proc_capacity, 1)) {
		error_set(err, ENOMEM, "could not follow process %u", root);
		return NULL;
	}
	return steal(f);
}

static bool add_found(struct follow *f, const struct proc_tree_thread *thread)
{
	struct follow_proc *p = follow_add_proc(f, thread->pid, thread->parent_pid);
	struct follow_task *task = p ? follow_add_task(p, thread->tid) : NULL;
	struct proc_stat stat;

	if (!task)
		return false;
	if (!p->told && proc_stat_read(thread->pid, &stat)) {
		p->image = stat.image;
		p->start_ns = stat.start_ns;
	}
	p->told = true;
	p->last_ns = clock_now_ns();
	look_at(p, task);
	follow_tell_found(f, p, task, task->looked_ns ? task->looked_ns : p->last_ns);
	return true;
}

struct follow *follow_running(const pid_t *pids, size_t count, struct error *err)
{
	cleanup(follow) struct follow *f = make((uint32_t)pids[0], err);
	struct proc_tree tree = { 0 };

	if (!f)
		return NULL;
	f->attached = true;
	bool ok = proc_tree_list(&tree, pids, count);
	for (size_t i = 0; ok && i < tree.count; i++)
		ok = add_found(f, &tree.threads[i]);
	bool there = tree.count > 0;
	proc_tree_fini(&tree);
	if (ok && there)
		return steal(f);
	error_set(err, ok ? ESRCH : ENOMEM, "could not follow process %d", (int)pids[0]);
	return NULL;
}

struct follow *follow_new(uint32_t root, struct error *err)
{
	cleanup(follow) struct follow *f = make(root, err);
	struct proc_stat stat;

	if (!f)
		return NULL;
	if (!proc_stat_read(root, &stat)) {
		error_set(err, errno, "could not read /proc/%u/stat", root);
		error_hint(err, "Mount /proc.");
		return NULL;
	}
	f->procs[f->proc_count++] = (struct follow_proc){
		.pid = root,
		.image = stat.image,
		.waiting = true,
		.told = true,
		.last_ns = clock_now_ns(),
	};
	// Its CPU time until now is ours.
	struct follow_task *main = follow_add_task(&f->procs[0], root);
	if (main)
		look_at(&f->procs[0], main);
	return steal(f);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->proc_count; i++)
		free_tasks(&f->procs[i]);
	free(f->procs);
	free(f->queue);
	strings_free(f->names);
	free(f);
}

const struct event *follow_next(struct follow *f)
{
	if (f->queue_at < f->queue_count)
		return &f->queue[f->queue_at++];
	f->queue_at = f->queue_count = 0;
	return NULL;
}

// Rounds.

void follow_begin(struct follow *f, uint64_t now_ns)
{
	f->previous_round_ns = f->round_ns ? f->round_ns : now_ns;
	f->round_ns = now_ns;
	f->round++;
	f->looking = now_ns >= f->looks_due_ns;
	for (size_t i = 0; f->looking && i < f->proc_count; i++)
		for (size_t j = 0; j < f->procs[i].task_count && !f->procs[i].waiting; j++)
			look_at(&f->procs[i], &f->procs[i].tasks[j]);
}

struct listing {
	struct follow *f;
	uint32_t pid;
};

static void on_listed_thread(void *context, uint32_t tid)
{
	struct listing *listing = context;
	struct follow_proc *p = follow_proc(listing->f, listing->pid);
	struct follow_task *task = p ? follow_add_task(p, tid) : NULL;

	if (!task)
		return;
	task->listed = true;
	if (!task->found_ns)
		task->found_ns = clock_now_ns();
}

static void on_listed_child(void *context, uint32_t pid)
{
	struct listing *listing = context;
	struct follow_proc *p = follow_add_proc(listing->f, pid, listing->pid);

	// A child is the program of its parent until its image changes.
	if (p && !p->told && !p->found_ns) {
		p->found_ns = clock_now_ns();
		p->image = follow_proc(listing->f, listing->pid)->image;
	}
}

// What was found before the last record was read has had its chance to speak for itself.
static bool is_overdue(const struct follow *f, uint64_t found_ns)
{
	return found_ns && found_ns < f->read_until_ns;
}

static void tell_listed(struct follow *f, struct follow_proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct follow_task *task = &p->tasks[i];
		if (p->told && !task->told && is_overdue(f, task->found_ns))
			follow_tell_thread(f, p, task, p->pid,
			                   follow_later(f->previous_round_ns, p->start_ns));
	}
}

static void drop_vanished(struct follow *f, struct follow_proc *p)
{
	for (size_t i = p->task_count; i-- > 0;) {
		struct follow_task *task = &p->tasks[i];
		if (task->listed) {
			task->missing_ns = 0;
			continue;
		}
		if (!task->missing_ns)
			task->missing_ns = clock_now_ns();
		if (!is_overdue(f, task->missing_ns))
			continue;
		follow_tell_end(
			f, p, task,
			follow_later(task->looked_ns, p->last_ns < f->round_ns ? p->last_ns : 0));
		follow_remove_task(p, task);
	}
}

static void list_threads(struct follow *f, struct follow_proc *p)
{
	struct listing listing = { f, p->pid };

	for (size_t i = 0; i < p->task_count; i++)
		p->tasks[i].listed = false;
	proc_stat_threads(p->pid, on_listed_thread, &listing);
	drop_vanished(f, p);
	tell_listed(f, p);
}

static void take_image(struct follow *f, struct follow_proc *p, const struct proc_stat *stat)
{
	uint64_t before = p->image;

	// It is ending, and has no memory any more; or an exec has not come so far.
	if (stat->image == 0)
		return;
	p->image = stat->image;
	// 0: it is new to us, or has told of its exec itself.
	if (before == 0 || before == stat->image)
		return;
	p->exec_by_look = true;
	p->agent = false;
	uint64_t now = clock_now_ns();
	struct follow_task *main = follow_task(p, p->pid);
	if (main && main->told) {
		// What it has run for until now was for the other program, more or less.
		look_at(p, main);
		follow_tell_running(f, p, main, main->looked_ns, main->run_ns, 0);
		now = main->timeline.emitted_ns;
	}
	follow_tell_exec(f, p, stat->name, now);
}

static bool has_unknown_thread(const struct follow_proc *p, uint32_t count)
{
	if (count != p->task_count)
		return true;
	for (size_t i = 0; i < p->task_count; i++)
		if (!p->tasks[i].told || p->tasks[i].missing_ns)
			return true;
	return false;
}

// A process without agent: its time goes without a stack.
static void tell_stackless(struct follow *f, struct follow_proc *p, struct follow_task *task)
{
	uint64_t before = task->told_cpu_ns;

	if (task->run_ns <= before)
		return;
	// What it ran for goes with the next sample that finds it running.
	if (f->attached && proc_stat_state(p->pid, task->tid) != 'R')
		return;
	follow_tell_running(f, p, task, task->looked_ns, task->run_ns, FOLLOW_SLACK_LOOKED_NS);
	task->told_cpu_ns = task->run_ns;
	struct event *event = follow_push(f, RECORD_SAMPLE, p, task, task->timeline.emitted_ns);
	event->sample = (struct event_sample){
		.kind = SAMPLE_ON_CPU,
		.weight_ns = task->run_ns - before,
		.cpu_time_ns = task->run_ns,
		.syscall = -1,
	};
}

// By what it did between two looks: the rest of a short run is a wait. Who reports its waits is in
// one that it has not reported yet, if it was off its CPU for longer than those explain.
static bool seems_blocked(const struct follow_proc *p, const struct follow_task *task)
{
	if (task->gap_ns && task->recent_ns < task->gap_ns / 2)
		return true;
	return p->tells_waits && follow_unexplained_ns(task) > FOLLOW_SLACK_LOOKED_NS;
}

#define SAMPLED_NS (100 * NS_PER_MS) // of CPU time, within which a thread has a sample

// TASK runs, or would if it had a CPU: its next sample tells more of the time until now than a look
// does, as the kernel counts how long it has had none only once it has one again.
static bool is_on_its_way(const struct follow_proc *p, const struct follow_task *task)
{
	if (!p->agent || (task->timeline.out && !task->recent_ns) ||
	    task->run_ns > task->told_cpu_ns + SAMPLED_NS)
		return false;
	return proc_stat_state(p->pid, task->tid) == 'R';
}

static void tell_times(struct follow *f, struct follow_proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct follow_task *task = &p->tasks[i];
		if (!task->told || task->looked_ns < f->round_ns)
			continue;
		if (!p->agent)
			tell_stackless(f, p, task);
		if (is_on_its_way(p, task))
			continue;
		if (seems_blocked(p, task))
			follow_tell_blocked(f, p, task);
		else
			follow_tell_running(f, p, task, task->looked_ns, task->run_ns,
			                    FOLLOW_SLACK_LOOKED_NS);
	}
}

static void tell_names(struct follow *f, struct follow_proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		char name[FOLLOW_NAME_MAX + 1];
		if (p->tasks[i].told && proc_stat_name(p->pid, p->tasks[i].tid, name))
			follow_tell_name(f, p, &p->tasks[i], name, f->round_ns);
	}
}

static void list_children(struct follow *f, uint32_t pid)
{
	struct listing listing = { f, pid };
	bool all = f->round % LOOK_ALL_ROUNDS == 0;

	// The listing may move processes, so each task is looked up by its number.
	for (size_t i = 0;; i++) {
		struct follow_proc *p = follow_proc(f, pid);
		if (!p || i >= p->task_count)
			return;
		if (all || (f->looking && p->tasks[i].recent_ns))
			proc_stat_children(pid, p->tasks[i].tid, on_listed_child, &listing);
	}
}

// False if the process is no more.
static bool visit(struct follow *f, struct follow_proc *p)
{
	struct proc_stat stat;

	if (!proc_stat_read(p->pid, &stat) || strchr("ZXx", stat.state))
		return false;
	p->last_ns = f->round_ns;
	if (p->told)
		take_image(f, p, &stat);
	if (p->waiting)
		return true;
	if (!p->told && is_overdue(f, p->found_ns)) {
		if (!p->parent_pid)
			p->parent_pid = stat.parent_pid;
		uint64_t start = follow_later(stat.start_ns, f->previous_round_ns);
		follow_tell_process(f, p, start < f->round_ns ? start : f->round_ns);
		take_image(f, p, &stat);
	}
	bool all = f->round % LOOK_ALL_ROUNDS == 0;
	if (all || has_unknown_thread(p, stat.threads))
		list_threads(f, p);
	tell_times(f, p);
	if (all)
		tell_names(f, p);
	return true;
}

static void tell_gone(struct follow *f, struct follow_proc *p)
{
	for (size_t i = p->task_count; i-- > 0;)
		follow_tell_vanished(f, p, &p->tasks[i]);
	free_tasks(p);
	*p = f->procs[--f->proc_count];
}

static uint64_t at_most(uint64_t ns, uint64_t limit_ns)
{
	return ns < limit_ns ? ns : limit_ns;
}

void follow_end(struct follow *f, uint64_t read_until_ns, void (*gone)(void *context, uint32_t pid),
                void *context)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	f->read_until_ns = read_until_ns;
	for (size_t i = f->proc_count; i-- > 0;) {
		uint32_t pid = f->procs[i].pid;
		if (visit(f, &f->procs[i])) {
			if (!f->procs[i].waiting)
				list_children(f, pid);
			continue;
		}
		// What it has written last is read in the next round.
		if (!f->procs[i].missing_ns)
			f->procs[i].missing_ns = clock_now_ns();
		if (!is_overdue(f, f->procs[i].missing_ns))
			continue;
		tell_gone(f, &f->procs[i]);
		gone(context, pid);
	}
	uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (f->looking) {
		cost *= 2; // the looks at its beginning
		f->looks_due_ns = f->round_ns + at_most(cost * COST_SHARE, LOOKS_MAX_NS);
	}
	uint64_t wait = at_most(cost * COST_SHARE, ROUND_MAX_NS);
	f->due_ns = f->round_ns + (wait > ROUND_MIN_NS ? wait : ROUND_MIN_NS);
}

uint64_t follow_due_ns(const struct follow *f)
{
	return f->due_ns;
}
