// SPDX-License-Identifier: MIT
#include "merge/profile/profile_data.h"
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

TestSuite(profile, .init = begin, .fini = end);

static struct totals totals_of(const struct profile *p)
{
	struct totals totals;

	query_totals(p, &totals);
	return totals;
}

Test(profile, the_same_path_is_the_same_nodes)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > leaf a.c:3");
	uint32_t nodes = f.profile->paths.count;
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > leaf a.c:3");
	cr_expect(eq(u32, nodes, 4), "a root and three frames");
	cr_expect(eq(u32, f.profile->paths.count, nodes));
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > other a.c:3");
	cr_expect(eq(u32, f.profile->paths.count, nodes + 1));
}

Test(profile, threads_that_take_turns_do_not_disturb_each_other)
{
	// 1 and 65 share the place where their last path is kept.
	for (uint32_t thread = 2; thread <= 65; thread++)
		add_thread(&f, thread, 1, 100 + thread, "worker");
	for (int i = 0; i < 10; i++) {
		add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2");
		add(&f, 65, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > leaf a.c:3");
	}
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .thread = "main" }),
	             "work 10/10, main 0/10"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .thread = "165" }),
	             "leaf 10/10, main 0/10, work 0/10"));
	cr_expect(eq(u32, f.profile->paths.count, 3 + 4));
}

// A forked worker has its parent's frames on its stack, which do nothing there.
Test(profile, a_worker_of_multiprocessing_begins_at_its_own_entry)
{
	const struct code codes[] = {
		{ "/w.py", "work", 5 },
		{ "/usr/lib/python3.11/multiprocessing/process.py", "BaseProcess._bootstrap", 290 },
		{ "/usr/lib/python3.11/multiprocessing/popen_fork.py", "Popen._launch", 60 },
		{ "/w.py", "<module>", 1 },
	};
	struct frame frames[4];

	for (size_t i = 0; i < 4; i++)
		frames[i] = frame_of_python(codes_add(f.codes, &codes[i]), codes[i].first_line);
	struct stack stack = { .thread = 1,
		               .metric = METRIC_ON_CPU,
		               .time_ns = f.now_ns,
		               .weight_ns = MS,
		               .samples = 1,
		               .flags = STACK_TRUNCATED,
		               .count = 4,
		               .frames = frames };
	profile_add_stack(f.profile, &stack);
	cr_expect(eq(u32, f.profile->paths.count, 3), "a root and two frames");
	// That of the parent, which waits for the worker, is whole.
	stack.count = 2;
	stack.flags = 0;
	stack.frames = frames + 2;
	profile_add_stack(f.profile, &stack);
	cr_expect(eq(u32, f.profile->paths.count, 5), "two more");
}

Test(profile, a_cut_stack_stands_below_a_mark)
{
	struct frame frame = { 0x1010, 1, FRAME_EXACT };
	struct stack stack = { .thread = 1, .samples = 1, .weight_ns = MS, .count = 1 };

	stack.time_ns = f.now_ns;
	stack.frames = &frame;
	profile_add_stack(f.profile, &stack);
	stack.flags = STACK_TRUNCATED;
	profile_add_stack(f.profile, &stack);
	profile_add_stack(f.profile, &stack);
	stack.flags = 0;
	profile_add_stack(f.profile, &stack);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows), "[unknown] 4/4, [callers missing] 0/2"));
}

Test(profile, a_stack_that_is_too_deep_is_cut_and_said_to_be)
{
	static struct frame frames[STACK_MAX_FRAMES + 10];
	struct stack stack = { .thread = 1, .samples = 1, .weight_ns = MS, .frames = frames };

	for (uint32_t i = 0; i < STACK_MAX_FRAMES + 10; i++)
		frames[i] = (struct frame){ i, 0, FRAME_RETURN };
	stack.count = STACK_MAX_FRAMES + 10;
	profile_add_stack(f.profile, &stack);
	cr_expect(eq(u32, f.profile->paths.count, STACK_MAX_FRAMES + 2));
	cr_expect(eq(u64, totals_of(f.profile).on_cpu_ns, MS));
}

Test(profile, an_unknown_thread_or_metric_is_a_counted_loss)
{
	struct stack stack = { .thread = 7, .samples = 1, .weight_ns = 3 * MS };

	profile_add_stack(f.profile, &stack);
	stack.thread = 1;
	stack.metric = METRIC_COUNT;
	profile_add_stack(f.profile, &stack);
	cr_expect(eq(u64, totals_of(f.profile).lost_events, 2));
	cr_expect(eq(u64, totals_of(f.profile).lost_ns, 6 * MS));
}

Test(profile, symbolizing_asks_once_a_module_and_only_for_what_is_new)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > memcpy@libc");
	cr_expect(not(profile_is_symbolized(f.profile)));
	name_all(&f);
	cr_expect(profile_is_symbolized(f.profile));
	cr_expect(eq(uint, f.symbolizer.resolved, 2));
	name_all(&f);
	cr_expect(eq(uint, f.symbolizer.resolved, 2));
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > late a.c:9");
	cr_expect(not(profile_is_symbolized(f.profile)));
	name_all(&f);
	cr_expect(eq(uint, f.symbolizer.resolved, 3));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }),
	             "late 1/1, memcpy 1/1, main 0/2, work 0/1"));
}

