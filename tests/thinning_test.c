// SPDX-License-Identifier: MIT
#include "sampler/thinning.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

// Gives COUNT samples of TID that weigh EACH; what those that are taken weigh together.
static uint64_t give(struct thinning *t, uint32_t tid, int count, uint64_t each, int *taken)
{
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .weight_ns = each };
	uint64_t sum = 0, weight;

	for (int i = 0; i < count; i++)
		if (thinning_takes(t, tid, &sample, &weight)) {
			sum += weight;
			(*taken)++;
		}
	return sum;
}

Test(thinning, without_a_period_all_samples_are_taken_as_they_are)
{
	static struct thinning t;
	int taken = 0;

	cr_expect(eq(u64, give(&t, 7, 10, 1000, &taken), 10000));
	cr_expect(eq(int, taken, 10));
}

Test(thinning, those_that_are_taken_stand_for_those_that_are_not)
{
	static struct thinning t = { .period_ns = 4000 };
	int taken = 0;

	cr_expect(eq(u64, give(&t, 7, 40, 1000, &taken), 40000));
	cr_expect(eq(int, taken, 10));
}

Test(thinning, each_thread_has_a_period_of_its_own)
{
	static struct thinning t = { .period_ns = 2000 };
	int first = 0, second = 0;

	for (int i = 0; i < 10; i++) {
		give(&t, 7, 1, 1000, &first);
		give(&t, 8, 1, 1000, &second);
	}
	cr_expect(eq(int, first, 5));
	cr_expect(eq(int, second, 5));
}

Test(thinning, a_thread_whose_samples_are_as_rare_as_wanted_keeps_them)
{
	static struct thinning t = { .period_ns = 8064516 }; // 124 Hz
	int taken = 0;

	give(&t, 7, 100, 8064516, &taken);
	cr_expect(eq(int, taken, 100));
	taken = 0;
	give(&t, 7, 100, 8064000, &taken);
	cr_expect(eq(int, taken, 100), "a little less than the period");
}

Test(thinning, what_a_thread_left_is_not_another_ones)
{
	static struct thinning t = { .period_ns = 2000 };
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .weight_ns = 1000 };
	uint64_t weight;
	int taken = 0;

	give(&t, 7, 1, 1000, &taken);
	cr_expect(not(thinning_takes(&t, 7 + THINNING_THREADS, &sample, &weight)));
	cr_expect(thinning_takes(&t, 7 + THINNING_THREADS, &sample, &weight));
	cr_expect(eq(u64, weight, 2000));
}

Test(thinning, stacks_of_waiting_threads_are_always_taken)
{
	static struct thinning t = { .period_ns = 1000000 };
	struct event_sample sample = { .kind = SAMPLE_SWITCH };
	uint64_t weight;

	for (int i = 0; i < 3; i++)
		cr_expect(thinning_takes(&t, 7, &sample, &weight));
}
