/* SPDX-License-Identifier: MIT */
/*
 * What GPUs do in a test's profile, tests/unit/finding_fixture.h: told as CUPTI's records tell it.
 *
 * Times are since the fixture's now; works without a site are of nobody.
 */
#pragma once

#include "base/record_gpu.h"
#include "merge/profile/profile.h"
#include "tests/unit/finding_fixture.h"

/* A GPU "H100" of four multiprocessors and 80 GiB, of compute capability 9.0. */
void device(void);

/* A site of THREAD with the stack STACK, outermost first, for the works that it launches. */
uint32_t site(uint32_t thread, const char *stack);

/* A kernel of 8 blocks; a copy from pageable memory to the device. */
void kernel_ns(const char *name, uint64_t begin_ns, uint64_t end_ns, uint32_t stream,
               uint32_t from);
void kernel(const char *name, uint64_t begin_ms, uint64_t end_ms, uint32_t stream, uint32_t from);
void copy(uint64_t begin_ms, uint64_t end_ms, uint64_t bytes);

/* Any other record, of op OP or of none (0), that site FROM or nobody (0) has caused. */
void tell(const struct record *record, uint32_t op, uint32_t from);
