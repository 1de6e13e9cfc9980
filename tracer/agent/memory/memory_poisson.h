/* SPDX-License-Identifier: MIT */
/*
 * Which allocations are sampled: each byte is hit with the same chance, one in
 * so many (the mean), and an allocation is sampled if one of its bytes is.
 *
 *	bytes allocated ──────────x────────────────────x──x─────►
 *	                 └ distance: exponential ┘
 *
 * An allocation of S bytes is hit with chance 1 - exp(-S/mean), so it stands
 * for S over that: the sum of weights is unbiased at every site, whatever the
 * sizes are. The chance of what comes next depends on nothing that came before,
 * so the mean may change at any time: it doubles when a process samples more
 * often than the budget allows, and comes back when it does not. Each weight
 * goes by the mean that was in force.
 *
 * A sample costs the program 1 us and the collector some 25. The first so many
 * may come fast, so that a short run has enough of them; a long one collects
 * them all the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define POISSON_BUDGET    25 /* samples in a window; above it the mean doubles */
#define POISSON_WINDOW_NS UINT64_C(50000000)
#define POISSON_BURST     1024 /* samples; from then on windows are so long: */
#define POISSON_CALM_NS   UINT64_C(250000000)
#define POISSON_SHIFT_MAX 24

/* Of a process. All zero at its start. */
struct poisson_budget {
	uint64_t window_ns; /* atomic: when the window began */
	uint32_t taken;     /* atomic: samples in it */
	uint32_t before;    /* atomic: and before it */
	uint32_t shift;     /* atomic: how often the mean has been doubled */
};

/* Of a thread. */
struct poisson {
	uint64_t state;
	uint64_t mean; /* in force until the next sample */
};

void poisson_start(struct poisson *p, uint64_t seed, uint64_t mean);

/* Bytes to the next hit. */
uint64_t poisson_distance(struct poisson *p);

/* How many an allocation of BYTES stands for that has been hit, and their bytes. */
double poisson_calls(const struct poisson *p, uint64_t bytes);
uint64_t poisson_weight(const struct poisson *p, uint64_t bytes);

/* True once in 2^SHIFT times, at random. */
bool poisson_takes(struct poisson *p, uint32_t shift);

/* A sample is taken at NOW_NS, or none is: the shift may change. */
void poisson_spend(struct poisson_budget *b, uint64_t now_ns);
void poisson_rest(struct poisson_budget *b, uint64_t now_ns);
