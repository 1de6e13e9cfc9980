// SPDX-License-Identifier: MIT
// A comment of a pull request: the answer, what has changed, what is wrong, where the time went. Of
// a screen or two, whatever the run.
#include "cli/export/exporter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/export/markdown.h"
#include "cli/export/other_run.h"
#include "cli/report/brief.h"
#include "cli/report/cell_words.h"
#include "cli/report/diff_report.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Of all of this, below 60 lines come.
#define FINDINGS_MAX    8
#define ROWS_MAX        5 // of a table
#define RUN_ROWS_MAX    6 // of what has changed of the run
#define DIFFERENCES_MAX 3

#define SENTENCE_BYTES  900
#define NAME_BYTES      160
#define COMMAND_BYTES   300
#define FACTS_BYTES     400

// "UNSURE" of the comparison is a result of its own here: nobody can tell.
static const char *word_of(const char *word)
{
	return strcmp(word, "unsure") == 0 ? "inconclusive" : word;
}

// Names are code; what else is in a table is in words of our own.
static bool is_name(const struct section_column *c)
{
	return c->type == CELL_PLACE || c->room || strcmp(c->id, "source") == 0;
}

static const char *cell_words(const struct section *s, const struct section_column *c,
                              const struct section_cell *cell, char *buffer, size_t size)
{
	static const struct cell_style style = { "\u00b1" };

	if (cell->flags & CELL_IDLE || section_cell_is_nothing(s, c, cell))
		return c->nothing ? c->nothing : "";
	if (c->type == CELL_TEXT)
		return strcmp(c->id, "verdict") == 0 ? word_of(cell->text) : cell->text;
	cell_value_words(s, c, cell, &style, buffer, size);
	return buffer;
}

static void put_cell(const struct section *s, const struct section_column *c,
                     const struct section_cell *cell, FILE *out)
{
	char buffer[1024];
	const char *words = cell_words(s, c, cell, buffer, sizeof(buffer));

	fputs(" ", out);
	if (is_name(c))
		markdown_put_code(out, words, NAME_BYTES);
	else
		markdown_put_text(out, words, NAME_BYTES);
	fputs(" |", out);
}

static bool any_in(const struct section *s, size_t column)
{
	char buffer[1024];

	for (size_t i = 0; i < s->row_count; i++)
		if (*cell_words(s, &s->columns[column], &s->rows[i].cells[column], buffer,
		                sizeof(buffer)))
			return true;
	return false;
}

// On a terminal some columns need none.
static const char *heading_of(const struct section_column *c)
{
	if (*c->heading)
		return c->heading;
	return strcmp(c->id, "verdict") == 0 ? "result"
	       : strcmp(c->id, "name") == 0  ? "what"
	                                     : "place";
}

// S as people see it in the widest terminal; what it says above and below is left out.
static void put_table(const struct section *s, FILE *out)
{
	if (!s->row_count)
		return;
	fputs("\n|", out);
	for (size_t i = 0; i < s->column_count; i++) {
		if (!any_in(s, i))
			continue;
		fputs(" ", out);
		markdown_put_text(out, heading_of(&s->columns[i]), NAME_BYTES);
		fputs(" |", out);
	}
	fputs("\n|", out);
	for (size_t i = 0; i < s->column_count; i++)
		if (any_in(s, i))
			fputs(cell_is_number(&s->columns[i]) ? " ---: |" : " --- |", out);
	fputs("\n", out);
	for (size_t row = 0; row < s->row_count; row++) {
		fputs("|", out);
		for (size_t i = 0; i < s->column_count; i++)
			if (any_in(s, i))
				put_cell(s, &s->columns[i], &s->rows[row].cells[i], out);
		fputs("\n", out);
	}
}

// A report for people with as many rows as a comment takes.
static struct report report_for(const struct exporting *e, const struct view *view)
{
	struct report r = report_of(e->profile, view, READER_TEXT);

	r.limits = e->limits;
	r.cut = e->cut;
	return r;
}

static int put_header(const struct exporting *e, const struct view *view, FILE *out,
                      struct error *err)
{
	cleanup(report) struct report r = report_for(e, view);
	const struct section *s = section_header(&r, err);

