// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_steps.h"

#include "base/clock.h"
#include "base/hash.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS_MAX    ((uint32_t)1 << 16)  // that are alive at once
#define ARENA        ((uintptr_t)1 << 20) // of CPython's allocator
#define LOOPS_MAX    256                  // threads that run event loops
#define NAMES_MAX    16                   // tasks of a coroutine that are asked for their names
#define WRAPPED_MAX  256                  // the same, of one that wraps others
#define SPENT_PART   200                  // of the time: what reading chains of awaits may take
#define CREDIT_NS    ((int64_t)(5 * NS_PER_MS))
#define LEAST_NS_MAX NS_PER_SEC
#define TELL_NS      NS_PER_SEC

struct task {
	uintptr_t object; // not kept alive
	uint16_t coroutine;
	uint8_t library;  // its number
	bool begun;       // has had a step
	bool is_wrapped;  // what it runs is read after its first step
	uint16_t name;    // that counts for this; 0: none
	uint64_t late_ns; // of its first step, if it is wrapped
	uint64_t born_ns;
	uint64_t since_ns; // the end of its last step, or its birth
	uint64_t ready_ns; // 0: it waits
};

struct tables {
	struct task tasks[TASKS_MAX]; // [number - 1]
	uint32_t slots[2 * TASKS_MAX];
	uint32_t free[TASKS_MAX]; // numbers of those that are gone
	uint32_t count, free_count;
};

static struct agent *agent;
static struct tables *tables; // most of it is never touched
AGENT_TABLE static struct await_loop loops[LOOPS_MAX];
static uint32_t loop_count;
__thread struct await_loop *await_own_loop __attribute__((tls_model("initial-exec")));
static uint64_t tell_ns;
// What reading chains may still take, and until when that is counted; the time of waiting for each.
static int64_t credit_ns;
static uint64_t credit_at_ns, least_ns;

// Tasks.

