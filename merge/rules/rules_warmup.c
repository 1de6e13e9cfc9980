// SPDX-License-Identifier: MIT
// Rules on warm-up: see merge/warmup/warmup.h for how that is found.
#include "merge/rules/evidence.h"

#include "base/share.h"

#include <stdio.h>

#define FEW_STEPS  10
#define EXACT_BINS 20 /* a step of fewer bins of time is not told apart well enough */

// The time in what there is to judge; 0 if there is nothing.
static uint64_t judged_ns(const struct warmup_rows *w)
{
	return w->steps_ns > w->ops_ns ? w->steps_ns : w->ops_ns;
}

static bool has_series(const struct evidence *e, struct finding *finding)
{
	if (judged_ns(e->warmup))
		return true;
	finding_lacks(
		finding,
		"the run has no ops, and no loop could be seen, whose turns could be compared");
	return false;
}

// "calls of step", "steps from step", "turns of the loop in main".
static void name_first(const struct warmup_rows *w, char *buffer, size_t size)
{
	const struct warmup_row *row = w->count ? &w->rows[0] : NULL;

	if (!row)
		snprintf(buffer, size, "calls");
	else if (row->kind == WARMUP_TURNS)
		snprintf(buffer, size, "turns of the loop%s%.100s", *row->name ? " in " : "",
		         row->name);
	else
		snprintf(buffer, size, "%s %.100s",
		         row->kind == WARMUP_STEPS ? "steps from" : "calls of", row->name);
}

static void add_rows(const struct evidence *e, struct finding *finding)
{
	for (size_t i = 0; i < e->warmup->count && i < FINDING_ROWS; i++) {
		const struct warmup_row *row = &e->warmup->rows[i];
		finding_add(finding, &(struct finding_row){ .function = row->name,
		                                            .file = row->file,
		                                            .line = row->line,
		                                            .ns = row->excess_ns,
		                                            .calls = row->calls });
	}
}

static enum measured measure_first(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct warmup_rows *w = e->warmup;
	char first[160];

	(void)rule;
	if (!has_series(e, finding))
		return MEASURED_LACKS;
	if (w->verdict != WARMUP_INCLUDED && w->verdict != WARMUP_TOO_SHORT)
		return MEASURED_NOTHING;
	finding->value = percent_of(w->excess_ns, judged_ns(w));
	add_rows(e, finding);
	name_first(w, first, sizeof(first));
	return finding_say(
		finding,
		"the first %s took longer than later ones: that is %.0f %% of the time in "
		"%s",
		first, finding->value,
		w->steps_ns <= w->ops_ns ? "ops"
		: w->ops_ns              ? "steps"
					 : "the loop");
}

static enum measured measure_none(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct warmup_rows *w = e->warmup;
	char first[160];

	(void)rule;
	if (!has_series(e, finding))
		return MEASURED_LACKS;
	finding->value = w->verdict == WARMUP_TOO_SHORT || w->verdict == WARMUP_NO_STEADY_STATE
	                         ? (double)w->count
	                         : 0;
	if (finding->value > 0)
		add_rows(e, finding);
	name_first(w, first, sizeof(first));
	return finding_say(finding, "%s did not reach a steady level before the run ended", first);
}

// Other processes have the CPUs at one time of the run and not at another: then it is not the
// program that becomes slower.
#define OTHERS_PERCENT 10 // of wall time, waited for them

static enum measured measure_drift(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct warmup_rows *w = e->warmup;
	char first[160];

	(void)rule;
	if (!has_series(e, finding))
		return MEASURED_LACKS;
	double others = percent_of(e->contention.critical.others_ns, e->wall_ns);
	if (w->verdict == WARMUP_SLOWS_DOWN && others > OTHERS_PERCENT)
		return finding_lacks(
			finding,
			"other processes used the CPUs for %.0f %% of wall time, which "
			"may have made steps slower",
			others);
	finding->value = w->verdict == WARMUP_SLOWS_DOWN ? (double)w->count : 0;
	if (finding->value > 0)
		add_rows(e, finding);
	name_first(w, first, sizeof(first));
	return finding_say(finding, "%s become slower throughout the run", first);
}

static enum measured measure_start(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	struct finding linking = { .rule = rule };
	enum measured measured = measure_doing(e, rule, &linking);
	char import[300], which[320] = "";

	if (measured != MEASURED)
		return measured;
	if (evidence_import(e, import, sizeof(import)))
		snprintf(which, sizeof(which), " (mostly %s)", import);
	// Imports are known with what they waited for a CPU, which is in no other share. Those of a
	// process that the run does not wait for are no part of its start.
	double wall = e->wall_ns ? (double)e->wall_ns : 1;
	uint64_t import_ns = evidence_doing(e, ACTIVITY(IMPORT), (1u << METRIC_COUNT) - 1);
	if (import_ns > e->imports->all)
		import_ns = e->imports->all;
	double imports = (double)import_ns / wall;
	uint64_t start_ns = import_ns + linking.saving_ns;
	finding->saving_ns = start_ns < e->wall_ns ? start_ns : e->wall_ns;
	finding->share = (double)finding->saving_ns / wall;
	finding->value = 100 * finding->share;
	if (!import_ns) {
		finding_advise(finding, "Do more work per run, link fewer libraries, or keep the "
		                        "program running.");
		return finding_say(finding, "dynamic linking takes %.0f %% of the run",
		                   finding->value);
	}
	return finding_say(finding,
	                   "start-up takes %.0f %% of the run: imports %.0f %%%s, dynamic "
	                   "linking %.0f %%",
	                   finding->value, 100 * imports, which, linking.value);
}

