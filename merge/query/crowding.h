/* SPDX-License-Identifier: MIT */
/*
 * Whether calls became slower, or faster, only because others had the CPUs.
 *
 * A call's duration has in it what its thread waited for a free CPU. How large that part was is
 *known of the critical thread, as fine as the bins that times are kept in:
 *
 *	D1 (1 - w1)  against  D2 (1 - w2)
 *
 * D is the mean duration of the earlier and of the later half of the calls, w the share of that
 *time that was waited. Where the two differ by less than CROWDING_SAME, but the waits do not,
 *nothing else has changed. For the files of merge/ alone.
 */
#pragma once

#include "merge/profile/profile.h"
#include "merge/table/series.h"

#include <stdbool.h>

#define CROWDING_SAME  0.1  /* of the durations without waits */
#define CROWDING_LEAST 0.05 /* that the shares of the waits have to differ by */

bool crowding_explains(const struct profile *p, const struct series *s);
