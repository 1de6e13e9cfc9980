/* SPDX-License-Identifier: MIT */
/*
 * Waits for the target while it is recorded: its end, its stops, signals for it.
 */
#pragma once

#include <semaphore.h>

struct collecting;
struct error;
struct job;
struct launch;
struct recording;

/* What takes the steps of a recording, in a thread of its own. */
struct collecting {
	struct recording *recording;
	int (*step)(struct collecting *c); /* waits for something to do and does it; 1: that was
	                                      the end, -1: it failed, with ERR set */
	struct error *err;
	void (*meanwhile)(void); /* NULL: none; called in the caller's thread once the target has
	                            ended, while what it has left is taken */
	sem_t ended;             /* collect()'s own */
};

/* From recording_begin() until STEP says that it has ended. */
int collect(struct collecting *c);

/* STEP knows that the target has ended, and has still to take what it has left. */
void collect_ended(struct collecting *c);

/* Returns when the target has ended; -1: nothing can be waited for. R, JOB and LAUNCH are used by
   another thread until then. MEANWHILE: as above. */
int collect_until_exit(struct recording *r, struct job *job, const struct launch *launch,
                       void (*meanwhile)(void), struct error *err);
