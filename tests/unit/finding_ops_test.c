// SPDX-License-Identifier: MIT
// Rules on ops, and on processes and threads that are started.
#include "tests/unit/finding_fixture.h"

#include "merge/profile/profile_parts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NS_OF_CALL 20000000

TestSuite(finding_ops, .init = begin, .fini = end);

static uint32_t op_of(enum op_provider provider, const char *name)
{
	return ops_add(f.ops,
	               &(struct op){
			       .provider = provider, .domain = "", .category = "", .name = name })
	        ->id;
}

// CALLS of an op by LINE of train.py, NS each; the clock goes on. Line 0: nobody knows by whom.
static void call_op_at(uint32_t op, unsigned line, unsigned calls, uint64_t ns)
{
	struct frame caller;
	char place[32];

	snprintf(place, sizeof(place), "{step train.py:%u}", line);
	cr_assert_eq(frames_of(&f, place, &caller), 1);
	uint32_t chain = line ? codes_add_call(f.codes, 0, caller) : 0;
	while (calls--) {
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op,
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + ns,
		                                              .self_ns = ns,
		                                              .chain = chain });
		f.now_ns += ns;
	}
}

static void call_op(uint32_t op, unsigned calls, uint64_t ns)
{
	call_op_at(op, 0, calls, ns);
}

// A stack in OP, which LINE of train.py has begun.
static void add_call_in_op(uint32_t op, unsigned line, const char *called, uint64_t ms)
{
	struct frame frames[3];
	char stack[64];

	snprintf(stack, sizeof(stack), "{step train.py:%u} > %s@libc", line, called);
	cr_assert_eq(frames_of(&f, stack, frames), 2);
	frames[2] = frames[1];
	frames[1] = (struct frame){ op, 0, FRAME_OP };
	profile_add_stack(f.profile, &(struct stack){ .thread = 1,
	                                              .metric = METRIC_ON_CPU,
	                                              .time_ns = f.now_ns,
	                                              .weight_ns = ms * MS,
	                                              .samples = 1,
	                                              .count = 3,
	                                              .frames = frames });
}

static void add_in_op(uint32_t op, unsigned line, uint64_t ms)
{
	add_call_in_op(op, line, "kernel", ms);
}

Test(finding_ops, without_ops_they_are_not_asked)
{
	static const char *const ids[] = { "OP-TINY", "OP-COPY",   "OP-DOUBLE", "OP-LOADER",
		                           "OP-SYNC", "OP-SHAPES", "OP-LIST",   "OP-CAT" };

	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		cr_expect_eq(answer_of_rule(findings, ids[i])->state, RULE_UNKNOWN, "%s", ids[i]);
}

// An op whose stacks take a share of a second: at the threshold of ID, and above it.
static void expect_op(const char *id, enum op_provider provider, const char *name)
{
	uint64_t threshold = (uint64_t)(10 * rule_at(rule_find(id))->threshold);

	for (uint64_t ms = threshold; ms <= threshold + 2; ms += 2) {
		end();
		begin();
		uint32_t op = op_of(provider, name);
		call_op(op, 10, NS_OF_CALL);
		add_in_op(op, 7, ms);
		add(&f, 1, METRIC_ON_CPU, 1000 - ms, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, id);
		cr_expect_eq(finding != NULL, ms > threshold, "%s: %lu ms", id, (unsigned long)ms);
		cr_expect(!finding || finding->line == 7, "%s", id);
	}
}

Test(finding_ops, ops_that_copy_and_ops_in_double_precision)
{
	expect_op("OP-COPY", OP_TORCH, "aten::copy_");
	expect_op("OP-DOUBLE", OP_BLAS, "dgemm_");
	expect_op("OP-DOUBLE", OP_BLAS, "cblas_dgemm");
}

// As of a convolution that lays out its input anew.
Test(finding_ops, what_linear_algebra_copies_is_its_own_work)
{
	static const struct {
		enum op_provider provider;
		const char *name;
		bool copies;
	} ops[] = { { OP_TORCH, "aten::conv2d", false },
		    { OP_TORCH, "aten::_slow_conv2d_forward", false },
		    { OP_BLAS, "dgemm_", false },
		    { OP_TORCH, "aten::index", true } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		end();
		begin();
		uint32_t op = op_of(ops[i].provider, ops[i].name);
		call_op(op, 10, NS_OF_CALL);
		add_call_in_op(op, 7, "memmove", 1000);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "MEM-COPY") != NULL, ops[i].copies, "%s",
		             ops[i].name);
	}
}

