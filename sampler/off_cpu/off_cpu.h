/* SPDX-License-Identifier: MIT */
/*
 * Where and why threads wait: intervals from SWITCH records, a cause and a
 * stack for each as far as can be had.
 *
 *	        out (blocked)                in
 *	  ──────┤                             ├──────   exact, always
 *	        │ stack + kernel chain                  with kernel access: a sample at the switch
 *	        │      probe                            without: a look through /proc
 *
 * Time is never lost and never invented. An interval whose stack is not known
 * is pending, under its cause if at least that is known. Pending time of a known
 * cause goes with the thread's next stack of that cause. Other pending time is
 * made up of intervals that were too short, or too many, to look at each: every
 * one that was looked at takes as much of it as it stands for by the odds of
 * having been hit. At the end of the thread the rest goes to MARK_UNKNOWN. So
 * the sum over a thread's off-CPU stacks equals its exact off-CPU time, and
 * on-CPU plus off-CPU its lifetime.
 *
 * An interval with a stack of its own: samples = 1, duration_ns = weight_ns.
 * Pending time that it takes: a second stack with samples = 0 whose weight is
 * spread over time_ns .. time_ns + duration_ns.
 */
#pragma once

#include "base/cleanup.h"
#include "base/stack.h"
#include "sampler/event/event.h"
#include "sampler/task/tasks.h"
#include "sampler/unwind/unwinder.h"
#include "sampler/wait/wait.h"

#include <stdbool.h>
#include <stdint.h>

struct codes;
struct error;
struct kallsyms;
struct off_cpu;

struct off_cpu_options {
	bool switch_samples;     /* SAMPLE_SWITCH events will come: probe only what they miss */
	uint64_t probe_after_ns; /* between looks at a thread, at least; 0: 5 ms */
	const char *kallsyms;    /* borrowed; NULL: the running kernel's */
	struct kallsyms *names;  /* borrowed; what has read it, or will; NULL: read KALLSYMS */
	bool estimated;          /* records of switches are: looks have to prove themselves */
	uint64_t (*cost_ns)(
		void);       /* the clock by which looks are paid; NULL: CPU time of the thread */
	struct codes *codes; /* borrowed; of Python's functions; NULL: they are not wanted */
	bool reads_python;   /* samples get the Python frames that can be read (off_cpu_python.h) */
	/* Gets each state that has ended; NULL: it is not wanted. CONTEXT as off_cpu_new() gets. */
	void (*span)(void *context, const struct span_event *span);
	/* THREAD waits, from TIME_NS on or at that time, for what descriptors lead to, which may be
	   pipes or sockets, or not be that; NULL: that is not wanted. */
	void (*waits_on)(void *context, struct thread *thread, const struct wait_on *on,
	                 uint64_t time_ns);
};

/* STACK gets each finished interval. UNWINDER, MODULES and CONTEXT are borrowed. */
struct off_cpu *off_cpu_new(const struct off_cpu_options *options, struct modules *modules,
                            struct unwinder *unwinder,
                            void (*stack)(void *context, const struct stack *stack), void *context,
                            struct error *err);
void off_cpu_free(struct off_cpu *o);

CLEANUP(off_cpu, struct off_cpu *, off_cpu_free)

/* A thread that begins counts as runnable, not running, until its first switch in. If it is first
   switched out, or ends without a switch, then it has been running. */
void off_cpu_begin(struct off_cpu *o, struct thread *thread, uint64_t time_ns);

/* THREAD, which began before TIME_NS, is found on a CPU or waiting for one then: it is on one,
   unless it is first switched in. */
void off_cpu_found(struct off_cpu *o, struct thread *thread, uint64_t time_ns);

/* A RECORD_SWITCH. Adds the finished interval, on-CPU or off-CPU, to thread->ns[]. Where records
   were lost, so that the same direction comes twice, the time between is split by
   thread->sampled_ns. */
