// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/record.h"
#include "tests/support/agent_run.h"
#include "tests/support/expect.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct agent_run with, without;

// Runs ARGV both ways: status and output must be the same.
static void run_both(char *const argv[])
{
	static const struct agent_run_options plain = { .without = true }, agent = { 0 };

	agent_run(&without, &plain, argv);
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, without.status), "%s %s", argv[0], argv[1]);
	cr_expect(eq(str, with.output, without.output), "%s %s", argv[0], argv[1]);
	cr_expect(eq(u64, with.damaged, 0), "%s %s", argv[0], argv[1]);
}

static void run_mode(const char *mode)
{
	char *argv[] = { TARGET, (char *)mode, NULL };

	run_both(argv);
}

// What the samples weigh is the CPU time, less the start and end of processes.
static void expect_weight(double low)
{
	cr_expect(ge(dbl, (double)with.weight_ns, low * (double)with.cpu_ns), "%.1f of %.1f ms",
	          (double)with.weight_ns / 1e6, (double)with.cpu_ns / 1e6);
	cr_expect(le(dbl, (double)with.weight_ns, 1.02 * (double)with.cpu_ns + 4e6));
}

Test(agent_e2e, five_hundred_threads_have_their_samples)
{
	run_mode("threads");
	cr_expect(eq(u64, with.thread_forks, 500));
	cr_expect(eq(u64, with.tids, 501));
	cr_expect(eq(u64, with.unsampled, 0));
	expect_weight(0.85);
}

Test(agent_e2e, threads_that_come_and_go_use_rings_again)
{
	run_mode("churn");
	cr_expect(eq(u64, with.thread_forks, 3100));
	cr_expect(eq(u64, with.unsampled, 0));
}

Test(agent_e2e, the_main_thread_may_end_first)
{
	run_mode("main-exits-first");
	cr_expect(eq(u64, with.exits, 2));
}

Test(agent_e2e, vfork_and_spawn_work_and_their_programs_are_seen)
{
	run_mode("vfork");
	cr_expect(ge(u64, with.execs, 4));
}

Test(agent_e2e, forked_children_sample_themselves)
{
	run_mode("fork");
	cr_expect(eq(u64, with.pids, 4));
	cr_expect(ge(u64, with.samples, 4 * 8));
	expect_weight(0.8);
}

static uint64_t slept; // samples that say how often their threads had slept

static void visit_children(void *context, const struct record *record)
{
	(void)context;
	slept += record->type == RECORD_SAMPLE && ((const struct record_sample *)record)->sleeps;
}

// How long it ran, and that it ended, is all that is to be known of a child that had no tick.
Test(agent_e2e, a_child_says_when_it_ends_however_short_it_was)
{
	char *argv[] = { TARGET, "short-children", NULL };
	const struct agent_run_options plain = { .without = true };
	const struct agent_run_options slow = { .hz = 1, .visit = visit_children };

	agent_run(&without, &plain, argv);
	agent_run(&with, &slow, argv);
	cr_expect(eq(int, with.status, without.status));
	cr_expect(eq(str, with.output, without.output));
	cr_expect(eq(u64, with.exits, 20 + 1), "%lu", (unsigned long)with.exits);
	expect_weight(0.8);
	cr_expect(ge(u64, slept, 20));
}

Test(agent_e2e, a_forked_child_waits_for_no_lock_of_the_loaders)
{
	run_mode("fork-among-loads");
}

Test(agent_e2e, closing_all_descriptors_does_not_matter)
{
	run_mode("close-fds");
	expect_weight(0.85);
}

Test(agent_e2e, an_empty_environment_does_not_matter)
{
	run_mode("clearenv");
}

Test(agent_e2e, handlers_of_the_target_get_their_signals)
{
	run_mode("handlers");
	expect_weight(0.85);
}

Test(agent_e2e, our_signal_kills_if_the_target_has_no_handler)
{
	run_mode("killed-by-ours");
	bool killed = WIFSIGNALED(with.status);
	cr_expect(killed);
}

Test(agent_e2e, alternate_stacks_and_coroutines_are_copied)
{
	run_mode("alternate-stack");
	expect_weight(0.85);
	cr_expect(ge(u64, with.stack_bytes / with.samples, 500));
	run_mode("coroutine");
	expect_weight(0.85);
	// It has but three frames above the end of its stack.
	cr_expect(ge(u64, with.stack_bytes / with.samples, 64));
}

Test(agent_e2e, what_the_stack_pointer_points_to_need_not_be_a_stack)
{
	run_mode("stack-elsewhere");
	cr_expect(strstr(with.output, "0 bytes changed") == with.output, "%s", with.output);
	expect_weight(0.85);
}

