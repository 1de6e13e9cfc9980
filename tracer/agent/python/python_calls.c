// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_calls.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_events.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/python/python_tally.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define WAIT_NS     (200 * NS_PER_MS) // for room in the ring, at the end
#define RECORD_ROOM ((size_t)4 << 10) // python_code_number() sees to its own
#define C_MAX       ((uint32_t)1 << 16)
#define C_SLOTS     (2 * C_MAX) // a power of two
#define SPINS       1000        // for what takes some nanoseconds
#define SELF        1           // words of a PyCFunctionObject
#define MODULE      2
#define OWNER       0 // and of a descriptor

/*
 * A C function, by its definition. One that a library has made and freed may have left its place to
 * another one.
 */
struct c_function {
	const struct python_method *definition;
	const char *text; // where its name is; not read again
	void *function;
	char name[PYTHON_NAME_BYTES];
};

/* Numbers of functions: those of code, then those of C functions. */
struct functions {
	uintptr_t codes[PYTHON_CODES_MAX]; // [number - 1]: a code object that has it
	struct c_function c[C_MAX];        // [number - 1 - PYTHON_CODES_MAX]
	uint32_t slots[C_SLOTS];           // atomic: index + 1 in C; 0: free
	uint32_t count;                    // of C
	bool busy;                         // atomic: somebody adds one
};

static struct functions *functions; // most of it is never touched
static intptr_t extra_index = -1;
static struct agent *agent;
static bool lacking; // atomic: a call was not counted

static void lack(void)
{
	__atomic_store_n(&lacking, true, __ATOMIC_RELAXED);
}

// Names of C functions, as cProfile has them.

// What the type of SELF has by that name, which is looked up without running code of the program.
static py_object look_up(py_object self, const char *name)
{
	py_object text =
		python_api._PyType_Lookup ? python_api.PyUnicode_InternFromString(name) : NULL;
	py_object found = text ? python_api._PyType_Lookup(python_api_type(self), text) : NULL;

	if (text)
		python_api.Py_DecRef(text);
	python_api.PyErr_Clear();
	return found;
}

static bool name_by_type(char name[PYTHON_NAME_BYTES], py_object self, const char *method)
{
	py_object found = look_up(self, method);
	py_object type = found ? python_api_type(found) : NULL;

	if (!found)
		return false;
	if (type == (py_object)python_api.PyMethodDescr_Type ||
	    type == (py_object)python_api.PyClassMethodDescr_Type) {
		python_api_method_name(name, found, method);
		return true;
	}
	if (type == (py_object)python_api.PyWrapperDescr_Type) {
		snprintf(name, PYTHON_NAME_BYTES, "{slot wrapper '%s' of '%s' objects}", method,
		         python_api_type_name((py_object)python_api_word(found, OWNER)));
		return true;
	}
	py_object of = type == (py_object)python_api.PyCFunction_Type
	                       ? (py_object)python_api_word(found, SELF)
	                       : NULL;
	// cProfile adds an address, which no two runs share.
	if (of)
		snprintf(name, PYTHON_NAME_BYTES, "{built-in method %s of %s object}", method,
		         python_api_type_name(python_api_type(of)));
	return of != NULL;
}

static void write_name(char name[PYTHON_NAME_BYTES], py_object function, const char *method)
{
	if (python_api_type(function) == (py_object)python_api.PyMethodDescr_Type) {
		python_api_method_name(name, function, method);
		return;
	}
	py_object self = (py_object)python_api_word(function, SELF);
	const char *module = python_api_text((py_object)python_api_word(function, MODULE));
	const char *dot = module ? "." : "";
	if (!self && module && strcmp(module, "builtins") == 0)
		module = dot = "";
	if (!self)
		snprintf(name, PYTHON_NAME_BYTES, "{%s%s%s}", module ? module : "", dot, method);
	else if (!name_by_type(name, self, method))
		snprintf(name, PYTHON_NAME_BYTES, "{built-in method %s%s%s}", module ? module : "",
		         dot, method);
}

static bool is_same(const struct c_function *c, const struct python_method *definition)
{
	return c->definition == definition && c->text == definition->name &&
	       c->function == definition->function;
}

static inline uint32_t number_of_c(uint32_t index)
{
	return PYTHON_CODES_MAX + index;
}

