// SPDX-License-Identifier: MIT
// What is wrong, and the rows that show it.
#include "cli/export/tables.h"
#include "cli/report/cut.h"
#include "cli/report/rule_words.h"
#include "cli/report/view.h"
#include "merge/rules/finding.h"

static void put_finding(struct sheet *s, const void *row)
{
	static const struct rule none = { 0 };
	const struct finding *f = row;
	const struct rule *rule = f->rule ? f->rule : &none;

	sheet_text(s, "id", rule->id);
	sheet_text(s, "severity", f->rule ? severity_name(f->severity) : NULL);
	sheet_text(s, "title", rule->title);
	sheet_number(s, "value", f->value);
	sheet_number(s, "threshold", f->threshold);
	sheet_text(s, "unit", f->rule ? rule_unit_key(rule->unit) : NULL);
	sheet_known(s, "saving_ns", f->saving_ns);
	sheet_text(s, "function", f->function);
	sheet_text(s, "file", f->file);
	sheet_known(s, "line", f->line > 0 ? (uint64_t)f->line : 0);
	sheet_text(s, "fact", f->fact);
	sheet_text(s, "advice", f->advice);
	sheet_text(s, "covered_by", f->covered ? f->covered->id : NULL);
}

static int write_findings(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(findings) struct findings *findings =
		cut_findings(e->view, e->profile, e->limits, err);

	if (!findings)
		return -1;
	sheet_rows(s, put_finding, findings->items, findings->count, sizeof(*findings->items),
	           &(struct finding){ 0 });
	return 0;
}

const struct export_table tables_of_findings[] = {
	{ "findings", .write = write_findings },
	{ 0 },
};
