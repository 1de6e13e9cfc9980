// SPDX-License-Identifier: MIT
// Of profiles that are no recorded runs: repeated ones, and counted instructions.
#include "cli/export/tables.h"
#include "cli/report/sections.h"
#include "merge/profile/profile.h"
#include "merge/query/query_counts.h"

static void put_count(struct sheet *s, const void *data)
{
	const struct count_row *row = data;

	sheet_text(s, "name", row->name);
	sheet_text(s, "file", row->file);
	sheet_text(s, "module", row->module);
	sheet_integer(s, "self_instructions", row->self);
	sheet_integer(s, "total_instructions", row->total);
	sheet_integer(s, "calls", row->calls);
}

static void put_counted_line(struct sheet *s, const void *data)
{
	const struct count_row *row = data;

	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line > 0 ? (uint64_t)row->line : 0);
	sheet_integer(s, "self_instructions", row->self);
}

// All of them, what varies from run to run as well: they sum to what was executed.
static int write_counted(struct sheet *s, const struct exporting *e, enum counts_by by,
                         struct error *err)
{
	const struct counts_query query = { .by = by, .noise = true };
	cleanup(count_rows) struct count_rows *rows = query_counts(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, by == COUNTS_BY_LINE ? put_counted_line : put_count, rows->rows, rows->count,
	           sizeof(*rows->rows), &(struct count_row){ 0 });
	return 0;
}

static int write_counts(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_counted(s, e, COUNTS_BY_FUNCTION, err);
}

static int write_count_lines(struct sheet *s, const struct exporting *e, struct error *err)
{
	return write_counted(s, e, COUNTS_BY_LINE, err);
}

static void put_total(struct sheet *s, const void *data)
{
	const struct count_rows *rows = data;

	sheet_count(s, "instructions", rows->all);
	sheet_integer(s, "noise_instructions", rows->noise);
	sheet_count(s, "unnamed_instructions", rows->unnamed);
	sheet_text(s, "unnamed_module", rows->unnamed_module);
	sheet_count(s, "unlined_instructions", rows->unlined);
	sheet_text(s, "unlined_module", rows->unlined_module);
}

static int write_count_totals(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct counts_query query = { .by = COUNTS_BY_FUNCTION };
	cleanup(count_rows) struct count_rows *rows = query_counts(e->profile, &query, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_total, rows, profile_has_counts(e->profile), sizeof(*rows),
	           &(struct count_rows){ 0 });
	return 0;
}

const struct export_table tables_of_measurements[] = {
	{ "repeats", .make = section_repeat_runs },
	{ "repeat_spreads", .make = section_repeat_spreads },
	{ "repeat_ratios", .make = section_repeat_ratios },
	{ "count_totals", .write = write_count_totals },
	{ "counts", .write = write_counts },
	{ "count_lines", .write = write_count_lines },
	{ 0 },
};
