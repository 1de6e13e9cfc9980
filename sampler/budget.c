// SPDX-License-Identifier: MIT
#include "sampler/budget.h"

// Fewer samples help where they are at least one part in so many of what is too much.
#define WORTH_IT 20

static double cost_of(const struct budget_window *window)
{
	uint64_t all =
		window->wall_ns > window->target_cpu_ns ? window->wall_ns : window->target_cpu_ns;

	return all ? 100 * (double)window->collector_ns / (double)all : 0;
}

// The share of samples to go on with, so that what they cost falls by what is too much.
static double share_to_keep(const struct budget *b, const struct budget_window *window)
{
	double keep = 1 - (b->cost - b->percent) / (b->cost * window->ticks);

	if (keep < 1.0 / BUDGET_FALL_MAX)
		return 1.0 / BUDGET_FALL_MAX;
	return keep > 0.5 ? 0.5 : keep; // small steps would come back again and again
}

uint32_t budget_judge(struct budget *b, const struct budget_window *window, uint32_t frequency_hz)
{
	b->cost = cost_of(window);
	b->over = b->percent > 0 && b->cost > b->percent ? b->over + 1 : 0;
	if (b->over < BUDGET_WINDOWS || frequency_hz <= BUDGET_LOWEST_HZ)
		return frequency_hz;
	b->over = 0;
	if (b->cost * window->ticks * WORTH_IT < b->cost - b->percent)
		return frequency_hz;
	uint32_t lower = (uint32_t)(frequency_hz * share_to_keep(b, window));
	return lower < BUDGET_LOWEST_HZ ? BUDGET_LOWEST_HZ : lower;
}