	if (!s || !s->row_count)
		return s ? 0 : -1;
	fputs("\nRun: ", out);
	markdown_put_code(out, s->rows[0].cells[0].text, COMMAND_BYTES);
	fputs(" \u00b7 ", out);
	markdown_put_text(out, s->rows[0].cells[1].text, FACTS_BYTES);
	if (*e->cut) {
		fputs(" \u00b7 ", out);
		markdown_put_text(out, e->cut, FACTS_BYTES);
	}
	fputs("\n", out);
	return 0;
}

static void put_signed(double ns, struct time_unit unit, FILE *out)
{
	fprintf(out, "%s%s", ns < 0 ? "-" : "+", format_time((uint64_t)fabs(ns), unit).text);
}

// "**inconclusive**: wall time 264 ms, +1 ms (95 % interval -86 to +88 ms)".
static void put_change(const struct diff_row *row, double confidence, FILE *out)
{
	double largest = fmax(fabs(row->change_ns) + row->margin_ns, row->next.ns);
	struct time_unit unit = format_time_unit((uint64_t)largest);

	fprintf(out, "\n**%s**: ", word_of(diff_row_word(row)));
	markdown_put_text(out, row->name, NAME_BYTES);
	fprintf(out, " %s, in the base ", format_time((uint64_t)row->next.ns, unit).text);
	fprintf(out, "%s: ", format_time((uint64_t)row->base.ns, unit).text);
	put_signed(row->change_ns, unit, out);
	fprintf(out, " (%.0f %% interval ", 100 * confidence);
	put_signed(row->change_ns - row->margin_ns, unit, out);
	fputs(" to ", out);
	put_signed(row->change_ns + row->margin_ns, unit, out);
	fputs(")\n", out);
}

static void put_differences(const struct diff_report *report, FILE *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < report->difference_count && shown < DIFFERENCES_MAX; i++) {
		const struct diff_difference *d = &report->differences[i];
		fprintf(out, "%s", shown++ ? "; " : "\nNot measured alike: ");
		markdown_put_text(out, d->what, NAME_BYTES);
		fputs(" ", out);
		markdown_put_text(out, d->next, NAME_BYTES);
		fputs(", in the base ", out);
		markdown_put_text(out, d->base, NAME_BYTES);
		fputs(d->grave ? " (the times are not of the same thing)" : "", out);
	}
	fputs(shown ? "\n" : "", out);
}

static int put_diff_table(struct report *r, const struct diff_report *report, enum diff_by by,
                          const char *title, FILE *out, struct error *err)
{
	const struct section *s = diff_report_table(r, report, by, err);

	if (!s)
		return -1;
	if (s->shown && s->row_count) {
		fprintf(out, "\n%s (\u00b1: %.0f %% interval, all rows together):\n", title,
		        100 * report->confidence);
		put_table(s, out);
	}
	return 0;
}

static int put_comparison(const struct exporting *e, const struct view *view,
                          const struct profile *base, FILE *out, struct error *err)
{
	struct view run_view = *view;
	cleanup(report) struct report r = report_for(e, &run_view);

	run_view.top = RUN_ROWS_MAX;
	const struct diff_report *report = diff_report_of(&r, e->asked, base, err);
	if (!report)
		return -1;
	const struct diff_row *best = diff_report_best(report);
	fputs("\n#### Compared with the base\n", out);
	if (best)
		put_change(best, report->confidence, out);
	fputs("\nIn short: ", out);
	markdown_put_text(out, report->sentence, SENTENCE_BYTES);
	if (*report->doubt) {
		fputs(" ", out);
		markdown_put_text(out, report->doubt, SENTENCE_BYTES);
	}
	fputs("\n", out);
	put_differences(report, out);
	if (put_diff_table(&r, report, DIFF_RUN, "The run", out, err) < 0)
		return -1;
	struct diff_report few = *report;
	few.top = ROWS_MAX;
	// Of owners and functions, the one that bottleneck diff takes its first sentence from.
	bool owners = few.tables[DIFF_OWNER] != NULL;
	return put_diff_table(&r, &few, owners ? DIFF_OWNER : DIFF_FUNCTION,
	                      owners ? "Wall time, by what the run waited for" : "Functions", out,
	                      err);
}

