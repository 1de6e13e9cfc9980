/* SPDX-License-Identifier: MIT */
/*
 * Memory that a jump of 32 bits (2 GiB either way) reaches from all of an object: there stand the
 * stubs of functions that --trace asks for. Any thread; not for handlers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * SIZE bytes (rounded up to pages), readable and writable, near [START, END). NULL if there is no
 * room. The caller unmaps it.
 */
void *near_map(uintptr_t start, uintptr_t end, size_t size);
