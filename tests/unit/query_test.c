// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "merge/scope/kept.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <math.h>
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

TestSuite(query, .init = begin, .fini = end);

static const struct row *row_called(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, name) == 0)
			return &rows->rows[i];
	cr_assert(false, "no row is called %s", name);
	return NULL;
}

Test(query, self_is_the_innermost_function_and_total_everyone_on_the_path)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > work a.c:5 > leaf a.c:9");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > work a.c:6");
	add(&f, 1, METRIC_OFF_FILE, 5, "main a.c:2 > read@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FUNCTION }),
	             "leaf 30/30, work 10/40, read 5/5, main 0/45"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .sort = SORT_TOTAL }),
	             "main 0/45, work 10/40, leaf 30/30, read 5/5"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .on_cpu = true }),
	             "leaf 30/30, work 10/40, main 0/40"));
	cr_expect(
		eq(str, (char *)ask(&f, &(struct query){ .off_cpu = true }), "read 5/5, main 0/5"));
}

Test(query, the_line_of_a_function_is_the_one_that_its_rank_is_for)
{
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > work a.c:6");
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > work a.c:5 > leaf a.c:9");
	name_all(&f);
	for (int total = 0; total <= 1; total++) {
		const struct query query = { .sort = total ? SORT_TOTAL : SORT_SELF };
		cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
		cr_expect_eq(row_called(rows, "work")->line, total ? 5 : 6);
	}
}

Test(query, what_others_take_can_be_left_out)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > work a.c:5");
	add(&f, 1, METRIC_OFF_RUNNABLE, 500, "main a.c:1 > unlucky a.c:7");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > unlucky a.c:7");
	add(&f, 1, METRIC_OFF_CHILD, 400, "main a.c:2 > wait4@libc");
	add(&f, 1, METRIC_OFF_FILE, 5, "main a.c:2 > read@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .without_others = true }),
	             "work 30/30, read 5/5, unlucky 1/1, main 0/36"));
	cr_expect(eq(str,
	             (char *)ask(&f, &(struct query){ .off_cpu = true, .without_others = true }),
	             "unlucky 500/500, wait4 400/400, read 5/5, main 0/905"));
}

Test(query, idle_threads_of_libraries_can_be_left_out)
{
	const struct query query = { .without_others = true };

	add_thread(&f, 2, 1, 101, "app");
	add(&f, 2, METRIC_ON_CPU, 7, "clone@libc > pool@libc > task@libc");
	add(&f, 2, METRIC_OFF_LOCK, 600, "clone@libc > pool@libc > futex@libc");
	add(&f, 2, METRIC_OFF_FILE, 3, "clone@libc > pool@libc > fsync@libc");
	// Work that the program has given it, and its own first thread, wait for something.
	add(&f, 2, METRIC_OFF_LOCK, 50, "clone@libc > pool@libc > work a.c:5 > futex@libc");
	add(&f, 1, METRIC_OFF_LOCK, 20, "start@libc > futex@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &query),
	             "futex 70/70, task 7/7, fsync 3/3, clone 0/60, pool 0/60, work 0/50, "
	             "start 0/20"));
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->idle_ns, 600 * MS));
	cr_expect(eq(u64, rows->all, 80 * MS));
	cr_expect(eq(str,
	             (char *)ask(&f, &(struct query){ .off_cpu = true, .without_others = true }),
	             "futex 670/670, fsync 3/3, clone 0/653, pool 0/653, work 0/50, start 0/20"));
}

static void end_thread(uint32_t thread, uint64_t on_cpu_ms, uint64_t waited_ms)
{
	struct thread_end event = { .thread = thread, .time_ns = f.now_ns, .exact = true };

	event.ns[METRIC_ON_CPU] = on_cpu_ms * MS;
	event.ns[METRIC_OFF_LOCK] = waited_ms * MS;
	profile_end_thread(f.profile, &event);
}

Test(query, threads_of_the_program_that_wait_for_work_that_never_comes_are_idle)
{
	const struct query query = { .without_others = true };

	for (uint32_t thread = 2; thread <= 4; thread++)
		add_thread(&f, thread, 1, 100 + thread, "worker");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	add(&f, 2, METRIC_OFF_LOCK, 60000, "idle a.c:5 > pthread_cond_wait@libc > futex@libc");
	add(&f, 3, METRIC_OFF_LOCK, 60000, "starved a.c:7 > pthread_mutex_lock@libc > futex@libc");
	add(&f, 4, METRIC_OFF_LOCK, 60000, "busy a.c:9 > pthread_cond_wait@libc > futex@libc");
	end_thread(2, 1, 60000);
	end_thread(3, 1, 60000);
	end_thread(4, 1000, 60000);
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &query),
	             "futex 120000/120000, main 10/10, busy 0/60000, pthread_cond_wait 0/60000, "
	             "pthread_mutex_lock 0/60000, starved 0/60000"));
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->idle_ns, 60000 * MS));
}

