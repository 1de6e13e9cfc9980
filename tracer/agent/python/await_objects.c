// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_objects.h"

#include "base/hash.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/python/python_events.h"
#include "tracer/agent/python/python_runtime.h"

#include <string.h>

#define FRAMES_MAX 64 // of a chain of awaits
#define OUTER_MAX  4  // of those that are kept where not all are
#define ARGUMENTS  8
#define SELF       1 // words of a PyCFunctionObject
#define MEMBER     3 // and of a PyMemberDescrObject
#define FUNCTION   0 // words of a PyMethodObject
#define RECEIVER   1

static uintptr_t step_types[2]; // callbacks of tasks, once they have been seen
static bool has_first_word;     // which is their task
static const struct python_method *wakeup_method;
static py_object pending; // the state of a task, once it has been seen

static const char *const text_of[AWAIT_TEXTS] = {
	"_callback", "_ready",    "__self__",      "_when",
	"_coro",     "_state",    "get_name",      "__qualname__",
	"__code__",  "func",      "cr_code",       "cr_frame",
	"cr_await",  "gi_code",   "gi_frame",      "gi_yieldfrom",
	"coro",      "name",      "_next_send_fn", "_cancel_status",
	"_scope",    "_deadline", "_parent",       "f_back",
	"f_code",    "run",       "_run",          "greenlet",
	"at",
};
static py_object texts[AWAIT_TEXTS];

bool await_objects_start(void)
{
	for (int i = 0; i < AWAIT_TEXTS; i++) {
		if (!texts[i])
			texts[i] = python_api.PyUnicode_InternFromString(text_of[i]);
		if (!texts[i]) {
			python_api.PyErr_Clear();
			return false;
		}
	}
	return true;
}

py_object await_get(py_object o, enum await_text name)
{
	py_object value = python_api.PyObject_GetAttr(o, texts[name]);

	if (!value)
		python_api.PyErr_Clear();
	return value;
}

py_object await_attribute(py_object of, const char *name)
{
	py_object value = of ? python_api.PyObject_GetAttrString(of, name) : NULL;

	if (!value)
		python_api.PyErr_Clear();
	return value;
}

py_object await_imported(const char *name)
{
	return python_api.PyDict_GetItemString(python_api.PyImport_GetModuleDict(), name);
}

bool await_may_watch(void)
{
	return !python_api_runtime->layout.free_threaded && python_api.PyObject_GetAttr &&
	       python_api.PyDescr_NewMethod && python_api.vectorcall &&
	       python_api.PyFrame_GetLineNumber && python_api.PyFloat_AsDouble &&
	       python_api.PySequence_List && python_api.PyErr_Fetch && python_api.PyObject_Size &&
	       python_api.PyErr_Restore && python_api.PyFunction_Type && python_api.PyMethod_Type &&
	       python_api.PyCoro_Type && python_api.PyGen_Type;
}

py_object await_replace(py_object type, struct python_method *method)
{
	py_object old = await_attribute(type, method->name);

	if (!old || python_api_type(old) != (py_object)python_api.PyFunction_Type) {
		await_drop(old);
		return NULL;
	}
	py_object ours = python_api.PyDescr_NewMethod(type, method);
	bool done = ours && python_api.PyObject_SetAttrString(type, method->name, ours) == 0;
	await_drop(ours);
	if (done)
		return old;
	python_api.PyErr_Clear();
	await_drop(old);
	return NULL;
}

py_object await_call_own(py_object function, py_object self, py_object const *arguments,
                         intptr_t count, py_object names)
{
	py_object all[1 + ARGUMENTS] = { self };
	intptr_t more = names ? (intptr_t)python_api_word(names, 0) : 0;

	// It has three at most: with more than that it only complains.
	if (count + more > ARGUMENTS)
		count = more = ARGUMENTS / 2;
	memcpy(all + 1, arguments, (size_t)(count + more) * sizeof(*arguments));
	return python_api.vectorcall(function, all, (size_t)count + 1, names);
}

