// SPDX-License-Identifier: MIT
// Tasks of asyncio in processes that nobody has been put into: when they are looked at, and what
// the looks stand for.
#include "base/array.h"
#include "base/await.h"
#include "base/clock.h"
#include "base/code.h"
#include "base/hash.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/tracker/python_find.h"
#include "sampler/tracker/tracker.h"
#include "sampler/tracker/tracker_state.h"

#include <stdio.h>
#include <stdlib.h>

// Between two passes, by chance: a program may do what it does at regular times.
#define LEAST_NS (10 * NS_PER_MS)
#define MOST_NS  (30 * NS_PER_MS)
// While asyncio is not there, or cannot be read.
#define AGAIN_NS (250 * NS_PER_MS)
// A pass takes at most one part in so many of one CPU.
#define COST_PART 100
#define OUTER     2 // of a chain that is too long, so many outermost places stay
#define LIBRARY   "asyncio"

struct pass {
	struct tracker *tracker;
	struct process *process;
	uint64_t since_ns;
	uint64_t tasks; // that were seen, by estimate
};

struct look {
	struct tracker *tracker;
	uint64_t now_ns;
	bool last;
};

static int by_address(const void *left, const void *right)
{
	const struct await_seen *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static struct await_told place_of(const struct tracker *t, struct process *process,
                                  const struct python_frame *frame, bool begins)
{
	struct frame at = python_frame_at(&process->python, frame);
	const struct code *code = codes_get(t->codes, frame_python_code(at));

	if (!code)
		return (struct await_told){ "", "", 0 };
	return (struct await_told){ code->name, code->file,
		                    begins ? code->first_line : frame_python_line(at) };
}

static void tell(const struct tracker *t, const struct python_await_event *event)
{
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PYTHON_AWAIT, .python_await = event });
}

static void put_chain(const struct pass *pass, const struct python_task *task,
                      struct python_await_event *event)
{
	const uint32_t most = AWAIT_PLACES_MAX - 1;

	for (uint32_t i = 0; i < task->count; i++) {
		if (task->count > most && i >= OUTER && i < task->count - (most - OUTER))
			continue;
		event->places[event->place_count++] =
			place_of(pass->tracker, pass->process, &task->frames[i], false);
	}
}

static void take_task(void *context, const struct python_task *task)
{
	static const enum await_kind kinds[] = { [PYTHON_TASK_READY] = AWAIT_READY,
		                                 [PYTHON_TASK_RUNNING] = AWAIT_RUN,
		                                 [PYTHON_TASK_WAITING] = AWAIT_WAIT };
	struct pass *pass = context;
	struct await_watch *watch = &pass->process->tasks;
	struct python_await_event event = {
		.kind = AWAIT_TASK,
		.ns = task->tasks * pass->since_ns,
		.place_count = 1,
	};

	pass->tasks += task->tasks;
	if (array_reserve(&watch->now, &watch->now_capacity, watch->now_count + 1))
		watch->now[watch->now_count++] =
			(struct await_seen){ task->address, task->tasks, task->frames[0] };
	else
		pass->tracker->no_memory = true;
	event.places[0] = place_of(pass->tracker, pass->process, &task->frames[0], true);
	tell(pass->tracker, &event);
	event.kind = kinds[task->state];
	if (task->state == PYTHON_TASK_WAITING && !task->cut)
		put_chain(pass, task, &event);
	tell(pass->tracker, &event);
}

static void tell_new(const struct pass *pass, const struct await_seen *seen, uint64_t count)
{
	struct python_await_event event = { .kind = AWAIT_TASK, .count = count, .place_count = 1 };

	if (!count)
		return;
	pass->process->tasks.counted += count;
	event.places[0] = place_of(pass->tracker, pass->process, &seen->first, true);
	tell(pass->tracker, &event);
	event.kind = AWAIT_LIBRARY;
	event.places[event.place_count++] = (struct await_told){ LIBRARY, "", 0 };
	tell(pass->tracker, &event);
}

