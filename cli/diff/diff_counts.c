// SPDX-License-Identifier: MIT
#include "cli/diff/diff_counts.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/report/counts.h"
#include "cli/short_name.h"
#include "cli/text/text.h"
#include "merge/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct counts_query query_of(const struct diff_counts *counts)
{
	return (struct counts_query){
		.by = counts->by,
		.sort = counts->total ? COUNTS_SORT_TOTAL : COUNTS_SORT_SELF,
		.baseline = counts->base,
	};
}

// The row with most of a CHANGE in its direction; they come by amount.
static const struct count_row *find_cause(const struct count_rows *rows, int64_t change)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].self && (rows->rows[i].self > 0) == (change > 0))
			return &rows->rows[i];
	return NULL;
}

static void put_cause(const struct count_row *row, char *buffer, size_t size)
{
	char name[512], place[256] = "";

	buffer[0] = '\0';
	if (!row)
		return;
	short_name(row->name, name, sizeof(name));
	if (row->file)
		place_words(row->file, row->line, row->module, place, sizeof(place));
	snprintf(buffer, size, ": %s%s%s executes %s %s", *name ? name : row->name,
	         *place ? " in " : "", place, format_count((uint64_t)llabs(row->self)).text,
	         row->self > 0 ? "more" : "less");
}

static void conclude(const struct count_rows *rows, char *line, size_t size)
{
	double base = (double)rows->baseline_all, next = (double)rows->all;
	char cause[700];

	put_cause(rows->self ? find_cause(rows, rows->self) : NULL, cause, sizeof(cause));
	if (!rows->self)
		snprintf(line, size, "No change: the same instructions.");
	else
		snprintf(line, size, "NEW executes %s %s instructions (%s against %s, %+.3g %%)%s.",
		         format_count((uint64_t)llabs(rows->self)).text,
		         rows->self > 0 ? "more" : "fewer", format_count(rows->all).text,
		         format_count(rows->baseline_all).text,
		         base > 0 ? 100 * (next - base) / base : 0, cause);
}

static void print_answer(const char *sentence, const struct terminal *t, FILE *out)
{
	fprintf(out, "%sbottleneck diff: ", terminal_style(t, STYLE_BOLD));
	terminal_wrap(t, out, sentence, 17, 2);
	fprintf(out, "%s\n", terminal_style(t, STYLE_PLAIN));
}

static void judge(const struct diff_counts *counts, const struct count_rows *rows)
{
	struct diff_gate *gate = counts->gate;
	double limit = fmax(gate->ratio * (double)rows->baseline_all, gate->least_ns);

	if (!gate->asked || (double)rows->self <= limit)
		return;
	gate->status = EXIT_REGRESSION;
	snprintf(gate->reason, sizeof(gate->reason), "%s instructions more than %s",
	         format_count((uint64_t)rows->self).text, format_count(rows->baseline_all).text);
}

static int print_rows(const struct diff_counts *counts, const struct counts_query *query,
                      const struct terminal *terminal, FILE *out, struct error *err)
{
	const struct text text = { .out = out, .profile = counts->next, .terminal = *terminal };
	const struct counts_shown shown = { .query = *query,
		                            .baseline = counts->base_path,
		                            .top = counts->top };
	cleanup(report) struct report r = text_report(&text);
	const struct section *s = section_count_report(&r, &shown, err);

	return s ? text_section(&text, s, err) : -1;
}

int diff_counts_print(const struct diff_counts *counts, const struct terminal *terminal, FILE *out,
                      struct error *err)
{
	const struct counts_query query = query_of(counts), of_all = { .baseline = counts->base };
	cleanup(count_rows) struct count_rows *rows = query_counts(counts->next, &of_all, err);
	char sentence[1000];

	if (!rows)
		return -1;
	judge(counts, rows);
	conclude(rows, sentence, sizeof(sentence));
	if (!terminal)
		return diff_counts_json(counts, &query, sentence, out, err);
	print_answer(sentence, terminal, out);
	if (!counts->quiet && print_rows(counts, &query, terminal, out, err) < 0)
		return -1;
	if (counts->gate->asked)
		fprintf(out, "\ngate: %s%s\n", counts->gate->status ? "slower: " : "not slower",
		        counts->gate->reason);
	return 0;
}
