/* SPDX-License-Identifier: MIT */
/*
 * The files of /proc that tell which processes and threads there are, and for
 * how long each has run. Functions without state; every text is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_stat {
	char name[16];
	char state; /* 'R', 'S', 'Z', … */
	uint32_t parent_pid;
	uint32_t threads;
	uint64_t start_ns; /* CLOCK_MONOTONIC, in steps of 10 ms */
	uint64_t image;    /* changes with each exec; 0 if we may not know */
	uint64_t faults;   /* page faults so far, with those of children that it has waited for */
	int cpu;           /* that it ran on last; -1 if unknown */
};

/* TEXT is that of /proc/PID/stat. False if it is not of that form. */
bool proc_stat_parse(const char *text, struct proc_stat *out);
bool proc_stat_read(uint32_t pid, struct proc_stat *out);

/* From /proc/PID/task/TID/schedstat: ns on a CPU, and ns runnable but without one. */
bool proc_stat_times_parse(const char *text, uint64_t *run_ns, uint64_t *wait_ns);
bool proc_stat_times(uint32_t pid, uint32_t tid, uint64_t *run_ns, uint64_t *wait_ns);
/* Of the calling thread. False also where the kernel does not count. */
bool proc_stat_own_times(uint64_t *run_ns, uint64_t *wait_ns);

/* The most memory that it had so far, in bytes; 0 if that cannot be read. */
uint64_t proc_stat_peak_rss(uint32_t pid);

/* 'R', 'S', 'D', …; 0 if that cannot be read. */
char proc_stat_state(uint32_t pid, uint32_t tid);

/* Its name, which it may change. */
bool proc_stat_name(uint32_t pid, uint32_t tid, char name[16]);

/* Calls VISIT for each thread of PID; for each child of thread TID of PID. */
void proc_stat_threads(uint32_t pid, void (*visit)(void *context, uint32_t tid), void *context);
void proc_stat_children(uint32_t pid, uint32_t tid, void (*visit)(void *context, uint32_t pid),
                        void *context);

/* TEXT is that of /proc/PID/task/TID/children: "12 345 ". */
void proc_stat_children_parse(const char *text, void (*visit)(void *context, uint32_t pid),
                              void *context);
