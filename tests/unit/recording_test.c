// SPDX-License-Identifier: MIT
// A real program is recorded, from its launch to its names, without a terminal.
#include "merge/record/recording.h"

#include "base/clock.h"
#include "base/error.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "tests/support/expect.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct recording *recording;
static struct error err;

// Forks a child that waits at GATE, and then becomes what was asked for.
static pid_t fork_child(char *const *argv, int gate[2])
{
	char byte;

	cr_assert(eq(int, pipe(gate), 0));
	pid_t child = fork();
	if (child != 0)
		return child;
	close(gate[1]);
	if (read(gate[0], &byte, 1) != 1)
		_exit(125);
	close(gate[0]);
	recording_export(recording);
	execvp(argv[0], argv);
	_exit(127);
}

static void drain_until_it_ends(pid_t child)
{
	struct rusage usage;
	int status;

	recording_begin(recording);
	while (wait4(child, &status, WNOHANG, &usage) == 0) {
		struct pollfd fd = { .fd = recording_fd(recording), .events = POLLIN };
		poll(&fd, 1, recording_timeout_ms(recording, 20));
		recording_drain(recording);
		recording_step(recording);
	}
	recording_end(recording, status, &usage);
}

static const struct run *record(const struct recording_options *options)
{
	struct run run = { .command = "something", .exit_status = -1 };
	int gate[2];

	recording = recording_new(options, &err);
	cr_assert(ne(ptr, recording, NULL), "%s", err.text);
	pid_t child = fork_child(options->argv, gate);
	cr_assert(eq(int, recording_attach(recording, child, &err), 0), "%s", err.text);
	run.start_ns = clock_now_ns();
	recording_start(recording, &run);
	cr_assert(eq(int, (int)write(gate[1], "", 1), 1));
	close(gate[0]);
	close(gate[1]);
	drain_until_it_ends(child);
	cr_assert(eq(int, recording_finish(recording, &err), 0), "%s", err.text);
	cr_assert(eq(int, recording_symbolize(recording, NULL, NULL, &err), 0), "%s", err.text);
	return profile_run(recording_profile(recording));
}

static void tear_down(void)
{
	recording_free(recording);
	recording = NULL;
}

TestSuite(recording, .fini = tear_down);

static char *busy[] = { "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3",
	                NULL };

Test(recording, a_program_is_recorded_from_its_launch_to_its_names)
{
	struct recording_options options = recording_default();
	struct totals totals;

	options.argv = busy;
	const struct run *run = record(&options);
	query_totals(recording_profile(recording), &totals);
	cr_expect(eq(str, (char *)run->command, "something"));
	cr_expect(eq(int, WEXITSTATUS(run->exit_status), 3));
	cr_expect(run->complete);
	cr_expect(gt(u64, run->wall_ns, 0));
	cr_expect(gt(u64, run->target_cpu_ns, 0));
	cr_expect(eq(u64, totals.threads, 1));
	cr_expect(profile_is_symbolized(recording_profile(recording)));
	if (run->rung < 3) // others have no samples of what loads no agent
		cr_expect(gt(u64, run->samples, 0));
}

Test(recording, what_was_not_recorded_is_said_why)
{
	struct recording_options options = recording_default();

	options.argv = busy;
	options.delay_ns = UINT64_C(3600) * NS_PER_SEC;
	const struct run *run = record(&options);
	cr_assert(ne(ptr, (void *)run->notes, NULL));
	cr_expect(ne(ptr, strstr(run->notes, "nothing was recorded: --delay"), NULL), "%s",
	          run->notes);
}

Test(recording, one_that_is_never_attached_leaves_nothing)
{
	struct recording_options options = recording_default();

	options.argv = busy;
	options.agent = true;
	options.ops = 1;
	recording = recording_new(&options, &err);
	cr_expect(ne(ptr, recording, NULL), "%s", err.text);
}
