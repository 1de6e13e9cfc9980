/* SPDX-License-Identifier: MIT */
/*
 * Short forms for tables that are written by hand.
 */
#pragma once

#include "base/clock.h"

#include <stdint.h>

/* Nanoseconds, and bytes. */
#define MS(n) ((uint64_t)(n)*NS_PER_MS)
#define US(n) ((uint64_t)(n)*NS_PER_US)
#define MB(n) ((uint64_t)(n) << 20)

/* Of a struct row: time on a CPU. */
#define ON_CPU(self_ms, total_ms)                                                                  \
	.self = MS(self_ms), .total = MS(total_ms), .self_ns = { [METRIC_ON_CPU] = MS(self_ms) },  \
	.total_ns = { [METRIC_ON_CPU] = MS(total_ms) }
