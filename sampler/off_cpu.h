/* SPDX-License-Identifier: MIT */
/*
 * Where and why threads wait: intervals from SWITCH records, a cause and a
 * stack for each as far as can be had.
 *
 *	        out (blocked)                in
 *	  ──────┤                             ├──────   exact, always
 *	        │ stack + kernel chain                  with kernel access: a sample at the switch
 *	        │      probe                            without: one look through /proc while it waits
 *
 * Time is never lost and never invented: an interval without a stack of its
 * own is pending until the thread's next interval that has one (it is then added to its weight),
 * at the end of the thread to MARK_UNKNOWN. The sum over a thread's off-CPU
 * stacks equals its exact off-CPU time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/stack.h"
#include "sampler/event.h"
#include "sampler/tasks.h"
#include "sampler/unwinder.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct off_cpu;

struct off_cpu_options {
	bool switch_samples; /* SAMPLE_SWITCH events will come: probe only what they miss */
	uint64_t probe_after_ns; /* blocked this long: probe once; default 5 ms */
};

/* STACK gets each finished interval. UNWINDER, MODULES and CONTEXT are borrowed. */
struct off_cpu *off_cpu_new(const struct off_cpu_options *options, struct modules *modules,
                            struct unwinder *unwinder,
                            void (*stack)(void *context, const struct stack *stack), void *context,
                            struct error *err);
void off_cpu_free(struct off_cpu *o);

CLEANUP(off_cpu, struct off_cpu *, off_cpu_free)

/* A thread that begins counts as runnable, not running, until its first switch in. */
void off_cpu_begin(struct off_cpu *o, struct thread *thread, uint64_t time_ns);

/* A RECORD_SWITCH. Adds the finished interval to thread->ns[]. */
void off_cpu_switch(struct off_cpu *o, struct thread *thread, uint64_t time_ns, bool in,
                    bool preempted);

/* A SAMPLE_SWITCH: the stack of the interval that begins now (it comes before or after the
   SWITCH record of the same switch). */
void off_cpu_sample(struct off_cpu *o, struct thread *thread, const struct event *event);

/* Looks at the threads that have been blocked long enough by NOW. */
void off_cpu_probe(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns);

/* How long until off_cpu_probe() has work, at most LIMIT. */
int off_cpu_timeout_ms(const struct off_cpu *o, uint64_t now_ns, int limit_ms);

/* The thread ends: closes its open interval and flushes what is pending. */
void off_cpu_end(struct off_cpu *o, struct thread *thread, uint64_t time_ns);

uint64_t off_cpu_probes(const struct off_cpu *o);
