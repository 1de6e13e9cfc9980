// SPDX-License-Identifier: MIT
// The report for programs with all its tables: what "report --json" prints, and more.
#include "cli/export/exporter.h"
#include "cli/export/sheet.h"
#include "cli/json.h"
#include "cli/report/report_json.h"
#include "cli/report/tables.h"

static int put_table(struct json *j, const struct report_table *table, const struct exporting *e,
                     struct error *err)
{
	struct sheet sheet = { .json = j };

	json_open(j, table->name, '[');
	if (sheet_table(&sheet, table, e, err) < 0)
		return -1;
	json_close(j);
	return 0;
}

static int put_tables(struct json *j, const void *context, struct error *err)
{
	const struct exporting *e = context;
	const struct report_table *table = e->table ? tables_find(e->table, err) : NULL;

	if (e->table && !table)
		return -1;
	json_put_text(j, "shown", *e->cut ? e->cut : NULL);
	json_open(j, "tables", '{');
	if (table && put_table(j, table, e, err) < 0)
		return -1;
	for (size_t i = 0; !e->table && (table = tables_at(e->profile, i)); i++)
		if (put_table(j, table, e, err) < 0)
			return -1;
	json_close(j);
	return 0;
}

static int write_measured(const struct exporting *e, struct error *err)
{
	struct json j = json_start_compact(e->out);

	json_open(&j, NULL, '{');
	if (report_json_measured(&j, e->profile, err) < 0 || put_tables(&j, e, err) < 0)
		return -1;
	json_close(&j);
	return 0;
}

static int write_json(const struct exporting *e, struct error *err)
{
	if (report_json_is_measured(e->profile))
		return write_measured(e, err);
	const struct report_json_more more = { put_tables, e };

	return report_json(e->profile, e->view, e->limits, &more, e->out, err);
}

const struct exporter exporter_json = { .name = "json", .tables = true, .write = write_json };
