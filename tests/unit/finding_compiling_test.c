// SPDX-License-Identifier: MIT
// Compilers that a program runs, and the rule on them.
#include "merge/rules/compiling.h"
#include "tests/unit/finding_fixture.h"

#include "base/error.h"
#include "merge/rules/activity.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(finding_compiling, .init = begin, .fini = end);

#define CALLER  "{<module> train.py:12} > "
#define CONVERT "{_compile /l/site-packages/torch/_dynamo/convert_frame.py:900} > "
#define FX      "{compile_fx /l/site-packages/torch/_inductor/compile_fx.py:700} > "

// "name CPU/wall processes, …" in ms.
static const char *compiling_text(void)
{
	static char text[512];
	const struct query query = { .by = BY_FUNCTION };
	struct error err;
	cleanup(compiling) struct compiling *c = query_compiling(f.profile, &query, &err);
	size_t used = 0;

	text[0] = '\0';
	cr_assert_not_null(c);
	for (size_t i = 0; i < c->count; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s %llu/%llu %u", i ? ", " : "",
			c->rows[i].name, (unsigned long long)(c->rows[i].cpu_ns / MS),
			(unsigned long long)(c->rows[i].wall_ns / MS), c->rows[i].processes);
	return text;
}

static void add_child(uint32_t process, uint32_t parent, const char *command)
{
	profile_add_process(f.profile, &(struct process_event){ .process = process,
	                                                        .parent = parent,
	                                                        .pid = 100 + process,
	                                                        .command = command,
	                                                        .time_ns = f.now_ns });
	add_thread(&f, process, process, 100 + process, command);
}

Test(finding_compiling, it_fires_above_its_threshold)
{
	static const struct {
		uint64_t ms, wall_ms;
		bool fires;
	} table[] = { { 400, 4000, false }, { 410, 4000, true }, { 290, 1000, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, table[i].ms, CALLER CONVERT "{f /x/any.py:3}");
		add(&f, 1, METRIC_ON_CPU, table[i].wall_ms - table[i].ms, "{<module> train.py:9}");
		finish(table[i].wall_ms, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "PY-COMPILE");
		cr_expect(eq(int, finding != NULL, table[i].fires), "row %zu", i);
		cr_expect(eq(int, finding ? finding->line : 12, 12));
	}
}

Test(finding_compiling, the_innermost_compiler_has_the_time)
{
	add(&f, 1, METRIC_ON_CPU, 100, CALLER CONVERT "{run /l/torch/fx/graph.py:3}");
	add(&f, 1, METRIC_ON_CPU, 200, CALLER CONVERT FX "{lower /l/torch/_inductor/graph.py:3}");
	add(&f, 1, METRIC_OFF_PIPE, 300, CALLER CONVERT FX "{wait /l/subprocess.py:3}");
	add(&f, 1, METRIC_OFF_RUNNABLE, 100, CALLER CONVERT FX "{wait /l/subprocess.py:3}");
	add(&f, 1, METRIC_ON_CPU, 400, "{<module> train.py:9}");
	finish(1100, 2);
	cr_expect_str_eq(compiling_text(), "Inductor 200/500 0, Dynamo 100/100 0");
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "PY-COMPILE");
	cr_assert_not_null(finding);
	cr_expect_str_eq(
		finding->fact,
		"compiling took 60 % of the main thread's time (excluding waits for a CPU) "
		"(Inductor 50 %, Dynamo 10 %), most begun by <module> (train.py:12)");
	cr_expect(eq(u64, finding->saving_ns, 600 * MS));
}

// As what was compiled runs, frames of the same folders are there.
Test(finding_compiling, compiled_code_and_imports_are_none)
{
	add(&f, 1, METRIC_ON_CPU, 500,
	    CALLER "{compile_wrapper /l/torch/_dynamo/eval_frame.py:5} > "
	           "{CompiledFxGraph.__call__ /l/torch/_inductor/codecache.py:9} > "
	           "{call /tmp/torchinductor_me/ab/cab.py:3}");
	add(&f, 1, METRIC_ON_CPU, 500,
	    CALLER CONVERT "{_find_and_load <frozen importlib._bootstrap>:1027} > "
	                   "{<module> /l/torch/_inductor/config.py:3}");
	finish(1000, 2);
	cr_expect_str_eq(compiling_text(), "");
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "PY-COMPILE"));
}

Test(finding_compiling, programs_that_it_started_have_rows_of_their_own)
{
	add(&f, 1, METRIC_ON_CPU, 100, CALLER CONVERT FX "{run /l/subprocess.py:3}");
	add_child(2, 1, "sh");
	add_child(3, 2, "x86_64-linux-gnu-g++-12");
	add_child(4, 3, "cc1plus");
	add_child(5, 3, "collect2");
	add_child(6, 5, "anything"); // of a compiler's program
	add_child(7, 1, "worker");   // no compiler
	add_child(8, 7, "cc1plus");  // whoever started that one does not compile
	add(&f, 4, METRIC_ON_CPU, 300, "parse c.cc:3");
	add(&f, 6, METRIC_ON_CPU, 30, "main b.c:3");
	add(&f, 7, METRIC_ON_CPU, 30, "main b.c:3");
	add(&f, 8, METRIC_ON_CPU, 30, "main b.c:3");
	finish(1000, 2);
	cr_expect_str_eq(compiling_text(), "Inductor 100/100 0, cc1plus 300/0 1, anything 30/0 1");
}

Test(finding_compiling, a_program_that_compiles_by_trade_is_none)
{
	add_child(2, 1, "make");
	add_child(3, 2, "g++");
	add_child(4, 3, "cc1plus");
	add(&f, 4, METRIC_ON_CPU, 900, "parse c.cc:3");
	finish(1000, 2);
	cr_expect_str_eq(compiling_text(), "");
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "PY-COMPILE"));
}

Test(finding_compiling, where_compilers_begin_is_known_by_name)
{
	static const struct {
		const char *function, *file;
		bool compiles;
	} table[] = {
		{ "ConvertFrame.__call__", "/l/torch/_dynamo/convert_frame.py", true },
		{ "compile_fx_inner", "/l/torch/_inductor/compile_fx.py", true },
		{ "align_inputs.<locals>.run", "/l/torch/_inductor/compile_fx.py", false },
		{ "CppCodeCache.load_async", "/l/torch/_inductor/codecache.py", true },
		{ "CompiledFxGraph.__call__", "/l/torch/_inductor/codecache.py", false },
		{ "_TorchDynamoContext.__call__.<locals>.compile_wrapper",
		  "/l/torch/_dynamo/eval_frame.py", false },
		{ "CachingAutotuner.precompile", "/l/torch/_inductor/runtime/triton_heuristics.py",
		  true },
		{ "CachingAutotuner.run", "/l/torch/_inductor/runtime/triton_heuristics.py",
		  false },
		{ "JITFunction._do_compile", "/l/triton/runtime/jit.py", true },
		{ "JITFunction.run", "/l/triton/runtime/jit.py", false },
		{ "compile", "/home/me/convert_frame.py", false },
		{ "Dispatcher.compile", "/l/numba/core/dispatcher.py", true },
		{ "backend_compile_and_load", "/l/jax/_src/compiler.py", true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool compiles =
			(activity_of(table[i].function, table[i].file) & ACTIVITY(COMPILE)) != 0;
		cr_expect(eq(int, compiles, table[i].compiles), "%s of %s", table[i].function,
		          table[i].file);
	}
}
