// SPDX-License-Identifier: MIT
#include "merge/query/query_steps.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_steps, .init = begin, .fini = end);

static void event(uint32_t op, uint64_t us)
{
	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op,
	                                              .begin_ns = f.now_ns,
	                                              .end_ns = f.now_ns + us * 1000,
	                                              .self_ns = us * 1000 });
}

// A range of NVTX of MS ms, now, and then time goes on.
static void call(const char *name, uint64_t ms)
{
	event(op_called(&f, name), ms * 1000);
	f.now_ns += ms * MS;
}

// The same of a library's op.
static void library_call(enum op_provider provider, const char *name, uint64_t ms)
{
	const struct op *op = ops_add(
		f.ops,
		&(struct op){ .provider = provider, .domain = "", .category = "", .name = name });

	event(op->id, ms * 1000);
	f.now_ns += ms * MS;
}

static struct steps *steps_in(const char *name, uint64_t from_ms, uint64_t to_ms)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
	const struct steps_query query = { name, from_ms * MS, to_ms * MS };
	struct error err = { 0 };

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	struct steps *steps = query_steps(f.profile, &query, &err);
	cr_assert(steps != NULL, "%s", err.text);
	return steps;
}

static struct steps *steps_of(const char *name)
{
	return steps_in(name, 0, 0);
}

Test(query_steps, calls_that_take_most_of_the_time)
{
	for (int i = 0; i < 20; i++) {
		call("step", i == 7 ? 100 : 10);
		f.now_ns += MS;
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(str, (char *)s->name, "step"));
	cr_expect(not(s->between));
	cr_expect(s->labelled);
	cr_expect(eq(u32, s->tid, 100));
	cr_expect(eq(u64, s->calls, 20));
	cr_expect(eq(u64, s->median_ns, 10 * MS));
	cr_expect(eq(u64, s->max_ns, 100 * MS));
	cr_expect(eq(u64, s->p95_ns, 10 * MS));
	cr_expect(eq(u64, s->steps[8].begin_ns, (8 * 11 + 90) * MS));
	cr_expect(eq(u64, s->steps[8].first, 9));
}

// A range around a part of each step tells when steps begin, not how long they take.
Test(query_steps, each_tenth_may_be_longer)
{
	for (int i = 0; i < 40; i++)
		call("train", i % 10 == 9 ? 50 : 10 + (uint64_t)i % 2);
	cleanup(steps) struct steps *steps = steps_of(NULL);
	cr_assert(steps_have_two_lengths(steps));
	cr_expect(eq(sz, steps->lengths.brief.count, 36));
	cr_expect(eq(sz, steps->lengths.lengthy.count, 4));
	cr_expect(eq(sz, steps->lengths.every, 10));
	cr_expect(!step_is_long(steps, &steps->steps[8]));
	cr_expect(step_is_long(steps, &steps->steps[9]));
	cr_expect(eq(u64, step_usual_ns(steps, &steps->steps[9]), 50 * MS));
	cr_expect(eq(u64, step_usual_ns(steps, &steps->steps[8]), 10 * MS));
}

Test(query_steps, steps_of_one_length_have_no_other)
{
	for (int i = 0; i < 40; i++)
		call("train", i < 3 ? 50 : 10 + (uint64_t)i % 3);
	cleanup(steps) struct steps *steps = steps_of(NULL);
	cr_expect(!steps_have_two_lengths(steps));
	cr_expect(!step_is_long(steps, &steps->steps[0]));
	cr_expect(eq(u64, step_usual_ns(steps, &steps->steps[0]), steps->median_ns));
}

Test(query_steps, from_one_call_to_the_next)
{
	for (int i = 0; i < 20; i++) {
		call("load", 2);
		f.now_ns += (i < 2 ? 50 : 8) * MS;
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(s->between);
	cr_expect(eq(u64, s->calls, 19), "the last one has no end");
	cr_expect(eq(u64, s->median_ns, 10 * MS));
	cr_expect(eq(u64, s->max_ns, 52 * MS));
}

// Each of four workers makes a quarter of the batches.
Test(query_steps, the_process_that_takes_the_time_goes_before_its_helpers)
{
	const struct op *make = ops_add(
		f.ops,
		&(struct op){ .provider = OP_BLAS, .domain = "", .category = "", .name = "make" });

	add_process(&f, 2, 200, "worker");
	add_thread(&f, 2, 2, 200, "worker");
	for (int i = 0; i < 40; i++) {
		if (i % 4 == 0)
			profile_add_op(f.profile, &(struct op_event){ .thread = 2,
			                                              .op = make->id,
			                                              .begin_ns = f.now_ns,
			                                              .end_ns = f.now_ns + MS,
			                                              .self_ns = MS });
		library_call(OP_BLAS, "train", 10);
	}
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:1");
	add(&f, 2, METRIC_ON_CPU, 10, "main a.c:1");
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(str, (char *)s->name, "train"));
	cr_expect(eq(u64, s->calls, 40));
}

