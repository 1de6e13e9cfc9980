// SPDX-License-Identifier: MIT
// Lines inside of a GPU's kernels, by samples of its instructions.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/report/source.h"
#include "cli/report/stall.h"
#include "cli/table.h"
#include "merge/query/query_gpu_lines.h"

#include <errno.h>
#include <stdio.h>

static const struct column columns[] = {
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "\xc2\xb1", COLUMN_NUMBER, 0, 0 }, // ±
	{ "mostly waits for", COLUMN_WORD, 0, 0 },
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "function", COLUMN_TEXT, CLIP_SYMBOL, 1 },
	{ "line", COLUMN_TEXT, CLIP_START, 1 },
	{ "source", COLUMN_TEXT, CLIP_END, 2 },
};

// Of narrow terminals only what is needed to find the place.
#define WIDE  110
#define SHORT 6

// "inner(float, int) in lines(float*)", where one is inlined in the other.
static void put_name(const struct gpu_line *line, char *name, size_t size)
{
	const char *kernel = line->kernel ? line->kernel : "[unknown]";

	if (line->inlined)
		snprintf(name, size, "%s in %s", line->inlined, kernel);
	else
		snprintf(name, size, "%s", kernel);
}

static void put_source(const struct text *text, const struct gpu_line *line, char *source,
                       size_t size)
{
	bool newer = false;

	const struct source_scope scope = source_scope_of(text->profile, text->view);
	if (!line->file ||
	    !source_line(&scope, line->file, (int)line->line, NULL, source, size, &newer))
		*source = '\0';
}

static void add_row(const struct text *text, struct table *table, const struct gpu_line_rows *rows,
                    const struct gpu_line *line)
{
	char name[2048], place[512] = "[no line]", source[512], margin[16];

	if (line->file)
		place_words(line->file, (int)line->line, NULL, place, sizeof(place));
	snprintf(margin, sizeof(margin), "%.1f", 100 * line->margin);
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_percent(line->samples, rows->samples).text);
	table_cell(table, margin);
	table_cell(table, stall_text(line->reason));
	table_cell(table, format_percent(line->reason_samples, line->samples).text);
	put_name(line, name, sizeof(name));
	table_cell(table, name);
	table_cell(table, place);
	if (text->terminal.width >= WIDE) {
		put_source(text, line, source, sizeof(source));
		table_cell(table, source);
	}
}

static void print_notes(const struct text *text, const struct gpu_line_rows *rows)
{
	uint64_t all = rows->samples + rows->dropped + rows->other + rows->lost;

	if (rows->unnamed) {
		text_say(text,
		         "%s %% are of kernels without lines: compile with nvcc -lineinfo (which "
		         "makes nothing slower)",
		         format_percent(rows->unnamed, rows->samples).text);
	}
	if (rows->other) {
		text_say(text, "beside these, %s %% of all samples are of the driver's own kernels",
		         format_percent(rows->other, all).text);
	}
	if (rows->dropped + rows->lost) {
		text_say(
			text,
			"%s %% of all samples were lost, most of them by the GPU, which could not keep up",
			format_percent(rows->dropped + rows->lost, all).text);
	}
}

static void head(const struct text *text, const struct gpu_line_rows *rows)
{
	char note[96];

	snprintf(note, sizeof(note), "%s samples of what its threads were at%s",
	         format_count(rows->samples).text,
	         text->view->from_ns || text->view->to_ns ? ", in the whole run" : "");
	text_heading(text, "lines inside GPU kernels", note);
}

int text_gpu_lines(const struct text *text, struct error *err)
{
	size_t count = sizeof(columns) / sizeof(columns[0]);

	cleanup(gpu_line_rows) struct gpu_line_rows *rows = query_gpu_lines(text->profile, err);
	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	cleanup(table) struct table *table =
		table_new(columns, text->terminal.width >= WIDE ? count : SHORT, &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		add_row(text, table, rows, &rows->rows[i]);
	head(text, rows);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	print_notes(text, rows);
	return 0;
}