// What they are called.

uint32_t await_line_of(py_object code, uint32_t line)
{
	const struct python_layout *l = &python_api_runtime->layout;
	uint32_t number = await_sums_find((uintptr_t)code, line, false);

	if (number)
		return number;
	python_api.Py_IncRef(code); // no other takes its address
	return await_sums_add_place((uintptr_t)code, line, false,
	                            python_events_text(code, l->code_name),
	                            python_events_text(code, l->code_file));
}

uint32_t await_nowhere(void)
{
	uint32_t number = await_sums_find(0, 0, false);

	return number ? number : await_sums_add_place(0, 0, false, "", "");
}

static uint32_t first_line(py_object code)
{
	int32_t line;

	memcpy(&line, (const char *)code + python_api_runtime->layout.code_first_line,
	       sizeof(line));
	return line > 0 ? (uint32_t)line : 0;
}

static bool is_builtin(py_object o)
{
	return python_api_type(o) == (py_object)python_api.PyCFunction_Type;
}

// OF, whose CODE it is: a coroutine, a generator, a function. It is named once. A function of C is
// known by its definition, which is not freed.
static uint32_t begin_of(py_object of, py_object code)
{
	const struct python_layout *l = &python_api_runtime->layout;
	py_object key = code ? code : python_api_type(of);
	uint32_t line = code ? first_line(code) : 0;
	if (is_builtin(of))
		key = (py_object)python_events_method(of);
	uint32_t number = await_sums_find((uintptr_t)key, line, true);

	if (number)
		return number;
	// What has neither may be of a class of the program's, whose code would run.
	py_object text = code || is_builtin(of) ? await_get(of, AWAIT_TEXT_QUALNAME) : NULL;
	const char *name = python_api_text(text);
	if (!name)
		name = code ? python_events_text(code, l->code_name)
		            : python_api_type_name(python_api_type(of));
	if (!is_builtin(of))
		python_api.Py_IncRef(key); // no other takes its address
	number = await_sums_add_place((uintptr_t)key, line, true, name,
	                              code ? python_events_text(code, l->code_file) : "");
	await_drop(text);
	return number;
}

static py_object code_of(py_object coroutine, bool *is_generator)
{
	py_object type = python_api_type(coroutine);

	*is_generator = type == (py_object)python_api.PyGen_Type;
	if (*is_generator)
		return await_get(coroutine, AWAIT_TEXT_GI_CODE);
	return type == (py_object)python_api.PyCoro_Type ? await_get(coroutine, AWAIT_TEXT_CR_CODE)
	                                                 : NULL;
}

uint32_t await_begin_of_code(py_object code)
{
	return begin_of(code, code);
}

uint32_t await_begin_of(py_object coroutine)
{
	bool is_generator;
	py_object code = code_of(coroutine, &is_generator);
	uint32_t number = begin_of(coroutine, code);

	await_drop(code);
	return number;
}

uint32_t await_coroutine_of(py_object task)
{
	py_object coroutine = await_get(task, AWAIT_TEXT_CORO);
	uint32_t number = coroutine ? await_begin_of(coroutine) : 0;

	await_drop(coroutine);
	return number;
}

uint32_t await_callback_of(py_object callback)
{
	py_object inner = NULL;
	uint32_t number;

	if (python_api_type(callback) == (py_object)python_api.PyMethod_Type)
		callback = (py_object)python_api_word(callback, FUNCTION);
	else if (python_api_type(callback) != (py_object)python_api.PyFunction_Type &&
	         strcmp(python_api_type_name(python_api_type(callback)), "functools.partial") == 0)
		inner = await_get(callback, AWAIT_TEXT_FUNC);
	if (inner)
		callback = inner;
	bool is_function = python_api_type(callback) == (py_object)python_api.PyFunction_Type;
	py_object code = is_function ? await_get(callback, AWAIT_TEXT_CODE) : NULL;
	number = begin_of(callback, code);
	await_drop(code);
	await_drop(inner);
	return number;
}

