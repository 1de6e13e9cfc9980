// SPDX-License-Identifier: MIT
#include "cli/pager.h"

#include "base/cleanup.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sighandler_t old_pipe, old_interrupt;

// A shell knows of a program that is not there: then all goes through cat(1).
static char *command_of(const char *pager)
{
	char *command;
	int length = pager ? asprintf(&command, "%s\n[ $? -ne 127 ] || exec cat", pager)
	                   : asprintf(&command, "command -v less >/dev/null || exec cat\n"
	                                        "exec less");

	return length < 0 ? NULL : command;
}

FILE *pager_open(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");
	bool dumb = !term || strcmp(term, "dumb") == 0;

	if (!isatty(STDOUT_FILENO) || dumb || (pager && (!*pager || strcmp(pager, "cat") == 0)))
		return NULL;
	cleanup_free char *command = command_of(pager);
	// As git has it: end where it fits, keep colours, leave it on the screen.
	if (!command || setenv("LESS", "FRX", 0) != 0)
		return NULL;
	fflush(stdout);
	FILE *out = popen(command, "we");
	if (!out)
		return NULL;
	old_pipe = signal(SIGPIPE, SIG_IGN); // the user may leave before the end
	old_interrupt = signal(SIGINT, SIG_IGN);
	return out;
}

void pager_close(FILE *pager)
{
	pclose(pager);
	signal(SIGINT, old_interrupt);
	signal(SIGPIPE, old_pipe);
}
