// SPDX-License-Identifier: MIT
#include "cli/report/report_json.h"

#include "cli/json.h"
#include "cli/report/counts.h"
#include "cli/report/cut.h"
#include "cli/report/repeats_json.h"
#include "cli/report/rule_words.h"
#include "cli/report/section_json.h"
#include "cli/report/sections.h"
#include "cli/report/verdict.h"
#include "cli/report/view.h"
#include "merge/query/query_cycles.h"
#include "merge/query/query_repeats.h"
#include "merge/rules/finding.h"

// 0 stands for what is not known, or does not apply.
static void put_known(struct json *j, const char *key, uint64_t number)
{
	if (number)
		json_put_count(j, key, number);
	else
		json_put_null(j, key);
}

static void put_rule(struct json *j, const struct rule *rule, const struct rule_answer *answer)
{
	static const char *const states[] = {
		[RULE_SILENT] = "silent",
		[RULE_FIRED] = "fired",
		[RULE_OFF] = "off",
		[RULE_UNKNOWN] = "not evaluated",
	};
	bool known = answer->state == RULE_FIRED || (answer->state == RULE_SILENT && answer->asked);

	json_open(j, NULL, '{');
	json_put_text(j, "id", rule->id);
	json_put_text(j, "state", states[answer->state]);
	if (known)
		json_put_number(j, "value", answer->value);
	else
		json_put_null(j, "value");
	json_put_number(j, "threshold", answer->threshold);
	json_put_text(j, "unit", rule_unit_key(rule->unit));
	json_put_text(j, "why", *answer->why ? answer->why : NULL);
	json_close(j);
}

static int put_run(struct json *j, const struct profile *profile, const struct view *view,
                   struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_run(&r, err);

	if (!s)
		return -1;
	section_json_row(j, s->id, s, 0);
	return 0;
}

static int put_environment(struct json *j, const struct profile *profile, const struct view *view,
                           struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_environment(&r, err);

	if (!s)
		return -1;
	section_json(j, s);
	return 0;
}

static void put_window(struct json *j, const struct view *view, const struct findings *findings)
{
	json_open(j, "window", '{');
	json_put_count(j, "from_ns", view->from_ns);
	put_known(j, "to_ns", view->to_ns);
	json_put_count(j, "steady_from_ns", findings->from_ns);
	json_close(j);
}

static int put_findings(struct json *j, const struct profile *profile, const struct view *view,
                        const struct findings *findings, struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_findings(&r, findings, err);

	if (!s)
		return -1;
	section_json(j, s);
	return 0;
}

static int put_all(struct json *j, const struct profile *profile, const struct view *view,
                   const struct verdict *verdict, const struct findings *findings,
                   struct error *err)
{
	json_open(j, NULL, '{');
	json_put_text(j, "schema", "bottleneck-report");
	json_put_integer(j, "schema_version", REPORT_JSON_VERSION);
	json_open(j, "verdict", '{');
	json_put_text(j, "sentence", verdict->sentence);
	json_put_text(j, "next", verdict->next);
	json_close(j);
	if (put_findings(j, profile, view, findings, err) < 0)
		return -1;
	json_open(j, "rules", '[');
	for (size_t i = 0; i < findings->answer_count; i++)
		put_rule(j, rule_at(i), &findings->answers[i]);
	json_close(j);
	if (put_run(j, profile, view, err) < 0 || put_environment(j, profile, view, err) < 0)
		return -1;
	put_window(j, view, findings);
	return 0;
}

// What the steps are and what they spent their time on; nothing if there are none.
static int put_steps(struct json *j, const struct profile *profile, const struct view *view,
                     struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_step_series(&r, err);

	if (!s)
		return -1;
	if (s->row_count)
		section_json_row(j, "steps", s, 0);
	return 0;
}

static int put_ops_of_cycle(struct json *j, const struct profile *profile, const struct view *view,
                            struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_SHEET);
	const struct section *ops = section_sheet_ops(&r, err);
	const struct section *functions = ops ? section_sheet_functions(&r, err) : NULL;

	if (!functions)
		return -1;
	json_open(j, "ops", '[');
	section_json_rows(j, ops);
	json_close(j);
	json_open(j, "functions", '[');
	section_json_rows(j, functions);
	json_close(j);
	return 0;
}

// Each cycle of the schedule with its tables; nothing without a schedule.
static int put_cycles(struct json *j, const struct profile *profile, const struct view *view,
                      struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = view->schedule ? section_cycles(&r, err) : NULL;
	cleanup(cycles) struct cycles *cycles =
		s ? query_cycles(profile, view->schedule, view->steps, err) : NULL;
	struct view window = *view;

	if (!view->schedule)
		return 0;
	if (!cycles)
		return -1;
	json_put_text(j, "schedule", view->schedule);
	json_open(j, "cycles", '[');
	for (size_t i = 0; i < cycles->count && i < s->row_count; i++) {
		window.cycle = (uint32_t)cycles->rows[i].number;
		window.from_ns = cycles->rows[i].begin_ns;
		window.to_ns = cycles->rows[i].end_ns;
		json_open(j, NULL, '{');
		section_json_row(j, "cycle", s, i);
		if (put_ops_of_cycle(j, profile, &window, err) < 0)
			return -1;
		json_close(j);
	}
	json_close(j);
	return 0;
}

static int put_limits(struct json *j, const struct profile *profile, const struct view *view,
                      struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_limits(&r, err);

	if (!s)
		return -1;
	section_json_notes(j, s);
	return 0;
}

static int put_wall(struct json *j, const struct profile *profile, const struct view *view,
                    struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_wall_summary(&r, err);

	if (!s)
		return -1;
	if (s->row_count)
		section_json_row(j, s->id, s, 0);
	else
		json_put_null(j, s->id);
	return 0;
}

// Nothing if the profile is not merged.
static int put_ranks(struct json *j, const struct profile *profile, const struct view *view,
                     struct error *err)
{
	cleanup(report) struct report r = report_of(profile, view, READER_JSON);
	const struct section *s = section_ranks_summary(&r, err);

	if (!s)
		return -1;
	if (s->row_count)
		section_json_row(j, s->id, s, 0);
	return 0;
}

int report_json(const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, const struct report_json_more *more, FILE *out,
                struct error *err)
{
	cleanup(findings) struct findings *findings = cut_findings(view, profile, limits, err);
	struct verdict verdict;
	struct json j = more ? json_start_compact(out) : json_start(out);
	struct view window = *view;

	if (!findings || cut_resolve(&window, profile, err) < 0 ||
	    verdict_find(profile, view, findings, &verdict, err) < 0)
		return -1;
	if (put_all(&j, profile, &window, &verdict, findings, err) < 0 ||
	    put_wall(&j, profile, &window, err) < 0 || put_steps(&j, profile, &window, err) < 0 ||
	    put_cycles(&j, profile, &window, err) < 0 || put_limits(&j, profile, view, err) < 0 ||
	    put_ranks(&j, profile, view, err) < 0)
		return -1;
	if (more && more->put(&j, more->context, err) < 0)
		return -1;
	json_close(&j);
	return 0;
}

bool report_json_is_measured(const struct profile *profile)
{
	return profile_has_counts(profile) || profile_has_repeats(profile);
}

int report_json_measured(struct json *j, const struct profile *profile, struct error *err)
{
	const struct counts_query query = { .by = COUNTS_BY_FUNCTION };

	return profile_has_counts(profile) ? counts_json_members(j, profile, &query, err)
	                                   : repeats_json_members(j, profile, err);
}
