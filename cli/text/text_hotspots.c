// SPDX-License-Identifier: MIT
// Ranked tables by function, module or file.
#include "cli/text/text.h"

#include "base/error.h"
#include "base/origin.h"
#include "cli/format.h"
#include "cli/report/place.h"
#include "cli/table.h"
#include "merge/profile/profile.h"
#include "merge/scope/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const titles[] = {
	[BY_FUNCTION] = "hotspots",
	[BY_LINE] = "hot lines",
	[BY_MODULE] = "modules",
	[BY_FILE] = "files",
};

static enum style heat(double share)
{
	return share >= 0.2 ? STYLE_HOT : share >= 0.05 ? STYLE_WARM : STYLE_PLAIN;
}

#define WIDE         80   /* terminals below this get fewer columns */
#define WIDEST       100  /* and those below this, no time that the table is not ranked by */
#define TIE_SHARE    0.05 /* the order of smaller rows is of no use to anybody */

#define IDLE_SHARE   0.01 /* of all time: idle threads had less, and need no word */

#define PATH_SHARE   0.001 /* of all waiting: rarer paths tell nothing of a row that is shown */
#define CALLER_SHARE 0.5   /* of a row, for a caller that stands for it */
#define WHOLE_SHARE  0.95  /* and for one beside which others need no word */

struct layout {
	const struct text *text;
	const struct rows *rows;
	struct time_unit unit;
	enum query_by by;
	enum query_sort sort;
	bool wide, widest;
	bool margins;                  // at least one row was sampled
	bool *ties;                    // whether a mark was printed
	const struct call_tree *calls; // who calls what is a library's; NULL: not needed
	bool python;                   // there is some
	bool counts;                   // calls of its functions were counted
	bool gpu;                      // some have launched what ran on a GPU
};

// It is the margin of the self time, and where the rows are ranked by it it says what the rank is
// worth.
static bool shows_margin(const struct layout *layout)
{
	return layout->wide && layout->sort == SORT_SELF && layout->margins;
}

static bool shows_time(const struct layout *layout, enum query_sort sort)
{
	return layout->widest || layout->sort == sort;
}

// Rows that somebody may act on, and of which the second may as well be the first.
static bool is_tie(const struct layout *layout, const struct row *row)
{
	const struct row *end = layout->rows->rows + layout->rows->count;
	double least = TIE_SHARE * (double)layout->rows->all;

	return row->tied && row + 1 < end && (double)row[1].self >= least;
}

// "±0.6", "~" in front where the row cannot be told from the next one.
static struct short_text margin(const struct layout *layout, const struct row *row)
{
	struct short_text out = { "" };
	bool tie = is_tie(layout, row);

	if (row->self && row->self_margin > 0)
		snprintf(out.text, sizeof(out.text), "%s%s%.1f", tie ? "~" : "",
		         layout->text->terminal.plus_minus, 100 * row->self_margin);
	*layout->ties |= tie && *out.text;
	return out;
}

// A wait ends in the library's own depths: "futex_wait" is nothing that anybody has written.
static bool is_foreign_wait(const struct row *row)
{
	const char *kind = text_row_kind(row);
	bool waits = strstr(kind, "wait") || strcmp(kind, "sleep") == 0;

	return waits && origin_is_foreign(row->module, row->file);
}

// What ran in threads that were too short for a sample lies below the function that they began in.
static bool is_brief(const struct row *row)
{
	return strncmp(row->name, KEY_SHORT_NAME, strlen(KEY_SHORT_NAME)) == 0;
}

// Libraries do the work of Python's lines.
static bool is_foreign_work(const struct row *row)
{
	return !row->kernel && (row->module || row->file) &&
	       origin_is_foreign(row->module, row->file);
}

// What the user's own code called, and where, of a row that is the end of that call. False if no
// caller of the user's own has most of it.
static bool find_call(const struct layout *layout, const struct row *row, struct place_call *call)
{
	bool ends = is_foreign_wait(row) || is_brief(row);

	if (!layout->calls || !(ends || (layout->python && is_foreign_work(row))))
		return false;
	*call = place_caller(layout->calls, row->name);
	return call->caller && call->caller->name[0] != '[' && (ends || call->caller->python) &&
	       (double)call->self >= CALLER_SHARE * (double)row->self;
}

