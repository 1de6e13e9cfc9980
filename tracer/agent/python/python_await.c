// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_await.h"

#include "base/clock.h"
#include "base/hash.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/await_foreign.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/stopwatch.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS_MAX    ((uint32_t)1 << 16) // that are alive at once
#define LOOPS_MAX    256                 // threads that run event loops
#define NAMES_MAX    16                  // tasks of a coroutine that are asked for their names
#define LONG_STEPS   8                   // of a loop, that may have delayed others
#define ARGUMENTS    8
#define LONG_NS      (AWAIT_LONG_MS * NS_PER_MS)
#define SPENT_PART   200 // of the time: what reading chains of awaits may take
#define CREDIT_NS    ((int64_t)(5 * NS_PER_MS))
#define LEAST_NS_MAX NS_PER_SEC
#define LATE_NS      (60 * NS_PER_SEC)
#define LOOK_NS      NS_PER_MS // a look that takes longer has waited
#define TELL_NS      NS_PER_SEC
#define UVLOOP       0 // of those that are not seen

struct task {
	uintptr_t object; // not kept alive
	uint16_t coroutine;
	uint64_t born_ns;
	uint64_t since_ns; // the end of its last step, or its birth
	uint64_t ready_ns; // 0: it waits
	bool begun;        // has had a step
};

struct tables {
	struct task tasks[TASKS_MAX]; // [number - 1]
	uint32_t slots[2 * TASKS_MAX];
	uint32_t free[TASKS_MAX]; // numbers of those that are gone
	uint32_t count, free_count;
};

struct long_step {
	uintptr_t task; // 0: a callback
	uint16_t place;
	uint64_t begin_ns, end_ns;
	uint64_t blocked_ns; // of this, while others were ready
};

struct step {
	struct step *outer; // which has run a loop of its own
	uint64_t begin_ns;
	uint64_t due_ns;  // since when it could have run, of a timer or a descriptor; 0: unknown
	py_object object; // the task; NULL: a callback
	uint32_t task;    // its number; 0: it has none
};

// A thread that runs loops.
struct loop {
	uint32_t tid, row;
	struct step *step; // the innermost one
	struct long_step steps[LONG_STEPS];
	uint32_t next;
	uint64_t long_ns;   // the end of the last long one
	uint64_t end_ns;    // of the last one
	uint64_t looked_ns; // when the loop looked at its descriptors last
	// What runs for descriptors that were ready then, behind so many other steps; since when.
	int64_t others, descriptors;
	uint64_t due_ns;
	struct stopwatch watch;
};

static struct agent *agent;
static struct tables *tables; // most of it is never touched
AGENT_TABLE static struct loop loops[LOOPS_MAX];
static uint32_t loop_count;
static __thread struct loop *own_loop __attribute__((tls_model("initial-exec")));
static bool looking;       // atomic: asyncio is yet to be found
static bool asked;         // atomic: a look is on its way
static bool loops_watched; // their methods are ours
static uint64_t tell_ns;
// What reading chains may still take, and until when that is counted; the time of waiting for each.
static int64_t credit_ns;
static uint64_t credit_at_ns, least_ns;

static py_object handle_run, call_soon, process_events; // asyncio's own
static py_object timer_type;
static intptr_t callback_offset; // in a Handle; 0: unknown

// Tasks.

static uint32_t task_start(uintptr_t object)
{
	return (uint32_t)hash_mix(object) % (2 * TASKS_MAX);
}

static uint32_t task_slot(uintptr_t object)
{
	uint32_t at = task_start(object), number;

	for (; (number = tables->slots[at]) != 0; at = (at + 1) % (2 * TASKS_MAX))
		if (tables->tasks[number - 1].object == object)
			break;
	return at;
}

static struct task *find_task(py_object object)
{
	uint32_t number = tables->slots[task_slot((uintptr_t)object)];

	return number ? &tables->tasks[number - 1] : NULL;
}

