// SPDX-License-Identifier: MIT
#include "cli/run/repeat_run.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/inherited.h"
#include "cli/run/job.h"
#include "merge/profile/repeats.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_streams(posix_spawn_file_actions_t *actions, const struct repeat_run *run)
{
	bool show_output = run->show_output;

	if (run->own_streams)
		return 0;
	int failed =
		posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!failed && !show_output)
		failed = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
		                                          O_WRONLY, 0);
	if (!failed && !show_output)
		failed = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null",
		                                          O_WRONLY, 0);
	return failed;
}

// Signals are for the program as bottleneck found them.
static int set_signals(posix_spawnattr_t *attributes, const struct job *job)
{
	sigset_t plain;

	sigemptyset(&plain);
	if (job->old_pipe.sa_handler == SIG_DFL)
		sigaddset(&plain, SIGPIPE);
	inherited_defaults(&plain);
	posix_spawnattr_setsigdefault(attributes, &plain);
	posix_spawnattr_setsigmask(attributes, &job->old_mask);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int start(const struct repeat_run *run, pid_t *pid, uint64_t *begin_ns)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int failed = posix_spawn_file_actions_init(&actions);

	if (failed)
		return failed;
	failed = posix_spawnattr_init(&attributes);
	if (!failed) {
		failed = set_streams(&actions, run);
		if (!failed)
			failed = set_signals(&attributes, run->job);
		*begin_ns = clock_now_ns();
		if (!failed)
			failed = posix_spawnp(pid, run->argv[0], &actions, &attributes, run->argv,
			                      environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NS_PER_SEC + (uint64_t)t->tv_usec * NS_PER_US;
}

// Returns when there may be something to wait for.
static void wait_for_news(struct job *job)
{
	struct pollfd poll_fd = { .fd = job->fd, .events = POLLIN };

	do
		poll(&poll_fd, 1, -1);
	while (!job_handle(job));
}

static int wait_for_end(const struct repeat_run *run, pid_t pid, uint64_t begin_ns,
                        struct repeat *repeat)
{
	enum repeat_end end = REPEAT_ENDED;
	struct rusage usage;

	for (;;) {
		pid_t got = wait4(pid, &repeat->status, WNOHANG | WUNTRACED, &usage);
		uint64_t now_ns = clock_now_ns();
		if (got == pid && !WIFSTOPPED(repeat->status)) {
			repeat->wall_ns = now_ns - begin_ns;
			repeat->user_ns = ns_of(&usage.ru_utime);
			repeat->system_ns = ns_of(&usage.ru_stime);
			repeat->peak_rss_bytes = (uint64_t)usage.ru_maxrss << 10;
			return end;
		}
		if (got == pid) {
			end = REPEAT_DISTURBED;
			job_stopped(run->job, WSTOPSIG(repeat->status));
		}
		wait_for_news(run->job);
	}
}

int repeat_run(const struct repeat_run *run, struct repeat *repeat, struct error *err)
{
	uint64_t begin_ns;
	pid_t pid;
	int failed = start(run, &pid, &begin_ns);

	if (failed)
		return error_set(err, failed, "could not run \"%s\"", run->argv[0]);
	run->job->child = pid;
	int end = wait_for_end(run, pid, begin_ns, repeat);
	run->job->child = 0;
	return end;
}
