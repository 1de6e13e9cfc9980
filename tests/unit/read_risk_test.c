// SPDX-License-Identifier: MIT
#include "sampler/unwind/read_risk.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#define NOW (100 * NS_PER_SEC)

// As of a look that is not old.
static struct read_risk seen(uint32_t crowd, uint32_t runnable)
{
	return (struct read_risk){ .crowd = crowd, .runnable = runnable, .looked_ns = NOW };
}

Test(read_risk, a_crowd_of_threads_that_want_a_cpu_is_one)
{
	struct read_risk crowd = seen(8, 500), idle = seen(8, 3);

	cr_expect(read_risk_is_high(&crowd, 500, NOW));
	cr_expect(!read_risk_is_high(&idle, 500, NOW), "its threads sleep");
	cr_expect(!read_risk_is_high(&crowd, 4, NOW), "others are the crowd");
}

Test(read_risk, after_a_read_that_was_blocked_there_is_a_pause)
{
	struct read_risk r = seen(8, 1);

	read_risk_took(&r, NS_PER_MS, NOW);
	cr_expect(!read_risk_is_high(&r, 4, NOW), "that was none");
	read_risk_took(&r, 50 * NS_PER_MS, NOW);
	cr_expect(read_risk_is_high(&r, 4, NOW + 399 * NS_PER_MS));
	cr_expect(!read_risk_is_high(&r, 4, NOW + 400 * NS_PER_MS));
	read_risk_took(&r, 4 * NS_PER_SEC, NOW);
	cr_expect(read_risk_is_high(&r, 4, NOW + 1999 * NS_PER_MS));
	cr_expect(!read_risk_is_high(&r, 4, NOW + 2000 * NS_PER_MS), "the longest one");
}

Test(read_risk, the_kernel_says_how_many_want_a_cpu)
{
	uint32_t runnable = 7;

	cr_expect(read_risk_parse("0.52 10.58 0.59 503/1467 31415\n", &runnable));
	cr_expect(eq(u32, runnable, 503));
	cr_expect(!read_risk_parse("", &runnable));
	cr_expect(!read_risk_parse("0.52 0.58 0.59 x/467 31415\n", &runnable));
	cr_expect(!read_risk_parse("0.52 0.58 0.59 3", &runnable));
	cr_expect(eq(u32, runnable, 503), "as it was");
}

Test(read_risk, this_machine_is_looked_at)
{
	struct read_risk r = { 0 };

	read_risk_is_high(&r, 1u << 20, NOW);
	cr_expect(gt(u32, r.crowd, 0));
	cr_expect(gt(u32, r.runnable, 0), "this test wants a CPU");
	cr_expect(eq(u64, r.looked_ns, NOW));
}
