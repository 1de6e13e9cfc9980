// SPDX-License-Identifier: MIT
/*
 * The ITT provider: each binary with ITT in it gives us its list of functions, and we put ours
 * there. If the user has a collector of his own, it fills the list first, and our functions call
 * its (itt_hooks.h).
 *
 * A task is an op, and so is an event, in its thread (itt_task.c); what has an id and may overlap
 * is a range: overlapped tasks, regions, frames (itt_range.c). Metadata is a mark within the task
 * (itt_mark.c), and so is each value of a counter (itt_changes.c). What is told with times of
 * another clock is not recorded. The profile is of the whole run: from pause to resume there is a
 * range, "paused".
 */
#include "base/clock.h"
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/op/chain.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/wrap/wrap.h"

#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)
#define VERSION     "ITT-API-Version 3.0 (bottleneck)"

itt_function *itt_theirs[ITT_HOOKS];

/* Threads, clock, version. */

static void name_thread(const char *text)
{
	struct op_thread *t = text ? op_enter() : NULL;

	if (!t)
		return;
	op_thread_name(t, t->tid, text);
	op_leave(t);
}

typedef void thread_set_name(const char *text);
static void hook_thread_set_name(const char *text)
{
	thread_set_name *forward = ITT_THEIRS(thread_set_name, THREAD_SET_NAME);

	name_thread(text);
	if (unlikely(forward))
		forward(text);
}

typedef int thread_set_name_old(const char *text, int length);
static int hook_thread_set_name_old(const char *text, int length)
{
	thread_set_name_old *forward = ITT_THEIRS(thread_set_name_old, THREAD_SET_NAME_OLD);

	name_thread(text);
	return unlikely(forward) ? forward(text, length) : 0;
}

typedef unsigned long long get_timestamp(void);
static unsigned long long hook_get_timestamp(void)
{
	get_timestamp *forward = ITT_THEIRS(get_timestamp, GET_TIMESTAMP);

	return unlikely(forward) ? forward() : clock_now_ns();
}

typedef const char *api_version(void);
static const char *hook_api_version(void)
{
	api_version *forward = ITT_THEIRS(api_version, API_VERSION);

	return unlikely(forward) ? forward() : VERSION;
}

/* How we get in. */

static const struct itt_hook own_hooks[] = {
	ITT_HOOK(THREAD_SET_NAME, "__itt_thread_set_name", hook_thread_set_name),
	ITT_HOOK(THREAD_SET_NAME_OLD, "__itt_thr_name_set", hook_thread_set_name_old),
	ITT_HOOK(GET_TIMESTAMP, "__itt_get_timestamp", hook_get_timestamp),
	ITT_HOOK(API_VERSION, "__itt_api_version", hook_api_version),
	{ 0 },
};
static const struct itt_hook *hook_in(const struct itt_hook *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static const struct itt_hook *hook_called(const char *name)
{
	static const struct itt_hook *const tables[] = {
		itt_object_hooks, itt_task_hooks,    itt_range_hooks,
		itt_mark_hooks,   itt_counter_hooks, own_hooks,
	};
	const struct itt_hook *found = NULL;

	for (size_t i = 0; !found && i < sizeof(tables) / sizeof(tables[0]); i++)
		found = hook_in(tables[i], name);
	return found;
}

static bool is_known(const struct itt_global *g)
{
	static const uint8_t magic[] = ITT_MAGIC;

	return g && memcmp(g->magic, magic, sizeof(magic)) == 0 && g->major == ITT_MAJOR &&
	       g->build > ITT_BUILD_OLD && g->list;
}

typedef void api_init(struct itt_global *g, int groups);
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the API's
EXPORT void __itt_api_init(struct itt_global *g, int groups);

// Their collector finds its functions by the library that the program's part knows.
static bool initialize_theirs(struct itt_global *g, int groups)
{
	static void *library;
	static bool asked;

	chain_lock();
	if (!asked) {
		asked = true;
		library = chain_open(OP_ITT);
	}
	chain_unlock();
	api_init *init = (api_init *)chain_find(library, "__itt_api_init", (void *)__itt_api_init);
	if (!init)
		return false;
	g->library = library;
	init(g, groups);
	return true;
}

static void clear_list(const struct itt_global *g)
{
	for (struct itt_entry *e = g->list; e->name; e++)
		*e->function = e->absent;
}

static void install(const struct itt_global *g)
{
	for (struct itt_entry *e = g->list; e->name; e++) {
		const struct itt_hook *hook = hook_called(e->name);
		itt_function *there = *e->function;
		if (!hook)
			continue;
		if (there && there != e->initial && there != e->absent && there != hook->function)
			__atomic_store_n(&itt_theirs[hook->id], there, __ATOMIC_RELEASE);
		*e->function = hook->function;
	}
}

void __itt_api_init(struct itt_global *g, int groups)
{
	wrap_start();
	if (!is_known(g))
		return;
	if (!initialize_theirs(g, groups))
		clear_list(g);
	if (op_is_on(OP_ITT))
		install(g);
}

// All comes by the program's own calls.
const struct agent_provider itt_provider = { 0 };
