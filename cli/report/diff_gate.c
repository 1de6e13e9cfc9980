// SPDX-License-Identifier: MIT
// --regress: whether NEW is slower by more than the limits, for sure, perhaps, or not.
#include "base/cleanup.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/report/diff_report.h"
#include "merge/numbers/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum side {
	BELOW,  // it is not slower by so much
	ACROSS, // nobody can tell
	ABOVE
};

__attribute__((format(printf, 3, 4))) static void decide(struct diff_gate *gate, int status,
                                                         const char *format, ...)
{
	va_list args;

	gate->status = status;
	va_start(args, format);
	vsnprintf(gate->reason, sizeof(gate->reason), format, args);
	va_end(args);
}

static double limit_of(const struct diff_gate *gate, const struct diff_row *row)
{
	return fmax(gate->ratio * row->base.ns, gate->least_ns);
}

// Of ROW alone, to one side.
static enum side side_of(const struct diff_report *report, const struct diff_row *row)
{
	double t = statistics_student_t(2 * (1 - report->confidence), row->freedom);
	double limit = limit_of(&report->gate, row);

	if (row->change_ns - t * row->error_ns > limit)
		return ABOVE;
	return row->change_ns + t * row->error_ns <= limit ? BELOW : ACROSS;
}

static void fail(struct diff_report *report, const struct diff_row *row)
{
	char name[512];

	diff_report_name(row, name, sizeof(name));
	struct short_text more = format_duration((uint64_t)row->change_ns);
	if (row->base.ns > 0)
		decide(&report->gate, EXIT_REGRESSION, "%s: %s more than %s (+%.1f %%)", name,
		       more.text, format_duration((uint64_t)row->base.ns).text,
		       100 * diff_ratio(row));
	else
		decide(&report->gate, EXIT_REGRESSION, "%s: %s that was not there", name,
		       more.text);
}

static void doubt(struct diff_report *report, const struct diff_row *row)
{
	char name[512];

	if (report->gate.status)
		return;
	diff_report_name(row, name, sizeof(name));
	decide(&report->gate, EXIT_INCONCLUSIVE,
	       "%s: %s%s, known to %s: too noisy to tell whether that is beyond the limit of %s",
	       name, row->change_ns < 0 ? "-" : "+",
	       format_duration((uint64_t)fabs(row->change_ns)).text,
	       format_duration((uint64_t)row->error_ns).text,
	       format_duration((uint64_t)limit_of(&report->gate, row)).text);
}

// The run as a whole has to be known well enough; of a row of a table that looks worse, too.
static void judge_run(struct diff_report *report)
{
	const struct diff_row *wall = diff_report_run_row(report, DIFF_WALL);
	const struct diff_row *best = diff_report_best(report);

	if (wall && side_of(report, wall) == ABOVE)
		fail(report, wall);
	else if (best && side_of(report, best) == ABOVE)
		fail(report, best);
	else if (best && side_of(report, best) == ACROSS)
		doubt(report, best);
}

static void judge_table(struct diff_report *report, const struct diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];
		if (row->change_ns <= limit_of(&report->gate, row))
			continue;
		if (row->verdict == DIFF_CHANGED && side_of(report, row) == ABOVE &&
		    report->gate.status != EXIT_REGRESSION)
			fail(report, row);
		else
			doubt(report, row);
	}
}

void diff_report_judge(struct diff_report *report)
{
	const struct diff_row *best = diff_report_best(report);
	struct diff_gate *gate = &report->gate;

	if (!gate->asked)
		return;
	if (gate->least_ns <= 0 && best)
		gate->least_ns = DIFF_REGRESS_SHARE * best->base.ns;
	for (size_t i = 0; i < report->difference_count; i++) {
		const struct diff_difference *d = &report->differences[i];
		if (!d->grave)
			continue;
		decide(gate, EXIT_INCONCLUSIVE, "not measured alike: %s: %s against %s", d->what,
		       d->next, d->base);
		return;
	}
	judge_run(report);
	// Lines, and wall time by function, are the parts of functions: where those are shown, they
	// tell no more.
	for (int by = DIFF_RUN + 1; by < DIFF_TABLES; by++)
		if (report->tables[by] && ((by != DIFF_LINE && by != DIFF_OWNER) || report->chosen))
			judge_table(report, report->tables[by]);
}
