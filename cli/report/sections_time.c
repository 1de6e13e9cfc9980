// SPDX-License-Identifier: MIT
// Where the time went: by function, line, module and file.
#include "cli/report/sections.h"

#include "base/error.h"
#include "base/metric.h"
#include "base/origin.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/report/source.h"
#include "cli/report/view.h"
#include "merge/query/query.h"
#include "merge/query/query_wall.h"
#include "merge/scope/keys.h"

#include <stdio.h>
#include <string.h>

#define WIDE         80    /* terminals below this get fewer columns */
#define WIDEST       100   /* and those below this, no time that the table is not ranked by */
#define TIE_SHARE    0.05  /* the order of smaller rows is of no use to anybody */
#define ASIDE_SHARE  0.05  /* of CPU time, by what nobody waited for: less is not worth a line */
#define IDLE_SHARE   0.01  /* of all time: idle threads had less, and need no word */
#define PATH_SHARE   0.001 /* of all waiting: rarer paths tell nothing of a row that is shown */
#define CALLER_SHARE 0.5   /* of a row, for a caller that stands for it */
#define WHOLE_SHARE  0.95  /* and for one beside which others need no word */
#define ROWS_FLAT    3     /* of one screen, that a table has however little they take */
#define TREE_SHARE   0.001 /* of all time: smaller nodes pass nothing on that is worth a row */

REPORT_KEEPS(rows, struct rows *);

// Of rows by function and the like, and by line.
struct code {
	const struct view *view;
	struct report *report;
	const struct rows *rows;
	enum query_by by;
	enum query_sort sort;
	bool wall;                     // rows rank by wall time
	uint64_t wall_of_ns;           // for people, of which shares of wall time are
	bool without_queue;            // that is without waits for a CPU, as the answer has it
	const struct call_tree *calls; // who calls what is a library's; NULL: not needed
	const struct call_tree *paths; // who passes on to whom; NULL: all rows are shown
	bool python;                   // there is some
	const struct row *named;       // the one that these are of
	const char *name, *beside;
	bool newer, kept_back; // of source text: some is newer than the program, some not shown
	bool has_source;       // of some row
};

// What SORT ranks by.
static uint64_t rank_of(const struct row *row, enum query_sort sort)
{
	return sort == SORT_SELF    ? row->self
	       : sort == SORT_CALLS ? row->calls
	       : sort == SORT_WALL  ? row->wall_self_ns
	       : sort == SORT_TOTAL ? row->total
	                            : row->wall_total_ns;
}

static enum tone heat(const struct code *code, const struct row *row, enum query_sort sort)
{
	bool wall = sort == SORT_WALL || sort == SORT_WALL_TOTAL;
	double all = (double)(wall ? code->wall_of_ns : code->rows->all);
	double share = all > 0 ? (double)rank_of(row, sort) / all : 0;

	if (sort != code->sort || code->by == BY_LINE)
		return TONE_PLAIN;
	return share >= 0.2 ? TONE_HOT : share >= 0.05 ? TONE_WARM : TONE_PLAIN;
}

static void make_self(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	cell->count = row->self;
	cell->tone = heat(s->context, row, SORT_SELF);
}

static void make_total(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	cell->count = row->total;
	cell->tone = heat(s->context, row, SORT_TOTAL);
}

static void make_self_share(const struct section *s, const void *data, struct section_cell *cell)
{
	make_self(s, data, cell);
	cell->share.all = s->all;
}

static void make_total_share(const struct section *s, const void *data, struct section_cell *cell)
{
	make_total(s, data, cell);
	cell->share.all = s->all;
}

// Its own, or with what it calls where rows rank by that.
static void make_wall(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct code *code = s->context;
	enum query_sort sort = code->sort == SORT_WALL_TOTAL ? SORT_WALL_TOTAL : SORT_WALL;

	cell->count = rank_of(data, sort);
	cell->tone = heat(code, data, sort);
	cell->flags = code->rows->wall_all_ns ? 0 : CELL_UNKNOWN;
}

