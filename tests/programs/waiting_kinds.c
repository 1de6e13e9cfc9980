// SPDX-License-Identifier: MIT
// One thread or process waits for another one, in each of the ways that there are: waiting_kinds
// KIND [apart]. The other one is in render() for four fifths of the time, and the first one in
// show() for the rest; APART they work at the same time, and nobody waits.
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 30

// The function that it stands in works for MS of CPU time.
#define WORK(ms)                                                                                   \
	do {                                                                                       \
		struct timespec t;                                                                 \
		double now, end = 0;                                                               \
		do {                                                                               \
			for (volatile int i = 0; i < 20000; i++)                                   \
				;                                                                  \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);                                \
			now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;                    \
			end = end > 0 ? end : now + (ms);                                          \
		} while (now < end);                                                               \
	} while (0)

static bool apart;
static sem_t held, turn;
static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void render(void)
{
	WORK(8);
}

__attribute__((noinline)) static void show(void)
{
	WORK(2);
}

static int lock_mutex(void)
{
	return pthread_mutex_lock(&mutex);
}

static int unlock_mutex(void)
{
	return pthread_mutex_unlock(&mutex);
}

static int lock_to_read(void)
{
	return pthread_rwlock_rdlock(&rwlock);
}

static int lock_to_write(void)
{
	return pthread_rwlock_wrlock(&rwlock);
}

static int unlock_rwlock(void)
{
	return pthread_rwlock_unlock(&rwlock);
}

struct way {
	const char *name;
	int (*keep)(void), (*want)(void), (*unlock)(void);
	int type, protocol;
};

static void *keeper(void *context)
{
	const struct way *way = context;

	for (int i = 0; i < ROUNDS; i++) {
		way->keep();
		if (apart)
			way->unlock();
		else
			sem_post(&held);
		render();
		if (apart)
			continue;
		way->unlock();
		sem_wait(&turn);
	}
	return NULL;
}

static void lock_scene(const struct way *way)
{
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, way->type);
	pthread_mutexattr_setprotocol(&attributes, way->protocol);
	pthread_mutex_init(&mutex, &attributes);
	sem_init(&held, 0, 0);
	sem_init(&turn, 0, 0);
	pthread_create(&thread, NULL, keeper, (void *)way);
	for (int i = 0; i < (apart ? 4 * ROUNDS : ROUNDS); i++) {
		if (!apart)
			sem_wait(&held);
		way->want();
		way->unlock();
		show();
		if (!apart)
			sem_post(&turn);
	}
	pthread_join(thread, NULL);
}

static void child_scene(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (fork() == 0) {
			render();
			_exit(0);
		}
		wait(NULL);
		show();
	}
}

static void unix_ends(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		abort();
}

static void tcp_ends(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
	    connect(ends[1], (struct sockaddr *)&address, size) < 0)
		abort();
	ends[0] = accept(fd, NULL, NULL);
	close(fd);
}

static void socket_scene(void (*make)(int ends[2]))
{
	int ends[2];
	char c = 0;

	make(ends);
	if (fork() == 0) {
		close(ends[0]);
		for (int i = 0; i < ROUNDS; i++) {
			if (!apart)
				render();
			if (write(ends[1], &c, 1) != 1)
				_exit(1);
		}
		for (int i = 0; apart && i < ROUNDS; i++)
			render();
		_exit(0);
	}
	close(ends[1]);
	for (int i = 0; i < ROUNDS && read(ends[0], &c, 1) == 1; i++)
		for (int k = 0; k < (apart ? 4 : 1); k++)
			show();
	wait(NULL);
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{ "recursive", lock_mutex, lock_mutex, unlock_mutex, PTHREAD_MUTEX_RECURSIVE,
		  PTHREAD_PRIO_NONE },
		{ "errorcheck", lock_mutex, lock_mutex, unlock_mutex, PTHREAD_MUTEX_ERRORCHECK,
		  PTHREAD_PRIO_NONE },
		{ "pi", lock_mutex, lock_mutex, unlock_mutex, PTHREAD_MUTEX_NORMAL,
		  PTHREAD_PRIO_INHERIT },
		{ "reader", lock_to_write, lock_to_read, unlock_rwlock, 0, 0 },
		{ "writer", lock_to_read, lock_to_write, unlock_rwlock, 0, 0 },
	};
	const char *kind = argc > 1 ? argv[1] : "";

	apart = argc > 2 && strcmp(argv[2], "apart") == 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(kind, ways[i].name) == 0) {
			lock_scene(&ways[i]);
			return 0;
		}
	if (strcmp(kind, "child") == 0) {
		child_scene();
	} else if (strcmp(kind, "unix") == 0) {
		socket_scene(unix_ends);
	} else if (strcmp(kind, "tcp") == 0) {
		socket_scene(tcp_ends);
	} else {
		fputs("waiting_kinds: no such kind\n", stderr);
		return 2;
	}
	return 0;
}
