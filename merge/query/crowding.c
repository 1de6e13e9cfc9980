// SPDX-License-Identifier: MIT
#include "merge/query/crowding.h"

#include "base/share.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query.h"

#include <math.h>

// Calls of a series, one after the other.
struct half {
	uint64_t from_ns, to_ns, ns, calls;
};

static struct half half_of(const struct series *s, uint32_t first, uint32_t end)
{
	const struct series_item *last = &s->items[end - 1];
	struct half half = { .from_ns = s->items[first].begin_ns,
		             .to_ns = last->begin_ns + last->ns };

	for (uint32_t i = first; i < end; i++) {
		half.ns += s->items[i].ns;
		half.calls += series_item_calls(s, i);
	}
	return half;
}

// The share of the critical thread's time that it waited for a free CPU; negative: unknown.
static double waited(const struct profile *p, const struct half *half)
{
	uint64_t start = profile_start_ns(p);
	struct account account = { 0 };

	if (half->from_ns < start || half->to_ns <= half->from_ns ||
	    query_account_in(p, half->from_ns - start, half->to_ns - start, &account, NULL) < 0)
		return -1;
	return share_of(account.ns[METRIC_OFF_RUNNABLE], half->to_ns - half->from_ns);
}

// A call's mean duration without that.
static double own(const struct half *half, double wait)
{
	return (double)half->ns / (double)half->calls * (1 - wait);
}

bool crowding_explains(const struct profile *p, const struct series *s)
{
	if (s->count < 2)
		return false;
	struct half early = half_of(s, 0, s->count / 2);
	struct half late = half_of(s, s->count / 2, s->count);
	double before = waited(p, &early), after = waited(p, &late);
	if (before < 0 || after < 0 || fabs(after - before) < CROWDING_LEAST)
		return false;
	double ratio = own(&late, after) / own(&early, before);
	return ratio < 1 + CROWDING_SAME && ratio > 1 / (1 + CROWDING_SAME);
}
