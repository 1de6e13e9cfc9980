// SPDX-License-Identifier: MIT
#include "sampler/cpu_account.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#define MS     UINT64_C(1000000)
#define PERIOD MS

static const struct cpu_account_rules kernel_too = { .switches = true,
	                                             .kernel_samples = true,
	                                             .period_ns = PERIOD };
static const struct cpu_account_rules user_only = { .switches = true, .period_ns = PERIOD };
static const struct cpu_account_rules no_switches = { .kernel_samples = true, .period_ns = PERIOD };

// A thread that is on the CPU since time 0.
static struct thread running(void)
{
	return (struct thread){ .off_cpu = { .begun = true, .switched = true } };
}

static struct cpu_split sample_at(struct thread *thread, uint64_t time_ns,
                                  const struct cpu_account_rules *rules)
{
	struct event event = {
		.type = RECORD_SAMPLE,
		.time_ns = time_ns,
		.sample = { .kind = SAMPLE_ON_CPU, .weight_ns = PERIOD },
	};

	return cpu_account_sample(thread, &event, rules);
}

static uint64_t sum(struct cpu_split split)
{
	return split.user_ns + split.kernel_ns + split.short_ns + split.unknown_ns;
}

Test(cpu_account, the_clock_runs_on_the_cpu_and_stands_off_it)
{
	struct thread thread = running();

	cr_expect(eq(u64, cpu_account_clock(&thread, 5 * MS), 5 * MS));
	thread.ns[METRIC_ON_CPU] = 5 * MS;
	thread.off_cpu.out = true;
	thread.off_cpu.since_ns = 5 * MS;
	cr_expect(eq(u64, cpu_account_clock(&thread, 9 * MS), 5 * MS));
	thread.off_cpu.begun = false;
	thread.off_cpu.out = false;
	cr_expect(eq(u64, cpu_account_clock(&thread, 9 * MS), 5 * MS), "it has ended");
}

Test(cpu_account, a_sample_stands_for_all_time_since_the_one_before)
{
	struct thread thread = running();

	cr_expect(eq(u64, sample_at(&thread, 1 * MS, &kernel_too).user_ns, 1 * MS));
	cr_expect(eq(u64, sample_at(&thread, 4 * MS, &kernel_too).user_ns, 3 * MS));
	cr_expect(eq(u64, sample_at(&thread, 4 * MS, &kernel_too).user_ns, 0));
}

Test(cpu_account, a_gap_that_no_timer_explains_is_unknown)
{
	struct thread thread = running();
	struct cpu_split split = sample_at(&thread, 100 * MS, &kernel_too);

	cr_expect(eq(u64, split.user_ns, 16 * MS));
	cr_expect(eq(u64, split.unknown_ns, 84 * MS));
}

Test(cpu_account, without_switch_records_a_sample_weighs_what_the_source_says)
{
	struct thread thread = { 0 };

	cr_expect(eq(u64, sample_at(&thread, 50 * MS, &no_switches).user_ns, PERIOD));
	cr_expect(eq(u64, sum(cpu_account_rest(&thread, 60 * MS, &no_switches)), 0));
	cr_expect(eq(u64, thread.sampled_ns, PERIOD));
}

Test(cpu_account, missing_user_ticks_with_no_switch_in_between_were_kernel_time)
{
	struct thread thread = running();
	struct cpu_split split;

	sample_at(&thread, 1 * MS, &user_only);
	split = sample_at(&thread, 6 * MS, &user_only);
	cr_expect(eq(u64, split.user_ns, 1 * MS));
	cr_expect(eq(u64, split.kernel_ns, 4 * MS));
	split = sample_at(&thread, 7 * MS + MS / 10, &user_only);
	cr_expect(eq(u64, split.kernel_ns, 0), "a timer may be late");
}

// Half of the ticks fall into the kernel, and the thread is switched all the time.
Test(cpu_account, with_switches_in_between_the_share_of_many_samples_decides)
{
	struct thread thread = running();
	uint64_t kernel = 0, total = 0;

	srand(1);
	for (uint64_t tick = 1; tick <= 4000; tick++) {
		if (rand() & 0x100)
			continue;
		cpu_account_switched(&thread, false, &user_only);
		struct cpu_split split = sample_at(&thread, tick * PERIOD, &user_only);
		kernel += split.kernel_ns;
		total += sum(split);
	}
	cr_expect(gt(dbl, (double)kernel / (double)total, 0.44));
	cr_expect(lt(dbl, (double)kernel / (double)total, 0.56));
	cr_expect(eq(u64, thread.sampled_ns, total));
}

// Contexts that are swapped between threads: gaps vary, but none of it is kernel time.
Test(cpu_account, uneven_gaps_of_pure_user_time_are_not_taken_for_the_kernel)
{
	struct thread thread = running();
	uint64_t kernel = 0, time = 0;

	srand(2);
	for (int i = 0; i < 4000; i++) {
		time += (uint64_t)rand() % (2 * PERIOD);
		cpu_account_switched(&thread, false, &user_only);
		kernel += sample_at(&thread, time, &user_only).kernel_ns;
	}
	cr_expect(lt(dbl, (double)kernel / (double)time, 0.04));
}