static void make_wall_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct code *code = s->context;

	make_wall(s, data, cell);
	cell->share.all = code->wall_of_ns ? code->wall_of_ns : code->rows->wall_all_ns;
}

static void make_wall_total(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct code *code = s->context;

	cell->count = rank_of(data, SORT_WALL_TOTAL);
	cell->flags = code->rows->wall_all_ns ? 0 : CELL_UNKNOWN;
}

// Rows that somebody may act on, and of which the second may as well be the first.
static bool is_tie(const struct code *code, const struct row *row)
{
	const struct row *end = code->rows->rows + code->rows->count;
	double least = TIE_SHARE * (double)code->rows->all;

	return !code->view->brief && row->tied && row + 1 < end && (double)row[1].self >= least;
}

static void make_margin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	cell->number = row->self_margin;
	cell->tone = TONE_DIM;
	cell->flags = row->self_margin > 0 ? CELL_SAMPLED : 0;
	if (!row->self)
		cell->flags |= CELL_IDLE;
	if (is_tie(s->context, row))
		cell->flags |= CELL_TIED;
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.line = row->line;
	cell->place.module = row->module;
}

static void make_waiting(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;
	uint64_t on_cpu = row->self_ns[METRIC_ON_CPU];

	(void)s;
	cell->count = row->self > on_cpu ? row->self - on_cpu : 0;
}

// The kind of its code, for programs.
static void make_kind(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->text = row->python                ? "python"
	             : row->called              ? "python-c"
	             : row->kernel              ? "kernel"
	             : row->inlined             ? "inline"
	             : row->module || row->file ? "native"
	                                        : NULL;
}

// For people, what it mostly waits for comes first.
static void make_kind_words(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->text = row_kind_words(data);
	cell->tone = strstr(cell->text, "wait") ? TONE_WAIT : TONE_PLAIN;
}

