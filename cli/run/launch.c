// SPDX-License-Identifier: MIT
#include "cli/run/launch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "merge/record/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The child's side of the gate. Returns when it is opened; ends with the parent.
static void wait_for_gate(int gate)
{
	char byte;
	ssize_t got;

	do
		got = read(gate, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(EXIT_OURS);
}

__attribute__((noreturn)) static void run_child(const int gate[2], const int exec[2],
                                                char *const *argv,
                                                const struct recording *recording,
                                                const struct job *job)
{
	job_join(job);
	// Our copy of the writing end would keep the gate open after the parent's death.
	close(gate[1]);
	recording_export(recording); // while the parent gets ready
	wait_for_gate(gate[0]);
	job_restore(job);
	execvp(argv[0], argv);
	int reason = errno;
	if (write(exec[1], &reason, sizeof(reason)) != sizeof(reason))
		_exit(EXIT_OURS);
	_exit(EXIT_CANNOT_RUN);
}

static int open_pipes(int gate[2], int exec[2], struct error *err)
{
	if (pipe2(gate, O_CLOEXEC) < 0)
		return error_set(err, errno, "could not make a pipe to the program");
	if (pipe2(exec, O_CLOEXEC) == 0)
		return 0;
	error_set(err, errno, "could not make a pipe to the program");
	close(gate[0]);
	close(gate[1]);
	return -1;
}

int launch_start(struct launch *launch, char *const *argv, const struct recording *recording,
                 const struct job *job, struct error *err)
{
	int gate[2] = { -1, -1 }, exec[2] = { -1, -1 };

	*launch = (struct launch){ .pid = -1, .pidfd = -1, .gate = -1, .exec = -1 };
	if (open_pipes(gate, exec, err) < 0)
		return -1;
	launch->pid = fork();
	if (launch->pid == 0)
		run_child(gate, exec, argv, recording, job);
	int reason = errno;
	close(gate[0]);
	close(exec[1]);
	launch->gate = gate[1];
	launch->exec = exec[0];
	if (launch->pid < 0) {
		launch_close(launch);
		return error_set(err, reason, "could not start a process");
	}
	launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
	if (launch->pidfd >= 0)
		return 0;
	error_set(err, errno, "could not watch process %d", launch->pid);
	launch_close(launch);
	return -1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int could_not_run(const char *program, int reason, int *status, struct error *err)
{
	bool path = strchr(program, '/') != NULL;

	*status = EXIT_CANNOT_RUN;
	if (reason == ENOENT && path && access(program, F_OK) == 0)
		return error_set(err, 0,
		                 "could not run \"%s\": the interpreter or dynamic linker that it "
		                 "names is not there",
		                 program);
	if (reason == ENOENT)
		*status = EXIT_NOT_FOUND;
	error_set(err, reason, "could not run \"%s\"", program);
	const char *meant = command_meant(program);
	if (reason == ENOENT && !path && meant)
		error_hint(err, "did you mean \"bottleneck %s\"?", meant);
	else if (reason == ENOENT && !path)
		error_hint(err, "No program in PATH and no command of bottleneck has this name, "
		                "see --help.");
	return -1;
}

int launch_release(struct launch *launch, const char *program, int *status, struct error *err)
{
	int reason = 0;
	ssize_t got;

	if (write(launch->gate, "", 1) != 1)
		reason = errno;
	do
		got = read(launch->exec, &reason, sizeof(reason));
	while (got < 0 && errno == EINTR);
	close_fd(&launch->exec);
	close_fd(&launch->gate);
	if (got != sizeof(reason) && !reason)
		return 0;
	waitpid(launch->pid, NULL, 0);
	launch->pid = -1;
	return could_not_run(program, reason, status, err);
}

void launch_close(struct launch *launch)
{
	if (launch->gate >= 0 && launch->pid > 0) { // it waits at the gate
		close_fd(&launch->gate);
		waitpid(launch->pid, NULL, 0);
	}
	close_fd(&launch->gate);
	close_fd(&launch->exec);
	close_fd(&launch->pidfd);
}
