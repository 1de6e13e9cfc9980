// SPDX-License-Identifier: MIT
/*
 * Calls the API of tracer/api/bottleneck/bottleneck.h, and works for a time that is known:
 *
 *	nested N     ranges within ranges, in two threads, and ends without a begin
 *	gates        20 ms, stop, 40 ms, start, 30 ms; steps on both sides
 *	paused       20 ms, start, 30 ms, stop, 40 ms
 *	fork         a range is left in the child, which goes on with its own
 *	left         a range that longjmp() leaves
 *	across       ranges that end in another thread, and numbers of none
 *	cost N       nanoseconds that N ranges and steps take, one each
 */
#include <bottleneck/bottleneck.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void work(unsigned ms)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000);
	volatile unsigned n = 0;

	while (now_ns(CLOCK_MONOTONIC) < end)
		for (int i = 0; i < 1000; i++)
			n++;
}

static unsigned rounds = 1;

__attribute__((noinline)) static void inner(void)
{
	BOTTLENECK_RANGE("inner");
	work(2);
}

static void *nest(void *unused)
{
	char name[16];

	for (unsigned i = 0; i < rounds; i++) {
		snprintf(name, sizeof(name), "round %u", i % 2); // one address, two names
		bottleneck_range_begin(name);
		inner();
		bottleneck_range_end();
	}
	bottleneck_range_end(); // nothing is open
	return unused;
}

static void nested(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, nest, NULL))
		exit(1);
	nest(NULL);
	pthread_join(other, NULL);
}

static void steps(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bottleneck_mark_step();
		work(5);
	}
}

static void gates(void)
{
	bottleneck_range_begin("before");
	steps(4);
	bottleneck_range_end();
	bottleneck_stop();
	bottleneck_stop(); // again: nothing changes
	bottleneck_range_begin("between");
	steps(8);
	bottleneck_range_end();
	bottleneck_start();
	bottleneck_range_begin("after");
	steps(6);
	bottleneck_range_end();
	bottleneck_mark_step();
	work(20); // after the last step
}

static void paused(void)
{
	bottleneck_range_begin("before");
	work(20);
	bottleneck_range_end();
	bottleneck_start();
	bottleneck_range_begin("within");
	work(30);
	bottleneck_range_end();
	bottleneck_stop();
	work(40);
}

static void forks(void)
{
	int status;

	bottleneck_range_begin("parent");
	pid_t child = fork();
	if (child == 0) {
		bottleneck_range_end(); // the parent's
		bottleneck_range_begin("child");
		work(3);
		bottleneck_range_end();
		_exit(0);
	}
	waitpid(child, &status, 0);
	bottleneck_range_end();
}

static jmp_buf back;

__attribute__((noinline)) static void leave(void)
{
	bottleneck_range_begin("left");
	work(2);
	longjmp(back, 1);
}

static void left(void)
{
	bottleneck_range_begin("around");
	if (!setjmp(back))
		leave();
	bottleneck_range_end(); // C knows no better: it is the innermost one's
	bottleneck_range_end();
	bottleneck_range_begin("next");
	work(2);
	bottleneck_range_end();
}

static void *end_it(void *id)
{
	work(2);
	bottleneck_range_end_id(*(uint64_t *)id);
	return NULL;
}

// Two overlap, the first ends in another thread; what is ended twice, or was never started, is
// ignored, and so is a parent's range in its child.
static void across(void)
{
	uint64_t id = bottleneck_range_start("across");
	uint64_t other = bottleneck_range_start("overlaps");
	pthread_t thread;

	bottleneck_range_begin("nested");
	work(2);
	if (pthread_create(&thread, NULL, end_it, &id) == 0)
		pthread_join(thread, NULL);
	bottleneck_range_end();
	bottleneck_range_end_id(id);
	bottleneck_range_end_id(1234567);
	bottleneck_range_end_id(0);
	pid_t child = fork();
	if (!child) {
		bottleneck_range_end_id(other);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	work(2);
	bottleneck_range_end_id(other);
}

static void cost(unsigned count)
{
	uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID), between;

	for (unsigned i = 0; i < count; i++) {
		bottleneck_range_begin("cost");
		bottleneck_range_end();
	}
	between = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < count; i++)
		bottleneck_mark_step();
	printf("%.2f %.2f\n", (double)(between - begin) / count,
	       (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - between) / count);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	if (strcmp(part, "nested") == 0)
		nested();
	else if (strcmp(part, "gates") == 0)
		gates();
	else if (strcmp(part, "paused") == 0)
		paused();
	else if (strcmp(part, "fork") == 0)
		forks();
	else if (strcmp(part, "left") == 0)
		left();
	else if (strcmp(part, "across") == 0)
		across();
	else if (strcmp(part, "cost") == 0)
		cost(rounds);
	else
		return 2;
	return 0;
}
