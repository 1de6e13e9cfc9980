// SPDX-License-Identifier: MIT
#include "cli/report/tables.h"

#include "base/error.h"
#include "cli/report/sections.h"
#include "merge/query/query_counts.h"
#include "merge/query/query_repeats.h"

#include <stdio.h>
#include <string.h>

static bool is_measured(const struct profile *p)
{
	return p && (profile_has_repeats(p) || profile_has_counts(p));
}

static const struct report_table tables_of_time[] = {
	{ "account", section_account_row },
	{ "functions", section_sheet_functions },
	{ "lines", section_sheet_lines },
	{ "modules", section_sheet_modules },
	{ "files", section_sheet_files },
	{ "threads", section_all_threads },
	{ "processes", section_all_processes },
	{ "calls", section_sheet_calls },
	{ "callers", section_sheet_callers },
	{ "wall", section_wall },
	{ "waits", section_waits },
	{ "parallel", section_parallel },
	{ "workers", section_workers },
	{ "imports", section_sheet_imports },
	{ "asyncio_tasks", section_sheet_tasks },
	{ "goroutines", section_sheet_goroutines },
	{ "compiling", section_sheet_compiling },
	{ "step_series", section_step_series },
	{ "steps", section_all_steps },
	{ "cycles", section_cycles },
	{ "warmup", section_all_warmup },
	{ "cpu_clock", section_sheet_cpu_clock },
	{ "contention", section_sheet_contention },
	{ "cpu_quotas", section_sheet_cpu_quotas },
	{ 0 },
};

static const struct report_table tables_of_ops[] = {
	{ "ops", section_sheet_ops },
	{ "op_shapes", section_sheet_op_shapes },
	{ "op_modules", section_op_modules },
	{ "memory_totals", section_sheet_memory_totals },
	{ "memory", section_sheet_memory },
	{ "memory_lines", section_sheet_memory_lines },
	{ "memory_curves", section_memory_curves },
	{ "gpu_memory", section_device_memory },
	{ "counters", section_counters },
	{ 0 },
};

static const struct report_table tables_of_gpus[] = {
	{ "gpus", section_all_gpu_devices },    { "gpu_work", section_all_gpu_work },
	{ "gpu_idle", section_all_gpu_idle },   { "gpu_streams", section_gpu_streams },
	{ "gpu_lines", section_all_gpu_lines }, { "gpu_managed", section_gpu_managed },
	{ "gpu_faults", section_gpu_faults },   { 0 },
};

static const struct report_table tables_of_findings[] = {
	{ "findings", section_sheet_findings },
	{ 0 },
};

static const struct report_table tables_of_measurements[] = {
	{ "repeats", section_repeat_runs },
	{ "repeat_spreads", section_repeat_spreads },
	{ "repeat_ratios", section_repeat_ratios },
	{ "count_totals", section_count_totals },
	{ "counts", section_counts },
	{ "count_lines", section_count_lines },
	{ 0 },
};

static const struct report_table tables_of_limits[] = {
	{ "run", section_sheet_run },
	{ "environment", section_environment },
	{ "debug_info", section_sheet_debug_info },
	{ "notes", section_sheet_notes },
	{ 0 },
};

const struct report_table *tables_at(const struct profile *p, size_t index)
{
	static const struct report_table *const kinds[] = {
		tables_of_findings, tables_of_time,   tables_of_ops,
		tables_of_gpus,     tables_of_limits, tables_of_measurements
	};
	const size_t limits = 4;

	for (size_t k = is_measured(p) ? limits : 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (const struct report_table *table = kinds[k]; table->name; table++)
			if (index-- == 0)
				return table;
	return NULL;
}

const struct report_table *tables_find(const char *name, struct error *err)
{
	const struct report_table *table;
	char names[500] = "";
	size_t used = 0;

	for (size_t i = 0; (table = tables_at(NULL, i)); i++) {
		if (strcmp(table->name, name) == 0)
			return table;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
			                         i ? ", " : "", table->name);
	}
	error_set(err, 0, "there is no table \"%s\"", name);
	error_hint(err, "There are %s.", names);
	return NULL;
}
