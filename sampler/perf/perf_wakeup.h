/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's tracepoint sched:sched_waking: who wakes whom, and when.
 *
 * It fires in the context of the waker, so an event that follows the tasks of a run sees exactly
 * the wakeups that they make, and those of interrupts that hit them. (sched_wakeup is too late: it
 * may fire on the CPU of the one that is woken, in an interrupt.) The kernel says in a text of
 * tracefs where in a record what is. Neither text nor record is trusted.
 */
#pragma once

#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where in the raw data of a record. Zeroed: nothing is known. */
struct perf_wakeup_format {
	uint64_t id; /* of the tracepoint: perf_event_attr.config */
	uint32_t pid_offset, flags_offset;
	bool has_flags; /* whether it was in an interrupt is known */
};

/* False if TEXT, LENGTH bytes, is not the format of such a tracepoint. */
bool perf_wakeup_parse(const char *text, size_t length, struct perf_wakeup_format *format);

/* The same of this kernel. False: there is no such text, or we may not read it. */
bool perf_wakeup_find(struct perf_wakeup_format *format);

/* What the SIZE bytes at RAW, a PERF_SAMPLE_RAW, tell. False if they are too few. */
bool perf_wakeup_read(const struct perf_wakeup_format *format, const void *raw, size_t size,
                      struct event_waking *out);
