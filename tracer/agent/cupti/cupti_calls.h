/* SPDX-License-Identifier: MIT */
/*
 * Calls of CUDA's runtime and driver as ops of provider OP_CUDA, as CUPTI's subscriber is notified
 * of them.
 *
 * Of its functions those are wanted that have the GPU do something, wait for it, or take memory;
 * they are found by name, as each version of CUPTI numbers more of them. A call of the driver that
 * the runtime makes for one of the program's is reported once, as the program's.
 */
#pragma once

#include "tracer/agent/cupti/cupti_library.h"

#include <stdbool.h>

/* Whether calls of the function, by CUPTI's name for it, are wanted. */
bool cupti_calls_want(const char *name);

/* Has CUPTI notify SUBSCRIBER of them. Returns how many functions CUPTI agreed to. */
uint32_t cupti_calls_enable(const struct cupti_functions *f, void *subscriber);

/* Of which calls the stack is copied: enum protocol_launches. At first, of some. */
void cupti_calls_show(uint32_t launches);

/* What the subscriber's callback is notified of a call in DOMAIN, of the function with this ID. */
void cupti_calls_take(uint32_t domain, uint32_t id, const struct cupti_call *call);

/* Another subscription begins, or none: the ends of open calls may not be reported. */
void cupti_calls_renew(void);
