// SPDX-License-Identifier: MIT
// A handler that works: its time is its own, and its stack leads through the
// signal frame to the function that was interrupted.
#include "truth.h"

#include <signal.h>
#include <sys/time.h>

static int at_victim, at_handler;
static uint64_t handler_ns, victim_ns, steps;

static NOINLINE uint64_t handler_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_handler);
	return x;
}

static void handler(int signal)
{
	uint64_t start = truth_cpu();

	(void)signal;
	handler_work(steps);
	handler_ns += truth_cpu() - start;
}

static NOINLINE uint64_t victim(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_victim);
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(150);
	struct sigaction action = { .sa_handler = handler };
	struct itimerval every = { { 0, 100000 }, { 0, 100000 } }, never = { 0 };

	// The kernel starts the handler at its tick, as it does those samples that follow the tick:
	// each call is seen up to a tick too short, which must be little of it.
	steps = truth_steps(60);
	sigaction(SIGVTALRM, &action, 0);
	for (int round = truth_rounds() / 2; round > 0; round--) {
		setitimer(ITIMER_VIRTUAL, &every, 0);
		uint64_t start = truth_cpu();
		victim(n);
		victim_ns += truth_cpu() - start;
		setitimer(ITIMER_VIRTUAL, &never, 0);
	}
	truth_add("self", "handler_work", __FILE__, at_handler, handler_ns);
	truth_add("self", "victim", __FILE__, at_victim, victim_ns - handler_ns);
	truth_add("total", "victim", 0, 0, victim_ns);
	truth_add("path", "handler;handler_work", 0, 0, handler_ns);
	truth_print();
	return 0;
}
