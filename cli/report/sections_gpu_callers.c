// SPDX-License-Identifier: MIT
// Who launched what ran on GPUs: by function, line, module, file, thread or process.
#include "cli/report/sections.h"

#include "base/format.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"

#include <stdio.h>
#include <string.h>

// Rows that GPU time has nobody in: the query knows only that no frame of it is shown.
#define NOBODY "[hidden]"

REPORT_KEEPS(rows, struct rows *);

struct callers {
	const struct view *view;
	enum query_by by;
};

static const char *title(enum query_by by)
{
	static const char *const titles[] = {
		[BY_FUNCTION] = "functions", [BY_LINE] = "lines",     [BY_MODULE] = "modules",
		[BY_FILE] = "files",         [BY_THREAD] = "threads", [BY_PROCESS] = "processes",
	};

	return titles[by];
}

static const char *place_of(const struct section *s, const struct row *row)
{
	char place[512];

	place_words(row->file, row->line, row->module, place, sizeof(place));
	return report_say(s->report, "%s", place);
}

static const char *name_of(const struct section *s, const struct row *row)
{
	const struct callers *callers = s->context;

	if (strcmp(row->name, NOBODY) == 0 && !callers->view->hide)
		return "[the call is not known]";
	return callers->by == BY_LINE ? place_of(s, row) : row->name;
}

static void make_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;
	const char *name = name_of(s, row);

	cell->text = *name ? name : row->name;
}

// Where a function is, unless it is called so.
static void make_place(const struct section *s, const void *row, struct section_cell *cell)
{
	const char *place = place_of(s, row);

	cell->text = strcmp(place, name_of(s, row)) == 0 ? "" : place;
}

#define TEXT(place) .at = { [READER_TEXT] = (place) }

static const struct section_column columns[] = {
	{ "self_ns", .heading = "self", .type = CELL_NS, TEXT(1), .none = { 1 },
	  FIELD(struct row, gpu_self_ns) },
	{ "self_share", .heading = "%", .type = CELL_SHARE, TEXT(2), .none = { 1 },
	  FIELD(struct row, gpu_self_ns) },
	{ "total_ns", .heading = "total", .type = CELL_NS, TEXT(3),
	  FIELD(struct row, gpu_total_ns) },
	{ "total_share", .heading = "%", .type = CELL_SHARE, TEXT(4),
	  FIELD(struct row, gpu_total_ns) },
	{ "beside_ns", .heading = "CPU + wait", .type = CELL_NS, .form = FORM_BESIDE, TEXT(5),
	  .none = { 1 }, FIELD(struct row, total) },
	{ "name", .heading = "launched by", .type = CELL_TEXT, TEXT(6), .room = 3,
	  .make = make_name },
	{ "number", .heading = "number", .type = CELL_LABEL, TEXT(7), FIELD(struct row, id) },
	{ "place", .heading = "", .type = CELL_TEXT, TEXT(8), .clip = CLIP_START, .room = 2,
	  .make = make_place },
};

static void add_columns(struct section *s, enum query_by by)
{
	bool numbers = by == BY_THREAD || by == BY_PROCESS;

	SECTION_COLUMNS(s, columns);
	if (!numbers)
		section_without(s, "number");
	if (by != BY_FUNCTION)
		section_without(s, "place");
	struct section_column *name = section_column(s, "name");
	if (name)
		name->clip = by == BY_FUNCTION ? CLIP_SYMBOL : numbers ? CLIP_MIDDLE : CLIP_START;
}

static void add_rows(struct section *s, const struct rows *rows, bool total)
{
	const struct view *view = s->report->view;
	uint64_t least = (uint64_t)(view_min_share(view, false) * (double)rows->gpu_all_ns);

	for (size_t i = 0; i < rows->count && i < view->top; i++) {
		const struct row *row = &rows->rows[i];
		uint64_t ns = total ? row->gpu_total_ns : row->gpu_self_ns;
		if (!ns || ns < least)
			break;
		section_row(s, row);
	}
}

struct section *section_gpu_callers(struct report *r, enum query_by by, struct error *err)
{
	const struct view *view = r->view;
	bool total = view->sort == VIEW_SORT_GPU_TOTAL;
	enum query_sort sort = total ? SORT_GPU_TOTAL : SORT_GPU_SELF;
	const struct rows *rows =
		keep_rows(r,
	                  by == BY_LINE ? rows_by_line(r->profile, view, sort, NULL, err)
	                                : rows_shown(r->profile, view, by, sort, err),
	                  err);
	struct callers callers = { view, by };

	if (!rows)
		return NULL;
	struct section *s =
		section_new(r, "gpu_callers",
	                    report_say(r, "%s by %sGPU time", title(by), total ? "total " : ""));
	s->shown = true;
	if (!rows->gpu_all_ns) {
		section_no_gpu(s);
		return section_end(s, err);
	}
	s->subtitle =
		report_say(r, "exact; %% of %s on GPUs%s", format_duration(rows->gpu_all_ns).text,
	                   view->thread || view->process ? "" : ", all threads");
	s->all = rows->gpu_all_ns;
	s->unit_ns = rows->gpu_all_ns;
	s->beside_ns = rows->all;
	s->context = &callers;
	add_columns(s, by);
	add_rows(s, rows, total);
	return section_end(s, err);
}
