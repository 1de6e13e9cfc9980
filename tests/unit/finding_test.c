// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "tests/unit/finding_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(finding, .init = begin, .fini = end);

Test(finding, rules_on_what_stacks_do_fire_above_their_thresholds)
{
	static const struct planted table[] = {
		{ "CPU-LOCK", METRIC_OFF_LOCK, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc",
		  7 },
		{ "CPU-SYS", METRIC_ON_CPU, "main a.c:3 > call a.c:8 > do_syscall_64@kernel", 8 },
		{ "IO-WAIT", METRIC_OFF_FILE, "main a.c:3 > load a.c:9 > read@libc", 9 },
		{ "IO-SYNC", METRIC_OFF_FILE, "main a.c:3 > save a.c:14 > fsync@libc", 14 },
		{ "IO-TINY", METRIC_ON_CPU, "main a.c:3 > get a.c:15 > read@libc", 15 },
		{ "IO-OPEN", METRIC_ON_CPU, "main a.c:3 > find a.c:16 > stat@libc", 16 },
		{ "IO-SLEEP", METRIC_OFF_SLEEP, "main a.c:3 > poll a.c:17 > usleep@libc", 17 },
		{ "IO-NET", METRIC_OFF_NET, "main a.c:3 > ask a.c:18 > recv@libc", 18 },
		{ "IO-IDLE", METRIC_OFF_NET, "main a.c:3 > serve a.c:19 > epoll_wait@libc", 19 },
		{ "MEM-CHURN", METRIC_ON_CPU, "main a.c:3 > make a.c:20 > malloc@libc", 20 },
		{ "MEM-COPY", METRIC_ON_CPU, "main a.c:3 > pass a.c:21 > memcpy@libc", 21 },
		{ "MEM-FAULT", METRIC_ON_CPU,
		  "main a.c:3 > fill a.c:22 > asm_exc_page_fault@kernel", 22 },
		{ "MEM-FILL", METRIC_ON_CPU,
		  "main a.c:3 > respond a.c:36 > __memset_avx2_unaligned_erms@libc", 36 },
		{ "CPU-DOUBLE", METRIC_ON_CPU, "main a.c:3 > work a.c:23 > exp@libc", 23 },
		{ "CPU-REGEX", METRIC_ON_CPU, "main a.c:3 > find a.c:10 > regcomp@libc", 10 },
		{ "CPU-MATCH", METRIC_ON_CPU, "main a.c:3 > find a.c:37 > regexec@libc", 37 },
		{ "CPU-TREE", METRIC_ON_CPU,
		  "main a.c:3 > walk a.c:38 > std::_Rb_tree_increment(std::_Rb_tree_node_base*)@libc",
		  38 },
		{ "CPU-THROW", METRIC_ON_CPU, "main a.c:3 > ask a.c:11 > __cxa_throw@libc", 11 },
		{ "CPU-QUADRATIC", METRIC_ON_CPU, "main a.c:3 > add a.c:12 > strcat@libc", 12 },
		{ "CPU-SPIN", METRIC_ON_CPU, "main a.c:3 > wait a.c:13 > sched_yield@libc", 13 },
		{ "IO-CONNECT", METRIC_OFF_NET, "main a.c:3 > dial a.c:24 > connect@libc", 24 },
		{ "IO-LOOKUP", METRIC_ON_CPU, "main a.c:3 > dial a.c:32 > getaddrinfo@libc", 32 },
		{ "IO-USER", METRIC_ON_CPU,
		  "main a.c:3 > name a.c:39 > getpwuid@libc > fopen@libc > open@libc", 39 },
		{ "IO-ZONE", METRIC_ON_CPU,
		  "main a.c:3 > stamp a.c:34 > localtime@libc > __tz_convert@libc > "
		  "tzset_internal@libc > __tzfile_read@libc > stat@libc",
		  34 },
		{ "IO-MESSAGES", METRIC_ON_CPU,
		  "main a.c:3 > ask a.c:25 > write@libc > sock_write_iter@kernel", 25 },
		{ "CPU-CIN", METRIC_ON_CPU,
		  "main a.cc:3 > std::istream::_M_extract<long>(long&)@libc > "
		  "__gnu_cxx::stdio_sync_filebuf<char, std::char_traits<char> "
		  ">::underflow()@libc > getc@libc",
		  3 },
		{ "CPU-STREAM", METRIC_ON_CPU,
		  "main a.c:3 > parse a.c:26 > std::basic_istringstream<char>::basic_istringstream"
		  "@libc",
		  26 },
		{ "CPU-SHARED", METRIC_ON_CPU,
		  "main a.c:3 > pass a.c:27 > std::_Sp_counted_base<2>::_M_release@libc", 27 },
		{ "CPU-SORT", METRIC_ON_CPU, "main a.c:3 > add a.c:28 > qsort@libc", 28 },
		{ "CPU-KEY", METRIC_ON_CPU,
		  "main a.c:3 > order a.c:35 > qsort@libc > msort_with_tmp@libc > earlier a.c:37 > "
		  "strptime@libc",
		  37 },
		{ "CPU-CHUNK", METRIC_ON_CPU,
		  "main a.c:3 > loop a.c:36 > GOMP_loop_nonmonotonic_dynamic_next@libgomp", 36 },
		{ "CPU-COLLATE", METRIC_ON_CPU,
		  "main a.c:3 > order a.c:35 > strcoll@libc > __strcoll_l@libc", 35 },
		{ "CPU-RANDOM", METRIC_ON_CPU,
		  "main a.c:3 > draw a.c:31 > rand@libc > __random@libc", 31 },
		{ "CPU-FORMAT", METRIC_ON_CPU,
		  "main a.c:3 > log_message a.c:33 > vsnprintf@libc > __vfprintf_internal@libc",
		  33 },
		{ "CPU-FORMAT", METRIC_ON_CPU,
		  "main a.c:3 > describe a.c:34 > std::__cxx11::to_string[abi:cxx11](int)@libc",
		  34 },
		{ "CPU-COMPRESS", METRIC_ON_CPU, "main a.c:3 > pack a.c:30 > deflate@libc", 30 },
		{ "CPU-WAKE", METRIC_ON_CPU,
		  "main a.c:3 > push a.c:29 > pthread_cond_broadcast@libc > futex@kernel", 29 },
		{ "CPU-DEBUG", METRIC_ON_CPU, "main a.c:3 > %slow a.c:11", 11 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_planted(&table[i]);
}

// Functions of float take half as long.
Test(finding, what_a_rule_saves_in_part_costs_that_part)
{
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:23 > exp@libc");
	add(&f, 1, METRIC_ON_CPU, 320, "main a.c:3 > find a.c:10 > regcomp@libc");
	add(&f, 1, METRIC_ON_CPU, 180, "main a.c:3 > work a.c:24");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *half = finding_of(findings, "CPU-DOUBLE");
	cr_assert(half != NULL);
	cr_expect_eq(half->saving_ns, 250 * MS);
	cr_expect_float_eq(half->value, 50, 0.01);
	cr_expect_str_eq(findings->items[0].rule->id, "CPU-REGEX");
	for (size_t i = 0; i < rule_count(); i++)
		cr_expect(rule_at(i)->part >= 0 && rule_at(i)->part < 1 &&
		                  !rule_at(i)->part == !rule_at(i)->part_from,
		          "%s", rule_at(i)->id);
}

// What a run that is mostly at STACK is advised by rule ID.
static void expect_advice(const char *stack, const char *id, const char *advice)
{
	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 900, stack);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, id);
	cr_assert(finding != NULL, "%s", stack);
	cr_expect(strstr(finding->advice, advice) != NULL, "%s", finding->advice);
}

