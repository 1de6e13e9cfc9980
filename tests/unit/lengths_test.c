// SPDX-License-Identifier: MIT
#include "merge/numbers/lengths.h"

#include "tests/support/expect.h"

#include <stdint.h>

#define STEPS 200

static double values[STEPS];
static uint32_t state = 12345;

// 0 … 1, always the same ones.
static double chance(void)
{
	state = state * 1664525 + 1013904223;
	return (double)(state >> 8) / (1 << 24);
}

// COUNT steps of LENGTH, within NOISE of it.
static void steps(size_t count, double length, double noise)
{
	for (size_t i = 0; i < count; i++)
		values[i] = length * (1 + noise * (2 * chance() - 1));
}

static struct two_lengths lengths(size_t count)
{
	struct two_lengths l;

	cr_assert(two_lengths_of(values, count, &l));
	return l;
}

Test(lengths, each_tenth_step_is_an_evaluation)
{
	steps(50, 40, 0.05);
	for (size_t i = 9; i < 50; i += 10)
		values[i] = 120 + (double)i / 50;
	struct two_lengths l = lengths(50);
	cr_expect(eq(sz, l.brief.count, 45));
	cr_expect(eq(sz, l.lengthy.count, 5));
	cr_expect(epsilon_eq(dbl, l.brief.median, 40, 2));
	cr_expect(epsilon_eq(dbl, l.lengthy.median, 120, 2));
	cr_expect(eq(sz, l.every, 10));
	cr_expect(eq(sz, l.rarer, 9));
	cr_expect(l.limit > 42 && l.limit <= 121);
}

Test(lengths, the_rarer_ones_may_be_the_brief_ones)
{
	steps(40, 100, 0.02);
	for (size_t i = 0; i < 40; i += 4)
		values[i] = 50;
	struct two_lengths l = lengths(40);
	cr_expect(eq(sz, l.brief.count, 10));
	cr_expect(eq(sz, l.every, 4));
}

Test(lengths, without_a_fixed_distance_there_have_to_be_more_of_them)
{
	static const size_t at[] = { 3, 8, 30, 41, 55, 59, 80, 94 };

	steps(100, 10, 0.05);
	for (size_t i = 0; i < 8; i++)
		values[at[i]] = 30;
	struct two_lengths l = lengths(100);
	cr_expect(eq(sz, l.lengthy.count, 8));
	cr_expect(eq(sz, l.every, 0));
	steps(100, 10, 0.05);
	for (size_t i = 0; i < 8; i += 2)
		values[at[i]] = 30;
	cr_expect(eq(sz, lengths(100).lengthy.count, 0));
}

Test(lengths, one_slow_step_more_does_not_hide_them)
{
	steps(50, 40, 0.05);
	for (size_t i = 9; i < 50; i += 10)
		values[i] = 120;
	values[0] = 900;
	struct two_lengths l = lengths(50);
	cr_expect(eq(sz, l.brief.count, 44));
	cr_expect(eq(sz, l.lengthy.count, 6));
	cr_expect(epsilon_eq(dbl, l.lengthy.median, 120, 1));
}

Test(lengths, a_warm_up_a_drift_and_noise_are_one_length)
{
	steps(50, 40, 0.05);
	for (size_t i = 0; i < 5; i++)
		values[i] = 120;
	cr_expect(eq(sz, lengths(50).lengthy.count, 0), "a warm-up");
	for (size_t i = 0; i < 50; i++)
		values[i] = 40 + (double)i;
	cr_expect(eq(sz, lengths(50).lengthy.count, 0), "a drift");
	for (int round = 0; round < 200; round++) {
		steps(100, 40, 0.5);
		cr_expect(eq(sz, lengths(100).lengthy.count, 0), "even noise");
		steps(100, 40, 0.05);
		for (size_t i = 0; i < 100; i++)
			if (chance() < 0.15)
				values[i] *= 1 + 3 * chance(); // preempted, for a while
		cr_expect(eq(sz, lengths(100).lengthy.count, 0), "a tail of slow ones");
	}
}

Test(lengths, few_or_equal_values_are_one_length)
{
	steps(STEPS, 7, 0);
	cr_expect(eq(sz, lengths(STEPS).lengthy.count, 0));
	cr_expect(eq(sz, lengths(0).lengthy.count, 0));
	cr_expect(eq(sz, lengths(1).lengthy.count, 0));
	values[2] = values[5] = values[8] = 20;
	cr_expect(eq(sz, lengths(9).lengthy.count, 0));
}
