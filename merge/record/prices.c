// SPDX-License-Identifier: MIT
#include "merge/record/prices.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "sampler/event/source.h"
#include "tracer/reader/session.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

#define KEPT       16    // prices, of different options
#define KEPT_S     86400 // for so long

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
	// The price of a task already holds what starting any process takes.
	prices.exec = rise(rise(ours.exec, bare.exec), prices.task);
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
	               (uint64_t)request->tasks << 2 | (uint64_t)request->execs << 3 |
	               (uint64_t)(request->session != NULL) << 4 |
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

// Reads the next line of what keep_prices() writes.
static bool read_kept(FILE *file, struct kept *k)
{
	return fscanf(file, "%" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &k->key,
	              &k->written_s, &k->prices.sample, &k->prices.task, &k->prices.exec) == 5;
}

static bool is_sane(const struct prices *p)
{
	return p->sample < NS_PER_MS && p->task < NS_PER_SEC && p->exec < NS_PER_SEC;
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
		char line[128];
		const struct prices *p = &kept[i].prices;
		int size = snprintf(line, sizeof(line),
		                    "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		                    kept[i].key, kept[i].written_s, p->sample, p->task, p->exec);
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
	struct prices prices = measure_in_child(request);
	if (key && prices.sample) {
		memmove(kept + 1, kept, count * sizeof(*kept));
		kept[0] = (struct kept){ key, clock_ns(CLOCK_REALTIME) / NS_PER_SEC, prices };
		write_prices(request->kept, kept, count + 1);
	}
	return prices;
}
