// SPDX-License-Identifier: MIT
#include "cli/report/outline.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/report/called.h"
#include "cli/report/cut.h"
#include "cli/report/screen.h"
#include "cli/report/sections.h"
#include "cli/report/verdict.h"
#include "cli/report/view.h"
#include "merge/query/query.h"
#include "merge/query/query_cycles.h"
#include "merge/query/query_repeats.h"
#include "merge/rules/finding.h"
#include "merge/scope/kept.h"

struct outline {
	const struct outline_format *format;
	const struct profile *profile;
	const struct view *view; // resolved
	const struct rule_limits *limits;
};

static struct report begin(const struct outline *o)
{
	struct report r = report_of(o->profile, o->view, READER_TEXT);

	r.ascii = o->format->ascii;
	return r;
}

static int print_section(const struct outline *o, const struct section *s, struct error *err)
{
	return s ? o->format->section(o->format->context, s, err) : -1;
}

static int print_made(const struct outline *o, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = begin(o);

	return print_section(o, make(&r, err), err);
}

static int print_findings(const struct outline *o, const struct findings *findings,
                          struct error *err)
{
	cleanup(report) struct report r = begin(o);

	return print_section(o, section_findings(&r, findings, err), err);
}

static int print_hotspots(const struct outline *o, enum query_by by, enum query_sort sort,
                          struct error *err)
{
	cleanup(report) struct report r = begin(o);

	return print_section(o, section_hotspots(&r, by, sort, err), err);
}

static int print_owners(const struct outline *o, enum query_by by, struct error *err)
{
	cleanup(report) struct report r = begin(o);

	return print_section(o, section_owners(&r, by, err), err);
}

static int print_gpu_callers(const struct outline *o, enum query_by by, struct error *err)
{
	cleanup(report) struct report r = begin(o);

	return print_section(o, section_gpu_callers(&r, by, err), err);
}

static int print_verdict(const struct outline *o, const struct findings *findings,
                         struct error *err)
{
	struct verdict v;

	if (verdict_find(o->profile, o->view, findings, &v, err) < 0)
		return -1;
	return o->format->verdict(o->format->context, &v, err);
}

static int print_called(const struct outline *o, struct error *err)
{
	cleanup(report) struct report r = begin(o);
	struct called_list list;

	if (called_list(&r, &list, err) < 0)
		return -1;
	return o->format->called(o->format->context, &list, err);
}

// The tables that the options name, and nothing beside them but the limits.
static int print_chosen(const struct outline *o, struct error *err)
{
	const struct view *view = o->view;
	enum query_sort sort = view->sort == VIEW_SORT_TOTAL   ? SORT_TOTAL
	                       : view->sort == VIEW_SORT_CALLS ? SORT_CALLS
	                                                       : SORT_SELF;
	enum query_by by = view->by.index >= 0 ? (enum query_by)view->by.index : BY_FUNCTION;
	enum view_table table = view_table(view);
	int failed = 0;

	if (table == VIEW_TABLE_CALLED)
		failed = print_called(o, err);
	else if (table == VIEW_TABLE_FUNCTIONS)
		failed = print_hotspots(o, by, sort, err);
	else if (table == VIEW_TABLE_LINES)
		failed = print_made(o, section_lines, err);
	else if (table == VIEW_TABLE_OWNERS)
		failed = print_owners(o, by, err);
	else if (table == VIEW_TABLE_OPS)
		failed = print_made(o, section_ops, err) < 0 ? -1
		                                             : print_made(o, section_counters, err);
	else if (table == VIEW_TABLE_MEMORY)
		failed = print_made(o, section_memory, err) < 0
		                 ? -1
		                 : print_made(o, section_device_memory, err);
	else if (table == VIEW_TABLE_GPU)
		failed = print_gpu_callers(o, by, err);
	else if (table == VIEW_TABLE_STREAMS)
		failed = print_made(o, section_gpu_streams, err);
	else if (table == VIEW_TABLE_KERNELS)
		failed = print_made(o, section_gpu_kernels, err);
	else if (table == VIEW_TABLE_WAITS)
		failed = print_made(o, section_waits, err);
	else if (table == VIEW_TABLE_ENVIRONMENT)
		failed = print_made(o, section_environment, err);
	if (!failed && view->call_tree)
		failed = print_made(o, section_call_tree, err);
	return failed;
}

static int print_hot(const struct outline *o, struct error *err)
{
	return print_hotspots(o, BY_FUNCTION, SORT_SELF, err) < 0 ||
	                       print_hotspots(o, BY_FUNCTION, SORT_TOTAL, err) < 0
	               ? -1
	               : print_made(o, section_lines, err);
}

