// SPDX-License-Identifier: MIT
// Children by vfork and by posix_spawn, each an exec of this program.
#include "truth.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int at_child, at_parent;

static NOINLINE uint64_t child_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_child);
	return x;
}

static NOINLINE uint64_t parent_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_parent);
	return x;
}

static int child(void)
{
	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "child_work", at_child, child_work(truth_steps(20)));
	truth_leave();
	return 0;
}

int main(int argc, char **argv)
{
	char program[] = "/proc/self/exe", flag[] = "child";
	char *arguments[] = { argv[0], flag, NULL };
	pid_t children[4];

	if (argc > 1 && !strcmp(argv[1], flag))
		return child();
	for (int i = 0; i < 4; i++) {
		if (i % 2) {
			if (posix_spawn(&children[i], program, NULL, NULL, arguments, environ))
				return 1;
		} else if ((children[i] = vfork()) == 0) {
			execv(program, arguments);
			_exit(127);
		}
	}
	for (int round = truth_rounds(); round > 0; round--)
		TRUTH("self", "parent_work", at_parent, parent_work(truth_steps(20)));
	for (int i = 0; i < 4; i++)
		TRUTH_OFF("child", waitpid(children[i], NULL, 0));
	truth_fact("processes", "-", 5);
	truth_print();
	return 0;
}
