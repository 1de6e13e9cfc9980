/* SPDX-License-Identifier: MIT */
/*
 * Managed memory in words, for the report and the page.
 */
#pragma once

#include "merge/query/query_gpu.h"

#include <stddef.h>

/* "host to device, for a page fault, GPU 1"; DEVICES: there are several to tell apart. */
void managed_words(const struct gpu_managed_row *row, bool devices, char *buffer, size_t size);

/* Whether ROWS are of several devices. */
bool managed_has_devices(const struct gpu_managed_rows *rows);

/* "sum", or "memset < clear" where code of others was called: the user's own function last. */
void managed_code(const struct gpu_fault_row *row, char *buffer, size_t size);

/* "reading", "writing", "both"; "" if it is unknown. */
const char *managed_access(const struct gpu_fault_row *row);
