/* SPDX-License-Identifier: MIT */
/*
 * Which op of the forward pass an op of the backward pass is the derivative of.
 *
 * Autograd numbers what it records in each thread, and each op has the number that is next when it
 * begins. So the last one that has begun with a number is the one that was recorded with it. The
 * newest TORCH_LINKS of them are known. For any thread at once; nothing is waited for.
 */
#pragma once

#include <stdint.h>

#define TORCH_LINKS (UINT32_C(1) << 16) /* a power of two */

/* CALLER (not 0) has called an op that began in THREAD (not 0) when SEQUENCE was next. */
void torch_links_put(uint64_t thread, int64_t sequence, uint32_t caller);

/* Who has called the op that was recorded so; 0: it is not known. */
uint32_t torch_links_get(uint64_t thread, int64_t sequence);
