// SPDX-License-Identifier: MIT
// What stacks do, for rules that ask for no more than that.
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/function_name.h"
#include "merge/profile/profile_parts.h"
#include "merge/rules/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// All but waits that others are to blame for, or that are in their own time.
#define METRICS_OWN                                                                                \
	(((1u << METRIC_COUNT) - 1) & ~(1u << METRIC_OFF_RUNNABLE | 1u << METRIC_OFF_CHILD))

#define FEW_SAMPLES  10
#define PLACED_SHARE 0.05 // of the critical thread's, in code that is the user's own

struct heap_row {
	uint64_t ns, most; // of a place; of one callee there
	double queue_ns;   // what it made the run wait for CPUs
	uint32_t callee;
};

struct place_share {
	uint64_t wanted_ns,
		long_ns; // in ops of the kind that a rule is about, and of ACTIVITY_LONG
};

static bool counts(const struct rule *rule, const bool *whole, const struct activity_time *time)
{
	if (time->doing & rule->not_doing)
		return false;
	if (rule->whole_places)
		return time->place != ACTIVITY_NO_PLACE && whole[time->place];
	return !rule->doing || time->doing & rule->doing;
}

// Which places do more of what RULE wants all of than of ops that take long.
static bool *find_places(const struct evidence *e, const struct rule *rule)
{
	const struct activities *a = e->activities;
	bool *whole = calloc(a->place_count + 1, sizeof(*whole));
	cleanup_free struct place_share *shares = calloc(a->place_count + 1, sizeof(*shares));

	for (size_t i = 0; shares && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		uint64_t ns = evidence_sum(time->ns, METRICS_OWN);
		if (time->place == ACTIVITY_NO_PLACE)
			continue;
		if (time->doing & rule->whole_places)
			shares[time->place].wanted_ns += ns;
		else if (time->doing & ACTIVITY(LONG))
			shares[time->place].long_ns += ns;
	}
	for (size_t i = 0; whole && shares && i < a->place_count; i++) {
		if (rule->whole_places & ACTIVITY(TINY) &&
		    shares[i].wanted_ns < a->places[i].tiny_ns)
			shares[i].wanted_ns = a->places[i].tiny_ns;
		whole[i] = shares[i].wanted_ns > shares[i].long_ns;
	}
	return whole;
}

// Whether the user's own code is seen at work: a line or two of it may be there by chance.
static bool has_own_code(const struct evidence *e)
{
	const struct activities *a = e->activities;
	uint64_t own = 0, all = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		uint64_t ns = evidence_sum(a->times[i].critical_ns, METRICS_OWN);
		own += a->times[i].place != ACTIVITY_NO_PLACE ? ns : 0;
		all += ns;
	}
	return (double)own >= PLACED_SHARE * (double)all && own;
}

// By place; the last one is of what is none of the user's own.
static struct heap_row *add_up(const struct evidence *e, const struct rule *rule, bool critical)
{
	const struct activities *a = e->activities;
	uint32_t metrics = rule->metrics ? rule->metrics : METRICS_OWN;
	bool own_only = rule->placed && has_own_code(e);
	cleanup_free bool *whole = find_places(e, rule);
	struct heap_row *rows = whole ? calloc(a->place_count + 1, sizeof(*rows)) : NULL;

	for (size_t i = 0; rows && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (!counts(rule, whole, time) || (own_only && time->place == ACTIVITY_NO_PLACE))
			continue;
		uint32_t charged = rule->doing & ACTIVITIES_AROUND ? time->around : time->place;
		size_t place = charged == ACTIVITY_NO_PLACE ? a->place_count : charged;
		uint64_t ns = critical ? evidence_sum(time->critical_ns, metrics)
		                       : evidence_sum(time->ns, metrics & 1u << METRIC_ON_CPU);
		rows[place].ns += ns;
		rows[place].queue_ns += metrics >> METRIC_ON_CPU & 1 ? time->queue_ns : 0;
		if (ns > rows[place].most) {
			rows[place].most = ns;
			rows[place].callee = time->callee;
		}
	}
	return rows;
}

static void add_best(const struct evidence *e, struct heap_row *rows, uint64_t whole,
                     struct finding *finding)
{
	const struct activities *a = e->activities;
	const struct profile *p = e->profile;
	size_t best = 0;

	for (size_t i = 1; i < a->place_count; i++)
		if (rows[i].ns > rows[best].ns)
			best = i;
	if (!a->place_count || !rows[best].ns)
		return;
	const struct activity_place *place = &a->places[best];
	const char *function = profile_string(p, place->function);
	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = profile_string(p, place->file),
				     .line = (int)place->line,
				     .callee = profile_string(p, rows[best].callee),
				     .ns = rows[best].ns,
				     .share = whole ? (double)rows[best].ns / (double)whole : 0,
			     });
	rows[best].ns = 0;
}

double evidence_add_inner_place(const struct evidence *e, activity_set doing,
                                struct finding *finding)
{
	const struct activities *a = e->activities;
	cleanup_free struct heap_row *rows = calloc(a->place_count + 1, sizeof(*rows));
	size_t before = finding->row_count;
	uint64_t all = 0;