// Whose steps callbacks are.

static bool is_named_like(const char *name, const char *part)
{
	return name && strstr(name, part);
}

static bool is_method_named(py_object method, const char *part)
{
	py_object function = (py_object)python_api_word(method, FUNCTION);
	const char *type =
		python_api_type_name(python_api_type((py_object)python_api_word(method, RECEIVER)));

	if (python_api_type(function) != (py_object)python_api.PyFunction_Type ||
	    !is_named_like(type, "Task"))
		return false;
	py_object text = await_get(function, AWAIT_TEXT_QUALNAME);
	bool is = is_named_like(python_api_text(text), part);
	await_drop(text);
	return is;
}

// A method of Python's own tasks: the step of one.
static bool is_step_method(py_object method)
{
	return is_method_named(method, "Task.__step") || is_method_named(method, "Task.__wakeup");
}

// CALLBACK's type wraps a task's step, or its wakeup.
static __attribute__((noinline)) bool is_step_wrapper(py_object callback, uintptr_t type)
{
	const char *name = python_api_type_name((py_object)type);

	if (!is_named_like(name, "TaskStepMethWrapper") &&
	    !is_named_like(name, "TaskWakeupMethWrapper"))
		return false;
	py_object task = await_get(callback, AWAIT_TEXT_SELF);
	has_first_word = (!step_types[0] || has_first_word) &&
	                 task == (py_object)python_api_word(callback, 0);
	await_drop(task);
	if (!step_types[0])
		step_types[0] = type;
	else
		step_types[1] = type;
	return task != NULL;
}

py_object await_task_of(py_object callback)
{
	py_object type = python_api_type(callback), task;

	if (type == (py_object)python_api.PyCFunction_Type) {
		const struct python_method *method = python_events_method(callback);
		task = (py_object)python_api_word(callback, SELF);
		if (method != wakeup_method &&
		    (!task || !is_named_like(method->name, "wakeup") ||
		     !is_named_like(python_api_type_name(python_api_type(task)), "Task")))
			return NULL;
		wakeup_method = method;
	} else if ((uintptr_t)type == step_types[0] || (uintptr_t)type == step_types[1] ||
	           is_step_wrapper(callback, (uintptr_t)type)) {
		if (!has_first_word)
			return await_get(callback, AWAIT_TEXT_SELF);
		task = (py_object)python_api_word(callback, 0);
	} else if (type == (py_object)python_api.PyMethod_Type && is_step_method(callback)) {
		task = (py_object)python_api_word(callback, RECEIVER);
	} else {
		return NULL;
	}
	if (task)
		python_api.Py_IncRef(task);
	return task;
}

bool await_can_be_first(py_object callback)
{
	py_object type = python_api_type(callback);

	if (type == (py_object)python_api.PyCFunction_Type)
		return false;
	if (type == (py_object)python_api.PyMethod_Type)
		return is_method_named(callback, "Task.__step");
	return is_named_like(python_api_type_name(type), "TaskStepMethWrapper");
}

bool await_is_pending(py_object task)
{
	py_object state = await_get(task, AWAIT_TEXT_STATE);
	bool is = state && state == pending;

	if (state && !is) {
		const char *text = python_api_text(state);
		is = text && strcmp(text, "PENDING") == 0;
		if (is && !pending) {
			python_api.Py_IncRef(state);
			pending = state;
		}
	}
	await_drop(state);
	return is;
}

// Those that nobody has given are "Task-1" and so on. A subclass may have its own ways.
uint32_t await_name_place(const char *text)
{
	uintptr_t key = hash_bytes(text, strlen(text)) | 1; // no address of an object
	uint32_t number = await_sums_find(key, 0, false);

	return number ? number : await_sums_add_place(key, 0, false, text, "");
}

