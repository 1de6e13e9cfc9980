// SPDX-License-Identifier: MIT
// agent_report [--without] [--hz N] PROGRAM [ARG…]: one line on what the agent saw of it.
#include "tests/support/agent_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	struct agent_run_options options = { 0 };
	static struct agent_run run;
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		options.without |= strcmp(argv[at], "--without") == 0;
		if (strcmp(argv[at], "--hz") == 0 && at + 1 < argc)
			options.hz = (uint32_t)atoi(argv[++at]);
	}
	if (at >= argc)
		return 125;
	agent_run(&run, &options, argv + at);
	fputs(run.output, stdout);
	fprintf(stderr,
	        "wall %.1f ms, cpu %.1f ms, weight %.1f ms (%.1f without stack), %" PRIu64
	        " samples of %" PRIu64 " bytes, %" PRIu64 " pids, %" PRIu64 " tids, %" PRIu64
	        " forks (%" PRIu64 " threads), %" PRIu64 " execs, %" PRIu64 " exits, %" PRIu64
	        " maps, %" PRIu64 " unsampled, %" PRIu64 " dropped, %" PRIu64
	        " damaged, widest %.1f ms\n",
	        (double)run.wall_ns / 1e6, (double)run.cpu_ns / 1e6, (double)run.weight_ns / 1e6,
	        (double)run.stackless_ns / 1e6, run.samples,
	        run.samples ? run.stack_bytes / run.samples : 0, run.pids, run.tids, run.forks,
	        run.thread_forks, run.execs, run.exits, run.maps, run.unsampled, run.dropped,
	        run.damaged, (double)run.widest_ns / 1e6);
	return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status);
}
