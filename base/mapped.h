/* SPDX-License-Identifier: MIT */
/*
 * Files in memory that somebody else may cut short meanwhile.
 *
 * What lies beyond a file's end is a SIGBUS to whoever touches it. Here it reads
 * as zeros, from the page of the first such touch to the mapping's end, and
 * mapped_shrank() tells: a reader that trusts nothing it reads asks once, when
 * it is done, or when it has found damage.
 *
 * The handler of SIGBUS is installed with the first mapping and knows these
 * mappings only: any other fault ends the process as it would have. It is of
 * the whole process, hence the one list of mappings. Threads may share all of it.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct mapped_range;

struct mapped {
	uint8_t *data; /* NULL: nothing is mapped */
	size_t size;
	struct mapped_range *range;
};

enum mapped_mode {
	MAPPED_READ,  /* private, read-only */
	MAPPED_SHARED /* with its other side, to read and write */
};

/* The first SIZE bytes of FD, which stays the caller's. -1 on error. */
int mapped_open(struct mapped *m, int fd, size_t size, enum mapped_mode mode, struct error *err);
void mapped_close(struct mapped *m); /* zeroed is fine */

/* Whether something was touched that the file does not hold any more. */
bool mapped_shrank(const struct mapped *m);
