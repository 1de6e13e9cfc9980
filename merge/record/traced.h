/* SPDX-License-Identifier: MIT */
/*
 * What became of --trace: patterns that no function matched, and functions that matched and are not
 * traced. A plain value, zeroed when nothing is known.
 */
#pragma once

#include "base/record.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACED_PATTERNS   64 /* options --trace; more are not distinguished */
#define TRACED_NAMES      4  /* in a line */
#define TRACED_KNOWN      256
#define TRACED_NAME_BYTES 80

struct traced_reason {
	uint64_t count; /* functions; those of programs that are run twice count once */
	uint32_t known; /* hashes of their names */
	uint64_t hashes[TRACED_KNOWN];
	char names[TRACED_NAMES][TRACED_NAME_BYTES];
};

struct traced {
	bool matched[TRACED_PATTERNS];
	struct traced_reason reasons[PATCH_REASONS];
};

void traced_add(struct traced *t, const struct patch_event *event);
