// SPDX-License-Identifier: MIT
#include "merge/query/query_warmup.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/share.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/query/query_steps.h"
#include "merge/table/series.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

// Whether calls became slower, or faster, only because others had the CPUs.
//
// A call's duration has in it what its thread waited for a free CPU. How large that part was is
// known of the critical thread, as fine as the bins that times are kept in:
//
//	D1 (1 - w1)  against  D2 (1 - w2)
//
// D is the mean duration of the earlier and of the later half of the calls, w the share of that
// time that was waited. Where the later ones would not have been slower (or faster) by more than
// CROWDING_SAME without the waits, which differ, nothing else has changed. Where a thread waits for
// a CPU most of its time, how long its calls take is up to others, and no trend is the program's.

#define CROWDING_SAME  0.1 /* of the durations without waits */
#define CROWDING_LEAST 0.05
#define CROWDING_MOST  0.4 /* of the critical thread's life */

// Calls of a series, one after the other.
struct half {
	uint64_t from_ns, to_ns, ns, calls;
};

static struct half half_of(const struct series *s, uint32_t first, uint32_t end)
{
	const struct series_item *last = &s->items[end - 1];
	struct half half = { .from_ns = s->items[first].begin_ns,
		             .to_ns = last->begin_ns + last->ns };

	for (uint32_t i = first; i < end; i++) {
		half.ns += s->items[i].ns;
		half.calls += series_item_calls(s, i);
	}
	return half;
}

// The share of the critical thread's time that it waited for a free CPU; negative: unknown.
static double waited(const struct profile *p, const struct half *half)
{
	uint64_t start = profile_start_ns(p);
	struct account account = { 0 };

	if (half->from_ns < start || half->to_ns <= half->from_ns ||
	    query_account_in(p, half->from_ns - start, half->to_ns - start, &account, NULL) < 0)
		return -1;
	return share_of(account.ns[METRIC_OFF_RUNNABLE], half->to_ns - half->from_ns);
}

// A call's mean duration without that.
static double own(const struct half *half, double wait)
{
	return (double)half->ns / (double)half->calls * (1 - wait);
}

// that the shares of the waits have to differ by
static bool crowding_explains(const struct profile *p, const struct series *s)
{
	if (s->count < 2)
		return false;
	struct half early = half_of(s, 0, s->count / 2);
	struct half late = half_of(s, s->count / 2, s->count);
	double before = waited(p, &early), after = waited(p, &late);
	if (before < 0 || after < 0 || fabs(after - before) < CROWDING_LEAST)
		return false;
	double ratio = own(&late, after) / own(&early, before);
	return own(&late, 0) > own(&early, 0) ? ratio < 1 + CROWDING_SAME
	                                      : ratio > 1 / (1 + CROWDING_SAME);
}

static bool is_crowded(const struct profile *p)
{
	struct account account = { 0 };

	return query_account(p, &account, NULL) == 0 &&
	       share_of(account.ns[METRIC_OFF_RUNNABLE], account.lifetime_ns) >= CROWDING_MOST;
}

#define OUT_OF_MEMORY "could not look for warm-up"
#define CALLS_SHOWN   8192 // of a series; blocks of longer ones are shown by fewer calls
#define OP_SHARE      0.01 // of the run, that an op has to take
#define RUN_SHARE     0.02 // of the run, that is worth a warning
#define OPS_SHARE     0.10 // of the time in ops, of which both
#define FEW_SHARE     0.10 // of the run in ops: else they say nothing of it
#define FEW_CALLS     3
#define OUTER_MAX     16 // ops around an op that are looked at

struct asking {
	const struct profile *profile;
	struct warmup_rows *rows;
	uint64_t run_ns;         // how long it took
	uint64_t from_ns, to_ns; // calls that began before or after do not count; 0, MAX: all
	uint32_t *outer;         // [op]: the op around most of its time; 0: none
	uint64_t *total;         // [op]: of that
	uint64_t *calls;         // [op]
	uint64_t *self;          // [op]
	uint64_t *shown;         // [CALLS_SHOWN + SERIES_EXACT + SERIES_BLOCKS]
	uint32_t *series;        // [row]: index in the table
	size_t capacity;
};

