// SPDX-License-Identifier: MIT
// Rules on Python.
#include "tests/unit/finding_fixture.h"

#include "base/await.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_waits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define LIB "/usr/lib/python3.11/"

TestSuite(finding_python, .init = begin, .fini = end);

Test(finding_python, rules_on_what_stacks_do_fire_above_their_thresholds)
{
	static const struct planted table[] = {
		{ "PY-INTERP", METRIC_ON_CPU, "{<module> train.py:3} > {loop train.py:9}", 9 },
		{ "PY-DEEPCOPY", METRIC_ON_CPU,
		  "{<module> train.py:3} > {step train.py:10} > {deepcopy " LIB "copy.py:128}",
		  10 },
		{ "PY-DEEPCOPY", METRIC_ON_CPU,
		  "{<module> train.py:3} > {record train.py:18} > {asdict " LIB
		  "dataclasses.py:1273} > {_asdict_inner " LIB "dataclasses.py:1300}",
		  18 },
		{ "PY-LOG", METRIC_ON_CPU,
		  "{<module> train.py:3} > {step train.py:11} > {info " LIB
		  "logging/__init__.py:1477}",
		  11 },
		{ "PY-DATE", METRIC_ON_CPU,
		  "{<module> train.py:3} > {read train.py:12} > {_strptime " LIB
		  "_strptime.py:309}",
		  12 },
		{ "PY-TRACE", METRIC_ON_CPU,
		  "{<module> train.py:3} > {work train.py:13} > {trace_dispatch " LIB "bdb.py:67}",
		  13 },
		{ "CPU-REGEX", METRIC_ON_CPU,
		  "{<module> train.py:3} > {find train.py:14} > {compile " LIB
		  "re/_compiler.py:738}",
		  14 },
		{ "PY-SERIALIZE", METRIC_ON_CPU,
		  "{<module> train.py:3} > {setting train.py:15} > {loads " LIB
		  "json/__init__.py:334}",
		  15 },
		{ "PY-INSPECT", METRIC_ON_CPU,
		  "{<module> train.py:3} > {call train.py:16} > {stack " LIB "inspect.py:1755}",
		  16 },
		{ "PY-CAST", METRIC_ON_CPU,
		  "{<module> train.py:3} > {scale train.py:18} > _aligned_cast_short_to_double@libc",
		  18 },
		{ "PY-CAST", METRIC_ON_CPU,
		  "{<module> train.py:3} > {scale train.py:19} > array_astype@libc", 19 },
		{ "PY-EXACT", METRIC_ON_CPU,
		  "{<module> train.py:3} > {spread train.py:17} > {_add " LIB "fractions.py:463}",
		  17 },
		{ "PY-DIGITS", METRIC_ON_CPU,
		  "{<module> train.py:3} > {power train.py:20} > k_mul@libc > x_mul@libc", 20 },
		{ "PY-MATMUL", METRIC_ON_CPU,
		  "{<module> train.py:3} > {paths train.py:21} > LONG_matmul@libc", 21 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_planted(&table[i]);
}

// The text of short numbers is made where that of long ones is.
Test(finding_python, numbers_are_long_where_they_are_multiplied)
{
	for (uint64_t product = 0; product <= 60; product += 60) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 400,
		    "{<module> train.py:3} > {text train.py:22} > long_to_decimal_string_internal@libc");
		if (product)
			add(&f, 1, METRIC_ON_CPU, product,
			    "{<module> train.py:3} > {power train.py:20} > k_mul@libc");
		add(&f, 1, METRIC_ON_CPU, 600 - product, "{<module> train.py:9}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "PY-DIGITS") != NULL, product > 0);
	}
}

// Charged to who begins it, whatever it runs; and not worth a word below 0.3 s.
Test(finding_python, imports)
{
	static const struct {
		uint64_t ms, wall_ms;
		bool fires;
	} table[] = { { 400, 2000, false }, { 410, 2000, true }, { 290, 1000, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].ms,
		    "{<module> train.py:4} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
		    "{<module> slow.py:7}");
		add(&f, 1, METRIC_ON_CPU, table[i].wall_ms - table[i].ms, "{<module> train.py:9}");
		finish(table[i].wall_ms, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-IMPORT");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || finding->line == 4);
	}
}

Test(finding_python, without_python_they_are_not_asked)
{
	static const char *const ids[] = { "PY-HALF",  "PY-DIGITS",  "PY-MATMUL",    "PY-INTERP",
		                           "PY-GIL",   "PY-GC",      "PY-IMPORT",    "PY-LOG",
		                           "PY-DATE",  "PY-TRACE",   "PY-SERIALIZE", "PY-INSPECT",
		                           "PY-EXACT", "PY-ELEMENT", "PY-OBJECTS",   "PY-CAST",
		                           "PY-ASYNC", "PY-SHORT",   "PY-QUERIES" };

	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		cr_expect_eq(answer_of_rule(findings, ids[i])->state, RULE_UNKNOWN, "%s", ids[i]);
		cr_expect(strlen(answer_of_rule(findings, ids[i])->why) > 0, "%s", ids[i]);
	}
}

