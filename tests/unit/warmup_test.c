// SPDX-License-Identifier: MIT
#include "merge/warmup/warmup.h"

#include <criterion/criterion.h>

#define US           1000u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t ns[1000], sizes[1000];

static struct warmup judge(size_t count, const uint64_t *of_size)
{
	struct warmup w;

	cr_assert(warmup_judge(&w, ns, of_size, count));
	return w;
}

// Level US with a ripple that no rule should mind.
static void fill(size_t count)
{
	for (size_t i = 0; i < count; i++)
		ns[i] = 100 * US + i % 7 * US;
}

static void expect(struct warmup w, enum warmup_verdict verdict, size_t calls)
{
	cr_expect_eq(w.verdict, verdict, "%s", warmup_verdict_name(w.verdict));
	cr_expect_eq(w.calls, calls, "%zu calls", w.calls);
}

Test(warmup, first_calls)
{
	fill(40);
	ns[0] = 5000 * US;
	ns[1] = 3000 * US;
	ns[2] = 1000 * US;
	struct warmup w = judge(40, NULL);
	expect(w, WARMUP_INCLUDED, 3);
	cr_expect_float_eq(w.steady_ns, 103e3, 1e3);
	cr_expect_float_eq(w.excess, 8.7 / 12.8, 0.02);
	cr_expect_float_eq(w.ratio, 29, 1);
}

Test(warmup, none)
{
	fill(1000);
	expect(judge(1000, NULL), WARMUP_NONE, 0);
	expect(judge(2, NULL), WARMUP_NONE, 0);
	ns[0] = 300 * US; // slow, but nothing of a thousand calls
	expect(judge(1000, NULL), WARMUP_NONE, 1);
	memset(ns, 0, sizeof(ns));
	expect(judge(1000, NULL), WARMUP_NONE, 0);
}

// What comes again is not warm-up, even if it begins with the first call.
Test(warmup, periodic)
{
	fill(200);
	for (size_t i = 0; i < 200; i += 25)
		ns[i] = 5000 * US;
	cr_expect_eq(judge(200, NULL).verdict, WARMUP_NONE);
}

// Bursts of which two fall into the first fifth: later ones are like the first, not like both.
Test(warmup, bursts)
{
	static const size_t bursts[] = { 0, 60, 210, 290 };

	fill(400);
	for (size_t i = 0; i < COUNT(bursts); i++)
		for (size_t j = 0; j < 10; j++)
			ns[bursts[i] + j] = 900 * US;
	cr_expect_eq(judge(400, NULL).verdict, WARMUP_NONE);
}

// As in a factorization, where each call has less to do than the one before.
Test(warmup, work_that_shrinks)
{
	for (size_t i = 0; i < 60; i++)
		ns[i] = (60 - i) * (60 - i) * US;
	cr_expect_eq(judge(60, NULL).verdict, WARMUP_NO_STEADY_STATE);
	for (size_t i = 0; i < 60; i++)
		ns[i] = 2 * US + (i < 4) * 900 * US + (i / 15 == 2) * 4 * US;
	expect(judge(60, NULL), WARMUP_INCLUDED, 4);
}

// The end of warm-up is not lost in a noisy series so long that slow calls are never far apart.
Test(warmup, long_and_noisy)
{
	fill(1000);
	for (size_t i = 0; i < 1000; i++)
		if (i < 40 || i % 17 == 0)
			ns[i] = (i < 40 ? 2000 : 500) * US;
	struct warmup w = judge(1000, NULL);
	cr_expect_eq(w.verdict, WARMUP_INCLUDED);
	cr_expect(w.calls >= 40 && w.calls <= 90, "%zu", w.calls);
}

Test(warmup, compiled_again)
{
	fill(100);
	ns[0] = 90000 * US;
	ns[10] = 60000 * US;
	expect(judge(100, NULL), WARMUP_INCLUDED, 11);
}

Test(warmup, too_short)
{
	fill(8);
	ns[0] = ns[1] = ns[2] = 3000 * US;
	expect(judge(8, NULL), WARMUP_TOO_SHORT, 3);
}

Test(warmup, still_falling)
{
	double level = 50000;

	for (size_t i = 0; i < 60; i++, level *= 0.95)
		ns[i] = (uint64_t)level * US;
	cr_expect_eq(judge(60, NULL).verdict, WARMUP_NO_STEADY_STATE);
}

Test(warmup, slows_down)
{
	for (size_t i = 0; i < 60; i++)
		ns[i] = (100 + 2 * i) * US;
	cr_expect_eq(judge(60, NULL).verdict, WARMUP_SLOWS_DOWN);
}

// The largest input first is no warm-up, if sizes are known.
Test(warmup, sizes)
{
	fill(60);
	for (size_t i = 0; i < 60; i++) {
		sizes[i] = i < 4 ? 4096 : 64;
		ns[i] *= sizes[i] / 64;
	}
	cr_expect_eq(judge(60, NULL).verdict, WARMUP_INCLUDED);
	cr_expect_eq(judge(60, sizes).verdict, WARMUP_NONE);
}

// Sizes that never repeat: time is seen to grow with their power.
Test(warmup, law)
{
	for (size_t i = 0; i < 60; i++) {
		sizes[i] = 1000 + 6000 * ((i * 37) % 61);
		ns[i] = sizes[i] * 10;
	}
	cr_expect_eq(judge(60, sizes).verdict, WARMUP_NONE);
	ns[0] *= 100;
	expect(judge(60, sizes), WARMUP_INCLUDED, 1);
}

Test(warmup, names)
{
	cr_expect_str_eq(warmup_verdict_name(WARMUP_NONE), "none");
	cr_expect_str_eq(warmup_verdict_name(WARMUP_SLOWS_DOWN), "slows-down");
}
