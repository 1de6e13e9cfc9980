/* SPDX-License-Identifier: MIT */
/*
 * Signals and job control, so that the target lives in its shell and on its
 * terminal as if bottleneck were not there.
 *
 * The target stays in the process group in which bottleneck was started, and
 * gets what the terminal (Ctrl-C, Ctrl-\, Ctrl-Z) or kill(2) sends to that
 * group. bottleneck itself leaves the group, so that a target that kills its
 * own group loses no profile; a witness stays there and reports what is sent.
 * What is sent to bottleneck alone is passed on. The leader of a session
 * cannot leave its group: then the witness tells which signals were the
 * group's, and SIGKILL to the group ends bottleneck, too.
 *
 * When the target stops, bottleneck stops, so that the shell sees its job stop;
 * when it is continued, so is the target.
 *
 * One job at a time, in the main thread, before others are started: signals are the process's.
 * Whoever opens it closes it.
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
	struct sigaction old_child, old_pipe, old_output;
	pid_t group; /* in which we were started: the target's */
	bool apart;  /* we are in another one */
	struct witness witness;
	sigset_t seen;       /* by the witness, and not yet by us */
	pid_t child;         /* the target; 0 when there is none (yet, or any more) */
	unsigned interrupts; /* SIGINTs so far */
};

/* From here on signals wait in the descriptor. Before the launch. */
int job_open(struct job *job, struct error *err);

/* In the forked child, first: it joins the group in which bottleneck was started. */
void job_join(const struct job *job);

/* In the forked child, before its exec: signals as bottleneck found them. */
void job_restore(const struct job *job);

/* Handles what has come in. True if a child of ours may have changed its state. */
bool job_handle(struct job *job);

/* The target was stopped by SIGNAL: stops us, returns when we are continued. */
void job_stopped(struct job *job, int signal);

/* The target is gone: from now on SIGINT and its like end bottleneck. */
void job_leave(struct job *job);

/* The same, if it has not been done, and waits for the witness. FD -1: it was never opened. */
void job_close(struct job *job);

/* Ends this process by SIGNAL as the target was, without a second core dump. */
void job_die(int signal);
