// SPDX-License-Identifier: MIT
#include "merge/record/prices.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "sampler/event/source.h"
#include "tracer/reader/session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPIN_NS     (12 * NS_PER_MS)
#define GAP_NS_MIN  UINT64_C(700) // longer than reading the clock takes
#define THREADS     8
#define ROUNDS      15
#define SPAWNS      6
#define SWITCHES    400
#define LEAST_OF    4
#define TIMEOUT_MS  2000

#define LOCKS       20000
#define LOCK_ROUNDS 12

#define KEPT        16    // prices, of different options
#define KEPT_S      86400 // for so long,
#define BUSY_S      600   // and so long where other work had the CPUs in between

#define FORKS       8
#define EXECS       4

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
	uint64_t spin, thread, pair, spawn, fork, exec;
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

static uint64_t rise(uint64_t ours, uint64_t bare)
{
	return bare && ours > bare ? ours - bare : 0;
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
static uint64_t cost_of_thread(void)
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

// Of one of two threads that take turns.
static uint64_t cost_of_switch(void)
{
	struct table t = { { -1, -1 }, { -1, -1 } };
	uint64_t cost = 0;
	pthread_t thread;

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
	return cost;
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

static uint64_t cost_of_spawn(void)
{
	return cost_of_running(run_true);
}

static uint64_t cost_of_shell(void)
{
	return cost_of_running(run_shell);
}

static uint64_t cost_of_forks(void)
{
	return cost_of_running(run_forks);
}

static uint64_t cost_of_execs(void)
{
	return cost_of_running(run_execs);
}

// Of TRIES; other work on the machine only adds to it.
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

// All but samples.
static void measure(const struct prices_request *request, struct costs *costs)
{
	if (request->threads)
		costs->thread = cost_of_thread();
	if (request->switches)
		costs->pair = least(cost_of_switch, LEAST_OF);
	if (request->processes) {
		costs->spawn = least(cost_of_spawn, SPAWNS);
		costs->fork =
			rise(least(cost_of_forks, SPAWNS), least(cost_of_shell, SPAWNS)) / FORKS;
		costs->exec = rise(least(cost_of_execs, SPAWNS), costs->spawn) / EXECS;
	}
}

static struct source *open_on_self(const struct prices_request *request, bool kernel, bool stacks)
{
	const struct source_ops *ops = kernel ? &perf_kernel_source : &perf_user_source;
	struct source_request wanted = { .child = getpid(),
		                         .frequency_hz = request->frequency_hz,
		                         .stack_bytes = request->stack_bytes,
		                         .off_cpu = stacks };
	struct error reason;

	struct source *source = ops->open(&wanted, &reason);
	if (source && prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0) < 0) {
		ops->close(source);
		return NULL;
	}
	return source;
}

// Of samples and switches, with records of switches and no stacks of them, as the source without
// the kernel has them: a thread that others interrupt would take stacks all the time.
static bool measure_without_stacks(const struct prices_request *request, struct costs *costs)
{
	struct source *source = open_on_self(request, request->kernel && !request->off_cpu, false);

	if (!source)
		return false;
	costs->spin = least(lost_while_spinning, LEAST_OF);
	costs->pair = request->switches ? least(cost_of_switch, LEAST_OF) : 0;
	source->ops->close(source);
	return true;
}

// In the child.
static struct prices measure_both(const struct prices_request *request)
{
	struct costs bare = { .spin = least(lost_while_spinning, LEAST_OF) }, plain = { 0 },
		     ours = { 0 };
	struct prices prices = { 0 };

	measure(request, &bare);
	measure_locks(request, &prices);
	if (!measure_without_stacks(request, &plain) ||
	    !open_on_self(request, request->kernel, request->off_cpu) ||
	    (request->session && session_export(request->session, NULL) < 0))
		return prices;
	measure(request, &ours);
	prices.ns[PRICE_SAMPLE] =
		rise(plain.spin, bare.spin) * NS_PER_SEC / SPIN_NS / request->frequency_hz;
	prices.ns[PRICE_THREAD] = rise(ours.thread, bare.thread);
	prices.ns[PRICE_SWITCH] = rise(plain.pair, bare.pair);
	prices.ns[PRICE_STACK] = rise(ours.pair, bare.pair);
	prices.ns[PRICE_SPAWN] = rise(ours.spawn, bare.spawn);
	prices.ns[PRICE_FORK] = rise(ours.fork, bare.fork);
	prices.ns[PRICE_EXEC] = rise(ours.exec, bare.exec);
	return prices;
}

__attribute__((noreturn)) static void run_child(const struct prices_request *request, int result)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct prices prices = measure_both(request);
	_exit(write(result, &prices, sizeof(prices)) != sizeof(prices));
}

