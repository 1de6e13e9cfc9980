/* SPDX-License-Identifier: MIT */
/*
 * One look at a blocked thread from outside, without stopping it.
 *
 * /proc tells the system call it is in, its arguments, stack pointer and
 * instruction; its stack is then read from memory. Needs the right to trace
 * the process (our own descendants, unless they are setuid). A thread that
 * runs cannot be looked at.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct probe;

/* What /proc/PID/task/TID/syscall says of a blocked thread. */
struct probe_call {
	int number; /* -1: blocked, but not in a system call */
	uint64_t arguments[6];
	uint64_t sp, pc;
};

enum probe_result {
	PROBE_FAILED,  /* the thread is gone, or is not ours to look at */
	PROBE_RUNNING, /* it runs, ran meanwhile, or waits for a CPU: only the times are set */
	PROBE_CAUSE,   /* its memory could not be read: only CAUSE and SYSCALL are known */
	PROBE_STACK    /* all is known */
};

struct probe_view {
	enum metric cause;
	uint64_t from_ns, until_ns; /* it was seen between these */
	struct event_sample sample; /* SAMPLE_PROBE; its stack is valid until the next look */
};

struct probe *probe_new(size_t stack_bytes, struct error *err);
void probe_free(struct probe *p); /* NULL is fine */

CLEANUP(probe, struct probe *, probe_free)

/*
 * Looks once. VERIFY looks again after the stack was read and gives up if the
 * thread has moved: for callers that do not learn of every switch otherwise.
 * A thread that came back to the same place in between is not noticed.
 */
enum probe_result probe_look(struct probe *p, int pid, int tid, bool verify,
                             struct probe_view *view);

#define PROBE_SCHEDULE 64

/* TEXT changes whenever the thread gets a CPU. False: the kernel does not tell. */
bool probe_schedule(const struct probe *p, int pid, int tid, char text[PROBE_SCHEDULE]);

/* False if TEXT, with its NUL, says that the thread runs, or is no such text. */
bool probe_parse(const char *text, struct probe_call *call);
