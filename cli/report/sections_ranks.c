// SPDX-License-Identifier: MIT
// The ranks of a merged profile: who works, who waits, and where they differ.
#include "cli/report/sections.h"

#include "base/format.h"
#include "cli/report/view.h"
#include "merge/query/query_ranks.h"

#define LAST_ROWS 3 // of those that work least, where not all are shown
#define SKEWS_MAX 5
#define HELD      0.01 // of the longest run, that others waited: less is not worth a table

REPORT_KEEPS(rank_rows, struct rank_rows *);

static bool have_met(const struct section *s)
{
	const struct rank_rows *rows = s->context;

	return rows->meetings != 0;
}

// Steps without a median tell people nothing.
static uint8_t step_flags(const struct rank_row *row)
{
	return row->steps && row->step_median_ns ? 0 : CELL_IDLE;
}

static void make_steps(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	(void)s;
	cell->count = row->steps;
	cell->flags = step_flags(row);
}

static void make_step_median(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	(void)s;
	cell->count = row->step_median_ns;
	cell->flags = step_flags(row);
}

static void make_last(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	cell->count = row->last;
	cell->flags = have_met(s) ? 0 : CELL_UNKNOWN;
}

static void make_held(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	cell->count = row->held_ns;
	cell->flags = have_met(s) ? 0 : CELL_UNKNOWN;
}

static void make_ahead(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	(void)s;
	cell->integer = row->ahead_ns;
	cell->flags = row->meetings >= MEETINGS_LEAST ? 0 : CELL_UNKNOWN;
}

static void make_residual(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_row *row = data;

	(void)s;
	cell->count = row->residual_ns;
	cell->flags = row->meetings >= MEETINGS_LEAST ? 0 : CELL_UNKNOWN;
}

#define AT(text, json) .at = { [READER_TEXT] = (text), [READER_JSON] = (json) }
#define KNOWN          .none = { [READER_TEXT] = true }

static const struct section_column columns[] = {
	{ "rank", .heading = "rank", .type = CELL_COUNT, AT(1, 1), FIELD(struct rank_row, number) },
	{ "host", .heading = "host", .type = CELL_TEXT, AT(2, 2), .nothing = "?",
	  FIELD(struct rank_row, host) },
	{ "command", .type = CELL_TEXT, AT(0, 3), FIELD(struct rank_row, command) },
	{ "start_ns", .type = CELL_NS, AT(0, 4), FIELD(struct rank_row, start_ns) },
	{ "wall_ns", .heading = "wall", .type = CELL_NS, AT(3, 5),
	  FIELD(struct rank_row, wall_ns) },
	{ "busy_ns", .heading = "busy", .type = CELL_NS, AT(4, 6),
	  FIELD(struct rank_row, busy_ns) },
	{ "mpi_ns", .heading = "in MPI", .type = CELL_NS, AT(5, 7), KNOWN, .nothing = "-",
	  FIELD(struct rank_row, mpi_ns) },
	{ "wait_ns", .heading = "waiting", .type = CELL_NS, AT(6, 8),
	  FIELD(struct rank_row, wait_ns) },
	{ "steps", .heading = "steps", .type = CELL_COUNT, AT(7, 9), .nothing = "-",
	  .make = make_steps },
	{ "step_median_ns", .heading = "median step", .type = CELL_NS, .form = FORM_DURATION,
	  AT(8, 10), .nothing = "-", .make = make_step_median },
	{ "function", .heading = "mostly in", .type = CELL_TEXT, AT(11, 11), .clip = CLIP_SYMBOL,
	  .room = 1, FIELD(struct rank_row, function) },
	{ "last", .heading = "last", .type = CELL_COUNT, AT(9, 12), .make = make_last },
	{ "held_ns", .heading = "waited for", .type = CELL_NS, AT(10, 13), .make = make_held },
	{ "ahead_ns", .type = CELL_INTEGER, AT(0, 14), .make = make_ahead },
	{ "residual_ns", .type = CELL_NS, AT(0, 15), .make = make_residual },
};

// Of many, people are shown those that work most and those that work least.
static void add_rows(struct section *s, const struct rank_rows *rows)
{
	size_t top = s->report->view->top, most = top > LAST_ROWS ? top - LAST_ROWS : 1;
	bool all = s->report->reader != READER_TEXT || rows->count <= most + LAST_ROWS;

	s->left_out = all ? 0 : rows->count - most - LAST_ROWS;
	s->unit_ns = rows->rows[0].wall_ns;
	for (size_t i = 0; i < rows->count; i++) {
		if (!all && i >= most && i < most + s->left_out)
			continue;
		struct section_row *row = section_row(s, &rows->rows[i]);
		if (row && i == 0 && rows->straggles)
			row->tone = TONE_HOT;
	}
}

static struct section *make_ranks(struct report *r, struct rank_rows *rows, const char *id)
{
	struct section *s = section_new(r, id, "ranks");

