/* SPDX-License-Identifier: MIT */
/*
 * perf-PID.map: the names that a run-time compiler writes while it runs.
 *
 *	START SIZE NAME        hexadecimal; a name may hold spaces; one a line
 *
 * A line without its end is still being written. The last line that holds an
 * address counts, because code is thrown away and its place is used again.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>

struct jit_name {
	const char *text; /* in the map, not ended by NUL; NULL if unknown */
	uint32_t length;
	bool reused; /* its place had another name before */
};

/* Fills one name for each of ADDRESSES (ascending). -1 if there is no memory. */
int jit_map_find(struct bytes map, const uint64_t *addresses, size_t count, struct jit_name *names);

/*
 * Where compilers say it, the source of a name: "JS:*fit /a/b.js:12:3" (node),
 * "py::fit:/a/b.py" (Python) and "TRACE-8$/a/b.php$5" (PHP). Shortens NAME to the function, "fit",
 * also where it names no file; then FILE is untouched, LINE is 0, and it returns false.
 */
bool jit_map_source(struct jit_name *name, struct jit_name *file, int *line);
