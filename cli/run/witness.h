/* SPDX-License-Identifier: MIT */
/*
 * Reports the signals that are sent to the target's process group.
 *
 * The kernel does not say whether a signal was sent to one process or to its whole group. The
 * witness, a child that does nothing else, stays in the group: what it gets, the target has got as
 * well. It also continues the collector, which may have left the group, when the group is
 * continued. The main thread's, which starts and stops it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct witness {
	pid_t pid; /* 0 if there is none: then no signal was ever sent to the group */
	int fd;    /* readable when there is something for witness_next() */
	int life;  /* its end ends the witness */
};

/* WATCHED signals wait in the witness, and are blocked in the caller already. */
void witness_start(struct witness *w, const sigset_t *watched);

/* It reports nothing from now on, and ends by itself: witness_stop() has less to wait for. */
void witness_dismiss(struct witness *w);

/* Waits until it has ended. */
void witness_stop(struct witness *w);

/* The next signal that the group got; 0 if there is none (any more). */
int witness_next(struct witness *w);
