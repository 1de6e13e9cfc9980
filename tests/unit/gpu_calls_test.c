// SPDX-License-Identifier: MIT
#include "sampler/tracker/gpu_calls.h"

#include "base/clock.h"
#include "base/gpu_event.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

static struct tasks *tasks;
static struct thread *thread;
static struct gpu_calls *calls;
static char story[4096]; // "site1(3 frames) kernel17@1 …"
static uint64_t given;

static void hear_site(void *context, const struct gpu_site_event *event)
{
	size_t used = strlen(story);

	(void)context;
	used += (size_t)snprintf(story + used, sizeof(story) - used, "site%u(", event->site);
	for (uint32_t i = 0; i < event->count; i++)
		used += (size_t)snprintf(story + used, sizeof(story) - used, "%s%lu", i ? " " : "",
		                         (unsigned long)event->frames[i].address);
	snprintf(story + used, sizeof(story) - used, ") ");
}

static void hear(void *context, const struct gpu_event *event)
{
	size_t used = strlen(story);

	(void)context;
	given++;
	snprintf(story + used, sizeof(story) - used, "%u@%u ",
	         gpu_record_correlation(event->record), event->call.site);
}

static void take(void *context, const struct sampled *what)
{
	if (what->kind == SAMPLED_GPU_SITE)
		hear_site(context, what->gpu_site);
	else if (what->kind == SAMPLED_GPU)
		hear(context, what->gpu);
}

static const struct sampler_sink sink = { .take = take };

static void begin_all(void)
{
	tasks = tasks_new();
	thread = tasks_thread(tasks, 7, 7, 1);
	calls = gpu_calls_new(&sink);
}

static void end_all(void)
{
	gpu_calls_free(calls);
	tasks_free(tasks);
}

TestSuite(gpu_calls, .init = begin_all, .fini = end_all);

// The call, with the ops of numbers AROUND it; each begins and ends.
static void call(uint32_t correlation, uint64_t stack, uint32_t around)
{
	struct event event = { .type = RECORD_OP_BEGIN, .pid = 7, .tid = 7, .time_ns = 100 };
	struct open_op outer = { .op = around, .begin_ns = 1, .address = stack + 64 };
	struct open_op open = { .op = 5, .begin_ns = 2, .address = stack };

	event.op.op = 5;
	event.op.stack = stack;
	event.op.caller = 0x1000;
	event.op.correlation = correlation;
	if (around)
		op_stack_push(&thread->ops, &outer);
	op_stack_push(&thread->ops, &open);
	gpu_calls_begin(calls, thread, NULL, &event);
	while (thread->ops.count)
		op_stack_remove(&thread->ops, &thread->ops.ops[thread->ops.count - 1]);
}

static void kernel(uint32_t correlation, uint64_t now_ns)
{
	struct record_gpu_kernel record = {
		.head = { .size = sizeof(record), .type = RECORD_GPU_KERNEL, .time_ns = now_ns },
		.place = { .correlation = correlation }
	};
	struct event event = { .type = RECORD_GPU_KERNEL, .pid = 7, .time_ns = now_ns };

	event.gpu.record = &record.head;
	event.gpu.op = 9;
	gpu_calls_take(calls, thread->process->number, &event);
}

static const char *told(void)
{
	static char copy[sizeof(story)];

	memcpy(copy, story, sizeof(copy));
	story[0] = '\0';
	return copy;
}

Test(gpu_calls, a_kernel_is_tied_to_the_call_before_it)
{
	call(17, 0x7000, 0);
	kernel(17, 200);
	cr_expect(eq(str, (char *)told(), "site1(5) 17@1 "));
}

Test(gpu_calls, a_kernel_waits_for_its_call)
{
	kernel(17, 200);
	cr_expect(eq(str, (char *)told(), ""));
	call(17, 0x7000, 0);
	gpu_calls_flush(calls, 300);
	cr_expect(eq(str, (char *)told(), "site1(5) 17@1 "));
}

Test(gpu_calls, a_kernel_whose_call_never_comes_is_given_without_one)
{
	kernel(17, 200);
	gpu_calls_flush(calls, 200 + NS_PER_SEC / 2);
	cr_expect(eq(str, (char *)told(), ""));
	gpu_calls_flush(calls, 200 + 2 * NS_PER_SEC);
	cr_expect(eq(str, (char *)told(), "17@0 "));
}

