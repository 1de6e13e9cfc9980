/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a process that events name. It is asked a moment
 * later, when the process may be gone or have become another: callers take
 * "no" for an answer. Functions without state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of /proc/PID/stat that we use. */
struct proc_task {
	char name[64]; /* at most 15 bytes for user tasks */
	char state;    /* 'R', 'S', 'Z', ... */
	bool exiting;
	uint64_t start_ticks; /* since boot, in 1/sysconf(_SC_CLK_TCK) s */
};

/* TEXT is the file's. False if it is not of that form. */
bool proc_task_parse(const char *text, struct proc_task *task);

/* True if the process that was PID at TIME_NS is alive and not about to exit. */
bool proc_task_lives(uint32_t pid, uint64_t time_ns, struct proc_task *task);

/* The name of thread TID of PID, or "". */
void proc_task_name(uint32_t pid, uint32_t tid, char *name, size_t size);

/*
 * The program's name, which events cut to 15 bytes: COMM, or the longer name that begins with it.
 */
void proc_task_command(uint32_t pid, const char *comm, char *command, size_t size);
