/* SPDX-License-Identifier: MIT */
/*
 * What the kernel takes of a program's CPU time because it is sampled, for each sample, thread and
 * exec: measured on this machine when the program has ended, as no sample shows it.
 *
 * A forked child does each kind of work bare, then opens the same events on itself and does it
 * again; an exec is one of /bin/true without and with the agent. The price of a sample is how long
 * a thread that reads the clock all the time does not get to it: other work on the machine takes
 * longer or nothing at all, and is left out.
 *
 * The price of a switch is not measured: it is several times as much where a CPU idles in between
 * as where threads of one program follow each other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

struct prices_request {
	bool kernel; /* samples are taken in the kernel, too */
	bool off_cpu;
	uint32_t frequency_hz;
	uint32_t stack_bytes;
	bool tasks, execs;             /* what there has been enough of to be worth it */
	const struct session *session; /* NULL: there is no agent */
	const char *kept; /* a file that keeps prices from run to run; NULL: none does */
};

/* In ns of CPU time; 0: not measured, or less than other work on the machine hides. */
struct prices {
	uint64_t sample, task, exec;
};

/*
 * Takes some 30 ms to 150 ms, and never more than a second; but what a run of the same program
 * bottleneck with the same options has measured since the machine was started holds, for a day. All
 * 0 where it cannot be measured. Not in a thread with a real-time priority.
 */
struct prices prices_measure(const struct prices_request *request);