Test(finding_ops, single_precision_is_none)
{
	uint32_t op = op_of(OP_BLAS, "cblas_sgemm");

	call_op(op, 10, NS_OF_CALL);
	add_in_op(op, 7, 1000);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "OP-DOUBLE"));
	cr_expect_null(finding_of(findings, "OP-COPY"));
}

Test(finding_ops, tiny_ops_with_what_is_around_them)
{
	for (uint64_t ms = 200; ms <= 210; ms += 10) {
		end();
		begin();
		uint32_t op = op_of(OP_TORCH, "aten::add");
		call_op(op, 20000, 2000);
		add_in_op(op, 7, 20);
		// The line that calls them does more than that.
		add(&f, 1, METRIC_ON_CPU, ms - 20, "{step train.py:7}");
		add(&f, 1, METRIC_ON_CPU, 1000 - ms, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-TINY");
		cr_expect_eq(finding != NULL, ms > 200, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || finding->line == 7);
	}
}

// What the line does for another reason has a rule of its own.
Test(finding_ops, tiny_ops_are_not_why_stacks_are_formatted)
{
	uint32_t op = op_of(OP_TORCH, "aten::add");

	call_op(op, 20000, 2000);
	add_in_op(op, 7, 20);
	add(&f, 1, METRIC_ON_CPU, 280, "{step train.py:7}");
	add(&f, 1, METRIC_ON_CPU, 500,
	    "{step train.py:7} > torch::autograd::PyAnomalyMetadata::store_stack()@libc");
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *tiny = finding_of(findings, "OP-TINY");
	const struct finding *stacks = finding_of(findings, "PY-INSPECT");
	cr_assert(tiny && stacks);
	cr_expect_eq(tiny->saving_ns, 300 * MS);
	cr_expect_eq(stacks->saving_ns, 500 * MS);
}

// Most of these are not recorded, and so is no sample in them.
Test(finding_ops, tiny_ops_are_at_the_lines_that_call_them_where_no_sample_hit_one)
{
	for (unsigned line = 7; line <= 8; line++) {
		end();
		begin();
		call_op_at(op_of(OP_BLAS, "cblas_ddot"), line, 20000, 50);
		add(&f, 1, METRIC_ON_CPU, 600, "{step train.py:7}");
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-TINY");
		cr_expect_eq(finding != NULL, line == 7, "called at line %u", line);
		cr_expect(!finding || finding->line == 7);
	}
}

Test(finding_ops, few_or_long_calls_are_not_tiny)
{
	uint32_t few = op_of(OP_TORCH, "aten::add"), large = op_of(OP_TORCH, "aten::mul");

	call_op(few, 100, 2000);
	call_op(large, 20000, 20000);
	add_in_op(few, 7, 500);
	add_in_op(large, 8, 500);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "OP-TINY"));
}

// Others had the CPU during a few of them.
Test(finding_ops, tiny_ops_are_tiny_on_a_busy_machine_too)
{
	for (unsigned slow = 1000; slow <= 8000; slow += 7000) {
		end();
		begin();
		uint32_t op = op_of(OP_TORCH, "aten::add");
		call_op(op, 20000, 2000);
		call_op(op, slow, 300000);
		add_in_op(op, 7, 400);
		add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "OP-TINY") != NULL, slow == 1000, "%u", slow);
	}
}

// Python takes a while for each call: where it takes none, a library has made them within one call.
Test(finding_ops, tiny_ops_that_a_library_calls_are_part_of_its_call)
{
	for (uint64_t ms = 0; ms <= 40; ms += 40) {
		end();
		begin();
		uint32_t op = op_of(OP_BLAS, "dgemv_");
		call_op(op, 1000000, 200);
		add_in_op(op, 7, 300);
		add(&f, 1, METRIC_ON_CPU, 500, "{step train.py:7} > factor@libc");
		add(&f, 1, METRIC_ON_CPU, 200 - ms, "main a.c:3 > work a.c:5");
		if (ms)
			add(&f, 1, METRIC_ON_CPU, ms, "{step train.py:7}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "OP-TINY") != NULL, ms > 0, "%lu ms",
		             (unsigned long)ms);
	}
}