// Where a line takes as long as what it asks arrays for, they are asked for single elements.
Test(finding_python, elements_of_arrays_one_by_one)
{
	static const struct {
		uint64_t line_ms, array_ms;
		bool fires;
	} table[] = {
		{ 200, 300, true }, { 10, 490, false }, { 490, 10, false }, { 80, 80, false }
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].line_ms, "{smooth train.py:8}");
		add(&f, 1, METRIC_ON_CPU, table[i].array_ms,
		    "{smooth train.py:8} > array_subscript@libc");
		add(&f, 1, METRIC_ON_CPU, 1000 - table[i].line_ms - table[i].array_ms,
		    "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-ELEMENT");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || (finding->line == 8 && finding->saving_ns == 500 * MS));
	}
}

// Where the interpreter's part of a call and NumPy's preparations can be seen, little is computed.
Test(finding_python, numpy_calls_on_few_elements)
{
	static const struct {
		uint64_t line_ms, prepare_ms, work_ms;
		bool fires;
	} table[] = { { 150, 150, 200, true },
		      { 10, 10, 480, false },
		      { 300, 20, 180, false },
		      { 20, 300, 180, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].line_ms, "{nearest train.py:8}");
		add(&f, 1, METRIC_ON_CPU, table[i].prepare_ms,
		    "{nearest train.py:8} > {sum " LIB "numpy/_core/fromnumeric.py:2} > "
		    "PyUFunc_GenericReduction@libc > NpyIter_AdvancedNew@libc");
		add(&f, 1, METRIC_ON_CPU, table[i].work_ms,
		    "{nearest train.py:8} > {sum " LIB "numpy/_core/fromnumeric.py:2} > "
		    "PyUFunc_GenericReduction@libc > DOUBLE_add@libc");
		add(&f, 1, METRIC_ON_CPU, 500, "{nearest train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-SHORT");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || (finding->line == 8 && finding->saving_ns == 500 * MS));
	}
}

// Where running them is little of what statements take, there are too many.
Test(finding_python, statements_one_by_one)
{
	static const struct {
		uint64_t begin_ms, run_ms;
		bool fires;
	} table[] = { { 300, 200, true }, { 100, 400, false }, { 100, 50, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].begin_ms,
		    "{page blog.py:8} > {method$'execute'$of$'sqlite3.Connection'$objects}@libc");
		add(&f, 1, METRIC_ON_CPU, table[i].run_ms,
		    "{page blog.py:8} > {method$'execute'$of$'sqlite3.Connection'$objects}@libc > "
		    "sqlite3_step@libc");
		add(&f, 1, METRIC_ON_CPU, 1000 - table[i].begin_ms - table[i].run_ms,
		    "{page blog.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-QUERIES");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || (finding->line == 8 && finding->saving_ns == 350 * MS));
	}
}

// What goes to another process is pickled, copied and written, and all of that is less if less
// goes.
Test(finding_python, sending_to_a_process_is_serialization_with_all_that_it_takes)
{
	add(&f, 1, METRIC_ON_CPU, 300,
	    "{_handle_tasks " LIB "multiprocessing/pool.py:540} > {Connection.send " LIB
	    "multiprocessing/connection.py:205} > {ForkingPickler.dumps " LIB
	    "multiprocessing/reduction.py:51} > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 300,
	    "{_handle_results " LIB "multiprocessing/pool.py:580} > {Connection._recv " LIB
	    "multiprocessing/connection.py:378} > read@libc");
	add(&f, 1, METRIC_ON_CPU, 400, "{make train.py:4} > fft@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-SERIALIZE");
	cr_assert(finding != NULL);
	cr_expect(finding->saving_ns == 600 * MS);
	cr_expect(strstr(finding->advice, "names or indexes") != NULL, "%s", finding->advice);
}

// None of the user's own code is in the stacks of a pool's threads: it waits for them.
Test(finding_python, who_waits_while_a_pool_sends_objects_is_the_place_of_that)
{
	for (uint64_t wait_ms = 200; wait_ms <= 700; wait_ms += 500) {
		add_thread(&f, 10, 1, 110, "tasks");
		add(&f, 1, METRIC_OFF_LOCK, wait_ms,
		    "{<module> app.py:3} > {thumbs app.py:11} > {Pool.map " LIB
		    "multiprocessing/pool.py:364} > {wait " LIB "threading.py:331}");
		add(&f, 1, METRIC_OFF_LOCK, 100, "{<module> app.py:4} > {get " LIB "queue.py:170}");
		add(&f, 10, METRIC_ON_CPU, 600,
		    "{_handle_tasks " LIB "multiprocessing/pool.py:540} > {Connection.send " LIB
		    "multiprocessing/connection.py:205} > memcpy@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-SERIALIZE");
		cr_assert(finding != NULL);
		cr_expect_eq(finding->line, wait_ms == 700 ? 11 : 0);
		cr_expect_eq(strstr(finding->fact,
		                    ", while thumbs (app.py:11) waits in Pool.map") != NULL,
		             wait_ms == 700, "%s", finding->fact);
		cr_expect_eq(strstr(finding->advice, "shared_memory), and return less") != NULL,
		             wait_ms == 700, "%s", finding->advice);
		end();
		begin();
	}
}

