// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_names.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_runtime.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define SLOTS_FIRST ((uint32_t)1 << 11)
#define FILLED_MAX  ((uint32_t)1 << 17)
#define WALK_NS     (20 * NS_PER_MS) // at most
#define WAIT_NS     (20 * NS_PER_MS) // for room in the ring, at the end
#define COST_SHARE  100
#define LEAST_NS    (NS_PER_MS / 2) // what a walk takes, and more for each module
#define MODULE_NS   (15 * NS_PER_US)
#define GROWTH      20  // one new module in so many is worth a walk
#define DEPTH_MAX   200 // of classes below classes
#define TYPE_DICT   31  // up to 3.11
#define NO_NAME     1   // a value: several have been found

struct slot {
	uintptr_t key;
	uint64_t value;
};

struct set {
	struct slot *slots;
	uint32_t size; // a power of two
	uint32_t count;
};

static struct set told;    // address of a function: hash of its name
static struct set visited; // types, by the number of the walk
static uint64_t walks, spent_ns;
static intptr_t modules_seen;

// Where the interpreter's own code is: its slots are part of Python.
static struct loaded_span interpreter;

struct walk {
	struct agent *agent;
	uint64_t until_ns; // of the thread's CPU clock
	uint64_t wait_ns;  // until then
	bool last;
	bool cut; // there was no room, or no time
};

static uint32_t set_at(const struct set *set, uintptr_t key)
{
	uint32_t at = (uint32_t)hash_mix(key) & (set->size - 1);

	while (set->slots[at].key && set->slots[at].key != key)
		at = (at + 1) & (set->size - 1);
	return at;
}

// Pages that are touched cost more than all else here: it begins small.
static bool set_grow(struct set *set)
{
	struct set grown = { NULL, set->size ? 2 * set->size : SLOTS_FIRST, set->count };
	size_t bytes = grown.size * sizeof(*grown.slots);

	if (set->count == FILLED_MAX)
		return false;
	grown.slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown.slots == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < set->size; i++)
		if (set->slots[i].key)
			grown.slots[set_at(&grown, set->slots[i].key)] = set->slots[i];
	if (set->slots)
		munmap(set->slots, set->size * sizeof(*set->slots));
	*set = grown;
	return true;
}

// NULL: no room. Value 0: it is new.
static uint64_t *set_find(struct set *set, uintptr_t key)
{
	if (2 * set->count >= set->size && !set_grow(set))
		return NULL;
	struct slot *slot = &set->slots[set_at(set, key)];
	if (!slot->key) {
		slot->key = key;
		set->count++;
	}
	return &slot->value;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	return hash <= NO_NAME ? hash + 2 : hash;
}

static bool write_name(struct agent *a, struct lane *lane, uintptr_t address, const char *name)
{
	size_t length = strlen(name) + 1;
	size_t size = record_align(sizeof(struct record_python_name) + length);
	struct record_python_name *record = NULL;

	if (lane_room(lane) > 2 * size)
		record =
			(struct record_python_name *)lane_reserve(lane, a->rings.by_populate, size);
	if (!record)
		return false;
	memset(record, 0, size);
	record->head.type = RECORD_PYTHON_NAME;
	record->head.pid = a->pid;
	record->head.tid = lane->tid;
	record->head.time_ns = clock_now_ns();
	record->address = address;
	memcpy(record + 1, name, length);
	lane_commit(lane, &record->head, size);
	return true;
}

// At the end the collector may be given some time to take what is there.
static bool tell(struct walk *w, uintptr_t address, const char *name)
{
	struct timespec moment = { 0, NS_PER_MS };
	bool done = false;

	for (;;) {
		struct lane *lane = op_take_lane();
		done = lane && write_name(w->agent, lane, address, name);
		if (lane)
			op_give_lane();
		if (done || !lane || !w->last || clock_now_ns() > w->wait_ns)
			return done;
		nanosleep(&moment, NULL);
	}
}

// SLOTS may have several names, of one type: the first one counts.
static void add(struct walk *w, uintptr_t address, const char *name, uint64_t hash)
{
	uint64_t *known = address ? set_find(&told, address) : NULL;

	if (!known) {
		w->cut |= address != 0;
		return;
	}
	if (*known == hash || *known == NO_NAME)
		return;
	uint64_t next = *known ? NO_NAME : hash;
	if (tell(w, address, next == NO_NAME ? "" : name))
		*known = next;
	else
		w->cut = true;
}