// Names as Go's and Rust's symbols have them.
Test(finding, advice_by_what_go_and_rust_call)
{
	static const struct {
		const char *stack, *rule, *advice;
	} table[] = {
		{ "main.parse a.go:5 > regexp.MustCompile@libc > regexp.compile@libc > "
		  "regexp/syntax.(*parser).push@libc",
		  "CPU-REGEX", "var re = regexp.MustCompile" },
		{ "app::parse a.rs:5 > regex::regex::string::Regex::new@libc > "
		  "regex_automata::meta::regex::Builder::build@libc",
		  "CPU-REGEX", "LazyLock" },
		{ "main.find a.go:5 > regexp.(*Regexp).FindString@libc > "
		  "regexp.(*Regexp).doExecute@libc",
		  "CPU-MATCH", "Look for a fixed word" },
		{ "main.render a.go:3 > runtime.concatstring2@libc > runtime.memmove@libc",
		  "MEM-COPY", "strings.Builder" },
		{ "main.collect a.go:3 > runtime.growslice@libc > runtime.memmove@libc", "MEM-COPY",
		  "final size" },
		{ "main.build a.go:3 > runtime.newobject@libc > runtime.mallocgc@libc", "MEM-CHURN",
		  "sync.Pool" },
		{ "main.handle a.go:3 > encoding/json.Unmarshal@libc > runtime.mallocgc@libc",
		  "MEM-CHURN", "map[string]any" },
		{ "main a.c:3 > sum a.c:5 > mmap64@libc", "MEM-CHURN", "pread(2)" },
		{ "main.feed a.go:5 > runtime.chansend1@libc > runtime.chansend@libc > "
		  "runtime.goready@libc",
		  "CPU-WAKE", "slices of many values" },
		{ "main.merge a.go:5 > runtime.selectgo@libc > runtime.lock2@libc", "CPU-WAKE",
		  "slices of many values" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_advice(table[i].stack, table[i].rule, table[i].advice);
}

// Of whichever language.
Test(finding, comparisons_that_work_out_keys)
{
	static const char *const stacks[] = {
		"main a.c:3 > sort_by_key a.c:35 > std::__introsort_loop<Row*>@libc > less a.c:37 > "
		"std::__cxx11::to_string@libc",
		"app::main a.rs:5 > alloc::slice::sort_by@libc > core::slice::sort::stable::sort@libc > "
		"app::main::{closure#0} a.rs:37 > alloc::str::<impl$str>::to_lowercase@libc",
		"app::main a.rs:5 > core::slice::sort::stable::sort@libc > app::main::{closure} a.rs:37 > "
		"_<str>::to_lowercase@libc",
		"main.main a.go:5 > sort.Slice@libc > sort.pdqsort_func@libc > main.main.func1 a.go:37 > "
		"strconv.Atoi@libc",
	};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 900, stacks[i]);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-KEY");
		cr_assert(finding != NULL, "%s", stacks[i]);
		cr_expect_eq(finding->line, 37);
	}
}

