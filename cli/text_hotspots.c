// SPDX-License-Identifier: MIT
// Ranked tables by function, module, file, thread or process.
#include "cli/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "merge/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const titles[] = {
	[BY_FUNCTION] = "hotspots", [BY_LINE] = "hot lines", [BY_MODULE] = "modules",
	[BY_FILE] = "files",        [BY_THREAD] = "threads", [BY_PROCESS] = "processes",
};

// What every program has above its own code: true, and no news.
static bool is_startup(const struct row *row)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_main_alias_2",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"clone3",
		"__clone3",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(row->name, names[i]) == 0)
			return true;
	return false;
}

static enum style heat(double share)
{
	return share >= 0.2 ? STYLE_HOT : share >= 0.05 ? STYLE_WARM : STYLE_PLAIN;
}

#define WIDE 80 /* terminals below this get fewer columns */

struct layout {
	const struct text *text;
	const struct rows *rows;
	struct time_unit unit;
	enum query_by by;
	enum query_sort sort;
	bool wide;
};

// It is the margin of the self time, and where the rows are ranked by it it says what the rank is
// worth.
static bool shows_margin(const struct layout *layout)
{
	return layout->wide && layout->sort == SORT_SELF;
}

// "±0.6", "~" in front where the row cannot be told from the next one.
static struct short_text margin(const struct layout *layout, const struct row *row)
{
	struct short_text out = { "" };

	if (row->self && row->self_margin > 0)
		snprintf(out.text, sizeof(out.text), "%s%s%.1f", row->tied ? "~" : "",
		         layout->text->terminal.plus_minus, 100 * row->self_margin);
	return out;
}

static void add_place(struct table *table, const struct layout *layout, const struct row *row)
{
	char place[512];

	if (layout->by == BY_THREAD || layout->by == BY_PROCESS) {
		snprintf(place, sizeof(place), "%u", row->id);
		table_cell(table, place);
	} else if (layout->by == BY_FUNCTION) {
		text_place(row->file, row->line, row->module, place, sizeof(place));
		// Code without a name is called after its module already.
		table_cell(table, strcmp(place, row->name) == 0 ? "" : place);
	}
}

static void add_row(struct table *table, const struct layout *layout, const struct row *row)
{
	uint64_t all = layout->rows->all;
	uint64_t ranked = layout->sort == SORT_SELF ? row->self : row->total;
	enum style style = heat(all ? (double)ranked / (double)all : 0);
	bool by_self = layout->sort == SORT_SELF;

	table_row(table, STYLE_PLAIN);
	table_styled(table, format_time(row->self, layout->unit).text, by_self ? style : 0);
	table_styled(table, format_percent(row->self, all).text, by_self ? style : 0);
	if (shows_margin(layout))
		table_styled(table, margin(layout, row).text, STYLE_DIM);
	table_styled(table, format_time(row->total, layout->unit).text, by_self ? 0 : style);
	table_styled(table, format_percent(row->total, all).text, by_self ? 0 : style);
	if (layout->by == BY_FUNCTION && layout->wide) {
		const char *kind = text_row_kind(row);
		table_styled(table, kind, strstr(kind, "wait") ? STYLE_WAIT : STYLE_PLAIN);
	}
	table_cell(table, row->name);
	add_place(table, layout, row);
}

static enum clip name_clip(enum query_by by)
{
	return by == BY_FUNCTION                  ? CLIP_SYMBOL
	       : by == BY_FILE || by == BY_MODULE ? CLIP_START
	                                          : CLIP_MIDDLE;
}

// Fills COLUMNS for LAYOUT; returns how many there are.
static size_t make_columns(const struct layout *layout, struct column *columns)
{
	size_t count = 0;

	columns[count++] = (struct column){ "self", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "%", COLUMN_NUMBER, 0, 0 };
	if (shows_margin(layout))
		columns[count++] =
			(struct column){ layout->text->terminal.plus_minus, COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "total", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "%", COLUMN_NUMBER, 0, 0 };
	if (layout->by == BY_FUNCTION && layout->wide)
		columns[count++] = (struct column){ "kind", COLUMN_WORD, 0, 0 };
	columns[count++] = (struct column){
		layout->by == BY_THREAD || layout->by == BY_PROCESS ? "name" : "where",
		COLUMN_TEXT,
		name_clip(layout->by),
		1,
	};
	if (layout->by == BY_FUNCTION)
		columns[count++] = (struct column){ "", COLUMN_TEXT, CLIP_START, 1 };
	else if (layout->by == BY_THREAD || layout->by == BY_PROCESS)
		columns[count++] = (struct column){ "id", COLUMN_NUMBER, 0, 0 };
	return count;
}

// The rows that are worth their line. Those of equal rank keep the query's order.
static size_t add_rows(struct table *table, const struct layout *layout)
{
	const struct view *view = layout->text->view;
	bool whole_report = view->sort < 0 && view->by < 0;
	uint64_t least = (uint64_t)(view_min_share(view, false) * (double)layout->rows->all);
	size_t added = 0;

	for (size_t i = 0; i < layout->rows->count && added < view->top; i++) {
		const struct row *row = &layout->rows->rows[i];
		uint64_t ranked = layout->sort == SORT_SELF ? row->self : row->total;
		if (!ranked || ranked < least)
			break;
		if (whole_report && layout->sort == SORT_TOTAL && is_startup(row))
			continue;
		add_row(table, layout, row);
		added++;
	}
	return added;
}

static bool has_ties(const struct rows *rows)
{
	bool tied = false;

	for (size_t i = 0; i < rows->count; i++)
		tied |= rows->rows[i].tied;
	return tied;
}

static void print_heading(const struct layout *layout)
{
	const struct view *view = layout->text->view;
	const char *time = view->on_cpu == view->off_cpu ? "CPU + waiting"
	                   : view->on_cpu                ? "CPU"
	                                                 : "waiting";
	char title[64], note[128];

	snprintf(title, sizeof(title), "%s by %s time", titles[layout->by],
	         layout->sort == SORT_SELF ? "self" : "total");
	snprintf(note, sizeof(note), "%s%s", time,
	         view->thread || view->process ? "" : ", all threads");
	if (shows_margin(layout))
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "; %s: 95 %% interval%s",
		         layout->text->terminal.plus_minus,
		         has_ties(layout->rows) ? ", ~: a tie" : "");
	text_heading(layout->text, title, note);
}

int text_hotspots(const struct text *text, enum query_by by, enum query_sort sort,
                  struct error *err)
{
	cleanup(rows) struct rows *rows = text_rows(text, by, sort, err);
	struct column columns[8];

	if (!rows)
		return -1;
	struct layout layout = { text, rows, format_time_unit(rows->all),
		                 by,   sort, text->terminal.width >= WIDE };
	cleanup(table) struct table *table =
		table_new(columns, make_columns(&layout, columns), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	if (!add_rows(table, &layout))
		return 0;
	print_heading(&layout);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
