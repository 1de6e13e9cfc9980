// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_gevent.h"

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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAMES_MAX 64
#define OUTER_MAX  4                 // of those that are kept where not all are
#define BURST_NS   (100 * NS_PER_US) // between two steps for what one look has found
#define POOL_FILE  "/gevent/threadpool.py"
#define POOL_TYPE  "_WorkerGreenlet" // where it is not known what it runs
#define DELAY_MAX  1e6
#define METHOD     3 // words of a PyMethodDescrObject, of a PyCFunctionObject, and of a PyMethodObject
#define DEFINITION 0
#define SELF       1
#define FUNCTION   0
#define RECEIVER   1
#define DUE        1 // in the pair of a callback and the moment when it was asked for

// greenlet's C interface, by number.
enum {
	API_TYPE = 0,
	API_CURRENT = 4,
	API_THROW = 5,
	API_SWITCH = 6,
	API_STARTED = 9,
};

typedef py_object with_keywords(py_object self, py_object arguments, py_object names);
typedef py_object with_arguments(py_object self, py_object arguments);
typedef py_object fast_keywords(py_object self, py_object const *arguments, intptr_t count,
                                py_object names);

static const struct agent *agent;
static bool is_found, is_watched;
static void *const *api; // greenlet's
static py_object hub_type, greenlet_type, gevent_type;
static py_object waiter_type; // once it has been seen
static const struct python_method *switch_method;

// greenlet's and gevent's own.
static with_keywords *own_switch, *api_switch;
static with_arguments *own_throw;
static py_object (*api_throw)(py_object self, py_object type, py_object value, py_object trace);
static with_keywords *start_slow, *callback_slow;
static fast_keywords *start_fast, *callback_fast;

// What greenlets are.

static bool is_hub(py_object greenlet)
{
	py_object type = python_api_type(greenlet);

	return type == hub_type || (type != gevent_type && type != greenlet_type &&
	                            python_api.PyType_IsSubtype(type, hub_type));
}

static py_object current(void)
{
	py_object (*get)(void);

	memcpy(&get, &api[API_CURRENT], sizeof(get));
	py_object greenlet = get();
	if (!greenlet)
		python_api.PyErr_Clear();
	await_drop(greenlet); // it runs
	return greenlet;
}

static bool has_started(py_object greenlet)
{
	int (*started)(py_object);

	memcpy(&started, &api[API_STARTED], sizeof(started));
	return started(greenlet) != 0;
}

// The frames of the greenlet that runs, innermost first; how many.
static uint32_t frames(uint16_t *places, uint32_t most, py_object *outermost)
{
	py_object frame = python_api.PyEval_GetFrame();
	uint32_t count = 0;

	if (frame)
		python_api.Py_IncRef(frame);
	while (frame && !await_is_none(frame) && count < most) {
		py_object code = await_get(frame, AWAIT_TEXT_F_CODE);
		int line = python_api.PyFrame_GetLineNumber(frame);
		if (code && places)
			places[count] =
				(uint16_t)await_line_of(code, line > 0 ? (uint32_t)line : 0);
		count++;
		if (outermost) {
			await_drop(*outermost);
			*outermost = code;
		} else {
			await_drop(code);
		}
		py_object back = await_get(frame, AWAIT_TEXT_F_BACK);
		await_drop(frame);
		frame = back;
	}
	await_drop(frame);
	return count;
}

static uint32_t chain_of(py_object greenlet, uint16_t *places)
{
	uint16_t inner[FRAMES_MAX];
	uint32_t count = frames(inner, FRAMES_MAX, NULL), put = 0;

	(void)greenlet; // it has just been resumed
	for (uint32_t i = 0; i < count; i++) {
		if (count > AWAIT_PLACES_MAX - 1 && i == OUTER_MAX)
			i = count - (AWAIT_PLACES_MAX - 1 - OUTER_MAX);
		if (inner[count - 1 - i])
			places[put++] = inner[count - 1 - i];
	}
	return put;
}

