/* SPDX-License-Identifier: MIT */
/*
 * What NVTX programs call once we are in: our functions, by NVTX's numbers.
 *
 * Each records the call, and then calls what the user's own injection library
 * has in its place, whose result is the program's.
 */
#pragma once

#include "tracer/agent/nvtx/nvtx_abi.h"

/* NULL: we have none. */
extern nvtx_function *const nvtx_core_hooks[NVTX_CORE_SIZE];
extern nvtx_function *const nvtx_core2_hooks[NVTX_CORE2_SIZE];
extern nvtx_function *const nvtx_payload_hooks[NVTX_EXTENSION_SLOTS];
extern nvtx_function *const nvtx_counter_hooks[NVTX_EXTENSION_SLOTS];

/* The functions of the user's library, which may change them at any time. */
struct nvtx_functions {
	nvtx_function *core[NVTX_CORE_SIZE], *core2[NVTX_CORE2_SIZE]; /* atomic */
	intptr_t payload[NVTX_EXTENSION_SLOTS];                       /* atomic */
	intptr_t counters[NVTX_EXTENSION_SLOTS];                      /* atomic */
};

extern struct nvtx_functions nvtx_theirs;

/* What the user's library has for this call, as a function of TYPE; NULL if nothing. */
#define NVTX_THEIRS(type, place) ((type *)__atomic_load_n(&nvtx_theirs.place, __ATOMIC_ACQUIRE))
