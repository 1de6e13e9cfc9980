// SPDX-License-Identifier: MIT
// What the other tables rest on, and what they cannot show.
#include "base/error.h"
#include "cli/export/tables.h"
#include "cli/report/view.h"
#include "cli/text/text.h"
#include "merge/query/query.h"
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct quality {
	const struct run *run;
	struct totals totals;
	const char *cut;
};

static void put_status(struct sheet *s, const struct run *run)
{
	int status = run->exit_status;
	bool exited = status >= 0 && WIFEXITED(status), killed = status >= 0 && WIFSIGNALED(status);

	if (exited)
		sheet_integer(s, "exit_status", WEXITSTATUS(status));
	else
		sheet_text(s, "exit_status", NULL);
	sheet_known(s, "signal", killed ? (uint64_t)WTERMSIG(status) : 0);
}

static void put_run(struct sheet *s, const void *data)
{
	static const struct run none = { 0 };
	const struct quality *q = data;
	const struct run *run = q->run ? q->run : &none;

	sheet_text(s, "command", run->command);
	sheet_text(s, "shown", q->cut);
	sheet_count(s, "wall_ns", run->wall_ns);
	put_status(s, run);
	sheet_bool(s, "complete", run->complete);
	sheet_count(s, "processes", q->totals.processes);
	sheet_count(s, "threads", q->totals.threads);
	sheet_count(s, "on_cpu_ns", q->totals.on_cpu_ns);
	sheet_count(s, "off_cpu_ns", q->totals.off_cpu_ns);
	sheet_count(s, "runnable_ns", q->totals.runnable_ns);
	sheet_known(s, "peak_rss_bytes", run->peak_rss_bytes);
	sheet_known(s, "frequency_hz", run->frequency_hz);
	sheet_count(s, "samples", run->samples);
	sheet_count(s, "lost_samples", run->lost);
	sheet_count(s, "truncated_stacks", run->truncated);
	sheet_count(s, "joined_stacks", run->joined);
	sheet_count(s, "guessed_stacks", run->guessed);
	sheet_count(s, "rung", run->rung);
	sheet_text(s, "rung_reason", run->rung_reason);
	sheet_bool(s, "kernel_stacks", run->kernel_stacks);
	sheet_bool(s, "off_cpu_exact", run->off_cpu_exact);
	sheet_count(s, "overhead_ns", q->run ? text_overhead_ns(run) : 0);
	sheet_count(s, "target_cpu_ns", run->target_cpu_ns);
	sheet_count(s, "folded_ns", q->totals.folded_ns);
	sheet_count(s, "callless_ns", q->totals.callless_ns);
	sheet_count(s, "lost_events", q->totals.lost_events);
	sheet_count(s, "lost_events_ns", q->totals.lost_ns);
	sheet_count(s, "resolution_ns", q->totals.bin_ns);
	sheet_count(s, "unseen_processes", run->unseen_processes);
}

static int write_run(struct sheet *s, const struct exporting *e, struct error *err)
{
	struct quality quality = { .run = profile_run(e->profile), .cut = e->cut };

	(void)err;
	query_totals(e->profile, &quality.totals);
	sheet_rows(s, put_run, &quality, 1, sizeof(quality), &(struct quality){ 0 });
	return 0;
}

static void put_module(struct sheet *s, const void *data)
{
	static const char *const levels[] = {
		[DEBUG_NONE] = "none",
		[DEBUG_DYNAMIC] = "exported-names",
		[DEBUG_SYMBOLS] = "names",
		[DEBUG_LINES] = "lines",
	};
	const struct module_row *row = data;
	bool known = (size_t)row->level < sizeof(levels) / sizeof(levels[0]);

	sheet_text(s, "module", row->path);
	sheet_count(s, "self_ns", row->self_ns);
	sheet_text(s, "known", known ? levels[row->level] : NULL);
	sheet_text(s, "reason", row->reason);
	sheet_text(s, "remedy", row->remedy);
}

static int write_modules(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(module_rows) struct module_rows *rows = query_modules(e->profile, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_module, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct module_row){ 0 });
	return 0;
}

static void put_note(struct sheet *s, const void *data)
{
	const char *const *note = data;

	sheet_text(s, "note", *note);
}

// What the run itself had to tell, a line each.
static int write_notes(struct sheet *s, const struct exporting *e, struct error *err)
{
	const char *notes = profile_run(e->profile)->notes;
	cleanup_free char *copy = strdup(notes ? notes : "");
	cleanup_free char **lines = calloc(strlen(copy ? copy : "") + 1, sizeof(*lines));
	size_t count = 0;

	if (!copy || !lines)
		return error_set(err, ENOMEM, "could not take notes");
	char *rest = copy;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			lines[count++] = line;
	sheet_rows(s, put_note, lines, count, sizeof(*lines), &(const char *){ NULL });
	return 0;
}

const struct export_table tables_of_limits[] = {
	{ "run", .write = write_run },
	{ "debug_info", .write = write_modules },
	{ "notes", .write = write_notes },
	{ 0 },
};