Test(query, threads_in_which_gos_scheduler_has_nothing_to_run_are_idle)
{
	const struct query query = { .without_others = true };

	add_thread(&f, 2, 1, 101, "app");
	add(&f, 1, METRIC_ON_CPU, 10,
	    "runtime.newproc <autogenerated>:1 > runtime.schedule p.go:3");
	add(&f, 1, METRIC_OFF_NET, 900,
	    "runtime.newproc <autogenerated>:1 > runtime.schedule p.go:3 > runtime.epollwait s.s:7");
	add(&f, 2, METRIC_OFF_SLEEP, 800, "runtime.mstart a.s:1 > runtime.sysmon p.go:5");
	add(&f, 2, METRIC_OFF_LOCK, 600,
	    "runtime.mstart a.s:1 > runtime.templateThread p.go:6 > runtime.notesleep l.go:1");
	add(&f, 2, METRIC_OFF_LOCK, 70, "main.work a.go:5 > runtime.notesleep l.go:1");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->idle_ns, 2300 * MS));
	cr_expect(eq(u64, rows->all, 80 * MS));
}

Test(query, what_the_kernel_keeps_for_io_uring_is_idle_without_a_stack)
{
	const struct query query = { .without_others = true };

	add_thread(&f, 2, 1, 101, "iou-sqp-100");
	add_thread(&f, 3, 1, 102, "worker");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	add(&f, 2, METRIC_OFF_OTHER, 900, "[unknown]");
	add(&f, 3, METRIC_OFF_OTHER, 30, "[unknown]");
	end_thread(2, 1, 900);
	end_thread(3, 1, 30);
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->idle_ns, 900 * MS));
	cr_expect(eq(u64, rows->all, 40 * MS));
}

// As make(1) waits for its compilers.
Test(query, a_parent_whose_children_work_waits_for_them)
{
	const struct query query = { .without_others = true };

	for (uint32_t busy = 0; busy <= 1; busy++) {
		profile_add_process(f.profile, &(struct process_event){ .process = 2,
		                                                        .parent = 1,
		                                                        .pid = 200,
		                                                        .command = "cc" });
		add_thread(&f, 2, 2, 200, "cc");
		add(&f, 1, METRIC_OFF_NET, 800, "start@libc > take@app > pselect@libc");
		add(&f, 1, METRIC_OFF_NET, 200, "start@libc > main a.c:1 > pselect@libc");
		add(&f, 1, METRIC_OFF_NET, 100, "start@libc > ask@app > recv@libc");
		add(&f, 2, METRIC_ON_CPU, 600, "compile b.c:5");
		end_thread(1, 0, 1100);
		end_thread(2, busy ? 600 : 500, 0);
		name_all(&f);
		cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
		cr_expect(eq(u64, rows->idle_ns, busy ? 800 * MS : 0));
		end();
		begin();
	}
}

// As a damaged file may tell of its processes; a sanitizer looks on.
Test(query, a_parent_may_be_anybody)
{
	const struct query query = { .without_others = true };
	static const uint32_t parents[] = { 1, 2, 1000000 };

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		f.profile->threads.processes[0].parent = parents[i];
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
		end_thread(1, 10, 0);
		name_all(&f);
		cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
		cr_expect(eq(u64, rows->all, 10 * MS));
		end();
		begin();
	}
}

// Of short waits nobody has seen the stacks.
Test(query, waits_without_stacks_are_idle_in_a_thread_that_is)
{
	const struct query query = { .without_others = true };

	for (uint32_t busy = 0; busy <= 1; busy++) {
		add_thread(&f, 2, 1, 101, "pool");
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
		add(&f, 2, METRIC_OFF_LOCK, 800, "clone@libc > pool@libc > futex@libc");
		add(&f, 2, METRIC_OFF_LOCK, 200,
		    busy ? "take a.c:7 > futex@libc" : "pool@libc > futex@libc");
		add(&f, 2, METRIC_OFF_OTHER, 300, "[unknown]");
		end_thread(2, 10, 1300);
		name_all(&f);
		cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
		cr_expect(eq(u64, rows->idle_ns, busy ? 800 * MS : 1300 * MS));
		end();
		begin();
	}
}

// A thread that works at first, 100 ms, and then waits for work until the end.
Test(query, a_thread_that_worked_before_the_window_and_never_again_is_idle_in_it)
{
	const struct query whole = { .without_others = true };
	struct query window = whole;

	add_thread(&f, 2, 1, 101, "worker");
	add(&f, 2, METRIC_ON_CPU, 100, "serve a.c:5 > compile a.c:9");
	f.now_ns += 200 * MS;
	window.from_ns = f.now_ns - profile_start_ns(f.profile);
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	add(&f, 2, METRIC_OFF_LOCK, 1000, "serve a.c:5 > pthread_cond_wait@libc > futex@libc");
	f.now_ns += 1000 * MS;
	end_thread(2, 100, 1000);
	name_all(&f);
	cleanup(rows) struct rows *all = query_run(f.profile, &whole, NULL);
	cr_expect(eq(u64, all->idle_ns, 0));
	cleanup(rows) struct rows *rest = query_run(f.profile, &window, NULL);
	cr_expect(gt(u64, rest->idle_ns, 990 * MS));
	cr_expect(eq(str, (char *)ask(&f, &window), "main 10/10"));
}

