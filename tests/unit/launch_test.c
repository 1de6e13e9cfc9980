// SPDX-License-Identifier: MIT
#include "cli/run/launch.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "cli/run/proc_state.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs ARGV behind the gate; its wait status.
static int run(struct job *job, char **argv)
{
	struct launch launch;
	struct error err;
	int status;

	cr_assert(eq(int, launch_start(&launch, argv, NULL, job, &err), 0));
	cr_assert(eq(int, launch_release(&launch, argv[0], &status, &err), 0));
	cr_assert(eq(int, waitpid(launch.pid, &status, 0), launch.pid));
	launch_close(&launch);
	return status;
}

static int run_shell(struct job *job, const char *command)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };

	return run(job, argv);
}

Test(launch, the_child_waits_at_the_gate)
{
	char *argv[] = { "true", NULL };
	struct job job;
	struct launch launch;
	int status;

	cr_assert(eq(int, job_open(&job, NULL), 0));
	cr_assert(eq(int, launch_start(&launch, argv, NULL, &job, NULL), 0));
	usleep(50000);
	cr_expect(eq(int, waitpid(launch.pid, &status, WNOHANG), 0));
	cr_assert(eq(int, launch_release(&launch, "true", &status, NULL), 0));
	cr_assert(eq(int, waitpid(launch.pid, &status, 0), launch.pid));
	cr_expect(eq(int, status, 0));
	launch_close(&launch);
	job_close(&job);
}

Test(launch, a_gate_that_is_closed_ends_the_child)
{
	char *argv[] = { "touch", "/tmp/launch-test-must-not-be", NULL };
	struct job job;
	struct launch launch;

	cr_assert(eq(int, job_open(&job, NULL), 0));
	cr_assert(eq(int, launch_start(&launch, argv, NULL, &job, NULL), 0));
	pid_t pid = launch.pid;
	launch_close(&launch);
	cr_expect(eq(int, waitpid(pid, NULL, 0), -1)); // it has been waited for
	cr_expect(ne(int, access("/tmp/launch-test-must-not-be", F_OK), 0));
	job_close(&job);
}

Test(launch, what_cannot_run_is_told_as_env_tells_it)
{
	static const struct {
		char *program;
		int status;
		const char *message;
	} rows[] = {
		{ "no-such-program", EXIT_NOT_FOUND,
		  "could not run \"no-such-program\": No such file or directory" },
		{ "/", EXIT_CANNOT_RUN, "could not run \"/\": Permission denied" },
		{ "/etc/passwd", EXIT_CANNOT_RUN,
		  "could not run \"/etc/passwd\": Permission denied" },
	};

	// A directory that may not be searched would change the answer.
	setenv("PATH", "/usr/bin:/bin", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[] = { rows[i].program, NULL };
		char text[ERROR_TEXT_SIZE + 128];
		struct job job;
		struct launch launch;
		struct error err;
		int status = 0;

		cr_assert(eq(int, job_open(&job, NULL), 0));
		cr_assert(eq(int, launch_start(&launch, argv, NULL, &job, NULL), 0));
		cr_expect(eq(int, launch_release(&launch, argv[0], &status, &err), -1));
		cr_expect(eq(int, status, rows[i].status), "%s", rows[i].program);
		cr_expect(eq(str, (char *)error_message(&err, text, sizeof(text)),
		             (char *)rows[i].message));
		launch_close(&launch);
		job_close(&job);
	}
}

Test(launch, signals_are_as_we_found_them)
{
	static const char *const fields[] = { "SigBlk", "SigIgn" };
	struct job job;
	sigset_t usr2;
	uint64_t before[2];

	signal(SIGCHLD, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	for (size_t i = 0; i < 2; i++)
		before[i] = proc_signal_mask(getpid(), fields[i]);
	cr_assert(eq(int, job_open(&job, NULL), 0));
	for (size_t i = 0; i < 2; i++) {
		char pattern[64];
		char *argv[] = { "grep", "-q", pattern, "/proc/self/status", NULL };
		snprintf(pattern, sizeof(pattern), "^%s:.*%016llx$", fields[i],
		         (unsigned long long)before[i]);
		cr_expect(eq(int, run(&job, argv), 0), "%s", pattern);
	}
	job_close(&job);
}

Test(launch, none_of_our_descriptors_gets_through)
{
	struct job job;

	cr_assert(eq(int, job_open(&job, NULL), 0));
	// The shell's own listing descriptor is 3.
	for (int fd = 3; fd < 64; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC); // what the test runner left open
	int status = run_shell(&job, "test \"$(ls /proc/self/fd | tr '\\n' ' ')\" = '0 1 2 3 '");
	cr_expect(eq(int, status, 0));
	job_close(&job);
}

Test(launch, it_stays_in_our_process_group)
{
	struct job job;
	char command[64];

	cr_assert(eq(int, job_open(&job, NULL), 0));
	snprintf(command, sizeof(command), "test $(cut -d' ' -f5 /proc/$$/stat) = %d", getpgrp());
	cr_expect(eq(int, run_shell(&job, command), 0));
	job_close(&job);
}
