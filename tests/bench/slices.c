// SPDX-License-Identifier: MIT
/*
 * slices COUNT FILE: writes a profile with so many single calls of ops, nested and on four threads,
 * and prints what keeping one costs.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "merge/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 4
#define NAMES   20

static struct profile *start(struct modules *modules, const struct ops *ops, uint32_t limit)
{
	struct profile *p = profile_new(modules, NULL, NULL);

	if (!p)
		exit(1);
	profile_set_timeline(p, limit);
	profile_set_ops(p, ops);
	profile_add_process(p,
	                    &(struct process_event){ 1, 0, 100, NS_PER_SEC, false, "made", NULL });
	for (uint32_t i = 1; i <= THREADS; i++)
		profile_add_thread(p, &(struct thread_event){ i, 1, 99 + i, NS_PER_SEC, "made" });
	profile_set_run(p, &(struct run){ .command = "made", .start_ns = NS_PER_SEC }, NULL);
	return p;
}

// Five calls in one of 10 us, which ends last; each thread in turn.
static void fill(struct profile *p, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t step = i / 6, part = i % 6, begin_ns = 2 * NS_PER_SEC + step * 10000;
		struct op_event event = {
			.thread = 1 + (uint32_t)(step % THREADS),
			.op = 1 + (uint32_t)((step + part) % NAMES),
			.begin_ns = begin_ns + part * 1500 + i % 97,
			.end_ns = begin_ns + part * 1500 + 1100 + i * 7919 % 331,
		};
		if (part == 5) {
			event.begin_ns = begin_ns;
			event.end_ns = begin_ns + 9900;
		}
		profile_add_op(p, &event);
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static double cost_ns(struct profile *p, uint64_t count)
{
	uint64_t begin_ns = cpu_ns();

	fill(p, count);
	return (double)(cpu_ns() - begin_ns) / (double)count;
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(ops) struct ops *ops = ops_new();
	struct error err = { 0 };
	char name[32];

	if (!count || !modules || !ops) {
		fprintf(stderr, "usage: slices COUNT FILE\n");
		return 2;
	}
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "aten::op_%d", i);
		ops_add(ops,
		        &(struct op){
				.provider = OP_TORCH, .domain = "", .category = "", .name = name });
	}
	cleanup(profile) struct profile *without = start(modules, ops, 0);
	cleanup(profile) struct profile *with = start(modules, ops, PROFILE_TIMELINE_MAX);
	double plain_ns = cost_ns(without, count), kept_ns = cost_ns(with, count);
	printf("%.1f ns of CPU a call, %.1f ns of them to keep it\n", kept_ns, kept_ns - plain_ns);
	if (profile_write(with, argv[2], &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}
