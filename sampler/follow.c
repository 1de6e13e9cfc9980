// SPDX-License-Identifier: MIT
#include "sampler/follow.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "sampler/proc_stat.h"
#include "sampler/timeline.h"

#include <errno.h>
#include <string.h>

#define ROUND_MIN_NS     (10 * NS_PER_MS)
#define ROUND_MAX_NS     (200 * NS_PER_MS)
#define COST_SHARE       50                // a round takes at most one in so many of the time
#define SLACK_SAMPLED_NS (100 * NS_PER_US) // the jitter between two clocks read in one handler
#define SLACK_LOOKED_NS  (5 * NS_PER_MS)   // the kernel adds up a running thread's time at its tick
#define COMM_MAX         15
#define LOOK_ALL_ROUNDS  16 // threads and children are listed at least so often

struct task {
	uint32_t tid;
	struct timeline timeline;
	bool told;                // its FORK has been handed on
	uint64_t found_ns;        // when a listing first had it; 0: none did
	bool listed;              // by the listing under way
	uint64_t run_ns, wait_ns; // by the last look
	uint64_t looked_ns;
	uint64_t told_cpu_ns; // of a process without agent: up to its last stackless sample
	uint64_t recent_ns;   // how long it ran between the last two looks
	uint64_t gap_ns;      // and how long that was
	uint64_t missing_ns;  // when a listing first did not have it; 0: none
	const char *name;
};

struct proc {
	uint32_t pid, parent_pid;
	struct task *tasks;
	size_t task_count, task_capacity;
	uint64_t image; // see struct proc_stat; 0: not known yet
	bool waiting;   // has not exec'd the target yet
	bool agent;     // tells of its own threads and samples
	bool told;
	bool exec_by_look; // a look has found that it exec'd, and no agent has spoken since
	uint64_t start_ns;
	uint64_t last_ns; // when it was last known to be there
	uint64_t found_ns;
	uint64_t missing_ns; // when it was first found to be gone; 0: it is there
};

struct follow {
	struct proc *procs;
	size_t proc_count, proc_capacity;
	struct event *queue;
	size_t queue_at, queue_count, queue_capacity;
	uint32_t round;
	uint64_t round_ns, previous_round_ns, due_ns;
	uint64_t read_until_ns; // older records have all been given
	struct strings
		*names; // of events that are not from records, as the queue outlives all else
};

// Finding.

static struct proc *find_proc(struct follow *f, uint32_t pid)
{
	for (size_t i = 0; i < f->proc_count; i++)
		if (f->procs[i].pid == pid)
			return &f->procs[i];
	return NULL;
}

static struct task *find_task(struct proc *p, uint32_t tid)
{
	for (size_t i = 0; i < p->task_count; i++)
		if (p->tasks[i].tid == tid)
			return &p->tasks[i];
	return NULL;
}

static struct task *add_task(struct proc *p, uint32_t tid)
{
	struct task *task = find_task(p, tid);

	if (task)
		return task;
	if (!array_reserve(&p->tasks, &p->task_capacity, p->task_count + 1))
		return NULL;
	task = &p->tasks[p->task_count++];
	*task = (struct task){ .tid = tid };
	return task;
}

static void remove_task(struct proc *p, struct task *task)
{
	*task = p->tasks[--p->task_count];
}

static void look_at_task(const struct proc *p, struct task *task)
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

// Pointers to other processes, or tasks of P, become invalid.
static struct proc *add_proc(struct follow *f, uint32_t pid, uint32_t parent_pid)
{
	struct proc *p = find_proc(f, pid);

	if (p)
		return p;
	if (!array_reserve(&f->procs, &f->proc_capacity, f->proc_count + 1))
		return NULL;
	p = &f->procs[f->proc_count++];
	*p = (struct proc){
		.pid = pid,
		.parent_pid = parent_pid,
		.last_ns = f->round_ns,
	};
	return p;
}

struct follow *follow_new(uint32_t root, struct error *err)
{
	cleanup(follow) struct follow *f = calloc(1, sizeof(*f));
	struct proc_stat stat;