// imap() sends each element by itself, and a future is one message there and one back.
Test(finding_python, who_waits_for_results_one_by_one_is_advised_to_send_many_at_once)
{
	static const char *const waits[] = { "{<module> app.py:3} > {IMapIterator.next " LIB
		                             "multiprocessing/pool.py:861} > {wait " LIB
		                             "threading.py:327}",
		                             "{<module> app.py:3} > {as_completed " LIB
		                             "concurrent/futures/_base.py:243} > {wait " LIB
		                             "threading.py:327}" };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		end();
		begin();
		add_thread(&f, 10, 1, 110, "tasks");
		add(&f, 1, METRIC_OFF_LOCK, 900, waits[i]);
		add(&f, 10, METRIC_ON_CPU, 600,
		    "{_handle_tasks " LIB "multiprocessing/pool.py:540} > {Connection.send " LIB
		    "multiprocessing/connection.py:205} > memcpy@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-SERIALIZE");
		cr_assert_not_null(finding);
		cr_expect(strstr(finding->advice, "chunksize=") != NULL, "%s", finding->advice);
	}
}

// The elements' own work is Python's: NumPy's share of it tells which lines they are.
Test(finding_python, arrays_of_objects)
{
	static const struct {
		uint64_t objects_ms;
		bool fires;
	} table[] = { { 150, true }, { 20, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].objects_ms,
		    "{smooth train.py:8} > array_dealloc@libc > clear_object_strided_loop@libc");
		add(&f, 1, METRIC_ON_CPU, 800 - table[i].objects_ms,
		    "{smooth train.py:8} > array_multiply@libc");
		add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-OBJECTS");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || (finding->line == 8 && finding->saving_ns == 800 * MS));
	}
}

// A table of objects that grows in a loop is slow by that, whatever its columns are.
Test(finding_python, a_table_of_objects_that_grows_is_advised_to_be_joined_once)
{
	add(&f, 1, METRIC_ON_CPU, 800,
	    "{collect train.py:8} > {concat /usr/lib/python3/dist-packages/pandas/core/reshape/"
	    "concat.py:380} > OBJECT_copyswapn@libc");
	add(&f, 1, METRIC_ON_CPU, 200, "{collect train.py:9} > fft@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-OBJECTS");
	cr_assert_not_null(finding);
	cr_expect(strstr(finding->advice, "once behind the loop") != NULL, "%s", finding->advice);
}

// CPUs have no arithmetic for them.
Test(finding_python, arrays_of_half_precision)
{
	for (uint64_t half_ms = 50; half_ms <= 200; half_ms += 150) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, half_ms,
		    "{blend train.py:8} > HALF_add@libc > npy_float_to_half@libc");
		add(&f, 1, METRIC_ON_CPU, 800 - half_ms, "{blend train.py:8} > array_add@libc");
		add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-HALF");
		cr_expect_eq(finding != NULL, half_ms == 200);
		cr_expect(!finding || (finding->line == 8 && finding->saving_ns == 640 * MS));
	}
}

// A function of a library's may be called less often; one of the user's own is the place itself.
Test(finding_python, a_library_in_python_is_what_the_interpreter_works_for)
{
	static const struct {
		const char *stack, *says;
	} table[] = { { "{find train.py:8} > {ip_network " LIB "ipaddress.py:74}", "lru_cache" },
		      { "{read train.py:8} > {genfromtxt " LIB "numpy/lib/npyio.py:9}",
		        "loadtxt()" },
		      { "{find train.py:8} > {match train.py:12}", "NumPy's array" } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 800, table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-INTERP");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect(strstr(finding->advice, table[i].says) != NULL, "%s", finding->advice);
	}
}