// What a line does beside them is more: to call fewer of them would not help.
Test(finding_ops, tiny_ops_beside_long_ones_are_not_the_lines_trouble)
{
	for (uint64_t ms = 390; ms <= 410; ms += 20) {
		end();
		begin();
		uint32_t tiny = op_of(OP_TORCH, "aten::add"),
			 long_one = op_of(OP_TORCH, "aten::mm");
		call_op(tiny, 20000, 2000);
		call_op(long_one, 20000, 30000);
		add_in_op(tiny, 7, 400);
		add_in_op(long_one, 7, ms);
		add(&f, 1, METRIC_ON_CPU, 200, "{step train.py:7}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "OP-TINY") != NULL, ms < 400, "%lu ms",
		             (unsigned long)ms);
	}
}

Test(finding_ops, tensors_that_are_joined_again_and_again)
{
	for (unsigned calls = 10; calls <= 50; calls += 40) {
		end();
		begin();
		uint32_t op = op_of(OP_TORCH, "aten::cat");
		call_op(op, calls, 5 * MS);
		add_in_op(op, 7, 210);
		add(&f, 1, METRIC_ON_CPU, 790, "{step train.py:9}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-CAT");
		cr_expect_eq(finding != NULL, calls > 30, "%u calls", calls);
		cr_expect(!finding || finding->line == 7);
	}
}

// aten::bmm calls aten::select for each of its matrices: that is its own business.
Test(finding_ops, tiny_ops_of_a_large_one_are_not_the_callers)
{
	uint32_t outer = op_of(OP_TORCH, "aten::bmm"), inner = op_of(OP_TORCH, "aten::select");

	call_op(outer, 20, 20 * MS);
	for (int i = 0; i < 20000; i++)
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = inner,
		                                              .parent = outer,
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + 2000,
		                                              .self_ns = 2000 });
	add_in_op(inner, 7, 1000);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "OP-TINY"));
}

Test(finding_ops, the_next_batch)
{
	for (uint64_t ms = 50; ms <= 60; ms += 10) {
		end();
		begin();
		uint32_t op = op_of(OP_TORCH,
		                    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
		call_op(op, 1, ms * MS);
		add(&f, 1, METRIC_ON_CPU, 1000, "{step train.py:7}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "OP-LOADER") != NULL, ms > 50, "%lu ms",
		             (unsigned long)ms);
	}
}

// The loader's call took half of the run, and waited for a CPU for nearly all of that.
Test(finding_ops, what_others_had_of_the_cpus_is_not_the_loaders)
{
	uint32_t op = op_of(OP_TORCH, "enumerate(DataLoader)#_Multi");

	call_op(op, 1, 500 * MS);
	add(&f, 1, METRIC_OFF_RUNNABLE, 400,
	    "{step train.py:7} > {__next__ /usr/lib/python3.11/torch/utils/data/dataloader.py:628}");
	add(&f, 1, METRIC_ON_CPU, 600, "{step train.py:7}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "OP-LOADER");
	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->share, 100. / 600, 0.001, "%f", finding->share);
}

// A third of it is what it takes to solve the equations.
Test(finding_ops, inverses_of_matrices)
{
	for (uint64_t ms = 300; ms <= 330; ms += 30) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, ms,
		    "{fit train.py:7} > {inv /usr/lib/python3.11/numpy/linalg/_linalg.py:538}");
		add(&f, 1, METRIC_ON_CPU, 1000 - ms, "{fit train.py:8}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-INVERSE");
		cr_expect_eq(finding != NULL, ms > 300, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || (finding->line == 7 && finding->saving_ns == 220 * MS));
	}
}

Test(finding_ops, tensors_of_lists)
{
	for (uint64_t ms = 200; ms <= 210; ms += 10) {
		end();
		begin();
		call_op(op_of(OP_TORCH, "aten::mm"), 1, 300 * MS);
		add(&f, 1, METRIC_ON_CPU, ms,
		    "{batch train.py:7} > torch::utils::tensor_ctor@libc");
		add(&f, 1, METRIC_ON_CPU, 1000 - ms, "{fit train.py:8}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-LIST");
		cr_expect_eq(finding != NULL, ms > 200, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || finding->line == 7);
	}
}

#define LIBRARY     "/usr/lib/python3/"
#define WORKER_LOOP "{_worker_loop " LIBRARY "torch/utils/data/_utils/worker.py:290}"