	if (f)
		f->names = strings_new();
	if (!f || !f->names || !array_reserve(&f->procs, &f->proc_capacity, 1)) {
		error_set(err, ENOMEM, "could not follow process %u", root);
		return NULL;
	}
	if (!proc_stat_read(root, &stat)) {
		error_set(err, errno, "could not read /proc/%u/stat", root);
		error_hint(err, "Mount /proc.");
		return NULL;
	}
	f->procs[f->proc_count++] = (struct proc){
		.pid = root,
		.image = stat.image,
		.waiting = true,
		.told = true,
		.last_ns = clock_now_ns(),
	};
	// Its CPU time until now is ours.
	struct task *main = add_task(&f->procs[0], root);
	if (main)
		look_at_task(&f->procs[0], main);
	return steal(f);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->proc_count; i++)
		free(f->procs[i].tasks);
	free(f->procs);
	free(f->queue);
	strings_free(f->names);
	free(f);
}

// Telling.

static struct event *push(struct follow *f, enum record_type type, const struct proc *p,
                          const struct task *task, uint64_t time_ns)
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

const struct event *follow_next(struct follow *f)
{
	if (f->queue_at < f->queue_count)
		return &f->queue[f->queue_at++];
	f->queue_at = f->queue_count = 0;
	return NULL;
}

static void push_switches(struct follow *f, const struct proc *p, const struct task *task,
                          const struct timeline_switch *switches, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct event *event = push(f, RECORD_SWITCH, p, task, switches[i].time_ns);
		event->sched.in = switches[i].in;
		event->sched.preempted = switches[i].preempted;
	}
}

static void tell_running(struct follow *f, const struct proc *p, struct task *task, uint64_t now_ns,
                         uint64_t cpu_ns, uint64_t slack_ns)
{
	struct timeline_switch switches[TIMELINE_SWITCHES_MAX];
	size_t count = timeline_running(&task->timeline, now_ns, cpu_ns, task->wait_ns, slack_ns,
	                                switches);

	push_switches(f, p, task, switches, count);
}

static void tell_blocked(struct follow *f, const struct proc *p, struct task *task)
{
	struct timeline_switch switches[TIMELINE_SWITCHES_MAX];
	size_t count = timeline_blocked(&task->timeline, task->looked_ns, task->run_ns,
	                                task->wait_ns, switches);

	push_switches(f, p, task, switches, count);
}

// NAME is cut as comm is; NULL if there is no memory.
static const char *keep_name(struct follow *f, const char *name)
{
	return strings_get(f->names, strings_add_bytes(f->names, name, strnlen(name, COMM_MAX)));
}