// Tasks that were made one after the other lie side by side, and so do their slots: few of the
// table's pages are touched.
static uint32_t task_start(uintptr_t object)
{
	return (uint32_t)(hash_mix(object / ARENA) + object % ARENA / 16) % (2 * TASKS_MAX);
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

static void note_library(uint16_t coroutine, const struct await_library *library)
{
	struct sums_place *p = await_sums_place(coroutine);

	if (p->libraries & 1u << library->number)
		return;
	p->libraries |= (uint8_t)(1u << library->number);
	uintptr_t key = (uintptr_t)library;
	uint32_t name = await_sums_find(key, 0, false);
	if (!name)
		name = await_sums_add_place(key, 0, false, library->name, "");
	const uint16_t places[] = { coroutine, (uint16_t)name };
	if (name)
		await_sums_add(await_sums_row(AWAIT_LIBRARY, places, 2), 1, 0, 0);
}

static void count_task(const struct await_library *library, uint16_t coroutine)
{
	note_library(coroutine, library);
	await_sums_add(await_sums_row_of(coroutine, AWAIT_TASK), 1, 0, 0);
}

static struct task *add_task(const struct await_library *library, py_object object, uint64_t now_ns)
{
	uint32_t coroutine = library->coroutine_of(object);
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
	struct task *t = &tables->tasks[number - 1];
	*t = (struct task){
		.object = (uintptr_t)object,
		.coroutine = (uint16_t)coroutine,
		.library = (uint8_t)library->number,
		.born_ns = now_ns,
		.since_ns = now_ns,
		.is_wrapped = library->inner_of &&
		              strstr(await_sums_place(coroutine)->file, AWAIT_WRAPPERS) != NULL,
	};
	if (!t->is_wrapped)
		count_task(library, t->coroutine);
	return t;
}

// Chains of awaits.

static uint32_t find_wait(const struct await_library *library, const struct task *t, py_object task)
{
	struct sums_place *p = await_sums_place(t->coroutine);
	uint16_t places[AWAIT_PLACES_MAX] = { t->coroutine };
	uint32_t count = library->chain_of(task, places + 1);

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
static void add_wait(struct await_loop *loop, const struct await_step *step, const struct task *t,
                     uint64_t wait_ns, uint64_t now_ns)
{
	struct sums_place *p = await_sums_place(t->coroutine);

	p->owed_ns += wait_ns;
	p->owed_count++;
	if (p->last_wait && p->owed_ns < least_ns)
		return;
	uint32_t row = find_wait(step->library, t, step->object);
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
static void blame(struct await_loop *loop, uintptr_t task, uint16_t victim, uint64_t ready_ns,
                  uint64_t now_ns)
{
	for (uint32_t i = 0; i < AWAIT_LONG_STEPS; i++) {
		struct await_long_step *s = &loop->steps[i];
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

static void keep_long(struct await_loop *loop, uintptr_t task, uint32_t place, uint64_t begin_ns,
                      uint64_t end_ns)
{
	if (!place)
		return;
	loop->long_ns = end_ns;
	loop->steps[loop->next++ % AWAIT_LONG_STEPS] = (struct await_long_step){
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

// That of a function, also with its module's, is none of the program's.
static bool is_own(const char *name, uint16_t coroutine)
{
	const char *function = await_sums_place(coroutine)->name;
	size_t length = strlen(name), tail = strlen(function);

	return length >= tail && strcmp(name + length - tail, function) == 0 &&
	       (length == tail || name[length - tail - 1] == '.');
}

static void add_name(uint16_t coroutine, uint32_t name)
{
	const uint16_t places[] = { coroutine, (uint16_t)name };
	const struct sums_place *p = name ? await_sums_place(name) : NULL;

	if (p && !is_own(p->name, coroutine))
		await_sums_add(await_sums_row(AWAIT_NAME, places, 2), 1, 0, 0);
}

// Of the first tasks of a coroutine.
static void ask_name(const struct await_step *step, const struct task *t)
{
	struct sums_place *p = await_sums_place(t->coroutine);

	if (!step->library->name_of || p->names_asked == NAMES_MAX)
		return;
	p->names_asked++;
	add_name(t->coroutine, step->library->name_of(step->object));
}

void await_steps_name(py_object task, const char *name)
{
	struct task *t = find_task(task);
	struct sums_place *p = t ? await_sums_place(t->coroutine) : NULL;

	if (!p || !name || !*name || p->names_asked >= (t->is_wrapped ? WRAPPED_MAX : NAMES_MAX))
		return;
	p->names_asked++;
	uint32_t place = is_own(name, t->coroutine) ? 0 : await_name_place(name);
	if (t->is_wrapped)
		t->name = (uint16_t)place;
	else
		add_name(t->coroutine, place);
}

void await_steps_begin(struct await_loop *loop, struct await_step *step)
{
	struct task *t = find_task(step->object);
	uint64_t now_ns = step->begin_ns;

	if (!t)
		t = add_task(step->library, step->object, now_ns);
	step->task = number_of(t);
	if (!t)
		return;
	uint64_t ready_ns = t->ready_ns ? longer(t->ready_ns, t->since_ns) : now_ns;
	if (ready_ns > now_ns)
		ready_ns = now_ns;
	if (t->since_ns > ready_ns)
		t->since_ns = ready_ns; // readings of other threads differ by microseconds
	uint64_t wait_ns = ready_ns - t->since_ns, late_ns = now_ns - ready_ns;
	if (t->is_wrapped) {
		t->late_ns += wait_ns + late_ns;
	} else {
		await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, wait_ns + late_ns,
		               0);
		await_sums_add(await_sums_row_of(t->coroutine, AWAIT_READY), 1, late_ns, late_ns);
		if (t->begun && wait_ns)
			add_wait(loop, step, t, wait_ns, now_ns);
	}
	if (loop->long_ns > ready_ns)
		blame(loop, t->object, t->coroutine, ready_ns, now_ns);
	if (!t->begun && !t->is_wrapped)
		ask_name(step, t);
	t->since_ns = now_ns;
	t->ready_ns = 0;
	t->begun = true;
}

// After the first step of a task that wraps another coroutine: all counts for that one.
static void unwrap(const struct await_step *step, struct task *t, bool ended)
{
	uint32_t inner = ended ? 0 : step->library->inner_of(step->object);

	if (inner)
		t->coroutine = (uint16_t)inner;
	t->is_wrapped = false;
	count_task(step->library, t->coroutine);
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, t->late_ns, 0);
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_READY), 1, t->late_ns, t->late_ns);
	if (t->name)
		add_name(t->coroutine, t->name);
	else
		ask_name(step, t);
}

// NULL: forked, or there was no room.
static struct task *task_of(const struct await_step *step)
{
	struct task *t = step->task ? &tables->tasks[step->task - 1] : NULL;

	return t && t->object == (uintptr_t)step->object ? t : NULL;
}

bool await_steps_is_ready(const struct await_step *step)
{
	const struct task *t = task_of(step);

	return t && t->ready_ns;
}

void await_steps_end(struct await_loop *loop, const struct await_step *step, bool ended,
                     uint64_t now_ns)
{
	struct task *t = task_of(step);

	if (!t)
		return;
	if (t->is_wrapped)
		unwrap(step, t, ended);
	uint64_t ran_ns = now_ns - t->since_ns;
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_RUN), 1, ran_ns, ran_ns);
	uint32_t all = await_sums_row_of(t->coroutine, AWAIT_TASK);
	await_sums_add(all, 0, ran_ns, 0);
	if (ran_ns >= AWAIT_LONG_NS)
		keep_long(loop, t->object, t->coroutine, t->since_ns, now_ns);
	t->since_ns = now_ns;
	if (!ended)
		return;
	await_sums_add(all, 0, 0, now_ns - t->born_ns);
	forget_task(step->object);
}

void await_steps_end_callback(struct await_loop *loop, const struct await_step *step,
                              uint32_t place, uint64_t now_ns)
{
	keep_long(loop, 0, place, step->begin_ns, now_ns);
}

void await_steps_ran(struct await_loop *loop, uint64_t now_ns)
{
	await_sums_add(loop->row, 0, now_ns - loop->end_ns, 0);
	loop->end_ns = now_ns;
	if (now_ns >= tell_ns) {
		tell_ns = now_ns + TELL_NS;
		await_sums_tell(agent, false);
	}
}

// NULL: there is none whose thread has ended.
static struct await_loop *find_left(void)
{
	for (uint32_t i = 0; i < LOOPS_MAX; i++)
		if (syscall(SYS_tgkill, agent->pid, loops[i].tid, 0) < 0 && errno == ESRCH)
			return &loops[i];
	return NULL;
}

__attribute__((noinline)) struct await_loop *await_steps_add_loop(void)
{
	uint16_t nowhere = (uint16_t)await_nowhere();
	struct await_loop *loop = loop_count < LOOPS_MAX ? &loops[loop_count++] : find_left();

	if (!loop || !nowhere) {
		await_sums_lack();
		return NULL;
	}
	*loop = (struct await_loop){
		.tid = (uint32_t)syscall(SYS_gettid),
		.row = await_sums_row(AWAIT_LOOP, &nowhere, 1),
	};
	loop->end_ns = stopwatch_now_ns(&loop->watch);
	await_sums_add(loop->row, 1, 0, 0);
	await_own_loop = loop;
	return loop;
}

bool await_steps_scheduled(const struct await_library *library, py_object object, uint64_t due_ns,
                           bool is_first)
{
	struct await_loop *loop = await_own_loop;
	uint64_t now_ns = loop ? stopwatch_now_ns(&loop->watch) : clock_now_ns();
	struct task *t = find_task(object);
	const struct await_step *step = loop ? loop->step : NULL;

	if (t && t->begun && !t->ready_ns && !(step && step->object == object) && is_first) {
		forget_task(object); // it was freed while it waited: another one is in its place
		t = NULL;
	}
	bool is_new = !t;
	if (!t)
		t = add_task(library, object, now_ns);
	uint64_t ready_ns = t && due_ns ? longer(due_ns, t->since_ns) : now_ns;
	if (t && (!t->ready_ns || ready_ns < t->ready_ns))
		t->ready_ns = ready_ns;
	return is_new && t;
}

bool await_steps_has_due(py_object task)
{
	const struct task *t = find_task(task);

	return t && t->ready_ns;
}

uint64_t await_steps_due_after_long(const struct await_loop *loop)
{
	const struct await_long_step *last = &loop->steps[(loop->next - 1) % AWAIT_LONG_STEPS];

	if (!loop->long_ns || loop->end_ns != last->end_ns ||
	    clock_now_ns() > loop->end_ns + AWAIT_LOOK_NS)
		return 0;
	return last->begin_ns + (last->end_ns - last->begin_ns) / 2;
}

// The beginning and the end.

bool await_steps_start(struct agent *a)
{
	void *memory = tables ? tables
	                      : mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || !await_sums_start())
		return false;
	if (!tables) {
		credit_at_ns = clock_now_ns();
		credit_ns = CREDIT_NS;
		tell_ns = credit_at_ns + TELL_NS;
	}
	agent = a;
	tables = memory;
	return true;
}