// Nor is what the sort itself allocates, or what a function does that sorts and parses.
Test(finding, comparisons_of_keys_that_are_there_work_out_none)
{
	static const char *const stacks[] = {
		"main a.c:3 > order a.c:35 > qsort@libc > msort_with_tmp@libc > earlier a.c:37",
		"main a.c:3 > order a.c:35 > qsort@libc > msort_with_tmp@libc > earlier a.c:37 > "
		"strcmp@libc",
		"main a.c:3 > order a.c:35 > qsort@libc > malloc@libc",
		"main a.c:3 > order a.c:35 > strtol@libc",
	};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 900, stacks[i]);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect(finding_of(findings, "CPU-KEY") == NULL, "%s", stacks[i]);
	}
}

// The scheduler's stacks have no caller, and belong to those who wait.
Test(finding, channels_are_priced_with_what_the_scheduler_does_for_them)
{
	uint64_t highest[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		end();
		begin();
		for (unsigned ms = 0; ms < 400; ms++)
			add(&f, 1, METRIC_ON_CPU, 1,
			    "main.feed a.go:5 > runtime.chansend1@libc > runtime.chansend@libc");
		for (unsigned ms = 0; ms < 300; ms++)
			add(&f, 1, METRIC_ON_CPU, 1,
			    i ? "runtime.mcall@libc > runtime.park_m@libc > runtime.schedule@libc"
			      : "main.work a.go:9");
		for (unsigned ms = 0; ms < 300; ms++)
			add(&f, 1, METRIC_ON_CPU, 1, "main.work a.go:9");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *wakes = finding_of(findings, "CPU-WAKE");
		cr_assert(wakes != NULL);
		cr_expect_eq(wakes->saving_ns, 400 * MS);
		highest[i] = wakes->saving_high_ns;
	}
	// Less the margin of samples, which is narrower near the end of the run.
	cr_expect_float_eq((double)(highest[1] - highest[0]) / MS, 300, 15);
}

Test(finding, advice_on_quadratic_work_by_what_is_called)
{
	static const struct {
		const char *stack, *advice;
	} table[] = {
		{ "std::vector<int>::erase(int*)@libc > std::vector<int>::_M_erase(int*)@libc > "
		  "memmove@libc",
		  "std::deque" },
		{ "alloc::vec::Vec<u8>::remove@libc > memmove@libc", "VecDeque" },
		{ "__isoc99_sscanf@libc > rawmemchr@libc", "strtol()" },
		{ "strcat@libc", "join them once" },
		{ "strlen@libc", "once before the loop" },
		{ "Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit@libc > "
		  "v8::internal::Builtin_ArrayShift(int)@libc > memmove@libc",
		  "use pop()" },
		{ "Builtins_ArrayIncludesSmi@libc", "a Set" },
	};
	char stack[200];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > take a.c:19 > %s", table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 900, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-QUADRATIC");
		cr_assert(finding != NULL, "%s", table[i].stack);
		cr_expect_eq(finding->line, 19);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
		cr_expect(finding_of(findings, "MEM-COPY") == NULL, "%s", table[i].stack);
	}
}

// What is at the end of a vector goes without moving the others.
Test(finding, to_clear_a_vector_is_not_quadratic)
{
	add(&f, 1, METRIC_ON_CPU, 900,
	    "main a.c:3 > end a.c:19 > std::vector<int>::_M_erase_at_end(int*)@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-QUADRATIC"));
}