static void tell_name(struct follow *f, const struct proc *p, struct task *task, const char *name,
                      uint64_t time_ns)
{
	const char *kept = keep_name(f, name);

	if (!kept || kept == task->name)
		return;
	task->name = kept;
	push(f, RECORD_THREAD, p, task, time_ns)->name = kept;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void begin_task(struct task *task, uint64_t start_ns, uint64_t cpu_ns, uint64_t wait_ns)
{
	task->told = true;
	task->told_cpu_ns = cpu_ns;
	timeline_start(&task->timeline, start_ns, cpu_ns, wait_ns);
}

static struct event *push_fork(struct follow *f, const struct proc *p, const struct task *task,
                               uint32_t parent_pid, uint32_t parent_tid, uint64_t time_ns)
{
	struct event *event = push(f, RECORD_FORK, p, task, time_ns);

	event->fork.parent_pid = parent_pid;
	event->fork.parent_tid = parent_tid;
	return event;
}

// What a new thread does until its first switch is to run.
static void push_first_in(struct follow *f, const struct proc *p, const struct task *task)
{
	push(f, RECORD_SWITCH, p, task, task->timeline.start_ns)->sched.in = true;
}

// The process, and with it its first thread.
static void tell_process(struct follow *f, struct proc *p, uint64_t start_ns)
{
	struct task *main = add_task(p, p->pid);
	const struct proc *parent = find_proc(f, p->parent_pid);

	if (p->told || !main)
		return;
	p->told = true;
	p->agent |= parent && parent->agent; // until it is seen to be another program
	p->start_ns = start_ns;
	begin_task(main, start_ns, 0, 0);
	if (parent)
		push_fork(f, p, main, p->parent_pid, p->parent_pid, start_ns);
	push_first_in(f, p, main);
}

static void tell_thread(struct follow *f, struct proc *p, struct task *task, uint32_t parent_tid,
                        uint64_t start_ns)
{
	if (task->told)
		return;
	begin_task(task, start_ns, 0, 0);
	push_fork(f, p, task, p->pid, parent_tid, start_ns);
	push_first_in(f, p, task);
}

// The thread that called exec has become the first one; all others are gone.
static void tell_exec(struct follow *f, struct proc *p, const char *name, uint64_t time_ns)
{
	struct task *main = add_task(p, p->pid);
	const char *kept = keep_name(f, name);

	if (!main || !kept)
		return;
	p->waiting = false;
	if (!main->told)
		begin_task(main, time_ns, main->run_ns, main->wait_ns);
	main->name = kept;
	push(f, RECORD_EXEC, p, main, time_ns)->name = kept;
	for (size_t i = p->task_count; i-- > 0;)
		if (p->tasks[i].tid != p->pid)
			remove_task(p, &p->tasks[i]);
}

static void tell_end(struct follow *f, struct proc *p, struct task *task, uint64_t time_ns)
{
	if (task->told)
		push(f, RECORD_EXIT, p, task, later(time_ns, task->timeline.emitted_ns));
}

// Nobody said when it ended: it was last seen by a look.
static void tell_vanished(struct follow *f, struct proc *p, struct task *task)
{
	if (task->told && !task->timeline.out)
		tell_running(f, p, task, task->looked_ns, task->run_ns, 0);
	tell_end(f, p, task, task->looked_ns);
}

// Records.

static struct task *told_task(struct follow *f, struct proc *p, uint32_t tid, uint64_t time_ns)
{
	if (!p->told)
		tell_process(f, p, time_ns);
	struct task *task = add_task(p, tid);
	if (task && !task->told)
		tell_thread(f, p, task, p->pid, time_ns);
	return task;
}

// A tick that comes in a system call is taken on the way out of it, where the kernel leaves its
// return address in rcx (or rcx is two bytes on, if the call is to be made again).
static bool is_in_kernel(const struct record_sample *sample)
{
	uint64_t rip = sample->regs[DWARF_RIP];

	return sample->head.flags & SAMPLE_KERNEL || sample->regs[DWARF_RCX] == rip ||
	       sample->regs[DWARF_RCX] == rip + 2;
}

static void on_sample(struct follow *f, struct proc *p, const struct record_sample *sample)
{
	uint64_t time_ns = sample->head.time_ns;
	struct task *task = told_task(f, p, sample->head.tid, time_ns);

	if (!task)
		return;
	tell_running(f, p, task, time_ns, sample->cpu_time_ns, SLACK_SAMPLED_NS);
	task->told_cpu_ns = sample->cpu_time_ns;
	// What no stack was taken for goes with the thread's last one.
	if (sample->head.flags & SAMPLE_NO_USER)
		return;

	struct event *event = push(f, RECORD_SAMPLE, p, task, time_ns);
	const uint8_t *tail = (const uint8_t *)(sample + 1);
	event->sample = (struct event_sample){
		.kind = SAMPLE_ON_CPU,
		.weight_ns = sample->weight_ns,
		.in_kernel = is_in_kernel(sample),
		.cpu_time_ns = sample->cpu_time_ns,
		.has_user = true,
		.has_rbp = true,
		.stack = tail + (size_t)sample->kernel_count * 8,
		.stack_bytes = sample->stack_bytes,
		.syscall = -1,
	};
	memcpy(event->sample.regs, sample->regs, sizeof(event->sample.regs));
}

static void on_map(struct follow *f, struct proc *p, const struct record_map *map)
{
	struct event *event = push(f, RECORD_MAP, p, NULL, map->head.time_ns);

	event->map = (struct event_map){
		.start = map->start,
		.length = map->length,
		.file_offset = map->file_offset,
		.inode = map->inode,
		.device_major = map->device_major,
		.device_minor = map->device_minor,
		.protection = map->protection,
		.build_id = map->build_id,
		.build_id_size = map->build_id_size,
		.path = (const char *)(map + 1),
	};
}

static void on_unmap(struct follow *f, struct proc *p, const struct record_unmap *unmap)
{
	struct event *event = push(f, RECORD_UNMAP, p, NULL, unmap->head.time_ns);

	event->map = (struct event_map){ .start = unmap->start, .length = unmap->length };
}

static void on_fork(struct follow *f, struct proc *p, const struct record_fork *fork)
{
	if (fork->head.tid == p->pid) {
		if (!p->told)
			p->parent_pid = fork->parent_pid;
		tell_process(f, p, fork->head.time_ns);
		return;
	}
	if (!p->told)
		tell_process(f, p, fork->head.time_ns);
	struct task *task = add_task(p, fork->head.tid);
	if (task)
		tell_thread(f, p, task, fork->parent_tid, fork->head.time_ns);
}

static void on_exec(struct follow *f, struct proc *p, const struct record *record)
{
	const char *name = (const char *)((const struct record_name *)record + 1);
	const struct task *main = find_task(p, p->pid);
	// A look may see the new program before its agent has come to speak.
	bool known =
		p->exec_by_look && main && main->name && strncmp(main->name, name, COMM_MAX) == 0;

	p->agent = true;
	p->exec_by_look = false;
	p->image = 0; // the next look takes it as it is
	if (known)
		return;
	if (!p->told)
		tell_process(f, p, record->time_ns);
	tell_exec(f, p, name, record->time_ns);
}

static void on_exit_record(struct follow *f, struct proc *p, const struct record *record)
{
	struct task *task = find_task(p, record->tid);

	if (!task)
		return;
	tell_end(f, p, task, record->time_ns);
	p->last_ns = later(p->last_ns, record->time_ns);
	task->told = false;
	task->found_ns = UINT64_MAX; // it may still be listed for a moment: that is no new thread
}

void follow_record(struct follow *f, const struct record *record)
{
	struct proc *p = add_proc(f, record->pid, 0);
	struct task *task;

	if (!p)
		return;
	switch (record->type) {
	case RECORD_SAMPLE:
		p->agent = true;
		on_sample(f, p, (const struct record_sample *)record);
		break;
	case RECORD_MAP:
		on_map(f, p, (const struct record_map *)record);
		break;
	case RECORD_UNMAP:
		on_unmap(f, p, (const struct record_unmap *)record);
		break;
	case RECORD_FORK:
		on_fork(f, p, (const struct record_fork *)record);
		break;
	case RECORD_EXEC:
		on_exec(f, p, record);
		break;
	case RECORD_THREAD:
		task = told_task(f, p, record->tid, record->time_ns);
		if (task)
			tell_name(f, p, task,
			          (const char *)((const struct record_name *)record + 1),
			          record->time_ns);
		break;
	case RECORD_EXIT:
		on_exit_record(f, p, record);
		break;
	default:
		break;
	}
}

// Rounds.

void follow_begin(struct follow *f, uint64_t now_ns)
{
	f->previous_round_ns = f->round_ns ? f->round_ns : now_ns;
	f->round_ns = now_ns;
	f->round++;
	for (size_t i = 0; i < f->proc_count; i++)
		for (size_t j = 0; j < f->procs[i].task_count && !f->procs[i].waiting; j++)
			look_at_task(&f->procs[i], &f->procs[i].tasks[j]);
}

struct listing {
	struct follow *f;
	uint32_t pid;
};

static void on_listed_thread(void *context, uint32_t tid)
{
	struct listing *listing = context;
	struct proc *p = find_proc(listing->f, listing->pid);
	struct task *task = p ? add_task(p, tid) : NULL;

	if (!task)
		return;
	task->listed = true;
	if (!task->found_ns)
		task->found_ns = clock_now_ns();
}

static void on_listed_child(void *context, uint32_t pid)
{
	struct listing *listing = context;
	struct proc *p = add_proc(listing->f, pid, listing->pid);

	// A child is the program of its parent until its image changes.
	if (p && !p->told && !p->found_ns) {
		p->found_ns = clock_now_ns();
		p->image = find_proc(listing->f, listing->pid)->image;
	}
}

// What was found before the last record was read has had its chance to speak for itself.
static bool is_overdue(const struct follow *f, uint64_t found_ns)
{
	return found_ns && found_ns < f->read_until_ns;
}

static void tell_listed(struct follow *f, struct proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct task *task = &p->tasks[i];
		if (p->told && !task->told && is_overdue(f, task->found_ns))
			tell_thread(f, p, task, p->pid, later(f->previous_round_ns, p->start_ns));
	}
}

