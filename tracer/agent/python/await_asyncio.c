// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_asyncio.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/await_foreign.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_steps.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/stopwatch.h"

#include <errno.h>
#include <string.h>

#define LATE_NS (60 * NS_PER_SEC)

static const struct agent *agent;
static bool loops_watched; // their methods are ours

static py_object handle_run, call_soon, process_events; // asyncio's own
static py_object timer_type;
static intptr_t callback_offset; // in a Handle; 0: unknown

static const struct await_library asyncio = {
	.name = "asyncio",
	.number = 0,
	.coroutine_of = await_coroutine_of,
	.inner_of = await_inner_of,
	.name_of = await_name_of,
	.chain_of = await_chain_of,
};

// asyncio's tasks, on a loop in C.
static struct await_library foreign;

// When a timer was to run; 0: it is none, or its loop has another clock.
static uint64_t due_of(py_object handle, uint64_t now_ns)
{
	if (python_api_type(handle) != timer_type)
		return 0;
	py_object when = await_get(handle, AWAIT_TEXT_WHEN);
	double due = when ? python_api.PyFloat_AsDouble(when) : 0;
	python_api.PyErr_Clear();
	await_drop(when);
	uint64_t due_ns = due > 0 && due < 1e9 ? (uint64_t)(due * 1e9) : 0;
	return due_ns <= now_ns && now_ns - due_ns < LATE_NS ? due_ns : 0;
}

static bool is_done(const struct await_step *step)
{
	return step->task && !await_steps_is_ready(step) && !await_is_pending(step->object);
}

static void end_run(struct await_loop *loop, const struct await_step *step, py_object callback)
{
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);

	if (step->object)
		await_steps_end(loop, step, is_done(step), now_ns);
	else if (now_ns - step->begin_ns >= AWAIT_LONG_NS && callback && !await_is_none(callback))
		await_steps_end_callback(loop, step, await_callback_of(callback), now_ns);
	await_steps_ran(loop, now_ns);
}

static void watch_loops(void);

// Since when a callback could have run; 0: unknown.
static uint64_t callback_due(struct await_loop *loop, py_object handle, uint64_t now_ns)
{
	if (loop->others-- > 0)
		return due_of(handle, now_ns);
	if (loop->descriptors > 0) {
		loop->descriptors--;
		return loop->due_ns;
	}
	return due_of(handle, now_ns);
}

static py_object callback_in(py_object handle)
{
	py_object callback;

	if (!callback_offset)
		return await_get(handle, AWAIT_TEXT_CALLBACK);
	memcpy(&callback, (const char *)handle + callback_offset, sizeof(callback));
	if (callback)
		python_api.Py_IncRef(callback);
	return callback;
}

// What a step calls.
struct called {
	python_call *call;
	py_object function;
	py_object const *arguments;
	size_t count;
	py_object names;
};

// It takes the references of STEP's task and of CALLBACK.
static py_object run(struct await_loop *loop, struct await_step *step, py_object callback,
                     const struct called *called)
{
	py_object type = NULL, value = NULL, traceback = NULL;

	loop->step = step;
	py_object result =
		called->call(called->function, called->arguments, called->count, called->names);
	int error = errno;
	loop->step = step->outer;
	if (!result)
		python_api.PyErr_Fetch(&type, &value, &traceback);
	end_run(loop, step, callback);
	await_drop(step->object);
	await_drop(callback);
	if (!result)
		python_api.PyErr_Restore(type, value, traceback);
	errno = error;
	return result;
}

// Handle._run()
static py_object on_run(py_object self, py_object unused)
{
	int error = errno;
	struct await_loop *loop = agent->on ? await_steps_loop() : NULL;

	(void)unused;
	if (!loop)
		return python_api.vectorcall(handle_run, &self, 1, NULL);
	if (!loops_watched)
		watch_loops();
	py_object callback = callback_in(self);
	struct await_step step = {
		.outer = loop->step,
		.library = &asyncio,
		.begin_ns = stopwatch_now_ns(&loop->watch),
		.object = callback ? await_task_of(callback) : NULL,
	};
	if (step.object) {
		loop->others--;
		await_steps_begin(loop, &step);
	} else {
		step.due_ns = callback_due(loop, self, step.begin_ns);
	}
	errno = error;
	return run(loop, &step, callback,
	           &(struct called){ python_api.vectorcall, handle_run, &self, 1, NULL });
}

py_object await_asyncio_run(py_object callback, uint64_t due_ns, py_object const *arguments,
                            intptr_t count, py_object names)
{
	const struct called called = { python_api.PyObject_Vectorcall, callback, arguments,
		                       (size_t)count, names };
	int error = errno;
	struct await_loop *loop = agent->on ? await_steps_loop() : NULL;

	if (!loop)
		return called.call(callback, arguments, (size_t)count, names);
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);
	struct await_step step = {
		.outer = loop->step,
		.library = &foreign,
		.begin_ns = now_ns,
		.due_ns = due_ns <= now_ns ? due_ns : now_ns,
		.object = await_task_of(callback),
	};
	if (step.object)
		await_steps_begin(loop, &step);
	python_api.Py_IncRef(callback);
	errno = error;
	return run(loop, &step, callback, &called);
}

static uint64_t due_of_step(void)
{
	return await_own_loop && await_own_loop->step ? await_own_loop->step->due_ns : 0;
}

