/* SPDX-License-Identifier: MIT */
/*
 * Whether the CPUs ran at another clock in one part of the run than in another: by what the run
 * says of it (cpu_clock, merge/table/clocks.h), of which there is nothing on most virtual machines.
 *
 * Work of N cycles takes N / f at the clock f. What took the time T at the clock f, and would be
 * done at the clock F, takes T * f / F there: T * (1 - f / F) is due to the slower clock (Hennessy
 * and Patterson, Computer Architecture, 1.9: CPU time = cycles / clock rate). It is the most that
 * can be, as waiting for memory and for files does not become faster with the clock.
 */
#pragma once

#include "merge/profile/profile.h"
#include "merge/query/query_warmup.h"

#include <stdbool.h>
#include <stdint.h>

struct clock_change {
	double before_mhz, after_mhz;
	uint64_t at_ns;     /* since the start of the run */
	uint64_t excess_ns; /* of a rise: of the warm-up's excess, what it explains at most */
};

/* Clocks that differ by a tenth and more, with three readings and more of each. */
#define CLOCK_RATIO    0.9
#define CLOCK_READINGS 3

/* From the warm-up in ROWS to the steady time behind it. False if the clock did not rise, or nobody
   knows. */
bool query_clock_rise(const struct profile *p, const struct warmup_rows *rows,
                      struct clock_change *change);

/* At the moment that parts the run's readings best in two levels (the greatest sum of squares
   between them), if each lasted for a tenth of the time. False if it did not fall, or nobody
   knows. */
bool query_clock_fall(const struct profile *p, struct clock_change *change);
