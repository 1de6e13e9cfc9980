// SPDX-License-Identifier: MIT
#include "merge/table/threads.h"
#include "tests/support/expect.h"

#include <stdio.h>

static struct threads t;
static struct strings *strings;

static void begin(void)
{
	strings = strings_new();
	cr_assert(strings && threads_init(&t, 4));
}

static void end(void)
{
	threads_fini(&t);
	strings_free(strings);
}

TestSuite(threads, .init = begin, .fini = end);

static void start_process(uint32_t number, const char *command)
{
	struct process_event event = { .process = number, .pid = 100 + number, .command = command };

	cr_assert(threads_add_process(&t, strings, &event));
}

static uint32_t start(uint32_t number, uint32_t process, const char *name)
{
	struct thread_event event = { .thread = number, .process = process, .name = name };

	event.tid = 1000 + number;
	event.time_ns = number;
	cr_assert(threads_add_thread(&t, strings, &event));
	return threads_slot(&t, number);
}

static void finish(uint32_t number, uint64_t on_cpu_ns, bool exact)
{
	struct thread_end event = { .thread = number, .time_ns = 50, .exact = exact };

	event.ns[METRIC_ON_CPU] = on_cpu_ns;
	cr_assert(threads_end_thread(&t, &event));
}

Test(threads, the_first_ones_are_kept_apart)
{
	start_process(1, "app");
	cr_expect(eq(u32, start(1, 1, "main"), 1));
	cr_expect(eq(u32, start(2, 1, "worker"), 2));
	cr_expect(eq(u32, start(3, 1, "worker"), 3));
	cr_expect(eq(u32, threads_get(&t, 3)->tid, 1003));
	cr_expect(eq(u32, threads_slot(&t, 4), 0), "not announced");
	cr_expect(eq(u32, threads_slot(&t, 0), 0));
}

Test(threads, a_rename_keeps_the_slot_of_a_thread_that_is_kept_apart)
{
	start_process(1, "app");
	start(1, 1, "main");
	cr_expect(eq(u32, start(1, 1, "renamed"), 1));
	cr_expect(eq(str, (char *)strings_get(strings, threads_get(&t, 1)->name), "renamed"));
	cr_expect(eq(u64, t.threads_seen, 1));
	cr_expect(eq(u32, threads_get(&t, 1)->merged, 1));
}

Test(threads, one_that_is_hidden_has_never_been_there)
{
	start_process(1, "app");
	start(1, 1, "app");
	start(2, 1, "ours");
	threads_hide(&t, 2);
	cr_expect(eq(u32, threads_slot(&t, 2), 0));
	cr_expect(eq(u64, t.threads_seen, 1));
	cr_expect(eq(u32, threads_get(&t, 2)->merged, 0));
	threads_hide(&t, 2); // nothing more happens
	cr_expect(eq(u64, t.threads_seen, 1));
	cr_expect(eq(u32, start(1, 1, "app"), 1));
}

Test(threads, beyond_the_limit_a_name_in_a_process_is_one_slot)
{
	start_process(1, "app");
	start_process(2, "other");
	for (uint32_t i = 1; i <= 4; i++)
		start(i, 1, "main");
	uint32_t worker = start(5, 1, "worker");
	cr_expect(gt(u32, worker, 4));
	cr_expect(eq(u32, start(6, 1, "worker"), worker));
	cr_expect(ne(u32, start(7, 2, "worker"), worker), "another process");
	cr_expect(ne(u32, start(8, 1, "logger"), worker));
	cr_expect(eq(u32, threads_get(&t, worker)->merged, 2));
	cr_expect(eq(u32, threads_get(&t, worker)->tid, 1005), "of the first");
	cr_expect(eq(u64, t.threads_seen, 8));
}

Test(threads, a_thread_that_is_renamed_moves_to_the_slot_of_its_name)
{
	start_process(1, "app");
	for (uint32_t i = 1; i <= 5; i++)
		start(i, 1, "main");
	uint32_t inherited = threads_slot(&t, 5);
	uint32_t named = start(5, 1, "worker");
	cr_expect(ne(u32, named, inherited));
	cr_expect(eq(u32, threads_get(&t, inherited)->merged, 0));
	cr_expect(eq(u64, t.threads_seen, 5));
}

Test(threads, too_many_names_share_one_slot)
{
	start_process(1, "app");
	for (uint32_t i = 1; i <= 1000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "worker %u", i);
		cr_expect(le(u32, start(i, 1, name), threads_slots_max(4)));
	}
	cr_expect(le(sz, t.thread_count, threads_slots_max(4)));
	cr_expect(lt(u32, strings_count(strings), 20), "nor are their names kept");
	cr_expect(eq(str,
	             (char *)strings_get(strings, threads_get(&t, threads_slot(&t, 1000))->name),
	             "[other threads]"));
}

Test(threads, processes_beyond_the_limit_are_merged_by_command)
{
	for (uint32_t i = 1; i <= 1000; i++)
		start_process(i, i % 2 ? "cc1" : "as");
	cr_expect(eq(sz, t.process_count, 6));
	cr_expect(eq(u32, threads_process(&t, 5)->merged + threads_process(&t, 6)->merged, 996));
	cr_expect(eq(u64, t.processes_seen, 1000));
}

Test(threads, an_exec_keeps_a_process_and_renames_it)
{
	start_process(1, "sh");
	start_process(1, "app");
	cr_expect(eq(sz, t.process_count, 1));
	cr_expect(eq(str, (char *)strings_get(strings, threads_process(&t, 1)->command), "app"));
	cr_expect(eq(u64, t.processes_seen, 1));
}

Test(threads, memory_follows_what_is_alive)
{
	start_process(1, "app");
	for (uint32_t i = 1; i <= 100000; i++) {
		start(i, 1, "worker");
		finish(i, 1, true);
	}
	cr_expect(lt(sz, t.thread_aliases.capacity, 1000));
	cr_expect(eq(u64, threads_get(&t, 5)->ns[METRIC_ON_CPU], 100000 - 4));
	cr_expect(thread_is_exact(threads_get(&t, 5)));
}

Test(threads, a_slot_is_exact_if_all_that_are_in_it_are)
{
	start_process(1, "app");
	for (uint32_t i = 1; i <= 7; i++)
		start(i, 1, "worker");
	finish(1, 10, true);
	finish(5, 10, true);
	cr_expect(thread_is_exact(threads_get(&t, 1)));
	cr_expect(not(thread_is_exact(threads_get(&t, 5))), "6 and 7 still run");
	finish(6, 10, true);
	finish(7, 10, false);
	cr_expect(not(thread_is_exact(threads_get(&t, 5))), "7 was an estimate");
}
