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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A group is signalled in one go, but one member may wake up before the last one has its signal.
#define GROUP_DELAY_NS 2000000
// A busy machine may run the witness much later, and a stopped one does not run.
#define GROUP_DELAYS_MAX 500

// Passed on when they were sent to us alone.
static const int forwarded[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

// Who leads its group can only move to that of another process of the session.
static bool join_new_group(void)
{
	pid_t leader = fork();

	if (leader == 0) {
		for (;;)
			pause();
	}
	if (leader < 0)
		return false;
	bool joined = setpgid(leader, leader) == 0 && setpgid(0, leader) == 0;
	kill(leader, SIGKILL); // the group stays: we are in it
	waitpid(leader, NULL, 0);
	return joined;
}

// The witness keeps the group in being until the target is there.
static void leave_group(struct job *job)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	job->group = getpgrp();
	if (job->witness.pid <= 0 || getsid(0) == getpid())
		return;
	job->apart = job->group == getpid() ? join_new_group() : setpgid(0, 0) == 0;
	// From the background a terminal may take no output: stty tostop.
	sigaction(SIGTTOU, job->apart ? &ignore : NULL, &job->old_output);
}

// Without members the group is gone, unless it has our own number.
static void return_to_group(struct job *job)
{
	if (!job->apart)
		return;
	job->apart = setpgid(0, job->group) < 0;
	if (!job->apart)
		sigaction(SIGTTOU, &job->old_output, NULL);
}

int job_open(struct job *job, struct error *err)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };

	memset(job, 0, sizeof(*job));
	sigemptyset(&job->seen);
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
	leave_group(job);
	return 0;
}

void job_join(const struct job *job)
{
	if (job->apart)
		setpgid(0, job->group);
}

void job_restore(const struct job *job)
{
	if (job->apart)
		sigaction(SIGTTOU, &job->old_output, NULL);
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

// What was sent to the group has reached the target already.
static void take_group_signals(struct job *job)
{
	int signal;

	while ((signal = witness_next(&job->witness))) {
		sigaddset(&job->seen, signal);
		if (signal == SIGINT && job->apart && job->child > 0)
			interrupt(job);
	}
}

// Whether the witness sleeps and has reported all it got: it reports before it sleeps, so its
// signals are looked at first.
static bool witness_is_idle(const struct witness *w, int signal)
{
	bool pending = proc_signal_mask(w->pid, "ShdPnd") >> (signal - 1) & 1;

	return !pending && proc_state(w->pid) != 'R';
}

// As long as we are in the group ourselves, what we get may be the group's.
static bool was_sent_to_group(struct job *job, int signal)
{
	struct timespec delay = { 0, GROUP_DELAY_NS };
	bool seen = false, idle = false;

	if (job->apart)
		return false;
	for (int i = 0; i < GROUP_DELAYS_MAX && !seen && !idle; i++) {
		nanosleep(&delay, NULL);
		idle = job->witness.pid <= 0 || witness_is_idle(&job->witness, signal);
		take_group_signals(job);
		seen = sigismember(&job->seen, signal) == 1;
	}
	sigdelset(&job->seen, signal);
	return seen;
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
	} else if (signal != SIGTSTP || job->apart) {
		// The group's SIGTSTP stops the target first, then we follow: job_stopped().
		// From the terminal (SI_KERNEL) it has reached the target by itself.
		if (info->ssi_code <= 0 && !was_sent_to_group(job, signal))
			kill(job->child, signal);
		if (signal == SIGINT)
			interrupt(job);
	}
}

bool job_handle(struct job *job)
{
	struct signalfd_siginfo info;
	bool child = false;

	if (job->apart)
		take_group_signals(job);
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
	struct sigaction plain = { .sa_handler = SIG_DFL }, old;
	struct timespec now = { 0, 0 };
	sigset_t one;

	if (signal == SIGSTOP && !has_terminal())
		return; // somebody's kill -STOP at the target alone; so will be his kill -CONT
	// SIGSTOP cannot wait for what is looked at below.
	if (signal == SIGSTOP)
		signal = SIGTSTP;
	sigemptyset(&one);
	sigaddset(&one, signal);
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(signal, &plain, &old);
	kill(getpid(), signal);
	// A SIGCONT takes back a stop that waits; one that came before it has continued the target.
	if (proc_state(job->child) != 'T')
		sigtimedwait(&one, NULL, &now);
	sigprocmask(SIG_UNBLOCK, &one, NULL); // we stop here
	sigprocmask(SIG_BLOCK, &job->handled, NULL);
	sigaction(signal, &old, NULL);
}

void job_leave(struct job *job)
{
	if (job->fd < 0)
		return;
	job_handle(job); // what ended the target is not to end us too
	return_to_group(job);
	witness_dismiss(&job->witness);
	close(job->fd);
	job->fd = -1;
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
}

void job_close(struct job *job)
{
	job_leave(job);
	witness_stop(&job->witness);
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
