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