Test(cpu_account, after_a_loss_missing_samples_are_unknown_and_not_kernel_time)
{
	struct thread thread = running();
	struct cpu_account_rules lossy = user_only;

	sample_at(&thread, 1 * MS, &lossy);
	lossy.loss_ns = 20 * MS;
	struct cpu_split split = sample_at(&thread, 41 * MS, &lossy);
	cr_expect(eq(u64, split.kernel_ns, 0));
	cr_expect(eq(u64, split.unknown_ns, 24 * MS));
	split = sample_at(&thread, 44 * MS, &lossy);
	cr_expect(eq(u64, split.kernel_ns, 2 * MS), "the loss is over");
}

Test(cpu_account, what_follows_the_last_sample_belongs_to_its_stack)
{
	struct thread thread = running();

	sample_at(&thread, 1 * MS, &kernel_too);
	struct cpu_split rest = cpu_account_rest(&thread, MS + MS / 2, &kernel_too);
	cr_expect(eq(u64, rest.user_ns, MS / 2));
	cr_expect(eq(u64, sum(cpu_account_rest(&thread, MS + MS / 2, &kernel_too)), 0));
}

Test(cpu_account, a_thread_without_a_sample_is_too_short_or_was_in_the_kernel)
{
	struct thread brief = running(), brief_user = running(), busy = running();

	cr_expect(eq(u64, cpu_account_rest(&brief, MS / 2, &kernel_too).short_ns, MS / 2));
	cr_expect(eq(u64, cpu_account_rest(&brief_user, MS / 2, &user_only).short_ns, MS / 2));
	cr_expect(eq(u64, cpu_account_rest(&busy, 50 * MS, &user_only).kernel_ns, 50 * MS),
	          "50 ticks in user code cannot all be missed");
}

Test(cpu_account, what_a_thread_does_before_its_first_sample_is_due_no_sample_tells)
{
	struct thread thread = running(), late = running();
	struct cpu_split split;

	thread.ns[METRIC_ON_CPU] = MS / 4;
	thread.off_cpu.out = true;
	split = cpu_account_switched(&thread, true, &kernel_too);
	cr_expect(eq(u64, sum(split), 0), "it is not done: a sample may still tell");
	split = cpu_account_switched(&thread, false, &kernel_too);
	cr_expect(eq(u64, split.short_ns, MS / 4));
	thread.ns[METRIC_ON_CPU] = MS / 2;
	split = cpu_account_switched(&thread, false, &kernel_too);
	cr_expect(eq(u64, split.short_ns, MS / 4), "once for each run");
	thread.ns[METRIC_ON_CPU] = 2 * MS;
	cr_expect(eq(u64, sum(cpu_account_switched(&thread, false, &kernel_too)), 0),
	          "one was due by now");

	late.ns[METRIC_ON_CPU] = MS / 4;
	late.off_cpu.out = true;
	late.cpu.sample_ns = 1;
	cr_expect(eq(u64, sum(cpu_account_switched(&late, false, &kernel_too)), 0),
	          "it has been sampled");
	cpu_account_rest(&late, MS / 4, &kernel_too);
	cpu_account_exec(&late);
	late.ns[METRIC_ON_CPU] = MS / 2;
	cr_expect(eq(u64, cpu_account_switched(&late, false, &kernel_too).short_ns, MS / 4),
	          "but not in this program");
}

Test(cpu_account, weights_add_up_to_the_clock_whatever_happens)
{
	static const struct cpu_account_rules *const all[] = { &kernel_too, &user_only };

	for (int r = 0; r < 2; r++) {
		struct thread thread = running();
		struct cpu_account_rules rules = *all[r];
		uint64_t time = 0, total = 0;
		srand(3);
		for (int i = 0; i < 2000; i++) {
			time += (uint64_t)rand() % (i % 100 ? 2 * PERIOD : 90 * PERIOD);
			if (rand() & 0x100)
				total += sum(cpu_account_switched(&thread, false, &rules));
			if (i % 500 == 0)
				rules.loss_ns = time;
			total += sum(sample_at(&thread, time, &rules));
		}
		total += sum(cpu_account_rest(&thread, time + 3 * PERIOD, &rules));
		cr_expect(eq(u64, total, time + 3 * PERIOD), "rules %d", r);
	}
}

Test(cpu_account, the_last_stack_is_kept_and_forgotten)
{
	struct frame frames[2] = { { .address = 1 }, { .address = 2 } };
	struct thread thread = running();

	cpu_account_keep(&thread, frames, 2, STACK_JOINED);
	cr_assert(eq(u32, thread.cpu.frame_count, 2));
	cr_expect(eq(u64, thread.cpu.frames[1].address, 2));
	cr_expect(eq(u32, thread.cpu.frame_flags, STACK_JOINED));
	cpu_account_keep(&thread, NULL, 0, 0);
	cr_expect(eq(u32, thread.cpu.frame_count, 0));
	free(thread.cpu.frames);
}
