// SPDX-License-Identifier: MIT
#include "sampler/tracker/op_tracker.h"

#include "base/code.h"
#include "base/op.h"
#include "sampler/op/op_site.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tasks *tasks;
static struct thread *thread;
static char story[1024]; // what the sink hears: "name[total/self]<around flags"

static void hear(void *context, const struct sampled *what)
{
	const struct op_event *op = what->op;
	size_t used = strlen(story);

	(void)context;
	if (what->kind != SAMPLED_OP)
		return;
	snprintf(story + used, sizeof(story) - used, "%u[%lu/%lu]<%u%s%s%s%s%s ", op->op,
	         op->end_ns - op->begin_ns, op->self_ns, op->parent,
	         op->flags & OP_LEFT_OPEN ? "?" : "", op->flags & OP_RANGE ? "r" : "",
	         op->within_itself ? "*" : "", op->within_domain ? "d" : "", op->mark ? "m" : "");
}

static const struct sampler_sink sink = { .take = hear };
static struct op_tracker tracker = { .sink = &sink };
static struct codes *codes;

static void begin_all(void)
{
	tasks = tasks_new();
	thread = tasks_thread(tasks, 7, 7, 1);
}

static void end_all(void)
{
	codes_free(codes);
	tasks_free(tasks);
	op_tracker_fini(&tracker);
}

TestSuite(op_tracker, .init = begin_all, .fini = end_all);

static void begin(uint32_t op, uint64_t now, uint32_t flags)
{
	struct event event = { .type = RECORD_OP_BEGIN, .pid = 7, .tid = 7, .time_ns = now };

	event.op.op = op;
	event.op.domain = op; // but for those of 100 and more: tens are domains
	if (op >= 100)
		event.op.domain = op / 10;
	event.op.flags = flags;
	event.op.forwards = op >= 50 && op < 60;
	op_tracker_begin(&tracker, thread, &event);
}

static void end(uint64_t begin_ns, uint64_t now, uint64_t self_ns, uint32_t flags)
{
	struct event event = { .type = RECORD_OP_END, .pid = 7, .tid = 7, .time_ns = now };

	event.op_end.begin_ns = begin_ns;
	event.op_end.self_ns = self_ns;
	event.op_end.flags = flags;
	op_tracker_end(&tracker, thread, &event);
}

Test(op_tracker, an_op_is_told_when_it_ends_with_the_one_around_it)
{
	begin(1, 10, 0);
	begin(2, 20, 0);
	end(20, 50, 30, 0);
	end(10, 60, 20, 0);
	cr_expect(eq(str, story, "2[30/30]<1 1[50/20]<0 "));
	cr_expect(eq(sz, thread->ops.count, 0));
}

Test(op_tracker, an_op_within_itself_says_so)
{
	begin(1, 10, 0);
	begin(2, 20, 0);
	begin(1, 30, 0);
	end(30, 40, 10, 0);
	end(20, 50, 20, 0);
	end(10, 60, 20, 0);
	cr_expect(eq(str, story, "1[10/10]<2*d 2[30/20]<1 1[50/20]<0 "));
}

Test(op_tracker, an_op_that_does_nothing_but_begin_itself_anew_is_one)
{
	begin(50, 10, 0);
	begin(50, 20, 0);
	begin(50, 30, 0);
	begin(51, 31, 0);
	end(31, 32, 1, 0);
	end(30, 40, 9, 0);
	end(20, 50, 20, 0);
	end(10, 60, 20, 0);
	cr_expect(eq(str, story, "51[1/1]<50 50[50/49]<0 "));
}

Test(op_tracker, an_op_that_begins_itself_among_others_is_within_itself)
{
	begin(50, 10, 0);
	begin(50, 20, 0);
	end(20, 30, 10, 0);
	begin(51, 31, 0);
	end(31, 32, 1, 0);
	begin(50, 35, 0);
	end(35, 40, 5, 0);
	end(10, 60, 34, 0);
	cr_expect(eq(str, story, "50[10/10]<50*d 51[1/1]<50 50[5/5]<50*d 50[50/34]<0 "));
}

Test(op_tracker, an_op_of_another_kind_within_it_does_not_make_two_of_one)
{
	begin(50, 10, 0);
	begin(50, 20, 0);
	begin(1, 21, 0);
	end(21, 22, 1, 0);
	end(20, 30, 9, 0);
	op_tracker_close(&tracker, thread, 60);
	cr_expect(eq(str, story, "1[1/1]<50 50[50/49]<0? "));
}

