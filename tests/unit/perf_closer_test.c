// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_closer.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 10000

static bool hangs_up(int fd)
{
	struct pollfd reader = { .fd = fd, .events = POLLIN };

	return poll(&reader, 1, WAIT_MS) == 1 && reader.revents & POLLHUP;
}

static bool is_open(int fd)
{
	struct pollfd reader = { .fd = fd, .events = POLLIN };

	return poll(&reader, 1, 20) == 0;
}

static int start(int event)
{
	int last = perf_closer_start(event);

	if (last < 0)
		cr_skip_test("this kernel has no close_range()");
	return last;
}

Test(perf_closer, it_holds_one_until_the_others_are_closed_and_keeps_nothing_else_open)
{
	int held[2], other[2];

	cr_assert(eq(int, pipe(held), 0));
	cr_assert(eq(int, pipe(other), 0));
	int last = start(held[1]);
	close(held[1]);
	close(other[1]);
	cr_expect(hangs_up(other[0]));
	cr_expect(is_open(held[0]));
	close(last);
	cr_expect(hangs_up(held[0]));
}

Test(perf_closer, who_waits_for_any_child_does_not_meet_it)
{
	int held[2];

	cr_assert(eq(int, pipe(held), 0));
	int last = start(held[1]);
	close(held[1]);
	cr_expect(eq(int, waitpid(-1, NULL, WNOHANG), -1));
	cr_expect(eq(int, errno, ECHILD));
	close(last);
	cr_assert(hangs_up(held[0]));
	cr_expect(eq(int, waitpid(-1, NULL, 0), -1));
	cr_expect(eq(int, errno, ECHILD));
}

Test(perf_closer, there_is_one_at_a_time_and_another_when_it_has_been_reaped)
{
	int held[2], again = -1;

	cr_assert(eq(int, pipe(held), 0));
	int last = start(held[1]);
	cr_expect(eq(int, perf_closer_start(held[1]), -1));
	close(last);
	for (int i = 0; i < WAIT_MS && again < 0; i++) {
		again = perf_closer_start(held[1]);
		usleep(1000);
	}
	cr_expect(again >= 0);
	close(again);
	perf_closer_reap();
	perf_closer_reap(); // as often as one likes
}
