// SPDX-License-Identifier: MIT
#include "cli/run/witness.h"

#include "cli/run/proc_state.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A group is signalled in one go, but one member may wake up before the last one has its signal.
#define GROUP_DELAY_NS 2000000

static void forget(const sigset_t *watched)
{
	struct timespec now = { 0, 0 };

	while (sigtimedwait(watched, NULL, &now) > 0)
		;
}

__attribute__((noreturn)) static void watch(int pipe, int answer, const sigset_t *watched)
{
	char byte;

	// The target's streams are not ours to keep open: a reader waits for their end.
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	while (read(pipe, &byte, 1) == 1) {
		forget(watched);
		if (write(answer, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

void witness_start(struct witness *w, const sigset_t *watched)
{
	int to[2], from[2];

	*w = (struct witness){ .pid = 0, .pipe = -1, .answer = -1 };
	if (pipe2(to, O_CLOEXEC) < 0)
		return;
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		return;
	}
	w->pid = fork();
	if (w->pid == 0) {
		close(to[1]);
		watch(to[0], from[1], watched);
	}
	close(to[0]);
	close(from[1]);
	w->pipe = to[1];
	w->answer = from[0];
	if (w->pid < 0)
		witness_stop(w);
}

void witness_stop(struct witness *w)
{
	if (w->pipe >= 0)
		close(w->pipe);
	if (w->answer >= 0)
		close(w->answer);
	if (w->pid > 0)
		waitpid(w->pid, NULL, 0);
	*w = (struct witness){ .pid = 0, .pipe = -1, .answer = -1 };
}

bool witness_saw(struct witness *w, int signal)
{
	struct timespec delay = { 0, GROUP_DELAY_NS };
	char byte = 0;

	if (w->pid <= 0)
		return false;
	nanosleep(&delay, NULL);
	kill(w->pid, SIGCONT); // somebody may have stopped the whole group
	bool saw = proc_signal_mask(w->pid, "ShdPnd") >> (signal - 1) & 1;
	if (saw && (write(w->pipe, &byte, 1) != 1 || read(w->answer, &byte, 1) != 1))
		witness_stop(w);
	return saw;
}