void await_steps_leave(const struct await_library *library, py_object task, uint64_t now_ns)
{
	struct task *t = find_task(task);

	if (!t || !t->begun || t->is_wrapped)
		return;
	uint64_t ns = now_ns - t->since_ns;
	await_sums_add(find_wait(library, t, task), 1, ns, ns);
	await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, ns, now_ns - t->born_ns);
	forget_task(task);
}

// Their frames are not to be had: they count for the awaits that were read last.
void await_steps_leave_rest(const struct await_library *library, uint64_t now_ns)
{
	for (uint32_t i = 0; i < tables->count; i++) {
		struct task *t = &tables->tasks[i];
		if (!t->object || t->library != library->number || !t->begun)
			continue;
		struct sums_place *p = await_sums_place(t->coroutine);
		uint64_t ns = now_ns > t->since_ns ? now_ns - t->since_ns : 0;
		if (!p->last_wait)
			p->last_wait = await_sums_row(AWAIT_WAIT, &t->coroutine, 1);
		await_sums_add(p->last_wait, 1, ns, ns);
		await_sums_add(await_sums_row_of(t->coroutine, AWAIT_TASK), 0, ns,
		               now_ns - t->born_ns);
		t->object = 0;
	}
}

void await_steps_fork(void)
{
	if (!tables)
		return;
	memset(tables->slots, 0, sizeof(tables->slots));
	tables->count = tables->free_count = 0;
	if (await_own_loop)
		await_own_loop->tid = (uint32_t)syscall(SYS_gettid);
	if (await_own_loop)
		await_own_loop->running = (struct await_step){ 0 };
}
