// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "sampler/priority.h"
#include "sampler/proc/proc_stat.h"
#include "tests/support/expect.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int own_nice(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

Test(priority, is_as_before_once_it_is_given_back)
{
	struct priority p;

	setpriority(PRIO_PROCESS, 0, 3);
	priority_ask(&p);
	priority_urgent(&p);
	priority_give_back(&p);
	cr_expect(eq(int, own_nice(), 3));
	cr_expect(eq(int, policy(), SCHED_OTHER));
	setpriority(PRIO_PROCESS, 0, 5);
	priority_give_back(&p);
	cr_expect(eq(int, own_nice(), 5), "twice does nothing more");
}

Test(priority, never_asked_for_gives_nothing_back)
{
	struct priority p = { 0 };

	setpriority(PRIO_PROCESS, 0, 3);
	priority_urgent(&p);
	priority_eager(&p);
	priority_give_back(&p);
	cr_expect(eq(int, own_nice(), 3));
	cr_expect(eq(int, policy(), SCHED_OTHER));
}

Test(priority, is_real_time_where_that_may_be_had)
{
	struct priority p;
	struct sched_param one = { .sched_priority = 1 };
	bool allowed = sched_setscheduler(0, SCHED_RR, &one) == 0;

	one.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &one);
	cr_expect(eq(int, priority_may(), allowed));
	priority_ask(&p);
	priority_urgent(&p);
	cr_expect(eq(int, policy(), allowed ? SCHED_RR : SCHED_OTHER));
	priority_eager(&p);
	cr_expect(eq(int, policy(), SCHED_OTHER));
	priority_urgent(&p);
	cr_expect(eq(int, policy(), allowed ? SCHED_RR : SCHED_OTHER), "again");
	priority_give_back(&p);
}

Test(priority, is_late_where_it_has_waited_for_a_cpu)
{
	struct priority p;
	uint64_t run_ns, delay_ns;

	if (!proc_stat_own_times(&run_ns, &delay_ns))
		cr_skip_test("this kernel does not count what threads wait for CPUs");
	priority_ask(&p);
	uint64_t now = clock_now_ns();
	cr_expect(not(priority_is_late(&p, now)), "nothing is known yet");
	p.delay_ns -= NS_PER_MS; // of 20
	now += 20 * NS_PER_MS;
	cr_expect(not(priority_is_late(&p, now)), "a twentieth");
	cr_assert(proc_stat_own_times(&run_ns, &p.delay_ns));
	p.delay_ns -= 10 * NS_PER_MS;
	cr_expect(not(priority_is_late(&p, now + 10 * NS_PER_MS)), "not looked at so soon");
	now += 20 * NS_PER_MS;
	cr_expect(priority_is_late(&p, now), "half of the time");
	cr_expect(priority_is_late(&p, now + 10 * NS_PER_MS));
	cr_assert(proc_stat_own_times(&run_ns, &p.delay_ns));
	cr_expect(not(priority_is_late(&p, now + NS_PER_SEC)), "no longer");
	priority_give_back(&p);
}

Test(priority, is_not_inherited)
{
	struct priority p;
	int status = -1;

	priority_ask(&p);
	priority_urgent(&p);
	pid_t child = fork();
	if (child == 0)
		_exit(own_nice() < 0 || policy() != SCHED_OTHER);
	priority_give_back(&p);
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_expect(eq(int, status, 0));
}

Test(priority, leaves_a_policy_alone_that_somebody_has_chosen)
{
	struct priority p;
	struct sched_param none = { 0 };

	cr_assert(eq(int, sched_setscheduler(0, SCHED_BATCH, &none), 0));
	setpriority(PRIO_PROCESS, 0, 3);
	priority_ask(&p);
	priority_urgent(&p);
	cr_expect(eq(int, policy(), SCHED_BATCH));
	cr_expect(eq(int, own_nice(), 3));
	priority_give_back(&p);
	cr_expect(eq(int, policy(), SCHED_BATCH));
	cr_expect(eq(int, own_nice(), 3));
}

// 0 where the kernel does not tell.
static uint64_t slice_ns(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} own = { 0 };

	return syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) == 0 ? own.runtime_ns : 0;
}

Test(priority, takes_short_turns_while_it_is_asked_for)
{
	struct priority p;
	uint64_t before = slice_ns();

	if (!before)
		cr_skip_test("this kernel has one slice for all");
	priority_ask(&p);
	cr_expect(lt(u64, slice_ns(), before));
	priority_urgent(&p);
	priority_eager(&p);
	cr_expect(lt(u64, slice_ns(), before));
	priority_give_back(&p);
	cr_expect(eq(u64, slice_ns(), before));
}
