// SPDX-License-Identifier: MIT
// What a report tells of a run beside functions: warm-up, steps, ranks, repeats, imports, findings.
#include "base/clock.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/text_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(text_run, .init = golden_use_utf8);

Test(text_run, warm_up_comes_before_the_tables)
{
	static const char *const names[] = {
		[WARMUP_NONE] = "warmup-too-few",
		[WARMUP_INCLUDED] = "warmup-included",
		[WARMUP_TOO_SHORT] = "warmup-too-short",
		[WARMUP_NO_STEADY_STATE] = "warmup-no-steady-state",
		[WARMUP_SLOWS_DOWN] = "warmup-slows-down",
	};
	struct view view = view_default();

	view.quiet = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		golden_expect(names[i], text_page(fake_profile_with_warmup((enum warmup_verdict)i),
		                                  &view, golden_terminal(80, false, false)));
}

static bool says(struct profile *profile, const struct view *view, const char *words)
{
	char *page = text_page(profile, view, golden_terminal(120, false, false));
	bool found = strstr(page, words) != NULL;

	free(page);
	return found;
}

Test(text_run, a_clock_that_rises_or_falls)
{
	static const char rose[] = "Meanwhile the CPUs' clock rose from 1.40 to 3.20 GHz";
	static const char fell[] = "The CPUs' clock fell from 3.20 to 2.10 GHz after 12.0 s";
	static const char limit[] = "the CPUs' clock fell from 3.20 to 2.10 GHz";
	struct view view = view_default();
	struct profile *p = fake_profile_with_warmup(WARMUP_INCLUDED);

	view.quiet = false;
	cr_expect(not(says(p, &view, rose)));
	p->rise = (struct clock_change){ 1400, 3200, NS_PER_SEC, p->warmup.excess_ns / 2 };
	cr_expect(says(p, &view, rose));
	cr_expect(says(p, &view, "that is up to 50.0 % of what"));
	cr_expect(not(says(p, &view, limit)));
	p = fake_profile_with_warmup(WARMUP_SLOWS_DOWN);
	p->rise = (struct clock_change){ 0 };
	cr_expect(not(says(p, &view, fell)));
	p->fall = (struct clock_change){ 3200, 2100, 12 * NS_PER_SEC, 0 };
	cr_expect(says(p, &view, fell));
	cr_expect(says(p, &view, "up to 52 % longer"));
	cr_expect(says(p, &view, limit));
}

Test(text_run, that_warm_up_cannot_be_told_is_a_limit)
{
	static const char words[] = "no warm-up verdict: the run has no ops";
	struct profile *p = fake_profile();
	const struct view view = { .by.index = -1 };

	cr_expect(not(says(p, &view, words)));
	p->warmup.unseen = true;
	cr_expect(says(p, &view, words));
	p->run.wall_ns = NS_PER_SEC - 1;
	cr_expect(not(says(p, &view, words)));
}

Test(text_run, from_the_end_of_the_warm_up)
{
	struct view view = view_default();

	view.quiet = true;
	view.from_steady = true;
	golden_expect("warmup-skipped", text_page(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                          golden_terminal(80, false, false)));
	golden_expect("warmup-none",
	              text_page(fake_profile(), &view, golden_terminal(80, false, false)));
}

Test(text_run, steps)
{
	struct view view = view_default();

	view.quiet = false;
	view.top = 1;
	golden_expect("steps", text_page(fake_profile_with_steps(), &view,
	                                 golden_terminal(100, false, false)));
	golden_expect("steps-ascii", text_page(fake_profile_with_steps(), &view,
	                                       golden_terminal(80, false, true)));
	view.skip_first = 2;
	golden_expect("steps-skipped", text_page(fake_profile_with_steps(), &view,
	                                         golden_terminal(100, false, false)));
	view.skip_first = 8;
	golden_expect("steps-too-few", text_page(fake_profile_with_steps(), &view,
	                                         golden_terminal(100, false, false)));
}

Test(text_run, cycles_of_a_schedule)
{
	static struct cycle_row rows[] = {
		{ .number = 1,
		  .first = 1,
		  .steps = 2,
		  .begin_ns = MS(800),
		  .end_ns = MS(1175),
		  .complete = true,
		  .steps_ns = MS(375),
		  .known = 2,
		  .parts = { true,
		             { [STEP_KERNELS] = MS(100),
		               [STEP_OPS] = MS(200),
		               [STEP_IDLE] = MS(75) } },
		  .parts_known = 2 },
		{ .number = 2, .first = 4, .steps = 1, .begin_ns = MS(1187), .end_ns = MS(1198) },
	};
	struct view view = view_default();
	struct profile *p = fake_profile_with_steps();

	view.top = 2;
	view.schedule = "wait=1,active=2";
	p->cycles = (struct cycles){ rows, 2, true, "train step" };
	golden_expect("cycles", text_page(p, &view, golden_terminal(100, false, false)));
	view.sort = VIEW_SORT_LINE;
	golden_expect("cycles-lines", text_page(p, &view, golden_terminal(100, false, false)));
	view.sort = VIEW_SORT_NONE;
	view.cycle = 3;
	golden_expect("cycles-too-few", text_page(p, &view, golden_terminal(100, false, false)));
}

