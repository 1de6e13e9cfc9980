// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(account, .init = begin, .fini = end);

static void finish(uint32_t thread, uint64_t at_ms, bool exact, uint64_t on_cpu_ms,
                   enum metric metric, uint64_t off_ms)
{
	struct thread_end event = { .thread = thread, .time_ns = at_ms * MS, .exact = exact };

	event.ns[METRIC_ON_CPU] = on_cpu_ms * MS;
	event.ns[metric] += off_ms * MS;
	profile_end_thread(f.profile, &event);
}

static struct account account_of(const struct profile *p)
{
	struct account account;
	uint64_t sum = 0;

	cr_assert(query_account(p, &account, NULL) == 0);
	for (int i = 0; i < METRIC_COUNT; i++)
		sum += account.ns[i];
	cr_expect(eq(u64, sum, account.lifetime_ns), "the parts sum to the lifetime");
	return account;
}

Test(account, exact_times_are_taken_as_they_are)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	finish(1, 1100, true, 60, METRIC_OFF_FILE, 40);
	struct account account = account_of(f.profile);
	cr_expect(account.exact);
	cr_expect(account.is_main);
	cr_expect(eq(u64, account.lifetime_ns, 100 * MS));
	cr_expect(eq(u64, account.ns[METRIC_ON_CPU], 60 * MS));
	cr_expect(eq(u64, account.ns[METRIC_OFF_FILE], 40 * MS));
	cr_expect(eq(str, (char *)account.thread, "main"));
	cr_expect(eq(str, (char *)account.process, "app"));
}

Test(account, time_that_nobody_saw_is_of_unknown_cause)
{
	finish(1, 1100, true, 60, METRIC_OFF_FILE, 30);
	cr_expect(eq(u64, account_of(f.profile).ns[METRIC_OFF_OTHER], 10 * MS));
}

Test(account, kernel_time_is_the_share_of_stacks_that_end_in_the_kernel)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > read@libc > vfs_read@kernel");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > [kernel]");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:1");
	add(&f, 1, METRIC_OFF_FILE, 50, "main a.c:1 > [kernel]");
	finish(1, 1200, true, 100, METRIC_OFF_FILE, 100);
	cr_expect(eq(u64, account_of(f.profile).kernel_ns, 50 * MS), "half of 100 ms");
}

Test(account, without_exact_times_stacks_are_the_estimate)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1");
	add(&f, 1, METRIC_OFF_LOCK, 50, "main a.c:1 > lock@libc");
	finish(1, 1100, false, 0, METRIC_OFF_OTHER, 0);
	struct account account = account_of(f.profile);
	cr_expect(not(account.exact));
	cr_expect(eq(u64, account.ns[METRIC_ON_CPU], 30 * MS));
	cr_expect(eq(u64, account.ns[METRIC_OFF_LOCK], 50 * MS));
	cr_expect(eq(u64, account.ns[METRIC_OFF_OTHER], 20 * MS));
}

Test(account, estimates_beyond_the_lifetime_are_scaled_down)
{
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:1");
	add(&f, 1, METRIC_OFF_LOCK, 200, "main a.c:1 > lock@libc");
	finish(1, 1099, false, 0, METRIC_OFF_OTHER, 0);
	struct account account = account_of(f.profile);
	cr_expect(eq(u64, account.lifetime_ns, 99 * MS));
	cr_expect(eq(u64, account.ns[METRIC_OFF_LOCK], 66 * MS));
}

Test(account, a_thread_that_still_runs_has_lived_until_now)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	f.now_ns += 500 * MS;
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	cr_expect(eq(u64, account_of(f.profile).lifetime_ns, 500 * MS));
}

Test(account, another_thread_is_critical_if_the_first_one_only_waits)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_thread(&f, 3, 1, 102, "busy");
	finish(2, 1900, true, 700, METRIC_OFF_LOCK, 200);
	finish(3, 1900, true, 800, METRIC_OFF_LOCK, 100);
	finish(1, 2000, true, 100, METRIC_OFF_LOCK, 900);
	struct account account = account_of(f.profile);
	cr_expect(eq(str, (char *)account.thread, "busy"));
	cr_expect(not(account.is_main));
}

// Which of them was on a CPU for longest says nothing.
Test(account, of_threads_that_hardly_work_the_one_that_is_waited_for_is_critical)
{
	const struct wait_share by = { 1990 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 1010 * MS,
		                         .end_ns = 1990 * MS,
		                         .address = 0x1000,
		                         .kind = HELD_JOIN,
		                         .count = 1,
		                         .parts = &by };

	for (uint64_t work_ms = 20; work_ms <= 200; work_ms += 180) {
		end();
		begin();
		add_thread(&f, 2, 1, 101, "worker");
		add_thread(&f, 3, 1, 102, "server");
		add_span(&f, 1, 1000, 1010, THREAD_RUNS, THREAD_BLOCKED);
		add_span(&f, 1, 1010, 1990, THREAD_BLOCKED, THREAD_RUNS);
		profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
		finish(2, 1900, true, 10, METRIC_OFF_LOCK, 890);
		finish(3, 1900, true, work_ms, METRIC_OFF_NET, 900 - work_ms);
		finish(1, 2000, true, 10, METRIC_OFF_LOCK, 990);
		profile_end_wall(f.profile, 2000 * MS);
		cr_expect(eq(str, (char *)account_of(f.profile).thread,
		             work_ms == 20 ? "worker" : "server"));
	}
}

