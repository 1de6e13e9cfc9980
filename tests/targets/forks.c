// SPDX-License-Identifier: MIT
// A tree of processes: three children, each with two of its own, all at work.
#include "truth.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int at[3];

static NOINLINE uint64_t root_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at[0]);
	return x;
}

static NOINLINE uint64_t child_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at[1]);
	return x;
}

static NOINLINE uint64_t leaf_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at[2]);
	return x;
}

static void leaf_process(void)
{
	uint64_t n = truth_steps(8);

	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "leaf_work", at[2], leaf_work(n));
	truth_leave();
	_exit(0);
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

static void child_process(void)
{
	uint64_t n = truth_steps(10);

	for (int i = 0; i < 2; i++) {
		if (fork() == 0)
			leaf_process();
	}
	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "child_work", at[1], child_work(n));
	TRUTH_OFF("child", wait_all());
	truth_leave();
	exit(0);
}

int main(void)
{
	uint64_t n = truth_steps(10);

	for (int i = 0; i < 3; i++) {
		if (fork() == 0)
			child_process();
	}
	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "root_work", at[0], root_work(n));
	TRUTH_OFF("child", wait_all());
	truth_fact("processes", "-", 10);
	truth_print();
	return 0;
}
