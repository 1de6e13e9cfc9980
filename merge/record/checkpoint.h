/* SPDX-License-Identifier: MIT */
/*
 * Keeps a recent copy of the profile on disk while the program runs, so that a
 * run of hours survives the end of bottleneck itself.
 *
 * A forked copy of the collector writes, so the collector never waits for the disk: every
 * 5 s, or less often where that would cost more than half a percent of the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct profile;
struct run;

struct checkpoint {
	const char *path; /* NULL: none are wanted */
	pid_t writer;     /* 0 if none is at work */
	uint64_t started_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;  /* of all writers that are done */
	uint32_t written, failed;
};

void checkpoint_init(struct checkpoint *c, const char *path, uint64_t now_ns);

/* Starts a writer if it is time; RUN holds the facts so far. */
void checkpoint_maybe(struct checkpoint *c, struct profile *profile, const struct run *run,
                      uint64_t now_ns);

/* Takes the writer's result if it is done. WAIT: until it is. */
void checkpoint_reap(struct checkpoint *c, bool wait);

/* How long until the next one is due, at most LIMIT. */
int checkpoint_timeout_ms(const struct checkpoint *c, uint64_t now_ns, int limit_ms);
