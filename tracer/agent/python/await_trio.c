// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_trio.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_steps.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/stopwatch.h"

#include <errno.h>
#include <string.h>

#define OWN_FILES  "/trio/_core/"
#define LATE_S     60.0
#define SCOPES_MAX 64 // around a task that are asked for their deadlines
#define SELF       1  // word of a PyCFunctionObject

static const struct agent *agent;
static bool is_found;
static py_object reschedule, expire; // trio's own; NULL: it is not watched
static py_object detach_type;        // what a task yields that gives its coroutine away
static py_object task_type;
static intptr_t coroutine_slot, send_slot, name_slot; // in a Task

static uint32_t coroutine_of(py_object coroutine)
{
	uint32_t place = await_begin_of(coroutine);

	return place && strstr(await_sums_place(place)->file, OWN_FILES) ? 0 : place;
}

static const struct await_library trio = {
	.name = "trio",
	.number = 2,
	.coroutine_of = coroutine_of,
	.inner_of = await_inner_in,
	.chain_of = await_chain_in,
};

static py_object slot_of(py_object task, intptr_t slot)
{
	py_object value;

	memcpy(&value, (const char *)task + slot, sizeof(value));
	return value;
}

// Steps.

static bool is_done(py_object result)
{
	return !result || (detach_type && python_api_type(result) == detach_type);
}

// SEND is the coroutine's method.
static py_object run(struct await_loop *loop, struct await_step *step, py_object send,
                     py_object argument)
{
	py_object type = NULL, value = NULL, traceback = NULL;

	loop->step = step;
	py_object result = python_api.PyObject_CallFunctionObjArgs(send, argument, NULL);
	int error = errno;
	loop->step = step->outer;
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);
	if (!result)
		python_api.PyErr_Fetch(&type, &value, &traceback);
	if (step->task)
		await_steps_end(loop, step, is_done(result), now_ns);
	else if (now_ns - step->begin_ns >= AWAIT_LONG_NS)
		await_steps_end_callback(loop, step, await_begin_of(step->object), now_ns);
	await_steps_ran(loop, now_ns);
	if (!result)
		python_api.PyErr_Restore(type, value, traceback);
	errno = error;
	return result;
}

// task._next_send_fn(outcome), for one step. SELF is coro.send.
static py_object on_send(py_object self, py_object argument)
{
	int error = errno;
	struct await_loop *loop = agent->on ? await_steps_loop() : NULL;

	if (!loop)
		return python_api.PyObject_CallFunctionObjArgs(self, argument, NULL);
	struct await_step step = {
		.outer = loop->step,
		.library = &trio,
		.begin_ns = stopwatch_now_ns(&loop->watch),
		.object = (py_object)python_api_word(self, SELF),
	};
	await_steps_begin(loop, &step);
	if (!step.task) {
		step.due_ns = loop->woken_ns;
		loop->woken_ns = 0;
	}
	errno = error;
	return run(loop, &step, self, argument);
}

// When the deadline was that TASK is woken by.
static uint64_t due_by_deadline(const struct await_loop *loop, py_object task)
{
	py_object status = await_get(task, AWAIT_TEXT_CANCEL_STATUS);
	double late = 0;

	for (int i = 0; i < SCOPES_MAX && status && !await_is_none(status); i++) {
		py_object scope = await_get(status, AWAIT_TEXT_SCOPE);
		py_object when = scope ? await_get(scope, AWAIT_TEXT_DEADLINE) : NULL;
		double deadline = when ? python_api.PyFloat_AsDouble(when) : loop->deadline + 1;
		python_api.PyErr_Clear();
		await_drop(when);
		await_drop(scope);
		if (deadline <= loop->deadline) {
			late = loop->deadline - deadline;
			break;
		}
		py_object parent = await_get(status, AWAIT_TEXT_PARENT);
		await_drop(status);
		status = parent;
	}
	await_drop(status);
	return late < LATE_S ? loop->deadline_ns - (uint64_t)(late * (double)NS_PER_SEC) : 0;
}

static uint64_t due_of(const struct await_loop *loop, py_object task)
{
	if (!loop)
		return 0;
	if (loop->deadline_ns)
		return due_by_deadline(loop, task);
	if (loop->step && loop->step->library == &trio)
		return loop->step->due_ns;
	return await_steps_due_after_long(loop);
}

