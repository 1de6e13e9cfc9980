/* SPDX-License-Identifier: MIT */
/*
 * Hours of made-up samples in seconds, to see what a profile grows to.
 *
 *	struct replay *r = replay_new("paths");
 *	replay_run(r, until_ns);
 *	replay_bytes(r) ...
 *
 * Each load is what some kind of program does for ever. Deterministic. One thread.
 */
#pragma once

#include "merge/profile/profile_data.h"

struct replay {
	struct modules *modules;
	struct profile *profile;
	const struct replay_load *load;
	uint64_t now_ns, start_ns;
	uint64_t seed;
	uint64_t events, given_ns; /* stacks that the profile was given, and what they weigh */
	uint32_t threads, processes;
	uint64_t wake_ns[512]; /* when each waiting thread wakes up */
	struct frame frames[STACK_MAX_FRAMES];
};

struct replay_load {
	const char *name;
	const char *about;
	void (*begin)(struct replay *r);
	void (*step)(struct replay *r); /* about a millisecond */
};

extern const struct replay_load replay_loads[];
extern const size_t replay_load_count;

struct replay *replay_new(const char *load, const struct profile_limits *limits);
void replay_free(struct replay *r);

CLEANUP(replay, struct replay *, replay_free)

/* Goes on until so long after the start. */
void replay_run(struct replay *r, uint64_t until_ns);

/* What the profile's tables take. */
size_t replay_bytes(const struct replay *r);