// A wait ends in the library's own depths: "futex_wait" is nothing that anybody has written.
static bool is_foreign_wait(const struct row *row)
{
	const char *kind = row_kind_words(row);
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
static bool find_call(const struct code *code, const struct row *row, struct place_call *call)
{
	bool ends = is_foreign_wait(row) || is_brief(row);

	if (!code->calls || !(ends || (code->python && is_foreign_work(row))))
		return false;
	*call = place_caller(code->calls, row->name);
	return call->caller && call->caller->name[0] != '[' && (ends || call->caller->python) &&
	       (double)call->self >= CALLER_SHARE * (double)row->self;
}

// Code that a compiler made while the program ran, and told nobody of.
static bool is_made(const struct row *row)
{
	return strcmp(row->name, "[jit]") == 0 && !row->module;
}

// Overhead, which is no hotspot of the program's: the limits say how much.
static bool is_ours(const struct row *row)
{
	return strcmp(row->name, KEY_OURS_NAME) == 0 && !row->module && !row->file;
}

// "[jit] in aten::convolution, others": what code without symbols has no name for, its op has one
// for.
static const char *name_of(const struct code *code, const struct row *row)
{
	bool nameless = row->name[0] == '[' && !row->kernel && (row->module || is_made(row));
	struct place_op op = { 0 };

	if (code->calls && nameless)
		op = place_op_around(code->calls, row->name, row->module);
	if (!op.name || (double)op.self < CALLER_SHARE * (double)row->self)
		return row->name;
	bool all = (double)op.self >= WHOLE_SHARE * (double)row->self;
	return report_say(code->report, "%s in %s%s", row->name, op.name, all ? "" : ", others");
}

// "pthread_mutex_lock < push", and where push is.
static bool name_call(struct code *code, const struct row *row)
{
	struct place_call call;
	char place[512];

	if (!find_call(code, row, &call))
		return false;
	bool named = is_foreign_wait(row) && !row->gil && call.entry && call.entry->name[0] != '[';
	bool all = (double)call.self >= WHOLE_SHARE * (double)row->self;
	// The caller says which program it is.
	const char *own = is_brief(row) ? KEY_SHORT_NAME "]" : name_of(code, row);
	place_words(call.caller->file, call.line, call.caller->module, place, sizeof(place));
	code->name = report_say(code->report, "%s < %s%s", named ? call.entry->name : own,
	                        call.caller->name, all ? "" : ", others");
	code->beside = report_say(code->report, "%s", place);
	return true;
}

// The kernel's time where its own functions were not seen.
static bool is_kernel(const struct row *row)
{
	return row->kernel && !row->module && !row->file;
}

// "[kernel] < read", and how much of it that is: what the kernel worked for most. False if nobody
// knows.
static bool name_kernels_caller(struct code *code, const struct row *row)
{
	if (!code->calls || !is_kernel(row))
		return false;
	struct place_direct most = place_direct_caller(code->calls, row->name);
	if (!most.caller)
		return false;
	code->name = report_say(code->report, "%s < %s", row->name, most.caller->name);
	code->beside = report_say(code->report, "%s %% of %s",
	                          format_percent(most.self, row->self).text, row->name);
	return true;
}

static void name_row(struct code *code, const struct row *row)
{
	char place[512];

	if (code->named == row)
		return;
	code->named = row;
	if (name_call(code, row) || name_kernels_caller(code, row))
		return;
	place_words(row->file, row->line, row->module, place, sizeof(place));
	code->name = name_of(code, row);
	code->beside = report_say(code->report, "%s", place_beside(row->name, place));
}

static void make_where(const struct section *s, const void *row, struct section_cell *cell)
{
	struct code *code = s->context;

	name_row(code, row);
	cell->text = code->name;
}

static void make_beside(const struct section *s, const void *row, struct section_cell *cell)
{
	struct code *code = s->context;

	name_row(code, row);
	cell->text = code->beside;
}

// The text of the line, marked where the file is newer than the program.
static const char *source_of(struct code *code, const struct row *row)
{
	struct source_scope scope = source_scope_of(code->report->profile, code->view);
	char line[512] = "";
	bool newer = false;

	scope.kept_back = &code->kept_back;
	if (!source_line(&scope, row->file, row->line, row->module, line, sizeof(line), &newer))
		return "";
	return report_say(code->report, "%s%s", newer ? "! " : "", line);
}

static void make_source(const struct section *s, const void *row, struct section_cell *cell)
{
	struct code *code = s->context;

	(void)row;
	cell->text = code->name;
}

static void make_primitive(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->count = row->calls - row->recursive;
}

// "1,530/153" as cProfile has it: all calls, and those that were not recursive.
static void make_call_words(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	if (!row->calls)
		return;
	if (row->recursive)
		cell->text = report_say(s->report, "%s/%s", format_count(row->calls).text,
		                        format_count(row->calls - row->recursive).text);
	else
		cell->text = report_say(s->report, "%s", format_count(row->calls).text);
}

static const struct section_column code_columns[] = {
	{ "name", .type = CELL_TEXT, .at = { 0, 0, 1 }, FIELD(struct row, name) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 1, 1, 1 }, .make = make_line },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 4 }, FIELD(struct row, module) },
	{ "kind", .type = CELL_TEXT, .at = { 0, 0, 5 }, .make = make_kind },
	{ "wall_ns", "wall", .heading = "wall", .type = CELL_NS, .at = { 1, 1, 19 },
	  .make = make_wall },
	{ "wall_share", .heading = "%", .page_heading = "wall %", .alone = "wall %",
	  .type = CELL_SHARE, .at = { 1, 1, 20 }, .make = make_wall_share },
	{ "wall_total_ns", .type = CELL_NS, .at = { 0, 0, 21 }, .make = make_wall_total },
	{ "self_ns", "self", .heading = "self", .type = CELL_NS, .at = { 1, 1, 6 },
	  .make = make_self },
	{ "self_share", .heading = "%", .page_heading = "self %", .alone = "self %",
	  .type = CELL_SHARE, .at = { 2, 2, 7 }, .make = make_self_share },
	{ "self_margin", "margin", .heading = "\u00b1", .type = CELL_MARGIN, .at = { 3, 3, 8 },
	  .none = { 1, 0, 0 }, .width_min = WIDE, .legend = "\u00b1: 95 % interval",
	  .tied = "~ not distinguishable from the next row", .make = make_margin },
	{ "tied", .type = CELL_BOOL, .at = { 0, 0, 9 }, FIELD(struct row, tied) },
	{ "total_ns", "total", .heading = "total", .type = CELL_NS, .at = { 4, 4, 10 },
	  .make = make_total },
	{ "total_share", .heading = "%", .page_heading = "total %", .alone = "total %",
	  .type = CELL_SHARE, .at = { 5, 5, 11 }, .make = make_total_share },
	{ "on_cpu", .heading = "on a CPU", .type = CELL_NS, .at = { 0, 6, 0 },
	  FIELD(struct row, self_ns[METRIC_ON_CPU]) },
	{ "waiting", .heading = "waiting", .type = CELL_NS, .at = { 0, 7, 0 },
	  .make = make_waiting },
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 0, 9, 12 }, .none = { 1, 1, 1 },
	  FIELD(struct row, calls) },
	{ "primitive_calls", .type = CELL_COUNT, .at = { 0, 0, 12 }, .none = { 1, 1, 1 },
	  .make = make_primitive },
	{ "call_words", .heading = "calls", .type = CELL_TEXT, .right = true, .at = { 6, 0, 0 },
	  .make = make_call_words },
	{ "self_samples", .type = CELL_COUNT, .at = { 0, 0, 13 }, FIELD(struct row, self_samples) },
	{ "total_samples", .type = CELL_COUNT, .at = { 0, 0, 14 },
	  FIELD(struct row, total_samples) },
	{ "gpu_self_ns", .type = CELL_NS, .at = { 0, 0, 17 }, FIELD(struct row, gpu_self_ns) },
	{ "gpu_total_ns", "gpu", .heading = "on GPU", .type = CELL_NS, .at = { 7, 8, 18 },
	  .none = { 1, 1, 0 }, FIELD(struct row, gpu_total_ns) },
	{ "kind_words", "kind", .heading = "kind", .type = CELL_TEXT, .at = { 8, 10, 0 },
	  .width_min = WIDE, .make = make_kind_words },
	{ "where", .heading = "where", .type = CELL_TEXT, .at = { 9, 0, 0 }, .room = 3,
	  .make = make_where },
	{ "page_name", "name", .heading = "function", .type = CELL_TEXT, .at = { 0, 11, 0 },
	  FIELD(struct row, name) },
	{ "beside", .heading = "", .type = CELL_TEXT, .at = { 10, 0, 0 }, .clip = CLIP_START,
	  .room = 2, .make = make_beside },
	{ "place", .heading = "line", .page_heading = "where", .type = CELL_PLACE,
	  .at = { 11, 12, 0 }, .clip = CLIP_START, .room = 1, .make = make_place },
	{ "source", .heading = "source", .type = CELL_TEXT, .at = { 12, 0, 0 }, .clip = CLIP_END,
	  .room = 2, .make = make_source },
};

