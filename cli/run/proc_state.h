/* SPDX-License-Identifier: MIT */
/*
 * One look into /proc at another process.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The state letter of PID: 'R', 'S', 'T', 'Z' …; 0 if there is no such process. */
char proc_state(pid_t pid);

/* The signal mask FIELD ("SigCgt", "SigIgn" …) of PID; 0 if it cannot be read. */
uint64_t proc_signal_mask(pid_t pid, const char *field);