// Where all are looked at those are new that the last pass has not seen. Who they are that are
// drawn does not matter: so many have been as were there at most.
static void tell_all_new(const struct pass *pass)
{
	const struct await_watch *watch = &pass->process->tasks;
	uint64_t more = pass->tasks > watch->counted ? pass->tasks - watch->counted : 0, sum = 0;
	bool drawn = pass->tasks > watch->now_count;

	for (size_t i = 0; i < watch->now_count; i++) {
		const struct await_seen *seen = &watch->now[i];
		uint64_t before = more * sum / pass->tasks;
		sum += seen->tasks;
		if (drawn)
			tell_new(pass, seen, more * sum / pass->tasks - before);
		else if (!watch->known_count || !bsearch(seen, watch->known, watch->known_count,
		                                         sizeof(*seen), by_address))
			tell_new(pass, seen, 1);
	}
}

static void end_pass(struct await_watch *watch, const struct pass *pass, struct task_status *status)
{
	struct await_seen *known = watch->known;
	size_t capacity = watch->known_capacity;

	tell_all_new(pass);
	if (watch->now_count)
		qsort(watch->now, watch->now_count, sizeof(*watch->now), by_address);
	status->passes++;
	if (pass->tasks > status->most) {
		status->most = pass->tasks;
		status->looked = watch->now_count;
	}
	watch->known = watch->now;
	watch->known_count = watch->now_count;
	watch->known_capacity = watch->now_capacity;
	watch->now = known;
	watch->now_count = 0;
	watch->now_capacity = capacity;
}

static void note_unseen(struct tracker *t, const struct process *process)
{
	if (!t->awaits.unseen++)
		snprintf(t->awaits.name, sizeof(t->awaits.name), "%s", process->command);
}

static void look_at_process(struct tracker *t, struct process *process, uint64_t now_ns)
{
	struct await_watch *watch = &process->tasks;
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct pass pass = { t, process, now_ns - watch->last_ns, 0 };
	const struct python_tasks_wanted wanted = { process->pid, python_find_tasks, take_task,
		                                    &pass };
	uint64_t pause_ns = AGAIN_NS;

	switch (off_cpu_python_tasks(t->reader, process, &wanted)) {
	case PYTHON_TASKS_NONE:
		break;
	case PYTHON_TASKS_UNKNOWN:
		note_unseen(t, process);
		watch->due_ns = UINT64_MAX;
		return;
	case PYTHON_TASKS_FOUND:
		end_pass(watch, &pass, &t->awaits);
		t->await_random = hash_mix(t->await_random + now_ns);
		pause_ns = LEAST_NS + t->await_random % (MOST_NS - LEAST_NS);
		break;
	}
	watch->last_ns = now_ns;
	uint64_t cost_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) * COST_PART;
	watch->due_ns = now_ns + (pause_ns > cost_ns ? pause_ns : cost_ns);
}

static void look_at(void *context, struct thread *thread)
{
	const struct look *look = context;
	struct process *process = thread->process;
	struct await_watch *watch = &process->tasks;

	if (!process->python.runtime)
		return;
	if (look->last && watch->known_count && watch->due_ns != UINT64_MAX &&
	    watch->last_ns < look->now_ns) {
		look_at_process(look->tracker, process, look->now_ns);
	} else if (!watch->due_ns) {
		watch->last_ns = look->now_ns;
		watch->due_ns = look->now_ns + LEAST_NS;
	} else if (watch->due_ns <= look->now_ns) {
		look_at_process(look->tracker, process, look->now_ns);
	}
	if (watch->due_ns < look->tracker->await_due_ns)
		look->tracker->await_due_ns = watch->due_ns;
}

void tracker_look_at_tasks(struct tracker *t, uint64_t now_ns)
{
	struct look look = { t, now_ns, t->finishing };

	if (!t->reader || !t->tell_off_cpu || (now_ns < t->await_due_ns && !t->finishing))
		return;
	t->await_due_ns = now_ns + MOST_NS;
	tasks_each_thread(t->tasks, look_at, &look);
}
