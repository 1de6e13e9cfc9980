/* SPDX-License-Identifier: MIT */
/*
 * The bounds of the main thread's stack: from its limit, or what is mapped below, up to where its
 * first frame begins. The arguments and the environment, above it, are no part of it.
 *
 * For any thread, and for handlers: it reads /proc/self/maps without libc's streams.
 */
#pragma once

#include <stdint.h>

/* [LOW, HIGH); both stay as they are if they cannot be found. */
void main_stack_find(uintptr_t *low, uintptr_t *high);
