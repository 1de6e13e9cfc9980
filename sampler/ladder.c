// SPDX-License-Identifier: MIT
#include "sampler/ladder.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

const struct source_ops *const *ladder_rungs(size_t *count)
{
	static const struct source_ops *const rungs[] = {
		&perf_kernel_source,
		&perf_user_source,
		&agent_source,
		&proc_source,
	};

	*count = sizeof(rungs) / sizeof(rungs[0]);
	return rungs;
}

// What perf says is worth more than what the rungs below it say: its remedy brings the best.
static void report_failure(struct ladder_report *report, enum rung rung, const struct error *err)
{
	size_t length = strlen(report->reason);

	if (length && rung > RUNG_PERF_USER) {
		snprintf(report->reason + length, sizeof(report->reason) - length, "; %s",
		         err->text);
		return;
	}
	error_message(err, report->reason, sizeof(report->reason));
	snprintf(report->remedy, sizeof(report->remedy), "%s", err->hint);
}

struct source *ladder_climb(const struct source_ops *const *rungs, size_t count,
                            enum rung best_rung, const struct source_request *request,
                            struct ladder_report *report, struct error *err)
{
	struct error why;

	*report = (struct ladder_report){ 0 };
	for (size_t i = 0; i < count; i++) {
		if (!rungs[i] || rungs[i]->rung < best_rung)
			continue;
		why = (struct error){ 0 };
		struct source *source = rungs[i]->open(request, &why);
		if (source)
			return source;
		if (why.text[0])
			report_failure(report, rungs[i]->rung, &why);
	}
	error_set(err, 0, "%s",
	          report->reason[0] ? report->reason : "no way to sample is built in");
	error_hint(err, "%s", report->remedy);
	return NULL;
}
