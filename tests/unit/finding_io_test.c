// SPDX-License-Identifier: MIT
// What rules on waiting and on threads say of programs whose parts wait for each other.
#include "tests/unit/finding_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(finding_io, .init = begin, .fini = end);

Test(finding_io, the_other_end_of_a_pipe_is_no_device)
{
	for (int pipe = 0; pipe <= 1; pipe++) {
		add(&f, 1, METRIC_OFF_PIPE, pipe ? 400 : 200,
		    "main a.c:3 > tell a.c:9 > write@libc");
		add(&f, 1, METRIC_OFF_FILE, 300, "main a.c:3 > load a.c:8 > read@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-WAIT");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->fact, "mostly for pipes") != NULL, pipe);
		cr_expect_eq(strstr(finding->advice, "at the other end") != NULL, pipe, "%s",
		             finding->advice);
		cr_expect_eq(strstr(finding->advice, "a second run") != NULL, !pipe);
		end();
		begin();
	}
}

// A client that waits for a server of the same program, of which WORK_MS are seen.
static void client_and_server(uint64_t work_ms)
{
	add_thread(&f, 10, 1, 110, "server");
	add(&f, 1, METRIC_OFF_NET, 800, "main a.c:3 > get a.c:9 > read@libc");
	add(&f, 10, METRIC_ON_CPU, work_ms, "serve a.c:20 > parse a.c:31");
	add(&f, 10, METRIC_OFF_NET, 800 - work_ms, "serve a.c:20 > read@libc");
	finish(1000, 2);
}

Test(finding_io, who_waits_for_a_thread_of_the_same_run_is_told_what_that_does)
{
	for (uint64_t work_ms = 300; work_ms <= 500; work_ms += 200) {
		client_and_server(work_ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-NET");
		cr_assert(finding != NULL);
		cr_expect_eq(finding->line, 9);
		cr_expect_eq(strstr(finding->advice, "work for 0.50 s, most in parse (a.c:31)") !=
		                     NULL,
		             work_ms == 500, "%s", finding->advice);
		end();
		begin();
	}
}

Test(finding_io, who_asks_with_many_threads_is_not_told_to_ask_in_parallel)
{
	for (unsigned threads = 2; threads <= 4; threads += 2) {
		add(&f, 1, METRIC_OFF_NET, 800, "main a.c:3 > get a.c:9 > read@libc");
		for (unsigned i = 1; i < threads; i++) {
			add_thread(&f, 10 + i, 1, 110 + i, "pool");
			add(&f, 10 + i, METRIC_OFF_NET, 800, "get a.c:9 > read@libc");
		}
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-NET");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "Some 4 threads wait at once already") != NULL,
		             threads == 4, "%s", finding->advice);
		cr_expect_eq(strstr(finding->advice, "in parallel") != NULL, threads == 2, "%s",
		             finding->advice);
		end();
		begin();
	}
}

// A main thread that polls for a worker, of which WORK_MS are seen in STACK: pools do so.
static void pool(uint64_t work_ms, const char *stack)
{
	end();
	begin();
	add_thread(&f, 10, 1, 110, "worker");
	add(&f, 1, METRIC_OFF_SLEEP, 800, "main a.c:3 > fit a.c:9 > nanosleep@libc");
	add(&f, 10, METRIC_ON_CPU, work_ms, stack);
	finish(1000, 2);
}

Test(finding_io, who_sleeps_while_others_work_is_told_what_they_do)
{
	static const struct {
		uint64_t work_ms;
		const char *stack, *advice;
	} table[] = {
		{ 300, "serve a.c:20 > parse a.c:31", "Wait for the event itself" },
		{ 500, "serve a.c:20 > parse a.c:31", "work for 0.50 s, most in parse (a.c:31)" },
		{ 500, "tree@libc", "work for 0.50 s: if this thread waits for them" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		pool(table[i].work_ms, table[i].stack);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-SLEEP");
		cr_assert(finding != NULL);
		cr_expect_eq(finding->line, 9);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
	}
}

// The main thread looks every second whether the worker is done, which takes WORK_MS of that.
static void poll_for_worker(uint64_t work_ms)
{
	end();
	begin();
	add_thread(&f, 10, 1, 110, "worker");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_BLOCKED);
	add_span(&f, 10, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 0; ms < work_ms; ms += 10) {
		f.now_ns = (1005 + ms) * MS;
		add(&f, 10, METRIC_ON_CPU, 10, "serve a.c:20 > parse a.c:31");
	}
	add_span(&f, 10, 1000, 1000 + work_ms, THREAD_RUNS, THREAD_BLOCKED);
	f.now_ns = 1000 * MS;
	add(&f, 1, METRIC_OFF_SLEEP, 1000, "main a.c:3 > fit a.c:9 > nanosleep@libc");
	const struct span_event sleep = { .thread = 1,
		                          .from_ns = 1000 * MS,
		                          .to_ns = 2000 * MS,
		                          .state = THREAD_BLOCKED,
		                          .next = THREAD_RUNS,
		                          .cause = METRIC_OFF_SLEEP };
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &sleep });
	profile_end_wall(f.profile, 2000 * MS);
	finish(1000, 2);
}

