// SPDX-License-Identifier: MIT
#include "tests/support/agent_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "tests/support/agent_drain.h"
#include "tracer/reader/session.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void die(const char *what, const struct error *err)
{
	char text[1024];

	fprintf(stderr, "agent_run: %s: %s\n", what,
	        err ? error_message(err, text, sizeof(text)) : "");
	exit(125);
}

static void read_output(struct agent_run *run, int fd, size_t *length)
{
	struct pollfd ready = { fd, POLLIN, 0 };

	while (poll(&ready, 1, 0) > 0) {
		char rest[4096];
		bool full = *length == sizeof(run->output) - 1;
		ssize_t got = read(fd, full ? rest : run->output + *length,
		                   full ? sizeof(rest) : sizeof(run->output) - 1 - *length);
		if (got <= 0)
			return;
		*length += full ? 0 : (size_t)got;
	}
}

static void start_child(const struct session *session, int output, char *const argv[])
{
	struct error err = { 0 };

	dup2(output, 1);
	dup2(output, 2);
	if (session && session_export(session, &err) < 0)
		die("environment", &err);
	execvp(argv[0], argv);
	_exit(127);
}

// The cost of children that are reaped, with theirs.
static uint64_t children_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

static struct session *open_session(const struct agent_run_options *options)
{
	struct session_options wanted = {
		.library = AGENT_LIBRARY,
		.frequency_hz = options->silent ? 0
		                : options->hz   ? options->hz
		                                : 999,
		.stack_bytes = 32768,
		.kernel_only = options->kernel_only,
		.python_hz = options->python_hz,
		.malloc_bytes = options->malloc_bytes,
		.waits = options->waits,
		.count_calls = options->count_calls,
	};
	struct error err = { 0 };
	struct session *session = session_new(&wanted, &err);

	if (!session)
		die("session", &err);
	return session;
}

static void watch(struct agent_run *run, const struct agent_run_options *options, pid_t child,
                  struct agent_drain *drain, int output)
{
	uint64_t start = clock_now_ns();
	size_t length = 0;
	bool ended = false;

	while (!ended) {
		ended = waitpid(child, &run->status, WNOHANG) == child;
		read_output(run, output, &length);
		if (drain && (ended || !options->stop_reading))
			agent_drain_round(drain, run, options);
		if (options->kill_after_ns && clock_now_ns() - start > options->kill_after_ns)
			kill(child, SIGKILL);
		if (!ended)
			usleep(2000);
	}
	run->wall_ns = clock_now_ns() - start;
}

void agent_run(struct agent_run *run, const struct agent_run_options *options, char *const argv[])
{
	cleanup(session) struct session *session = options->without ? NULL : open_session(options);
	cleanup(agent_drain) struct agent_drain *drain =
		session ? agent_drain_new(session_directory(session)) : NULL;
	uint64_t cpu = children_cpu_ns();
	int output[2];

	*run = (struct agent_run){ 0 };
	if ((session && !drain) || pipe2(output, O_CLOEXEC) < 0)
		die("reader", NULL);
	pid_t child = fork();
	if (child == 0)
		start_child(session, output[1], argv);
	close(output[1]);
	watch(run, options, child, drain, output[0]);
	close(output[0]);
	run->cpu_ns = children_cpu_ns() - cpu;
}
