/* SPDX-License-Identifier: MIT */
/*
 * From events to what the sink hears: who there is, and complete stacks with
 * what they stand for.
 *
 * The tracker keeps tasks, address spaces and the accounts of every thread. It
 * knows no source: events may come from the kernel, the agent, or a test.
 *
 * One thread at a time; the sink is called from within it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "sampler/event/event.h"
#include "sampler/event/sink.h"
#include "sampler/event/source.h"
#include "sampler/op/op_site.h"

#include <stdbool.h>
#include <stdint.h>

struct codes;
struct ops;
struct error;
struct kallsyms;
struct tracker;

/* MODULES and what the sink leads to must outlive the tracker. */
struct tracker *tracker_new(struct modules *modules, enum unwinder_kind unwinder,
                            const struct sampler_sink *sink, struct error *err);
void tracker_free(struct tracker *t); /* NULL is fine */

CLEANUP(tracker, struct tracker *, tracker_free)

/* Before tracker_start(): the kernel's functions, borrowed. NULL: it reads them by itself. */
void tracker_set_kernel_names(struct tracker *t, struct kallsyms *names);

/* Before the first event: who knows the machinery of providers of ops, see sampler/op/op_site.h. */
void tracker_set_wrappers(struct tracker *t, op_is_wrapper *is_wrapper, void *context);

/* Before the first event: where Python's functions get their numbers, borrowed. */
void tracker_set_codes(struct tracker *t, struct codes *codes);

/* Where ops have their numbers. */
void tracker_set_ops(struct tracker *t, const struct ops *ops);

/* Whether one of COUNT processes, or of the first of their descendants, runs Python. */
bool tracker_finds_python(const pid_t *pids, size_t count);

/* Nothing of ours is in the processes: their interpreters are found, and the Python frames of
   threads that run are read, from outside. Before the first event; false: no memory. */
bool tracker_read_python(struct tracker *t);

/* Before the first event. OFF_CPU: whether the sink wants to hear of waiting. */
int tracker_start(struct tracker *t, const struct source_facts *facts, bool off_cpu,
                  struct error *err);

/* The source has changed its rate. */
void tracker_adjust(struct tracker *t, const struct source_facts *facts);

void tracker_handle(struct tracker *t, const struct event *event);

/* Whether a thread of PID has begun and not ended. */
bool tracker_has_process(const struct tracker *t, uint32_t pid);

/* Looks at blocked threads, if any are due, and how long until then (at most LIMIT_MS). */
void tracker_probe(struct tracker *t, uint64_t now_ns);
int tracker_timeout_ms(const struct tracker *t, uint64_t now_ns, int limit_ms);

/* Tells of threads that compute where the source takes no samples; about once a second. */
void tracker_flush(struct tracker *t, uint64_t now_ns);

/* Reads the command lines of processes that live on, less often the longer they do. */
void tracker_look_for_titles(struct tracker *t, uint64_t now_ns);

/* Looks whether processes that have run for a while have an agent in them; each program once. */
void tracker_look_for_agents(struct tracker *t, uint64_t now_ns);

/* Looks at the goroutines of Go programs, if it is time to. */
void tracker_look_at_goroutines(struct tracker *t, uint64_t now_ns);

/* The same of tasks of asyncio, in processes whose Python is read from outside; also at the end. */
void tracker_look_at_tasks(struct tracker *t, uint64_t now_ns);

/* Ends all threads at NOW_NS. */
void tracker_finish(struct tracker *t, uint64_t now_ns);

/* Stacks so far that were deeper than what had been copied of them. */
uint64_t tracker_deep(const struct tracker *t);

/* Events handled so far. */
uint64_t tracker_events(const struct tracker *t);

/* -1 if an event could not be handled for want of memory. */
int tracker_check(const struct tracker *t, struct error *err);

/* Fills what the tracker knows of STATUS. */
void tracker_report(const struct tracker *t, struct sampler_status *status);