Test(finding_io, a_sleep_beside_work_costs_what_nobody_works_of_it)
{
	poll_for_worker(600);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "IO-SLEEP");
	cr_assert(finding != NULL);
	cr_expect_float_eq((double)finding->saving_ns / MS, 400, 20);
	cr_expect(strstr(finding->advice, "Wait for the event itself") != NULL, "%s",
	          finding->advice);
	poll_for_worker(980);
	cleanup(findings) struct findings *works = look(NULL);
	cr_expect_null(finding_of(works, "IO-SLEEP"));
}

// A script has no place of the user's own: it is a program that it starts.
Test(finding_io, who_sleeps_is_named_by_its_program_where_it_has_no_place)
{
	for (uint32_t i = 2; i <= 3; i++) {
		add_process(&f, i, 100 + i, "sleep");
		add_thread(&f, i, i, 100 + i, "sleep");
		add(&f, i, METRIC_OFF_SLEEP, 400, "nanosleep@libc");
	}
	add(&f, 1, METRIC_OFF_SLEEP, 300, "clock_nanosleep@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "IO-SLEEP");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "most in sleep (2 processes)") != NULL, "%s",
	          finding->fact);
}

// Of what is hardly seen nobody need speed anything up, as of a stub of the linker's.
Test(finding_io, others_are_named_by_a_place_that_has_a_good_part_of_their_work)
{
	for (uint64_t seen_ms = 50; seen_ms <= 250; seen_ms += 200) {
		pool(500 - seen_ms, "tree@libc");
		add(&f, 10, METRIC_ON_CPU, seen_ms, "serve a.c:20 > parse a.c:31");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-SLEEP");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "parse (a.c:31)") != NULL, seen_ms == 250,
		             "%s", finding->advice);
	}
}

// Who polls no descriptor sleeps, as time.sleep() does in Python 3.10 and before.
Test(finding_io, what_is_waited_for_tells_idleness_from_slowness)
{
	static const struct {
		uint32_t metric;
		const char *call, *finding, *other;
	} table[] = {
		{ METRIC_OFF_SLEEP, "select@libc", "IO-SLEEP", "IO-IDLE" },
		{ METRIC_OFF_SLEEP, "poll@libc", "IO-SLEEP", "IO-IDLE" },
		{ METRIC_OFF_NET, "select@libc", "IO-IDLE", "IO-SLEEP" },
		{ METRIC_OFF_SLEEP, "pause@libc", "IO-IDLE", "IO-SLEEP" },
		// Who waits for somebody to connect has asked nobody for anything.
		{ METRIC_OFF_NET, "accept@libc", "IO-IDLE", "IO-NET" },
		{ METRIC_OFF_NET, "__libc_accept4@libc", "IO-IDLE", "IO-NET" },
		{ METRIC_OFF_NET, "recv@libc", "IO-NET", "IO-IDLE" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char stack[80];
		snprintf(stack, sizeof(stack), "main a.c:3 > retry a.c:9 > %s", table[i].call);
		add(&f, 1, table[i].metric, 800, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect(finding_of(findings, table[i].finding) != NULL, "%s", table[i].call);
		cr_expect(finding_of(findings, table[i].other) == NULL, "%s", table[i].call);
		end();
		begin();
	}
}

// Go's scheduler sleeps for some microseconds at a time while it looks for work.
Test(finding_io, the_runtime_of_go_sleeps_by_nobodys_choice)
{
	add(&f, 1, METRIC_ON_CPU, 200, "main.main a.go:3");
	add(&f, 1, METRIC_OFF_SLEEP, 800,
	    "runtime.findRunnable > runtime.runqgrab > runtime.usleep");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "IO-SLEEP"));
}