static bool is_a(py_object o, const char *type)
{
	return python_api_type(o) == (py_object)type;
}

static bool is_module(py_object o)
{
	return is_a(o, python_api.PyModule_Type) ||
	       python_api.PyType_IsSubtype(python_api_type(o), (py_object)python_api.PyModule_Type);
}

// PyCFunctionObject: definition, self, module.
static const struct python_method *method_of(py_object function)
{
	return (const struct python_method *)python_api_word(function, 0);
}

static void add_function(struct walk *w, py_object function)
{
	const struct python_method *method = method_of(function);
	py_object self = (py_object)python_api_word(function, 1);
	const char *module = python_api_text((py_object)python_api_word(function, 2));
	char name[PYTHON_NAME_BYTES];

	if (self && !is_module(self))
		return; // a method of some object: its type tells it
	if (module)
		snprintf(name, sizeof(name), "{built-in method %s.%s}", module, method->name);
	else
		snprintf(name, sizeof(name), "{built-in method %s}", method->name);
	add(w, (uintptr_t)method->function, name, hash_text(name));
}

// A dictionary that no other thread changes meanwhile: without a GIL, a copy. NULL if there is
// none.
static py_object hold_still(py_object dict)
{
	if (!dict || !python_api_runtime->layout.free_threaded)
		return dict;
	py_object copy = python_api.PyDict_Copy(dict);
	if (!copy)
		python_api.PyErr_Clear();
	return copy;
}

static void let_go(py_object held)
{
	if (held && python_api_runtime->layout.free_threaded)
		python_api.Py_DecRef(held);
}

static void visit_module(struct walk *w, py_object module)
{
	py_object dict = is_module(module) ? hold_still(python_api.PyModule_GetDict(module)) : NULL;
	py_object key, value;
	intptr_t at = 0;

	while (dict && python_api.PyDict_Next(dict, &at, &key, &value))
		if (is_a(value, python_api.PyCFunction_Type))
			add_function(w, value);
	let_go(dict);
}

// PyDescrObject: type, name, qualified name; then the definition. Those of the class itself are
// called without it.
static void add_method(struct walk *w, py_object descriptor, bool of_class)
{
	const struct python_method *method =
		(const struct python_method *)python_api_word(descriptor, 3);
	char name[PYTHON_NAME_BYTES];

	if (of_class)
		snprintf(name, sizeof(name), "{built-in method %s}", method->name);
	else
		python_api_method_name(name, descriptor, method->name);
	add(w, (uintptr_t)method->function, name, hash_text(name));
}

static void add_static(struct walk *w, py_object holder)
{
	py_object function = (py_object)python_api_word(holder, 0);
	char name[PYTHON_NAME_BYTES];

	if (!function || !is_a(function, python_api.PyCFunction_Type))
		return;
	snprintf(name, sizeof(name), "{built-in method %s}", method_of(function)->name);
	add(w, (uintptr_t)method_of(function)->function, name, hash_text(name));
}

// The object that holds the interpreter's loop.
static int find_interpreter(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!loaded_holds(info, python_api_runtime->eval_start))
		return 0;
	interpreter = loaded_span(info);
	return 1;
}

static bool is_interpreters(uintptr_t address)
{
	struct loader_lock lock;

	if (!interpreter.start && loader_lock_soon(&lock)) {
		loader_each(find_interpreter, NULL);
		loader_unlock(&lock);
	}
	return address >= interpreter.start && address < interpreter.end;
}

