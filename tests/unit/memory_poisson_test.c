// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_poisson.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <math.h>

#define MEAN 524288
// Sanitized, what each run reads and writes is looked at, and not what the mean of all is.
#ifdef __SANITIZE_ADDRESS__
#define RUNS 30
#else
#define RUNS 300
#endif

// What the sum of weights of COUNT allocations of BYTES is off by, in standard deviations.
static double error_of(struct poisson *p, uint64_t bytes, uint64_t count)
{
	uint64_t allocated = 0, next = poisson_distance(p), taken = 0;
	double sum = 0;

	for (uint64_t i = 0; i < count; i++) {
		allocated += bytes;
		if (allocated < next)
			continue;
		sum += (double)poisson_weight(p, bytes);
		taken++;
		next = allocated + poisson_distance(p);
	}
	double chance = -expm1(-(double)bytes / (double)p->mean);
	double sigma = (double)bytes / chance * sqrt((double)count * chance * (1 - chance));
	cr_assert(gt(u64, taken, 1000));
	return sigma > 0 ? (sum - (double)(count * bytes)) / sigma : 0;
}

Test(memory_poisson, distances_are_exponential)
{
	struct poisson p;
	double sum = 0, squares = 0, n = 1000000;

	poisson_start(&p, 7, MEAN);
	for (int i = 0; i < (int)n; i++) {
		double d = (double)poisson_distance(&p) / MEAN;
		sum += d;
		squares += d * d;
	}
	// Of an exponential of mean 1, d has variance 1, and d * d mean 2 and variance 20.
	cr_expect(lt(dbl, fabs(sum / n - 1), 5 / sqrt(n)));
	cr_expect(lt(dbl, fabs(squares / n - 2), 5 * sqrt(20 / n)));
}

Test(memory_poisson, the_shares_of_distances_are_those_of_an_exponential)
{
	struct poisson p;
	int below[40] = { 0 }, n = 1000000;

	poisson_start(&p, 11, MEAN);
	for (int i = 0; i < n; i++) {
		double d = (double)poisson_distance(&p) / MEAN;
		for (int k = (int)ceil(d * 10); k < 40; k++)
			below[k]++;
	}
	for (int k = 1; k < 40; k++) {
		double expected = -expm1(-k / 10.0);
		double sigma = sqrt(expected * (1 - expected) / n);
		cr_expect(lt(dbl, fabs((double)below[k] / n - expected), 5 * sigma + 2.0 / MEAN),
		          "up to %.1f", k / 10.0);
	}
}

Test(memory_poisson, weights_are_what_the_formula_says)
{
	struct poisson p;

	poisson_start(&p, 1, MEAN);
	for (uint64_t bytes = 1; bytes < UINT64_C(1) << 40; bytes += bytes / 3 + 1) {
		double exact = (double)bytes / -expm1(-(double)bytes / MEAN);
		cr_expect(lt(dbl, fabs((double)poisson_weight(&p, bytes) - exact), 1), "%lu bytes",
		          bytes);
	}
}

Test(memory_poisson, the_sum_of_weights_is_unbiased_for_any_size)
{
	static const uint64_t sizes[] = { 24, 1000, 65544, 524288, 4 << 20, 64 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct poisson p;
		uint64_t count = UINT64_C(20000) * MEAN / sizes[i];
		poisson_start(&p, i + 1, MEAN);
		double error = error_of(&p, sizes[i], count < 20000 ? 20000 : count);
		cr_expect(lt(dbl, fabs(error), 5), "%lu bytes: %.1f sigma", sizes[i], error);
	}
}

Test(memory_poisson, seeds_give_other_numbers)
{
	struct poisson a, b;

	poisson_start(&a, 1, MEAN);
	poisson_start(&b, 2, MEAN);
	cr_expect(ne(u64, poisson_distance(&a), poisson_distance(&b)));
}

Test(memory_poisson, the_mean_may_change_at_any_sample)
{
	struct poisson p;
	uint64_t allocated = 0, next, taken = 0;
	double sum = 0, bytes = 5000;

	poisson_start(&p, 5, MEAN);
	next = poisson_distance(&p);
	for (int i = 0; i < 20000000; i++) {
		allocated += (uint64_t)bytes;
		if (allocated < next)
			continue;
		sum += (double)poisson_weight(&p, (uint64_t)bytes);
		p.mean = ++taken % 3 ? MEAN : MEAN / 4;
		next = allocated + poisson_distance(&p);
	}
	cr_expect(lt(dbl, fabs(sum / (double)allocated - 1), 5 / sqrt((double)taken)));
}

static uint32_t spend(struct poisson_budget *b, uint64_t now_ns)
{
	poisson_spend(b, now_ns);
	return b->shift;
}

