/* SPDX-License-Identifier: MIT */
/*
 * Machine code that the driver loads, kept for the collector where it knows lines of source.
 *
 * What has no lines costs a look at its sections; the rest is written to a file of the session,
 * once for all processes, within PROTOCOL_CUBINS_BYTES.
 */
#pragma once

#include "tracer/agent/cupti/cupti_library.h"

#include <stdbool.h>

/* In the callback that tells of MODULE: it may be gone afterwards. DIRECTORY is the session's. */
void cupti_cubin_keep(const struct cupti_functions *f, const char *directory,
                      const struct cupti_module *module);
