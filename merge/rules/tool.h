/* SPDX-License-Identifier: MIT */
/*
 * The program that a run is about, where it is one that the system brought: its user can change
 * what it is asked to do, and not what it does for that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct profile;

/* "rsync": the installed program that most of the run's time is in, unless it interprets what the
   user has written. False if there is none. */
bool tool_of(const struct profile *p, char *name, size_t size);

/* What the user of such a program can do about what it does. */
void tool_advise(const char *name, char *advice, size_t size);
