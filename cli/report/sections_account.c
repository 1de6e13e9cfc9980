// SPDX-License-Identifier: MIT
// Where the wall time of the critical thread went.
#include "cli/report/sections.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "base/share.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_wall.h"

#include <stdio.h>
#include <string.h>

#define GIL_SHARE   0.01 /* the same, of waits for the GIL */
#define WORTH_SHARE 0.01 /* of the time: less is not worth a line */
#define NEARLY_ALL  0.9  /* of what was waited for CPUs, by one cause */
#define START_PART  10   // of the run, that the account of an unseen process has at least

// The part of the run that is shown, and how many CPUs all threads together kept busy in it.
struct shown {
	struct account account;
	struct wall_account wall;
	struct contention_answer contention;
	double cpus_busy;
	bool has_cpus; // it is not empty
};

static int find(const struct report *r, struct shown *shown, struct error *err)
{
	const struct run *run = profile_run(r->profile);
	uint64_t from = r->view->from_ns, to = r->view->to_ns;
	uint64_t end = to && to < run->wall_ns ? to : run->wall_ns;

	*shown = (struct shown){ .has_cpus = end > from };
	if (query_account_in(r->profile, from, to, &shown->account, err) < 0 ||
	    query_contention(r->profile, from, to, &shown->contention, err) < 0)
		return -1;
	if (shown->has_cpus)
		shown->cpus_busy =
			(double)query_on_cpu_ns(r->profile, from, to) / (double)(end - from);
	return 0;
}

struct part {
	const char *group, *key, *name;
	uint64_t ns;
};

static const struct section_column part_columns[] = {
	{ "group", .type = CELL_TEXT, .at = { 1, 0 }, FIELD(struct part, group) },
	{ "key", .type = CELL_TEXT, .at = { 0, 1 }, FIELD(struct part, key) },
	{ "name", .type = CELL_TEXT, .at = { 2, 2 }, FIELD(struct part, name) },
	{ "ns", .type = CELL_NS, .at = { 3, 3 }, FIELD(struct part, ns) },
};

// A page shows only what there was.
static void add_part(struct section *s, const struct part *part, enum tone tone)
{
	if (s->report->reader == READER_PAGE && !part->ns)
		return;
	struct section_row *row = section_row(s, part);
	if (row)
		row->tone = tone;
}

// On-CPU time is shown as user and kernel time.
static void add_parts(struct section *s, const struct account *account)
{
	uint64_t on_cpu = account->ns[METRIC_ON_CPU];
	uint64_t kernel = account->kernel_ns < on_cpu ? account->kernel_ns : on_cpu;

	SECTION_COLUMNS(s, part_columns);
	add_part(s, &(struct part){ "on a CPU", "user", "user code", on_cpu - kernel }, TONE_HOT);
	add_part(s, &(struct part){ "on a CPU", "kernel", "kernel", kernel }, TONE_WARM);
	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++) {
		const struct part part = { "waiting for", metric_key((enum metric)m),
			                   metric_name((enum metric)m), account->ns[m] };
		add_part(s, &part, TONE_WAIT);
	}
}

static const char *say_thread(struct report *r, const struct account *a)
{
	const char *estimated = a->exact ? "" : ", estimated from samples";
	cleanup_free char *process = format_clean(a->process ? a->process : "?", r->ascii);
	cleanup_free char *thread = format_clean(a->thread ? a->thread : "?", r->ascii);
	struct short_text lifetime = format_duration(a->lifetime_ns);
	char words[160];

	if (a->is_main)
		return report_say(r, "%s%s", lifetime.text, estimated);
	snprintf(words, sizeof(words), "%s of thread %s (%u) in %s%s", lifetime.text,
	         thread ? thread : "?", a->tid, process ? process : "?", estimated);
	return report_say(r, "%s", words);
}