Test(gpu_calls, one_call_may_cause_several_things)
{
	call(17, 0x7000, 0);
	kernel(17, 200);
	kernel(17, 201);
	cr_expect(eq(str, (char *)told(), "site1(5) 17@1 17@1 "));
}

Test(gpu_calls, a_site_is_told_once_and_is_another_by_stack_and_ops)
{
	call(1, 0x7000, 0);
	call(2, 0x7000, 0);
	cr_expect(eq(str, (char *)told(), "site1(5) "));
	call(3, 0x6000, 0);
	call(4, 0x7000, 8);
	cr_expect(eq(str, (char *)told(), "site2(5) site3(5 8) "));
	call(5, 0x6000, 0);
	kernel(5, 300);
	kernel(4, 300);
	cr_expect(eq(str, (char *)told(), "5@2 4@3 "));
}

Test(gpu_calls, the_stack_that_was_copied_there_is_the_sites)
{
	static const struct frame frames[] = { { 0x10, 1, FRAME_EXACT },
		                               { 0x20, 1, FRAME_RETURN },
		                               { 0x30, 1, FRAME_RETURN } };
	static const uint64_t sps[] = { 0x6f00, 0x7000, 0x7100 };
	struct event_op_site site = { .op = 5, .cuda = true, .stack = 0x7000, .caller = 0x1000 };

	gpu_calls_site(calls, thread->process, &site, frames, sps, 3, 0);
	call(1, 0x7000, 0);
	cr_expect(eq(str, (char *)told(), "site1(5 32 48) "));
	call(2, 0x6000, 0); // of which no stack was copied
	cr_expect(eq(str, (char *)told(), "site2(5) "));
}

Test(gpu_calls, a_place_that_is_reached_in_two_ways_is_two_sites_and_the_latest_look_holds)
{
	static const struct frame left[] = { { 0x20, 1, FRAME_RETURN }, { 0x30, 1, FRAME_RETURN } };
	static const struct frame right[] = { { 0x20, 1, FRAME_RETURN },
		                              { 0x40, 1, FRAME_RETURN } };
	static const uint64_t sps[] = { 0x7000, 0x7100 };
	struct event_op_site site = { .op = 5, .cuda = true, .stack = 0x7000, .caller = 0x1000 };

	gpu_calls_site(calls, thread->process, &site, left, sps, 2, 0);
	call(1, 0x7000, 0);
	call(2, 0x7000, 0);
	gpu_calls_site(calls, thread->process, &site, right, sps, 2, 0);
	call(3, 0x7000, 0);
	gpu_calls_site(calls, thread->process, &site, left, sps, 2, 0);
	call(4, 0x7000, 0);
	cr_expect(eq(str, (char *)told(), "site1(5 32 48) site2(5 32 64) "));
	for (uint32_t i = 1; i <= 4; i++)
		kernel(i, 200);
	cr_expect(eq(str, (char *)told(), "1@1 2@1 3@2 4@1 "));
}

Test(gpu_calls, calls_are_forgotten_only_after_many_others)
{
	static const uint32_t many = 1u << 19;

	call(1, 0x7000, 0);
	for (uint32_t i = 2; i <= many; i++)
		call(i, 0x7000, 0);
	kernel(1, 200);
	told();
	cr_expect(eq(u64, given, 1));
	for (uint32_t i = 1; i <= many + 1; i++)
		call(many + i, 0x7000, 0);
	kernel(1, 300);
	cr_expect(eq(u64, given, 1), "it waits, as if it had had no call");
	kernel(many + 1, 300);
	cr_expect(eq(u64, given, 2));
}

Test(gpu_calls, what_cannot_wait_any_more_is_given)
{
	for (uint32_t i = 1; i <= 5000; i++)
		kernel(i, 200);
	cr_expect(given == 5000 - 4096, "%lu", (unsigned long)given);
	gpu_calls_flush(calls, UINT64_MAX);
	cr_expect(eq(u64, given, 5000));
}
