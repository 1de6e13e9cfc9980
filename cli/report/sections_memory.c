// SPDX-License-Identifier: MIT
// What was allocated, where, and what of it was still there when there was most, and at the end.
#include "cli/report/sections.h"

#include "base/error.h"
#include "base/share.h"
#include "cli/report/graphs.h"
#include "cli/report/row_words.h"
#include "cli/report/source.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query_ops.h"

#include <stdlib.h>
#include <string.h>

#define WIDE            80
#define MANY_BYTES      (UINT64_C(256) << 20) /* allocated in all: below, allocating is no news */
#define MUCH_BYTES      (UINT64_C(32) << 20)  /* alive at once */
#define ROW_SAMPLES_MIN 3
#define SAMPLES_MIN     10 /* fewer rank nothing */
#define ALIVE_MAX       3  /* places of what was alive at the peak */
#define ALIVE_PART      20 /* each has at least such a part of it */

REPORT_KEEPS(memory_rows, struct memory_rows *);

struct memory {
	const struct profile *profile;
	const struct view *view;
	const struct memory_rows *rows;
	enum memory_by by;
	uint64_t samples;              // that a row has at least
	uint64_t allocated, peak, end; // sums of the rows: what their shares are of
};

// How many of the EXACT bytes are PART of all rows' SAMPLED ones: samples tell shares well, and
// sums but roughly.
static uint64_t estimate(uint64_t part, uint64_t sampled, uint64_t exact)
{
	return sampled ? (uint64_t)((double)part / (double)sampled * (double)exact) : 0;
}

struct estimates {
	uint64_t allocated, peak, end;
};

// What was there at some time has been allocated, whatever the samples of the rest say.
static struct estimates estimates_of(const struct memory *m, const struct memory_row *row)
{
	const struct memory_rows *rows = m->rows;
	struct estimates e = {
		.allocated = estimate(row->allocated_bytes, m->allocated, rows->allocated_bytes),
		.peak = estimate(row->live_at_peak_bytes, m->peak, rows->peak_bytes),
		.end = estimate(row->live_at_end_bytes, m->end, rows->end_bytes),
	};

	e.allocated = e.allocated > e.peak ? e.allocated : e.peak;
	e.allocated = e.allocated > e.end ? e.allocated : e.end;
	return e;
}

static enum tone heat(double part)
{
	return part >= 0.2 ? TONE_HOT : part >= 0.05 ? TONE_WARM : TONE_PLAIN;
}

static void make_allocated(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory *m = s->context;
	const struct memory_row *row = data;

	cell->count = estimates_of(m, row).allocated;
	cell->flags = CELL_SAMPLED;
	cell->tone = (uint8_t)heat(share_of(row->allocated_bytes, m->allocated));
}

static void make_peak(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory *m = s->context;
	const struct memory_row *row = data;

	cell->count = estimates_of(m, row).peak;
	cell->flags = CELL_SAMPLED;
	cell->tone = (uint8_t)heat(share_of(row->live_at_peak_bytes, m->peak));
}

static void make_end(const struct section *s, const void *row, struct section_cell *cell)
{
	cell->count = estimates_of(s->context, row).end;
	cell->flags = CELL_SAMPLED;
}

static void make_margin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory_row *row = data;

	(void)s;
	cell->number = row->margin;
	cell->flags = CELL_SAMPLED;
	cell->tone = TONE_DIM;
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory_row *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.line = row->line;
	cell->place.module = row->module;
}

static const char *say_place(const struct section *s, const struct memory_row *row)
{
	char place[512];

	place_words(row->file, row->line, row->module, place, sizeof(place));
	return report_say(s->report, "%s", place);
}

static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory *m = s->context;
	const struct memory_row *row = data;
	const char *place = m->by == MEMORY_BY_LINE ? say_place(s, row) : "";

	cell->text = *place ? place : row->name;
}

static void make_beside(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory *m = s->context;
	const struct memory_row *row = data;
	const struct source_scope scope = source_scope_of(m->profile, m->view);
	char line[512] = "";
	bool newer;

	if (m->by != MEMORY_BY_LINE) {
		cell->text = place_beside(row->name, say_place(s, row));
		return;
	}
	if (!row->file ||
	    !source_line(&scope, row->file, row->line, row->module, line, sizeof(line), &newer))
		line[0] = '\0';
	cell->text = report_say(s->report, "%s", line);
}