#define LOADS      "{<module> train.py:16} > {Popen._launch /usr/lib/python3.11/popen_fork.py:71} > "
#define BOOTSTRAP  "{BaseProcess._bootstrap /usr/lib/python3.11/multiprocessing/process.py:314} > "
#define TAKES_WORK "{worker /usr/lib/python3.11/multiprocessing/pool.py:114} > poll@libc"

Test(query, forked_workers_between_two_pieces_of_work_are_idle)
{
	const struct query query = { .without_others = true };

	add(&f, 1, METRIC_OFF_PIPE, 700, LOADS BOOTSTRAP TAKES_WORK);
	add(&f, 1, METRIC_OFF_PIPE, 30, LOADS BOOTSTRAP "{work train.py:9} > poll@libc");
	add(&f, 1, METRIC_OFF_PIPE, 20, LOADS TAKES_WORK);
	add(&f, 1, METRIC_ON_CPU, 5, LOADS BOOTSTRAP TAKES_WORK);
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->idle_ns, 700 * MS));
	cr_expect(eq(u64, row_called(rows, "poll")->self, 55 * MS));
}

Test(query, a_recursive_function_counts_once_in_its_total)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > fib a.c:5");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:1 > fib a.c:6 > fib a.c:5");
	add(&f, 1, METRIC_ON_CPU, 40, "main a.c:1 > fib a.c:6 > fib a.c:6 > fib a.c:5");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FUNCTION }),
	             "fib 70/70, main 0/70"));
}

Test(query, mutual_recursion_counts_each_function_once)
{
	add(&f, 1, METRIC_ON_CPU, 8,
	    "main a.c:1 > odd a.c:2 > even a.c:3 > odd a.c:2 > even a.c:4");
	add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1 > odd a.c:2 > even a.c:3 > odd a.c:7");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FUNCTION }),
	             "even 8/10, odd 2/10, main 0/10"));
}

Test(query, inlined_functions_have_rows_of_their_own)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > min h.h:2|clamp h.h:7|work a.c:5");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1 > work a.c:6");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows), "min 10/10, work 3/13, main 0/13, clamp 0/10"));
	cr_expect(row_called(rows, "min")->inlined);
	cr_expect(row_called(rows, "clamp")->inlined);
	cr_expect(not(row_called(rows, "work")->inlined));
	cr_expect(eq(int, row_called(rows, "clamp")->line, 7), "an outer line is that of the call");
}

Test(query, recursion_through_inlined_frames_counts_once)
{
	add(&f, 1, METRIC_ON_CPU, 9,
	    "main a.c:1 > walk a.c:3|visit a.c:5 > walk a.c:3|visit a.c:6");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FUNCTION }),
	             "walk 9/9, main 0/9, visit 0/9"));
}

Test(query, a_functions_line_is_that_with_most_self_or_else_most_total)
{
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > leaf a.c:10");
	add(&f, 1, METRIC_ON_CPU, 7, "main a.c:2 > leaf a.c:11");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1 > leaf a.c:10");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(int, row_called(rows, "leaf")->line, 10), "8 ms of 15");
	cr_expect(eq(int, row_called(rows, "main")->line, 1), "8 ms of 15, none of them self");
	cr_expect(eq(str, (char *)row_called(rows, "leaf")->file, "a.c"));
}

Test(query, statics_of_one_name_stay_apart)
{
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > init a.c:10");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > init b.c:10");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1 > init a.c:10@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }),
	             "init 5/5, init 4/4, init 3/3, main 0/12"));
}

Test(query, a_function_with_lines_in_two_files_is_one_row)
{
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > parse p.c:10 p.c");
	add(&f, 1, METRIC_ON_CPU, 7, "main a.c:1 > parse p.y:4 p.c");
	add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1 > parse p.y:5 other.c");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows), "parse 12/12, parse 2/2, main 0/14"));
	cr_expect(eq(str, (char *)rows->rows[0].file, "p.y"), "where most of its time is");
	cr_expect(eq(int, rows->rows[0].line, 4));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FILE }),
	             "p.y 9/9, p.c 5/5, a.c 0/14"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_LINE }),
	             "parse 7/7, parse 5/5, parse 2/2, main 0/14"));
}

Test(query, lines_files_and_modules_are_rows_too)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > min h.h:2|work a.c:5");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > work a.c:6");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > memcpy@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_FILE }),
	             "h.h 10/10, a.c 4/15, [libc.so.6] 1/1"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_MODULE }),
	             "/usr/bin/app 14/15, /lib/libc.so.6 1/1"));
	cleanup(rows) struct rows *rows =
		query_run(f.profile, &(struct query){ .by = BY_LINE }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows),
	             "min 10/10, work 4/4, memcpy 1/1, main 0/15, work 0/10"));
	cr_expect(eq(int, rows->rows[0].line, 2));
	cr_expect(eq(str, (char *)rows->rows[0].file, "h.h"));
	cr_expect(eq(int, rows->rows[4].line, 5));
}

