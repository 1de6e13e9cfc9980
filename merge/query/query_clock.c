// SPDX-License-Identifier: MIT
#include "merge/query/query_clock.h"

#include "merge/table/clocks.h"

#define NS_PER_MS UINT64_C(1000000)
#define PART_MIN  10 /* a level lasts for one of so many parts of the time */

// Of the ops that are not within others: these have their time.
static uint64_t slow_time(const struct warmup_rows *rows, uint64_t *begin_ns)
{
	uint64_t ns = 0;

	*begin_ns = UINT64_MAX;
	for (size_t i = 0; i < rows->count; i++) {
		const struct warmup_row *row = &rows->rows[i];
		*begin_ns = row->begin_ns < *begin_ns ? row->begin_ns : *begin_ns;
		ns += row->nested ? 0 : row->slow_ns;
	}
	return ns;
}

bool query_clock_rise(const struct profile *p, const struct warmup_rows *rows,
                      struct clock_change *change)
{
	const struct run *run = profile_run(p);
	struct clocks clocks;
	uint64_t begin_ns, slow_ns = slow_time(rows, &begin_ns);

	if (!rows->steady_ns || begin_ns >= rows->steady_ns ||
	    !clocks_parse(&clocks, run->cpu_clock))
		return false;
	uint64_t steady_ms = rows->steady_ns / NS_PER_MS;
	uint32_t first = clocks_from(&clocks, begin_ns / NS_PER_MS);
	uint32_t steady = clocks_from(&clocks, steady_ms);
	if (steady < first + CLOCK_READINGS || clocks.count < steady + CLOCK_READINGS)
		return false;
	double before = clocks_mean(&clocks, first, steady, steady_ms);
	double after = clocks_mean(&clocks, steady, clocks.count, run->wall_ns / NS_PER_MS);
	if (before > after * CLOCK_RATIO)
		return false;
	uint64_t due_ns = (uint64_t)((double)slow_ns * (1 - before / after));
	*change = (struct clock_change){
		.before_mhz = before,
		.after_mhz = after,
		.at_ns = rows->steady_ns,
		.excess_ns = due_ns < rows->excess_ns ? due_ns : rows->excess_ns,
	};
	return true;
}

// Of TIMES before and after, with their means: the sum of squares between the two.
static double difference(double before_ms, double before, double after_ms, double after)
{
	double apart = before - after;

	return before_ms * after_ms / (before_ms + after_ms) * apart * apart;
}

// The reading that the second level begins with; 0 if there is none.
static uint32_t best_cut(const struct clocks *c, uint64_t end_ms)
{
	uint64_t begin_ms = c->readings[0].at_ms;
	double best = 0;
	uint32_t cut = 0;

	for (uint32_t i = CLOCK_READINGS; i + CLOCK_READINGS <= c->count; i++) {
		uint64_t at_ms = c->readings[i].at_ms;
		double before_ms = (double)(at_ms - begin_ms), after_ms = (double)(end_ms - at_ms);
		if (before_ms + after_ms <= 0)
			continue;
		double apart = difference(before_ms, clocks_mean(c, 0, i, at_ms), after_ms,
		                          clocks_mean(c, i, c->count, end_ms));
		if (apart > best) {
			best = apart;
			cut = i;
		}
	}
	return cut;
}

bool query_clock_fall(const struct profile *p, struct clock_change *change)
{
	const struct run *run = profile_run(p);
	struct clocks clocks;

	if (!clocks_parse(&clocks, run->cpu_clock) || clocks.count < 2 * CLOCK_READINGS)
		return false;
	uint64_t last_ms = clocks.readings[clocks.count - 1].at_ms;
	uint64_t end_ms = run->wall_ns / NS_PER_MS > last_ms ? run->wall_ns / NS_PER_MS : last_ms;
	uint32_t cut = best_cut(&clocks, end_ms);
	if (!cut)
		return false;
	uint64_t begin_ms = clocks.readings[0].at_ms, at_ms = clocks.readings[cut].at_ms;
	if ((at_ms - begin_ms) * PART_MIN < end_ms - begin_ms ||
	    (end_ms - at_ms) * PART_MIN < end_ms - begin_ms)
		return false;
	double before = clocks_mean(&clocks, 0, cut, at_ms);
	double after = clocks_mean(&clocks, cut, clocks.count, end_ms);
	if (after > before * CLOCK_RATIO)
		return false;
	*change = (struct clock_change){ before, after, at_ms * NS_PER_MS, 0 };
	return true;
}
