// SPDX-License-Identifier: MIT
// rung_report kernel|user|agent|proc PROGRAM [ARG…]: what the sampler hears on that rung.
#include "tests/support/rung_run.h"

#include <stdio.h>
#include <string.h>

static void print_thread(const struct rung_thread *t)
{
	printf("%-15s %u/%u life %.1f", t->name, t->process, t->tid,
	       (double)(t->end_ns - t->start_ns) / 1e6);
	for (int i = 0; i < METRIC_COUNT; i++)
		if (t->told_ns[i] || t->stack_ns[i])
			printf(", %s %.1f (stacks %.1f)", metric_key((enum metric)i),
			       (double)t->told_ns[i] / 1e6, (double)t->stack_ns[i] / 1e6);
	printf(", unknown %.1f, %u samples%s\n", (double)t->unknown_ns / 1e6, (unsigned)t->samples,
	       t->ended ? "" : ", NOT ENDED");
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "", "kernel", "user", "agent", "proc" };
	static struct rung_run run;
	int rung = 1;

	if (argc < 3)
		return 125;
	while (rung < 4 && strcmp(argv[1], names[rung]) != 0)
		rung++;
	rung_run(&run, (enum rung)rung, argv + 2);
	for (uint32_t i = 0; i < run.thread_count && i < 40; i++)
		print_thread(&run.threads[i]);
	printf("wall %.1f cpu %.1f (own %.1f) on %.1f unknown %.1f; %u processes, %u ended, %u execs; "
	       "%u samples, %u lost, %u truncated, %u probes; late %.1f; rung %d\n",
	       (double)run.wall_ns / 1e6, (double)run.cpu_ns / 1e6, (double)run.cpu_self_ns / 1e6,
	       (double)rung_on_cpu_ns(&run) / 1e6, (double)rung_unknown_ns(&run) / 1e6,
	       run.processes, run.processes_ended, run.execs, (unsigned)run.sampler.samples,
	       (unsigned)run.sampler.lost, (unsigned)run.sampler.truncated,
	       (unsigned)run.sampler.probes, (double)run.late_ns / 1e6, (int)run.sampler.rung);
	return 0;
}
