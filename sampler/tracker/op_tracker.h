/* SPDX-License-Identifier: MIT */
/*
 * Follows the ops of each thread from begin to end, and reports each to the sink when it ends.
 *
 * The open ops are in struct thread (sampler/task/tasks.h), where stacks of samples get them from.
 * One thread at a time.
 */
#pragma once

#include "sampler/event/event.h"
#include "sampler/event/sink.h"
#include "sampler/task/tasks.h"

#include <stddef.h>
#include <stdint.h>

struct op_tracker {
	const struct sampler_sink *sink; /* borrowed */
	const struct ops *ops;           /* may be NULL */
	uint64_t unmatched;              /* ends without a begin, begins that found no room */
	/* [op - 1]: how long its calls took so far, each without its stall. */
	struct op_usual {
		uint64_t calls, ns;
	} * usual;
	size_t usual_count, usual_capacity;
};

void op_tracker_fini(struct op_tracker *t);

/* RECORD_OP_BEGIN and RECORD_OP_MARK, of THREAD. */
void op_tracker_begin(struct op_tracker *t, struct thread *thread, const struct event *event);
void op_tracker_mark(struct op_tracker *t, struct thread *thread, const struct event *event);

/*
 * THREAD has been sampled: calls whose frames are not among FRAMES, all that there are, have been
 * left by a jump, unless a later sample finds them again.
 */
void op_tracker_see(struct thread *thread, const struct frame *frames, const uint64_t *sps,
                    size_t count, uint64_t time_ns);

/* RECORD_OP_END of an op that THREAD (NULL: it is gone) began. */
void op_tracker_end(struct op_tracker *t, struct thread *thread, const struct event *event);

/* THREAD ends, or becomes another program: what is open has ended. */
void op_tracker_close(struct op_tracker *t, struct thread *thread, uint64_t time_ns);