Test(agent_e2e, an_alternate_stack_may_be_as_small_as_the_kernel_allows)
{
	run_mode("tiny-alternate-stack");
	expect_weight(0.85);
}

Test(agent_e2e, what_a_killed_process_wrote_is_kept)
{
	static const char *const modes[] = { "killed", "quick-exit" };
	struct agent_run_options late = { .stop_reading = true };

	for (int i = 0; i < 2; i++) {
		char *argv[] = { TARGET, (char *)modes[i], NULL };
		run_mode(modes[i]);
		expect_weight(0.85);
		agent_run(&with, &late, argv);
		expect_weight(0.85);
	}
}

Test(agent_e2e, errno_stays)
{
	run_mode("errno");
}

Test(agent_e2e, no_sleep_is_interrupted)
{
	run_mode("sleeps");
	cr_expect(eq(str, with.output, "0 interrupted\n"));
}

Test(agent_e2e, a_thread_that_blocks_all_signals_is_sampled_all_the_same)
{
	run_mode("blocked-signals");
	expect_weight(0.85);
	cr_expect(ge(u64, with.samples, 15));
	cr_expect(le(u64, with.widest_ns, 60 * NS_PER_MS));
}

Test(agent_e2e, threads_made_in_other_ways_are_found)
{
	run_mode("c11");
	cr_expect(eq(u64, with.tids, 2));
	run_mode("unwrapped");
	cr_expect(eq(u64, with.tids, 2));
	expect_weight(0.6);
}

Test(agent_e2e, a_small_stack_is_enough)
{
	run_mode("small-stack");
	expect_weight(0.85);
}

Test(agent_e2e, without_descriptors_the_target_goes_on)
{
	run_mode("no-descriptors");
}

Test(agent_e2e, real_programs_do_what_they_do)
{
	char *programs[][8] = {
		{ "bash", "-c",
		  "for i in {1..20000}; do x=$((x+i)); done; echo $x; (exit 3); "
		  "echo $?; ls / | wc -l; trap 'echo bye' EXIT; exit 5",
		  NULL },
		{ "perl", "-e", "my $x; $x += $_ for 1..1000000; print \"$x\\n\"; exit 3", NULL },
		{ "sh", "-c", "kill -SEGV $$", NULL },
		{ "sh", "-c", "kill -TERM $$", NULL },
		{ "false", NULL },
		{ "/nonexistent", NULL },
		{ "gcc", "-x", "c", "-O2", "-c", "-o", "/dev/null", NULL },
		{ "sh", "-c", "seq 200000 | sort -R --random-source=/bin/true | md5sum", NULL },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		run_both(programs[i]);
}

Test(agent_e2e, python_with_threads_and_processes_does_what_it_does)
{
	static char script[] =
		"import threading, subprocess, os, multiprocessing, signal, sys\n"
		"def work(n):\n"
		"    return sum(i * i for i in range(n))\n"
		"r = []\n"
		"t = [threading.Thread(target=lambda: r.append(work(200000))) for _ in range(4)]\n"
		"[x.start() for x in t]; [x.join() for x in t]\n"
		"print(r, subprocess.run(['sh', '-c', 'exit 4'], close_fds=True).returncode)\n"
		"print(multiprocessing.get_context('fork').Pool(2).map(work, [1000000, 2000000]))\n"
		"print(sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n"
		"print([int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, "
		"range(34, 65))])\n"
		"print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n"
		"sys.exit(9)\n";
	char *argv[] = { "/usr/bin/python3", "-c", script, NULL };

	if (access(argv[0], X_OK) != 0)
		cr_skip("/usr/bin/python3 is not there");
	run_both(argv);
	cr_expect(ge(u64, with.pids, 3));
	expect_weight(0.8);
}

Test(agent_e2e, other_libraries_and_static_programs_are_left_alone)
{
	static const char *const programs[] = { HELLO_STATIC, HELLO_MUSL, HELLO_MUSL_STATIC };

	for (int i = 0; i < 3; i++) {
		char command[512];
		char *direct[] = { (char *)programs[i], NULL };
		char *through[] = { "sh", "-c", command, NULL };
		if (!programs[i][0])
			continue; // no compiler for it here
		snprintf(command, sizeof(command), "%s; echo $?", programs[i]);
		run_both(direct);
		cr_expect(eq(u64, with.records, 0), "%s", programs[i]);
		run_both(through);
		cr_expect(ge(u64, with.records, 1), "%s", programs[i]);
	}
}
