// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_clock.h"

#include "base/clock.h"

#define APART_NS NS_PER_SEC // readings that are closer together do not make a line
#define READINGS 5

uint64_t cupti_clock_now(void)
{
	return clock_now_ns();
}

void cupti_fit_add(struct cupti_fit *fit, struct cupti_clock_pair now)
{
	if (!fit->to.ours_ns)
		fit->from = now;
	else if (now.ours_ns - fit->to.ours_ns < APART_NS && fit->from.ours_ns != fit->to.ours_ns)
		return;
	else
		fit->from = fit->to;
	fit->to = now;
}

// Of several readings, that in which ours has moved least.
void cupti_fit_read(struct cupti_fit *fit, const struct cupti_functions *f)
{
	struct cupti_clock_pair best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; f->get_timestamp && i < READINGS; i++) {
		uint64_t theirs, before = clock_now_ns();
		if (f->get_timestamp(&theirs) != CUPTI_OK)
			return;
		uint64_t took = clock_now_ns() - before;
		if (took >= least)
			continue;
		least = took;
		best = (struct cupti_clock_pair){ theirs, before + took / 2 };
	}
	if (best.ours_ns)
		cupti_fit_add(fit, best);
}

uint64_t cupti_fit_ns(const struct cupti_fit *fit, uint64_t theirs_ns)
{
	double ours = (double)(fit->to.ours_ns - fit->from.ours_ns);
	double theirs = (double)(int64_t)(fit->to.theirs_ns - fit->from.theirs_ns);

	if (!theirs_ns || !fit->to.ours_ns)
		return theirs_ns;
	int64_t since = (int64_t)(theirs_ns - fit->from.theirs_ns);
	double slope = ours > 0 && theirs > 0 ? ours / theirs : 1;
	double drift = (double)since * (slope - 1);
	// Only a damaged record is so far away.
	if (!(drift > -0x1p62 && drift < 0x1p62))
		drift = 0;
	return fit->from.ours_ns + (uint64_t)since + (uint64_t)(int64_t)drift;
}