static const struct section_column memory_columns[] = {
	{ "name", .type = CELL_TEXT, .at = { 0, 0, 1 }, FIELD(struct memory_row, name) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct memory_row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 }, .make = make_line },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 4 }, FIELD(struct memory_row, module) },
	{ "estimate", .heading = "allocated", .type = CELL_BYTES, .at = { 1, 0, 0 },
	  .none = { 1, 0, 0 }, .make = make_allocated },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 0, 0 },
	  FIELD(struct memory_row, allocated_bytes) },
	{ "allocated_bytes", .page_id = "allocated", .heading = "allocated", .type = CELL_BYTES,
	  .at = { 0, 1, 5 }, FIELD(struct memory_row, allocated_bytes) },
	{ "total_allocated_bytes", .page_id = "total", .heading = "with callees",
	  .type = CELL_BYTES, .at = { 0, 2, 6 }, FIELD(struct memory_row, total_allocated_bytes) },
	{ "margin", .heading = "\u00b1", .type = CELL_MARGIN, .at = { 3, 0, 10 },
	  .none = { 1, 0, 0 }, .width_min = WIDE, .make = make_margin },
	{ "peak", .heading = "at peak", .type = CELL_BYTES, .at = { 4, 0, 0 }, .none = { 1, 0, 0 },
	  .make = make_peak },
	{ "live_at_peak_bytes", .page_id = "peak", .heading = "alive at the peak",
	  .type = CELL_BYTES, .at = { 0, 3, 7 }, FIELD(struct memory_row, live_at_peak_bytes) },
	{ "end", .heading = "at end", .type = CELL_BYTES, .at = { 5, 0, 0 }, .none = { 1, 0, 0 },
	  .make = make_end },
	{ "live_at_end_bytes", .page_id = "end", .heading = "alive at the end", .type = CELL_BYTES,
	  .at = { 0, 4, 8 }, FIELD(struct memory_row, live_at_end_bytes) },
	{ "samples", .heading = "samples", .type = CELL_COUNT, .at = { 0, 5, 9 },
	  FIELD(struct memory_row, samples) },
	{ "where", .heading = "where", .type = CELL_TEXT, .at = { 6, 0, 0 }, .clip = CLIP_SYMBOL,
	  .room = 3, .make = make_where },
	{ "beside", .heading = "", .type = CELL_TEXT, .at = { 7, 0, 0 }, .clip = CLIP_START,
	  .room = 2, .make = make_beside },
	{ "page_name", .page_id = "name", .heading = "function", .type = CELL_TEXT,
	  .at = { 0, 6, 0 }, FIELD(struct memory_row, name) },
	{ "place", .heading = "where", .type = CELL_PLACE, .at = { 0, 7, 0 }, .make = make_place },
};

static struct section *memory_sheet(struct report *r, const char *id, enum memory_by by,
                                    struct error *err)
{
	struct memory m = { .by = by };

	m.rows = keep_memory_rows(r, query_memory(r->profile, by, false, err), err);
	if (!m.rows)
		return NULL;
	struct section *s = section_new(r, id, NULL);
	s->context = &m;
	SECTION_COLUMNS(s, memory_columns);
	section_rows(s, m.rows->rows, m.rows->count, sizeof(*m.rows->rows));
	return section_end(s, err);
}

struct section *section_sheet_memory(struct report *r, struct error *err)
{
	return memory_sheet(r, "memory", MEMORY_BY_FUNCTION, err);
}

struct section *section_sheet_memory_lines(struct report *r, struct error *err)
{
	return memory_sheet(r, "memory_lines", MEMORY_BY_LINE, err);
}

struct section *section_sheet_memory_totals(struct report *r, struct error *err)
{
	static const struct section_column columns[] = {
		{ "allocations", .type = CELL_COUNT, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, allocations) },
		{ "frees", .type = CELL_COUNT, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, frees) },
		{ "allocated_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, allocated_bytes) },
		{ "freed_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, freed_bytes) },
		{ "allocations_margin", .type = CELL_COUNT, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, allocations_margin) },
		{ "allocated_margin_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, allocated_margin_bytes) },
		{ "peak_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, peak_bytes) },
		{ "peak_at_ns", .type = CELL_NS, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, peak_ns) },
		{ "end_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, end_bytes) },
		{ "samples", .type = CELL_COUNT, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, samples) },
		{ "untracked_bytes", .type = CELL_BYTES, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, untracked_bytes) },
		{ "lost_samples", .type = CELL_COUNT, .at = { 0, 0, 1 },
		  FIELD(struct memory_rows, lost) },
	};
	const struct memory_rows *rows =
		keep_memory_rows(r, query_memory(r->profile, MEMORY_BY_FUNCTION, false, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "memory_totals", NULL);
	SECTION_COLUMNS(s, columns);
	section_rows(s, rows, rows->allocations || rows->samples, sizeof(*rows));
	return section_end(s, err);
}

