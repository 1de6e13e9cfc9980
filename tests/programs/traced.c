// SPDX-License-Identifier: MIT
// traced COMMAND...: a tracer, as a debugger is: of children that ask to be traced, by ptrace() and
// by syscall(), and go on; and of a shell for each COMMAND. Prints the signals that it sees, but
// for the first SIGTRAP of an exec and the first SIGSTOP, which children raise.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static void burn(double seconds)
{
	struct timespec now;

	do {
		for (int i = 0; i < 100000; i++)
			sink = sink * 5 + 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
}

static void follow(pid_t child, const char *what)
{
	int status = 0, first = 1;

	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int number = WSTOPSIG(status);
		int expected = first ? number == SIGTRAP || number == SIGSTOP : status >> 16;
		if (first)
			ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXEC);
		if (!expected)
			printf("%s: saw signal %d\n", what, number);
		first = 0;
		ptrace(PTRACE_CONT, child, 0, expected ? 0 : number);
	}
	printf("%s: ended with %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	fflush(stdout);
}

static void traceme(int by_syscall)
{
	if (by_syscall)
		syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
	else
		ptrace(PTRACE_TRACEME, 0, 0, 0);
}

int main(int argc, char **argv)
{
	for (int by_syscall = 0; by_syscall < 2; by_syscall++) {
		pid_t child = fork();
		if (child == 0) {
			burn(0.1);
			traceme(by_syscall);
			burn(0.3);
			raise(SIGSTOP);
			burn(0.4);
			_exit(3);
		}
		follow(child, by_syscall ? "by syscall" : "by libc");
	}
	for (int i = 1; i < argc; i++) {
		pid_t child = fork();
		if (child == 0) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			execlp("sh", "sh", "-c", argv[i], (char *)NULL);
			_exit(127);
		}
		follow(child, "command");
	}
	return 0;
}
