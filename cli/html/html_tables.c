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

int html_steps(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *series = section_step_series(&r, err);
	const struct section *steps = series ? section_all_steps(&r, err) : NULL;

	if (!steps)
		return -1;
	if (!series->row_count || !steps->row_count)
		return 0;
	json_open(h->j, "steps", '{');
	html_put_members(h->j, series, 0);
	html_put_rows(h->j, "items", steps);
	json_close(h->j);
	return 0;
}

static int put_whole(const struct html *h, struct error *err)
{
	return put_made(h, section_page_memory, err) < 0 ||
	                       put_made(h, section_gpu_managed, err) < 0 ||
	                       put_made(h, section_gpu_faults, err) < 0
	               ? -1
	               : put_made(h, section_all_gpu_lines, err);
}

int html_tables(const struct html *h, struct error *err)
{
	int failed = 0;

	json_open(h->j, "tables", '{');
	if (put_made(h, section_page_functions, err) < 0 ||
	    put_made(h, section_page_lines, err) < 0 || put_made(h, section_page_ops, err) < 0 ||
	    html_tables_gpu(h, err) < 0 || put_made(h, section_all_threads, err) < 0 ||
	    put_made(h, section_all_processes, err) < 0 || (h->whole && put_whole(h, err) < 0))
		failed = -1;
	json_close(h->j);
	return failed;
}
