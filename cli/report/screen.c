// SPDX-License-Identifier: MIT
#include "cli/report/screen.h"

#include "base/cleanup.h"
#include "cli/report/cut.h"
#include "cli/report/outline.h"
#include "cli/report/sections.h"
#include "cli/report/verdict.h"
#include "cli/report/view.h"
#include "merge/rules/finding.h"

#include <string.h>

#define LINES_LIMITS  3
#define LINES_VERDICT 5 /* with what is said beside it */
#define LINES_AFTER   1 /* where the profile is, which who prints the report adds */
#define LINES_HEADING 2 /* with the blank line above it */
#define ROWS_LEAST    3 /* of a table that has to be cut */

// What the report consists of, in its order.
enum piece {
	HEADER,
	ACCOUNT,
	PARALLEL,
	RANKS,
	WORKERS,
	HOT_SELF,
	HOT_TOTAL,
	HOT_LINES,
	TASKS,
	GOROUTINES,
	COMPILING,
	IMPORTS,
	OPS,
	GPU,
	MEMORY,
	STEPS,
	LIMITS,
	WARMUP,
	OTHERS,
	PIECES
};

struct screen {
	const struct outline_format *format;
	struct report report;
	const struct findings *findings;
	struct verdict verdict;
	struct section *sections[PIECES]; // NULL: none
	int lines[PIECES], verdict_lines;
	const char *left_out; // in words; NULL: nothing
	bool cut;             // some of that for want of lines: it is worth a line that says so
};

static void screen_at_scope_end(struct screen *screen)
{
	report_free(&screen->report);
}

static struct section *make_self(struct report *r, struct error *err)
{
	return section_hotspots(r, BY_FUNCTION, SORT_SELF, err);
}

static struct section *make_total(struct report *r, struct error *err)
{
	return section_hotspots(r, BY_FUNCTION, SORT_TOTAL, err);
}

// What of the run was alone on the CPUs; who it waited for is in the hotspots.
static struct section *make_parallel(struct report *r, struct error *err)
{
	struct section *s = section_wall(r, err);

	if (s) {
		s->title = "";
		s->row_count = 0;
	}
	return s;
}

static bool is_of_memory(const struct rule *rule)
{
	return rule->subject == RULES_MEMORY;
}

static bool is_of_ops(const struct rule *rule)
{
	return rule->subject == RULES_OPS || rule->subject == RULES_WARMUP ||
	       rule->subject == RULES_RANKS;
}

static bool is_of_imports(const struct rule *rule)
{
	return strcmp(rule->id, "PY-IMPORT") == 0 || strcmp(rule->id, "WARM-INIT") == 0;
}

static bool is_of_tasks(const struct rule *rule)
{
	return rule->tasks || strcmp(rule->id, "PY-ASYNC") == 0 || strcmp(rule->id, "PY-LOOP") == 0;
}

static bool is_of_compiling(const struct rule *rule)
{
	return strcmp(rule->id, "PY-COMPILE") == 0;
}

