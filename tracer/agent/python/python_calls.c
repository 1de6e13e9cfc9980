// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_calls.h"

#include "base/clock.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define COUNTERS_MAX  ((uint32_t)1 << 20)
#define WAIT_NS       (200 * NS_PER_MS) // for room in the ring, at the end
#define RECORD_ROOM   ((size_t)1 << 10) // python_code_number() sees to its own
#define TRACE_CALL    0                 // PyTrace_CALL
#define TOOLS         4                 // sys.monitoring: the last number that is free for all
#define BUILTIN_TOOLS 2                 // and the one that profilers take

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
static bool lacking;      // there was no counter for somebody
static py_object watcher; // our profile function, as the program sees it

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

static const char *text_at(py_object code, int32_t offset)
{
	py_object text;
	memcpy(&text, (const char *)code + offset, sizeof(text));
	const char *utf8 = python_api.PyUnicode_AsUTF8AndSize(text, NULL);

	if (!utf8)
		python_api.PyErr_Clear();
	return utf8 ? utf8 : "";
}

// Before the first thread is started by it, the module learns who counts in its threads.
static void watch_threads(py_object code)
{
	const struct python_layout *l = &python_api_runtime->layout;
	const char *file = text_at(code, l->code_file);
	size_t length = strlen(file);
	py_object threading;

	if (length < 13 || strcmp(file + length - 13, "/threading.py") != 0)
		return;
	threading =
		python_api.PyDict_GetItemString(python_api.PyImport_GetModuleDict(), "threading");
	if (threading && python_api.PyObject_SetAttrString(threading, "_profile_hook", watcher) < 0)
		python_api.PyErr_Clear();
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
	if (watcher)
		watch_threads(code);
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

static py_object none(void)
{
	python_api.Py_IncRef((py_object)python_api._Py_NoneStruct);
	return (py_object)python_api._Py_NoneStruct;
}

// From 3.12 on: callback(code, offset)
static py_object on_start(py_object self, py_object const *arguments, intptr_t argument_count)
{
	(void)self;
	if (argument_count >= 1)
		count_call(arguments[0]);
	return none();
}

static py_object call_method(py_object of, const char *name, py_object a, py_object b, py_object c)
{
	py_object method = python_api.PyObject_GetAttrString(of, name);
	py_object result =
		method ? python_api.PyObject_CallFunctionObjArgs(method, a, b, c, NULL) : NULL;

	if (method)
		python_api.Py_DecRef(method);
	if (!result)
		python_api.PyErr_Clear();
	return result;
}

static bool call(py_object of, const char *name, py_object a, py_object b, py_object c)
{
	py_object result = call_method(of, name, a, b, c);

	if (result)
		python_api.Py_DecRef(result);
	return result != NULL;
}

static long event_of(py_object events, const char *name)
{
	py_object number = python_api.PyObject_GetAttrString(events, name);
	long event = number ? python_api.PyLong_AsLong(number) : 0;

	if (number)
		python_api.Py_DecRef(number);
	python_api.PyErr_Clear();
	return event;
}

static bool watch_event(py_object monitoring, py_object tool, long event)
{
	static struct python_method method = { "bottleneck", (void *)on_start, PYTHON_METHOD_FAST,
		                               NULL };
	py_object function = python_api.PyCFunction_NewEx(&method, NULL, NULL);
	py_object number = python_api.PyLong_FromLong(event);
	bool done =
		function && number && call(monitoring, "register_callback", tool, number, function);

	if (function)
		python_api.Py_DecRef(function);
	if (number)
		python_api.Py_DecRef(number);
	return done;
}

static bool watch_events(py_object monitoring, py_object tool)
{
	static const char *const names[] = { "PY_START", "PY_RESUME", "PY_THROW" };
	py_object events = python_api.PyObject_GetAttrString(monitoring, "events");
	long all = 0;
	bool done = events != NULL;

	for (size_t i = 0; done && i < sizeof(names) / sizeof(names[0]); i++) {
		long event = event_of(events, names[i]);
		done = event && watch_event(monitoring, tool, event);
		all |= event;
	}
	py_object mask = done ? python_api.PyLong_FromLong(all) : NULL;
	done = mask && call(monitoring, "set_events", tool, mask, NULL);
	if (mask)
		python_api.Py_DecRef(mask);
	if (events)
		python_api.Py_DecRef(events);
	return done;
}

// The first number of a tool that nobody has; those that have a purpose stay free.
static py_object take_tool(py_object monitoring)
{
	static struct python_method method = { "bottleneck", (void *)on_start, PYTHON_METHOD_FAST,
		                               NULL };
	py_object name = python_api.PyCFunction_NewEx(&method, NULL, NULL);
	py_object text = name ? python_api.PyObject_GetAttrString(name, "__name__") : NULL;
	py_object tool = NULL;

	for (long number = TOOLS; text && !tool && number > BUILTIN_TOOLS; number--) {
		tool = python_api.PyLong_FromLong(number);
		if (tool && !call(monitoring, "use_tool_id", tool, text, NULL)) {
			python_api.Py_DecRef(tool);
			tool = NULL;
		}
	}
	if (text)
		python_api.Py_DecRef(text);
	if (name)
		python_api.Py_DecRef(name);
	return tool;
}

static bool monitor(void)
{
	py_object monitoring = python_api.PySys_GetObject("monitoring");
	py_object tool = monitoring ? take_tool(monitoring) : NULL;
	bool done = tool && watch_events(monitoring, tool);

	if (tool)
		python_api.Py_DecRef(tool);
	return done;
}

// Up to 3.11: the profile function of a thread, in C.
static int on_trace(py_object self, py_object frame, int what, py_object argument)
{
	py_object code;

	(void)self, (void)argument;
	if (what != TRACE_CALL)
		return 0;
	if (python_api.PyFrame_GetCode) {
		code = python_api.PyFrame_GetCode(frame);
	} else {
		memcpy(&code, (const char *)frame + python_api_runtime->layout.frame_code,
		       sizeof(code));
		python_api.Py_IncRef(code);
	}
	count_call(code);
	python_api.Py_DecRef(code);
	return 0;
}

// The same for a thread that has just begun, in the form in which the program sets one:
// function(frame, event, argument). From then on it is the one in C.
static py_object on_first_trace(py_object self, py_object const *arguments, intptr_t argument_count)
{
	const char *event =
		argument_count == 3 ? python_api.PyUnicode_AsUTF8AndSize(arguments[1], NULL) : NULL;

	(void)self;
	if (event && strcmp(event, "call") == 0)
		on_trace(NULL, arguments[0], TRACE_CALL, NULL);
	python_api.PyErr_Clear();
	python_api.PyEval_SetProfile(on_trace, watcher);
	return none();
}

static bool trace(void)
{
	static struct python_method method = { "bottleneck", (void *)on_first_trace,
		                               PYTHON_METHOD_FAST, NULL };

	if (!python_api.PyEval_SetProfile ||
	    (!python_api.PyFrame_GetCode && python_api_runtime->layout.version > PYTHON_VERSION(8)))
		return false;
	watcher = python_api.PyCFunction_NewEx(&method, NULL, NULL);
	if (watcher)
		python_api.PyEval_SetProfile(on_trace, watcher);
	return watcher != NULL;
}

void python_calls_start(struct agent *a)
{
	bool done = python_api.request_code_extra && python_api.get_code_extra &&
	            python_api.set_code_extra;

	agent = a;
	if (done)
		extra_index = python_api.request_code_extra(drop);
	done = done && extra_index >= 0 &&
	       (python_api_runtime->layout.version >= PYTHON_VERSION(12) ? monitor() : trace());
	if (!done)
		python_api_note("calls of Python functions are not counted: the interpreter does "
		                "not let us");
}

void python_calls_check(void)
{
	py_object ask = watcher ? python_api.PySys_GetObject("getprofile") : NULL;
	py_object now = ask ? python_api.PyObject_CallFunctionObjArgs(ask, NULL) : NULL;

	if (!now) {
		python_api.PyErr_Clear();
		return;
	}
	lacking |= now != watcher;
	python_api.Py_DecRef(now);
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