Test(memory_poisson, more_than_the_budget_doubles_the_mean)
{
	struct poisson_budget b = { 0 };
	uint64_t now = 10 * POISSON_WINDOW_NS;

	poisson_spend(&b, now); // opens a window
	for (uint64_t i = 1; i <= POISSON_BUDGET; i++)
		cr_expect(eq(u32, spend(&b, now + i), 0));
	cr_expect(eq(u32, spend(&b, now + POISSON_WINDOW_NS * 2 / 3), 1));
}

Test(memory_poisson, a_storm_is_over_at_once)
{
	struct poisson_budget b = { 0 };
	uint64_t now = 10 * POISSON_WINDOW_NS;

	// A thousand times too fast.
	poisson_spend(&b, now);
	for (int i = 0; i < POISSON_BUDGET; i++)
		poisson_spend(&b, now + 1);
	cr_expect(eq(u32, spend(&b, now + POISSON_WINDOW_NS / 1000), 9));
}

Test(memory_poisson, the_mean_has_a_limit)
{
	struct poisson_budget b = { .window_ns = 5 };

	for (int i = 0; i < 100 * (POISSON_BUDGET + 1); i++)
		poisson_spend(&b, 6);
	cr_expect(eq(u32, b.shift, POISSON_SHIFT_MAX));
}

Test(memory_poisson, a_quiet_process_gets_its_mean_back)
{
	struct poisson_budget b = { .shift = 10 };
	uint64_t now = UINT64_C(1000) * POISSON_WINDOW_NS;

	cr_expect(lt(u32, spend(&b, now), 10));
	for (int i = 0; i < 4; i++)
		poisson_rest(&b, now += 100 * POISSON_WINDOW_NS);
	cr_expect(eq(u32, b.shift, 0));
}

Test(memory_poisson, what_keeps_within_the_budget_keeps_its_mean)
{
	struct poisson_budget b = { .window_ns = 1, .shift = 3 };

	for (uint64_t now = 1; now < 50 * POISSON_WINDOW_NS;
	     now += POISSON_WINDOW_NS / (POISSON_BUDGET / 2)) {
		poisson_spend(&b, now);
		poisson_rest(&b, now + 1);
	}
	cr_expect(eq(u32, b.shift, 3));
}

Test(memory_poisson, the_first_samples_may_come_faster)
{
	struct poisson_budget b = { 0 };
	uint64_t apart = POISSON_WINDOW_NS / POISSON_BUDGET, now = 10 * POISSON_CALM_NS;

	for (int i = 0; i < POISSON_BURST / 2; i++)
		cr_assert(eq(u32, spend(&b, now += apart), 0));
	for (int i = 0; i < POISSON_BURST; i++)
		spend(&b, now += apart);
	cr_expect(gt(u32, b.shift, 0));
}

struct run {
	double estimates[2], truths[2]; // of bytes, by site
	uint64_t samples;
};

// Ten seconds of a program that allocates at two sites: small blocks all the time, large ones in
// turns of 100 ms. Time is what its allocations take.
static struct run run_program(uint64_t seed)
{
	static const uint64_t sizes[] = { 4096, 300000 };
	struct poisson_budget b = { 0 };
	struct run run = { 0 };
	struct poisson p;
	uint64_t allocated = 0, now = NS_PER_SEC, looks = 0;

	poisson_start(&p, seed, MEAN);
	uint64_t next = poisson_distance(&p);
	for (uint32_t shift = 0; now < 11 * NS_PER_SEC; now += 5000) {
		int site = now / (100 * NS_PER_MS) % 2 && now % 50000 == 0;
		bool hit = (allocated += sizes[site]) >= next;
		run.truths[site] += (double)sizes[site];
		if (hit) {
			run.estimates[site] += (double)poisson_weight(&p, sizes[site]);
			run.samples++;
			poisson_spend(&b, now);
		} else if (++looks % 64 == 0) {
			poisson_rest(&b, now);
		}
		if (!hit && b.shift == shift)
			continue;
		shift = b.shift;
		p.mean = (uint64_t)MEAN << shift;
		next = allocated + poisson_distance(&p);
	}
	return run;
}

Test(memory_poisson, sites_are_estimated_without_bias_while_the_mean_changes)
{
	double sum[2] = { 0 }, squares[2] = { 0 };
	int runs = RUNS;

	for (int i = 0; i < runs; i++) {
		struct run run = run_program((uint64_t)i + 1);
		cr_assert(ge(u64, run.samples, POISSON_BURST));
		cr_assert(le(u64, run.samples, 2 * POISSON_BURST + 10 * 100));
		for (int site = 0; site < 2; site++) {
			double error = run.estimates[site] / run.truths[site] - 1;
			sum[site] += error;
			squares[site] += error * error;
		}
	}
	for (int site = 0; site < 2; site++) {
		double spread = sqrt(squares[site] / runs);
		cr_expect(lt(dbl, fabs(sum[site] / runs), 4 * spread / sqrt(runs)),
		          "site %d: off by %.4f", site, sum[site] / runs);
		cr_expect(lt(dbl, spread, 0.1), "site %d: off by %.3f in one run", site, spread);
	}
}
