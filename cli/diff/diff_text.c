// SPDX-License-Identifier: MIT
// The comparison for people: the answer, the two sides, the rows that changed.
#include "base/cleanup.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/diff/diff_print.h"
#include "cli/report/diff_report.h"
#include "cli/text/text.h"

#include <stdio.h>
#include <string.h>

#define SIDE_BESIDE 11 // columns of a side's line that are neither command nor facts
#define PATH_BESIDE 8  // and of its path's

static void print_side(const struct terminal *t, FILE *out, const struct section_cell *side)
{
	const char *more = side[DIFF_SIDE_MORE].text;
	cleanup_free char *facts = text_signs(t, side[DIFF_SIDE_FACTS].text);
	size_t room = (size_t)t->width - SIDE_BESIDE - format_width(facts ? facts : "");
	cleanup_free char *clean = format_clean(side[DIFF_SIDE_COMMAND].text, t->ascii);

	for (char *c = clean; c && *c; c++)
		*c = *c == '\n' || *c == '\t' ? ' ' : *c;
	cleanup_free char *command = clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
	cleanup_free char *path = format_clean(side[DIFF_SIDE_PATH].text, t->ascii);
	cleanup_free char *clipped =
		path ? format_clip(path, (size_t)t->width - PATH_BESIDE - strlen(more), CLIP_START,
	                           t->ascii)
		     : NULL;
	fprintf(out, "  %-4s  %s %s %s\n        %s%s%s%s\n", side[DIFF_SIDE_NAME].text,
	        command ? command : "?", t->dot, facts ? facts : "", terminal_style(t, STYLE_DIM),
	        clipped ? clipped : "", more, terminal_style(t, STYLE_PLAIN));
}

static void print_differences(const struct diff_report *report, const struct terminal *t, FILE *out)
{
	if (!report->difference_count)
		return;
	fprintf(out, "\n%snot measured alike%s\n", terminal_style(t, STYLE_BOLD),
	        terminal_style(t, STYLE_PLAIN));
	for (size_t i = 0; i < report->difference_count; i++) {
		const struct diff_difference *d = &report->differences[i];
		char line[512];
		snprintf(line, sizeof(line), "%s%s: %s, in BASE %s%s", d->grave ? "! " : "",
		         d->what, d->next, d->base,
		         d->grave ? ": the times are not of the same thing" : "");
		fputs("  ", out);
		terminal_wrap(t, out, line, 2, 4);
	}
}

static void print_gate(const struct diff_report *report, const struct terminal *t, FILE *out)
{
	const struct diff_gate *gate = &report->gate;
	char line[700];

	if (!gate->asked)
		return;
	snprintf(line, sizeof(line), "gate: %s beyond %.3g %% and %s%s%s",
	         gate->status == 0                 ? "nothing is slower"
	         : !*gate->reason                  ? "?"
	         : gate->status == EXIT_REGRESSION ? "slower"
	                                           : "cannot be determined",
	         100 * gate->ratio, format_duration((uint64_t)gate->least_ns).text,
	         *gate->reason ? ": " : "", gate->reason);
	fputc('\n', out);
	terminal_wrap(t, out, line, 0, 2);
}

static void print_answer(const struct diff_report *report, const struct terminal *t, FILE *out)
{
	fprintf(out, "%sbottleneck diff: ", terminal_style(t, STYLE_BOLD));
	terminal_wrap(t, out, report->sentence, 17, 2);
	fputs(terminal_style(t, STYLE_PLAIN), out);
	if (*report->doubt) {
		fputs("  ", out);
		terminal_wrap(t, out, report->doubt, 2, 2);
	}
}

static int print_sides(const struct diff_report *report, const struct text *text)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *s = diff_report_sides(&r, report, NULL);

	for (size_t i = 0; s && i < s->row_count; i++)
		print_side(&text->terminal, text->out, s->rows[i].cells);
	return s ? 0 : -1;
}

static int print_table(const struct diff_report *report, const struct text *text, enum diff_by by)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *s = diff_report_table(&r, report, by, NULL);

	return s ? text_section(text, s, NULL) : -1;
}

static int print_amounts(const struct diff_report *report, const struct text *text)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *s = diff_report_amounts(&r, report, NULL);

	return s ? text_section(text, s, NULL) : -1;
}

int diff_report_print(const struct diff_report *report, const struct terminal *terminal, FILE *out)
{
	const struct text text = { .out = out, .terminal = *terminal };

	print_answer(report, terminal, out);
	fputc('\n', out);
	if (print_sides(report, &text) < 0)
		return -1;
	print_differences(report, terminal, out);
	for (int by = 0; by < DIFF_TABLES && !report->quiet; by++)
		if (print_table(report, &text, (enum diff_by)by) < 0)
			return -1;
	if (!report->quiet && print_amounts(report, &text) < 0)
		return -1;
	print_gate(report, terminal, out);
	return 0;
}
