// SPDX-License-Identifier: MIT
// What is wrong, worst first: the time that it holds, what was found where, what to do.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "cli/report/rule_words.h"
#include "merge/rules/finding.h"

#include <stdio.h>
#include <string.h>

#define INDENT_LEAST 5  /* where the terminal is too narrow for columns */
#define ROOM_LEAST   40 /* columns of a sentence beside them */

struct columns {
	size_t id, saving; /* their widths */
	int indent;        /* of sentences */
	bool narrow;       /* sentences are below the columns */
};

static struct short_text saving_of(const struct finding *finding)
{
	struct short_text words = { "" };

	if (finding->saving_ns)
		words = format_duration(finding->saving_ns);
	return words;
}

static struct columns fit(const struct text *text, const struct findings *f)
{
	struct columns c = { 0 };

	for (size_t i = 0; i < f->shown; i++) {
		size_t id = strlen(f->items[i].rule->id);
		size_t saving = format_width(saving_of(&f->items[i]).text);
		c.id = id > c.id ? id : c.id;
		c.saving = saving > c.saving ? saving : c.saving;
	}
	c.indent = (int)(INDENT_LEAST + c.id + 2 + c.saving + (c.saving ? 2 : 0));
	c.narrow = text->terminal.width - c.indent < ROOM_LEAST;
	if (c.narrow)
		c.indent = INDENT_LEAST;
	return c;
}

static void print_words(const struct text *text, const struct columns *c, const char *words,
                        int column)
{
	if (column < c->indent)
		fprintf(text->out, "%*s", c->indent - column, "");
	terminal_wrap(&text->terminal, text->out, words, c->indent, c->indent);
}

static enum style style_of(enum severity severity)
{
	return severity == SEVERITY_INFO   ? STYLE_DIM
	       : severity == SEVERITY_WARN ? STYLE_WARM
	                                   : STYLE_HOT;
}

static void print_finding(const struct text *text, const struct columns *c,
                          const struct finding *finding, size_t number)
{
	const struct terminal *t = &text->terminal;
	const struct short_text words = saving_of(finding);
	const char *saving = words.text;

	fprintf(text->out, "%3zu  %s%-*s%s", number, terminal_style(t, style_of(finding->severity)),
	        c->narrow ? 0 : (int)c->id, finding->rule->id, terminal_style(t, STYLE_PLAIN));
	if (c->narrow)
		fprintf(text->out, "%s%s\n", *saving ? "  " : "", saving);
	else
		fprintf(text->out, c->saving ? "  %-*s  " : "  %*s", (int)c->saving, saving);
	print_words(text, c, finding->fact, c->narrow ? 0 : c->indent);
	print_words(text, c, finding->advice, 0);
}

// What was looked at, where nothing was found.
static void print_nothing(const struct text *text, const struct findings *f)
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
	for (size_t s = 0; s < RULE_SUBJECTS; s++) {
		if (!seen[s] || used >= sizeof(words))
			continue;
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", gap,
		                         rule_subject_words(s));
		gap = ", ";
	}
	if (used < sizeof(words))
		snprintf(words + used, sizeof(words) - used, ".");
	fputs("  ", text->out);
	terminal_wrap(&text->terminal, text->out, words, 2, 2);
}

void text_findings(const struct text *text, const struct findings *f)
{
	char note[120] = "explained by bottleneck explain ID";
	struct columns columns = fit(text, f);

	if (f->from_ns && !text->view->from_ns)
		snprintf(note, sizeof(note),
		         "after %s, behind the warm-up; see bottleneck explain ID",
		         format_duration(f->from_ns).text);
	text_heading(text, f->shown > 1 ? "findings, worst first" : "findings",
	             f->shown ? note : "");
	for (size_t i = 0; i < f->shown; i++)
		print_finding(text, &columns, &f->items[i], i + 1);
	if (!f->shown)
		print_nothing(text, f);
}
