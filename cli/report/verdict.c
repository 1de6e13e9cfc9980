// SPDX-License-Identifier: MIT
// The order of the rules, and the facts that they find the verdict from.
#include "cli/report/verdict.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/op.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/report/verdict_rules.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_wall.h"
#include "merge/rules/finding.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define OP_SHARE 0.5 /* of the threads that have ops, by one op itself */

// A server that waits for requests is idle: that is no place where it takes long.
static bool is_of_idleness(const struct finding *finding)
{
	return strcmp(finding->rule->id, "IO-IDLE") == 0;
}

static const struct finding *find_idleness(const struct findings *findings)
{
	for (size_t i = 0; i < findings->shown; i++)
		if (is_of_idleness(&findings->items[i]))
			return &findings->items[i];
	return NULL;
}

// Its shares are of what follows the warm-up, those of the tables of all.
static void say_since(const struct verdict_facts *f, const struct finding *finding,
                      struct verdict *v)
{
	size_t length = strlen(v->sentence);

	if (f->findings->from_ns && !finding->rule->whole_run && !f->window.from_ns && length)
		snprintf(v->sentence + length - 1, sizeof(v->sentence) - length + 1,
		         ", in the steady state (after %s).",
		         format_duration(f->findings->from_ns).text);
}

// A finding, if nothing else explains more of the run. Who asks for most is named beside what is
// the smaller part.
static bool found(const struct verdict_facts *f, struct verdict *v)
{
	const struct finding *finding = verdict_worst_finding(f);
	struct place_sum sum;

	if (!finding || f->second)
		return false;
	verdict_say_finding(finding, v);
	say_since(f, finding, v);
	if (verdict_is_of_imports(finding))
		return verdict_advise_apart(f, finding, v);
	verdict_advise(v, "%s", finding->advice);
	if (finding->function && !origin_is_foreign(NULL, finding->file))
		verdict_add_caller(f, finding->function, v);
	if (!finding->function)
		verdict_add_jit_names(f, v);
	if (finding->share < MOST_SHARE && f->run->samples >= FEW_SAMPLES &&
	    verdict_asks_most(f, MORE_THAN, &sum) &&
	    share_of(sum.self + sum.below, f->all) >= MOST_SHARE)
		verdict_add_sum(f, &sum, v);
	return true;
}

// The sentence is about what costs more: this comes next.
static void add_second(const struct verdict_facts *f, struct verdict *v)
{
	size_t length = strlen(v->next);

	v->said_next = f->second;
	if (!f->second)
		return;
	snprintf(v->next + length, sizeof(v->next) - length, "%sNext: %s.",
	         length ? v->next[length - 1] == '.' ? " " : ". " : "", f->second->fact);
	verdict_mark_extra(v, length);
	v->second = v->extras;
}

// All of the time was recorded within it.
static bool is_recorded_range(const struct run *run, const struct op_row *row)
{
	return run->recorded_range && fnmatch(run->recorded_range, row->name, 0) == 0;
}

// What the program calls it itself says more than the functions that it is made of.
static void add_op(const struct verdict_facts *f, struct verdict *v)
{
	const struct op_row *row = f->ops->count ? &f->ops->rows[0] : NULL;
	size_t length = strlen(v->next);
	char place[256];

	if (!row || share_of(row->self_ns, f->ops->wall_ns) < OP_SHARE ||
	    strstr(v->sentence, row->name) || is_recorded_range(f->run, row))
		return;
	place_words(row->file, row->line, NULL, place, sizeof(place));
	cleanup_free char *name = format_clip(row->name, NAME_WIDTH, CLIP_MIDDLE, false);
	snprintf(v->next + length, sizeof(v->next) - length,
	         "%s%s %% of the time is in the op %s%s%s.", length ? " " : "",
	         format_percent(row->self_ns, f->ops->wall_ns).text, name ? name : row->name,
	         *place ? ", mostly called from " : "", place);
	verdict_mark_extra(v, length);
}

// That other processes used the CPUs is no fault of the program's: it stands behind what is.
static void add_noise(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->contention.all.others_ns;
	uint64_t ready = f->totals->runnable_ns + f->totals->on_cpu_ns;
	size_t length = strlen(v->next);

	if (share_of(ready, f->run->wall_ns) < BUSY_SHARE || share_of(waited, ready) < CPU_SHARE)
		return;
	snprintf(v->next + length, sizeof(v->next) - length,
	         "%sOther processes used the CPUs for %s %% of the time in which threads of the "
	         "program were ready to run: measure again on a machine without other work.",
	         !length                      ? ""
	         : v->next[length - 1] == '.' ? " "
	                                      : ". ", // behind a command
	         format_percent(waited, ready).text);
	verdict_mark_extra(v, length);
}

static bool (*const rules[])(const struct verdict_facts *, struct verdict *) = {
	verdict_lies_elsewhere,
	verdict_nothing_measured,
	verdict_idles,
	found,
	verdict_waits_for_cpu,
	verdict_others_wait_for_cpu,
	verdict_waits,
	verdict_all_wait,
	verdict_too_few_samples,
	verdict_our_own,
	verdict_nothing_seen,
	verdict_hot_op,
	verdict_asked_for,
	verdict_nameless_jit,
	verdict_of_processes,
	verdict_of_library,
	verdict_flat,
	verdict_hot_function,
};

