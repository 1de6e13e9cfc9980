// SPDX-License-Identifier: MIT
#include "merge/finding.h"

#include "base/error.h"
#include "merge/query.h"
#include "tests/merge_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(finding, .init = begin, .fini = end);

// The run's end: after WALL_MS.
static void finish(uint64_t wall_ms, uint32_t cpus)
{
	const struct run run = {
		.start_ns = 1000 * MS,
		.wall_ns = wall_ms * MS,
		.command = "app",
		.cpus = cpus,
		.samples = 1000,
		.off_cpu_exact = true,
	};

	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

static struct findings *look(const struct rule_limits *limits)
{
	struct error err = { 0 };
	struct findings *findings = query_findings(f.profile, &(struct query){ 0 }, limits, &err);

	cr_assert(findings != NULL, "%s", err.text);
	return findings;
}

// NULL if it has not fired.
static const struct finding *finding_of(const struct findings *findings, const char *id)
{
	cr_assert(rule_find(id) < rule_count(), "no rule %s", id);
	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].rule->id, id) == 0)
			return &findings->items[i];
	return NULL;
}

static const struct rule_answer *answer_of_rule(const struct findings *findings, const char *id)
{
	return &findings->answers[rule_find(id)];
}

// A rule on what stacks do: STACK, which is charged to LINE, at the threshold and above it.
struct planted {
	const char *id;
	enum metric metric;
	const char *stack;
	int line;
};

static void plant(const struct planted *planted, uint64_t ms)
{
	add(&f, 1, planted->metric, ms, planted->stack);
	f.now_ns += ms * MS;
	for (uint64_t i = ms; i < 1000; i += 10) {
		add(&f, 1, METRIC_ON_CPU, i + 10 > 1000 ? 1000 - i : 10, "main a.c:3 > work a.c:5");
		f.now_ns += 10 * MS;
	}
	finish(1000, 2);
}

static void expect_planted(const struct planted *planted)
{
	const struct rule *rule = rule_at(rule_find(planted->id));

	begin();
	plant(planted, (uint64_t)(rule->threshold * 10));
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, planted->id), "%s: at its threshold", planted->id);
	cr_expect_eq(answer_of_rule(silent, planted->id)->state, RULE_SILENT, "%s", planted->id);
	end();
	begin();
	plant(planted, (uint64_t)(rule->threshold * 10) + 2);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, planted->id);
	cr_assert(finding != NULL, "%s: above its threshold", planted->id);
	cr_expect_eq(finding->line, planted->line, "%s: line %d", planted->id, finding->line);
	cr_expect_float_eq(finding->value, rule->threshold + 0.2, 0.01, "%s: %f", planted->id,
	                   finding->value);
	cr_expect_eq(finding->saving_ns, (uint64_t)(rule->threshold * 10 + 2) * MS, "%s",
	             planted->id);
	cr_expect(strlen(finding->fact) > 0 && strlen(finding->advice) > 0, "%s", planted->id);
}

Test(finding, rules_on_what_stacks_do_fire_above_their_thresholds, .init = NULL, .fini = NULL)
{
	static const struct planted table[] = {
		{ "CPU-LOCK", METRIC_OFF_LOCK, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc",
		  7 },
		{ "CPU-SYS", METRIC_ON_CPU, "main a.c:3 > call a.c:8 > do_syscall_64@kernel", 8 },
		{ "IO-WAIT", METRIC_OFF_FILE, "main a.c:3 > load a.c:9 > read@libc", 9 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_planted(&table[i]);
}

Test(finding, a_wait_for_another_thread_is_no_lock)
{
	add(&f, 1, METRIC_OFF_LOCK, 400, "main a.c:3 > pthread_join@libc");
	add(&f, 1, METRIC_OFF_LOCK, 400, "main a.c:4 > pthread_cond_wait@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-LOCK"));
}

// What a callback of the user's own does is not what its caller in a library does.
Test(finding, the_users_own_code_ends_what_libraries_do)
{
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > qsort@libc > compare a.c:20");
	add(&f, 1, METRIC_OFF_FILE, 500, "main a.c:3 > qsort@libc > compare a.c:21 > read@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "IO-WAIT");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->line, 21);
	cr_expect_str_eq(finding->function, "compare");
	cr_expect_str_eq(finding->rows[0].callee, "read");
}

static void threads_of(unsigned count, uint64_t each_ms, uint64_t last_ms, uint64_t runnable_ms)
{
	for (unsigned i = 0; i < count; i++) {
		add_thread(&f, 10 + i, 1, 110 + i, "worker");
		add(&f, 10 + i, METRIC_ON_CPU, i + 1 == count ? last_ms : each_ms,
		    "run a.c:30 > work a.c:31");
		if (runnable_ms)
			add(&f, 10 + i, METRIC_OFF_RUNNABLE, runnable_ms,
			    "run a.c:30 > work a.c:31");
	}
}

Test(finding, threads_with_unequal_work)
{
	threads_of(4, 500, 833, 0); // 1.43 times the average
	finish(1000, 8);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-IMBALANCE"));
	end();
	begin();
	threads_of(4, 500, 1000, 0); // 1.6 times
	finish(1000, 8);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-IMBALANCE");
	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 1.6, 0.01);
	cr_expect_eq(finding->saving_ns / MS, 375);
}

Test(finding, more_threads_than_cpus)
{
	threads_of(4, 500, 500, 250); // (2 + 1) of 2 CPUs
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-OVERSUB"));
	end();
	begin();
	threads_of(4, 500, 500, 260);
	finish(1000, 2);
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "CPU-OVERSUB") != NULL);
}

