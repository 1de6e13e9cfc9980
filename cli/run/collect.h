/* SPDX-License-Identifier: MIT */
/*
 * Waits for the target while it is recorded: its end, its stops, signals for it.
 */
#pragma once

struct error;
struct job;
struct launch;
struct recording;

/* Returns when the target has ended; -1: nothing can be waited for. R, JOB and LAUNCH are used by
   another thread meanwhile. */
int collect_until_exit(struct recording *r, struct job *job, const struct launch *launch,
                       struct error *err);
