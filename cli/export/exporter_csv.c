// SPDX-License-Identifier: MIT
// CSV as RFC 4180 has it: one table, or a directory with a file for each.
#include "base/error.h"
#include "cli/export/destination.h"
#include "cli/export/exporter.h"
#include "cli/export/sheet.h"
#include "cli/report/tables.h"
#include "cli/report/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int write_table(const struct report_table *table, const struct exporting *e, FILE *out,
                       struct error *err)
{
	struct sheet sheet = { .out = out };

	return sheet_table(&sheet, table, e, err);
}

static int write_file(const struct report_table *table, const struct exporting *e,
                      struct error *err)
{
	cleanup(destination) struct destination destination = { .fd = -1 };
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%s/%s.csv", e->directory, table->name) < 0) {
		path = NULL;
		return error_set(err, ENOMEM, "could not name a file");
	}
	if (destination_open(&destination, path, false, e->view->shared, err) < 0 ||
	    write_table(table, e, destination.out, err) < 0)
		return -1;
	return destination_finish(&destination, err);
}

static int write_csv(const struct exporting *e, struct error *err)
{
	const struct report_table *table;

	if (e->table) {
		table = tables_find(e->table, err);
		return table ? write_table(table, e, e->out, err) : -1;
	}
	if (mkdir(e->directory, e->view->shared ? 0777 : 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "could not make the directory \"%s\"", e->directory);
	for (size_t i = 0; (table = tables_at(e->profile, i)); i++)
		if (write_file(table, e, err) < 0)
			return -1;
	return 0;
}

const struct exporter exporter_csv = {
	.name = "csv", .many = true, .tables = true, .write = write_csv
};
