// SPDX-License-Identifier: MIT
#include "tracer/agent/python/torch_modules.h"

#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MODULES     8192 // a power of two
#define TRIED       16
#define ROOTS       64 // modules that no other holds
#define RUNNING_MAX 64
#define DEPTH_MAX   32
#define TEXT_BYTES  256
#define TYPE_NAME   1 // words behind the head of a type, which has a size

AGENT_TABLE static struct module {
	uint64_t key;   // atomic; 0: free
	uint32_t told;  // atomic: in which generation, by its class at least
	uint32_t named; // atomic: by its way
	uint32_t root;  // the how many-th of its class that no other holds; 0: not known to be
} modules[MODULES];     // [number - 1]

static uint32_t generation = 1; // of processes: one more in a forked child
static int asked;               // atomic: a look is on its way
static bool unnamed;            // atomic: there is something to name
static struct agent *agent;

// How many there were of one class.
static struct root {
	uintptr_t type;
	uint32_t count;
} roots[ROOTS];

void torch_modules_fork(void)
{
	generation++;
	asked = 0;
}

static struct module *find(uintptr_t address, uintptr_t type)
{
	uint64_t key = hash_pair(address, type) | 1;

	for (uint32_t i = 0; i < TRIED; i++) {
		struct module *m = &modules[((key >> 32) + i) % MODULES];
		uint64_t known = __atomic_load_n(&m->key, __ATOMIC_RELAXED);
		if (known == key ||
		    (!known && (__atomic_compare_exchange_n(&m->key, &known, key, false,
		                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		                known == key)))
			return m;
	}
	return NULL;
}

static uint32_t number_of(const struct module *m)
{
	return (uint32_t)(m - modules) + 1;
}

static bool write_module(const struct agent *a, struct lane *lane, const struct module *m,
                         const char *text)
{
	size_t length = strnlen(text, TEXT_BYTES);
	size_t size = record_align(sizeof(struct record_torch_module) + length + 1);
	struct record_torch_module *record = NULL;

	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(lane) >= 2 * size)
		record = (struct record_torch_module *)agent_reserve(a, lane, RECORD_TORCH_MODULE,
		                                                     size);
	if (!record)
		return false;
	record->number = number_of(m);
	memcpy(record + 1, text, length);
	lane_commit(lane, &record->head, size);
	return true;
}

uint32_t torch_modules_number(const struct agent *a, struct lane *lane, uintptr_t address,
                              uintptr_t type, const char *class_name)
{
	struct module *m = find(address, type);

	if (!m)
		return 0;
	if (__atomic_load_n(&m->named, __ATOMIC_RELAXED) != generation)
		__atomic_store_n(&unnamed, true, __ATOMIC_RELAXED);
	if (__atomic_load_n(&m->told, __ATOMIC_RELAXED) == generation)
		return number_of(m);
	if (!write_module(a, lane, m, class_name))
		return 0;
	__atomic_store_n(&m->told, generation, __ATOMIC_RELAXED);
	return number_of(m);
}

// Names.

static const char *class_of(py_object module)
{
	return (const char *)python_api_word(python_api_type(module), TYPE_NAME);
}

static bool name(py_object module, const char *text)
{
	struct module *m = find((uintptr_t)module, (uintptr_t)python_api_type(module));
	struct lane *lane = m ? op_take_lane() : NULL;

	if (!lane)
		return false;
	bool done = write_module(agent, lane, m, text);
	op_give_lane();
	if (!done)
		return false;
	__atomic_store_n(&m->told, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&m->named, generation, __ATOMIC_RELAXED);
	return true;
}

static bool is_named(py_object module)
{
	const struct module *m = find((uintptr_t)module, (uintptr_t)python_api_type(module));

	return !m || __atomic_load_n(&m->named, __ATOMIC_RELAXED) == generation;
}

// What MODULE holds, a new reference; NULL: nothing that is known.
static py_object held_by(py_object module)
{
	py_object held = python_api.PyObject_GetAttrString(module, "_modules");

	if (!held) {
		python_api.PyErr_Clear();
		return NULL;
	}
	if (!python_api.PyType_IsSubtype(python_api_type(held),
	                                 (py_object)python_api.PyDict_Type)) {
		python_api.Py_DecRef(held);
		return NULL;
	}
	py_object copy = python_api.PyDict_Copy(held); // another thread may change it
	python_api.Py_DecRef(held);
	if (!copy)
		python_api.PyErr_Clear();
	return copy;
}

static void name_held(py_object module, const char *path, unsigned depth)
{
	py_object held = depth < DEPTH_MAX ? held_by(module) : NULL;
	py_object key, value;
	intptr_t at = 0;
	char own[TEXT_BYTES], text[2 * TEXT_BYTES];

	while (held && python_api.PyDict_Next(held, &at, &key, &value)) {
		if (value == (py_object)python_api._Py_NoneStruct || is_named(value))
			continue;
		const char *attribute = python_api.PyUnicode_AsUTF8AndSize(key, NULL);
		if (!attribute) {
			python_api.PyErr_Clear();
			continue;
		}
		snprintf(own, sizeof(own), "%s.%s", path, attribute);
		snprintf(text, sizeof(text), "%s (%s)", own, class_of(value));
		if (!name(value, text))
			break;
		name_held(value, own, depth + 1);
	}
	if (held)
		python_api.Py_DecRef(held);
}

static uint32_t count_root(uintptr_t type)
{
	for (unsigned i = 0; i < ROOTS; i++) {
		if (roots[i].type && roots[i].type != type)
			continue;
		roots[i].type = type;
		return ++roots[i].count;
	}
	return 1;
}

static void name_root(py_object module)
{
	char text[TEXT_BYTES];
	uintptr_t type = (uintptr_t)python_api_type(module);
	struct module *m = find((uintptr_t)module, type);

	if (m && !m->root)
		m->root = count_root(type); // in a forked child, too
	if (!m || m->root == 1)
		snprintf(text, sizeof(text), "%s", class_of(module));
	else
		snprintf(text, sizeof(text), "%s#%u", class_of(module), m->root);
	if (name(module, text))
		name_held(module, text, 0);
}

// What runs is alive. The outermost holds most of the others.
static int look(void *unused)
{
	uintptr_t running[RUNNING_MAX];
	int error = errno;

	(void)unused;
	for (uint32_t i = python_callers_modules(running, RUNNING_MAX); i > 0; i--)
		if (!is_named((py_object)running[i - 1]))
			name_root((py_object)running[i - 1]);
	__atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
	errno = error;
	return 0;
}

void torch_modules_ask(struct agent *a)
{
	if (!__atomic_load_n(&unnamed, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&asked, 1, __ATOMIC_ACQUIRE))
		return;
	agent = a;
	__atomic_store_n(&unnamed, false, __ATOMIC_RELAXED);
	if (!python_api_ask(look))
		__atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
}
