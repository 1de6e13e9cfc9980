/* SPDX-License-Identifier: MIT */
/*
 * Ops and allocations of processes whose samples come from elsewhere, and on
 * rung 2 the kernel's part of their CPU time.
 *
 * The second source of a sampler on rungs 1 and 2: the agents' rings, of which
 * it takes nothing but RECORD_OP_*, ALLOC, FREE, MEMORY, PYTHON*, and SAMPLE with
 * SAMPLE_KERNEL or SAMPLE_PYTHON. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/op.h"
#include "sampler/event/event.h"

#include <stdint.h>

struct error;
struct op_source;

/* DIRECTORY: of the agents' files. OPS must outlive it. NULL on error. */
struct op_source *op_source_new(const char *directory, struct ops *ops, struct error *err);
void op_source_free(struct op_source *s); /* NULL is fine */

CLEANUP(op_source, struct op_source *, op_source_free)

/* Files of processes that are older than the collector are taken, too. */
void op_source_take_older(struct op_source *s);

/* Looks what has come; before each round of op_source_next(). */
void op_source_poll(struct op_source *s, uint64_t now_ns);

/* The next event that is not younger than UNTIL_NS; NULL: none. Valid until the next call. */
const struct event *op_source_next(struct op_source *s, uint64_t until_ns);

/* Process PID ends: what is known of it so far comes next. */
void op_source_conclude(struct op_source *s, uint32_t pid, uint64_t now_ns);

/* How long the collector may sleep, at most LIMIT_MS. */
int op_source_timeout_ms(const struct op_source *s, int limit_ms);

/*
 * As far as events tell, process PID has ended at TIME_NS: its files and names go once it really
 * has, and all that it has written has been taken. Without memory they stay.
 */
void op_source_forget(struct op_source *s, uint32_t pid, uint64_t time_ns);

/* What an agent had to say to the user; "" if nothing. */
const char *op_source_note(const struct op_source *s);

/* What the agents' handlers of ticks have taken of the target's time. */
uint64_t op_source_handlers_ns(const struct op_source *s);

/* Records that were lost, or could not be understood. */
uint64_t op_source_lost(const struct op_source *s);

/* Threads for which there was no ring when they asked for one. */
uint64_t op_source_unseen_threads(const struct op_source *s);

/* Processes that ended before they were known to be ours: see reader_strangers(). */
uint64_t op_source_strangers(const struct op_source *s);
