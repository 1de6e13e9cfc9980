// SPDX-License-Identifier: MIT
#include "cli/report/counts_json.h"

#include "cli/json.h"
#include "merge/profile/profile.h"

void counts_json_place(struct json *j, const struct count_row *row)
{
	json_put_text(j, "name", row->name);
	json_put_text(j, "file", row->file);
	if (row->line)
		json_put_integer(j, "line", row->line);
	else
		json_put_null(j, "line");
	json_put_text(j, "module", row->module);
}

int counts_json_members(struct json *j, const struct profile *profile,
                        const struct counts_query *query, struct error *err)
{
	cleanup(count_rows) struct count_rows *rows = query_counts(profile, query, err);

	if (!rows)
		return -1;
	json_put_text(j, "schema", "bottleneck-count");
	json_put_integer(j, "schema_version", COUNTS_JSON_VERSION);
	json_put_text(j, "command", profile_run(profile)->command);
	json_put_count(j, "instructions", rows->all);
	if (query->baseline)
		json_put_count(j, "baseline_instructions", rows->baseline_all);
	else
		json_put_null(j, "baseline_instructions");
	json_put_integer(j, "noise", rows->noise);
	json_put_count(j, "unnamed", rows->unnamed);
	json_put_count(j, "unlined", rows->unlined);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct count_row *row = &rows->rows[i];
		json_open(j, NULL, '{');
		counts_json_place(j, row);
		json_put_integer(j, "self", row->self);
		json_put_integer(j, "total", row->total);
		json_put_integer(j, "calls", row->calls);
		json_close(j);
	}
	json_close(j);
	return 0;
}

int counts_json(const struct profile *profile, const struct counts_query *query, FILE *out,
                struct error *err)
{
	struct json j = json_start(out);

	json_open(&j, NULL, '{');
	if (counts_json_members(&j, profile, query, err) < 0)
		return -1;
	json_close(&j);
	return 0;
}
