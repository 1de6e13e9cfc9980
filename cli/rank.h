/* SPDX-License-Identifier: MIT */
/*
 * Which of the processes that a launcher has started side by side this one is: mpirun, srun and
 * torchrun say so in the environment.
 *
 * Launchers nest, and the innermost counts: torchrun's RANK goes before what srun has set around
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct rank {
	bool known;
	uint32_t number; /* from 0 */
	uint32_t world;  /* how many there are; 0: unknown */
};

/* Of this process. Variables that hold no number are as if they were not there. */
struct rank rank_now(void);

/*
 * Whether NUMBER is in LIST: numbers and ranges, as in "0,3,8-15". -1 with one line in ERR if LIST
 * is none.
 */
int rank_in_list(const char *list, uint32_t number, struct error *err);