Test(query_steps, what_has_a_name_goes_before_calls_of_libraries)
{
	for (int i = 0; i < 12; i++) {
		library_call(OP_BLAS, "cblas_dgemm", 30);
		for (int j = 0; j < 5; j++)
			call("part", 1);
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(str, (char *)s->name, "part"));
	cleanup(steps) struct steps *asked = steps_of("cblas_*");
	cr_expect(eq(str, (char *)asked->name, "cblas_dgemm"));
	cr_expect(not(asked->labelled));
}

Test(query_steps, labels_of_pytorch_are_told_from_its_ops)
{
	for (int i = 0; i < 12; i++) {
		library_call(OP_TORCH, "aten::linear", 3);
		library_call(OP_TORCH, "AddmmBackward0", 3);
		library_call(OP_TORCH, "Optimizer.step#SGD.step", 3);
		library_call(OP_TORCH, "aten::linear", 3);
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(str, (char *)s->name, "Optimizer.step#SGD.step"));
	cr_expect(s->labelled);
}

// The outermost loop that is long enough to tell of.
Test(query_steps, the_fewest_calls_of_ten_and_more)
{
	for (int epoch = 0; epoch < 5; epoch++) {
		uint64_t start_ns = f.now_ns;
		for (int step = 0; step < 6; step++) {
			for (int i = 0; i < 3; i++)
				call("micro", 1);
			uint64_t now_ns = f.now_ns;
			f.now_ns -= 3 * MS;
			call("step", 3);
			f.now_ns = now_ns;
		}
		uint64_t now_ns = f.now_ns;
		f.now_ns = start_ns;
		call("epoch", 18);
		f.now_ns = now_ns;
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(str, (char *)s->name, "step"));
	cr_expect(eq(u64, s->calls, 30));
}

Test(query_steps, what_is_not_repeated_until_the_end_is_none)
{
	for (int i = 0; i < 20; i++)
		call("setup", 2);
	f.now_ns += 900 * MS;
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(u64, s->count, 0));
	cr_expect(eq(ptr, (void *)s->name, NULL));
}

// As with --range: the rest of the run is not there to be looked at.
Test(query_steps, what_is_repeated_while_the_run_was_recorded_is_enough)
{
	for (int i = 0; i < 20; i++)
		call("setup", 2);
	f.now_ns += 900 * MS;
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = f.now_ns - 1000 * MS,
		                 .recorded_to_ns = 40 * MS };
	const struct steps_query query = { 0 };
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(steps) struct steps *s = query_steps(f.profile, &query, NULL);
	cr_assert(s != NULL);
	cr_expect(eq(u64, s->count, 20));
}

// As tests at the end of a training.
Test(query_steps, one_that_goes_on_all_the_time_goes_before_it)
{
	for (int i = 0; i < 40; i++)
		call("train step", 20);
	for (int i = 0; i < 20; i++)
		call("test step", 5);
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_assert(ne(ptr, (void *)s->name, NULL));
	cr_expect(eq(str, (char *)s->name, "train step"));
}

Test(query_steps, nor_what_has_a_pause_of_half_its_time)
{
	for (int i = 0; i < 10; i++)
		call("twice", 10);
	f.now_ns += 300 * MS;
	for (int i = 0; i < 10; i++)
		call("twice", 10);
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(u64, s->count, 0));
}

Test(query_steps, a_name_that_nothing_has)
{
	for (int i = 0; i < 20; i++)
		call("step", 2);
	cleanup(steps) struct steps *s = steps_of("stop");
	cr_expect(eq(u64, s->count, 0));
}

