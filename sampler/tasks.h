/* SPDX-License-Identifier: MIT */
/*
 * The processes and threads that are being followed, by pid and tid.
 *
 * Numbers (struct process_event, struct thread_event) are given in order of
 * appearance and never reused, pids are. A thread that an event names before
 * its FORK record has come is made on the spot.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "base/stack.h"
#include "sampler/address_space.h"

#include <stdbool.h>
#include <stdint.h>

struct process {
	uint32_t pid;
	uint32_t number;
	uint32_t parent; /* number; 0 if it is not ours */
	uint64_t start_ns;
	struct address_space *space;
	char command[16];
	uint32_t live_threads;
	uint64_t samples;    /* on-CPU samples seen */
	bool announced;      /* the sink knows it */
	struct process *next; /* in its hash chain */
};

/* The off-CPU state of a thread: see sampler/off_cpu.h, which alone touches it. */
struct off_cpu_state {
	uint64_t since_ns;      /* when its present state began; 0: not known yet */
	bool out;               /* it is off the CPU */
	bool preempted;
	bool probed;            /* the present interval has been probed */
	uint64_t probe_ns;      /* when */
	enum metric cause;      /* of the present interval, METRIC_OFF_OTHER until known */
	struct frame *frames;   /* stack of the present interval; NULL if none. Owned. */
	uint32_t frame_count, frame_capacity;
	uint32_t frame_flags;
	uint64_t pending_ns;    /* earlier intervals that have no stack of their own */
	uint32_t pending_count;
};

struct thread {
	uint32_t tid;
	uint32_t number;
	struct process *process;
	uint64_t start_ns;
	char name[16];
	bool announced;
	uint64_t cpu_time_ns;         /* its CPU clock at the last sample (kernel remainder) */
	uint64_t ns[METRIC_COUNT];    /* exact times from SWITCH records */
	uint64_t sampled_ns;          /* weights handed on so far */
	struct off_cpu_state off_cpu;
	struct thread *next; /* in its hash chain */
};

struct tasks;

struct tasks *tasks_new(void); /* NULL if there is no memory */
void tasks_free(struct tasks *t);

CLEANUP(tasks, struct tasks *, tasks_free)

struct process *tasks_find_process(struct tasks *t, uint32_t pid);
struct thread *tasks_find_thread(struct tasks *t, uint32_t pid, uint32_t tid);

/* Finds or makes; NULL if there is no memory. */
struct process *tasks_process(struct tasks *t, uint32_t pid, uint64_t time_ns);
struct thread *tasks_thread(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* The process PARENT has forked PID: gets a copy of its address space and its name. */
struct process *tasks_fork(struct tasks *t, struct process *parent, uint32_t pid,
                           uint64_t time_ns);

/* Frees the thread, and with its last thread the process (then *PROCESS_ENDED is true). */
void tasks_end_thread(struct tasks *t, struct thread *thread, bool *process_ended);

/* Calls VISIT for every live thread; VISIT must not end threads. */
void tasks_each_thread(struct tasks *t, void (*visit)(void *context, struct thread *thread),
                       void *context);
