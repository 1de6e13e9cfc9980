// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "sampler/proc/proc_task.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL " 1 2 3 4 5 4194308 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"

Test(proc_task, a_name_may_hold_anything)
{
	struct proc_task task;

	cr_assert(proc_task_parse("12 (a) R (b) S" TAIL, &task));
	cr_expect(eq(str, task.name, "a) R (b"));
	cr_expect(eq(chr, task.state, 'S'));
	cr_expect(task.exiting);
	cr_expect(eq(u64, task.start_ticks, 4711));
}

Test(proc_task, what_is_no_stat_is_refused)
{
	static const char *const texts[] = {
		"", "12", "12 (x", "12 x) S" TAIL, ")(", "12 (x) S 1 2"
	};
	struct proc_task task;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(proc_task_parse(texts[i], &task)), "%s", texts[i]);
}

Test(proc_task, we_live_and_a_zombie_does_not)
{
	struct proc_task task;

	cr_expect(proc_task_lives((uint32_t)getpid(), clock_now_ns(), &task));
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	cr_expect(not(proc_task_lives((uint32_t)child, clock_now_ns(), &task)), "zombie");
	waitpid(child, NULL, 0);
	cr_expect(not(proc_task_lives((uint32_t)child, clock_now_ns(), &task)), "gone");
}

Test(proc_task, a_pid_that_was_given_again_is_another_process)
{
	struct proc_task task;

	cr_expect(not(proc_task_lives((uint32_t)getpid(), 1, &task)), "we began after that");
}

Test(proc_task, a_name_that_was_cut_is_made_whole_if_it_is_the_program)
{
	char command[64], comm[16];

	proc_task_command((uint32_t)getpid(), "short", command, sizeof(command));
	cr_expect(eq(str, command, "short"));
	proc_task_command((uint32_t)getpid(), "fifteen letters", command, sizeof(command));
	cr_expect(eq(str, command, "fifteen letters"), "nothing longer begins with it");

	prctl(PR_SET_NAME, "hello");
	proc_task_name((uint32_t)getpid(), (uint32_t)getpid(), comm, sizeof(comm));
	cr_expect(eq(str, comm, "hello"));
	proc_task_name((uint32_t)getpid(), 0, comm, sizeof(comm));
	cr_expect(eq(str, comm, ""));
}

// CHILD has begun when it is not called as we are any more.
static void wait_for_program(pid_t child, char *command, size_t size)
{
	for (int ms = 0; ms < 20000; ms++) {
		proc_task_command((uint32_t)child, "bottleneck_test", command, size);
		if (strcmp(command, "bottleneck_test") != 0)
			return;
		usleep(1000);
	}
}

Test(proc_task, a_long_program_name_is_found_through_its_executable)
{
	char directory[64], path[128], command[64];
	char *argv[] = { path, "60", NULL };

	temporary_make(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/bottleneck_test_with_a_long_name", directory);
	cr_assert(symlink("/bin/sleep", path) == 0);
	pid_t child = fork();
	if (child == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	wait_for_program(child, command, sizeof(command));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	temporary_remove(directory);
	cr_expect(eq(str, command, "bottleneck_test_with_a_long_name"));
}
