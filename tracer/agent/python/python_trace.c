// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_trace.h"

#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_events.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/table.h"
#include "tracer/agent/trace/pattern.h"
#include "tracer/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FUNCTIONS_MAX 4096
#define NAME_BYTES    252

struct function {
	uint32_t number; // from 1 on
	char name[NAME_BYTES];
};

static struct agent *agent;
AGENT_TABLE static struct patterns patterns;
static struct function *functions; // [number - 1]
static uint32_t count;             // atomic
static intptr_t extra_index = -1;
static char unwanted; // its address: what a function has as its extra that nobody asks for

static bool is_source(const char *glob)
{
	return *glob == '<' || strstr(glob, ".py");
}

static bool wants_python(const struct pattern *pattern)
{
	return !pattern->library || is_source(pattern->library);
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1] ? dot + 1 : name;
}

// Where names are bare, "Net.forward" is any forward(); but "Net.*" is not everything.
static bool is_named(const struct pattern *pattern, const char *name)
{
	const char *last = last_part(pattern->name);

	if (pattern_glob(pattern->name, name) || pattern_glob(pattern->name, last_part(name)))
		return true;
	return python_api_runtime->layout.version < PYTHON_VERSION(11) && strcmp(last, "*") != 0 &&
	       pattern_glob(last, name);
}

// Index of the pattern that asks for CODE; PATTERNS_MAX: none does.
static uint32_t find_pattern(py_object code, const char *name)
{
	const char *file = python_events_text(code, python_api_runtime->layout.code_file);

	for (uint32_t i = 0; i < patterns.count; i++)
		if (wants_python(&patterns.of[i]) && pattern_is_for(&patterns.of[i], file) &&
		    is_named(&patterns.of[i], name))
			return i;
	return PATTERNS_MAX;
}

static void tell(uint32_t pattern, enum patch_reason reason, const char *name)
{
	size_t name_bytes = strnlen(name, NAME_BYTES - 1) + 1;
	size_t bytes = record_align(sizeof(struct record_patch) + name_bytes);
	struct lane *lane = op_take_lane();
	struct record_patch *record =
		lane ? (struct record_patch *)agent_reserve(agent, lane, RECORD_PATCH, bytes)
		     : NULL;

	if (record) {
		record->function = record->start = record->slots = record->slots_size = 0;
		record->size = 1;
		record->row_count = 0;
		record->pattern = (uint8_t)pattern;
		record->reason = (uint8_t)reason;
		memcpy(record + 1, name, name_bytes - 1);
		((char *)(record + 1))[name_bytes - 1] = '\0';
		lane_commit(lane, &record->head, bytes);
	}
	if (lane)
		op_give_lane();
}

// NULL: there is no room.
static struct function *add(const char *name)
{
	uint32_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);

	if (number > FUNCTIONS_MAX) {
		__atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	struct function *f = &functions[number - 1];
	f->number = number;
	strncpy(f->name, name, NAME_BYTES - 1);
	return f;
}

// What CODE has as its extra from now on.
static __attribute__((noinline)) void *judge(py_object code)
{
	const char *name = python_events_text(code, python_api_runtime->layout.code_name);
	uint32_t pattern = find_pattern(code, name);
	struct function *f = pattern < PATTERNS_MAX ? add(name) : NULL;
	void *extra = f ? (void *)f : &unwanted;

	python_events_meet(code);
	if (f)
		tell(pattern, PATCH_PYTHON, "");
	else if (pattern < PATTERNS_MAX)
		tell(pattern, PATCH_MANY, "");
	if (python_api.set_code_extra(code, extra_index, extra) < 0) {
		python_api.PyErr_Clear();
		return &unwanted;
	}
	return extra;
}

static inline struct function *find(py_object code)
{
	void *extra = NULL;

	if (python_api.get_code_extra(code, extra_index, &extra) < 0)
		python_api.PyErr_Clear();
	if (!extra)
		extra = judge(code);
	return extra == &unwanted ? NULL : extra;
}

static bool begins(py_object code, struct op_here here)
{
	const struct function *f = find(code);
	uint64_t values[1];
	struct op_details details = { OP_DETAIL_NONE, 0, values };
	struct op_thread *t = f && agent->on ? op_enter() : NULL;

	if (!t)
		return f != NULL;
	uint32_t name = op_name(t, OP_TRACE, 0, f->name);
	python_callers_tell_outer(t, &details, values);
	details.kind |= OP_DETAIL_PYTHON;
	op_begin_in(t, OP_OWNER(OP_TRACE, f->number), name, here, &details);
	op_leave(t);
	return true;
}

static bool ends(py_object code)
{
	const struct function *f = find(code);
	struct op_thread *t = f && agent->on ? op_enter() : NULL;

	if (!t)
		return f != NULL;
	op_end_in(t, OP_OWNER(OP_TRACE, f->number));
	op_leave(t);
	return true;
}

static bool is_wanted(void)
{
	for (uint32_t i = 0; i < patterns.count; i++)
		if (wants_python(&patterns.of[i]))
			return true;
	return false;
}

static bool take_memory(void)
{
	void *memory = mmap(NULL, FUNCTIONS_MAX * sizeof(*functions), PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory != MAP_FAILED)
		functions = memory;
	return functions;
}

bool python_trace_start(struct agent *a)
{
	static const struct python_listener listener = { .begins = begins, .ends = ends };
	const char *wanted = getenv(PROTOCOL_ENV_TRACE);

	if (!op_is_on(OP_TRACE) || !wanted || !patterns_parse(&patterns, wanted) || !is_wanted())
		return false;
	if (python_api.request_code_extra && python_api.get_code_extra &&
	    python_api.set_code_extra && take_memory())
		extra_index = python_api.request_code_extra(NULL);
	if (extra_index < 0) {
		op_say("functions of Python's are not traced: the interpreter does not "
		       "let us");
		return false;
	}
	agent = a;
	python_events_add(&listener);
	return true;
}

void python_trace_check(void)
{
	if (agent && python_events_lost())
		op_say("the program has set a profile function of its own: calls of "
		       "Python's functions are missing from then on");
}