// What shares are shares of. As findings have it, waiting for a CPU may hit any code by chance.
static void take_base(struct verdict_facts *f, const struct profile *profile, uint64_t cpu_ns)
{
	bool short_of_cpus = false;

	f->all = f->wall.ranks ? query_wall_share_ns(&f->wall, &short_of_cpus) : cpu_ns;
	struct wall_rank rank = { 0 };
	char whose[24] = "";
	f->of_rank = query_wall_rank(profile, &rank);
	if (f->of_rank)
		snprintf(whose, sizeof(whose), " of %s %u", rank.numbered ? "rank" : "profile",
		         rank.number);
	if (f->wall.ranks)
		snprintf(f->of, sizeof(f->of), "wall time%s%s", whose,
		         short_of_cpus ? " (excluding waits for a CPU)" : "");
	else
		snprintf(f->of, sizeof(f->of), "the CPU time");
}

struct crowd_answers {
	struct rows *cpu;
	struct call_tree *tree;
};

static void crowd_answers_at_scope_end(struct crowd_answers *a)
{
	rows_free(a->cpu);
	call_tree_free(a->tree);
}

// What all threads did where the run waited for CPUs that they had.
static int look_at_crowd(struct verdict_facts *f, const struct profile *profile,
                         const struct view *view, struct crowd_answers *answers, struct error *err)
{
	struct contention_answer contention = f->contention;
	struct query cpu = view_query(view, BY_FUNCTION, SORT_SELF);

	contention_share(f->wall.ns[METRIC_OFF_RUNNABLE], &contention);
	if (f->of_rank || !contention.critical.own_ns)
		return 0;
	cpu.on_cpu = true;
	answers->cpu = query_run(profile, &cpu, err);
	answers->tree = answers->cpu ? query_call_tree(profile, &cpu, 0.001, err) : NULL;
	if (!answers->tree)
		return -1;
	f->crowd = (struct crowd){ answers->cpu, answers->tree, contention.critical.own_ns };
	return 0;
}

int verdict_find(const struct profile *profile, const struct view *view,
                 const struct findings *findings, struct verdict *verdict, struct error *err)
{
	struct totals totals;
	struct verdict_facts f = { .profile = profile,
		                   .run = profile_run(profile),
		                   .totals = &totals,
		                   .findings = findings };
	struct query cpu = view_query(view, BY_FUNCTION, SORT_SELF);
	cleanup(crowd_answers) struct crowd_answers crowd = { 0 };
	char tid[16];

	query_totals(profile, &totals);
	f.window = (struct query){ .from_ns = cpu.from_ns, .to_ns = cpu.to_ns };

	if (query_account(profile, &f.account, err) < 0 ||
	    query_contention(profile, 0, 0, &f.contention, err) < 0)
		return -1;
	if (query_wall_account(profile, &cpu, &f.wall, err) < 0)
		return -1;
	if (f.wall.ranks) {
		cpu.of = QUERY_WALL;
		memcpy(f.account.ns, f.wall.ns, sizeof(f.account.ns));
		f.account.lifetime_ns = f.wall.all_ns;
	}
	cpu.on_cpu = true;
	struct query waiting = cpu;
	waiting.on_cpu = false;
	waiting.off_cpu = true;
	snprintf(tid, sizeof(tid), "%u", f.account.tid);
	waiting.thread = f.wall.ranks ? NULL : tid;
	struct query both = cpu;
	both.on_cpu = false;
	both.without_others = true;
	cleanup(rows) struct rows *rows = query_run(profile, &cpu, err);
	cleanup(rows) struct rows *both_rows = rows ? query_run(profile, &both, err) : NULL;
	cleanup(call_tree) struct call_tree *cpu_tree =
		both_rows ? query_call_tree(profile, &cpu, 0.001, err) : NULL;
	cleanup(call_tree) struct call_tree *wait_tree =
		cpu_tree ? query_call_tree(profile, &waiting, 0.01, err) : NULL;
	struct op_query op_query = view_op_query(view);
	op_query.as = 0;
	op_query.of = NULL;
	cleanup(op_rows) struct op_rows *ops =
		wait_tree ? query_ops(profile, &op_query, err) : NULL;
	if (!ops)
		return -1;
	*verdict = (struct verdict){ .said = NULL };
	f.ops = ops;
	f.cpu = rows;
	take_base(&f, profile, rows->all);
	f.both = both_rows;
	f.cpu_tree = cpu_tree;
	cleanup(call_tree) struct call_tree *both_tree =
		verdict_shares_both(&f) ? query_call_tree(profile, &both, 0.001, err) : NULL;
	if (verdict_shares_both(&f) && !both_tree)
		return -1;
	f.both_tree = both_tree;
	f.wait_tree = wait_tree;
	if (f.wall.ranks && look_at_crowd(&f, profile, view, &crowd, err) < 0)
		return -1;
	const struct finding *first = verdict_worst_finding(&f);
	f.second = first && verdict_is_outranked(&f, first) ? first : NULL;
	f.idle = find_idleness(findings);
	f.outside_ns = verdict_waited_outside(&f);
	size_t rule = 0;
	while (rule < sizeof(rules) / sizeof(rules[0]) && !rules[rule](&f, verdict))
		rule++;
	verdict_say_price(&f, verdict);
	verdict_add_rank(&f, verdict);
	verdict_add_idleness(&f, verdict);
	add_second(&f, verdict);
	add_op(&f, verdict);
	if (rule < sizeof(rules) / sizeof(rules[0]) && rules[rule] != found)
		add_noise(&f, verdict);
	return 0;
}
