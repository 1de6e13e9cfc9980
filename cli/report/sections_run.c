// SPDX-License-Identifier: MIT
// The run, for programs: what became of it, what is known of its modules, the CPUs' clock, its own
// notes.
#include "cli/report/sections.h"

#include "base/clock.h"
#include "base/debug_status.h"
#include "base/error.h"
#include "cli/report/overhead.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_curves.h"
#include "merge/table/clocks.h"
#include "merge/table/contention.h"

#include <string.h>
#include <sys/wait.h>

REPORT_KEEPS(module_rows, struct module_rows *);

// Its name outlives the group.
struct quota_row {
	struct quota_group group;
	const char *name;
};

// A run and what became of it, for programs.
struct outcome {
	struct run run;
	struct totals totals;
	const char *cut;
	uint64_t sum_rss_bytes; /* the peak of what all processes had at one moment */
};

static void make_exit_status(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct outcome *outcome = data;
	int status = outcome->run.exit_status;
	bool exited = status >= 0 && WIFEXITED(status);

	(void)s;
	cell->integer = exited ? WEXITSTATUS(status) : 0;
	cell->flags = exited ? 0 : CELL_UNKNOWN;
}

static void make_signal(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct outcome *outcome = data;
	int status = outcome->run.exit_status;

	(void)s;
	cell->count = status >= 0 && WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0;
}

static void make_overhead(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct outcome *outcome = data;

	(void)s;
	cell->count = overhead_ns(&outcome->run);
}

// Places in a table, and in the reports that programs and pages get.
#define SHEET(place) .at = { [READER_SHEET] = (place) }
#define AT(sheet, report)                                                                          \
	.at = { [READER_SHEET] = (sheet), [READER_PAGE] = (report), [READER_JSON] = (report) }
#define KNOWN .none = { [READER_SHEET] = true, [READER_PAGE] = true, [READER_JSON] = true }

static void make_quota(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct outcome *outcome = data;

	(void)s;
	cell->number = outcome->run.quota_millicpus / 1e3;
	cell->flags = outcome->run.quota_millicpus ? 0 : CELL_UNKNOWN;
}

