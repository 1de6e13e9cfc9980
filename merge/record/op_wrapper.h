/* SPDX-License-Identifier: MIT */
/*
 * Which functions are the machinery of NVTX, ITT and the like: what stands between the code that
 * begins an op and the agent's hook, and has returned when the op goes on.
 */
#pragma once

#include "base/stack.h"

#include <stdbool.h>

/* For sampler_options.op_is_wrapper; CONTEXT is a struct modules. */
bool op_wrapper_is(void *context, struct frame frame);
