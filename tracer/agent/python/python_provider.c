// SPDX-License-Identifier: MIT
// Python as a provider: its processes sample themselves (python_ticks.h), and its interpreter tells
// of garbage collections, names and calls (python_api.h).
#include "tracer/agent/provider.h"

#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_ticks.h"
#include "tracer/agent/wrap/wrap.h"

#include <string.h>

static void start(struct agent *a)
{
	python_callers_start(a);
	python_ticks_start(a, wrap_start_signals);
	python_api_start(a);
}

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

// What is asked of an interpreter's library by name, and of each of its modules.
static void look(const char *name)
{
	if (begins_with(name, "Py") || begins_with(name, "_Py"))
		python_ticks_look();
	if (begins_with(name, "PyInit_"))
		python_api_look();
}

static void fork_child(void)
{
	python_fork();
	python_api_fork();
	python_ticks_fork();
}

const struct agent_provider python_provider = {
	.start = start,
	.look = look,
	.before_thread = python_ticks_look,
	.fork = fork_child,
	.before_exec = python_ticks_pause,
	.exec_failed = python_ticks_resume,
	.before_action =
		python_api_look, // of an interpreter that begins, before the program's code
	.before_traced = python_ticks_stop,
	.exit = python_api_exit,
	.end = python_ticks_stop,
};
