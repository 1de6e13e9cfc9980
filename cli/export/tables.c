// SPDX-License-Identifier: MIT
#include "cli/export/tables.h"

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

static const struct export_table tables_of_ops[] = {
	{ "ops", .make = section_sheet_ops },
	{ "op_shapes", .make = section_sheet_op_shapes },
	{ "memory_totals", .make = section_sheet_memory_totals },
	{ "memory", .make = section_sheet_memory },
	{ "memory_lines", .make = section_sheet_memory_lines },
	{ "gpu_memory", .make = section_device_memory },
	{ "counters", .make = section_counters },
	{ 0 },
};

static const struct export_table tables_of_gpus[] = {
	{ "gpus", .make = section_all_gpu_devices },
	{ "gpu_work", .make = section_all_gpu_work },
	{ "gpu_idle", .make = section_all_gpu_idle },
	{ "gpu_streams", .make = section_gpu_streams },
	{ "gpu_lines", .make = section_all_gpu_lines },
	{ "gpu_managed", .make = section_gpu_managed },
	{ "gpu_faults", .make = section_gpu_faults },
	{ 0 },
};

static const struct export_table tables_of_findings[] = {
	{ "findings", .make = section_sheet_findings },
	{ 0 },
};

static const struct export_table tables_of_limits[] = {
	{ "run", .make = section_sheet_run },
	{ "debug_info", .make = section_sheet_debug_info },
	{ "notes", .make = section_sheet_notes },
	{ 0 },
};

const struct export_table *tables_at(const struct profile *p, size_t index)
{
	static const struct export_table *const kinds[] = {
		tables_of_findings, tables_of_time,   tables_of_ops,
		tables_of_gpus,     tables_of_limits, tables_of_measurements
	};
	const size_t limits = 4;

	for (size_t k = is_measured(p) ? limits : 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (const struct export_table *table = kinds[k]; table->name; table++)
			if (index-- == 0)
				return table;
	return NULL;
}

const struct export_table *tables_find(const char *name, struct error *err)
{
	const struct export_table *table;
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

int tables_write(const struct export_table *table, struct sheet *s, const struct exporting *e,
                 struct error *err)
{
	if (!table->make)
		return table->write(s, e, err);
	cleanup(report) struct report report = report_of(e->profile, e->view, READER_SHEET);
	report.limits = e->limits;
	report.cut = e->cut;
	const struct section *section = table->make(&report, err);
	if (!section)
		return -1;
	sheet_section(s, section);
	return 0;
}