static const struct section_column run_columns[] = {
	{ "command", .type = CELL_TEXT, AT(1, 1), FIELD(struct outcome, run.command) },
	{ "directory", .type = CELL_TEXT, AT(0, 2), FIELD(struct outcome, run.directory) },
	{ "host", .type = CELL_TEXT, AT(0, 3), FIELD(struct outcome, run.host) },
	{ "rank", .type = CELL_LABEL, AT(0, 4), FIELD(struct outcome, run.rank) },
	{ "world", .type = CELL_COUNT, AT(0, 5), FIELD(struct outcome, run.world) },
	{ "version", .type = CELL_TEXT, AT(0, 6), FIELD(struct outcome, run.version) },
	{ "start_realtime_ns", .type = CELL_NS, AT(0, 7),
	  FIELD(struct outcome, run.start_realtime_ns) },
	{ "shown", .type = CELL_TEXT, SHEET(2), FIELD(struct outcome, cut) },
	{ "wall_ns", .type = CELL_NS, AT(3, 8), FIELD(struct outcome, run.wall_ns) },
	{ "exit_status", .type = CELL_INTEGER, AT(4, 10), .make = make_exit_status },
	{ "signal", .type = CELL_COUNT, AT(5, 11), KNOWN, .make = make_signal },
	{ "complete", .type = CELL_BOOL, AT(6, 9), FIELD(struct outcome, run.complete) },
	{ "cpus", .type = CELL_COUNT, AT(0, 12), FIELD(struct outcome, run.cpus) },
	{ "processes", .type = CELL_COUNT, SHEET(7), FIELD(struct outcome, totals.processes) },
	{ "threads", .type = CELL_COUNT, SHEET(8), FIELD(struct outcome, totals.threads) },
	{ "on_cpu_ns", .type = CELL_NS, SHEET(9), FIELD(struct outcome, totals.on_cpu_ns) },
	{ "off_cpu_ns", .type = CELL_NS, SHEET(10), FIELD(struct outcome, totals.off_cpu_ns) },
	{ "runnable_ns", .type = CELL_NS, SHEET(11), FIELD(struct outcome, totals.runnable_ns) },
	{ "peak_rss_bytes", .type = CELL_BYTES, AT(12, 17), KNOWN,
	  FIELD(struct outcome, run.peak_rss_bytes) },
	{ "frequency_hz", .type = CELL_COUNT, SHEET(13), KNOWN,
	  FIELD(struct outcome, run.frequency_hz) },
	{ "samples", .type = CELL_COUNT, AT(14, 13), FIELD(struct outcome, run.samples) },
	{ "lost_samples", .type = CELL_COUNT, SHEET(15), FIELD(struct outcome, run.lost) },
	{ "lost", .type = CELL_COUNT, AT(0, 14), FIELD(struct outcome, run.lost) },
	{ "truncated_stacks", .type = CELL_COUNT, SHEET(16), FIELD(struct outcome, run.truncated) },
	{ "joined_stacks", .type = CELL_COUNT, SHEET(17), FIELD(struct outcome, run.joined) },
	{ "guessed_stacks", .type = CELL_COUNT, SHEET(18), FIELD(struct outcome, run.guessed) },
	{ "rung", .type = CELL_COUNT, SHEET(19), FIELD(struct outcome, run.rung) },
	{ "rung_reason", .type = CELL_TEXT, SHEET(20), FIELD(struct outcome, run.rung_reason) },
	{ "kernel_stacks", .type = CELL_BOOL, SHEET(21), FIELD(struct outcome, run.kernel_stacks) },
	{ "off_cpu_exact", .type = CELL_BOOL, SHEET(22), FIELD(struct outcome, run.off_cpu_exact) },
	{ "overhead_ns", .type = CELL_NS, SHEET(23), .make = make_overhead },
	{ "target_cpu_ns", .type = CELL_NS, SHEET(24), FIELD(struct outcome, run.target_cpu_ns) },
	{ "folded_ns", .type = CELL_NS, SHEET(25), FIELD(struct outcome, totals.folded_ns) },
	{ "callless_ns", .type = CELL_NS, SHEET(26), FIELD(struct outcome, totals.callless_ns) },
	{ "lost_events", .type = CELL_COUNT, SHEET(27), FIELD(struct outcome, totals.lost_events) },
	{ "lost_events_ns", .type = CELL_NS, SHEET(28), FIELD(struct outcome, totals.lost_ns) },
	{ "resolution_ns", .type = CELL_NS, SHEET(29), FIELD(struct outcome, totals.bin_ns) },
	{ "unseen_processes", .type = CELL_COUNT, SHEET(30),
	  FIELD(struct outcome, run.unseen_processes) },
	{ "cpu_quota", .type = CELL_NUMBER, AT(31, 15), .make = make_quota },
	{ "memory_limit_bytes", .type = CELL_BYTES, AT(32, 16), KNOWN,
	  FIELD(struct outcome, run.memory_limit_bytes) },
	{ "memory_held_bytes", .type = CELL_BYTES, SHEET(33), KNOWN,
	  FIELD(struct outcome, run.memory_held_bytes) },
	{ "memory_limit_hits", .type = CELL_COUNT, SHEET(34),
	  FIELD(struct outcome, run.memory_limit_hits) },
	{ "memory_kills", .type = CELL_COUNT, SHEET(35), FIELD(struct outcome, run.memory_kills) },
	{ "all_processes_peak_rss_bytes", .type = CELL_BYTES, AT(36, 18), KNOWN,
	  FIELD(struct outcome, sum_rss_bytes) },
	{ "attached_pid", .type = CELL_COUNT, .at = { [READER_PAGE] = 19 }, KNOWN,
	  FIELD(struct outcome, run.attached_pid) },
	{ "attached_pids", .type = CELL_TEXT, .at = { [READER_PAGE] = 20 },
	  FIELD(struct outcome, run.attached_pids) },
};

