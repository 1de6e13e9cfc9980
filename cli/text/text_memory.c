// SPDX-License-Identifier: MIT
// What was allocated, where, and what of it was still there when there was most, and at the end.
#include "cli/text/text.h"

#include "base/error.h"
#include "base/share.h"
#include "cli/format.h"
#include "cli/report/source.h"
#include "cli/table.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDE            80
#define MANY_BYTES      (UINT64_C(256) << 20) /* allocated in all: below, allocating is no news */
#define MUCH_BYTES      (UINT64_C(32) << 20)  /* alive at once */
#define ROW_SAMPLES_MIN 3
#define SAMPLES_MIN     10 /* fewer rank nothing */

struct layout {
	const struct text *text;
	const struct memory_rows *rows;
	enum memory_by by;
	bool wide;
	uint64_t samples;              /* that a row has at least */
	uint64_t allocated, peak, end; /* sums of the rows: what their shares are of */
};

// How many of the EXACT bytes are PART of all rows' SAMPLED ones: samples tell shares well, and
// sums but roughly.
static uint64_t estimate(uint64_t part, uint64_t sampled, uint64_t exact)
{
	return sampled ? (uint64_t)((double)part / (double)sampled * (double)exact) : 0;
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

static struct ranked *rank(const struct layout *layout)
{
	const struct memory_rows *rows = layout->rows;
	struct ranked *ranked = calloc(rows->count + 1, sizeof(*ranked));

	for (size_t i = 0; ranked && i < rows->count; i++) {
		const struct memory_row *row = &rows->rows[i];
		double churn = share_of(row->allocated_bytes, layout->allocated);
		double peak = share_of(row->live_at_peak_bytes, layout->peak);
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

static enum style heat(double part)
{
	return part >= 0.2 ? STYLE_HOT : part >= 0.05 ? STYLE_WARM : STYLE_PLAIN;
}

static struct short_text margin(const struct layout *layout, const struct memory_row *row)
{
	struct short_text out = { "" };

	if (row->margin > 0)
		snprintf(out.text, sizeof(out.text), "%s%.1f", layout->text->terminal.plus_minus,
		         100 * row->margin);
	return out;
}

static struct short_text bytes(uint64_t count)
{
	return count ? format_bytes(count) : (struct short_text){ "" };
}

static size_t make_columns(const struct layout *layout, struct column *columns)
{
	size_t count = 0;

	columns[count++] = (struct column){ "allocated", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "%", COLUMN_NUMBER, 0, 0 };
	if (layout->wide)
		columns[count++] =
			(struct column){ layout->text->terminal.plus_minus, COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "at peak", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "at end", COLUMN_NUMBER, 0, 0 };
	bool lines = layout->by == MEMORY_BY_LINE, modules = layout->by == MEMORY_BY_MODULE;
	columns[count++] =
		(struct column){ "where", COLUMN_TEXT, lines || modules ? CLIP_START : CLIP_SYMBOL,
		                 lines ? 1 : 3 };
	if (!modules)
		columns[count++] = (struct column){ lines ? "source" : "", COLUMN_TEXT,
			                            lines ? CLIP_END : CLIP_START, 2 };
	return count;
}

static void add_names(struct table *table, const struct layout *layout,
                      const struct memory_row *row)
{
	char place[512], line[512] = "";
	bool newer;

	place_words(row->file, row->line, row->module, place, sizeof(place));
	if (layout->by != MEMORY_BY_LINE) {
		table_cell(table, row->name);
		table_cell(table, place_beside(row->name, place));
		return;
	}
	const struct source_scope scope =
		source_scope_of(layout->text->profile, layout->text->view);
	if (!row->file ||
	    !source_line(&scope, row->file, row->line, row->module, line, sizeof(line), &newer))
		line[0] = '\0';
	table_cell(table, *place ? place : row->name);
	table_cell(table, line);
}

struct estimates {
	uint64_t allocated, peak, end;
};

// What was there at some time has been allocated, whatever the samples of the rest say.
static struct estimates estimates_of(const struct layout *layout, const struct memory_row *row)
{
	const struct memory_rows *rows = layout->rows;
	struct estimates e = {
		.allocated =
			estimate(row->allocated_bytes, layout->allocated, rows->allocated_bytes),
		.peak = estimate(row->live_at_peak_bytes, layout->peak, rows->peak_bytes),
		.end = estimate(row->live_at_end_bytes, layout->end, rows->end_bytes),
	};

	e.allocated = e.allocated > e.peak ? e.allocated : e.peak;
	e.allocated = e.allocated > e.end ? e.allocated : e.end;
	return e;
}

static void add_row(struct table *table, const struct layout *layout, const struct memory_row *row)
{
	struct estimates e = estimates_of(layout, row);

	table_row(table, STYLE_PLAIN);
	table_styled(table, bytes(e.allocated).text,
	             heat(share_of(row->allocated_bytes, layout->allocated)));
	table_cell(table, format_percent(row->allocated_bytes, layout->allocated).text);
	if (layout->wide)
		table_styled(table, margin(layout, row).text, STYLE_DIM);
	table_styled(table, bytes(e.peak).text,
	             heat(share_of(row->live_at_peak_bytes, layout->peak)));
	table_cell(table, bytes(e.end).text);
	add_names(table, layout, row);
}

static size_t add_rows(struct table *table, const struct layout *layout, struct ranked *ranked)
{
	double least = view_min_share(layout->text->view, false);
	size_t count = 0;

	while (count < layout->rows->count && count < layout->text->view->top &&
	       ranked[count].share > 0 && ranked[count].share >= least &&
	       ranked[count].row->samples >= layout->samples)
		count++;
	// They are chosen by what matters, and stand in the order of their first column.
	qsort(ranked, count, sizeof(*ranked), compare_bytes);
	for (size_t i = 0; i < count; i++)
		add_row(table, layout, ranked[i].row);
	return count;
}

// What is exact stands in words; the rows are estimates.
static void print_sums(const struct layout *layout)
{
	const struct memory_rows *rows = layout->rows;
	const struct run *run = profile_run(layout->text->profile);
	char rss[64] = "";

	if (run->peak_rss_bytes)
		snprintf(rss, sizeof(rss), "peak RSS %s; ", format_bytes(run->peak_rss_bytes).text);
	text_say(layout->text, "%s%s in %s allocations; live at most %s, after %s; %s never freed",
	         rss, format_bytes(rows->allocated_bytes).text,
	         format_count(rows->allocations).text, format_bytes(rows->peak_bytes).text,
	         format_duration(rows->peak_ns).text, format_bytes(rows->end_bytes).text);
}

static int print_table(const struct layout *layout, struct error *err)
{
	struct column columns[8];
	size_t count = make_columns(layout, columns);
	cleanup(table) struct table *table = table_new(columns, count, &layout->text->terminal);
	cleanup_free struct ranked *ranked = rank(layout);

	if (!table || !ranked)
		return error_set(err, ENOMEM, "could not print the report");
	text_heading(layout->text, "memory",
	             view_is_window(layout->text->view)
	                     ? "of the whole run: allocations are not kept by time"
	                     : "by malloc and the like; rows are sampled");
	print_sums(layout);
	if (add_rows(table, layout, ranked) && table_print(table, layout->text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}

static void say_none(const struct text *text)
{
	text_heading(text, "memory", "");
	text_say(text, "No allocation was seen: see MEMORY in bottleneck-ops(7).");
}

int text_memory(const struct text *text, struct error *err)
{
	struct layout layout = { .text = text, .by = view_memory_by(text->view) };
	bool asked = view_table(text->view) == VIEW_TABLE_MEMORY;

	if (!asked && view_is_filtered(text->view) && !view_is_window(text->view))
		return 0; // the question below knows neither threads nor metrics
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(text->profile, layout.by, false, err);
	if (!rows)
		return -1;
	if (!asked && !is_worth_it(rows))
		return 0;
	layout.rows = rows;
	layout.samples = asked ? 1 : ROW_SAMPLES_MIN;
	layout.wide = text->terminal.width >= WIDE;
	for (size_t i = 0; i < rows->count; i++) {
		layout.allocated += rows->rows[i].allocated_bytes;
		layout.peak += rows->rows[i].live_at_peak_bytes;
		layout.end += rows->rows[i].live_at_end_bytes;
	}
	if (rows->allocations)
		return print_table(&layout, err);
	say_none(text);
	return 0;
}
