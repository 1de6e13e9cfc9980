// SPDX-License-Identifier: MIT
#include "cli/report/gate.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/report/cut.h"
#include "cli/report/view.h"
#include "merge/rules/finding.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 256

// LINE without blanks, and without a comment behind a #. "ID VALUE" is "ID=VALUE".
static void tidy(char *line)
{
	char *out = line;
	bool split = false;

	line[strcspn(line, "#\r\n")] = '\0';
	for (const char *in = line; *in; in++) {
		if (isblank((unsigned char)*in)) {
			split = out > line;
			continue;
		}
		if (split && *in != '=' && *in != ',' && out[-1] != '=' && out[-1] != ',')
			*out++ = '=';
		split = false;
		*out++ = *in;
	}
	*out = '\0';
}

static int read_rules(const char *path, struct rule_limits *limits, struct error *err)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	char line[LINE_MAX_BYTES];

	if (!file)
		return error_set(err, errno, "could not read \"%s\"", path);
	for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
		if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n')
			return error_set(err, 0, "\"%s\", line %u: longer than %d bytes", path,
			                 number, LINE_MAX_BYTES - 2);
		tidy(line);
		if (*line && rule_limits_set(limits, line, err) < 0)
			return error_wrap(err, "\"%s\", line %u", path, number);
	}
	if (ferror(file))
		return error_set(err, errno, "could not read \"%s\"", path);
	return 0;
}

static int check_fail_on(const struct view *view, struct error *err)
{
	enum severity severity;

	for (size_t i = 0; i < view->fail_on.count; i++) {
		const char *name = view->fail_on.items[i];
		if (severity_parse(name, &severity) || rule_find(name) < rule_count())
			continue;
		error_set(err, 0, "--fail-on \"%s\": expected a rule, info, warn or error", name);
		return rule_hint(name, err);
	}
	return 0;
}

struct rule_limits *gate_limits(const struct view *view, struct error *err)
{
	cleanup(rule_limits) struct rule_limits *limits = rule_limits_new(err);

	if (!limits || check_fail_on(view, err) < 0)
		return NULL;
	if (view->rules_file && read_rules(view->rules_file, limits, err) < 0) {
		error_wrap(err, "--rules");
		return NULL;
	}
	for (size_t i = 0; i < view->rules.count; i++) {
		if (rule_limits_set(limits, view->rules.items[i], err) < 0) {
			error_wrap(err, "--rule");
			return NULL;
		}
	}
	return steal(limits);
}

// What --fail-on asks for by its name, or by its severity.
static bool is_wanted(const struct view *view, const struct finding *finding, bool by_name)
{
	enum severity severity;

	for (size_t i = 0; i < view->fail_on.count; i++) {
		const char *name = view->fail_on.items[i];
		bool is_severity = severity_parse(name, &severity);
		if (is_severity != by_name &&
		    (is_severity ? finding->severity >= severity
		                 : rule_at(rule_find(name)) == finding->rule))
			return true;
	}
	return false;
}

static bool is_doubt(const struct finding *finding)
{
	return finding->rule->subject == RULES_QUALITY;
}

// How to measure the program better is not in what is said of the program.
static void say(const char *option, const struct finding *finding)
{
	struct error text;

	error_set(&text, 0, "%s: %s: %s", option, finding->rule->id, finding->fact);
	if (is_doubt(finding))
		error_hint(&text, "%s", finding->advice);
	message_error(NULL, &text);
}

// A severity asks about the program: what it finds of the measurement is DOUBTFUL.
static bool has_found(const struct view *view, const struct findings *findings, bool *doubtful)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		bool named = is_wanted(view, finding, true);
		if (!named && !is_wanted(view, finding, false))
			continue;
		say("--fail-on", finding);
		if (named || !is_doubt(finding))
			any = true;
		else
			*doubtful = true;
	}
	return any;
}

static bool cannot_be_trusted(const struct findings *findings)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		if (!is_doubt(finding) || finding->severity < SEVERITY_WARN)
			continue;
		say("--strict", finding);
		any = true;
	}
	return any;
}

// No gate holds for a run of which nothing was measured.
static bool is_empty(const struct view *view, const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		if (!is_doubt(finding) || finding->rule->severity < SEVERITY_ERROR)
			continue;
		if (!is_wanted(view, finding, true) && !is_wanted(view, finding, false) &&
		    !view->strict)
			say("--fail-on", finding);
		return true;
	}
	return false;
}

// A gate that could not be looked at is not one that has held.
static bool was_not_asked(const struct view *view, const struct findings *findings)
{
	bool any = false;

	for (size_t i = 0; i < view->fail_on.count; i++) {
		size_t rule = rule_find(view->fail_on.items[i]);
		if (rule == rule_count() || findings->answers[rule].state != RULE_UNKNOWN)
			continue;
		message_warn("--fail-on %s: not evaluated: %s", rule_at(rule)->id,
		             findings->answers[rule].why);
		any = true;
	}
	return any;
}

int gate_status(const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, struct error *err)
{
	if (!view->fail_on.count && !view->strict)
		return 0;
	cleanup(findings) struct findings *findings = cut_findings(view, profile, limits, err);
	if (!findings)
		return -1;
	bool doubtful = false;
	bool found = has_found(view, findings, &doubtful), blind = was_not_asked(view, findings);
	bool untrusted = view->strict && cannot_be_trusted(findings);
	doubtful |= is_empty(view, findings);
	if (untrusted || (view->strict && blind))
		return EXIT_INCONCLUSIVE;
	return found ? EXIT_FINDING : doubtful ? EXIT_INCONCLUSIVE : 0;
}
