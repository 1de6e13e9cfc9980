/* SPDX-License-Identifier: MIT */
/* What the client of gpu_client.c counts. Under its lock, but for refused, which comes before. */
#pragma once

#include "tests/gpu/saved_buffers.h"
#include "tracer/agent/cupti/cupti_abi.h"

void gpu_client_record(const uint32_t *record);

/* One more "WHAT NAME", with so much of it. NAME may be NULL. */
void gpu_client_count(const char *what, const char *name, uint64_t amount);

void gpu_client_refused(const char *function, int result);

/* Appends all to the file PATH, the first time that it is called. */
void gpu_client_print(const char *path, size_t calls, size_t dropped);
