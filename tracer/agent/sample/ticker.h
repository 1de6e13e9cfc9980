/* SPDX-License-Identifier: MIT */
/*
 * CPU-time timers, which send our signal (see signals.h) to one thread.
 *
 * They are the kernel's own, by system calls alone: any thread, and handlers. The functions are in
 * signals.c, which alone knows the signal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A timer on thread TID's CPU clock that ticks every PERIOD_NS in that thread. *TICKER is there
 * before its first tick; -1 and false: none to be had.
 */
bool ticker_start(uint32_t tid, uint64_t period_ns, int *ticker);
void ticker_stop(int ticker);

/* No ticks until it goes on; as when it was started. */
void ticker_pause(int ticker);
void ticker_resume(int ticker, uint64_t period_ns);