// A column for each metric: "self_on_cpu_ns", "self_wait_lock_ns" …
void section_metrics(struct section *s, const char *what, uint8_t at, size_t offset)
{
	struct section_column columns[METRIC_COUNT];

	for (int m = 0; m < METRIC_COUNT; m++)
		columns[m] = (struct section_column){
			.id = report_say(s->report, "%s%s%s_ns", what,
			                 metric_is_off_cpu(m) ? "wait_" : "",
			                 metric_key((enum metric)m)),
			.type = CELL_NS,
			.at = { [READER_SHEET] = at },
			.field = FIELD_U64,
			.offset = offset + (size_t)m * sizeof(uint64_t),
		};
	SECTION_COLUMNS(s, columns);
}

static struct section *new_section(struct report *r, struct code *code, const char *id,
                                   const char *title)
{
	struct section *s = section_new(r, id, title);

	s->context = code;
	s->all = code->rows->all;
	s->unit_ns = code->rows->all;
	SECTION_COLUMNS(s, code_columns);
	section_metrics(s, "self_", 15, offsetof(struct row, self_ns));
	section_metrics(s, "total_", 16, offsetof(struct row, total_ns));
	return s;
}

// Programs get all rows: times and shares as people are shown them, and all time by kind.
static struct section *code_sheet(struct report *r, const char *id, enum query_by by,
                                  struct error *err)
{
	struct code code = { .view = r->view, .report = r, .by = by, .sort = SORT_SELF };

