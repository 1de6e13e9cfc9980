// SPDX-License-Identifier: MIT
#include "sampler/agent/follow.h"

#include "sampler/agent/agent_records.h"
#include "sampler/agent/follow_state.h"

#include <string.h>

static struct follow_task *told_task(struct follow *f, struct follow_proc *p, uint32_t tid,
                                     uint64_t time_ns)
{
	if (!p->told)
		follow_tell_process(f, p, time_ns);
	struct follow_task *task = follow_add_task(p, tid);
	if (task && !task->told)
		follow_tell_thread(f, p, task, p->pid, time_ns);
	return task;
}

// Who has given up its CPU since it was asked last no oftener than it has reported a wait was off
// it for the rest of the time as others had it.
static bool take_sleeps(struct follow_task *task, uint32_t sleeps)
{
	task->tells_all = sleeps && task->sleeps && sleeps - task->sleeps <= task->reported;
	task->sleeps = sleeps;
	task->reported = 0;
	return task->tells_all;
}

static void on_sample(struct follow *f, struct follow_proc *p, const struct record_sample *sample)
{
	uint64_t time_ns = sample->head.time_ns;
	struct follow_task *task = told_task(f, p, sample->head.tid, time_ns);

	if (!task)
		return;
	task->kept_cpu = take_sleeps(task, sample->sleeps);
	follow_tell_running(f, p, task, time_ns, sample->cpu_time_ns, FOLLOW_SLACK_SAMPLED_NS);
	task->kept_cpu = false;
	task->told_cpu_ns = sample->cpu_time_ns;
	// What no stack was taken for goes with the thread's last one.
	if (sample->head.flags & SAMPLE_NO_USER)
		return;

	struct event *event = follow_push(f, RECORD_SAMPLE, p, task, time_ns);
	event->sample = agent_sample(sample);
}

