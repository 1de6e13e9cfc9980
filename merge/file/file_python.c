// SPDX-License-Identifier: MIT
/*
 * What a profile file has of calls of Python functions, and of the GIL. A profile without has no
 * such table.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <string.h>

static const char schema[] =
	"CREATE TABLE python_call(function INTEGER, file INTEGER, line INTEGER, calls INTEGER, "
	"recursive INTEGER);"
	"CREATE TABLE python_caller(callee INTEGER, caller INTEGER, calls INTEGER, "
	"recursive INTEGER);";
static const char gil_schema[] =
	"CREATE TABLE gil(thread INTEGER, held_ns INTEGER, waited_ns INTEGER);";

static bool knew_gil(const struct thread_info *info)
{
	return info->gil_held_ns || info->gil_waited_ns;
}

static uint32_t count_gil(const struct profile *p)
{
	uint32_t count = 0;

	for (size_t i = 0; i < p->threads.thread_count; i++)
		count += knew_gil(&p->threads.threads[i]);
	return count;
}

int write_python_facts(struct file_writer *w)
{
	const struct call_counts *c = &w->profile->call_counts;
	uint32_t gil = count_gil(w->profile);

	if (gil && file_writer_fact(w, "python_gil", gil) < 0)
		return -1;
	if (!c->begun)
		return 0;
	if (file_writer_fact(w, "python_counters", (int64_t)c->begun) < 0 ||
	    file_writer_fact(w, "python_counters_ended", (int64_t)c->ended) < 0)
		return -1;
	if (file_writer_fact(w, "python_callers", c->edge_count) < 0)
		return -1;
	return file_writer_fact(w, "python_calls", c->count);
}

static int write_gil(struct file_writer *w)
{
	const struct threads *t = &w->profile->threads;

	if (!count_gil(w->profile))
		return 0;
	if (file_writer_sql(w, gil_schema) < 0 || file_writer_begin(w, "gil", 3, true) < 0)
		return -1;
	for (size_t i = 0; i < t->thread_count; i++) {
		if (!knew_gil(&t->threads[i]))
			continue;
		file_writer_int(w, (int64_t)i + 1);
		file_writer_int(w, (int64_t)t->threads[i].gil_held_ns);
		file_writer_int(w, (int64_t)t->threads[i].gil_waited_ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_callers(struct file_writer *w)
{
	const struct call_counts *c = &w->profile->call_counts;

	if (file_writer_begin(w, "python_caller", 4, true) < 0)
		return -1;
	for (uint32_t i = 0; i < c->edge_count; i++) {
		file_writer_int(w, c->edges[i].callee);
		file_writer_int(w, c->edges[i].caller);
		file_writer_int(w, (int64_t)c->edges[i].calls);
		file_writer_int(w, (int64_t)c->edges[i].recursive);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

int write_python(struct file_writer *w)
{
	const struct call_counts *c = &w->profile->call_counts;

	if (write_gil(w) < 0)
		return -1;
	if (!c->begun)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "python_call", 5, true) < 0)
		return -1;
	for (uint32_t i = 0; i < c->count; i++) {
		file_writer_int(w, c->all[i].function);
		file_writer_int(w, c->all[i].file);
		file_writer_int(w, c->all[i].line);
		file_writer_int(w, (int64_t)c->all[i].calls);
		file_writer_int(w, (int64_t)c->all[i].recursive);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return write_callers(w);
}

bool take_python_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct call_counts *c = &r->profile->call_counts;

	if (strcmp(key, "python_counters") == 0)
		c->begun = (uint64_t)value;
	else if (strcmp(key, "python_counters_ended") == 0)
		c->ended = (uint64_t)value;
	else if (strcmp(key, "python_calls") == 0)
		r->python_calls = (uint64_t)value;
	else if (strcmp(key, "python_callers") == 0)
		r->python_callers = (uint64_t)value;
	else if (strcmp(key, "python_gil") == 0)
		r->python_gil = (uint64_t)value;
	else
		return false;
	return true;
}

static int take_call(struct file_reader *r)
{
	struct call_counts *c = &r->profile->call_counts;
	uint64_t texts = strings_count(r->profile->strings);
	bool ok = true;
	const struct call_count count = {
		.function = file_reader_id(r, 0, texts, &ok),
		.file = file_reader_id(r, 1, texts, &ok),
		.line = file_reader_id(r, 2, INT32_MAX, &ok),
		.calls = (uint64_t)file_reader_int(r, 3),
		.recursive = (uint64_t)file_reader_int(r, 4),
	};

	if (!ok || !count.function || count.calls > INT64_MAX || count.recursive > count.calls ||
	    call_counts_find(c, count.function, count.file, count.line))
		return file_reader_damaged(r, "a count of calls cannot be");
	return call_counts_add(c, &count) ? 0 : file_reader_no_memory(r);
}

static int take_caller(struct file_reader *r)
{
	struct call_counts *c = &r->profile->call_counts;
	bool ok = true;
	const struct call_edge edge = {
		.callee = file_reader_id(r, 0, c->count, &ok),
		.caller = file_reader_id(r, 1, c->count, &ok),
		.calls = (uint64_t)file_reader_int(r, 2),
		.recursive = (uint64_t)file_reader_int(r, 3),
	};

	if (!ok || !edge.callee || !edge.caller || edge.calls > INT64_MAX ||
	    edge.recursive > edge.calls)
		return file_reader_damaged(r, "a count of calls cannot be");
	return call_counts_add_edge(c, &edge) ? 0 : file_reader_no_memory(r);
}

static int take_gil(struct file_reader *r)
{
	struct threads *t = &r->profile->threads;
	bool ok = true;
	uint32_t thread = file_reader_id(r, 0, (uint32_t)t->thread_count, &ok);
	int64_t held_ns = file_reader_int(r, 1), waited_ns = file_reader_int(r, 2);

	if (!ok || !thread || held_ns < 0 || waited_ns < 0 || !r->python_gil)
		return file_reader_damaged(r, "a time of the GIL cannot be");
	r->python_gil--;
	t->threads[thread - 1].gil_held_ns = (uint64_t)held_ns;
	t->threads[thread - 1].gil_waited_ns = (uint64_t)waited_ns;
	return 0;
}

static int read_gil(struct file_reader *r)
{
	if (!r->python_gil)
		return 0;
	if (file_reader_rows(r, "gil", 3, take_gil) < 0)
		return -1;
	return r->python_gil ? file_reader_damaged(r, "a time of the GIL is missing") : 0;
}

int read_python(struct file_reader *r)
{
	const struct call_counts *c = &r->profile->call_counts;

	if (read_gil(r) < 0)
		return -1;
	if (c->ended > c->begun || c->begun > INT64_MAX ||
	    ((r->python_calls || r->python_callers) && !c->begun))
		return file_reader_damaged(r, "its call counts are impossible");
	if (!c->begun)
		return 0;
	if (file_reader_rows(r, "python_call", 5, take_call) < 0 ||
	    file_reader_rows(r, "python_caller", 4, take_caller) < 0)
		return -1;
	return c->count == r->python_calls && c->edge_count == r->python_callers
	               ? 0
	               : file_reader_damaged(r, "a count of calls is missing");
}
