// SPDX-License-Identifier: MIT
// python_told [--calls 1] [--out FILE] COMMAND...: runs it under the agent and prints what Python
// has told of itself:
//	name PID ADDRESS NAME                       of a C function
//	calls PID COUNT RECURSIVE FILE|FUNCTION|FIRST-LINE      since the last such line; a C
//	                                                        function is ~|NAME|0
//	edge PID COUNT RECURSIVE FILE|FUNCTION|FIRST-LINE TAB CALLER
//	end PID                                     no call is missing
//	note PID TEXT
#include "base/array.h"
#include "base/record.h"
#include "tests/support/agent_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct code {
	uint32_t pid, number;
	char *text;
};

struct told {
	FILE *out;
	struct code *codes;
	size_t count, capacity;
};

static void add_code(struct told *t, const struct record_python_code *c)
{
	const char *file = (const char *)(c + 1), *name = file + c->file_bytes;
	struct code code = { c->head.pid, c->code, NULL };

	if (!array_reserve(&t->codes, &t->capacity, t->count + 1) ||
	    asprintf(&code.text, "%.*s|%.*s|%" PRIu32, (int)c->file_bytes, file, (int)c->name_bytes,
	             name, c->first_line) < 0)
		abort();
	t->codes[t->count++] = code;
}

static const char *code_of(const struct told *t, uint32_t pid, uint32_t number)
{
	for (size_t i = t->count; i > 0; i--)
		if (t->codes[i - 1].pid == pid && t->codes[i - 1].number == number)
			return t->codes[i - 1].text;
	return "?";
}

static void print_function(const struct told *t, uint32_t pid, uint32_t code, const char *name)
{
	if (name)
		fprintf(t->out, "~|%s|0", name);
	else
		fputs(code_of(t, pid, code), t->out);
}

static void print_calls(const struct told *t, const struct record_python_calls *calls)
{
	uint32_t pid = calls->head.pid;

	const char *names = (const char *)(calls + 1);

	if (!calls->code && !calls->name_bytes) {
		fprintf(t->out, "end %" PRIu32 "\n", pid);
		return;
	}
	fprintf(t->out, "%s %" PRIu32 " %" PRIu64 " %" PRIu64 " ",
	        calls->has_caller ? "edge" : "calls", pid, calls->calls, calls->recursive);
	print_function(t, pid, calls->code, calls->name_bytes ? names : NULL);
	if (calls->has_caller) {
		fputc('\t', t->out);
		print_function(t, pid, calls->caller,
		               calls->caller_bytes ? names + calls->name_bytes : NULL);
	}
	fputc('\n', t->out);
}

static void visit(void *context, const struct record *record)
{
	struct told *t = context;

	if (record->type == RECORD_PYTHON_CODE)
		add_code(t, (const struct record_python_code *)record);
	else if (record->type == RECORD_PYTHON_CALLS)
		print_calls(t, (const struct record_python_calls *)record);
	else if (record->type == RECORD_PYTHON_NAME)
		fprintf(t->out, "name %" PRIu32 " %" PRIx64 " %s\n", record->pid,
		        ((const struct record_python_name *)record)->address,
		        (const char *)((const struct record_python_name *)record + 1));
	else if (record->type == RECORD_NOTE)
		fprintf(t->out, "note %" PRIu32 " %s\n", record->pid,
		        (const char *)((const struct record_note *)record + 1));
}

int main(int argc, char **argv)
{
	struct told told = { .out = stdout };
	struct agent_run_options options = {
		.visit = visit, .context = &told, .silent = true, .python_hz = 999
	};
	static struct agent_run run;
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--calls") == 0)
			options.count_calls = atoi(argv[at + 1]) != 0;
		else if (strcmp(argv[at], "--out") == 0)
			told.out = fopen(argv[at + 1], "w");
	}
	if (at >= argc || !told.out)
		return 125;
	agent_run(&run, &options, argv + at);
	fputs(run.output, stderr);
	for (size_t i = 0; i < told.count; i++)
		free(told.codes[i].text);
	free(told.codes);
	fclose(told.out);
	return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status);
}
