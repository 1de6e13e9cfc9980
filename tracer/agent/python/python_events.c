// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_events.h"

#include "tracer/agent/python/python_runtime.h"

#include <errno.h>
#include <string.h>

#define TRACE_CALL    0 // PyTrace_CALL
#define TRACE_RETURN  3 // PyTrace_RETURN: by an exception, too
#define TRACE_C_CALL  4 // PyTrace_C_CALL
#define TRACE_C_RAISE 5 // PyTrace_C_EXCEPTION
#define TRACE_C_END   6 // PyTrace_C_RETURN
#define TOOLS         4 // sys.monitoring: the last number that is free for all
#define BUILTIN_TOOLS 2 // and the one that profilers take
#define DEFINITION    0 // words behind the head of a PyCFunctionObject
#define DESCRIBED     3 // and of a PyMethodDescrObject

static const struct python_listener *listeners[PYTHON_LISTENERS_MAX];
static uint32_t listener_count;
static py_object watcher; // our profile function, as the program sees it
static py_object disable; // sys.monitoring.DISABLE
static py_object missing; // sys.monitoring.MISSING: no argument

const char *python_events_text(py_object code, int32_t offset)
{
	py_object text;
	memcpy(&text, (const char *)code + offset, sizeof(text));
	const char *utf8 = python_api.PyUnicode_AsUTF8AndSize(text, NULL);

	if (!utf8)
		python_api.PyErr_Clear();
	return utf8 ? utf8 : "";
}

// Before the first thread is started by it, the module learns who listens in its threads.
static void watch_threads(py_object code)
{
	const char *file = python_events_text(code, python_api_runtime->layout.code_file);
	size_t length = strlen(file);
	py_object threading;

	if (length < 13 || strcmp(file + length - 13, "/threading.py") != 0)
		return;
	threading =
		python_api.PyDict_GetItemString(python_api.PyImport_GetModuleDict(), "threading");
	if (threading && python_api.PyObject_SetAttrString(threading, "_profile_hook", watcher) < 0)
		python_api.PyErr_Clear();
}

void python_events_meet(py_object code)
{
	if (watcher)
		watch_threads(code);
}

static bool tell_begin(py_object code, struct op_here here)
{
	int error = errno;
	bool wanted = false;

	for (uint32_t i = 0; i < listener_count; i++)
		wanted |= listeners[i]->begins(code, here);
	errno = error;
	return wanted;
}

static bool tell_end(py_object code)
{
	int error = errno;
	bool wanted = false;

	for (uint32_t i = 0; i < listener_count; i++)
		wanted |= listeners[i]->ends && listeners[i]->ends(code);
	errno = error;
	return wanted;
}

static void tell_calls(py_object function)
{
	int error = errno;

	for (uint32_t i = 0; i < listener_count; i++)
		if (listeners[i]->calls)
			listeners[i]->calls(function);
	errno = error;
}

static void tell_returns(py_object function)
{
	int error = errno;

	for (uint32_t i = 0; i < listener_count; i++)
		if (listeners[i]->returns)
			listeners[i]->returns(function);
	errno = error;
}

static bool is_descriptor(py_object type)
{
	return type == (py_object)python_api.PyMethodDescr_Type;
}

const struct python_method *python_events_method(py_object function)
{
	unsigned word = is_descriptor(python_api_type(function)) ? DESCRIBED : DEFINITION;

	return (const struct python_method *)python_api_word(function, word);
}

// From 3.12 on: callback(code, offset, ...)

static py_object answer(bool wanted)
{
	if (wanted || !disable)
		return python_api_none();
	python_api.Py_IncRef(disable);
	return disable;
}

static py_object on_start(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	return count >= 1 ? answer(tell_begin(arguments[0], OP_HERE())) : python_api_none();
}

static py_object on_end(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	return count >= 1 ? answer(tell_end(arguments[0])) : python_api_none();
}

// Exceptions are told of whether they are wanted or not.
static py_object on_throw(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	if (count >= 1)
		tell_begin(arguments[0], OP_HERE());
	return python_api_none();
}

static py_object on_unwind(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	if (count >= 1)
		tell_end(arguments[0]);
	return python_api_none();
}

// The same functions as cProfile's: not classes, which are called, too.
static bool is_c_function(py_object function, py_object argument)
{
	py_object type = python_api_type(function);

	if (type == (py_object)python_api.PyCFunction_Type)
		return true;
	if (is_descriptor(type))
		return argument != missing;
	return type == (py_object)python_api.PyCMethod_Type;
}

// callback(code, offset, callable, first argument)
static py_object on_call(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	if (count >= 4 && is_c_function(arguments[2], arguments[3]))
		tell_calls(arguments[2]);
	return python_api_none();
}

static py_object on_c_end(py_object self, py_object const *arguments, intptr_t count)
{
	(void)self;
	if (count >= 4 && is_c_function(arguments[2], arguments[3]))
		tell_returns(arguments[2]);
	return python_api_none();
}

