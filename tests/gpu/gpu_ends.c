// SPDX-License-Identifier: MIT
// Programs with a GPU that end in all ways: gpu_ends HOW. What they have launched before is told;
// how much that is they print.
#include "tests/gpu/programs/gpu_program.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNELS 1000u
#define THREADS 8u

KERNEL(before_us)
KERNEL(after_us)

static void work(const void *kernel)
{
	for (unsigned int i = 0; i < KERNELS; i++)
		LAUNCH(kernel, 1, 0);
	CUDA(cudaDeviceSynchronize());
}

#define BEFORE() work((const void *)before_us)
#define AFTER()  work((const void *)after_us)

static void say(const char *name, unsigned int count)
{
	printf("truth kernel %s %u %u\n", name, count, count);
	fflush(stdout);
}

static void leave(void)
{
	BEFORE();
	say("before_us", KERNELS);
	_exit(7);
}

static void become_another(char *self)
{
	char argument[] = "other";
	char *arguments[] = { self, argument, NULL };

	BEFORE();
	say("before_us", KERNELS);
	execv("/proc/self/exe", arguments);
}

static void stay(char *self)
{
	char *arguments[] = { self, NULL };

	BEFORE();
	execv("/nowhere/at/all", arguments);
	AFTER();
	say("before_us", KERNELS);
	say("after_us", KERNELS);
}

static void other(void)
{
	AFTER();
	say("after_us", KERNELS);
}

// What was given out until then is there: CUPTI is asked twice a second.
static void be_killed(void)
{
	BEFORE();
	sleep(2);
	say("before_us", KERNELS);
	raise(SIGKILL);
}

static void fork_child(void)
{
	int status;

	BEFORE();
	pid_t child = fork();
	if (child == 0)
		exit(0); // with all that runs at exit
	if (waitpid(child, &status, 0) != child || status)
		exit(1);
	AFTER();
	say("before_us", KERNELS);
	say("after_us", KERNELS);
}

// Neither has used CUDA before: both may.
static void fork_first(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		BEFORE();
		_exit(0); // as Python's multiprocessing does
	}
	AFTER();
	if (waitpid(child, &status, 0) != child || status)
		exit(1);
	say("before_us", KERNELS);
	say("after_us", KERNELS);
}

static void *run(void *argument)
{
	(void)argument;
	BEFORE();
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	CUDA(cudaDeviceSynchronize());
	for (unsigned int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			exit(1);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	say("before_us", THREADS * KERNELS);
}

static void reset(void)
{
	BEFORE();
	CUDA(cudaDeviceReset());
	AFTER();
	say("before_us", KERNELS);
	say("after_us", KERNELS);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "leaves"))
		leave();
	else if (!strcmp(how, "execs"))
		become_another(argv[0]);
	else if (!strcmp(how, "stays"))
		stay(argv[0]);
	else if (!strcmp(how, "other"))
		other();
	else if (!strcmp(how, "killed"))
		be_killed();
	else if (!strcmp(how, "forks"))
		fork_child();
	else if (!strcmp(how, "forks-first"))
		fork_first();
	else if (!strcmp(how, "threads"))
		run_threads();
	else if (!strcmp(how, "resets"))
		reset();
	else
		return 2;
	return 0;
}
