/* SPDX-License-Identifier: MIT */
/*
 * What a run ran on and with, as merge/table/environment.h has it.
 */
#pragma once

struct modules;
struct run;

/*
 * Of the command ARGV, which is over and has mapped MODULES (NULL: that is not known), on the
 * machine that RUN was on: by what was mapped, by /proc and /sys, and by those variables of our
 * own environment, which ARGV was started with, that change how fast programs are. Takes
 * milliseconds. To be freed; NULL if there is no memory.
 */
char *surroundings_text(char *const *argv, const struct modules *modules, const struct run *run);

/* Reads what the next of these takes from the machine alone, for a thread that has nothing else to
   do before that. */
void surroundings_prepare(void);
