// SPDX-License-Identifier: MIT
// What is different from another run, for a page: the tables of bottleneck diff.
#include "cli/report/graphs.h"

#include "base/error.h"
#include "cli/report/cut.h"
#include "cli/report/diff_report.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"

#include <errno.h>

#define CONFIDENCE  0.95
#define SHARE_MIN   0.002 // of all time, in either run
#define ROWS_MAX    2000  // of a table

#define PAGE(place) .at = { [READER_PAGE] = (place) }

REPORT_KEEPS(diff, struct diff *);

static const struct {
	enum diff_by by;
	const char *title;
} tables[] = {
	{ DIFF_RUN, "Run" },    { DIFF_OWNER, "Wall time" }, { DIFF_FUNCTION, "Functions" },
	{ DIFF_LINE, "Lines" }, { DIFF_OP, "Ops" },          { DIFF_KERNEL, "GPU kernels" },
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void make_change(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->integer = (int64_t)((const struct diff_row *)row)->change_ns;
}

static void make_margin(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->integer = (int64_t)((const struct diff_row *)row)->margin_ns;
}

static void make_ratio(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->number = diff_ratio(row);
}

static void make_base(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->integer = (int64_t)((const struct diff_row *)row)->base.ns;
}

static void make_next(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->integer = (int64_t)((const struct diff_row *)row)->next.ns;
}

static void make_word(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->text = diff_row_word(row);
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct diff_row *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.module = row->module;
	cell->place.line = row->next.line ? row->next.line : row->base.line;
}

static const struct section_column row_columns[] = {
	{ "change", .heading = "change", .type = CELL_INTEGER, .form = FORM_CHANGE, PAGE(1),
	  .make = make_change },
	{ "margin", .heading = "±", .type = CELL_INTEGER, .form = FORM_DURATION, PAGE(2),
	  .make = make_margin },
	{ "ratio", .heading = "%", .type = CELL_NUMBER, .form = FORM_CHANGE, PAGE(3),
	  .make = make_ratio },
	{ "base", .heading = "before", .type = CELL_INTEGER, .form = FORM_DURATION, PAGE(4),
	  .make = make_base },
	{ "next", .heading = "now", .type = CELL_INTEGER, .form = FORM_DURATION, PAGE(5),
	  .make = make_next },
	{ "word", .heading = "verdict", .type = CELL_TEXT, PAGE(6), .make = make_word },
	{ "name", .heading = "what", .type = CELL_TEXT, PAGE(7), FIELD(struct diff_row, name) },
	{ "place", .heading = "where", .type = CELL_PLACE, PAGE(8), .make = make_place },
};

static struct section *table_of(struct report *r, size_t table, const struct diff *diff)
{
	struct section *s = section_new(r, diff_by_name(tables[table].by), tables[table].title);
	size_t shown = diff->count < ROWS_MAX ? diff->count : ROWS_MAX;

	SECTION_COLUMNS(s, row_columns);
	section_rows(s, diff->rows, shown, sizeof(*diff->rows));
	s->left_out = diff->left_out + diff->count - shown;
	return s;
}

// The runs, and what is said of them.
struct pair {
	const struct run *run; // BASE's
	struct diff_part parts[2];
	struct diff_side sides[2];
	struct diff_report report;
};

static int fill(struct report *r, struct diff_report *report, struct error *err)
{
	struct diff_query query = { .confidence = CONFIDENCE, .min_share = SHARE_MIN };

	int owners = diff_has_owners(report->base, report->next, err);
	if (owners < 0)
		return -1;
	for (size_t i = 0; i < TABLES; i++) {
		query.by = tables[i].by;
		if (query.by == DIFF_OWNER && !owners)
			continue;
		report->tables[query.by] =
			keep_diff(r, diff_new(report->base, report->next, &query, err), err);
		if (!report->tables[query.by])
			return -1;
	}
	if (diff_report_count(report, err) < 0)
		return -1;
	diff_report_differ(report);
	diff_report_conclude(report);
	return 0;
}

// Of what ASKED means of BASE, and of the run of R. NULL on error.
static struct pair *pair_of(struct report *r, const struct view *asked, const struct profile *base,
                            struct error *err)
{
	static const char *const path = "";
	struct view other = *asked;
	struct pair *pair = report_take(r, sizeof(*pair));

	if (cut_check(&other, base, err) < 0 || cut_resolve(&other, base, err) < 0)
		return NULL;
	if (!pair) {
		error_set(err, ENOMEM, "could not compare the runs");
		return NULL;
	}
	pair->run = profile_run(base);
	pair->parts[0] = (struct diff_part){
		base,
		view_query(&other, BY_FUNCTION, SORT_SELF),
		other.steps,
	};
	pair->parts[1] = (struct diff_part){
		r->profile,
		view_query(r->view, BY_FUNCTION, SORT_SELF),
		r->view->steps,
	};
	pair->sides[0] = (struct diff_side){ &pair->parts[0], 1 };
	pair->sides[1] = (struct diff_side){ &pair->parts[1], 1 };
	pair->report = (struct diff_report){
		.base = &pair->sides[0],
		.next = &pair->sides[1],
		.base_paths = &path,
		.next_paths = &path,
		.top = r->view->top,
		.confidence = CONFIDENCE,
	};
	return fill(r, &pair->report, err) < 0 ? NULL : pair;
}

const struct diff_report *diff_report_of(struct report *r, const struct view *asked,
                                         const struct profile *base, struct error *err)
{
	const struct pair *pair = pair_of(r, asked, base, err);

	return pair ? &pair->report : NULL;
}

static void make_command(const struct section *s, const void *pair, struct section_cell *cell)
{
	(void)s;
	cell->text = ((const struct pair *)pair)->run->command;
}

static void make_start(const struct section *s, const void *pair, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct pair *)pair)->run->start_realtime_ns;
}