Test(op_tracker, an_op_within_its_domain_says_so_whatever_lies_between)
{
	begin(101, 10, 0);
	begin(202, 20, 0);
	begin(103, 30, 0);
	end(30, 40, 10, 0);
	end(20, 50, 20, 0);
	end(10, 60, 20, 0);
	cr_expect(eq(str, story, "103[10/10]<202d 202[30/20]<101 101[50/20]<0 "));
}

Test(op_tracker, a_range_is_around_nothing)
{
	begin(1, 10, OP_RANGE);
	begin(2, 20, 0);
	end(10, 30, 0, OP_RANGE);
	end(20, 40, 20, 0);
	cr_expect(eq(str, story, "1[20/0]<0r 2[20/20]<0 "));
}

Test(op_tracker, an_end_that_was_lost_comes_with_the_op_around)
{
	begin(1, 10, 0);
	begin(2, 20, 0);
	begin(3, 30, 0);
	end(10, 60, 20, 0);
	cr_expect(eq(str, story, "3[30/0]<2? 2[40/0]<1? 1[50/20]<0 "));
}

Test(op_tracker, an_end_out_of_order_leaves_the_others)
{
	begin(1, 10, 0);
	begin(2, 20, 0);
	end(10, 30, 10, OP_UNORDERED);
	end(20, 50, 30, 0);
	cr_expect(eq(str, story, "1[20/10]<0 2[30/30]<0 "));
}

Test(op_tracker, an_end_without_a_begin_is_counted)
{
	uint64_t before = tracker.unmatched;

	end(10, 20, 0, 0);
	cr_expect(eq(u64, tracker.unmatched, before + 1));
	cr_expect(eq(str, story, ""));
}

Test(op_tracker, what_is_open_when_a_thread_ends_has_ended)
{
	begin(1, 10, 0);
	begin(2, 20, 0);
	op_tracker_close(&tracker, thread, 100);
	cr_expect(eq(str, story, "2[80/80]<1? 1[90/10]<0? "));
	cr_expect(eq(sz, thread->ops.count, 0));
}

static void begin_call(uint32_t op, uint64_t now, uint64_t stack)
{
	struct event event = { .type = RECORD_OP_BEGIN, .pid = 7, .tid = 7, .time_ns = now };

	event.op.op = op;
	event.op.call = true;
	event.op.stack = stack;
	event.op.caller = 0x5010; // in no mapping
	op_tracker_begin(&tracker, thread, &event);
}

// A function on top of one that is called at STACK, by the place of begin_call() in no mapping.
static void see(uint64_t stack, enum frame_kind kind, uint64_t now)
{
	const struct frame frames[] = { { 1, 9, FRAME_EXACT }, { 0, 0, kind } };
	const uint64_t sps[] = { stack - 0x80, stack };

	op_tracker_see(thread, frames, sps, 2, now);
}

// The agent ends 2 only when 4 begins, and has all of it, and all of 3, within it.
Test(op_tracker, a_call_that_was_left_ends_when_its_frame_is_gone)
{
	begin(1, 10, 0);
	begin_call(2, 20, 0x7000);
	see(0x7000, FRAME_RETURN, 30); // it runs
	see(0x7000, FRAME_EXACT, 40);  // what has called it runs
	see(0x7000, FRAME_RETURN, 45); // or did it?
	see(0x7010, FRAME_RETURN, 50); // it is left, for another call
	see(0x7010, FRAME_RETURN, 55);
	begin(3, 60, 0);
	end(60, 80, 20, 0);
	end(20, 100, 60, 0);
	begin_call(4, 110, 0x7000);
	end(110, 120, 10, 0);
	end(10, 130, 30, 0);
	cr_expect(eq(str, story, "3[20/20]<1 2[30/30]<1 4[10/10]<1 1[120/60]<0 "));
	cr_expect(eq(sz, thread->ops.calls, 0));
}

Test(op_tracker, a_call_is_left_when_one_further_out_begins)
{
	begin_call(2, 20, 0x7000);
	begin_call(3, 30, 0x6000);
	begin_call(4, 50, 0x8000);
	end(50, 60, 10, 0);
	op_tracker_close(&tracker, thread, 100);
	cr_expect(eq(str, story, "4[10/10]<0 3[20/20]<0 2[30/30]<0 "));
}

Test(op_tracker, a_call_is_not_left_for_another_stack)
{
	begin_call(2, 20, 0x7000);
	see(UINT64_C(0x7000) + (1u << 24), FRAME_RETURN, 40);
	end(20, 50, 30, 0);
	cr_expect(eq(str, story, "2[30/30]<0 "));
}

