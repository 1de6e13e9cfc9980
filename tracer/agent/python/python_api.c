// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_api.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_await.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_calls.h"
#include "tracer/agent/python/python_events.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_names.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/python/python_threads.h"
#include "tracer/agent/python/python_trace.h"
#include "tracer/agent/sample/context.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POLL_FIRST_NS (NS_PER_SEC / 4) // of the main thread's CPU time
#define POLL_NS       NS_PER_SEC       // and then

enum stage {
	IDLE,
	ASKED, // the pending call is on its way
	READY,
	ENDED, // the interpreter is ending, or has
	OFF
};

struct python_api python_api;
const struct python_runtime *python_api_runtime;

static struct agent *agent;                  // NULL: nothing is collected
static int stage;                            // atomic: enum stage
static bool found;                           // all functions are there
static int polling;                          // atomic: a poll is on its way
static uint64_t poll_due_ns = POLL_FIRST_NS; // of the main thread's CPU clock

#define FUNCTION(name)                                                                             \
	{                                                                                          \
		offsetof(struct python_api, name), { #name }, false                                \
	}

#define OPTIONAL(name)                                                                             \
	{                                                                                          \
		offsetof(struct python_api, name), { #name }, true                                 \
	}

static const struct symbol {
	size_t offset;
	const char *names[3]; // the newest first
	bool optional;
} symbols[] = {
	FUNCTION(Py_AddPendingCall),
	FUNCTION(Py_IncRef),
	FUNCTION(Py_DecRef),
	FUNCTION(PyErr_Clear),
	FUNCTION(PyImport_ImportModule),
	FUNCTION(PyImport_GetModuleDict),
	FUNCTION(PySys_GetObject),
	FUNCTION(PyObject_GetAttrString),
	FUNCTION(PyObject_SetAttrString),
	FUNCTION(PyObject_CallFunctionObjArgs),
	FUNCTION(PyCFunction_NewEx),
	FUNCTION(PyDict_Next),
	FUNCTION(PyDict_GetItemString),
	FUNCTION(PyDict_DelItemString),
	FUNCTION(PyDict_Size),
	FUNCTION(PyDict_Copy),
	FUNCTION(PyModule_GetDict),
	FUNCTION(PyList_Size),
	FUNCTION(PyList_GetItem),
	FUNCTION(PyList_Append),
	FUNCTION(PyUnicode_AsUTF8AndSize),
	FUNCTION(PyLong_AsLong),
	FUNCTION(PyLong_FromLong),
	FUNCTION(PyType_IsSubtype),
	FUNCTION(Py_IsInitialized),
	FUNCTION(_Py_NoneStruct),
	FUNCTION(PyType_Type),
	FUNCTION(PyBaseObject_Type),
	FUNCTION(PyModule_Type),
	FUNCTION(PyDict_Type),
	FUNCTION(PyUnicode_Type),
	FUNCTION(PyCFunction_Type),
	FUNCTION(PyMethodDescr_Type),
	FUNCTION(PyClassMethodDescr_Type),
	FUNCTION(PyWrapperDescr_Type),
	FUNCTION(PyStaticMethod_Type),
	FUNCTION(PyUnicode_InternFromString),
	{ offsetof(struct python_api, PyCMethod_Type), { "PyCMethod_Type" }, true },
	{ offsetof(struct python_api, _PyType_Lookup), { "_PyType_Lookup" }, true },
	{ offsetof(struct python_api, PyType_GetDict), { "PyType_GetDict" }, true },
	{ offsetof(struct python_api, request_code_extra),
	  { "PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex" },
	  true },
	{ offsetof(struct python_api, get_code_extra),
	  { "PyUnstable_Code_GetExtra", "_PyCode_GetExtra" },
	  true },
	{ offsetof(struct python_api, set_code_extra),
	  { "PyUnstable_Code_SetExtra", "_PyCode_SetExtra" },
	  true },
	{ offsetof(struct python_api, PyEval_SetProfile), { "PyEval_SetProfile" }, true },
	{ offsetof(struct python_api, PyFrame_GetCode), { "PyFrame_GetCode" }, true },
	OPTIONAL(PyObject_GetAttr),
	OPTIONAL(PyDescr_NewMethod),
	{ offsetof(struct python_api, vectorcall),
	  { "PyObject_Vectorcall", "_PyFunction_Vectorcall" },
	  true },
	OPTIONAL(PyFrame_GetLineNumber),
	OPTIONAL(PyFloat_AsDouble),
	OPTIONAL(PySequence_List),
	OPTIONAL(PyObject_Size),
	OPTIONAL(PyErr_Fetch),
	OPTIONAL(PyErr_Restore),
	OPTIONAL(PyFunction_Type),
	OPTIONAL(PyMethod_Type),
	OPTIONAL(PyCoro_Type),
	OPTIONAL(PyGen_Type),
	OPTIONAL(PyObject_Vectorcall),
	OPTIONAL(PyMethod_New),
	OPTIONAL(PyDescr_NewClassMethod),
	OPTIONAL(PyTuple_Pack),
	OPTIONAL(PyTuple_GetItem),
	OPTIONAL(PyFloat_FromDouble),
	OPTIONAL(PySuper_Type),
	OPTIONAL(PyEval_GetFrame),
	OPTIONAL(PyCapsule_GetPointer),
	OPTIONAL(PyObject_Call),
	OPTIONAL(PySequence_SetItem),
	OPTIONAL(PySequence_Tuple),
};

static void *find(const struct symbol *symbol)
{
	void *address = NULL;

	for (size_t i = 0; !address && symbol->names[i]; i++)
		address = dlsym(python_api_runtime->object, symbol->names[i]);
	return address;
}

static bool find_all(void)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = find(&symbols[i]);
		if (!address && !symbols[i].optional)
			return false;
		memcpy((char *)&python_api + symbols[i].offset, &address, sizeof(address));
	}
	return true;
}

