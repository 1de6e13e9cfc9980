// SPDX-License-Identifier: MIT
/*
 * Lines of bash scripts that start processes: each fork() of a bash is an op, named after the line
 * that the shell executes. Bash exports its functions for the builtins that it loads; two of them
 * answer what is needed, and change nothing. Shells that export nothing, as dash, have no such ops.
 *
 *	tally.sh:11             of the script tally.sh, or of a file that it has sourced
 *	tally.sh:11 (count)     in the shell function count
 */
#include "base/op.h"
#include "base/path.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 200
#define OWNER          OP_OWNER(OP_SHELL, 1)

static int (*executing_line)(void);
static char *(*value_of)(const char *variable);

static void shell_start(struct agent *a)
{
	(void)a;
	if (!op_is_on(OP_SHELL))
		return;
	*(void **)&executing_line = dlsym(RTLD_DEFAULT, "executing_line_number");
	if (executing_line)
		*(void **)&value_of = dlsym(RTLD_DEFAULT, "get_string_value");
}

static void shell_before_fork(void)
{
	char name[NAME_MAX_BYTES];

	if (!value_of)
		return;
	// Of the target's: before op_enter(). Arrays answer with their first element.
	const char *file = value_of("BASH_SOURCE"), *function = value_of("FUNCNAME");
	int line = executing_line();
	struct op_thread *t = op_enter();
	if (!t)
		return;
	bool named = function && *function && strcmp(function, "main") != 0 && file && *file;
	snprintf(name, sizeof(name), "%.120s:%d%s%.60s%s",
	         file && *file ? path_base(file) : "bash -c", line, named ? " (" : "",
	         named ? function : "", named ? ")" : "");
	uint32_t domain = file && *file ? op_name(t, OP_SHELL, 0, file) : 0;
	op_begin_in(t, OWNER, op_name(t, OP_SHELL, domain, name), OP_HERE(), NULL);
	op_leave(t);
}

static void shell_after_fork(void)
{
	struct op_thread *t = value_of ? op_enter() : NULL;

	if (!t)
		return;
	op_end_in(t, OWNER);
	op_leave(t);
}

const struct agent_provider shell_provider = {
	.start = shell_start,
	.before_fork = shell_before_fork,
	.after_fork = shell_after_fork,
};