// Index + 1; 0 if there is no room, or somebody else is at it for long.
static __attribute__((noinline)) uint32_t add_c(py_object function, uint32_t at)
{
	const struct python_method *definition = python_events_method(function);
	bool free_threaded = python_api_runtime->layout.free_threaded;
	uint32_t index = 0;

	for (unsigned spins = 0;
	     free_threaded && __atomic_test_and_set(&functions->busy, __ATOMIC_ACQUIRE); spins++)
		if (spins == SPINS)
			return 0;
	if (functions->count < C_MAX) {
		struct c_function *c = &functions->c[functions->count];
		*c = (struct c_function){ definition, definition->name, definition->function, "" };
		write_name(c->name, function, definition->name);
		index = ++functions->count;
		// Another thread may have taken the slot: then both are told, by one name.
		__atomic_store_n(&functions->slots[at], index, __ATOMIC_RELEASE);
	}
	if (free_threaded)
		__atomic_clear(&functions->busy, __ATOMIC_RELEASE);
	return index;
}

static inline uint32_t find_c(py_object function)
{
	const struct python_method *definition = python_events_method(function);
	uint32_t at = (uint32_t)hash_mix((uintptr_t)definition) % C_SLOTS, index;

	for (;; at = (at + 1) % C_SLOTS) {
		index = __atomic_load_n(&functions->slots[at], __ATOMIC_ACQUIRE);
		if (!index || functions->c[index - 1].definition == definition)
			break;
	}
	if (!index || !is_same(&functions->c[index - 1], definition))
		index = add_c(function, at);
	return index ? number_of_c(index) : 0;
}

// Functions of Python's.

static void tell_code(uint32_t number)
{
	struct guard guard = { 0 };
	struct lane *lane = op_take_lane();

	if (lane)
		python_code_number(python_api_runtime, &guard, agent, lane,
		                   functions->codes[number - 1]);
	if (lane)
		op_give_lane();
}

// The code object dies, and what it is called must be known by then.
static void drop(void *extra)
{
	uint32_t number = (uint32_t)(uintptr_t)extra;
	int error = errno;

	if (number && agent && agent->on && !python_code_is_told(number))
		tell_code(number);
	errno = error;
}

static __attribute__((noinline)) uint32_t add_code(py_object code)
{
	struct guard guard = { 0 };
	uint32_t number = python_code_find(python_api_runtime, &guard, (uintptr_t)code);

	if (!number)
		return 0;
	functions->codes[number - 1] = (uintptr_t)code;
	if (!python_code_is_told(number))
		tell_code(number);
	if (python_api.set_code_extra(code, extra_index, (void *)(uintptr_t)number) < 0)
		python_api.PyErr_Clear(); // the next call tries again
	python_events_meet(code);
	return number;
}

static inline uint32_t find_code(py_object code)
{
	void *extra = NULL;

	if (python_api.get_code_extra(code, extra_index, &extra) < 0)
		python_api.PyErr_Clear();
	return extra ? (uint32_t)(uintptr_t)extra : add_code(code);
}

// What the interpreter tells.

static bool begins(py_object code, struct op_here here)
{
	uint32_t function = find_code(code);

	(void)here;
	if (function)
		tally_begin(function, (uintptr_t)code);
	else
		lack();
	return true;
}

static bool ends(py_object code)
{
	tally_end((uintptr_t)code);
	return true;
}

static void calls(py_object function)
{
	uint32_t number = find_c(function);

	if (number)
		tally_begin(number, (uintptr_t)python_events_method(function));
	else
		lack();
}

static void returns(py_object function)
{
	tally_end((uintptr_t)python_events_method(function));
}