Test(finding_io, who_waits_for_processes_of_the_same_run_is_not_idle)
{
	for (uint64_t work_ms = 300; work_ms <= 500; work_ms += 200) {
		add_thread(&f, 10, 1, 110, "cc1");
		add(&f, 1, METRIC_OFF_NET, 800, "main a.c:3 > acquire a.c:9 > pselect@libc");
		add(&f, 10, METRIC_ON_CPU, work_ms, "parse c.c:31");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "IO-IDLE") == NULL, work_ms == 500);
		end();
		begin();
	}
}

Test(finding_io, directories_that_come_from_the_disk_are_in_memory_the_next_time)
{
	for (int disk = 0; disk <= 1; disk++) {
		add(&f, 1, METRIC_OFF_FILE, disk ? 500 : 300,
		    "main a.c:3 > walk a.c:9 > readdir@libc");
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > walk a.c:9 > readdir@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-OPEN");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "a second run") != NULL, disk, "%s",
		             finding->advice);
		end();
		begin();
	}
}

Test(finding_io, waiting_for_directories_does_not_stand_for_waiting_for_what_is_read)
{
	add(&f, 1, METRIC_OFF_FILE, 500, "main a.c:3 > look a.c:9 > read@libc");
	add(&f, 1, METRIC_OFF_FILE, 200, "main a.c:3 > walk a.c:19 > readdir@libc");
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > walk a.c:19 > readdir@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *waiting = finding_of(findings, "IO-WAIT");
	cr_assert(waiting != NULL && finding_of(findings, "IO-OPEN") != NULL);
	cr_expect(waiting->covered == NULL);
	cr_expect_eq(waiting->saving_ns, 500 * MS);
}

Test(finding_io, a_wait_on_a_page_fault_is_no_wait_for_a_file)
{
	add(&f, 1, METRIC_OFF_FAULT, 300, "main a.c:3 > look a.c:9");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:12 > read@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *fault = finding_of(findings, "IO-FAULT");
	const struct finding *file = finding_of(findings, "IO-WAIT");
	cr_assert(fault != NULL && file != NULL);
	cr_expect_eq(fault->saving_ns, 300 * MS);
	cr_expect_eq(fault->line, 9);
	cr_expect_eq(file->saving_ns, 150 * MS);
	cr_expect_eq(file->line, 12);
}

static void expect_on_files(const char *first, const char *second, const char *fact)
{
	char stack[120];

	snprintf(stack, sizeof(stack), "main a.c:3 > keep a.c:9 > %s", first);
	add(&f, 1, METRIC_ON_CPU, 400, stack);
	snprintf(stack, sizeof(stack), "main a.c:3 > keep a.c:9 > %s", second);
	add(&f, 1, METRIC_ON_CPU, 200, stack);
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "IO-OPEN");
	cr_assert(finding != NULL);
	cr_expect_eq(strncmp(finding->fact, fact, strlen(fact)), 0, "%s", finding->fact);
	end();
	begin();
}

Test(finding_io, work_on_files_is_named_by_what_it_does_to_them)
{
	expect_on_files("unlink@libc", "unlink@libc", "removing files: 60 %");
	expect_on_files("open@libc", "close@libc", "opening and closing files: 60 %");
	expect_on_files("openat@libc > ext4_create@kernel", "openat@libc > do_filp_open@kernel",
	                "creating, opening and closing files: 60 %");
	expect_on_files("open@libc", "stat@libc", "opening, closing and looking up files: 60 %");
	expect_on_files("getdents64@libc", "fstatat64@libc",
	                "listing directories and looking up files: 60 %");
	expect_on_files("fchmodat@libc", "unlinkat@libc",
	                "changing attributes of files and removing files: 60 %");
}

// A second run finds nothing in memory of what is written.
Test(finding_io, who_waits_for_writes_is_not_told_to_read_ahead)
{
	static const char *const calls[] = { "read", "write" };

	for (int writes = 0; writes <= 1; writes++) {
		char stack[80];
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > put a.c:9 > %s@libc", calls[writes]);
		add(&f, 1, METRIC_OFF_FILE, 500, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-WAIT");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "O_DSYNC") != NULL, writes, "%s",
		             finding->advice);
		cr_expect_eq(strstr(finding->advice, "Read ahead") != NULL, !writes, "%s",
		             finding->advice);
	}
}

