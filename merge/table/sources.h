/* SPDX-License-Identifier: MIT */
/*
 * How the source files of a run were when it was recorded: whether a text that is found under the
 * same path later, or elsewhere, is the one that was compiled or executed. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stat;

#define SOURCES_MAX (1u << 16)

struct source_stamp {
	uint32_t file; /* string */
	uint64_t bytes;
	int64_t modified_ns; /* since the epoch */
};

struct sources {
	struct source_stamp *stamps;
	uint32_t count;
	size_t capacity;
	uint32_t *of; /* [string - 1]: number of its stamp; 0: none */
	size_t of_capacity;
};

void sources_fini(struct sources *s);

/* Of two that differ neither is kept: no file is right then. Those beyond SOURCES_MAX are left out.
   False if there is no memory. */
bool sources_add(struct sources *s, const struct source_stamp *stamp);

/* NULL if there is none. */
const struct source_stamp *sources_find(const struct sources *s, uint32_t file);

struct source_stamp source_stamp_of(uint32_t file, const struct stat *st);

/* False, too, of one of which two that differ were added. */
bool source_stamp_matches(const struct source_stamp *stamp, const struct stat *st);
