/* SPDX-License-Identifier: MIT */
/*
 * How much CPU time each sample of a thread stands for.
 *
 * Where the source reports switches, a thread's CPU clock is exact, and a
 * sample stands for all of it since the sample before: the weights of a thread
 * add up to its CPU time, whatever ticks the kernel skipped or moved to another
 * thread by swapping contexts. What comes after the last sample goes to that
 * sample's stack. What a thread does before its first sample is due, in runs that
 * end before it, no sample can tell, and is marked as too short; other time of
 * which no sample tells is marked as unknown.
 *
 *	clock    ├────────────┬────────────┬─────────────┬─────┤ end
 *	samples               ╵ stands for ╵ all before  ╵ and for the rest
 *
 * A source that samples user code only misses the ticks in the kernel. Each of
 * its samples stands for one period, and all else is kernel time, which waits
 * for a tick that the agent has seen fall into the kernel: such a tick comes to
 * each caller as often as the kernel works for it. What it would take of the
 * user time that is not sampled yet, the next samples take back.
 * Ticks are too few where threads take turns: where periods of a thread that was
 * switched meanwhile passed without a sample, it was in the kernel all the same.
 *
 *	clock    ├──┬──┬───────────────┬──┬────────┬──┤
 *	samples     u  u               u  u        u  u     one period each
 *	ticks                       k                       stands for the rest before it
 *
 * Where the agent is not, nobody knows for whom the kernel has worked: such
 * time has no callers.
 */
#pragma once

#include "base/stack.h"
#include "sampler/event/event.h"
#include "sampler/task/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_split {
	uint64_t user_ns;   /* for the sample's own stack */
	uint64_t kernel_ns; /* kernel time that it does not show: MARK_KERNEL on top of its stack */
	uint64_t callless_ns; /* MARK_KERNEL, and nothing is known of its callers */
	uint64_t short_ns;    /* MARK_SHORT */
	uint64_t unknown_ns;  /* MARK_UNKNOWN */
};

/* What the source in use can do. */
struct cpu_account_rules {
	bool switches;       /* the thread's clock is exact */
	bool estimated;      /* in its sums: switches come late, and lie about where they were */
	bool kernel_samples; /* samples see kernel time themselves */
	uint64_t period_ns;  /* CPU time from sample to sample */
	uint64_t loss_ns;    /* time of the last record that reported a loss; 0: none */
};

/* The thread's exact CPU time by NOW_NS. */
uint64_t cpu_account_clock(const struct thread *thread, uint64_t now_ns);

/*
 * A SAMPLE_ON_CPU of THREAD: what it stands for, which counts as handed on. Where samples see no
 * kernel time, one that is IN_KERNEL comes from the agent.
 */
struct cpu_split cpu_account_sample(struct thread *thread, const struct event *event,
                                    const struct cpu_account_rules *rules);

/* Remembers the sample's stack for what may come after it. Without memory there is none. */
void cpu_account_keep(struct thread *thread, const struct frame *frames, size_t count,
                      uint32_t flags, bool in_kernel);

/* THREAD runs another program, of which no sample has told yet. */
void cpu_account_exec(struct thread *thread);

/* THREAD has left a CPU, PREEMPTED while it wanted to run on: what it did until then if it is done
   and no sample was due yet, which counts as handed on. Else nothing: the next sample stands for
   it. */
struct cpu_split cpu_account_switched(struct thread *thread, bool preempted,
                                      const struct cpu_account_rules *rules);

/* Whether a sample will come for what THREAD has on its clock, however long that takes. */
bool cpu_account_waits(const struct thread *thread);

/*
 * What no sample stands for by CLOCK_NS of THREAD's clock, which counts as handed on: user time on
 * the last stack, kernel time on the last one in the kernel. For threads that end, and for those
 * that give no samples for long.
 */
struct cpu_split cpu_account_rest(struct thread *thread, uint64_t clock_ns,
                                  const struct cpu_account_rules *rules);
