/* SPDX-License-Identifier: MIT */
/*
 * Records of managed memory: pages that move between host and devices, and faults on them.
 *
 * They are asked for once the program has such memory, which most programs never do: watching costs
 * the driver something for each page that moves, and some devices refuse it. Of variables that are
 * __managed__ a section of the program's, or of a library's, tells. Where that is not there,
 * records of memory do, and pages that moved before, in the first tenth of a second, are not told.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

/* In the callback of a call, which may be the one that allocates it. */
void cupti_managed_on_call(const struct cupti_call *call);

/* The same as below, unless somebody has the session's lock. Any thread that may call CUPTI. */
void cupti_managed_try(void);

/*
 * Asks for the records, if the program has managed memory, we have those of other kinds, and they
 * were not refused before: that is told once. Locked.
 */
void cupti_managed_enable(void);
