/* SPDX-License-Identifier: MIT */
/*
 * Whether reading a process's memory may block the reader for long.
 *
 * The kernel takes the process's mmap lock for it, and cannot be asked to give up. A thread of the
 * process that has the lock, to map a new stack or to enlarge its heap, and waits for a CPU behind
 * five hundred others keeps the reader waiting as well, for four seconds of four: by then every
 * stack that was to be completed is gone. So in such a crowd nothing is read, and after a read that
 * took long nothing for a multiple of that time, as one may that waits for a CPU quota.
 *
 * Plain data; zeroed is one that knows nothing yet. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define READ_RISK_TASKS   4          /* that want a CPU, for each CPU: fewer are no crowd */
#define READ_RISK_SLOW_NS 20000000   /* a read that takes longer was blocked */
#define READ_RISK_PAUSE   8          /* times as long nothing is read then, */
#define READ_RISK_MAX_NS  2000000000 /* at most so long */

struct read_risk {
	uint32_t crowd;     /* so many are one; 0: not yet known */
	uint32_t runnable;  /* tasks of the machine, as of the last look */
	uint64_t looked_ns; /* when that was; 0: never */
	uint64_t until_ns;  /* nothing is read before */
};

/* For a process of so many THREADS. */
bool read_risk_is_high(struct read_risk *r, uint32_t threads, uint64_t now_ns);

/* A read that ended at NOW_NS took so long. */
void read_risk_took(struct read_risk *r, uint64_t took_ns, uint64_t now_ns);

/* TEXT is that of /proc/loadavg: how many tasks want a CPU. False if it is not of that form. */
bool read_risk_parse(const char *text, uint32_t *runnable);
