// SPDX-License-Identifier: MIT
#include "sampler/budget.h"

#include <math.h>

#define FLOOR_SHARE 0.25 // of the budget, for each of samples and switches, whatever else costs
#define SLACK       1.05 // what is so little too much is not worth a word

// In per cent of the target's time.
struct costs {
	double samples, switches, rest;
};

static struct costs costs_of(const struct budget_window *window)
{
	uint64_t all =
		window->wall_ns > window->target_cpu_ns ? window->wall_ns : window->target_cpu_ns;
	double scale = all ? 100 / (double)all : 0, ours = scale * (double)window->collector_ns;

	return (struct costs){
		.samples = ours * window->ticks + scale * (double)window->handlers_ns,
		.switches = ours * window->switches,
		.rest = ours * fmax(0, 1 - window->ticks - window->switches) +
		        scale * (double)window->hooks_ns,
	};
}

// What each of the two may cost at most, of ROOM for both.
static double level(double a, double b, double room)
{
	if (a + b <= room)
		return INFINITY;
	return fmax(room / 2, room - fmin(a, b));
}

// The share of what costs COST to go on with, so that it costs LIMIT; 1: all of it.
static double share_to_keep(double cost, double limit)
{
	if (cost <= limit)
		return 1;
	double keep = limit / cost;
	if (keep < 1.0 / BUDGET_FALL_MAX)
		return 1.0 / BUDGET_FALL_MAX;
	return keep > 0.5 ? 0.5 : keep; // small steps would come back again and again
}

struct budget_verdict budget_judge(struct budget *b, const struct budget_window *window,
                                   uint32_t frequency_hz)
{
	struct budget_verdict verdict = { .frequency_hz = frequency_hz };
	struct costs c = costs_of(window);

	b->cost = c.samples + c.switches + c.rest;
	if (b->percent <= 0 || b->cost <= b->percent)
		b->over = 0;
	else // the first may be of the program's start, when all that is sampled is new
		b->over += b->over && b->cost > b->percent * BUDGET_FAR ? 2 : 1;
	if (b->over < BUDGET_WINDOWS)
		return verdict;
	b->over = 0;
	double limit = fmax(level(c.samples, c.switches, fmax(0, b->percent - c.rest)),
	                    b->percent * FLOOR_SHARE);
	double samples = share_to_keep(c.samples, limit);
	double switches = share_to_keep(c.switches, limit);
	if (frequency_hz <= BUDGET_LOWEST_HZ)
		samples = 1;
	double seconds = (double)window->wall_ns / 1e9;
	double stacks = seconds > 0 ? (double)window->switch_count / seconds : 0;
	if (stacks <= BUDGET_SWITCHES_MIN)
		switches = 1;
	b->helpless = c.samples * samples + c.switches * switches + c.rest > b->percent * SLACK &&
	              samples > 0.5 && switches > 0.5;
	if (samples < 1) {
		double lower = fmax(BUDGET_LOWEST_HZ, frequency_hz * samples);
		verdict.frequency_hz = (uint32_t)lower;
		b->samples_cost = c.samples;
	}
	if (switches < 1) {
		verdict.switches_per_second =
			(uint32_t)fmax(BUDGET_SWITCHES_MIN, stacks * switches);
		b->switches_cost = c.switches;
	}
	return verdict;
}
