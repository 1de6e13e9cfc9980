// SPDX-License-Identifier: MIT
#include "cli/report/cut.h"

#include "base/error.h"
#include "base/format.h"
#include "merge/profile/profile.h"
#include "merge/query/query_cycles.h"
#include "merge/query/query_startup.h"
#include "merge/query/query_steps.h"
#include "merge/query/query_warmup.h"
#include "merge/rules/finding.h"

static void cut_before(struct view *view, uint64_t ns)
{
	if (ns > view->from_ns)
		view->from_ns = ns;
}

static void cut_behind(struct view *view, uint64_t ns)
{
	if (!view->to_ns || ns < view->to_ns)
		view->to_ns = ns;
}

uint64_t cut_end(const struct view *view, const struct profile *profile)
{
	return view->to_ns ? view->to_ns : profile_run(profile)->wall_ns;
}

int cut_each_cycle(const struct view *view, const struct profile *profile,
                   int (*each)(void *context, const struct view *cycle, struct error *err),
                   void *context, struct error *err)
{
	cleanup(cycles) struct cycles *cycles =
		query_cycles(profile, view->schedule, view->steps, err);
	int ended = 0;

	if (!cycles)
		return -1;
	for (size_t i = 0; i < cycles->count && !ended; i++) {
		const struct cycle_row *row = &cycles->rows[i];
		struct view window = *view;
		if (view->cycle && row->number != view->cycle)
			continue;
		window.cycle = (uint32_t)row->number;
		window.from_ns = row->begin_ns;
		window.to_ns = row->end_ns;
		ended = each(context, &window, err);
	}
	return ended;
}

int cut_steady(const struct view *view, const struct profile *profile, uint64_t *ns,
               struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);
	cleanup(warmup_rows) struct warmup_rows *rows = query_warmup(profile, &query, err);

	if (!rows)
		return -1;
	*ns = rows->steady_ns;
	return 0;
}

static int find_startup(const struct view *view, const struct profile *profile, uint64_t *ns,
                        struct error *err)
{
	const struct steps_query wanted = { .name = view->steps };
	cleanup(steps) struct steps *steps = query_steps(profile, &wanted, err);
	struct startup startup;

	if (!steps)
		return -1;
	uint64_t limit = steps->count ? steps->steps[0].begin_ns : 0;
	if (query_startup(profile, limit, &startup, err) < 0)
		return -1;
	*ns = startup.ns;
	return 0;
}

static int cut_phase(struct view *view, const struct profile *profile, struct error *err)
{
	uint64_t startup = 0, steady = 0;

	if (view->phase == PHASE_STARTUP || view->phase == PHASE_WARMUP)
		if (find_startup(view, profile, &startup, err) < 0)
			return -1;
	if (view->phase != PHASE_STARTUP && cut_steady(view, profile, &steady, err) < 0)
		return -1;
	if (view->phase == PHASE_STARTUP && startup)
		cut_behind(view, startup);
	else if (view->phase == PHASE_STARTUP)
		view->miss = MISS_STARTUP;
	else if (!steady)
		view->miss = MISS_WARMUP;
	else if (view->phase == PHASE_WARMUP) {
		cut_before(view, startup < steady ? startup : 0);
		cut_behind(view, steady);
	} else
		cut_before(view, steady);
	return 0;
}

static int cut_steps(struct view *view, const struct profile *profile, struct error *err)
{
	const struct steps_query wanted = { .name = view->steps };
	cleanup(steps) struct steps *steps = query_steps(profile, &wanted, err);
	size_t i = 0;

	if (!steps)
		return -1;
	while (i < steps->count && steps->steps[i].first <= view->skip_first)
		i++;
	if (i < steps->count)
		cut_before(view, steps->steps[i].begin_ns);
	else
		view->miss = steps->count ? MISS_REST : MISS_STEPS;
	return 0;
}

static bool is_cut(const struct view *view)
{
	return view->from_ns || view->to_ns || view->skip_first || view->from_steady ||
	       view->phase != PHASE_ALL;
}

// Of one cycle, or from the first to the last.
static int cut_cycles(struct view *view, const struct profile *profile, struct error *err)
{
	cleanup(cycles) struct cycles *cycles =
		query_cycles(profile, view->schedule, view->steps, err);

	if (!cycles)
		return -1;
	if (view->cycle > cycles->count || !cycles->count) {
		view->miss = cycles->count ? MISS_CYCLE : cycles->name ? MISS_CYCLES : MISS_STEPS;
		return 0;
	}
	cut_before(view, cycles->rows[view->cycle ? view->cycle - 1 : 0].begin_ns);
	cut_behind(view, cycles->rows[(view->cycle ? view->cycle : cycles->count) - 1].end_ns);
	return 0;
}

// What was not recorded is no part of any table.
static void cut_recorded(struct view *view, const struct run *run)
{
	if (run->recorded_from_ns)
		cut_before(view, run->recorded_from_ns);
	if (run->recorded_to_ns && run->recorded_to_ns < run->wall_ns)
		cut_behind(view, run->recorded_to_ns);
}

int cut_check(const struct view *view, const struct profile *profile, struct error *err)
{
	uint64_t wall_ns = profile_run(profile)->wall_ns;

	if (!view->from_ns || view->from_ns < wall_ns)
		return 0;
	return error_set(err, 0, "--from is later than the end of the run (%s)",
	                 format_duration(wall_ns).text);
}

int cut_resolve(struct view *view, const struct profile *profile, struct error *err)
{
	struct view whole = *view;

	if (view->resolved)
		return 0;
	view->resolved = true;
	view->steps = view->steps ? view->steps : profile_run(profile)->recorded_steps;
	if (!view->schedule && !is_cut(view))
		view->schedule = profile_run(profile)->recorded_schedule;
	cut_recorded(view, profile_run(profile));
	view->miss = MISS_NONE;
	if (view->cycle && !view->schedule)
		return error_set(err, 0, "--cycle is of a schedule: there is none (--schedule)");
	if (view->schedule && cut_cycles(view, profile, err) < 0)
		return -1;
	if (view->from_steady)
		view->phase = PHASE_STEADY;
	if (view->phase != PHASE_ALL && cut_phase(view, profile, err) < 0)
		return -1;
	if (view->skip_first && !view->miss && cut_steps(view, profile, err) < 0)
		return -1;
	if (!view->to_ns || view->to_ns > view->from_ns)
		return 0;
	return error_set(err, 0, "nothing of the run is left between %.3f and %.3f s",
	                 (double)view->from_ns / 1e9, (double)whole.to_ns / 1e9);
}

struct findings *cut_findings(const struct view *view, const struct profile *profile,
                              const struct rule_limits *limits, struct error *err)
{
	struct view window = *view;

	if (cut_resolve(&window, profile, err) < 0)
		return NULL;
	const struct query query = { .from_ns = window.from_ns, .to_ns = window.to_ns };
	return query_findings(profile, &query, limits, err);
}
