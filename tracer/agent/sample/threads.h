/* SPDX-License-Identifier: MIT */
/*
 * Which threads are sampled: each has a lane and a CPU-time timer, or traps come to all of them.
 *
 * Threads arm themselves (pthread_create is wrapped); those made otherwise are
 * found by a scan of /proc/self/task from a sampled thread's tick. Traps a thread has from the one
 * that made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct lane;

/* What ops do where a thread is sampled or ends; the functions are for handlers. */
struct threads_ops {
	bool (*are_inside)(void); /* a hook is at work: the thread's ring is not to be touched */
	void (*give_lane)(void);  /* a sample has taken some room of that ring */
	void (*end)(struct lane *lane); /* its thread ends */
	void (*say)(const char *text);  /* something that the user should know */
};

/* There are ops from now on: before there are other threads. OPS lives as long as the process. */
void threads_use_ops(const struct threads_ops *ops);

/* The main thread, at the start of the program. TRACED: a debugger or its like traces it already,
   and there are no ticks from the first, see threads_leave_to_tracer(). */
void threads_start(struct agent *a, bool traced);

/*
 * The calling thread's lane, claimed if it has none yet; NULL if there is none to be had. For
 * handlers too.
 */
struct lane *threads_lane(void);

/* In a forked child: the calling thread is the only one. */
void threads_fork(struct agent *a);

/* At exit(): what the calling thread has not told yet. */
void threads_finish(struct agent *a);

/* At _exit(), and at exit() where the process has reported nothing yet: how long the calling thread
   has run, and that it ends here. A child that has run for too short a time to be worth a file has
   none. For handlers, too. */
void threads_leave(struct agent *a);

/*
 * A lane for a thread that is about to be made and will run START(ARGUMENT) on
 * STACK_BYTES of stack (0 if unknown); NULL if there is none: it goes unsampled. Pass it to
 * threads_run(); or to threads_cancel() if the thread could not be made.
 */
struct lane *threads_prepare(struct agent *a, void *(*start)(void *), void *argument,
                             size_t stack_bytes);
void *threads_run(void *argument);
void threads_cancel(struct lane *lane);

/*
 * FUNCTION is called at the end of each thread that has a lane, when it has no ops any more. There
 * is room for THREADS_AT_END of them.
 */
#define THREADS_AT_END 2
void threads_at_end(void (*function)(void));

/* No ticks any more, in any thread: their system calls may soon be forbidden. */
void threads_hush(void);
bool threads_are_hushed(void);

/*
 * The same because a debugger, strace or their like traces this process, or will: ptrace() stops it
 * at each tick, which its tracer would take for a signal of the program's. Says so. Not for
 * handlers.
 */
void threads_leave_to_tracer(void);

/* What that says, once there are ops, where threads_start() was asked to. */
void threads_say_traced(void);

/*
 * Before a stack is copied into the calling thread's LANE: finds where that of a process's first
 * thread ends, which nobody needs of most short processes. For handlers.
 */
void threads_bound_stack(struct lane *lane);

/*
 * Around all that a handler does for a tick, so that threads_hush() can wait for it; they nest.
 * False: it comes late, and may do no system call.
 */
bool threads_enter_tick(void);
void threads_leave_tick(void);

/* A tick of the calling thread, by its timer, or by a trap that has WAITED or has not. */
void threads_tick(void *context, uint32_t overrun);
void threads_trap(void *context, bool waited);

/* Which of our signals the target believes to be blocked in this thread: 1 << enum signals_kind. */
unsigned threads_blocked(void);
void threads_set_blocked(unsigned blocked);

/*
 * The calling thread's timer, while a signal of the target's own waits that has the number of ours;
 * and when it does not wait any more. For handlers; errno may change.
 */
void threads_pause_timer(void);
void threads_resume_timer(void);

/* All threads have ticks from now on. Not for handlers. False: there are none to be had. */
bool threads_start_traps(void);
bool threads_start_timers(void);
