// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/precedence.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OURS         (UINT64_C(1) << (SIGTRAP - 1))
#define BIT(number_) (UINT64_C(1) << ((number_)-1))

static bool parse(const char *text, struct precedence_status *out)
{
	return precedence_parse(text, strlen(text), out);
}

Test(precedence, a_status_tells_the_state_what_waits_and_what_is_blocked)
{
	struct precedence_status status;

	cr_assert(parse(
		"Name:\tState:\nState:\tR (running)\nTracerPid:\t4711\nSigPnd:\t0000000000000001\n"
		"ShdPnd:\t000000000000200a\nSigBlk:\tfffffffe7ffbfeff\nSigIgn:\t0\n",
		&status));
	cr_expect(eq(chr, status.state, 'R'));
	cr_expect(eq(u64, status.tracer, 4711));
	cr_expect(eq(u64, status.shared, 0x200a));
	cr_expect(eq(u64, status.blocked, 0xfffffffe7ffbfeff));
}

Test(precedence, what_is_cut_is_not_there)
{
	const char *whole = "State:\tS (sleeping)\nTracerPid:\t0\nShdPnd:\t02\nSigBlk:\t04\n";
	struct precedence_status status;

	cr_assert(parse(whole, &status));
	for (size_t length = 0; length < strlen(whole); length++)
		cr_expect(eq(int, precedence_parse(whole, length, &status), 0), "%zu bytes",
		          length);
	cr_expect(eq(chr, status.state, 'S'), "what there was stays");
}

Test(precedence, the_kernels_own_status_of_this_thread_is_read)
{
	char text[4096];
	struct precedence_status status;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	FILE *status_file = fopen("/proc/thread-self/status", "r");
	cr_assert(status_file != NULL);
	size_t length = fread(text, 1, sizeof(text), status_file);
	fclose(status_file);
	cr_assert(precedence_parse(text, length, &status));
	cr_expect(eq(chr, status.state, 'R'));
	cr_expect(ne(u64, status.shared & BIT(SIGUSR1), 0));
	cr_expect(ne(u64, status.blocked & BIT(SIGUSR1), 0));
}

Test(precedence, a_signal_is_the_main_threads_while_that_is_awake_and_lets_it_in)
{
	const uint64_t one = BIT(SIGALRM);
	const struct {
		const char *what;
		struct precedence_status status;
		bool is_due;
	} rows[] = {
		{ "on its way", { 'R', one, 0, 0 }, true },
		{ "asleep: it was not woken for it", { 'S', one, 0, 0 }, false },
		{ "stopped", { 'T', one, 0, 0 }, false },
		{ "ended", { 'Z', one, 0, 0 }, false },
		{ "blocks it", { 'R', one, one, 0 }, false },
		{ "in a handler of ours, which blocks all", { 'R', one, UINT64_MAX, 0 }, true },
		{ "waits for the caller alone", { 'R', 0, 0, 0 }, false },
		{ "blocked by the caller", { 'R', BIT(SIGHUP), 0, 0 }, false },
		{ "one of two", { 'R', one | BIT(SIGHUP), BIT(SIGHUP), 0 }, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, precedence_is_due(&rows[i].status, one, OURS), rows[i].is_due),
		          "%s", rows[i].what);
}
