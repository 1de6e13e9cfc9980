// SPDX-License-Identifier: MIT
#include "tests/unit/finding_fixture.h"

#include "base/error.h"
#include "merge/profile/profile_data.h"

#include <criterion/criterion.h>
#include <string.h>

struct fixture f;

void begin(void)
{
	fixture_init(&f, NULL);
}

void end(void)
{
	fixture_fini(&f);
}

// The run's end: after WALL_MS.
void finish(uint64_t wall_ms, uint32_t cpus)
{
	const struct run run = {
		.start_ns = 1000 * MS,
		.wall_ns = wall_ms * MS,
		.command = "app",
		.kernel_stacks = true,
		.cpus = cpus,
		.samples = 1000,
		.off_cpu_exact = true,
	};

	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

// All that was measured of METRICS, of all threads.
static uint64_t sum_of(const struct rows *threads, uint32_t metrics)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < threads->count; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			sum += metrics >> m & 1 ? threads->rows[i].self_ns[m] : 0;
	return sum;
}

// The time that ROW's function has in the table of functions; UINT64_MAX: it is not in there, as an
// op.
static uint64_t time_of_row(const struct rows *functions, const struct finding_row *row)
{
	uint64_t ns = 0;
	bool found = false;

	for (size_t i = 0; i < functions->count; i++) {
		if (strcmp(functions->rows[i].name, row->function) != 0)
			continue;
		found = true;
		for (int m = 0; m < METRIC_COUNT; m++)
			ns += functions->rows[i].total_ns[m];
	}
	return found ? ns : UINT64_MAX;
}

// No finding claims more than the tables of the same profile hold.
static void expect_held(const struct findings *findings)
{
	struct error err = { 0 };
	cleanup(rows) struct rows *threads =
		query_run(f.profile, &(struct query){ .by = BY_THREAD }, &err);
	cleanup(rows) struct rows *functions =
		query_run(f.profile, &(struct query){ .by = BY_FUNCTION }, &err);

	cr_assert(threads && functions, "%s", err.text);
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		const struct rule *rule = finding->rule;
		cr_expect(finding->share >= 0 && finding->share <= 1, "%s: share %f", rule->id,
		          finding->share);
		cr_expect(finding->saving_ns <= profile_run(f.profile)->wall_ns, "%s", rule->id);
		if (rule->metrics && !rule->potential)
			cr_expect(finding->saving_ns <= sum_of(threads, rule->metrics),
			          "%s: %lu ms, of which threads have %lu", rule->id,
			          (unsigned long)(finding->saving_ns / MS),
			          (unsigned long)(sum_of(threads, rule->metrics) / MS));
		for (size_t j = 0; j < finding->row_count; j++)
			cr_expect(finding->rows[j].ns <= time_of_row(functions, &finding->rows[j]),
			          "%s: %s has %lu ms", rule->id, finding->rows[j].function,
			          (unsigned long)(finding->rows[j].ns / MS));
	}
}

struct findings *look(const struct rule_limits *limits)
{
	struct error err = { 0 };
	struct findings *findings = query_findings(f.profile, &(struct query){ 0 }, limits, &err);

	cr_assert(findings != NULL, "%s", err.text);
	expect_held(findings);
	return findings;
}

// NULL if it has not fired.
const struct finding *finding_of(const struct findings *findings, const char *id)
{
	cr_assert(rule_find(id) < rule_count(), "no rule %s", id);
	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].rule->id, id) == 0)
			return &findings->items[i];
	return NULL;
}

const struct rule_answer *answer_of_rule(const struct findings *findings, const char *id)
{
	return &findings->answers[rule_find(id)];
}

void put_in_loop(uint32_t line, const char *fact)
{
	struct locations *l = &f.profile->locations;

	for (uint32_t i = 0; i < l->count; i++)
		if (l->locations[i].place_count &&
		    locations_places(l, &l->locations[i])[0].line == line)
			l->locations[i].loop = strings_add(f.profile->strings, fact);
}

static void plant(const struct planted *planted, const char *fact, uint64_t ms)
{
	add(&f, 1, planted->metric, ms, planted->stack);
	f.now_ns += ms * MS;
	for (uint64_t i = ms; i < 1000; i += 10) {
		add(&f, 1, METRIC_ON_CPU, i + 10 > 1000 ? 1000 - i : 10, "main a.c:3 > work a.c:5");
		f.now_ns += 10 * MS;
	}
	finish(1000, 2);
	if (fact)
		put_in_loop((uint32_t)planted->line, fact);
}

void expect_planted(const struct planted *planted)
{
	expect_planted_in(planted, NULL);
}

void expect_planted_in(const struct planted *planted, const char *fact)
{
	const struct rule *rule = rule_at(rule_find(planted->id));

	end();
	begin();
	plant(planted, fact, (uint64_t)(rule->threshold * 10));
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, planted->id), "%s: at its threshold", planted->id);
	cr_expect_eq(answer_of_rule(silent, planted->id)->state, RULE_SILENT, "%s", planted->id);
	end();
	begin();
	plant(planted, fact, (uint64_t)(rule->threshold * 10) + 2);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, planted->id);
	cr_assert(finding != NULL, "%s: above its threshold", planted->id);
	cr_expect_eq(finding->line, planted->line, "%s: line %d", planted->id, finding->line);
	cr_expect_float_eq(finding->value, rule->threshold + 0.2, 0.01, "%s: %f", planted->id,
	                   finding->value);
	double part = rule->part > 0 ? rule->part : 1;
	if (strcmp(planted->id, "IO-IDLE") == 0) // who waits for requests is not slow
		part = 0;
	cr_expect_eq(finding->saving_ns,
	             (uint64_t)(part * (rule->threshold * 10 + 2) * (double)MS + 0.5), "%s",
	             planted->id);
	cr_expect(strlen(finding->fact) > 0 && strlen(finding->advice) > 0, "%s", planted->id);
}

// One call of an op for MS ms, now.
void call(const char *name, uint64_t ms)
{
	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op_called(&f, name),
	                                              .begin_ns = f.now_ns,
	                                              .end_ns = f.now_ns + ms * MS,
	                                              .self_ns = ms * MS });
	f.now_ns += ms * MS;
}

void calls(const char *name, unsigned count, uint64_t ms)
{
	while (count--)
		call(name, ms);
}

void finish_now(void)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:5");
	finish((f.now_ns - 1000 * MS) / MS, 2);
}
