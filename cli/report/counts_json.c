// SPDX-License-Identifier: MIT
#include "cli/json.h"
#include "cli/report/counts.h"
#include "cli/report/section_json.h"

int counts_json_members(struct json *j, const struct profile *profile,
                        const struct counts_query *query, struct error *err)
{
	cleanup(report) struct report r = report_of(profile, NULL, READER_JSON);
	const struct counts_shown shown = { .query = *query };
	const struct section *s = section_count_report(&r, &shown, err);

	if (!s)
		return -1;
	json_put_text(j, "schema", "bottleneck-count");
	json_put_integer(j, "schema_version", COUNTS_JSON_VERSION);
	section_json_members(j, s, 0);
	return 0;
}

int counts_json(const struct profile *profile, const struct counts_query *query,
                const struct counts_calls *calls, FILE *out, struct error *err)
{
	struct json j = json_start(out);

	json_open(&j, NULL, '{');
	if (counts_json_members(&j, profile, query, err) < 0)
		return -1;
	if (calls) {
		json_put_count(&j, "calls", calls->count);
		json_put_number(&j, "instructions_per_call", calls->each);
		json_put_text(&j, "baseline_statement", calls->versus);
		if (calls->versus)
			json_put_number(&j, "baseline_instructions_per_call", calls->versus_each);
		else
			json_put_null(&j, "baseline_instructions_per_call");
	}
	json_close(&j);
	return 0;
}