// COUNT workers, each of which works, sleeps, is given work, and waits for a CPU for so many
// ms.
static void run_workers(uint32_t count, uint64_t work, uint64_t asleep, uint64_t idle,
                        uint64_t runnable)
{
	for (uint32_t i = 0; i < count; i++) {
		add_process(&f, 2 + i, 200 + i, "python3");
		add_thread(&f, 2 + i, 2 + i, 200 + i, "python3");
		add(&f, 2 + i, METRIC_ON_CPU, work, WORKER_LOOP " > {decode train.py:4}");
		add(&f, 2 + i, METRIC_OFF_SLEEP, asleep, WORKER_LOOP " > {decode train.py:4}");
		add(&f, 2 + i, METRIC_OFF_RUNNABLE, runnable, WORKER_LOOP " > {decode train.py:4}");
		add(&f, 2 + i, METRIC_OFF_PIPE, idle,
		    WORKER_LOOP " > {Queue.get " LIBRARY
		                "multiprocessing/queues.py:113} > poll@libc");
	}
}

Test(finding_ops, advice_for_the_workers_of_a_loader)
{
	static const struct {
		uint32_t workers;
		uint64_t work, asleep, idle, runnable;
		uint32_t cpus;
		const char *advice;
	} cases[] = {
		{ 0, 0, 0, 0, 0, 8, "num_workers=7" },
		{ 0, 0, 0, 0, 0, 1, "With one CPU" },
		{ 2, 900, 0, 100, 0, 8, "2 workers are busy for 90 %" },
		{ 2, 900, 0, 100, 0, 8, "(num_workers=8)" },
		{ 1, 900, 0, 100, 0, 8, "1 worker is busy for 90 % of its time: use" },
		{ 8, 900, 0, 100, 0, 8, "there are 8 CPUs: more of them will not help" },
		{ 2, 500, 0, 100, 400, 8, "there are 8 CPUs: more of them will not help" },
		{ 8, 300, 0, 700, 0, 2, "there are 2 CPUs: more of them will not help" },
		{ 2, 100, 0, 900, 0, 8, "10 % of their time: more will not help" },
		// Who waits leaves the CPUs to others.
		{ 2, 0, 900, 100, 0, 2, "(num_workers=4)" },
		{ 4, 500, 400, 100, 0, 3, "(num_workers=5)" },
		{ 4, 500, 400, 100, 0, 2, "there are 2 CPUs: more of them will not help" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		end();
		begin();
		call_op(op_of(OP_TORCH, cases[i].workers ? "enumerate(DataLoader)#_Multi"
		                                         : "enumerate(DataLoader)#_SingleProcess"),
		        1, 600 * MS);
		run_workers(cases[i].workers, cases[i].work, cases[i].asleep, cases[i].idle,
		            cases[i].runnable);
		add(&f, 1, METRIC_ON_CPU, 1000, "{step train.py:7}");
		finish(1000, cases[i].cpus);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-LOADER");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect(strstr(finding->advice, cases[i].advice) != NULL, "row %zu: %s", i,
		          finding->advice);
	}
}

// In the training process below the loader's call, in a worker below its loop.
Test(finding_ops, the_line_that_makes_the_samples)
{
	static const char *const below[] = { "{step train.py:7} > {__next__ " LIBRARY
		                             "torch/utils/data/dataloader.py:628} > ",
		                             "{step train.py:7} > {start " LIBRARY
		                             "multiprocessing/process.py:121} > " WORKER_LOOP
		                             " > " };

	for (size_t i = 0; i < 2; i++) {
		char decode[200], open[200];
		end();
		begin();
		call_op(op_of(OP_TORCH, "enumerate(DataLoader)#_Any"), 1, 600 * MS);
		snprintf(decode, sizeof(decode), "%s{decode pictures.py:4}", below[i]);
		snprintf(open, sizeof(open), "%s{open pictures.py:2}", below[i]);
		add(&f, 1, METRIC_ON_CPU, 400, decode);
		add(&f, 1, METRIC_OFF_FILE, 100, open);
		add(&f, 1, METRIC_OFF_PIPE, 400, "{step train.py:7} > poll@libc");
		finish(900, 8);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-LOADER");
		cr_assert(finding != NULL);
		cr_expect(strstr(finding->fact, "most of it for decode (pictures.py:4), in"), "%s",
		          finding->fact);
		cr_expect_eq(finding->line, 4);
		cr_expect_str_eq(finding->rows[1].callee, "enumerate(DataLoader)#_Any");
	}
}