uint32_t await_name_of(py_object task)
{
	if (strcmp(python_api_type_name(python_api_type(task)), "_asyncio.Task") != 0)
		return 0;
	py_object method = await_get(task, AWAIT_TEXT_GET_NAME);
	py_object name = method ? python_api.PyObject_CallFunctionObjArgs(method, NULL) : NULL;
	const char *text = name ? python_api_text(name) : NULL;
	uint32_t number = 0;

	if (!name)
		python_api.PyErr_Clear();
	if (text && *text && strncmp(text, "Task-", 5) != 0)
		number = await_name_place(text);
	await_drop(name);
	await_drop(method);
	return number;
}

// Chains of awaits.

static py_object awaited_by(py_object coroutine, bool is_generator)
{
	return await_get(coroutine, is_generator ? AWAIT_TEXT_GI_AWAIT : AWAIT_TEXT_CR_AWAIT);
}

uint32_t await_chain_in(py_object chain, uint16_t *places)
{
	uint32_t count = 0;

	python_api.Py_IncRef(chain);
	for (uint32_t i = 0; i < FRAMES_MAX; i++) {
		bool is_generator;
		py_object code = code_of(chain, &is_generator);
		py_object frame = code ? await_get(chain, is_generator ? AWAIT_TEXT_GI_FRAME
		                                                       : AWAIT_TEXT_CR_FRAME)
		                       : NULL;
		uint32_t place = 0;
		if (frame && !await_is_none(frame)) {
			int line = python_api.PyFrame_GetLineNumber(frame);
			place = await_line_of(code, line > 0 ? (uint32_t)line : 0);
		}
		await_drop(frame);
		await_drop(code);
		if (!place)
			break;
		if (count == AWAIT_PLACES_MAX - 1) {
			memmove(places + OUTER_MAX, places + OUTER_MAX + 1,
			        (count - OUTER_MAX - 1) * sizeof(*places));
			count--;
		}
		places[count++] = (uint16_t)place;
		py_object next = awaited_by(chain, is_generator);
		if (!next)
			break;
		await_drop(chain);
		chain = next;
	}
	await_drop(chain);
	return count;
}

uint32_t await_chain_of(py_object task, uint16_t *places)
{
	py_object coroutine = await_get(task, AWAIT_TEXT_CORO);
	uint32_t count = coroutine ? await_chain_in(coroutine, places) : 0;

	await_drop(coroutine);
	return count;
}

uint32_t await_inner_in(py_object coroutine)
{
	bool is_generator;
	uint32_t number = 0;

	python_api.Py_IncRef(coroutine);
	for (uint32_t i = 0; !number && i < FRAMES_MAX; i++) {
		py_object code = code_of(coroutine, &is_generator);
		if (!code)
			break;
		if (i && !strstr(python_events_text(code, python_api_runtime->layout.code_file),
		                 AWAIT_WRAPPERS))
			number = begin_of(coroutine, code);
		await_drop(code);
		py_object next = awaited_by(coroutine, is_generator);
		if (!next)
			break;
		await_drop(coroutine);
		coroutine = next;
	}
	await_drop(coroutine);
	return number;
}

uint32_t await_inner_of(py_object task)
{
	py_object coroutine = await_get(task, AWAIT_TEXT_CORO);
	uint32_t number = coroutine ? await_inner_in(coroutine) : 0;

	await_drop(coroutine);
	return number;
}

intptr_t await_slot_of(py_object type, enum await_text name)
{
	struct member {
		const char *name;
		int type;
		intptr_t offset;
	};
	py_object slot = await_get(type, name);
	intptr_t offset = 0;

	if (slot && strcmp(python_api_type_name(python_api_type(slot)), "member_descriptor") == 0) {
		const struct member *member = (const struct member *)python_api_word(slot, MEMBER);
		if (member && strcmp(member->name, text_of[name]) == 0)
			offset = member->offset;
	}
	await_drop(slot);
	return offset;
}