// "pthread_mutex_lock < push", and where push is.
static bool add_call(struct table *table, const struct layout *layout, const struct row *row)
{
	struct place_call call;
	char name[1024], place[512];

	if (!find_call(layout, row, &call))
		return false;
	bool named = is_foreign_wait(row) && !row->gil && call.entry && call.entry->name[0] != '[';
	bool all = (double)call.self >= WHOLE_SHARE * (double)row->self;
	// The caller says which program it is.
	const char *own = is_brief(row) ? KEY_SHORT_NAME "]" : row->name;
	snprintf(name, sizeof(name), "%s < %s%s", named ? call.entry->name : own, call.caller->name,
	         all ? "" : ", others");
	text_place(call.caller->file, call.line, call.caller->module, place, sizeof(place));
	table_cell(table, name);
	table_cell(table, place);
	return true;
}

// The kernel's time where its own functions were not seen.
static bool is_kernel(const struct row *row)
{
	return row->kernel && !row->module && !row->file;
}

// "[kernel] < read", and how much of it that is: what the kernel worked for most. False if nobody
// knows.
static bool add_kernels_caller(struct table *table, const struct layout *layout,
                               const struct row *row)
{
	char name[512], share[64];

	if (!layout->calls || !is_kernel(row))
		return false;
	struct place_direct most = place_direct_caller(layout->calls, row->name);
	if (!most.name)
		return false;
	snprintf(name, sizeof(name), "%s < %s", row->name, most.name);
	snprintf(share, sizeof(share), "%s %% of it", format_percent(most.self, row->self).text);
	table_cell(table, name);
	table_cell(table, share);
	return true;
}

static void add_name(struct table *table, const struct layout *layout, const struct row *row)
{
	char place[512];

	table_cell(table, row->name);
	if (layout->by != BY_FUNCTION)
		return;
	text_place(row->file, row->line, row->module, place, sizeof(place));
	table_cell(table, text_beside(row->name, place));
}

static void add_row(struct table *table, const struct layout *layout, const struct row *row)
{
	uint64_t all = layout->rows->all;
	uint64_t ranked = layout->sort == SORT_SELF ? row->self : row->total;
	enum style style = heat(all ? (double)ranked / (double)all : 0);
	bool by_self = layout->sort == SORT_SELF;

	table_row(table, STYLE_PLAIN);
	if (shows_time(layout, SORT_SELF))
		table_styled(table, format_time(row->self, layout->unit).text, by_self ? style : 0);
	table_styled(table, format_percent(row->self, all).text, by_self ? style : 0);
	if (shows_margin(layout))
		table_styled(table, margin(layout, row).text, STYLE_DIM);
	if (shows_time(layout, SORT_TOTAL))
		table_styled(table, format_time(row->total, layout->unit).text,
		             by_self ? 0 : style);
	table_styled(table, format_percent(row->total, all).text, by_self ? 0 : style);
	if (layout->counts)
		table_cell(table, row->calls ? format_count(row->calls).text : "");
	if (layout->gpu)
		table_cell(table, row->gpu_total_ns
		                          ? format_time(row->gpu_total_ns, layout->unit).text
		                          : "");
	if (layout->by == BY_FUNCTION && layout->wide) {
		const char *kind = text_row_kind(row);
		table_styled(table, kind, strstr(kind, "wait") ? STYLE_WAIT : STYLE_PLAIN);
	}
	if (!add_call(table, layout, row) && !add_kernels_caller(table, layout, row))
		add_name(table, layout, row);
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

	if (shows_time(layout, SORT_SELF))
		columns[count++] = (struct column){ "self", COLUMN_NUMBER, 0, 0 };
	columns[count] = (struct column){ "self %", COLUMN_NUMBER, 0, 0 };
	columns[count++].title = shows_time(layout, SORT_SELF) ? "%" : "self %";
	if (shows_margin(layout))
		columns[count++] =
			(struct column){ layout->text->terminal.plus_minus, COLUMN_NUMBER, 0, 0 };
	if (shows_time(layout, SORT_TOTAL))
		columns[count++] = (struct column){ "total", COLUMN_NUMBER, 0, 0 };
	columns[count] = (struct column){ "total %", COLUMN_NUMBER, 0, 0 };
	columns[count++].title = shows_time(layout, SORT_TOTAL) ? "%" : "total %";
	if (layout->counts)
		columns[count++] = (struct column){ "calls", COLUMN_NUMBER, 0, 0 };
	if (layout->gpu)
		columns[count++] = (struct column){ "on GPU", COLUMN_NUMBER, 0, 0 };
	if (layout->by == BY_FUNCTION && layout->wide)
		columns[count++] = (struct column){ "kind", COLUMN_WORD, 0, 0 };
	columns[count++] = (struct column){ "where", COLUMN_TEXT, name_clip(layout->by), 3 };
	if (layout->by == BY_FUNCTION)
		columns[count++] = (struct column){ "", COLUMN_TEXT, CLIP_START, 2 };
	return count;
}

