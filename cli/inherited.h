/* SPDX-License-Identifier: MIT */
/*
 * What bottleneck changes of its own signals from its start on, and hands to the programs that it
 * runs as it was.
 *
 * SIGXFSZ: a file that grows beyond the limit on its size (ulimit -f) is an error of the write that
 * did it, which is told, and not the end of bottleneck.
 */
#pragma once

#include <signal.h>

/* At the start of the process. */
void inherited_take(void);

/* In a forked child, or where nothing has been forked, before an exec. */
void inherited_restore(void);

/* The same for posix_spawn(): adds the signals that are to have their default action to SET. */
void inherited_defaults(sigset_t *set);
