// SPDX-License-Identifier: MIT
#include "cli/run/job.h"

#include "cli/run/witness.h"
#include "tests/support/expect.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// A child that counts the signals it gets, says when it is ready, and exits with their number.
static pid_t start_counter(struct job *job, int ignored)
{
	int ready[2];
	char byte;

	cr_assert(eq(int, pipe(ready), 0));
	pid_t pid = fork();
	if (pid == 0) {
		job_join(job);
		sigset_t counted;
		int count = 0;
		struct timespec limit = { 0, 300000000 };
		sigemptyset(&counted);
		sigaddset(&counted, SIGTERM);
		sigaddset(&counted, SIGINT);
		sigprocmask(SIG_BLOCK, &counted, NULL);
		if (ignored)
			signal(ignored, SIG_IGN);
		if (write(ready[1], "", 1) != 1)
			_exit(99);
		while (sigtimedwait(&counted, NULL, &limit) > 0)
			count++;
		_exit(count);
	}
	cr_assert(eq(int, (int)read(ready[0], &byte, 1), 1));
	job->child = pid;
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void handle_soon(struct job *job)
{
	struct pollfd fd = { .fd = job->fd, .events = POLLIN };

	cr_assert(eq(int, poll(&fd, 1, 1000), 1));
	job_handle(job);
}

Test(job, what_was_sent_to_us_alone_is_passed_on)
{
	struct job job;

	setpgid(0, 0);
	cr_assert(eq(int, job_open(&job, NULL), 0));
	pid_t pid = start_counter(&job, 0);
	kill(getpid(), SIGTERM);
	handle_soon(&job);
	cr_expect(eq(int, wait_for(pid), 1));
	job_close(&job);
}

Test(job, what_was_sent_to_the_group_arrives_once)
{
	struct job job;

	setpgid(0, 0);
	cr_assert(eq(int, job_open(&job, NULL), 0));
	pid_t pid = start_counter(&job, 0);
	kill(-job.group, SIGTERM);
	struct pollfd fd = { .fd = job.witness.fd, .events = POLLIN };
	cr_assert(eq(int, poll(&fd, 1, 1000), 1));
	job_handle(&job);
	cr_expect(eq(int, wait_for(pid), 1));
	job_close(&job);
}

Test(job, the_witness_reports_each_signal_of_the_group_once)
{
	struct job job;

	setpgid(0, 0);
	cr_assert(eq(int, job_open(&job, NULL), 0));
	kill(-job.group, SIGTERM);
	struct pollfd fd = { .fd = job.witness.fd, .events = POLLIN };
	cr_assert(eq(int, poll(&fd, 1, 1000), 1));
	cr_expect(eq(int, witness_next(&job.witness), SIGTERM));
	cr_expect(eq(int, witness_next(&job.witness), 0));
	job_close(&job);
}

// In a process that leads a group and no session: 0 if it outlives the group, and returns to it.
static int outlive_group(void)
{
	struct job job;

	setpgid(0, 0);
	if (job_open(&job, NULL) < 0 || !job.apart || getpgrp() == job.group)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		job_join(&job);
		kill(0, SIGKILL);
		_exit(0);
	}
	if (wait_for(pid) != -SIGKILL)
		return 2;
	job_close(&job);
	return getpgrp() == job.group ? 0 : 3;
}

Test(job, a_group_that_is_killed_leaves_us_alive)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(outlive_group());
	cr_expect(eq(int, wait_for(pid), 0));
}

// As on a machine whose CPUs are busy. The group's signals are blocked, here as well.
static void delay_witness(const struct job *job)
{
	kill(job->witness.pid, SIGSTOP);
	if (fork() == 0) {
		usleep(50000);
		kill(job->witness.pid, SIGCONT);
		_exit(0);
	}
}

static int signals_of_session(bool late)
{
	struct job job;
	int status;
	pid_t leader = fork();

	if (leader == 0) {
		setsid();
		job_open(&job, NULL);
		pid_t pid = start_counter(&job, 0);
		if (late)
			delay_witness(&job);
		kill(0, SIGTERM);
		handle_soon(&job);
		int arrived = wait_for(pid);
		job_close(&job);
		_exit(job.apart ? 98 : arrived);
	}
	cr_assert(eq(int, waitpid(leader, &status, 0), leader));
	return WEXITSTATUS(status);
}

Test(job, the_leader_of_a_session_shares_the_group)
{
	cr_expect(eq(int, signals_of_session(false), 1));
}

Test(job, a_witness_that_is_late_is_waited_for)
{
	cr_expect(eq(int, signals_of_session(true), 1));
}

Test(job, a_second_interrupt_kills_who_does_not_listen)
{
	struct job job;

	setpgid(0, 0);
	cr_assert(eq(int, job_open(&job, NULL), 0));
	pid_t pid = start_counter(&job, SIGINT);
	kill(getpid(), SIGINT);
	handle_soon(&job);
	cr_expect(eq(int, waitpid(pid, NULL, WNOHANG), 0));
	kill(getpid(), SIGINT);
	handle_soon(&job);
	cr_expect(eq(int, wait_for(pid), -SIGKILL));
	job_close(&job);
}

Test(job, a_child_that_changes_its_state_is_noticed)
{
	struct job job;

	cr_assert(eq(int, job_open(&job, NULL), 0));
	job.child = fork();
	if (job.child == 0)
		_exit(0);
	struct pollfd fd = { .fd = job.fd, .events = POLLIN };
	cr_assert(eq(int, poll(&fd, 1, 1000), 1));
	cr_expect(job_handle(&job));
	waitpid(job.child, NULL, 0);
	job_close(&job);
}

Test(job, a_fatal_signal_ends_us_without_a_core)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		job_die(SIGSEGV);
		_exit(0);
	}
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	cr_expect(eq(int, status, SIGSEGV)); // 0x80 would be the core
}
