/* SPDX-License-Identifier: MIT */
/*
 * What became of --trace, for the report's limits: patterns that no function matched, and functions
 * that matched and are not traced.
 */
#pragma once

#include "base/record.h"
#include "base/stack.h"
#include "cli/option.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACED_NAMES      4 /* in a line */
#define TRACED_KNOWN      256
#define TRACED_NAME_BYTES 80

struct traced_reason {
	uint64_t count; /* functions; those of programs that are run twice count once */
	uint32_t known; /* hashes of their names */
	uint64_t hashes[TRACED_KNOWN];
	char names[TRACED_NAMES][TRACED_NAME_BYTES];
};

/* Zeroed when nothing is known. */
struct traced {
	bool matched[OPTION_LIST_MAX];
	struct traced_reason reasons[PATCH_REASONS];
};

void traced_add(struct traced *t, const struct patch_event *event);

/* Calls LINE with each line that is to be said of PATTERNS. */
void traced_tell(const struct traced *t, const struct option_list *patterns,
                 void (*line)(void *context, const char *text), void *context);