static void forget_task(py_object object)
{
	uint32_t at = task_slot((uintptr_t)object), number = tables->slots[at];

	if (!number)
		return;
	tables->tasks[number - 1].object = 0;
	tables->free[tables->free_count++] = number;
	// Those behind it that it was in the way of move up.
	for (uint32_t next = (at + 1) % (2 * TASKS_MAX); tables->slots[next];
	     next = (next + 1) % (2 * TASKS_MAX)) {
		uint32_t other = tables->slots[next];
		uint32_t start = task_start(tables->tasks[other - 1].object);
		uint32_t from_start = (next + 2 * TASKS_MAX - start) % (2 * TASKS_MAX);
		uint32_t from_hole = (next + 2 * TASKS_MAX - at) % (2 * TASKS_MAX);
		if (from_start < from_hole)
			continue;
		tables->slots[at] = other;
		at = next;
	}
	tables->slots[at] = 0;
}

static struct task *add_task(py_object object, uint64_t now_ns)
{
	uint32_t coroutine = await_coroutine_of(object);
	uint32_t at = task_slot((uintptr_t)object), number;

	if (!coroutine)
		return NULL;
	if (tables->free_count) {
		number = tables->free[--tables->free_count];
	} else if (tables->count < TASKS_MAX) {
		number = ++tables->count;
	} else {
		await_sums_lack();
		return NULL;
	}
	tables->slots[at] = number;
	tables->tasks[number - 1] = (struct task){
		.object = (uintptr_t)object,
		.coroutine = (uint16_t)coroutine,
		.born_ns = now_ns,
		.since_ns = now_ns,
	};
	await_sums_add(await_sums_row_of((uint16_t)coroutine, AWAIT_TASK), 1, 0, 0);
	return &tables->tasks[number - 1];
}

// Chains of awaits.

static uint32_t find_wait(const struct task *t, py_object task)
{
	struct sums_place *p = await_sums_place(t->coroutine);
	uint16_t places[AWAIT_PLACES_MAX] = { t->coroutine };
	uint32_t count = await_chain_of(task, places + 1);

	p->last_wait = await_sums_row(AWAIT_WAIT, places, count + 1);
	return p->last_wait;
}

// Reading chains has taken COST_NS until NOW_NS: more than it may, or less?
static void adapt(int64_t cost_ns, uint64_t now_ns)
{
	credit_ns += (int64_t)((now_ns - credit_at_ns) / SPENT_PART);
	if (credit_ns > CREDIT_NS)
		credit_ns = CREDIT_NS;
	credit_at_ns = now_ns;
	credit_ns -= cost_ns;
	if (credit_ns >= 0)
		least_ns /= 2;
	else if (least_ns < LEAST_NS_MAX)
		least_ns = least_ns ? least_ns * 2 : NS_PER_US;
}

