/* SPDX-License-Identifier: MIT */
/*
 * Time for which a thread wanted a CPU and had none, until a sample tells where it was.
 *
 * That is soon by the thread's own clock, but by then it may be in another op; and on a busy
 * machine it waits long, so that this would be much of that op's time. What was waited in some ops
 * goes with a sample in the same ones: the next, or the one before. Which ops were open is known
 * exactly, as they stay so while the thread does not run.
 *
 *	ops       ├───── a ─────┼───── b ─────┼───── a
 *	samples       s     s                     s
 *	waits            1     2       3            4    1, 4: the next; 2: the one before; 3: the
 *	                                                 next in b, or that it was in b is all
 */
#pragma once

#include "base/stack.h"
#include "sampler/task/tasks.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What has to make room before the next ready_keep(), with the ops that are all that is known of
 * it. It weighs nothing if that is nothing, as what all these functions return.
 */
struct stack ready_make_room(struct thread *thread, uint64_t now_ns);

/*
 * THREAD, which has not run since, wanted a CPU from START_NS on for NS. False if there is no
 * memory for it.
 */
bool ready_keep(struct thread *thread, uint64_t start_ns, uint64_t ns);

/*
 * What THREAD has waited in the ops of KEY (op_stack_key()) by NOW_NS, for its taker to give it a
 * better stack than the ops alone.
 */
struct stack ready_take(struct thread *thread, uint64_t key, uint64_t now_ns);

/* The same for any ops, of what is left at the end; *KEY is theirs. */
struct stack ready_take_any(struct thread *thread, uint64_t now_ns, uint64_t *key);
