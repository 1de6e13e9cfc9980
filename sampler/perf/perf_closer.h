/* SPDX-License-Identifier: MIT */
/*
 * Gives up the last event of a tracepoint without waiting for the kernel.
 *
 * Who closes it waits until no CPU can be in the tracepoint, 10 to 50 ms, and a process does not
 * end before the last of its descriptors is closed. So a process of its own holds one such event
 * until all others are closed, and waits instead. It shares the memory of the caller but none of
 * its descriptors, has no signal that it reports or takes, and outlives the caller if need be: then
 * the machine's init reaps it, as only in the first PID namespace there are such events.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>

/*
 * Has EVENT held, which stays the caller's to close. Returns a descriptor to be closed behind EVENT
 * and all others of its tracepoint; -1: there is no such process, and who closes the last one
 * waits.
 */
int perf_closer_start(int event);

/* Collects one that is done: who runs on has no use for what is left of it. */
void perf_closer_reap(void);