uintptr_t python_api_word(py_object o, unsigned word)
{
	size_t head = (size_t)python_api_runtime->layout.object_type + sizeof(uintptr_t);
	uintptr_t value;

	memcpy(&value, (const char *)o + head + word * sizeof(value), sizeof(value));
	return value;
}

py_object python_api_type(py_object o)
{
	py_object type;

	memcpy(&type, (const char *)o + python_api_runtime->layout.object_type, sizeof(type));
	return type;
}

const char *python_api_text(py_object text)
{
	const char *result = NULL;

	if (text && python_api_type(text) == (py_object)python_api.PyUnicode_Type)
		result = python_api.PyUnicode_AsUTF8AndSize(text, NULL);
	if (!result)
		python_api.PyErr_Clear();
	return result;
}

// PyTypeObject begins with a size.
const char *python_api_type_name(py_object type)
{
	return (const char *)python_api_word(type, 1);
}

// PyDescrObject begins with its type.
void python_api_method_name(char name[PYTHON_NAME_BYTES], py_object descriptor, const char *method)
{
	snprintf(name, PYTHON_NAME_BYTES, "{method '%s' of '%s' objects}", method,
	         python_api_type_name((py_object)python_api_word(descriptor, 0)));
}

static int stage_now(void)
{
	return __atomic_load_n(&stage, __ATOMIC_ACQUIRE);
}

static bool is_main_thread(void)
{
	return agent->pid == (uint32_t)syscall(SYS_gettid);
}

static bool is_on(void)
{
	return agent && agent->on && agent->pid == (uint32_t)getpid();
}

py_object python_api_none(void)
{
	python_api.Py_IncRef((py_object)python_api._Py_NoneStruct);
	return (py_object)python_api._Py_NoneStruct;
}

// Garbage collections.

static long generation_of(py_object info)
{
	py_object number = python_api.PyDict_GetItemString(info, "generation");
	long generation = number ? python_api.PyLong_AsLong(number) : 0;

	python_api.PyErr_Clear();
	return generation;
}

static __attribute__((noinline)) void collection(const char *phase, py_object info,
                                                 struct op_here here)
{
	bool begins = strcmp(phase, "start") == 0;
	uint64_t values[2] = { begins ? (uint64_t)generation_of(info) : 0 };
	struct op_details details = { OP_DETAIL_UNSIGNED, 1, values };
	struct op_thread *t = op_is_on(OP_PYTHON) ? op_enter() : NULL;

