// SPDX-License-Identifier: MIT
#include "sampler/budget.h"

// Fewer samples help where they are at least one part in so many of what is too much.
#define WORTH_IT 20

static double cost_of(const struct budget_window *window)
{
	uint64_t all =
		window->wall_ns > window->target_cpu_ns ? window->wall_ns : window->target_cpu_ns;
	uint64_t cost = window->collector_ns + window->handlers_ns + window->hooks_ns;

	return all ? 100 * (double)cost / (double)all : 0;
}

// What part of the cost fewer samples would make less.
static double part_of_samples(const struct budget_window *window)
{
	double ours = (double)window->collector_ns;
	double cost = ours + (double)window->handlers_ns + (double)window->hooks_ns;

	return cost > 0 ? (ours * window->ticks + (double)window->handlers_ns) / cost : 0;
}

// The share of samples to go on with, so that what they cost falls by what is too much.
static double share_to_keep(const struct budget *b, double samples)
{
	double keep = 1 - (b->cost - b->percent) / (b->cost * samples);

	if (keep < 1.0 / BUDGET_FALL_MAX)
		return 1.0 / BUDGET_FALL_MAX;
	return keep > 0.5 ? 0.5 : keep; // small steps would come back again and again
}

uint32_t budget_judge(struct budget *b, const struct budget_window *window, uint32_t frequency_hz)
{
	b->cost = cost_of(window);
	b->over = b->percent > 0 && b->cost > b->percent ? b->over + 1 : 0;
	if (b->over < BUDGET_WINDOWS)
		return frequency_hz;
	b->over = 0;
	double samples = part_of_samples(window);
	b->helpless = frequency_hz <= BUDGET_LOWEST_HZ ||
	              b->cost * samples * WORTH_IT < b->cost - b->percent;
	if (b->helpless)
		return frequency_hz;
	uint32_t lower = (uint32_t)(frequency_hz * share_to_keep(b, samples));
	return lower < BUDGET_LOWEST_HZ ? BUDGET_LOWEST_HZ : lower;
}
