// SPDX-License-Identifier: MIT
// Functions by their calls, as cProfile and its pstats print them, column by column: whoever reads
// those reads this.
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/report/called.h"
#include "cli/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH_MAX 100

// "150/15" where calls were recursive, else "150".
struct calls_words {
	char text[48];
};

static struct calls_words calls_words(uint64_t calls, uint64_t primitive)
{
	struct calls_words words;

	if (calls == primitive)
		snprintf(words.text, sizeof(words.text), "%" PRIu64, calls);
	else
		snprintf(words.text, sizeof(words.text), "%" PRIu64 "/%" PRIu64, calls, primitive);
	return words;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

// "/app/train.py:12(step)", "{built-in method builtins.len}"; the caller frees it.
static char *function_words(const struct called *row)
{
	const char *dot = strrchr(row->name, '.');
	char *words = NULL;
	int bytes = row->file ? asprintf(&words, "%s:%" PRIu32 "(%s)", row->file, row->line,
	                                 dot && dot[1] ? dot + 1 : row->name)
	                      : asprintf(&words, "%s", row->name);

	return bytes < 0 ? NULL : words;
}

static int print_function(const struct text *text, const struct called *row, const char *end)
{
	cleanup_free char *words = function_words(row);

	if (!words)
		return -1;
	terminal_print(&text->terminal, text->out, "%s", words);
	fputs(end, text->out);
	return 0;
}

static int print_row(const struct text *text, const struct called *row)
{
	fprintf(text->out, "%9s %8.3f ", calls_words(row->calls, row->primitive).text,
	        seconds(row->self_ns));
	if (row->calls)
		fprintf(text->out, "%8.3f ", seconds(row->self_ns) / (double)row->calls);
	else
		fprintf(text->out, "%8s ", "");
	fprintf(text->out, "%8.3f ", seconds(row->total_ns));
	if (row->primitive)
		fprintf(text->out, "%8.3f ", seconds(row->total_ns) / (double)row->primitive);
	else
		fprintf(text->out, "%8s ", "");
	return print_function(text, row, "\n");
}

static int print_rows(const struct text *text, const struct called_rows *rows, size_t shown)
{
	fputs("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
	      text->out);
	for (size_t i = 0; i < shown; i++)
		if (print_row(text, &rows->rows[i]) < 0)
			return -1;
	return 0;
}

static int print_edge(const struct text *text, const struct called_rows *rows,
                      const struct called_edge *edge, bool callers)
{
	fprintf(text->out, "%9s %8.3f %8.3f  ", calls_words(edge->calls, edge->primitive).text,
	        seconds(edge->self_ns), seconds(edge->total_ns));
	return print_function(text, &rows->rows[callers ? edge->caller : edge->callee], "\n");
}

// One row and whom it was called by, or whom it has called.
static int print_edges(const struct text *text, const struct called_rows *rows, size_t row,
                       bool callers, int width)
{
	cleanup_free char *words = function_words(&rows->rows[row]);
	bool first = true;

	if (!words)
		return -1;
	terminal_print(&text->terminal, text->out, "%s", words);
	fprintf(text->out, "%*s%s", (int)strlen(words) < width ? width - (int)strlen(words) : 0, "",
	        callers ? "<-" : "->");
	for (size_t i = 0; i < rows->edge_count; i++) {
		const struct called_edge *edge = &rows->edges[i];
		if ((callers ? edge->callee : edge->caller) != row)
			continue;
		fprintf(text->out, "%*s", first ? 0 : width + 2, "");
		first = false;
		if (print_edge(text, rows, edge, callers) < 0)
			return -1;
	}
	if (first)
		fputc('\n', text->out);
	return 0;
}

static int print_all_edges(const struct text *text, const struct called_rows *rows, size_t shown,
                           bool callers)
{
	int width = 0;

	for (size_t i = 0; i < shown; i++) {
		cleanup_free char *words = function_words(&rows->rows[i]);
		if (words && (int)strlen(words) >= width)
			width = (int)strlen(words) + 1;
	}
	width = width < NAME_WIDTH_MAX ? width : NAME_WIDTH_MAX;
	fprintf(text->out, "%-*s%s\n", width, "Function",
	        callers ? "was called by..." : "called...");
	fprintf(text->out, "%*s  %9s %8s %8s\n", width, "", "ncalls", "tottime", "cumtime");
	for (size_t i = 0; i < shown; i++)
		if (print_edges(text, rows, i, callers, width) < 0)
			return -1;
	return 0;
}

static void print_head(const struct text *text, const struct called_list *list)
{
	const struct called_rows *rows = list->rows;

	fprintf(text->out, "\n         %" PRIu64 " function calls ", rows->calls);
	if (rows->calls != rows->primitive)
		fprintf(text->out, "(%" PRIu64 " primitive calls) ", rows->primitive);
	fprintf(text->out, "in %.3f seconds\n\n   Ordered by: %s\n", seconds(rows->self_ns),
	        list->order);
	if (list->shown < rows->count)
		fprintf(text->out, "   List reduced from %zu to %zu due to restriction <%zu>\n",
		        rows->count, list->shown, list->shown);
	fputc('\n', text->out);
}

int text_called(const struct text *text, const struct called_list *list, struct error *err)
{
	const struct called_rows *rows = list->rows;
	int failed;

	if (!rows->count) {
		fputc('\n', text->out);
		text_say(text, "no calls were counted: record with --count-calls");
		return 0;
	}
	print_head(text, list);
	if (list->edges)
		failed = print_all_edges(text, rows, list->shown, list->callers);
	else
		failed = print_rows(text, rows, list->shown);
	fputc('\n', text->out);
	if (failed < 0)
		return error_set(err, ENOMEM, "could not print the calls");
	text_say(text,
	         "calls are exact and of the whole run, in all threads and processes; times are "
	         "sampled: CPU and waiting");
	return 0;
}
