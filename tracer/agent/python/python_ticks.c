// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_ticks.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/precedence.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/sample/raw_action.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/sample/trap.h"

#include <errno.h>
#include <unistd.h>

static struct agent *agent; // NULL: nobody wants it
static bool (*start_signals)(enum signals_kind kind);
static int busy; // atomic: a look is under way

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

void python_ticks_look(void)
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

void python_ticks_start(struct agent *a, bool (*start)(enum signals_kind kind))
{
	if (!a->config.python_hz && !agent_tells(a))
		return;
	agent = a;
	start_signals = start;
	signals_when_waited_for(leave_traps);
	python_ticks_look();
}

void python_ticks_fork(void)
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
bool python_ticks_pause(void)
{
	if (!agent || !agent->on || agent->self != SELF_TRAPS || agent->pid != (uint32_t)getpid())
		return false;
	trap_pause();
	return true;
}

void python_ticks_resume(void)
{
	trap_resume();
}

void python_ticks_stop(void)
{
	if (!agent || agent->self == SELF_NOT)
		return;
	set(SELF_NOT);
	trap_stop();
	agent_write_last(agent, python_end);
}
