// SPDX-License-Identifier: MIT
// What the page says first: the verdict, the findings, where the wall time went; and the
// sentences of the text report.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/cut.h"
#include "cli/report/report_json.h"
#include "cli/report/sections.h"
#include "cli/report/verdict.h"
#include "merge/rules/finding.h"

static int put_account(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = section_account_row(&r, err);

	if (!s)
		return -1;
	json_open(h->j, s->id, '{');
	html_put_members(h->j, s, 0);
	json_close(h->j);
	return 0;
}

static size_t rules_asked(const struct findings *findings)
{
	size_t asked = 0;

	for (size_t i = 0; i < findings->answer_count; i++)
		asked += findings->answers[i].state == RULE_SILENT ||
		         findings->answers[i].state == RULE_FIRED;
	return asked;
}

int html_summary(const struct html *h, struct error *err)
{
	cleanup(findings) struct findings *findings =
		cut_findings(h->view, h->profile, h->limits, err);
	struct verdict verdict;

	if (!findings || verdict_find(h->profile, h->view, findings, &verdict, err) < 0)
		return -1;
	json_open(h->j, "verdict", '{');
	json_put_text(h->j, "sentence", verdict.sentence);
	json_put_text(h->j, "next", verdict.next);
	json_close(h->j);
	if (report_json_findings(h->j, h->profile, h->view, findings, err) < 0)
		return -1;
	json_put_count(h->j, "rules_asked", rules_asked(findings));
	json_put_count(h->j, "rules", rule_count());
	json_put_count(h->j, "findings_from_ns", findings->from_ns);
	return put_account(h, err);
}

// Sentences need no terminal: the page breaks them itself.
static int put_sentences(const struct html *h, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = make(&r, err);

	if (!s)
		return -1;
	if (s->shown)
		html_put_notes(h->j, s);
	return 0;
}

int html_notes(const struct html *h, struct error *err)
{
	int failed = 0;

	json_open(h->j, "notes", '{');
	if (h->whole)
		failed = put_sentences(h, section_warmup, err);
	if (h->whole && !failed)
		failed = put_sentences(h, section_limits, err);
	json_close(h->j);
	return failed;
}
