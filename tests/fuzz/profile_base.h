/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets of profile files share: sound files to begin with, and all questions.
 */
#pragma once

struct profile;

/* Two processes, three threads and one stack of each; ops and memory as well; GPUs and ranks; GPUs
   and all the rest: wall time, repeated runs, counters, instructions, Python's calls and tasks. */
enum profile_base {
	BASE_PLAIN,
	BASE_OPS,
	BASE_GPU,
	BASE_REST,
	BASES
};

void profile_base_write(const char *path, enum profile_base kind);

/* Asks P and what becomes of it where it is merged with itself. */
void profile_base_ask(const struct profile *p);
