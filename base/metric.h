/* SPDX-License-Identifier: MIT */
/*
 * What a thread did with its time. On-CPU plus every off-CPU cause is the
 * thread's lifetime; nothing is counted twice and nothing is left out.
 * Numbers are stored in profile files: append, never renumber.
 */
#pragma once

#include <stdint.h>

enum metric {
	METRIC_ON_CPU = 0,
	METRIC_OFF_RUNNABLE = 1, /* could run, but another task had the CPU */
	METRIC_OFF_LOCK = 2,     /* futex: mutexes, condition variables, joins */
	METRIC_OFF_FILE = 3,     /* read, write, fsync … on files and block devices */
	METRIC_OFF_NET = 4,      /* sockets, and poll/select/epoll on anything */
	METRIC_OFF_PIPE = 5,     /* pipes, terminals, eventfds */
	METRIC_OFF_SLEEP = 6,    /* nanosleep, pause, sigtimedwait, timers */
	METRIC_OFF_FAULT = 7,    /* a page fault that had to wait */
	METRIC_OFF_CHILD = 8,    /* wait4, waitid */
	METRIC_OFF_GPU = 9,      /* an open CUDA synchronisation */
	METRIC_OFF_STOPPED = 10, /* job control, ptrace, freezer */
	METRIC_OFF_OTHER = 11,   /* known to be blocked, not on what */
	METRIC_COUNT
};

/* "on CPU", "locks", … for people; never NULL. */
const char *metric_name(enum metric metric);

/* "on_cpu", "lock", … for files and options; never NULL. */
const char *metric_key(enum metric metric);

static inline int metric_is_off_cpu(enum metric metric)
{
	return metric != METRIC_ON_CPU;
}
