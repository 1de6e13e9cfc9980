// SPDX-License-Identifier: MIT
// Threads and processes that wait for each other, with known truth: waiting SCENE [MS of load()].
// Work is CPU time, so that a busy machine changes how long it takes and not what it is.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"
#include "work.h"

#define ROUNDS 60

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;

// A queue that holds one item.
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int items, ended;
};
static struct queue decoded = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

__attribute__((noinline)) static void flush_log(void)
{
	WORK(9);
}

__attribute__((noinline)) static void collect(void)
{
	WORK(0.5);
}

__attribute__((noinline)) static void make_entry(void)
{
	WORK(0.3);
}

__attribute__((noinline)) static void append_entry(void)
{
	WORK(0.3);
}

static void *flusher(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&journal);
		flush_log();
		pthread_mutex_unlock(&journal);
		collect();
	}
	return unused;
}

static void *writer(void *unused)
{
	for (int i = 0; i < 2 * ROUNDS; i++) {
		pthread_mutex_lock(&journal);
		append_entry();
		pthread_mutex_unlock(&journal);
		make_entry(); // else nobody else would ever have the lock
	}
	return unused;
}

static double load_ms = 500;

__attribute__((noinline)) static void load(void)
{
	WORK(load_ms);
}

__attribute__((noinline)) static void *solve(void *unused)
{
	WORK(250);
	return unused;
}

static void put(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->items)
		pthread_cond_wait(&q->changed, &q->lock);
	q->items = 1;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void get(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (!q->items)
		pthread_cond_wait(&q->changed, &q->lock);
	q->items = 0;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

__attribute__((noinline)) static void decode(void)
{
	WORK(8);
}

__attribute__((noinline)) static void encode(void)
{
	WORK(2);
}

static void *decoder(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		decode();
		truth_done(CLOCK_THREAD_CPUTIME_ID);
		put(&decoded);
	}
	return unused;
}

__attribute__((noinline)) static void left(void)
{
	WORK(2);
}

__attribute__((noinline)) static void right(void)
{
	WORK(8);
}

static void *other_side(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		right();
		truth_done(CLOCK_THREAD_CPUTIME_ID);
		pthread_barrier_wait(&meeting);
	}
	return unused;
}

__attribute__((noinline)) static void render(void)
{
	WORK(8);
}

__attribute__((noinline)) static void show(void)
{
	WORK(2);
}

static void run(void *(*const functions[])(void *), int count)
{
	pthread_t threads[8];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, functions[i], NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

// Locks that stand at places of each kind; all are held by one thread while the other one wants
// them.
struct account {
	char owner[24];
	pthread_mutex_t lock;
};
struct account accounts[4] = { [3] = { "nobody", PTHREAD_MUTEX_INITIALIZER } };
static pthread_mutex_t *on_heap;
static sem_t held;

static pthread_mutex_t *inner_lock(void)
{
	static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;

	return &counter_lock;
}

__attribute__((noinline)) static void make_lock(void)
{
	on_heap = malloc(sizeof(*on_heap));
	if (!on_heap || pthread_mutex_init(on_heap, NULL) != 0)
		abort();
}

static pthread_mutex_t *named_lock(int i)
{
	return i == 0 ? &journal : i == 1 ? &accounts[3].lock : i == 2 ? inner_lock() : on_heap;
}

__attribute__((noinline)) static void keep(void)
{
	WORK(5);
}

static void *keeper(void *unused)
{
	for (int i = 0; i < 4 * 16; i++) {
		pthread_mutex_lock(named_lock(i % 4));
		sem_post(&held);
		keep();
		pthread_mutex_unlock(named_lock(i % 4));
	}
	return unused;
}

static void names_scene(void)
{
	pthread_t thread;

	make_lock();
	sem_init(&held, 0, 0);
	pthread_create(&thread, NULL, keeper, NULL);
	for (int i = 0; i < 4 * 16; i++) {
		sem_wait(&held);
		pthread_mutex_lock(named_lock(i % 4));
		pthread_mutex_unlock(named_lock(i % 4));
	}
	pthread_join(thread, NULL);
	free(on_heap);
}

// What two processes share.
struct shared {
	sem_t made;
	pthread_mutex_t lock;
};

static struct shared *share(void)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;

	if (s == MAP_FAILED)
		abort();
	sem_init(&s->made, 1, 0);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->lock, &attributes);
	return s;
}

