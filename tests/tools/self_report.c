// SPDX-License-Identifier: MIT
// self_report [--hz N] [--kernel] [--timers] --out FILE PROGRAM [ARG…]: what the agent tells of a
// program that samples itself. A line for each record:
//	sample PID TID TIME_NS WEIGHT_NS CPU_NS FLAGS FRAMES STACK_BYTES
//	python PID TIME_NS FLAGS
//	KIND PID TID, with KIND fork, thread, exit; note PID TEXT
//	end STATUS CPU_NS WALL_NS DROPPED DAMAGED UNSAMPLED
// Its output and status are the program's own.
#include "base/record.h"
#include "tests/support/agent_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void print_sample(FILE *out, const struct record_sample *sample)
{
	size_t stack = record_align(sample->stack_bytes);
	const char *tail = (const char *)(sample + 1) + (size_t)sample->kernel_count * 8 + stack;
	const struct python_chain *chain = (const struct python_chain *)tail;

	fprintf(out, "sample %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u\n",
	        sample->head.pid, sample->head.tid, sample->head.time_ns, sample->weight_ns,
	        sample->cpu_time_ns, sample->head.flags,
	        sample->head.flags & SAMPLE_PYTHON ? chain->count : 0, sample->stack_bytes);
}

static void visit(void *context, const struct record *record)
{
	FILE *out = context;

	switch (record->type) {
	case RECORD_SAMPLE:
		print_sample(out, (const struct record_sample *)record);
		break;
	case RECORD_PYTHON:
		fprintf(out, "python %u %" PRIu64 " %u\n", record->pid, record->time_ns,
		        record->flags);
		break;
	case RECORD_FORK:
		fprintf(out, "fork %u %u\n", record->pid, record->tid);
		break;
	case RECORD_THREAD:
		fprintf(out, "thread %u %u\n", record->pid, record->tid);
		break;
	case RECORD_EXIT:
		fprintf(out, "exit %u %u\n", record->pid, record->tid);
		break;
	case RECORD_NOTE:
		fprintf(out, "note %u %s\n", record->pid,
		        (const char *)((const struct record_note *)record + 1));
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	static struct agent_run run;
	struct agent_run_options options = { .visit = visit, .silent = true, .python_hz = 999 };
	const char *path = NULL;
	int at = 1;

	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
		if (strcmp(argv[at], "--hz") == 0 && at + 1 < argc)
			options.python_hz = (uint32_t)atoi(argv[++at]);
		else if (strcmp(argv[at], "--out") == 0 && at + 1 < argc)
			path = argv[++at];
		else if (strcmp(argv[at], "--timers") == 0)
			options.silent = false;
		else if (strcmp(argv[at], "--kernel") == 0)
			options.silent = !(options.kernel_only = true);
		else
			return 125;
	}
	FILE *out = path ? fopen(path, "w") : NULL;
	if (at >= argc || !out)
		return 125;
	options.context = out;
	agent_run(&run, &options, argv + at);
	fprintf(out, "end %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	        run.status, run.cpu_ns, run.wall_ns, run.dropped, run.damaged, run.unsampled);
	fclose(out);
	fputs(run.output, stdout);
	fflush(stdout);
	return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status);
}
