/* SPDX-License-Identifier: MIT */
/*
 * What cProfile reports about a run: functions of Python, and of C that Python has called, with how
 * often they were called, exactly, and how long they took, by samples.
 *
 * Self time is that of a function with the native code below it that is no function of this list;
 * total time has each function once, however deep its recursion. Times are those that QUERY asks
 * for; calls are always of the whole run.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct query;

struct called {
	const char *name; /* as Python has it: qualified from 3.11 on; of C "{built-in method …}" */
	const char *file; /* NULL: it is one of C */
	uint32_t line;    /* where it begins; 0: unknown */
	uint64_t calls;
	uint64_t primitive; /* calls that were not made while it was open in its thread */
	uint64_t self_ns, total_ns;
	size_t callers, callers_end; /* in EDGES, the first and the one behind the last */
};

/* Calls of one function by another: indices in ROWS. */
struct called_edge {
	size_t caller, callee;
	uint64_t calls, primitive;
	uint64_t self_ns, total_ns; /* of the callee, where this one called it */
};

enum called_sort {
	CALLED_BY_SELF,
	CALLED_BY_TOTAL,
	CALLED_BY_CALLS
};

struct called_rows {
	struct called *rows; /* best first */
	size_t count;
	struct called_edge *edges; /* by callee, as in ROWS; the same order of callers */
	size_t edge_count;
	uint64_t calls, primitive, self_ns; /* of all rows */
};

/* Without rows, and no error, where nobody has counted. NULL on error. */
struct called_rows *query_called(const struct profile *p, const struct query *query,
                                 enum called_sort sort, struct error *err);
void called_rows_free(struct called_rows *rows);

CLEANUP(called_rows, struct called_rows *, called_rows_free)
