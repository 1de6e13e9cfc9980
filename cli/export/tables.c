// SPDX-License-Identifier: MIT
#include "cli/export/tables.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

const struct export_table *tables_at(size_t index)
{
	static const struct export_table *const kinds[] = { tables_of_findings, tables_of_time,
		                                            tables_of_ops, tables_of_gpus,
		                                            tables_of_limits };

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (const struct export_table *table = kinds[k]; table->name; table++)
			if (index-- == 0)
				return table;
	return NULL;
}

const struct export_table *tables_find(const char *name, struct error *err)
{
	const struct export_table *table;
	char names[400] = "";
	size_t used = 0;

	for (size_t i = 0; (table = tables_at(i)); i++) {
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
