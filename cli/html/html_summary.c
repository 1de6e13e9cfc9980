// SPDX-License-Identifier: MIT
// What the page says first: the verdict, the findings, where the wall time went; and the
// sentences of the text report.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/section_json.h"
#include "cli/report/sections.h"

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

int html_summary(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_JSON);
	r.limits = h->limits;
	const struct section *s = section_summary(&r, err);

	if (!s)
		return -1;
	section_json_members(h->j, s, 0);
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
