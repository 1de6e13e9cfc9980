// SPDX-License-Identifier: MIT
#include "cli/text/text.h"

#include "base/path.h"
#include "cli/report/cut.h"
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

bool text_is_startup(const char *function)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_main_alias_2",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"clone3",
		"__clone3",
		"Py_BytesMain",
		"Py_RunMain",
		"entry_SYSCALL_64_after_hwframe",
		"do_syscall_64",
		"x64_sys_call",
		"asm_exc_page_fault",
		"ret_from_fork",
		"ret_from_fork_asm",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

const char *text_wait_kind(enum metric metric)
{
	static const char *const kinds[METRIC_COUNT] = {
		[METRIC_ON_CPU] = "",
		[METRIC_OFF_RUNNABLE] = "cpu wait",
		[METRIC_OFF_LOCK] = "lock wait",
		[METRIC_OFF_FILE] = "file wait",
		[METRIC_OFF_NET] = "net wait",
		[METRIC_OFF_PIPE] = "pipe wait",
		[METRIC_OFF_SLEEP] = "sleep",
		[METRIC_OFF_FAULT] = "page wait",
		[METRIC_OFF_CHILD] = "child wait",
		[METRIC_OFF_GPU] = "GPU wait",
		[METRIC_OFF_STOPPED] = "stopped",
		[METRIC_OFF_OTHER] = "wait",
	};

	return (unsigned)metric < METRIC_COUNT ? kinds[metric] : "";
}

const char *text_row_kind(const struct row *row)
{
	// Waiting for a CPU is the lot of code that runs, and not what that code is for.
	uint64_t running = row->self_ns[METRIC_ON_CPU] + row->self_ns[METRIC_OFF_RUNNABLE];
	uint64_t most = running;
	enum metric kind = METRIC_ON_CPU;

	for (int m = METRIC_OFF_RUNNABLE + 1; m < METRIC_COUNT; m++) {
		if (row->self_ns[m] > most) {
			most = row->self_ns[m];
			kind = (enum metric)m;
		}
	}
	if (kind != METRIC_ON_CPU)
		return text_wait_kind(kind);
	if (!row->module && !row->file)
		return row->kernel ? "kernel" : ""; // a mark: not code of the program's
	if (row->python)
		return "python";
	if (row->called)
		return "python C";
	return row->kernel ? "kernel" : row->inlined ? "inline" : "native";
}

void text_say(const struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say(&text->terminal, text->out, format, args);
	va_end(args);
}

void text_place(const char *file, int line, const char *module, char *buffer, size_t size)
{
	if (file && line > 0)
		snprintf(buffer, size, "%s:%d", path_base(file), line);
	else if (file)
		snprintf(buffer, size, "%s", path_base(file));
	else if (module && module[0] == '[')
		snprintf(buffer, size, "%s", module);
	else if (module)
		snprintf(buffer, size, "[%s]", path_base(module));
	else
		buffer[0] = '\0';
}

const char *text_beside(const char *name, const char *place)
{
	if (strcmp(place, name) != 0)
		return place;
	return strcmp(name, "[kernel]") == 0 ? "" : "code without names";
}

// The tables that the options name, and nothing beside them but the limits.
static int print_chosen(const struct text *text, struct error *err)
{
	const struct view *view = text->view;
	enum query_sort sort = view->sort == VIEW_SORT_TOTAL ? SORT_TOTAL : SORT_SELF;
	enum query_by by = view->by.index >= 0 ? (enum query_by)view->by.index : BY_FUNCTION;
	enum view_table table = view_table(view);
	int failed = 0;

	if (table == VIEW_TABLE_FUNCTIONS)
		failed = text_hotspots(text, by, sort, err);
	else if (table == VIEW_TABLE_LINES)
		failed = text_lines(text, err);
	else if (table == VIEW_TABLE_OWNERS)
		failed = text_owners(text, by, err);
	else if (table == VIEW_TABLE_OPS)
		failed = text_ops(text, err) < 0 ? -1 : text_counters(text, err);
	else if (table == VIEW_TABLE_MEMORY)
		failed = text_memory(text, err) < 0 ? -1 : text_devices(text, err);
	else if (table == VIEW_TABLE_GPU)
		failed = text_gpu_rows(text, by, err);
	else if (table == VIEW_TABLE_STREAMS)
		failed = text_gpu_streams(text, err);
	else if (table == VIEW_TABLE_KERNELS)
		failed = text_gpu_kernels(text, err);
	if (!failed && view->call_tree)
		failed = text_tree(text, err);
	return failed;
}

static int print_all(const struct text *text, const struct totals *totals, struct error *err)
{
	bool filtered = view_is_filtered(text->view);
	cleanup(findings) struct findings *findings =
		cut_findings(text->view, text->profile, text->limits, err);
	bool cold = text->view->phase == PHASE_STARTUP || text->view->phase == PHASE_WARMUP;

	if (!findings)
		return -1;
	if (!filtered && text_verdict(text, findings, err) < 0)
		return -1;
	if (!filtered && text_ranks(text, err) < 0)
		return -1;
	if (!text->view->thread && !text->view->process && !cold && text_warmup(text, err) < 0)
		return -1;
	if ((!filtered || view_is_window(text->view)) && text_account(text, totals, err) < 0)
		return -1;
	bool part = text->view->thread || text->view->process ||
	            text->view->on_cpu != text->view->off_cpu;
	if (!part && totals->on_cpu_ns + totals->off_cpu_ns)
		text_findings(text, findings);
	if (text->view->quiet)
		return 0;
	if (!text->view->thread && !text->view->process && text_steps(text, err) < 0)
		return -1;
	if (text_imports(text, err) < 0 || text_hotspots(text, BY_FUNCTION, SORT_SELF, err) < 0 ||
	    text_hotspots(text, BY_FUNCTION, SORT_TOTAL, err) < 0 || text_lines(text, err) < 0 ||
	    text_ops(text, err) < 0 || text_counters(text, err) < 0 || text_gpu(text, err) < 0 ||
	    text_gpu_lines(text, err) < 0)
		return -1;
	return text_memory(text, err) < 0 ? -1 : text_devices(text, err);
}

// What was asked for and is not there.
static void print_miss(const struct text *text)
{
	const char *words = cut_missed(text->view);

	if (words)
		fprintf(text->out, "  %s\n", words);
}

static int print_view(const struct text *text, struct error *err)
{
	const struct view *view = text->view;
	struct totals totals;
	int failed;

	if (profile_has_repeats(text->profile))
		return text_repeats(text, err);
	query_totals(text->profile, &totals);
	text_header(text, &totals);
	print_miss(text);
	if (view_table(view) != VIEW_TABLE_NONE || view->call_tree)
		failed = print_chosen(text, err);
	else
		failed = print_all(text, &totals, err);
	if (!failed)
		failed = text_limits(text, &totals, err);
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