static struct prices measure_in_child(const struct prices_request *request)
{
	struct prices prices = { 0 };
	int result[2];

	if (pipe2(result, O_CLOEXEC) < 0)
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

// What prices depend on: the boot, this program's file, and how a run was recorded.
static uint64_t key_of(const struct prices_request *request)
{
	cleanup_fclose FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[64] = "";
	struct stat st;
	uint64_t how = (uint64_t)request->kernel | (uint64_t)request->off_cpu << 1 |
	               (uint64_t)request->threads << 2 | (uint64_t)request->switches << 3 |
	               (uint64_t)request->processes << 4 |
	               (uint64_t)(request->session != NULL) << 5 | (uint64_t)request->locks << 6 |
	               (uint64_t)request->stack_bytes << 8;

	if (!file || !fgets(boot, sizeof(boot), file) || stat("/proc/self/exe", &st) < 0)
		return 0;
	uint64_t key = hash_pair(hash_bytes(boot, strlen(boot)), (uint64_t)st.st_size);
	key = hash_pair(key,
	                (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec);
	return hash_pair(hash_pair(key, request->frequency_hz), how);
}

struct kept {
	uint64_t key, written_s;
	struct prices prices;
};

// Reads the next line of what write_prices() writes.
static bool read_kept(FILE *file, struct kept *k)
{
	if (fscanf(file, "%" SCNx64 " %" SCNu64, &k->key, &k->written_s) != 2)
		return false;
	for (int i = 0; i < PRICE_COUNT; i++)
		if (fscanf(file, "%" SCNu64, &k->prices.ns[i]) != 1)
			return false;
	return true;
}

static bool is_sane(const struct prices *p)
{
	for (int i = 0; i < PRICE_COUNT; i++)
		if (p->ns[i] >= NS_PER_SEC)
			return false;
	return p->ns[PRICE_SAMPLE] < NS_PER_MS;
}

// Those of PATH that still hold, the newest first, but for that of KEY, which goes to *FOUND.
// Returns how many: the oldest makes room for one more.
static size_t read_prices(const char *path, uint64_t key, struct kept kept[KEPT],
                          struct kept *found)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	uint64_t now_s = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
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
	for (struct kept k; count < KEPT - 1 && read_kept(file, &k);) {
		if (k.written_s > now_s || now_s - k.written_s > KEPT_S || !is_sane(&k.prices))
			continue;
		if (k.key == key)
			*found = k;
		else
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
		char line[256];
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
	struct kept kept[KEPT], found = { 0 };
	uint64_t key = request->kept ? key_of(request) : 0;
	size_t count = key ? read_prices(request->kept, key, kept, &found) : 0;

	if (!request->frequency_hz || found.key)
		return found.prices;
	uint64_t start_ns = clock_now_ns(), used_ns = usage_ns(RUSAGE_CHILDREN);
	struct prices prices = measure_in_child(request);
	bool busy = clock_now_ns() - start_ns > 2 * (usage_ns(RUSAGE_CHILDREN) - used_ns);
	if (key && prices.ns[PRICE_SAMPLE]) {
		uint64_t now_s = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
		memmove(kept + 1, kept, count * sizeof(*kept));
		kept[0] = (struct kept){ key, busy ? now_s - (KEPT_S - BUSY_S) : now_s, prices };
		write_prices(request->kept, kept, count + 1);
	}
	return prices;
}