// PyTorch formats stacks where it is asked to look for anomalies.
Test(finding_python, stacks_of_a_search_for_anomalies)
{
	add(&f, 1, METRIC_ON_CPU, 400,
	    "{train train.py:8} > torch::autograd::PyAnomalyMetadata::store_stack()@libc > "
	    "{format_stack " LIB "traceback.py:510}");
	add(&f, 1, METRIC_ON_CPU, 600, "{smooth train.py:9} > fft@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-INSPECT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->advice, "set_detect_anomaly") != NULL, "%s", finding->advice);
}

// numpy.vectorize() makes arrays of objects of whatever it gets.
Test(finding_python, arrays_of_objects_that_vectorize_makes_are_not_the_users)
{
	add(&f, 1, METRIC_ON_CPU, 300,
	    "{bill train.py:8} > {vectorize.__call__ " LIB "numpy/lib/base.py:25} > "
	    "PyUFunc_On_Om@libc > clear_object_strided_loop@libc");
	add(&f, 1, METRIC_ON_CPU, 500,
	    "{bill train.py:8} > {vectorize.__call__ " LIB "numpy/lib/base.py:25} > "
	    "PyUFunc_On_Om@libc > {price train.py:4}");
	add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect(finding_of(findings, "PY-OBJECTS") == NULL);
}

// indent= takes the encoder that is written in Python.
Test(finding_python, json_that_is_encoded_in_python)
{
	static const char *const encoders[] = { "_iterencode_dict", "encode" };

	for (int i = 0; i < 2; i++) {
		char stack[300];
		end();
		begin();
		snprintf(stack, sizeof(stack),
		         "{store train.py:8} > {dumps " LIB "json/__init__.py:238} > {%s " LIB
		         "json/encoder.py:405}",
		         encoders[i]);
		add(&f, 1, METRIC_ON_CPU, 800, stack);
		add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-SERIALIZE");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "indent=") != NULL, !i, "%s", finding->advice);
	}
}

// Where NumPy's own functions have no names, what it has the interpreter do for elements tells.
Test(finding_python, arrays_of_objects_without_numpys_symbols)
{
	static const char *const stacks[] = {
		"{smooth train.py:8} > binary@numpy > ~PyNumber_Multiply@app2",
		"{smooth train.py:8} > ~PyNumber_Multiply@app2 > binary@numpy",
	};

	for (int own = 0; own <= 1; own++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 800, stacks[own]);
		add(&f, 1, METRIC_ON_CPU, 200, "{smooth train.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-OBJECTS");
		cr_expect_eq(finding != NULL, !own, "row %d", own);
		cr_expect(!finding || finding->line == 8);
	}
}

// A consumer that polls: the main thread waits for it, and nothing else happens.
Test(finding_python, a_thread_that_sleeps_keeps_who_waits_for_it)
{
	for (uint64_t busy_ms = 100; busy_ms <= 700; busy_ms += 600) {
		end();
		begin();
		add_thread(&f, 2, 1, 101, "consumer");
		add_thread(&f, 3, 1, 102, "worker");
		add(&f, 1, METRIC_OFF_LOCK, 900, "{run train.py:44} > sem_wait@libc");
		add(&f, 2, METRIC_OFF_SLEEP, 800, "{take train.py:18} > nanosleep@libc");
		add(&f, 3, METRIC_ON_CPU, busy_ms, "{work train.py:30}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-SLEEP");
		cr_expect_eq(finding != NULL, busy_ms < 400, "%lu ms", (unsigned long)busy_ms);
		cr_expect(!finding || (finding->line == 18 && finding->saving_ns == 800 * MS));
	}
}

// What it waits for between two callbacks is what it is there for.
Test(finding_python, an_event_loop_that_waits_within_a_callback)
{
	static const char *const run =
		"{<module> train.py:60} > {_run_once " LIB "asyncio/base_events.py:1922}";
	char within[300], between[300];

	snprintf(within, sizeof(within),
	         "%s > {_run " LIB "asyncio/events.py:80} > {quote train.py:36} > recv@libc", run);
	snprintf(between, sizeof(between), "%s > {select " LIB "selectors.py:468}", run);
	for (uint64_t ms = 100; ms <= 110; ms += 10) {
		end();
		begin();
		add(&f, 1, METRIC_OFF_NET, ms, within);
		add(&f, 1, METRIC_OFF_NET, 600, between);
		add(&f, 1, METRIC_ON_CPU, 400 - ms, within);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-ASYNC");
		cr_expect_eq(finding != NULL, ms > 100, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || (finding->line == 36 && finding->saving_ns == ms * MS));
	}
}

// In each of so many loops at once.
static void tell_block(uint64_t ms, uint64_t loops)
{
	struct python_await_event event = { .kind = AWAIT_TASK, .count = 1, .ns = 900 * MS };

	event.places[0] = (struct await_told){ "Server.answer", "train.py", 30 };
	event.place_count = 1;
	profile_add_python_await(f.profile, &event);
	event.kind = AWAIT_BLOCK;
	event.ns = ms * loops * MS;
	event.longest_ns = 20 * MS;
	profile_add_python_await(f.profile, &event);
	event.kind = AWAIT_LOOP;
	event.count = loops;
	event.ns = loops * 1000 * MS;
	event.places[0] = (struct await_told){ "", "", 0 };
	profile_add_python_await(f.profile, &event);
}

