// SPDX-License-Identifier: MIT
// The comparison for people: the answer, the two sides, the rows that changed.
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/diff/diff_report.h"
#include "cli/format.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/text/text.h"
#include "merge/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX  10
#define WIDE         80    // terminals below this get fewer columns
#define WIDEST       100   // and those below this no medians
#define UNSURE_SHARE 0.005 // of all time, that a row has to have changed by to be worth its line
#define UNSURE_ROWS  5     // of a whole report
#define NAME_SIZE    1024

struct layout {
	const struct diff_report *report;
	const struct terminal *terminal;
	FILE *out;
	const struct diff *diff;
	enum diff_by by;
	struct time_unit unit;
	bool calls, medians;
	struct column columns[COLUMNS_MAX];
	size_t count;
};

static const struct {
	const char *title, *name;
} titles[DIFF_TABLES] = {
	[DIFF_RUN] = { "the run", "" },
	[DIFF_FUNCTION] = { "functions", "function" },
	[DIFF_LINE] = { "lines", "line" },
	[DIFF_MODULE] = { "modules", "module" },
	[DIFF_FILE] = { "files", "file" },
	[DIFF_THREAD] = { "threads", "thread" },
	[DIFF_PROCESS] = { "processes", "process" },
	[DIFF_OP] = { "ops", "op" },
	[DIFF_SHAPE] = { "ops by shape", "op" },
	[DIFF_KERNEL] = { "what GPUs ran", "kernel" },
};

// "+0.29 s"
static struct short_text signed_time(double ns, struct time_unit unit)
{
	struct short_text out, size = format_time((uint64_t)fabs(ns), unit);

	snprintf(out.text, sizeof(out.text), "%s%.28s", ns < 0 ? "-" : "+", size.text);
	return out;
}

// "+9.8", "new", "gone"
static struct short_text relative(const struct diff_row *row)
{
	struct short_text out = { "" };
	double ratio = diff_ratio(row);

	if (!row->base.runs || row->base.ns <= 0)
		snprintf(out.text, sizeof(out.text), "new");
	else if (!row->next.runs)
		snprintf(out.text, sizeof(out.text), "gone");
	else if (ratio >= 9)
		snprintf(out.text, sizeof(out.text), "%.1fx", ratio + 1);
	else
		snprintf(out.text, sizeof(out.text), "%+.1f", 100 * ratio);
	return out;
}

// "1,000 > 1,200"; one number where they are alike.
static struct short_text calls(const struct diff_row *row)
{
	struct short_text out = { "" }, was = format_count((uint64_t)llround(row->base.calls)),
			  is = format_count((uint64_t)llround(row->next.calls));

	if (row->base.calls <= 0 && row->next.calls <= 0)
		return out;
	if (strcmp(was.text, is.text) == 0)
		return is;
	snprintf(out.text, sizeof(out.text), "%.13s > %.13s", was.text, is.text);
	return out;
}

// What a call takes, by the medians.
static struct short_text medians(const struct diff_row *row)
{
	struct short_text out = { "" };

	if (row->base.median_ns <= 0 || row->next.median_ns <= 0)
		return out;
	snprintf(out.text, sizeof(out.text), "%+.1f",
	         100 * (row->next.median_ns / row->base.median_ns - 1));
	return out;
}

static void add_column(struct layout *layout, const char *title, enum column_kind kind,
                       enum clip clip, int share)
{
	layout->columns[layout->count++] = (struct column){ title, kind, clip, share };
}

static bool has_place(const struct layout *layout)
{
	return layout->by == DIFF_FUNCTION;
}

static void make_columns(struct layout *layout)
{
	const struct diff *diff = layout->diff;
	bool wide = layout->terminal->width >= WIDE;
	enum clip clip =
		layout->by == DIFF_FUNCTION ? CLIP_SYMBOL
		: layout->by == DIFF_MODULE || layout->by == DIFF_FILE || layout->by == DIFF_LINE
			? CLIP_START
			: CLIP_MIDDLE;

	for (size_t i = 0; i < diff->count && layout->by != DIFF_RUN; i++) {
		const struct diff_row *row = &diff->rows[i];
		layout->calls |= wide && (row->base.calls > 0 || row->next.calls > 0);
		layout->medians |= layout->terminal->width >= WIDEST && row->base.median_ns > 0 &&
		                   row->next.median_ns > 0;
	}
	if (wide) {
		add_column(layout, "base", COLUMN_NUMBER, 0, 0);
		add_column(layout, "new", COLUMN_NUMBER, 0, 0);
	}
	add_column(layout, "change", COLUMN_NUMBER, 0, 0);
	if (wide)
		add_column(layout, layout->terminal->plus_minus, COLUMN_NUMBER, 0, 0);
	add_column(layout, "%", COLUMN_NUMBER, 0, 0);
	if (layout->calls)
		add_column(layout, "calls", COLUMN_NUMBER, 0, 0);
	if (layout->medians)
		add_column(layout, "a call %", COLUMN_NUMBER, 0, 0);
	add_column(layout, "", COLUMN_WORD, 0, 0);
	add_column(layout, titles[layout->by].name, COLUMN_TEXT, clip, 3);
	if (has_place(layout))
		add_column(layout, "", COLUMN_TEXT, CLIP_START, 2);
}

