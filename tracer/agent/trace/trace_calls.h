/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions that --trace asks for, as ops.
 *
 * A traced function begins with a jump to a stub of its own, and that leads to trace_enter. The op
 * begins there, and the return address is replaced:
 *
 *	caller │ return address ──► slot of the call ──► trace_return: the op ends
 *	                                 │                     │
 *	                                 └ struct call ────────┴──► the true return address
 *
 * Each slot is a jump of the agent's own code whose unwind rule finds the true return address, so
 * exceptions, cancellation and backtraces go through it, and find one frame more. A slot says of
 * one call alone where that returns to: in what order calls return, on what stacks, and in which
 * threads, does not matter to the program. That one has been left without a return (a longjmp(), or
 * a greenlet that is not run at the moment) is a guess; the slot of such a call is never used for
 * a call that returns to elsewhere.
 *
 * Where there are shadow stacks, of which a return address that was replaced would end the program,
 * calls are counted alone.
 *
 * What is called from within a hook by ourselves is not traced; nor is what that calls. What a
 * handler calls there is counted alone, unless it is libc's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRACE_FUNCTIONS  4096
#define TRACE_SLOTS      32768 /* calls that are open at once; beyond that they are only counted */
#define TRACE_SLOT_BYTES 16
#define TRACE_SLOTS_BYTES                                                                          \
	(TRACE_SLOTS * TRACE_SLOT_BYTES + 5) /* with trace_return's first instruction */

/* What the stub of function K does first: pushes K, jumps to trace_enter. */
struct trace_function {
	const void *body; /* where it goes on */
	const char *name;
	uint64_t known; /* atomic: the id of its name, see detour_know() */
	bool shared;    /* libc's: we call it, too, and not for the program */
};

/* Number 0 is no function: where the loader tells that objects have come or gone. */
extern struct trace_function trace_functions[TRACE_FUNCTIONS + 1];

extern const char trace_enter[];
extern const char trace_slots[];

/* LOADED is called where the loader tells so. Before anything is patched. */
void trace_calls_start(void (*loaded)(void));

/* The calling thread has no ops any more. */
void trace_calls_thread_end(void);

/* Calls FUNCTION as a hook does: what it calls is not traced. False: it is within a hook. */
bool trace_untraced(void (*function)(void *argument), void *argument);
