/* SPDX-License-Identifier: MIT */
/*
 * A command that waits for the word before it execs. Apart from the rest because <sys/wait.h>
 * brings <sys/ucontext.h>, whose REG_* are not those of base/record.h.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int gate;
};

int child_fork(struct child *child, char **command); /* -1 with errno */
void child_go(const struct child *child);
void child_kill(const struct child *child);

/* True once it has ended (without waiting for that). */
bool child_ended(const struct child *child);

/* Ends a child that was never told to go. */
void child_cancel(const struct child *child);
