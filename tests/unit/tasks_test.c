// SPDX-License-Identifier: MIT
#include "sampler/task/tasks.h"
#include "tests/support/expect.h"

#include <string.h>

Test(tasks, a_thread_is_found_by_pid_and_tid)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	struct thread *thread = tasks_thread(t, 10, 11, 5);

	cr_assert(thread != NULL);
	cr_expect(eq(ptr, tasks_find_thread(t, 10, 11), thread));
	cr_expect(eq(ptr, tasks_find_thread(t, 11, 11), NULL));
	cr_expect(eq(ptr, tasks_find_thread(t, 10, 10), NULL));
	cr_expect(eq(ptr, tasks_thread(t, 10, 11, 6), thread));
	cr_expect(eq(ptr, tasks_find_process(t, 10), thread->process));
	cr_expect(eq(u64, thread->start_ns, 5));
}

Test(tasks, numbers_are_given_in_order_and_never_again)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	bool ended;

	cr_expect(eq(u32, tasks_thread(t, 10, 10, 1)->number, 1));
	cr_expect(eq(u32, tasks_thread(t, 10, 11, 1)->number, 2));
	tasks_end_thread(t, tasks_find_thread(t, 10, 10), &ended);
	tasks_end_thread(t, tasks_find_thread(t, 10, 11), &ended);
	cr_expect(ended);
	struct thread *again = tasks_thread(t, 10, 10, 2);
	cr_expect(eq(u32, again->number, 3));
	cr_expect(eq(u32, again->process->number, 2));
}

Test(tasks, a_process_ends_with_its_last_thread)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	bool ended = true;

	tasks_thread(t, 10, 10, 1);
	tasks_thread(t, 10, 11, 1);
	tasks_end_thread(t, tasks_find_thread(t, 10, 10), &ended);
	cr_expect(not(ended), "the first thread may end before others");
	cr_expect(tasks_find_process(t, 10) != NULL);
	tasks_end_thread(t, tasks_find_thread(t, 10, 11), &ended);
	cr_expect(ended);
	cr_expect(eq(ptr, tasks_find_process(t, 10), NULL));
}

Test(tasks, a_fork_copies_the_mappings_and_the_name)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	struct process *parent = tasks_process(t, 10, 1);

	strcpy(parent->command, "make");
	address_space_map(parent->space, 0x1000, 0x1000, 0, 7);
	struct process *child = tasks_fork(t, parent, 20, 2);
	address_space_clear(parent->space);
	cr_expect(eq(u32, child->parent, parent->number));
	cr_expect(eq(str, child->command, "make"));
	cr_assert(address_space_find(child->space, 0x1800) != NULL);
	cr_expect(eq(u32, address_space_find(child->space, 0x1800)->module, 7));
}

Test(tasks, a_fork_replaces_the_mappings_of_a_process_made_on_the_spot)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	struct process *parent = tasks_process(t, 10, 1);
	struct thread *early = tasks_thread(t, 20, 20, 2);

	address_space_map(parent->space, 0x1000, 0x1000, 0, 7);
	cr_expect(eq(ptr, tasks_fork(t, parent, 20, 2), early->process));
	cr_expect(address_space_find(early->process->space, 0x1800) != NULL);
}

static void count_and_sum(void *context, struct thread *thread)
{
	uint64_t *totals = context;

	totals[0]++;
	totals[1] += thread->tid;
}

Test(tasks, thousands_of_threads_are_kept_and_found)
{
	cleanup(tasks) struct tasks *t = tasks_new();
	uint64_t totals[2] = { 0, 0 }, expected = 0;

	for (uint32_t tid = 1; tid <= 5000; tid++) {
		cr_assert(tasks_thread(t, 1 + tid / 100, tid, 1) != NULL);
		expected += tid;
	}
	for (uint32_t tid = 1; tid <= 5000; tid++)
		cr_assert(tasks_find_thread(t, 1 + tid / 100, tid) != NULL, "tid %u", tid);
	tasks_each_thread(t, count_and_sum, totals);
	cr_expect(eq(u64, totals[0], 5000));
	cr_expect(eq(u64, totals[1], expected));
}