static void make_wall(const struct section *s, const void *pair, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct pair *)pair)->run->wall_ns;
}

static void make_samples(const struct section *s, const void *pair, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct pair *)pair)->run->samples;
}

static void make_differences(const struct section *s, const void *data, struct section_cell *cell)
{
	static const struct section_column columns[] = {
		{ "what", .type = CELL_TEXT, PAGE(1), FIELD(struct diff_difference, what) },
		{ "base", .type = CELL_TEXT, PAGE(2), FIELD(struct diff_difference, base) },
		{ "next", .type = CELL_TEXT, PAGE(3), FIELD(struct diff_difference, next) },
	};
	const struct diff_report *report = &((const struct pair *)data)->report;
	struct section *differences = section_new(s->report, "differences", NULL);

	SECTION_COLUMNS(differences, columns);
	section_rows(differences, report->differences, report->difference_count,
	             sizeof(*report->differences));
	cell->section = differences;
}

static const struct section_column columns[] = {
	{ "sentence", .type = CELL_TEXT, PAGE(1), FIELD(struct pair, report.sentence) },
	{ "doubt", .type = CELL_TEXT, PAGE(2), .none = { [READER_PAGE] = true },
	  FIELD(struct pair, report.doubt) },
	{ "base", .type = CELL_TEXT, PAGE(3), .make = make_command },
	{ "base_start_realtime_ns", .type = CELL_NS, PAGE(4), .make = make_start },
	{ "base_wall_ns", .type = CELL_NS, PAGE(5), .make = make_wall },
	{ "base_samples", .type = CELL_COUNT, PAGE(6), .make = make_samples },
	{ "differences", .type = CELL_ROWS, PAGE(7), .make = make_differences },
};

struct section *section_diff(struct report *r, const struct profile *base, struct error *err)
{
	const struct pair *pair = pair_of(r, r->view, base, err);
	struct section *s = section_new(r, "diff", NULL), **next = &s->next;

	if (!pair)
		return NULL;
	SECTION_COLUMNS(s, columns);
	section_row(s, pair);
	for (size_t i = 0; i < TABLES; i++) {
		const struct diff *diff = pair->report.tables[tables[i].by];
		if (!diff)
			continue;
		*next = table_of(r, i, diff);
		next = &(*next)->next;
	}
	return section_end(s, err);
}
