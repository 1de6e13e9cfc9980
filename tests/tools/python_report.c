// SPDX-License-Identifier: MIT
// python_report [--hz N] [--by traps|timers] [--out FILE] PROGRAM [ARG…]: the Python stacks that
// the agent saw in it.
//
// A line for each sample, with its frames, innermost first:
//	sample PID TID TIME_NS FLAGS ADDRESS <TAB> FILE|FUNCTION|LINE|ANCHOR <TAB> …
// and one for each interpreter ("python PID VERSION START END", of eval) and note ("note PID
// TEXT").
#include "base/array.h"
#include "base/hash.h"
#include "base/python_lines.h"
#include "base/record.h"
#include "tests/support/agent_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct code {
	uint32_t pid, number;
	struct record_python_code *record;
};

struct report {
	FILE *out;
	struct code *codes;
	size_t count, capacity;
	uint64_t samples, frames, unknown;
};

static struct code *find(const struct report *r, uint32_t pid, uint32_t number)
{
	for (size_t i = r->count; i > 0; i--)
		if (r->codes[i - 1].pid == pid && r->codes[i - 1].number == number)
			return &r->codes[i - 1];
	return NULL;
}

static void add_code(struct report *r, const struct record *record)
{
	const struct record_python_code *told = (const struct record_python_code *)record;

	if (!array_reserve(&r->codes, &r->capacity, r->count + 1))
		abort();
	struct code *code = &r->codes[r->count++];
	code->pid = record->pid;
	code->number = told->code;
	code->record = malloc(record->size);
	if (!code->record)
		abort();
	memcpy(code->record, record, record->size);
}

static void print_frame(struct report *r, uint32_t pid, const struct python_frame *frame)
{
	const struct code *code = frame->code ? find(r, pid, frame->code) : NULL;

	r->frames++;
	if (!code) {
		r->unknown++;
		fprintf(r->out, "\t?|?|0|%" PRIx64, frame->anchor);
		return;
	}
	const struct record_python_code *c = code->record;
	const char *file = (const char *)(c + 1), *name = file + c->file_bytes;
	uint32_t line = python_line(c->version, (const uint8_t *)name + c->name_bytes,
	                            c->table_bytes, c->first_line, frame->instruction);
	fprintf(r->out, "\t%.*s|%.*s|%" PRIu32 "|%" PRIx64, (int)c->file_bytes, file,
	        (int)c->name_bytes, name, line, frame->anchor);
}

static void print_sample(struct report *r, const struct record *record)
{
	const struct record_sample *sample = (const struct record_sample *)record;
	const char *behind = (const char *)(sample + 1) + 8 * sample->kernel_count +
	                     record_align(sample->stack_bytes);
	const struct python_chain *chain = (const struct python_chain *)behind;
	bool python = record->flags & SAMPLE_PYTHON;

	r->samples++;
	fprintf(r->out, "sample %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIx64,
	        record->pid, record->tid, record->time_ns, python ? chain->flags : 0,
	        sample->regs[DWARF_RIP]);
	for (uint32_t i = 0; python && i < chain->count; i++)
		print_frame(r, record->pid, &chain->frames[i]);
	fputc('\n', r->out);
}

static void print_python(struct report *r, const struct record_python *python)
{
	fprintf(r->out, "python %" PRIu32 " %" PRIx32 " %" PRIx64 " %" PRIx64 "\n",
	        python->head.pid, python->version, python->eval_start, python->eval_end);
}

static void visit(void *context, const struct record *record)
{
	struct report *r = context;

	if (record->type == RECORD_PYTHON)
		print_python(r, (const struct record_python *)record);
	if (record->type == RECORD_NOTE)
		fprintf(r->out, "note %" PRIu32 " %s\n", record->pid,
		        (const char *)((const struct record_note *)record + 1));
	if (record->type == RECORD_PYTHON_CODE)
		add_code(r, record);
	if (record->type == RECORD_SAMPLE && !(record->flags & SAMPLE_NO_USER))
		print_sample(r, record);
}

static void finish(struct report *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->codes[i].record);
	free(r->codes);
	fclose(r->out);
}

int main(int argc, char **argv)
{
	struct report report = { .out = NULL };
	struct agent_run_options options = { .visit = visit, .context = &report, .hz = 999 };
	static struct agent_run run;
	const char *path = "/dev/stdout";
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--hz") == 0)
			options.hz = (uint32_t)atoi(argv[at + 1]);
		else if (strcmp(argv[at], "--by") == 0)
			options.silent = strcmp(argv[at + 1], "traps") == 0;
		else if (strcmp(argv[at], "--out") == 0)
			path = argv[at + 1];
	}
	if (at >= argc || !(report.out = fopen(path, "w")))
		return 125;
	options.python_hz = options.silent ? options.hz : 0;
	agent_run(&run, &options, argv + at);
	fputs(run.output, stderr);
	fprintf(stderr,
	        "python_report: %" PRIu64 " samples, %" PRIu64 " frames (%" PRIu64
	        " unknown), %zu code objects, %" PRIu64 " dropped, %" PRIu64 " damaged\n",
	        report.samples, report.frames, report.unknown, report.count, run.dropped,
	        run.damaged);
	finish(&report);
	return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status);
}
