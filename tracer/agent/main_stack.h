/* SPDX-License-Identifier: MIT */
/*
 * The bounds of the main thread's stack, which grows down to its limit, or to what is mapped below.
 *
 * For any thread, and for handlers: it reads /proc/self/maps without libc's streams.
 */
#pragma once

#include <stdint.h>

/* [LOW, HIGH); both stay as they are if they cannot be found. */
void main_stack_find(uintptr_t *low, uintptr_t *high);
