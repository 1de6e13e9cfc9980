/* SPDX-License-Identifier: MIT */
/*
 * What off_cpu.c remembers of one thread. Zeroed memory is a thread that has
 * not begun; FRAMES and PYTHON are owned.
 *
 *	record:    out          in   out              in
 *	     ──────┤ interval 1  ├────┤  interval 2    ├─────
 *	                                  ╵ look
 *
 * Records are read about a millisecond late, so a look at a blocked thread may
 * belong to an interval of which no record has come yet. What it saw is kept
 * with its time until the records tell which interval that was, if any.
 */
#pragma once

#include "base/metric.h"
#include "base/stack.h"
#include "sampler/task/wait_piles.h"

#include <stdbool.h>
#include <stdint.h>

/* Time of past intervals for which no stack is known. */
struct pending {
	uint64_t ns;
	uint64_t since_ns; /* when the first of it began */
};

enum seen {
	SEEN_NOTHING,
	SEEN_BY_SAMPLE, /* a sample at the switch itself */
	SEEN_BY_LOOK    /* sampler/wait/probe.h */
};

struct off_cpu_state {
	bool begun;
	bool switched;  /* a switch record has come */
	bool found;     /* none has since it was found on a CPU, or waiting for one */
	bool out;       /* it is off the CPU */
	bool preempted; /* and still wants it */
	/* What it waits for, as it has reported itself; METRIC_ON_CPU: it has not. */
	enum metric reported;
	uint64_t since_ns; /* when its present state began */
	uint64_t in_ns;    /* when it got a CPU last; 0: no record has said so */
	uint64_t woken_ns; /* when it was woken last; 0: no wakeup has been seen */
	uint32_t waker;    /* number; 0: nobody that is followed */
	enum woken_by woken_by;
	uint64_t sampled_ns; /* what thread->sampled_ns was then */

	/* It is in a call that waits for nothing but CALL, since CALL_NS; METRIC_OFF_OTHER, or a
	   time of 0: in none. */
	enum metric call;
	uint64_t call_ns;
	/* The last such call, and its caller; CALLED is what it waited for. */
	struct frame call_frames[2];
	enum metric called;
	uint64_t returned_ns; /* it was over; 0: it is not */
	/* Where switches are estimates: the time in such calls that no wait has been put down to,
	   and when the last one returned. */
	uint64_t called_ns, called_until_ns;

	enum seen seen;
	bool has_frames;                      /* the stack could be read, not only the cause */
	enum metric cause;                    /* METRIC_OFF_OTHER if unknown */
	uint64_t seen_from_ns, seen_until_ns; /* it did not move in between */
	uint64_t stands_for_ns;               /* looks: the time since the look before it */
	struct frame *frames;                 /* owned */
	size_t frame_capacity;
	uint32_t frame_count, frame_flags;

	/* SEEN_BY_SAMPLE: what a look in the same interval has added, Python's frames. */
	struct {
		struct frame *frames; /* owned */
		size_t capacity;
		uint32_t count, flags;
		uint64_t from_ns, until_ns;
		uint64_t key;   /* of the sample's stack and cause */
		uint64_t place; /* of the stack alone; 0: it is not exact */
		uint8_t misses; /* looks in a row that have found no Python */
		struct wait_piles piles;
	} python;

	/* Time for which it wanted a CPU, until a sample in the same ops tells where it was. */
	struct wait_piles ready;
	uint64_t sample_key; /* op_stack_key() at the last sample on a CPU */

	bool queued;        /* for a look */
	uint64_t looked_ns; /* when it was last looked at, or could have been */
	struct pending pending[METRIC_COUNT];
};
