// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query_ops.h"
#include "merge/scope/kept.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KB UINT64_C(1024)

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_memory, .init = begin, .fini = end);

// A sampled allocation of thread THREAD that stands for KIB.
static void allocate(uint32_t thread, uint64_t address, uint64_t kib, const char *stack)
{
	struct frame frames[64];
	uint32_t count = frames_of(&f, stack, frames);

	profile_add_alloc(f.profile, &(struct alloc_event){ .thread = thread,
	                                                    .time_ns = f.now_ns,
	                                                    .address = address,
	                                                    .bytes = 16,
	                                                    .weight_bytes = kib * KB,
	                                                    .count = count,
	                                                    .frames = frames });
}

static void release(uint32_t process, uint64_t address)
{
	profile_add_free(f.profile, &(struct free_event){ process, f.now_ns, address });
}

static void count(uint32_t process, uint64_t allocated_kib, uint64_t freed_kib)
{
	f.now_ns += MS;
	profile_add_memory(f.profile, &(struct memory_event){ .process = process,
	                                                      .time_ns = f.now_ns,
	                                                      .allocations = 3,
	                                                      .frees = 2,
	                                                      .allocated_bytes = allocated_kib * KB,
	                                                      .freed_bytes = freed_kib * KB });
}

static struct memory_rows *ask_memory(enum memory_by by, bool at_peak)
{
	struct error err = { 0 };
	struct memory_rows *rows = query_memory(f.profile, by, at_peak, &err);

	cr_assert(rows != NULL, "%s", err.text);
	return rows;
}

// "name allocated/total peak/end, …" in KiB.
static void expect(int line, enum memory_by by, bool at_peak, const char *wanted)
{
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(by, at_peak);
	char text[4096] = "";
	size_t used = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct memory_row *row = &rows->rows[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %lu/%lu %lu/%lu",
		                         i ? ", " : "", row->name,
		                         (unsigned long)(row->allocated_bytes / KB),
		                         (unsigned long)(row->total_allocated_bytes / KB),
		                         (unsigned long)(row->live_at_peak_bytes / KB),
		                         (unsigned long)(row->live_at_end_bytes / KB));
	}
	cr_expect(eq(str, text, (char *)wanted), "line %d", line);
}

#define EXPECT(...) expect(__LINE__, __VA_ARGS__)

Test(query_memory, sites_are_functions_lines_modules_and_ops)
{
	allocate(1, 0x10, 500, "main a.c:1 > load a.c:5 > parse a.c:9");
	allocate(1, 0x20, 300, "main a.c:1 > load a.c:6");
	allocate(1, 0x30, 200, "main a.c:1 > load a.c:6 > <read> > strdup@libc");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false,
	       "parse 500/500 500/500, load 300/1000 300/300, strdup 200/200 200/200, main 0/1000 "
	       "0/0");
	EXPECT(MEMORY_BY_LINE, false,
	       "parse 500/500 500/500, load 300/500 300/300, strdup 200/200 200/200, main 0/1000 "
	       "0/0, load 0/500 0/0");
	EXPECT(MEMORY_BY_MODULE, false,
	       "/usr/bin/app 800/1000 800/800, /lib/libc.so.6 200/200 200/200");
	EXPECT(MEMORY_BY_OP, false, "[outside ops] 800/800 800/800, read 200/200 200/200");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, false);
	cr_expect(eq(int, rows->rows[1].line, 6), "where most of its own was allocated");
	cr_expect(eq(str, (char *)rows->rows[1].file, "a.c"));
	cr_expect(eq(u64, rows->samples, 3));
	cr_expect(gt(dbl, rows->rows[0].margin, 0.2));
}

Test(query_memory, recursion_counts_once)
{
	allocate(1, 0x10, 100, "main a.c:1 > fib a.c:5 > <fib> > fib a.c:5 > <fib> > fib a.c:6");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "fib 100/100 100/100, main 0/100 0/0");
	EXPECT(MEMORY_BY_OP, false, "fib 100/100 100/100");
}