// EPOCHS of 100 ms, each with a new worker.
static const char *advice_after_epochs(uint32_t epochs, uint64_t work_ms, uint64_t runnable_ms)
{
	static char advice[400];

	end();
	begin();
	call_op(op_of(OP_TORCH, "enumerate(DataLoader)#_Multi"), 1, 600 * MS);
	for (uint32_t epoch = 0; epoch < epochs; epoch++) {
		add_process(&f, 2 + epoch, 200 + epoch, "python3");
		add_thread(&f, 2 + epoch, 2 + epoch, 200 + epoch, "python3");
		add(&f, 2 + epoch, METRIC_ON_CPU, work_ms, WORKER_LOOP " > {decode train.py:4}");
		add(&f, 2 + epoch, METRIC_OFF_RUNNABLE, runnable_ms,
		    WORKER_LOOP " > {decode train.py:4}");
		add(&f, 2 + epoch, METRIC_OFF_PIPE, 100 - work_ms - runnable_ms,
		    WORKER_LOOP " > {get /x/multiprocessing/queues.py:113}");
		f.now_ns += 100 * MS;
		profile_end_thread(f.profile, &(struct thread_end){ .thread = 2 + epoch,
		                                                    .time_ns = f.now_ns });
	}
	add(&f, 1, METRIC_ON_CPU, 1000, "{step train.py:7}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "OP-LOADER");
	cr_assert(finding != NULL);
	snprintf(advice, sizeof(advice), "%s", finding->advice);
	return advice;
}

// However busy they are, and whether they get CPUs: of so short an epoch their start is much.
Test(finding_ops, workers_of_each_epoch)
{
	static const struct {
		uint64_t work_ms, runnable_ms;
		const char *busy;
	} table[] = { { 10, 0, "10 %" }, { 90, 0, "90 %" }, { 40, 40, "80 %" } };
	char expected[200];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *advice = advice_after_epochs(3, table[i].work_ms, table[i].runnable_ms);
		snprintf(expected, sizeof(expected),
		         "1 worker is busy for %s of its time, and 3 were started, one after "
		         "another: persistent_workers=True",
		         table[i].busy);
		cr_expect(strstr(advice, expected) != NULL, "%s", advice);
	}
	cr_expect(strstr(advice_after_epochs(1, 90, 0), "use more (num_workers=2)") != NULL);
}

Test(finding_ops, values_from_the_gpu)
{
	for (unsigned waits = 3; waits <= 4; waits++) {
		end();
		begin();
		call_op(op_of(OP_CUDA, "cudaLaunchKernel"), 1, MS);
		call_op(op_of(OP_TORCH, "aten::item"), waits, 20 * MS);
		call_op(op_of(OP_TORCH, "aten::mm"), 1, (1999 - 20 * waits) * MS);
		add(&f, 1, METRIC_ON_CPU, 2000, "{step train.py:7}");
		finish(2000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-SYNC");
		cr_expect_eq(finding != NULL, waits > 3, "%u", waits);
		if (finding)
			cr_expect_eq(finding->saving_ns, 80 * MS, "%lu",
			             (unsigned long)finding->saving_ns);
	}
}

// Without a GPU item() is cheap, and waits for nothing.
Test(finding_ops, values_without_a_gpu)
{
	call_op(op_of(OP_TORCH, "aten::item"), 10, 10 * MS);
	add(&f, 1, METRIC_ON_CPU, 1000, "{step train.py:7}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "OP-SYNC"));
	cr_expect_eq(answer_of_rule(findings, "OP-SYNC")->state, RULE_UNKNOWN);
}

static void call_with_shapes(enum op_provider provider, const char *name, unsigned shapes)
{
	uint32_t op = op_of(provider, name);

	for (unsigned i = 0; i < shapes; i++) {
		const uint64_t details[] = { 100 + i, 100, 100 };
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op,
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + MS,
		                                              .self_ns = MS,
		                                              .detail = OP_DETAIL_SHAPE,
		                                              .detail_count = 3,
		                                              .details = details });
		f.now_ns += MS;
	}
	add(&f, 1, METRIC_ON_CPU, 1000, "{step train.py:7}");
	finish(1000, 2);
}

