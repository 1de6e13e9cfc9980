// SPDX-License-Identifier: MIT
// Lines inside of a GPU's kernels, by samples of its instructions.
#include "cli/report/sections.h"

#include "cli/report/row_words.h"
#include "cli/report/source.h"
#include "cli/report/view.h"
#include "merge/query/query_gpu_lines.h"

#include <string.h>

#define WIDE 110 /* narrower terminals have only what is needed to find the place */

REPORT_KEEPS(gpu_line_rows, struct gpu_line_rows *);

static void make_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;

	cell->share.part = line->samples;
	cell->share.all = s->all;
}

// What threads of a GPU wait for: CUPTI's names are those of Nsight Compute's documentation ("Warp
// Stall Reasons").
static const struct {
	const char *reason, *text;
} stalls[] = {
	{ "barrier", "other threads of the block" },
	{ "branch_resolving", "a jump" },
	{ "dispatch_stall", "the dispatcher" },
	{ "drain", "stores at the end" },
	{ "gmma", "tensor cores" },
	{ "imc_miss", "constants" },
	{ "lg_throttle", "the queue to memory" },
	{ "long_scoreboard", "memory" },
	{ "math_pipe_throttle", "arithmetic units" },
	{ "membar", "a memory fence" },
	{ "mio_throttle", "the queue to shared memory" },
	{ "misc", "something else" },
	{ "no_instructions", "instructions to load" },
	{ "not_selected", "its turn" },
	{ "selected", "nothing: it runs" },
	{ "short_scoreboard", "shared memory" },
	{ "sleeping", "sleep" },
	{ "tex_throttle", "the queue to textures" },
	{ "wait", "the instruction before" },
};

// What is not known to us is its own name.
static const char *stall_text(const char *reason)
{
	static const char *const prefixes[] = { "smsp__pcsamp_warps_issue_stalled_",
		                                "smsp__pcsamp_" };

	if (!reason)
		return "";
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(reason, prefixes[i], strlen(prefixes[i])) == 0) {
			reason += strlen(prefixes[i]);
			break;
		}
	for (size_t i = 0; i < sizeof(stalls) / sizeof(stalls[0]); i++)
		if (strcmp(stalls[i].reason, reason) == 0)
			return stalls[i].text;
	return reason;
}

static void make_stall(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;

	(void)s;
	cell->text = stall_text(line->reason);
}

static void make_reason_share(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;

	(void)s;
	cell->share.part = line->reason_samples;
	cell->share.all = line->samples;
}

// "inner(float, int) in lines(float*)", where one is inlined in the other.
static void make_name(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;
	const char *kernel = line->kernel ? line->kernel : "[unknown]";

	cell->text =
		line->inlined ? report_say(s->report, "%s in %s", line->inlined, kernel) : kernel;
}

static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;
	char place[512] = "[no line]";

	if (line->file)
		place_words(line->file, (int)line->line, NULL, place, sizeof(place));
	cell->text = report_say(s->report, "%s", place);
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;

	(void)s;
	cell->place.file = line->file;
	cell->place.line = (int)line->line;
}

static void make_source(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_line *line = data;
	const struct source_scope scope = source_scope_of(s->report->profile, s->report->view);
	char source[512];
	bool newer = false;

	cell->text = "";
	if (line->file &&
	    source_line(&scope, line->file, (int)line->line, NULL, source, sizeof(source), &newer))
		cell->text = report_say(s->report, "%s", source);
}

static const struct section_column columns[] = {
	{ "kernel", .heading = "kernel", .type = CELL_TEXT, .at = { 0, 5, 1 },
	  FIELD(struct gpu_line, kernel) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct gpu_line, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_line, line) },
	{ "inlined", .type = CELL_TEXT, .at = { 0, 0, 4 }, FIELD(struct gpu_line, inlined) },
	{ "samples", .heading = "samples", .type = CELL_COUNT, .at = { 0, 1, 5 },
	  FIELD(struct gpu_line, samples) },
	{ "share", .heading = "%", .type = CELL_SHARE, .at = { 1, 2, 6 }, .make = make_share },
	{ "margin", .heading = "\u00b1", .type = CELL_MARGIN, .at = { 2, 0, 7 },
	  .form = FORM_DECIMAL, FIELD(struct gpu_line, margin) },
	{ "stall", .heading = "mostly waits for", .type = CELL_TEXT, .at = { 3, 0, 0 },
	  .make = make_stall },
	{ "reason", .heading = "mostly", .type = CELL_TEXT, .at = { 0, 3, 8 },
	  FIELD(struct gpu_line, reason) },
	{ "reason_share", .heading = "%", .page_heading = "of the samples", .type = CELL_SHARE,
	  .at = { 4, 4, 0 }, .make = make_reason_share },
	{ "reason_samples", .type = CELL_COUNT, .at = { 0, 0, 9 },
	  FIELD(struct gpu_line, reason_samples) },
	{ "name", .heading = "function", .type = CELL_TEXT, .at = { 5, 0, 0 }, .clip = CLIP_SYMBOL,
	  .room = 1, .make = make_name },
	{ "where", .heading = "line", .type = CELL_TEXT, .at = { 6, 0, 0 }, .clip = CLIP_START,
	  .room = 1, .make = make_where },
	{ "place", .heading = "line", .type = CELL_PLACE, .at = { 0, 6, 0 }, .make = make_place },
	{ "source", .heading = "source", .type = CELL_TEXT, .at = { 7, 0, 0 }, .clip = CLIP_END,
	  .room = 2, .width_min = WIDE, .make = make_source },
};

static struct section *new_section(struct report *r, const char *title,
                                   const struct gpu_line_rows **rows, struct error *err)
{
	*rows = keep_gpu_line_rows(r, query_gpu_lines(r->profile, err), err);
	if (!*rows)
		return NULL;
	struct section *s = section_new(r, "gpu_lines", title);
	s->all = (*rows)->samples;
	SECTION_COLUMNS(s, columns);
	return s;
}

static void say_doubts(struct section *s, const struct gpu_line_rows *rows)
{
	uint64_t all = rows->samples + rows->dropped + rows->other + rows->lost;

	if (rows->unnamed)
		section_say(s,
		            "%s %% are of kernels without lines: compile with nvcc -lineinfo "
		            "(which makes nothing slower)",
		            format_percent(rows->unnamed, rows->samples).text);
	if (rows->other)
		section_say(s, "beside these, %s %% of all samples are of the driver's own kernels",
		            format_percent(rows->other, all).text);
	if (rows->dropped + rows->lost)
		section_say(s,
		            "%s %% of all samples were lost, most of them by the GPU, which could "
		            "not keep up",
		            format_percent(rows->dropped + rows->lost, all).text);
}

struct section *section_gpu_lines(struct report *r, struct error *err)
{
	const struct gpu_line_rows *rows;
	struct section *s = new_section(r, "lines inside GPU kernels", &rows, err);

	if (!s)
		return NULL;
	bool cut = r->view->from_ns || r->view->to_ns;
	s->subtitle = report_say(r, "%s samples of what its threads were at%s",
	                         format_count(rows->samples).text, cut ? ", in the whole run" : "");
	s->shown = rows->count != 0;
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	say_doubts(s, rows);
	return section_end(s, err);
}

struct section *section_all_gpu_lines(struct report *r, struct error *err)
{
	const struct gpu_line_rows *rows;
	struct section *s = new_section(r, "Lines in kernels", &rows, err);

	if (!s)
		return NULL;
	s->subtitle = "sampled on the GPU";
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}