Test(query_steps, those_of_a_window_keep_their_numbers)
{
	for (int i = 0; i < 20; i++)
		call("step", 10);
	cleanup(steps) struct steps *s = steps_in(NULL, 50, 100);
	cr_expect(eq(u64, s->calls, 5));
	cr_expect(eq(u64, s->steps[0].first, 6));
	cr_expect(eq(u64, s->steps[0].begin_ns, 50 * MS));
}

Test(query_steps, late_ones_are_averages)
{
	for (int i = 0; i < 2000; i++)
		call("step", i % 2 ? 3 : 1);
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_expect(eq(u64, s->calls, 2000));
	cr_expect(eq(u64, s->sum_ns, 4000 * MS));
	cr_expect(gt(u64, s->steps[s->count - 2].calls, 1));
	cr_expect(eq(u64, s->steps[s->count - 2].ns, 2 * MS));
	cr_expect(eq(u64, s->steps[513].first, 513 + s->steps[512].calls));
}

// A warm-up is part of the steps: a first call as long as all the others together is no pause.
Test(query_steps, a_slow_first_call_is_no_pause)
{
	call("step", 800);
	for (int i = 0; i < 20; i++) {
		library_call(OP_TORCH, "aten::linear", 4);
		library_call(OP_TORCH, "aten::linear", 4);
		f.now_ns -= 8 * MS;
		call("step", 10);
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_assert(ne(ptr, (void *)s->name, NULL));
	cr_expect(eq(str, (char *)s->name, "step"));
	cr_expect(eq(u64, s->max_ns, 800 * MS));
	cr_expect(eq(u32, s->slot, 1));
}

// As torch.profiler marks them, each by a name of its own: its user has said what a step is.
Test(query_steps, ranges_of_pytorchs_profiler)
{
	char name[64];

	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 3; j++)
			call("forward", 2);
		f.now_ns -= 6 * MS;
		snprintf(name, sizeof(name), "ProfilerStep#%d", i);
		library_call(OP_TORCH, name, (uint64_t)(10 + i));
	}
	cleanup(steps) struct steps *s = steps_of(NULL);
	cr_assert(ne(ptr, (void *)s->name, NULL));
	cr_expect(eq(str, (char *)s->name, "ProfilerStep#*"));
	cr_expect(eq(u64, s->calls, 6));
	cr_expect(s->labelled);
	cr_expect(not(s->between));
	cr_expect(eq(u64, s->steps[2].ns, 12 * MS));
}

// Behind its last step() a range is open until the profiler stops.
Test(query_steps, what_pytorchs_profiler_opens_last_is_no_step)
{
	static const uint64_t last[] = { 0, 6 };
	char name[64];

	for (size_t k = 0; k < 2; k++) {
		end();
		begin();
		for (int i = 0; i < 6; i++) {
			snprintf(name, sizeof(name), "ProfilerStep#%d", i);
			library_call(OP_TORCH, name, i < 5 ? 10 : last[k]);
			f.now_ns += i ? 0 : 500 * MS; // it starts
		}
		cleanup(steps) struct steps *s = steps_of(NULL);
		cr_expect(eq(u64, s->calls, last[k] ? 6 : 5));
		cr_expect(eq(u64, s->min_ns, (last[k] ? last[k] : 10) * MS));
		cr_expect(eq(u64, s->max_ns, 10 * MS));
	}
}

// Two short ones are more than what is found, and a pause is in none of them.
Test(query_steps, what_the_program_marks_goes_first)
{
	for (int i = 0; i < 20; i++)
		call("batch", 10);
	for (int i = 0; i < 2; i++) {
		library_call(OP_API, "mark_step", 5);
		f.now_ns += 200 * MS;
	}
	cleanup(steps) struct steps *s = steps_in(NULL, 0, 0);
	cr_expect(eq(str, (char *)s->name, "mark_step"));
	cr_expect(eq(u64, s->calls, 2));
	cr_expect(eq(u64, s->max_ns, 5 * MS));
	cr_expect(not(s->between));
}

Test(query_steps, another_range_of_that_name_is_no_step)
{
	for (int i = 0; i < 20; i++)
		call("mark_step", 10);
	for (int i = 0; i < 30; i++)
		call("other", 10);
	cleanup(steps) struct steps *s = steps_in(NULL, 0, 0);
	cr_expect(s->name == NULL || strcmp(s->provider, "api") != 0);
}
