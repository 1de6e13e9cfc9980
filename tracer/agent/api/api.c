// SPDX-License-Identifier: MIT
/*
 * The API provider: the calls of tracer/api/bottleneck/bottleneck.h and of the Python package in
 * python/, which find these functions by their names, once.
 *
 * A range is an op of its thread, or, if it is started and has a number, of the process: any thread
 * ends it. A step is a range of the process, too: it ends with the next step, or with stop. Start
 * and stop are marks, which the recorder obeys (merge/record/recorded.h).
 */
#include "base/op.h"
#include "base/record.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/op/ranges.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/wrap.h"

#define OWNER_RANGE OP_OWNER(OP_API, 1)
#define UNNAMED     "(unnamed)"

// The step that is open: one of the process, whichever threads mark them.
static struct {
	uint32_t busy;       // atomic: the generation of the process in which a thread is at it
	uint32_t generation; // a parent's step is not its child's
	struct op_range range;
} step;

AGENT_TABLE static struct ranges ranges; // that are started, by their numbers
static uint64_t last_range;              // atomic

static struct op_thread *enter(void)
{
	return op_is_on(OP_API) ? op_enter() : NULL;
}

// The newest frame of Python's is the package's own, which returns before the op goes on.
static struct op_details *tell_callers(struct op_thread *t, struct op_details *d, uint64_t *values)
{
	*d = (struct op_details){ OP_DETAIL_NONE, 0, values };
	python_callers_tell_outer(t, d, values);
	if (!d->count)
		return NULL;
	d->kind |= OP_DETAIL_PYTHON;
	return d;
}

static void begin(const char *name, struct op_here here, bool from_python)
{
	struct op_details details, *told = NULL;
	struct op_thread *t = enter();
	uint64_t values[1];

	if (!t)
		return;
	if (from_python)
		told = tell_callers(t, &details, values);
	op_begin_in(t, OWNER_RANGE, op_name(t, OP_API, 0, name ? name : UNNAMED), here, told);
	op_leave(t);
}

// Its number, which is never 0 where there is an agent that records; a parent's are not its
// child's.
static uint64_t start_range(const char *name, struct op_here here, bool from_python)
{
	struct op_details details, *told = NULL;
	struct op_thread *t = enter();
	uint64_t values[1];

	if (!t)
		return 0;
	if (from_python)
		told = tell_callers(t, &details, values);
	uint64_t number = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
	uint32_t id = op_name(t, OP_API, 0, name ? name : UNNAMED);
	ranges_put(&ranges, number, t, op_range_begin(t, id, here, told));
	op_leave(t);
	return number;
}

// Ends the step before, and begins the next; a NAME of 0: none begins. Of two threads at once one
// marks a step.
static void change_step(struct op_thread *t, uint32_t name, struct op_here here,
                        const struct op_details *details)
{
	uint32_t known = __atomic_load_n(&step.busy, __ATOMIC_RELAXED);

	if (known == t->generation ||
	    !__atomic_compare_exchange_n(&step.busy, &known, t->generation, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return;
	if (step.range.name && step.generation == t->generation)
		op_range_end(t, step.range);
	step.range = (struct op_range){ 0 };
	step.generation = t->generation;
	if (name)
		step.range = op_range_begin(t, name, here, details);
	__atomic_store_n(&step.busy, 0, __ATOMIC_RELEASE);
}

static void begin_step(struct op_here here, bool from_python)
{
	struct op_details details, *told = NULL;
	struct op_thread *t = enter();
	uint64_t values[1];

	if (!t)
		return;
	if (from_python)
		told = tell_callers(t, &details, values);
	change_step(t, op_name(t, OP_API, 0, OP_API_STEP), here, told);
	op_leave(t);
}

static void change_gate(const char *name, bool ends, struct op_here here, bool from_python)
{
	struct op_details details, *told = NULL;
	struct op_thread *t = enter();
	uint64_t values[1];

	if (!t)
		return;
	if (from_python)
		told = tell_callers(t, &details, values);
	if (ends)
		change_step(t, 0, here, NULL);
	op_mark(t, op_name(t, OP_API, 0, name), here, told);
	op_leave(t);
}

EXPORT void bottleneck_agent_range_begin(const char *name);
void bottleneck_agent_range_begin(const char *name)
{
	begin(name, OP_HERE(), false);
}

EXPORT void bottleneck_agent_python_range_begin(const char *name);
void bottleneck_agent_python_range_begin(const char *name)
{
	begin(name, OP_HERE(), true);
}

EXPORT void bottleneck_agent_range_end(void);
void bottleneck_agent_range_end(void)
{
	struct op_thread *t = enter();

	if (!t)
		return;
	op_end_in(t, OWNER_RANGE);
	op_leave(t);
}

EXPORT uint64_t bottleneck_agent_range_start(const char *name);
uint64_t bottleneck_agent_range_start(const char *name)
{
	return start_range(name, OP_HERE(), false);
}

EXPORT uint64_t bottleneck_agent_python_range_start(const char *name);
uint64_t bottleneck_agent_python_range_start(const char *name)
{
	return start_range(name, OP_HERE(), true);
}

EXPORT void bottleneck_agent_range_end_id(uint64_t number);
void bottleneck_agent_range_end_id(uint64_t number)
{
	struct op_thread *t = enter();
	struct op_range range;

	if (!t)
		return;
	if (ranges_take(&ranges, number, t, &range))
		op_range_end(t, range);
	op_leave(t);
}

EXPORT void bottleneck_agent_mark_step(void);
void bottleneck_agent_mark_step(void)
{
	begin_step(OP_HERE(), false);
}

EXPORT void bottleneck_agent_python_mark_step(void);
void bottleneck_agent_python_mark_step(void)
{
	begin_step(OP_HERE(), true);
}

EXPORT void bottleneck_agent_start(void);
void bottleneck_agent_start(void)
{
	change_gate(OP_API_START, false, OP_HERE(), false);
}

EXPORT void bottleneck_agent_python_start(void);
void bottleneck_agent_python_start(void)
{
	change_gate(OP_API_START, false, OP_HERE(), true);
}

EXPORT void bottleneck_agent_stop(void);
void bottleneck_agent_stop(void)
{
	change_gate(OP_API_STOP, true, OP_HERE(), false);
}

EXPORT void bottleneck_agent_python_stop(void);
void bottleneck_agent_python_stop(void)
{
	change_gate(OP_API_STOP, true, OP_HERE(), true);
}

// All comes by the program's own calls.
const struct agent_provider api_provider = { 0 };