// Where a wait was too short for its Python functions to be seen, the interpreter's own stand
// there.
static bool is_interpreter(const struct layout *layout, const struct row *row)
{
	return layout->python && !row->python && !row->called && !layout->text->view->interpreter &&
	       origin_is_python(row->module);
}

// The rows that are worth their line. Those of equal rank keep the query's order.
static size_t add_rows(struct table *table, const struct layout *layout)
{
	const struct view *view = layout->text->view;
	bool whole_report = view_table(view) == VIEW_TABLE_NONE;
	uint64_t least = (uint64_t)(view_min_share(view, false) * (double)layout->rows->all);
	size_t added = 0;

	for (size_t i = 0; i < layout->rows->count && added < view->top; i++) {
		const struct row *row = &layout->rows->rows[i];
		uint64_t ranked = layout->sort == SORT_SELF ? row->self : row->total;
		if (!ranked || ranked < least)
			break;
		if (whole_report && layout->sort == SORT_TOTAL &&
		    (text_is_startup(row->name) || is_interpreter(layout, row)))
			continue;
		add_row(table, layout, row);
		added++;
	}
	return added;
}

static bool has_margins(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].self && rows->rows[i].self_margin > 0)
			return true;
	return false;
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
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "; %s: 95 %% interval",
		         layout->text->terminal.plus_minus);
	text_heading(layout->text, title, note);
}

static bool has_counts(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].calls)
			return true;
	return false;
}

static bool has_gpu(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].gpu_total_ns)
			return true;
	return false;
}

// NULL without an error if no row of the table needs it.
static struct call_tree *calls_of(const struct layout *layout, struct error *err)
{
	struct query query = view_query(layout->text->view, BY_FUNCTION, layout->sort);
	bool on_cpu = layout->python, waits = false;

	query.without_others = true;
	if (layout->by != BY_FUNCTION || layout->sort != SORT_SELF)
		return NULL;
	for (size_t i = 0; i < layout->rows->count; i++) {
		const struct row *row = &layout->rows->rows[i];
		on_cpu |= row->self && (is_brief(row) || is_kernel(row));
		waits |= row->self && is_foreign_wait(row);
	}
	if (!on_cpu) {
		query.on_cpu = false;
		query.off_cpu = true;
	}
	if (!on_cpu && !waits)
		return NULL;
	return query_call_tree(layout->text->profile, &query, PATH_SHARE, err);
}

// What was left out of the table that is ranked by it.
static void print_idle(const struct layout *layout)
{
	const struct rows *rows = layout->rows;

	if (layout->sort != SORT_SELF || (double)rows->idle_ns < IDLE_SHARE * (double)rows->all)
		return;
	text_say(
		layout->text,
		"without %s in which threads only waited for work, or for children (see --off-cpu)",
		format_duration(rows->idle_ns).text);
}

int text_hotspots(const struct text *text, enum query_by by, enum query_sort sort,
                  struct error *err)
{
	cleanup(rows) struct rows *rows = text_rows(text, by, sort, err);
	struct column columns[10];
	bool ties = false;

	if (!rows)
		return -1;
	struct layout layout = {
		.text = text,
		.rows = rows,
		.unit = format_time_unit(rows->all),
		.by = by,
		.sort = sort,
		.wide = text->terminal.width >= WIDE,
		.widest = text->terminal.width >= WIDEST,
		.margins = has_margins(rows),
		.python = text_has_python(rows),
		.counts = has_counts(rows),
		.gpu = has_gpu(rows),
		.ties = &ties,
	};
	struct error failed = { 0 };
	cleanup(call_tree) struct call_tree *calls = calls_of(&layout, &failed);
	layout.calls = calls; // without it, rows have their own places
	cleanup(table) struct table *table =
		table_new(columns, make_columns(&layout, columns), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	if (!add_rows(table, &layout))
		return 0;
	print_heading(&layout);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	if (ties)
		fputs("  ~ cannot be told from the next row\n", text->out);
	print_idle(&layout);
	return 0;
}