// Of Rust's text, whose characters have any length, and of lists.
Test(finding, to_walk_to_each_place_anew_is_quadratic)
{
	static const struct {
		const char *stack, *advice;
	} table[] = {
		{ "main a.rs:3 > distance a.rs:16 > core::iter::traits::iterator::Iterator::nth@libc > "
		  "core::str::count::do_count_chars@libc",
		  "nth() and count() walk from the start" },
		{ "main a.c:3 > at a.c:9 > g_list_nth_data@libc > g_list_nth@libc",
		  "use a GPtrArray" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_advice(table[i].stack, "CPU-QUADRATIC", table[i].advice);
}

// An exception of the CPU is called by nobody.
Test(finding, a_page_fault_is_not_called)
{
	add(&f, 1, METRIC_ON_CPU, 900, "main a.c:3 > fill a.c:22 > asm_exc_page_fault@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "MEM-FAULT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "most in fill (a.c:22)") != NULL, "%s", finding->fact);
	cr_expect(strstr(finding->fact, "which calls") == NULL, "%s", finding->fact);
}

// The system calls of a stream without a buffer are no formatting, and other rules know better.
Test(finding, to_write_what_is_formatted_is_no_formatting)
{
	add(&f, 1, METRIC_ON_CPU, 900,
	    "main a.c:3 > log a.c:22 > fprintf@libc > write@libc > do_syscall_64@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-FORMAT"));
	cr_expect_not_null(finding_of(findings, "IO-TINY"));
}

// With an index, SQLite goes down a tree for each statement instead of along a table.
Test(finding, statements_that_go_from_row_to_row_scan_tables)
{
	static const struct {
		uint64_t next_ms, seek_ms;
		bool fires;
	} table[] = { { 60, 0, true }, { 10, 0, false }, { 60, 200, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 900 - table[i].next_ms - table[i].seek_ms,
		    "main a.c:3 > ask a.c:34 > sqlite3_step@libc > sqlite3VdbeExec@libc");
		add(&f, 1, METRIC_ON_CPU, table[i].next_ms,
		    "main a.c:3 > ask a.c:34 > sqlite3_step@libc > sqlite3BtreeNext@libc");
		if (table[i].seek_ms)
			add(&f, 1, METRIC_ON_CPU, table[i].seek_ms,
			    "main a.c:3 > ask a.c:34 > sqlite3_step@libc > "
			    "sqlite3BtreeIndexMoveto@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-SCAN");
		cr_expect_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || (finding->line == 34 && finding->saving_ns == 900 * MS));
	}
}

Test(finding, to_wait_for_a_signal_is_no_sleep)
{
	static const char *const calls[] = { "__sigsuspend", "__libc_pause", "sigwaitinfo" };
	char stack[100];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > serve a.c:19 > %s@libc", calls[i]);
		add(&f, 1, METRIC_OFF_SLEEP, 900, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect(finding_of(findings, "IO-SLEEP") == NULL, "%s", calls[i]);
		cr_expect(finding_of(findings, "IO-IDLE") != NULL, "%s", calls[i]);
	}
}

// Go's scheduler, which does so whether the program has sockets or not.
Test(finding, to_look_for_events_is_no_wait_for_an_answer)
{
	add(&f, 1, METRIC_OFF_NET, 900,
	    "main.work main.go:9 > runtime.mcall /usr/lib/go/src/runtime/asm.s:4 > "
	    "runtime.netpoll /usr/lib/go/src/runtime/netpoll_epoll.go:126 > "
	    "runtime.epollwait /usr/lib/go/src/runtime/sys.s:7");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect(finding_of(findings, "IO-NET") == NULL);
	cr_expect(finding_of(findings, "IO-IDLE") != NULL);
}