static enum measured measure_steps(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct steps *s = e->steps;

	(void)rule;
	if (!s->name || s->calls < FEW_STEPS)
		return finding_lacks(finding, "fewer than %d steps were seen", FEW_STEPS);
	if (s->median_ns < EXACT_BINS * s->bin_ns)
		return finding_lacks(finding, "the steps are too short for samples to tell apart");
	// Of two lengths each is looked at by itself: the one that most steps have.
	if (steps_have_two_lengths(s)) {
		const struct length *l = s->lengths.lengthy.count > s->lengths.brief.count
		                                 ? &s->lengths.lengthy
		                                 : &s->lengths.brief;
		finding->value = l->median > 0 ? 100 * (l->q3 - l->q1) / l->median : 0;
		return finding_say(finding,
		                   "the interquartile range of %zu steps of one of two lengths is "
		                   "%.0f %% of their median (%.1f ms)",
		                   l->count, finding->value, l->median / 1e6);
	}
	finding->value = percent_of(s->q3_ns - s->q1_ns, s->median_ns);
	return finding_say(
		finding,
		"the interquartile range of %llu steps is %.0f %% of their median (%.1f ms)",
		(unsigned long long)s->calls, finding->value, (double)s->median_ns / 1e6);
}

const struct rule rules_warmup[] = {
	{ .id = "WARM-FIRST",
	  .subject = RULES_WARMUP,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 2,
	  .whole_run = true,
	  .title = "this profile includes warm-up",
	  .formula =
	          "time that the slow first calls took beyond the level of later ones, as a share "
	          "of the time in ops; see bottleneck-warmup(7)",
	  .why = "A profile that includes warm-up ranks costs that a longer run does not have.",
	  .advice = "Look at the steady state alone (bottleneck report --from-steady), and add "
	            "warm-up iterations before what is measured.",
	  .source = "bottleneck-warmup(7)",
	  .measure = measure_first },
	{ .id = "WARM-NONE",
	  .subject = RULES_WARMUP,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_COUNT,
	  .threshold = 0,
	  .whole_run = true,
	  .title = "no steady state",
	  .formula = "ops with most of the time whose calls had not come to a level",
	  .why = "The measurement would change if the run went on.",
	  .advice = "Run more iterations, and measure after the first ones.",
	  .source = "bottleneck-warmup(7)",
	  .measure = measure_none },
	{ .id = "STAT-DRIFT",
	  .subject = RULES_WARMUP,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_COUNT,
	  .threshold = 0,
	  .whole_run = true,
	  .title = "steps become slower",
	  .formula =
	          "ops with most of the time whose calls take longer all the time; nothing where "
	          "the critical thread waits for CPUs that other processes have for 10 % of wall "
	          "time and more",
	  .why = "Growing work, fragmented memory, or a CPU that throttles: a longer run is "
	         "slower still.",
	  .advice = "Find what grows with each call: lists that are searched, strings that are "
	            "concatenated, caches that are never emptied.",
	  .source = "bottleneck-warmup(7)",
	  .measure = measure_drift },
	{ .id = "STAT-UNSTABLE",
	  .subject = RULES_WARMUP,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .severe = 25,
	  .title = "step times vary",
	  .formula = "the distance of the quartiles of the steps' durations, by their median",
	  .why = "A difference between two such runs may be noise.",
	  .advice = "See what differs in the slowest steps (bottleneck report), and whether the "
	            "machine has other work; compare medians of several runs.",
	  .source = "torch.utils.benchmark",
	  .measure = measure_steps },
	{ .id = "WARM-INIT",
	  .subject = RULES_WARMUP,
	  .severity = SEVERITY_INFO,
	  .once = true,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .whole_run = true,
	  .narrows = true,
	  .title = "start-up dominates the run",
	  .formula = "time in imports of Python's and in the dynamic linker, without that in "
	             "libraries of LD_PRELOAD, as a share of the critical thread's time",
	  .why = "Start-up takes the same time however much work follows.",
	  .advice = "Do more work per run, import less, or keep the program running.",
	  .source = "our choice",
	  .measure = measure_start,
	  .doing = ACTIVITY(LINK),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(PRELOAD) },
};

const size_t rules_warmup_count = sizeof(rules_warmup) / sizeof(rules_warmup[0]);