// Reads from a socket, by BYTES.
static void read_socket(uint64_t bytes)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 1000 * MS,
		                 .cpus = 2,
		                 .samples = 1000,
		                 .read_calls = 200000,
		                 .read_bytes = 200000 * bytes };

	add(&f, 1, METRIC_ON_CPU, 500,
	    "main a.c:3 > get a.c:15 > read@libc > sock_read_iter@kernel");
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(finding_io, a_message_that_is_read_byte_by_byte_is_tiny_reads)
{
	for (uint64_t bytes = 63; bytes <= 64; bytes++) {
		read_socket(bytes);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *tiny = finding_of(findings, "IO-TINY");
		cr_expect_eq(tiny != NULL, bytes == 63);
		cr_expect(!tiny || strstr(tiny->advice, "Write a whole message with one call"),
		          "%s", tiny ? tiny->advice : "");
		cr_expect_str_eq(findings->items[0].rule->id,
		                 bytes == 63 ? "IO-TINY" : "IO-MESSAGES");
		end();
		begin();
	}
}

// Bash's `read` asks for each byte on its own: all of that builtin is what one awk would save.
Test(finding_io, a_shell_that_reads_byte_by_byte_pays_for_all_of_its_read)
{
	struct run run = { .start_ns = 1000 * MS,
		           .wall_ns = 1000 * MS,
		           .cpus = 2,
		           .samples = 1000,
		           .read_calls = 200000,
		           .read_bytes = 200000 };

	add(&f, 1, METRIC_ON_CPU, 250,
	    "main@bash > execute_command@bash > read_builtin@bash > zread@bash > read@libc");
	add(&f, 1, METRIC_ON_CPU, 250, "main@bash > execute_command@bash > read_builtin@bash");
	add(&f, 1, METRIC_ON_CPU, 500, "main@bash > execute_command@bash");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *tiny = finding_of(findings, "IO-TINY");
	cr_assert(tiny != NULL);
	cr_expect(strstr(tiny->fact, "50 % of"), "%s", tiny->fact);
	cr_expect(strstr(tiny->advice, "mapfile"), "%s", tiny->advice);
}

// Who opens a connection for each request waits for the other side to accept it, too.
Test(finding_io, a_connection_for_each_request_is_advised_against)
{
	static const struct {
		const char *stack;
		uint64_t ms;
		bool again;
	} rows[] = { { "connect@libc > tcp_v4_connect@kernel", 80, true },
		     { "close@libc > tcp_close@kernel", 80, true },
		     { "connect@libc > tcp_v4_connect@kernel", 10, false },
		     { "getaddrinfo@libc > connect@libc", 80, false },
		     { "send@libc > tcp_sendmsg@kernel", 80, false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char stack[100];
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > ask a.c:17 > %s", rows[i].stack);
		add(&f, 1, METRIC_OFF_NET, 700, "main a.c:3 > ask a.c:18 > recv@libc");
		add(&f, 1, METRIC_ON_CPU, rows[i].ms, stack);
		add(&f, 1, METRIC_ON_CPU, 300 - rows[i].ms, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-NET");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "to open connections: keep them") != NULL,
		             rows[i].again, "row %zu: %s", i, finding->advice);
		cr_expect(strstr(finding->advice, "Send several requests at once"), "%s",
		          finding->advice);
	}
}

// The kernel counts no bytes of recv().
Test(finding_io, who_receives_little_a_call_is_advised_on_its_own_side)
{
	static const char *const calls[] = { "recv@libc", "write@libc" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char stack[100];
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > get a.c:15 > %s > sock_recvmsg@kernel",
		         calls[i]);
		add(&f, 1, METRIC_ON_CPU, 500, stack);
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-MESSAGES");
		cr_assert(finding != NULL, "%s", calls[i]);
		cr_expect_eq(strstr(finding->advice, "into a large buffer") != NULL, i == 0, "%s",
		             finding->advice);
	}
}

Test(finding_io, reads_of_which_nobody_knows_the_size_are_not_told_to_be_small)
{
	struct run run = {
		.start_ns = 1000 * MS, .wall_ns = 1000 * MS, .cpus = 2, .samples = 1000
	};

	for (int seen = 0; seen <= 1; seen++) {
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > get a.c:15 > read@libc > [kernel]");
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
		name_all(&f);
		run.kernel_stacks = seen;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "IO-TINY") != NULL, seen);
		end();
		begin();
	}
}

