// SPDX-License-Identifier: MIT
#include "sampler/tracker/cpu_account.h"
#include "tests/support/expect.h"

#include <stdlib.h>

#define MS     UINT64_C(1000000)
#define PERIOD MS

static const struct cpu_account_rules kernel_too = { .switches = true,
	                                             .kernel_samples = true,
	                                             .period_ns = PERIOD };
static const struct cpu_account_rules user_only = { .switches = true, .period_ns = PERIOD };
static const struct cpu_account_rules no_switches = { .kernel_samples = true, .period_ns = PERIOD };

static struct process process;

// A thread that is on the CPU since time 0, of a process that is not known to have the agent.
static struct thread running(void)
{
	process = (struct process){ 0 };
	return (struct thread){ .process = &process,
		                .off_cpu = { .begun = true, .switched = true } };
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

// The agent has seen TICKS_NS of the kernel's ticks fall into the kernel.
static struct cpu_split tick_at(struct thread *thread, uint64_t time_ns, uint64_t ticks_ns)
{
	struct event event = {
		.type = RECORD_SAMPLE,
		.time_ns = time_ns,
		.sample = { .kind = SAMPLE_ON_CPU, .weight_ns = ticks_ns, .in_kernel = true },
	};
	struct frame caller = { .address = 1 };

