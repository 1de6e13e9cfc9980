// SPDX-License-Identifier: MIT
#include "sampler/budget.h"

#include "base/clock.h"
#include "tests/support/expect.h"

static uint32_t judge_often(struct budget *b, struct budget_window window, uint32_t frequency,
                            int times)
{
	for (int i = 0; i < times; i++)
		frequency = budget_judge(b, &window, frequency).frequency_hz;
	return frequency;
}

static struct budget_window window_of(uint64_t collector_ms)
{
	return (struct budget_window){
		.wall_ns = NS_PER_SEC,
		.target_cpu_ns = NS_PER_SEC / 2,
		.collector_ns = collector_ms * NS_PER_MS,
		.ticks = 1,
	};
}

Test(budget, a_rate_within_it_stays)
{
	struct budget b = { .percent = 5 };

	cr_expect(eq(u32, judge_often(&b, window_of(50), 999, 20), 999));
	cr_expect(eq(dbl, b.cost, 5));
}

Test(budget, only_windows_in_a_row_count)
{
	struct budget b = { .percent = 5 };
	uint32_t rate = judge_often(&b, window_of(90), 999, BUDGET_WINDOWS - 1);

	rate = judge_often(&b, window_of(10), rate, 1);
	rate = judge_often(&b, window_of(90), rate, BUDGET_WINDOWS - 1);
	cr_expect(eq(u32, rate, 999));
	cr_expect(lt(u32, judge_often(&b, window_of(90), rate, 1), 999));
}

Test(budget, a_cost_far_above_it_is_acted_on_a_window_sooner)
{
	struct budget b = { .percent = 5 };
	uint32_t rate = judge_often(&b, window_of(200), 1000, 1);

	cr_expect(eq(u32, rate, 1000), "a program's start");
	rate = judge_often(&b, window_of(10), rate, 1);
	rate = judge_often(&b, window_of(200), rate, 1);
	cr_expect(eq(u32, rate, 1000), "not in a row");
	cr_expect(eq(u32, judge_often(&b, window_of(200), rate, 1), 250));
}

Test(budget, the_rate_falls_as_far_as_the_cost_is_to_fall)
{
	struct budget b = { .percent = 5 };

	cr_expect(eq(u32, judge_often(&b, window_of(200), 1000, BUDGET_WINDOWS - 1), 250));
	cr_expect(eq(u32, judge_often(&b, window_of(60), 1000, BUDGET_WINDOWS), 500), "by half");
	b.percent = 0.01;
	cr_expect(eq(u32, judge_often(&b, window_of(200), 1000, BUDGET_WINDOWS - 1), 125),
	          "at once");
	cr_expect(eq(u32, judge_often(&b, window_of(200), 1000, 100), BUDGET_LOWEST_HZ));
}

Test(budget, threads_that_compute_pay_for_more_than_one_second_a_second)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(200);

	window.target_cpu_ns = 16 * NS_PER_SEC;
	cr_expect(eq(u32, judge_often(&b, window, 999, 20), 999));
	cr_expect(eq(dbl, b.cost, 1.25));
}

Test(budget, what_samples_do_not_cost_they_do_not_pay_for)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(200);

	window.ticks = 0.03; // 0.6 of 20 %: without any of them it would still be 19.4
	cr_expect(eq(u32, judge_often(&b, window, 999, 20), 999));
}

Test(budget, none_sets_no_limit)
{
	struct budget b = { .percent = 0 };

	cr_expect(eq(u32, judge_often(&b, window_of(900), 999, 20), 999));
}

Test(budget, a_window_of_no_time_costs_nothing)
{
	struct budget b = { .percent = 5 };
	struct budget_window empty = { 0 };

	cr_expect(eq(u32, judge_often(&b, empty, 999, 20), 999));
}

Test(budget, what_handlers_and_hooks_take_counts)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(20);

	window.handlers_ns = 20 * NS_PER_MS;
	window.hooks_ns = 10 * NS_PER_MS;
	cr_expect(eq(u32, judge_often(&b, window, 999, BUDGET_WINDOWS), 999));
	cr_expect(eq(dbl, b.cost, 5));
	window.handlers_ns = 180 * NS_PER_MS;
	window.hooks_ns = 0;
	cr_expect(eq(u32, judge_often(&b, window, 1000, BUDGET_WINDOWS - 1), 250));
	cr_expect(not(b.helpless));
}

Test(budget, it_is_told_when_fewer_samples_would_not_help)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(1);

	window.hooks_ns = 200 * NS_PER_MS;
	cr_expect(eq(u32, judge_often(&b, window, 999, BUDGET_WINDOWS - 2), 999));
	cr_expect(not(b.helpless));
	cr_expect(eq(u32, judge_often(&b, window, 999, 1), 999));
	cr_expect(b.helpless);
	window = window_of(200);
	cr_expect(eq(u32, judge_often(&b, window, BUDGET_LOWEST_HZ, BUDGET_WINDOWS),
	             BUDGET_LOWEST_HZ));
	cr_expect(b.helpless, "at the lowest rate");
	cr_expect(lt(u32, judge_often(&b, window, 999, BUDGET_WINDOWS), 999));
	cr_expect(not(b.helpless));
}

// Each of 8 % from stacks of waits, 1 % from samples: the samples stay.
Test(budget, switches_pay_for_what_they_cost)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(90);
	struct budget_verdict verdict = { 0 };

	window.ticks = 1.0 / 9;
	window.switches = 8.0 / 9;
	window.switch_count = 3000;
	for (int i = 0; i < BUDGET_WINDOWS; i++)
		verdict = budget_judge(&b, &window, 999);
	cr_expect(eq(u32, verdict.frequency_hz, 999));
	cr_expect(eq(u32, verdict.switches_per_second, 1500), "4 of 8 %%");
	cr_expect(not(b.helpless));
	cr_expect_float_eq(b.switches_cost, 8, 1e-9);
	window.switches = 4.5 / 9; // and 3.5 % for all else: 1.25 % at least are for each
	for (int i = 0; i < BUDGET_WINDOWS; i++)
		verdict = budget_judge(&b, &window, 999);
	cr_expect(eq(u32, verdict.frequency_hz, 999));
	cr_expect(eq(u32, verdict.switches_per_second, 833));
	window.switch_count = BUDGET_SWITCHES_MIN;
	for (int i = 0; i < BUDGET_WINDOWS; i++)
		verdict = budget_judge(&b, &window, 999);
	cr_expect(eq(u32, verdict.switches_per_second, 0), "there are few");
	cr_expect(b.helpless);
}

// Ops cost 30 %, samples 0.6: without any samples it would still be six times too much.
Test(budget, a_tenth_of_the_excess_is_no_reason_to_lower_the_rate)
{
	struct budget b = { .percent = 5 };
	struct budget_window window = window_of(6);

	window.hooks_ns = 300 * NS_PER_MS;
	cr_expect(eq(u32, judge_often(&b, window, 999, 20), 999));
	cr_expect(b.helpless);
	window = window_of(26); // 2.6 %: they may have 1.25
	window.hooks_ns = 300 * NS_PER_MS;
	cr_expect(eq(u32, judge_often(&b, window, 1000, BUDGET_WINDOWS), 480));
}