// A chain is read for so much time of waiting, which all counts for it: each has the share that it
// would have if all were read.
static void add_wait(struct loop *loop, const struct task *t, py_object task, uint64_t wait_ns,
                     uint64_t now_ns)
{
	struct sums_place *p = await_sums_place(t->coroutine);

	p->owed_ns += wait_ns;
	p->owed_count++;
	if (p->last_wait && p->owed_ns < least_ns)
		return;
	uint32_t row = find_wait(t, task);
	await_sums_add(row, p->owed_count, p->owed_ns, wait_ns);
	p->owed_ns = p->owed_count = 0;
	uint64_t then_ns = stopwatch_now_ns(&loop->watch);
	adapt((int64_t)(then_ns - now_ns), then_ns);
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Who kept a task of VICTIM's from its step, which was READY_NS to NOW_NS.
static void blame(struct loop *loop, uintptr_t task, uint16_t victim, uint64_t ready_ns,
                  uint64_t now_ns)
{
	for (uint32_t i = 0; i < LONG_STEPS; i++) {
		struct long_step *s = &loop->steps[i];
		uint64_t from_ns = longer(ready_ns, s->begin_ns);
		if (s->end_ns <= from_ns || s->end_ns > now_ns || s->task == task)
			continue;
		const uint16_t places[] = { s->place, victim };
		uint64_t ns = s->end_ns - from_ns;
		await_sums_add(await_sums_row(AWAIT_DELAY, places, 2), 1, ns, ns);
		if (ns <= s->blocked_ns)
			continue;
		await_sums_add(await_sums_row(AWAIT_BLOCK, places, 1), !s->blocked_ns,
		               ns - s->blocked_ns, ns);
		s->blocked_ns = ns;
	}
}

static void keep_long(struct loop *loop, uintptr_t task, uint32_t place, uint64_t begin_ns,
                      uint64_t end_ns)
{
	if (!place)
		return;
	loop->long_ns = end_ns;
	loop->steps[loop->next++ % LONG_STEPS] = (struct long_step){
		.task = task,
		.place = (uint16_t)place,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
	};
}

// Steps.

static uint32_t number_of(const struct task *t)
{
	return t ? (uint32_t)(t - tables->tasks) + 1 : 0;
}

// Of the first tasks of a coroutine.
static void add_name(const struct task *t, py_object task)
{
	struct sums_place *p = await_sums_place(t->coroutine);

	if (p->names_asked == NAMES_MAX)
		return;
	p->names_asked++;
	uint16_t places[] = { t->coroutine, (uint16_t)await_name_of(task) };
	if (places[1])
		await_sums_add(await_sums_row(AWAIT_NAME, places, 2), 1, 0, 0);
}

static void begin_step(struct loop *loop, struct step *step)
{
	struct task *t = find_task(step->object);
	uint64_t now_ns = step->begin_ns;

	if (!t)
		t = add_task(step->object, now_ns);
	step->task = number_of(t);
	if (!t)
		return;
	uint64_t ready_ns = t->ready_ns ? longer(t->ready_ns, t->since_ns) : now_ns;
	if (ready_ns > now_ns)
		ready_ns = now_ns;
	if (t->since_ns > ready_ns)
		t->since_ns = ready_ns; // readings of other threads differ by microseconds
	uint64_t wait_ns = ready_ns - t->since_ns, late_ns = now_ns - ready_ns;
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, wait_ns + late_ns, 0);
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_READY), 1, late_ns, late_ns);
	if (t->begun && wait_ns)
		add_wait(loop, t, step->object, wait_ns, now_ns);
	if (loop->long_ns > ready_ns)
		blame(loop, t->object, t->coroutine, ready_ns, now_ns);
	if (!t->begun)
		add_name(t, step->object);
	t->since_ns = now_ns;
	t->ready_ns = 0;
	t->begun = true;
}

static void end_step(struct loop *loop, const struct step *step, uint64_t now_ns)
{
	struct task *t = step->task ? &tables->tasks[step->task - 1] : NULL;

	if (!t || t->object != (uintptr_t)step->object)
		return; // forked, or there was no room
	uint64_t ran_ns = now_ns - t->since_ns;
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_RUN), 1, ran_ns, ran_ns);
	uint32_t all = await_sums_row_of(t->coroutine, AWAIT_TASK);
	await_sums_add(all, 0, ran_ns, 0);
	if (ran_ns >= LONG_NS)
		keep_long(loop, t->object, t->coroutine, t->since_ns, now_ns);
	t->since_ns = now_ns;
	if (t->ready_ns || await_is_pending(step->object))
		return;
	await_sums_add(all, 0, 0, now_ns - t->born_ns);
	forget_task(step->object);
}

// NULL: there is none whose thread has ended.
static struct loop *find_left(void)
{
	for (uint32_t i = 0; i < LOOPS_MAX; i++)
		if (syscall(SYS_tgkill, agent->pid, loops[i].tid, 0) < 0 && errno == ESRCH)
			return &loops[i];
	return NULL;
}

