/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel refuses perf events, and what would help: in one place, for the run that does
 * without them and for "bottleneck check".
 */
#pragma once

#include <stdbool.h>

struct error;

/* What kernel.perf_event_paranoid holds; INT_MIN if unknown. */
int perf_paranoid(void);

/* Says in ERR why perf_event_open() failed with ERRNUM, of events in the KERNEL or in user code
   alone, while the setting is PARANOID, and in its hint what would help. Returns -1. */
int perf_refused(struct error *err, int errnum, bool kernel, int paranoid);