Test(text_run, repeats)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_repeats(true);

	golden_expect("repeats-100", text_page(p, &view, golden_terminal(100, false, false)));
	golden_expect("repeats-80", text_page(p, &view, golden_terminal(80, false, true)));
	p->ratio.high = 1.01;
	golden_expect("repeats-same", text_page(p, &view, golden_terminal(100, false, false)));
}

Test(text_run, ranks)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_ranks(4);

	golden_expect("ranks-100", text_page(p, &view, golden_terminal(100, false, false)));
	p->ranks.straggles = false;
	p->ranks.because = NULL;
	p->ranks.skew_count = 0;
	p->ranks.step_ratio = 1.04;
	golden_expect("ranks-even", text_page(p, &view, golden_terminal(100, false, false)));
	golden_expect("ranks-many", text_page(fake_profile_of_ranks(40), &view,
	                                      golden_terminal(80, false, true)));
}

Test(text_run, repeats_of_one_command)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_repeats(false);
	struct repeat_row *row = &p->repeats.rows[0];

	golden_expect("repeats-one", text_page(p, &view, golden_terminal(100, false, false)));
	row->range = "step";
	row->calls = 36;
	row->spread[REPEAT_CALL] = row->spread[REPEAT_WALL];
	golden_expect("repeats-range", text_page(p, &view, golden_terminal(100, false, false)));
	row->range = NULL;
	row->spread[REPEAT_WALL].count = 5;
	row->spread[REPEAT_WALL].low = NAN;
	golden_expect("repeats-few", text_page(p, &view, golden_terminal(100, false, false)));
}

Test(text_run, phases)
{
	struct view view = view_default();

	view.quiet = true;
	view.phase = PHASE_STARTUP;
	golden_expect("phase-startup", text_page(fake_profile_with_steps(), &view,
	                                         golden_terminal(100, false, false)));
	golden_expect("phase-startup-none",
	              text_page(fake_profile(), &view, golden_terminal(100, false, false)));
	view.phase = PHASE_WARMUP;
	golden_expect("phase-warmup", text_page(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                        golden_terminal(100, false, false)));
	view.phase = PHASE_STEADY;
	golden_expect("phase-steady", text_page(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                        golden_terminal(100, false, false)));
}

Test(text_run, imports_of_python_at_two_widths)
{
	static const int widths[] = { 60, 100 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		snprintf(name, sizeof(name), "imports-%d", widths[i]);
		golden_expect(name, text_page(fake_profile_with_imports(), &view,
		                              golden_terminal(widths[i], false, false)));
	}
}

Test(text_run, few_imports_are_no_news)
{
	struct profile *profile = fake_profile_with_imports();
	struct view view = view_default();

	profile->imports.time = profile->imports.all * 51;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(strstr(page, "imports") == NULL);
	free(page);
}

Test(text_run, findings_at_two_widths)
{
	struct view view = view_default();
	struct profile *profile = fake_profile_with_findings();

	golden_expect("findings-100",
	              text_page(profile, &view, golden_terminal(100, false, false)));
	golden_expect("findings-60", text_page(profile, &view, golden_terminal(60, false, true)));
}

// What the section of the warm-up warns of, and what shares are without, is said once.
Test(text_run, other_findings_of_a_brief_report_fit_their_line)
{
	static const struct rule rules[] = { { .id = "CPU-HOT", .subject = RULES_CPU },
		                             { .id = "IO-X", .subject = RULES_IO },
		                             { .id = "WARM-FIRST", .subject = RULES_WARMUP },
		                             { .id = "IO-IDLE", .subject = RULES_IO } };
	struct profile *p = fake_profile_with_warmup(WARMUP_INCLUDED);
	struct view view = view_default();

	for (int i = 0; i < 4; i++)
		p->findings[i] = (struct finding){
			.rule = &rules[i],
			.severity = SEVERITY_WARN,
			.share = i ? 0.1 : 0.9,
			.saving_ns = (uint64_t)(4 - i) * NS_PER_SEC,
			.fact = "work: 20 % of the time (excluding waits for a CPU), most in f",
			.advice = "Less.",
		};
	p->finding_count = p->findings_shown = 4;
	view_make_brief(&view);
	char *page = text_page(p, &view, golden_terminal(200, false, false));
	cr_expect(ne(ptr, strstr(page, "was idle, waiting for requests"), NULL), "%s", page);
	char *others = strstr(page, "\nother findings");
	cr_assert(ne(ptr, others, NULL), "%s", page);
	*strstr(others + 1, "\n\n") = '\0';
	cr_expect(ne(ptr, strstr(others, "  work: 20 % of the time, most in f"), NULL), "%s",
	          others);
	cr_expect(eq(ptr, strstr(others, "WARM-FIRST"), NULL), "%s", others);
	cr_expect(eq(ptr, strstr(others, "IO-IDLE"), NULL), "%s", others);
	free(page);
}

Test(text_run, a_brief_report_has_a_line_about_the_gil_where_anybody_waited)
{
	for (int waited = 0; waited <= 1; waited++) {
		struct profile *p = fake_profile();
		struct view view = view_default();
		p->account.gil_held_ns = p->account.lifetime_ns / 2;
		p->account.gil_waited_ns = p->account.gil_all_waited_ns =
			waited ? p->account.lifetime_ns / 4 : 0;
		view_make_brief(&view);
		char *page = text_page(p, &view, golden_terminal(100, false, false));
		cr_expect_eq(strstr(page, "the GIL: held") != NULL, waited, "%s", page);
		free(page);
	}
}
