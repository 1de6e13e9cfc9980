// SPDX-License-Identifier: MIT
#include "cli/diff/diff_counts.h"
#include "cli/json.h"
#include "merge/profile/profile.h"

#include <math.h>

static const char *const by_names[] = {
	[COUNTS_BY_FUNCTION] = "function",
	[COUNTS_BY_LINE] = "line",
	[COUNTS_BY_FILE] = "file",
	[COUNTS_BY_MODULE] = "module",
};

static void put_side(struct json *j, const char *key, const struct profile *profile,
                     const char *path, uint64_t instructions)
{
	json_open(j, key, '{');
	json_put_text(j, "path", path);
	json_put_text(j, "command", profile_run(profile)->command);
	json_put_count(j, "instructions", instructions);
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
	json_put_integer(j, "least_instructions", llround(gate->least_ns));
	json_put_integer(j, "status", gate->status);
	json_put_text(j, "reason", *gate->reason ? gate->reason : NULL);
	json_close(j);
}

static void put_value(struct json *j, const char *key, int64_t self, int64_t total, int64_t calls)
{
	json_open(j, key, '{');
	json_put_integer(j, "self", self);
	json_put_integer(j, "total", total);
	json_put_integer(j, "calls", calls);
	json_close(j);
}

static void put_row(struct json *j, const struct count_row *row)
{
	json_open(j, NULL, '{');
	json_put_text(j, "name", row->name);
	json_put_text(j, "file", row->file);
	if (row->line)
		json_put_integer(j, "line", row->line);
	else
		json_put_null(j, "line");
	json_put_text(j, "module", row->module);
	// Null for what is new.
	json_put_number(j, "ratio",
	                row->base_self ? (double)row->self / (double)row->base_self : NAN);
	put_value(j, "change", row->self, row->total, row->calls);
	put_value(j, "base", row->base_self, row->base_total, row->base_calls);
	put_value(j, "new", row->base_self + row->self, row->base_total + row->total,
	          row->base_calls + row->calls);
	json_close(j);
}

int diff_counts_json(const struct diff_counts *counts, const struct counts_query *query,
                     const char *sentence, FILE *out, struct error *err)
{
	cleanup(count_rows) struct count_rows *rows = query_counts(counts->next, query, err);
	struct json j = json_start(out);

	if (!rows)
		return -1;
	json_open(&j, NULL, '{');
	json_put_text(&j, "schema", "bottleneck-count-diff");
	json_put_integer(&j, "schema_version", DIFF_COUNTS_JSON_VERSION);
	json_put_text(&j, "sentence", sentence);
	put_gate(&j, counts->gate);
	put_side(&j, "base", counts->base, counts->base_path, rows->baseline_all);
	put_side(&j, "new", counts->next, counts->next_path, rows->all);
	json_put_integer(&j, "change", rows->self);
	json_put_integer(&j, "noise_change", rows->noise);
	json_put_text(&j, "by", by_names[counts->by]);
	json_open(&j, "rows", '[');
	for (size_t i = 0; i < rows->count; i++)
		put_row(&j, &rows->rows[i]);
	json_close(&j);
	json_close(&j);
	return 0;
}
