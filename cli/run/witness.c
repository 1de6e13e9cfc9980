// SPDX-License-Identifier: MIT
#include "cli/run/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(int to, pid_t collector, int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info)) {
		unsigned char number = (unsigned char)info.ssi_signo;
		// Nobody else continues a collector that is not in the group.
		if (number == SIGCONT && getppid() == collector)
			kill(collector, SIGCONT);
		else if (number != SIGCHLD && write(to, &number, 1) != 1)
			_exit(0);
	}
}

__attribute__((noreturn)) static void watch(int life, int to, pid_t collector,
                                            const sigset_t *watched)
{
	// The target's streams are not ours to keep open: a reader waits for their end.
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	int signals = signalfd(-1, watched, SFD_NONBLOCK);
	struct pollfd fds[] = { { .fd = life, .events = POLLIN },
		                { .fd = signals, .events = POLLIN } };

	while (signals >= 0 && (poll(fds, 2, -1) > 0 || errno == EINTR)) {
		if (fds[0].revents)
			break;
		report(to, collector, signals);
	}
	_exit(0);
}

void witness_start(struct witness *w, const sigset_t *watched)
{
	pid_t collector = getpid();
	int life[2], seen[2];

	*w = (struct witness){ .pid = 0, .fd = -1, .life = -1 };
	if (pipe2(life, O_CLOEXEC) < 0)
		return;
	if (pipe2(seen, O_CLOEXEC | O_NONBLOCK) < 0) {
		close(life[0]);
		close(life[1]);
		return;
	}
	w->pid = fork();
	if (w->pid == 0) {
		close(life[1]);
		close(seen[0]);
		watch(life[0], seen[1], collector, watched);
	}
	close(life[0]);
	close(seen[1]);
	w->life = life[1];
	w->fd = seen[0];
	if (w->pid < 0)
		witness_stop(w);
}

void witness_dismiss(struct witness *w)
{
	if (!w->pid)
		return;
	if (w->life >= 0)
		close(w->life);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = w->life = -1;
}

void witness_stop(struct witness *w)
{
	witness_dismiss(w);
	if (w->pid > 0) {
		kill(w->pid, SIGCONT); // somebody may have stopped the whole group
		waitpid(w->pid, NULL, 0);
	}
	w->pid = 0;
}

int witness_next(struct witness *w)
{
	unsigned char number;

	return w->pid > 0 && w->fd >= 0 && read(w->fd, &number, 1) == 1 ? number : 0;
}