void off_cpu_switch(struct off_cpu *o, struct thread *thread, uint64_t time_ns, bool in,
                    bool preempted);

/* THREAD has reported the wait that has just begun: it is for CAUSE. */
void off_cpu_reported(struct off_cpu *o, struct thread *thread, enum metric cause);

/* A RECORD_WAKING: THREAD is woken by WAKER (a number; 0: nobody that is followed), or by what BY
   says. The wait that is under way ends, or one whose record of its beginning is still to come. */
void off_cpu_woken(struct off_cpu *o, struct thread *thread, uint64_t time_ns, uint32_t waker,
                   enum woken_by by);

/* THREAD is in a call that waits for nothing but CAUSE from TIME_NS on. FRAMES: the call, and where
   it returns to; they stand for its stack where no other is known. */
void off_cpu_call(struct off_cpu *o, struct thread *thread, enum metric cause,
                  const struct frame frames[2], uint64_t time_ns);

/* It has returned from that, in which it was from BEGIN_NS to END_NS. */
void off_cpu_returned(struct off_cpu *o, struct thread *thread, uint64_t begin_ns, uint64_t end_ns);

/* A SAMPLE_SWITCH: the stack of the interval that begins now (it comes before or after the
   SWITCH record of the same switch). */
void off_cpu_sample(struct off_cpu *o, struct thread *thread, const struct event *event);

/* The stack with which THREAD has left its CPU, COUNT frames that are valid until its next event;
   NULL if it is not known. */
const struct frame *off_cpu_stack(const struct thread *thread, size_t *count, uint32_t *flags);

/* THREAD was sampled on its CPU, with these frames (at least one). That is where it is preempted,
   so they take its METRIC_OFF_RUNNABLE time that waits for a sample in the ops that are open; what
   waits for one in those of the sample before goes with that one's, thread->cpu.last. If it counts
   as off the CPU, then the record of its coming in was lost, and it comes in now. */
void off_cpu_running(struct off_cpu *o, struct thread *thread, const struct frame *frames,
                     size_t count, uint32_t flags, uint64_t time_ns);

/* The identity of a native stack with FLAGS: of its COUNT FRAMES and their stack pointers. 0: the
   stack is not known exactly. */
uint64_t off_cpu_place_of(const struct frame *frames, const uint64_t *sps, size_t count,
                          uint32_t flags);

/* The same of PLACE with the ops that were put among its FRAMES. */
uint64_t off_cpu_place_in_ops(uint64_t place, const struct frame *frames, size_t count);

/* Whether SAMPLE, on a CPU, was taken in a system call and has the Python frames of that call:
   those that are read later may be of another one. */
static inline bool off_cpu_shows_call(const struct event_sample *sample)
{
	return sample->python && sample->has_user && !sample->by_fault &&
	       (sample->in_kernel || sample->kernel_count);
}

/* THREAD was sampled on its CPU in a system call that it made at PLACE (not 0), in these FRAMES,
   Python's among them. Waits at PLACE whose Python frames are not known get these, where
   wait_piles_see() allows. */
void off_cpu_seen(struct off_cpu *o, struct thread *thread, uint64_t place,
                  const struct frame *frames, size_t count, uint64_t time_ns);

/* Looks at the threads that have been blocked long enough by NOW. */
void off_cpu_probe(struct off_cpu *o, struct tasks *tasks, uint64_t now_ns);

/* More can be seen of THREAD now than before: a wait under way is looked at (again). */
void off_cpu_again(struct off_cpu *o, struct thread *thread);

/* How long until off_cpu_probe() has work, at most LIMIT. */
int off_cpu_timeout_ms(const struct off_cpu *o, uint64_t now_ns, int limit_ms);

/* The thread ends: closes its open interval and flushes what is pending. */
void off_cpu_end(struct off_cpu *o, struct thread *thread, uint64_t time_ns);

uint64_t off_cpu_probes(const struct off_cpu *o);