Test(finding, where_others_have_the_cpus_the_queue_is_theirs)
{
	threads_of(4, 100, 100, 900);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-OVERSUB"));
}

Test(finding, one_thread_on_many_cpus)
{
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 8);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-SERIAL");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->severity, SEVERITY_INFO);
	cr_expect_eq(finding->saving_ns, 875 * MS);
	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-SERIAL"));
}

Test(finding, a_flat_profile)
{
	char stack[64];

	for (int i = 0; i < 25; i++) {
		snprintf(stack, sizeof(stack), "main a.c:3 > work%d a.c:%d", i, 10 + i);
		add(&f, 1, METRIC_ON_CPU, 40, stack);
	}
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-FLAT"), "4.0 %% is not below 4 %%");
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > other a.c:90");
	finish(1030, 2);
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "CPU-FLAT") != NULL);
}

Test(finding, severity_ranks_before_saving)
{
	add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:9 > read@libc");
	add(&f, 1, METRIC_OFF_LOCK, 250, "main a.c:3 > take a.c:7 > pthread_mutex_lock@libc");
	finish(1000, 8);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert_eq(findings->shown, 3);
	cr_expect_str_eq(findings->items[0].rule->id, "CPU-LOCK");
	cr_expect_str_eq(findings->items[1].rule->id, "IO-WAIT");
	cr_expect_str_eq(findings->items[2].rule->id, "CPU-SERIAL");
}

static void set(struct rule_limits *limits, const char *text)
{
	struct error err = { 0 };

	cr_assert(rule_limits_set(limits, text, &err) == 0, "%s: %s", text, err.text);
}

Test(finding, thresholds_are_the_users)
{
	cleanup(rule_limits) struct rule_limits *limits = rule_limits_new(NULL);

	add(&f, 1, METRIC_ON_CPU, 850, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 150, "main a.c:3 > load a.c:9 > read@libc");
	finish(1000, 2);
	set(limits, "io-wait=15");
	cleanup(findings) struct findings *silent = look(limits);
	cr_expect_null(finding_of(silent, "IO-WAIT"));
	cr_expect_float_eq(answer_of_rule(silent, "IO-WAIT")->threshold, 15, 1e-9);
	set(limits, "IO-WAIT=2,14");
	cleanup(findings) struct findings *severe = look(limits);
	cr_assert(finding_of(severe, "IO-WAIT") != NULL);
	cr_expect_eq(finding_of(severe, "IO-WAIT")->severity, SEVERITY_ERROR);
	set(limits, "IO-WAIT=off");
	cleanup(findings) struct findings *off = look(limits);
	cr_expect_null(finding_of(off, "IO-WAIT"));
	cr_expect_eq(answer_of_rule(off, "IO-WAIT")->state, RULE_OFF);
}

Test(finding, a_wrong_threshold_is_refused, .init = NULL, .fini = NULL)
{
	static const char *const wrong[] = { "IO-WAIT",      "IO-WAIT=",   "IO-WAIT=x",
		                             "IO-WAIT=-1",   "IO-WAIT=1,", "IO-WAIT=1x",
		                             "NO-RULE=1",    "=1",         "IO-WAIT=nan",
		                             "IO-WAIT=1,2,3" };
	cleanup(rule_limits) struct rule_limits *limits = rule_limits_new(NULL);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { 0 };
		cr_expect_eq(rule_limits_set(limits, wrong[i], &err), -1, "%s", wrong[i]);
		cr_expect(strlen(err.text) > 0, "%s", wrong[i]);
	}
	cr_expect_float_eq(limits->limits[rule_find("IO-WAIT")].threshold, 10, 1e-9);
}

Test(finding, what_cannot_be_asked_says_why)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = 100 * MS, .command = "app" };

	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > work a.c:5");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_eq(answer_of_rule(findings, "CPU-OVERSUB")->state, RULE_UNKNOWN);
	cr_expect(strlen(answer_of_rule(findings, "CPU-OVERSUB")->why) > 0);
}

Test(finding, each_rule_says_all_that_explain_prints, .init = NULL, .fini = NULL)
{
	for (size_t i = 0; i < rule_count(); i++) {
		const struct rule *rule = rule_at(i);
		const char *const texts[] = { rule->id,  rule->title,  rule->formula,
			                      rule->why, rule->advice, rule->source };
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
			cr_expect(texts[t] && *texts[t], "%s: text %zu", rule->id, t);
		cr_expect(rule->measure != NULL, "%s", rule->id);
		cr_expect_eq(rule_find(rule->id), i, "%s is there twice", rule->id);
		for (int w = 0; w < RULE_WITHIN_MAX && rule->within[w]; w++)
			cr_expect(rule_find(rule->within[w]) < rule_count(), "%s: within %s",
			          rule->id, rule->within[w]);
	}
}
