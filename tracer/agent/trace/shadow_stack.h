/* SPDX-License-Identifier: MIT */
/*
 * Shadow stacks of CET: the processor keeps a second copy of each return address, and ends a
 * program in which the two differ. Intel SDM, volume 1, chapter 17.
 */
#pragma once

#include <stdbool.h>

/* Whether the calling thread has one. No system call; safe in handlers. */
bool shadow_stack_is_on(void);
