// SPDX-License-Identifier: MIT
// What GPUs waited for: the work of who launched what came next.
#include "cli/report/sections.h"

#include "base/format.h"
#include "base/share.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "cli/short_name.h"
#include "merge/query/query_gpu.h"

#include <stdio.h>
#include <string.h>

#define SHARE_WORTH 0.005 // of the explained idle time, to be shown
#define IDLE_WORTH  0.02  // of the time from the first activity to the last

REPORT_KEEPS(gpu_wait, struct gpu_wait *);

static void say_wait(struct section *s, const struct gpu_wait *wait)
{
	const struct row *thread = &wait->threads->rows[0];
	uint64_t known = wait->told_ns + wait->runnable_ns;
	char who[96];

	snprintf(who, sizeof(who), "thread %s (%u)", thread->name, thread->id);
	section_note(s, NOTE_SAY, true, "idle %s: %s %% of that while %s prepared the next work",
	             format_duration(wait->idle_ns).text,
	             format_percent(thread->self, wait->told_ns).text,
	             wait->main_thread ? "the main thread" : who);
	if ((double)wait->runnable_ns > IDLE_WORTH * (double)known)
		section_note(s, NOTE_SAY, true,
		             "%s %% of the idle time that thread waited for a free CPU, wherever "
		             "it was: shares are of the rest",
		             format_percent(wait->runnable_ns, known).text);
	if ((double)wait->call_ns[GPU_CALL_LAUNCH] > SHARE_WORTH * (double)wait->told_ns)
		section_note(s, NOTE_SAY, true,
		             "%s %% of the idle time passed within calls that launch",
		             format_percent(wait->call_ns[GPU_CALL_LAUNCH], wait->told_ns).text);
}

// What stacks tell is scaled to what is known of the gaps.
static void make_idle(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_wait *wait = s->context;
	const struct row *row = data;
	double scale = (double)wait->idle_ns / (double)(wait->told_ns + wait->runnable_ns);

	cell->count = (uint64_t)((double)row->self * scale);
}

static void make_meanwhile(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)s;
	cell->text = row_kind_words(row);
}

// "decode (train.py:12)"
static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;
	char place[512], name[512];

	short_name(row->name, name, sizeof(name));
	place_words(row->file, row->line, row->module, place, sizeof(place));
	if (*place && strcmp(place, row->name) != 0)
		cell->text = report_say(s->report, "%s (%s)", name, place);
	else
		cell->text = report_say(s->report, "%s", name);
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_waiting(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct row *row = data;

	(void)s;
	cell->count = row->self - row->self_ns[METRIC_ON_CPU];
}

static const struct section_column columns[] = {
	{ "scaled_ns", .heading = "idle", .type = CELL_NS, .at = { 1 }, .make = make_idle },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 2, 0, 6 }, FIELD(struct row, self) },
	{ "meanwhile", .heading = "meanwhile", .type = CELL_TEXT, .at = { 3 },
	  .make = make_meanwhile },
	{ "where", .heading = "the launching thread was in", .type = CELL_TEXT, .at = { 4 },
	  .clip = CLIP_SYMBOL, .room = 1, .make = make_where },
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 1 }, FIELD(struct row, name) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 }, .make = make_line },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 4 }, FIELD(struct row, module) },
	{ "idle_ns", .type = CELL_NS, .at = { 0, 0, 5 }, FIELD(struct row, self) },
	{ "on_cpu_ns", .type = CELL_NS, .at = { 0, 0, 7 },
	  FIELD(struct row, self_ns[METRIC_ON_CPU]) },
	{ "waiting_ns", .type = CELL_NS, .at = { 0, 0, 8 }, .make = make_waiting },
};

// WHICH is the GPU's number, "" if there is one.
static struct section *make_wait(struct report *r, struct gpu_wait *wait, const char *which)
{
	double least = view_min_share(r->view, false) * (double)wait->told_ns;
	const struct rows *functions = wait->functions;
	struct section *s = section_new(r, "gpu_idle", report_say(r, "GPU %sidle", which));

	s->shown = true;
	s->subtitle = "what the thread did that launched what came next";
	s->unit_ns = wait->idle_ns;
	s->all = wait->told_ns;
	s->context = wait;
	SECTION_COLUMNS(s, columns);
	say_wait(s, wait);
	for (size_t i = 0; i < functions->count && i < r->view->top; i++) {
		const struct row *row = &functions->rows[i];
		if ((double)row->self < least || !row->self)
			break;
		section_row(s, row);
	}
	return s;
}

static const char *name_device(struct report *r, const struct gpu_facts *facts, size_t index)
{
	const struct gpu_device_row *d = &facts->devices[index];

	if (facts->device_count < 2)
		return "";
	return report_say(r, "%u%s%.100s ", d->number, *d->process ? " of " : "", d->process);
}

struct section *section_gpu_idle(struct report *r, const struct gpu_facts *facts, struct error *err)
{
	struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	struct section *first = section_new(r, "gpu_idle", NULL), *last = first; // not shown

	for (uint32_t i = 0; i < section_gpus_shown(r, facts); i++) {
		query.gpu = i + 1;
		struct gpu_wait *wait =
			keep_gpu_wait(r, query_gpu_wait(r->profile, &query, err), err);
		if (!wait)
			return NULL;
		if (share_of(wait->idle_ns, wait->span_ns) < IDLE_WORTH || !wait->told_ns)
			continue;
		last->next = make_wait(r, wait, name_device(r, facts, i));
		last = last->next;
	}
	return section_end(first, err);
}

struct section *section_all_gpu_idle(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	const struct gpu_wait *wait =
		keep_gpu_wait(r, query_gpu_wait(r->profile, &query, err), err);

	if (!wait)
		return NULL;
	struct section *s = section_new(r, "gpu_idle", NULL);
	s->all = wait->idle_ns;
	SECTION_COLUMNS(s, columns);
	section_rows(s, wait->functions->rows, wait->functions->count,
	             sizeof(*wait->functions->rows));
	return section_end(s, err);
}