static bool is_of_threads(const struct rule *rule)
{
	static const char *const ids[] = { "CPU-ALONE",   "CPU-HOLDER",  "CPU-LOCK", "CPU-STAGE",
		                           "CPU-OVERSUB", "CPU-THREADS", "PY-GIL" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (strcmp(rule->id, ids[i]) == 0)
			return true;
	return rule->potential || rule->uneven || rule->orders;
}

static const struct piece_kind {
	section_maker *make;
	const char *name; /* of what may be left out */
	bool (*about)(const struct rule *rule);
	bool never;    /* it is left out unless a finding is about it */
	bool headed;   /* its heading alone says what matters */
	uint8_t order; /* in which it is left out where lines are short; 0: never */
} kinds[PIECES] = {
	[HEADER] = { .make = section_header },
	[ACCOUNT] = { .make = section_account },
	[PARALLEL] = { make_parallel, "parallelism", is_of_threads, .never = true },
	[RANKS] = { .make = section_ranks },
	[WORKERS] = { .make = section_workers },
	[HOT_SELF] = { .make = make_self },
	[HOT_TOTAL] = { .make = make_total },
	[HOT_LINES] = { .make = section_lines },
	[TASKS] = { section_tasks, "tasks", is_of_tasks, .headed = true, .order = 4 },
	[GOROUTINES] = { section_goroutines, "goroutines", is_of_tasks, .headed = true,
	                 .order = 3 },
	[COMPILING] = { section_compiling, "compiling", is_of_compiling, .order = 2 },
	[IMPORTS] = { section_imports, "imports", is_of_imports, .headed = true, .order = 5 },
	[OPS] = { section_ops, "ops", is_of_ops, .order = 6 },
	[GPU] = { .make = section_gpu },
	[MEMORY] = { section_memory, "memory", is_of_memory, .never = true },
	[STEPS] = { section_steps, "steps", NULL, .order = 1 },
};

// A finding that is shown is about it; of how far to trust the numbers it is not said.
static bool is_asked(const struct screen *screen, enum piece piece)
{
	const struct findings *f = screen->findings;

	for (size_t i = 0; kinds[piece].about && i < f->shown; i++)
		if (f->items[i].rule->subject != RULES_QUALITY &&
		    kinds[piece].about(f->items[i].rule))
			return true;
	return false;
}

static bool is_shown(const struct screen *screen, enum piece piece)
{
	return screen->sections[piece] && screen->sections[piece]->shown;
}

static void leave_out(struct screen *screen, enum piece piece)
{
	screen->sections[piece]->shown = false;
	screen->lines[piece] = 0;
	screen->left_out =
		report_say(&screen->report, "%s%s%s", screen->left_out ? screen->left_out : "",
	                   screen->left_out ? ", " : "", kinds[piece].name);
}

static int measure(struct screen *screen, enum piece piece, struct error *err)
{
	const struct outline_format *format = screen->format;
	int lines = is_shown(screen, piece)
	                    ? format->lines(format->context, screen->sections[piece], NULL, err)
	                    : 0;

	screen->lines[piece] = lines;
	return lines < 0 ? -1 : 0;
}

static int make(struct screen *screen, enum piece piece, struct error *err)
{
	screen->sections[piece] = kinds[piece].make(&screen->report, err);
	if (!screen->sections[piece])
		return -1;
	if (piece == OPS)
		section_keep_notes(screen->sections[piece], 0, 1);
	if (kinds[piece].never && is_shown(screen, piece) && !is_asked(screen, piece)) {
		leave_out(screen, piece);
		return 0;
	}
	return measure(screen, piece, err);
}

// What is said beside the answer goes, the last first, until it has room.
static int fit_verdict(struct screen *screen, struct error *err)
{
	const struct outline_format *format = screen->format;
	struct verdict *v = &screen->verdict;

	for (;;) {
		screen->verdict_lines = format->lines(format->context, NULL, v, err);
		if (screen->verdict_lines < 0)
			return -1;
		if (screen->verdict_lines <= LINES_VERDICT + 1 || !v->extras)
			return 0;
		v->next[v->extra_at[--v->extras]] = '\0';
		if (v->second > v->extras)
			v->said_next = NULL; // it is with the other findings
	}
}

static int sum_lines(const struct screen *screen)
{
	int sum = LINES_AFTER + screen->verdict_lines;

	for (int piece = 0; piece < PIECES; piece++)
		sum += screen->lines[piece];
	return sum;
}

static int most_lines(const struct screen *screen)
{
	int more = screen->lines[OPS] + screen->lines[GPU] + screen->lines[RANKS] +
	           screen->lines[WORKERS];

	return more ? SCREEN_LINES_OPS : SCREEN_LINES;
}

static int keep_heading(struct screen *screen, enum piece piece, struct error *err)
{
	struct section *s = screen->sections[piece];

	s->row_count = 0;
	section_keep_notes(s, 0, 0);
	s->next = NULL;
	return measure(screen, piece, err);
}

static int fold(struct screen *screen, int most, struct error *err)
{
	static const enum piece tables[] = { HOT_TOTAL, HOT_LINES, HOT_SELF };

	for (int order = 1; order <= PIECES; order++)
		for (int piece = 0; piece < PIECES; piece++) {
			if (kinds[piece].order != order || !is_shown(screen, piece) ||
			    is_asked(screen, piece) || sum_lines(screen) <= most)
				continue;
			screen->cut = true;
			if (!kinds[piece].headed)
				leave_out(screen, piece);
			else if (keep_heading(screen, piece, err) < 0)
				return -1;
		}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct section *s = screen->sections[tables[i]];
		while (s && s->row_count > ROWS_LEAST && sum_lines(screen) > most) {
			s->row_count--;
			if (measure(screen, tables[i], err) < 0)
				return -1;
		}
	}
	for (int piece = 0; piece < PIECES; piece++)
		if (kinds[piece].headed && is_shown(screen, piece) &&
		    !screen->sections[piece]->row_count && sum_lines(screen) > most)
			leave_out(screen, piece);
	return 0;
}

