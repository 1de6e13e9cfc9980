// SPDX-License-Identifier: MIT
#include "sampler/thinning.h"
#include "tests/support/expect.h"

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
	uint64_t sum = give(&t, 7, 4000, 1000, &taken);

	cr_expect(eq(u64, sum + t.threads[7].left_ns, 4000000));
	cr_expect(taken > 950 && taken < 1050, "%d of 1000", taken);
}

Test(thinning, each_thread_has_a_period_of_its_own)
{
	static struct thinning t = { .period_ns = 5000 };
	int first = 0, second = 0;

	for (int i = 0; i < 5000; i++) {
		give(&t, 7, 1, 1000, &first);
		give(&t, 8, 1, 1000, &second);
	}
	cr_expect(first > 950 && first < 1050, "%d of 1000", first);
	cr_expect(second > 950 && second < 1050, "%d of 1000", second);
}

Test(thinning, a_program_that_repeats_itself_is_met_everywhere)
{
	static struct thinning t = { .period_ns = 20000000 };
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .weight_ns = 4000000 };
	uint64_t met[25] = { 0 }, sum = 0, weight;

	// It repeats itself every 100 ms, and the kernel ticks every 4.
	for (int i = 0; i < 100000; i++)
		if (thinning_takes(&t, 7, &sample, &weight)) {
			met[i % 25] += weight;
			sum += weight;
		}
	for (int i = 0; i < 25; i++) {
		double share = 2500 * (double)met[i] / (double)sum;
		cr_expect(share > 85 && share < 115, "%.1f %% of its share at %d", share, i);
	}
}

Test(thinning, what_a_thread_left_is_not_another_ones)
{
	static struct thinning t = { .period_ns = 1000000 };
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .weight_ns = 1000 };
	uint64_t weight;
	int taken = 0;

	give(&t, 7, 400, 1000, &taken);
	cr_expect(eq(u64, t.threads[7].left_ns, 400000));
	cr_expect(not(thinning_takes(&t, 7 + THINNING_THREADS, &sample, &weight)));
	cr_expect(eq(u64, t.threads[7].left_ns, 1000));
}

Test(thinning, stacks_of_waiting_threads_are_always_taken)
{
	static struct thinning t = { .period_ns = 1000000 };
	struct event_sample sample = { .kind = SAMPLE_SWITCH };
	uint64_t weight;

	for (int i = 0; i < 3; i++)
		cr_expect(thinning_takes(&t, 7, &sample, &weight));
}

Test(thinning, a_thread_with_enough_samples_gives_way_and_loses_no_time)
{
	static struct thinning t = { .enough = true };
	int taken = 0, before = 0;
	uint64_t each = 1001001; // 999 Hz
	uint64_t sum = give(&t, 7, THINNING_ENOUGH, each, &taken);

	cr_expect(eq(int, taken, THINNING_ENOUGH));
	cr_expect(eq(u32, t.gave_way, 0));
	// Ten minutes on a CPU: 39,000 samples in steps of 20 s, 40 s, and the rest at 199 Hz.
	sum += give(&t, 7, 580000, each, &taken);
	cr_expect(eq(u64, sum + t.threads[7].left_ns, (THINNING_ENOUGH + 580000) * each));
	cr_expect(eq(u32, t.gave_way, 1));
	before = taken;
	give(&t, 7, 100000, each, &taken);
	cr_expect(taken - before > 19000 && taken - before < 21000, "%d of 100 s", taken - before);
	// Another thread has samples of its own.
	before = taken;
	give(&t, 8, 1000, each, &taken);
	cr_expect(eq(int, taken - before, 1000));
}

Test(thinning, what_comes_as_seldom_anyway_is_left_alone)
{
	static struct thinning t = { .enough = true };
	int taken = 0;

	give(&t, 7, THINNING_ENOUGH + 4 * THINNING_STEP, 5000000, &taken);
	cr_expect(eq(int, taken, THINNING_ENOUGH + 4 * THINNING_STEP));
	cr_expect(eq(u32, t.gave_way, 0));
}

Test(thinning, many_samples_are_no_reason_where_all_are_wanted)
{
	static struct thinning t;
	int taken = 0;

	give(&t, 7, 100000, 1001001, &taken);
	cr_expect(eq(int, taken, 100000));
}

Test(thinning, shares_stay_as_they_are_when_a_thread_gives_way)
{
	static struct thinning t = { .enough = true };
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .weight_ns = 1001001 };
	uint64_t part[2] = { 0 }, weight, random = 1;

	// A quarter of the time at one place, at random.
	for (int i = 0; i < 400000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (thinning_takes(&t, 7, &sample, &weight))
			part[random >> 62 == 0] += weight;
	}
	double share = (double)part[1] / (double)(part[0] + part[1]);
	cr_expect(share > 0.24 && share < 0.26, "%.4f", share);
}
