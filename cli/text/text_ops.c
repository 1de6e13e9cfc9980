// SPDX-License-Identifier: MIT
// Ops: how often each was called, and how long it took. Exact, where the other tables are sampled.
#include "cli/text/text.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/text/ops_layout.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CALLS    3 /* lines about slow first calls */
#define FIRST_RATIO    5 /* to the median */
#define FIRST_NS_MIN   NS_PER_MS
#define FIRST_OF_CALLS 3

// Whoever asks for ops gets all of them; a whole report has those that took a part of the time.
static bool is_worth_a_line(const struct ops_layout *layout, const struct op_row *row)
{
	if (!row->calls && !row->marks && !row->total_ns)
		return false; // a name of a domain or category
	if (layout->query.sort == OPS_SORT_GPU && !row->gpu_ns)
		return false;
	const struct view *view = layout->text->view;
	double share = view_table(view) == VIEW_TABLE_OPS && view->min_percent < 0
	                       ? 0
	                       : view_min_share(view, false);
	uint64_t least = (uint64_t)(share * (double)layout->all->wall_ns);
	uint64_t most = row->total_ns > row->self_ns ? row->total_ns : row->self_ns;

	return most >= least && (most || share <= 0);
}

static bool choose_rows(struct ops_layout *layout)
{
	layout->rows = calloc(layout->all->count + 1, sizeof(struct op_row *));
	if (!layout->rows)
		return false;
	for (size_t i = 0; i < layout->all->count; i++)
		if (layout->count < layout->text->view->top &&
		    is_worth_a_line(layout, &layout->all->rows[i]))
			layout->rows[layout->count++] = &layout->all->rows[i];
	return true;
}

static void print_heading(const struct ops_layout *layout)
{
	static const char *const sorts[] = {
		[OPS_SORT_SELF] = "self time", [OPS_SORT_TOTAL] = "total time",
		[OPS_SORT_CALLS] = "calls",    [OPS_SORT_MEMORY] = "allocated bytes",
		[OPS_SORT_FLOPS] = "FLOP",     [OPS_SORT_AVERAGE] = "average time",
		[OPS_SORT_GPU] = "GPU time",
	};
	char title[64], note[128];

	snprintf(title, sizeof(title), "ops by %s", sorts[layout->query.sort]);
	snprintf(note, sizeof(note), "exact; %% of their threads' %s",
	         format_duration(layout->all->wall_ns).text);
	text_heading(layout->text, title, note);
}

// "sgemm: the first call took 4.5 ms, most take 0.2 ms": what it does once is not what to optimize.
static void print_first_calls(const struct ops_layout *layout)
{
	size_t told = 0;

	for (size_t i = 0; i < layout->count && told < FIRST_CALLS; i++) {
		const struct op_row *row = layout->rows[i];
		char name[256], words[512];
		if (row->calls < FIRST_OF_CALLS || !row->median_ns ||
		    row->first_ns < FIRST_NS_MIN || row->first_ns < FIRST_RATIO * row->median_ns)
			continue;
		ops_layout_name(layout, row, name, sizeof(name));
		cleanup_free char *clean = format_clean(name, layout->text->terminal.ascii);
		snprintf(words, sizeof(words), "%s: its first call took %s, then the median is %s",
		         clean ? clean : "?", format_duration(row->first_ns).text,
		         format_duration(row->median_ns).text);
		text_say(layout->text, "%s", words);
		told++;
	}
}

static void print_troubles(const struct ops_layout *layout)
{
	uint64_t open = 0, untimed = 0;
	char words[256];

	for (size_t i = 0; i < layout->all->count; i++) {
		open += layout->all->rows[i].left_open;
		untimed += layout->all->rows[i].untimed;
	}
	if (open) {
		snprintf(words, sizeof(words),
		         "%s call%s had not ended: counted until the thread or the process did",
		         format_count(open).text, open == 1 ? "" : "s");
		text_say(layout->text, "%s", words);
	}
	if (untimed) {
		snprintf(
			words, sizeof(words),
			"%s %% of the calls are known in sum only, as they came too fast to be kept "
			"one by one, or were told afterwards: not in median, min, max and first",
			format_percent(untimed, layout->all->calls).text);
		text_say(layout->text, "%s", words);
	}
}