	s->context = rows;
	SECTION_COLUMNS(s, columns);
	if (r->reader == READER_TEXT && !rows->meetings) {
		section_without(s, "last");
		section_without(s, "held_ns");
	}
	add_rows(s, rows);
	return s;
}

static const char *kind_of(const struct rank_row *row)
{
	return row->numbered ? "rank" : "profile";
}

static void say_straggler(struct section *s, const struct rank_rows *rows)
{
	const struct rank_row *first = &rows->rows[0];
	const char *where = "";

	if (rows->because)
		where = report_say(
			s->report, ", %s of that in %.200s",
			format_duration(rows->because->most_ns - rows->because->median_ns).text,
			rows->because->function);
	section_note(s, NOTE_BLOCK, true,
	             "%s %u on %s holds the others up: it works %s longer than the others (median "
	             "%s)%s; the others wait %s longer than it does.",
	             kind_of(first), first->number, first->host ? first->host : "?",
	             format_duration(rows->excess_ns).text,
	             format_duration(rows->median_busy_ns).text, where,
	             format_duration(rows->waited_ns).text);
}

// Not of runs that have lost next to nothing.
static bool has_waited(const struct rank_rows *rows)
{
	uint64_t wall_ns = 0;

	for (size_t i = 0; i < rows->count; i++)
		wall_ns = rows->rows[i].wall_ns > wall_ns ? rows->rows[i].wall_ns : wall_ns;
	return (double)rows->held_ns > HELD * (double)wall_ns;
}

static void say_latest(struct section *s, const struct rank_rows *rows)
{
	const struct rank_row *latest = &rows->rows[rows->latest];

	section_note(s, NOTE_BLOCK, true,
	             "at %s collective operations, the others waited %s for the last to arrive; "
	             "%s %u was last at %s (%s)",
	             format_count(rows->meetings).text, format_duration(rows->held_ns).text,
	             kind_of(latest), latest->number, format_count(latest->last).text,
	             format_duration(latest->held_ns).text);
}

static void say_verdict(struct section *s, const struct rank_rows *rows)
{
	const struct rank_row *slowest = &rows->rows[rows->slowest];

	if (rows->count < 2)
		return;
	if (rows->straggles)
		say_straggler(s, rows);
	else
		section_note(s, NOTE_LINE, true, "none of them holds the others up");
	if (has_waited(rows))
		say_latest(s, rows);
	if (rows->step_ratio > 1 + RANKS_SKEW)
		section_note(s, NOTE_LINE, true,
		             "steps: %s %u takes %.2f times as long as the others (median)",
		             kind_of(slowest), slowest->number, rows->step_ratio);
}

// The rank of a meeting, or of a skew: index INDEX of the rows.
static uint64_t number_at(const struct section *s, uint32_t index)
{
	const struct rank_rows *rows = s->context;

	return rows->rows[index].number;
}

static void make_meeting_rank(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_meeting *meeting = data;

	cell->count = number_at(s, meeting->rank);
}

static void make_skew_rank(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct rank_skew *skew = data;

	cell->count = number_at(s, skew->rank);
}

static const struct section_column meeting_columns[] = {
	{ "op", .heading = "in", .type = CELL_TEXT, AT(5, 1), .clip = CLIP_SYMBOL, .room = 1,
	  FIELD(struct rank_meeting, op) },
	{ "end_ns", .heading = "at", .type = CELL_NS, .form = FORM_DURATION, AT(1, 2),
	  FIELD(struct rank_meeting, end_ns) },
	{ "waited_ns", .heading = "others waited", .type = CELL_NS, .form = FORM_DURATION, AT(2, 3),
	  FIELD(struct rank_meeting, waited_ns) },
	{ "rank", .heading = "for rank", .type = CELL_COUNT, AT(3, 4), .make = make_meeting_rank },
	{ "step", .heading = "after its step", .type = CELL_COUNT, AT(4, 5),
	  .none = { [READER_TEXT] = true, [READER_JSON] = true }, .nothing = "-",
	  FIELD(struct rank_meeting, step) },
};

static struct section *make_meetings(struct report *r, struct rank_rows *rows)
{
	struct section *s = section_new(r, "worst", "imbalance by step");

	s->subtitle = "the longest average waits for the last to arrive";
	s->shown = has_waited(rows);
	s->context = rows;
	SECTION_COLUMNS(s, meeting_columns);
	section_rows(s, rows->worst, rows->worst_count, sizeof(*rows->worst));
	return s;
}

