/* SPDX-License-Identifier: MIT */
/*
 * From the sampler to the profile, with a list of who is still alive.
 *
 * What the agent's hooks call in the program's name (the allocator, BLAS) is
 * called by the program: frames of the agent are left out. Where the innermost
 * code is the agent's, one mark stands for it: that time is our doing, and is shown as such.
 */
#pragma once

#include "cli/report/traced.h"
#include "merge/record/hooks.h"
#include "merge/record/kernel_names.h"
#include "merge/record/own_threads.h"
#include "merge/record/recorded.h"
#include "sampler/sampler.h"

#include <stddef.h>
#include <stdint.h>

struct modules;
struct ops;
struct profile;

struct live_process {
	uint32_t process; /* number */
	uint32_t pid;
	char name[32];
};

struct sink {
	struct profile *profile;       /* borrowed */
	const struct modules *modules; /* borrowed; NULL: there is no agent */
	uint32_t agent;                /* module of the agent; 0: none has been seen */
	uint32_t not_agent;            /* the last other module that was looked at */
	struct hooks hooks;            /* CPU time of stacks whose innermost code is the agent's */
	struct frame frames[STACK_MAX_FRAMES]; /* a stack without the agent's */
	struct own_threads own_threads;
	uint32_t cupti, not_cupti; /* modules: CUPTI's, and the last other one looked at */
	struct live_process *live;
	size_t live_count, live_capacity;
	struct traced traced;
	struct recorded recorded; /* what else is heard is left out; all, unless it is set up */
	struct ops *ops;          /* borrowed; NULL: kernels keep the names that CUPTI gives them */
	struct kernel_names kernel_names;
};

/* MODULES may be NULL where no agent is in the program. */
void sink_init(struct sink *sink, struct profile *profile, const struct modules *modules);
void sink_fini(struct sink *sink);

/* What hooks have taken so far, of SINK: for struct sampler_options. */
uint64_t sink_hooks_ns(const void *sink);

/* The functions to give to sampler_new(); SINK must outlive the sampler. */
struct sampler_sink sink_functions(struct sink *sink);

/* How many processes other than MAIN_PID are running now; *NAME is the first one's, or "". */
uint32_t sink_count_running(const struct sink *sink, uint32_t main_pid, const char **name);
