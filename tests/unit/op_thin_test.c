// SPDX-License-Identifier: MIT
#include "tracer/agent/op/thin.h"

#include "tests/support/expect.h"

#include <math.h>

#define CALLS 3000000u
#define KINDS 3

static struct {
	double truth[KINDS], estimate[KINDS];
	uint64_t recorded;
} run;

// Kinds in a fixed order: what is recorded must not fall into step with it.
static void call_all(uint32_t allowed)
{
	static const uint8_t kinds[8] = { 0, 0, 1, 0, 0, 1, 0, 2 };
	struct op_thin thin = { 0 };

	for (unsigned kind = 0; kind < KINDS; kind++)
		run.truth[kind] = run.estimate[kind] = 0;
	run.recorded = 0;
	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t weight = op_thin(&thin, allowed);
		run.truth[kinds[i % 8]]++;
		run.estimate[kinds[i % 8]] += weight;
		run.recorded += weight != 0;
	}
}

Test(op_thin, records_all_where_that_is_asked_for)
{
	call_all(0);
	cr_expect(eq(u64, run.recorded, CALLS));
}

Test(op_thin, records_few_where_all_cost_too_much)
{
	call_all(25000);
	cr_expect(ge(u64, run.recorded, OP_THIN_FIRST));
	cr_expect(lt(u64, run.recorded, CALLS));
}

Test(op_thin, estimates_without_bias)
{
	enum {
		RUNS = 40
	};
	double sum[KINDS] = { 0 }, squares[KINDS] = { 0 };

	for (unsigned i = 0; i < RUNS; i++) {
		call_all(25000);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			double off = run.estimate[kind] / run.truth[kind] - 1;
			sum[kind] += off;
			squares[kind] += off * off;
		}
	}
	for (unsigned kind = 0; kind < KINDS; kind++) {
		double mean = sum[kind] / RUNS;
		double error = sqrt((squares[kind] / RUNS - mean * mean) / RUNS);
		cr_expect(lt(dbl, fabs(mean), 4 * error + 0.002), "kind %u: off by %.4f, +- %.4f",
		          kind, mean, error);
	}
}
