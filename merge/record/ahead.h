/* SPDX-License-Identifier: MIT */
/*
 * When to look up names while the program still runs: now and then, less and
 * less often, and only if a CPU has nothing else to do. Then the report comes
 * sooner, and the program is not slowed down for it. The kernel's names are read
 * once the program has shown that it is not over at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct early;
struct kallsyms;
struct profile;

struct ahead {
	struct early *early; /* NULL: nothing is looked up ahead */
	uint64_t next_ns;    /* CLOCK_MONOTONIC */
	uint64_t interval_ns;
	struct kallsyms *kernel_names; /* NULL: nothing is to be read */
};

/* EARLY and KERNEL_NAMES may be NULL. */
void ahead_init(struct ahead *a, struct early *early, struct kallsyms *kernel_names,
                uint64_t now_ns);

/* Asks for the names of what has come in, if it is time. */
void ahead_maybe(struct ahead *a, struct profile *profile, uint64_t now_ns);

/* How long until then, at most LIMIT. */
int ahead_timeout_ms(const struct ahead *a, uint64_t now_ns, int limit_ms);

bool ahead_is_idle(const struct ahead *a);