// TASK has been scheduled.
static void watch_step(py_object task, bool is_first)
{
	static struct python_method method = { "send", (void *)on_send, PYTHON_METHOD_ONE, NULL };
	py_object coroutine = slot_of(task, coroutine_slot);
	py_object send = slot_of(task, send_slot);
	struct await_loop *loop = await_own_loop;

	if (!coroutine || !send ||
	    python_api_type(send) != (py_object)python_api.PyCFunction_Type ||
	    (py_object)python_api_word(send, SELF) != coroutine)
		return;
	uint64_t due_ns = due_of(loop, task);
	if (await_steps_scheduled(&trio, coroutine, due_ns, is_first))
		await_steps_name(coroutine, python_api_text(slot_of(task, name_slot)));
	else if (loop && due_ns)
		loop->woken_ns = due_ns;
	py_object ours = python_api.PyCFunction_NewEx(&method, send, NULL);
	if (!ours) {
		python_api.PyErr_Clear();
		return;
	}
	memcpy((char *)task + send_slot, &ours, sizeof(ours));
	await_drop(send);
}

// Runner.reschedule(task, next_send)
static py_object on_reschedule(py_object self, py_object const *arguments, intptr_t count,
                               py_object names)
{
	py_object result = await_call_own(reschedule, self, arguments, count, names);
	int error = errno;

	if (result && agent->on && count && python_api_type(arguments[0]) == task_type)
		watch_step(arguments[0], count > 1 && await_is_none(arguments[1]));
	errno = error;
	return result;
}

// Deadlines.expire(now)
static py_object on_expire(py_object self, py_object const *arguments, intptr_t count,
                           py_object names)
{
	int error = errno;
	struct await_loop *loop = agent->on && count ? await_own_loop : NULL;

	if (loop) {
		loop->deadline = python_api.PyFloat_AsDouble(arguments[0]);
		loop->deadline_ns = stopwatch_now_ns(&loop->watch);
		python_api.PyErr_Clear();
	}
	errno = error;
	py_object result = await_call_own(expire, self, arguments, count, names);
	if (loop)
		loop->deadline_ns = 0;
	return result;
}

// The beginning.

static bool watch(py_object module)
{
	static struct python_method on_reschedule_method = { "reschedule", (void *)on_reschedule,
		                                             PYTHON_METHOD_FAST |
		                                                     PYTHON_METHOD_KEYWORDS,
		                                             NULL };
	static struct python_method on_expire_method = {
		"expire", (void *)on_expire, PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL
	};
	py_object runner = await_attribute(module, "Runner");
	py_object deadlines = await_attribute(module, "Deadlines");

	task_type = await_attribute(module, "Task");
	coroutine_slot = task_type ? await_slot_of(task_type, AWAIT_TEXT_TRIO_CORO) : 0;
	send_slot = task_type ? await_slot_of(task_type, AWAIT_TEXT_NEXT_SEND) : 0;
	name_slot = task_type ? await_slot_of(task_type, AWAIT_TEXT_NAME) : 0;
	// What our methods call is there before they are.
	py_object own_expire = await_attribute(deadlines, on_expire_method.name);
	py_object own_reschedule = await_attribute(runner, on_reschedule_method.name);
	bool known = coroutine_slot && send_slot && name_slot && own_expire && own_reschedule;
	if (known) {
		expire = own_expire;
		reschedule = own_reschedule;
		known = await_replace(deadlines, &on_expire_method) &&
		        await_replace(runner, &on_reschedule_method);
	}
	detach_type = await_attribute(module, "PermanentlyDetachCoroutineObject");
	await_drop(runner);
	await_drop(deadlines);
	return known;
}

bool await_trio_find(struct agent *a)
{
	py_object module = await_imported("trio._core._run");
	py_object last = await_attribute(module, "unrolled_run"); // of it that we need

	if (!last)
		return false;
	await_drop(last);
	agent = a;
	is_found = true;
	if (!await_may_watch() || !await_steps_start(a) || !await_objects_start() ||
	    !watch(module)) {
		reschedule = NULL;
		op_say("tasks of trio are not seen: this interpreter has no GIL, or this version "
		       "of trio is not known");
	}
	return true;
}

bool await_trio_found(void)
{
	return is_found;
}

void await_trio_end(void)
{
	// Nothing waits: trio.run() ends when all of its tasks have.
}
