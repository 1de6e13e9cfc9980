// SPDX-License-Identifier: MIT
// Works, tells the truth, and then ends as its argument says.
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int at_work;

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

static void *leave_from_thread(void *context)
{
	(void)context;
	syscall(SYS_exit_group, 7);
	return NULL;
}

static void end_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, leave_from_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

// The last thread to go is not the first that came.
static void *linger(void *context)
{
	(void)context;
	usleep(50000);
	exit(9);
}

static void end_main_first(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, linger, NULL) == 0)
		pthread_exit(NULL);
}

static void end_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void end_segv(void)
{
	kill(getpid(), SIGSEGV);
}

static void end_abort(void)
{
	abort();
}

static void end_fault(void)
{
	volatile int *volatile nowhere = (volatile int *)8;

	*nowhere = 1;
}

static void end_direct(void)
{
	_exit(3);
}

static const struct {
	const char *name;
	void (*end)(void);
} endings[] = {
	{ "_exit", end_direct }, { "thread", end_thread }, { "main-first", end_main_first },
	{ "kill", end_kill },    { "segv", end_segv },     { "abort", end_abort },
	{ "fault", end_fault },
};

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "work", at_work, work(truth_steps(100)));
	truth_print();
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!strcmp(how, endings[i].name))
			endings[i].end();
	}
	return 0;
}
