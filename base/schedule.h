/* SPDX-License-Identifier: MIT */
/*
 * Which steps of a run are looked at: a schedule, as that of torch.profiler.
 *
 *	skip_first=2,wait=1,warmup=1,active=3,repeat=2
 *
 *	step    1  2 | 3  4  5  6  7 | 8  9 10 11 12 | 13 …
 *	        -  - | -  - [1  1  1]| -  - [2  2  2]|  -      cycle that it is active in
 *
 * A cycle's window goes from the beginning of its first active step to the beginning of the step
 * that follows its last one: what begins in it belongs to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct schedule {
	uint64_t skip_first, wait, warmup; /* steps; 0: none */
	uint64_t active;                   /* steps, 1 and more */
	uint64_t repeat;                   /* cycles; 0: until the run ends */
};

/* TEXT is "KEY=NUMBER,…"; "active" has to be among them. -1 with one line in ERR. */
int schedule_parse(struct schedule *schedule, const char *text, struct error *err);

/* The cycle, from 1, in which STEP, from 1, is active; 0: it is not. */
uint64_t schedule_cycle_of(const struct schedule *schedule, uint64_t step);

/* The active steps of a cycle, as they were in a run. */
struct schedule_cycle {
	uint64_t first, steps;     /* the number of the first of them, from 1, and how many came */
	uint64_t begin_ns, end_ns; /* of its window, since the start of the run; end 0: open */
};

/*
 * One cycle from TEXT, "FIRST STEPS BEGIN END;…", as profiles keep them, which *TEXT is then
 * behind. False if there is none, or if it cannot be.
 */
bool schedule_next_cycle(const char **text, struct schedule_cycle *cycle);
