/* SPDX-License-Identifier: MIT */
/*
 * From what the sampler finds out to the profile: leaves out what is not the program's, and what is
 * not to be recorded.
 *
 * What the agent's hooks call in the program's name (the allocator, BLAS) is called by the program:
 * frames of the agent are left out. Where the innermost code is the agent's, one mark stands for
 * it: that time is overhead, and is shown as such. The agent's threads, which have CUPTI give out
 * what it has seen, are hidden.
 *
 * One thread at a time. All that recorder_init() is given must outlive the recorder.
 */
#pragma once

#include "merge/record/hooks.h"
#include "merge/record/kernel_names.h"
#include "merge/record/recorded.h"
#include "merge/record/traced.h"
#include "sampler/sampler.h"

#include <stddef.h>
#include <stdint.h>

struct modules;
struct ops;
struct profile;

struct recorder {
	struct profile *profile;
	const struct modules *modules; /* NULL: there is no agent */
	struct ops *ops;               /* NULL: kernels keep the names that CUPTI gives them */
	uint32_t agent;                /* module of the agent; 0: none has been seen */
	uint32_t not_agent;            /* the last other module that was looked at */
	uint32_t cupti, not_cupti;     /* the same of CUPTI */
	struct frame frames[STACK_MAX_FRAMES]; /* a stack without the agent's */
	uint32_t *own_threads;                 /* numbers of the agent's threads */
	size_t own_count, own_capacity;
	struct live_process *live; /* who has not ended */
	size_t live_count, live_capacity;
	uint64_t tasks;     /* threads that have ended */
	uint64_t processes; /* that were there, with the first */
	uint64_t execs;     /* of programs, but for the first */
	struct hooks hooks; /* CPU time of stacks whose innermost code is the agent's */
	struct traced traced;
	struct recorded recorded; /* all is recorded, unless it is set up */
	bool joined;              /* the agent has come to processes that ran already */
	struct kernel_names kernel_names;
};

/* MODULES may be NULL where no agent is in the program; OPS may be NULL. */
void recorder_init(struct recorder *r, struct profile *profile, const struct modules *modules,
                   struct ops *ops);
void recorder_fini(struct recorder *r);

/* For sampler_new(); R must outlive the sampler. */
struct sampler_sink recorder_sink(struct recorder *r);

/* What hooks have taken so far, of RECORDER: for struct sampler_options. */
uint64_t recorder_hooks_ns(const void *recorder);

/* How many bytes of the processes that run now are resident; of many, of the first ones alone. What
   they share counts for each of them. */
uint64_t recorder_resident(const struct recorder *r);

/* How many processes other than MAIN_PID are running now; *NAME is the first one's, or "". */
uint32_t recorder_count_running(const struct recorder *r, uint32_t main_pid, const char **name);
