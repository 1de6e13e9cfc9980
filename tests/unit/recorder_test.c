// SPDX-License-Identifier: MIT
// The way from what the sampler finds out to the profile, without a process, a terminal or a clock.
#include "merge/record/recorder.h"

#include "base/op.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "tests/support/expect.h"
#include "tracer/protocol.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct modules *modules;
static struct ops *ops;
static struct profile *profile;
static struct recorder recorder;
static struct sampler_sink sink;
static uint32_t program, agent;

static uint32_t module(const char *path)
{
	const struct module wanted = { .kind = MODULE_ELF, .path = path, .fd = -1 };

	return modules_add(modules, &wanted, NULL)->id;
}

static void tell(struct sampled what)
{
	sink.take(sink.context, &what);
}

static void begin_thread(uint32_t number, const char *name)
{
	tell((struct sampled){ .kind = SAMPLED_THREAD,
	                       .thread = &(struct thread_event){ .thread = number,
	                                                         .process = 1,
	                                                         .tid = 100 + number,
	                                                         .time_ns = 1 * MS,
	                                                         .name = name } });
}

static void set_up(void)
{
	modules = modules_new();
	ops = ops_new();
	program = module("/bin/program");
	agent = module("/lib/" PROTOCOL_AGENT_LIBRARY);
	profile = profile_new(modules, NULL, NULL);
	profile_set_ops(profile, ops);
	recorder_init(&recorder, profile, modules, ops);
	sink = recorder_sink(&recorder);
	tell((struct sampled){
		.kind = SAMPLED_PROCESS,
		.process = &(struct process_event){
			.process = 1, .pid = 4000000, .time_ns = 1 * MS, .command = "program" } });
	begin_thread(1, "program");
}

static void tear_down(void)
{
	recorder_fini(&recorder);
	profile_free(profile);
	ops_free(ops);
	modules_free(modules);
}

TestSuite(recorder, .init = set_up, .fini = tear_down);

static void sample(uint32_t thread, uint64_t time_ns, uint32_t leaf, uint32_t caller)
{
	struct frame frames[] = { { .address = 0x1000, .module = leaf, .kind = FRAME_EXACT },
		                  { .address = 0x2000, .module = caller, .kind = FRAME_RETURN } };

	tell((struct sampled){ .kind = SAMPLED_STACK,
	                       .stack = &(struct stack){ .thread = thread,
	                                                 .metric = METRIC_ON_CPU,
	                                                 .time_ns = time_ns,
	                                                 .weight_ns = 1 * MS,
	                                                 .samples = 1,
	                                                 .count = 2,
	                                                 .frames = frames } });
}

static uint64_t recorded_cpu_ns(void)
{
	struct totals totals;

	query_totals(profile, &totals);
	return totals.on_cpu_ns;
}

// Whether all that has been recorded is in one row without a caller.
static bool is_alone(void)
{
	const struct query all = { .by = BY_FUNCTION };
	cleanup(call_tree) struct call_tree *tree = query_call_tree(profile, &all, 0, NULL);
	const struct call_node *row = tree ? call_tree_root(tree)->child : NULL;

	return row && !row->next && !row->child && row->self == row->total;
}

Test(recorder, samples_of_the_program_are_its_own)
{
	sample(1, 2 * MS, program, program);
	cr_expect(eq(u64, recorder_hooks_ns(&recorder), 0));
	cr_expect(eq(u64, recorded_cpu_ns(), 1 * MS));
}

Test(recorder, threads_of_the_agent_are_none_of_the_programs)
{
	begin_thread(2, "worker");
	begin_thread(2, PROTOCOL_OWN_THREAD); // it names itself
	begin_thread(2, "worker");            // and stays the agent's
	sample(2, 2 * MS, program, program);
	cr_expect(eq(u64, recorded_cpu_ns(), 0));
	cr_expect(eq(u64, recorder_hooks_ns(&recorder), 1 * MS));
}

Test(recorder, time_in_hooks_is_told_apart)
{
	sample(1, 2 * MS, agent, program);
	cr_expect(eq(u64, recorded_cpu_ns(), 1 * MS));
	cr_expect(eq(u64, recorder.hooks.ns[0], 1 * MS)); // whose they are its file would say
	cr_expect(is_alone(), "the caller has none of it");
}

Test(recorder, only_calls_of_the_range_are_recorded)
{
	struct op named = {
		.provider = OP_NVTX, .domain = "", .category = "", .name = "inference"
	};
	uint32_t op = ops_add(ops, &named)->id;

	recorded_init(&recorder.recorded, 0, 0, "infer*", ops);
	recorded_start(&recorder.recorded, 1 * MS);
	cr_expect(not(sink.wants(sink.context, 2 * MS)));
	sample(1, 2 * MS, program, program);
	tell((struct sampled){ .kind = SAMPLED_OP_BEGIN, .at = { op, 3 * MS } });
	sample(1, 4 * MS, program, program);
	cr_expect(sink.wants(sink.context, 4 * MS));
	tell((struct sampled){
		.kind = SAMPLED_OP,
		.op = &(struct op_event){
			.thread = 1, .op = op, .begin_ns = 3 * MS, .end_ns = 5 * MS } });
	sample(1, 6 * MS, program, program);
	cr_expect(eq(u64, recorded_cpu_ns(), 1 * MS));
}

Test(recorder, who_has_ended_does_not_run)
{
	const char *name;

	tell((struct sampled){ .kind = SAMPLED_PROCESS_END, .at = { 1, 9 * MS } });
	cr_expect(eq(u32, recorder_count_running(&recorder, 0, &name), 0));
	cr_expect(eq(str, (char *)name, ""));
}
