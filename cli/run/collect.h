/* SPDX-License-Identifier: MIT */
/*
 * Waits for the target while the collector records it: its end, its stops, signals for it.
 */
#pragma once

struct collector;
struct error;
struct job;
struct launch;

/* Returns when the target has ended; -1: nothing can be waited for. C, JOB and LAUNCH are used by
   another thread meanwhile. */
int collect_until_exit(struct collector *c, struct job *job, const struct launch *launch,
                       struct error *err);