void warmup_rows_free(struct warmup_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void asking_at_scope_end(struct asking *a)
{
	free(a->outer);
	free(a->total);
	free(a->calls);
	free(a->self);
	free(a->shown);
	free(a->series);
}

static bool take_memory(struct asking *a)
{
	size_t ops = ops_count(profile_ops(a->profile)) + (size_t)1;

	a->outer = calloc(ops, sizeof(*a->outer));
	a->total = calloc(ops, sizeof(*a->total));
	a->calls = calloc(ops, sizeof(*a->calls));
	a->self = calloc(ops, sizeof(*a->self));
	a->shown = calloc(CALLS_SHOWN + SERIES_EXACT + SERIES_BLOCKS, sizeof(*a->shown));
	a->series = calloc((size_t)profile_series(a->profile)->count + 1, sizeof(*a->series));
	return a->outer && a->total && a->calls && a->self && a->shown && a->series;
}

static bool is_cut(const struct asking *a)
{
	return a->from_ns || a->to_ns != UINT64_MAX;
}

static bool is_in(const struct asking *a, uint64_t begin_ns)
{
	return begin_ns >= a->from_ns && begin_ns < a->to_ns;
}

static uint64_t self_in_window(const struct asking *a, uint32_t entry)
{
	const struct op_table *t = profile_op_table(a->profile);

	return is_cut(a) ? 0 : t->entries[entry].sums.self_ns;
}

static void look_at_entries(struct asking *a)
{
	const struct op_table *t = profile_op_table(a->profile);

	for (uint32_t i = 0; i < t->count; i++) {
		const struct op_entry *entry = &t->entries[i];
		uint32_t op = entry->key.op;
		a->calls[op] += entry->sums.calls;
		a->self[op] += self_in_window(a, i);
		a->rows->ops_ns += self_in_window(a, i);
		if (entry->sums.total_ns < a->total[op])
			continue;
		a->total[op] = entry->sums.total_ns;
		a->outer[op] = entry->key.parent;
	}
	for (uint32_t i = 0; is_cut(a) && i < t->bin_count; i++)
		if (is_in(a, t->origin_ns + t->bins[i].bin * t->bin_ns))
			a->rows->ops_ns += t->bins[i].self_ns;
}

// The calls of S as the rule is shown them; returns how many. CALLS: of those of the window.
static size_t show(struct asking *a, const struct series *s, uint64_t calls)
{
	double scale = calls > CALLS_SHOWN ? (double)CALLS_SHOWN / (double)calls : 1;
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t these = series_item_calls(s, i);
		uint64_t copies = (uint64_t)((double)these * scale);
		if (!is_in(a, s->items[i].begin_ns))
			continue;
		for (uint64_t j = 0; j < (copies ? copies : 1); j++)
			a->shown[count++] = s->items[i].ns / these;
	}
	return count;
}

// What the first SHOWN calls, as the rule saw them, really were.
static void measure(const struct asking *a, const struct series *s, struct warmup_row *row)
{
	double scale = row->calls > CALLS_SHOWN ? (double)CALLS_SHOWN / (double)row->calls : 1;
	size_t left = row->judged.calls;
	uint64_t calls = 0;

	for (uint32_t i = 0; i < s->count && left; i++) {
		const struct series_item *item = &s->items[i];
		uint64_t these = series_item_calls(s, i);
		uint64_t copies = (uint64_t)((double)these * scale);
		uint64_t steady = ns_whole(row->judged.steady_ns * (double)these);
		if (!is_in(a, item->begin_ns))
			continue;
		if (!calls)
			row->begin_ns = item->begin_ns;
		left -= left < copies ? left : copies ? copies : 1;
		calls += these;
		row->slow_ns += item->ns;
		row->excess_ns += item->ns > steady ? item->ns - steady : 0;
		row->end_ns = item->begin_ns + item->ns;
	}
	row->judged.calls = calls;
}

