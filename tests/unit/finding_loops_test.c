// SPDX-License-Identifier: MIT
// What rules say of loops, by what is known of their machine code.
#include "base/rung.h"
#include "tests/unit/finding_fixture.h"

#include "merge/profile/profile_data.h"
#include "merge/query/query_loops.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(finding_loops, .init = begin, .fini = end);

#define HOT "main a.c:3 > hot a.c:20"

Test(finding_loops, each_kind_has_its_rule)
{
	static const struct {
		struct planted planted;
		const char *fact;
	} table[] = {
		{ { "CPU-CHASE", METRIC_ON_CPU, HOT, 20 }, "chase 0 0 20 a.c" },
		{ { "CPU-STRIDE", METRIC_ON_CPU, HOT, 20 }, "stride 8192 0 20 a.c" },
		{ { "CPU-DIV", METRIC_ON_CPU, HOT, 20 }, "divide 0 2 20 a.c" },
		{ { "CPU-SEARCH", METRIC_ON_CPU, HOT, 20 }, "search 4 0 20 a.c" },
		{ { "CPU-COPY", METRIC_ON_CPU, HOT, 20 }, "copy 1 1 20 a.c" },
		{ { "CPU-SUM", METRIC_ON_CPU, HOT, 20 }, "sum 0 0 20 a.c" },
		{ { "CPU-SCALAR", METRIC_ON_CPU, HOT, 20 }, "scalar 0 1 20 a.c" },
		{ { "CPU-NARROW", METRIC_ON_CPU, HOT, 20 }, "narrow 16 32 20 a.c" },
		{ { "CPU-SPIN", METRIC_ON_CPU, HOT, 20 }, "wait 0 0 20 a.c" },
		{ { "CPU-SUBNORMAL", METRIC_ON_CPU, HOT, 20 }, "subnormal 80 100 20 a.c" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_planted_in(&table[i].planted, table[i].fact);
}

static void run_in_loop(const char *stack, const char *fact)
{
	add(&f, 1, METRIC_ON_CPU, 800, stack);
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	put_in_loop(20, fact);
}

Test(finding_loops, says_what_the_loop_does_and_at_which_line)
{
	// The line is the loop's, not that of the sample.
	run_in_loop(HOT, "stride 8192 0 19 raster.c");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-STRIDE");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->fact,
	                 "strided memory access: 80 % of the main thread's time, most in a loop of "
	                 "hot (raster.c:19) that loads with a stride of 8 KB");
	cr_expect_eq(finding->line, 19);
	cr_expect_str_eq(finding->file, "raster.c");
	cr_expect_eq(finding->saving_ns, 400 * MS);
}

// What a small process has is in the caches.
Test(finding_loops, a_near_stride_counts_where_there_is_much_memory)
{
	static const struct {
		uint64_t mb;
		const char *loop;
		bool found;
	} table[] = { { 64, "stride 128 0 19 raster.c", true },
		      { 8, "stride 128 0 19 raster.c", false },
		      { 8, "stride 256 0 19 raster.c", true } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		run_in_loop(HOT, table[i].loop);
		struct run run = *profile_run(f.profile);
		run.peak_rss_bytes = table[i].mb << 20;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "CPU-STRIDE") != NULL, table[i].found, "row %zu",
		             i);
	}
}

// With stacks of the kernel no sample has vector registers; with others, numbers were looked at.
Test(finding_loops, loops_of_floating_point_have_advice_on_subnormal_numbers)
{
	static const struct {
		const char *fact, *id;
		bool says;
	} rows[] = {
		{ "divide 0 0 20 a.c", "CPU-DIV", true },
		{ "divide 0 2 20 a.c", "CPU-DIV", false }, // integers
		{ "sum 0 0 20 a.c", "CPU-SUM", true },
		{ "scalar 0 1 20 a.c", "CPU-SCALAR", true },
		{ "scalar 0 0 20 a.c", "CPU-SCALAR", false },
	};

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		bool kernel = i % 2;
		const struct run run = { .start_ns = 1000 * MS,
			                 .wall_ns = 1000 * MS,
			                 .cpus = 2,
			                 .samples = 1000,
			                 .rung = kernel ? RUNG_PERF_KERNEL : RUNG_PERF_USER };
		run_in_loop(HOT, rows[i / 2].fact);
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, rows[i / 2].id);
		cr_assert(finding != NULL, "%s", rows[i / 2].fact);
		bool says = strstr(finding->advice, "--rung user, which looks at them.") != NULL;
		cr_expect_eq(says, kernel && rows[i / 2].says, "%s: %s", rows[i / 2].fact,
		             finding->advice);
		end();
		begin();
	}
}

