/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump: the code that a run-time compiler made, with its lines
 * (perf's jitdump-specification.txt, version 1).
 */
#pragma once

#include "base/bytes.h"

struct jitdump_hit {
	const char *name; /* in the dump; NULL if unknown */
	const char *file; /* in the dump; NULL if unknown */
	/* What they are ended by may be overwritten at any time. */
	uint32_t name_length, file_length;
	int line; /* 0 if unknown */
};

/*
 * Fills one hit for each of ADDRESSES (ascending). The file may end anywhere: it is
 * written while the program runs. -1 if there is no memory; 0 if BYTES are no jitdump; else 1.
 */
int jitdump_find(struct bytes bytes, const uint64_t *addresses, size_t count,
                 struct jitdump_hit *hits);
