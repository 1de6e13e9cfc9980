/* SPDX-License-Identifier: MIT */
/*
 * Starts the target behind a gate: a child that waits, is sampled, and execs.
 *
 *	launch_start() → attach to launch.pid → launch_release()
 *
 * The child is in our process group and keeps stdin, stdout, stderr and the
 * terminal; its signals are as bottleneck found them, and none of our
 * descriptors survives its exec. In the thread that waits for children; the caller, who started it,
 * closes it.
 */
#pragma once

#include <sys/types.h>

struct error;
struct job;
struct recording;

struct launch {
	pid_t pid;
	int pidfd; /* readable when the child is gone */
	int gate;  /* a byte lets the child exec; closing it ends the child */
	int exec;  /* the child's errno, or end of file when it has exec'd */
};

/*
 * Forks. RECORDING (NULL: none) adds to the environment of the target alone what
 * the agent needs. -1 on error.
 */
int launch_start(struct launch *launch, char *const *argv, const struct recording *recording,
                 const struct job *job, struct error *err);

/* Lets the child exec. 0; or -1 with *STATUS EXIT_CANNOT_RUN or EXIT_NOT_FOUND. */
int launch_release(struct launch *launch, const char *program, int *status, struct error *err);

/* Closes the descriptors; a child that has not exec'd ends and is waited for. */
void launch_close(struct launch *launch);
