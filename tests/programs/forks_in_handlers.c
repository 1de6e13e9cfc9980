// SPDX-License-Identifier: MIT
/*
 * forks_in_handlers FORKS: a handler interrupts a loop of traced calls and of threads that are
 * started, calls a traced function, and forks. The child returns from the handler to where its
 * parent was, and calls a function that only children call. Prints how often each is called in all,
 * as "CALLS FUNCTION". A child that blocks is ended by SIGALRM, as its timers are gone.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline, noclone))
#define CALLS     5
#define PATIENCE  30  // seconds
#define EVERY_US  150 // a signal
#define FORK_EACH 8   // signals

static volatile unsigned sink;
static volatile sig_atomic_t failed, is_child, limit;
static int forks, handled; // atomic: handlers run in two threads

#define TRACED(name)                                                                               \
	NOINLINE void name(unsigned n)                                                             \
	{                                                                                          \
		sink = sink + n;                                                                   \
	}
TRACED(f_loop)
TRACED(f_handled)
TRACED(f_child)
TRACED(f_thread)

static void reap(void)
{
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		if (status != 0) {
			fprintf(stderr, "a child ended with %#x\n", status);
			failed++;
		}
}

static void on_signal(int number)
{
	(void)number;
	if (is_child || __atomic_load_n(&forks, __ATOMIC_RELAXED) >= limit)
		return;
	f_handled(1);
	if (__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED) % FORK_EACH)
		return;
	pid_t child = fork();
	if (child == 0) {
		is_child = 1;
		signal(SIGALRM, SIG_DFL);
		alarm(PATIENCE);
	} else if (child > 0) {
		__atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
	}
}

// A child that was made while a thread was started may have both of them.
static void be_child(void)
{
	static int begun; // atomic

	while (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED))
		pause();
	for (int i = 0; i < CALLS; i++)
		f_child(1);
	_exit(0);
}

// The signal may come to this thread as well; the child is then its copy.
static void *be_short(void *argument)
{
	sigset_t alarms;

	f_thread(1);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	if (is_child)
		be_child();
	return argument;
}

// A child cannot wait for the thread.
static int start_thread(void)
{
	pthread_t thread;
	sigset_t alarms, before;

	if (pthread_create(&thread, NULL, be_short, NULL) != 0)
		return 1;
	if (is_child)
		be_child();
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, &before);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, EVERY_US }, { 0, EVERY_US } },
			 never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int status;

	limit = argc > 1 ? atoi(argv[1]) : 300;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (__atomic_load_n(&forks, __ATOMIC_RELAXED) < limit) {
		for (int i = 0; i < 1000 && !is_child; i++)
			f_loop(1);
		if (is_child)
			be_child();
		failed += start_thread();
		if (is_child)
			be_child();
		reap();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%d f_handled\n%d f_child\n", handled, forks * CALLS);
	return failed != 0;
}