static void on_map(struct follow *f, struct follow_proc *p, const struct record_map *map)
{
	struct event *event = follow_push(f, RECORD_MAP, p, NULL, map->head.time_ns);

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

static void on_unmap(struct follow *f, struct follow_proc *p, const struct record_unmap *unmap)
{
	struct event *event = follow_push(f, RECORD_UNMAP, p, NULL, unmap->head.time_ns);

	event->map = (struct event_map){ .start = unmap->start, .length = unmap->length };
}

static void on_fork(struct follow *f, struct follow_proc *p, const struct record_fork *fork)
{
	if (fork->head.tid == p->pid) {
		if (!p->told)
			p->parent_pid = fork->parent_pid;
		follow_tell_process(f, p, fork->head.time_ns);
		return;
	}
	if (!p->told)
		follow_tell_process(f, p, fork->head.time_ns);
	struct follow_task *task = follow_add_task(p, fork->head.tid);
	if (task)
		follow_tell_thread(f, p, task, fork->parent_tid, fork->head.time_ns);
}

static void on_exec(struct follow *f, struct follow_proc *p, const struct record *record)
{
	const char *name = (const char *)((const struct record_name *)record + 1);
	const struct follow_task *main = follow_task(p, p->pid);
	// A look may see the new program before its agent has come to speak.
	bool known = p->exec_by_look && main && main->name &&
	             strncmp(main->name, name, FOLLOW_NAME_MAX) == 0;

	p->agent = true;
	p->exec_by_look = false;
	p->image = 0; // the next look takes it as it is
	if (known)
		return;
	if (!p->told)
		follow_tell_process(f, p, record->time_ns);
	follow_tell_exec(f, p, name, record->time_ns);
}

static void on_exit_record(struct follow *f, struct follow_proc *p, const struct record *record)
{
	struct follow_task *task = follow_task(p, record->tid);

	if (!task)
		return;
	follow_tell_end(f, p, task, record->time_ns);
	p->last_ns = follow_later(p->last_ns, record->time_ns);
	task->told = false;
	task->found_ns = UINT64_MAX; // it may still be listed for a moment: that is no new thread
}

static void on_python(struct follow *f, struct follow_proc *p, const struct record *record)
{
	struct follow_task *task = told_task(f, p, p->pid, record->time_ns);

	if (task)
		agent_python_take(record, follow_push(f, (enum record_type)record->type, p, task,
		                                      record->time_ns));
}

// Up to when nobody had ended it: from then on its thread has waited for a CPU.
static uint64_t ended_ns(const struct record_wait *wait)
{
	const struct wait_part *parts = (const struct wait_part *)(wait + 1);

	for (uint32_t i = wait->count; i-- > 0;)
		if (parts[i].how != HELD_BY_NOBODY)
			return parts[i].until_ns;
	return wait->head.time_ns;
}

static bool is_off_cpu(const struct record_wait *wait)
{
	bool call = wait->kind == HELD_FILE || wait->kind == HELD_SIGNAL; // see off_cpu_call()

	return !call && wait->kind != HELD_SPIN && !(wait->head.flags & (HELD_POSTED | HELD_BEGUN));
}

static void on_wait(struct follow *f, const struct record_wait *wait)
{
	struct follow_proc *p = follow_proc(f, wait->head.pid);
	struct follow_task *task = p ? follow_task(p, wait->head.tid) : NULL;
	struct timeline_wait kept = { .begin_ns = wait->begin_ns, .end_ns = wait->head.time_ns };
	enum metric cause = wait->kind == HELD_CHILD ? METRIC_OFF_CHILD : METRIC_OFF_LOCK;
	uint64_t until_ns = ended_ns(wait);

	if (p && is_off_cpu(wait))
		p->tells_waits = true;
	// Whoever scribbles in the files may have it end before it begins.
	if (!task || !task->told || !is_off_cpu(wait) || kept.begin_ns > kept.end_ns)
		return;
	task->reported++;
	if (kept.end_ns - kept.begin_ns < FOLLOW_SLACK_SAMPLED_NS)
		return;
	if (until_ns >= kept.begin_ns && until_ns < kept.end_ns)
		kept.ready_ns = kept.end_ns - until_ns;
	follow_keep_wait(f, p, task, &(struct follow_wait){ kept, cause });
}

static void on_ran(struct follow *f, const struct record_ran *ran)
{
	struct follow_proc *p = follow_proc(f, ran->head.pid);
	struct follow_task *task = p ? follow_task(p, ran->head.tid) : NULL;

	if (task && task->told)
		follow_keep_ran(task, &(struct follow_ran){ ran->head.time_ns, ran->cpu_time_ns,
		                                            take_sleeps(task, ran->sleeps) });
}

void follow_record(struct follow *f, const struct record *record)
{
	if (record->type == RECORD_WAIT) {
		on_wait(f, (const struct record_wait *)record);
		return;
	}
	if (record->type == RECORD_RAN) {
		on_ran(f, (const struct record_ran *)record);
		return;
	}
	struct follow_proc *p = follow_add_proc(f, record->pid, 0);
	struct follow_task *task;

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
			follow_tell_name(f, p, task,
			                 (const char *)((const struct record_name *)record + 1),
			                 record->time_ns);
		break;
	case RECORD_EXIT:
		on_exit_record(f, p, record);
		break;
	case RECORD_BIRTH:
		task = told_task(f, p, record->tid, record->time_ns);
		if (task)
			follow_push(f, RECORD_BIRTH, p, task, record->time_ns)->birth =
				((const struct record_birth *)record)->start;
		break;
	case RECORD_PYTHON:
	case RECORD_PYTHON_CODE:
	case RECORD_PYTHON_NAME:
	case RECORD_PYTHON_CALLS:
	case RECORD_PYTHON_AWAIT:
	case RECORD_PYTHON_CHAIN:
	case RECORD_TORCH_MODULE:
		on_python(f, p, record);
		break;
	default:
		break;
	}
}
