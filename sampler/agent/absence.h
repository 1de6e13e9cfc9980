/* SPDX-License-Identifier: MIT */
/*
 * Why a process has no agent in it, as /proc says. A function without state.
 */
#pragma once

#include "sampler/event/sink.h"

#include <stdint.h>

/*
 * ABSENCE_NONE also if PID is gone, or not linked with the GNU C library. May read megabytes: call
 * once for each program.
 */
enum absence absence_of(uint32_t pid);