static const struct section_column skew_columns[] = {
	{ "function", .heading = "function", .type = CELL_TEXT, AT(4, 1), .clip = CLIP_SYMBOL,
	  .room = 1, FIELD(struct rank_skew, function) },
	{ "module", .type = CELL_TEXT, AT(0, 2), FIELD(struct rank_skew, module) },
	{ "rank", .heading = "rank", .type = CELL_COUNT, AT(1, 3), .make = make_skew_rank },
	{ "most_ns", .heading = "its time", .type = CELL_NS, .form = FORM_DURATION, AT(2, 4),
	  FIELD(struct rank_skew, most_ns) },
	{ "median_ns", .heading = "others'", .type = CELL_NS, .form = FORM_DURATION, AT(3, 5),
	  FIELD(struct rank_skew, median_ns) },
};

static struct section *make_skews(struct report *r, struct rank_rows *rows)
{
	struct section *s = section_new(r, "skews", "imbalance by function");
	bool few = r->reader == READER_TEXT && rows->skew_count > SKEWS_MAX;

	s->subtitle = "CPU time, largest and median of the others";
	s->shown = rows->skew_count != 0;
	s->context = rows;
	SECTION_COLUMNS(s, skew_columns);
	section_rows(s, rows->skews, few ? SKEWS_MAX : rows->skew_count, sizeof(*rows->skews));
	return s;
}

struct section *section_ranks(struct report *r, struct error *err)
{
	struct rank_rows *rows = keep_rank_rows(r, query_ranks(r->profile, err), err);

	if (!rows)
		return NULL;
	if (!rows->count)
		return section_end(section_new(r, "ranks", "ranks"), err);
	struct section *s = make_ranks(r, rows, "ranks");
	s->shown = true;
	s->subtitle = report_say(r, "%zu on %zu host%s; all their threads, most busy first",
	                         rows->count, rows->hosts, rows->hosts == 1 ? "" : "s");
	say_verdict(s, rows);
	if (s->left_out)
		section_note(s, NOTE_LINE, false,
		             "%zu between these are left out: -n %zu shows all", s->left_out,
		             rows->count);
	s->next = make_meetings(r, rows);
	s->next->next = make_skews(r, rows);
	return section_end(s, err);
}

static void make_straggling_function(const struct section *s, const void *row,
                                     struct section_cell *cell)
{
	const struct rank_rows *rows = s->context;

	(void)row;
	cell->text = rows->because ? rows->because->function : NULL;
}

static void make_excess(const struct section *s, const void *row, struct section_cell *cell)
{
	const struct rank_rows *rows = s->context;

	(void)row;
	cell->count = rows->excess_ns;
}

static void make_waited(const struct section *s, const void *row, struct section_cell *cell)
{
	const struct rank_rows *rows = s->context;

	(void)row;
	cell->count = rows->waited_ns;
}

static const struct section_column straggler_columns[] = {
	{ "rank", .type = CELL_COUNT, AT(0, 1), FIELD(struct rank_row, number) },
	{ "host", .type = CELL_TEXT, AT(0, 2), FIELD(struct rank_row, host) },
	{ "excess_ns", .type = CELL_NS, AT(0, 3), .make = make_excess },
	{ "waited_ns", .type = CELL_NS, AT(0, 4), .make = make_waited },
	{ "function", .type = CELL_TEXT, AT(0, 5), .make = make_straggling_function },
};

static void put_straggler(const struct section *s, const void *data, struct section_cell *cell)
{
	struct section *straggler = section_new(s->report, "straggler", NULL);
	const struct rank_rows *rows = data;

	straggler->context = s->context;
	SECTION_COLUMNS(straggler, straggler_columns);
	section_rows(straggler, rows->rows, rows->straggles, sizeof(*rows->rows));
	cell->section = straggler;
}

static void put_meetings(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->section = make_meetings(s->report, s->context);
}

static void put_skews(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->section = make_skews(s->report, s->context);
}

static void put_ranks(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->section = make_ranks(s->report, s->context, "rows");
}

static const struct section_column summary_columns[] = {
	{ "hosts", .type = CELL_COUNT, AT(0, 1), FIELD(struct rank_rows, hosts) },
	{ "straggler", .type = CELL_ROW, AT(0, 2), .make = put_straggler },
	{ "meetings", .type = CELL_COUNT, AT(0, 3), FIELD(struct rank_rows, meetings) },
	{ "held_ns", .type = CELL_NS, AT(0, 4), FIELD(struct rank_rows, held_ns) },
	{ "worst", .type = CELL_ROWS, AT(0, 5), .make = put_meetings },
	{ "skews", .type = CELL_ROWS, AT(0, 6), .make = put_skews },
	{ "rows", .type = CELL_ROWS, AT(0, 7), .make = put_ranks },
};

struct section *section_ranks_summary(struct report *r, struct error *err)
{
	struct rank_rows *rows = keep_rank_rows(r, query_ranks(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "ranks", NULL);
	s->context = rows;
	SECTION_COLUMNS(s, summary_columns);
	section_rows(s, rows, rows->count != 0, sizeof(*rows));
	return section_end(s, err);
}
