// SPDX-License-Identifier: MIT
#include "cli/run/job.h"

#include "base/error.h"
#include "cli/inherited.h"
#include "cli/run/proc_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

// Passed on when they were sent to us alone.
static const int forwarded[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

int job_open(struct job *job, struct error *err)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };

	memset(job, 0, sizeof(*job));
	sigemptyset(&job->handled);
	sigaddset(&job->handled, SIGCHLD);
	sigaddset(&job->handled, SIGCONT);
	sigaddset(&job->handled, SIGTSTP);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&job->handled, forwarded[i]);
	job->fd = signalfd(-1, &job->handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (job->fd < 0)
		return error_set(err, errno, "could not open a descriptor for signals");
	sigprocmask(SIG_BLOCK, &job->handled, &job->old_mask);
	// Started with SIGCHLD ignored, we would never learn the target's status.
	sigaction(SIGCHLD, &plain, &job->old_child);
	sigaction(SIGPIPE, NULL, &job->old_pipe);
	signal(SIGPIPE, SIG_IGN); // a report that nobody reads must not change the status
	witness_start(&job->witness, &job->handled);
	return 0;
}

void job_restore(const struct job *job)
{
	sigaction(SIGCHLD, &job->old_child, NULL);
	sigaction(SIGPIPE, &job->old_pipe, NULL);
	inherited_restore();
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
}

// A program that neither dies of SIGINT nor has a handler for it will not listen to a second one
// either. One that has a handler (an editor, an interpreter's prompt) decides for itself.
static void interrupt(struct job *job)
{
	bool caught = proc_signal_mask(job->child, "SigCgt") >> (SIGINT - 1) & 1;

	if (++job->interrupts >= 2 && !caught)
		kill(job->child, SIGKILL);
}

static void handle_one(struct job *job, const struct signalfd_siginfo *info, bool *child)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		*child = true;
	} else if (job->child <= 0) {
		return; // its number may be somebody else's by now
	} else if (signal == SIGCONT) {
		if (proc_state(job->child) == 'T')
			kill(job->child, SIGCONT);
	} else if (signal != SIGTSTP) { // the target stops first, then we follow: job_stopped()
		// From the terminal (SI_KERNEL) it has reached the target by itself.
		if (info->ssi_code <= 0 && !witness_saw(&job->witness, signal))
			kill(job->child, signal);
		if (signal == SIGINT)
			interrupt(job);
	}
}

bool job_handle(struct job *job)
{
	struct signalfd_siginfo info;
	bool child = false;

	while (read(job->fd, &info, sizeof(info)) == sizeof(info))
		handle_one(job, &info, &child);
	return child;
}

// Without a terminal in our hands nobody sees this job stop, so nobody would continue it.
static bool has_terminal(void)
{
	cleanup_close int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd >= 0;
}

void job_stopped(struct job *job, int signal)
{
	sigset_t one;

	if (signal == SIGSTOP && !has_terminal())
		return; // somebody's kill -STOP at the target alone; so will be his kill -CONT
	sigemptyset(&one);
	sigaddset(&one, signal);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &one, NULL); // we stop here
	sigprocmask(SIG_BLOCK, &job->handled, NULL);
}

void job_close(struct job *job)
{
	job_handle(job); // what ended the target is not to end us too
	witness_stop(&job->witness);
	close(job->fd);
	job->fd = -1;
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
}

void job_die(int signal_number)
{
	struct rlimit none = { 0, 0 };
	sigset_t one;

	// A core pattern that is a pipe ignores the limit, but not the flag.
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(signal_number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signal_number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), signal_number);
}
