// SPDX-License-Identifier: MIT
#include "oracle/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int child_fork(struct child *child, char **command)
{
	int ends[2];

	if (pipe(ends) < 0)
		return -1;
	child->pid = fork();
	if (child->pid == 0) {
		char byte;
		close(ends[1]);
		// What it prints is of no interest, and would stand between our own lines.
		int null = open("/dev/null", O_WRONLY);
		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		if (read(ends[0], &byte, 1) == 1)
			execvp(command[0], command);
		_exit(127);
	}
	close(ends[0]);
	child->gate = ends[1];
	return child->pid < 0 ? -1 : 0;
}

void child_go(const struct child *child)
{
	if (write(child->gate, "", 1) != 1)
		child_kill(child);
	close(child->gate);
}

void child_kill(const struct child *child)
{
	kill(child->pid, SIGKILL);
}

bool child_ended(const struct child *child)
{
	return waitpid(child->pid, NULL, WNOHANG) != 0;
}

void child_cancel(const struct child *child)
{
	close(child->gate);
	waitpid(child->pid, NULL, 0);
}