Test(query_memory, what_allocators_allocate_is_their_callers)
{
	struct frame frames[3];
	struct alloc_event event = {
		.thread = 1, .address = 1, .weight_bytes = 8 * KB, .frames = frames
	};

	event.count = frames_of(&f, "main a.c:1 > grow a.c:5 > malloc@libc", frames);
	profile_add_alloc(f.profile, &event);
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "grow 8/8 8/8, main 0/8 0/0");
}

Test(query_memory, the_peak_is_what_was_alive_then)
{
	allocate(1, 0x10, 400, "a a.c:1");
	count(1, 400, 0);
	allocate(1, 0x20, 600, "b a.c:2");
	count(1, 600, 0);
	release(1, 0x20);
	count(1, 0, 600);
	allocate(1, 0x30, 300, "c a.c:3");
	count(1, 300, 0);
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, true, "b 600/600 600/0, a 400/400 400/400, c 300/300 0/300");
	EXPECT(MEMORY_BY_FUNCTION, false, "b 600/600 600/0, a 400/400 400/400, c 300/300 0/300");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, true);
	cr_expect(eq(u64, rows->peak_bytes, 1000 * KB));
	cr_expect(eq(u64, rows->peak_ns, 2 * MS));
	cr_expect(eq(u64, rows->end_bytes, 700 * KB));
	cr_expect(eq(u64, rows->allocated_bytes, 1300 * KB));
	cr_expect(eq(u64, rows->freed_bytes, 600 * KB));
	cr_expect(eq(u64, rows->allocations, 12));
	cr_expect(eq(u64, rows->frees, 8));
}

Test(query_memory, without_counts_samples_tell_the_peak)
{
	allocate(1, 0x10, 400, "a a.c:1");
	allocate(1, 0x20, 600, "b a.c:2");
	release(1, 0x10);
	release(1, 0x99);
	allocate(1, 0x30, 100, "c a.c:3");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, true, "b 600/600 600/600, a 400/400 400/0, c 100/100 0/100");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, true);
	cr_expect(eq(u64, rows->peak_bytes, 1000 * KB));
	cr_expect(eq(u64, rows->allocated_bytes, 0), "that nobody has counted");
}

Test(query_memory, the_peak_is_that_of_all_processes_together)
{
	add_process(&f, 2, 200, "child");
	add_thread(&f, 2, 2, 200, "main");
	allocate(1, 0x10, 400, "a a.c:1");
	count(1, 400, 0);
	allocate(2, 0x10, 500, "b a.c:2");
	count(2, 500, 0);
	profile_end_process(f.profile, 2, f.now_ns);
	allocate(1, 0x20, 450, "c a.c:3");
	count(1, 450, 0);
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, true, "b 500/500 500/500, a 400/400 400/400, c 450/450 0/450");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, true);
	cr_expect(eq(u64, rows->peak_bytes, 900 * KB));
	cr_expect(eq(u64, rows->end_bytes, 1350 * KB), "of both");
}

Test(query_memory, an_exec_ends_what_was_alive)
{
	struct process_event exec = { 1, 0, 100, f.now_ns, true, "other", NULL };

	allocate(1, 0x10, 400, "a a.c:1");
	profile_add_process(f.profile, &exec);
	release(1, 0x10);
	allocate(1, 0x10, 100, "b a.c:2");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, true, "a 400/400 400/400, b 100/100 0/100");
}

Test(query_memory, what_is_told_after_the_end_changes_totals_alone)
{
	allocate(1, 0x10, 400, "a a.c:1");
	count(1, 400, 0);
	profile_end_process(f.profile, 1, f.now_ns);
	count(1, 100, 450);
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, true);
	cr_expect(eq(u64, rows->peak_bytes, 400 * KB));
	cr_expect(eq(u64, rows->end_bytes, 50 * KB));
	cr_expect(eq(u64, rows->allocated_bytes, 500 * KB));
}

