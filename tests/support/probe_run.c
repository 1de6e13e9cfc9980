// SPDX-License-Identifier: MIT
#include "tests/support/probe_run.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_program(const char *program, const char *way, int input, int output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	execl(program, program, way, NULL);
	_exit(127);
}

void probe_run_start(struct probe_run *run, const char *program, const char *way)
{
	int in[2], out[2];
	char line[64] = "";

	cr_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	run->pid = fork();
	if (run->pid == 0)
		run_program(program, way, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	run->input = in[1];
	run->output = out[0];
	cr_assert(read(run->output, line, sizeof(line) - 1) > 0, "%s %s", program, way);
	cr_assert(eq(int, sscanf(line, "%lx %lx", &run->main_start, &run->main_end), 2));
}

void probe_run_stop(struct probe_run *run)
{
	kill(run->pid, SIGKILL);
	waitpid(run->pid, NULL, 0);
	close(run->input);
	close(run->output);
}

void probe_run_pause(const struct probe_run *run)
{
	kill(run->pid, SIGSTOP);
}

bool probe_run_gave_up(const struct probe_run *run)
{
	siginfo_t info = { 0 };

	waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	return info.si_pid == run->pid && info.si_code == CLD_EXITED && info.si_status == 77;
}