static void put_place(const struct brief *b, const struct finding *finding, FILE *out)
{
	char path[4096], place[4200];
	const char *known = brief_path(finding->file, b->run->directory, path, sizeof(path));

	if (!finding->function && !known)
		return;
	fputs(" at ", out);
	markdown_put_code(out, finding->function, NAME_BYTES);
	if (!known)
		return;
	fputs(finding->function ? ", " : "", out);
	if (finding->line > 0)
		snprintf(place, sizeof(place), "%s:%d", known, finding->line);
	markdown_put_code(out, finding->line > 0 ? place : known, NAME_BYTES);
}

static void put_finding(const struct brief *b, const struct finding *finding, FILE *out)
{
	char price[80];

	fprintf(out, "- **%s** (%s)", finding->rule->id, brief_level(finding));
	if (finding->saving_ns)
		fprintf(out, ", costs %s%s%s", format_duration(finding->saving_ns).text,
		        finding->saving_margin_ns ? " \u00b1" : "",
		        finding->saving_margin_ns ? format_duration(finding->saving_margin_ns).text
		                                  : "");
	if (finding->share > 0)
		fprintf(out, ", %.0f %% of %s", 100 * finding->share, brief_whole(finding));
	if (brief_has_price(finding))
		fprintf(out, ", a change there %s", brief_price(finding, price, sizeof(price)));
	put_place(b, finding, out);
	fputs(": ", out);
	markdown_put_text(out, finding->fact, sizeof(finding->fact));
	fputs(". ", out);
	markdown_put_text(out, finding->advice, sizeof(finding->advice));
	fputs("\n", out);
}

static void put_findings(const struct brief *b, FILE *out)
{
	size_t count = b->findings->shown, shown = count < FINDINGS_MAX ? count : FINDINGS_MAX;

	fputs("\n#### Findings\n\n", out);
	if (!count)
		fputs("Nothing stood out.\n", out);
	for (size_t i = 0; i < shown; i++)
		put_finding(b, &b->findings->items[i], out);
	if (shown < count)
		fprintf(out, "- and %zu more: bottleneck report\n", count - shown);
}

static int put_hotspots(const struct exporting *e, const struct view *view, FILE *out,
                        struct error *err)
{
	cleanup(report) struct report r = report_for(e, view);
	const struct section *s = section_hotspots(&r, BY_FUNCTION, SORT_SELF, err);

	if (!s)
		return -1;
	if (!s->shown)
		return 0;
	fputs("\n#### Hotspots\n", out);
	put_table(s, out);
	return 0;
}

static int put_limits(const struct exporting *e, const struct view *view, FILE *out,
                      struct error *err)
{
	cleanup(report) struct report r = report_for(e, view);
	const struct section *s = section_limits(&r, err);
	const char *gap = "\nLimits: ";

	if (!s)
		return -1;
	for (const struct section_note *note = s->notes; note; note = note->next) {
		fputs(gap, out);
		markdown_put_text(out, note->words, FACTS_BYTES);
		gap = " \u00b7 ";
	}
	fputs("\n", out);
	return 0;
}

static int write_markdown(const struct exporting *e, struct error *err)
{
	cleanup(profile) struct profile *base = NULL;
	cleanup(brief) struct brief b = { 0 };
	struct view view = *e->view;
	FILE *out = e->out;

	view_make_brief(&view);
	view.top = ROWS_MAX;
	view.sort = VIEW_SORT_NONE;
	if (other_run_check(e, "a comment", err) < 0 || other_run_read(e, &base, err) < 0 ||
	    brief_init(&b, e->profile, e->view, e->limits, err) < 0)
		return -1;
	fputs("### bottleneck: ", out);
	markdown_put_text(out, b.verdict.sentence, SENTENCE_BYTES);
	fputs("\n\nNext: ", out);
	markdown_put_text(out, b.verdict.next, SENTENCE_BYTES);
	fputs("\n", out);
	if (put_header(e, &view, out, err) < 0 ||
	    (base && put_comparison(e, &view, base, out, err) < 0))
		return -1;
	put_findings(&b, out);
	return put_hotspots(e, &view, out, err) < 0 ? -1 : put_limits(e, &view, out, err);
}

const struct exporter exporter_markdown = { .name = "markdown", .write = write_markdown };