// Python's lock, as part of the times above: who holds it computes, or keeps others waiting. By
// wall time threads hold it in turns.
static void say_gil(struct section *s, const struct account *account, bool by_wall)
{
	if (s->report->view->brief &&
	    share_of(account->gil_all_waited_ns, account->lifetime_ns) < GIL_SHARE &&
	    share_of(account->gil_waited_ns, account->lifetime_ns) < GIL_SHARE)
		return; // nobody was kept from it
	bool others = account->gil_all_waited_ns > account->gil_waited_ns;
	struct short_text all = format_duration(account->gil_all_waited_ns);

	if (by_wall && account->gil_all_waited_ns)
		section_note(s, NOTE_SAY, false,
		             "Python's lock, the GIL: held %s %%, by threads in turns; all threads "
		             "waited %s",
		             format_percent(account->gil_turns_ns, account->lifetime_ns).text,
		             all.text);
	else if (account->gil_held_ns || account->gil_waited_ns || others)
		section_note(s, NOTE_SAY, false,
		             "Python's lock, the GIL: held %s %%, waited for %s %%%s%s",
		             format_percent(account->gil_held_ns, account->lifetime_ns).text,
		             format_percent(account->gil_waited_ns, account->lifetime_ns).text,
		             others ? "; all threads waited " : "", others ? all.text : "");
}

const char *section_contention_words(struct report *r, const struct contention_parts *parts,
                                     uint64_t all_ns)
{
	const struct {
		const char *name;
		uint64_t ns;
	} owners[] = {
		{ "CPU quota (cgroup)", parts->quota_ns },
		{ "own threads", parts->own_ns },
		{ "other processes", parts->others_ns },
		{ "nobody (a CPU was idle)", parts->nobody_ns },
	};
	char words[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if ((double)owners[i].ns >= WORTH_SHARE * (double)all_ns)
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s %s %%",
			                         used ? ", " : "", owners[i].name,
			                         format_percent(owners[i].ns, all_ns).text);
	return *words ? report_say(r, "%s", words) : NULL;
}

// Who had the CPUs meanwhile.
static void say_contention(struct section *s, const struct shown *shown)
{
	uint64_t all = shown->account.ns[METRIC_OFF_RUNNABLE];

	// That other programs had them is in the limits: one screen has no line to say it twice.
	const struct contention_parts *parts = &shown->contention.critical;
	if (s->report->view->brief &&
	    (double)parts->others_ns >= NEARLY_ALL * (double)(parts->quota_ns + parts->own_ns +
	                                                      parts->others_ns + parts->nobody_ns))
		return;
	if (shown->account.lifetime_ns &&
	    (double)all >= WORTH_SHARE * (double)shown->account.lifetime_ns)
		section_note(s, NOTE_SAY, false, "waiting for a free CPU, by cause: %s",
		             section_contention_words(s->report, &shown->contention.critical, all));
}

static void say_cpus(struct section *s, const struct shown *shown)
{
	const struct run *run = profile_run(s->report->profile);
	const char *of = run->cpus ? report_say(s->report, " of %.3g", run_cpus(run)) : "";

	if (shown->has_cpus)
		section_note(s, NOTE_SAY, false, "all threads: %.1f%s CPUs busy on average",
		             shown->cpus_busy, of);
}

// Where code ranks by wall time, no single thread stands for the run.
static void take_wall(struct shown *shown)
{
	memcpy(shown->account.ns, shown->wall.ns, sizeof(shown->account.ns));
	shown->account.kernel_ns = shown->wall.kernel_ns;
	shown->account.lifetime_ns = shown->wall.all_ns;
	contention_share(shown->wall.ns[METRIC_OFF_RUNNABLE], &shown->contention);
}

struct section *section_account(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	struct shown shown;
	struct totals totals;

	if (find(r, &shown, err) < 0 ||
	    query_wall_account(r->profile, &query, &shown.wall, err) < 0)
		return NULL;
	if (shown.wall.ranks)
		take_wall(&shown);
	const struct account *account = &shown.account;
	struct section *s = section_new(r, "account",
	                                shown.wall.ranks   ? "wall time"
	                                : account->is_main ? "wall time of the main thread"
	                                                   : "wall time of the busiest thread");
	s->form = SECTION_PARTS;
	// Of a program with other privileges there is only its start.
	const struct run *run = profile_run(r->profile);
	bool start = run->unseen_processes && account->lifetime_ns < run->wall_ns / START_PART;
	s->shown = account->lifetime_ns != 0 && !start;
	if (!s->shown)
		return section_end(s, err);
	// What ran already has no end that all work for: its first thread stands for it.
	s->subtitle = shown.wall.ranks
	                      ? report_say(r, "%s, by what the %s waited for",
	                                   format_duration(account->lifetime_ns).text,
	                                   run->attached_pid ? "first thread" : "end of the run")
	                      : say_thread(r, account);
	add_parts(s, account);
	say_contention(s, &shown);
	query_totals(r->profile, &totals);
	if (totals.threads >= 2) {
		say_gil(s, account, shown.wall.ranks);
		say_cpus(s, &shown);
	}
	return section_end(s, err);
}