	code.rows = keep_rows(r, rows_all(r->profile, r->view, by, err), err);
	if (!code.rows)
		return NULL;
	struct section *s = new_section(r, &code, id, NULL);
	section_rows(s, code.rows->rows, code.rows->count, sizeof(*code.rows->rows));
	return section_end(s, err);
}

struct section *section_sheet_functions(struct report *r, struct error *err)
{
	return code_sheet(r, "functions", BY_FUNCTION, err);
}

struct section *section_sheet_lines(struct report *r, struct error *err)
{
	return code_sheet(r, "lines", BY_LINE, err);
}

struct section *section_sheet_modules(struct report *r, struct error *err)
{
	return code_sheet(r, "modules", BY_MODULE, err);
}

struct section *section_sheet_files(struct report *r, struct error *err)
{
	return code_sheet(r, "files", BY_FILE, err);
}

// Which of the columns there are that people are shown.
static bool has_calls(const struct rows *rows)
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

static bool has_margins(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].self && rows->rows[i].self_margin > 0)
			return true;
	return false;
}

static enum clip name_clip(enum query_by by)
{
	return by == BY_FUNCTION                  ? CLIP_SYMBOL
	       : by == BY_FILE || by == BY_MODULE ? CLIP_START
	                                          : CLIP_MIDDLE;
}

// Of wall time and that of all threads one has shares: what rows rank by.
static void choose_times(struct section *s, const struct code *code)
{
	section_without(s, code->wall ? "self_share" : "wall_ns");
	section_without(s, code->wall ? "total_share" : "wall_share");
}

static void choose_columns(struct section *s, const struct code *code)
{
	section_without(s, "place");
	section_without(s, "source");
	if (!has_calls(code->rows)) {
		section_without(s, "calls");
		section_without(s, "call_words");
	}
	if (!has_gpu(code->rows))
		section_without(s, "gpu_total_ns");
	choose_times(s, code);
	// It says what the rank of rows is worth that are ranked by self time.
	if (code->sort != SORT_SELF || !has_margins(code->rows))
		section_without(s, "self_margin");
	bool total = code->sort == SORT_TOTAL || code->sort == SORT_WALL_TOTAL ||
	             code->sort == SORT_CALLS;
	section_column(s, total ? "self_ns" : "total_ns")->width_min = WIDEST;
	section_column(s, "where")->clip = name_clip(code->by);
	if (code->by == BY_FUNCTION)
		return;
	section_without(s, "kind_words");
	section_without(s, "beside");
}

// Code ranks by wall time where nothing else is asked for, and the order is another one. Shares of
// that are of what the answer and findings have: else one place would have two of them.
static void take_wall(struct code *code)
{
	const struct view *view = code->view;
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);
	struct wall_account wall;
	struct error failed = { 0 };

	if (query_wall_account(code->report->profile, &query, &wall, &failed) < 0)
		return; // as where it is not known
	code->wall = view->sort == VIEW_SORT_WALL ? wall.all_ns != 0
	                                          : view->sort == VIEW_SORT_NONE && wall.ranks;
	code->wall_of_ns = query_wall_share_ns(&wall, &code->without_queue);
}

// The same, of wall time.
static enum query_sort by_wall(enum query_sort sort)
{
	return sort == SORT_SELF ? SORT_WALL : sort == SORT_TOTAL ? SORT_WALL_TOTAL : sort;
}

