/* SPDX-License-Identifier: MIT */
/*
 * What code is at work for that a program does once, when it starts or warms up: known by the
 * names of functions, files and modules on its stack.
 *
 * The outermost frame that tells decides: a page that is touched first while a module is imported
 * is part of the import. For the files of merge/ alone.
 */
#pragma once

#include "base/metric.h"
#include "merge/profile/profile_parts.h"
#include "merge/warmup/cause.h"

/* [node - 1]: an enum cause. NULL if there is no memory. */
uint8_t *causes_of_nodes(const struct profile *p);

/* What time of METRIC at a node of CAUSE is for. */
enum cause causes_of_time(enum cause cause, enum metric metric);