static void print_lost(const struct ops_layout *layout)
{
	char words[256];

	if (layout->all->folded) {
		snprintf(words, sizeof(words),
		         "%s calls had more shapes and callers than are kept apart",
		         format_count(layout->all->folded).text);
		text_say(layout->text, "%s", words);
	}
	if (layout->all->blurred) {
		snprintf(
			words, sizeof(words),
			"%s calls had more different durations than are kept apart: they are in all "
			"sums, but median and IQR are rough",
			format_count(layout->all->blurred).text);
		text_say(layout->text, "%s", words);
	}
	if (layout->all->lost) {
		snprintf(words, sizeof(words), "%s calls are in no row: there was no room for them",
		         format_count(layout->all->lost).text);
		text_say(layout->text, "%s", words);
	}
}

// What the program would have had left out of a profile is in it, and is told apart by this.
static void print_pauses(const struct ops_layout *layout)
{
	uint64_t wall_ns = profile_run(layout->text->profile)->wall_ns;

	for (size_t i = 0; i < layout->all->count; i++) {
		const struct op_row *row = &layout->all->rows[i];
		char words[256], share[48] = "";
		if (strcmp(row->provider, op_provider_name(OP_ITT)) != 0 || *row->domain ||
		    strcmp(row->name, OP_PAUSED) != 0 || !row->calls)
			continue;
		if (row->total_ns <= wall_ns)
			snprintf(share, sizeof(share), ", %s %% of the run",
			         format_percent(row->total_ns, wall_ns).text);
		snprintf(words, sizeof(words),
		         "the program paused its profilers %s time%s, for %s%s: this report is of "
		         "the whole run all the same",
		         format_count(row->calls).text, row->calls == 1 ? "" : "s",
		         format_duration(row->total_ns).text, share);
		text_say(layout->text, "%s", words);
	}
}

static int print_table(const struct ops_layout *layout, struct error *err)
{
	struct column columns[OPS_NUMBERS + OPS_TEXTS];
	size_t count = ops_layout_columns(layout, columns);
	cleanup(table) struct table *table = table_new(columns, count, &layout->text->terminal);

	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < layout->count; i++)
		ops_layout_add_row(table, layout, layout->rows[i]);
	print_heading(layout);
	if (table_print(table, layout->text->out, OPS_INDENT) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	print_first_calls(layout);
	print_pauses(layout);
	print_troubles(layout);
	print_lost(layout);
	return 0;
}

static void say_none(const struct ops_layout *layout)
{
	if (view_table(layout->text->view) != VIEW_TABLE_OPS)
		return;
	if (layout->query.sort == OPS_SORT_GPU && layout->all->count) {
		text_no_gpu(layout->text);
		return;
	}
	text_heading(layout->text, "ops", "");
	text_say(layout->text,
	         "There are none: the program called nothing that bottleneck-ops(7) names.");
}

int text_ops(const struct text *text, struct error *err)
{
	struct ops_layout layout = { .text = text, .query = view_op_query(text->view) };

	// The times of ops are wall time.
	if (text->view->on_cpu != text->view->off_cpu)
		return 0;
	cleanup(op_rows) struct op_rows *all = query_ops(text->profile, &layout.query, err);
	if (!all)
		return -1;
	layout.all = all;
	if (!choose_rows(&layout))
		return error_set(err, ENOMEM, "could not print the report");
	ops_layout_choose(&layout);
	int failed = 0;
	if (layout.count)
		failed = print_table(&layout, err);
	else
		say_none(&layout);
	free(layout.rows);
	return failed;
}