static const char *say_time(const struct view *view)
{
	return view->on_cpu == view->off_cpu ? "CPU + waiting" : view->on_cpu ? "CPU" : "waiting";
}

// Where a wait was too short for its Python functions to be seen, the interpreter's own stand
// there.
static bool is_interpreter(const struct code *code, const struct row *row)
{
	return code->python && !row->python && !row->called && !code->view->interpreter &&
	       origin_is_python(row->module);
}

// Rows with less are not worth their line.
static uint64_t least_of(const struct code *code)
{
	uint64_t all = code->wall ? code->wall_of_ns : code->rows->all;

	return (uint64_t)(view_min_share(code->view, false) * (double)all);
}

// Nobody waited for it, but it had CPUs.
static bool works_aside(const struct row *row, uint64_t cpu_ns)
{
	return cpu_ns && (double)row->self_ns[METRIC_ON_CPU] >= ASIDE_SHARE * (double)cpu_ns;
}

static uint64_t cpu_time(const struct rows *rows)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < rows->count; i++)
		ns += rows->rows[i].self_ns[METRIC_ON_CPU];
	return ns;
}

// What calls nothing has the same numbers in the table of self time.
static bool calls_nothing(const struct code *code, const struct row *row)
{
	return code->wall ? row->wall_total_ns == row->wall_self_ns : row->total == row->self;
}

// Of a table of total time, what only calls what has a row of its own says nothing more.
static bool is_left_out(const struct code *code, const struct row *row)
{
	bool whole_report = view_table(code->view) == VIEW_TABLE_NONE;

	if (!whole_report)
		return false;
	if (code->view->brief && calls_nothing(code, row))
		return true;
	return row_is_startup(row->name) || is_interpreter(code, row) ||
	       (code->paths && place_passes_on(code->paths, row->name));
}

// The rows that are worth their line. Those of equal rank keep the query's order.
static void choose_rows(struct section *s, const struct code *code)
{
	bool total = code->sort == SORT_TOTAL || code->sort == SORT_WALL_TOTAL;
	uint64_t least = least_of(code), cpu_ns = cpu_time(code->rows);

	for (size_t i = 0; i < code->rows->count && s->row_count < code->view->top; i++) {
		const struct row *row = &code->rows->rows[i];
		uint64_t ranked = rank_of(row, code->sort);
		if (is_ours(row))
			continue;
		bool first = !total && code->view->brief && s->row_count < ROWS_FLAT &&
		             3 * ranked >= least;
		bool little = !ranked || (ranked < least && code->sort != SORT_CALLS && !first);
		if (little && !code->wall)
			break;
		if (little && !works_aside(row, cpu_ns))
			continue;
		if (total && is_left_out(code, row))
			continue;
		if (!section_row(s, row))
			break;
	}
}

// NULL without an error if no row of the table needs it.
static struct call_tree *calls_of(const struct code *code, struct error *err)
{
	struct query query = view_query(code->view, BY_FUNCTION, code->sort);
	bool on_cpu = code->python, waits = false;

	query.without_others = true;
	if (code->by != BY_FUNCTION || (code->sort != SORT_SELF && code->sort != SORT_WALL))
		return NULL;
	for (size_t i = 0; i < code->rows->count; i++) {
		const struct row *row = &code->rows->rows[i];
		on_cpu |= row->self && (is_brief(row) || is_kernel(row) || is_made(row));
		waits |= row->self && is_foreign_wait(row);
	}
	if (!on_cpu) {
		query.on_cpu = false;
		query.off_cpu = true;
	}
	if (!on_cpu && !waits)
		return NULL;
	return query_call_tree(code->report->profile, &query, PATH_SHARE, err);
}

// Of tables of total time that have few rows; NULL without an error for others.
static struct call_tree *paths_of(const struct code *code, struct error *err)
{
	struct query query = view_query(code->view, BY_FUNCTION, code->sort);
	bool total = code->sort == SORT_TOTAL || code->sort == SORT_WALL_TOTAL;

	query.without_others = true;
	return total && code->view->brief && code->by == BY_FUNCTION
	               ? query_call_tree(code->report->profile, &query, TREE_SHARE, err)
	               : NULL;
}

