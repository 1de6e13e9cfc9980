// SPDX-License-Identifier: MIT
#include "base/temporary.h"
#include "cli/command.h"
#include "cli/inherited.h"
#include "cli/run/run_options.h"
#include "cli/terminal.h"
#include "merge/record/prices.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POINTER(name) &command_##name,
static const struct command *const commands[] = { COMMANDS(POINTER) };
#undef POINTER

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int print_help(bool all)
{
	printf("usage: bottleneck [OPTIONS] [--] PROGRAM [ARGUMENT ...]\n"
	       "       bottleneck COMMAND [OPTIONS] ...\n"
	       "\n"
	       "Runs PROGRAM once and reports what makes it slow, and what to do about it.\n"
	       "\n"
	       "Commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s%s\n", commands[i]->name, commands[i]->summary);
	printf("\"bottleneck COMMAND --help\" lists the options of a command. To profile a\n"
	       "program with the name of a command, put \"--\" before it.\n");
	if (all)
		run_options_help(stdout);
	else
		run_options_help_short(stdout);
	return 0;
}

// A stream that was closed for us would become one of our own files, and get the report. The
// target must not see the stand-ins: for it they stay closed. What is to be read cannot be
// written: that a report is lost is to be noticed.
static void occupy_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

// Tables that come and go while names are looked up and a file is written went back to the kernel
// each time, which clears what it gives out again: glibc learns better only in long runs.
static void keep_memory(void)
{
#ifdef M_TRIM_THRESHOLD
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
}

int main(int argc, char **argv)
{
	// It runs itself to measure what a thread or a fork costs.
	if (argc == 2 && strcmp(argv[0], PRICES_PROGRAM) == 0)
		return printf("%" PRIu64 "\n", prices_program(argv[1])) < 0;

	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;

	keep_memory();
	occupy_streams();
	inherited_take();
	temporary_catch_signals();
	terminal_set_locale();
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_help(false);
	if (argc > 1 && strcmp(argv[1], "--help-all") == 0)
		return print_help(true);
	if (command)
		return command->run(argc - 1, argv + 1);
	return command_run.run(argc, argv);
}
