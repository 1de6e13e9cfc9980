/* SPDX-License-Identifier: MIT */
/*
 * How often each Python function was called, where somebody has counted: by its name and its file,
 * as rows are. For the files of merge/ alone.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_count {
	uint32_t function, file; /* strings */
	uint64_t calls;
};

struct call_counts {
	struct call_count *all; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t begun, ended; /* processes that have counted, and those that have told all */
};

#define CALL_COUNTS_MAX (1u << 20)

void call_counts_fini(struct call_counts *c);

/* False if there is no room. */
bool call_counts_add(struct call_counts *c, const struct call_count *more);

/* 0 if it is not known. */
uint64_t call_counts_get(const struct call_counts *c, uint32_t function, uint32_t file);
