// SPDX-License-Identifier: MIT
#include "merge/record/notes.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/module.h"
#include "base/rung.h"
#include "merge/profile/profile.h"
#include "merge/record/recorded.h"
#include "merge/record/recording.h"
#include "merge/record/traced.h"
#include "sampler/sampler.h"
#include "tests/support/expect.h"

#include <string.h>

static struct recording_options options;
static struct sampler_status status;
static struct recorded recorded;
static struct traced traced;
static struct error broken;
static struct notes_facts facts;
static struct modules *modules;
static struct profile *profile;

static void set_up(void)
{
	modules = modules_new();
	profile = profile_new(modules, NULL, NULL);
	cr_assert(profile != NULL);
	options = recording_default();
	memset(&status, 0, sizeof(status));
	memset(&recorded, 0, sizeof(recorded));
	memset(&traced, 0, sizeof(traced));
	memset(&broken, 0, sizeof(broken));
	facts = (struct notes_facts){
		.options = &options,
		.status = &status,
		.recorded = &recorded,
		.others_hz = options.frequency_hz,
		.background_name = "",
		.broken = &broken,
		.profile = profile,
	};
}

static void take_down(void)
{
	profile_free(profile);
	modules_free(modules);
}

TestSuite(notes, .init = set_up, .fini = take_down);

static const char *said(void)
{
	static struct notes notes;

	memset(&notes, 0, sizeof(notes));
	notes_at_end(&notes, &facts);
	return notes.text;
}

Test(notes, a_run_that_was_seen_whole_has_none)
{
	cr_expect(eq(str, (char *)said(), ""));
}

Test(notes, each_reason_is_a_line_of_its_own)
{
	status.lost_ops = 1200;
	facts.background = 2;
	facts.background_name = "sleep";
	error_set(&broken, 0, "the ring is damaged");
	cr_expect(eq(str, (char *)said(),
	             "2 processes were still running in the background when the program ended "
	             "(sleep ...): not followed any further\n"
	             "1,200 records of ops and allocations were lost\n"
	             "sampling ended early: the ring is damaged"));
}

Test(notes, a_part_of_the_run_that_is_empty_has_its_cause_and_remedy)
{
	struct notes_nothing nothing;

	options.range = "nosuch";
	recorded.range = "nosuch";
	facts.wall_ns = 2 * NS_PER_SEC;
	notes_nothing(&nothing, &facts);
	cr_expect(eq(str, nothing.cause, "--range nosuch matched no op"));
	cr_expect(ne(ptr, strstr(nothing.remedy, "bottleneck report --ops"), NULL));
	cr_expect(eq(str, (char *)said(), "nothing was recorded: --range nosuch matched no op"));
	options.delay_ns = 3 * NS_PER_SEC;
	notes_nothing(&nothing, &facts);
	cr_expect(
		eq(str, nothing.cause, "--delay 3.00 s is longer than the run, which took 2.00 s"));
	facts.recorded_ns = 1;
	notes_nothing(&nothing, &facts);
	cr_expect(eq(str, nothing.cause, ""));
	cr_expect(eq(str, (char *)said(), ""));
}

Test(notes, processes_without_the_agent_are_told_with_the_reason)
{
	status.rung = RUNG_AGENT;
	status.absences.count[ABSENCE_PRIVILEGED] = 1;
	snprintf(status.absences.name[ABSENCE_PRIVILEGED],
	         sizeof(status.absences.name[ABSENCE_PRIVILEGED]), "passwd");
	const char *text = said();
	cr_expect(ne(ptr, strstr(text, "1 process (passwd) ran without the agent"), NULL), "%s",
	          text);
	cr_expect(ne(ptr, strstr(text, "samples, Python functions"), NULL), "%s", text);
}

Test(notes, functions_that_are_not_traced_are_named_up_to_four)
{
	static const char *const patterns[] = { "work", "rest" };
	struct traced_reason *shorter = &traced.reasons[PATCH_SHORT];

	options.trace = patterns;
	options.trace_count = 2;
	traced.matched[0] = true;
	shorter->count = 6;
	for (int i = 0; i < TRACED_NAMES; i++)
		snprintf(shorter->names[i], sizeof(shorter->names[i]), "f%d", i);
	cr_expect(eq(str, (char *)said(), "")); // there was no agent
	facts.traced = &traced;
	const char *text = said();
	cr_expect(ne(ptr, strstr(text, "--trace rest: no function"), NULL), "%s", text);
	cr_expect(eq(ptr, strstr(text, "--trace work"), NULL), "%s", text);
	cr_expect(
		ne(ptr, strstr(text, "not traced, as too short: f0, f1, f2, f3 and 2 more"), NULL),
		"%s", text);
}

Test(notes, a_schedule_without_steps_recorded_all)
{
	options.schedule = "wait=1,active=1";
	cr_expect(ne(ptr, strstr(said(), "all of the run was recorded"), NULL));
	options.steps = "step";
	cr_expect(eq(str, (char *)said(), ""));
}

Test(notes, what_has_no_room_is_left_out)
{
	struct notes notes = { "" };

	for (int i = 0; i < 200; i++)
		notes_add(&notes, "%d: a line that says something about what was not seen", i);
	cr_expect(eq(sz, strlen(notes.text), sizeof(notes.text) - 1));
}
