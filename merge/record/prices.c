// SPDX-License-Identifier: MIT
#include "merge/record/prices.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "sampler/event/source.h"
#include "sampler/priority.h"
#include "tracer/reader/session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPIN_NS      (12 * NS_PER_MS)
#define GAP_NS_MIN   UINT64_C(700) // longer than reading the clock takes
#define THREADS      8
#define ROUNDS       7
#define PAIRS        5
#define SPAWNS       4
#define SWITCHES     400
#define NAPS         50
#define NAP_NS       (100 * NS_PER_US)
#define LEAST_OF     4
#define SAMPLES_HZ   999 // at least: of fewer the time of one would be lost in what a round varies by
#define TIMEOUT_MS   2000

#define LOCKS        20000
#define LOCK_ROUNDS  12

#define KEPT         48    // prices, of different options
#define KEPT_S       86400 // for so long,
#define BUSY_S       600   // and so long where other work had the CPUs in between:
#define AGAIN_S      5     // they are measured again after so long,
#define ALONE        3     // until there are so many that were measured alone,
#define SAME         5     // or so many in all: their median holds

#define LINE_BYTES   512
#define CONFIG_BYTES 256
#define READ_MS      10 // at least so often, as a run's does with deep stacks

#define FORKS        24
#define SHELL_FORKS  8
#define EXECS        4

// What is run, and the same with so many more forks and execs.
#define TRUE_PROGRAM "/bin/true"
#define ENV_PROGRAM  "/usr/bin/env"
static char *const run_true[] = { TRUE_PROGRAM, NULL };
static char *const run_shell[] = { "/bin/sh", "-c", ":", NULL };
static char *const run_forks[] = { "/bin/sh", "-c", "(:);(:);(:);(:);(:);(:);(:);(:);:", NULL };
static char *const run_execs[] = { ENV_PROGRAM, ENV_PROGRAM,  ENV_PROGRAM,
	                           ENV_PROGRAM, TRUE_PROGRAM, NULL };

// Each in ns for one; of samples: for SPIN_NS.
struct costs {
	uint64_t spin, pair, nap;
};

// What is measured with and without profiling in turns: a round takes as long as other work on the
// machine lets it, and what a pair of rounds differs by is less than what that varies by.
enum work {
	WORK_THREAD,
	WORK_SPAWN,
	WORK_FORK,
	WORK_EXEC,
	WORKS
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

// The CPU time that a thread takes beyond what it sees pass: while others have the CPU, none does.
static uint64_t lost_while_spinning(void)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), last = clock_now_ns(), spun = 0;

	while (spun < SPIN_NS) {
		uint64_t now = clock_now_ns(), gap = now - last;
		spun += gap < GAP_NS_MIN ? gap : 0;
		last = now;
	}
	uint64_t taken = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return taken > spun ? taken - spun : 0;
}

static uint64_t least(uint64_t (*measure)(void), int tries)
{
	uint64_t best = measure();

	while (--tries > 0) {
		uint64_t next = measure();
		if (next < best)
			best = next;
	}
	return best;
}

static uint64_t rise(uint64_t ours, uint64_t bare)
{
	return bare && ours > bare ? ours - bare : 0;
}

static void do_nothing(int number)
{
	(void)number;
}

// As tracer/agent/sample/trap.c opens it; -1: the kernel has no such traps, or grants none.
static int open_traps(bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = NS_PER_SEC / SAMPLES_HZ,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// In a process that nobody else samples, of which BARE_NS are lost while it spins.
static uint64_t cost_of_trap(bool kernel, uint64_t bare_ns)
{
	struct sigaction action = { .sa_handler = do_nothing }, before;
	uint64_t cost = 0;

	if (sigaction(SIGTRAP, &action, &before) < 0)
		return 0;
	int fd = open_traps(kernel);
	if (fd >= 0) {
		uint64_t lost_ns = least(lost_while_spinning, LEAST_OF);
		cost = rise(lost_ns, bare_ns) * NS_PER_SEC / SPIN_NS / SAMPLES_HZ;
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		close(fd);
	}
	sigaction(SIGTRAP, &before, NULL);
	return cost;
}

typedef int lock_function(pthread_mutex_t *m);

// In ns, of 1,000 times.
static uint64_t cost_of_locks(lock_function *lock, lock_function *unlock)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < LOCK_ROUNDS; round++) {
		uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < LOCKS; i++) {
			lock(&mutex);
			unlock(&mutex);
		}
		uint64_t taken = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		best = taken < best ? taken : best;
	}
	return best / (LOCKS / 1000);
}

