/* SPDX-License-Identifier: MIT */
/*
 * What the files that follow blocked threads share, and nobody else sees.
 *
 *	off_cpu.c        switches come in: intervals begin and end, and are handed on, each with
 *	                 what it stands for
 *	off_cpu_looks.c  who is looked at, and when, and what samples and looks show of a wait:
 *	                 its stack and its cause
 *
 * Their promise is sampler/off_cpu/off_cpu.h.
 */
#pragma once

#include "base/stack.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/task/off_cpu_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_map;
struct probe;

/* A thread runs no Python if so many looks in a row have found none. */
#define OFF_CPU_NO_PYTHON 2

/* A sample and a record that are no further apart than this are of the same switch. */
#define OFF_CPU_SAME_SWITCH_NS UINT64_C(1000000)

struct off_cpu_waiter {
	uint32_t pid, tid;
};

struct off_cpu {
	struct off_cpu_options options;
	struct unwinder *unwinder;
	void (*stack)(void *context, const struct stack *stack);
	void *context;

	struct probe *probe; /* NULL: there is no /proc */
	struct kernel_map *kernel_map;
	bool kernel_map_tried;
	struct off_cpu_python *python; /* NULL: no process has needed it yet */

	struct off_cpu_waiter *queue; /* threads to look at, longest waiting first */
	size_t queue_count, queue_capacity;
	uint64_t pass_ns;      /* when threads were last looked at, */
	uint64_t next_pass_ns; /* and will be again */
	int64_t credit_ns;     /* of CPU time, for looks; below 0: of what is to come */
	uint64_t asked_ns;     /* of CPU time, in options.waits_on, since a pass began */
	unsigned quiet;        /* passes since a thread last blocked unseen */
	uint32_t dither;
	uint64_t looks;

	struct frame frames[STACK_MAX_FRAMES];
	uint64_t key; /* of the last native stack; 0: no Python was looked for there */
};

static inline uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline struct stack off_cpu_stack_of(const struct thread *thread, enum metric metric,
                                            const struct frame *frames, size_t count,
                                            uint32_t flags)
{
	return (struct stack){ .thread = thread->number,
		               .metric = metric,
		               .frames = frames,
		               .count = (uint32_t)count,
		               .flags = flags };
}

/* Samples of switches do not tell where in Python. */
static inline bool off_cpu_wants_python(const struct off_cpu *o, const struct thread *thread)
{
	return o->options.codes && o->probe && off_cpu_python_may(thread);
}

/* A sample has told the cause of the wait that is under way. */
static inline bool off_cpu_is_explained(const struct off_cpu_state *s)
{
	return s->seen == SEEN_BY_SAMPLE && s->cause != METRIC_OFF_OTHER;
}

/* THREAD has left its CPU, and does not want it: it is looked at if that tells more. */
void off_cpu_queue(struct off_cpu *o, struct thread *thread);
