// SPDX-License-Identifier: MIT
/*
 * --trace: functions of the program's own become ops, by patching them in memory.
 *
 * All objects that are there when the program begins are looked through, and each that comes later
 * as soon as the loader has it in memory, before any of its code runs.
 */
#include "base/hash.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/table.h"
#include "tracer/agent/task_list.h"
#include "tracer/agent/trace/pattern.h"
#include "tracer/agent/trace/trace_calls.h"
#include "tracer/agent/trace/trace_object.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef __x86_64__

#define OBJECTS_MAX 1024
#define PATH_BYTES  4096

// ld.so's own, as debuggers use it; musl's program has none.
// NOLINTNEXTLINE(readability-redundant-declaration): weak here
extern struct r_debug _r_debug __attribute__((weak));

struct look {
	bool loading; // the loader has just mapped what is new: its code has not run
	bool alone;   // there is but one thread
	uint64_t loads, unloads;
};

static struct agent *agent; // NULL: nothing is traced
AGENT_TABLE static struct patterns patterns;
AGENT_TABLE static struct trace_object objects[OBJECTS_MAX];
static uint32_t object_count;
static uint64_t loads, unloads; // the loader's counts at the last look
static int looking;             // atomic

static bool is_alone(void)
{
	uint32_t count;

	return task_list_count(&count) && count <= 1;
}

static struct trace_object *find(const struct trace_object *wanted)
{
	for (uint32_t i = 0; i < object_count; i++)
		if (objects[i].start == wanted->start && objects[i].end == wanted->end &&
		    objects[i].name == wanted->name)
			return &objects[i];
	return NULL;
}

// The agent itself, the loader, and the kernel's.
static bool is_ours(const struct dl_phdr_info *info)
{
	uintptr_t kernels = getauxval(AT_SYSINFO_EHDR);

	return loaded_holds(info, (uintptr_t)&is_ours) ||
	       (&_r_debug && loaded_holds(info, _r_debug.r_brk)) ||
	       (kernels && loaded_holds(info, kernels));
}

static void patch(const struct look *look, const struct dl_phdr_info *info,
                  struct trace_object *object)
{
	char path[PATH_BYTES];
	bool program = !info->dlpi_name || !*info->dlpi_name;
	const char *name = info->dlpi_name;

	if (program) {
		ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
		path[length > 0 ? length : 0] = '\0';
		name = path;
	}
	if (!patterns_want(&patterns, name))
		return;
	struct trace_patcher patcher = {
		.agent = agent,
		.patterns = &patterns,
		// Before its own constructors, which come last, nobody calls the program.
		.safe = look->alone || look->loading || (program && !loads),
	};
	trace_object_patch(&patcher, info, name, object);
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;
	struct loaded_span span = loaded_span(info);
	struct trace_object object = { .start = span.start, .end = span.end, .seen = true };

	(void)size;
	look->loads = info->dlpi_adds;
	look->unloads = info->dlpi_subs;
	if (look->loads == loads && look->unloads == unloads)
		return 1; // the first object tells: no more of them are asked for
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	object.name = hash_bytes(name, strlen(name));
	struct trace_object *known = find(&object);
	if (known) {
		known->seen = true;
		return 0;
	}
	if (object_count == OBJECTS_MAX || object.end <= object.start || is_ours(info))
		return 0;
	patch(look, info, &object);
	objects[object_count++] = object;
	return 0;
}

static void look_around(bool loading)
{
	struct look look = { .loading = loading, .alone = is_alone() };

	for (uint32_t i = 0; i < object_count; i++)
		objects[i].seen = false;
	if (loader_each(visit, &look) && look.loads == loads && look.unloads == unloads)
		return;
	for (uint32_t i = object_count; i-- > 0;) {
		if (objects[i].seen)
			continue;
		trace_object_forget(&objects[i]);
		objects[i] = objects[--object_count];
	}
	loads = look.loads;
	unloads = look.unloads;
}

// In a vfork child the memory is its parent's.
static void look_if_idle(bool loading)
{
	struct loader_lock lock;

	if (!agent->on || agent->pid != (uint32_t)getpid() ||
	    __atomic_exchange_n(&looking, 1, __ATOMIC_ACQUIRE))
		return;
	// A child has its functions patched, or not.
	if (loader_lock_soon(&lock)) {
		look_around(loading);
		loader_unlock(&lock);
	}
	__atomic_store_n(&looking, 0, __ATOMIC_RELEASE);
}

// What is being loaded is there only when the loader says so the second time.
static void on_loader(void)
{
	if (_r_debug.r_state == RT_CONSISTENT)
		look_if_idle(true);
}

static void look_now(void *argument)
{
	(void)argument;
	look_if_idle(false);
}

static void look_before_thread(void)
{
	int error = errno;

	if (agent)
		trace_untraced(look_now, NULL);
	errno = error;
}

static void fork_child(void)
{
	looking = 0;
}

static int hook_loader(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	return loaded_holds(info, _r_debug.r_brk) && trace_object_hook(info, _r_debug.r_brk);
}

AGENT_SETUP static void start(struct agent *a)
{
	const char *wanted = getenv(PROTOCOL_ENV_TRACE);

	if (!op_is_on(OP_TRACE) || !wanted || !patterns_parse(&patterns, wanted) || !patterns.count)
		return;
	agent = a;
	trace_calls_start(on_loader);
	threads_at_end(trace_calls_thread_end);
	if (&_r_debug && _r_debug.r_brk)
		loader_each(hook_loader, NULL);
	look_before_thread();
}

#endif

const struct agent_provider function_provider = {
#ifdef __x86_64__
	.start = start,
	.before_thread = look_before_thread,
	.fork = fork_child,
#endif
};
