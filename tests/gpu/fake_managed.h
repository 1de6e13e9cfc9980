/* SPDX-License-Identifier: MIT */
/*
 * Managed memory: each allocation, and each variable, lies on the host or on its device as a whole.
 * A kernel uses all that there is, by faults in groups of FAKE_GROUP_BYTES, for reading. The host's
 * own use brings back what it touches: memory on the device is closed, and the fault that follows
 * is handled here (SIGSEGV), with the instruction that had it. System calls get EFAULT for it.
 *
 * What page faults alone have moved FAKE_BOUNCES times thrashes, and who had the last of them is
 * throttled for FAKE_THROTTLE_NS; every third time its pages are mapped from afar, too, which is
 * told and has no other effect. Any thread.
 */
#pragma once

#include "tests/gpu/fake_device.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define FAKE_GROUP_BYTES (64u << 10)
#define FAKE_BOUNCES     8u
#define FAKE_THROTTLE_NS 100000u

/* A result of CUPTI's. */
int fake_managed_configure(const struct cupti_managed_setting *settings, uint32_t count);
bool fake_managed_is_configured(void);

/* There will be some: from now on faults of the host are handled. */
void fake_managed_watch(void);

/* *HOST, which the program knows it by, points to a variable of BYTES once there is a context: its
   initial value is in machine code, and 0 here. */
void fake_managed_variable(void **host, size_t bytes);

/* Makes the variables that there are not yet. */
void fake_managed_load(void);

/* A kernel runs then: what is on the host moves to the device that it belongs to, beginning with
   it. */
void fake_managed_use(struct fake_span kernel);

/* Moves the memory at DATA, in STREAM. */
void fake_managed_prefetch(struct cuda_stream *stream, const void *data, bool to_device);
