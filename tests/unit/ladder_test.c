// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/ladder.h"
#include "tests/support/expect.h"

#include <errno.h>

static struct source the_source;

static struct source *refuse_kernel(const struct source_request *ignored, struct error *err)
{
	(void)ignored;
	error_set(err, EACCES, "no kernel");
	error_hint(err, "Ask for it.");
	return NULL;
}

static struct source *refuse_all(const struct source_request *ignored, struct error *err)
{
	(void)ignored;
	error_set(err, EPERM, "no perf");
	error_hint(err, "Leave the container.");
	return NULL;
}

static struct source *succeed(const struct source_request *ignored, struct error *err)
{
	(void)ignored;
	(void)err;
	return &the_source;
}

static const struct source_ops first = { .rung = RUNG_PERF_KERNEL, .open = refuse_kernel };
static const struct source_ops second = { .rung = RUNG_PERF_USER, .open = refuse_all };
static struct source *refuse_agent(const struct source_request *ignored, struct error *err)
{
	(void)ignored;
	error_set(err, 0, "no agent");
	error_hint(err, "Use dynamic linking.");
	return NULL;
}

static const struct source_ops no_agent = { .rung = RUNG_AGENT, .open = refuse_agent };
static const struct source_ops last = { .rung = RUNG_PROC, .open = succeed };
static const struct source_ops third = { .rung = RUNG_AGENT, .open = succeed };
static const struct source_ops best = { .rung = RUNG_PERF_KERNEL, .open = succeed };

static const struct source_request request;

Test(ladder, the_first_rung_that_opens_is_taken_and_the_one_above_says_why)
{
	const struct source_ops *const rungs[] = { &first, &second, &third };
	struct ladder_report report;

	cr_expect(eq(ptr, ladder_climb(rungs, 3, RUNG_PERF_KERNEL, &request, &report, NULL),
	             &the_source));
	cr_expect(eq(str, report.reason, "no perf: Operation not permitted"));
	cr_expect(eq(str, report.remedy, "Leave the container."));
}

Test(ladder, the_best_rung_has_nothing_to_explain)
{
	const struct source_ops *const rungs[] = { &best, &second, &third };
	struct ladder_report report;

	cr_expect(eq(ptr, ladder_climb(rungs, 3, RUNG_PERF_KERNEL, &request, &report, NULL),
	             &the_source));
	cr_expect(eq(str, report.reason, ""));
	cr_expect(eq(str, report.remedy, ""));
}

Test(ladder, better_rungs_than_asked_for_are_not_tried)
{
	const struct source_ops *const rungs[] = { &best, &first, &third };
	struct ladder_report report;

	ladder_climb(rungs, 3, RUNG_AGENT, &request, &report, NULL);
	cr_expect(eq(str, report.reason, ""), "nothing was refused");
}

Test(ladder, a_rung_that_is_not_built_in_is_passed_over)
{
	const struct source_ops *const rungs[] = { &first, NULL, &third };
	struct ladder_report report;

	cr_expect(eq(ptr, ladder_climb(rungs, 3, RUNG_PERF_KERNEL, &request, &report, NULL),
	             &the_source));
	cr_expect(eq(str, report.reason, "no kernel: Permission denied"));
}

Test(ladder, below_perf_its_remedy_stays_and_the_agents_reason_is_added)
{
	const struct source_ops *const rungs[] = { &first, &second, &no_agent, &last };
	struct ladder_report report;

	ladder_climb(rungs, 4, RUNG_PERF_KERNEL, &request, &report, NULL);
	cr_expect(eq(str, report.reason, "no perf: Operation not permitted; no agent"));
	cr_expect(eq(str, report.remedy, "Leave the container."));
	ladder_climb(rungs, 4, RUNG_AGENT, &request, &report, NULL);
	cr_expect(eq(str, report.reason, "no agent"));
	cr_expect(eq(str, report.remedy, "Use dynamic linking."));
}

Test(ladder, if_nothing_opens_the_error_says_what_perf_said)
{
	const struct source_ops *const rungs[] = { &first, &second };
	struct ladder_report report;
	struct error err = { 0 };

	cr_expect(eq(ptr, ladder_climb(rungs, 2, RUNG_PERF_KERNEL, &request, &report, &err), NULL));
	cr_expect(eq(str, err.text, "no perf: Operation not permitted"));
	cr_expect(eq(str, err.hint, "Leave the container."));
}

Test(ladder, what_is_built_in_begins_with_perf_and_goes_down)
{
	size_t count;
	const struct source_ops *const *rungs = ladder_rungs(&count);

	cr_assert(ge(sz, count, 2));
	cr_expect(eq(ptr, (void *)rungs[0], (void *)&perf_kernel_source));
	for (size_t i = 1; i < count; i++)
		cr_expect(gt(int, (int)rungs[i]->rung, (int)rungs[i - 1]->rung));
}
