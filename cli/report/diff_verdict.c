// SPDX-License-Identifier: MIT
// The answer in one sentence: by how much NEW is slower or faster, and what has most of that.
#include "base/format.h"
#include "cli/report/diff_report.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "cli/short_name.h"
#include "merge/numbers/statistics.h"
#include "merge/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH  60
#define BUSY_SHARE  0.1 // of wall time spent waiting for a free CPU: it is the machine's time
#define FEW_SAMPLES 100
#define TRIFLE      0.01 // of wall time

const struct diff_row *diff_report_run_row(const struct diff_report *report, const char *name)
{
	const struct diff *run = report->tables[DIFF_RUN];

	for (size_t i = 0; run && i < run->count; i++)
		if (strcmp(run->rows[i].name, name) == 0)
			return &run->rows[i];
	return NULL;
}

const struct diff_row *diff_report_best(const struct diff_report *report)
{
	static const char *const names[] = { DIFF_RUNS, DIFF_CALLS, DIFF_OWN };
	const struct diff_row *row = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !row; i++)
		row = diff_report_run_row(report, names[i]);
	return row;
}

const char *diff_row_word(const struct diff_row *row)
{
	if (row->verdict == DIFF_UNSURE)
		return "unsure";
	if (row->verdict == DIFF_SAME)
		return "same";
	if (!row->base.runs)
		return "new";
	if (!row->next.runs)
		return "gone";
	return row->change_ns > 0 ? "slower" : "faster";
}

void diff_report_name(const struct diff_row *row, char *buffer, size_t size)
{
	char place[256] = "", name[1024];
	int line = row->next.line ? row->next.line : row->base.line;

	short_name(row->name, name, sizeof(name));
	cleanup_free char *clean = format_clean(*name ? name : row->name, false);
	cleanup_free char *clipped =
		clean ? format_clip(clean, NAME_WIDTH, CLIP_SYMBOL, false) : NULL;
	place_words(row->file, line, row->module, place, sizeof(place));
	bool apart = *place && strcmp(place, row->name) != 0;
	snprintf(buffer, size, "%s%s%s", clipped ? clipped : row->name, apart ? " in " : "",
	         apart ? place : "");
}

static struct short_text seconds(double ns)
{
	return format_duration((uint64_t)fabs(ns));
}

// The rows that say why: what somebody can change, first.
static const struct diff_row *find_cause(const struct diff_report *report, double change,
                                         enum diff_by *by)
{
	static const enum diff_by tables[] = { DIFF_OWNER,  DIFF_FUNCTION, DIFF_OP,   DIFF_KERNEL,
		                               DIFF_SHAPE,  DIFF_LINE,     DIFF_FILE, DIFF_MODULE,
		                               DIFF_THREAD, DIFF_PROCESS };
	const struct diff_row *best = NULL;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]) && !best; t++) {
		const struct diff *diff = report->tables[tables[t]];
		for (size_t i = 0; diff && i < diff->count; i++) {
			const struct diff_row *row = &diff->rows[i];
			if (row->verdict != DIFF_CHANGED || (change && row->change_ns * change < 0))
				continue;
			if (!best || fabs(row->change_ns) > fabs(best->change_ns)) {
				best = row;
				*by = tables[t];
			}
		}
	}
	return best;
}

static void put_cause(const struct diff_row *row, enum diff_by by, char *buffer, size_t size)
{
	const char *of = by == DIFF_OWNER ? " of wall time" : "";
	char name[512];

	diff_report_name(row, name, sizeof(name));
	if (!row->base.runs)
		snprintf(buffer, size, "%s is new and takes %s%s", name, seconds(row->next.ns).text,
		         of);
	else if (!row->next.runs)
		snprintf(buffer, size, "%s is gone, which had taken %s%s", name,
		         seconds(row->base.ns).text, of);
	else
		snprintf(buffer, size, "%s takes %s %s%s (%+.1f %%)", name,
		         seconds(row->change_ns).text, row->change_ns > 0 ? "more" : "less", of,
		         100 * diff_ratio(row));
}

static void put_change(const struct diff_row *row, const char *what, char *buffer, size_t size)
{
	snprintf(buffer, size, "NEW is %.1f %% %s%s (%s against %s)", 100 * fabs(diff_ratio(row)),
	         row->change_ns > 0 ? "slower" : "faster", what, seconds(row->next.ns).text,
	         seconds(row->base.ns).text);
}