// What GREENLET runs: what it was made with, or the run() of its class. Of one that runs already,
// its outermost function.
static uint32_t coroutine_of(py_object greenlet)
{
	py_object type = python_api_type(greenlet), run = NULL, outermost = NULL;

	if (type == gevent_type)
		run = await_get(greenlet, AWAIT_TEXT_RUN_OF_GEVENT);
	else if (type == greenlet_type)
		run = await_get(greenlet, AWAIT_TEXT_RUN);
	else if (python_api.PyType_IsSubtype(type, gevent_type))
		run = await_get(type, AWAIT_TEXT_RUN_OF_GEVENT);
	if (run && await_is_none(run)) {
		await_drop(run);
		run = NULL;
	}
	if (run) {
		uint32_t place = await_callback_of(run);
		await_drop(run);
		return place;
	}
	if (greenlet == current())
		frames(NULL, UINT32_MAX, &outermost);
	uint32_t place = outermost ? await_begin_of_code(outermost) : await_begin_of(greenlet);
	await_drop(outermost);
	return place;
}

// The threads of gevent's pool are no loops, and their greenlets only run the program's functions.
static uint32_t task_of(py_object greenlet)
{
	uint32_t place = coroutine_of(greenlet);
	const struct sums_place *p = place ? await_sums_place(place) : NULL;

	return p && (strstr(p->file, POOL_FILE) || strcmp(p->name, POOL_TYPE) == 0) ? 0 : place;
}

static const struct await_library gevent = {
	.name = "gevent",
	.number = 3,
	.coroutine_of = task_of,
	.chain_of = chain_of,
};

// Steps.

static void begin_step(struct await_loop *loop, py_object greenlet, uint64_t now_ns)
{
	loop->running = (struct await_step){
		.library = &gevent,
		.begin_ns = now_ns,
		.object = greenlet,
	};
	await_steps_begin(loop, &loop->running);
}

static void end_step(struct await_loop *loop, bool ended, uint64_t now_ns)
{
	await_steps_end(loop, &loop->running, ended, now_ns);
	await_steps_ran(loop, now_ns);
	loop->running.object = NULL;
}

// Since when what the hub has found was there; 0: unknown.
static uint64_t due_of(struct await_loop *loop)
{
	if (loop->woken_ns || !loop->long_ns)
		return loop->woken_ns;
	uint64_t due_ns = await_steps_due_after_long(loop);
	if (due_ns || stopwatch_now_ns(&loop->watch) - loop->end_ns > BURST_NS)
		loop->due_ns = due_ns;
	return loop->due_ns;
}

// The greenlet that runs is about to switch to TARGET. It is returned, and *LOOP; NULL: no loop.
static py_object leave(py_object target, struct await_loop **loop)
{
	struct await_loop *l = agent->on ? await_steps_loop() : NULL;
	py_object from = l ? current() : NULL;

	*loop = l;
	if (!from)
		return NULL;
	bool from_hub = is_hub(from);
	uint64_t now_ns = 0;
	if (!from_hub || l->running.object) {
		now_ns = stopwatch_now_ns(&l->watch);
		if (!l->running.object)
			begin_step(l, from, now_ns);
		end_step(l, l->running.object != from, now_ns);
	}
	if (is_hub(target))
		return from;
	bool is_new = !has_started(target);
	uint64_t due_ns = from_hub ? due_of(l) : now_ns;
	if (due_ns && !await_steps_has_due(target))
		await_steps_scheduled(&gevent, target, due_ns, is_new);
	if (is_new)
		begin_step(l, target, stopwatch_now_ns(&l->watch));
	return from;
}

// And has been switched to.
static void resume(struct await_loop *loop, py_object from, py_object result)
{
	py_object type = NULL, value = NULL, traceback = NULL;
	int error = errno;
	bool is_left = loop->running.object && loop->running.object != from;
	bool begins = !is_hub(from) && loop->running.object != from;

	if (!is_left && !begins)
		return;
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);
	if (!result)
		python_api.PyErr_Fetch(&type, &value, &traceback);
	if (is_left)
		end_step(loop, true, now_ns); // it has returned to its parent
	if (begins)
		begin_step(loop, from, now_ns);
	if (!result)
		python_api.PyErr_Restore(type, value, traceback);
	errno = error;
}

// greenlet.switch(*args, **kwargs)
static py_object on_switch(py_object self, py_object arguments, py_object names)
{
	struct await_loop *loop;
	py_object from = leave(self, &loop);
	py_object result = own_switch(self, arguments, names);

	if (from)
		resume(loop, from, result);
	return result;
}

