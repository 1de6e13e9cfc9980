// SPDX-License-Identifier: MIT
/*
 * A run of tests/programs/probe_child.c. Kept apart from the test because <signal.h> and
 * base/record.h both have names for registers.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct probe_run {
	pid_t pid;
	int input, output;                  /* pipes to its stdin and from its stdout */
	unsigned long main_start, main_end; /* addresses in the program */
};

/* Returns when PROGRAM is about to block in the WAY named. */
void probe_run_start(struct probe_run *run, const char *program, const char *way);
void probe_run_stop(struct probe_run *run);

/* SIGSTOP. */
void probe_run_pause(const struct probe_run *run);

/* True if it has ended because this kernel does not let it block that way. */
bool probe_run_gave_up(const struct probe_run *run);