	if (!t)
		return;
	uint32_t name = op_name(t, OP_PYTHON, 0, "garbage collection");
	if (begins)
		python_callers_tell(t, &details, values);
	if (begins)
		op_begin_in(t, OP_OWNER(OP_PYTHON, 1), name, here, &details);
	else
		op_end_in(t, OP_OWNER(OP_PYTHON, 1));
	op_leave(t);
}

// callback(phase, info)
static py_object on_collection(py_object self, py_object const *arguments, intptr_t count)
{
	int error = errno;

	(void)self;
	if (count == 2 && is_on()) {
		const char *phase = python_api.PyUnicode_AsUTF8AndSize(arguments[0], NULL);
		if (phase)
			collection(phase, arguments[1], OP_HERE());
		else
			python_api.PyErr_Clear();
	}
	errno = error;
	return python_api_none();
}

// What the program has not imported it does not find imported.
static py_object import(const char *name, bool *is_new)
{
	py_object modules = python_api.PyImport_GetModuleDict();

	*is_new = !python_api.PyDict_GetItemString(modules, name);
	return python_api.PyImport_ImportModule(name);
}

static void unimport(py_object module, const char *name, bool is_new)
{
	if (module)
		python_api.Py_DecRef(module);
	if (is_new && python_api.PyDict_GetItemString(python_api.PyImport_GetModuleDict(), name))
		python_api.PyDict_DelItemString(python_api.PyImport_GetModuleDict(), name);
	python_api.PyErr_Clear();
}

static void watch_collections(void)
{
	static struct python_method method = { "bottleneck", (void *)on_collection,
		                               PYTHON_METHOD_FAST, NULL };
	bool is_new;
	py_object gc = import("gc", &is_new);
	py_object callbacks = gc ? python_api.PyObject_GetAttrString(gc, "callbacks") : NULL;
	py_object function = callbacks ? python_api.PyCFunction_NewEx(&method, NULL, NULL) : NULL;

	if (function)
		python_api.PyList_Append(callbacks, function);
	if (function)
		python_api.Py_DecRef(function);
	if (callbacks)
		python_api.Py_DecRef(callbacks);
	unimport(gc, "gc", is_new);
}

// The end.

static void finish(bool names)
{
	if (names)
		python_names_walk(agent, true);
	python_calls_tell(agent, true);
	python_await_tell(true);
}

static py_object at_exit(py_object self, py_object unused)
{
	int error = errno;

	(void)self, (void)unused;
	if (is_on() && is_main_thread()) {
		python_calls_check();
		python_trace_check();
		python_await_end();
		finish(true);
		__atomic_store_n(&stage, ENDED, __ATOMIC_RELEASE);
	}
	errno = error;
	return python_api_none();
}

static void register_exit(void)
{
	static struct python_method method = { "bottleneck", (void *)at_exit,
		                               PYTHON_METHOD_NO_ARGUMENTS, NULL };
	bool is_new;
	py_object atexit = import("atexit", &is_new);
	py_object add = atexit ? python_api.PyObject_GetAttrString(atexit, "register") : NULL;
	py_object function = add ? python_api.PyCFunction_NewEx(&method, NULL, NULL) : NULL;
	py_object result =
		function ? python_api.PyObject_CallFunctionObjArgs(add, function, NULL) : NULL;

	if (result)
		python_api.Py_DecRef(result);
	if (function)
		python_api.Py_DecRef(function);
	if (add)
		python_api.Py_DecRef(add);
	// Up to 3.9 the callbacks are the module's, and a second module would take their place.
	unimport(atexit, "atexit",
	         is_new && python_api_runtime->layout.version >= PYTHON_VERSION(10));
}

void python_api_exit(void)
{
	int error = errno;

	if (stage_now() == READY && is_on())
		finish(false);
	errno = error;
}

static void listen(void)
{
	bool counted = agent->config.count_calls && python_calls_start(agent);
	bool traced = python_trace_start(agent), told = python_events_start();

	if (agent->config.count_calls && !(counted && told))
		op_say("calls of Python functions are not counted: the interpreter does "
		       "not let us");
	if (traced && !told)
		op_say("functions of Python's are not traced: the interpreter does not "
		       "let us");
}

