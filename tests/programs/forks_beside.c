// SPDX-License-Identifier: MIT
// forks_beside CHILDREN CALLS: forks beside threads that start threads. Each child calls f_work()
// CALLS times and what takes the loader's locks. A child that blocks is ended by SIGALRM.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTERS 4
#define AT_ONCE  4
#define PATIENCE 15 // seconds

static int stop; // atomic
static volatile unsigned sink;

__attribute__((noinline)) void f_work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink + i;
}

static void *nothing(void *argument)
{
	return argument;
}

static void *start_threads(void *argument)
{
	pthread_t thread;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	return argument;
}

static int count(struct dl_phdr_info *info, size_t size, void *counted)
{
	(void)info, (void)size;
	++*(int *)counted;
	return 0;
}

static void be_child(int calls)
{
	int objects = 0;
	pthread_t thread;

	alarm(PATIENCE);
	for (int i = 0; i < calls; i++)
		f_work(100);
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	dl_iterate_phdr(count, &objects);
	void *library = dlopen("libm.so.6", RTLD_NOW);
	_exit(objects && library ? 0 : 1);
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 300, calls = argc > 2 ? atoi(argv[2]) : 5;
	pthread_t starters[STARTERS];
	int failed = 0;

	for (int i = 0; i < STARTERS; i++)
		if (pthread_create(&starters[i], NULL, start_threads, NULL) != 0)
			return 2;
	for (int i = 0; i < children && !failed; i += AT_ONCE) {
		pid_t pids[AT_ONCE];
		for (int k = 0; k < AT_ONCE; k++)
			if ((pids[k] = fork()) == 0)
				be_child(calls);
		for (int k = 0; k < AT_ONCE; k++) {
			int status;
			if (waitpid(pids[k], &status, 0) < 0 || status != 0)
				failed++;
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < STARTERS; i++)
		pthread_join(starters[i], NULL);
	printf("%d failed\n", failed);
	return failed != 0;
}
