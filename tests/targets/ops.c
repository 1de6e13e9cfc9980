// SPDX-License-Identifier: MIT
/*
 * ops PART [NUMBER]: ranges of NVTX whose times the program knows, see op_truth.h, and e2e/ops.py.
 */
#include "tests/ops/nvtx_shim.h"
#include "tests/targets/op_truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define COROUTINE (256 * 1024)

// Macros, so that the function that works is the one that pushes.
#define PUSH(name) (nvtxRangePushA(name), begun(name))
#define POP()      (ended(), nvtxRangePop())

static __attribute__((noipa)) void leaf(double ms)
{
	PUSH("leaf");
	work(ms);
	POP();
}

static __attribute__((noipa)) void layer(void)
{
	PUSH("layer");
	work(10);
	leaf(20);
	work(5);
	POP();
}

static __attribute__((noipa)) void step(void)
{
	PUSH("step");
	work(10);
	layer();
	layer();
	PUSH("update");
	work(15);
	POP();
	POP();
}

static void single(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		step();
		work(10); // outside of every op
	}
}

static void *worker(void *argument)
{
	int rounds = *(int *)argument;

	for (int i = 0; i < rounds; i++) {
		PUSH("job");
		work(5);
		leaf(15);
		work(5);
		POP();
		work(5);
	}
	return NULL;
}

static void threads(int rounds)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, &rounds);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static __attribute__((noipa)) void descend(int levels)
{
	PUSH("deep");
	work(0.1);
	if (levels > 1)
		descend(levels - 1);
	else
		leaf(50);
	POP();
}

static void recursion(int rounds)
{
	for (int i = 0; i < rounds; i++)
		descend(1000);
}

struct handed_over {
	nvtxRangeId_t range;
	uint64_t begin_ns;
};

static void *end_range(void *argument)
{
	struct handed_over *h = argument;

	work(20);
	add(find("handed over"), 1, now() - h->begin_ns, 0);
	nvtxRangeEnd(h->range);
	return NULL;
}

static void elsewhere(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;
		struct handed_over h = { nvtxRangeStartA("handed over"), now() };
		work(10);
		pthread_create(&thread, NULL, end_range, &h);
		pthread_join(thread, NULL);
		leaf(5);
	}
}

static void left_open(int rounds)
{
	(void)rounds;
	PUSH("never ends");
	leaf(140);
	work(260);
	// What is open now ends with the process.
	while (depth)
		ended();
}

static void on_alarm(int signal)
{
	(void)signal;
	PUSH("handler");
	work(2);
	POP();
}

static void handler(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		PUSH("interrupted");
		work(10);
		raise(SIGUSR1);
		work(10);
		POP();
	}
}

static ucontext_t scheduler, coroutines[2];

// The ops of a thread nest whatever stack they are on: each is over before another stack runs.
static void coroutine(int index, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (index)
			leaf(10);
		else
			layer();
		swapcontext(&coroutines[index], &scheduler);
	}
}

static void on_stacks(int rounds)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = malloc(COROUTINE);
		coroutines[i].uc_stack.ss_size = COROUTINE;
		coroutines[i].uc_link = &scheduler;
		makecontext(&coroutines[i], (void (*)(void))coroutine, 2, i, rounds);
	}
	for (int i = 0; i < 2 * rounds; i++) {
		PUSH("schedule");
		swapcontext(&scheduler, &coroutines[i % 2]);
		work(1);
		POP();
	}
}

static void *many_of_one(void *argument)
{
	for (int i = *(int *)argument; i > 0; i--) {
		nvtxRangePushA("tiny");
		nvtxRangePop();
	}
	return NULL;
}

// Told but for their number, nothing is known of them.
static void many(int calls)
{
	pthread_t thread[64];

	for (int i = 0; i < 64; i++)
		pthread_create(&thread[i], NULL, many_of_one, &calls);
	for (int i = 0; i < 64; i++)
		pthread_join(thread[i], NULL);
	add(find("tiny"), 64 * (uint64_t)calls, 0, 0);
}

static void forks(int children)
{
	for (int i = 0; i < children; i++) {
		pid_t child = fork();
		if (child == 0) {
			nvtxRangePushA("child");
			nvtxRangePop();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	add(find("child"), (uint64_t)children, 0, 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas" // gcc before 12 knows no such recursion
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static void overflow(int n)
{
	volatile char big[4096];

	big[0] = (char)n;
	overflow(n + 1);
	big[1] = big[0];
}
#pragma GCC diagnostic pop

// Ends as it is told to, after NUMBER ops and within one more.
static void ending(const char *how, int calls)
{
	many_of_one(&calls);
	nvtxRangePushA("cut off");
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "overflow") == 0)
		overflow(1);
	if (strcmp(how, "_exit") == 0)
		_exit(7);
	exit(8);
}

static const struct part {
	const char *name;
	void (*run)(int number);
	int number;
} parts[] = {
	{ "single", single, 10 },        { "threads", threads, 20 },
	{ "recursion", recursion, 4 },   { "elsewhere", elsewhere, 20 },
	{ "left_open", left_open, 1 },   { "handler", handler, 20 },
	{ "coroutines", on_stacks, 15 }, { "many", many, 20000 },
	{ "forks", forks, 2000 },
};

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 2)
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	if (strncmp(argv[1], "end-", 4) == 0)
		ending(argv[1] + 4, number ? number : 1000);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(argv[1], parts[i].name) == 0)
			parts[i].run(number ? number : parts[i].number);
	print_truth();
	return 0;
}
