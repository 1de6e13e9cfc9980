// SPDX-License-Identifier: MIT
/*
 * What a profile file has of counted instructions. A profile without has no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <limits.h>
#include <string.h>

#define FUNCTION_WIDTH 6
#define LINE_WIDTH     4

static const char schema[] =
	"CREATE TABLE count_function(name INTEGER, file INTEGER, module INTEGER, calls INTEGER,"
	" called INTEGER, callees INTEGER);"
	"CREATE TABLE count_line(function INTEGER, file INTEGER, line INTEGER, self INTEGER);"
	"CREATE VIEW instruction_count(function, file, line, module, self) AS"
	" SELECT n.text, f.text, l.line, m.text, l.self"
	" FROM count_line l JOIN count_function c ON c.rowid = l.function"
	" LEFT JOIN string n ON n.id = c.name LEFT JOIN string f ON f.id = l.file"
	" LEFT JOIN string m ON m.id = c.module;";

int write_instruction_facts(struct file_writer *w)
{
	const struct counts *c = &w->profile->counts;

	if (!c->function_count)
		return 0;
	if (file_writer_fact(w, "count_functions", c->function_count) < 0 ||
	    file_writer_fact(w, "count_lines", c->line_count) < 0)
		return -1;
	return file_writer_fact(w, "count_processes", c->processes);
}

static int write_functions(struct file_writer *w)
{
	const struct counts *c = &w->profile->counts;

	if (file_writer_begin(w, "count_function", FUNCTION_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < c->function_count; i++) {
		const struct count_function *f = &c->functions[i];
		file_writer_id(w, f->name);
		file_writer_id(w, f->file);
		file_writer_id(w, f->module);
		file_writer_int(w, (int64_t)f->calls);
		file_writer_int(w, (int64_t)f->called);
		file_writer_int(w, (int64_t)f->callees);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

int write_instructions(struct file_writer *w)
{
	const struct counts *c = &w->profile->counts;

	if (!c->function_count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || write_functions(w) < 0 ||
	    file_writer_begin(w, "count_line", LINE_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < c->line_count; i++) {
		const struct count_line *l = &c->lines[i];
		file_writer_int(w, l->function);
		file_writer_id(w, l->file);
		file_writer_int(w, l->line);
		file_writer_int(w, (int64_t)l->self);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

bool take_instruction_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "count_functions") == 0)
		r->count_functions = (uint64_t)value;
	else if (strcmp(key, "count_lines") == 0)
		r->count_lines = (uint64_t)value;
	else if (strcmp(key, "count_processes") == 0)
		r->profile->counts.processes = (uint32_t)value;
	else
		return false;
	return true;
}

static int take_function(struct file_reader *r)
{
	struct counts *c = &r->profile->counts;
	uint64_t texts = strings_count(r->profile->strings);
	uint32_t before = c->function_count;
	bool ok = before < r->count_functions;
	uint32_t name = file_reader_id(r, 0, texts, &ok), file = file_reader_id(r, 1, texts, &ok);
	uint32_t module = file_reader_id(r, 2, texts, &ok);
	int64_t calls = file_reader_int(r, 3), called = file_reader_int(r, 4);
	int64_t callees = file_reader_int(r, 5);

	if (!ok || calls < 0 || called < 0 || callees < 0)
		return file_reader_damaged(r, "a counted function cannot be");
	uint32_t id = counts_function(c, name, file, module);
	if (!id)
		return file_reader_no_memory(r);
	if (c->function_count == before)
		return file_reader_damaged(r, "a counted function is there twice");
	c->functions[id - 1].calls = (uint64_t)calls;
	c->functions[id - 1].called = (uint64_t)called;
	c->functions[id - 1].callees = (uint64_t)callees;
	return 0;
}

static int take_line(struct file_reader *r)
{
	struct counts *c = &r->profile->counts;
	uint32_t before = c->line_count;
	bool ok = before < r->count_lines;
	uint32_t function = file_reader_id(r, 0, c->function_count, &ok);
	uint32_t file = file_reader_id(r, 1, strings_count(r->profile->strings), &ok);
	uint32_t line = file_reader_id(r, 2, INT_MAX, &ok);
	int64_t self = file_reader_int(r, 3);
	uint64_t all = c->all;

	if (!ok || !function || self < 0 || !file_reader_add(&all, (uint64_t)self))
		return file_reader_damaged(r, "a counted line cannot be");
	if (!counts_add(c, function, file, line, (uint64_t)self))
		return file_reader_no_memory(r);
	return c->line_count > before ? 0 : file_reader_damaged(r, "a counted line is there twice");
}

int read_instructions(struct file_reader *r)
{
	const struct counts *c = &r->profile->counts;

	if (!r->count_functions && !r->count_lines)
		return 0;
	if (r->count_functions > COUNTS_MAX || r->count_lines > COUNTS_MAX)
		return file_reader_damaged(r, "its counts cannot be");
	if (file_reader_rows(r, "count_function", FUNCTION_WIDTH, take_function) < 0 ||
	    file_reader_rows(r, "count_line", LINE_WIDTH, take_line) < 0)
		return -1;
	return c->function_count == r->count_functions && c->line_count == r->count_lines
	               ? 0
	               : file_reader_damaged(r, "a count is missing");
}
