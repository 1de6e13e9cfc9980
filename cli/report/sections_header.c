// SPDX-License-Identifier: MIT
// Which run a report is of, and which part of it: what stands first.
#include "cli/report/sections.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/report/cut.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PIDS_SHOWN 4 // of those that were attached to

struct header {
	const char *command, *facts;
};

// "attached to PIDs 4711, 4712, 4713 and 2 more", as -p named them.
static void describe_attached(const struct run *run, char *buffer, size_t size)
{
	const char *at = run->attached_pids;
	size_t used, shown = 0, more = 0;

	if (!at || !strchr(at, ',')) {
		snprintf(buffer, size, "attached to PID %u", run->attached_pid);
		return;
	}
	used = (size_t)snprintf(buffer, size, "attached to PIDs");
	for (; *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");
		if (shown < PIDS_SHOWN && used < size)
			used += (size_t)snprintf(buffer + used, size - used, "%s %.*s",
			                         shown++ ? "," : "", (int)length, at);
		else
			more++;
		at += length;
	}
	if (more && used < size)
		snprintf(buffer + used, size - used, " and %zu more", more);
}

static void describe_exit(const struct run *run, char *buffer, size_t size)
{
	int status = run->exit_status;

	if (run->attached_pid && run->complete)
		describe_attached(run, buffer, size);
	else if (status == -1)
		snprintf(buffer, size, "%s", run->complete ? "exit unknown" : "unfinished");
	else if (WIFSIGNALED(status) && sigabbrev_np(WTERMSIG(status)))
		snprintf(buffer, size, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WIFSIGNALED(status))
		snprintf(buffer, size, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(buffer, size, "exit %d", WEXITSTATUS(status));
}

// Of a run beside others: "rank 3 of 16 on node7". A sign in the host's name is none of ours.
static void describe_rank(const struct report *r, char *buffer, size_t size)
{
	const struct run *run = profile_run(r->profile);
	cleanup_free char *host = format_clean(run->host ? run->host : "?", r->ascii);
	char world[24] = "";

	buffer[0] = '\0';
	if (!run->has_rank)
		return;
	if (run->world)
		snprintf(world, sizeof(world), " of %u", run->world);
	snprintf(buffer, size, " \u00b7 rank %u%s on %s", run->rank, world, host ? host : "?");
}

// Where a control group allows less than the affinity does: "2 CPUs (quota 0.5)".
static void describe_cpus(const struct run *run, char *buffer, size_t size)
{
	buffer[0] = '\0';
	if (run->cpus && run_cpus(run) < run->cpus)
		snprintf(buffer, size, " \u00b7 %u CPU%s (quota %.3g)", run->cpus,
		         run->cpus == 1 ? "" : "s", run_cpus(run));
}

static const char *say_facts(struct report *r)
{
	const struct run *run = profile_run(r->profile);
	char status[128], rank[128], cpus[64];
	struct totals totals;

	query_totals(r->profile, &totals);
	describe_exit(run, status, sizeof(status));
	describe_rank(r, rank, sizeof(rank));
	describe_cpus(run, cpus, sizeof(cpus));
	return report_say(r, "%s \u00b7 %s \u00b7 %s process%s, %s thread%s%s%s",
	                  format_duration(run->wall_ns).text, status,
	                  format_count(totals.processes).text, totals.processes == 1 ? "" : "es",
	                  format_count(totals.threads).text, totals.threads == 1 ? "" : "s", cpus,
	                  rank);
}

// A script in an argument has many lines, the header has one.
static const char *flatten(struct report *r, const char *command)
{
	size_t size = strlen(command) + 1;
	char *flat = report_take(r, size);

	for (size_t i = 0; flat && i < size; i++)
		flat[i] = command[i] == '\n' || command[i] == '\t' ? ' ' : command[i];
	return flat;
}

// Which part of the run was recorded, where it is not all of it.
static void say_recorded(struct section *s, const struct run *run)
{
	const char *range = run->recorded_range;

	if (run->recorded_schedule)
		section_note(s, NOTE_LINE, false,
		             "recorded: %s from %.3f to %.3f s, by the schedule %s of %s",
		             format_duration(run->recorded_ns).text,
		             (double)run->recorded_from_ns / 1e9, (double)run->recorded_to_ns / 1e9,
		             run->recorded_schedule,
		             run->recorded_steps ? run->recorded_steps : "?");
	else if (run->recorded_gates)
		section_note(s, NOTE_LINE, false,
		             "recorded: %s from %.3f to %.3f s, as the program called start() and "
		             "stop()",
		             format_duration(run->recorded_ns).text,
		             (double)run->recorded_from_ns / 1e9,
		             (double)run->recorded_to_ns / 1e9);
	else if (run->recorded_to_ns || range)
		section_note(s, NOTE_LINE, false, "recorded: %s from %.3f to %.3f s%s%s",
		             format_duration(run->recorded_ns).text,
		             (double)run->recorded_from_ns / 1e9, (double)run->recorded_to_ns / 1e9,
		             range ? ", while open: " : "", range ? range : "");
}

// Which part of it is shown; and what was asked for and is not there.
static void say_cut(struct section *s)
{
	const struct report *r = s->report;
	const char *missed = cut_missed(r->view);

	if (view_is_filtered(r->view)) {
		cleanup_free char *words = cut_words(r->view, r->profile);
		section_note(s, NOTE_LINE, false, "%s", words ? words : "");
	}
	if (missed)
		section_note(s, NOTE_LINE, false, "%s", missed);
}

static const struct section_column columns[] = {
	{ "command", .type = CELL_TEXT, .at = { 1 }, FIELD(struct header, command) },
	{ "facts", .type = CELL_TEXT, .at = { 2 }, FIELD(struct header, facts) },
};

struct section *section_header(struct report *r, struct error *err)
{
	const struct run *run = profile_run(r->profile);
	struct section *s = section_new(r, "header", "bottleneck");
	const struct header header = { flatten(r, run->command ? run->command : "?"),
		                       say_facts(r) };

	s->form = SECTION_HEADER;
	s->shown = true;
	SECTION_COLUMNS(s, columns);
	section_row(s, &header);
	say_recorded(s, run);
	say_cut(s);
	return section_end(s, err);
}