Test(finding_loops, advice_by_what_divides)
{
	static const struct {
		const char *fact, *advice;
	} table[] = {
		{ "divide 0 0 20 a.c", "reciprocal, computed once" },
		{ "divide 0 1 20 a.c", "32-bit operands" },
		{ "divide 0 2 20 a.c", "libdivide" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		run_in_loop(HOT, table[i].fact);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-DIV");
		cr_assert(finding != NULL);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
		end();
		begin();
	}
}

Test(finding_loops, chains_of_a_hash_table_are_its_own_advice)
{
	run_in_loop("main a.c:3 > std::_Hashtable<int>::_M_find_node "
	            "/usr/include/c++/12/bits/hashtable.h:20|drop a.c:23",
	            "chase 0 0 0 ");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-CHASE");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "drop");
	cr_expect(strstr(finding->advice, "hash function") != NULL, "%s", finding->advice);
	end();
	begin();
	run_in_loop(HOT, "chase 0 0 20 a.c");
	cleanup(findings) struct findings *list = look(NULL);
	finding = finding_of(list, "CPU-CHASE");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->advice, "last element") != NULL, "%s", finding->advice);
	end();
	begin();
	// A comparison of the user's own that is inlined there calls nothing of the table's.
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > same a.c:4|hot a.c:20");
	add(&f, 1, METRIC_ON_CPU, 600,
	    "main a.c:3 > std::_Hashtable<int>::_M_find_node "
	    "/usr/include/c++/12/bits/hashtable.h:21|hot a.c:20");
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	put_in_loop(4, "chase 0 0 20 a.c");
	put_in_loop(21, "chase 0 0 20 a.c");
	cleanup(findings) struct findings *mixed = look(NULL);
	finding = finding_of(mixed, "CPU-CHASE");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->advice, "hash function") != NULL, "%s", finding->advice);
}

// What another rule knows is the better answer.
Test(finding_loops, unoptimized_code_is_that_and_no_loop)
{
	run_in_loop("main a.c:3 > %hot a.c:20", "scalar 0 1 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-SCALAR"));
	cr_expect(finding_of(findings, "CPU-DEBUG") != NULL);
}

// The loop's time is what its own instructions take.
Test(finding_loops, what_a_loop_calls_is_not_its_own)
{
	add(&f, 1, METRIC_ON_CPU, 800, "main a.c:3 > hot a.c:20 > read@libc");
	add(&f, 1, METRIC_ON_CPU, 200, HOT);
	finish(1000, 2);
	put_in_loop(20, "chase 0 0 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-CHASE"));
}

// What is not the user's to change is a fact for the answer, and no finding.
Test(finding_loops, a_loop_of_a_library_is_told_and_blamed_on_nobody)
{
	struct nameless_loop loop;

	add(&f, 1, METRIC_ON_CPU, 800, "main a.c:3 > hot@libc");
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	struct locations *l = &f.profile->locations;
	const char *path = NULL;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct module *module = modules_get(f.modules, l->locations[i].module);
		if (!module || !strstr(module->path, "libc"))
			continue;
		path = module->path;
		l->locations[i].place_count = 0; // as without symbols
		l->locations[i].loop = strings_add(f.profile->strings, "chase 0 0 0 ");
	}
	cr_assert(path != NULL);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-CHASE"));
	cr_assert(query_nameless_loop(f.profile, path, &loop));
	cr_expect_eq(loop.fact.kind, LOOP_CHASE);
	cr_expect_eq(loop.ns, 800 * MS);
	cr_expect_eq(loop.all_ns, 800 * MS);
	cr_expect_not(query_nameless_loop(f.profile, "/none", &loop));
}

// So are the numbers.
Test(finding_loops, a_library_that_is_given_subnormal_numbers_is_its_callers)
{
	add(&f, 1, METRIC_ON_CPU, 800,
	    "{<module> train.py:3} > {relax train.py:9} > DOUBLE_divide@libc");
	add(&f, 1, METRIC_ON_CPU, 200, "{<module> train.py:3} > {relax train.py:5}");
	finish(1000, 2);
	struct locations *l = &f.profile->locations;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct module *module = modules_get(f.modules, l->locations[i].module);
		if (module && strstr(module->path, "libc"))
			l->locations[i].loop =
				strings_add(f.profile->strings, "subnormal 90 100 0 ");
	}
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SUBNORMAL");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "relax");
	cr_expect_eq(finding->line, 9);
	cr_expect(strstr(finding->fact, "in 90 % of its samples") != NULL, "%s", finding->fact);
}