	for (size_t i = 0; rows && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		uint64_t ns = evidence_sum(time->ns, METRICS_OWN);
		if (!(time->doing & doing) || time->place == ACTIVITY_NO_PLACE ||
		    time->place == time->around)
			continue;
		rows[time->place].ns += ns;
		all += ns;
	}
	if (all)
		add_best(e, rows, 0, finding);
	return finding->row_count > before ? (double)finding->rows[before].ns / (double)all : 0;
}

// So long that shares of all time and of what is left of it differ.
static bool waited_for_cpu(const struct evidence *e)
{
	return evidence_run_ns(e) < e->wall_ns;
}

const char *evidence_queue(const struct evidence *e)
{
	return waited_for_cpu(e) ? " (excluding waits for a CPU)" : "";
}

bool evidence_program(const struct evidence *e, uint32_t metrics, char *buffer, size_t size)
{
	struct query query = { .by = BY_PROCESS, .sort = SORT_SELF };
	struct error err = { 0 };
	uint64_t most = 0, all = 0;

	if (profile_threads(e->profile)->process_count < 2)
		return false;
	query.from_ns = e->query.from_ns;
	query.to_ns = e->query.to_ns;
	cleanup(rows) struct rows *rows = query_run(e->profile, &query, &err);
	for (size_t i = 0; rows && i < rows->count; i++) {
		const char *name = rows->rows[i].name;
		uint64_t ns = 0;
		size_t count = 0;
		all += evidence_sum(rows->rows[i].self_ns, metrics);
		for (size_t k = 0; k < rows->count; k++) {
			if (strcmp(rows->rows[k].name, name) != 0)
				continue;
			ns += evidence_sum(rows->rows[k].self_ns, metrics);
			count++;
		}
		if (ns <= most)
			continue;
		most = ns;
		snprintf(buffer, size, "%.60s (%s process%s)", name, format_count(count).text,
		         count == 1 ? "" : "es");
	}
	return most && 2 * most > all;
}

void finding_describe(const struct evidence *e, const struct rule *rule, struct finding *finding)
{
	const struct finding_row *row = finding->row_count ? &finding->rows[0] : NULL;
	char whole[120], place[300] = "", called[200] = "";
	const uint32_t running = 1u << METRIC_ON_CPU | 1u << METRIC_OFF_RUNNABLE;

	// Of programs that are none of the user's own, as those that a script starts.
	if (!row && rule->metrics && !(rule->metrics & running))
		evidence_program(e, rule->metrics, place, sizeof(place));
	if (row)
		finding_place(row->function, row->file, row->line, place, sizeof(place));
	// A page fault is an exception of the CPU, which nobody calls.
	if (row && row->callee && !(activity_of(row->callee, NULL) & ACTIVITY(FAULT))) {
		cleanup_free char *callee = function_name_bare(row->callee);
		snprintf(called, sizeof(called), ", which calls %.120s",
		         callee ? callee : row->callee);
	}
	finding_say(finding, "%s: %.0f %% of %s%s%s%s", rule->title, finding->value,
	            evidence_whole(e, finding, whole, sizeof(whole)), *place ? ", most in " : "",
	            place, called);
}

uint64_t evidence_least_ns(const struct evidence *e)
{
	return e->run->frequency_hz ? FEW_SAMPLES * NS_PER_SEC / e->run->frequency_hz : 0;
}

enum measured measure_doing(const struct evidence *e, const struct rule *rule,
                            struct finding *finding)
{
	cleanup_free struct heap_row *critical = add_up(e, rule, true);
	cleanup_free struct heap_row *cpu = add_up(e, rule, false);
	uint64_t critical_ns = 0, cpu_ns = 0;
	double queue_ns = 0;

	if (!critical || !cpu)
		return finding_lacks(finding, "there is no memory");
	for (size_t i = 0; i <= e->activities->place_count; i++) {
		critical_ns += critical[i].ns;
		queue_ns += critical[i].queue_ns;
		cpu_ns += cpu[i].ns;
	}
	if ((critical_ns > cpu_ns ? critical_ns : cpu_ns) < evidence_least_ns(e))
		return MEASURED_NOTHING;
	evidence_weigh(e, critical_ns, cpu_ns, ns_whole(queue_ns), finding);
	// Who has the lock may have no CPU: on a busy machine waits are longer for that, and only
	// their share of all time tells what could be saved.
	if (rule->metrics == 1u << METRIC_OFF_LOCK && e->wall_ns) {
		double share = (double)critical_ns / (double)e->wall_ns;
		finding->share = share < 1 ? share : 1;
		finding->without_queue = false;
	}
	finding->value = 100 * finding->share;
	for (size_t i = 0; i < FINDING_ROWS; i++)
		add_best(e, finding->of_cpu ? cpu : critical,
		         finding->of_cpu ? cpu_ns : critical_ns, finding);
	finding_describe(e, rule, finding);
	return MEASURED;
}