static void drop_vanished(struct follow *f, struct proc *p)
{
	for (size_t i = p->task_count; i-- > 0;) {
		struct task *task = &p->tasks[i];
		if (task->listed) {
			task->missing_ns = 0;
			continue;
		}
		if (!task->missing_ns)
			task->missing_ns = clock_now_ns();
		if (!is_overdue(f, task->missing_ns))
			continue;
		tell_end(f, p, task,
		         later(task->looked_ns, p->last_ns < f->round_ns ? p->last_ns : 0));
		remove_task(p, task);
	}
}

static void list_threads(struct follow *f, struct proc *p)
{
	struct listing listing = { f, p->pid };

	for (size_t i = 0; i < p->task_count; i++)
		p->tasks[i].listed = false;
	proc_stat_threads(p->pid, on_listed_thread, &listing);
	drop_vanished(f, p);
	tell_listed(f, p);
}

static void take_image(struct follow *f, struct proc *p, const struct proc_stat *stat)
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
	struct task *main = find_task(p, p->pid);
	if (main && main->told) {
		// What it has run for until now was for the other program, more or less.
		look_at_task(p, main);
		tell_running(f, p, main, main->looked_ns, main->run_ns, 0);
		now = main->timeline.emitted_ns;
	}
	tell_exec(f, p, stat->name, now);
}

