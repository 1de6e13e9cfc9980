// SPDX-License-Identifier: MIT
// One thread or process waits for another one, in each of the ways that there are: waiting_kinds
// KIND [apart]. The other one is in render() for four fifths of the time, and the first one in
// show() for the rest; APART they work at the same time, and nobody waits.
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"
#include "work.h"

#define ROUNDS 30

static bool apart;
static sem_t held, turn;
static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;

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

static int lock_spinlock(void)
{
	return pthread_spin_lock(&spinlock);
}

static int unlock_spinlock(void)
{
	return pthread_spin_unlock(&spinlock);
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
		truth_done(CLOCK_THREAD_CPUTIME_ID);
		if (apart)
			way->unlock();
		else
			sem_post(&held);
		render();
		if (apart)
			continue;
		truth_done(CLOCK_THREAD_CPUTIME_ID);
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
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	sem_init(&held, 0, 0);
	sem_init(&turn, 0, 0);
	if (!apart)
		truth_open("show", "render");
	pthread_create(&thread, NULL, keeper, (void *)way);
	for (int i = 0; i < (apart ? 4 * ROUNDS : ROUNDS); i++) {
		truth_wait_for_thread(thread);
		if (!apart)
			sem_wait(&held);
		truth_go_on();
		truth_wait_for_thread(thread);
		way->want();
		truth_go_on();
		way->unlock();
		show();
		if (!apart)
			sem_post(&turn);
	}
	truth_close();
	pthread_join(thread, NULL);
}

static void child_scene(void)
{
	truth_open("show", "render");
	for (int i = 0; i < ROUNDS; i++) {
		truth_pause(); // to start a process is work of its own
		pid_t child = fork();
		if (child == 0) {
			render();
			truth_done(CLOCK_PROCESS_CPUTIME_ID);
			_exit(0);
		}
		truth_wait_for_process(child);
		wait(NULL);
		truth_go_on();
		show();
	}
	truth_close();
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
	pid_t child;

	make(ends);
	if (!apart)
		truth_open("show", "render");
	child = fork();
	if (child == 0) {
		close(ends[0]);
		for (int i = 0; i < ROUNDS; i++) {
			if (!apart)
				render();
			truth_done(CLOCK_PROCESS_CPUTIME_ID);
			if (write(ends[1], &c, 1) != 1)
				_exit(1);
		}
		for (int i = 0; apart && i < ROUNDS; i++)
			render();
		_exit(0);
	}
	close(ends[1]);
	for (int i = 0; i < ROUNDS; i++) {
		truth_wait_for_process(child);
		if (read(ends[0], &c, 1) != 1)
			break;
		truth_go_on();
		for (int k = 0; k < (apart ? 4 : 1); k++)
			show();
	}
	truth_close();
	wait(NULL);
}

static sigset_t awaited;
static int signals, set_of_signals;
static volatile sig_atomic_t signalled;

static void count_signal(int number)
{
	signalled += number != SIGCHLD;
}

static void open_signalfd(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	signals = signalfd(-1, &awaited, 0);
	set_of_signals = epoll_create1(0);
	if (signals < 0 || epoll_ctl(set_of_signals, EPOLL_CTL_ADD, signals, &event) < 0)
		abort();
}

static void wait_for_signalfd(int round)
{
	struct signalfd_siginfo info;
	struct epoll_event event;

	(void)round;
	if (epoll_wait(set_of_signals, &event, 1, -1) != 1 ||
	    read(signals, &info, sizeof(info)) != sizeof(info))
		abort();
}

static void wait_for_signal(int round)
{
	const struct timespec limit = { .tv_sec = 10 };

	(void)round;
	if (sigtimedwait(&awaited, NULL, &limit) != SIGRTMIN)
		abort();
}

// One that comes right before pause() is seen by the next one, or at the end of the child.
static void let_handler_run(void)
{
	struct sigaction action = { .sa_handler = count_signal };

	sigaction(SIGRTMIN, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &awaited, NULL);
}

static void wait_for_handler(int round)
{
	while (signalled <= round)
		pause();
}

static void send_by_kill(pid_t to)
{
	kill(to, SIGRTMIN);
}

static void send_by_sigqueue(pid_t to)
{
	sigqueue(to, SIGRTMIN, (union sigval){ 0 });
}

static void send_by_tgkill(pid_t to)
{
	syscall(SYS_tgkill, to, to, SIGRTMIN);
}

static void send_by_pidfd(pid_t to)
{
	static int fd = -1;

	if (fd < 0)
		fd = (int)syscall(SYS_pidfd_open, to, 0);
	if (syscall(SYS_pidfd_send_signal, fd, SIGRTMIN, NULL, 0) < 0)
		kill(to, SIGRTMIN);
}

struct signal_way {
	const char *name;
	void (*prepare)(void);
	void (*wait)(int round);
	void (*send)(pid_t to);
};

static const struct signal_way signal_ways[] = {
	{ "signalfd", open_signalfd, wait_for_signalfd, send_by_kill },
	{ "sigtimedwait", NULL, wait_for_signal, send_by_sigqueue },
	{ "pause", let_handler_run, wait_for_handler, send_by_tgkill },
	{ "pidfd", NULL, wait_for_signal, send_by_pidfd },
};

static void signal_scene(const struct signal_way *way)
{
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	if (way->prepare)
		way->prepare();
	if (fork() == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			if (!apart)
				render();
			way->send(getppid());
		}
		for (int i = 0; apart && i < ROUNDS; i++)
			render();
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		way->wait(i);
		for (int k = 0; k < (apart ? 4 : 1); k++)
			show();
	}
	while (wait(NULL) < 0)
		;
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
		{ "adaptive", lock_mutex, lock_mutex, unlock_mutex, PTHREAD_MUTEX_ADAPTIVE_NP,
		  PTHREAD_PRIO_NONE },
		{ "spinlock", lock_spinlock, lock_spinlock, unlock_spinlock, 0, 0 },
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
	for (size_t i = 0; i < sizeof(signal_ways) / sizeof(signal_ways[0]); i++)
		if (strcmp(kind, signal_ways[i].name) == 0) {
			signal_scene(&signal_ways[i]);
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