static bool is_comparison(const char *name)
{
	static const char *const names[] = { "__lt__", "__le__", "__eq__",
		                             "__ne__", "__gt__", "__ge__" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

// What stands behind an operator; cProfile has these in their callers. After the name: what the
// wrapper is, then the function.
static void add_slot(struct walk *w, py_object descriptor)
{
	const char *type = python_api_type_name((py_object)python_api_word(descriptor, 0));
	const char *operation = python_api_text((py_object)python_api_word(descriptor, 1));
	uintptr_t address = python_api_word(descriptor, 4);
	uint64_t *known;
	char name[PYTHON_NAME_BYTES];

	if (!operation || is_interpreters(address))
		return;
	known = set_find(&told, address);
	if (!known || *known == hash_text(type))
		return;
	if (is_comparison(operation))
		snprintf(name, sizeof(name), "{comparison of '%s' objects}", type);
	else
		snprintf(name, sizeof(name), "{slot '%s' of '%s' objects}", operation, type);
	add(w, address, name, hash_text(type));
}

static void add_member(struct walk *w, py_object value)
{
	if (is_a(value, python_api.PyMethodDescr_Type))
		add_method(w, value, false);
	else if (is_a(value, python_api.PyClassMethodDescr_Type))
		add_method(w, value, true);
	else if (is_a(value, python_api.PyWrapperDescr_Type))
		add_slot(w, value);
	else if (is_a(value, python_api.PyStaticMethod_Type))
		add_static(w, value);
}

// A new reference.
static py_object dict_of(py_object type)
{
	py_object dict;

	if (python_api.PyType_GetDict) {
		dict = python_api.PyType_GetDict(type);
	} else {
		dict = (py_object)python_api_word(type, TYPE_DICT);
		if (dict)
			python_api.Py_IncRef(dict);
	}
	py_object held = hold_still(dict);
	if (held != dict)
		python_api.Py_DecRef(dict);
	return held;
}

static void visit_type(struct walk *w, py_object type)
{
	py_object dict = dict_of(type);
	py_object key, value;
	intptr_t at = 0;

	if (dict && is_a(dict, python_api.PyDict_Type))
		while (python_api.PyDict_Next(dict, &at, &key, &value))
			add_member(w, value);
	if (dict)
		python_api.Py_DecRef(dict);
}

static bool is_late(const struct walk *w)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > w->until_ns;
}

// TYPE and all below it. SUBCLASSES is type.__subclasses__, which no class can change.
static void visit_types(struct walk *w, py_object type, py_object subclasses, unsigned depth)
{
	uint64_t *walk = set_find(&visited, (uintptr_t)type);

	if (!walk || depth == DEPTH_MAX || is_late(w)) {
		w->cut = true;
		return;
	}
	if (*walk == walks)
		return;
	*walk = walks;
	visit_type(w, type);
	py_object list = python_api.PyObject_CallFunctionObjArgs(subclasses, type, NULL);
	if (!list) {
		python_api.PyErr_Clear();
		return;
	}
	for (intptr_t i = 0; i < python_api.PyList_Size(list) && !w->cut; i++)
		visit_types(w, python_api.PyList_GetItem(list, i), subclasses, depth + 1);
	python_api.Py_DecRef(list);
}

static void visit_all_types(struct walk *w)
{
	py_object subclasses = python_api.PyObject_GetAttrString((py_object)python_api.PyType_Type,
	                                                         "__subclasses__");

	if (subclasses)
		visit_types(w, (py_object)python_api.PyBaseObject_Type, subclasses, 0);
	else
		python_api.PyErr_Clear();
	if (subclasses)
		python_api.Py_DecRef(subclasses);
}

static void visit_modules(struct walk *w, py_object modules)
{
	py_object held = hold_still(modules), key, value;
	intptr_t at = 0;

	while (held && python_api.PyDict_Next(held, &at, &key, &value) && !w->cut) {
		visit_module(w, value);
		w->cut |= is_late(w);
	}
	let_go(held);
}

// Of a program that is too short for a walk: what a start and a compiler spend their time in.
static void visit_few(struct walk *w, py_object modules)
{
	static const char *const names[] = { "builtins", "_imp", "marshal", "_io", "time" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		py_object module = python_api.PyDict_GetItemString(modules, names[i]);
		if (module)
			visit_module(w, module);
	}
}

// Children that have ended were part of the work, and had the same libraries.
static uint64_t cpu_ns(void)
{
	struct rusage children;

	if (getrusage(RUSAGE_CHILDREN, &children) < 0)
		children = (struct rusage){ 0 };
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       (uint64_t)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * NS_PER_US;
}

static bool is_worth_it(py_object modules)
{
	intptr_t count = python_api.PyDict_Size(modules);
	uint64_t cost = LEAST_NS + (uint64_t)count * MODULE_NS;

	if (count - modules_seen <= modules_seen / GROWTH ||
	    (spent_ns + cost) * COST_SHARE > cpu_ns())
		return false;
	modules_seen = count;
	return true;
}

void python_names_walk(struct agent *a, bool last)
{
	py_object modules = python_api.PyImport_GetModuleDict();
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct walk w = { a, cpu + WALK_NS, clock_now_ns() + WAIT_NS, last, false };

	if (!is_worth_it(modules)) {
		if (last && !walks)
			visit_few(&w, modules);
		return;
	}
	walks++;
	visit_modules(&w, modules);
	visit_all_types(&w);
	spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (w.cut && last)
		op_say("some of Python's C functions have no names of Python's: there were "
		       "too many");
}
