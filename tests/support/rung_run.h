/* SPDX-License-Identifier: MIT */
/*
 * Runs a command under the sampler on a given rung, for tests, and sums up what
 * its sink hears.
 */
#pragma once

#include "base/metric.h"
#include "sampler/sampler.h"

#include <stdbool.h>
#include <stdint.h>

struct rung_thread {
	uint32_t number, process, tid;
	char name[16];
	uint64_t start_ns, end_ns;
	uint64_t told_ns[METRIC_COUNT];  /* by struct thread_end */
	uint64_t stack_ns[METRIC_COUNT]; /* by its stacks */
	uint64_t unknown_ns;             /* of these, on-CPU without a frame */
	uint64_t samples;
	bool ended;
};

struct rung_run {
	int status; /* as from waitpid() */
	uint64_t wall_ns, cpu_ns, cpu_self_ns;
	uint64_t late_ns; /* for which a busy machine kept the sampler from its work, in all */
	uint32_t processes, processes_ended, execs;
	char last_command[64]; /* of the process that was heard of last */
	struct rung_thread threads[1200];
	uint32_t thread_count;
	struct sampler_status sampler;
};

/* ARGV ends with NULL. Dies with a message if it cannot run. */
void rung_run(struct rung_run *run, enum rung rung, char *const argv[]);

/* Sums over all threads. */
uint64_t rung_on_cpu_ns(const struct rung_run *run);
uint64_t rung_unknown_ns(const struct rung_run *run);
