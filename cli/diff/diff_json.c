// SPDX-License-Identifier: MIT
// The comparison for programs: documented in bottleneck-diff(1).
#include "cli/diff/diff_print.h"
#include "cli/json.h"
#include "cli/report/diff_report.h"
#include "merge/profile/profile.h"

#include <math.h>
#include <string.h>

static void put_ns(struct json *j, const char *key, double ns)
{
	json_put_integer(j, key, llround(ns));
}

static void put_known(struct json *j, const char *key, double number)
{
	if (number > 0)
		json_put_number(j, key, number);
	else
		json_put_null(j, key);
}

static void put_value(struct json *j, const char *key, const struct diff_value *value)
{
	json_open(j, key, '{');
	json_put_count(j, "runs", value->runs);
	put_ns(j, "ns", value->ns);
	put_ns(j, "waiting_ns", value->waiting_ns);
	put_ns(j, "error_ns", value->spread_ns);
	put_known(j, "calls", value->calls);
	put_known(j, "median_ns", value->median_ns);
	put_known(j, "bytes", value->bytes);
	put_known(j, "line", value->line);
	json_close(j);
}

static void put_row(struct json *j, const struct diff_row *row)
{
	json_open(j, NULL, '{');
	json_put_text(j, "name", row->name);
	json_put_text(j, "file", row->file);
	json_put_text(j, "module", row->module);
	json_put_text(j, "domain", *row->domain ? row->domain : NULL);
	json_put_text(j, "shape", *row->shape ? row->shape : NULL);
	json_put_text(j, "verdict", diff_row_word(row));
	put_ns(j, "change_ns", row->change_ns);
	put_ns(j, "margin_ns", row->margin_ns);
	json_put_number(j, "ratio", diff_ratio(row));
	json_put_number(j, "p", row->p);
	put_value(j, "base", &row->base);
	put_value(j, "new", &row->next);
	json_close(j);
}

static void put_table(struct json *j, const struct diff *diff, enum diff_by by, bool total)
{
	json_open(j, NULL, '{');
	json_put_text(j, "by", diff_by_name(by));
	json_put_bool(j, "total", total);
	put_ns(j, "base_ns", diff->base_ns);
	put_ns(j, "new_ns", diff->next_ns);
	json_put_count(j, "left_out", diff->left_out);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < diff->count; i++)
		put_row(j, &diff->rows[i]);
	json_close(j);
	json_close(j);
}

static void put_side(struct json *j, const char *key, const struct diff_side *side,
                     const char *const *paths)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < side->count; i++) {
		const struct diff_part *part = &side->parts[i];
		const struct run *run = profile_run(part->profile);
		json_open(j, NULL, '{');
		json_put_text(j, "path", paths[i]);
		json_put_text(j, "command", run->command);
		json_put_text(j, "host", run->host);
		json_put_count(j, "start_realtime_ns", run->start_realtime_ns);
		json_put_count(j, "wall_ns", run->wall_ns);
		json_put_count(j, "cpu_ns", run->target_cpu_ns);
		json_put_count(j, "samples", run->samples);
		json_put_count(j, "from_ns", part->query.from_ns);
		if (part->query.to_ns)
			json_put_count(j, "to_ns", part->query.to_ns);
		else
			json_put_null(j, "to_ns");
		json_close(j);
	}
	json_close(j);
}

static void put_differences(struct json *j, const struct diff_report *report)
{
	json_open(j, "differences", '[');
	for (size_t i = 0; i < report->difference_count; i++) {
		const struct diff_difference *d = &report->differences[i];
		json_open(j, NULL, '{');
		json_put_text(j, "what", d->what);
		json_put_text(j, "base", d->base);
		json_put_text(j, "new", d->next);
		json_put_bool(j, "grave", d->grave);
		json_close(j);
	}
	json_close(j);
}

static void put_gate(struct json *j, const struct diff_gate *gate)
{
	if (!gate->asked) {
		json_put_null(j, "gate");
		return;
	}
	json_open(j, "gate", '{');
	json_put_number(j, "ratio", gate->ratio);
	put_ns(j, "least_ns", gate->least_ns);
	json_put_integer(j, "status", gate->status);
	json_put_text(j, "reason", *gate->reason ? gate->reason : NULL);
	json_close(j);
}

static void put_amounts(struct json *j, const struct diff_report *report)
{
	json_open(j, "amounts", '[');
	for (size_t i = 0; i < report->amount_count; i++) {
		const struct diff_amount *a = &report->amounts[i];
		json_open(j, NULL, '{');
		json_put_text(j, "name", a->name);
		json_put_text(j, "unit", a->bytes ? "bytes" : "count");
		json_put_number(j, "base", a->base);
		json_put_number(j, "new", a->next);
		json_close(j);
	}
	json_close(j);
}

void diff_report_json(const struct diff_report *report, FILE *out)
{
	struct json j = json_start(out);

	json_open(&j, NULL, '{');
	json_put_text(&j, "schema", "bottleneck-diff");
	json_put_integer(&j, "schema_version", DIFF_JSON_VERSION);
	json_put_text(&j, "sentence", report->sentence);
	json_put_text(&j, "doubt", *report->doubt ? report->doubt : NULL);
	json_put_number(&j, "confidence", report->confidence);
	put_gate(&j, &report->gate);
	put_differences(&j, report);
	put_side(&j, "base", report->base, report->base_paths);
	put_side(&j, "new", report->next, report->next_paths);
	json_open(&j, "tables", '[');
	for (int by = 0; by < DIFF_TABLES; by++)
		if (report->tables[by])
			put_table(&j, report->tables[by], (enum diff_by)by,
			          report->total || (by == DIFF_OP && report->ops_total));
	json_close(&j);
	put_amounts(&j, report);
	json_close(&j);
	fputc('\n', out);
}