	cpu_account_keep(thread, &caller, 1, 0, true);
	return cpu_account_sample(thread, &event, &user_only);
}

static void free_stacks(struct thread *thread)
{
	free(thread->cpu.last.frames);
	free(thread->cpu.kernel.frames);
}

static uint64_t sum(struct cpu_split split)
{
	return split.user_ns + split.kernel_ns + split.callless_ns + split.short_ns +
	       split.unknown_ns;
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

Test(cpu_account, kernel_time_waits_for_a_tick_that_tells_whose_it_is)
{
	struct thread thread = running();
	struct cpu_split split;

	sample_at(&thread, 1 * MS, &user_only);
	split = sample_at(&thread, 6 * MS, &user_only);
	cr_expect(eq(u64, split.user_ns, 1 * MS));
	cr_expect(eq(u64, sum(split), 1 * MS), "the other 4 ms were not spent here");
	cr_expect(not(cpu_account_waits(&thread)));
	split = tick_at(&thread, 7 * MS, 4 * MS);
	cr_expect(eq(u64, split.user_ns, 0));
	cr_expect(ge(u64, split.kernel_ns, 4 * MS));
	cr_expect(le(u64, split.kernel_ns, 5 * MS));
	cr_expect(cpu_account_waits(&thread), "the agent is there: so it will come again");
	cpu_account_exec(&thread);
	cr_expect(not(cpu_account_waits(&thread)), "another program may be without it");
	free_stacks(&thread);
}

Test(cpu_account, a_long_stay_in_the_kernel_is_that_of_the_tick_at_its_end)
{
	struct thread thread = running();

	for (uint64_t ms = 1; ms <= 100; ms++)
		sample_at(&thread, ms * MS, &user_only);
	struct cpu_split split = tick_at(&thread, 180 * MS, 80 * MS);
	cr_expect(eq(u64, split.kernel_ns, 80 * MS));
	cr_expect(eq(u64, sample_at(&thread, 181 * MS, &user_only).user_ns, 1 * MS));
	free_stacks(&thread);
}

// Of 20 ms a thread is in the kernel for the last 10, for one caller the first 8 ms of them.
Test(cpu_account, ticks_give_each_caller_its_share_of_kernel_time)
{
	struct thread thread = running();
	uint64_t kernel[2] = { 0, 0 }, user = 0;

	srand(4);
	for (uint64_t us = 500, tick = 3700; us < 20000000; us += 1000) {
		uint64_t phase = us % 20000;
		if (phase < 10000)
			user += sample_at(&thread, us * 1000, &user_only).user_ns;
		if (us < tick)
			continue;
		if (phase >= 10000)
			kernel[phase >= 18000] += tick_at(&thread, us * 1000, 4 * MS).kernel_ns;
		tick += 3500 + (uint64_t)(rand() % 1000);
	}
	double all = (double)(kernel[0] + kernel[1] + user);
	cr_expect(epsilon_eq(dbl, (double)user / all, 0.5, 0.01));
	cr_expect(epsilon_eq(dbl, (double)kernel[0] / all, 0.4, 0.02));
	cr_expect(epsilon_eq(dbl, (double)kernel[1] / all, 0.1, 0.02));
	free_stacks(&thread);
}

// Half of the ticks fall into the kernel, and the thread is switched all the time.
Test(cpu_account, without_the_agent_kernel_time_has_no_callers)
{
	struct thread thread = running();
	uint64_t kernel = 0, total = 0;
	struct cpu_split split;

	srand(1);
	for (uint64_t tick = 1; tick <= 4000; tick++) {
		if (rand() & 0x100)
			continue;
		cpu_account_switched(&thread, false, &user_only);
		split = sample_at(&thread, tick * PERIOD, &user_only);
		cr_assert(eq(u64, split.kernel_ns, 0));
		kernel += split.callless_ns;
		total += sum(split);
	}
	split = cpu_account_rest(&thread, 4000 * PERIOD, &user_only);
	kernel += split.callless_ns;
	total += sum(split);
	cr_expect(gt(dbl, (double)kernel / (double)total, 0.44));
	cr_expect(lt(dbl, (double)kernel / (double)total, 0.56));
	cr_expect(eq(u64, total, 4000 * PERIOD));
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
		kernel += sample_at(&thread, time, &user_only).callless_ns;
	}
	kernel += cpu_account_rest(&thread, time, &user_only).callless_ns;
	cr_expect(lt(dbl, (double)kernel / (double)time, 0.04));
}

// Of each 50 ms a hypervisor takes some; of each 10 the thread spends KERNEL_MS in the kernel, to
// whose ticks there are no samples. A timer that was due meanwhile comes when it has ended.
static void run_stolen(uint64_t kernel_ms, uint64_t *callless, uint64_t *user, uint64_t *taken)
{
	struct thread thread = running();
	struct cpu_split split;

	*callless = *user = *taken = 0;
	for (uint64_t us = 1000, theft = 50000; us < 10000000; us += 1000) {
		uint64_t late = 0;
		if (us >= theft) {
			late = 500 + (uint64_t)rand() % 9000;
			*taken += late * 1000;
			theft += 50000;
		}
		if ((us + late) / 1000 % 10 >= kernel_ms) {
			split = sample_at(&thread, (us + late) * 1000, &user_only);
			*callless += split.callless_ns;
			*user += split.user_ns;
		}
		us += late / 1000 * 1000; // timers that passed meanwhile are not made up for
	}
	split = cpu_account_rest(&thread, 10000 * MS, &user_only);
	*callless += split.callless_ns;
	*user += split.user_ns;
}

Test(cpu_account, time_that_a_hypervisor_takes_is_not_kernel_time)
{
	uint64_t callless, user, taken;

	srand(3);
	run_stolen(0, &callless, &user, &taken);
	cr_expect(gt(u64, taken, 600 * MS));
	cr_expect(lt(u64, callless, taken / 5), "%zu of %zu ms", (size_t)(callless / MS),
	          (size_t)(taken / MS));
	run_stolen(6, &callless, &user, &taken);
	cr_expect(gt(dbl, (double)callless / (double)(callless + user), 0.5));
	cr_expect(lt(dbl, (double)callless / (double)(callless + user), 0.66));
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
	cr_expect(eq(u64, split.user_ns, 1 * MS), "the loss is over");
	cr_expect(eq(u64, split.unknown_ns, 0));
}

Test(cpu_account, what_follows_the_last_sample_belongs_to_its_stack)
{
	struct thread thread = running();

	sample_at(&thread, 1 * MS, &kernel_too);
	struct cpu_split rest = cpu_account_rest(&thread, MS + MS / 2, &kernel_too);
	cr_expect(eq(u64, rest.user_ns, MS / 2));
	cr_expect(eq(u64, sum(cpu_account_rest(&thread, MS + MS / 2, &kernel_too)), 0));
}

Test(cpu_account, a_rest_that_swapped_timers_explain_is_not_taken_for_the_kernel)
{
	struct thread thread = running(), other = running();

	for (uint64_t ms = 1; ms <= 100; ms++) {
		sample_at(&thread, ms * MS, &user_only);
		sample_at(&other, ms * MS, &user_only);
	}
	cr_expect(eq(u64, cpu_account_rest(&thread, 105 * MS, &user_only).user_ns, 5 * MS));
	cr_expect(eq(u64, cpu_account_rest(&other, 110 * MS, &user_only).callless_ns, 10 * MS));
}

Test(cpu_account, where_the_agent_tells_of_no_kernel_time_there_was_none)
{
	struct thread thread = running();
	struct cpu_split split;

	tick_at(&thread, 4 * MS, 4 * MS);
	split = sample_at(&thread, 5 * MS, &user_only);
	split = sample_at(&thread, 20 * MS, &user_only);
	cr_expect(eq(u64, split.user_ns, 1 * MS), "it may tell yet");
	split = sample_at(&thread, 50 * MS, &user_only);
	cr_expect(gt(u64, split.user_ns, 15 * MS), "its timer was late, again and again");
	cr_expect(eq(u64, split.callless_ns, 0));
	free_stacks(&thread);
}

// Of each 10 ms the thread is in the kernel for 7, in which others get the CPU for a while; of the
// ticks there the agent sees a third.
Test(cpu_account, where_threads_take_turns_ticks_in_the_kernel_are_too_few)
{
	struct thread thread = running();
	uint64_t user = 0, kernel = 0, callless = 0;

	for (uint64_t ms = 0; ms < 3000; ms += 10) {
		struct cpu_split split = { 0 };
		for (uint64_t i = 1; i <= 3; i++) {
			split = sample_at(&thread, (ms + i) * MS, &user_only);
			user += split.user_ns;
			callless += split.callless_ns;
		}
		cpu_account_switched(&thread, true, &user_only);
		if (ms % 30)
			continue;
		split = tick_at(&thread, (ms + 10) * MS, 8 * MS);
		kernel += split.kernel_ns;
	}
	double all = (double)(user + kernel + callless);
	cr_expect(lt(dbl, (double)user / all, 0.33), "%f", (double)user / all);
	cr_expect(gt(dbl, (double)user / all, 0.27), "%f", (double)user / all);
	free_stacks(&thread);
}

Test(cpu_account, a_rest_after_ticks_in_the_kernel_belongs_to_the_last_of_them)
{
	struct thread thread = running();

	for (uint64_t ms = 1; ms <= 60; ms++)
		sample_at(&thread, ms * MS, &user_only);
	tick_at(&thread, 120 * MS, 60 * MS);
	struct cpu_split rest = cpu_account_rest(&thread, 130 * MS, &user_only);
	cr_expect(eq(u64, rest.kernel_ns, 10 * MS - PERIOD / 2));
	cr_expect(eq(u64, rest.user_ns, PERIOD / 2));
	rest = cpu_account_rest(&thread, 430 * MS, &user_only);
	cr_expect(gt(u64, rest.callless_ns, 250 * MS), "but the end is not known to be its");
	free_stacks(&thread);
}

Test(cpu_account, a_thread_without_a_sample_is_too_short_or_was_in_the_kernel)
{
	struct thread brief = running(), brief_user = running(), busy = running();

	cr_expect(eq(u64, cpu_account_rest(&brief, MS / 2, &kernel_too).short_ns, MS / 2));
	cr_expect(eq(u64, cpu_account_rest(&brief_user, MS / 2, &user_only).short_ns, MS / 2));
	cr_expect(eq(u64, cpu_account_rest(&busy, 50 * MS, &user_only).callless_ns, 50 * MS),
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
			if (r == 1 && i % 7 == 0)
				total += sum(tick_at(&thread, time, 4 * MS));
			total += sum(sample_at(&thread, time, &rules));
		}
		total += sum(cpu_account_rest(&thread, time + 3 * PERIOD, &rules));
		cr_expect(eq(u64, total, time + 3 * PERIOD), "rules %d", r);
		free_stacks(&thread);
	}
}

Test(cpu_account, the_last_stack_is_kept_and_forgotten)
{
	struct frame frames[2] = { { .address = 1 }, { .address = 2 } };
	struct thread thread = running();

	cpu_account_keep(&thread, frames, 2, STACK_JOINED, false);
	cr_assert(eq(u32, thread.cpu.last.count, 2));
	cr_expect(eq(u64, thread.cpu.last.frames[1].address, 2));
	cr_expect(eq(u32, thread.cpu.last.flags, STACK_JOINED));
	cr_expect(eq(u32, thread.cpu.kernel.count, 0));
	cpu_account_keep(&thread, frames, 1, 0, true);
	cpu_account_keep(&thread, NULL, 0, 0, false);
	cr_expect(eq(u32, thread.cpu.last.count, 0));
	cr_expect(eq(u32, thread.cpu.kernel.count, 1), "that in the kernel stays");
	free_stacks(&thread);
}