// The same, by the C interface.
static py_object on_api_switch(py_object self, py_object arguments, py_object names)
{
	struct await_loop *loop;
	py_object from = leave(self, &loop);
	py_object result = api_switch(self, arguments, names);

	if (from)
		resume(loop, from, result);
	return result;
}

static py_object on_throw(py_object self, py_object arguments)
{
	struct await_loop *loop;
	py_object from = leave(self, &loop);
	py_object result = own_throw(self, arguments);

	if (from)
		resume(loop, from, result);
	return result;
}

static py_object on_api_throw(py_object self, py_object type, py_object value, py_object trace)
{
	struct await_loop *loop;
	py_object from = leave(self, &loop);
	py_object result = api_throw(self, type, value, trace);

	if (from)
		resume(loop, from, result);
	return result;
}

// Since when greenlets are ready.

static bool is_of_waiter(py_object callback)
{
	if (python_api_type(callback) != (py_object)python_api.PyMethod_Type)
		return false;
	py_object type = python_api_type((py_object)python_api_word(callback, RECEIVER));
	if (type == waiter_type)
		return true;
	const char *name = python_api_type_name(type);
	if (waiter_type || strncmp(name, "gevent.", 7) != 0 || !strstr(name, ".Waiter"))
		return false;
	waiter_type = type;
	return true;
}

// timer.start(waiter.switch, waiter): the greenlet that runs is about to sleep.
static void watch_timer(py_object timer, py_object callback)
{
	struct await_loop *loop = agent->on ? await_own_loop : NULL;

	if (!loop || !loop->running.object || !is_of_waiter(callback))
		return;
	py_object delay = await_get(timer, AWAIT_TEXT_AT);
	double seconds = delay ? python_api.PyFloat_AsDouble(delay) : -1;
	python_api.PyErr_Clear();
	await_drop(delay);
	if (seconds >= 0 && seconds < DELAY_MAX)
		await_steps_scheduled(&gevent, loop->running.object,
		                      stopwatch_now_ns(&loop->watch) +
		                              (uint64_t)(seconds * (double)NS_PER_SEC),
		                      false);
}

static py_object on_start_slow(py_object self, py_object arguments, py_object names)
{
	int error = errno;

	if (python_api.PyObject_Size(arguments) > 0)
		watch_timer(self, python_api.PyTuple_GetItem(arguments, 0));
	errno = error;
	return start_slow(self, arguments, names);
}

static py_object on_start_fast(py_object self, py_object const *arguments, intptr_t count,
                               py_object names)
{
	int error = errno;

	if (count > 0)
		watch_timer(self, arguments[0]);
	errno = error;
	return start_fast(self, arguments, count, names);
}

// SELF is a pair: a callback of gevent's own, and when it was asked for.
static py_object on_notify(py_object self, py_object arguments)
{
	struct await_loop *loop = await_own_loop;
	double due = python_api.PyFloat_AsDouble(python_api.PyTuple_GetItem(self, DUE));

	if (loop)
		loop->woken_ns = (uint64_t)due;
	py_object result =
		python_api.PyObject_Call(python_api.PyTuple_GetItem(self, 0), arguments, NULL);
	if (loop)
		loop->woken_ns = 0;
	return result;
}

static bool is_own_method(py_object callback)
{
	if (python_api_type(callback) != (py_object)python_api.PyMethod_Type)
		return false;
	py_object function = (py_object)python_api_word(callback, FUNCTION);
	return strstr(python_api_type_name(python_api_type(function)),
	              "cython_function_or_method") != NULL;
}

static py_object wrap(py_object callback, uint64_t now_ns)
{
	static struct python_method method = { "notify", (void *)on_notify, PYTHON_METHOD_ARGUMENTS,
		                               NULL };
	py_object due = python_api.PyFloat_FromDouble((double)now_ns);
	py_object pair = due ? python_api.PyTuple_Pack(2, callback, due) : NULL;
	py_object ours = pair ? python_api.PyCFunction_NewEx(&method, pair, NULL) : NULL;

	if (!ours)
		python_api.PyErr_Clear();
	await_drop(due);
	await_drop(pair);
	return ours;
}

