// SPDX-License-Identifier: MIT
#include "merge/query/query_iterations.h"

#include "base/error.h"
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

TestSuite(query_iterations, .init = begin, .fini = end);

// MS samples of STACK, each of a millisecond, one after the other.
static void run(int ms, const char *stack)
{
	while (ms--) {
		add(&f, 1, METRIC_ON_CPU, 1, stack);
		f.now_ns += MS;
	}
}

static struct iterations *ask_for(void)
{
	struct error err = { 0 };

	name_all(&f);
	struct iterations *found = query_iterations(f.profile, &err);
	cr_assert(found != NULL, "%s", err.text);
	return found;
}

Test(query_iterations, a_loop_in_main_is_found_with_its_lines_and_times)
{
	run(20, "main a.c:3 > read_input a.c:30");
	for (int i = 0; i < 12; i++) {
		run(i ? 5 : 50, "main a.c:7 > load a.c:40");
		run(10, i % 2 ? "main a.c:9 > work a.c:50" : "main a.c:9 > work a.c:51");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 12));
	cr_expect(eq(u64, found->items[0].ns, 60 * found->bin_ns));
	for (size_t i = 1; i < 12; i++)
		cr_expect(eq(u64, found->items[i].ns, 15 * found->bin_ns), "%zu", i);
	cr_expect(eq(str, (char *)found->function, "main"));
	cr_expect(eq(str, (char *)found->file, "a.c"));
	cr_expect(eq(int, found->first_line, 7));
	cr_expect(eq(int, found->last_line, 9));
}

// Twelve turns; before the first of them the thread is at a line that one of them comes by AGAIN.
static void run_after_setup(bool again)
{
	run(50, "main a.c:6 > setup a.c:30");
	for (int i = 0; i < 12; i++) {
		run(again && i == 5, "main a.c:6 > setup a.c:30");
		run(5, "main a.c:7 > load a.c:40");
		run(10, "main a.c:9 > work a.c:50");
	}
}

Test(query_iterations, what_comes_again_is_part_of_the_first_turn)
{
	for (int again = 0; again < 2; again++) {
		end();
		begin();
		run_after_setup(again);
		cleanup(iterations) struct iterations *found = ask_for();
		cr_assert(eq(sz, found->count, 12));
		cr_expect(eq(u64, found->items[0].ns, (again ? 65 : 15) * found->bin_ns));
		cr_expect(eq(u64, found->items[1].ns, 15 * found->bin_ns));
	}
}

// MS samples in as many lines, each of which takes next to nothing.
static void run_elsewhere(int ms)
{
	static int line;
	char stack[32];

	while (ms--) {
		snprintf(stack, sizeof(stack), "boot b.c:%d", ++line);
		run(1, stack);
	}
}

Test(query_iterations, the_start_of_the_program_is_no_part_of_the_first_turn)
{
	for (int i = 0; i < 20; i++) {
		run_elsewhere(i ? 4 : 40);
		run(10, "main a.c:7 > work a.c:40");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 20));
	cr_expect(eq(u64, found->items[0].ns, 14 * found->bin_ns));
	cr_expect(eq(u64, found->items[1].ns, 14 * found->bin_ns));
}

Test(query_iterations, where_no_line_tells_calls_apart_the_first_may_be_before_the_loop)
{
	for (int line = 0; line < 2; line++) {
		const char *serve = line ? "main a.c:7 > serve a.c:40" : "main a.c:7 > serve";
		end();
		begin();
		run(60, line ? serve : "serve");
		for (int i = 0; i < 12; i++) {
			run(5, line ? serve : "serve");
			run(10, line ? "main a.c:9 > work a.c:50" : "work");
		}
		cleanup(iterations) struct iterations *found = ask_for();
		cr_assert(eq(sz, found->count, 12));
		cr_expect(eq(u64, found->items[0].ns, (line ? 75 : 15) * found->bin_ns));
	}
}

Test(query_iterations, a_function_is_the_same_however_it_was_compiled)
{
	static const char *const stacks[][4] = {
		{ "JS:~turn t.js:1 > JS:~load t.js:4", "JS:*turn t.js:1 > JS:^load t.js:4",
		  "JS:^turn t.js:1 > JS:+work t.js:9", "JS:*turn t.js:1 > JS:*work t.js:9" },
		{ "LazyCompile:~turn t.js:1 > LazyCompile:~load t.js:4",
		  "LazyCompile:*turn t.js:1 > Function:^load t.js:4",
		  "Function:^turn t.js:1 > Function:^work t.js:9",
		  "LazyCompile:*turn t.js:1 > LazyCompile:*work t.js:9" },
	};

	for (size_t version = 0; version < 2; version++) {
		const char *const *stack = stacks[version];
		end();
		begin();
		for (int i = 0; i < 12; i++) {
			run(i ? 5 : 50, stack[i > 0]);
			run(10, stack[2 + i % 2]);
		}
		cleanup(iterations) struct iterations *found = ask_for();
		cr_assert(eq(sz, found->count, 12));
		cr_expect(eq(u64, found->items[0].ns, 60 * found->bin_ns));
		cr_expect(eq(u64, found->items[11].ns, 15 * found->bin_ns));
	}
}

