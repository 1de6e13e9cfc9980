/* SPDX-License-Identifier: MIT */
/*
 * Runs a command under the agent, for tests: what it printed, how it ended, and
 * what the agent left in its rings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_run {
	int status;         /* as from waitpid() */
	char output[65536]; /* stdout and stderr of the command, cut */
	uint64_t records, samples, execs, forks, exits, maps, notes;
	uint64_t thread_forks; /* of the forks, those of threads */
	uint64_t weight_ns;    /* of all samples */
	uint64_t stackless_ns; /* of those without a stack */
	uint64_t stack_bytes;
	uint64_t pids, tids; /* distinct ones with samples */
	uint64_t cpu_ns;     /* CPU time of the command and its children */
	uint64_t wall_ns;
	uint64_t unsampled, dropped, damaged;
	uint64_t widest_ns; /* largest weight of one sample */
	bool left_files;    /* something was left in the directory */
};

struct record;

struct agent_run_options {
	bool without;           /* the plain command, to compare with */
	uint32_t hz;            /* 0: 999 */
	uint64_t kill_after_ns; /* SIGKILL then; 0: never */
	bool count_calls;       /* of Python functions */
	bool stop_reading;      /* do not drain before the end */
	uint32_t malloc_bytes;  /* 0: allocations are not looked at */
	bool waits;             /* for locks and other threads */
	bool silent;            /* no samples of CPU time */
	uint32_t python_hz;     /* but in programs with an interpreter; 0: nor there */
	bool kernel_only;       /* of ticks of timers, only those in the kernel */
	void (*visit)(void *context, const struct record *record); /* may be NULL */
	void *context;
};

/* ARGV ends with NULL. Dies with a message if it cannot run. */
void agent_run(struct agent_run *run, const struct agent_run_options *options, char *const argv[]);