// The calls of S that are in the window, and their time.
static uint64_t time_of(const struct asking *a, const struct series *s, uint64_t *calls)
{
	uint64_t ns = 0;

	*calls = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!is_in(a, s->items[i].begin_ns))
			continue;
		ns += s->items[i].ns;
		*calls += series_item_calls(s, i);
	}
	return ns;
}

static bool add_row(struct asking *a, uint32_t index, const struct warmup_row *row)
{
	struct warmup_rows *rows = a->rows;

	if (!array_reserve(&rows->rows, &a->capacity, rows->count + 1))
		return false;
	if (row->kind == WARMUP_CALLS)
		a->series[rows->count] = index;
	rows->rows[rows->count++] = *row;
	return true;
}

static bool judge_series(struct asking *a, uint32_t index)
{
	const struct profile *p = a->profile;
	const struct series *s = &profile_series(p)->series[index];
	const struct op *op = profile_op(p, s->op);
	const char *shape = profile_string(p, s->shape);
	struct warmup_row row = { .shape = shape ? shape : "" };
	uint64_t ns = time_of(a, s, &row.calls);

	if (!op || op->provider == OP_PYTHON || (double)ns < OP_SHARE * (double)a->run_ns)
		return true;
	if (!warmup_judge(&row.judged, a->shown, NULL, show(a, s, row.calls)))
		return false;
	if (row.judged.verdict == WARMUP_NONE)
		return true;
	row.ns = ns;
	row.name = op->name;
	row.provider = op_provider_name(op->provider);
	row.domain = op->domain;
	row.labelled = op_is_label(op);
	measure(a, s, &row);
	row.judged.excess = (double)row.excess_ns / (double)ns;
	if (warmup_is_included(row.judged.verdict) && row.judged.excess < WARMUP_SHARE)
		return true; // blocks of calls looked like more than they were
	row.begin_ns -= row.begin_ns > profile_start_ns(p) ? profile_start_ns(p) : row.begin_ns;
	row.end_ns -= row.end_ns > profile_start_ns(p) ? profile_start_ns(p) : row.end_ns;
	return add_row(a, index, &row);
}

static bool same_kind(enum warmup_verdict a, enum warmup_verdict b)
{
	return a == b || (warmup_is_included(a) && warmup_is_included(b));
}

// Whether OP of PROCESS has a row that says the same as VERDICT.
static bool has_row(const struct asking *a, uint32_t op, uint32_t process,
                    enum warmup_verdict verdict)
{
	for (size_t i = 0; i < a->rows->count; i++) {
		const struct series *s = &profile_series(a->profile)->series[a->series[i]];
		if (s->op == op && s->process == process &&
		    same_kind(a->rows->rows[i].judged.verdict, verdict))
			return true;
	}
	return false;
}

static void mark_nested(struct asking *a)
{
	for (size_t i = 0; i < a->rows->count; i++) {
		const struct series *s = &profile_series(a->profile)->series[a->series[i]];
		struct warmup_row *row = &a->rows->rows[i];
		uint32_t op = a->outer[s->op];
		for (int n = 0; op && n < OUTER_MAX && !row->nested; n++, op = a->outer[op])
			row->nested =
				op != s->op && has_row(a, op, s->process, row->judged.verdict);
	}
}

// Time that rows of VERDICT account for: the excess of warm-up, all of the others.
static uint64_t sum_of(const struct asking *a, enum warmup_verdict verdict)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->rows->count; i++) {
		const struct warmup_row *row = &a->rows->rows[i];
		if (row->nested || row->judged.verdict != verdict)
			continue;
		sum += warmup_is_included(verdict) ? row->excess_ns : row->ns;
	}
	return sum;
}