Test(query, code_without_names_is_one_row_a_module)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > ?@libc");
	add(&f, 1, METRIC_ON_CPU, 8, "main a.c:1 > ?a@libc");
	add(&f, 1, METRIC_ON_CPU, 7, "main a.c:1 > ?@jit");
	add(&f, 1, METRIC_ON_CPU, 6, "main a.c:1 > ?");
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > [kernel]");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > ?@kernel");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1 > ?@vdso");
	add(&f, 1, METRIC_ON_CPU, 2, "[cut] > main a.c:1");
	add(&f, 1, METRIC_ON_CPU, 1, "");
	add(&f, 1, METRIC_ON_CPU, 10, "[short]");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }),
	             "[libc.so.6] 17/17, [too short to sample] 10/10, [kernel] 9/9, [jit] 7/7, "
	             "[unknown] 6/6, [vdso] 3/3, main 2/44, [stack not seen] 1/1, "
	             "[callers missing] 0/2"));
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(row_called(rows, "[kernel]")->kernel);
	cr_expect(eq(ptr, (void *)row_called(rows, "[kernel]")->module, NULL));
	cr_expect(eq(str, (char *)row_called(rows, "[libc.so.6]")->module, "/lib/libc.so.6"));
}

Test(query, kernel_functions_are_marked)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > read@libc > vfs_read@kernel");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(row_called(rows, "vfs_read")->kernel);
	cr_expect(not(row_called(rows, "read")->kernel));
}

Test(query, hidden_frames_give_their_time_to_their_callers)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > work a.c:3 > read@libc > sys@libc");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > min h.h:3|work a.c:4");
	add(&f, 1, METRIC_ON_CPU, 2, "start@libc > run@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .hide = "libc.so*" }),
	             "work 9/13, min 4/4, [hidden] 2/2, main 0/13"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .hide = "/lib/*" }),
	             "work 9/13, min 4/4, [hidden] 2/2, main 0/13"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .hide = "m*" }),
	             "sys 9/9, work 4/13, run 2/2, read 0/9, start 0/2"));
}

Test(query, user_code_takes_the_time_of_what_it_calls)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main /home/x/src/a.c:1 > lib /usr/l.c:2 > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 4,
	    "main /home/x/src/a.c:1 > mine /home/x/src/b.c:2 > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "start@libc > memcpy@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .user_code = "src/*" }),
	             "main 9/13, mine 4/4, [outside user code] 1/1, memcpy 0/14, lib 0/9, "
	             "start 0/1"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .user_code = "*/libc.so*" }),
	             "memcpy 14/14, main 0/13, lib 0/9, mine 0/4, start 0/1"));
}

Test(query, bottleneck_is_a_row_of_its_own_beside_user_code)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main /home/x/src/a.c:1 > memcpy@libc");
	add(&f, 1, METRIC_OFF_LOCK, 4, "main /home/x/src/a.c:1 > lock@libc > [ours]");
	add(&f, 1, METRIC_ON_CPU, 3, "[ours]");
	add(&f, 1, METRIC_ON_CPU, 1, "start@libc > memcpy@libc");
	name_all(&f);
	struct query query = { .user_code = "src/*" };
	cr_expect(eq(str, (char *)ask(&f, &query),
	             "main 13/13, [bottleneck] 3/7, [outside user code] 1/1, memcpy 0/10, "
	             "lock 0/4, start 0/1"));
	cleanup(call_tree) struct call_tree *tree = query_call_tree(f.profile, &query, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/17 (main 13/13, [bottleneck] 3/3, [outside user code] 1/1)"));
}

Test(query, threads_and_processes_filter_and_are_rows)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_process(&f, 2, 200, "child");
	add_thread(&f, 3, 2, 200, "worker");
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1");
	add(&f, 2, METRIC_ON_CPU, 4, "work a.c:2");
	add(&f, 3, METRIC_ON_CPU, 2, "work a.c:3");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .thread = "worker" }), "work 6/6"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .thread = "101" }), "work 4/4"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .process = "child" }), "work 2/2"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .process = "100" }),
	             "main 9/9, work 4/4"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_THREAD }),
	             "main 9/9, worker 4/4, worker 2/2"));
	cleanup(rows) struct rows *rows =
		query_run(f.profile, &(struct query){ .by = BY_PROCESS }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows), "app 13/13, child 2/2"));
	cr_expect(eq(u32, rows->rows[1].id, 200));
}

