// SPDX-License-Identifier: MIT
#include "merge/rules/finding.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "merge/rules/evidence.h"
#include "merge/rules/price.h"
#include "merge/rules/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NS      (50 * UINT64_C(1000000)) /* of a saving that is worth a word */
#define BEFORE_SHARE  0.3 /* of the share of a finding about code: each of its own whole */
#define COVERED_SHARE 0.5 /* of a general finding's saving, that special ones have to explain */
#define BLOCKED_SHARE                                                                              \
	0.3 /* the same of a wait at the same place, by one that says whom it blocks */

void findings_free(struct findings *findings)
{
	if (!findings)
		return;
	free(findings->items);
	free(findings->answers);
	free(findings);
}

static bool is_beyond(const struct rule *rule, double value, double threshold)
{
	return rule->below ? value < threshold : value > threshold;
}

static const char *advice_of(const struct rule *rule, const struct finding *finding)
{
	const char *callee = NULL;

	for (size_t i = 0; i < finding->row_count && !callee; i++)
		callee = finding->rows[i].callee;
	for (const struct rule_callee *c = rule->by_callee; callee && c && c->callee; c++)
		if (strstr(callee, c->callee))
			return c->advice;
	return rule->advice;
}

// Nobody but its packagers changes a program of the system's.
static void advise_user(const struct evidence *e, struct finding *finding)
{
	char tool[64];

	if (tool_of(e->profile, tool, sizeof(tool)))
		tool_advise(tool, finding->advice, sizeof(finding->advice));
}

static void fire(struct findings *f, const struct evidence *e, const struct rule *rule,
                 const struct rule_limit *limit, struct finding *finding)
{
	finding->threshold = limit->threshold;
	finding->severity = rule->severity;
	if (limit->severe > 0 && is_beyond(rule, finding->value, limit->severe) &&
	    finding->severity < SEVERITY_ERROR)
		finding->severity++;
	if (!finding->advice[0] && rule->inside && !finding->function)
		advise_user(e, finding);
	if (!finding->advice[0])
		finding_advise(finding, "%s", advice_of(rule, finding));
	f->items[f->count++] = *finding;
}

// The lowest end of a price is all of the symptom, the place only one that has most of it.
static uint64_t at_other_places(const struct finding *finding)
{
	const struct finding_row *best = finding->row_count ? &finding->rows[0] : NULL;

	// Rows of what stacks do are parts of what was found.
	if (!finding->rule->doing || !best || !finding->function || best->share <= 0 ||
	    best->share >= 1)
		return 0;
	if (finding->of_cpu)
		return ns_whole((1 - best->share) * (double)finding->saving_ns);
	return ns_whole((1 / best->share - 1) * (double)best->ns);
}

// Where more CPUs would save it, what is saved is up to how far the work can be divided; less of it
// saves all that the place has.
static int find_range(const struct evidence *e, struct finding *finding, struct error *err)
{
	struct price_place place = { .function = finding->function,
		                     .file = finding->file,
		                     .line = finding->line,
		                     .children = finding->children };
	uint64_t saving = finding->saving_ns, margin = finding->saving_margin_ns;
	struct price price = { 0 };

	finding->asked_ns = e->wall_ns;
	if (!saving)
		return 0;
	place.elsewhere_ns = finding->elsewhere_ns + at_other_places(finding);
	// What others took is measured as it is, and no change of the program saves it.
	if (finding->rule->subject == RULES_QUALITY)
		price = (struct price){ saving > margin ? saving - margin : 0, saving + margin };
	else if (price_find_by(e->profile, &e->query, e->waits, &e->wall, &place, saving, margin,
	                       &price, err) < 0)
		return -1;
	// What code itself is like is no fault: it may have to be so.
	bool may_stay = finding->rule->otherwise && finding->rule->severity == SEVERITY_INFO;
	finding->saving_low_ns = finding->bound || may_stay ? 0 : price.low_ns;
	finding->saving_high_ns = price.high_ns;
	return 0;
}

static int ask(struct findings *f, const struct evidence *e, size_t index,
               const struct rule_limit *limit, struct error *err)
{
	const struct rule *rule = rule_at(index);
	struct rule_answer *answer = &f->answers[index];
	struct finding finding = { .rule = rule };

	answer->threshold = limit->threshold;
	if (limit->off) {
		answer->state = RULE_OFF;
		return 0;
	}
	enum measured measured = rule->measure(e, rule, &finding);
	if (measured == MEASURED_NOTHING)
		return 0;
	if (measured == MEASURED_LACKS) {
		answer->state = RULE_UNKNOWN;
		snprintf(answer->why, sizeof(answer->why), "%.*s", (int)sizeof(answer->why) - 1,
		         finding.fact);
		return 0;
	}
	// Shares that are added up may be more than there was.
	if (finding.saving_ns > e->wall_ns)
		finding.saving_ns = e->wall_ns;
	double part = finding.part > 0 ? finding.part : rule->part;
	if (part > 0)
		finding.saving_ns = (uint64_t)(part * (double)finding.saving_ns + 0.5);
	if (part > 0)
		finding.saving_margin_ns =
			(uint64_t)(part * (double)finding.saving_margin_ns + 0.5);
	answer->asked = true;
	answer->value = finding.value;
	if (!is_beyond(rule, finding.value, limit->threshold))
		return 0;
	// A tenth of a run that is over at once is nothing that anybody would change.
	if (finding.saving_ns && finding.saving_ns < LEAST_NS) {
		snprintf(answer->why, sizeof(answer->why), "it could save less than %.2f s",
		         (double)LEAST_NS / 1e9);
		return 0;
	}
	if (find_range(e, &finding, err) < 0)
		return -1;
	answer->state = RULE_FIRED;
	fire(f, e, rule, limit, &finding);
	return 0;
}

