// SPDX-License-Identifier: MIT
// Sleeps for most of its life, in long and in short sleeps, and polls for a tenth.
#include "truth.h"

#include <poll.h>
#include <unistd.h>

static int at_work;

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

static NOINLINE void rest(void)
{
	TRUTH_OFF("sleep", usleep(40000));
	for (int i = 0; i < 10; i++)
		TRUTH_OFF("sleep", usleep(2000));
	NOT_LAST();
}

int main(void)
{
	uint64_t n = truth_steps(30);
	int pipe_ends[2];

	if (pipe(pipe_ends) < 0)
		return 1;
	struct pollfd never = { .fd = pipe_ends[0], .events = POLLIN };
	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "work", at_work, work(n));
		rest();
		TRUTH_OFF("net", poll(&never, 1, 10));
	}
	truth_print();
	return 0;
}
