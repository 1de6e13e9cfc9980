/* SPDX-License-Identifier: MIT */
/*
 * Managed memory: each allocation lies on the host or on its device as a whole. A kernel uses all
 * that there is, by faults in groups of FAKE_GROUP_BYTES; the host's own use cannot be seen, so
 * that only a prefetch brings anything back. Any thread.
 */
#pragma once

#include "tests/gpu/fake_device.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>

#define FAKE_GROUP_BYTES (64u << 10)

/* A result of CUPTI's. */
int fake_managed_configure(const struct cupti_managed_setting *settings, uint32_t count);
bool fake_managed_is_configured(void);

/* A kernel runs then: what is on the host moves to the device that it belongs to, beginning with
   it. */
void fake_managed_use(struct fake_span kernel);

/* Moves the memory at DATA, in STREAM. */
void fake_managed_prefetch(struct cuda_stream *stream, const void *data, bool to_device);
