// SPDX-License-Identifier: MIT
// Who launched what ran on GPUs: by function, line, module, file, thread or process.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 7

// Rows that GPU time has nobody in: the query knows only that no frame of it is shown.
#define NOBODY "[hidden]"

struct layout {
	const struct text *text;
	const struct rows *rows;
	enum query_by by;
	bool total;            // they are ranked by it
	struct time_unit unit; // of GPU time
	struct time_unit beside;
};

void text_no_gpu(const struct text *text)
{
	fputc('\n', text->out);
	text_say(text, "no GPU: the program ran nothing there, or it could not be seen: "
	               "bottleneck-gpu(7)");
}

static const char *title(enum query_by by)
{
	static const char *const titles[] = {
		[BY_FUNCTION] = "functions", [BY_LINE] = "lines",     [BY_MODULE] = "modules",
		[BY_FILE] = "files",         [BY_THREAD] = "threads", [BY_PROCESS] = "processes",
	};

	return titles[by];
}

static bool has_number(const struct layout *layout)
{
	return layout->by == BY_THREAD || layout->by == BY_PROCESS;
}

// The second column of names: where a function is, or a thread's number.
static bool has_place(const struct layout *layout)
{
	return layout->by == BY_FUNCTION || has_number(layout);
}

static uint64_t ranked(const struct layout *layout, const struct row *row)
{
	return layout->total ? row->gpu_total_ns : row->gpu_self_ns;
}

static size_t make_columns(const struct layout *layout, struct column *columns)
{
	enum clip clip = layout->by == BY_FUNCTION ? CLIP_SYMBOL
	                 : has_number(layout)      ? CLIP_MIDDLE
	                                           : CLIP_START;
	size_t count = 0;

	columns[count++] = (struct column){ "self", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "%", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "total", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "%", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "CPU + wait", COLUMN_NUMBER, 0, 0 };
	columns[count++] = (struct column){ "launched by", COLUMN_TEXT, clip, 3 };
	if (has_number(layout))
		columns[count++] = (struct column){ "number", COLUMN_NUMBER, 0, 0 };
	else if (has_place(layout))
		columns[count++] = (struct column){ "", COLUMN_TEXT, CLIP_START, 2 };
	return count;
}

static void name_row(const struct layout *layout, const struct row *row, char *buffer, size_t size)
{
	if (strcmp(row->name, NOBODY) == 0 && !layout->text->view->hide)
		snprintf(buffer, size, "[the call is not known]");
	else if (layout->by == BY_LINE)
		place_words(row->file, row->line, row->module, buffer, size);
	else
		snprintf(buffer, size, "%s", row->name);
}

static void add_row(struct table *table, const struct layout *layout, const struct row *row)
{
	uint64_t all = layout->rows->gpu_all_ns, self = row->gpu_self_ns;
	char name[1024], place[512];

	name_row(layout, row, name, sizeof(name));
	table_row(table, STYLE_PLAIN);
	table_cell(table, self ? format_time(self, layout->unit).text : "");
	table_cell(table, self ? format_percent(self, all).text : "");
	table_cell(table, format_time(row->gpu_total_ns, layout->unit).text);
	table_cell(table, format_percent(row->gpu_total_ns, all).text);
	table_cell(table, row->total ? format_time(row->total, layout->beside).text : "");
	table_cell(table, *name ? name : row->name);
	if (has_number(layout))
		snprintf(place, sizeof(place), "%u", row->id);
	else
		place_words(row->file, row->line, row->module, place, sizeof(place));
	if (has_place(layout))
		table_cell(table, strcmp(place, name) == 0 ? "" : place);
}

static void add_rows(struct table *table, const struct layout *layout)
{
	const struct rows *rows = layout->rows;
	const struct view *view = layout->text->view;
	uint64_t least = (uint64_t)(view_min_share(view, false) * (double)rows->gpu_all_ns);

	for (size_t i = 0; i < rows->count && i < view->top; i++) {
		uint64_t ns = ranked(layout, &rows->rows[i]);
		if (!ns || ns < least)
			break;
		add_row(table, layout, &rows->rows[i]);
	}
}

// A line of Python launches through libraries: it has what they launch, as in text_lines.c.
static struct rows *rows_of(const struct text *text, enum query_by by, enum query_sort sort,
                            struct error *err)
{
	struct view view = *text->view;
	struct text own = *text;
	struct rows *rows = rows_shown(text->profile, text->view, by, sort, err);

	if (!rows || by != BY_LINE || view.user_code || !rows_have_python(rows))
		return rows;
	rows_free(rows);
	view.user_code = QUERY_OWN_CODE;
	own.view = &view;
	return rows_shown(own.profile, own.view, by, sort, err);
}

static void print_heading(const struct layout *layout)
{
	const struct view *view = layout->text->view;
	char name[64], note[128];

	snprintf(name, sizeof(name), "%s by %sGPU time", title(layout->by),
	         layout->total ? "total " : "");
	snprintf(note, sizeof(note), "exact; %% of %s on GPUs%s",
	         format_duration(layout->rows->gpu_all_ns).text,
	         view->thread || view->process ? "" : ", all threads");
	text_heading(layout->text, name, note);
}

int text_gpu_rows(const struct text *text, enum query_by by, struct error *err)
{
	bool total = text->view->sort == VIEW_SORT_GPU_TOTAL;
	cleanup(rows) struct rows *rows =
		rows_of(text, by, total ? SORT_GPU_TOTAL : SORT_GPU_SELF, err);
	struct column columns[COLUMNS_MAX];

	if (!rows)
		return -1;
	if (!rows->gpu_all_ns) {
		text_no_gpu(text);
		return 0;
	}
	const struct layout layout = {
		.text = text,
		.rows = rows,
		.by = by,
		.total = total,
		.unit = format_time_unit(rows->gpu_all_ns),
		.beside = format_time_unit(rows->all),
	};
	cleanup(table) struct table *table =
		table_new(columns, make_columns(&layout, columns), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	add_rows(table, &layout);
	print_heading(&layout);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}
