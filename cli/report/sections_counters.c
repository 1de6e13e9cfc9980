// SPDX-License-Identifier: MIT
// What the program has counted itself, by ITT's and NVTX's counters.
#include "cli/report/sections.h"

#include "base/format.h"
#include "cli/report/view.h"
#include "merge/query/query_counters.h"

#include <math.h>

#define WIDE 80 // terminals below this get fewer columns

REPORT_KEEPS(counter_rows, struct counter_rows *);

// Of a counter whose values are not known people see none.
static void put_number(const struct section *s, const struct counter_row *row, double number,
                       struct section_cell *cell)
{
	bool page = s->report->reader == READER_PAGE;

	cell->number = number;
	cell->flags = row->changes ? 0 : page ? CELL_UNKNOWN : CELL_IDLE;
}

static void make_last(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;

	put_number(s, row, row->last, cell);
}

static void make_min(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;

	put_number(s, row, row->min, cell);
}

static void make_max(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;

	put_number(s, row, row->max, cell);
}

// The report shows no decimals of large values.
static void make_average(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;
	bool large = s->report->reader == READER_TEXT && fabs(row->average) >= 1000;

	put_number(s, row, large ? round(row->average) : row->average, cell);
}

static void make_sum(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;

	put_number(s, row, row->sum, cell);
}

static void make_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct counter_row *row = data;

	cell->text =
		report_say(s->report, "%s%s%s", row->domain, *row->domain ? ": " : "", row->name);
}

// On the page they stand as in the text.
#define AT(text, sheet)                                                                            \
	.at = { [READER_TEXT] = (text), [READER_PAGE] = (text), [READER_SHEET] = (sheet) }

static const struct section_column columns[] = {
	{ "name", .type = CELL_TEXT, AT(0, 1), FIELD(struct counter_row, name) },
	{ "provider", .heading = "kind", .type = CELL_TEXT, AT(7, 2), .width_min = WIDE,
	  FIELD(struct counter_row, provider) },
	{ "domain", .type = CELL_TEXT, AT(0, 3), FIELD(struct counter_row, domain) },
	{ "changes", .heading = "changes", .type = CELL_COUNT, AT(6, 4),
	  FIELD(struct counter_row, changes) },
	{ "untold", .type = CELL_COUNT, AT(0, 5), FIELD(struct counter_row, untold) },
	{ "last", .heading = "last", .type = CELL_NUMBER, .form = FORM_ANY, AT(1, 6),
	  .make = make_last },
	{ "min", .heading = "min", .type = CELL_NUMBER, .form = FORM_ANY, AT(2, 7),
	  .make = make_min },
	{ "average", .heading = "average", .type = CELL_NUMBER, .form = FORM_ANY, AT(4, 8),
	  .width_min = WIDE, .make = make_average },
	{ "max", .heading = "max", .type = CELL_NUMBER, .form = FORM_ANY, AT(3, 9),
	  .make = make_max },
	{ "sum", .heading = "sum", .type = CELL_NUMBER, .form = FORM_ANY, AT(5, 10),
	  .width_min = WIDE, .make = make_sum },
	{ "counter", .heading = "counter", .type = CELL_TEXT, AT(8, 0), .clip = CLIP_MIDDLE,
	  .room = 1, .make = make_name },
};

static void say_untold(struct section *s, const struct counter_rows *rows)
{
	uint64_t untold = rows->lost;

	for (size_t i = 0; i < rows->count; i++)
		untold += rows->rows[i].untold;
	if (untold)
		section_say(s,
		            "%s more changes: their values came too fast to be kept, or were no "
		            "numbers",
		            format_count(untold).text);
}

struct section *section_counters(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct counter_rows *rows =
		keep_counter_rows(r, query_counters(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s =
		section_new(r, "counters", r->reader == READER_PAGE ? "Counters" : "counters");
	s->shown = rows->count != 0;
	s->subtitle = r->view->from_ns || r->view->to_ns ? "of the whole run" : NULL;
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	say_untold(s, rows);
	return section_end(s, err);
}