// How the data lies that a library is given is its caller's choice; a step of its own is not.
Test(finding_loops, a_library_that_is_given_data_far_apart_is_its_callers)
{
	static const struct {
		const char *fact;
		bool fires;
	} table[] = { { "stride 16384 2 0 ", true }, { "stride 16384 0 0 ", false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 800,
		    "{<module> train.py:3} > {spread train.py:9} > "
		    "FLOAT_pairwise_sum@libc");
		add(&f, 1, METRIC_ON_CPU, 200, "{<module> train.py:3} > {spread train.py:5}");
		finish(1000, 2);
		struct locations *l = &f.profile->locations;
		for (uint32_t k = 0; k < l->count; k++) {
			const struct module *module =
				modules_get(f.modules, l->locations[k].module);
			if (module && strstr(module->path, "libc"))
				l->locations[k].loop =
					strings_add(f.profile->strings, table[i].fact);
		}
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-STRIDE");
		cr_expect_eq(finding != NULL, table[i].fires, "%s", table[i].fact);
		cr_expect(!finding || (finding->line == 9 && strstr(finding->fact, "16 KB")), "%s",
		          finding ? finding->fact : "");
	}
}

Test(finding_loops, a_damaged_fact_is_none)
{
	run_in_loop(HOT, "stride many 0 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-STRIDE"));
}

// Who waits for the loop's lock says more than what the loop does.
Test(finding_loops, a_lock_holder_at_the_same_place_comes_first)
{
	add(&f, 1, METRIC_ON_CPU, 500, HOT);
	add(&f, 1, METRIC_OFF_LOCK, 500, "main a.c:3 > hot a.c:20 > pthread_mutex_lock@libc");
	finish(1000, 2);
	put_in_loop(20, "divide 0 0 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *lock = finding_of(findings, "CPU-LOCK");
	const struct finding *loop = finding_of(findings, "CPU-DIV");
	cr_assert(lock && loop);
	cr_expect_null(lock->covered);
	cr_expect(loop->covered == lock->rule);
}

Test(finding_loops, a_lock_holder_elsewhere_does_not)
{
	add(&f, 1, METRIC_ON_CPU, 500, HOT);
	add(&f, 1, METRIC_OFF_LOCK, 500, "main a.c:3 > other a.c:30 > pthread_mutex_lock@libc");
	finish(1000, 2);
	put_in_loop(20, "divide 0 0 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *loop = finding_of(findings, "CPU-DIV");
	cr_assert(loop != NULL);
	cr_expect_null(loop->covered);
}

// Two threads in one loop, thread 2 for the last TOGETHER_MS of a second.
static void two_threads_in_loop(uint64_t together_ms, const char *fact)
{
	uint64_t end = 2000, from = end - together_ms;

	add_thread(&f, 2, 1, 102, "app");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, from, THREAD_BLOCKED, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < end; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		add(&f, 1, METRIC_ON_CPU, 10, HOT);
		if (ms >= from)
			add(&f, 2, METRIC_ON_CPU, 10, HOT);
	}
	add_span(&f, 1, 1000, end, THREAD_RUNS, THREAD_BLOCKED);
	add_span(&f, 2, from, end, THREAD_RUNS, THREAD_BLOCKED);
	profile_end_wall(f.profile, end * MS);
	finish(1000, 2);
	put_in_loop(20, fact);
}

Test(finding_loops, threads_that_write_to_one_line_are_slow_if_they_run_at_once)
{
	static const struct {
		uint64_t together_ms;
		const char *fact, *says, *advice;
	} table[] = {
		{ 800, "shared 8 0 20 a.c",
		  "writes to memory 8 bytes from what another thread uses", "(false sharing)" },
		{ 800, "shared 0 1 20 a.c",
		  "updates memory atomically that another thread uses, too",
		  "Count in a local variable" },
		{ 50, "shared 8 0 20 a.c", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		two_threads_in_loop(table[i].together_ms, table[i].fact);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-LINE");
		cr_assert_eq(finding != NULL, table[i].says != NULL, "row %zu", i);
		cr_expect(!finding || strstr(finding->fact, table[i].says), "row %zu: %s", i,
		          finding ? finding->fact : "");
		cr_expect(!finding || strstr(finding->advice, table[i].advice), "row %zu: %s", i,
		          finding ? finding->advice : "");
		end();
		begin();
	}
}

// The line of a loop is the jump's; a sample may be in what was inlined there.
Test(finding_loops, the_function_of_a_loop_is_that_of_its_line)
{
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > same a.c:4|hot a.c:20");
	add(&f, 1, METRIC_ON_CPU, 400, HOT);
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	put_in_loop(4, "chase 0 0 20 a.c");
	put_in_loop(20, "chase 0 0 20 a.c");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-CHASE");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "hot");
	cr_expect_eq(finding->line, 20);
}
