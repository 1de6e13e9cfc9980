// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_foreign.h"

#include "base/clock.h"
#include "tracer/agent/python/await_asyncio.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/python_api.h"

#include <errno.h>
#include <string.h>

#define ARGUMENTS 8 // of what is wrapped: asyncio's own calls have three
#define DELAY_MAX 1e6
#define DUE       1 // in the pair of a callback and the moment when it is due

static py_object abstract_loop; // asyncio's
static py_object soon, later;   // the loop's own methods; NULL: none was found
static py_object set_result;    // what asyncio.sleep() asks for

static py_object call_method(py_object function, py_object self, py_object const *arguments,
                             intptr_t count, py_object names)
{
	py_object bound = python_api.PyMethod_New(function, self);
	py_object result =
		bound ? python_api.PyObject_Vectorcall(bound, arguments, (size_t)count, names)
		      : NULL;

	await_drop(bound);
	return result;
}

static intptr_t count_all(intptr_t count, py_object names)
{
	return count + (names ? (intptr_t)python_api_word(names, 0) : 0);
}

// FUNCTION, with OURS in the place of argument AT. It takes the reference.
static py_object call_wrapped(py_object function, py_object self, py_object const *arguments,
                              intptr_t count, py_object names, intptr_t at, py_object ours)
{
	py_object all[ARGUMENTS];

	memcpy(all, arguments, (size_t)count_all(count, names) * sizeof(*all));
	all[at] = ours;
	py_object result = call_method(function, self, all, count, names);
	await_drop(ours);
	return result;
}

// A step of a task, which is SELF.
static py_object on_step(py_object self, py_object const *arguments, intptr_t count,
                         py_object names)
{
	return await_asyncio_run(self, 0, arguments, count, names);
}

// Loop.call_soon(callback, *args, context=None)
static py_object on_soon(py_object self, py_object const *arguments, intptr_t count,
                         py_object names)
{
	static struct python_method method = { "step", (void *)on_step,
		                               PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL };
	int error = errno;
	py_object ours = NULL;

	if (count && count_all(count, names) <= ARGUMENTS &&
	    await_asyncio_scheduled(arguments[0])) {
		ours = python_api.PyCFunction_NewEx(&method, arguments[0], NULL);
		if (!ours)
			python_api.PyErr_Clear();
	}
	errno = error;
	return ours ? call_wrapped(soon, self, arguments, count, names, 0, ours)
	            : call_method(soon, self, arguments, count, names);
}

// SELF is a pair: what sets a result, and when it was to do so.
static py_object on_timer(py_object self, py_object const *arguments, intptr_t count,
                          py_object names)
{
	double due = python_api.PyFloat_AsDouble(python_api.PyTuple_GetItem(self, DUE));

	return await_asyncio_run(python_api.PyTuple_GetItem(self, 0), (uint64_t)due, arguments,
	                         count, names);
}

// A new reference; NULL: the delay is no number, or there is no memory.
static py_object wrap_timer(py_object delay, py_object callback)
{
	static struct python_method method = { "timer", (void *)on_timer,
		                               PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL };
	double seconds = python_api.PyFloat_AsDouble(delay);
	bool known = seconds >= 0 && seconds < DELAY_MAX;
	py_object due = known ? python_api.PyFloat_FromDouble((double)clock_now_ns() +
	                                                      seconds * (double)NS_PER_SEC)
	                      : NULL;
	py_object pair = due ? python_api.PyTuple_Pack(2, callback, due) : NULL;
	py_object ours = pair ? python_api.PyCFunction_NewEx(&method, pair, NULL) : NULL;

	python_api.PyErr_Clear();
	await_drop(due);
	await_drop(pair);
	return ours;
}

// Loop.call_later(delay, callback, *args, context=None)
static py_object on_later(py_object self, py_object const *arguments, intptr_t count,
                          py_object names)
{
	int error = errno;
	bool sleeps =
		count >= 2 && count_all(count, names) <= ARGUMENTS && arguments[1] == set_result;
	py_object ours = sleeps ? wrap_timer(arguments[0], arguments[1]) : NULL;

	errno = error;
	return ours ? call_wrapped(later, self, arguments, count, names, 1, ours)
	            : call_method(later, self, arguments, count, names);
}

static bool put(py_object type, struct python_method *method)
{
	py_object ours = python_api.PyDescr_NewMethod(type, method);
	bool done = ours && python_api.PyObject_SetAttrString(type, method->name, ours) == 0;

	if (!done)
		python_api.PyErr_Clear();
	await_drop(ours);
	return done;
}

static bool is_python(py_object function)
{
	return python_api_type(function) == (py_object)python_api.PyFunction_Type;
}

// The first one counts. Loops whose methods are Python's own are asyncio's, or run handles of its.
static void look_at(py_object type)
{
	static struct python_method on_soon_method = { "call_soon", (void *)on_soon,
		                                       PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS,
		                                       NULL };
	static struct python_method on_later_method = { "call_later", (void *)on_later,
		                                        PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS,
		                                        NULL };
	py_object own_soon = soon ? NULL : await_attribute(type, "call_soon");
	py_object own_later = soon ? NULL : await_attribute(type, "call_later");

	if (!own_soon || !own_later || is_python(own_soon) || is_python(own_later)) {
		await_drop(own_soon);
		await_drop(own_later);
		return;
	}
	set_result =
		await_attribute(await_imported("asyncio.futures"), "_set_result_unless_cancelled");
	soon = own_soon;
	later = own_later;
	if (put(type, &on_soon_method))
		put(type, &on_later_method);
}

// AbstractEventLoop.__init_subclass__(): what comes after it in the order of TYPE's bases, as if it
// were not there.
static py_object on_subclass(py_object type, py_object const *arguments, intptr_t count,
                             py_object names)
{
	int error = errno;
	py_object next = python_api.PyObject_CallFunctionObjArgs((py_object)python_api.PySuper_Type,
	                                                         abstract_loop, type, NULL);
	py_object function =
		next ? python_api.PyObject_GetAttrString(next, "__init_subclass__") : NULL;

	errno = error;
	py_object result =
		function ? python_api.PyObject_Vectorcall(function, arguments, (size_t)count, names)
			 : NULL;
	await_drop(function);
	await_drop(next);
	if (result)
		look_at(type);
	return result;
}

static bool has_all(void)
{
	return python_api.PyObject_Vectorcall && python_api.PyMethod_New &&
	       python_api.PyDescr_NewClassMethod && python_api.PySuper_Type &&
	       python_api.PyTuple_Pack && python_api.PyTuple_GetItem &&
	       python_api.PyFloat_FromDouble;
}

void await_foreign_start(void)
{
	static struct python_method method = { "__init_subclass__", (void *)on_subclass,
		                               PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS, NULL };
	py_object known = await_attribute(await_imported("uvloop"), "Loop");

	abstract_loop = await_attribute(await_imported("asyncio.events"), "AbstractEventLoop");
	if (!has_all() || !abstract_loop) {
		await_drop(known);
		return;
	}
	py_object ours = python_api.PyDescr_NewClassMethod(abstract_loop, &method);
	if (!ours || python_api.PyObject_SetAttrString(abstract_loop, method.name, ours) < 0)
		python_api.PyErr_Clear();
	await_drop(ours);
	if (known)
		look_at(known);
	await_drop(known);
}

bool await_foreign_found(void)
{
	return soon != NULL;
}