static bool is_within(const struct rule *special, const struct rule *general)
{
	for (int i = 0; i < RULE_WITHIN_MAX && special->within[i]; i++)
		if (strcmp(special->within[i], general->id) == 0)
			return true;
	return false;
}

// Another finding, worth a change, names the place of one that is about code itself.
static const struct finding *stands_before(const struct findings *f, const struct finding *code)
{
	for (size_t i = 0; code->rule->otherwise && code->function && i < f->count; i++) {
		const struct finding *other = &f->items[i];
		if (!other->rule->otherwise && !other->rule->potential &&
		    other->rule->subject != RULES_QUALITY && other->severity >= SEVERITY_WARN &&
		    other->function && strcmp(other->function, code->function) == 0 &&
		    strings_same(other->file, code->file) &&
		    other->share >= BEFORE_SHARE * code->share)
			return other;
	}
	return NULL;
}

// Special findings that together say most of what a general one says stand for it: the best of them
// is named.
static void cover(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct finding *general = &f->items[i];
		const struct finding *best = NULL;
		uint64_t sum = 0;
		for (size_t j = 0; j < f->count; j++) {
			const struct finding *special = &f->items[j];
			if (special->severity < general->severity ||
			    !is_within(special->rule, general->rule))
				continue;
			sum += special->saving_ns;
			if (!best || special->saving_ns > best->saving_ns)
				best = special;
		}
		// Who keeps others waiting at a place may be seen there for a part of the time
		// alone.
		bool same = best && best->rule->blocks && best->function && general->function &&
		            strcmp(best->function, general->function) == 0 &&
		            strings_same(best->file, general->file);
		double share = same ? BLOCKED_SHARE : COVERED_SHARE;
		if (best && (double)sum >= share * (double)general->saving_ns)
			general->covered = best->rule;
		const struct finding *before = stands_before(f, general);
		if (before)
			general->covered = before->rule;
	}
}

// What is said of the measurement changes no program: it comes after what does, unless nothing can
// be trusted.
static bool is_aside(const struct finding *finding)
{
	return finding->rule->subject == RULES_QUALITY && finding->severity < SEVERITY_ERROR;
}

static bool is_untrusted(const struct finding *finding)
{
	return finding->rule->subject == RULES_QUALITY && !is_aside(finding);
}

// What more CPUs could give is no time that was spent; and what the start takes is the less of a
// run the longer that is.
static bool is_apart(const struct finding *finding)
{
	return finding->rule->potential || finding->rule->once;
}

static int compare_findings(const void *a, const void *b)
{
	const struct finding *left = a, *right = b;

	if (!left->covered != !right->covered)
		return left->covered ? 1 : -1;
	if (is_aside(left) != is_aside(right))
		return is_aside(left) ? 1 : -1;
	if (is_untrusted(left) != is_untrusted(right))
		return is_untrusted(left) ? -1 : 1;
	if (is_apart(left) != is_apart(right))
		return is_apart(left) ? 1 : -1;
	// The seconds of the run that a finding explains say how bad it is; a severity says of what
	// kind it is.
	if (left->saving_ns != right->saving_ns)
		return left->saving_ns < right->saving_ns ? 1 : -1;
	if (left->severity != right->severity)
		return left->severity < right->severity ? 1 : -1;
	return strcmp(left->rule->id, right->rule->id);
}

static void rank(struct findings *f)
{
	cover(f);
	qsort(f->items, f->count, sizeof(*f->items), compare_findings);
	while (f->shown < f->count && !f->items[f->shown].covered)
		f->shown++;
}

static struct findings *findings_new(void)
{
	cleanup(findings) struct findings *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->answer_count = rule_count();
	f->items = calloc(f->answer_count + 1, sizeof(*f->items));
	f->answers = calloc(f->answer_count + 1, sizeof(*f->answers));
	return f->items && f->answers ? steal(f) : NULL;
}

// Behind the warm-up, if nobody asked for another window.
static struct query steady_query(const struct query *asked, const struct warmup_rows *warmup)
{
	struct query query = *asked;

	if (!query.from_ns && !query.to_ns && warmup->verdict == WARMUP_INCLUDED)
		query.from_ns = warmup->steady_ns;
	return query;
}

struct findings *query_findings(const struct profile *p, const struct query *query,
                                const struct rule_limits *limits, struct error *err)
{
	cleanup(evidence) struct evidence whole = { 0 }, steady = { 0 };
	cleanup(rule_limits) struct rule_limits *usual = limits ? NULL : rule_limits_new(err);
	cleanup(findings) struct findings *f = findings_new();

	if (!f) {
		error_set(err, ENOMEM, "could not look for what is wrong");
		return NULL;
	}
	struct query all = *query;
	all.from_ns = all.to_ns = 0;
	if ((!limits && !usual) || evidence_init(&whole, p, &all, err) < 0)
		return NULL;
	const struct query behind = steady_query(query, whole.warmup);
	bool apart = behind.from_ns || behind.to_ns;
	if (apart && evidence_init(&steady, p, &behind, err) < 0)
		return NULL;
	const struct evidence *rest = apart ? &steady : &whole;
	bool asked = query->from_ns || query->to_ns;
	for (size_t i = 0; i < rule_count(); i++) {
		const struct rule *rule = rule_at(i);
		bool of_all = rule->whole_run && !(asked && rule->narrows);
		if (ask(f, of_all ? &whole : rest, i, &(limits ? limits : usual)->limits[i], err) <
		    0)
			return NULL;
	}
	rank(f);
	f->from_ns = rest->query.from_ns;
	f->wall_ns = rest->wall_ns;
	return steal(f);
}