struct section *section_page_memory(struct report *r, struct error *err)
{
	const struct memory_rows *rows =
		keep_memory_rows(r, query_memory(r->profile, MEMORY_BY_FUNCTION, false, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "memory", "Memory");
	s->subtitle = "by sampled allocations of the whole run";
	SECTION_COLUMNS(s, memory_columns);
	section_page_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

// A row matters by the larger of its shares: of all bytes, and of those that were alive at once.
struct ranked {
	const struct memory_row *row;
	double share;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	return left->share < right->share ? 1 : left->share > right->share ? -1 : 0;
}

static int compare_bytes(const void *a, const void *b)
{
	uint64_t left = ((const struct ranked *)a)->row->allocated_bytes;
	uint64_t right = ((const struct ranked *)b)->row->allocated_bytes;

	return left < right ? 1 : left > right ? -1 : 0;
}

static struct ranked *rank(const struct memory *m)
{
	const struct memory_rows *rows = m->rows;
	struct ranked *ranked = calloc(rows->count + 1, sizeof(*ranked));

	for (size_t i = 0; ranked && i < rows->count; i++) {
		const struct memory_row *row = &rows->rows[i];
		double churn = share_of(row->allocated_bytes, m->allocated);
		double peak = share_of(row->live_at_peak_bytes, m->peak);
		ranked[i] = (struct ranked){ row, churn > peak ? churn : peak };
	}
	if (ranked)
		qsort(ranked, rows->count, sizeof(*ranked), compare);
	return ranked;
}

static bool is_worth_it(const struct memory_rows *rows)
{
	return rows->samples >= SAMPLES_MIN &&
	       (rows->allocated_bytes >= MANY_BYTES || rows->peak_bytes >= MUCH_BYTES);
}

static void add_rows(struct section *s, const struct memory *m, struct ranked *ranked)
{
	double least = view_min_share(m->view, false);
	size_t count = 0;

	while (count < m->rows->count && count < m->view->top && ranked[count].share > 0 &&
	       ranked[count].share >= least && ranked[count].row->samples >= m->samples)
		count++;
	// They are chosen by what matters, and stand in the order of their first column.
	qsort(ranked, count, sizeof(*ranked), compare_bytes);
	for (size_t i = 0; i < count; i++)
		section_row(s, ranked[i].row);
}

static void choose_columns(struct section *s, const struct memory *m)
{
	struct section_column *where = section_column(s, "where");
	struct section_column *beside = section_column(s, "beside");

	if (m->by == MEMORY_BY_LINE) {
		where->clip = CLIP_START;
		where->room = 1;
		beside->heading = "source";
		beside->clip = CLIP_END;
	}
	if (m->by == MEMORY_BY_MODULE) {
		where->clip = CLIP_START;
		section_without(s, "beside");
	}
}

// VALUE, a sum, with its margin, if it is an estimate.
static const char *with_margin(struct report *r, const char *value, uint64_t margin, uint64_t sum)
{
	if (!margin || !sum)
		return report_say(r, "%s", value);
	return report_say(r, "about %s (\u00b1 %s %%)", value, format_percent(margin, sum).text);
}

static const char *allocated_words(struct report *r, const struct memory_rows *rows)
{
	return report_say(r, "%s in %s allocations",
	                  with_margin(r, format_bytes(rows->allocated_bytes).text,
	                              rows->allocated_margin_bytes, rows->allocated_bytes),
	                  with_margin(r, format_count(rows->allocations).text,
	                              rows->allocations_margin, rows->allocations));
}

static const char *about(const struct memory_rows *rows)
{
	return rows->allocations_margin ? "about " : "";
}

// Sums stand in words; the rows are estimates.
static void note_sums(struct section *s, const struct memory *m)
{
	const struct memory_rows *rows = m->rows;
	uint64_t peak = profile_run(m->profile)->peak_rss_bytes;
	bool several = curves_processes(s->report) > 1;
	const char *rss =
		peak ? report_say(s->report, "peak RSS %s%s; ",
	                          several ? "of the largest process " : "", format_bytes(peak).text)
		     : "";

	section_note(s, NOTE_SAY, true, "%s%s%s; live at most %s%s, after %s; %s%s never freed",
	             rss, several ? "all processes: " : "", allocated_words(s->report, rows),
	             about(rows), format_bytes(rows->peak_bytes).text,
	             format_duration(rows->peak_ns).text, about(rows),
	             format_bytes(rows->end_bytes).text);
}

// The same in one line, for a report of one screen.
static void note_brief(struct section *s, const struct memory_rows *rows)
{
	uint64_t peak = profile_run(s->report->profile)->peak_rss_bytes;
	bool several = curves_processes(s->report) > 1;
	const char *rss =
		peak ? report_say(s->report, "peak RSS %s%s; ",
	                          several ? "of the largest process " : "", format_bytes(peak).text)
		     : "";

	// What is reserved takes memory only where it is written to.
	bool reserved = peak && !several && rows->peak_bytes > peak;
	section_note(s, NOTE_SAY, true, "%slive at most %s%s%s, after %s; %s", rss, about(rows),
	             format_bytes(rows->peak_bytes).text,
	             reserved ? " (with what was reserved and not used)" : "",
	             format_duration(rows->peak_ns).text, allocated_words(s->report, rows));
}

// NULL on error.
static const char *alive_by(struct report *r, enum memory_by by, struct error *err)
{
	const struct memory_rows *rows =
		keep_memory_rows(r, query_memory(r->profile, by, true, err), err);
	uint64_t all = 0;
	const char *words = "";
	size_t told = 0;

	if (!rows)
		return NULL;
	for (size_t i = 0; i < rows->count; i++)
		all += rows->rows[i].live_at_peak_bytes;
	for (size_t i = 0; i < rows->count && told < ALIVE_MAX; i++) {
		const struct memory_row *row = &rows->rows[i];
		uint64_t bytes = estimate(row->live_at_peak_bytes, all, rows->peak_bytes);
		char place[512] = "";
		if (by == MEMORY_BY_LINE)
			place_words(row->file, row->line, row->module, place, sizeof(place));
		const char *name = by == MEMORY_BY_LINE ? place : row->name;
		if (!row->live_at_peak_bytes || row->live_at_peak_bytes * ALIVE_PART < all ||
		    !*name)
			continue;
		words = report_say(r, "%s%s%s %s", words, told++ ? ", " : "", name,
		                   format_bytes(bytes).text);
	}
	return words;
}

int section_memory_alive(struct report *r, const char **lines, const char **ops, struct error *err)
{
	*lines = alive_by(r, MEMORY_BY_LINE, err);
	*ops = *lines ? alive_by(r, MEMORY_BY_OP, err) : NULL;
	return *ops ? 0 : -1;
}

// By lines, and by ops where there are some.
static int note_alive(struct section *s, struct error *err)
{
	const char *lines, *ops;

	if (section_memory_alive(s->report, &lines, &ops, err) < 0)
		return -1;
	if (*lines)
		section_note(s, NOTE_SAY, true,
		             "alive at the peak of what was allocated, about: %s", lines);
	if (strchr(ops, ',') || (*ops && *ops != '['))
		section_note(s, NOTE_SAY, true, "by op: %s", ops);
	return 0;
}

static void add_table(struct section *s, struct memory *m)
{
	const struct memory_rows *rows = m->rows;

	for (size_t i = 0; i < rows->count; i++) {
		m->allocated += rows->rows[i].allocated_bytes;
		m->peak += rows->rows[i].live_at_peak_bytes;
		m->end += rows->rows[i].live_at_end_bytes;
	}
	s->all = m->allocated;
	cleanup_free struct ranked *ranked = rank(m);
	if (!ranked)
		s->report->failed = true;
	if (s->report->failed)
		return;
	s->subtitle = view_is_window(m->view) ? "of the whole run: allocations are not kept by time"
	                                      : "by malloc and the like; rows are sampled";
	choose_columns(s, m);
	note_sums(s, m);
	add_rows(s, m, ranked);
}

struct section *section_memory(struct report *r, struct error *err)
{
	struct memory m = { .profile = r->profile, .view = r->view, .by = view_memory_by(r->view) };
	bool asked = view_table(r->view) == VIEW_TABLE_MEMORY;
	struct section *s = section_new(r, "memory", "memory");

	if (!asked && view_is_filtered(r->view) && !view_is_window(r->view))
		return section_end(s, err); // the question knows neither threads nor metrics
	m.rows = keep_memory_rows(r, query_memory(r->profile, m.by, false, err), err);
	if (!m.rows)
		return NULL;
	s->shown = asked || is_worth_it(m.rows);
	if (!s->shown)
		return section_end(s, err);
	if (r->view->brief && m.rows->allocations) {
		note_brief(s, m.rows);
		return section_end(s, err);
	}
	s->context = &m;
	m.samples = asked ? 1 : ROW_SAMPLES_MIN;
	SECTION_COLUMNS(s, memory_columns);
	if (m.rows->allocations) {
		add_table(s, &m);
		if (curves_say(s, err) < 0 || note_alive(s, err) < 0)
			return NULL;
	} else
		section_note(s, NOTE_SAY, false,
		             "No allocations were recorded: see MEMORY in bottleneck-ops(7).");
	return section_end(s, err);
}