// A third of the kernel's time each: neither of them is most of it.
Test(finding, what_several_rules_explain_together_needs_no_general_one)
{
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > dial a.c:24 > connect@libc > tcp@kernel");
	add(&f, 1, METRIC_ON_CPU, 350,
	    "main a.c:3 > ask a.c:25 > write@libc > sock_write_iter@kernel");
	add(&f, 1, METRIC_ON_CPU, 250, "main a.c:3 > wait a.c:26 > do_syscall_64@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *general = finding_of(findings, "CPU-SYS");
	cr_assert(general != NULL && general->covered != NULL);
	cr_expect_str_eq(general->covered->id, "IO-CONNECT");
	cr_expect_str_eq(findings->items[0].rule->id, "IO-CONNECT");
}

// Half of a second in read(), by CALLS of BYTES each.
static void read_by(uint64_t calls, uint64_t bytes)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 1000 * MS,
		                 .cpus = 2,
		                 .samples = 1000,
		                 .kernel_stacks = true,
		                 .read_calls = calls,
		                 .read_bytes = calls * bytes,
		                 .write_calls = 1000000,
		                 .write_bytes = 1000000 };

	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > get a.c:15 > read@libc");
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > put a.c:6 > write@libc");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(finding, reads_that_are_large_on_average_are_not_tiny)
{
	static const struct {
		uint64_t calls, bytes;
		const char *says; // NULL: nothing
	} table[] = {
		{ 0, 0, "many small reads or writes: 60 %" }, // not known
		{ 100, 1 << 20, NULL },
		{ 200000, 1, "read 200,000 times, 1 byte on average" },
		{ 200000, 2000, "2,000 bytes on average" },
		{ 200000, 16383, NULL }, // a larger buffer saves an eighth
		{ 200000, 16384, NULL },
		{ 2000, 1 << 20, NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		read_by(table[i].calls, table[i].bytes);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-TINY");
		cr_expect_eq(finding != NULL, table[i].says != NULL, "row %zu", i);
		cr_expect(!finding || strstr(finding->fact, table[i].says), "row %zu: %s", i,
		          finding ? finding->fact : "");
	}
}

Test(finding, a_wait_for_another_thread_is_no_lock)
{
	add(&f, 1, METRIC_OFF_LOCK, 400, "main a.c:3 > pthread_join@libc");
	add(&f, 1, METRIC_OFF_LOCK, 400, "main a.c:4 > pthread_cond_wait@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-LOCK"));
}