// In the main thread, under the GIL, between two bytecodes.
static int setup(void *unused)
{
	int error = errno;

	(void)unused;
	if (stage_now() < READY && is_on() && is_main_thread()) {
		register_exit();
		if (op_is_on(OP_PYTHON))
			watch_collections();
		listen();
		python_await_start(agent);
		python_await_look(NULL);
		__atomic_store_n(&stage, READY, __ATOMIC_RELEASE);
	}
	errno = error;
	return 0;
}

static int poll(void *unused)
{
	int error = errno;

	(void)unused;
	if (is_on() && is_main_thread()) {
		python_names_walk(agent, false);
		python_calls_tell(agent, false);
		python_await_look(NULL);
	}
	__atomic_store_n(&polling, 0, __ATOMIC_RELEASE);
	errno = error;
	return 0;
}

// A thread that has a state of its own has an interpreter that has begun.
static bool can_ask(void)
{
	struct guard guard = { 0 };

	python_api_runtime = python_known();
	if (!python_api_runtime || !python_threads_bound(python_api_runtime, &guard, agent->pid))
		return false;
	if (!found) {
		found = find_all();
		if (!found)
			__atomic_store_n(&stage, OFF, __ATOMIC_RELEASE);
	}
	return found;
}

static void ask(void)
{
	int idle = IDLE;

	if (!__atomic_compare_exchange_n(&stage, &idle, ASKED, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_RELAXED))
		return;
	if (python_api.Py_AddPendingCall(setup, NULL) < 0)
		__atomic_store_n(&stage, IDLE, __ATOMIC_RELEASE); // too many: later
}

// Another interpreter in the place of the one that has ended, which knows nothing of us. Counts of
// calls are the first one's.
static void begin_again(void)
{
	const struct python_runtime *r = python_api_runtime;

	if (stage_now() != ENDED || agent->config.count_calls || python_api.Py_IsInitialized() ||
	    guard_pointer(r->runtime, r->layout.runtime_finalizing))
		return;
	polling = 0;
	__atomic_store_n(&stage, IDLE, __ATOMIC_RELEASE);
}

bool python_api_ask(int (*function)(void *unused))
{
	return stage_now() == READY && is_on() && is_main_thread() &&
	       python_api.Py_AddPendingCall(function, NULL) == 0;
}

void python_api_look(void)
{
	int error = errno;

	if ((stage_now() == IDLE || stage_now() == ENDED) && is_on() && is_main_thread()) {
		begin_again();
		if (stage_now() == IDLE && can_ask())
			ask();
	}
	// It may have imported asyncio, in whichever thread. One call at a time: there is not room
	// for many.
	if (stage_now() == READY && is_on() && python_await_may_ask() &&
	    python_api.Py_AddPendingCall(python_await_look, NULL) < 0)
		python_await_unask();
	errno = error;
}

// Where the thread's own code is the interpreter's loop it holds none of the runtime's locks. 3.8
// complains about calls that are asked for while it ends.
static bool is_safe(const void *context)
{
	uintptr_t at = context_instruction(context);

	return python_api_runtime->layout.version > PYTHON_VERSION(8) &&
	       at >= python_api_runtime->eval_start && at < python_api_runtime->eval_end;
}

void python_api_tick(const struct lane *lane, const void *context, uint64_t cpu_ns)
{
	int idle = 0;

	if (!agent || lane->tid != agent->pid || cpu_ns < poll_due_ns || !found ||
	    !is_safe(context))
		return;
	if (stage_now() == IDLE)
		ask();
	if (stage_now() != READY ||
	    !__atomic_compare_exchange_n(&polling, &idle, 1, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_RELAXED))
		return;
	poll_due_ns = cpu_ns + POLL_NS;
	if (python_api.Py_AddPendingCall(poll, NULL) < 0)
		__atomic_store_n(&polling, 0, __ATOMIC_RELEASE);
}

void python_api_start(struct agent *a)
{
	if (a->config.python_hz || agent_tells(a))
		agent = a;
}

// A child has its parent's interpreter, and so what was set up in it.
void python_api_fork(void)
{
	polling = 0;
	poll_due_ns = POLL_FIRST_NS;
	if (stage == ASKED)
		stage = IDLE; // CPython may have dropped it
	python_calls_fork();
}