// BLAS makes nothing for a shape; what ITT is given is any numbers.
Test(finding_ops, shapes_for_which_nothing_is_made)
{
	static const struct {
		enum op_provider provider;
		const char *name;
	} ops[] = { { OP_BLAS, "cblas_sgemm" }, { OP_ITT, "omp_metadata_imbalance" } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		end();
		begin();
		call_with_shapes(ops[i].provider, ops[i].name, 20);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_null(finding_of(findings, "OP-SHAPES"), "%s", ops[i].name);
	}
}

Test(finding_ops, an_op_with_many_shapes)
{
	for (unsigned shapes = 10; shapes <= 11; shapes++) {
		end();
		begin();
		call_with_shapes(OP_TORCH, "aten::mm", shapes);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "OP-SHAPES");
		cr_expect_eq(finding != NULL, shapes > 10, "%u", shapes);
		cr_expect(!finding || finding->value == shapes);
	}
}

// One that lives for LIFE_MS while the main thread waits.
static void start_process(unsigned process, const char *name, uint64_t life_ms)
{
	add_process(&f, process, 198 + process, name);
	add_thread(&f, process, process, 198 + process, name);
	add(&f, 1, METRIC_OFF_CHILD, life_ms, "main a.c:3 > run a.c:9 > wait4@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > run a.c:8 > posix_spawn@libc");
	f.now_ns += life_ms * MS;
	profile_end_thread(f.profile,
	                   &(struct thread_end){ .thread = process, .time_ns = f.now_ns });
	profile_end_process(f.profile, process, f.now_ns);
}

// COUNT processes, one after the other; all but OTHERS are basename.
static void start_processes(unsigned count, unsigned others, uint64_t life_ms)
{
	for (unsigned i = 0; i < count; i++)
		start_process(2 + i, i < others ? "dirname" : "basename", life_ms);
	finish(1000, 2);
}

