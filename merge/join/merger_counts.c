// SPDX-License-Identifier: MIT
// Instructions that were counted in one part: sums, by name.
#include "merge/join/merger_data.h"

#include <stdlib.h>

// FUNCTIONS: their numbers among those of all.
static bool add_functions(struct merger *m, uint32_t *functions)
{
	const struct counts *from = &m->part->counts;
	struct counts *to = &m->profile->counts;

	for (uint32_t i = 0; i < from->function_count; i++) {
		const struct count_function *function = &from->functions[i];
		uint32_t name, file, module;
		if (!merger_text(m, function->name, &name) ||
		    !merger_text(m, function->file, &file) ||
		    !merger_text(m, function->module, &module))
			return false;
		functions[i] = counts_function(to, name, file, module);
		if (!functions[i])
			return false;
		struct count_function *kept = &to->functions[functions[i] - 1];
		kept->calls += function->calls;
		kept->called += function->called;
		kept->callees += function->callees;
	}
	return true;
}

bool merger_add_counts(struct merger *m)
{
	const struct counts *from = &m->part->counts;
	struct counts *to = &m->profile->counts;
	cleanup_free uint32_t *functions =
		calloc((size_t)from->function_count + 1, sizeof(*functions));

	if (!functions || !add_functions(m, functions))
		return false;
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct count_line *line = &from->lines[i];
		uint32_t file;
		if (!merger_text(m, line->file, &file) ||
		    !counts_add(to, functions[line->function - 1], file, line->line, line->self))
			return false;
	}
	to->processes += from->processes;
	return true;
}