// What one question is about is kept for the next one in a report, if that is about the same.
Test(query, each_question_of_a_report_is_answered_as_if_it_were_the_only_one)
{
	static const struct query queries[] = {
		{ .sort = SORT_SELF },
		{ .thread = "worker" },
		{ .thread = "101" },
		{ .process = "worker" },
		{ .process = "child" },
		{ .process = "100", .thread = "worker" },
		{ .process = "worker", .thread = "100" },
		{ .on_cpu = true },
		{ .off_cpu = true },
		{ .without_others = true },
		{ .without_others = true, .by = BY_THREAD },
		{ .off_cpu = true, .without_others = true },
		{ .from_ns = 3 * MS },
		{ .to_ns = 3 * MS },
		{ .user_code = "a.c" },
		{ .user_code = QUERY_OWN_CODE },
		{ .sort = SORT_TOTAL },
		{ .by = BY_LINE },
		{ .by = BY_PROCESS },
		{ .hide = "libc*" },
	};
	enum {
		COUNT = sizeof(queries) / sizeof(queries[0])
	};
	char before[COUNT][512];

	add_thread(&f, 2, 1, 101, "worker");
	add_process(&f, 2, 200, "child");
	add_thread(&f, 3, 2, 200, "worker");
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > read@libc");
	add(&f, 2, METRIC_ON_CPU, 4, "work a.c:2");
	add(&f, 2, METRIC_OFF_LOCK, 600, "clone@libc > pool@libc > futex@libc");
	add(&f, 3, METRIC_ON_CPU, 2, "work a.c:3");
	add(&f, 3, METRIC_OFF_RUNNABLE, 50, "work a.c:3");
	name_all(&f);
	for (int i = 0; i < COUNT; i++) {
		struct error err = { 0 };
		cleanup(rows) struct rows *rows = query_run(f.profile, &queries[i], &err);
		snprintf(before[i], sizeof(before[i]), "%s", rows ? rows_text(rows) : err.text);
	}
	kept_begin(f.profile);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < COUNT; i++) {
			struct error err = { 0 };
			cleanup(rows) struct rows *rows = query_run(f.profile, &queries[i], &err);
			cr_expect(eq(str, (char *)(rows ? rows_text(rows) : err.text), before[i]),
			          "query %d", i);
		}
	kept_end();
}

Test(query, a_thread_that_is_not_there_is_an_error_that_names_it)
{
	struct error err = { 0 };

	cr_expect(eq(ptr, query_run(f.profile, &(struct query){ .thread = "nobody" }, &err), NULL));
	cr_expect(eq(str, err.text, "no thread \"nobody\" in this profile"));
}

Test(query, threads_with_exact_times_have_exact_rows)
{
	struct thread_end exact = { .thread = 1, .time_ns = 1100 * MS, .exact = true };

	exact.ns[METRIC_ON_CPU] = 60 * MS;
	exact.ns[METRIC_OFF_SLEEP] = 40 * MS;
	add(&f, 1, METRIC_ON_CPU, 50, "main a.c:1");
	profile_end_thread(f.profile, &exact);
	cleanup(rows) struct rows *rows =
		query_run(f.profile, &(struct query){ .by = BY_THREAD }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows), "main 100/100"));
	cr_expect(eq(u64, rows->all, 100 * MS));
	cr_expect(eq(dbl, rows->rows[0].self_margin, 0));
}

Test(query, a_window_takes_the_bins_that_start_in_it)
{
	for (int i = 0; i < 10; i++, f.now_ns += 10 * MS)
		add(&f, 1, METRIC_ON_CPU, 10,
		    i < 5 ? "main a.c:1 > early a.c:2" : "main a.c:1 > late a.c:3");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .to_ns = 50 * MS }),
	             "early 50/50, main 0/50"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .from_ns = 50 * MS }),
	             "late 50/50, main 0/50"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .from_ns = 40 * MS, .to_ns = 51 * MS }),
	             "early 10/10, late 10/10, main 0/20"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .from_ns = 900 * MS }), ""));
}

Test(query, an_off_cpu_interval_is_in_every_window_that_it_spans)
{
	add(&f, 1, METRIC_OFF_LOCK, 100, "main a.c:1 > lock@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .from_ns = 20 * MS, .to_ns = 50 * MS }),
	             "lock 30/30, main 0/30"));
}

Test(query, windows_count_from_the_start_of_the_run)
{
	struct run run = { .start_ns = 900 * MS, .exit_status = -1 };

	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1");
	name_all(&f);
	profile_set_run(f.profile, &run, NULL);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .to_ns = 100 * MS }), ""));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .from_ns = 100 * MS }), "main 5/5"));
}

Test(query, margins_are_wilson_intervals_of_all_samples)
{
	for (int i = 0; i < 100; i++)
		add(&f, 1, METRIC_ON_CPU, 1,
		    i % 10 < 3 ? "main a.c:1 > a a.c:2" : "main a.c:1 > b a.c:3");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(u64, rows->all_samples, 100));
	// 30 of 100: Wilson's interval is 21.89 … 39.58 %.
	cr_expect(epsilon_eq(dbl, row_called(rows, "a")->self_margin, (0.3958 - 0.2189) / 2, 1e-4));
	cr_expect(epsilon_eq(dbl, row_called(rows, "b")->self_margin, (0.3958 - 0.2189) / 2, 1e-4));
	cr_expect(not(row_called(rows, "b")->tied), "70 and 30 of 100 do not overlap");
}

