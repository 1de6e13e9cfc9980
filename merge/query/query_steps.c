// SPDX-License-Identifier: MIT
#include "merge/query/query_steps.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/query/query_iterations.h"
#include "merge/table/cells.h"
#include "merge/table/series.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_OF_MEMORY "could not look for steps"
#define LENGTH_BINS   4.0   // of time, that two lengths are apart at least
#define PERIOD_NS_MIN 20000 // what is repeated faster than that is no step

// One call, or several, of the op.
struct call {
	uint64_t begin_ns, ns, calls;
};

struct calls {
	struct call *calls;
	size_t count, capacity;
};

static void calls_at_scope_end(struct calls *c)
{
	free(c->calls);
}

void steps_free(struct steps *s)
{
	if (s)
		free(s->steps);
	free(s);
}

static bool add_calls(struct calls *to, const struct series *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t calls = series_item_calls(s, i);
		if (!array_reserve(&to->calls, &to->capacity, to->count + 1))
			return false;
		to->calls[to->count++] =
			(struct call){ s->items[i].begin_ns, s->items[i].ns, calls };
	}
	return true;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

struct candidate {
	const struct series *series;
	bool labelled;
	bool long_enough; // not only for a label
	bool critical;    // of the process whose time the run takes, not of one that helps it
	uint64_t ns;
};

// How long the run was recorded, from the first moment to the last.
static uint64_t recorded_ns(const struct profile *p)
{
	const struct run *run = profile_run(p);

	return run->recorded_to_ns > run->recorded_from_ns
	               ? run->recorded_to_ns - run->recorded_from_ns
	               : run->wall_ns;
}

// From the first to the last call, and the longest pause between two: a call that is slow, as the
// first one that includes the warm-up, is none.
static bool goes_on(const struct profile *p, const struct series *s, bool labelled)
{
	double least = labelled ? STEPS_SPAN_NAMED : STEPS_SPAN;
	uint64_t longest = 0, first = s->items[0].begin_ns, last = s->items[s->count - 1].begin_ns;
	uint64_t span = last - first;

	for (uint32_t i = 1; i < s->count; i++) {
		uint64_t end = s->items[i - 1].begin_ns + s->items[i - 1].ns;
		uint64_t pause = s->items[i].begin_ns > end ? s->items[i].begin_ns - end : 0;
		longest = pause > longest ? pause : longest;
	}
	return last > first && (double)span >= least * (double)recorded_ns(p) &&
	       2 * longest <= span && span / s->calls >= PERIOD_NS_MIN;
}

static bool is_better(const struct candidate *a, const struct candidate *than)
{
	bool enough = a->series->calls >= STEPS_ENOUGH;

	if (!than->series)
		return true;
	if (a->labelled != than->labelled)
		return a->labelled;
	if (a->long_enough != than->long_enough)
		return a->long_enough;
	if (a->critical != than->critical)
		return a->critical;
	if (enough != (than->series->calls >= STEPS_ENOUGH))
		return enough;
	if (a->series->calls != than->series->calls)
		return a->series->calls < than->series->calls;
	return a->ns > than->ns;
}

// The process of the thread that the run takes the time of; 0: no thread was seen.
static uint32_t critical_process(const struct profile *p)
{
	struct account account;

	return query_account(p, &account, NULL) < 0 ? 0 : profile_thread(p, account.slot)->process;
}

static struct candidate find(const struct profile *p)
{
	struct candidate best = { 0 };
	uint32_t critical = critical_process(p);

	for (uint32_t i = 0; i < profile_series(p)->count; i++) {
		const struct series *s = &profile_series(p)->series[i];
		const struct op *op = profile_op(p, s->op);
		bool labelled = op && op_is_label(op);
		bool step = op && op->provider != OP_PYTHON && op->provider != OP_SHELL;
		if (!step || s->calls < STEPS_MIN || !goes_on(p, s, labelled))
			continue;
		struct candidate it = { s, labelled, goes_on(p, s, false), s->process == critical,
			                series_total_ns(s) };
		if (is_better(&it, &best))
			best = it;
	}
	return best;
}

static bool is_named(const struct profile *p, const struct series *s, const char *glob)
{
	const struct op *op = profile_op(p, s->op);

	return op && op->provider != OP_PYTHON && fnmatch(glob, op->name, 0) == 0;
}

// The process that has most calls of what GLOB names; 0: none has any.
static uint32_t process_of(const struct profile *p, const char *glob, const struct series **any)
{
	const struct series_table *series = profile_series(p);
	uint64_t most = 0;
	uint32_t process = 0;

	for (uint32_t i = 0; i < series->count; i++) {
		const struct series *s = &series->series[i];
		uint64_t calls = 0;
		if (s->process == process || !is_named(p, s, glob))
			continue;
		for (uint32_t j = i; j < series->count; j++)
			if (series->series[j].process == s->process &&
			    is_named(p, &series->series[j], glob))
				calls += series->series[j].calls;
		if (calls <= most)
			continue;
		most = calls;
		process = s->process;
		*any = s;
	}
	return process;
}