static int print_all(const struct outline *o, struct error *err)
{
	struct totals totals;
	bool filtered = view_is_filtered(o->view);
	cleanup(findings) struct findings *findings =
		cut_findings(o->view, o->profile, o->limits, err);
	bool cold = o->view->phase == PHASE_STARTUP || o->view->phase == PHASE_WARMUP;

	if (!findings)
		return -1;
	query_totals(o->profile, &totals);
	if (!filtered && print_verdict(o, findings, err) < 0)
		return -1;
	if (!filtered && print_made(o, section_ranks, err) < 0)
		return -1;
	if (!o->view->quiet && (!filtered || view_is_window(o->view)) &&
	    print_made(o, section_workers, err) < 0)
		return -1;
	if (!o->view->thread && !o->view->process && !cold &&
	    print_made(o, section_warmup, err) < 0)
		return -1;
	if ((!filtered || view_is_window(o->view)) && print_made(o, section_account, err) < 0)
		return -1;
	bool part = o->view->thread || o->view->process || o->view->on_cpu != o->view->off_cpu;
	if (!part && totals.on_cpu_ns + totals.off_cpu_ns && print_findings(o, findings, err) < 0)
		return -1;
	if (o->view->quiet)
		return 0;
	if (!o->view->thread && !o->view->process && print_made(o, section_steps, err) < 0)
		return -1;
	if (!part && print_made(o, section_wall, err) < 0)
		return -1;
	if (print_made(o, section_tasks, err) < 0 || print_made(o, section_goroutines, err) < 0 ||
	    print_made(o, section_imports, err) < 0 || print_made(o, section_compiling, err) < 0 ||
	    print_hot(o, err) < 0 || print_made(o, section_ops, err) < 0 ||
	    print_made(o, section_counters, err) < 0 || print_made(o, section_gpu, err) < 0 ||
	    print_made(o, section_gpu_lines, err) < 0)
		return -1;
	return print_made(o, section_memory, err) < 0 ? -1
	                                              : print_made(o, section_device_memory, err);
}

// Ops where there are any beside the steps themselves, as PyTorch's profiler has it; else
// functions.
static int print_table_of_cycle(const struct outline *o, struct error *err)
{
	cleanup(report) struct report r = begin(o);
	const struct section *ops = section_ops(&r, err);

	if (!ops)
		return -1;
	return ops->shown && ops->row_count > 1 ? print_section(o, ops, err)
	                                        : print_hotspots(o, BY_FUNCTION, SORT_SELF, err);
}

static int print_heading_of_cycle(const struct outline *o, const struct cycle_row *row,
                                  struct error *err)
{
	cleanup(report) struct report r = begin(o);
	struct section *s =
		section_new(&r, "cycle", report_say(&r, "cycle %u", (uint32_t)row->number));
	bool several = row->steps > 1;

	s->subtitle = report_say(&r, "step%s %s%s%s, %.3f to %.3f s", several ? "s" : "",
	                         format_count(row->first).text, several ? " to " : "",
	                         several ? format_count(row->first + row->steps - 1).text : "",
	                         (double)row->begin_ns / 1e9, (double)row->end_ns / 1e9);
	s->shown = true;
	return print_section(o, section_end(s, err), err);
}

static int print_cycle(const struct outline *o, const struct cycle_row *row, struct error *err)
{
	struct view view = *o->view;
	struct outline shown = *o;

	view.cycle = (uint32_t)row->number;
	view.from_ns = row->begin_ns;
	view.to_ns = row->end_ns;
	shown.view = &view;
	if (print_heading_of_cycle(o, row, err) < 0)
		return -1;
	return view_table(&view) != VIEW_TABLE_NONE || view.call_tree
	               ? print_chosen(&shown, err)
	               : print_table_of_cycle(&shown, err);
}

// The cycles of the schedule, and of each the table that the options name.
static int print_cycles(const struct outline *o, struct error *err)
{
	const struct view *view = o->view;
	cleanup(cycles) struct cycles *cycles =
		query_cycles(o->profile, view->schedule, view->steps, err);

	if (!cycles || print_made(o, section_cycles, err) < 0)
		return -1;
	for (size_t i = 0; !view->quiet && i < cycles->count && i < view->top; i++)
		if (print_cycle(o, &cycles->rows[i], err) < 0)
			return -1;
	return 0;
}

static int print_view(const struct outline *o, struct error *err)
{
	const struct view *view = o->view;
	int failed;

	bool chosen = view_table(view) != VIEW_TABLE_NONE || view->call_tree;

	if (profile_has_repeats(o->profile))
		return print_made(o, section_repeats, err);
	if (view->brief && !chosen && !view->schedule && !view->quiet && !view_is_filtered(view))
		return screen_print(o->format, o->profile, view, o->limits, err);
	if (print_made(o, section_header, err) < 0)
		return -1;
	if (view->schedule && !view->cycle && !view->miss)
		failed = print_cycles(o, err);
	else
		failed = chosen ? print_chosen(o, err) : print_all(o, err);
	if (!failed)
		failed = print_made(o, section_limits, err);
	return failed;
}

int outline_print(const struct outline_format *format, const struct profile *profile,
                  const struct view *view, const struct rule_limits *limits, struct error *err)
{
	struct view resolved = *view;
	struct outline o = { format, profile, &resolved, limits };

	kept_begin(profile);
	int failed = cut_resolve(&resolved, profile, err) < 0 ? -1 : print_view(&o, err);
	kept_end();
	return failed;
}