Test(query_memory, an_address_that_is_allocated_again_was_freed)
{
	allocate(1, 0x10, 400, "a a.c:1");
	allocate(1, 0x10, 100, "b a.c:2");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "a 400/400 400/0, b 100/100 0/100");
}

Test(query_memory, blocks_are_found_whatever_was_freed_before)
{
	enum {
		BLOCKS = 3000
	};

	for (uint64_t i = 1; i <= BLOCKS; i++)
		allocate(1, i * 16, 1, i % 2 ? "odd a.c:1" : "even a.c:2");
	for (uint64_t i = 1; i <= BLOCKS; i += 2)
		release(1, i * 16);
	for (uint64_t i = 4; i <= BLOCKS; i += 4)
		release(1, i * 16);
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "even 1500/1500 1500/750, odd 1500/1500 1500/0");
}

Test(query_memory, what_cannot_be_followed_is_counted)
{
	f.profile->allocations.blocks_max = 2;
	for (uint64_t i = 1; i <= 5; i++)
		allocate(1, i, 10, "a a.c:1");
	allocate(77, 9, 10, "a a.c:1");
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "a 50/50 20/20");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, false);
	cr_expect(eq(u64, rows->untracked_bytes, 30 * KB));
	cr_expect(eq(u64, rows->lost, 1));
	struct memory_doubts doubts;
	query_memory_doubts(f.profile, &doubts);
	cr_expect(eq(u64, doubts.sampled_bytes, 50 * KB));
	cr_expect(eq(u64, doubts.untracked_bytes, 30 * KB));
	cr_expect(eq(u64, doubts.samples, 5));
	cr_expect(eq(u64, doubts.lost, 1));
}

Test(query_memory, what_nobody_tells_the_end_of_is_not_taken_for_live)
{
	struct frame frames[64];
	struct alloc_event event = { .thread = 1,
		                     .time_ns = f.now_ns,
		                     .address = 0x20,
		                     .bytes = 16,
		                     .weight_bytes = 70 * KB,
		                     .untracked = true,
		                     .frames = frames };

	allocate(1, 0x10, 30, "kept a.c:1");
	allocate(1, 0x20, 10, "old a.c:3");
	event.count = frames_of(&f, "gone a.c:2", frames);
	profile_add_alloc(f.profile, &event); // where "old" was: that has ended
	name_all(&f);
	EXPECT(MEMORY_BY_FUNCTION, false, "gone 70/70 0/0, kept 30/30 30/30, old 10/10 10/0");
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, false);
	cr_expect(eq(u64, rows->untracked_bytes, 70 * KB));
}

Test(query_memory, functions_see_no_memory_and_memory_no_time)
{
	add(&f, 1, METRIC_ON_CPU, 7, "main a.c:1 > work a.c:2");
	allocate(1, 0x10, 400, "main a.c:1 > load a.c:5");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }), "work 7/7, main 0/7"));
	EXPECT(MEMORY_BY_FUNCTION, false, "load 400/400 400/400, main 0/400 0/0");
}

Test(query_memory, folding_keeps_every_byte)
{
	const struct profile_limits limits = { .threads = 1, .nodes = 1 };
	uint64_t allocated = 0, live = 0;

	end();
	fixture_init(&f, &limits);
	for (uint64_t i = 1; i <= 40000; i++) {
		struct frame frames[] = { { i, 1, FRAME_EXACT }, { i % 100, 1, FRAME_RETURN } };
		profile_add_alloc(f.profile, &(struct alloc_event){ .thread = 1,
		                                                    .time_ns = f.now_ns,
		                                                    .address = i,
		                                                    .weight_bytes = i,
		                                                    .count = 2,
		                                                    .frames = frames });
		if (i > 50)
			release(1, i - 50);
	}
	const struct allocations *a = &f.profile->allocations;
	cr_expect(lt(u32, a->site_count, 39000), "it was folded");
	for (uint32_t i = 0; i < a->site_count; i++) {
		allocated += a->sites[i].allocated_bytes;
		live += a->sites[i].live_bytes;
	}
	cr_expect(eq(u64, allocated, UINT64_C(40000) * 40001 / 2));
	cr_expect(eq(u64, live, UINT64_C(40000) * 50 - 49 * 25));
}

