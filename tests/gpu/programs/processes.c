// SPDX-License-Identifier: MIT
// Children that were forked and exec'd, each with its own kernels; one that was only forked finds
// no GPU, as CUDA does not survive a fork.
#include "tests/gpu/programs/gpu_program.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3u
#define KERNELS  10u
#define US       500u

KERNEL(child_us)
KERNEL(parent_us)

static void work(const void *kernel)
{
	for (unsigned int i = 0; i < KERNELS; i++)
		LAUNCH(kernel, US, 0);
	CUDA(cudaDeviceSynchronize());
}

static void wait_for(pid_t child)
{
	int status = 1;

	if (child < 0 || waitpid(child, &status, 0) < 0 || status) {
		fprintf(stderr, "a child ended with status %d\n", status);
		exit(1);
	}
}

static void spawn(char *self)
{
	char argument[] = "child";
	char *arguments[] = { self, argument, NULL };
	pid_t child = fork();

	if (!child) {
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	wait_for(child);
}

static void fork_only(void)
{
	pid_t child = fork();

	if (!child)
		_exit(cudaDeviceSynchronize() ? 0 : 1);
	wait_for(child);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "child")) {
		work((const void *)child_us);
		return 0;
	}
	work((const void *)parent_us);
	fork_only();
	for (unsigned int i = 0; i < CHILDREN; i++)
		spawn(argv[0]);
	printf("truth kernel child_us %u %u\ntruth kernel parent_us %u %u\n", CHILDREN * KERNELS,
	       CHILDREN * KERNELS * US, KERNELS, KERNELS * US);
	printf("truth sync context %u\ntruth calls %u\n", CHILDREN + 1, (CHILDREN + 1) * KERNELS);
	return 0;
}