static void make_parts(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct shown *shown = data;
	struct section *parts = section_new(s->report, "parts", NULL);

	add_parts(parts, &shown->account);
	cell->section = parts;
}

#define AT(page, sheet) .at = { [READER_PAGE] = (page), [READER_SHEET] = (sheet) }
#define KNOWN           .none = { [READER_SHEET] = true }

static const struct section_column columns[] = {
	{ "thread", .type = CELL_TEXT, AT(2, 1), FIELD(struct shown, account.thread) },
	{ "tid", .type = CELL_LABEL, AT(4, 2), FIELD(struct shown, account.tid) },
	{ "process", .type = CELL_TEXT, AT(3, 3), FIELD(struct shown, account.process) },
	{ "pid", .type = CELL_LABEL, AT(0, 4), FIELD(struct shown, account.pid) },
	{ "is_main", "main", .type = CELL_BOOL, AT(1, 5), FIELD(struct shown, account.is_main) },
	{ "exact", .type = CELL_BOOL, AT(5, 6), FIELD(struct shown, account.exact) },
	{ "lifetime_ns", .type = CELL_NS, AT(6, 7), FIELD(struct shown, account.lifetime_ns) },
	{ "parts", .type = CELL_ROWS, AT(7, 0),
	  .make = make_parts }, // of a sheet: 8, a column each
	{ "kernel_ns", .type = CELL_NS, AT(0, 9), FIELD(struct shown, account.kernel_ns) },
	{ "gil_held_ns", .type = CELL_NS, AT(8, 10), KNOWN,
	  FIELD(struct shown, account.gil_held_ns) },
	{ "gil_waited_ns", .type = CELL_NS, AT(9, 11), KNOWN,
	  FIELD(struct shown, account.gil_waited_ns) },
	{ "cpus_busy", .type = CELL_NUMBER, AT(10, 0), FIELD(struct shown, cpus_busy) },
	{ "runnable_quota_ns", .type = CELL_NS, AT(11, 12),
	  FIELD(struct shown, contention.critical.quota_ns) },
	{ "runnable_own_threads_ns", .type = CELL_NS, AT(12, 13),
	  FIELD(struct shown, contention.critical.own_ns) },
	{ "runnable_others_ns", .type = CELL_NS, AT(13, 14),
	  FIELD(struct shown, contention.critical.others_ns) },
	{ "runnable_idle_ns", .type = CELL_NS, AT(18, 16),
	  FIELD(struct shown, contention.critical.nobody_ns) },
	{ "throttled_ns", .type = CELL_NS, AT(14, 15),
	  FIELD(struct shown, contention.throttled_ns) },
	{ "by_wall", .type = CELL_BOOL, AT(15, 0), FIELD(struct shown, wall.ranks) },
	{ "gil_turns_ns", .type = CELL_NS, AT(16, 0), FIELD(struct shown, account.gil_turns_ns) },
	{ "gil_all_waited_ns", .type = CELL_NS, AT(17, 0),
	  FIELD(struct shown, account.gil_all_waited_ns) },
};

struct section *section_account_row(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	struct shown shown;

	if (find(r, &shown, err) < 0 ||
	    query_wall_account(r->profile, &query, &shown.wall, err) < 0)
		return NULL;
	// Programs have that of the critical thread here, and wall time in a table of its own.
	if (r->reader == READER_PAGE && shown.wall.ranks)
		take_wall(&shown);
	struct section *s = section_new(r, "account", NULL);
	SECTION_COLUMNS(s, columns);
	section_metrics(s, "", 8, offsetof(struct shown, account.ns));
	if (!shown.has_cpus)
		section_without(s, "cpus_busy");
	if (r->reader == READER_PAGE || shown.account.lifetime_ns)
		section_row(s, &shown);
	return section_end(s, err);
}
