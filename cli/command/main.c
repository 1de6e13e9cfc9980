// SPDX-License-Identifier: MIT
#include "base/temporary.h"
#include "cli/command.h"
#include "cli/inherited.h"
#include "cli/run/run_options.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// clang-format off: a command is a line, however many there are
static const struct command *const commands[] = {
	&command_run,   &command_report, &command_diff,  &command_bench,   &command_count,
	&command_batch, &command_merge,  &command_check, &command_explain,
};
// clang-format on

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int print_help(void)
{
	printf("usage: bottleneck [OPTIONS] [--] PROGRAM [ARGUMENT ...]\n"
	       "       bottleneck COMMAND [OPTIONS] ...\n"
	       "\n"
	       "Runs PROGRAM once and reports on stderr where its time went.\n"
	       "\n"
	       "Commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s%s\n", commands[i]->name, commands[i]->summary);
	printf("\"bottleneck COMMAND --help\" lists the options of one. A program that is called\n"
	       "like a command needs \"--\" in front of it.\n");
	run_options_help(stdout);
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

int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;

	occupy_streams();
	inherited_take();
	temporary_catch_signals();
	terminal_set_locale();
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_help();
	if (command)
		return command->run(argc - 1, argv + 1);
	return command_run.run(argc, argv);
}