Test(finding_ops, many_short_processes)
{
	static const struct {
		unsigned count;
		uint64_t life_ms;
		bool fires;
	} table[] = { { 40, 20, true }, { 40, 4, false }, { 10, 80, false }, { 5, 190, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		start_processes(table[i].count, 1, table[i].life_ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-SPAWN");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || finding->line == 8);
		cr_expect(!finding || strstr(finding->fact, "(39 of them basename)"), "%s",
		          finding ? finding->fact : "");
	}
}

// On a busy machine they wait for a CPU for most of their lives.
Test(finding_ops, processes_that_wait_for_a_cpu_are_short)
{
	for (int waits = 0; waits <= 1; waits++) {
		end();
		begin();
		for (unsigned process = 2; process < 42; process++) {
			struct thread_end last = { .thread = process, .exact = true };
			add_process(&f, process, 198 + process, "basename");
			add_thread(&f, process, process, 198 + process, "basename");
			add(&f, 1, METRIC_OFF_CHILD, 200, "main a.c:3 > run a.c:9 > wait4@libc");
			f.now_ns += 200 * MS;
			last.time_ns = f.now_ns;
			last.ns[METRIC_OFF_RUNNABLE] = waits ? 180 * MS : 0;
			profile_end_thread(f.profile, &last);
			profile_end_process(f.profile, process, f.now_ns);
		}
		finish(10000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-SPAWN");
		cr_assert_eq(finding != NULL, waits);
		cr_expect(!finding || strstr(finding->fact, "live for 200.0 ms"), "%s",
		          finding ? finding->fact : "");
	}
}

Test(finding_ops, short_processes_of_several_names)
{
	start_processes(40, 15, 20);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SPAWN");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "(25 of them basename, 15 dirname)"), "%s", finding->fact);
}

Test(finding_ops, short_processes_of_one_name)
{
	start_processes(40, 0, 20);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SPAWN");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "40 processes of basename, which"), "%s", finding->fact);
}

// For a program that starts others, the advice is how to start fewer.
static void start_children(const char *starter, unsigned count)
{
	profile_add_process(f.profile, &(struct process_event){ .process = 2,
	                                                        .parent = 1,
	                                                        .pid = 200,
	                                                        .time_ns = f.now_ns,
	                                                        .command = starter });
	add_thread(&f, 2, 2, 200, starter);
	for (unsigned i = 0; i < count; i++) {
		profile_add_process(f.profile, &(struct process_event){ .process = 3 + i,
		                                                        .parent = 2,
		                                                        .pid = 201 + i,
		                                                        .time_ns = f.now_ns,
		                                                        .command = "basename" });
		add(&f, 1, METRIC_OFF_CHILD, 20, "main@bash > wait4@libc");
		f.now_ns += 20 * MS;
		profile_end_process(f.profile, 3 + i, f.now_ns);
	}
}

Test(finding_ops, short_processes_of_a_starter)
{
	static const struct {
		const char *starter, *script, *other, *fact, *advice;
	} rows[] = {
		{ "xargs", "names.sh:2", NULL, ", most by xargs at names.sh:2 (40 of them)",
		  "-n, -L and -I of xargs" },
		{ "xargs", "names.sh:2", "names.sh:7", ", most by xargs (40 of them)",
		  "-n, -L and -I of xargs" },
		{ "find", NULL, NULL, ", most by find (40 of them)", "End -exec with +" },
		{ "run.sh", "names.sh:2", NULL, ", most in names.sh:2 (1 of them)",
		  "Do the work within the program" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end();
		begin();
		if (rows[i].script)
			call_op(op_of(OP_SHELL, rows[i].script), 1, MS);
		if (rows[i].other)
			call_op(op_of(OP_SHELL, rows[i].other), 1, MS);
		start_children(rows[i].starter, 40);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-SPAWN");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect(strstr(finding->fact, rows[i].fact), "row %zu: %s", i, finding->fact);
		cr_expect(strstr(finding->advice, rows[i].advice), "row %zu: %s", i,
		          finding->advice);
	}
}

// Children that work are no waste: what is left for starting them is what else they take.
Test(finding_ops, processes_that_work_are_waited_for_with_reason)
{
	static const struct {
		uint64_t work_ms;
		const char *stack;
		bool fires;
	} table[] = { { 18, "merge b.c:9", false },
		      { 18, "main b.c:3 > do_syscall_64@kernel", true },
		      { 18, "main b.c:3 > close@libc > do_syscall_64@kernel", false },
		      { 18, "_dl_start@ld", true },
		      { 2, "merge b.c:9", true },
		      { 0, "merge b.c:9", true } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		for (unsigned k = 0; k < 40; k++) {
			start_process(2 + k, "sort", 20);
			add(&f, 2 + k, METRIC_ON_CPU, table[i].work_ms, table[i].stack);
		}
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "CPU-SPAWN") != NULL, table[i].fires, "row %zu",
		             i);
	}
}

static void pass(uint32_t thread, uint64_t from_ns, uint64_t to_ns, enum thread_state state,
                 enum thread_state next, enum metric cause)
{
	const struct span_event span = { .thread = thread,
		                         .from_ns = from_ns,
		                         .to_ns = to_ns,
		                         .state = state,
		                         .next = next,
		                         .cause = cause };

	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
}

// A child of the first process that is blocked for CAUSE nearly all its life, in which that waits
// for it in WAIT.
static void wait_for_child_in(uint32_t child, enum metric cause, const char *stack,
                              const char *wait)
{
	const uint64_t from_ns = f.now_ns, to_ns = from_ns + 50 * MS;

	profile_take(f.profile,
	             &(struct sampled){ .kind = SAMPLED_PROCESS,
	                                .process = &(struct process_event){ .process = child,
	                                                                    .parent = 1,
	                                                                    .pid = 198 + child,
	                                                                    .time_ns = from_ns,
	                                                                    .command = "sleep" } });
	profile_take(f.profile,
	             &(struct sampled){ .kind = SAMPLED_THREAD,
	                                .thread = &(struct thread_event){ .thread = child,
	                                                                  .process = child,
	                                                                  .tid = 198 + child,
	                                                                  .time_ns = from_ns,
	                                                                  .name = "sleep" } });
	pass(1, from_ns, from_ns, THREAD_RUNS, THREAD_BLOCKED, METRIC_OFF_OTHER);
	pass(child, from_ns, from_ns, THREAD_READY, THREAD_BLOCKED, METRIC_OFF_OTHER);
	add(&f, child, cause, 50, stack);
	add(&f, 1, METRIC_OFF_CHILD, 50, wait);
	f.now_ns = to_ns;
	pass(child, from_ns, to_ns, THREAD_BLOCKED, THREAD_RUNS, cause);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_THREAD_END,
	                                           .thread_end = &(struct thread_end){
							   .thread = child, .time_ns = to_ns } });
	profile_end_process(f.profile, child, to_ns);
	pass(1, from_ns, to_ns, THREAD_BLOCKED, THREAD_RUNS, METRIC_OFF_CHILD);
}