// In the child: the agent's functions, in an agent that is not asked to record anything.
static void measure_locks(const struct prices_request *request, struct prices *prices)
{
	void *agent = request->locks && request->agent
	                      ? dlopen(request->agent, RTLD_NOW | RTLD_LOCAL)
	                      : NULL;
	lock_function *lock = agent ? (lock_function *)dlsym(agent, "pthread_mutex_lock") : NULL;
	lock_function *unlock =
		agent ? (lock_function *)dlsym(agent, "pthread_mutex_unlock") : NULL;

	if (!lock || !unlock)
		return;
	uint64_t bare = cost_of_locks(pthread_mutex_lock, pthread_mutex_unlock);
	uint64_t ours = cost_of_locks(lock, unlock);
	prices->ns[PRICE_BARE_LOCKS] = bare;
	prices->ns[PRICE_LOCKS] = rise(ours, bare);
}

static void *return_at_once(void *context)
{
	return context;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

// Within a round the mean, as it depends on which CPUs they begin and end on; of the rounds the
// median, as other work on the machine that hits one of them may take more than all threads do.
static uint64_t cost_of_threads_here(void)
{
	pthread_t threads[THREADS];
	uint64_t costs[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = all_usage_ns();
		size_t begun = 0;
		while (begun < THREADS &&
		       pthread_create(&threads[begun], NULL, return_at_once, NULL) == 0)
			begun++;
		for (size_t i = 0; i < begun; i++)
			pthread_join(threads[i], NULL);
		costs[round] = begun ? (all_usage_ns() - before) / begun : 0;
	}
	qsort(costs, ROUNDS, sizeof(*costs), by_value);
	return costs[ROUNDS / 2];
}

struct table {
	int there[2], back[2];
};

// Until the other end is closed.
static void *return_balls(void *context)
{
	const struct table *t = context;
	char ball;

	while (read(t->there[0], &ball, 1) == 1 && write(t->back[1], &ball, 1) == 1)
		;
	return NULL;
}

static void play(const struct table *t)
{
	char ball = 0;

	for (int i = 0; i < SWITCHES / 2; i++)
		if (write(t->there[1], &ball, 1) != 1 || read(t->back[0], &ball, 1) != 1)
			return;
}

// Keeps the calling thread, and those that it starts, on the CPU that it is on.
static bool stay_on_this_cpu(cpu_set_t *before)
{
	cpu_set_t here;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*before), before) < 0)
		return false;
	CPU_ZERO(&here);
	CPU_SET((size_t)cpu, &here);
	return sched_setaffinity(0, sizeof(here), &here) == 0;
}

// Of one of two threads that take turns on one CPU: what two CPUs take depends on whether they idle
// in between, which is for the kernel to choose anew each time, and differs by more than the price.
static uint64_t cost_of_switch(void)
{
	struct table t = { { -1, -1 }, { -1, -1 } };
	uint64_t cost = 0;
	pthread_t thread;
	cpu_set_t cpus;

	if (!stay_on_this_cpu(&cpus))
		return 0;
	if (pipe2(t.there, O_CLOEXEC) == 0 && pipe2(t.back, O_CLOEXEC) == 0 &&
	    pthread_create(&thread, NULL, return_balls, &t) == 0) {
		uint64_t before = all_usage_ns();
		play(&t);
		cost = (all_usage_ns() - before) / SWITCHES;
		close_at_scope_end(&t.there[1]);
		t.there[1] = -1;
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 2; i++) {
		close_at_scope_end(&t.there[i]);
		close_at_scope_end(&t.back[i]);
	}
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return cost;
}

