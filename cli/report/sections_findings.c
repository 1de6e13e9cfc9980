// SPDX-License-Identifier: MIT
// What is wrong, worst first, and the rows that show it.
#include "cli/report/sections.h"

#include "cli/report/cut.h"
#include "cli/report/row_words.h"
#include "cli/report/rule_words.h"
#include "cli/report/verdict.h"
#include "cli/report/view.h"
#include "merge/rules/finding.h"

#include <stdio.h>

#define WIDE 100 /* narrower terminals get no ranges */

REPORT_KEEPS(findings, struct findings *);

static enum tone tone_of(enum severity severity)
{
	return severity == SEVERITY_INFO   ? TONE_DIM
	       : severity == SEVERITY_WARN ? TONE_WARM
	                                   : TONE_HOT;
}

static void make_id(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->text = finding->rule->id;
	cell->tone = (uint8_t)tone_of(finding->severity);
}

static void make_severity(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->text = severity_name(finding->severity);
}

static void make_title(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->text = finding->rule->title;
}

static void make_unit(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->text = rule_unit_key(finding->rule->unit);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->count = finding->line > 0 ? (uint64_t)finding->line : 0;
}

static void make_covered_by(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->text = finding->covered ? finding->covered->id : NULL;
}

// 0 where there is a saving: it may be nothing.
static void make_saving_low(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	(void)s;
	cell->count = finding->saving_low_ns;
	if (!finding->saving_ns)
		cell->flags |= CELL_UNKNOWN;
}

static void make_saving_range(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding *finding = data;

	cell->text = range_words(s->report, finding->saving_low_ns, finding->saving_high_ns,
	                         finding->saving_high_ns);
}

static const struct section_column columns[] = {
	{ "id", .heading = "finding", .type = CELL_TEXT, .at = { 1, 0, 1, 1 }, .make = make_id },
	{ "severity", .type = CELL_TEXT, .at = { 0, 0, 2, 2 }, .make = make_severity },
	{ "title", .type = CELL_TEXT, .at = { 0, 0, 3, 3 }, .make = make_title },
	{ "value", .type = CELL_NUMBER, .at = { 0, 0, 4, 4 }, FIELD(struct finding, value) },
	{ "threshold", .type = CELL_NUMBER, .at = { 0, 0, 5, 5 },
	  FIELD(struct finding, threshold) },
	{ "unit", .type = CELL_TEXT, .at = { 0, 0, 6, 6 }, .make = make_unit },
	{ "share", .type = CELL_FRACTION, .at = { 0, 0, 0, 7 }, .none = { 0, 0, 0, 1 },
	  FIELD(struct finding, share) },
	{ "saving_ns", .heading = "costs", .type = CELL_NS, .if_any = true, .at = { 2, 0, 8, 8 },
	  .none = { 1, 0, 1, 1 }, .form = FORM_DURATION, FIELD(struct finding, saving_ns) },
	{ "saving_range", .heading = "range", .type = CELL_TEXT, .right = true, .if_any = true,
	  .at = { 3, 0, 0, 0 }, .width_min = WIDE, .make = make_saving_range },
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 9, 9 }, FIELD(struct finding, function) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 10, 10 }, FIELD(struct finding, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 11, 11 }, .none = { 0, 0, 1, 1 },
	  .make = make_line },
	{ "fact", .heading = "", .type = CELL_TEXT, .at = { 4, 0, 12, 12 }, .prose = true,
	  FIELD(struct finding, fact) },
	{ "advice", .type = CELL_TEXT, .at = { 5, 0, 13, 13 }, .prose = true,
	  FIELD(struct finding, advice) },
	{ "covered_by", .type = CELL_TEXT, .at = { 0, 0, 14, 14 }, .make = make_covered_by },
	{ "saving_margin_ns", .type = CELL_NS, .if_any = true, .at = { 0, 0, 15, 15 },
	  .none = { 0, 0, 1, 1 }, FIELD(struct finding, saving_margin_ns) },
	{ "saving_low_ns", .type = CELL_NS, .if_any = true, .at = { 0, 0, 16, 16 },
	  .make = make_saving_low },
	{ "saving_high_ns", .type = CELL_NS, .if_any = true, .at = { 0, 0, 17, 17 },
	  .none = { 0, 0, 1, 1 }, FIELD(struct finding, saving_high_ns) },
};

