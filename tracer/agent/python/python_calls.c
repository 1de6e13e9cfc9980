// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_calls.h"

#include "base/clock.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_events.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define COUNTERS_MAX ((uint32_t)1 << 20)
#define WAIT_NS      (200 * NS_PER_MS) // for room in the ring, at the end
#define RECORD_ROOM  ((size_t)1 << 10) // python_code_number() sees to its own

struct counter {
	uint64_t calls; // atomic without a GIL
	uint64_t told;
	uintptr_t code; // NULL: free
	uint32_t next;  // free one; 0: none
};

static struct counter *counters; // [number - 1]
static uint32_t count, free_first;
static intptr_t extra_index = -1;
static struct agent *agent;
static bool lacking; // there was no counter for somebody

static struct counter *take_counter(void)
{
	if (!counters) {
		void *memory = mmap(NULL, COUNTERS_MAX * sizeof(*counters), PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		counters = memory;
	}
	if (free_first) {
		struct counter *counter = &counters[free_first - 1];
		free_first = counter->next;
		return counter;
	}
	return count < COUNTERS_MAX ? &counters[count++] : NULL;
}

static bool write_calls(struct lane *lane, uint32_t code, uint64_t calls)
{
	struct record_python_calls *record = (struct record_python_calls *)lane_reserve(
		lane, agent->rings.by_populate, sizeof(*record));

	if (!record)
		return false;
	*record = (struct record_python_calls){ .head = { .type = RECORD_PYTHON_CALLS,
		                                          .pid = agent->pid,
		                                          .tid = lane->tid,
		                                          .time_ns = clock_now_ns() },
		                                .calls = calls,
		                                .code = code };
	lane_commit(lane, &record->head, sizeof(*record));
	return true;
}

static bool write_counter(struct lane *lane, struct counter *counter)
{
	struct guard guard = { 0 };
	uint64_t calls = __atomic_load_n(&counter->calls, __ATOMIC_RELAXED);

	if (lane_room(lane) < RECORD_ROOM)
		return false;
	uint32_t code = python_code_number(python_api_runtime, &guard, agent, lane, counter->code);
	if (!code || !write_calls(lane, code, calls - counter->told))
		return false;
	counter->told = calls;
	return true;
}

static bool tell(struct counter *counter)
{
	struct lane *lane = op_take_lane();
	bool done = lane && write_counter(lane, counter);

	if (lane)
		op_give_lane();
	return done;
}

// The code object dies.
static void drop(void *extra)
{
	struct counter *counter = extra;
	int error = errno;

	if (!counter)
		return;
	if (counter->calls != counter->told && agent && agent->on && !tell(counter))
		lacking = true;
	*counter = (struct counter){ .next = free_first };
	free_first = (uint32_t)(counter - counters) + 1;
	errno = error;
}

static __attribute__((noinline)) struct counter *add_counter(py_object code)
{
	struct counter *counter = take_counter();

	if (!counter) {
		lacking = true;
		return NULL;
	}
	*counter = (struct counter){ .code = (uintptr_t)code };
	if (python_api.set_code_extra(code, extra_index, counter) < 0) {
		python_api.PyErr_Clear();
		drop(counter);
		lacking = true;
		return NULL;
	}
	python_events_meet(code);
	return counter;
}

static inline void count_call(py_object code)
{
	void *extra = NULL;

	if (python_api.get_code_extra(code, extra_index, &extra) < 0)
		python_api.PyErr_Clear();
	struct counter *counter = extra ? extra : add_counter(code);
	if (!counter)
		return;
	if (python_api_runtime->layout.free_threaded)
		__atomic_fetch_add(&counter->calls, 1, __ATOMIC_RELAXED);
	else
		counter->calls++;
}

static bool begins(py_object code, struct op_here here)
{
	(void)here;
	count_call(code);
	return true;
}

bool python_calls_start(struct agent *a)
{
	static const struct python_listener listener = { .begins = begins };
	bool done = python_api.request_code_extra && python_api.get_code_extra &&
	            python_api.set_code_extra;

	agent = a;
	if (done)
		extra_index = python_api.request_code_extra(drop);
	if (extra_index >= 0)
		python_events_add(&listener);
	return extra_index >= 0;
}

void python_calls_check(void)
{
	lacking |= python_events_lost();
}

static void write_end(void)
{
	struct lane *lane = op_take_lane();

	if (!lane)
		return;
	if (!lacking)
		write_calls(lane, 0, 0);
	op_give_lane();
}

void python_calls_tell(struct agent *a, bool last)
{
	uint64_t until = clock_now_ns() + WAIT_NS;
	struct timespec moment = { 0, NS_PER_MS };

	if (extra_index < 0 || !a->config.count_calls)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct counter *counter = &counters[i];
		if (!counter->code || counter->calls == counter->told)
			continue;
		while (!tell(counter) && last && clock_now_ns() < until)
			nanosleep(&moment, NULL);
		if (counter->calls != counter->told && last)
			lacking = true;
	}
	if (last)
		write_end();
}

void python_calls_fork(void)
{
	for (uint32_t i = 0; i < count; i++)
		counters[i].told = counters[i].calls;
}