Test(query_iterations, a_wait_is_a_phase_like_any_other)
{
	for (int i = 0; i < 10; i++) {
		run(6, "main a.c:7 > work a.c:40");
		add(&f, 1, METRIC_OFF_FILE, 9, "main a.c:8 > save a.c:50 > fsync@libc");
		f.now_ns += 9 * MS;
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 10));
	cr_expect(eq(u64, found->items[4].ns, 15 * found->bin_ns));
}

Test(query_iterations, of_a_loop_within_a_loop_the_outer_one_is_taken)
{
	for (int i = 0; i < 8; i++) {
		for (int j = 0; j < 6; j++) {
			run(4, "main a.c:7 > epoch a.c:20 > forward a.c:40");
			run(4, "main a.c:7 > epoch a.c:21 > backward a.c:50");
		}
		run(5, "main a.c:8 > validate a.c:60");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 8));
	cr_expect(eq(str, (char *)found->function, "main"));
}

Test(query_iterations, a_loop_is_found_below_callers_that_stay)
{
	for (int i = 0; i < 8; i++) {
		run(4, "main a.c:7 > epoch a.c:20 > forward a.c:40");
		run(4, "main a.c:7 > epoch a.c:21 > backward a.c:50");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 8));
	cr_expect(eq(str, (char *)found->function, "epoch"));
	cr_expect(eq(int, found->first_line, 20));
	cr_expect(eq(int, found->last_line, 21));
}

Test(query_iterations, a_loop_in_an_inlined_function_is_its_own)
{
	for (int i = 0; i < 8; i++) {
		run(4, "!inl a.h:2|main a.c:9");
		run(5, "!inl a.h:3|main a.c:9");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_assert(eq(sz, found->count, 8));
	cr_expect(eq(str, (char *)found->function, "inl"));
}

Test(query_iterations, of_one_line_no_iteration_can_be_told)
{
	run(300, "main a.c:7 > work a.c:40");
	cleanup(iterations) struct iterations *found = ask_for();
	cr_expect(eq(sz, found->count, 0));
}

Test(query_iterations, a_loop_of_a_library_is_none_unless_the_user_calls_it)
{
	for (int own = 0; own < 2; own++) {
		const char *first = own ? "main > memcmp ../sysdeps/memcmp.S:122"
		                        : "main /usr/src/m.c:3 > memcmp ../sysdeps/memcmp.S:122";
		const char *next = own ? "main > memcmp ../sysdeps/memcmp.S:141"
		                       : "main /usr/src/m.c:3 > memcmp ../sysdeps/memcmp.S:141";
		end();
		begin();
		for (int i = 0; i < 12; i++) {
			run(5, first);
			run(10, next);
		}
		cleanup(iterations) struct iterations *found = ask_for();
		cr_expect(eq(sz, found->count, own ? 12 : 0));
	}
}

// A library that is called at one line does what it does in whatever turns it likes.
Test(query_iterations, below_one_line_of_the_users_own_a_librarys_turns_are_no_loop)
{
	for (int i = 0; i < 12; i++) {
		run(5, "log_request a.c:22 > __tz_convert ./time/tzset.c:577@libc");
		run(10, "log_request a.c:22 > __tz_convert ./time/tzset.c:592@libc");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_expect(eq(sz, found->count, 0));
}

// What calls main() is called once: between its times it was not seen.
Test(query_iterations, the_one_line_that_has_all_is_no_loop)
{
	for (int i = 0; i < 12; i++) {
		run(10, "start@libc > script a.c:25");
		run(2, "start@libc > collect@libc");
	}
	cleanup(iterations) struct iterations *found = ask_for();
	cr_expect(eq(sz, found->count, 0));
}

Test(query_iterations, an_empty_profile_has_none)
{
	cleanup(iterations) struct iterations *found = ask_for();
	cr_expect(eq(sz, found->count, 0));
}

// TOP: the script's own code, or a function of it, imports a package of twelve modules, each of
// which is read and run.
static size_t turns_of_imports(const char *top)
{
	char stack[300];

	for (int i = 0; i < 12; i++) {
		snprintf(stack, sizeof(stack),
		         "%s > {_find_and_load <frozen importlib._bootstrap>:1027} > "
		         "{get_data <frozen importlib._bootstrap_external>:990}",
		         top);
		run(5, stack);
		snprintf(stack, sizeof(stack),
		         "%s > {_find_and_load <frozen importlib._bootstrap>:1027} > "
		         "{<module> /lib/package.py:7}",
		         top);
		run(10, stack);
	}
	cleanup(iterations) struct iterations *found = ask_for();
	return found->count;
}

Test(query_iterations, imports_of_a_script_are_no_loop)
{
	cr_expect(eq(sz, turns_of_imports("{<module> app.py:2}"), 0));
}

Test(query_iterations, imports_of_a_function_may_be_one)
{
	cr_expect(eq(sz, turns_of_imports("{<module> app.py:9} > {load app.py:4}"), 12));
}
