// SPDX-License-Identifier: MIT
// Counted instructions as tables: what was executed in all, by function, and by line.
#include "cli/report/sections.h"

#include "merge/query/query_counts.h"

REPORT_KEEPS(count_rows, struct count_rows *);

// All of them, what varies from run to run as well: they sum to what was executed.
static const struct count_rows *find(struct report *r, enum counts_by by, struct error *err)
{
	const struct counts_query query = { .by = by, .noise = true };

	return keep_count_rows(r, query_counts(r->profile, &query, err), err);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct count_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

#define SHEET(place) .at = { [READER_SHEET] = (place) }

static const struct section_column columns[] = {
	{ "name", .type = CELL_TEXT, SHEET(1), FIELD(struct count_row, name) },
	{ "file", .type = CELL_TEXT, SHEET(2), FIELD(struct count_row, file) },
	{ "module", .type = CELL_TEXT, SHEET(3), FIELD(struct count_row, module) },
	{ "self_instructions", .type = CELL_INTEGER, SHEET(4), FIELD(struct count_row, self) },
	{ "total_instructions", .type = CELL_INTEGER, SHEET(5), FIELD(struct count_row, total) },
	{ "calls", .type = CELL_INTEGER, SHEET(6), FIELD(struct count_row, calls) },
};

struct section *section_counts(struct report *r, struct error *err)
{
	const struct count_rows *rows = find(r, COUNTS_BY_FUNCTION, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "counts", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

static const struct section_column line_columns[] = {
	{ "file", .type = CELL_TEXT, SHEET(1), FIELD(struct count_row, file) },
	{ "line", .type = CELL_COUNT, SHEET(2), .none = { [READER_SHEET] = true },
	  .make = make_line },
	{ "self_instructions", .type = CELL_INTEGER, SHEET(3), FIELD(struct count_row, self) },
};

struct section *section_count_lines(struct report *r, struct error *err)
{
	const struct count_rows *rows = find(r, COUNTS_BY_LINE, err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "count_lines", NULL);
	SECTION_COLUMNS(s, line_columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

static const struct section_column total_columns[] = {
	{ "instructions", .type = CELL_COUNT, SHEET(1), FIELD(struct count_rows, all) },
	{ "noise_instructions", .type = CELL_INTEGER, SHEET(2), FIELD(struct count_rows, noise) },
	{ "unnamed_instructions", .type = CELL_COUNT, SHEET(3), FIELD(struct count_rows, unnamed) },
	{ "unnamed_module", .type = CELL_TEXT, SHEET(4), FIELD(struct count_rows, unnamed_module) },
	{ "unlined_instructions", .type = CELL_COUNT, SHEET(5), FIELD(struct count_rows, unlined) },
	{ "unlined_module", .type = CELL_TEXT, SHEET(6), FIELD(struct count_rows, unlined_module) },
};

struct section *section_count_totals(struct report *r, struct error *err)
{
	const struct counts_query query = { .by = COUNTS_BY_FUNCTION };
	const struct count_rows *rows =
		keep_count_rows(r, query_counts(r->profile, &query, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "count_totals", NULL);
	SECTION_COLUMNS(s, total_columns);
	section_rows(s, rows, profile_has_counts(r->profile), sizeof(*rows));
	return section_end(s, err);
}
