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
#include <stddef.h>
#include <stdint.h>

struct error;

struct rank {
	bool known;
	uint32_t number; /* from 0 */
	uint32_t world;  /* how many there are; 0: unknown */
};

/* Of this process. Variables that hold no number are as if they were not there. */
struct rank rank_now(void);

/* The same of a process whose environment is WORDS: SIZE bytes, as in /proc/PID/environ; a NUL
   follows them. */
struct rank rank_of(const char *words, size_t size);

/* A process's title says which rank it is, if a launcher of the run has started it: "app [rank 3]".
   TITLE is one of SIZE bytes, and stays as it is where there is no room. */
void rank_add_to_title(char *title, size_t size, uint32_t number);
/* False if TITLE (NULL is fine) says of no rank. */
bool rank_of_title(const char *title, uint32_t *number);

/*
 * Whether NUMBER is in LIST: numbers and ranges, as in "0,3,8-15". -1 with one line in ERR if LIST
 * is none.
 */
int rank_in_list(const char *list, uint32_t number, struct error *err);