static enum style style_of(const struct diff_row *row)
{
	if (row->verdict != DIFF_CHANGED)
		return STYLE_DIM;
	return row->change_ns > 0 ? STYLE_HOT : STYLE_WARM;
}

static void name_line(const struct diff_row *row, char *name)
{
	place_words(row->file, row->next.line ? row->next.line : row->base.line, row->module, name,
	            NAME_SIZE);
	if (row->base.line && row->next.line && row->base.line != row->next.line) {
		size_t used = strlen(name);
		snprintf(name + used, NAME_SIZE - used, " (was %d)", row->base.line);
	}
}

static void add_name(struct table *table, const struct layout *layout, const struct diff_row *row)
{
	char name[NAME_SIZE], place[512];

	if (layout->by == DIFF_LINE && row->file)
		name_line(row, name);
	else if (layout->by == DIFF_OP || layout->by == DIFF_SHAPE)
		snprintf(name, sizeof(name), "%s%s%s", row->name, *row->shape ? " " : "",
		         row->shape);
	else
		snprintf(name, sizeof(name), "%s", row->name);
	table_cell(table, name);
	if (!has_place(layout))
		return;
	place_words(row->file, row->next.line ? row->next.line : row->base.line, row->module, place,
	            sizeof(place));
	table_cell(table, place_beside(row->name, place));
}

static void add_row(struct table *table, const struct layout *layout, const struct diff_row *row)
{
	bool wide = layout->terminal->width >= WIDE;
	enum style style = style_of(row);

	table_row(table, STYLE_PLAIN);
	if (wide) {
		table_cell(table, row->base.runs
		                          ? format_time((uint64_t)row->base.ns, layout->unit).text
		                          : "");
		table_cell(table, row->next.runs
		                          ? format_time((uint64_t)row->next.ns, layout->unit).text
		                          : "");
	}
	table_styled(table, signed_time(row->change_ns, layout->unit).text, style);
	if (wide)
		table_styled(table, format_time((uint64_t)row->margin_ns, layout->unit).text,
		             STYLE_DIM);
	table_styled(table, relative(row).text, style);
	if (layout->calls)
		table_cell(table, calls(row).text);
	if (layout->medians)
		table_cell(table, medians(row).text);
	table_styled(table, diff_row_word(row), style);
	add_name(table, layout, row);
}

// In a whole report, rows that tell nothing are left out, and of those that may tell something
// there are few.
static bool is_shown(const struct layout *layout, const struct diff_row *row, size_t *unsure)
{
	if (layout->report->chosen || layout->by == DIFF_RUN || row->verdict == DIFF_CHANGED)
		return true;
	if (row->verdict == DIFF_SAME ||
	    fabs(row->change_ns) < UNSURE_SHARE * layout->diff->base_ns)
		return false;
	return (*unsure)++ < UNSURE_ROWS;
}

static size_t add_rows(struct table *table, const struct layout *layout)
{
	size_t added = 0, unsure = 0;

	for (size_t i = 0; i < layout->diff->count && added < layout->report->top; i++) {
		const struct diff_row *row = &layout->diff->rows[i];
		if (!is_shown(layout, row, &unsure))
			continue;
		add_row(table, layout, row);
		added++;
	}
	return added;
}