// Half of the interval of ROW alone, of its time in BASE.
static double resolution(const struct diff_report *report, const struct diff_row *row)
{
	double t = statistics_student_t(1 - report->confidence, row->freedom);

	return row->base.ns > 0 ? row->error_ns * t / row->base.ns : 0;
}

static void doubt(struct diff_report *report, const struct diff_row *own)
{
	const struct run *was = profile_run(report->base->parts[0].profile);
	const struct run *is = profile_run(report->next->parts[0].profile);
	const struct diff_row *wall = diff_report_run_row(report, DIFF_WALL);
	bool benched = own && strcmp(own->name, DIFF_OWN) != 0;
	bool repeated = benched || (report->base->count > 1 && report->next->count > 1);
	char *out = report->doubt;
	size_t size = sizeof(report->doubt);

	if (!benched && (was->samples < FEW_SAMPLES || is->samples < FEW_SAMPLES))
		snprintf(out, size, "Few samples (%s against %s): let it run longer.",
		         format_count(was->samples).text, format_count(is->samples).text);
	else if (own && own->verdict == DIFF_CHANGED)
		return;
	else if (!benched && wall && own &&
	         wall->next.ns - own->next.ns > BUSY_SHARE * wall->next.ns)
		snprintf(out, size,
		         "It waited %s for a free CPU (%s in BASE): measure on a machine without "
		         "other work, or repeat the runs.",
		         seconds(wall->next.ns - own->next.ns).text,
		         seconds(wall->base.ns - own->base.ns).text);
	else if (!repeated && own)
		snprintf(out, size,
		         "One run on each side tells apart what differs by more than %.0f %%: "
		         "repeat the runs to see less.",
		         ceil(100 * resolution(report, own)));
}

// What differs most of what was counted, in proportion.
static void put_amount(const struct diff_report *report, char *buffer, size_t size)
{
	const struct diff_amount *most = NULL;
	double change = 0;

	for (size_t i = 0; i < report->amount_count; i++) {
		const struct diff_amount *a = &report->amounts[i];
		double ratio = fabs(a->next - a->base) / fmax(a->next, a->base);
		if (ratio <= change)
			continue;
		change = ratio;
		most = a;
	}
	if (most)
		snprintf(buffer, size, "%s: %s against %s", most->name,
		         diff_amount_words(most, most->next).text,
		         diff_amount_words(most, most->base).text);
}

void diff_report_conclude(struct diff_report *report)
{
	const struct diff_row *wall = diff_report_run_row(report, DIFF_WALL);
	const struct diff_row *best = diff_report_best(report);
	char change[256] = "", because[600] = "";
	const struct diff_row *told = NULL;
	enum diff_by by = DIFF_FUNCTION;

	if (wall && wall->verdict == DIFF_CHANGED) {
		told = wall;
		put_change(wall, "", change, sizeof(change));
	} else if (best && best->verdict == DIFF_CHANGED) {
		bool own = strcmp(best->name, DIFF_OWN) == 0;
		told = best;
		put_change(best, own ? ", waits for a free CPU left out" : "", change,
		           sizeof(change));
	}
	char amount[400] = "";

	put_amount(report, amount, sizeof(amount));
	// A trifle does not explain the run where more of something is counted.
	const struct diff_row *cause = find_cause(report, told ? told->change_ns : 0, &by);
	if (cause && !told && *amount && wall &&
	    fabs(cause->change_ns) < TRIFLE * fmax(wall->base.ns, wall->next.ns))
		cause = NULL;
	if (cause)
		put_cause(cause, by, because, sizeof(because));
	if (told && cause)
		snprintf(report->sentence, sizeof(report->sentence), "%s: %s.", change, because);
	else if (told)
		snprintf(report->sentence, sizeof(report->sentence),
		         "%s; no single row of the tables accounts for it.", change);
	else if (cause && best && best->verdict == DIFF_SAME)
		snprintf(report->sentence, sizeof(report->sentence),
		         "NEW takes as long as BASE; but %s.", because);
	else if (cause)
		snprintf(report->sentence, sizeof(report->sentence),
		         "Whether NEW as a whole is slower cannot be determined; but %s.", because);
	else if (*amount)
		snprintf(report->sentence, sizeof(report->sentence),
		         "No significant change in time; but %s.", amount);
	else
		snprintf(report->sentence, sizeof(report->sentence), "No significant change.");
	doubt(report, best);
}
