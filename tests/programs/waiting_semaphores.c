// SPDX-License-Identifier: MIT
// Semaphores of which each is used as something else, with known truth: waiting_semaphores USE. As
// a lock (lock, processes, hog, limit) it has a holder; as a counter of items (queue, pool), as a
// turnstile (meeting) or a signal (turns) it has none.
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define ROUNDS 60
#define ITEMS  100

// What all of them share; of processes, too.
static struct shared {
	sem_t journal, items, room, more, turnstile[2], turn[2];
	int done, tasks, arrived;
} * shared;
static pthread_mutex_t counts = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void flush_log(void)
{
	WORK(9);
}

__attribute__((noinline)) static void append_entry(void)
{
	WORK(0.3);
}

__attribute__((noinline)) static void prepare(double ms)
{
	WORK(ms);
}

__attribute__((noinline)) static void make(void)
{
	WORK(6);
}

__attribute__((noinline)) static void use(void)
{
	WORK(1);
}

// Whoever comes holds it in flush_log() for nearly all of the time.
static void *flusher(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&shared->journal);
		flush_log();
		sem_post(&shared->journal);
		prepare(0.5);
	}
	return unused;
}

static void *writer(void *unused)
{
	for (int i = 0; i < 2 * ROUNDS; i++) {
		sem_wait(&shared->journal);
		append_entry();
		sem_post(&shared->journal);
		prepare(0.3); // else nobody else would ever have it
	}
	return unused;
}

// Takes it again at once: the others get it when this one is done.
static void *hog(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&shared->journal);
		flush_log();
		sem_post(&shared->journal);
	}
	return unused;
}

static void *late_writer(void *unused)
{
	usleep(5000);
	return writer(unused);
}

// Two of four may be in it at once.
static void *connected(void *unused)
{
	for (int i = 0; i < ROUNDS / 2; i++) {
		sem_wait(&shared->journal);
		usleep(9000);
		sem_post(&shared->journal);
		prepare(0.3);
	}
	return unused;
}

static void *producer(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		make();
		sem_wait(&shared->room);
		sem_post(&shared->items);
	}
	return unused;
}

static void *consumer(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		sem_wait(&shared->items);
		use();
		sem_post(&shared->room);
	}
	return unused;
}

// Every third task makes two more, all of which any of the threads may take.
static void *pool_thread(void *unused)
{
	while (true) {
		sem_wait(&shared->more);
		pthread_mutex_lock(&counts);
		int task = ++shared->done;
		bool over = task > shared->tasks;
		int more = task % 3 == 1 && shared->tasks < 3 * ITEMS ? 3 : 0;
		shared->tasks += more;
		pthread_mutex_unlock(&counts);
		if (over)
			break;
		make();
		for (int i = 0; i < more; i++)
			sem_post(&shared->more);
		if (task == shared->tasks && !more)
			for (int i = 0; i < 4; i++)
				sem_post(&shared->more);
	}
	return unused;
}

static void meet(int of)
{
	for (int way = 0; way < 2; way++) {
		pthread_mutex_lock(&counts);
		bool last = ++shared->arrived % of == 0;
		pthread_mutex_unlock(&counts);
		if (last)
			sem_post(&shared->turnstile[way]);
		sem_wait(&shared->turnstile[way]);
		pthread_mutex_lock(&counts);
		bool all = ++shared->done % of == 0;
		pthread_mutex_unlock(&counts);
		if (!all)
			sem_post(&shared->turnstile[way]);
	}
}

static void *side(void *ms)
{
	for (int i = 0; i < ITEMS; i++) {
		prepare(*(double *)ms * (i % 3 ? 1 : 3));
		meet(3);
	}
	return NULL;
}

static void *second(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		sem_wait(&shared->turn[1]);
		use();
		sem_post(&shared->turn[0]);
	}
	return unused;
}

static void *first(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		make();
		sem_post(&shared->turn[1]);
		sem_wait(&shared->turn[0]);
	}
	return unused;
}

static void run(void *(*const functions[])(void *), void *arguments[], int count)
{
	pthread_t threads[8];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, functions[i], arguments ? arguments[i] : NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void run_processes(void *(*const functions[])(void *), int count)
{
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			functions[i](NULL);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void start(bool between_processes)
{
	const int share = between_processes;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (shared == MAP_FAILED)
		abort();
	sem_init(&shared->items, share, 0);
	sem_init(&shared->room, share, 2);
	sem_init(&shared->more, share, 1);
	for (int i = 0; i < 2; i++) {
		sem_init(&shared->turnstile[i], share, 0);
		sem_init(&shared->turn[i], share, 0);
	}
	shared->tasks = 1;
}

int main(int argc, char **argv)
{
	const char *as = argc > 1 ? argv[1] : "";
	double left = 2, middle = 3, right = 4;

	start(strcmp(as, "processes") == 0);
	sem_init(&shared->journal, strcmp(as, "processes") == 0, strcmp(as, "limit") == 0 ? 2 : 1);
	if (strcmp(as, "lock") == 0) {
		run((void *(*const[])(void *)){ writer, writer, writer, flusher }, NULL, 4);
	} else if (strcmp(as, "processes") == 0) {
		run_processes((void *(*const[])(void *)){ writer, writer, writer, flusher }, 4);
	} else if (strcmp(as, "hog") == 0) {
		run((void *(*const[])(void *)){ hog, late_writer }, NULL, 2);
	} else if (strcmp(as, "limit") == 0) {
		run((void *(*const[])(void *)){ connected, connected, connected, connected }, NULL,
		    4);
	} else if (strcmp(as, "queue") == 0) {
		run((void *(*const[])(void *)){ producer, producer, consumer, consumer }, NULL, 4);
	} else if (strcmp(as, "pool") == 0) {
		run((void *(*const[])(void *)){ pool_thread, pool_thread, pool_thread,
		                                pool_thread },
		    NULL, 4);
	} else if (strcmp(as, "meeting") == 0) {
		run((void *(*const[])(void *)){ side, side, side },
		    (void *[]){ &left, &middle, &right }, 3);
	} else if (strcmp(as, "turns") == 0) {
		run((void *(*const[])(void *)){ first, second }, NULL, 2);
	} else {
		fputs("waiting_semaphores: no such use\n", stderr);
		return 2;
	}
	return 0;
}
