// SPDX-License-Identifier: MIT
/*
 * waits_target MODE: threads that wait for each other, and know for whom.
 *
 * Lines of "truth WAITER OTHER NS" say for how long, and "free WAITER NS" for how long nobody held
 * what it waited for. What is printed else is the same with the agent and without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS       1000000ull
#define TIMES    4096
#define LEAST_NS 5000 // shorter waits are not told
#define THREADS  64

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		;
}

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
	                              .tv_nsec = (long)(ns % 1000000000u) },
	          NULL);
}

static struct timespec deadline(clockid_t clock, uint64_t in_ns)
{
	struct timespec t;

	clock_gettime(clock, &t);
	uint64_t at = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + in_ns;
	return (struct timespec){ .tv_sec = (time_t)(at / 1000000000u),
		                  .tv_nsec = (long)(at % 1000000000u) };
}

static int gettid_now(void)
{
	return (int)syscall(SYS_gettid);
}

// What somebody has held, or waited for, from then to then.
struct span {
	int tid, other;
	uint64_t from, to;
};

static struct span held[TIMES], waited[TIMES];
static atomic_int held_count, waited_count;

static void log_held(int tid, uint64_t from, uint64_t to)
{
	int i = atomic_fetch_add(&held_count, 1);

	if (i < TIMES)
		held[i] = (struct span){ tid, 0, from, to };
}

static void log_waited(int other, uint64_t from, uint64_t to)
{
	int i = atomic_fetch_add(&waited_count, 1);

	if (i < TIMES)
		waited[i] = (struct span){ gettid_now(), other, from, to };
}

static struct pair {
	int waiter, other;
	uint64_t ns;
} pairs[THREADS * THREADS];
static int pair_count;

static void charge(int waiter, int other, uint64_t ns)
{
	int i = 0;

	while (i < pair_count && (pairs[i].waiter != waiter || pairs[i].other != other))
		i++;
	if (i == pair_count)
		pairs[pair_count++] = (struct pair){ waiter, other, 0 };
	pairs[i].ns += ns;
}

// Who has held it is found by the times; or is known, then OTHER is not 0.
static void print_truth(void)
{
	for (int w = 0; w < waited_count && w < TIMES; w++) {
		const struct span *wait = &waited[w];
		uint64_t free_ns = wait->to - wait->from;
		if (wait->to - wait->from < LEAST_NS)
			continue;
		if (wait->other) {
			charge(wait->tid, wait->other, wait->to - wait->from);
			continue;
		}
		for (int h = 0; h < held_count && h < TIMES; h++) {
			uint64_t from = held[h].from > wait->from ? held[h].from : wait->from;
			uint64_t to = held[h].to < wait->to ? held[h].to : wait->to;
			if (held[h].tid == wait->tid || from >= to)
				continue;
			charge(wait->tid, held[h].tid, to - from);
			free_ns -= to - from < free_ns ? to - from : free_ns;
		}
		charge(wait->tid, 0, free_ns);
	}
	for (int i = 0; i < pair_count; i++)
		printf("truth %d %d %llu\n", pairs[i].waiter, pairs[i].other,
		       (unsigned long long)pairs[i].ns);
}

static uint64_t stop_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

// The ways in which threads keep each other out.
struct way {
	int (*lock)(void);
	int (*unlock)(void);
};

static int lock_mutex(void)
{
	return pthread_mutex_lock(&mutex);
}

static int lock_in_time(void)
{
	struct timespec t = deadline(CLOCK_REALTIME, 3600000 * MS);

	return pthread_mutex_timedlock(&mutex, &t);
}

static int unlock_mutex(void)
{
	return pthread_mutex_unlock(&mutex);
}

static int lock_twice(void)
{
	pthread_mutex_lock(&mutex);
	return pthread_mutex_lock(&mutex);
}

static int unlock_twice(void)
{
	pthread_mutex_unlock(&mutex);
	return pthread_mutex_unlock(&mutex);
}

static int write_lock(void)
{
	return pthread_rwlock_wrlock(&rwlock);
}

static int read_lock(void)
{
	return pthread_rwlock_rdlock(&rwlock);
}

static int unlock_rwlock(void)
{
	return pthread_rwlock_unlock(&rwlock);
}

static int lock_spin(void)
{
	return pthread_spin_lock(&spinlock);
}

static int unlock_spin(void)
{
	return pthread_spin_unlock(&spinlock);
}

static const struct way plain = { lock_mutex, unlock_mutex };
static const struct way timed = { lock_in_time, unlock_mutex };
static const struct way twice = { lock_twice, unlock_twice };
static const struct way writers = { write_lock, unlock_rwlock };
static const struct way readers = { read_lock, unlock_rwlock };
static const struct way spins = { lock_spin, unlock_spin };

struct user {
	const struct way *way;
	uint64_t inside_ns, outside_ns;
};

static void *use(void *argument)
{
	const struct user *user = argument;
	int tid = gettid_now();

	while (now_ns() < stop_ns) {
		uint64_t begin = now_ns();
		if (user->way->lock() != 0)
			abort();
		uint64_t from = now_ns();
		log_waited(0, begin, from);
		spin(user->inside_ns);
		log_held(tid, from, now_ns());
		user->way->unlock();
		nap(user->outside_ns);
	}
	return NULL;
}

static void run_users(struct user *users, int count)
{
	pthread_t threads[THREADS];

	stop_ns = now_ns() + 400 * MS;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, use, &users[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	print_truth();
}

// One of four holds the lock for 9 ms at a time.
static void convoy(const struct way *way)
{
	struct user users[4] = { { way, 9 * MS, MS },
		                 { way, 20000, 100000 },
		                 { way, 20000, 100000 },
		                 { way, 20000, 100000 } };

	run_users(users, 4);
}

static void make_mutex(int type, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutex_init(&mutex, &attributes);
}

static void mode_mutex(void)
{
	convoy(&plain);
}

static void mode_timed(void)
{
	convoy(&timed);
}

static void mode_recursive(void)
{
	make_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	convoy(&twice);
}

static void mode_errorcheck(void)
{
	make_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	convoy(&plain);
}

static void mode_adaptive(void)
{
	make_mutex(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	convoy(&plain);
}

static void mode_inherit(void)
{
	make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	convoy(&plain);
}

static void mode_robust(void)
{
	make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	convoy(&plain);
}

static void mode_writers(void)
{
	convoy(&writers);
}

static void mode_spin(void)
{
	struct user users[2] = { { &spins, 2 * MS, MS }, { &spins, 2 * MS, MS } };

	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	run_users(users, 2);
}

// Who takes it has never waited for it.
static void mode_spin_held(void)
{
	struct user users[2] = { { &spins, 1000, 500000 }, { &spins, 5 * MS, 2 * MS } };

	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	run_users(users, 2);
}

// One writer, whom two readers wait for, as they never do for each other.
static void mode_readers(void)
{
	struct user users[3] = { { &writers, 5 * MS, 2 * MS },
		                 { &readers, 1000, 500000 },
		                 { &readers, 1000, 500000 } };

	run_users(users, 3);
}

// A reader whom a writer waits for is known when it lets go.
static void mode_reader_held(void)
{
	struct user users[2] = { { &writers, 1000, 500000 }, { &readers, 5 * MS, 2 * MS } };

	run_users(users, 2);
}

// Who has put something there; 0: nobody.
static int put_by;
static sem_t full, empty;

static void *produce_by_condition(void *unused)
{
	for (int i = 0; i < 60; i++) {
		spin(2 * MS);
		pthread_mutex_lock(&mutex);
		while (put_by)
			pthread_cond_wait(&condition, &mutex);
		put_by = gettid_now();
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *consume_by_condition(void *count)
{
	for (int i = 0; i < *(int *)count; i++) {
		pthread_mutex_lock(&mutex);
		uint64_t begin = now_ns();
		while (!put_by)
			pthread_cond_wait(&condition, &mutex);
		log_waited(put_by, begin, now_ns());
		put_by = 0;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void mode_condition(void)
{
	int count = 60;
	pthread_t producer, consumer;

	pthread_create(&consumer, NULL, consume_by_condition, &count);
	pthread_create(&producer, NULL, produce_by_condition, NULL);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	print_truth();
}

static void *produce_by_semaphore(void *unused)
{
	for (int i = 0; i < 60; i++) {
		spin(2 * MS);
		sem_wait(&empty);
		put_by = gettid_now();
		sem_post(&full);
	}
	return unused;
}

static void *consume_by_semaphore(void *count)
{
	for (int i = 0; i < *(int *)count; i++) {
		uint64_t begin = now_ns();
		while (sem_wait(&full) != 0)
			;
		log_waited(put_by, begin, now_ns());
		sem_post(&empty);
	}
	return NULL;
}

static void mode_semaphore(void)
{
	int count = 120;
	pthread_t producers[2], consumer;

	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 1);
	pthread_create(&consumer, NULL, consume_by_semaphore, &count);
	for (int i = 0; i < 2; i++)
		pthread_create(&producers[i], NULL, produce_by_semaphore, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(producers[i], NULL);
	pthread_join(consumer, NULL);
	print_truth();
}

static pthread_barrier_t barrier;
static atomic_int last_to_arrive;

static void *meet(void *argument)
{
	int slow = *(int *)argument;

	for (int i = 0; i < 40; i++) {
		spin(slow == i % 3 ? 4 * MS : 100000);
		uint64_t begin = now_ns();
		atomic_store(&last_to_arrive, gettid_now());
		int result = pthread_barrier_wait(&barrier);
		uint64_t end = now_ns();
		int last = atomic_load(&last_to_arrive);
		if (result != PTHREAD_BARRIER_SERIAL_THREAD)
			log_waited(last, begin, end);
		pthread_barrier_wait(&barrier); // nobody is on to the next round yet
	}
	return NULL;
}

static void mode_barrier(void)
{
	int slow[3] = { 0, 1, 2 };
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, meet, &slow[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_truth();
}

static void *work_a_while(void *tid)
{
	atomic_store((atomic_int *)tid, gettid_now());
	spin(30 * MS);
	return NULL;
}

static void mode_join(void)
{
	for (int i = 0; i < 3; i++) {
		atomic_int tid = 0;
		pthread_t thread;
		pthread_create(&thread, NULL, work_a_while, &tid);
		uint64_t begin = now_ns();
		struct timespec t = deadline(CLOCK_REALTIME, 3600000 * MS);
		if (i == 0)
			pthread_join(thread, NULL);
		else
			pthread_timedjoin_np(thread, NULL, &t);
		log_waited(tid, begin, now_ns());
	}
	print_truth();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int doer;

static void do_once(void)
{
	atomic_store(&doer, gettid_now());
	spin(30 * MS);
}

static void *come_for_once(void *unused)
{
	uint64_t begin = now_ns();

	pthread_once(&once, do_once);
	if (doer != gettid_now())
		log_waited(doer, begin, now_ns());
	return unused;
}

static void mode_once(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, come_for_once, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_truth();
}

// The owner changes more often than anybody keeps.
static void mode_many_owners(void)
{
	static struct user users[12];

	for (int i = 0; i < 12; i++)
		users[i] = (struct user){ &plain, 30000, 1000 };
	run_users(users, 12);
}

// From here on, what is printed is what libc does.
static atomic_int holding, let_go;

// Until it is told to let go, and somewhat longer: then another one waits.
static void *hold_for_a_while(void *mutex_held)
{
	pthread_mutex_lock(mutex_held);
	atomic_store(&holding, 1);
	while (!atomic_load(&let_go))
		nap(MS);
	nap(30 * MS);
	pthread_mutex_unlock(mutex_held);
	return NULL;
}

static pthread_t begin_to_hold(void)
{
	pthread_t thread;

	atomic_store(&holding, 0);
	atomic_store(&let_go, 0);
	pthread_create(&thread, NULL, hold_for_a_while, &mutex);
	while (!atomic_load(&holding))
		nap(MS);
	return thread;
}

static int lock_after_another(void)
{
	atomic_store(&let_go, 1);
	return pthread_mutex_lock(&mutex);
}

static void *hold_and_die(void *mutex_held)
{
	pthread_mutex_lock(mutex_held);
	return NULL;
}

static void *unlock_a_foreign(void *mutex_held)
{
	return (void *)(intptr_t)pthread_mutex_unlock(mutex_held);
}

static void print_results(int type, int protocol, int robust)
{
	pthread_t thread;
	void *other;

	make_mutex(type, protocol, robust);
	errno = 4711;
	printf("%d %d %d:", type, protocol, robust);
	fflush(stdout);
	thread = begin_to_hold();
	struct timespec soon = deadline(CLOCK_REALTIME, 5 * MS);
	printf(" try %d", pthread_mutex_trylock(&mutex));
	printf(" timed %d", pthread_mutex_timedlock(&mutex, &soon));
	printf(" invalid %d", pthread_mutex_timedlock(&mutex, &(struct timespec){ .tv_nsec = -1 }));
	printf(" lock %d", lock_after_another());
	if (type != PTHREAD_MUTEX_NORMAL && type != PTHREAD_MUTEX_ADAPTIVE_NP)
		printf(" again %d", pthread_mutex_lock(&mutex));
	soon = deadline(CLOCK_REALTIME, 5 * MS);
	printf(" timed again %d", pthread_mutex_timedlock(&mutex, &soon));
	pthread_join(thread, NULL);
	printf(" unlock");
	if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE || robust) {
		pthread_create(&thread, NULL, unlock_a_foreign, &mutex);
		pthread_join(thread, &other);
		printf(" foreign %d", (int)(intptr_t)other);
	}
	printf(" %d", pthread_mutex_unlock(&mutex));
	if (type == PTHREAD_MUTEX_RECURSIVE)
		printf(" %d %d %d", pthread_mutex_unlock(&mutex), pthread_mutex_unlock(&mutex),
		       pthread_mutex_unlock(&mutex));
	if (robust) {
		pthread_create(&thread, NULL, hold_and_die, &mutex);
		pthread_join(thread, NULL);
		printf(" dead %d", pthread_mutex_lock(&mutex));
		printf(" consistent %d", pthread_mutex_consistent(&mutex));
		printf(" %d", pthread_mutex_unlock(&mutex));
		pthread_create(&thread, NULL, hold_and_die, &mutex);
		pthread_join(thread, NULL);
		printf(" dead %d", pthread_mutex_lock(&mutex));
		printf(" %d", pthread_mutex_unlock(&mutex));
		printf(" lost %d", pthread_mutex_lock(&mutex));
	}
	printf(" errno %d\n", errno);
}

static void mode_results(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
		                     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };

	for (int i = 0; i < 4; i++)
		for (int protocol = 0; protocol < 2; protocol++)
			for (int robust = 0; robust < 2; robust++)
				print_results(types[i],
				              protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
				              robust);
}

static void do_nothing(int number)
{
	(void)number;
}

static void *send_signal(void *thread)
{
	nap(20 * MS);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

static void *post_later(void *unused)
{
	nap(20 * MS);
	sem_post(&full);
	return unused;
}

static void mode_others(void)
{
	struct timespec soon = deadline(CLOCK_REALTIME, 5 * MS), then = { 1, 0 };
	struct sigaction action = { .sa_handler = do_nothing };
	pthread_t self = pthread_self(), thread;

	sem_init(&full, 0, 1);
	sem_init(&empty, 0, (unsigned)INT_MAX);
	errno = 0;
	printf("%d %d", sem_wait(&full), errno);
	printf(" %d", sem_timedwait(&full, &soon));
	printf(" %d", errno);
	printf(" %d", sem_timedwait(&full, &(struct timespec){ .tv_nsec = -1 }));
	printf(" %d", errno);
	printf(" %d", sem_post(&empty));
	printf(" %d", errno);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, send_signal, &self);
	errno = 0;
	printf(" %d", sem_wait(&full));
	printf(" %d\n", errno);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, post_later, NULL);
	errno = 4711;
	printf("%d", sem_wait(&full));
	printf(" %d\n", errno);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&mutex);
	printf("%d", pthread_cond_timedwait(&condition, &mutex, &then));
	soon = deadline(CLOCK_REALTIME, 5 * MS);
	printf(" %d", pthread_cond_timedwait(&condition, &mutex, &soon));
	printf(" %d", pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
	printf(" %d %d\n", pthread_cond_signal(&condition), pthread_cond_broadcast(&condition));
	printf("%d", pthread_rwlock_wrlock(&rwlock));
	printf(" %d", pthread_rwlock_wrlock(&rwlock));
	printf(" %d", pthread_rwlock_rdlock(&rwlock));
	printf(" %d", pthread_rwlock_timedrdlock(&rwlock, &then));
	printf(" %d", pthread_rwlock_trywrlock(&rwlock));
	printf(" %d", pthread_rwlock_unlock(&rwlock));
	printf(" %d", pthread_rwlock_rdlock(&rwlock));
	printf(" %d", pthread_rwlock_rdlock(&rwlock));
	printf(" %d", pthread_rwlock_timedwrlock(&rwlock, &then));
	printf(" %d %d\n", pthread_rwlock_unlock(&rwlock), pthread_rwlock_unlock(&rwlock));
	printf("%d\n", pthread_join(pthread_self(), NULL));
}

static void *wait_for_ever(void *how)
{
	if (*(int *)how == 0) {
		pthread_mutex_lock(&mutex);
		for (;;)
			pthread_cond_wait(&condition, &mutex);
	}
	for (;;)
		sem_wait(&full);
	return NULL;
}

static void unlock_at_end(void *unused)
{
	(void)unused;
	printf("cleaned up, lock %d\n", pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
}

static void *wait_with_cleanup(void *how)
{
	pthread_cleanup_push(unlock_at_end, NULL);
	wait_for_ever(how);
	pthread_cleanup_pop(0);
	return NULL;
}

// Then others wait at the same addresses, and are told.
static void mode_cancel(void)
{
	static int hows[2] = { 0, 1 };

	sem_init(&full, 0, 0);
	for (int round = 0; round < 20; round++) {
		pthread_t thread;
		void *result;
		pthread_create(&thread, NULL, wait_with_cleanup, &hows[round % 2]);
		nap(2 * MS);
		int cancelled = pthread_cancel(thread), joined = pthread_join(thread, &result);
		printf("%d %d %d\n", cancelled, joined, result == PTHREAD_CANCELED);
		pthread_mutex_init(&mutex, NULL);
	}
	pthread_t thread = begin_to_hold();
	printf("%d\n", lock_after_another());
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void mode_jump(void)
{
	struct sigaction action = { .sa_handler = jump_back };
	static volatile int round;

	sigaction(SIGALRM, &action, NULL);
	sem_init(&full, 0, 0);
	for (round = 0; round < 10; round++) {
		if (sigsetjmp(back, 1) == 0) {
			ualarm(2000, 0);
			sem_wait(&full);
		}
		printf("back %d\n", round);
	}
}

// Children of a process whose threads wait; each has waits of its own.
static void mode_fork(void)
{
	struct user users[2] = { { &plain, 3 * MS, MS }, { &plain, 3 * MS, MS } };
	pthread_t threads[2];

	stop_ns = now_ns() + 200 * MS;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, use, &users[i]);
	for (int i = 0; i < 5; i++) {
		int status;
		pid_t child = i % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		if (child == 0) {
			pthread_t thread;
			pthread_mutex_init(&mutex, NULL);
			if (i % 2 == 0)
				thread = begin_to_hold();
			lock_after_another();
			pthread_mutex_unlock(&mutex);
			if (i % 2 == 0)
				pthread_join(thread, NULL);
			_exit(i);
		}
		waitpid(child, &status, 0);
		printf("child %d\n", WEXITSTATUS(status));
		nap(10 * MS);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void post_in_handler(int number)
{
	(void)number;
	sem_post(&full);
}

static void mode_handler(void)
{
	struct sigaction action = { .sa_handler = post_in_handler, .sa_flags = SA_RESTART };

	sem_init(&full, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 20; i++) {
		ualarm(2000, 0);
		while (sem_wait(&full) != 0)
			;
	}
	printf("20 times\n");
}

// Before the agent is there.
static int early;

__attribute__((constructor)) static void use_early(void)
{
	pthread_t thread = begin_to_hold();

	early = lock_after_another() == 0;
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void mode_early(void)
{
	printf("early %d\n", early);
}

// Mutexes that are used by all at once.
static void mode_storm(void)
{
	struct user users[8];

	for (int i = 0; i < 8; i++)
		users[i] = (struct user){ &plain, 0, 0 };
	run_users(users, 8);
}

static void *sync_when_cancelled(void *unused)
{
	(void)unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	fsync(-1);
	return NULL;
}

#define PRINT_RESULT(call) (errno = 4711, printf("%d", call), printf(" %d\n", errno))

// Calls that wait for a disk; this file is in memory.
static void mode_files(void)
{
	int file = memfd_create("file", MFD_CLOEXEC), pipes[2];
	pthread_t thread;
	void *result;

	if (file < 0 || ftruncate(file, 8192) < 0 || pipe(pipes) < 0)
		exit(3);
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	PRINT_RESULT(fsync(file));
	PRINT_RESULT(fsync(pipes[0]));
	PRINT_RESULT(fdatasync(-1));
	PRINT_RESULT(syncfs(file));
	PRINT_RESULT(sync_file_range(file, 0, 4096, SYNC_FILE_RANGE_WRITE));
	PRINT_RESULT(sync_file_range(file, -1, 4096, SYNC_FILE_RANGE_WRITE));
	PRINT_RESULT(msync(at, 8192, MS_SYNC));
	PRINT_RESULT(msync(at + 1, 8192, MS_SYNC));
	pthread_create(&thread, NULL, sync_when_cancelled, NULL);
	printf("%d", pthread_join(thread, &result));
	printf(" %d\n", result == PTHREAD_CANCELED);
	for (int i = 0; i < 100000; i++)
		fdatasync(-1);
}

static pid_t make_child(int status)
{
	pid_t child = fork();

	if (child == 0) {
		usleep(20000);
		_exit(status);
	}
	return child;
}

// Calls that wait for a child.
static void mode_children(void)
{
	struct rusage usage;
	siginfo_t info = { 0 };
	int status = 0;

	fflush(stdout);
	make_child(1);
	PRINT_RESULT(wait(&status) > 0);
	PRINT_RESULT(waitpid(make_child(2), &status, 0) > 0);
	make_child(3);
	PRINT_RESULT(wait3(&status, 0, &usage) > 0);
	PRINT_RESULT(wait4(make_child(4), &status, 0, &usage) > 0);
	PRINT_RESULT(waitid(P_PID, (id_t)make_child(5), &info, WEXITED));
	printf("%d %d\n", WEXITSTATUS(status), info.si_status);
	PRINT_RESULT(wait(&status));
	PRINT_RESULT(waitpid(-1, &status, WNOHANG));
	PRINT_RESULT(waitid(P_ALL, 0, &info, WEXITED));
	for (int i = 0; i < 100000; i++)
		waitpid(-1, &status, 0);
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "mutex", mode_mutex },         { "timed", mode_timed },
	{ "recursive", mode_recursive }, { "errorcheck", mode_errorcheck },
	{ "adaptive", mode_adaptive },   { "inherit", mode_inherit },
	{ "robust", mode_robust },       { "writers", mode_writers },
	{ "readers", mode_readers },     { "reader-held", mode_reader_held },
	{ "spin", mode_spin },           { "spin-held", mode_spin_held },
	{ "condition", mode_condition }, { "semaphore", mode_semaphore },
	{ "barrier", mode_barrier },     { "join", mode_join },
	{ "once", mode_once },           { "many-owners", mode_many_owners },
	{ "results", mode_results },     { "others", mode_others },
	{ "cancel", mode_cancel },       { "jump", mode_jump },
	{ "fork", mode_fork },           { "handler", mode_handler },
	{ "early", mode_early },         { "storm", mode_storm },
	{ "files", mode_files },         { "children", mode_children },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		modes[i].run();
		return 0;
	}
	return 2;
}
