// SPDX-License-Identifier: MIT
#include "merge/diff/diff.h"

#include <math.h>

const char *diff_by_name(enum diff_by by)
{
	static const char *const names[DIFF_TABLES] = {
		[DIFF_RUN] = "run",         [DIFF_FUNCTION] = "function",
		[DIFF_LINE] = "line",       [DIFF_MODULE] = "module",
		[DIFF_FILE] = "file",       [DIFF_THREAD] = "thread",
		[DIFF_PROCESS] = "process", [DIFF_OP] = "op",
		[DIFF_SHAPE] = "shape",     [DIFF_KERNEL] = "kernel",
		[DIFF_OWNER] = "wall",
	};

	return (unsigned)by < DIFF_TABLES ? names[by] : "";
}

double diff_ratio(const struct diff_row *row)
{
	if (row->base.ns <= 0)
		return row->next.ns > 0 ? INFINITY : 0;
	return row->next.ns / row->base.ns - 1;
}