// loop.run_callback(callback, ...): what it is to be instead, as a new reference; NULL: the same.
// A greenlet that it switches to is ready from now on, and so are those that gevent's own methods
// wake.
static py_object watch_callback(py_object callback)
{
	struct await_loop *loop = agent->on ? await_steps_loop() : NULL;
	py_object target = NULL;

	if (!loop)
		return NULL;
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);
	if (python_api_type(callback) == (py_object)python_api.PyCFunction_Type) {
		if ((const struct python_method *)python_api_word(callback, DEFINITION) !=
		    switch_method)
			return NULL;
		target = (py_object)python_api_word(callback, SELF);
		python_api.Py_IncRef(target);
	} else if (is_of_waiter(callback)) {
		target = await_get((py_object)python_api_word(callback, RECEIVER),
		                   AWAIT_TEXT_GREENLET);
	} else if (is_own_method(callback)) {
		return wrap(callback, now_ns);
	}
	if (target && !await_is_none(target) && !is_hub(target))
		await_steps_scheduled(&gevent, target, now_ns, !has_started(target));
	await_drop(target);
	return NULL;
}

static py_object on_callback_slow(py_object self, py_object arguments, py_object names)
{
	int error = errno;
	intptr_t count = python_api.PyObject_Size(arguments);
	py_object ours =
		count > 0 ? watch_callback(python_api.PyTuple_GetItem(arguments, 0)) : NULL;
	py_object list = ours ? python_api.PySequence_List(arguments) : NULL;
	py_object changed = NULL;

	if (list && python_api.PySequence_SetItem(list, 0, ours) == 0)
		changed = python_api.PySequence_Tuple(list);
	if (ours && !changed)
		python_api.PyErr_Clear();
	await_drop(list);
	await_drop(ours);
	errno = error;
	py_object result = callback_slow(self, changed ? changed : arguments, names);
	await_drop(changed);
	return result;
}

static py_object on_callback_fast(py_object self, py_object const *arguments, intptr_t count,
                                  py_object names)
{
	enum {
		MOST = 8
	};
	int error = errno;
	py_object ours = count > 0 ? watch_callback(arguments[0]) : NULL;
	intptr_t all = count + (names ? (intptr_t)python_api_word(names, 0) : 0);
	py_object changed[MOST];
	bool fits = ours && all <= MOST;

	if (fits) {
		memcpy(changed, arguments, (size_t)all * sizeof(*changed));
		changed[0] = ours;
	}
	errno = error;
	py_object result = callback_fast(self, fits ? changed : arguments, count, names);
	await_drop(ours);
	return result;
}

// The beginning.

// A pointer of another one's. False: it is in memory that is not to be written.
static bool put_pointer(void *at, const void *value)
{
	struct iovec from = { &value, sizeof(value) }, to = { at, sizeof(value) };

	return syscall(SYS_process_vm_writev, getpid(), &from, 1, &to, 1, 0) ==
	       (ssize_t)sizeof(value);
}

// The definition of TYPE's method NAME; NULL: it is none of C's.
static struct python_method *definition_of(py_object type, const char *name)
{
	py_object own = await_attribute(type, name);
	const char *kind = own ? python_api_type_name(python_api_type(own)) : "";
	struct python_method *method = NULL;

	if (strcmp(kind, "method_descriptor") == 0)
		method = (struct python_method *)python_api_word(own, METHOD);
	else if (strstr(kind, "cython_function_or_method"))
		method = (struct python_method *)python_api_word(own, DEFINITION);
	await_drop(own);
	return method && method->name && strcmp(method->name, name) == 0 ? method : NULL;
}

// What METHOD calls is SLOW or FAST from now on, by its flags, and before that *OWN_SLOW or
// *OWN_FAST.
static bool divert(struct python_method *method, with_keywords *slow, fast_keywords *fast,
                   with_keywords **own_slow, fast_keywords **own_fast)
{
	const void *ours = NULL;

	if (method && method->flags == (PYTHON_METHOD_ARGUMENTS | PYTHON_METHOD_KEYWORDS)) {
		memcpy(own_slow, &method->function, sizeof(*own_slow));
		ours = (const void *)slow;
	} else if (method && method->flags == (PYTHON_METHOD_FAST | PYTHON_METHOD_KEYWORDS)) {
		memcpy(own_fast, &method->function, sizeof(*own_fast));
		ours = (const void *)fast;
	}
	return ours && put_pointer(&method->function, ours);
}

