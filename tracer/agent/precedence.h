/* SPDX-License-Identifier: MIT */
/*
 * Whose a signal is that waits for the process.
 *
 * The kernel wakes the main thread for it wherever that lets it in. Until that has a CPU, the
 * signal goes to the first thread that leaves a handler or changes its mask: the main thread would
 * then find nothing, and go on with the call that the signal should have ended. So where our code
 * does so in another thread, that waits for the main thread, as long as that is on its way.
 *
 * For handlers; errno may change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct precedence_status {
	char state;      /* as in /proc/PID/status: R, S, ...; 0 if unknown */
	uint64_t shared; /* that wait for the process: 1 << (number - 1) */
	uint64_t blocked;
	uint64_t tracer; /* TracerPid: who debugs it; 0: nobody */
};

/* Of /proc/PID/status. False: something is not there. */
bool precedence_parse(const char *text, size_t length, struct precedence_status *out);

/* The same of this process's main thread. */
bool precedence_read(struct precedence_status *out);

/* Whether a debugger traces the calling process, which sees each of its signals. */
bool precedence_is_traced(void);

/*
 * Whether one of SIGNALS waits for the process, and the thread of STATUS is about to take it. Who
 * blocks HANDLED, which no thread does for long, runs a handler of ours.
 */
bool precedence_is_due(const struct precedence_status *status, uint64_t signals, uint64_t handled);

/* SIGNALS have handlers of ours, in which all signals are blocked: 1 << (number - 1) each. */
void precedence_tell_ours(uint64_t signals);

/*
 * Returns when no signal waits for the main thread that it is about to take, but would get the
 * caller instead once it blocks no more than BLOCKED; or after a tenth of a second. The caller
 * blocks all signals: of others, the kernel does not say that they wait.
 */
void precedence_give(uint64_t blocked);