bool python_calls_start(struct agent *a)
{
	static const struct python_listener listener = { begins, ends, calls, returns };
	void *memory;

	agent = a;
	if (!python_api.request_code_extra || !python_api.get_code_extra ||
	    !python_api.set_code_extra)
		return false;
	memory = mmap(NULL, sizeof(*functions), PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	functions = memory;
	extra_index = python_api.request_code_extra(drop);
	if (extra_index >= 0)
		python_events_add(&listener);
	return extra_index >= 0;
}

void python_calls_check(void)
{
	if (python_events_lost())
		lack();
}

// What the collector is told.

static const char *c_name(uint32_t function)
{
	return function > PYTHON_CODES_MAX ? functions->c[function - PYTHON_CODES_MAX - 1].name
	                                   : NULL;
}

// One that is told in this process; false if it cannot be.
static bool is_known(uint32_t function)
{
	if (!function || function > PYTHON_CODES_MAX || python_code_is_told(function))
		return true;
	tell_code(function);
	return python_code_is_told(function);
}

static bool write_calls(struct lane *lane, const struct record_python_calls *of, const char *name,
                        const char *caller)
{
	size_t name_bytes = name ? strlen(name) + 1 : 0;
	size_t caller_bytes = caller ? strlen(caller) + 1 : 0;
	size_t size = record_align(sizeof(*of) + name_bytes + caller_bytes);
	struct record_python_calls *record = NULL;

	if (lane_room(lane) > RECORD_ROOM)
		record = (struct record_python_calls *)lane_reserve(lane, agent->rings.by_populate,
		                                                    size);
	if (!record)
		return false;
	memset(record, 0, size);
	*record = *of;
	record->head = (struct record){ .type = RECORD_PYTHON_CALLS,
		                        .pid = agent->pid,
		                        .tid = lane->tid,
		                        .time_ns = clock_now_ns() };
	record->name_bytes = (uint16_t)name_bytes;
	record->caller_bytes = (uint16_t)caller_bytes;
	if (name)
		memcpy(record + 1, name, name_bytes);
	if (caller)
		memcpy((char *)(record + 1) + name_bytes, caller, caller_bytes);
	lane_commit(lane, &record->head, size);
	return true;
}

static bool write_tally(struct lane *lane, const struct tally *t, uint64_t made, uint64_t recursive)
{
	uint32_t caller = t->caller == TALLY_ALL ? 0 : t->caller;
	const struct record_python_calls record = {
		.calls = made,
		.recursive = recursive,
		.code = t->callee > PYTHON_CODES_MAX ? 0 : t->callee,
		.caller = caller > PYTHON_CODES_MAX ? 0 : caller,
		.has_caller = caller != 0,
	};

	return write_calls(lane, &record, c_name(t->callee), c_name(caller));
}

static bool tell(struct tally *t)
{
	uint64_t recursive = __atomic_load_n(&t->recursive, __ATOMIC_RELAXED);
	uint64_t made = __atomic_load_n(&t->calls, __ATOMIC_RELAXED);

	if (made == t->told_calls)
		return true;
	// Without a GIL one more may have come between the two.
	if (recursive - t->told_recursive > made - t->told_calls)
		recursive = t->told_recursive + (made - t->told_calls);
	if (!is_known(t->callee) || !is_known(t->caller == TALLY_ALL ? 0 : t->caller))
		return false;
	struct lane *lane = op_take_lane();
	bool done =
		lane && write_tally(lane, t, made - t->told_calls, recursive - t->told_recursive);
	if (lane)
		op_give_lane();
	if (done) {
		t->told_calls = made;
		t->told_recursive = recursive;
	}
	return done;
}

struct telling {
	uint64_t until_ns;
	bool last;
};

static bool visit(void *context, struct tally *t)
{
	const struct telling *telling = context;
	struct timespec moment = { 0, NS_PER_MS };

	while (!tell(t)) {
		if (!telling->last)
			return true;
		if (clock_now_ns() > telling->until_ns) {
			lack();
			return true; // others may find room
		}
		nanosleep(&moment, NULL);
	}
	return true;
}

static void write_end(void)
{
	const struct record_python_calls record = { 0 };
	struct lane *lane = op_take_lane();

	if (!lane)
		return;
	if (!__atomic_load_n(&lacking, __ATOMIC_RELAXED) && !tally_is_lacking())
		write_calls(lane, &record, NULL, NULL);
	op_give_lane();
}

void python_calls_tell(struct agent *a, bool last)
{
	struct telling telling = { clock_now_ns() + WAIT_NS, last };

	if (extra_index < 0 || !a->config.count_calls)
		return;
	tally_each(visit, &telling);
	if (last)
		write_end();
}

void python_calls_fork(void)
{
	if (functions)
		functions->busy = false; // of a thread that the child does not have
	tally_fork();
}
