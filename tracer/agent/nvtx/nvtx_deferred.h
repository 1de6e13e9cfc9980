/* SPDX-License-Identifier: MIT */
/*
 * NVTX events that are reported afterwards, with times of their own: of a device, or by a program
 * that batches them.
 *
 * Where they were is not known any more, so a range is counted, with the time that it took as far
 * as the program tells how fast its clock ticks. Of any other one there is a mark.
 *
 * These are hooks, see nvtx_hooks.h.
 */
#pragma once

#include "tracer/agent/nvtx/nvtx_abi.h"

int64_t nvtx_timestamp_get(void);
uint64_t nvtx_time_domain_register(const void *domain, const struct nvtx_time_domain *d);
void nvtx_event_submit(const void *domain, const struct nvtx_payload *payloads, size_t count);
void nvtx_event_batch_submit(const void *domain, const struct nvtx_event_batch *batch);
