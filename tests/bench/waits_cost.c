// SPDX-License-Identifier: MIT
/*
 * waits_cost [NAME…]: what functions that lock and wake cost the program, in ns, where nobody has
 * to wait: each loop is run many times in turns with the others; printed are the best and the
 * median of the rounds. There are two threads, as libc leaves out its atomics where there is but
 * one.
 *
 * waits_cost -c SECONDS: two threads contend for one lock; printed is how often a second it was
 * contended, and what CPU time that took the process for each time.
 *
 * waits_cost -n TIMES THREADS: so many threads take one lock TIMES each, and work as much each
 * time; printed is how often it was contended. tests/bench/waits compares runs of this.
 *
 * To compare: without the agent, and under it (op_report -q -o 0 -w); see bench/waits.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 101
#define LOOPS  20000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spinlock;
static sem_t semaphore;

static uint64_t clock_in_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void lock_recursive(void)
{
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
}

static void try_lock(void)
{
	pthread_mutex_trylock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void lock_spinlock(void)
{
	pthread_spin_lock(&spinlock);
	pthread_spin_unlock(&spinlock);
}

static void read_lock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void write_lock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void post(void)
{
	sem_post(&semaphore);
	sem_wait(&semaphore);
}

static void signal_nobody(void)
{
	pthread_cond_signal(&condition);
}

static void nothing(void)
{
}

static void do_once(void)
{
	pthread_once(&once, nothing);
}

static const struct loop {
	const char *name;
	void (*run)(void);
} loops[] = {
	{ "lock and unlock", lock },
	{ "lock and unlock, recursive", lock_recursive },
	{ "trylock and unlock", try_lock },
	{ "spinlock and unlock", lock_spinlock },
	{ "rwlock, reader", read_lock },
	{ "rwlock, writer", write_lock },
	{ "semaphore, post and wait", post },
	{ "condition, signal", signal_nobody },
	{ "once", do_once },
};

#define COUNT (sizeof(loops) / sizeof(loops[0]))

static double values[COUNT][ROUNDS];

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double run_round(void (*run)(void))
{
	uint64_t start = clock_in_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < LOOPS; i++)
		run();
	return (double)(clock_in_ns(CLOCK_MONOTONIC) - start) / LOOPS;
}

static int is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return 1;
	return argc == 1;
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static uint64_t end_ns;

static void spin(uint64_t ns)
{
	for (uint64_t end = clock_in_ns(CLOCK_MONOTONIC) + ns; clock_in_ns(CLOCK_MONOTONIC) < end;)
		;
}

// Both hold the lock for most of the time.
static void *contend(void *count)
{
	while (clock_in_ns(CLOCK_MONOTONIC) < end_ns) {
		if (pthread_mutex_trylock(&mutex) != 0) {
			++*(uint64_t *)count;
			pthread_mutex_lock(&mutex);
		}
		spin(3000);
		pthread_mutex_unlock(&mutex);
		spin(500);
	}
	return NULL;
}

static int contend_for(double seconds)
{
	uint64_t counts[2] = { 0 };
	pthread_t threads[2];

	end_ns = clock_in_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, contend, &counts[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	double count = (double)(counts[0] + counts[1]);
	printf("%-32s %.0f a second, %.1f ns of CPU time\n", "contended", count / seconds,
	       (double)clock_in_ns(CLOCK_PROCESS_CPUTIME_ID) / count);
	return 0;
}

static unsigned long turns;

static void work(unsigned loops)
{
	for (volatile unsigned i = 0; i < loops; i++)
		;
}

static void *take_turns(void *count)
{
	for (unsigned long i = 0; i < turns; i++) {
		if (pthread_mutex_trylock(&mutex) != 0) {
			__atomic_fetch_add((uint64_t *)count, 1, __ATOMIC_RELAXED);
			pthread_mutex_lock(&mutex);
		}
		work(3000);
		pthread_mutex_unlock(&mutex);
		work(500);
	}
	return NULL;
}

static int take_turns_of(unsigned threads)
{
	pthread_t *all = calloc(threads, sizeof(*all));
	uint64_t count = 0, start = clock_in_ns(CLOCK_MONOTONIC);
	unsigned made = 0;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	while (all && made < threads &&
	       pthread_create(&all[made], &attributes, take_turns, &count) == 0)
		made++;
	for (unsigned i = 0; i < made; i++)
		pthread_join(all[i], NULL);
	free(all);
	printf("contended %llu times of %u threads in %.3f s, with %.3f s of CPU time\n",
	       (unsigned long long)count, made,
	       (double)(clock_in_ns(CLOCK_MONOTONIC) - start) / 1e9,
	       (double)clock_in_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	return made != threads;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc == 4 && strcmp(argv[1], "-n") == 0) {
		turns = strtoul(argv[2], NULL, 10);
		return take_turns_of((unsigned)strtoul(argv[3], NULL, 10));
	}

	if (argc == 3 && strcmp(argv[1], "-c") == 0)
		return contend_for(atof(argv[2]));
	pthread_create(&other, NULL, sleep_for_ever, NULL);
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	sem_init(&semaphore, 0, 0);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < COUNT; i++)
			if (is_wanted(loops[i].name, argc, argv))
				values[i][round] = run_round(loops[i].run);
	for (size_t i = 0; i < COUNT; i++) {
		if (!is_wanted(loops[i].name, argc, argv))
			continue;
		qsort(values[i], ROUNDS, sizeof(values[i][0]), by_size);
		printf("%-32s best %6.1f  median %6.1f ns\n", loops[i].name, values[i][0],
		       values[i][ROUNDS / 2]);
	}
	fflush(stdout);
	_exit(0);
}
