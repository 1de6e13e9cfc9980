/* SPDX-License-Identifier: MIT */
/*
 * When to look up names while the program still runs: now and then, less and
 * less often, and only if a CPU has nothing else to do. Then the report comes
 * sooner, and the program is not slowed down for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct early;
struct profile;

struct ahead {
	struct early *early; /* NULL: nothing is looked up ahead */
	uint64_t next_ns;    /* CLOCK_MONOTONIC */
	uint64_t interval_ns;
};

/* EARLY may be NULL. */
void ahead_init(struct ahead *a, struct early *early, uint64_t now_ns);

/* Asks for the names of what has come in, if it is time. */
void ahead_maybe(struct ahead *a, struct profile *profile, uint64_t now_ns);

/* How long until then, at most LIMIT. */
int ahead_timeout_ms(const struct ahead *a, uint64_t now_ns, int limit_ms);

bool ahead_is_idle(const struct ahead *a);