// Its line is the one that takes longest below the coroutine that blocks, waiting or not.
Test(finding_python, an_event_loop_that_is_blocked_while_tasks_are_ready)
{
	static const char *const run =
		"{<module> train.py:60} > {_run " LIB "asyncio/events.py:80}";
	char slow[300], fast[300], other[300];

	snprintf(slow, sizeof(slow), "%s > {answer train.py:36} > {read train.py:50} > read@libc",
	         run);
	snprintf(fast, sizeof(fast), "%s > {answer train.py:37}", run);
	snprintf(other, sizeof(other), "%s > {other train.py:70} > read@libc", run);
	for (uint64_t ms = 100; ms <= 110; ms += 10) {
		end();
		begin();
		add(&f, 1, METRIC_OFF_FILE, 60, slow);
		add(&f, 1, METRIC_ON_CPU, 50, fast);
		add(&f, 1, METRIC_OFF_FILE, 300, other);
		add(&f, 1, METRIC_ON_CPU, 590, "{<module> train.py:60}");
		tell_block(ms, 1 + ms % 100);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-LOOP");
		cr_expect_eq(finding != NULL, ms > 100, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || (finding->line == 50 && finding->saving_ns == ms * MS));
		cr_expect(!finding || strstr(finding->fact, "20.0 ms"));
	}
}

Test(finding_python, a_loop_that_is_not_asyncios_has_advice_of_its_own)
{
	static const struct {
		const char *library, *advice;
	} table[] = {
		{ NULL, "asyncio.to_thread" },
		{ "uvloop", "asyncio.to_thread" },
		{ "trio", "trio.to_thread.run_sync" },
		{ "gevent", "threadpool.apply" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct python_await_event event = { .kind = AWAIT_LIBRARY,
			                            .count = 1,
			                            .place_count = 2 };
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 1000, "{answer train.py:36}");
		tell_block(200, 1);
		event.places[0] = (struct await_told){ "Server.answer", "train.py", 30 };
		event.places[1] = (struct await_told){ table[i].library, "", 0 };
		if (table[i].library)
			profile_add_python_await(f.profile, &event);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-LOOP");
		cr_assert(finding != NULL);
		cr_expect(strstr(finding->advice, table[i].advice), "%s", finding->advice);
	}
}