static bool ran_once_or_twice(const struct asking *a)
{
	uint64_t few = 0;

	if (!profile_ops(a->profile))
		return false;
	for (uint32_t op = 1; op <= ops_count(profile_ops(a->profile)); op++)
		few += a->calls[op] < FEW_CALLS ? a->self[op] : 0;
	return few && 2 * few >= a->rows->ops_ns &&
	       (double)a->rows->ops_ns >= FEW_SHARE * (double)a->run_ns;
}

// Of the calls of VERDICT that took most of the time.
static bool others_explain(const struct asking *a, enum warmup_verdict verdict)
{
	const struct warmup_row *most = NULL;
	uint32_t index = 0;

	// Turns of a loop are known without what they waited for.
	for (size_t i = 0; i < a->rows->count; i++)
		if (a->rows->rows[i].kind == WARMUP_TURNS &&
		    a->rows->rows[i].judged.verdict == verdict)
			return false;
	if (is_crowded(a->profile))
		return true;
	for (size_t i = 0; i < a->rows->count; i++) {
		const struct warmup_row *row = &a->rows->rows[i];
		if (row->kind != WARMUP_CALLS || row->judged.verdict != verdict ||
		    (most && most->ns >= row->ns))
			continue;
		most = row;
		index = a->series[i];
	}
	return most && crowding_explains(a->profile, &profile_series(a->profile)->series[index]);
}

static void judge_run(struct asking *a)
{
	struct warmup_rows *rows = a->rows;
	uint64_t included = sum_of(a, WARMUP_INCLUDED), cut = sum_of(a, WARMUP_TOO_SHORT);

	uint64_t all = rows->ops_ns > rows->steps_ns ? rows->ops_ns : rows->steps_ns;

	rows->excess_ns = included + cut;
	rows->unseen = (double)all < FEW_SHARE * (double)a->run_ns;
	if (rows->excess_ns && (double)rows->excess_ns >= OPS_SHARE * (double)all &&
	    (double)rows->excess_ns >= RUN_SHARE * (double)a->run_ns)
		rows->verdict = cut > included ? WARMUP_TOO_SHORT : WARMUP_INCLUDED;
	else if (ran_once_or_twice(a))
		rows->too_few = true;
	else if (all && 2 * sum_of(a, WARMUP_NO_STEADY_STATE) >= all)
		rows->verdict = WARMUP_NO_STEADY_STATE;
	else if (all && 2 * sum_of(a, WARMUP_SLOWS_DOWN) >= all)
		rows->verdict = WARMUP_SLOWS_DOWN;
	if (rows->verdict != WARMUP_NONE && !warmup_is_included(rows->verdict) &&
	    others_explain(a, rows->verdict))
		rows->verdict = WARMUP_NONE;
}

static int compare_rows(const void *a, const void *b)
{
	const struct warmup_row *left = a, *right = b;

	// What is inside of another row is told by that one, however long it took.
	if (left->nested != right->nested)
		return left->nested ? 1 : -1;
	if (left->excess_ns != right->excess_ns)
		return left->excess_ns > right->excess_ns ? -1 : 1;
	if (left->labelled != right->labelled)
		return left->labelled ? -1 : 1;
	return left->end_ns < right->end_ns ? -1 : left->end_ns > right->end_ns;
}

// Only what the verdict is about.
static void keep_rows(struct warmup_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->verdict != WARMUP_NONE &&
		    same_kind(rows->rows[i].judged.verdict, rows->verdict))
			rows->rows[kept++] = rows->rows[i];
	rows->count = kept;
	for (size_t i = 0; warmup_is_included(rows->verdict) && i < kept; i++)
		if (rows->rows[i].end_ns > rows->steady_ns)
			rows->steady_ns = rows->rows[i].end_ns;
	if (kept)
		qsort(rows->rows, kept, sizeof(*rows->rows), compare_rows);
}

static void measure_steps(const struct steps *s, struct warmup_row *row)
{
	uint64_t steady = ns_whole(row->judged.steady_ns);

	row->begin_ns = s->steps[0].begin_ns;
	for (size_t i = 0; i < row->judged.calls && i < s->count; i++) {
		const struct run_step *step = &s->steps[i];
		row->slow_ns += step->ns;
		row->excess_ns += step->ns > steady ? step->ns - steady : 0;
		row->end_ns = step->end_ns;
	}
	row->judged.excess = row->ns ? (double)row->excess_ns / (double)row->ns : 0;
}

