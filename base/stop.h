/* SPDX-License-Identifier: MIT */
/*
 * Whether this process has been asked to come to an end.
 *
 * Set by a signal's handler, asked by work that may take long (looking up names, fetching debug
 * information): what is not done yet is left out. Nothing takes it back. Any thread, any handler.
 */
#pragma once

#include <stdbool.h>

/* SIGNAL asks for the end. */
void stop_want(int signal);

/* The first signal that did; 0: none. */
int stop_signal(void);

/* Its name, "SIGTERM"; NULL: there was none. */
const char *stop_signal_name(void);

static inline bool stop_is_wanted(void)
{
	return stop_signal() != 0;
}