Test(op_tracker, a_mark_has_a_time_and_no_length)
{
	struct event event = { .type = RECORD_OP_MARK, .pid = 7, .tid = 7, .time_ns = 30 };

	begin(1, 10, 0);
	event.op.op = 5;
	op_tracker_mark(&tracker, thread, &event);
	cr_expect(eq(str, story, "5[0/0]<1m "));
}

Test(op_tracker, a_site_moves_the_ops_address_to_its_owner)
{
	const struct frame frames[] = { { 1, 9, FRAME_EXACT },
		                        { 2, 1, FRAME_RETURN },
		                        { 3, 1, FRAME_RETURN } };
	const uint64_t sps[] = { 0x100, 0x140, 0x1c0 };
	struct event event = { .type = RECORD_OP_BEGIN, .pid = 7, .tid = 7, .time_ns = 10 };

	op_sites_learn(&thread->process->sites, 77, 0x140, frames, sps, 3, NULL, NULL);
	event.op.op = 1;
	event.op.stack = 0x940;
	event.op.caller = 77;
	op_tracker_begin(&tracker, thread, &event);
	cr_expect(eq(u64, thread->ops.ops[0].address, 0x940));
	cr_expect(eq(u64, thread->ops.ops[0].frame_end, 0x9c0));
	cr_expect(eq(u64, thread->ops.ops[0].caller.address, 2));
}

// Chains 1, 2 …, whose numbers in the registry are the same.
static void tell_chains(uint32_t number)
{
	struct python_chain *chain = calloc(1, sizeof(*chain) + sizeof(*chain->frames));

	codes = codes_new();
	chain->count = 1;
	for (uint32_t i = 1; i <= number; i++) {
		struct event_python_code code = { .code = i,
			                          .first_line = i,
			                          .file = "",
			                          .name = "",
			                          .table = (const uint8_t *)"" };
		chain->frames[0].code = i;
		cr_assert(python_add_code(&thread->process->python, codes, &code));
		cr_assert(python_add_chain(
			&thread->process->python, codes,
			&(struct event_python_chain){ .number = i, .chain = chain }));
	}
	free(chain);
}

static uint32_t chains[16][2]; // [op]: own, forward

static void hear_chains(void *context, const struct sampled *what)
{
	const struct op_event *op = what->op;

	(void)context;
	if (what->kind != SAMPLED_OP)
		return;
	chains[op->op % 16][0] = op->chain;
	chains[op->op % 16][1] = op->forward;
}

static void begin_called(struct op_tracker *of, uint32_t op, uint64_t now, uint32_t chain,
                         uint32_t forward)
{
	struct event event = { .type = RECORD_OP_BEGIN, .pid = 7, .tid = 7, .time_ns = now };

	event.op.op = op;
	event.op.chain = chain;
	event.op.forward = forward;
	event.op.forwards = op < 15; // 15 is a library's
	op_tracker_begin(of, thread, &event);
}

Test(op_tracker, what_a_derivative_calls_belongs_to_the_forward_pass)
{
	const struct sampler_sink hears = { .take = hear_chains };
	cleanup(ops) struct ops *ops = ops_new();
	struct op_tracker own = { .sink = &hears, .ops = ops };
	struct op engine = { .provider = OP_TORCH,
		             .domain = "",
		             .category = "",
		             .name = "autograd::engine::evaluate_function: MmBackward0" };
	uint32_t around = ops_add(ops, &engine)->id;
	engine.name = "MmBackward0";
	uint32_t derivative = ops_add(ops, &engine)->id;
	engine.name = "aten::mm";
	uint32_t within = ops_add(ops, &engine)->id;

	tell_chains(3);
	begin_called(&own, around, 10, 1, 0);
	begin_called(&own, derivative, 20, 1, 2);
	begin_called(&own, within, 30, 1, 0);
	begin_called(&own, 15, 40, 0, 0);
	begin_called(&own, 14, 50, 3, 0);
	op_tracker_close(&own, thread, 60);
	cr_expect(chains[around][0] == 1 && chains[around][1] == 2, "the engine's");
	cr_expect(chains[derivative][0] == 1 && chains[derivative][1] == 2);
	cr_expect(chains[within][0] == 1 && chains[within][1] == 2);
	cr_expect(chains[15][0] == 1 && chains[15][1] == 2, "a library's");
	cr_expect(chains[14][0] == 3 && chains[14][1] == 0, "what Python of its own has called");
	op_tracker_fini(&own);
}