Test(query, rows_that_cannot_be_told_apart_are_tied)
{
	for (int i = 0; i < 100; i++)
		add(&f, 1, METRIC_ON_CPU, 1, i < 52 ? "a a.c:2" : "b a.c:3");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(rows->rows[0].tied);
	cr_expect(not(rows->rows[1].tied), "the last row has none below it");
}

Test(query, exact_off_cpu_time_has_no_margin)
{
	struct run run = { .off_cpu_exact = true, .exit_status = -1 };

	add(&f, 1, METRIC_OFF_LOCK, 60, "main a.c:1 > lock@libc");
	add(&f, 1, METRIC_OFF_SLEEP, 59, "main a.c:1 > sleep@libc");
	name_all(&f);
	profile_set_run(f.profile, &run, NULL);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(dbl, rows->rows[0].self_margin, 0));
	cr_expect(not(rows->rows[0].tied));
	run.off_cpu_exact = false;
	profile_set_run(f.profile, &run, NULL);
	cleanup(rows) struct rows *guessed = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(gt(dbl, guessed->rows[0].self_margin, 0.2));
	cr_expect(guessed->rows[0].tied);
}

Test(query, samples_of_weight_alone_do_not_count)
{
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1");
	profile_add_stack(f.profile, &(struct stack){ .thread = 1,
	                                              .time_ns = f.now_ns,
	                                              .weight_ns = 5 * MS,
	                                              .samples = 0 });
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(u64, rows->all_samples, 1));
	cr_expect(eq(u64, rows->all, 10 * MS));
}

Test(query, the_call_tree_is_merged_by_function)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > min h.h:2|work a.c:5");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:2 > work a.c:6");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:2 > memcpy@libc");
	add_thread(&f, 2, 1, 101, "worker");
	add(&f, 2, METRIC_ON_CPU, 5, "main a.c:3 > work a.c:6");
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/38 (main 0/38 (work 25/35 (min 10/10), memcpy 3/3))"));
	const struct call_node *work = call_tree_root(tree)->child->child;
	cr_expect(eq(int, work->line, 6));
	cr_expect(work->child->inlined);
	cr_expect(eq(u64, work->samples, 3));
	cr_expect(eq(int, call_tree_root(tree)->child->call_line, 0), "nobody calls it");
	cr_expect(eq(int, work->call_line, 2), "the heaviest of three");
	cr_expect(eq(int, work->child->call_line, 5), "where it is inlined");
	cleanup(call_tree) struct call_tree *large =
		query_call_tree(f.profile, &(struct query){ 0 }, 0.1, NULL);
	cr_expect(
		eq(str, (char *)tree_text(large), "all 0/38 (main 0/38 (work 25/35 (min 10/10)))"));
}

Test(query, the_call_tree_shows_recursion_as_it_was)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > fib a.c:5");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:1 > fib a.c:6 > fib a.c:5");
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree), "all 0/30 (main 0/30 (fib 10/30 (fib 20/20)))"));
}

Test(query, the_call_tree_obeys_filters_windows_and_hiding)
{
	add_thread(&f, 2, 1, 101, "worker");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > read@libc > sys@libc");
	add(&f, 1, METRIC_OFF_FILE, 7, "main a.c:1 > read@libc");
	add(&f, 2, METRIC_ON_CPU, 5, "work a.c:3");
	name_all(&f);
	static const struct {
		struct query query;
		const char *tree;
	} rows[] = {
		{ { .on_cpu = true, .thread = "main" },
		  "all 0/10 (main 0/10 (read 0/10 (sys 10/10)))" },
		{ { .hide = "libc*" }, "all 0/22 (main 17/17, work 5/5)" },
		{ { .hide = "*.so*", .off_cpu = true }, "all 0/7 (main 7/7)" },
		{ { .user_code = "a.c" }, "all 0/22 (main 17/17, work 5/5)" },
		{ { .user_code = "libc*", .on_cpu = true },
		  "all 0/15 (main 0/10 (read 0/10 (sys 10/10)), [outside user code] 5/5)" },
		{ { .by = BY_THREAD, .on_cpu = true },
		  "all 0/15 (main 0/10 (main 0/10 (read 0/10 (sys 10/10))), worker 0/5 (work 5/5))" },
		{ { .from_ns = 3 * MS }, "all 0/4 (main 0/4 (read 4/4))" },
	};
	// Twice in a report, and once outside of one.
	kept_begin(f.profile);
	for (size_t at = 0; at < 3 * sizeof(rows) / sizeof(rows[0]); at++) {
		size_t i = at % (sizeof(rows) / sizeof(rows[0]));
		if (at == 2 * sizeof(rows) / sizeof(rows[0]))
			kept_end();
		cleanup(call_tree) struct call_tree *tree =
			query_call_tree(f.profile, &rows[i].query, 0, NULL);
		cr_expect(eq(str, (char *)tree_text(tree), (char *)rows[i].tree), "row %zu", i);
	}
}