Test(profile, the_symbolizer_is_told_where_jitdumps_have_been_mapped)
{
	static const char *const paths[] = { "/a/jit-7.dump", "/a/jit-.dump", "/a/my-jit-7.dump",
		                             "/jit-7.dump/x", "/a/jit-8.dump.1" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct module file = {
			.kind = MODULE_ELF, .path = paths[i], .pid = 4711, .fd = -1
		};
		cr_assert(modules_add(f.modules, &file, NULL) != NULL);
	}
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	name_all(&f);
	// By the process that has mapped it: the name has the number that it has where it lives.
	cr_expect(eq(str, f.symbolizer.jitdumps, "4711 /a/jit-7.dump;"));
}

Test(profile, a_symbolizer_that_fails_is_an_error)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	f.symbolizer.fails = true;
	cr_expect(eq(int, profile_symbolize(f.profile, &f.symbolizer, NULL), -1));
	cr_expect(not(profile_is_symbolized(f.profile)));
}

Test(profile, facts_of_the_run_are_copied_and_can_be_set_again)
{
	char command[] = "make -j2";
	struct run run = { .command = command, .cpus = 4, .exit_status = -1 };

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	memset(command, 'x', sizeof(command) - 1);
	cr_expect(eq(str, (char *)profile_run(f.profile)->command, "make -j2"));
	run.command = NULL;
	run.complete = true;
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cr_expect(eq(ptr, (void *)profile_run(f.profile)->command, NULL));
	cr_expect(profile_run(f.profile)->complete);
}

static void add_path(struct profile *p, uint32_t seed, uint32_t depth, uint64_t time_ns)
{
	struct frame frames[64];
	struct stack stack = { .thread = 1, .samples = 1, .weight_ns = MS, .count = depth };

	for (uint32_t i = 0; i < depth; i++) {
		frames[depth - 1 - i] = (struct frame){ 16 * (1 + seed % 4), 0, FRAME_RETURN };
		seed = seed / 4 + seed % 4 * 1000003;
	}
	stack.time_ns = time_ns;
	stack.frames = frames;
	profile_add_stack(p, &stack);
}

Test(profile, memory_is_bounded_and_no_time_is_lost_by_it)
{
	const struct profile_limits small = { .nodes = 1, .cells = 1, .threads = 2 };
	struct fixture g;
	enum {
		STACKS = 60000
	};

	fixture_init(&g, &small);
	struct profile *p = g.profile;
	for (uint32_t i = 0; i < STACKS; i++) {
		add_path(p, i * 2654435761u, 20, 1000 * MS + i * MS);
		add_path(p, 5, 20, 1000 * MS + i * MS); // one path that is as heavy as all the rest
		cr_assert(le(u32, p->paths.count, p->limits.nodes));
		cr_assert(le(u32, p->cells.count, p->limits.cells));
		cr_assert(le(u32, p->locations.count, p->limits.nodes));
	}
	struct totals totals = totals_of(p);
	cr_expect(eq(u64, totals.on_cpu_ns, 2 * STACKS * MS));
	cr_expect(eq(u64, totals.lost_events, 0));
	cr_expect(gt(u64, totals.folded_ns, 0));
	cr_expect(lt(u64, totals.folded_ns, STACKS * MS), "the heavy path was never folded");
	cr_expect(ge(u64, totals.bin_ns, 16 * MS));
	cleanup(rows) struct rows *rows = query_run(p, &(struct query){ 0 }, NULL);
	cr_expect(eq(u64, rows->all, 2 * STACKS * MS));
	for (size_t i = 0; i < rows->count; i++)
		cr_expect(le(u64, rows->rows[i].total, rows->all));
	fixture_fini(&g);
}

Test(profile, code_that_comes_and_goes_does_not_pile_up)
{
	const struct profile_limits small = { .nodes = 1, .cells = 1, .threads = 2 };
	struct fixture g;

	fixture_init(&g, &small);
	for (uint32_t i = 0; i < 50000; i++) {
		struct frame frame = { 0x1000 + i, 0, FRAME_EXACT };
		struct stack stack = { .thread = 1, .samples = 1, .weight_ns = MS, .count = 1 };
		stack.time_ns = 1000 * MS + i;
		stack.frames = &frame;
		profile_add_stack(g.profile, &stack);
		cr_assert(le(u32, g.profile->locations.count, g.profile->limits.nodes));
	}
	cr_expect(eq(u64, totals_of(g.profile).on_cpu_ns, 50000 * MS));
	fixture_fini(&g);
}

Test(profile, many_sleeping_threads_widen_the_bins_instead_of_filling_memory)
{
	const struct profile_limits small = { .cells = 30000, .threads = 100 };
	struct fixture g;

	fixture_init(&g, &small);
	for (uint32_t thread = 2; thread <= 100; thread++)
		add_thread(&g, thread, 1, 100 + thread, "sleeper");
	for (uint32_t thread = 1; thread <= 100; thread++)
		add(&g, thread, METRIC_OFF_SLEEP, 4000, "main a.c:1 > sleep@libc");
	cr_expect(le(u32, g.profile->cells.count, 30000));
	cr_expect(eq(u64, totals_of(g.profile).off_cpu_ns, 100 * 4000 * MS));
	cr_expect(eq(u64, totals_of(g.profile).folded_ns, 0));
	fixture_fini(&g);
}
