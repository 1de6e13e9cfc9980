// SPDX-License-Identifier: MIT
#include "cli/text/text_counts.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text/text.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define NAMELESS 0.05 // of all instructions: worth a word

static const struct column function_columns[] = {
	{ "self", COLUMN_NUMBER, 0, 0 },         { "%", COLUMN_NUMBER, 0, 0 },
	{ "total", COLUMN_NUMBER, 0, 0 },        { "%", COLUMN_NUMBER, 0, 0 },
	{ "calls", COLUMN_NUMBER, 0, 0 },        { "function", COLUMN_TEXT, CLIP_SYMBOL, 3 },
	{ "where", COLUMN_TEXT, CLIP_START, 2 },
};

static const struct column line_columns[] = {
	{ "self", COLUMN_NUMBER, 0, 0 },
	{ "%", COLUMN_NUMBER, 0, 0 },
	{ "where", COLUMN_TEXT, CLIP_START, 1 },
};

__attribute__((format(printf, 2, 3))) static void say(const struct text_counts *text,
                                                      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say(text->terminal, text->out, format, args);
	va_end(args);
}

// With its sign where it is a difference.
static struct short_text number(const struct text_counts *text, int64_t value)
{
	struct short_text plain = format_count((uint64_t)(value < 0 ? -value : value)), out;

	if (!text->query.baseline || !value)
		return plain;
	snprintf(out.text, sizeof(out.text), "%c%.30s", value < 0 ? '-' : '+', plain.text);
	return out;
}

static void percent(struct table *table, int64_t part, uint64_t all)
{
	char words[32];

	snprintf(words, sizeof(words), "%.2f", all ? 100 * (double)part / (double)all : 0.0);
	table_cell(table, words);
}

static void add_row(const struct text_counts *text, struct table *table,
                    const struct count_row *row, uint64_t all)
{
	bool by_line = text->query.by == COUNTS_BY_LINE;
	char place[400];

	table_row(table, STYLE_PLAIN);
	table_cell(table, number(text, row->self).text);
	percent(table, row->self, all);
	if (text->query.by == COUNTS_BY_FUNCTION) {
		table_cell(table, number(text, row->total).text);
		percent(table, row->total, all);
		table_cell(table, number(text, row->calls).text);
		table_cell(table, row->name);
		place_words(row->file, 0, row->module, place, sizeof(place));
		table_cell(table, place);
		return;
	}
	if (by_line && row->line)
		snprintf(place, sizeof(place), "%s:%d", row->name, row->line);
	else
		snprintf(place, sizeof(place), "%s", row->name);
	table_cell(table, place);
}

static int print_rows(const struct text_counts *text, const struct count_rows *rows,
                      struct error *err)
{
	bool functions = text->query.by == COUNTS_BY_FUNCTION;
	size_t columns = functions ? sizeof(function_columns) / sizeof(function_columns[0])
	                           : sizeof(line_columns) / sizeof(line_columns[0]);
	cleanup(table) struct table *table =
		table_new(functions ? function_columns : line_columns, columns, text->terminal);
	uint64_t all = text->query.baseline ? rows->baseline_all : rows->all;

	if (!table)
		return error_set(err, ENOMEM, "could not print the counts");
	for (size_t i = 0; i < rows->count && i < text->top; i++)
		add_row(text, table, &rows->rows[i], all);
	fputc('\n', text->out);
	if (rows->count && table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the counts");
	if (!rows->count)
		say(text, text->query.baseline ? "No row differs." : "No row is asked for.");
	else if (rows->count > text->top)
		say(text, "and %s more rows: --top", format_count(rows->count - text->top).text);
	return 0;
}

static void print_heading(const struct text_counts *text, const struct count_rows *rows)
{
	const struct terminal *t = text->terminal;
	const struct run *run = profile_run(text->profile);
	cleanup_free char *clean = format_clean(run->command ? run->command : "?", t->ascii);
	cleanup_free char *command =
		clean ? format_clip(clean, (size_t)t->width - 20, CLIP_MIDDLE, t->ascii) : NULL;
	int status = run->exit_status;

	fprintf(text->out, "%sbottleneck count: %s%s\n", terminal_style(t, STYLE_BOLD),
	        command ? command : "?", terminal_style(t, STYLE_PLAIN));
	fprintf(text->out, "  %s instructions", format_count(rows->all).text);
	if (WIFSIGNALED(status))
		fprintf(text->out, " %s killed by signal %d", t->dot, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(text->out, " %s exit %d", t->dot, WEXITSTATUS(status));
	fputc('\n', text->out);
	if (text->baseline)
		say(text, "%s than %s, which has %s (%+.2f %%)",
		    number(text, (int64_t)(rows->all - rows->baseline_all)).text, text->baseline,
		    format_count(rows->baseline_all).text,
		    rows->baseline_all ? 100 * ((double)rows->all / (double)rows->baseline_all - 1)
		                       : 0.0);
}

static void print_limits(const struct text_counts *text, const struct count_rows *rows)
{
	double all = (double)rows->all;

	if (rows->noise)
		say(text,
		    "without %s of the dynamic loader and of look-ups of names, which vary from run "
		    "to run (--noise)",
		    number(text, rows->noise).text);
	if ((double)rows->unnamed > NAMELESS * all)
		say(text,
		    "%s %% of the instructions are in code without symbols, most in %s: install its "
		    "debug symbols (-dbgsym, -debuginfo), or compile with -g",
		    format_percent(rows->unnamed, rows->all).text,
		    rows->unnamed_module ? rows->unnamed_module : "code of no file");
	if ((double)rows->unlined > NAMELESS * all &&
	    (text->query.by == COUNTS_BY_LINE || text->query.by == COUNTS_BY_FILE))
		say(text,
		    "%s %% of the instructions are in code without lines, most in %s: install its "
		    "debug symbols (-dbgsym, -debuginfo), or compile with -g",
		    format_percent(rows->unlined, rows->all).text,
		    rows->unlined_module ? rows->unlined_module : "code of no file");
}

int text_counts(const struct text_counts *text, struct error *err)
{
	cleanup(count_rows) struct count_rows *rows =
		query_counts(text->profile, &text->query, err);

	if (!rows)
		return -1;
	print_heading(text, rows);
	if (print_rows(text, rows, err) < 0)
		return -1;
	print_limits(text, rows);
	return 0;
}