Test(query, an_empty_profile_has_no_rows)
{
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);

	cr_expect(eq(sz, rows->count, 0));
	cr_expect(eq(str, (char *)tree_text(tree), "all 0/0"));
}

Test(query, modules_come_with_what_they_could_tell)
{
	snprintf(f.symbolizer.status.remedy, sizeof(f.symbolizer.status.remedy), "compile with -g");
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	name_all(&f);
	cleanup(module_rows) struct module_rows *rows = query_modules(f.profile, NULL);
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(str, (char *)rows->rows[0].path, "/lib/libc.so.6"));
	cr_expect(eq(u64, rows->rows[0].self_ns, 5 * MS));
	cr_expect(eq(u64, rows->rows[0].part_ns, 5 * MS));
	cr_expect(eq(u64, rows->all_ns, 6 * MS));
	cr_expect(eq(str, (char *)rows->of, "the CPU time"));
	cr_expect(eq(int, rows->rows[0].level, DEBUG_LINES));
	cr_expect(eq(str, (char *)rows->rows[0].reason, ""));
	cr_expect(eq(str, (char *)rows->rows[0].remedy, "compile with -g"));
}

// As the answer has it: what a thread waits for is no code of the file that it waits in.
Test(query, shares_of_modules_are_of_time_on_cpus)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > memcpy@libc");
	add(&f, 1, METRIC_OFF_PIPE, 80, "main a.c:1 > read@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	name_all(&f);
	cleanup(module_rows) struct module_rows *rows = query_modules(f.profile, NULL);
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(u64, rows->rows[0].self_ns, 89 * MS));
	cr_expect(eq(u64, rows->rows[0].part_ns, 9 * MS));
	cr_expect(eq(u64, rows->all_ns, 10 * MS));
}

Test(query, of_a_python_without_the_agent_it_is_not_symbols_that_are_missing)
{
	struct run run = { .agentless_processes = 1 };
	static const struct {
		const char *module;
		bool lacks;
	} table[] = {
		{ "/usr/bin/python3.11", true },
		{ "/usr/lib/libpython3.12.so.1.0", true },
		{ "/usr/lib/libc.so.6", false },
		{ "/opt/venv/bin/python3", true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cr_expect(eq(int, query_lacks_agent(&run, table[i].module), table[i].lacks), "%s",
		          table[i].module);
		cr_expect(not(query_lacks_agent(&(struct run){ 0 }, table[i].module)));
	}
}

Test(query, totals_are_sums_over_everything)
{
	struct totals totals;

	add_thread(&f, 2, 1, 101, "worker");
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1");
	add(&f, 2, METRIC_OFF_NET, 7, "main a.c:1");
	add(&f, 9, METRIC_OFF_NET, 3, "main a.c:1");
	add(&f, 1, METRIC_OFF_RUNNABLE, 2, "main a.c:1");
	query_totals(f.profile, &totals);
	cr_expect(eq(u64, totals.runnable_ns, 2 * MS));
	cr_expect(eq(u32, totals.processes, 1));
	cr_expect(eq(u32, totals.threads, 2));
	cr_expect(eq(u64, totals.on_cpu_ns, 5 * MS));
	cr_expect(eq(u64, totals.off_cpu_ns, 9 * MS));
	cr_expect(eq(u64, totals.lost_events, 1), "thread 9 was never announced");
	cr_expect(eq(u64, totals.lost_ns, 3 * MS));
	cr_expect(eq(u64, totals.bin_ns, MS));
}

// Python.

#define LIBRARY "/usr/lib/python3.11/json/decoder.py"

Test(query, a_python_function_is_a_row_like_any_other)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main@libc > {<module> /w/a.py:9} > {work /w/a.py:4}");
	add(&f, 1, METRIC_ON_CPU, 10, "main@libc > {<module> /w/a.py:9} > sort@app");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(rows),
	             "work 30/30, sort 10/10, <module> 0/40, main 0/40"));
	const struct row *work = row_called(rows, "work");
	cr_expect(work->python);
	cr_expect(eq(str, (char *)work->file, "/w/a.py"));
	cr_expect(eq(int, work->line, 4));
	cr_expect(work->module == NULL);
	cr_expect(not(row_called(rows, "sort")->python));
}

Test(query, what_the_interpreter_does_for_a_function_is_that_functions_own)
{
	add(&f, 1, METRIC_ON_CPU, 7, "{work /w/a.py:4} > ~lookup@libc > ~hash@libc");
	add(&f, 1, METRIC_ON_CPU, 2, "{work /w/a.py:4} > ~call@libc > sort@app");
	add(&f, 1, METRIC_ON_CPU, 1, "main@libc > init@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }),
	             "work 7/9, sort 2/2, init 1/1, main 0/1"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .interpreter = true }),
	             "hash 7/7, sort 2/2, init 1/1, work 0/9, lookup 0/7, call 0/2, main 0/1"));
}

