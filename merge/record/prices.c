// SPDX-License-Identifier: MIT
#include "merge/record/prices.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "sampler/event/source.h"
#include "tracer/reader/session.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPIN_NS    (8 * NS_PER_MS)
#define GAP_NS_MIN UINT64_C(700)    // longer than reading the clock takes
#define GAP_NS_MAX UINT64_C(150000) // shorter than another thread's turn
#define TASKS      24
#define EXECS      12
#define LEAST_OF   3
#define TIMEOUT_MS 1000
#define PROGRAM    "/bin/true"

// Each in ns for one; of samples: for SPIN_NS.
struct costs {
	uint64_t spin, task, exec;
};

static uint64_t usage_ns(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage) < 0)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

static uint64_t all_usage_ns(void)
{
	return usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN);
}

static uint64_t gaps(void)
{
	uint64_t begin = clock_now_ns(), last = begin, sum = 0;

	while (last - begin < SPIN_NS) {
		uint64_t now = clock_now_ns();
		if (now - last > GAP_NS_MIN && now - last < GAP_NS_MAX)
			sum += now - last;
		last = now;
	}
	return sum;
}

static void *return_at_once(void *context)
{
	return context;
}

static uint64_t cost_of_task(void)
{
	uint64_t before = all_usage_ns();
	pthread_t thread;

	for (int i = 0; i < TASKS; i++)
		if (pthread_create(&thread, NULL, return_at_once, NULL) == 0)
			pthread_join(thread, NULL);
	return (all_usage_ns() - before) / TASKS;
}

static uint64_t cost_of_exec(void)
{
	char *argv[] = { (char[]){ PROGRAM }, NULL };
	uint64_t before = all_usage_ns();

	for (int i = 0; i < EXECS; i++) {
		pid_t child;
		if (posix_spawn(&child, PROGRAM, NULL, NULL, argv, environ))
			return 0;
		waitpid(child, NULL, 0);
	}
	return (all_usage_ns() - before) / EXECS;
}

// Other work on the machine only adds to it.
static uint64_t least(uint64_t (*measure)(void))
{
	uint64_t best = measure();

	for (int i = 0; i < LEAST_OF - 1; i++) {
		uint64_t next = measure();
		if (next < best)
			best = next;
	}
	return best;
}

static struct costs measure(const struct prices_request *request)
{
	struct costs costs = { .spin = least(gaps) };

	if (request->tasks || request->execs)
		costs.task = least(cost_of_task);
	if (request->execs)
		costs.exec = least(cost_of_exec);
	return costs;
}

static uint64_t rise(uint64_t ours, uint64_t bare)
{
	return bare && ours > bare ? ours - bare : 0;
}

static struct source *open_on_self(const struct prices_request *request)
{
	const struct source_ops *ops = request->kernel ? &perf_kernel_source : &perf_user_source;
	struct source_request wanted = { .child = getpid(),
		                         .frequency_hz = request->frequency_hz,
		                         .stack_bytes = request->stack_bytes,
		                         .off_cpu = request->off_cpu };
	struct error reason;

	struct source *source = ops->open(&wanted, &reason);
	if (source && prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0) < 0)
		return NULL;
	return source;
}

// In the child. Its rings overflow, which costs the same but for the copy.
static struct prices measure_both(const struct prices_request *request)
{
	struct costs bare = measure(request);
	struct prices prices = { 0 };

	if (!open_on_self(request) ||
	    (request->session && session_export(request->session, NULL) < 0))
		return prices;
	struct costs ours = measure(request);
	prices.sample = rise(ours.spin, bare.spin) * NS_PER_SEC / SPIN_NS / request->frequency_hz;
	prices.task = rise(ours.task, bare.task);
	// What it takes to start a process at all is the price of a task.
	prices.exec = rise(rise(ours.exec, bare.exec), prices.task);
	return prices;
}

__attribute__((noreturn)) static void run_child(const struct prices_request *request, int result)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct prices prices = measure_both(request);
	_exit(write(result, &prices, sizeof(prices)) != sizeof(prices));
}

struct prices prices_measure(const struct prices_request *request)
{
	struct prices prices = { 0 };
	int result[2];

	if (!request->frequency_hz || pipe2(result, O_CLOEXEC) < 0)
		return prices;
	pid_t child = fork();
	if (!child)
		run_child(request, result[1]);
	close(result[1]);
	struct pollfd ready = { .fd = result[0], .events = POLLIN };
	if (child > 0 && (poll(&ready, 1, TIMEOUT_MS) <= 0 ||
	                  read(result[0], &prices, sizeof(prices)) != sizeof(prices)))
		prices = (struct prices){ 0 };
	close(result[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return prices;
}