Test(query_memory, sites_at_the_peak_add_up_to_it_within_a_percent)
{
	static const char *const sites[] = { "a a.c:1", "b a.c:2", "c a.c:3", "d a.c:4" };
	uint64_t state = 7, addresses[400] = { 0 }, sum = 0;

	for (uint64_t i = 1; i <= 20000; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint64_t *address = &addresses[(state >> 33) % 400];
		if (*address && state >> 63)
			release(1, *address);
		else if (!*address)
			allocate(1, i, 1 + (state >> 50) % 99, sites[(state >> 40) % 4]);
		*address = *address ? (state >> 63 ? 0 : *address) : i;
	}
	const struct allocations *a = &f.profile->allocations;
	for (uint32_t i = 0; i < a->site_count; i++)
		sum += allocations_site_peak(a, &a->sites[i]);
	cr_expect(gt(u64, a->peak_bytes, 5000 * KB));
	cr_expect(le(u64, sum, a->peak_bytes));
	cr_expect(ge(u64, sum, a->peak_bytes - a->peak_bytes / 100));
}

Test(query_memory, a_child_that_frees_what_its_parent_allocated_takes_nothing_from_others)
{
	add_process(&f, 2, 200, "child");
	count(1, 400, 0);
	count(2, 30, 200);
	count(1, 50, 0);
	profile_end_process(f.profile, 2, f.now_ns);
	cleanup(memory_rows) struct memory_rows *rows = ask_memory(MEMORY_BY_FUNCTION, false);
	cr_expect(eq(u64, rows->peak_bytes, 450 * KB));
	cr_expect(eq(u64, rows->end_bytes, 450 * KB));
}

// In KiB, where tree_text() tells of milliseconds.
static void expect_tree(enum query_of of, uint64_t self, uint64_t total, uint64_t below)
{
	const struct query query = { .of = of, .from_ns = 3600 * 1000 * MS };
	struct error err = { .text = "" };
	cleanup(call_tree) struct call_tree *tree = query_call_tree(f.profile, &query, 0, &err);

	cr_assert(tree != NULL, "%s", err.text);
	const struct call_node *root = call_tree_root(tree);
	cr_assert(root->child && root->child->child);
	cr_expect_eq(root->total, total * KB);
	cr_expect_eq(root->child->self, self * KB);
	cr_expect_str_eq(root->child->name, "main");
	cr_expect_str_eq(root->child->child->name, "load");
	cr_expect_eq(root->child->child->total, below * KB);
}

Test(query_memory, call_trees_are_of_bytes_whatever_the_window)
{
	allocate(1, 0x1000, 300, "main a.c:3 > load a.c:9");
	allocate(1, 0x2000, 40, "main a.c:3");
	count(1, 340, 0);
	release(1, 0x1000);
	count(1, 0, 300);
	allocate(1, 0x3000, 5, "main a.c:3");
	count(1, 5, 0);
	name_all(&f);
	expect_tree(QUERY_ALLOCATED, 45, 345, 300);
	expect_tree(QUERY_LIVE, 40, 340, 300);
	kept_begin(f.profile);
	for (int i = 0; i < 2; i++) { // the second from what the first left
		expect_tree(QUERY_ALLOCATED, 45, 345, 300);
		expect_tree(QUERY_LIVE, 40, 340, 300);
	}
	kept_end();
}
