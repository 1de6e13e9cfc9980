/* SPDX-License-Identifier: MIT */
/*
 * CPU-time timers, which send our signal (see signals.h) to one thread.
 */
#pragma once

#include <stdint.h>

/* A timer on thread TID's CPU clock that ticks every PERIOD_NS in that thread. -1: none to be had.
 */
int ticker_start(uint32_t tid, uint64_t period_ns);
void ticker_stop(int ticker);
