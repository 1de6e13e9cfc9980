// SPDX-License-Identifier: MIT
// Where the time went: by function, line, module, file, thread and process; and when.
#include "cli/export/tables.h"
#include "cli/report/cut.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/query/query_startup.h"
#include "merge/table/clocks.h"

#include <stdio.h>

// A column for each metric: "self_on_cpu_ns", "self_wait_lock_ns" …
static void put_metrics(struct sheet *s, const char *what, const uint64_t ns[METRIC_COUNT])
{
	char name[64];

	for (int m = 0; m < METRIC_COUNT; m++) {
		snprintf(name, sizeof(name), "%s%s%s_ns", what, metric_is_off_cpu(m) ? "wait_" : "",
		         metric_key((enum metric)m));
		sheet_count(s, name, ns[m]);
	}
}

static void put_account(struct sheet *s, const void *row)
{
	const struct account *a = row;

	sheet_text(s, "thread", a->thread);
	sheet_count(s, "tid", a->tid);
	sheet_text(s, "process", a->process);
	sheet_count(s, "pid", a->pid);
	sheet_bool(s, "is_main", a->is_main);
	sheet_bool(s, "exact", a->exact);
	sheet_count(s, "lifetime_ns", a->lifetime_ns);
	put_metrics(s, "", a->ns);
	sheet_count(s, "kernel_ns", a->kernel_ns);
	sheet_known(s, "gil_held_ns", a->gil_held_ns);
	sheet_known(s, "gil_waited_ns", a->gil_waited_ns);
}

static int write_account(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct account none = { 0 };
	const struct view *view = e->view;
	struct account account;
	bool window = view->from_ns || view->to_ns;

	if ((window ? query_account_in(e->profile, view->from_ns, view->to_ns, &account, err)
	            : query_account(e->profile, &account, err)) < 0)
		return -1;
	sheet_rows(s, put_account, &account, account.lifetime_ns > 0, sizeof(account), &none);
	return 0;
}

static void put_clock(struct sheet *s, const void *data)
{
	const struct clock_reading *reading = data;

	sheet_count(s, "at_ns", reading->at_ms * UINT64_C(1000000));
	sheet_count(s, "mhz", reading->mhz);
}

static int write_clock(struct sheet *s, const struct exporting *e, struct error *err)
{
	struct clocks clocks;

	(void)err;
	clocks_parse(&clocks, profile_run(e->profile)->cpu_clock);
	sheet_rows(s, put_clock, clocks.readings, clocks.count, sizeof(*clocks.readings),
	           &(struct clock_reading){ 0 });
	return 0;
}

const struct export_table tables_of_time[] = {
	{ "account", .write = write_account },
	{ "functions", .make = section_sheet_functions },
	{ "lines", .make = section_sheet_lines },
	{ "modules", .make = section_sheet_modules },
	{ "files", .make = section_sheet_files },
	{ "threads", .make = section_all_threads },
	{ "processes", .make = section_all_processes },
	{ "imports", .make = section_sheet_imports },
	{ "step_series", .make = section_step_series },
	{ "steps", .make = section_all_steps },
	{ "warmup", .make = section_all_warmup },
	{ "cpu_clock", .write = write_clock },
	{ 0 },
};