// What PyTorch's own profiler marks steps with, each by a name of its own: ProfilerStep#0 and so
// on. Its step() ends one and begins the next, so that behind the last one a range is open for as
// long as it takes to stop.
#define PROFILER_STEPS "ProfilerStep#*"
#define PROFILER_REST  0.05 // of the mean step: less is that rest

static void leave_out_rest(struct calls *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < c->count; i++)
		sum += c->calls[i].ns;
	if (c->count >= 2 && (double)c->calls[c->count - 1].ns * (double)(c->count - 1) <
	                             PROFILER_REST * (double)sum)
		c->count--;
}

static uint64_t count_named(const struct profile *p, const char *glob)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < profile_series(p)->count; i++)
		if (is_named(p, &profile_series(p)->series[i], glob))
			calls += profile_series(p)->series[i].calls;
	return calls;
}

// The process that has marked most steps by the API, and *ONE of its series; 0: none has two.
static uint32_t process_of_marks(const struct profile *p, const struct series **one)
{
	const struct series_table *series = profile_series(p);
	uint64_t most = 1;

	*one = NULL;
	for (uint32_t i = 0; i < series->count; i++) {
		const struct series *s = &series->series[i];
		const struct op *op = profile_op(p, s->op);
		if (op && op_is_step(op) && s->calls > most) {
			most = s->calls;
			*one = s;
		}
	}
	return *one ? (*one)->process : 0;
}

// The calls that are asked for; *ONE is the series of them, or one of several. False: no memory.
static bool collect(const struct profile *p, const char *glob, struct calls *calls,
                    const struct series **one)
{
	struct candidate found = { 0 };

	*one = NULL;
	if (!glob && process_of_marks(p, one))
		return add_calls(calls, *one);
	if (!glob && count_named(p, PROFILER_STEPS) >= 2)
		glob = PROFILER_STEPS;
	if (!glob) {
		found = find(p);
		*one = found.series;
		return !*one || add_calls(calls, *one);
	}
	uint32_t process = process_of(p, glob, one);
	for (uint32_t i = 0; process && i < profile_series(p)->count; i++) {
		const struct series *s = &profile_series(p)->series[i];
		if (s->process == process && is_named(p, s, glob) && !add_calls(calls, s))
			return false;
	}
	if (calls->count)
		qsort(calls->calls, calls->count, sizeof(*calls->calls), compare_calls);
	if (*one && is_named(p, *one, PROFILER_STEPS))
		leave_out_rest(calls);
	return true;
}

// Whether the calls themselves are most of the time from the first to the last.
static bool cover(const struct calls *c)
{
	uint64_t sum = 0, span;

	for (size_t i = 0; i + 1 < c->count; i++)
		sum += c->calls[i].ns;
	span = c->calls[c->count - 1].begin_ns - c->calls[0].begin_ns;
	return (double)sum >= STEPS_COVERED * (double)span;
}

static bool is_in(const struct profile *p, const struct steps_query *query, uint64_t begin_ns)
{
	uint64_t start = profile_start_ns(p);
	uint64_t at = begin_ns > start ? begin_ns - start : 0;

	return at >= query->from_ns && (!query->to_ns || at < query->to_ns);
}

// What lies behind the last call is not known to be a step.
static bool make_steps(struct steps *s, const struct profile *p, const struct steps_query *query,
                       const struct calls *c)
{
	uint64_t number = 1, start = profile_start_ns(p);
	size_t count = c->count - s->between;

	s->steps = calloc(c->count + 1, sizeof(*s->steps));
	if (!s->steps)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct call *call = &c->calls[i];
		uint64_t ns = s->between ? c->calls[i + 1].begin_ns - call->begin_ns : call->ns;
		uint64_t end_ns = call->begin_ns + ns;
		if (is_in(p, query, call->begin_ns))
			s->steps[s->count++] = (struct run_step){
				.first = number,
				.calls = call->calls,
				.begin_ns = call->begin_ns > start ? call->begin_ns - start : 0,
				.end_ns = end_ns > start ? end_ns - start : 0,
				.ns = ns / call->calls,
			};
		number += call->calls;
	}
	return true;
}

static int compare_durations(const void *a, const void *b)
{
	const struct run_step *left = a, *right = b;

	return (left->ns > right->ns) - (left->ns < right->ns);
}

// The duration that SHARE of the steps, which are sorted, do not exceed.
static uint64_t quantile(const struct run_step *steps, size_t count, uint64_t calls, double share)
{
	uint64_t before = 0, wanted = (uint64_t)(share * (double)(calls - 1) + 0.5);

	for (size_t i = 0; i < count; i++) {
		before += steps[i].calls;
		if (before > wanted)
			return steps[i].ns;
	}
	return count ? steps[count - 1].ns : 0;
}

// Of those that are kept one by one. Turns that samples show are known to some bins of time.
static bool tell_lengths(struct steps *s)
{
	cleanup_free double *values = calloc(s->count + 1, sizeof(*values));
	size_t count = 0;

	if (!values)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (s->steps[i].calls == 1)
			values[count++] = (double)s->steps[i].ns;
	if (!two_lengths_of(values, count, &s->lengths))
		return false;
	if (s->lengths.lengthy.median - s->lengths.brief.median < LENGTH_BINS * (double)s->bin_ns)
		s->lengths = (struct two_lengths){ 0 };
	return true;
}

