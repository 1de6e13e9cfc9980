// SPDX-License-Identifier: MIT
// What a rule measures, from where on it speaks, why, and what to do.
#include "base/error.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/report/display.h"
#include "cli/report/rule_words.h"
#include "cli/terminal.h"
#include "merge/rules/rule.h"

#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH 10

static int widest_limit(void)
{
	char limit[80];
	size_t widest = 0;

	for (size_t i = 0; i < rule_count(); i++) {
		rule_limit_words(rule_at(i), limit, sizeof(limit));
		widest = strlen(limit) > widest ? strlen(limit) : widest;
	}
	return (int)widest;
}

static void print_list(const struct terminal *t)
{
	char limit[80];
	int width = widest_limit();

	for (size_t i = 0; i < rule_count(); i++) {
		const struct rule *rule = rule_at(i);
		if (i == 0 || rule->subject != rule_at(i - 1)->subject)
			printf("%s%s%s%s\n", i ? "\n" : "", terminal_style(t, STYLE_BOLD),
			       rule_subject_words(rule->subject), terminal_style(t, STYLE_PLAIN));
		rule_limit_words(rule, limit, sizeof(limit));
		printf("  %-14s  %-*s  %s\n", rule->id, width, limit, rule->title);
	}
}

static void print_part(const struct terminal *t, const char *label, const char *words)
{
	printf("  %-*s", LABEL_WIDTH, label);
	terminal_wrap(t, stdout, words, LABEL_WIDTH + 2, LABEL_WIDTH + 2);
}

static void print_rule(const struct terminal *t, const struct rule *rule)
{
	char words[400], limit[80];
	size_t used = 0;

	rule_limit_words(rule, limit, sizeof(limit));
	printf("%s%s%s  %s\n", terminal_style(t, STYLE_BOLD), rule->id,
	       terminal_style(t, STYLE_PLAIN), rule->title);
	print_part(t, "measures", rule->formula);
	print_part(t, "says so", limit);
	print_part(t, "limit by", rule->source);
	if (rule->part > 0) {
		snprintf(words, sizeof(words), "at most %.0f %% of that time: %s", 100 * rule->part,
		         rule->part_from);
		print_part(t, "saves", words);
	}
	print_part(t, "asks",
	           rule->narrows     ? "the whole run, or the window that is asked for"
	           : rule->whole_run ? "the whole run"
	                             : "the steady state, after the warm-up");
	print_part(t, "why", rule->why);
	print_part(t, "do", rule->advice);
	for (int i = 0; i < RULE_WITHIN_MAX && rule->within[i]; i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", i ? ", " : "",
		                         rule->within[i]);
	if (used)
		print_part(t, "part of", words);
	snprintf(words, sizeof(words), "--rule %s=VALUE%s, or --rule %s=off", rule->id,
	         rule->severe > 0 ? ",WORSE" : "", rule->id);
	print_part(t, "change", words);
}

static int explain(const struct display *display, const char *const *ids)
{
	struct terminal t = display_terminal(display, stdout);
	struct error err;

	if (!*ids)
		print_list(&t);
	for (size_t i = 0; ids[i]; i++) {
		size_t rule = rule_find(ids[i]);
		if (rule == rule_count()) {
			rule_unknown(ids[i], &err);
			message_error("explain", &err);
			return EXIT_REPORT;
		}
		if (i)
			putchar('\n');
		print_rule(&t, rule_at(rule));
	}
	return fflush(stdout) == 0 ? 0 : EXIT_REPORT;
}

static int run(int argc, char **argv)
{
	struct display display = { .color = COLOR_AUTO };
	const struct option_group group = display_options(&display);
	struct error err;
	int first = option_parse(&group, 1, argc, argv, OPTION_OPERANDS_MIX, &err);

	if (first < 0) {
		message_error("explain", &err);
		return EXIT_REPORT;
	}
	if (display.help)
		return command_help(&command_explain, &group, 1);
	return explain(&display, (const char *const *)argv + first);
}

const struct command command_explain = {
	.name = "explain",
	.usage = { "explain [OPTIONS] [ID ...]" },
	.summary = "explain a finding: how it is measured, why it matters, what to do",
	.run = run,
};
