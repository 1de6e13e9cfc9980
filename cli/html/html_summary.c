// SPDX-License-Identifier: MIT
// What the page says first: the verdict, the findings, where the wall time went; and the
// sentences of the text report.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "base/error.h"
#include "cli/report/cut.h"
#include "cli/report/report_json.h"
#include "cli/report/sections.h"
#include "cli/report/verdict.h"
#include "cli/text/text.h"
#include "merge/rules/finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_WIDTH 120

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

static void put_lines(struct json *j, const char *key, char *words)
{
	char *rest = words;

	json_open(j, key, '[');
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			json_put_text(j, NULL, line);
	json_close(j);
}

// The tables among the notes stand there as a wide terminal shows them.
static const struct printed {
	const char *key;
	section_maker *make;
	bool whole_only; // it is of the whole run
} sections[] = {
	{ "steps", section_steps, false },
	{ "imports", section_imports, false },
	{ "counters", section_counters, true },
	{ "devices", section_device_memory, true },
};

static int put_section(const struct html *h, const struct printed *section, struct error *err)
{
	cleanup_free char *words = NULL;
	size_t size;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return error_set(err, errno, "could not write the page");
	const struct text text = {
		.out = out,
		.profile = h->profile,
		.view = h->view,
		.terminal = { .width = TABLE_WIDTH,
		              .dot = "\u00b7",
		              .bar = "\u2502",
		              .dash = "\u2013",
		              .plus_minus = "\u00b1" },
	};
	int failed = text_made(&text, section->make, err);
	if (fclose(out) != 0 && !failed)
		failed = error_set(err, errno, "could not write the page");
	if (!failed && *words)
		put_lines(h->j, section->key, words);
	return failed;
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
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !failed; i++)
		if (h->whole || !sections[i].whole_only)
			failed = put_section(h, &sections[i], err);
	if (h->whole && !failed)
		failed = put_sentences(h, section_limits, err);
	json_close(h->j);
	return failed;
}
