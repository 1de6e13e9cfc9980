/* SPDX-License-Identifier: MIT */
/*
 * Memory over the run, in words and signs: for the table of memory, and for the page.
 */
#pragma once

#include "cli/report/section.h"
#include "merge/query/query_ops.h"

struct error;

/* A line for each curve above the table of S, peaks marked. -1 on error. */
int curves_say(struct section *s, struct error *err);

/* The largest of what was alive at the peak: "train.py:12 120 MB, model.py:7 80 MB"; "" if nothing
   is known. The report's. NULL on error. */
const char *memory_alive(struct report *r, enum memory_by by, struct error *err);