static void make_row_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct finding_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static const struct section_column evidence_columns[] = {
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 0, 1 },
	  FIELD(struct finding_row, function) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 0, 2 }, FIELD(struct finding_row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 0, 3 }, .none = { 0, 0, 0, 1 },
	  .make = make_row_line },
	{ "callee", .type = CELL_TEXT, .at = { 0, 0, 0, 4 }, FIELD(struct finding_row, callee) },
	{ "ns", .type = CELL_NS, .at = { 0, 0, 0, 5 }, .none = { 0, 0, 0, 1 },
	  FIELD(struct finding_row, ns) },
	{ "share", .type = CELL_FRACTION, .at = { 0, 0, 0, 6 }, .none = { 0, 0, 0, 1 },
	  FIELD(struct finding_row, share) },
	{ "calls", .type = CELL_COUNT, .at = { 0, 0, 0, 7 }, .none = { 0, 0, 0, 1 },
	  FIELD(struct finding_row, calls) },
};

static const struct section *evidence_of(struct report *r, const struct finding *finding)
{
	struct section *s = section_new(r, "evidence", NULL);

	SECTION_COLUMNS(s, evidence_columns);
	section_rows(s, finding->rows, finding->row_count, sizeof(*finding->rows));
	return s;
}

// What was looked at, where nothing was found.
static void say_nothing(struct section *s, const struct findings *f)
{
	char words[400] = "";
	size_t asked = 0;
	bool seen[RULE_SUBJECTS] = { false };

	for (size_t i = 0; i < f->answer_count; i++) {
		if (f->answers[i].state == RULE_UNKNOWN || f->answers[i].state == RULE_OFF)
			continue;
		asked++;
		seen[rule_at(i)->subject] = true;
	}
	// The others ask for what this profile does not hold, as Python or a GPU.
	size_t used = (size_t)snprintf(words, sizeof(words),
	                               "Nothing stood out. %zu of %zu rules could be asked, about ",
	                               asked, rule_count());
	const char *gap = "";
	for (size_t subject = 0; subject < RULE_SUBJECTS; subject++) {
		if (!seen[subject] || used >= sizeof(words))
			continue;
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", gap,
		                         rule_subject_words(subject));
		gap = ", ";
	}
	if (used < sizeof(words))
		snprintf(words + used, sizeof(words) - used, ".");
	section_note(s, NOTE_BLOCK, false, "%s", words);
}

static void head(struct section *s, const struct findings *f)
{
	s->title = f->shown > 1 ? "findings, worst first" : "findings";
	if (!f->shown)
		return;
	s->subtitle = "explained by bottleneck explain ID";
	if (f->from_ns && !s->report->view->from_ns)
		s->subtitle = report_say(s->report,
		                         "after %s, in the steady state; see bottleneck explain ID",
		                         format_duration(f->from_ns).text);
}

struct section *section_findings(struct report *r, const struct findings *findings,
                                 struct error *err)
{
	struct section *s = section_new(r, "findings", NULL);
	bool people = r->reader == READER_TEXT;
	size_t count = people ? findings->shown : findings->count;

	s->form = SECTION_LIST;
	s->shown = true;
	SECTION_COLUMNS(s, columns);
	head(s, findings);
	for (size_t i = 0; i < count; i++) {
		struct section_row *row = section_row(s, &findings->items[i]);
		if (row && r->reader == READER_JSON)
			row->below = evidence_of(r, &findings->items[i]);
	}
	if (people && !count)
		say_nothing(s, findings);
	return section_end(s, err);
}

// One line has no room for what shares are without, which the heading says of all of them.
static const struct finding *without_base(struct report *r, const struct finding *finding)
{
	static const char base[] = " (excluding waits for a CPU)";
	const char *at = strstr(finding->fact, base);
	struct finding *shorter = at ? report_take(r, sizeof(*shorter)) : NULL;

	if (!shorter)
		return finding;
	*shorter = *finding;
	snprintf(shorter->fact, sizeof(shorter->fact), "%.*s%s", (int)(at - finding->fact),
	         finding->fact, at + strlen(base));
	return shorter;
}

// Those that the verdict does not say anyway, a line each.
struct section *section_other_findings(struct report *r, const struct findings *findings,
                                       const struct verdict *verdict, bool warned,
                                       struct error *err)
{
	struct section *s = section_new(r, "findings", "other findings");
	size_t left = 0;

