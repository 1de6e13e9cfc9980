/* SPDX-License-Identifier: MIT */
/*
 * Signals and job control, so that the target lives in its shell and on its
 * terminal as if we were not there.
 *
 * The target shares our process group. What the terminal sends (Ctrl-C,
 * Ctrl-\, Ctrl-Z) reaches both of us, and is the target's business. What is
 * sent to us alone is passed on; a witness tells it from what was sent to the
 * whole group. When the target stops, we stop, so that the
 * shell sees its job stop; when we are continued, so is the target.
 */
#pragma once

#include "base/cleanup.h"
#include "cli/run/witness.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

struct job {
	int fd; /* signalfd: readable when there is something for job_handle() */
	sigset_t handled;
	sigset_t old_mask; /* as we were started: the target gets them back */
	struct sigaction old_child, old_pipe;
	struct witness witness;
	pid_t child;         /* the target; 0 when there is none (yet, or any more) */
	unsigned interrupts; /* SIGINTs so far */
};

/* From here on signals wait in the descriptor. Before the launch. */
int job_open(struct job *job, struct error *err);

/* In the forked child, before its exec: signals as bottleneck found them. */
void job_restore(const struct job *job);

/* Handles what has come in. True if a child of ours may have changed its state. */
bool job_handle(struct job *job);

/* The target was stopped by SIGNAL: stops us, returns when we are continued. */
void job_stopped(struct job *job, int signal);

/* The target is gone: from now on SIGINT and its like end bottleneck. */
void job_close(struct job *job);

/* Ends this process by SIGNAL as the target was, without a second core dump. */
void job_die(int signal);