static bool has_unknown_thread(const struct proc *p, uint32_t count)
{
	if (count != p->task_count)
		return true;
	for (size_t i = 0; i < p->task_count; i++)
		if (!p->tasks[i].told || p->tasks[i].missing_ns)
			return true;
	return false;
}

// A process without agent: its time goes without a stack.
static void tell_stackless(struct follow *f, struct proc *p, struct task *task)
{
	uint64_t before = task->told_cpu_ns;

	if (task->run_ns <= before)
		return;
	tell_running(f, p, task, task->looked_ns, task->run_ns, SLACK_LOOKED_NS);
	task->told_cpu_ns = task->run_ns;
	struct event *event = push(f, RECORD_SAMPLE, p, task, task->timeline.emitted_ns);
	event->sample = (struct event_sample){
		.kind = SAMPLE_ON_CPU,
		.weight_ns = task->run_ns - before,
		.cpu_time_ns = task->run_ns,
		.syscall = -1,
	};
}

// By what it did between two looks: the rest of a short run is a wait.
static bool seems_blocked(const struct task *task)
{
	return task->gap_ns && task->recent_ns < task->gap_ns / 2;
}

static void tell_times(struct follow *f, struct proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct task *task = &p->tasks[i];
		if (!task->told || task->looked_ns < f->round_ns)
			continue;
		if (!p->agent)
			tell_stackless(f, p, task);
		if (seems_blocked(task))
			tell_blocked(f, p, task);
		else
			tell_running(f, p, task, task->looked_ns, task->run_ns, SLACK_LOOKED_NS);
	}
}

static void tell_names(struct follow *f, struct proc *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		char name[COMM_MAX + 1];
		if (p->tasks[i].told && proc_stat_name(p->pid, p->tasks[i].tid, name))
			tell_name(f, p, &p->tasks[i], name, f->round_ns);
	}
}

static void list_children(struct follow *f, uint32_t pid)
{
	struct listing listing = { f, pid };
	bool all = f->round % LOOK_ALL_ROUNDS == 0;

	// The listing may move processes, so each task is looked up by its number.
	for (size_t i = 0;; i++) {
		struct proc *p = find_proc(f, pid);
		if (!p || i >= p->task_count)
			return;
		if (all || p->tasks[i].recent_ns)
			proc_stat_children(pid, p->tasks[i].tid, on_listed_child, &listing);
	}
}

// False if the process is no more.
static bool visit(struct follow *f, struct proc *p)
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
		uint64_t start = later(stat.start_ns, f->previous_round_ns);
		tell_process(f, p, start < f->round_ns ? start : f->round_ns);
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

static void tell_gone(struct follow *f, struct proc *p)
{
	for (size_t i = p->task_count; i-- > 0;)
		tell_vanished(f, p, &p->tasks[i]);
	free(p->tasks);
	*p = f->procs[--f->proc_count];
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
	uint64_t cost = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) * 2; // the looks at its beginning
	uint64_t wait = cost * COST_SHARE;
	if (wait < ROUND_MIN_NS)
		wait = ROUND_MIN_NS;
	f->due_ns = f->round_ns + (wait < ROUND_MAX_NS ? wait : ROUND_MAX_NS);
}

uint64_t follow_due_ns(const struct follow *f)
{
	return f->due_ns;
}