// What a callback of the user's own does is not what its caller in a library does.
Test(finding, the_users_own_code_ends_what_libraries_do)
{
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > qsort@libc > compare a.c:20");
	add(&f, 1, METRIC_OFF_FILE, 500, "main a.c:3 > qsort@libc > compare a.c:21 > read@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "IO-WAIT");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->line, 21);
	cr_expect_str_eq(finding->function, "compare");
	cr_expect_str_eq(finding->rows[0].callee, "read");
}

// Who reads of make_child() in a script's report looks for it in the script.
Test(finding, functions_of_an_interpreter_are_no_places_of_a_script)
{
	add(&f, 1, METRIC_ON_CPU, 500,
	    "main@bash > make_child@bash > fork@libc > do_syscall_64@kernel");
	add(&f, 1, METRIC_ON_CPU, 500, "main@bash > hash_search@bash");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SYS");
	cr_assert(finding != NULL);
	cr_expect(finding->function == NULL, "%s", finding->fact);
}

// Of a thread that has no code of the user's own, as Java's: clone3() is whence it came.
Test(finding, what_a_thread_does_is_not_its_start)
{
	add(&f, 1, METRIC_ON_CPU, 500,
	    "clone3@libc > start_thread@libc > run@jvm > do_syscall_64@kernel");
	add(&f, 1, METRIC_ON_CPU, 500, "clone3@libc > start_thread@libc > run@jvm");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-SYS");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "starting threads") == NULL, "%s", finding->fact);
}

Test(finding, pages_of_mapped_files_are_not_fresh_memory)
{
	add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_ON_CPU, 400,
	    "main a.c:3 > load a.c:6 > asm_exc_page_fault@kernel > filemap_fault@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "MEM-FAULT"));
}

Test(finding, waits_of_libraries_count_where_own_code_is_hardly_seen)
{
	for (int own = 10; own <= 100; own += 90) {
		add(&f, 1, METRIC_ON_CPU, 500, "inflate@libc");
		add(&f, 1, METRIC_OFF_FAULT, 300, "inflate@libc");
		add(&f, 1, METRIC_ON_CPU, (uint64_t)own, "main a.c:3 > work a.c:5");
		finish(800 + (uint64_t)own, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-FAULT");
		cr_expect((finding != NULL) == (own == 10), "%d", own);
		end();
		begin();
	}
}

Test(finding, a_saved_profile_has_the_same_findings)
{
	char path[64];
	struct error err = { 0 };

	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > %slow a.c:11");
	add(&f, 1, METRIC_OFF_FILE, 200, "main a.c:3 > load a.c:9 > read@libc");
	add(&f, 1, METRIC_OFF_LOCK, 300, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc");
	finish(1000, 2);
	snprintf(path, sizeof(path), "/tmp/finding-%d.bneck", (int)getpid());
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	unlink(path);
	cr_assert(read != NULL, "%s", err.text);
	cleanup(findings) struct findings *first = look(NULL);
	cleanup(findings) struct findings *second =
		query_findings(read, &(struct query){ 0 }, NULL, &err);
	cr_assert(second != NULL, "%s", err.text);
	cr_assert_eq(second->count, first->count);
	cr_assert_eq(second->shown, 3);
	for (size_t i = 0; i < first->count; i++) {
		cr_expect_eq(second->items[i].rule, first->items[i].rule, "%zu", i);
		cr_expect_eq(second->items[i].line, first->items[i].line, "%zu", i);
		cr_expect_eq(second->items[i].saving_ns, first->items[i].saving_ns, "%zu", i);
		cr_expect_str_eq(second->items[i].fact, first->items[i].fact);
	}
}

Test(finding, what_saves_next_to_nothing_is_none)
{
	add(&f, 1, METRIC_OFF_FILE, 49, "main a.c:3 > load a.c:9 > read@libc");
	add(&f, 1, METRIC_ON_CPU, 51, "main a.c:3 > work a.c:5");
	finish(100, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "IO-WAIT"));
	cr_expect_eq(answer_of_rule(findings, "IO-WAIT")->state, RULE_SILENT);
	cr_expect(strlen(answer_of_rule(findings, "IO-WAIT")->why) > 0);
}

// A rule that finds more of the run, with a milder word for it, comes first.
Test(finding, what_explains_more_of_the_run_comes_first_whatever_its_severity)
{
	add(&f, 1, METRIC_ON_CPU, 350, "main a.c:3 > pack a.c:30 > deflate@libc");
	add(&f, 1, METRIC_ON_CPU, 250, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:9 > read@libc");
	add(&f, 1, METRIC_OFF_LOCK, 250, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert_eq(findings->shown, 3);
	cr_expect_str_eq(findings->items[0].rule->id, "CPU-COMPRESS");
	cr_expect_eq(findings->items[0].severity, SEVERITY_INFO);
	cr_expect_str_eq(findings->items[1].rule->id, "CPU-LOCK");
	cr_expect_str_eq(findings->items[2].rule->id, "IO-WAIT");
}

// A long run has the same start as a short one.
Test(finding, what_the_start_takes_ranks_after_what_the_work_takes)
{
	add(&f, 1, METRIC_ON_CPU, 600,
	    "{<module> app.py:4} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
	    "{<module> slow.py:7}");
	add(&f, 1, METRIC_OFF_FILE, 400, "main a.c:3 > load a.c:9 > read@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert(findings->shown >= 2);
	cr_expect_str_eq(findings->items[0].rule->id, "IO-WAIT");
	cr_expect_not_null(finding_of(findings, "PY-IMPORT"));
}

// Of CPUs that had nothing to do no time was spent anywhere.
Test(finding, what_more_cpus_could_give_ranks_after_time_that_was_spent)
{
	add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:9 > read@libc");
	add(&f, 1, METRIC_OFF_LOCK, 250, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc");
	finish(1000, 8);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert_eq(findings->shown, 3);
	cr_expect_str_eq(findings->items[0].rule->id, "CPU-LOCK");
	cr_expect_str_eq(findings->items[1].rule->id, "IO-WAIT");
	cr_expect_str_eq(findings->items[2].rule->id, "CPU-SERIAL");
}

Test(finding, warm_up_is_in_the_profile)
{
	calls("step", 3, 300);
	calls("step", 40, 20);
	finish_now();
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "WARM-FIRST");
	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 100 * 840.0 / 1700, 0.1);
	cr_expect_str_eq(finding->rows[0].function, "step");
	cr_expect_eq(fired->from_ns, 900 * MS);
	cr_expect_null(finding_of(fired, "WARM-NONE"));
	end();
	begin();
	calls("step", 43, 20);
	finish_now();
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "WARM-FIRST"));
	cr_expect_eq(answer_of_rule(silent, "WARM-FIRST")->state, RULE_SILENT);
	cr_expect_eq(silent->from_ns, 0);
}

Test(finding, no_steady_state)
{
	calls("step", 8, 300);
	calls("step", 10, 20);
	finish_now();
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "WARM-NONE") != NULL);
}

// Steps of 100 ms, a third of them shorter and a third longer by MS ms.
static void unequal_steps(uint64_t ms)
{
	end();
	begin();
	for (int i = 0; i < 21; i++)
		call("step", i % 3 == 0 ? 100 - ms : i % 3 == 1 ? 100 + ms : 100);
	finish_now();
}

Test(finding, steps_take_unequal_times)
{
	static const struct {
		uint64_t ms;
		int severity;
	} table[] = { { 4, -1 }, { 8, SEVERITY_INFO }, { 20, SEVERITY_WARN } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		unequal_steps(table[i].ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "STAT-UNSTABLE");
		cr_expect_eq(answer_of_rule(findings, "STAT-UNSTABLE")->asked, true);
		cr_expect_eq(finding ? (int)finding->severity : -1, table[i].severity, "%lu: %f",
		             (unsigned long)table[i].ms,
		             answer_of_rule(findings, "STAT-UNSTABLE")->value);
	}
}

Test(finding, it_becomes_slower_and_slower)
{
	for (unsigned i = 0; i < 60; i++)
		call("step", 10 + 2 * i);
	finish_now();
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "STAT-DRIFT") != NULL);
	cr_expect_null(finding_of(fired, "WARM-FIRST"));
}