static bool sum_up(struct steps *s)
{
	cleanup_free struct run_step *sorted = calloc(s->count + 1, sizeof(*sorted));

	if (!sorted)
		return false;
	if (!s->count)
		return true;
	memcpy(sorted, s->steps, s->count * sizeof(*sorted));
	qsort(sorted, s->count, sizeof(*sorted), compare_durations);
	for (size_t i = 0; i < s->count; i++) {
		s->calls += sorted[i].calls;
		s->sum_ns += sorted[i].calls * sorted[i].ns;
	}
	s->min_ns = sorted[0].ns;
	s->max_ns = sorted[s->count - 1].ns;
	s->q1_ns = quantile(sorted, s->count, s->calls, 0.25);
	s->median_ns = quantile(sorted, s->count, s->calls, 0.5);
	s->q3_ns = quantile(sorted, s->count, s->calls, 0.75);
	s->p95_ns = quantile(sorted, s->count, s->calls, 0.95);
	return tell_lengths(s);
}

// The slot of the thread that calls OP of PROCESS most; 0: unknown.
static uint32_t thread_of(const struct profile *p, uint32_t op, uint32_t process)
{
	const struct op_table *t = profile_op_table(p);
	uint64_t most = 0;
	uint32_t slot = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct op_entry *entry = &t->entries[i];
		if (entry->key.op != op || entry->sums.calls <= most || !entry->key.thread ||
		    entry->key.thread > profile_threads(p)->thread_count)
			continue;
		const struct thread_info *info = profile_thread(p, entry->key.thread);
		if (info->process != process || info->merged != 1)
			continue;
		most = entry->sums.calls;
		slot = entry->key.thread;
	}
	return slot;
}

static void describe(struct steps *s, const struct profile *p, const struct series *series,
                     bool one_shape)
{
	const struct op *op = profile_op(p, series->op);
	const char *shape = one_shape ? profile_string(p, series->shape) : NULL;

	s->name = fnmatch(PROFILER_STEPS, op->name, 0) == 0 ? PROFILER_STEPS : op->name;
	s->provider = op_provider_name(op->provider);
	s->domain = op->domain;
	s->shape = shape ? shape : "";
	s->labelled = op_is_label(op);
	s->slot = thread_of(p, series->op, series->process);
	s->tid = s->slot ? profile_thread(p, s->slot)->tid : 0;
}

static bool add_iterations(struct steps *s, const struct steps_query *query,
                           const struct iterations *found)
{
	s->name = found->function ? found->function : "";
	s->file = found->file;
	s->first_line = found->first_line;
	s->last_line = found->last_line;
	s->shape = "";
	s->bin_ns = found->bin_ns;
	s->steps = calloc(found->count, sizeof(*s->steps));
	for (size_t i = 0; s->steps && i < found->count; i++) {
		const struct iteration *it = &found->items[i];
		if (it->begin_ns < query->from_ns || (query->to_ns && it->begin_ns >= query->to_ns))
			continue;
		s->steps[s->count++] = (struct run_step){
			.first = i + 1,
			.calls = 1,
			.begin_ns = it->begin_ns,
			.end_ns = i + 1 < found->count ? it[1].begin_ns : it->begin_ns + it->ns,
			.ns = it->ns,
		};
	}
	return s->steps && sum_up(s);
}

// Fills S, which is empty.
static int look_at_samples(struct steps *s, const struct profile *p,
                           const struct steps_query *query, struct error *err)
{
	struct account account;

	if (query_account(p, &account, err) < 0)
		return 0; // nobody was seen
	cleanup(iterations) struct iterations *found = query_iterations(p, err);
	if (!found)
		return -1;
	if (!found->count)
		return 0;
	s->tid = account.tid;
	s->slot = account.slot;
	return add_iterations(s, query, found) ? 0 : error_set(err, ENOMEM, OUT_OF_MEMORY);
}

struct steps *query_steps(const struct profile *p, const struct steps_query *query,
                          struct error *err)
{
	cleanup(steps) struct steps *s = calloc(1, sizeof(*s));
	cleanup(calls) struct calls calls = { 0 };
	const struct series *one;
	bool ok = s != NULL;

	if (ok && profile_ops(p))
		ok = collect(p, query->name, &calls, &one);
	if (ok && calls.count >= 2) {
		describe(s, p, one, !query->name);
		// What it does between two ranges, as to start and to stop, is its own.
		bool marked =
			op_is_step(profile_op(p, one->op)) || is_named(p, one, PROFILER_STEPS);
		s->between = !marked && !cover(&calls);
		ok = make_steps(s, p, query, &calls) && sum_up(s);
	}
	if (!ok) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	if (!s->name && !query->name && look_at_samples(s, p, query, err) < 0)
		return NULL;
	return steal(s);
}
