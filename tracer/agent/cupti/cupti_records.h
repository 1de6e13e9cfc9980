/* SPDX-License-Identifier: MIT */
/*
 * From CUPTI's records to ours (base/record_gpu.h).
 *
 * A buffer is walked with cuptiActivityGetNextRecord(). What it gives is not trusted further than
 * that: a record must lie in the buffer, be aligned, and come after the one before.
 */
#pragma once

#include "tracer/agent/cupti/cupti_clock.h"
#include "tracer/agent/cupti/cupti_library.h"

#include <stddef.h>
#include <stdint.h>

/* Writes all that is in VALID bytes of BUFFER; gpu_lane.h must be locked. */
void cupti_records_take(const struct cupti_functions *f, const struct cupti_fit *fit,
                        uint8_t *buffer, size_t valid);

/* Whether the program has managed memory, as far as records have told. Any thread. */
bool cupti_records_have_managed(void);