// The peak of what all processes had at one moment, as far as that was looked at. -1 on error.
static int add_sum(const struct profile *profile, struct outcome *outcome, struct error *err)
{
	cleanup(memory_curves) struct memory_curves *all = query_curves(profile, err);

	for (uint32_t i = 0; all && i < all->count; i++)
		if (all->of[i].kind == CURVE_RSS)
			outcome->sum_rss_bytes = all->of[i].peak_bytes;
	return all ? 0 : -1;
}

struct section *section_sheet_run(struct report *r, struct error *err)
{
	struct outcome outcome = { .run = *profile_run(r->profile), .cut = r->cut };
	struct section *s = section_new(r, "run", NULL);

	if (add_sum(r->profile, &outcome, err) < 0)
		return NULL;
	query_totals(r->profile, &outcome.totals);
	SECTION_COLUMNS(s, run_columns);
	section_row(s, &outcome);
	return section_end(s, err);
}

struct section *section_run(struct report *r, struct error *err)
{
	struct outcome outcome = { .run = *profile_run(r->profile) };
	struct section *s = section_new(r, "run", NULL);

	if (add_sum(r->profile, &outcome, err) < 0)
		return NULL;
	SECTION_COLUMNS(s, run_columns);
	if (!outcome.run.has_rank)
		section_without(s, "rank");
	if (!outcome.run.world)
		section_without(s, "world");
	section_row(s, &outcome);
	return section_end(s, err);
}

static void make_run(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	struct error err;

	cell->section = section_run(s->report, &err);
}

#define PAGE(place) .at = { [READER_PAGE] = (place) }

static const struct section_column page_columns[] = {
	{ "run", .type = CELL_ROW, PAGE(1), .make = make_run },
	{ "processes", .type = CELL_COUNT, PAGE(2), FIELD(struct outcome, totals.processes) },
	{ "threads", .type = CELL_COUNT, PAGE(3), FIELD(struct outcome, totals.threads) },
	{ "cut", .type = CELL_TEXT, PAGE(4), .none = { [READER_PAGE] = true },
	  FIELD(struct outcome, cut) },
};

struct section *section_page_header(struct report *r, struct error *err)
{
	struct outcome outcome = { .run = *profile_run(r->profile), .cut = r->cut };
	struct section *s = section_new(r, "header", NULL);

	query_totals(r->profile, &outcome.totals);
	SECTION_COLUMNS(s, page_columns);
	section_row(s, &outcome);
	return section_end(s, err);
}

static void make_known(const struct section *s, const void *data, struct section_cell *cell)
{
	static const char *const levels[] = {
		[DEBUG_NONE] = "none",
		[DEBUG_DYNAMIC] = "exported-names",
		[DEBUG_SYMBOLS] = "names",
		[DEBUG_LINES] = "lines",
	};
	const struct module_row *row = data;
	bool known = (size_t)row->level < sizeof(levels) / sizeof(levels[0]);

	(void)s;
	cell->text = known ? levels[row->level] : NULL;
}

static const struct section_column module_columns[] = {
	{ "module", .type = CELL_TEXT, SHEET(1), FIELD(struct module_row, path) },
	{ "self_ns", .type = CELL_NS, SHEET(2), FIELD(struct module_row, self_ns) },
	{ "known", .type = CELL_TEXT, SHEET(3), .make = make_known },
	{ "reason", .type = CELL_TEXT, SHEET(4), FIELD(struct module_row, reason) },
	{ "remedy", .type = CELL_TEXT, SHEET(5), FIELD(struct module_row, remedy) },
};

struct section *section_sheet_debug_info(struct report *r, struct error *err)
{
	const struct module_rows *rows = keep_module_rows(r, query_modules(r->profile, err), err);

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "debug_info", NULL);
	SECTION_COLUMNS(s, module_columns);
	section_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

static void make_clock_time(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct clock_reading *reading = data;

	(void)s;
	cell->count = reading->at_ms * NS_PER_MS;
}

