/* SPDX-License-Identifier: MIT */
/*
 * In which mode the kernel's tick has hit a thread: in user code or in the kernel.
 *
 * CPU-time timers are looked at in the very tick by which the kernel accounts
 * user and system time, and their signals are seen when the thread returns to
 * user code. So the clocks of the two modes, which count whole ticks, tell a
 * handler where its tick fell. getrusage() does not: its times are scaled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct modes {
	uint64_t user_ns;
	uint64_t both_ns;
};

/* The calling thread's until now; zeros if the kernel does not tell. */
struct modes modes_now(void);

/* How often the calling thread has given up its CPU to wait, and one; 0 if the kernel does not
   tell. Keeps errno. */
uint32_t modes_sleeps(void);

/* The time of those from BEFORE to NOW that fell into the kernel. */
uint64_t modes_kernel_ns(struct modes before, struct modes now);

/* Whether the last one did. */
bool modes_in_kernel(struct modes before, struct modes now);
