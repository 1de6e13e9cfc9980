// SPDX-License-Identifier: MIT
/*
 * ranks COUNT DIRECTORY: writes the profiles of so many ranks of one program, as "00000.bneck" and
 * so on, and what they add up to on standard output.
 *
 * They are alike as real ones are: the same functions with times of their own, from 250 hosts. Rank
 * COUNT / 2 works half a second more, in slow(), while the others wait.
 */
#include "base/clock.h"
#include "base/code.h"
#include "base/error.h"
#include "base/op.h"
#include "merge/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS     250
#define THREADS   4
#define FUNCTIONS 40
#define DEPTH     6
#define SAMPLES   100 // of each thread
#define CALLS     50
#define EXTRA_NS  (500 * NS_PER_MS)
#define EPOCH_NS  (1700000000 * (uint64_t)NS_PER_SEC)

struct sums {
	uint64_t on_cpu_ns, off_cpu_ns, samples, calls, call_ns;
};

static struct frame frame_of(struct codes *codes, const char *name, uint32_t line)
{
	const struct code code = { .file = "/app/train.py", .name = name, .first_line = line };

	return frame_of_python(codes_add(codes, &code), line + 1);
}

static void add_stack(struct profile *p, struct sums *sums, const struct stack *stack)
{
	profile_add_stack(p, stack);
	*(stack->metric == METRIC_ON_CPU ? &sums->on_cpu_ns : &sums->off_cpu_ns) +=
		stack->weight_ns;
	sums->samples += stack->samples;
}

// Paths through some of the functions: a rank and its threads have most of them in common.
static void add_samples(struct profile *p, struct codes *codes, uint32_t rank, uint32_t thread,
                        struct sums *sums)
{
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct frame frames[DEPTH];
		char name[32];
		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			uint32_t which = depth + 1 == DEPTH ? 0 : (i / 10 + thread) * (depth + 1);
			snprintf(name, sizeof(name), "function_%u", which % FUNCTIONS);
			frames[depth] = frame_of(codes, name, 10 * (which % FUNCTIONS));
		}
		add_stack(p, sums,
		          &(struct stack){ .thread = thread,
		                           .time_ns = NS_PER_SEC + (i * 5 + thread) * NS_PER_MS,
		                           .weight_ns = NS_PER_MS + (rank * 7 + i) % 1000,
		                           .samples = 1,
		                           .count = DEPTH,
		                           .frames = frames });
	}
}

static void add_difference(struct profile *p, struct codes *codes, bool slow, struct sums *sums)
{
	const struct frame frame =
		slow ? frame_of(codes, "slow", 500) : frame_of(codes, "MPI_Barrier", 600);

	add_stack(p, sums,
	          &(struct stack){ .thread = 1,
	                           .metric = slow ? METRIC_ON_CPU : METRIC_OFF_LOCK,
	                           .time_ns = 2 * NS_PER_SEC,
	                           .duration_ns = slow ? 0 : EXTRA_NS,
	                           .weight_ns = EXTRA_NS,
	                           .samples = 1,
	                           .count = 1,
	                           .frames = &frame });
}

static void add_calls(struct profile *p, uint32_t rank, struct sums *sums)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t begin_ns = NS_PER_SEC + i * 10 * NS_PER_MS;
		struct op_event event = { .thread = 1,
			                  .op = 1 + i % 5,
			                  .begin_ns = begin_ns,
			                  .end_ns = begin_ns + NS_PER_MS + rank * 3 % 999 };
		event.self_ns = event.end_ns - begin_ns;
		profile_add_op(p, &event);
		sums->calls++;
		sums->call_ns += event.self_ns;
	}
}

static void add_threads(struct profile *p, uint32_t rank)
{
	profile_add_process(p, &(struct process_event){ .process = 1,
	                                                .pid = 100 + rank % 64,
	                                                .time_ns = NS_PER_SEC,
	                                                .command = "train" });
	for (uint32_t thread = 1; thread <= THREADS; thread++) {
		char name[32] = "train";
		if (thread > 1)
			snprintf(name, sizeof(name), "worker %u", thread);
		profile_add_thread(p, &(struct thread_event){ .thread = thread,
		                                              .process = 1,
		                                              .tid = 99 + thread,
		                                              .time_ns = NS_PER_SEC,
		                                              .name = name });
	}
}

static void fill(struct profile *p, struct codes *codes, uint32_t rank, uint32_t count,
                 struct sums *sums)
{
	char host[32];
	struct run run = { .command = "train", .host = host };

	snprintf(host, sizeof(host), "node%03u", rank % HOSTS);
	run.has_rank = run.complete = run.kernel_stacks = run.off_cpu_exact = true;
	run.rank = rank;
	run.world = count;
	run.start_realtime_ns = EPOCH_NS + rank % 100 * NS_PER_MS;
	run.start_ns = NS_PER_SEC;
	run.wall_ns = 2 * NS_PER_SEC;
	run.cpus = THREADS;
	run.frequency_hz = 999;
	profile_set_run(p, &run, NULL);
	add_threads(p, rank);
	for (uint32_t thread = 1; thread <= THREADS; thread++)
		add_samples(p, codes, rank, thread, sums);
	add_difference(p, codes, rank == count / 2, sums);
	add_calls(p, rank, sums);
	run.samples = THREADS * SAMPLES + 1;
	profile_set_run(p, &run, NULL);
}

static int write_rank(const char *directory, uint32_t rank, uint32_t count, struct sums *sums,
                      struct error *err)
{
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(codes) struct codes *codes = codes_new();
	cleanup(ops) struct ops *ops = ops_new();
	char path[4096], name[32];

	if (!modules || !codes || !ops)
		return error_set(err, 0, "no memory");
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "step_%d", i);
		ops_add(ops,
		        &(struct op){
				.provider = OP_NVTX, .domain = "", .category = "", .name = name });
	}
	cleanup(profile) struct profile *p = profile_new(modules, NULL, err);
	if (!p)
		return -1;
	profile_set_codes(p, codes);
	profile_set_ops(p, ops);
	fill(p, codes, rank, count, sums);
	snprintf(path, sizeof(path), "%s/%05u.bneck", directory, rank);
	return profile_write(p, path, err);
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct sums sums = { 0 };
	struct error err = { 0 };

	if (!count) {
		fprintf(stderr, "usage: ranks COUNT DIRECTORY\n");
		return 2;
	}
	for (uint32_t rank = 0; rank < count; rank++) {
		if (write_rank(argv[2], rank, count, &sums, &err) == 0)
			continue;
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("on_cpu_ns %" PRIu64 "\noff_cpu_ns %" PRIu64 "\n", sums.on_cpu_ns, sums.off_cpu_ns);
	printf("samples %" PRIu64 "\ncalls %" PRIu64 "\ncall_ns %" PRIu64 "\n", sums.samples,
	       sums.calls, sums.call_ns);
	return 0;
}