static int lines_of_note(const struct screen *screen, const struct section *s,
                         const struct section_note *note, struct error *err)
{
	const struct outline_format *format = screen->format;
	struct section_note alone = *note;
	struct section of = *s;

	alone.next = NULL;
	of.notes = &alone;
	int lines = format->lines(format->context, &of, NULL, err);
	return lines < 0 ? -1 : lines - LINES_HEADING;
}

// The limits that have room, the first of them in any case, and one line for all that is elsewhere.
static int fit_limits(struct screen *screen, struct error *err)
{
	struct section *s = screen->sections[LIMITS];
	int most = LINES_LIMITS - screen->cut, used = 0;
	unsigned left = 0;

	if (measure(screen, LIMITS, err) < 0)
		return -1;
	if (screen->lines[LIMITS] - LINES_HEADING > most)
		most = LINES_LIMITS - 1; // the last one is for what is elsewhere
	for (struct section_note **at = &s->notes; *at;) {
		int lines = lines_of_note(screen, s, *at, err);
		if (lines < 0)
			return -1;
		bool kept = !used || used + lines <= most;
		used += kept ? lines : 0;
		left += !kept;
		if (kept)
			at = &(*at)->next;
		else
			*at = (*at)->next;
		s->last_note = at;
	}
	const char *also = screen->left_out ? screen->left_out : "";
	if (left)
		section_say(s, "more in bottleneck report: %u limit%s%s%s", left,
		            left == 1 ? "" : "s", *also ? ", " : "", also);
	else if (*also && used < LINES_LIMITS)
		section_say(s, "more in bottleneck report: %s", also);
	return measure(screen, LIMITS, err);
}

static int make_limits(struct screen *screen, struct error *err)
{
	screen->report.advised = screen->verdict.next;
	screen->sections[LIMITS] = section_limits(&screen->report, err);
	if (!screen->sections[LIMITS])
		return -1;
	// What has not been left out yet needs no line more than that.
	screen->lines[LIMITS] = LINES_HEADING + LINES_LIMITS;
	return 0;
}

// The warning of a warm-up, and findings that neither it nor the verdict has.
static int make_others(struct screen *screen, struct error *err)
{
	struct section *warmup = section_warmup(&screen->report, err);

	if (!warmup)
		return -1;
	section_keep_notes(warmup, 1, 0);
	if (strstr(warmup->title ? warmup->title : "", "includes"))
		warmup->subtitle = "see bottleneck report --from-steady";
	screen->sections[WARMUP] = warmup;
	screen->sections[OTHERS] = section_other_findings(&screen->report, screen->findings,
	                                                  &screen->verdict, warmup->shown, err);
	if (!screen->sections[OTHERS] || measure(screen, WARMUP, err) < 0)
		return -1;
	return measure(screen, OTHERS, err);
}

static int make_all(struct screen *screen, struct error *err)
{
	if (fit_verdict(screen, err) < 0)
		return -1;
	for (int piece = 0; piece < PIECES; piece++) {
		bool hot = piece == HOT_SELF || piece == HOT_TOTAL || piece == HOT_LINES;
		if (kinds[piece].make && !(hot && screen->verdict.too_few) &&
		    make(screen, piece, err) < 0)
			return -1;
	}
	if (make_others(screen, err) < 0 || make_limits(screen, err) < 0 ||
	    fold(screen, most_lines(screen), err) < 0)
		return -1;
	return fit_limits(screen, err);
}

int screen_print(const struct outline_format *format, const struct profile *profile,
                 const struct view *view, const struct rule_limits *limits, struct error *err)
{
	cleanup(findings) struct findings *findings = cut_findings(view, profile, limits, err);
	cleanup(screen) struct screen screen = {
		.format = format,
		.report = report_of(profile, view, READER_TEXT),
		.findings = findings,
	};

	screen.report.ascii = format->ascii;
	screen.report.fits_limits = true;
	if (!findings || verdict_find(profile, view, findings, &screen.verdict, err) < 0 ||
	    make_all(&screen, err) < 0)
		return -1;
	for (int piece = 0; piece < PIECES; piece++)
		if (is_shown(&screen, piece) &&
		    format->section(format->context, screen.sections[piece], err) < 0)
			return -1;
	return format->verdict(format->context, &screen.verdict, err);
}