static void print_heading(const struct layout *layout)
{
	const struct terminal *t = layout->terminal;
	const struct diff_report *r = layout->report;
	char note[128] = "";

	if (layout->by == DIFF_RUN)
		snprintf(note, sizeof(note), "%s: %.0f %% interval, all rows together",
		         t->plus_minus, 100 * r->confidence);
	else if (layout->by != DIFF_KERNEL)
		snprintf(note, sizeof(note), "by %s time%s", r->total ? "total" : "self",
		         layout->by == DIFF_OP || layout->by == DIFF_SHAPE ? ""
		                                                           : ", CPU + waiting");
	fprintf(layout->out, "\n%s%s%s  %s%s%s\n", terminal_style(t, STYLE_BOLD),
	        titles[layout->by].title, terminal_style(t, STYLE_PLAIN),
	        terminal_style(t, STYLE_DIM), note, terminal_style(t, STYLE_PLAIN));
}

static double largest_of(const struct diff *diff)
{
	double most = 0;

	for (size_t i = 0; i < diff->count; i++)
		most = fmax(most, fmax(diff->rows[i].base.ns, diff->rows[i].next.ns));
	return most;
}

static size_t count_changed(const struct diff *diff)
{
	size_t changed = 0;

	for (size_t i = 0; i < diff->count; i++)
		changed += diff->rows[i].verdict == DIFF_CHANGED;
	return changed;
}

static int print_table(const struct diff_report *report, const struct terminal *terminal, FILE *out,
                       enum diff_by by)
{
	const struct diff *diff = report->tables[by];
	struct layout layout = {
		.report = report, .terminal = terminal, .out = out, .diff = diff, .by = by
	};

	if (!diff || (!diff->count && !report->chosen))
		return 0;
	layout.unit = format_time_unit((uint64_t)largest_of(diff));
	make_columns(&layout);
	cleanup(table) struct table *table = table_new(layout.columns, layout.count, terminal);
	if (!table)
		return -1;
	size_t shown = add_rows(table, &layout);
	print_heading(&layout);
	if (shown && table_print(table, out, 2) < 0)
		return -1;
	if (by != DIFF_RUN && shown < diff->count)
		fprintf(out, "  %s of %s rows have changed%s\n",
		        format_count(count_changed(diff)).text, format_count(diff->count).text,
		        shown ? "; the others are not shown" : "");
	return 0;
}

static void print_side(const struct terminal *t, FILE *out, const char *name,
                       const struct diff_side *side, const char *const *paths)
{
	const struct run *run = profile_run(side->parts[0].profile);
	double wall = 0, cpu = 0;
	char facts[512];

	for (size_t i = 0; i < side->count; i++) {
		const struct run *one = profile_run(side->parts[i].profile);
		wall += (double)one->wall_ns / (double)side->count;
		cpu += (double)one->target_cpu_ns / (double)side->count;
	}
	snprintf(facts, sizeof(facts), "%s wall %s %s CPU", format_duration((uint64_t)wall).text,
	         t->dot, format_duration((uint64_t)cpu).text);
	if (side->count > 1)
		snprintf(facts + strlen(facts), sizeof(facts) - strlen(facts),
		         " %s mean of %zu runs", t->dot, side->count);
	size_t room = (size_t)t->width - 11 - format_width(facts);
	cleanup_free char *clean = format_clean(run->command ? run->command : "?", t->ascii);
	for (char *c = clean; c && *c; c++)
		*c = *c == '\n' || *c == '\t' ? ' ' : *c;
	cleanup_free char *command = clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
	const char *more = side->count > 1 ? ", ..." : "";
	cleanup_free char *path = format_clean(paths[0], t->ascii);
	cleanup_free char *clipped =
		path ? format_clip(path, (size_t)t->width - 8 - strlen(more), CLIP_START, t->ascii)
		     : NULL;
	fprintf(out, "  %-4s  %s %s %s\n        %s%s%s%s\n", name, command ? command : "?", t->dot,
	        facts, terminal_style(t, STYLE_DIM), clipped ? clipped : "", more,
	        terminal_style(t, STYLE_PLAIN));
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

int diff_report_print(const struct diff_report *report, const struct terminal *terminal, FILE *out)
{
	print_answer(report, terminal, out);
	fputc('\n', out);
	print_side(terminal, out, "BASE", report->base, report->base_paths);
	print_side(terminal, out, "NEW", report->next, report->next_paths);
	print_differences(report, terminal, out);
	for (int by = 0; by < DIFF_TABLES && !report->quiet; by++)
		if ((by != DIFF_RUN || !report->chosen || report->tables[DIFF_RUN]->count) &&
		    print_table(report, terminal, out, (enum diff_by)by) < 0)
			return -1;
	print_gate(report, terminal, out);
	return 0;
}