// Of large calls most of the time is their bytes', which a larger buffer moves as well.
Test(finding_io, what_a_larger_buffer_saves_is_up_to_the_size_of_the_calls)
{
	static const struct {
		uint64_t bytes, saved_ms; // of 600; 0: too little to be said
		bool writes;
	} rows[] = {
		{ 1, 600, true },    { 512, 572, true },   { 14000, 0, true },
		{ 512, 513, false }, { 1024, 447, false }, { 8192, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run run = {
			.start_ns = 1000 * MS, .wall_ns = 1000 * MS, .cpus = 2, .samples = 1000
		};
		uint64_t calls = 20000, bytes = calls * rows[i].bytes;
		run.read_calls = rows[i].writes ? 0 : calls;
		run.read_bytes = rows[i].writes ? 0 : bytes;
		run.write_calls = rows[i].writes ? calls : 0;
		run.write_bytes = rows[i].writes ? bytes : 0;
		add(&f, 1, METRIC_ON_CPU, 600,
		    rows[i].writes ? "main a.c:3 > put a.c:15 > write@libc > [kernel]"
		                   : "main a.c:3 > get a.c:15 > read@libc > [kernel]");
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		name_all(&f);
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *tiny = finding_of(findings, "IO-TINY");
		cr_expect_eq(tiny ? (tiny->saving_ns + MS / 2) / MS : 0, rows[i].saved_ms,
		             "%d bytes: %d ms", (int)rows[i].bytes,
		             tiny ? (int)(tiny->saving_ns / MS) : 0);
		end();
		begin();
	}
}

// Few calls of a run of one process are all that there were.
Test(finding_io, few_large_writes_are_not_small)
{
	struct run run = { .start_ns = 1000 * MS,
		           .wall_ns = 1000 * MS,
		           .cpus = 2,
		           .samples = 1000,
		           .kernel_stacks = true,
		           .write_calls = 145 };

	for (uint64_t bytes = 1 << 20; bytes >= 32; bytes >>= 15) {
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > put a.c:15 > write@libc > [kernel]");
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
		name_all(&f);
		run.write_bytes = run.write_calls * bytes;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "IO-TINY") != NULL, bytes == 32);
		end();
		begin();
	}
}

Test(finding_io, copying_in_large_pieces_asks_nothing_of_the_kernel_in_vain)
{
	add(&f, 1, METRIC_ON_CPU, 500,
	    "main a.c:3 > load a.c:9 > read@libc > _copy_to_iter@kernel");
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-SYS"));
}

Test(finding_io, a_first_thread_is_none_of_the_workers)
{
	add_thread(&f, 10, 1, 110, "main");
	add(&f, 1, METRIC_ON_CPU, 200, "main a.c:3 > read_block a.c:5");
	add(&f, 10, METRIC_ON_CPU, 1000, "run a.c:30 > hash a.c:31");
	finish(1000, 8);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-IMBALANCE"));
}

Test(finding_io, a_generator_with_a_lock_is_not_divided_but_multiplied)
{
	add(&f, 1, METRIC_OFF_LOCK, 500,
	    "main a.c:3 > draw a.c:9 > rand@libc > __lll_lock_wait@libc");
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-LOCK");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->line, 9);
	cr_expect(strstr(finding->advice, "its own generator"), "%s", finding->advice);
}

Test(finding_io, libraries_that_are_loaded_ahead_are_not_the_programs_start)
{
	for (int ahead = 0; ahead <= 1; ahead++) {
		add(&f, 1, METRIC_OFF_FILE, 500,
		    ahead ? "_dl_start@libc > dl_main@libc > handle_preload_list@libc > "
		            "_dl_map_object@libc"
		          : "_dl_start@libc > dl_main@libc > _dl_map_object@libc");
		add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "WARM-INIT") == NULL, ahead);
		end();
		begin();
	}
}

// Ten answers that take MS each.
static void answers_after(uint64_t ms)
{
	end();
	begin();
	for (int i = 0; i < 10; i++) {
		add(&f, 1, METRIC_OFF_NET, ms, "main a.c:3 > ask a.c:18 > read@libc");
		f.now_ns += ms * MS;
	}
	finish(10 * ms, 2);
}

Test(finding_io, acknowledgements_that_are_held_back_are_told)
{
	for (uint64_t ms = 20; ms <= 60; ms += 20) {
		answers_after(ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "IO-NET");
		cr_assert(finding != NULL);
		cr_expect_eq(strstr(finding->advice, "TCP_NODELAY") != NULL, ms == 40);
		cr_expect_eq(strstr(finding->fact, "10 waits of some 40 ms") != NULL, ms == 40);
	}
}
