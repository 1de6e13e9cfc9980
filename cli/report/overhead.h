/* SPDX-License-Identifier: MIT */
/*
 * The overhead of profiling in CPU time, and who took it.
 */
#pragma once

#include <stdint.h>

struct run;
struct section;

uint64_t overhead_ns(const struct run *run);

/* Adds the sentence that tells who took how much of it, of a run that has ended. */
void overhead_say(struct section *s);
