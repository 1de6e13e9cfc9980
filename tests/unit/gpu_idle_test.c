// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_idle.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

static struct gpu_idle idle;
static char story[1024]; // "node@begin+duration=ns "

static void hear(void *context, const struct gpu_idle_part *part)
{
	size_t used = strlen(story);

	(void)context;
	snprintf(story + used, sizeof(story) - used, "%u@%lu+%lu=%lu ", part->stack->node,
	         (unsigned long)part->begin_ns, (unsigned long)part->duration_ns,
	         (unsigned long)part->ns);
	if (part->device)
		snprintf(story + strlen(story), sizeof(story) - strlen(story), "on %u ",
		         part->device);
}

static void begin(void)
{
	gpu_idle_launches(&idle, 1);
	gpu_idle_launches(&idle, 2);
}

static void end(void)
{
	gpu_idle_fini(&idle);
}

TestSuite(gpu_idle, .init = begin, .fini = end);

static void sample(uint32_t node, uint32_t thread, uint64_t at)
{
	gpu_idle_add(&idle,
	             &(struct gpu_idle_stack){
			     .begin_ns = at, .weight_ns = 7, .node = node, .thread = thread });
}

static void wait(uint32_t node, uint32_t thread, uint64_t from, uint64_t to)
{
	gpu_idle_add(&idle, &(struct gpu_idle_stack){ .begin_ns = from,
	                                              .duration_ns = to - from,
	                                              .weight_ns = to - from,
	                                              .node = node,
	                                              .thread = thread });
}

static void gap(uint64_t from, uint64_t to, uint32_t thread)
{
	gpu_idle_gap(&idle, &(struct gpu_gap_time){ from, to, thread, 0 });
}

static const char *settle(uint64_t until)
{
	story[0] = '\0';
	gpu_idle_settle(&idle, until, hear, NULL);
	return story;
}

Test(gpu_idle, a_sample_in_a_gap_of_its_thread_is_told)
{
	sample(5, 1, 15);
	sample(6, 1, 25);
	sample(7, 2, 16);
	gap(10, 20, 1);
	cr_expect(eq(str, (char *)settle(100), "5@15+0=7 "));
}

Test(gpu_idle, of_a_wait_what_lies_in_gaps_counts)
{
	wait(5, 1, 10, 100);
	gap(5, 20, 1);
	gap(30, 40, 1);
	gap(50, 60, 2);
	gap(90, 200, 1);
	cr_expect(eq(str, (char *)settle(300), "5@10+10=10 5@30+10=10 5@90+10=10 "));
}

Test(gpu_idle, a_stack_waits_until_gaps_are_known)
{
	sample(5, 1, 15);
	wait(6, 1, 16, 60);
	cr_expect(eq(str, (char *)settle(12), ""));
	gap(10, 20, 1);
	cr_expect(eq(str, (char *)settle(50), "5@15+0=7 "));
	cr_expect(eq(str, (char *)settle(70), "6@16+4=4 "));
	cr_expect(eq(str, (char *)settle(80), ""), "told once");
}

Test(gpu_idle, what_a_thread_did_before_its_first_launch_is_told)
{
	sample(5, 3, 15);
	sample(6, 1, 15);
	sample(7, 4, 15);
	gpu_idle_launches(&idle, 3);
	sample(8, 3, 16);
	gap(10, 20, 3);
	cr_expect(eq(str, (char *)settle(100), "8@16+0=7 5@15+0=7 "));
}

Test(gpu_idle, before_anything_was_launched_nothing_is_kept)
{
	end();
	sample(5, 1, 15);
	gpu_idle_launches(&idle, 1);
	gap(10, 20, 1);
	cr_expect(eq(str, (char *)settle(100), ""));
}

Test(gpu_idle, threads_that_launch_nothing_take_no_room_of_those_that_do)
{
	sample(5, 1, 15);
	for (uint32_t i = 0; i < 2 * GPU_IDLE_STACKS; i++)
		sample(1, 3, 1000 + i);
	gap(10, 20, 1);
	cr_expect(eq(str, (char *)settle(100), "5@15+0=7 "));
	cr_expect(idle.others.count <= GPU_IDLE_STACKS);
}

Test(gpu_idle, each_gpu_has_its_gaps)
{
	sample(5, 1, 15);
	gpu_idle_gap(&idle, &(struct gpu_gap_time){ 10, 20, 1, 2 });
	gpu_idle_gap(&idle, &(struct gpu_gap_time){ 14, 30, 1, 3 });
	cr_expect(eq(str, (char *)settle(100), "5@15+0=7 on 2 5@15+0=7 on 3 "));
}

Test(gpu_idle, gaps_of_several_gpus_may_overlap)
{
	sample(5, 1, 15);
	gap(14, 16, 1);
	gap(10, 30, 1);
	gap(12, 20, 1);
	cr_expect(eq(str, (char *)settle(100), "5@15+0=7 5@15+0=7 5@15+0=7 "));
}

Test(gpu_idle, nodes_that_move_are_told_by_their_new_numbers)
{
	static const uint32_t map[] = { 1, 9 };

	sample(2, 1, 15);
	gap(10, 20, 1);
	gpu_idle_move_nodes(&idle, map);
	cr_expect(eq(str, (char *)settle(100), "9@15+0=7 "));
}

Test(gpu_idle, what_is_remembered_is_bounded)
{
	for (uint32_t i = 0; i < 2 * GPU_IDLE_STACKS; i++)
		sample(1, 1, 1000 + i);
	for (uint32_t i = 0; i < 2 * GPU_IDLE_GAPS; i++)
		gap(i, i + 1, 1);
	cr_expect(idle.launching.count <= GPU_IDLE_STACKS);
	cr_expect(idle.gap_count <= GPU_IDLE_GAPS);
}
