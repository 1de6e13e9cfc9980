/* SPDX-License-Identifier: MIT */
/*
 * Whether more threads of a process are ready to run than CPUs that they are bound to: a thread
 * inherits the CPUs of who starts it. Plain values, and files of /proc.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct binding {
	uint32_t threads; /* that run or could */
	cpu_set_t cpus;   /* that any of them may use */
};

/* TEXT is that of /proc/PID/status: adds a thread that is ready to run. */
void binding_add(struct binding *b, const char *text);

/* Of the threads of PID, below PREFIX; of a process with very many, the first ones. */
void binding_read(const char *prefix, uint32_t pid, struct binding *b);

/* They have fewer CPUs than they could use, and than the program may: CPUS. */
bool binding_is_narrow(const struct binding *b, const cpu_set_t *cpus);