static bool has_all(void)
{
	return python_api.PyEval_GetFrame && python_api.PyCapsule_GetPointer &&
	       python_api.PyObject_Call && python_api.PyTuple_GetItem && python_api.PyTuple_Pack &&
	       python_api.PyFloat_FromDouble && python_api.PySequence_SetItem &&
	       python_api.PySequence_Tuple;
}

static void *const *find_api(py_object module)
{
	py_object capsule = await_attribute(module, "_C_API");
	void *const *table =
		capsule ? python_api.PyCapsule_GetPointer(capsule, "greenlet._C_API") : NULL;

	if (!table)
		python_api.PyErr_Clear();
	await_drop(capsule);
	return table;
}

// Before 2.0 the table had no eighth function and more.
static bool is_known(py_object module)
{
	py_object version = await_attribute(module, "__version__");
	const char *text = python_api_text(version);
	bool is = text && *text >= '2' && text[0] <= '9';

	await_drop(version);
	return is && api && api[API_TYPE] == (void *)greenlet_type;
}

static bool watch(py_object module)
{
	greenlet_type = await_attribute(module, "greenlet");
	api = find_api(module);
	if (!greenlet_type || !is_known(module))
		return false;
	struct python_method *sw = definition_of(greenlet_type, "switch");
	struct python_method *th = definition_of(greenlet_type, "throw");
	if (!sw || !th || sw->flags != (PYTHON_METHOD_ARGUMENTS | PYTHON_METHOD_KEYWORDS) ||
	    th->flags != PYTHON_METHOD_ARGUMENTS)
		return false;
	switch_method = sw;
	memcpy(&own_switch, &sw->function, sizeof(own_switch));
	memcpy(&own_throw, &th->function, sizeof(own_throw));
	memcpy(&api_switch, &api[API_SWITCH], sizeof(api_switch));
	memcpy(&api_throw, &api[API_THROW], sizeof(api_throw));
	// Each of these works alone.
	return put_pointer(&sw->function, (const void *)on_switch) &&
	       put_pointer(&th->function, (const void *)on_throw) &&
	       put_pointer((void *)&api[API_SWITCH], (const void *)on_api_switch) &&
	       put_pointer((void *)&api[API_THROW], (const void *)on_api_throw);
}

static void watch_libev(py_object module)
{
	py_object timer = await_attribute(module, "timer");
	py_object loop = await_attribute(module, "loop");

	if (timer && loop) {
		divert(definition_of(timer, "start"), on_start_slow, on_start_fast, &start_slow,
		       &start_fast);
		divert(definition_of(loop, "run_callback"), on_callback_slow, on_callback_fast,
		       &callback_slow, &callback_fast);
	}
	await_drop(timer);
	await_drop(loop);
}

bool await_gevent_find(struct agent *a)
{
	py_object libev = await_imported("gevent.libev.corecext");
	py_object loop = await_attribute(libev, "loop");
	py_object other =
		loop ? NULL : await_attribute(await_imported("gevent.libuv.loop"), "loop");

	// These are there when all of their modules are.
	hub_type = await_attribute(await_imported("gevent.hub"), "Hub");
	gevent_type = await_attribute(await_imported("gevent.greenlet"), "Greenlet");
	if ((!loop && !other) || !hub_type || !gevent_type) {
		await_drop(loop);
		await_drop(other);
		await_drop(hub_type);
		await_drop(gevent_type);
		return false;
	}
	agent = a;
	is_found = true;
	is_watched = await_may_watch() && has_all() && await_steps_start(a) &&
	             await_objects_start() && watch(await_imported("greenlet"));
	if (!is_watched)
		op_say("greenlets of gevent are not seen: this interpreter has no GIL, or this "
		       "version of greenlet is not known");
	else if (loop)
		watch_libev(libev);
	await_drop(loop);
	await_drop(other);
	return true;
}

bool await_gevent_comes(void)
{
	return await_imported("gevent.libev") != NULL;
}

bool await_gevent_found(void)
{
	return is_found;
}

void await_gevent_end(void)
{
	struct await_loop *loop = await_own_loop;

	if (!is_watched)
		return;
	if (loop && loop->running.object)
		end_step(loop, true, stopwatch_now_ns(&loop->watch));
	await_steps_leave_rest(&gevent, clock_now_ns());
}
