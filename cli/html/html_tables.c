// SPDX-License-Identifier: MIT
// The tables, all of one form: columns with the kind of their values, and rows of values.
#include "cli/html/html_table.h"

#include "base/error.h"
#include "cli/report/sections.h"
#include "merge/query/query_ops.h"

#include <errno.h>

void html_open_table(struct json *j, const char *key, const char *title, const char *note,
                     const struct html_column *columns, size_t count)
{
	json_open(j, key, '{');
	json_put_text(j, "title", title);
	json_put_text(j, "note", note);
	json_open(j, "columns", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, NULL, '[');
		json_put_text(j, NULL, columns[i].key);
		json_put_text(j, NULL, columns[i].title);
		json_put_text(j, NULL, columns[i].kind);
		json_close(j);
	}
	json_close(j);
	json_open(j, "rows", '[');
}

void html_close_table(struct json *j, size_t rows)
{
	json_close(j);
	json_put_count(j, "left_out", rows > HTML_ROWS_MAX ? rows - HTML_ROWS_MAX : 0);
	json_close(j);
}

void html_put_known(struct json *j, uint64_t value)
{
	if (value)
		json_put_count(j, NULL, value);
	else
		json_put_null(j, NULL);
}

void html_put_share(struct json *j, uint64_t part, uint64_t all)
{
	json_put_number(j, NULL, all ? (double)part / (double)all : 0);
}

static int put_made(const struct html *h, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = make(&r, err);

	if (!s)
		return -1;
	html_put_section(h->j, s);
	return 0;
}

static const char *longest_wait(const struct row *row)
{
	int most = METRIC_ON_CPU;

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		if (row->self_ns[m] &&
		    (most == METRIC_ON_CPU || row->self_ns[m] > row->self_ns[most]))
			most = m;
	return most == METRIC_ON_CPU ? NULL : metric_name((enum metric)most);
}

static int put_owners(const struct html *h, enum query_by by, struct error *err)
{
	static const struct html_column columns[] = {
		{ "on_cpu", "on a CPU", "ns" },
		{ "waiting", "waiting", "ns" },
		{ "runnable", "of it for a CPU", "ns" },
		{ "mostly", "mostly for", "text" },
		{ "name", "name", "text" },
		{ "number", "number", "count" },
	};
	const struct query query = view_query(h->view, by, SORT_SELF);
	cleanup(rows) struct rows *rows = query_run(h->profile, &query, err);
	bool threads = by == BY_THREAD;
	struct json *j = h->j;

	if (!rows)
		return -1;
	HTML_OPEN_TABLE(j, threads ? "threads" : "processes", threads ? "Threads" : "Processes",
	                NULL, columns);
	for (size_t i = 0; i < rows->count && i < HTML_ROWS_MAX; i++) {
		const struct row *row = &rows->rows[i];
		uint64_t waiting = 0;
		for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
			waiting += row->self_ns[m];
		json_open(j, NULL, '[');
		json_put_count(j, NULL, row->self_ns[METRIC_ON_CPU]);
		json_put_count(j, NULL, waiting);
		json_put_count(j, NULL, row->self_ns[METRIC_OFF_RUNNABLE]);
		json_put_text(j, NULL, longest_wait(row));
		json_put_text(j, NULL, row->name);
		json_put_count(j, NULL, row->id);
		json_close(j);
	}
	html_close_table(j, rows->count);
	return 0;
}

static int put_whole(const struct html *h, struct error *err)
{
	return put_made(h, section_page_memory, err) < 0 ? -1 : html_tables_gpu_whole(h, err);
}

int html_tables(const struct html *h, struct error *err)
{
	int failed = 0;

	json_open(h->j, "tables", '{');
	if (put_made(h, section_page_functions, err) < 0 ||
	    put_made(h, section_page_lines, err) < 0 || put_made(h, section_page_ops, err) < 0 ||
	    html_tables_gpu(h, err) < 0 || put_owners(h, BY_THREAD, err) < 0 ||
	    put_owners(h, BY_PROCESS, err) < 0 || (h->whole && put_whole(h, err) < 0))
		failed = -1;
	json_close(h->j);
	return failed;
}
