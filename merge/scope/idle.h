/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for work that does not come.
 *
 * Those that a library has started, and those of the program itself that hardly ever ran.
 *
 * A pool of OpenBLAS, OpenMP, an allocator or a runtime waits for most of its life, and that is
 * nobody's bottleneck. Such a wait is one of a thread that is not its process's first, in a stack
 * without any code of the user's (base/origin.h), for something that another thread does: a lock,
 * a message, a time. Waits for files and page faults are work.
 *
 * So does a worker of Python's multiprocessing (a DataLoader's, a pool's) between two pieces of
 * work: in a stack without any code of the user's below the function in which such a process
 * begins.
 *
 * The threads that the kernel keeps in a process for io_uring, which have no stack of the user's,
 * wait for work wherever they wait.
 *
 * A thread of the program's own that was on a CPU for less than IDLE_RUNS of its life waits in
 * vain, too, where it waits for a condition, a semaphore or a message. One that waits for a mutex
 * does not: somebody keeps it from its work.
 *
 * The first thread of a process that others of the run work for, children and theirs, for
 * IDLE_PARENT of the time that it waits, waits for them where it waits for any event or signal in a
 * stack without any code of the user's, as make(1) does. Where it calls wait(2) that is a metric of
 * its own.
 *
 * A thread of a Go program waits for work wherever its scheduler does: the time of goroutines that
 * wait is theirs (merge/op/goroutines.h).
 *
 * Waits of which the stack was not seen, as many short ones, are idle in a thread whose other waits
 * are, for IDLE_ALIKE of their time.
 */
#pragma once

#include "merge/profile/profile_parts.h"

#define IDLE_RUNS   0.002
#define IDLE_ALIKE  0.95
#define IDLE_PARENT 0.5

/*
 * [node - 1]: whether a wait there is one, if metric_may_be_idle(). Only of the THREADS [slot - 1]
 * that are true. How much a thread ran is looked up in the bins FIRST up to, but without, END: a
 * pool that worked before and never again is idle. NULL if there is no memory.
 */
bool *idle_nodes(const struct profile *p, const bool *threads, uint32_t first, uint32_t end);

static inline bool metric_may_be_idle(int metric)
{
	return metric == METRIC_OFF_LOCK || metric == METRIC_OFF_NET || metric == METRIC_OFF_PIPE ||
	       metric == METRIC_OFF_SLEEP || metric == METRIC_OFF_OTHER;
}