// What is around the rows that are there says what they say, and more.
static bool add_step_row(struct asking *a, const struct steps *s, struct warmup_row *row)
{
	measure_steps(s, row);
	if (warmup_is_included(row->judged.verdict) && row->judged.excess < WARMUP_SHARE)
		return true;
	for (size_t i = 0; i < a->rows->count; i++)
		a->rows->rows[i].nested |=
			same_kind(a->rows->rows[i].judged.verdict, row->judged.verdict);
	return add_row(a, 0, row);
}

// Steps that are averages of many are as late as they can be: those are left out.
static bool judge_steps(struct asking *a, const struct steps *s)
{
	struct warmup_row row = {
		.kind = s->provider ? WARMUP_STEPS : WARMUP_TURNS,
		.name = s->name,
		.provider = s->provider ? s->provider : "",
		.domain = s->domain ? s->domain : "",
		.shape = s->shape,
		.file = s->file,
		.line = s->first_line,
		.labelled = s->labelled,
	};
	cleanup_free uint64_t *ns = calloc(s->count + 1, sizeof(*ns));

	if (!ns)
		return false;
	while (row.calls < s->count && s->steps[row.calls].calls == 1) {
		ns[row.calls] = s->steps[row.calls].ns;
		row.ns += ns[row.calls++];
	}
	if ((double)row.ns < OP_SHARE * (double)a->run_ns)
		return true;
	if (!warmup_judge(&row.judged, ns, NULL, row.calls))
		return false;
	a->rows->steps_ns = s->sum_ns;
	return row.judged.verdict == WARMUP_NONE || add_step_row(a, s, &row);
}

// Turns are known without the time that others had the CPU: so is the run they are a part of.
static void leave_out_others(struct asking *a)
{
	struct account account;
	struct error err;

	if (query_account(a->profile, &account, &err) == 0 &&
	    account.ns[METRIC_OFF_RUNNABLE] < a->run_ns)
		a->run_ns -= account.ns[METRIC_OFF_RUNNABLE];
}

static int look_at_steps(struct asking *a, const struct query *query, struct error *err)
{
	const struct steps_query wanted = { .from_ns = query->from_ns, .to_ns = query->to_ns };
	cleanup(steps) struct steps *s = query_steps(a->profile, &wanted, err);

	if (!s)
		return -1;
	if (!s->provider)
		leave_out_others(a);
	// What lies between two calls of a library's op may be anything: set-up and the first turn.
	bool told = s->provider && (!s->between || !s->labelled);
	if (!s->count || told || judge_steps(a, s))
		return 0;
	return error_set(err, ENOMEM, OUT_OF_MEMORY);
}

static bool look_at_ops(struct asking *a)
{
	if (!take_memory(a))
		return false;
	look_at_entries(a);
	for (uint32_t i = 0; i < profile_series(a->profile)->count; i++)
		if (!judge_series(a, i))
			return false;
	mark_nested(a);
	return true;
}

struct warmup_rows *query_warmup(const struct profile *p, const struct query *query,
                                 struct error *err)
{
	cleanup(warmup_rows) struct warmup_rows *rows = calloc(1, sizeof(*rows));
	cleanup(asking) struct asking a = {
		.profile = p,
		.rows = rows,
		.run_ns = profile_run(p)->wall_ns,
		.from_ns = query->from_ns ? profile_start_ns(p) + query->from_ns : 0,
		.to_ns = query->to_ns ? profile_start_ns(p) + query->to_ns : UINT64_MAX,
	};

	if (!rows || (profile_ops(p) && !look_at_ops(&a))) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	if (look_at_steps(&a, query, err) < 0)
		return NULL;
	judge_run(&a);
	keep_rows(rows);
	return steal(rows);
}
