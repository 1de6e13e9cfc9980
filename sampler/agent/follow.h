/* SPDX-License-Identifier: MIT */
/*
 * Follows a tree of processes without the kernel's events: by /proc, and by
 * what the agents in them write (tracer/reader), as far as there are any.
 *
 * Each round looks at all threads that are known, takes the records that have
 * come, looks for new and vanished tasks, and turns all that into the events
 * that a source owes: FORK, EXEC, MAP, SAMPLE, THREAD, SWITCH, EXIT. Switches
 * are worked out from the scheduler's totals (sampler/agent/timeline.h).
 *
 *	follow_begin()   totals of all threads
 *	follow_record()  for each record, in order
 *	follow_end()     new tasks, tasks that are gone, threads that wait
 *	after each of them: follow_next() until NULL
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct follow;

/* ROOT waits before its exec: what it runs now is none of the target. */
struct follow *follow_new(uint32_t root, struct error *err);

/* The same for processes that run already, with the children that they have: their time until now
   is not reported. Where their threads are when they run may be looked up at each sample, so there
   is one only of threads that run at that moment. */
struct follow *follow_running(const pid_t *pids, size_t count, struct error *err);
void follow_free(struct follow *f);

CLEANUP(follow, struct follow *, follow_free)

void follow_begin(struct follow *f, uint64_t now_ns);

/* RECORD is sound (record_is_sound()); events may point into it until the next call. */
void follow_record(struct follow *f, const struct record *record);

/* All records that are older than READ_UNTIL_NS have been given. GONE is called for each process
   that is no more. */
void follow_end(struct follow *f, uint64_t read_until_ns, void (*gone)(void *context, uint32_t pid),
                void *context);

/* NULL if there are no more. */
const struct event *follow_next(struct follow *f);

/* When the next round is due: looking takes a fiftieth of a CPU, or what five rounds a second take,
   of which one looks at each thread. */
uint64_t follow_due_ns(const struct follow *f);
