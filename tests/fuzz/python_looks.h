/* SPDX-License-Identifier: MIT */
/*
 * All looks at a running Python's memory, for the fuzz targets that make some.
 */
#pragma once

#include "sampler/event/event.h"
#include "sampler/unwind/remote_memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Looks at the threads from TID on by READ, which may answer anything. EVENT is what is known of
   the interpreter. */
void python_looks(const struct event_python *event, uint32_t tid, remote_read_function *read,
                  void *context);
