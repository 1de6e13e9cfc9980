// SPDX-License-Identifier: MIT
// The ranks of a merged profile: who works, who waits, and where they differ.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/query/query_ranks.h"

#include <errno.h>
#include <stdio.h>

#define LAST_ROWS 3 // of those that work least, where not all are shown
#define SKEWS_MAX 5
#define HELD      0.01 // of the longest run, that others waited: less is not worth a table
#define LAST      8    // of the columns: two that are there where ranks have met

static const struct column columns[] = {
	{ "rank", COLUMN_NUMBER, 0, 0 },
	{ "host", COLUMN_WORD, 0, 0 },
	{ "wall", COLUMN_NUMBER, 0, 0 },
	{ "busy", COLUMN_NUMBER, 0, 0 },
	{ "in MPI", COLUMN_NUMBER, 0, 0 },
	{ "waiting", COLUMN_NUMBER, 0, 0 },
	{ "steps", COLUMN_NUMBER, 0, 0 },
	{ "median step", COLUMN_NUMBER, 0, 0 },
	{ "last", COLUMN_NUMBER, 0, 0 },
	{ "waited for", COLUMN_NUMBER, 0, 0 },
	{ "mostly in", COLUMN_TEXT, CLIP_SYMBOL, 1 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const struct column meeting_columns[] = {
	{ "at", COLUMN_NUMBER, 0, 0 },         { "others waited", COLUMN_NUMBER, 0, 0 },
	{ "for rank", COLUMN_NUMBER, 0, 0 },   { "after its step", COLUMN_NUMBER, 0, 0 },
	{ "in", COLUMN_TEXT, CLIP_SYMBOL, 1 },
};

static const struct column skew_columns[] = {
	{ "rank", COLUMN_NUMBER, 0, 0 },
	{ "its time", COLUMN_NUMBER, 0, 0 },
	{ "others'", COLUMN_NUMBER, 0, 0 },
	{ "function", COLUMN_TEXT, CLIP_SYMBOL, 1 },
};

static void add_row(struct table *table, const struct rank_row *row, struct time_unit unit,
                    bool hot, bool meets)
{
	bool steps = row->steps && row->step_median_ns;

	table_row(table, hot ? STYLE_HOT : STYLE_PLAIN);
	table_cell(table, format_count(row->number).text);
	table_cell(table, row->host ? row->host : "?");
	table_cell(table, format_time(row->wall_ns, unit).text);
	table_cell(table, format_time(row->busy_ns, unit).text);
	table_cell(table, row->mpi_ns ? format_time(row->mpi_ns, unit).text : "-");
	table_cell(table, format_time(row->wait_ns, unit).text);
	table_cell(table, steps ? format_count(row->steps).text : "-");
	table_cell(table, steps ? format_duration(row->step_median_ns).text : "-");
	if (meets) {
		table_cell(table, format_count(row->last).text);
		table_cell(table, format_time(row->held_ns, unit).text);
	}
	table_cell(table, row->function ? row->function : "");
}

// Of many, those that work most and those that work least. Returns how many are left out.
static size_t add_rows(const struct text *text, struct table *table, const struct rank_rows *rows)
{
	size_t most = text->view->top > LAST_ROWS ? text->view->top - LAST_ROWS : 1;
	size_t left_out = rows->count > most + LAST_ROWS ? rows->count - most - LAST_ROWS : 0;
	struct time_unit unit = format_time_unit(rows->rows[0].wall_ns);

	for (size_t i = 0; i < rows->count; i++)
		if (i < most || i >= most + left_out)
			add_row(table, &rows->rows[i], unit, i == 0 && rows->straggles,
			        rows->meetings != 0);
	return left_out;
}

static const char *kind_of(const struct rank_row *row)
{
	return row->numbered ? "rank" : "profile";
}

static void print_straggler(const struct text *text, const struct rank_rows *rows)
{
	const struct rank_row *first = &rows->rows[0];
	char words[700], where[300] = "";

	if (rows->because)
		snprintf(where, sizeof(where), "; %s of that in %.200s",
		         format_duration(rows->because->most_ns - rows->because->median_ns).text,
		         rows->because->function);
	snprintf(
		words, sizeof(words),
		"%s %u on %s holds the others up: it works %s longer than they (median %s)%s, and they wait "
		"%s longer than it.",
		kind_of(first), first->number, first->host ? first->host : "?",
		format_duration(rows->excess_ns).text, format_duration(rows->median_busy_ns).text,
		where, format_duration(rows->waited_ns).text);
	fputs("  ", text->out);
	terminal_wrap(&text->terminal, text->out, words, 2, 2);
}

// Not of runs that have lost next to nothing.
static bool has_waited(const struct rank_rows *rows)
{
	uint64_t wall_ns = 0;

	for (size_t i = 0; i < rows->count; i++)
		wall_ns = rows->rows[i].wall_ns > wall_ns ? rows->rows[i].wall_ns : wall_ns;
	return (double)rows->held_ns > HELD * (double)wall_ns;
}

static void print_latest(const struct text *text, const struct rank_rows *rows)
{
	const struct rank_row *latest = &rows->rows[rows->latest];
	char words[400];

	snprintf(words, sizeof(words),
	         "at %s collective operations the others waited %s for who came last: for %s %u "
	         "%s, at %s of them",
	         format_count(rows->meetings).text, format_duration(rows->held_ns).text,
	         kind_of(latest), latest->number, format_duration(latest->held_ns).text,
	         format_count(latest->last).text);
	fputs("  ", text->out);
	terminal_wrap(&text->terminal, text->out, words, 2, 2);
}

static void print_verdict(const struct text *text, const struct rank_rows *rows)
{
	if (rows->count < 2)
		return;
	if (rows->straggles)
		print_straggler(text, rows);
	else
		fputs("  no one of them holds the others up\n", text->out);
	if (has_waited(rows))
		print_latest(text, rows);
	if (rows->step_ratio > 1 + RANKS_SKEW)
		fprintf(text->out,
		        "  steps: %s %u takes %.2f times as long as the others (median)\n",
		        kind_of(&rows->rows[rows->slowest]), rows->rows[rows->slowest].number,
		        rows->step_ratio);
}

static int print_skews(const struct text *text, const struct rank_rows *rows)
{
	cleanup(table) struct table *table = table_new(
		skew_columns, sizeof(skew_columns) / sizeof(skew_columns[0]), &text->terminal);

	if (!table)
		return -1;
	for (size_t i = 0; i < rows->skew_count && i < SKEWS_MAX; i++) {
		const struct rank_skew *skew = &rows->skews[i];
		table_row(table, STYLE_PLAIN);
		table_cell(table, format_count(rows->rows[skew->rank].number).text);
		table_cell(table, format_duration(skew->most_ns).text);
		table_cell(table, format_duration(skew->median_ns).text);
		table_cell(table, skew->function);
	}
	text_heading(text, "imbalance by function",
	             "CPU time of who has most, and the others' median");
	return table_print(table, text->out, 2);
}

static int print_meetings(const struct text *text, const struct rank_rows *rows)
{
	cleanup(table) struct table *table =
		table_new(meeting_columns, sizeof(meeting_columns) / sizeof(meeting_columns[0]),
	                  &text->terminal);

	if (!table)
		return -1;
	for (size_t i = 0; i < rows->worst_count; i++) {
		const struct rank_meeting *meeting = &rows->worst[i];
		table_row(table, STYLE_PLAIN);
		table_cell(table, format_duration(meeting->end_ns).text);
		table_cell(table, format_duration(meeting->waited_ns).text);
		table_cell(table, format_count(rows->rows[meeting->rank].number).text);
		table_cell(table, meeting->step ? format_count(meeting->step).text : "-");
		table_cell(table, meeting->op);
	}
	text_heading(text, "imbalance by step",
	             "where the others waited longest, on average, for who came last");
	return table_print(table, text->out, 2);
}

// Which columns there are; how many.
static size_t choose_columns(struct column shown[COLUMNS], bool meets)
{
	size_t count = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (meets || i < LAST || i >= LAST + 2)
			shown[count++] = columns[i];
	return count;
}

int text_ranks(const struct text *text, struct error *err)
{
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(text->profile, err);
	char note[96];

	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	struct column shown[COLUMNS];
	size_t count = choose_columns(shown, rows->meetings != 0);
	cleanup(table) struct table *table = table_new(shown, count, &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	size_t left_out = add_rows(text, table, rows);
	snprintf(note, sizeof(note), "%zu on %zu host%s; all their threads, most busy first",
	         rows->count, rows->hosts, rows->hosts == 1 ? "" : "s");
	text_heading(text, "ranks", note);
	print_verdict(text, rows);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (left_out)
		fprintf(text->out, "  %zu between these are left out: -n %zu shows all\n", left_out,
		        rows->count);
	if (has_waited(rows) && print_meetings(text, rows) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (rows->skew_count && print_skews(text, rows) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