static void shared_semaphore_scene(void)
{
	struct shared *s = share();
	pid_t child;

	truth_open("show", "render");
	child = fork();
	if (child == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			render();
			truth_done(CLOCK_PROCESS_CPUTIME_ID);
			sem_post(&s->made);
		}
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		truth_wait_for_process(child);
		sem_wait(&s->made);
		truth_go_on();
		show();
	}
	truth_close();
	wait(NULL);
}

// The child holds the lock nearly all the time, in turns.
static void shared_mutex_scene(void)
{
	struct shared *s = share();

	if (fork() == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			pthread_mutex_lock(&s->lock);
			flush_log();
			pthread_mutex_unlock(&s->lock);
			collect();
		}
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&s->lock);
		append_entry();
		pthread_mutex_unlock(&s->lock);
		make_entry();
	}
	wait(NULL);
}

static void wait_by_poll(int fd)
{
	struct pollfd polled[2] = { { .fd = -1, .events = POLLIN },
		                    { .fd = fd, .events = POLLIN } };

	poll(polled, 2, -1);
}

static void wait_by_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static void wait_by_epoll(int fd)
{
	static int set = -1;
	struct epoll_event event = { .events = EPOLLIN };

	if (set < 0 && ((set = epoll_create1(0)) < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event)))
		abort();
	epoll_wait(set, &event, 1, -1);
}

static void pipe_scene(void (*wait_for)(int fd))
{
	int ends[2];
	char c = 0;
	pid_t child;

	if (pipe(ends) < 0)
		return;
	truth_open("show", "render");
	child = fork();
	if (child == 0) {
		close(ends[0]);
		for (int i = 0; i < ROUNDS; i++) {
			render();
			truth_done(CLOCK_PROCESS_CPUTIME_ID);
			if (write(ends[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	do {
		truth_wait_for_process(child);
		if (wait_for)
			wait_for(ends[0]);
		if (read(ends[0], &c, 1) != 1)
			break;
		truth_go_on();
		show();
	} while (true);
	truth_close();
	wait(NULL);
}

static void *be_short(void *argument)
{
	volatile long sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += i;
	return argument;
}

// More waits a second than are sampled: most have their stack late, and their cause with it.
static void short_scene(void)
{
	for (int i = 0; i < 6000; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, be_short, NULL);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";
	pthread_t thread;

	load_ms = argc > 2 ? atof(argv[2]) : load_ms;
	if (strcmp(scene, "convoy") == 0) {
		run((void *(*const[])(void *)){ writer, writer, writer, flusher }, 4);
	} else if (strcmp(scene, "phases") == 0) {
		load();
		run((void *(*const[])(void *)){ solve, solve }, 2);
	} else if (strcmp(scene, "queue") == 0) {
		truth_open("encode", "decode");
		pthread_create(&thread, NULL, decoder, NULL);
		for (int i = 0; i < ROUNDS; i++) {
			truth_wait_for_thread(thread);
			get(&decoded);
			truth_go_on();
			encode();
		}
		truth_close();
		pthread_join(thread, NULL);
	} else if (strcmp(scene, "barrier") == 0) {
		pthread_barrier_init(&meeting, NULL, 2);
		truth_open("left", "right");
		pthread_create(&thread, NULL, other_side, NULL);
		for (int i = 0; i < ROUNDS; i++) {
			left();
			truth_wait_for_thread(thread);
			pthread_barrier_wait(&meeting);
			truth_go_on();
		}
		truth_close();
		pthread_join(thread, NULL);
	} else if (strcmp(scene, "pipe") == 0) {
		pipe_scene(NULL);
	} else if (strcmp(scene, "shared_semaphore") == 0) {
		shared_semaphore_scene();
	} else if (strcmp(scene, "shared_mutex") == 0) {
		shared_mutex_scene();
	} else if (strcmp(scene, "poll") == 0) {
		pipe_scene(wait_by_poll);
	} else if (strcmp(scene, "select") == 0) {
		pipe_scene(wait_by_select);
	} else if (strcmp(scene, "epoll") == 0) {
		pipe_scene(wait_by_epoll);
	} else if (strcmp(scene, "short") == 0) {
		short_scene();
	} else if (strcmp(scene, "names") == 0) {
		names_scene();
	} else if (strcmp(scene, "alone") == 0) {
		load();
	} else {
		fputs("waiting: no such scene\n", stderr);
		return 2;
	}
	return 0;
}
