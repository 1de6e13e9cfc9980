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
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 200
#define OWNER          OP_OWNER(OP_SHELL, 1)

static int (*executing_line)(void);
static char *(*value_of)(const char *variable);

// The first object is the program. dlsym() would allocate what it has to say of a name that is not
// there, in each program that is no shell.
static int look_at_program(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded program;

	(void)size;
	(void)context;
	if (!loaded_of(info, &program))
		return 1;
	*(void **)&executing_line = loaded_define(&program, "executing_line_number");
	if (executing_line)
		*(void **)&value_of = loaded_define(&program, "get_string_value");
	return 1;
}

static void shell_start(struct agent *a)
{
	(void)a;
	if (op_is_on(OP_SHELL))
		loader_each(look_at_program, NULL);
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
