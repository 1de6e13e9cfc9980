/* SPDX-License-Identifier: MIT */
/*
 * The fake GPU's time is clock_now_ns(). CUPTI tells times in CLOCK_REALTIME, or in the
 * clock that its client registered; the difference is measured once. Any thread.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

void fake_wait_until(uint64_t ns); /* sleeps, through signals too */
void fake_burn(uint64_t ns);       /* on the CPU */

/* NULL: CLOCK_REALTIME */
void fake_clock_set(cupti_clock *clock);

/* NS of CLOCK_MONOTONIC as CUPTI tells it; 0 stays 0. */
uint64_t fake_clock_told(uint64_t ns);
