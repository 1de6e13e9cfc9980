// SPDX-License-Identifier: MIT
// signal_reset HOW [SECONDS]: sets each signal to its default, as HOW says, works on, and does so
// again and again. Ends with status 0 unless a signal that nobody sent has ended it.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LAST 64

typedef void handler_function(int);
handler_function *__sysv_signal(int number, handler_function *handler);             // NOLINT
int __sigaction(int number, const struct sigaction *action, struct sigaction *old); // NOLINT
handler_function *ssignal(int number, handler_function *handler);

// As the kernel has it.
struct raw {
	handler_function *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static long raw_call(long number, long a, const void *b, void *c, long d)
{
	long result;
	register long r10 __asm__("r10") = d;

	// As compilers and Go write it: the number as a constant.
	if (number == SYS_rt_sigaction)
		__asm__ volatile("movl $13, %%eax\n\tsyscall"
		                 : "=a"(result)
		                 : "D"(a), "S"(b), "d"(c), "r"(r10)
		                 : "rcx", "r11", "memory");
	else
		result = -ENOSYS;
	return result;
}

static void by_signal(int number)
{
	signal(number, SIG_DFL);
}

static void by_sysv_signal(int number)
{
	__sysv_signal(number, SIG_DFL);
}

static void by_ssignal(int number)
{
	ssignal(number, SIG_DFL);
}

static void by_sigset(int number)
{
	sigset(number, SIG_DFL);
}

static void by_sigaction(int number)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };

	__sigaction(number, &action, NULL);
}

static void by_syscall(int number)
{
	const struct raw action = { .handler = SIG_DFL };

	syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

static void by_instruction(int number)
{
	const struct raw action = { .handler = SIG_DFL };

	raw_call(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

static void by_ignoring(int number)
{
	sigignore(number);
	signal(number, SIG_DFL);
}

static const struct {
	const char *name;
	void (*reset)(int number);
} ways[] = {
	{ "signal", by_signal },   { "sysv_signal", by_sysv_signal }, { "ssignal", by_ssignal },
	{ "sigset", by_sigset },   { "sigaction", by_sigaction },     { "syscall", by_syscall },
	{ "raw", by_instruction }, { "sigignore", by_ignoring },
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static void work(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		for (volatile int i = 0; i < 10000; i++)
			;
}

// An exported function for who loads this as a library: resets as WAY says.
__attribute__((visibility("default"))) int reset_all(const char *way)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, way) != 0)
			continue;
		for (int number = 1; number <= LAST; number++)
			ways[i].reset(number);
		return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.12;

	for (int turn = 0; turn < 4; turn++) {
		work(seconds / 4);
		if (argc < 2 || reset_all(argv[1]) < 0)
			return 2;
	}
	puts("done");
	return 0;
}
