// SPDX-License-Identifier: MIT
// What is different from another run: the tables of bottleneck diff.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/diff/diff_report.h"

#include <math.h>

#define CONFIDENCE 0.95
#define SHARE_MIN  0.002 // of all time, in either run
#define ROWS_MAX   2000  // of a table

static const struct table {
	enum diff_by by;
	const char *title;
} tables[] = {
	{ DIFF_RUN, "Run" }, { DIFF_FUNCTION, "Functions" }, { DIFF_LINE, "Lines" },
	{ DIFF_OP, "Ops" },  { DIFF_KERNEL, "GPU kernels" },
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void free_tables(struct diff_report *report)
{
	for (size_t i = 0; i < TABLES; i++)
		diff_free(report->tables[tables[i].by]);
}

static int find(struct diff_report *report, struct error *err)
{
	struct diff_query query = { .confidence = CONFIDENCE, .min_share = SHARE_MIN };

	for (size_t i = 0; i < TABLES; i++) {
		query.by = tables[i].by;
		report->tables[query.by] = diff_new(report->base, report->next, &query, err);
		if (!report->tables[query.by])
			return -1;
	}
	diff_report_differ(report);
	diff_report_conclude(report);
	return 0;
}

static void put_columns(struct json *j)
{
	static const char *const columns[][3] = {
		{ "change", "change", "change" }, { "margin", "±", "ns" },
		{ "ratio", "%", "ratio" },        { "base", "before", "ns" },
		{ "next", "now", "ns" },          { "word", "verdict", "text" },
		{ "name", "what", "text" },       { "place", "where", "place" },
	};

	json_open(j, "columns", '[');
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_open(j, NULL, '[');
		for (size_t k = 0; k < 3; k++)
			json_put_text(j, NULL, columns[i][k]);
		json_close(j);
	}
	json_close(j);
}

static void put_row(struct json *j, const struct diff_row *row)
{
	int line = row->next.line ? row->next.line : row->base.line;

	json_open(j, NULL, '[');
	json_put_integer(j, NULL, (int64_t)row->change_ns);
	json_put_integer(j, NULL, (int64_t)row->margin_ns);
	json_put_number(j, NULL, diff_ratio(row));
	json_put_integer(j, NULL, (int64_t)row->base.ns);
	json_put_integer(j, NULL, (int64_t)row->next.ns);
	json_put_text(j, NULL, diff_row_word(row));
	json_put_text(j, NULL, row->name);
	html_put_place(j, row->file, line, row->module);
	json_close(j);
}

static void put_table(struct json *j, const struct table *table, const struct diff *diff)
{
	size_t shown = diff->count < ROWS_MAX ? diff->count : ROWS_MAX;

	json_open(j, diff_by_name(table->by), '{');
	json_put_text(j, "title", table->title);
	put_columns(j);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < shown; i++)
		put_row(j, &diff->rows[i]);
	json_close(j);
	json_put_count(j, "left_out", diff->left_out + diff->count - shown);
	json_close(j);
}

static void put_differences(struct json *j, const struct diff_report *report)
{
	json_open(j, "differences", '[');
	for (size_t i = 0; i < report->difference_count; i++) {
		const struct diff_difference *d = &report->differences[i];
		json_open(j, NULL, '[');
		json_put_text(j, NULL, d->what);
		json_put_text(j, NULL, d->base);
		json_put_text(j, NULL, d->next);
		json_close(j);
	}
	json_close(j);
}

// Its call trees: the page compares those of the whole run with them, path by path.
static int put_flames(const struct html *h, const struct profile *base, struct error *err)
{
	struct html of_base = *h;

	of_base.profile = base;
	of_base.whole = true;
	return html_flames(&of_base, err);
}

static int put_diff(const struct html *h, const struct diff_report *report,
                    const struct profile *base, struct error *err)
{
	struct json *j = h->j;

	json_open(j, "diff", '{');
	json_put_text(j, "sentence", report->sentence);
	json_put_text(j, "doubt", *report->doubt ? report->doubt : NULL);
	json_put_text(j, "base", profile_run(base)->command);
	json_put_count(j, "base_start_realtime_ns", profile_run(base)->start_realtime_ns);
	json_put_count(j, "base_wall_ns", profile_run(base)->wall_ns);
	json_put_count(j, "base_samples", profile_run(base)->samples);
	put_differences(j, report);
	json_open(j, "tables", '{');
	for (size_t i = 0; i < TABLES; i++)
		put_table(j, &tables[i], report->tables[tables[i].by]);
	json_close(j);
	int failed = put_flames(h, base, err);
	json_close(j);
	return failed;
}

int html_diff(const struct html *h, const struct profile *base, struct error *err)
{
	const char *const path = "";
	const struct query query = view_query(h->view, BY_FUNCTION, SORT_SELF);
	const struct diff_part parts[] = { { base, query, h->view->steps },
		                           { h->profile, query, h->view->steps } };
	const struct diff_side sides[] = { { &parts[0], 1 }, { &parts[1], 1 } };
	struct diff_report report = {
		.base = &sides[0],
		.next = &sides[1],
		.base_paths = &path,
		.next_paths = &path,
		.confidence = CONFIDENCE,
	};
	int failed = find(&report, err);

	if (!failed)
		failed = put_diff(h, &report, base, err);
	free_tables(&report);
	return failed;
}