	bool stripped = false;
	SECTION_COLUMNS(s, columns);
	section_without(s, "advice");
	struct section_column *fact = section_column(s, "fact");
	if (fact) {
		fact->prose = false;
		fact->room = 1;
		fact->clip = CLIP_END;
	}
	for (size_t i = 0; i < findings->shown; i++) {
		const struct finding *finding = &findings->items[i];
		// How far to trust the numbers is in the limits, unless they are of no use.
		bool doubt = finding->rule->subject == RULES_QUALITY &&
		             finding->severity < SEVERITY_ERROR;
		// The first warning of a warm-up is in the section of it, and for how long a server
		// was idle is behind what it does while it works.
		bool said = (warned && strcmp(finding->rule->id, "WARM-FIRST") == 0) ||
		            (strcmp(finding->rule->id, "IO-IDLE") == 0 &&
		             strstr(verdict->sentence, "idle, waiting for requests"));
		if (finding == verdict->said || finding == verdict->said_next || doubt || said)
			continue;
		if (s->row_count == VIEW_TOP_BRIEF) {
			left++;
			continue;
		}
		const struct finding *shorter = without_base(r, finding);
		stripped |= shorter != finding;
		section_row(s, shorter);
	}
	const char *steady = findings->from_ns && !r->view->from_ns
	                             ? report_say(r, "steady state, after %s; ",
	                                          format_duration(findings->from_ns).text)
	                             : "";
	s->subtitle = report_say(r, "%s%sbottleneck explain ID", steady,
	                         stripped ? "shares exclude waits for a CPU; " : "see ");
	s->shown = s->row_count != 0;
	if (left)
		section_note(s, NOTE_LINE, false, "and %zu more", left);
	return section_end(s, err);
}

struct section *section_sheet_findings(struct report *r, struct error *err)
{
	const struct findings *findings =
		keep_findings(r, cut_findings(r->view, r->profile, r->limits, err), err);

	return findings ? section_findings(r, findings, err) : NULL;
}

// What a page says first.
struct summary {
	const struct findings *findings;
	struct verdict verdict;
	uint64_t asked, rules;
};

static void make_verdict(const struct section *s, const void *data, struct section_cell *cell)
{
	static const struct section_column sentences[] = {
		{ "sentence", .type = CELL_TEXT, .at = { [READER_JSON] = 1 },
		  FIELD(struct verdict, sentence) },
		{ "next", .type = CELL_TEXT, .at = { [READER_JSON] = 2 },
		  FIELD(struct verdict, next) },
	};
	const struct summary *summary = data;
	struct section *verdict = section_new(s->report, "verdict", NULL);

	SECTION_COLUMNS(verdict, sentences);
	section_row(verdict, &summary->verdict);
	cell->section = verdict;
}

static void make_findings(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct summary *summary = data;

	cell->section = section_findings(s->report, summary->findings, NULL);
}

static void make_from(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct summary *)data)->findings->from_ns;
}

struct section *section_summary(struct report *r, struct error *err)
{
	static const struct section_column members[] = {
		{ "verdict", .type = CELL_ROW, .at = { [READER_JSON] = 1 }, .make = make_verdict },
		{ "findings", .type = CELL_ROWS, .at = { [READER_JSON] = 2 },
		  .make = make_findings },
		{ "rules_asked", .type = CELL_COUNT, .at = { [READER_JSON] = 3 },
		  FIELD(struct summary, asked) },
		{ "rules", .type = CELL_COUNT, .at = { [READER_JSON] = 4 },
		  FIELD(struct summary, rules) },
		{ "findings_from_ns", .type = CELL_NS, .at = { [READER_JSON] = 5 },
		  .make = make_from },
	};
	struct summary *summary = report_take(r, sizeof(*summary));
	const struct findings *findings =
		keep_findings(r, cut_findings(r->view, r->profile, r->limits, err), err);
	struct section *s = section_new(r, "summary", NULL);

	if (!findings)
		return NULL;
	if (!summary)
		return section_end(s, err);
	summary->findings = findings;
	summary->rules = rule_count();
	for (size_t i = 0; i < findings->answer_count; i++)
		summary->asked += findings->answers[i].state == RULE_SILENT ||
		                  findings->answers[i].state == RULE_FIRED;
	if (verdict_find(r->profile, r->view, findings, &summary->verdict, err) < 0)
		return NULL;
	SECTION_COLUMNS(s, members);
	section_row(s, summary);
	return section_end(s, err);
}