// What was left out of the table that is ranked by it.
static void note_idle(struct section *s, const struct code *code)
{
	const struct rows *rows = code->rows;

	if (code->sort != SORT_SELF || (double)rows->idle_ns < IDLE_SHARE * (double)rows->all)
		return;
	section_note(
		s, NOTE_SAY, false,
		"without %s in which threads only waited for work, or for children (see --off-cpu)",
		format_duration(rows->idle_ns).text);
}

// "hotspots by wall time".
static const char *title_of(struct report *r, const char *what, enum query_sort sort)
{
	static const char *const orders[] = {
		[SORT_SELF] = "self time",
		[SORT_TOTAL] = "total time",
		[SORT_CALLS] = "calls",
		[SORT_WALL] = "wall time",
		[SORT_WALL_TOTAL] = "wall time with callees",
	};

	return report_say(r, "%s by %s", what, orders[sort]);
}

struct section *section_hotspots(struct report *r, enum query_by by, enum query_sort sort,
                                 struct error *err)
{
	static const char *const titles[] = {
		[BY_FUNCTION] = "hotspots",
		[BY_LINE] = "hot lines",
		[BY_MODULE] = "modules",
		[BY_FILE] = "files",
	};
	struct code code = { .view = r->view, .report = r, .by = by, .sort = sort };
	struct error failed = { 0 };

	if (sort != SORT_CALLS)
		take_wall(&code);
	if (code.wall)
		code.sort = by_wall(sort);
	code.rows = keep_rows(r, rows_shown(r->profile, r->view, by, code.sort, err), err);
	if (!code.rows)
		return NULL;
	code.python = rows_have_python(code.rows);
	cleanup(call_tree) struct call_tree *calls = calls_of(&code, &failed);
	code.calls = calls; // without it, rows have their own places
	cleanup(call_tree) struct call_tree *paths = paths_of(&code, &failed);
	code.paths = paths;
	struct section *s = new_section(r, &code, "functions", title_of(r, titles[by], code.sort));
	if (r->failed)
		return section_end(s, err);
	bool all = !r->view->thread && !r->view->process;
	const char *without = code.without_queue ? "% excludes waits for a CPU; " : "";
	if (code.wall && r->view->brief && all && r->view->on_cpu == r->view->off_cpu)
		s->subtitle = report_say(r, "%sself, total: all threads", without);
	else if (code.wall)
		s->subtitle = report_say(r, "%sself, total: %s%s", without, say_time(r->view),
		                         all ? ", all threads" : "");
	else
		s->subtitle = report_say(r, "%s%s", say_time(r->view), all ? ", all threads" : "");
	if (r->view->brief && sort == SORT_TOTAL)
		s->subtitle = ""; // as that of the table above it
	if (code.wall)
		s->unit_ns = code.rows->wall_all_ns;
	choose_columns(s, &code);
	choose_rows(s, &code);
	s->shown = s->row_count != 0;
	note_idle(s, &code);
	return section_end(s, err);
}

static void add_page_rows(struct section *s, const struct rows *rows, bool lines)
{
	for (size_t i = 0; i < rows->count && i < SECTION_PAGE_ROWS; i++)
		if (!lines || (rows->rows[i].file && rows->rows[i].line))
			section_row(s, &rows->rows[i]);
	s->left_out = rows->count > SECTION_PAGE_ROWS ? rows->count - SECTION_PAGE_ROWS : 0;
}

struct section *section_page_functions(struct report *r, struct error *err)
{
	struct code code = { .view = r->view, .report = r };

	code.rows = keep_rows(r, rows_shown(r->profile, r->view, BY_FUNCTION, SORT_SELF, err), err);
	if (!code.rows)
		return NULL;
	take_wall(&code);
	struct section *s = new_section(r, &code, "functions", "Functions");
	s->subtitle = code.without_queue && code.rows->wall_all_ns
	                      ? "CPU + waiting, all threads; wall % excludes waits for a CPU"
	                      : "CPU + waiting, all threads";
	if (!code.rows->wall_all_ns) {
		section_without(s, "wall_ns");
		section_without(s, "wall_share");
	}
	add_page_rows(s, code.rows, false);
	return section_end(s, err);
}