// Neither the interpreter's own functions on the way nor a wrapper is what the line calls.
Test(finding_python, what_a_line_calls_is_what_is_written_there)
{
	static const struct {
		const char *below, *calls;
	} table[] = {
		{ " > PyObject_Vectorcall@libc > {strptime " LIB "_strptime.py:309}",
		  "which calls strptime" },
		{ " > {wrap.<locals>.public /usr/lib/python3/dist-packages/numpy/core/o.py:3} > "
		  "{_strptime " LIB "_strptime.py:309}",
		  "which calls _strptime" },
		{ " > PyObject_Vectorcall@libc > mktime@libc", NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char stack[300];
		end();
		begin();
		snprintf(stack, sizeof(stack), "{<module> train.py:3} > {when train.py:12}%s",
		         table[i].below);
		add(&f, 1, METRIC_ON_CPU, 1000, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-DATE");
		cr_assert(finding != NULL, "row %zu", i);
		const char *calls = strstr(finding->fact, "which calls");
		cr_expect_eq(calls != NULL, table[i].calls != NULL, "%s", finding->fact);
		cr_expect(!calls || strcmp(calls, table[i].calls) == 0, "%s", finding->fact);
	}
}

// A copy's own exceptions are not for the user to avoid.
Test(finding_python, what_a_copy_throws_is_its_own)
{
	add(&f, 1, METRIC_ON_CPU, 1000,
	    "{save train.py:5} > {deepcopy " LIB "copy.py:128} > PyErr_SetObject@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-THROW"));
	cr_expect_not_null(finding_of(findings, "PY-DEEPCOPY"));
}

// Nobody has written an exception there: it says that the class does not have the attribute.
Test(finding_python, exceptions_before_getattr_are_those_of_attributes_looked_up)
{
	static const struct {
		const char *stack, *advice;
	} table[] = {
		{ "{norm model.py:12} > PyErr_SetObject@libc",
		  "before each call of __getattr__()" },
		{ "{norm model.py:12} > {Proxy.__getattr__ model.py:8} > PyErr_SetObject@libc",
		  "before each call of __getattr__()" },
		{ "{norm model.py:12} > {Proxy.find model.py:8} > PyErr_SetObject@libc",
		  "Check first" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 400,
		    i < 2 ? "{norm model.py:12} > {Proxy.__getattr__ model.py:8}"
		          : "{norm model.py:12}");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-THROW");
		cr_assert_not_null(finding, "%s", table[i].stack);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
	}
}

// The same rule finds many kinds of calls: what to do depends on which one it is.
Test(finding_python, advice_is_for_what_is_called)
{
#define AT "{<module> train.py:3} > {step train.py:11} > "
	static const struct {
		const char *stack, *id, *advice;
	} table[] = {
		{ AT "{dump " LIB "json/__init__.py:180}", "PY-SERIALIZE", "Write less often" },
		{ AT "{dumps " LIB "json/__init__.py:180}", "PY-SERIALIZE",
		  "check the level first" },
		{ AT "{loads " LIB "json/__init__.py:180}", "PY-SERIALIZE", "Parse each document" },
		{ AT "{Pool.map " LIB "multiprocessing/pool.py:364} > {ForkingPickler.dumps " LIB
		     "multiprocessing/reduction.py:51}",
		  "PY-SERIALIZE", "shared_memory" },
		{ AT "{BaseProxy._callmethod " LIB
		     "multiprocessing/managers.py:807} > {_ConnectionBase.send " LIB
		     "multiprocessing/connection.py:202}",
		  "PY-SERIALIZE", "object of a Manager" },
		{ AT "{ProcessPoolExecutor.submit " LIB
		     "concurrent/futures/process.py:789} > {ForkingPickler.dumps " LIB
		     "multiprocessing/reduction.py:51}",
		  "PY-SERIALIZE", "chunksize=" },
		{ AT "{DataFrame.iterrows " LIB "pandas/core/frame.py:1371}", "PY-INTERP",
		  "whole columns" },
		{ AT "{pformat " LIB "pprint.py:64}", "PY-INTERP", "isEnabledFor" },
		{ AT "{stack " LIB "inspect.py:1755}", "PY-INSPECT", "sys._getframe(1)" },
		{ AT "{format_exc " LIB "traceback.py:168}", "PY-INSPECT", "str(e)" },
		{ AT "{Logger.warning " LIB "logging/__init__.py:1501} > {print_stack " LIB
		     "traceback.py:190}",
		  "PY-LOG", "stack_info" },
		{ AT "{Logger.warning " LIB "logging/__init__.py:1501}", "PY-LOG", "Log less" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 1000, table[i].stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, table[i].id);
		cr_assert_not_null(finding, "%s", table[i].stack);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
		// To format a stack is not to throw an exception.
		cr_expect_null(finding_of(findings, "CPU-THROW"), "%s", table[i].stack);
	}
#undef AT
}

// Of a function that calls itself now and then, most time is not in such calls.
Test(finding_python, a_function_that_calls_itself_may_keep_what_it_returns)
{
#define CALL " > {ways coins.py:4}"
	for (int often = 0; often <= 1; often++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, often ? 800 : 200,
		    "{<module> coins.py:9}" CALL CALL CALL CALL CALL);
		add(&f, 1, METRIC_ON_CPU, often ? 200 : 800, "{<module> coins.py:9}" CALL CALL);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-INTERP");
		cr_assert_not_null(finding);
		cr_expect_eq(strstr(finding->advice, "ways calls itself") != NULL, often, "%s",
		             finding->advice);
	}
#undef CALL
}

// The user's own module that imports it is not the reason.
Test(finding_python, the_last_of_a_chain_of_imports_is_named)
{
	add(&f, 1, METRIC_ON_CPU, 900,
	    "{<module> /x/main.py:5} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
	    "{<module> /x/plot.py:2} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
	    "{<module> /usr/lib/python3/dist-packages/torch/__init__.py:9}");
	add(&f, 1, METRIC_ON_CPU, 100, "{<module> /x/main.py:9}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-IMPORT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "mostly torch (plot.py:2)") != NULL, "%s", finding->fact);
}

// Shares of what is left of the run are said to be that.
Test(finding_python, imports_on_a_busy_machine_are_a_share_of_what_is_left)
{
	add(&f, 1, METRIC_ON_CPU, 400,
	    "{<module> /x/main.py:5} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
	    "{<module> /usr/lib/python3/dist-packages/torch/__init__.py:9}");
	add(&f, 1, METRIC_ON_CPU, 400, "{<module> /x/main.py:9}");
	add(&f, 1, METRIC_OFF_RUNNABLE, 1200, "{<module> /x/main.py:9}");
	finish(2000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-IMPORT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "imports: 50 % of the main thread's time (excluding waits "
	                                "for a CPU), mostly torch") != NULL,
	          "%s", finding->fact);
	cr_expect(finding->without_queue);
}