static const struct section_column clock_columns[] = {
	{ "at_ns", .type = CELL_NS, SHEET(1), .make = make_clock_time },
	{ "mhz", .type = CELL_COUNT, SHEET(2), FIELD(struct clock_reading, mhz) },
};

struct section *section_sheet_cpu_clock(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "cpu_clock", NULL);
	struct clocks clocks;

	clocks_parse(&clocks, profile_run(r->profile)->cpu_clock);
	SECTION_COLUMNS(s, clock_columns);
	section_rows(s, clocks.readings, clocks.count, sizeof(*clocks.readings));
	return section_end(s, err);
}

// By time: each row since the one before it.
static void make_end(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct contention_row *)data)->at_us * NS_PER_US;
}

static void make_throttled(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct contention_row *)data)->throttled_us * NS_PER_US;
}

static void make_queues(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct contention_row *)data)->queues_us * NS_PER_US;
}

static void make_busy(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct contention_row *)data)->busy_us * NS_PER_US;
}

static void make_stalled(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct contention_row *)data)->stalled_us * NS_PER_US;
}

static const struct section_column contention_columns[] = {
	{ "end_ns", .type = CELL_NS, SHEET(1), .make = make_end },
	{ "throttled_ns", .type = CELL_NS, SHEET(2), .make = make_throttled },
	{ "throttled_queues_ns", .type = CELL_NS, SHEET(3), .make = make_queues },
	{ "busy_ns", .type = CELL_NS, SHEET(4), .make = make_busy },
	{ "memory_stalled_ns", .type = CELL_NS, SHEET(5), .make = make_stalled },
};

struct section *section_sheet_contention(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "contention", NULL);
	struct contention table;

	contention_parse(&table, profile_run(r->profile)->contention);
	SECTION_COLUMNS(s, contention_columns);
	section_rows(s, table.rows, table.count, sizeof(*table.rows));
	return section_end(s, err);
}

static const struct section_column quota_columns[] = {
	{ "group", .type = CELL_TEXT, SHEET(1), FIELD(struct quota_row, name) },
	{ "quota_us", .type = CELL_COUNT, SHEET(2), FIELD(struct quota_row, group.quota_us) },
	{ "period_us", .type = CELL_COUNT, SHEET(3), FIELD(struct quota_row, group.period_us) },
	{ "periods", .type = CELL_COUNT, SHEET(4), FIELD(struct quota_row, group.periods) },
	{ "throttled_periods", .type = CELL_COUNT, SHEET(5),
	  FIELD(struct quota_row, group.throttled_periods) },
	{ "throttled_queues_ns", .type = CELL_NS, SHEET(6),
	  FIELD(struct quota_row, group.throttled_ns) },
	{ "throttled_ns", .type = CELL_NS, SHEET(7), FIELD(struct quota_row, group.wall_ns) },
};

struct section *section_sheet_cpu_quotas(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "cpu_quotas", NULL);
	struct quota_group groups[QUOTA_GROUPS];
	size_t count = query_quota_groups(profile_run(r->profile), groups);

	SECTION_COLUMNS(s, quota_columns);
	for (size_t i = 0; i < count; i++)
		section_row(s,
		            &(struct quota_row){ groups[i], report_say(r, "%s", groups[i].name) });
	return section_end(s, err);
}

struct note {
	const char *words;
};

static const struct section_column note_columns[] = {
	{ "note", .type = CELL_TEXT, SHEET(1), FIELD(struct note, words) },
};

struct section *section_sheet_notes(struct report *r, struct error *err)
{
	const char *notes = profile_run(r->profile)->notes;
	struct section *s = section_new(r, "notes", NULL);

	SECTION_COLUMNS(s, note_columns);
	while (notes && *notes) {
		int length = (int)strcspn(notes, "\n");
		const struct note note = { report_say(r, "%.*s", length, notes) };
		if (length)
			section_row(s, &note);
		notes += length + (notes[length] == '\n');
	}
	return section_end(s, err);
}
