/* SPDX-License-Identifier: MIT */
/*
 * A thread of ours in the target that has CUPTI give its records out, now and then, and at the end:
 * there it may take no longer than a moment, whatever state the driver is in.
 *
 * It takes no signals but the CPU's own and, like all threads of the program, the sampler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* FLUSH is called every PERIOD_NS with `last` false, and at the end with `last` true. */
bool cupti_flusher_start(void (*flush)(bool last), uint64_t period_ns);

/*
 * Has the last flush done, and waits for it: for LIMIT_NS since PROGRESS() last gave another
 * number, and for no more than LONGEST_NS. False: it took longer.
 */
bool cupti_flusher_finish(uint64_t (*progress)(void), uint64_t limit_ns, uint64_t longest_ns);

/* In a forked child there is no such thread. */
void cupti_flusher_fork(void);
