// SPDX-License-Identifier: MIT
// Ops of PyTorch by windows: a program whose ops are known calls as PyTorch would.
#include "merge/op/op_estimate.h"
#include "tests/support/expect.h"
#include "tracer/agent/torch/torch_thin.h"

#include <math.h>
#include <stdint.h>

#define KINDS       6
#define ALLOWED     400000 // ops of the program take less than a microsecond
#define STEPS       12000
#define PHASE_STEPS 300
#define STACK       UINT64_C(0x7fff00000000)

static struct {
	bool records, scouts, may_thin;
	uint32_t until_scout; // ops
	uint64_t random;
	uint64_t begun, taken_all;
	double truth[KINDS], estimate[KINDS];
	struct op_estimate estimates[KINDS];
	uint64_t seen[KINDS];
	uint32_t windows;
	bool phase;
} sim;

static uint32_t draw(void)
{
	sim.random = sim.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(sim.random >> 33);
}

// As PyTorch draws when its sampled callback comes next.
static uint32_t draw_scout(void)
{
	double u = ((double)draw() + 1) / 2147483649.0;

	return (uint32_t)(log(u) / log(1 - 1.0 / OP_SCOUT_OPS)) + 1;
}

static void record(bool on)
{
	sim.records = on;
}

static void scout(bool on)
{
	sim.scouts = on;
	sim.until_scout = draw_scout();
}

static bool may_thin(void)
{
	return sim.may_thin;
}

static const struct torch_switch own = { record, scout, may_thin };

// An op of KIND, DEPTH deep, which calls WITHIN more, from a line of Python.
static void op(unsigned kind, unsigned depth, unsigned within, uint32_t line)
{
	struct torch_taken taken = { 0 };

	sim.begun++;
	sim.truth[kind]++;
	if (sim.scouts && !--sim.until_scout) {
		sim.until_scout = draw_scout();
		torch_thin_scout();
	} else if (sim.records) {
		taken = torch_thin_begin(STACK - depth * 1000 - kind, line);
	}
	if (!taken.weight)
		torch_thin_left_out();
	for (unsigned i = 0; i < within; i++)
		op(within + i, depth + 1, 0, line);
	if (!taken.weight)
		return;
	sim.estimate[kind] += (double)taken.weight / OP_WEIGHT_ONE;
	sim.seen[kind]++;
	if (taken.window)
		op_estimate_add(&sim.estimates[kind], taken.window,
		                (double)taken.weight / OP_WEIGHT_ONE, 1, 0);
	sim.taken_all += !taken.window;
	sim.windows = taken.window > sim.windows ? taken.window : sim.windows;
	torch_thin_end();
}

// Two phases of different ops, of any length: what is recorded by time would see one of them more
// often.
static void step(unsigned number)
{
	sim.phase ^= draw() % PHASE_STEPS == 0;
	for (unsigned i = 0; i < 40; i++)
		op(0, 0, sim.phase ? 3 : 0, 1);
	for (unsigned i = 0; i < 7; i++)
		op(1, 0, 2, 2);
	if (number % 4 == 0)
		op(2, 0, 0, 3);
}

static void run(uint64_t seed, uint32_t allowed, bool thins)
{
	sim.records = true;
	sim.may_thin = thins;
	sim.scouts = false;
	sim.random = seed * UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned kind = 0; kind < KINDS; kind++)
		sim.truth[kind] = sim.estimate[kind] = 0,
		sim.estimates[kind] = (struct op_estimate){ 0 };
	sim.phase = false;
	sim.begun = sim.taken_all = sim.windows = 0;
	torch_thin_start(&own, allowed);
	for (unsigned i = 0; i < STEPS; i++)
		step(i);
}

Test(torch_thin, records_all_where_that_is_asked_for)
{
	run(1, 0, true);
	cr_expect(eq(u64, sim.taken_all, sim.begun));
	cr_expect(eq(dbl, sim.estimate[0], sim.truth[0]));
}

Test(torch_thin, records_few_where_all_cost_too_much)
{
	run(2, ALLOWED, true);
	cr_expect(ge(u64, sim.taken_all, TORCH_ALL_FIRST));
	cr_expect(gt(u32, sim.windows, 1));
	uint64_t seen = 0;
	for (unsigned kind = 0; kind < KINDS; kind++)
		seen += sim.seen[kind];
	cr_expect(lt(u64, seen, sim.begun * 9 / 10)); // it takes 5 ms to see how many there are
}

Test(torch_thin, records_all_beside_what_must_be_whole)
{
	run(3, ALLOWED, false);
	cr_expect(eq(u64, sim.taken_all, sim.begun));
}

// Over many runs the estimate for each kind is right on average, within what chance allows.
Test(torch_thin, estimates_without_bias)
{
	enum {
		RUNS = 60
	};
	double sum[KINDS] = { 0 }, squares[KINDS] = { 0 };

	for (unsigned i = 0; i < RUNS; i++) {
		run(100 + i, ALLOWED, true);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			double off = sim.truth[kind] ? sim.estimate[kind] / sim.truth[kind] - 1 : 0;
			sum[kind] += off;
			squares[kind] += off * off;
		}
	}
	for (unsigned kind = 0; kind < KINDS; kind++) {
		double mean = sum[kind] / RUNS;
		double spread = sqrt(squares[kind] / RUNS - mean * mean) / sqrt(RUNS);
		cr_expect(lt(dbl, fabs(mean), 4 * spread + 0.005), "kind %u: off by %.4f, +- %.4f",
		          kind, mean, spread);
	}
}

// The interval holds the truth in nearly as many runs as it says: in 92 to 95 of 100, and in 87
// where the machine has other work, and gaps are long and windows few.
Test(torch_thin, says_how_far_off_it_is)
{
	enum {
		RUNS = 100
	};
	unsigned within = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		run(1000 + i, ALLOWED, true);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			op_estimate_close(&sim.estimates[kind]);
			double error = op_estimate_calls_error(&sim.estimates[kind]);
			within += fabs(sim.estimate[kind] - sim.truth[kind]) <= 1.96 * error;
		}
	}
	cr_expect(ge(u32, within, RUNS * KINDS * 82 / 100), "in %u of %u", within, RUNS * KINDS);
}