// Of a thread that sleeps, and is woken by the CPU's own timer.
static uint64_t cost_of_nap(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t before = all_usage_ns();

	for (int i = 0; i < NAPS; i++)
		nanosleep(&nap, NULL);
	return (all_usage_ns() - before) / NAPS;
}

static uint64_t cost_of_running(char *const argv[])
{
	uint64_t before = all_usage_ns();
	pid_t child;

	if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ))
		return 0;
	waitpid(child, NULL, 0);
	return all_usage_ns() - before;
}

// As a program's own children: a shell's subshell does more at its end.
static uint64_t cost_of_forks_here(void)
{
	uint64_t before = all_usage_ns();
	int forks = 0;

	for (; forks < FORKS; forks++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		if (child < 0)
			break;
		waitpid(child, NULL, 0);
	}
	return forks ? (all_usage_ns() - before) / (uint64_t)forks : 0;
}

static const char *program; // which calls prices_program(); NULL: none

uint64_t prices_program(const char *what)
{
	return strcmp(what, "threads") == 0 ? cost_of_threads_here() : cost_of_forks_here();
}

// What that program has measured of WHAT, which the agent is loaded into where it is asked to be;
// 0: there is none, or it cannot run with the agent.
static uint64_t ask_program(const char *what)
{
	char *const argv[] = { (char *)PRICES_PROGRAM, (char *)what, NULL };
	posix_spawn_file_actions_t actions;
	char text[32] = "";
	int ends[2];
	pid_t child;

	if (!program || pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	bool begun = posix_spawn(&child, program, &actions, NULL, argv, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	ssize_t size = begun ? read(ends[0], text, sizeof(text) - 1) : 0;
	close(ends[0]);
	if (begun)
		waitpid(child, NULL, 0);
	return size > 0 ? strtoull(text, NULL, 10) : 0;
}

static uint64_t cost_of_thread(void)
{
	uint64_t cost = ask_program("threads");

	return cost ? cost : cost_of_threads_here();
}

static uint64_t cost_of_spawn(void)
{
	uint64_t cost = 0;

	for (int i = 0; i < SPAWNS; i++)
		cost += cost_of_running(run_true);
	return cost / SPAWNS;
}

static uint64_t cost_of_fork(void)
{
	uint64_t cost = ask_program("forks");

	return cost ? cost
	            : rise(cost_of_running(run_forks), cost_of_running(run_shell)) / SHELL_FORKS;
}

static uint64_t cost_of_exec(void)
{
	return rise(cost_of_running(run_execs), cost_of_running(run_true)) / EXECS;
}

// Of TRIES; other work on the machine only adds to it.
// By enum work.
static uint64_t (*const measures[WORKS])(void) = { cost_of_thread, cost_of_spawn, cost_of_fork,
	                                           cost_of_exec };

// A child of the worker that nothing is recorded of.
struct partner {
	pid_t pid;
	int socket; // -1: there is none
};

__attribute__((noreturn)) static void run_partner(int worker)
{
	uint8_t work;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(worker, &work, 1, 0) == 1 && work < WORKS) {
		uint64_t cost = measures[work]();
		if (send(worker, &cost, sizeof(cost), MSG_NOSIGNAL) != sizeof(cost))
			break;
	}
	_exit(0);
}

static struct partner start_partner(void)
{
	struct partner partner = { .pid = -1, .socket = -1 };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return partner;
	partner.pid = fork();
	if (!partner.pid) {
		close(ends[0]);
		run_partner(ends[1]);
	}
	close(ends[1]);
	partner.socket = ends[0];
	return partner;
}

static void end_partner(const struct partner *partner)
{
	close_at_scope_end(&partner->socket);
	if (partner->pid > 0)
		waitpid(partner->pid, NULL, 0);
}

static uint64_t cost_for_partner(const struct partner *partner, enum work work)
{
	uint8_t byte = (uint8_t)work;
	uint64_t cost;

	if (send(partner->socket, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    recv(partner->socket, &cost, sizeof(cost), 0) != sizeof(cost))
		return 0;
	return cost;
}

// The median of what the calling process takes more than PARTNER, whose goes to *BARE_NS (or NULL).
// Of a pair that other work on the machine hits more than that it may be 0.
static uint64_t dearer(const struct partner *partner, enum work work, uint64_t *bare_ns)
{
	uint64_t rises[PAIRS], bares[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		bares[i] = cost_for_partner(partner, work);
		rises[i] = rise(measures[work](), bares[i]);
	}
	qsort(rises, PAIRS, sizeof(*rises), by_value);
	qsort(bares, PAIRS, sizeof(*bares), by_value);
	if (bare_ns)
		*bare_ns = bares[PAIRS / 2];
	return rises[PAIRS / 2];
}

// What the worker asks of the reader, one byte each, which the reader answers with one.
enum order {
	ORDER_RECORDS = 'r', // the events of a run, with records of switches and no stacks of them
	ORDER_STACKS = 's',  // the events of a run
	ORDER_WAKEUPS = 'w', // the same, with no more stacks of switches
};

struct reader {
	const struct prices_request *request;
	pid_t worker;
	struct source *source; // NULL: nothing is recorded
};

static void read_events(struct reader *r)
{
	struct error ignored;

	while (r->source && r->source->ops->next(r->source, clock_now_ns(), &ignored))
		;
}

static uint32_t samples_hz(const struct prices_request *request)
{
	return request->frequency_hz < SAMPLES_HZ ? SAMPLES_HZ : request->frequency_hz;
}

static bool open_events(struct reader *r, bool kernel, bool stacks)
{
	const struct source_ops *ops = kernel ? &perf_kernel_source : &perf_user_source;
	struct source_request wanted = { .child = r->worker,
		                         .frequency_hz = samples_hz(r->request),
		                         .stack_bytes = r->request->stack_bytes,
		                         .off_cpu = stacks };
	struct error reason;

	if (r->source)
		r->source->ops->close(r->source);
	r->source = ops->open(&wanted, &reason);
	return r->source && prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0) == 0;
}

static bool obey(struct reader *r, char order)
{
	const struct prices_request *request = r->request;

	switch (order) {
	case ORDER_RECORDS:
		return open_events(r, request->kernel && !request->off_cpu, false);
	case ORDER_STACKS:
		return open_events(r, request->kernel, request->off_cpu);
	case ORDER_WAKEUPS:
		if (r->source && r->source->ops->limit_switches)
			r->source->ops->limit_switches(r->source, 1);
		read_events(r);
		return true;
	default:
		return false;
	}
}

// Until the worker is gone. A ring that nobody reads is full soon, and what finds no room in it
// costs less than what does.
static void read_for_worker(struct reader *r, int worker)
{
	struct priority priority;
	char order;

	priority_ask(&priority);
	priority_urgent(&priority);
	for (;;) {
		struct pollfd ready[] = {
			{ .fd = worker, .events = POLLIN },
			{ .fd = r->source ? r->source->ops->fd(r->source) : -1, .events = POLLIN },
		};
		poll(ready, 2, READ_MS);
		read_events(r);
		if (!ready[0].revents)
			continue;
		if (recv(worker, &order, 1, 0) != 1)
			break;
		char done = obey(r, order);
		if (send(worker, &done, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	waitpid(r->worker, NULL, 0);
}

static bool order(int reader, enum order what)
{
	char byte = (char)what, done = 0;

	return send(reader, &byte, 1, MSG_NOSIGNAL) == 1 && recv(reader, &done, 1, 0) == 1 && done;
}

// In the worker.
static struct prices measure_both(const struct prices_request *request, int reader)
{
	const struct partner partner = start_partner();
	struct costs bare = { .spin = least(lost_while_spinning, LEAST_OF) };
	struct prices prices = { 0 };

	if (request->switches) {
		bare.pair = least(cost_of_switch, LEAST_OF);
		bare.nap = least(cost_of_nap, LEAST_OF);
	}
	measure_locks(request, &prices);
	if (request->traps)
		prices.ns[PRICE_TRAP] = cost_of_trap(request->kernel, bare.spin);
	// A thread that others interrupt would take stacks all the time.
	if (!order(reader, ORDER_RECORDS))
		return prices;
	prices.ns[PRICE_SAMPLE] = rise(least(lost_while_spinning, LEAST_OF), bare.spin) *
	                          NS_PER_SEC / SPIN_NS / samples_hz(request);
	if (request->switches) {
		prices.ns[PRICE_SWITCH] = rise(least(cost_of_switch, LEAST_OF), bare.pair);
		prices.ns[PRICE_IDLE] = rise(least(cost_of_nap, LEAST_OF), bare.nap);
	}
	if (!order(reader, ORDER_STACKS) ||
	    (request->session && session_export(request->session, NULL) < 0))
		return prices;
	// Once: more of them at once would be too many, and stacks be left out for a while.
	prices.ns[PRICE_STACK] = request->switches ? rise(cost_of_switch(), bare.pair) : 0;
	if (request->threads)
		prices.ns[PRICE_THREAD] = dearer(&partner, WORK_THREAD, NULL);
	if (request->processes) {
		prices.ns[PRICE_SPAWN] = dearer(&partner, WORK_SPAWN, &prices.ns[PRICE_BARE_SPAWN]);
		prices.ns[PRICE_FORK] = dearer(&partner, WORK_FORK, NULL);
		prices.ns[PRICE_EXEC] = dearer(&partner, WORK_EXEC, &prices.ns[PRICE_BARE_EXEC]);
	}
	end_partner(&partner);
	if (request->switches && request->off_cpu && order(reader, ORDER_WAKEUPS)) {
		cost_of_switch(); // which the reader sees to be too much
		order(reader, ORDER_WAKEUPS);
		prices.ns[PRICE_WAKEUP] = rise(least(cost_of_switch, LEAST_OF), bare.pair);
	}
	return prices;
}

__attribute__((noreturn)) static void run_worker(const struct prices_request *request, int reader,
                                                 int result)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	program = request->program;
	struct prices prices = measure_both(request, reader);
	_exit(write(result, &prices, sizeof(prices)) != sizeof(prices));
}

__attribute__((noreturn)) static void run_child(const struct prices_request *request, int result)
{
	struct reader reader = { .request = request };
	int ends[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		_exit(1);
	reader.worker = fork();
	if (!reader.worker) {
		close(ends[0]);
		run_worker(request, ends[1], result);
	}
	close(ends[1]);
	close(result);
	if (reader.worker > 0)
		read_for_worker(&reader, ends[0]);
	_exit(0);
}

static struct prices measure_in_child(const struct prices_request *request)
{
	struct prices prices = { 0 };
	int result[2];
	bool done;

	if (pipe2(result, O_CLOEXEC) < 0)
		return prices;
	pid_t child = fork();
	if (!child)
		run_child(request, result[1]);
	close(result[1]);
	struct pollfd ready = { .fd = result[0], .events = POLLIN };
	done = child > 0 && poll(&ready, 1, TIMEOUT_MS) > 0 &&
	       read(result[0], &prices, sizeof(prices)) == sizeof(prices);
	close(result[0]);
	if (!done)
		prices = (struct prices){ 0 };
	if (child > 0 && !done)
		kill(child, SIGKILL);
	if (child > 0) // which has nothing left to do but to see the worker end
		waitpid(child, NULL, 0);
	return prices;
}

// What has been measured is the last byte of a key.
#define KINDS UINT64_C(0xff)

static uint64_t kinds_of(const struct prices_request *request)
{
	return (uint64_t)request->threads | (uint64_t)request->switches << 1 |
	       (uint64_t)request->processes << 2 | (uint64_t)request->locks << 3 |
	       (uint64_t)request->traps << 4;
}

// Which of these PRICE is measured with; 0: all.
static uint64_t kind_of(enum price price)
{
	static const uint8_t kinds[PRICE_COUNT] = {
		[PRICE_THREAD] = 1,          [PRICE_SWITCH] = 1 << 1,
		[PRICE_STACK] = 1 << 1,      [PRICE_WAKEUP] = 1 << 1,
		[PRICE_IDLE] = 1 << 1,       [PRICE_SPAWN] = 1 << 2,
		[PRICE_FORK] = 1 << 2,       [PRICE_EXEC] = 1 << 2,
		[PRICE_LOCKS] = 1 << 3,      [PRICE_BARE_LOCKS] = 1 << 3,
		[PRICE_BARE_SPAWN] = 1 << 2, [PRICE_BARE_EXEC] = 1 << 2,
		[PRICE_TRAP] = 1 << 4,
	};

	return kinds[price];
}

static uint64_t hash_file(uint64_t key, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return key;
	return hash_pair(hash_pair(key, (uint64_t)st.st_size),
	                 (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec);
}

// The rest is what prices depend on: the boot, our files, and how a run was recorded.
static uint64_t key_of(const struct prices_request *request)
{
	cleanup_fclose FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[64] = "", config[CONFIG_BYTES] = "";
	uint64_t how = (uint64_t)request->kernel | (uint64_t)request->off_cpu << 1 |
	               (uint64_t)(request->session != NULL) << 2 |
	               (uint64_t)request->stack_bytes << 8;

	if (!file || !fgets(boot, sizeof(boot), file))
		return 0;
	uint64_t key = hash_file(hash_bytes(boot, strlen(boot)), "/proc/self/exe");
	if (request->agent)
		key = hash_file(key, request->agent);
	if (request->session)
		session_config(request->session, config, sizeof(config));
	key = hash_pair(key, hash_bytes(config, strlen(config)));
	key = hash_pair(hash_pair(key, request->frequency_hz), how);
	return (key & ~KINDS) | kinds_of(request);
}

// Whether what is KEPT holds all that is WANTED, and was measured in the same way.
static bool serves(uint64_t kept, uint64_t wanted)
{
	return (kept & ~KINDS) == (wanted & ~KINDS) && !(wanted & ~kept & KINDS);
}

struct kept {
	uint64_t key, written_s;
	struct prices prices;
};

// A line of what write_prices() writes; false of what another version has written.
static bool read_kept(const char *line, struct kept *k)
{
	int at = 0, size;

	if (sscanf(line, "%" SCNx64 " %" SCNu64 "%n", &k->key, &k->written_s, &at) != 2)
		return false;
	for (int i = 0; i < PRICE_COUNT; i++, at += size)
		if (sscanf(line + at, "%" SCNu64 "%n", &k->prices.ns[i], &size) != 1)
			return false;
	return strcmp(line + at, "\n") == 0;
}

static bool is_sane(const struct prices *p)
{
	for (int i = 0; i < PRICE_COUNT; i++)
		if (p->ns[i] >= NS_PER_SEC)
			return false;
	return p->ns[PRICE_SAMPLE] < NS_PER_MS;
}

static bool was_busy(const struct kept *k, uint64_t now_s)
{
	return now_s - k->written_s >= KEPT_S - BUSY_S;
}

// What serves one request, the newest first.
struct served {
	size_t count;
	struct kept kept[SAME];
};

static void serve(struct served *s, const struct kept *k)
{
	if (s->count < SAME)
		s->kept[s->count++] = *k;
}

// Of those that were measured while nobody else had the CPUs, or else of all; price by price, as
// not all were measured each time.
static struct prices median_of(const struct served *s, uint64_t now_s)
{
	struct prices median = { 0 };

	for (int price = 0; price < PRICE_COUNT; price++) {
		uint64_t values[SAME], kind = kind_of((enum price)price);
		size_t count = 0;
		for (int busy = 0; busy < 2 && !count; busy++)
			for (size_t i = 0; i < s->count; i++)
				if ((s->kept[i].key & kind) == kind &&
				    was_busy(&s->kept[i], now_s) == busy)
					values[count++] = s->kept[i].prices.ns[price];
		qsort(values, count, sizeof(values[0]), by_value);
		if (count)
			median.ns[price] = (values[(count - 1) / 2] + values[count / 2]) / 2;
	}
	return median;
}

// Whether nothing needs to be measured.
static bool is_settled(const struct served *s, uint64_t now_s)
{
	size_t alone = 0;

	for (size_t i = 0; i < s->count; i++) {
		bool busy = was_busy(&s->kept[i], now_s);
		if (now_s - s->kept[i].written_s < AGAIN_S + (busy ? KEPT_S - BUSY_S : 0))
			return true;
		alone += !busy;
	}
	return alone >= ALONE || s->count == SAME;
}

// Those of PATH that still hold, the newest first. What serves KEY goes to *SERVED, too. Returns
// how many: the oldest makes room for one more.
static size_t read_prices(const char *path, uint64_t key, uint64_t now_s, struct kept kept[KEPT],
                          struct served *served)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	size_t count = 0;

	if (fd < 0)
		return 0;
	cleanup_fclose FILE *file = fdopen(fd, "r");
	if (!file)
		close(fd);
	if (!file || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return 0;
	char line[LINE_BYTES];
	while (count < KEPT - 1 && fgets(line, sizeof(line), file)) {
		struct kept k;
		if (!read_kept(line, &k) || k.written_s > now_s || now_s - k.written_s > KEPT_S ||
		    !is_sane(&k.prices))
			continue;
		if (serves(k.key, key))
			serve(served, &k);
		kept[count++] = k;
	}
	return count;
}

static void write_prices(const char *path, const struct kept *kept, size_t count)
{
	struct new_file new;
	bool failed = false;

	if (new_file_open(&new, path, 0600) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		char line[LINE_BYTES];
		int size = snprintf(line, sizeof(line), "%" PRIx64 " %" PRIu64, kept[i].key,
		                    kept[i].written_s);
		for (int j = 0; j < PRICE_COUNT; j++)
			size += snprintf(line + size, sizeof(line) - (size_t)size, " %" PRIu64,
			                 kept[i].prices.ns[j]);
		size += snprintf(line + size, sizeof(line) - (size_t)size, "\n");
		failed |= new_file_write(&new, line, (size_t)size) < 0;
	}
	if (failed)
		new_file_discard(&new);
	else
		new_file_commit_unsynced(&new);
}

struct prices prices_measure(const struct prices_request *request)
{
	struct kept kept[KEPT];
	struct served before = { 0 }, served = { 0 };
	uint64_t key = request->kept ? key_of(request) : 0;
	uint64_t now_s = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
	size_t count = key ? read_prices(request->kept, key, now_s, kept, &before) : 0;

	if (!request->frequency_hz || request->kept_only || is_settled(&before, now_s))
		return median_of(&before, now_s);
	uint64_t start_ns = clock_now_ns(), used_ns = usage_ns(RUSAGE_CHILDREN);
	struct prices prices = measure_in_child(request);
	bool busy = clock_now_ns() - start_ns > 2 * (usage_ns(RUSAGE_CHILDREN) - used_ns);
	if (!key || !prices.ns[PRICE_SAMPLE])
		return before.count ? median_of(&before, now_s) : prices;
	now_s = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
	memmove(kept + 1, kept, count * sizeof(*kept));
	kept[0] = (struct kept){ key, busy ? now_s - (KEPT_S - BUSY_S) : now_s, prices };
	write_prices(request->kept, kept, count + 1);
	serve(&served, &kept[0]);
	for (size_t i = 0; i < before.count; i++)
		serve(&served, &before.kept[i]);
	return median_of(&served, now_s);
}

struct starts_cost prices_of_starts(const struct prices *prices, const struct starts *starts,
                                    uint64_t cpu_ns)
{
	const uint64_t *price = prices->ns;
	double threads = (double)starts->threads, spawns = (double)starts->spawns;
	double forks = (double)starts->forks, execs = (double)starts->execs;
	double threads_ns = threads * (double)price[PRICE_THREAD];
	double processes_ns = spawns * (double)price[PRICE_SPAWN] +
	                      forks * (double)price[PRICE_FORK] + execs * (double)price[PRICE_EXEC];
	double all_ns = threads_ns + processes_ns + spawns * (double)price[PRICE_BARE_SPAWN] +
	                execs * (double)price[PRICE_BARE_EXEC];
	double part = all_ns > (double)cpu_ns ? (double)cpu_ns / all_ns : 1;

	return (struct starts_cost){ (uint64_t)(threads_ns * part),
		                     (uint64_t)(processes_ns * part) };
}