Test(account, the_first_thread_stays_critical_if_it_waits_for_something_else)
{
	add_thread(&f, 2, 1, 101, "worker");
	finish(2, 1900, true, 900, METRIC_OFF_LOCK, 0);
	finish(1, 2000, true, 100, METRIC_OFF_NET, 900);
	cr_expect(account_of(f.profile).is_main);
}

Test(account, a_short_thread_is_never_critical)
{
	add_thread(&f, 2, 1, 101, "worker");
	finish(2, 1400, true, 400, METRIC_OFF_LOCK, 0);
	finish(1, 2000, true, 100, METRIC_OFF_CHILD, 900);
	cr_expect(account_of(f.profile).is_main);
}

Test(account, a_profile_without_threads_has_no_account)
{
	cleanup(profile) struct profile *empty = profile_new(f.modules, NULL, NULL);
	struct account account;
	struct error err = { 0 };

	cr_expect(eq(int, query_account(empty, &account, &err), -1));
	cr_expect(eq(str, err.text, "the profile has no thread"));
}

static struct account account_in(uint64_t from_ms, uint64_t to_ms)
{
	struct account account;
	uint64_t sum = 0;

	cr_assert(query_account_in(f.profile, from_ms * MS, to_ms * MS, &account, NULL) == 0);
	for (int i = 0; i < METRIC_COUNT; i++)
		sum += account.ns[i];
	cr_expect(eq(u64, sum, account.lifetime_ns), "the parts sum to the lifetime");
	return account;
}

// 40 ms on a CPU, then 40 ms in a lock, then 20 ms on a CPU.
static void fill_phases(bool exact)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 100 * MS,
		                 .off_cpu_exact = exact };

	for (int i = 0; i < 40; i += 2, f.now_ns += 2 * MS)
		add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1");
	add(&f, 1, METRIC_OFF_LOCK, 40, "main a.c:2");
	f.now_ns += 40 * MS;
	for (int i = 0; i < 20; i += 2, f.now_ns += 2 * MS)
		add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1");
	finish(1, 1100, true, 60, METRIC_OFF_LOCK, 40);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(account, of_a_window)
{
	fill_phases(true);
	struct account first = account_in(0, 60), rest = account_in(60, 0);
	cr_expect(eq(u64, first.lifetime_ns, 60 * MS));
	cr_expect(eq(u64, first.ns[METRIC_ON_CPU], 40 * MS));
	cr_expect(eq(u64, first.ns[METRIC_OFF_LOCK], 20 * MS));
	cr_expect(eq(u64, rest.lifetime_ns, 40 * MS));
	cr_expect(eq(u64, rest.ns[METRIC_ON_CPU], 20 * MS));
	cr_expect(eq(u64, rest.ns[METRIC_OFF_LOCK], 20 * MS));
	cr_expect(not(rest.exact));
	cr_expect(eq(u64, query_on_cpu_ns(f.profile, 60 * MS, 0), 20 * MS));
}

Test(account, windows_add_up_to_the_run)
{
	fill_phases(true);
	struct account whole = account_in(0, 0);
	for (uint64_t cut = 10; cut < 100; cut += 10) {
		struct account first = account_in(0, cut), rest = account_in(cut, 0);
		for (int m = 0; m < METRIC_COUNT; m++)
			cr_expect(eq(u64, first.ns[m] + rest.ns[m], whole.ns[m]), "%d at %lu", m,
			          (unsigned long)cut);
	}
}

// Samples of 30 ms in a window of 60: where all waits are known, the rest was on a CPU, too.
Test(account, the_rest_of_a_window_is_known_only_if_waits_are)
{
	for (int exact = 0; exact <= 1; exact++) {
		const struct run run = { .start_ns = 1000 * MS,
			                 .wall_ns = 100 * MS,
			                 .off_cpu_exact = exact };
		if (!exact)
			add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1");
		finish(1, 1100, exact, 100, METRIC_OFF_LOCK, 0);
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		struct account account = account_in(0, 60);
		cr_expect(eq(u64, account.ns[METRIC_ON_CPU], (exact ? 60 : 30) * MS));
		cr_expect(eq(u64, account.ns[METRIC_OFF_OTHER], (exact ? 0 : 30) * MS));
	}
}