// Who has to wait for CPUs that others have is slower for that.
Test(finding, other_processes_may_be_what_makes_steps_slower)
{
	for (uint64_t waited_ms = 300; waited_ms <= 900; waited_ms += 600) {
		end();
		begin();
		for (unsigned i = 0; i < 60; i++)
			call("step", 10 + 2 * i);
		add(&f, 1, METRIC_OFF_RUNNABLE, waited_ms, "main a.c:3 > work a.c:5");
		add(&f, 1, METRIC_ON_CPU, 4140 - waited_ms, "main a.c:3 > work a.c:5");
		finish_now();
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(answer_of_rule(findings, "STAT-DRIFT")->state,
		             waited_ms == 300 ? RULE_FIRED : RULE_UNKNOWN, "%s",
		             answer_of_rule(findings, "STAT-DRIFT")->why);
	}
}

Test(finding, warm_up_needs_something_to_compare)
{
	finish_now();
	cleanup(findings) struct findings *findings = look(NULL);
	static const char *const ids[] = { "WARM-FIRST", "WARM-NONE", "STAT-DRIFT",
		                           "STAT-UNSTABLE" };
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		cr_expect_eq(answer_of_rule(findings, ids[i])->state, RULE_UNKNOWN, "%s", ids[i]);
}

Test(finding, a_run_that_is_mostly_its_start)
{
	for (uint64_t start = 200; start <= 210; start += 10) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, start, "_dl_start@libc > _dl_relocate_object@libc");
		add(&f, 1, METRIC_ON_CPU, 1000 - start, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "WARM-INIT") != NULL, start > 200, "%lu ms",
		             (unsigned long)start);
	}
}

// A rule on the steady state does not see what came before it.
Test(finding, rules_look_behind_the_warm_up)
{
	for (int i = 0; i < 3; i++) {
		add(&f, 1, METRIC_OFF_FILE, 300, "main a.c:3 > load a.c:9 > read@libc");
		call("step", 300);
	}
	for (int i = 0; i < 60; i++) {
		add(&f, 1, METRIC_ON_CPU, 20, "main a.c:3 > work a.c:5");
		call("step", 20);
	}
	finish((f.now_ns - 1000 * MS) / MS, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "IO-WAIT"));
	cr_expect_eq(findings->from_ns, 900 * MS);
	cr_expect_eq(findings->wall_ns, 1200 * MS);
}

// A window is asked about itself; the measurement is that of the whole run.
Test(finding, a_window_that_somebody_asks_for)
{
	struct error err = { 0 };

	add(&f, 1, METRIC_OFF_FILE, 500, "main a.c:3 > load a.c:9 > read@libc");
	f.now_ns += 500 * MS;
	for (int i = 0; i < 50; i++) {
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:5");
		f.now_ns += 10 * MS;
	}
	finish(1000, 2);
	for (int late = 0; late < 2; late++) {
		const struct query window = { .from_ns = late ? 500 * MS : 0,
			                      .to_ns = late ? 0 : 500 * MS };
		cleanup(findings) struct findings *findings =
			query_findings(f.profile, &window, NULL, &err);
		cr_assert(findings != NULL, "%s", err.text);
		cr_expect_eq(finding_of(findings, "IO-WAIT") != NULL, !late);
		cr_expect_eq(findings->wall_ns, 500 * MS);
		cr_expect_null(finding_of(findings, "MEAS-SHORT"));
	}
}

static void set(struct rule_limits *limits, const char *text)
{
	struct error err = { 0 };

	cr_assert(rule_limits_set(limits, text, &err) == 0, "%s: %s", text, err.text);
}

Test(finding, thresholds_are_the_users)
{
	cleanup(rule_limits) struct rule_limits *limits = rule_limits_new(NULL);

	add(&f, 1, METRIC_ON_CPU, 850, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:9 > read@libc");
	finish(1000, 2);
	set(limits, "io-wait=15");
	cleanup(findings) struct findings *silent = look(limits);
	cr_expect_null(finding_of(silent, "IO-WAIT"));
	cr_expect_float_eq(answer_of_rule(silent, "IO-WAIT")->threshold, 15, 1e-9);
	set(limits, "IO-WAIT=2,14");
	cleanup(findings) struct findings *severe = look(limits);
	cr_assert(finding_of(severe, "IO-WAIT") != NULL);
	cr_expect_eq(finding_of(severe, "IO-WAIT")->severity, SEVERITY_ERROR);
	set(limits, "IO-WAIT=off");
	cleanup(findings) struct findings *off = look(limits);
	cr_expect_null(finding_of(off, "IO-WAIT"));
	cr_expect_eq(answer_of_rule(off, "IO-WAIT")->state, RULE_OFF);
}

Test(finding, a_wrong_threshold_is_refused)
{
	static const char *const wrong[] = { "IO-WAIT",      "IO-WAIT=",   "IO-WAIT=x",
		                             "IO-WAIT=-1",   "IO-WAIT=1,", "IO-WAIT=1x",
		                             "NO-RULE=1",    "=1",         "IO-WAIT=nan",
		                             "IO-WAIT=1,2,3" };
	cleanup(rule_limits) struct rule_limits *limits = rule_limits_new(NULL);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { 0 };
		cr_expect_eq(rule_limits_set(limits, wrong[i], &err), -1, "%s", wrong[i]);
		cr_expect(strlen(err.text) > 0, "%s", wrong[i]);
	}
	cr_expect_float_eq(limits->limits[rule_find("IO-WAIT")].threshold, 10, 1e-9);
}

