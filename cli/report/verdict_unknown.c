// SPDX-License-Identifier: MIT
// Rules for runs of which too little was recorded to say what makes them slow.
#include "cli/report/verdict_rules.h"

#include "base/format.h"
#include "base/path.h"
#include "base/rung.h"
#include "base/share.h"
#include "base/strings.h"
#include "merge/profile/profile.h"
#include "merge/query/query_wall.h"
#include "merge/scope/keys.h"

#include <string.h>

#define UNSEEN_SHARE  0.5 /* of the CPU time */
#define MORE_ATTACHED "Record for longer, while it works, or raise the sampling rate (-F 4999)."

bool verdict_nothing_measured(const struct verdict_facts *f, struct verdict *v)
{
	if (f->totals->on_cpu_ns || f->totals->off_cpu_ns)
		return false;
	if (f->run->recorded_nothing && *f->run->recorded_nothing) {
		verdict_say(v, "Nothing was recorded: %s.", f->run->recorded_nothing);
		return verdict_advise(v, "%s",
		                      f->run->recorded_remedy ? f->run->recorded_remedy : "");
	}
	verdict_say(v, "Nothing was measured: no sample was recorded.");
	if (f->run->rung_remedy && *f->run->rung_remedy)
		return verdict_advise(v, "%s", f->run->rung_remedy);
	if (f->run->attached_pid)
		return verdict_advise(v, MORE_ATTACHED);
	return verdict_advise(
		v,
		"The run may have been too short: run more work, or raise the sampling rate (-F 4999).");
}

bool verdict_advise_agent(struct verdict *v)
{
	return verdict_advise(
		v, "Its Python functions are missing; the limits give the cause and the remedy.");
}

// The kernel takes events off programs that run with other rights, and no agent is loaded there.
static bool not_allowed(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run->unseen_processes)
		return false;
	verdict_say(
		v,
		"The process %.60s could not be sampled: it runs with other privileges (setuid).",
		f->run->unseen_name ? f->run->unseen_name : "?");
	return verdict_advise(
		v, "Run bottleneck as root, or profile a copy of the program without the "
		   "setuid bit.");
}

static bool went_on(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run->background_processes)
		return false;
	verdict_say(v,
	            "The program ended after %s and left %.60s running in the background, which is "
	            "not in this profile.",
	            format_duration(f->run->wall_ns).text,
	            f->run->background_name ? f->run->background_name : "a process");
	return verdict_advise(v, "Run it in the foreground; most daemons have an option for that.");
}

// What there is of the run is not what was asked about, whatever it did.
bool verdict_lies_elsewhere(const struct verdict_facts *f, struct verdict *v)
{
	if (f->run->samples >= FEW_SAMPLES || !(not_allowed(f, v) || went_on(f, v)))
		return false;
	v->too_few = true;
	return true;
}

bool verdict_too_few_samples(const struct verdict_facts *f, struct verdict *v)
{
	if (f->run->samples >= FEW_SAMPLES)
		return false;
	v->too_few = true;
	if (!f->run->samples && f->run->agentless_processes) {
		verdict_say(v, "No sample on a CPU: the agent was not loaded.");
		return verdict_advise(v, "The limits give the cause and the remedy.");
	}
	if (!f->run->samples && f->run->attached_pid)
		verdict_say(v, "No sample on a CPU: the process did not run meanwhile.");
	else if (!f->run->samples)
		verdict_say(v, "No sample on a CPU: the run was too short to rank functions.");
	else
		verdict_say(v, "Only %s sample%s on a CPU: too few to rank functions.",
		            format_count(f->run->samples).text, f->run->samples == 1 ? "" : "s");
	return verdict_advise(v, f->run->attached_pid ? MORE_ATTACHED
	                                              : "Run more work, or raise the sampling "
	                                                "rate: bottleneck -F 4999 ...");
}

// Hooks of the agent's, at whose cost nothing else can be judged.
bool verdict_our_own(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;

	if (!row || strcmp(row->name, KEY_OURS_NAME) != 0 || !verdict_is_mark(row) ||
	    share_of(row->self, f->all) < UNSEEN_SHARE)
		return false;
	verdict_say(v,
	            "%s %% of %s is spent in bottleneck itself, which records ops and allocations.",
	            format_percent(row->self, f->all).text, f->of);
	return verdict_advise(
		v, "Trace fewer functions, or switch off what the limits name: --no-malloc, "
		   "--no-ops ...");
}

const struct row *verdict_unseen_row(const struct verdict_facts *f)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;
	bool most = row && share_of(row->self, f->all) >= UNSEEN_SHARE;

	return most && verdict_is_mark(row) && !verdict_nameless_row(f) ? row : NULL;
}

bool verdict_nothing_seen(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = verdict_unseen_row(f);

	if (!row)
		return false;
	bool stackless = f->run->rung >= RUNG_AGENT && strcmp(row->name, KEY_UNKNOWN_NAME) == 0;
	verdict_say(v, "%s %% of %s was spent in code %s.", format_percent(row->self, f->all).text,
	            f->of,
	            stackless ? "whose stacks could not be read: there are no perf events, and the "
	                        "agent is not loaded in that program"
	                      : "that could not be identified");
	if (stackless && f->run->rung_remedy && *f->run->rung_remedy)
		return verdict_advise(v, "%s", f->run->rung_remedy);
	return verdict_advise(v, "See the limits; bottleneck check shows what would help.");
}