// glibc's since 2.41.
Test(query, who_waits_does_so_in_the_function_that_was_called)
{
	add(&f, 1, METRIC_OFF_FILE, 9,
	    "main a.c:1 > read@libc > __internal_syscall_cancel@libc > __syscall_cancel_arch@libc");
	add(&f, 1, METRIC_OFF_SLEEP, 4,
	    "main a.c:2 > clock_nanosleep@libc > __internal_syscall_cancel@libc > "
	    "__syscall_cancel_arch@libc");
	add(&f, 1, METRIC_ON_CPU, 2,
	    "main a.c:1 > read@libc > __internal_syscall_cancel@libc > __syscall_cancel_arch@libc > "
	    "[kernel]");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .off_cpu = true }),
	             "read 9/9, clock_nanosleep 4/4, main 0/13"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .on_cpu = true }),
	             "[kernel] 2/2, main 0/2, read 0/2"));
}

Test(query, the_inside_of_a_c_library_without_symbols_does_not_wait_itself)
{
	add(&f, 1, METRIC_OFF_LOCK, 9, "main a.c:1 > lock@libc > ?@libc > ?@libc");
	add(&f, 1, METRIC_OFF_PIPE, 4, "main a.c:2 > read@libc > ?@libc > ?@libc");
	// Who is called by nobody known, and the inside of other libraries, stay what they are.
	add(&f, 1, METRIC_OFF_LOCK, 3, "main a.c:2 > run@libgomp > ?@libgomp");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .off_cpu = true }),
	             "lock 9/9, read 4/4, [libgomp.so.1] 3/3, main 0/16, run 0/3"));
}

// close() jumps into what read() calls, and a sample finds that at work.
Test(query, who_waits_is_known_although_others_take_the_same_way)
{
	add(&f, 1, METRIC_OFF_PIPE, 90, "main a.c:2 > read@libc > ?@libc > ?@libc");
	add(&f, 1, METRIC_OFF_FILE, 4, "main a.c:3 > ?@libc > ?@libc");
	add(&f, 1, METRIC_OFF_FILE, 3, "main a.c:3 > ?@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:2 > read@libc > ?@libc > [kernel]");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .off_cpu = true }),
	             "read 90/90, main 7/97"));
}

Test(query, what_leads_from_the_c_library_into_the_program_is_no_function_of_it)
{
	add(&f, 1, METRIC_ON_CPU, 9, "_start@app > begin@libc > ?@libc > main a.c:1");
	add(&f, 1, METRIC_ON_CPU, 5, "?@libc > ?@libc > work a.c:2 > sort@libc > order a.c:3");
	add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1 > ?@libc");
	name_all(&f);
	cr_expect(eq(
		str, (char *)ask(&f, &(struct query){ 0 }),
		"main 9/11, order 5/5, [libc.so.6] 2/2, _start 0/9, begin 0/9, sort 0/5, work 0/5"));
}

// pthread_join() jumps to the function that waits.
Test(query, the_inside_of_a_c_library_that_nothing_named_leads_to_is_told)
{
	add(&f, 1, METRIC_OFF_LOCK, 9, "main a.c:1 > ?@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .off_cpu = true }),
	             "[libc.so.6] 9/9, main 0/9"));
}

Test(query, code_without_a_name_that_computes_is_told_apart_from_the_one_that_waits)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > malloc@libc > ?@libc");
	add(&f, 1, METRIC_OFF_FAULT, 2, "main a.c:1 > malloc@libc > ?@libc");
	add(&f, 1, METRIC_OFF_LOCK, 1, "?@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .on_cpu = true }),
	             "[libc.so.6] 9/9, main 0/9, malloc 0/9"));
}

Test(query, own_code_pays_for_the_libraries_that_it_calls)
{
	const struct query own = { .user_code = QUERY_OWN_CODE };

	add(&f, 1, METRIC_ON_CPU, 5, "{work /w/a.py:4} > {loads " LIBRARY ":3} > scan@app");
	add(&f, 1, METRIC_ON_CPU, 3,
	    "{work /w/a.py:5} > {helper /v/lib/python3.12/site-packages/h.py:1}");
	add(&f, 1, METRIC_ON_CPU, 2, "{work /w/a.py:5}");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &own, NULL);
	cr_expect(eq(u64, row_called(rows, "work")->self, 10 * MS));
	cr_expect(eq(int, row_called(rows, "work")->line, 4));
}

Test(query, lambdas_of_one_line_are_one_line)
{
	add(&f, 1, METRIC_ON_CPU, 5, "{main /w/a.py:4} > {main.<lambda> /w/a.py:4}");
	add(&f, 1, METRIC_ON_CPU, 3, "{main /w/a.py:4}");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_LINE }), "/w/a.py 8/8"));
}
