// SPDX-License-Identifier: MIT
// Where the time went: by function, line, module, file, thread and process; and when.
#include "cli/export/tables.h"
#include "cli/report/cut.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/query/query_startup.h"
#include "merge/table/clocks.h"

#include <stdio.h>

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
	{ "account", .make = section_account_row },
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