// Others' load is above its threshold, and costs more; it is said behind what the program does.
Test(finding_python, what_is_said_of_the_measurement_comes_last)
{
	add(&f, 1, METRIC_ON_CPU, 300, "{loop train.py:9}");
	add(&f, 1, METRIC_OFF_RUNNABLE, 700, "{loop train.py:9}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert_not_null(finding_of(findings, "MEAS-NOISE"));
	cr_expect_str_eq(findings->items[0].rule->id, "PY-INTERP");
}

// C functions that Python calls are not the interpreter's own time.
Test(finding_python, what_c_functions_take_is_theirs)
{
	add(&f, 1, METRIC_ON_CPU, 900, "{<module> train.py:3} > sort@libc");
	add(&f, 1, METRIC_ON_CPU, 100, "{<module> train.py:3}");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "PY-INTERP"));
}

// It waited for locks, a part of that for Python's; else it was on a CPU.
// Four children that import for MS ms of 1000 each, while the main thread sleeps.
static void import_in_children(uint64_t ms)
{
	const char *import = "{<module> kid.py:4} > {_find_and_load "
			     "<frozen importlib._bootstrap>:1027} > {<module> /x/big.py:1}";
	uint64_t begin_ns = f.now_ns;

	add(&f, 1, METRIC_OFF_SLEEP, 1000, "{<module> app.py:9} > nanosleep@libc");
	for (uint32_t i = 2; i <= 5; i++) {
		add_process(&f, i, 100 + i, "kid");
		add_thread(&f, i, i, 100 + i, "kid");
		f.now_ns = begin_ns;
		add(&f, i, METRIC_ON_CPU, ms, import);
		add(&f, i, METRIC_ON_CPU, 1000 - ms, "{<module> kid.py:9}");
	}
	finish(1000, 4);
}

Test(finding_python, imports_of_children_are_no_share_of_the_thread_that_sleeps)
{
	import_in_children(400);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-IMPORT");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->fact,
	                 "imports: 40 % of the CPU time of 5 processes, mostly big (kid.py:4)");
	cr_expect_null(finding_of(findings, "WARM-INIT"), "the run's start has none of them");
	cr_expect_eq(answer_of_rule(findings, "WARM-INIT")->state, RULE_SILENT);
}

static void end_thread_of(uint32_t thread, uint64_t gil_ms, uint64_t cpu_ms, uint64_t waited_ms)
{
	struct thread_end told = {
		.thread = thread, .time_ns = f.now_ns, .exact = true, .gil_waited_ns = gil_ms * MS
	};

	told.ns[METRIC_ON_CPU] = cpu_ms * MS;
	told.ns[METRIC_OFF_LOCK] = waited_ms * MS;
	profile_end_thread(f.profile, &told);
}

static void end_thread(uint32_t thread, uint64_t gil_ms, uint64_t waited_ms)
{
	end_thread_of(thread, gil_ms, 1000 - waited_ms, waited_ms);
}

// Three threads: the first waits for the lock for half of its life, the second for MS ms of 1000.
static void share_lock(uint64_t ms)
{
	end();
	begin();
	add_thread(&f, 2, 1, 101, "worker");
	add_thread(&f, 3, 1, 102, "worker");
	add(&f, 1, METRIC_OFF_LOCK, 1000, "{<module> train.py:20} > pthread_join@libc");
	add(&f, 2, METRIC_OFF_LOCK, 500, "{run train.py:8} > [gil]");
	add(&f, 2, METRIC_ON_CPU, 500, "{run train.py:8}");
	add(&f, 3, METRIC_OFF_LOCK, ms, "{run train.py:8} > [gil]");
	add(&f, 3, METRIC_ON_CPU, 1000 - ms, "{run train.py:8}");
	f.now_ns += 1000 * MS;
	end_thread(1, 0, 1000);
	end_thread(2, 500, 500);
	end_thread(3, ms, ms);
	finish(1000, 2);
}

