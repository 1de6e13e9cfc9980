/* SPDX-License-Identifier: MIT */
/*
 * Tells a signal that was sent to our process group from one that was sent to
 * us alone.
 *
 * The kernel does not say. But the witness, a child of ours that does nothing,
 * is in the group too: what it got as well has also reached the target, and
 * must not be passed on to it a second time.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct witness {
	pid_t pid;  /* 0 if there is none: then nothing was ever seen */
	int pipe;   /* a byte: forget what you saw; its end ends the witness */
	int answer; /* a byte: done */
};

/* WATCHED signals wait in the witness, and are blocked in the caller already. */
void witness_start(struct witness *w, const sigset_t *watched);
void witness_stop(struct witness *w);

/* True if the witness got SIGNAL too since it was last asked. */
bool witness_saw(struct witness *w, int signal);