enum use {
	BEGIN,
	END,
	C_CALL,
	C_END, // comes with CALL, and cannot be asked for by itself
};

static struct monitored {
	const char *name;
	struct python_method method;
	enum use use;
} events[] = {
	{ "PY_START", { "bottleneck", (void *)on_start, PYTHON_METHOD_FAST, NULL }, BEGIN },
	{ "PY_RESUME", { "bottleneck", (void *)on_start, PYTHON_METHOD_FAST, NULL }, BEGIN },
	{ "PY_THROW", { "bottleneck", (void *)on_throw, PYTHON_METHOD_FAST, NULL }, BEGIN },
	{ "PY_RETURN", { "bottleneck", (void *)on_end, PYTHON_METHOD_FAST, NULL }, END },
	{ "PY_YIELD", { "bottleneck", (void *)on_end, PYTHON_METHOD_FAST, NULL }, END },
	{ "PY_UNWIND", { "bottleneck", (void *)on_unwind, PYTHON_METHOD_FAST, NULL }, END },
	{ "CALL", { "bottleneck", (void *)on_call, PYTHON_METHOD_FAST, NULL }, C_CALL },
	{ "C_RETURN", { "bottleneck", (void *)on_c_end, PYTHON_METHOD_FAST, NULL }, C_END },
	{ "C_RAISE", { "bottleneck", (void *)on_c_end, PYTHON_METHOD_FAST, NULL }, C_END },
};

static bool is_wanted(enum use use)
{
	for (uint32_t i = 0; i < listener_count; i++)
		if (use == BEGIN || (use == END && listeners[i]->ends) ||
		    (use > END && listeners[i]->calls))
			return true;
	return false;
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

static long event_of(py_object names, const char *name)
{
	py_object number = python_api.PyObject_GetAttrString(names, name);
	long event = number ? python_api.PyLong_AsLong(number) : 0;

	if (number)
		python_api.Py_DecRef(number);
	python_api.PyErr_Clear();
	return event;
}

static bool watch_event(py_object monitoring, py_object tool, struct python_method *method,
                        long event)
{
	py_object function = python_api.PyCFunction_NewEx(method, NULL, NULL);
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
	py_object names = python_api.PyObject_GetAttrString(monitoring, "events");
	bool done = names != NULL;
	long all = 0;

	for (size_t i = 0; done && i < sizeof(events) / sizeof(events[0]); i++) {
		if (!is_wanted(events[i].use))
			continue;
		long event = event_of(names, events[i].name);
		done = event && watch_event(monitoring, tool, &events[i].method, event);
		all |= events[i].use == C_END ? 0 : event;
	}
	py_object mask = done ? python_api.PyLong_FromLong(all) : NULL;
	done = mask && call(monitoring, "set_events", tool, mask, NULL);
	if (mask)
		python_api.Py_DecRef(mask);
	if (names)
		python_api.Py_DecRef(names);
	return done;
}

// The first number of a tool that nobody has; those that have a purpose stay free.
static py_object take_tool(py_object monitoring)
{
	py_object name = python_api.PyCFunction_NewEx(&events[0].method, NULL, NULL);
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

	if (tool)
		disable = python_api.PyObject_GetAttrString(monitoring, "DISABLE");
	if (tool)
		missing = python_api.PyObject_GetAttrString(monitoring, "MISSING");
	if (tool && (!disable || !missing))
		python_api.PyErr_Clear();
	bool done = tool && watch_events(monitoring, tool);
	if (tool)
		python_api.Py_DecRef(tool);
	return done;
}

// Up to 3.11: the profile function of a thread, in C.
static int on_trace(py_object self, py_object frame, int what, py_object argument)
{
	py_object code;

	(void)self;
	if (what == TRACE_C_CALL)
		tell_calls(argument);
	else if (what == TRACE_C_END || what == TRACE_C_RAISE)
		tell_returns(argument);
	if (what != TRACE_CALL && what != TRACE_RETURN)
		return 0;
	if (python_api.PyFrame_GetCode) {
		code = python_api.PyFrame_GetCode(frame);
	} else {
		memcpy(&code, (const char *)frame + python_api_runtime->layout.frame_code,
		       sizeof(code));
		python_api.Py_IncRef(code);
	}
	if (what == TRACE_CALL)
		tell_begin(code, OP_HERE());
	else
		tell_end(code);
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
	return python_api_none();
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

void python_events_add(const struct python_listener *listener)
{
	if (listener_count < PYTHON_LISTENERS_MAX)
		listeners[listener_count++] = listener;
}

bool python_events_start(void)
{
	if (!listener_count)
		return true;
	return python_api_runtime->layout.version >= PYTHON_VERSION(12) ? monitor() : trace();
}

bool python_events_lost(void)
{
	py_object ask = watcher ? python_api.PySys_GetObject("getprofile") : NULL;
	py_object now = ask ? python_api.PyObject_CallFunctionObjArgs(ask, NULL) : NULL;

	if (!now) {
		python_api.PyErr_Clear();
		return false;
	}
	python_api.Py_DecRef(now);
	return now != watcher;
}
