// SPDX-License-Identifier: MIT
// Python as a provider: its processes sample themselves, and its interpreter tells of garbage
// collections, names and calls (python_api.h).
#include "tracer/agent/provider.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/precedence.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_await.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/sample/raw_action.h"
#include "tracer/agent/sample/signals.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/sample/trap.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

// A process that has a Python interpreter samples itself, whoever else samples it: only in the
// handler of the interrupted thread are Python's frames exact.
//
// 	look() ── an interpreter ──► traps ── the program got at them ──► timers
// 	                               ├── refused ──────────────────────────┤
// 	                               └── it waits for SIGTRAP itself ──────┘
//
// RECORD_PYTHON tells from when on, by PYTHON_SAMPLES; without it, that this is over.
//
// There is one such state in a process, kept in the agent that python_ticks_start() was given,
// which lives as long. Any thread may look; of two at once, one does.

static struct agent *agent; // NULL: nobody wants it
static bool (*start_signals)(enum signals_kind kind);
static int busy; // atomic: a look is under way

static void python_ticks_stop(void);

static void set(enum agent_self self)
{
	__atomic_store_n(&agent->self, self, __ATOMIC_RELEASE);
}

// Whether there is a debugger, which stops its program at each signal.
static bool leave_to_tracer(void)
{
	if (!threads_are_hushed() && precedence_is_traced())
		threads_leave_to_tracer();
	return threads_are_hushed();
}

// Whoever is ticked by timers anyway stays with them.
static bool start_traps(void)
{
	if (agent_tells(agent) || raw_action_look() || !start_signals(SIGNALS_TRAP))
		return false;
	set(SELF_TRAPS); // before the first tick
	return threads_start_traps();
}

static bool start_timers(void)
{
	set(SELF_TIMERS);
	return (agent_samples(agent) || start_signals(SIGNALS_TIMER)) && threads_start_timers();
}

// In handlers: on it goes by timers.
static void leave_traps(void)
{
	int idle = 0;

	if (!agent || !agent->on || agent->self != SELF_TRAPS || agent->pid != (uint32_t)getpid())
		return;
	trap_stop();
	// If another thread is looking just now, it sees that there are none.
	if (!__atomic_compare_exchange_n(&busy, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return;
	if (start_timers())
		op_say("a process with Python waits for SIGTRAP itself: from then on it was sampled "
		       "by timers, which tick at the kernel's rate");
	else
		python_ticks_stop();
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static void leave_for_raw_actions(void)
{
	trap_stop();
	if (start_timers())
		op_say("a process with Python loaded code that sets signals behind libc's back: from "
		       "then on it was sampled by timers, which tick at the kernel's rate");
	else
		python_ticks_stop();
}

static void look_for_ticks(void)
{
	if (agent->self == SELF_TRAPS && raw_action_look())
		leave_for_raw_actions();
	if (agent->self != SELF_TRAPS || trap_is_alive())
		return;
	trap_stop();
	if (start_timers()) {
		op_say("a process with Python closed the descriptor of the event by which it sampled "
		       "itself: it went on by timers, which tick at the kernel's rate");
		return;
	}
	python_ticks_stop();
	op_say("a process with Python closed the descriptor of the event by which it sampled itself: "
	       "there are no Python functions of what it did then");
}

static uint16_t record_flags(void)
{
	return PYTHON_SAMPLES | (agent->config.count_calls ? PYTHON_COUNTS : 0);
}

static void look(void)
{
	if (agent->self != SELF_NOT)
		look_for_ticks();
	else if (python_look(record_flags()) && !leave_to_tracer() && !start_traps() &&
	         !start_timers())
		set(SELF_NOT);
}

// Looks whether there is an interpreter by now, and whether its ticks still come. Not for
// handlers. Keeps errno.
static void python_ticks_look(void)
{
	int error = errno, idle = 0;

	// A vfork child has its parent's memory, and neither its threads nor its ticks.
	if (!agent || !agent->on || agent->over || agent->pid != (uint32_t)getpid() ||
	    !__atomic_compare_exchange_n(&busy, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return;
	look();
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	errno = error;
}

// The program has begun. START installs our handler of a kind of ticks, once.
static void python_ticks_start(struct agent *a, bool (*start)(enum signals_kind kind))
{
	if (!a->config.python_hz && !agent_tells(a))
		return;
	agent = a;
	start_signals = start;
	signals_when_waited_for(leave_traps);
	python_ticks_look();
}

// In a forked child, after threads_fork().
static void python_ticks_fork(void)
{
	if (!agent || !agent->on)
		return;
	busy = 0;
	if (agent->self != SELF_TRAPS)
		return;
	trap_stop();
	if (!threads_start_traps() && !start_timers())
		set(SELF_NOT);
}

// A vfork child must not pause its parent.
// Before this process may become another program, whom our signals would end, and when it has not.
// Pause: whether resume has something to do. For handlers and for children of vfork().
static bool python_ticks_pause(void)
{
	if (!agent || !agent->on || agent->self != SELF_TRAPS || agent->pid != (uint32_t)getpid())
		return false;
	trap_pause();
	return true;
}

static void python_ticks_resume(void)
{
	trap_resume();
}

// The process ends, or is not to be sampled from within any more.
static void python_ticks_stop(void)
{
	if (!agent || agent->self == SELF_NOT)
		return;
	set(SELF_NOT);
	trap_stop();
	agent_write_last(agent, python_end);
}

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
static void look_for(const char *name)
{
	if (begins_with(name, "Py") || begins_with(name, "_Py"))
		python_ticks_look();
	if (begins_with(name, "PyInit_"))
		python_api_look();
}

static void look_at_thread(void)
{
	python_ticks_look();
	python_api_look();
}

static void fork_child(void)
{
	python_fork();
	python_api_fork();
	python_await_fork();
	python_ticks_fork();
}

const struct agent_provider python_provider = {
	.start = start,
	.look = look_for,
	.before_thread = look_at_thread,
	.fork = fork_child,
	.before_exec = python_ticks_pause,
	.exec_failed = python_ticks_resume,
	.before_action =
		python_api_look, // of an interpreter that begins, before the program's code
	.before_traced = python_ticks_stop,
	.exit = python_api_exit,
	.end = python_ticks_stop,
};