Test(finding, what_cannot_be_asked_says_why)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = 100 * MS, .command = "app" };

	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > work a.c:5");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_eq(answer_of_rule(findings, "CPU-OVERSUB")->state, RULE_UNKNOWN);
	cr_expect(strlen(answer_of_rule(findings, "CPU-OVERSUB")->why) > 0);
}

Test(finding, each_rule_says_all_that_explain_prints)
{
	for (size_t i = 0; i < rule_count(); i++) {
		const struct rule *rule = rule_at(i);
		const char *const texts[] = { rule->id,  rule->title,  rule->formula,
			                      rule->why, rule->advice, rule->source };
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
			cr_expect(texts[t] && *texts[t], "%s: text %zu", rule->id, t);
		cr_expect(rule->measure != NULL, "%s", rule->id);
		cr_expect_eq(rule_find(rule->id), i, "%s is there twice", rule->id);
		for (int w = 0; w < RULE_WITHIN_MAX && rule->within[w]; w++)
			cr_expect(rule_find(rule->within[w]) < rule_count(), "%s: within %s",
			          rule->id, rule->within[w]);
	}
}

// SPECIAL's rule says of itself, or of one that says so of itself, that it is within GENERAL.
static bool is_part(const struct rule *special, const char *general, int depth)
{
	for (int i = 0; depth < 8 && i < RULE_WITHIN_MAX && special->within[i]; i++)
		if (strcmp(special->within[i], general) == 0 ||
		    is_part(rule_at(rule_find(special->within[i])), general, depth + 1))
			return true;
	return false;
}

Test(finding, no_rule_is_a_part_of_one_that_is_a_part_of_it)
{
	for (size_t i = 0; i < rule_count(); i++) {
		const struct rule *rule = rule_at(i);
		cr_expect(!is_part(rule, rule->id, 0), "%s", rule->id);
		for (int k = 0; k < RULE_WITHIN_MAX && rule->within[k]; k++)
			cr_expect(rule_find(rule->within[k]) < rule_count(), "%s: %s", rule->id,
			          rule->within[k]);
	}
}

// What is slow stands for what is seen of it.
Test(finding, a_cause_stands_for_its_symptoms)
{
	static const char *const pairs[][2] = {
		{ "CPU-STAGE", "CPU-SYS" },      { "CPU-STAGE", "IO-WAIT" },
		{ "CPU-STAGE", "IO-MESSAGES" },  { "CPU-STAGE", "CPU-LOCK" },
		{ "CPU-HOLDER", "CPU-LOCK" },    { "CPU-HOLDER", "CPU-SYS" },
		{ "CPU-HOLDER", "IO-MESSAGES" }, { "CPU-OVERSUB", "CPU-SYS" },
		{ "CPU-OVERSUB", "CPU-SPIN" },   { "CPU-QUOTA", "CPU-OVERSUB" },
		{ "OP-LOADER", "CPU-HOLDER" },   { "OP-LOADER", "CPU-LOCK" },
		{ "OP-LOADER", "CPU-SYS" },      { "PY-GIL", "CPU-LOCK" },
		{ "PY-GIL", "CPU-OVERSUB" },     { "CPU-QUADRATIC", "MEM-CHURN" },
		{ "CPU-SPAWN", "IO-OPEN" },      { "CPU-WAKE", "CPU-SYS" },
		{ "CPU-HOLDER", "IO-SLEEP" },    { "MEM-FAULT", "CPU-SYS" },
		{ "PY-OBJECTS", "MEM-FAULT" },   { "PY-SERIALIZE", "MEM-FAULT" },
		{ "IO-USER", "IO-OPEN" },        { "IO-USER", "CPU-SYS" },
		{ "CPU-SPAWN", "CPU-FLAT" },     { "CPU-THREADS", "CPU-FLAT" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		cr_expect(is_part(rule_at(rule_find(pairs[i][0])), pairs[i][1], 0), "%s, %s",
		          pairs[i][0], pairs[i][1]);
}