static void wait_for_child(uint32_t child, enum metric cause, const char *stack)
{
	wait_for_child_in(child, cause, stack, "main a.c:3 > run a.c:9 > wait4@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > run a.c:8 > posix_spawn@libc");
}

// Wall time has the children's own work where their parent waits for them.
Test(finding_ops, the_import_of_what_starts_processes_starts_none)
{
#define PY "/usr/lib/python3.11/subprocess.py:"
	add(&f, 1, METRIC_ON_CPU, 40,
	    "{<module> a.py:1} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
	    "{<module> " PY "46}");
	for (uint32_t k = 0; k < 40; k++)
		wait_for_child_in(2 + k, METRIC_OFF_FILE, "main b.c:3 > openat@libc",
		                  k % 4 ? "{run a.py:7} > {Popen.__init__ " PY "1026}"
		                        : "{run a.py:9} > {Popen.wait " PY "1264}");
	profile_end_wall(f.profile, f.now_ns);
	finish(2000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SPAWN");
	cr_assert_not_null(finding);
	cr_expect_eq(finding->line, 7, "line %d", finding->line);
#undef PY
}

// A script that polls starts `sleep` again and again; to sleep by itself would take as long.
Test(finding_ops, what_children_sleep_is_not_what_starting_them_takes)
{
	static const struct {
		enum metric cause;
		const char *stack;
		bool fires;
	} table[] = { { METRIC_OFF_SLEEP, "main b.c:3 > nanosleep@libc", false },
		      { METRIC_OFF_NET, "main b.c:3 > poll@libc", false },
		      { METRIC_OFF_FILE, "main b.c:3 > openat@libc", true } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		for (uint32_t k = 0; k < 40; k++)
			wait_for_child(2 + k, table[i].cause, table[i].stack);
		profile_end_wall(f.profile, f.now_ns);
		finish(2000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "CPU-SPAWN") != NULL, table[i].fires, "row %zu",
		             i);
	}
}

static void start_threads(unsigned count, uint64_t life_ms, uint64_t work_ms)
{
	for (unsigned i = 0; i < count; i++) {
		add_thread(&f, 2 + i, 1, 200 + i, "short");
		add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > run a.c:8 > pthread_create@libc");
		if (work_ms)
			add(&f, 2 + i, METRIC_ON_CPU, work_ms, "work a.c:9");
		f.now_ns += life_ms * MS;
		profile_end_thread(f.profile,
		                   &(struct thread_end){ .thread = 2 + i, .time_ns = f.now_ns });
	}
	finish(1000, 2);
}

Test(finding_ops, many_short_threads)
{
	static const struct {
		unsigned count;
		uint64_t life_ms, work_ms;
		bool fires;
	} table[] = { { 300, 3, 0, true },
		      { 100, 3, 0, false },
		      { 300, 20, 0, false },
		      { 300, 3, 1, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		start_threads(table[i].count, table[i].life_ms, table[i].work_ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-THREADS");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || finding->line == 8);
	}
}

// What MPI takes to begin and to end is not what ranks wait for.
Test(finding_ops, time_in_mpi)
{
	for (uint64_t ms = 150; ms <= 160; ms += 10) {
		end();
		begin();
		call_op(op_of(OP_MPI, "MPI_Init"), 1, 400 * MS);
		call_op(op_of(OP_MPI, "MPI_Allreduce"), 10, ms * MS / 10);
		call_op(op_of(OP_BLAS, "dgemm"), 1, (500 - ms) * MS);
		call_op(op_of(OP_MPI, "MPI_Finalize"), 1, 100 * MS);
		add(&f, 1, METRIC_ON_CPU, 500 - ms, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MPI-TIME");
		cr_expect_eq(finding != NULL, ms > 150, "%lu: %g", (unsigned long)ms,
		             answer_of_rule(findings, "MPI-TIME")->value);
		cr_expect(!finding || strstr(finding->fact, "10 MPI calls, mostly MPI_Allreduce"));
	}
}

Test(finding_ops, without_mpi_nobody_asks)
{
	call_op(op_of(OP_BLAS, "dgemm"), 10, 50 * MS);
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_not(answer_of_rule(findings, "MPI-TIME")->asked);
	cr_expect_not(answer_of_rule(findings, "RANK-SKEW")->asked);
}