Test(finding_python, threads_that_wait_for_the_lock)
{
	for (uint64_t ms = 100; ms <= 110; ms += 10) {
		share_lock(ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-GIL");
		cr_expect_eq(finding != NULL, ms > 100, "%lu ms", (unsigned long)ms);
		if (!finding)
			continue;
		cr_expect_float_eq(finding->value, 11, 0.01);
		cr_expect_eq(finding->line, 8);
		cr_expect_eq(finding->saving_ns, 500 * MS);
	}
}

// THREAD waits for Python's lock, at STACK, while HOLDER runs HELD.
static void wait_for_lock(uint32_t thread, uint64_t from_ms, uint64_t to_ms, const char *stack,
                          uint32_t holder, const char *held)
{
	const struct wait_share by = { to_ms * MS, holder, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = thread,
		                         .begin_ns = from_ms * MS,
		                         .end_ns = to_ms * MS,
		                         .kind = WAIT_KIND_GIL,
		                         .count = 1,
		                         .parts = &by };

	add_span(&f, thread, from_ms, from_ms, THREAD_RUNS, THREAD_BLOCKED);
	for (uint64_t ms = from_ms; ms < to_ms; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		add(&f, holder, METRIC_ON_CPU, 10, held);
	}
	f.now_ns = from_ms * MS;
	add(&f, thread, METRIC_OFF_LOCK, to_ms - from_ms, stack);
	add_span(&f, thread, from_ms, to_ms, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

// It is the holder's line that is to be changed, wherever the others wait.
Test(finding_python, who_holds_the_lock_is_named_before_who_waits_for_it)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	wait_for_lock(1, 1000, 1600, "{<module> train.py:20} > [gil]", 2, "{run train.py:8}");
	wait_for_lock(2, 1600, 2000, "{run train.py:9} > [gil]", 1, "{<module> train.py:21}");
	f.now_ns = 2000 * MS;
	end_thread(1, 600, 600);
	end_thread(2, 400, 400);
	profile_end_wall(f.profile, 2000 * MS);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-GIL");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->fact,
	                 "threads wait for the GIL, Python's lock, for 40 % of their lifetime or "
	                 "more, mostly while run (train.py:8) holds it");
	cr_expect_eq(finding->line, 8);
	cr_expect_geq(finding->row_count, 1);
}

// A server's threads, one for each request: of a brief life any wait is a large share.
Test(finding_python, brief_threads_that_wait_for_the_lock_are_taken_together)
{
	add(&f, 1, METRIC_OFF_LOCK, 100, "{<module> serve.py:20} > [gil]");
	add(&f, 1, METRIC_OFF_LOCK, 900, "{<module> serve.py:20} > pthread_cond_wait@libc");
	for (uint32_t i = 2; i <= 21; i++) {
		uint64_t waited = i == 2 || i == 3 ? 15 : 0;
		add_thread(&f, i, 1, 100 + i, "request");
		add(&f, i, METRIC_ON_CPU, 20 - waited, "{view serve.py:8}");
		if (waited)
			add(&f, i, METRIC_OFF_LOCK, waited, "{view serve.py:8} > [gil]");
		end_thread_of(i, waited, 20 - waited, waited);
	}
	f.now_ns += 1000 * MS;
	end_thread(1, 100, 1000);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "PY-GIL"), "30 of 400 ms");
}

// A collection of garbage that takes MS ms of 1000.
static void collect(uint64_t ms)
{
	const struct op *gc = ops_add(f.ops, &(struct op){ .provider = OP_PYTHON,
	                                                   .domain = "",
	                                                   .category = "",
	                                                   .name = "garbage collection" });

	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = gc->id,
	                                              .begin_ns = f.now_ns,
	                                              .end_ns = f.now_ns + ms * MS,
	                                              .self_ns = ms * MS });
	struct frame frames[2];
	cr_assert_eq(frames_of(&f, "{<module> train.py:3}", frames + 1), 1);
	frames[0] = (struct frame){ gc->id, 0, FRAME_OP };
	profile_add_stack(f.profile, &(struct stack){ .thread = 1,
	                                              .metric = METRIC_ON_CPU,
	                                              .time_ns = f.now_ns,
	                                              .weight_ns = ms * MS,
	                                              .samples = 1,
	                                              .count = 2,
	                                              .frames = frames });
	add(&f, 1, METRIC_ON_CPU, 1000 - ms, "{<module> train.py:4}");
	finish(1000, 2);
}

Test(finding_python, collections_of_garbage)
{
	for (uint64_t ms = 50; ms <= 60; ms += 10) {
		end();
		begin();
		collect(ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-GC");
		cr_expect_eq(finding != NULL, ms > 50, "%lu ms", (unsigned long)ms);
		cr_expect(!finding || (finding->saving_ns == ms * MS && finding->line == 3));
	}
}

// It takes the place of the interpreter at a line, and is no time in which that works for it.
Test(finding_python, a_collection_of_garbage_is_no_work_of_the_interpreter)
{
	collect(400);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *interpreter = finding_of(findings, "PY-INTERP");
	cr_assert_not_null(interpreter);
	cr_expect_eq(interpreter->saving_ns, 600 * MS);
	cr_expect_eq(interpreter->line, 4);
	cr_assert_not_null(finding_of(findings, "PY-GC"));
	cr_expect_eq(finding_of(findings, "PY-GC")->saving_ns, 400 * MS);
}

// Imports are told with what they waited for a CPU.
Test(finding_python, no_start_is_longer_than_the_run)
{
	const char *import = "{<module> train.py:4} > {_find_and_load "
			     "<frozen importlib._bootstrap>:1027} > {<module> /x/big.py:1}";

	add(&f, 1, METRIC_ON_CPU, 300, import);
	add(&f, 1, METRIC_OFF_RUNNABLE, 600, import);
	add(&f, 1, METRIC_ON_CPU, 100, "_dl_start@libc > _dl_relocate_object@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "WARM-INIT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "imports 90 %") != NULL, "%s", finding->fact);
	cr_expect_eq(finding->share, 1);
	cr_expect_eq(finding->saving_ns, 1000 * MS);
}
