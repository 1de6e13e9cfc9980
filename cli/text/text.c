// SPDX-License-Identifier: MIT
#include "cli/text/text.h"

#include "cli/report/cut.h"
#include "cli/report/sections.h"
#include "merge/query/query.h"
#include "merge/query/query_cycles.h"
#include "merge/query/query_repeats.h"
#include "merge/rules/finding.h"

#include <stdio.h>
#include <string.h>

void text_heading(const struct text *text, const char *name, const char *note)
{
	const struct terminal *t = &text->terminal;

	fprintf(text->out, "\n%s", terminal_style(t, STYLE_BOLD));
	terminal_print(t, text->out, "%s", name);
	fputs(terminal_style(t, STYLE_PLAIN), text->out);
	if (note && *note) {
		fprintf(text->out, "  %s", terminal_style(t, STYLE_DIM));
		terminal_print(t, text->out, "%s", note);
		fputs(terminal_style(t, STYLE_PLAIN), text->out);
	}
	fputc('\n', text->out);
}

void text_say(const struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say(&text->terminal, text->out, format, args);
	va_end(args);
}

static int print_section(const struct text *text, const struct section *s, struct error *err)
{
	return s ? text_section(text, s, err) : -1;
}

static int print_findings(const struct text *text, const struct findings *findings,
                          struct error *err)
{
	cleanup(report) struct report r = text_report(text);

	return print_section(text, section_findings(&r, findings, err), err);
}

static int print_hotspots(const struct text *text, enum query_by by, enum query_sort sort,
                          struct error *err)
{
	cleanup(report) struct report r = text_report(text);

	return print_section(text, section_hotspots(&r, by, sort, err), err);
}

static int print_owners(const struct text *text, enum query_by by, struct error *err)
{
	cleanup(report) struct report r = text_report(text);

	return print_section(text, section_owners(&r, by, err), err);
}

static int print_gpu_callers(const struct text *text, enum query_by by, struct error *err)
{
	cleanup(report) struct report r = text_report(text);

	return print_section(text, section_gpu_callers(&r, by, err), err);
}

// The tables that the options name, and nothing beside them but the limits.
static int print_chosen(const struct text *text, struct error *err)
{
	const struct view *view = text->view;
	enum query_sort sort = view->sort == VIEW_SORT_TOTAL   ? SORT_TOTAL
	                       : view->sort == VIEW_SORT_CALLS ? SORT_CALLS
	                                                       : SORT_SELF;
	enum query_by by = view->by.index >= 0 ? (enum query_by)view->by.index : BY_FUNCTION;
	enum view_table table = view_table(view);
	int failed = 0;

	if (table == VIEW_TABLE_CALLED)
		failed = text_called(text, err);
	else if (table == VIEW_TABLE_FUNCTIONS)
		failed = print_hotspots(text, by, sort, err);
	else if (table == VIEW_TABLE_LINES)
		failed = text_made(text, section_lines, err);
	else if (table == VIEW_TABLE_OWNERS)
		failed = print_owners(text, by, err);
	else if (table == VIEW_TABLE_OPS)
		failed = text_made(text, section_ops, err) < 0
		                 ? -1
		                 : text_made(text, section_counters, err);
	else if (table == VIEW_TABLE_MEMORY)
		failed = text_made(text, section_memory, err) < 0
		                 ? -1
		                 : text_made(text, section_device_memory, err);
	else if (table == VIEW_TABLE_GPU)
		failed = print_gpu_callers(text, by, err);
	else if (table == VIEW_TABLE_STREAMS)
		failed = text_made(text, section_gpu_streams, err);
	else if (table == VIEW_TABLE_KERNELS)
		failed = text_made(text, section_gpu_kernels, err);
	else if (table == VIEW_TABLE_WAITS)
		failed = text_made(text, section_waits, err);
	if (!failed && view->call_tree)
		failed = text_made(text, section_call_tree, err);
	return failed;
}