static __attribute__((noinline)) struct loop *add_loop(void)
{
	uint16_t nowhere = (uint16_t)await_nowhere();
	struct loop *loop = loop_count < LOOPS_MAX ? &loops[loop_count++] : find_left();

	if (!loop || !nowhere) {
		await_sums_lack();
		return NULL;
	}
	*loop = (struct loop){
		.tid = (uint32_t)syscall(SYS_gettid),
		.row = await_sums_row(AWAIT_LOOP, &nowhere, 1),
	};
	loop->end_ns = stopwatch_now_ns(&loop->watch);
	await_sums_add(loop->row, 1, 0, 0);
	own_loop = loop;
	return loop;
}

static inline struct loop *find_loop(void)
{
	return own_loop ? own_loop : add_loop();
}

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

static bool is_on(void)
{
	return agent->on && agent->pid == (uint32_t)getpid();
}

static void end_run(struct loop *loop, const struct step *step, py_object callback)
{
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);

	await_sums_add(loop->row, 0, now_ns - loop->end_ns, 0);
	loop->end_ns = now_ns;
	if (step->object)
		end_step(loop, step, now_ns);
	else if (now_ns - step->begin_ns >= LONG_NS && callback && !await_is_none(callback))
		keep_long(loop, 0, await_callback_of(callback), step->begin_ns, now_ns);
	if (now_ns >= tell_ns) {
		tell_ns = now_ns + TELL_NS;
		await_sums_tell(agent, false);
	}
}

static void watch_loops(void);

// Since when a callback could have run; 0: unknown.
static uint64_t callback_due(struct loop *loop, py_object handle, uint64_t now_ns)
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
static py_object run(struct loop *loop, struct step *step, py_object callback,
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
	struct loop *loop = agent->on ? find_loop() : NULL;

	(void)unused;
	if (!loop)
		return python_api.vectorcall(handle_run, &self, 1, NULL);
	if (!loops_watched)
		watch_loops();
	py_object callback = callback_in(self);
	struct step step = {
		.outer = loop->step,
		.begin_ns = stopwatch_now_ns(&loop->watch),
		.object = callback ? await_task_of(callback) : NULL,
	};
	if (step.object) {
		loop->others--;
		begin_step(loop, &step);
	} else {
		step.due_ns = callback_due(loop, self, step.begin_ns);
	}
	errno = error;
	return run(loop, &step, callback,
	           &(struct called){ python_api.vectorcall, handle_run, &self, 1, NULL });
}

py_object python_await_run(py_object callback, uint64_t due_ns, py_object const *arguments,
                           intptr_t count, py_object names)
{
	const struct called called = { python_api.PyObject_Vectorcall, callback, arguments,
		                       (size_t)count, names };
	int error = errno;
	struct loop *loop = agent->on ? find_loop() : NULL;

	if (!loop)
		return called.call(callback, arguments, (size_t)count, names);
	uint64_t now_ns = stopwatch_now_ns(&loop->watch);
	struct step step = {
		.outer = loop->step,
		.begin_ns = now_ns,
		.due_ns = due_ns <= now_ns ? due_ns : now_ns,
		.object = await_task_of(callback),
	};
	if (step.object)
		begin_step(loop, &step);
	python_api.Py_IncRef(callback);
	errno = error;
	return run(loop, &step, callback, &called);
}

// False: CALLBACK is no step of a task.
static bool scheduled(py_object callback, uint64_t due_ns)
{
	py_object object = await_task_of(callback);
	struct loop *loop = own_loop;

	if (!object)
		return false;
	uint64_t now_ns = loop ? stopwatch_now_ns(&loop->watch) : clock_now_ns();
	struct task *t = find_task(object);
	const struct step *step = loop ? loop->step : NULL;
	if (t && t->begun && !t->ready_ns && !(step && step->object == object) &&
	    await_can_be_first(callback)) {
		forget_task(object); // it was freed while it waited: another one is in its place
		t = NULL;
	}
	if (!t)
		t = add_task(object, now_ns);
	if (t && !t->ready_ns)
		t->ready_ns = due_ns ? longer(due_ns, t->since_ns) : now_ns;
	await_drop(object);
	return true;
}