// False: CALLBACK is no step of a task.
static bool scheduled(const struct await_library *library, py_object callback, uint64_t due_ns)
{
	py_object object = await_task_of(callback);

	if (!object)
		return false;
	await_steps_scheduled(library, object, due_ns, await_can_be_first(callback));
	await_drop(object);
	return true;
}

bool await_asyncio_scheduled(py_object callback)
{
	if (!agent->on)
		return false;
	return scheduled(&foreign, callback,
	                 await_own_loop && !await_own_loop->step
	                         ? await_steps_due_after_long(await_own_loop)
	                         : due_of_step());
}

// BaseEventLoop._call_soon(callback, args, context)
static py_object on_soon(py_object self, py_object const *arguments, intptr_t count,
                         py_object names)
{
	int error = errno;

	if (agent->on && count)
		scheduled(&asyncio, arguments[0], due_of_step());
	errno = error;
	return await_call_own(call_soon, self, arguments, count, names);
}

// How many steps wait in a loop; -1: unknown.
static int64_t count_ready(py_object loop)
{
	py_object ready = await_get(loop, AWAIT_TEXT_READY);
	int64_t count = ready ? python_api.PyObject_Size(ready) : -1;

	if (ready && count < 0)
		python_api.PyErr_Clear();
	await_drop(ready);
	return count;
}

// When a descriptor became ready while the loop did not look is not known: it is taken to be in
// the middle of that time.
static bool finds_late(struct await_loop *loop, py_object events, uint64_t now_ns)
{
	uint64_t from_ns = loop->looked_ns, to_ns = loop->end_ns;

	loop->looked_ns = now_ns;
	loop->descriptors = 0;
	if (!from_ns || to_ns < from_ns + AWAIT_LONG_NS || now_ns > to_ns + AWAIT_LOOK_NS)
		return false;
	loop->due_ns = from_ns + (to_ns - from_ns) / 2;
	if (python_api.PyList_Size(events) > 0)
		return true;
	python_api.PyErr_Clear();
	return false;
}

// BaseSelectorEventLoop._process_events(event_list)
static py_object on_events(py_object self, py_object const *arguments, intptr_t count,
                           py_object names)
{
	int error = errno;
	struct await_loop *loop = agent->on ? await_own_loop : NULL;
	bool late = loop && count && finds_late(loop, arguments[0], stopwatch_now_ns(&loop->watch));
	int64_t before = late ? count_ready(self) : 0;

	errno = error;
	py_object result = await_call_own(process_events, self, arguments, count, names);
	if (late && result && before >= 0) {
		error = errno;
		loop->others = before;
		loop->descriptors = count_ready(self) - before;
		errno = error;
	}
	return result;
}

// The beginning.

// What calls ours calls *OLD in the end, which is there before.
static void watch_method(const char *module, const char *name, struct python_method *method,
                         py_object *old)
{
	py_object type = await_attribute(await_imported(module), name);

	*old = await_attribute(type, method->name);
	if (type && *old)
		await_drop(await_replace(type, method));
	await_drop(type);
}

// The classes are there only when asyncio is complete, as it is when a loop runs.
static void watch_loops(void)
{
	static struct python_method soon = { "_call_soon", (void *)on_soon,
		                             PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL };
	static struct python_method events = { "_process_events", (void *)on_events,
		                               PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL };

	loops_watched = true;
	watch_method("asyncio.base_events", "BaseEventLoop", &soon, &call_soon);
	watch_method("asyncio.selector_events", "BaseSelectorEventLoop", &events, &process_events);
}

static bool watch_handles(py_object type)
{
	static struct python_method method = { "_run", (void *)on_run, PYTHON_METHOD_NO_ARGUMENTS,
		                               NULL };
	py_object events = await_imported("asyncio.events");

	timer_type = await_attribute(events, "TimerHandle");
	handle_run = await_attribute(type, method.name);
	callback_offset = await_slot_of(type, AWAIT_TEXT_CALLBACK);
	if (!timer_type || !handle_run)
		return false;
	py_object old = await_replace(type, &method);
	await_drop(old);
	return old != NULL;
}

bool await_asyncio_find(struct agent *a)
{
	py_object type = await_attribute(await_imported("asyncio.events"), "Handle");

	if (!type)
		return false;
	agent = a;
	foreign = asyncio;
	foreign.name = "uvloop";
	foreign.number = 1;
	if (!await_may_watch() || !await_steps_start(a) || !await_objects_start() ||
	    !watch_handles(type))
		op_say("tasks of asyncio are not seen: this interpreter has no GIL, or not "
		       "what that takes");
	else
		await_foreign_start();
	await_drop(type);
	return true;
}

void await_asyncio_end(void)
{
	static const char *const names[] = { "_scheduled_tasks", "_all_tasks" };
	py_object tasks = await_imported("asyncio.tasks"), all = NULL;
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; !all && i < sizeof(names) / sizeof(names[0]); i++)
		all = await_attribute(tasks, names[i]);
	py_object list = all && handle_run ? python_api.PySequence_List(all) : NULL;
	if (!list)
		python_api.PyErr_Clear();
	for (intptr_t i = 0; list && i < python_api.PyList_Size(list); i++)
		await_steps_leave(&asyncio, python_api.PyList_GetItem(list, i), now_ns);
	await_drop(list);
	await_drop(all);
}
