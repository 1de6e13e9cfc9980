// SPDX-License-Identifier: MIT
// Tasks of asyncio in processes that nobody has been put into: when they are looked at, and what
// the looks stand for.
#include "base/array.h"
#include "base/await.h"
#include "base/clock.h"
#include "base/code.h"
#include "base/hash.h"
#include "sampler/off_cpu/off_cpu_python.h"
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
	uint64_t looked, tasks;
};

struct look {
	struct tracker *tracker;
	uint64_t now_ns;
};

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

// How many tasks that no pass has seen TASK stands for. Of those that are drawn nobody knows.
static uint64_t count_new(struct tracker *t, struct await_watch *watch,
                          const struct python_task *task)
{
	bool known = bsearch(&task->address, watch->known, watch->known_count,
	                     sizeof(*watch->known), by_value) != NULL;

	if (array_reserve(&watch->now, &watch->now_capacity, watch->now_count + 1))
		watch->now[watch->now_count++] = task->address;
	else
		t->no_memory = true;
	if (task->tasks > 1)
		return watch->known_count ? 0 : task->tasks;
	return !known;
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
	uint64_t fresh = count_new(pass->tracker, &pass->process->tasks, task);
	struct python_await_event event = {
		.kind = AWAIT_TASK,
		.count = fresh,
		.ns = task->tasks * pass->since_ns,
		.place_count = 1,
	};

	pass->looked++;
	pass->tasks += task->tasks;
	event.places[0] = place_of(pass->tracker, pass->process, &task->frames[0], true);
	tell(pass->tracker, &event);
	if (fresh) {
		event.kind = AWAIT_LIBRARY;
		event.ns = 0;
		event.places[event.place_count++] = (struct await_told){ LIBRARY, "", 0 };
		tell(pass->tracker, &event);
	}
	event.kind = kinds[task->state];
	event.count = 0;
	event.ns = task->tasks * pass->since_ns;
	event.place_count = 1;
	if (task->state == PYTHON_TASK_WAITING && !task->cut)
		put_chain(pass, task, &event);
	tell(pass->tracker, &event);
}

static void end_pass(struct await_watch *watch, const struct pass *pass, struct task_status *status)
{
	uint64_t *known = watch->known;
	size_t capacity = watch->known_capacity;

	qsort(watch->now, watch->now_count, sizeof(*watch->now), by_value);
	watch->known = watch->now;
	watch->known_count = watch->now_count;
	watch->known_capacity = watch->now_capacity;
	watch->now = known;
	watch->now_count = 0;
	watch->now_capacity = capacity;
	status->passes++;
	if (pass->tasks > status->most) {
		status->most = pass->tasks;
		status->looked = pass->looked;
	}
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
	struct pass pass = { t, process, now_ns - watch->last_ns, 0, 0 };
	uint64_t pause_ns = AGAIN_NS;

	switch (off_cpu_python_tasks(t->reader, process, take_task, &pass)) {
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
	if (!watch->due_ns) {
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
	struct look look = { t, now_ns };

	if (!t->reader || !t->tell_off_cpu || now_ns < t->await_due_ns)
		return;
	t->await_due_ns = now_ns + MOST_NS;
	tasks_each_thread(t->tasks, look_at, &look);
}