static uint64_t due_of_step(void)
{
	return own_loop && own_loop->step ? own_loop->step->due_ns : 0;
}

// Since when what a loop in C has found after a long step was there; 0: there was none. As in
// finds_late().
static uint64_t due_after_step(const struct loop *loop)
{
	const struct long_step *last = &loop->steps[(loop->next - 1) % LONG_STEPS];

	if (!loop->long_ns || loop->end_ns != last->end_ns ||
	    clock_now_ns() > loop->end_ns + LOOK_NS)
		return 0;
	return last->begin_ns + (last->end_ns - last->begin_ns) / 2;
}

bool python_await_scheduled(py_object callback)
{
	if (!agent->on)
		return false;
	return scheduled(callback,
	                 own_loop && !own_loop->step ? due_after_step(own_loop) : due_of_step());
}

static py_object call_own(py_object function, py_object self, py_object const *arguments,
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

// BaseEventLoop._call_soon(callback, args, context)
static py_object on_soon(py_object self, py_object const *arguments, intptr_t count,
                         py_object names)
{
	int error = errno;

	if (agent->on && count)
		scheduled(arguments[0], due_of_step());
	errno = error;
	return call_own(call_soon, self, arguments, count, names);
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
static bool finds_late(struct loop *loop, py_object events, uint64_t now_ns)
{
	uint64_t from_ns = loop->looked_ns, to_ns = loop->end_ns;

	loop->looked_ns = now_ns;
	loop->descriptors = 0;
	if (!from_ns || to_ns < from_ns + LONG_NS || now_ns > to_ns + LOOK_NS)
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
	struct loop *loop = agent->on ? own_loop : NULL;
	bool late = loop && count && finds_late(loop, arguments[0], stopwatch_now_ns(&loop->watch));
	int64_t before = late ? count_ready(self) : 0;

	errno = error;
	py_object result = call_own(process_events, self, arguments, count, names);
	if (late && result && before >= 0) {
		error = errno;
		loop->others = before;
		loop->descriptors = count_ready(self) - before;
		errno = error;
	}
	return result;
}

// The beginning.

static py_object imported(const char *name)
{
	return python_api.PyDict_GetItemString(python_api.PyImport_GetModuleDict(), name);
}

static py_object attribute(py_object of, const char *name)
{
	py_object value = of ? python_api.PyObject_GetAttrString(of, name) : NULL;

	if (!value)
		python_api.PyErr_Clear();
	return value;
}

// What TYPE has as METHOD's name is what METHOD calls from now on. NULL: it is not as we know it.
static py_object replace(py_object type, struct python_method *method)
{
	py_object old = attribute(type, method->name);

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

// What calls ours calls *OLD in the end, which is there before.
static void watch_method(const char *module, const char *name, struct python_method *method,
                         py_object *old)
{
	py_object type = attribute(imported(module), name);

	*old = attribute(type, method->name);
	if (type && *old)
		await_drop(replace(type, method));
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
	py_object events = imported("asyncio.events");

	timer_type = attribute(events, "TimerHandle");
	handle_run = attribute(type, method.name);
	callback_offset = await_callback_offset(type);
	if (!timer_type || !handle_run)
		return false;
	py_object old = replace(type, &method);
	await_drop(old);
	return old != NULL;
}

static bool has_all(void)
{
	return python_api.PyObject_GetAttr && python_api.PyDescr_NewMethod &&
	       python_api.vectorcall && python_api.PyFrame_GetLineNumber &&
	       python_api.PyFloat_AsDouble && python_api.PySequence_List &&
	       python_api.PyErr_Fetch && python_api.PyObject_Size && python_api.PyErr_Restore &&
	       python_api.PyFunction_Type && python_api.PyMethod_Type && python_api.PyCoro_Type &&
	       python_api.PyGen_Type;
}

static bool take_memory(void)
{
	void *memory = tables ? tables
	                      : mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	tables = memory;
	return await_sums_start() && await_objects_start();
}

void python_await_start(struct agent *a)
{
	if (!op_is_on(OP_PYTHON))
		return;
	agent = a;
	__atomic_store_n(&looking, true, __ATOMIC_RELEASE);
}

static bool is_wanted(void)
{
	return __atomic_load_n(&looking, __ATOMIC_ACQUIRE);
}

bool python_await_may_ask(void)
{
	return is_wanted() && !__atomic_exchange_n(&asked, true, __ATOMIC_ACQ_REL);
}

void python_await_unask(void)
{
	__atomic_store_n(&asked, false, __ATOMIC_RELEASE);
}

int python_await_look(void *unused)
{
	int error = errno;

	(void)unused;
	python_await_unask();
	if (!is_wanted())
		return 0;
	py_object type = attribute(imported("asyncio.events"), "Handle");
	if (type) {
		__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
		credit_at_ns = clock_now_ns();
		credit_ns = CREDIT_NS;
		tell_ns = credit_at_ns + TELL_NS;
		if (python_api_runtime->layout.free_threaded || !has_all() || !take_memory() ||
		    !watch_handles(type))
			op_say("tasks of asyncio are not seen: this interpreter has no GIL, or not "
			       "what that takes");
		else
			await_foreign_start();
	}
	await_drop(type);
	errno = error;
	return 0;
}

// The end.

static void end_wait(py_object task, uint64_t now_ns)
{
	struct task *t = find_task(task);

	if (!t || !t->begun)
		return;
	uint64_t ns = now_ns - t->since_ns;
	await_sums_add(find_wait(t, task), 1, ns, ns);
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, ns, now_ns - t->born_ns);
	forget_task(task);
}

static void end_waits(void)
{
	static const char *const names[] = { "_scheduled_tasks", "_all_tasks" };
	py_object tasks = imported("asyncio.tasks"), all = NULL;
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; !all && i < sizeof(names) / sizeof(names[0]); i++)
		all = attribute(tasks, names[i]);
	py_object list = all ? python_api.PySequence_List(all) : NULL;
	if (!list)
		python_api.PyErr_Clear();
	for (intptr_t i = 0; list && i < python_api.PyList_Size(list); i++)
		end_wait(python_api.PyList_GetItem(list, i), now_ns);
	await_drop(list);
	await_drop(all);
}

static void say_unseen(void)
{
	static const char *const others[] = { "uvloop", "trio", "gevent", "eventlet", "curio" };
	char text[160];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (imported(others[i]) && !(i == UVLOOP && await_foreign_found())) {
			snprintf(text, sizeof(text),
			         "the program imported %s: tasks that it runs itself are not in "
			         "the table of asyncio tasks",
			         others[i]);
			op_say(text);
		}
}

void python_await_end(void)
{
	if (!agent || !is_on())
		return;
	if (tables)
		end_waits();
	say_unseen();
	if (await_sums_are_lacking())
		op_say("more asyncio tasks, coroutines or loops were alive than are kept: their "
		       "table is incomplete");
}

void python_await_tell(bool last)
{
	if (agent && await_sums)
		await_sums_tell(agent, last);
}

void python_await_fork(void)
{
	python_await_unask(); // CPython may have dropped it
	if (!tables || !await_sums)
		return;
	await_sums_fork();
	memset(tables->slots, 0, sizeof(tables->slots));
	tables->count = tables->free_count = 0;
	if (own_loop)
		own_loop->tid = (uint32_t)syscall(SYS_gettid);
}