static int print_all(const struct text *text, struct error *err)
{
	struct totals totals;
	bool filtered = view_is_filtered(text->view);
	cleanup(findings) struct findings *findings =
		cut_findings(text->view, text->profile, text->limits, err);
	bool cold = text->view->phase == PHASE_STARTUP || text->view->phase == PHASE_WARMUP;

	if (!findings)
		return -1;
	query_totals(text->profile, &totals);
	if (!filtered && text_verdict(text, findings, err) < 0)
		return -1;
	if (!filtered && text_made(text, section_ranks, err) < 0)
		return -1;
	if (!text->view->thread && !text->view->process && !cold &&
	    text_made(text, section_warmup, err) < 0)
		return -1;
	if ((!filtered || view_is_window(text->view)) && text_made(text, section_account, err) < 0)
		return -1;
	bool part = text->view->thread || text->view->process ||
	            text->view->on_cpu != text->view->off_cpu;
	if (!part && totals.on_cpu_ns + totals.off_cpu_ns &&
	    print_findings(text, findings, err) < 0)
		return -1;
	if (text->view->quiet)
		return 0;
	if (!text->view->thread && !text->view->process && text_made(text, section_steps, err) < 0)
		return -1;
	if (!part && text_made(text, section_wall, err) < 0)
		return -1;
	if (text_made(text, section_imports, err) < 0 ||
	    print_hotspots(text, BY_FUNCTION, SORT_SELF, err) < 0 ||
	    print_hotspots(text, BY_FUNCTION, SORT_TOTAL, err) < 0 ||
	    text_made(text, section_lines, err) < 0 || text_made(text, section_ops, err) < 0 ||
	    text_made(text, section_counters, err) < 0 || text_made(text, section_gpu, err) < 0 ||
	    text_made(text, section_gpu_lines, err) < 0)
		return -1;
	return text_made(text, section_memory, err) < 0
	               ? -1
	               : text_made(text, section_device_memory, err);
}

// Ops where there are any beside the steps themselves, as PyTorch's profiler has it; else
// functions.
static int print_table_of_cycle(const struct text *text, struct error *err)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *ops = section_ops(&r, err);

	if (!ops)
		return -1;
	return ops->shown && ops->row_count > 1 ? text_section(text, ops, err)
	                                        : print_hotspots(text, BY_FUNCTION, SORT_SELF, err);
}

static int print_cycle(const struct text *text, const struct cycle_row *row, struct error *err)
{
	struct view view = *text->view;
	struct text shown = *text;
	char name[64], note[128];

	view.cycle = (uint32_t)row->number;
	view.from_ns = row->begin_ns;
	view.to_ns = row->end_ns;
	shown.view = &view;
	snprintf(name, sizeof(name), "cycle %u", view.cycle);
	snprintf(note, sizeof(note), "step%s %s%s%s, %.3f to %.3f s", row->steps > 1 ? "s" : "",
	         format_count(row->first).text, row->steps > 1 ? " to " : "",
	         row->steps > 1 ? format_count(row->first + row->steps - 1).text : "",
	         (double)row->begin_ns / 1e9, (double)row->end_ns / 1e9);
	text_heading(text, name, note);
	return view_table(&view) != VIEW_TABLE_NONE || view.call_tree
	               ? print_chosen(&shown, err)
	               : print_table_of_cycle(&shown, err);
}

// The cycles of the schedule, and of each the table that the options name.
static int print_cycles(const struct text *text, struct error *err)
{
	const struct view *view = text->view;
	cleanup(cycles) struct cycles *cycles =
		query_cycles(text->profile, view->schedule, view->steps, err);

	if (!cycles || text_made(text, section_cycles, err) < 0)
		return -1;
	for (size_t i = 0; !view->quiet && i < cycles->count && i < view->top; i++)
		if (print_cycle(text, &cycles->rows[i], err) < 0)
			return -1;
	return 0;
}

static int print_view(const struct text *text, struct error *err)
{
	const struct view *view = text->view;
	int failed;

	if (profile_has_repeats(text->profile))
		return text_made(text, section_repeats, err);
	if (text_made(text, section_header, err) < 0)
		return -1;
	if (view->schedule && !view->cycle && !view->miss)
		failed = print_cycles(text, err);
	else if (view_table(view) != VIEW_TABLE_NONE || view->call_tree)
		failed = print_chosen(text, err);
	else
		failed = print_all(text, err);
	if (!failed)
		failed = text_made(text, section_limits, err);
	return failed;
}

int text_print(const struct text *text, struct error *err)
{
	struct view view = *text->view;
	struct text shown = *text;

	if (cut_resolve(&view, text->profile, err) < 0)
		return -1;
	shown.view = &view;
	return print_view(&shown, err);
}
