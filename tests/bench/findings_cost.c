// SPDX-License-Identifier: MIT
// findings_cost [SERIES [FUNCTIONS [STACKS]]]: CPU time of all findings of a profile with so many
// series of calls, functions, and stacks of those. Prints a table.
#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query_warmup.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS 8
#define CALLS   200
#define DEPTH   20
#define ROUNDS  5

struct size {
	unsigned series, functions, stacks;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

// The same numbers in each run.
static uint32_t next(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33);
}

static void add_threads(struct profile *p)
{
	profile_add_process(p,
	                    &(struct process_event){ .process = 1, .pid = 100, .command = "app" });
	for (uint32_t t = 1; t <= THREADS; t++)
		profile_add_thread(
			p, &(struct thread_event){
				   .thread = t, .process = 1, .tid = 99 + t, .name = "worker" });
}

// SERIES ops, each of CALLS calls, the first of them slow.
static uint64_t add_ops(struct profile *p, struct ops *ops, unsigned series)
{
	uint64_t now = 0;
	char name[32];

	for (unsigned call = 0; call < CALLS; call++) {
		for (unsigned s = 0; s < series; s++) {
			struct op wanted = {
				.provider = OP_TORCH, .domain = "", .category = "", .name = name
			};
			snprintf(name, sizeof(name), "aten::op%u", s);
			uint64_t ns = (call ? 2000 : 20000) + next() % 500;
			profile_add_op(p, &(struct op_event){ .thread = 1 + s % THREADS,
			                                      .op = ops_add(ops, &wanted)->id,
			                                      .begin_ns = now,
			                                      .end_ns = now + ns,
			                                      .self_ns = ns });
			now += ns;
		}
	}
	return now;
}

static void add_stacks(struct profile *p, uint32_t module, const struct size *size, uint64_t end_ns)
{
	struct frame frames[DEPTH];

	for (unsigned i = 0; i < size->stacks; i++) {
		uint32_t at = next() % size->functions;
		for (int depth = 0; depth < DEPTH; depth++) {
			// Callers have small numbers, and few.
			frames[depth] = (struct frame){ 16 * (uint64_t)(at + 1), module,
				                        depth ? FRAME_RETURN : FRAME_EXACT };
			at = at * 3 / 4;
		}
		profile_add_stack(
			p, &(struct stack){ .thread = 1 + i % THREADS,
		                            .metric = i % 4 ? METRIC_ON_CPU : METRIC_OFF_LOCK,
		                            .time_ns = end_ns / size->stacks * i,
		                            .duration_ns = i % 4 ? 0 : NS_PER_MS,
		                            .weight_ns = NS_PER_MS,
		                            .samples = 1,
		                            .count = DEPTH,
		                            .frames = frames });
	}
}

static void name_functions(struct profile *p)
{
	char name[64], file[64];

	for (uint32_t id = 1; id <= p->locations.count; id++) {
		uint32_t at = (uint32_t)(p->locations.locations[id - 1].address / 16);
		snprintf(name, sizeof(name), "namespace::Class%u::function_%u(int)", at / 10, at);
		snprintf(file, sizeof(file), "/src/file%u.cc", at / 50);
		const struct place place = { .function = strings_add(p->strings, name),
			                     .file = strings_add(p->strings, file),
			                     .line = at };
		locations_name(&p->locations, id, &place, 1);
	}
}

static struct profile *make(struct modules *modules, struct ops *ops, const struct size *size)
{
	struct module app = { .kind = MODULE_ELF, .path = "/home/me/app", .fd = -1 };
	struct profile *p = profile_new(modules, NULL, NULL);

	profile_set_ops(p, ops);
	add_threads(p);
	uint64_t end_ns = add_ops(p, ops, size->series);
	add_stacks(p, modules_add(modules, &app, NULL)->id, size, end_ns);
	name_functions(p);
	profile_set_run(p,
	                &(struct run){ .wall_ns = end_ns,
	                               .cpus = 8,
	                               .command = "app",
	                               .frequency_hz = 999,
	                               .samples = size->stacks,
	                               .off_cpu_exact = true },
	                NULL);
	return p;
}

static void print(const char *what, uint64_t ns)
{
	printf("  %-28s %8.1f ms\n", what, (double)ns / (double)NS_PER_MS / ROUNDS);
}

int main(int argc, char **argv)
{
	const struct size size = {
		.series = argc > 1 ? (unsigned)atoi(argv[1]) : 5000,
		.functions = argc > 2 ? (unsigned)atoi(argv[2]) : 5000,
		.stacks = argc > 3 ? (unsigned)atoi(argv[3]) : 5000,
	};
	struct modules *modules = modules_new();
	struct ops *ops = ops_new();
	struct profile *p = make(modules, ops, &size);
	const struct query query = { .by = BY_FUNCTION };
	uint64_t all = 0, warmup = 0, evidence = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = cpu_ns();
		warmup_rows_free(query_warmup(p, &query, NULL));
		warmup += cpu_ns() - start;
		struct evidence e;
		start = cpu_ns();
		if (evidence_init(&e, p, &query, NULL) == 0)
			evidence_fini(&e);
		evidence += cpu_ns() - start;
		start = cpu_ns();
		findings_free(query_findings(p, &query, NULL, NULL));
		all += cpu_ns() - start;
	}
	printf("%u series of %u calls, %u functions, %u nodes\n", size.series, CALLS,
	       size.functions, p->paths.count);
	print("warm-up", warmup);
	print("all that rules ask", evidence);
	print("findings, with all of it", all);
	profile_free(p);
	ops_free(ops);
	modules_free(modules);
	return 0;
}
