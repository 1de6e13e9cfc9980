// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/support/expect.h"
#include "tracer/agent/modes.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK UINT64_C(4000000)

Test(agent_modes, a_tick_is_where_the_clock_has_moved)
{
	struct modes before = { 7 * TICK, 20 * TICK };
	struct modes in_user = { 8 * TICK, 21 * TICK }, in_kernel = { 7 * TICK, 23 * TICK };
	struct modes mostly_user = { 9 * TICK, 23 * TICK };

	cr_expect(not(modes_in_kernel(before, before)), "no tick at all");
	cr_expect(not(modes_in_kernel(before, in_user)));
	cr_expect(modes_in_kernel(before, in_kernel));
	cr_expect(eq(u64, modes_kernel_ns(before, in_kernel), 3 * TICK));
	cr_expect(not(modes_in_kernel(before, mostly_user)), "it is not known which came last");
	cr_expect(eq(u64, modes_kernel_ns(before, mostly_user), TICK));
}

Test(agent_modes, the_clocks_tell_the_kernel_from_user_code)
{
	static char buffer[1 << 20];
	int zero = open("/dev/zero", O_RDONLY);
	struct modes start = modes_now(), middle;
	uint64_t user = 0, kernel = 0;

	cr_assert(ge(int, zero, 0));
	while (modes_now().both_ns - start.both_ns < 30 * TICK)
		// Not read(), of which a sanitizer makes much work in user code.
		cr_assert(gt(long, syscall(SYS_read, zero, buffer, sizeof(buffer)), 0));
	middle = modes_now();
	kernel = modes_kernel_ns(start, middle);
	cr_expect(ge(u64, kernel, 27 * TICK));
	for (volatile unsigned i = 0; modes_now().both_ns - middle.both_ns < 30 * TICK;)
		for (unsigned j = 0; j < 1000000; j++)
			i += j;
	user = modes_now().user_ns - middle.user_ns;
	cr_expect(ge(u64, user, 27 * TICK));
	close(zero);
}