struct section *section_page_lines(struct report *r, struct error *err)
{
	struct code code = { .view = r->view, .report = r, .by = BY_LINE };

	code.rows = keep_rows(r, rows_by_line(r->profile, r->view, SORT_SELF, NULL, err), err);
	if (!code.rows)
		return NULL;
	take_wall(&code);
	struct section *s = new_section(r, &code, "lines", "Lines");
	section_without(s, "self_margin");
	section_without(s, "calls");
	section_without(s, "kind_words");
	section_without(s, "page_name");
	if (!code.rows->wall_all_ns) {
		section_without(s, "wall_ns");
		section_without(s, "wall_share");
	}
	if (!r->failed)
		section_column(s, "place")->page_heading = "line";
	add_page_rows(s, code.rows, true);
	return section_end(s, err);
}

// A line of a library's, of which there is nothing to be read, says less than its function. One
// screen has no room for those that nobody is to change.
static bool is_wanted(const struct code *code, const struct row *row)
{
	if (code->view->brief && origin_is_foreign(row->module, row->file))
		return false;
	return *code->name || view_table(code->view) != VIEW_TABLE_NONE ||
	       !origin_is_foreign(row->module, row->file);
}

static void choose_lines(struct section *s, struct code *code)
{
	const struct rows *rows = code->rows;
	uint64_t least = least_of(code), cpu_ns = cpu_time(code->rows);

	for (size_t i = 0; i < rows->count && s->row_count < code->view->top; i++) {
		const struct row *row = &rows->rows[i];
		uint64_t ranked = rank_of(row, code->sort);
		bool little = !ranked || ranked < least;
		if (little && !code->wall)
			break;
		if (little && !works_aside(row, cpu_ns))
			continue;
		if (!row->file || !row->line)
			continue; // code without lines is named in the limits
		code->name = source_of(code, row);
		if (!is_wanted(code, row))
			continue;
		code->newer |= strncmp(code->name, "! ", 2) == 0;
		code->has_source |= *code->name != '\0';
		if (!section_row(s, row))
			break;
	}
}

struct section *section_lines(struct report *r, struct error *err)
{
	static const char *const others[] = { "self_margin", "call_words", "kind_words", "where",
		                              "beside" };
	bool total = r->view->sort == VIEW_SORT_TOTAL, own_code;
	struct code code = {
		.view = r->view, .report = r, .by = BY_LINE, .sort = total ? SORT_TOTAL : SORT_SELF
	};

	take_wall(&code);
	if (code.wall)
		code.sort = by_wall(code.sort);
	code.rows = keep_rows(r, rows_by_line(r->profile, r->view, code.sort, &own_code, err), err);
	if (!code.rows)
		return NULL;
	struct section *s = new_section(
		r, &code, "lines",
		code.sort == SORT_SELF ? "hot lines" : title_of(r, "hot lines", code.sort));
	s->subtitle = own_code ? "of your own code, with the libraries that they call" : "";
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		section_without(s, others[i]);
	section_without(s, total ? "self_ns" : "total_ns");
	section_without(s, total ? "self_share" : "total_share");
	choose_times(s, &code);
	if (code.wall)
		s->unit_ns = code.rows->wall_all_ns;
	if (!has_gpu(code.rows))
		section_without(s, "gpu_total_ns");
	choose_lines(s, &code);
	if (!code.has_source && r->view->brief)
		section_without(s, "source");
	s->shown = s->row_count != 0;
	if (code.kept_back)
		section_note(s, NOTE_LINE, false,
		             "source that need not be what was recorded is left out: --source "
		             "shows it");
	if (code.newer)
		section_note(s, NOTE_LINE, false,
		             "! the source is newer than the program: the line may have moved");
	return section_end(s, err);
}
