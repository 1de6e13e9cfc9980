/* SPDX-License-Identifier: MIT */
/*
 * Memory that was in use over the run: see merge/table/memory_curves.h.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/table/memory_curves.h"

struct error;
struct profile;

/* Without curves, and no error, where none are known. NULL on error. */
struct memory_curves *query_curves(const struct profile *p, struct error *err);
void memory_curves_free(struct memory_curves *c);

CLEANUP(memory_curves, struct memory_curves *, memory_curves_free)
