// SPDX-License-Identifier: MIT
// How many threads of the run were on CPUs at once, and which place was there alone.
#include "cli/report/sections.h"

#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"

#include <string.h>

#define PARALLEL_SHARE 0.02 /* of the run, with several threads on CPUs: less is chance */
#define SERIAL_SHARE   0.10 /* of the run, one thread alone at one place */

#define LEAST_GAIN     1.05 /* below this "1.0 times" would be said */

struct at_once {
	uint64_t threads, ns;
	uint64_t turns_ns; /* of one thread: while another one was ready to run */
	const struct wait_side
		*side; /* of one thread: who that was most; NULL: others, or unknown */
	uint64_t alone_ns;
	const char *process; /* the same, of those that the run has started */
	uint32_t pid;
	uint64_t process_ns;
};

static bool is_news(const struct parallel *p)
{
	return p->most >= 2 && (double)(p->all_ns - p->none_ns - p->serial_ns) >=
	                               PARALLEL_SHARE * (double)p->all_ns;
}

// WHERE stands behind that.
static void say_most(struct section *s, const struct parallel *p, const char *who, uint64_t ns,
                     const char *where)
{
	double gain = (double)p->all_ns / (double)(p->none_ns + p->serial_ns);

	if (gain < LEAST_GAIN)
		section_say(
			s,
			"%s was alone on a CPU for %s of %s%s; more CPUs would hardly make the run "
			"faster",
			who, format_duration(ns).text, format_duration(p->one_ns).text, where);
	else
		section_say(s,
		            "%s was alone on a CPU for %s of %s%s; more CPUs can make the run at "
		            "most %.1f times as fast",
		            who, format_duration(ns).text, format_duration(p->one_ns).text, where,
		            gain);
}

// A program's name says little of what it works at: ", most in render (job.py:12)".
static const char *where_in_process(struct section *s, const struct parallel *p)
{
	const struct wait_side *at = &p->process_at;
	char place[256];

	if (!at->function)
		return "";
	place_words(at->file, at->line, NULL, place, sizeof(place));
	return report_say(s->report, ", %s in %s%s%s%s",
	                  2 * p->process_at_ns >= p->process_ns ? "most" : "the largest part",
	                  at->function, *place ? " (" : "", place, *place ? ")" : "");
}

// The process of "[jit 4711]" is no news.
static const char *function_words(const char *function)
{
	bool made = strncmp(function, "[jit ", strlen("[jit ")) == 0;

	return made ? "code that a JIT compiler made" : function;
}

static void say_alone(struct section *s, const struct parallel *p)
{
	bool at_one_place = p->alone.function &&
	                    (double)p->alone_ns >= SERIAL_SHARE * (double)p->all_ns &&
	                    2 * p->alone_ns >= p->process_ns;
	char place[256];

	place_words(p->alone.file, p->alone.line, NULL, place, sizeof(place));
	if (at_one_place)
		say_most(s, p,
		         report_say(s->report, "%s%s%s%s", function_words(p->alone.function),
		                    *place ? " (" : "", place, *place ? ")" : ""),
		         p->alone_ns, "");
	else if ((double)p->process_ns >= SERIAL_SHARE * (double)p->all_ns)
		say_most(s, p,
		         report_say(s->report, "%s (process %u)", p->process ? p->process : "?",
		                    p->process_pid),
		         p->process_ns, where_in_process(s, p));
}

bool section_say_parallel(struct section *s)
{
	struct parallel p;

	const struct view *view = s->report->view;
	struct wall_rank rank;

	query_parallel(s->report->profile, view->from_ns, view->to_ns, &p);
	if (!is_news(&p))
		return false;
	section_note(s, NOTE_SAY, false,
	             "on CPUs at once%s%s: nothing %s %%, one thread %s %%, %s %s %%",
	             query_wall_rank(s->report->profile, &rank) ? ", of that rank alone" : "",
	             view_is_window(view) && p.whole_run ? ", of the whole run" : "",
	             format_percent(p.none_ns, p.all_ns).text,
	             format_percent(p.one_ns, p.all_ns).text, p.most == 2 ? "two" : "two and more",
	             format_percent(p.more_ns, p.all_ns).text);
	say_alone(s, &p);
	return true;
}

static void make_function(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct at_once *row = data;

	(void)s;
	cell->text = row->side ? row->side->function : NULL;
}

static void make_file(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct at_once *row = data;

	(void)s;
	cell->text = row->side ? row->side->file : NULL;
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct at_once *row = data;

	(void)s;
	cell->integer = row->side ? row->side->line : 0;
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct at_once *row = data;

	(void)s;
	cell->place.file = row->side ? row->side->file : NULL;
	cell->place.line = row->side ? row->side->line : 0;
}

static const struct section_column columns[] = {
	{ "threads", .page_heading = "threads on CPUs", .type = CELL_COUNT, .at = { 0, 1, 1, 1 },
	  FIELD(struct at_once, threads) },
	{ "ns", .page_heading = "time", .type = CELL_NS, .at = { 0, 2, 2, 2 },
	  FIELD(struct at_once, ns) },
	{ "share", .page_heading = "%", .type = CELL_SHARE, .at = { 0, 3, 3, 3 },
	  FIELD(struct at_once, ns) },
	{ "turns_ns", .page_heading = "while others were ready", .type = CELL_NS,
	  .at = { 0, 4, 4, 4 }, FIELD(struct at_once, turns_ns) },
	{ "alone_ns", .page_heading = "of that most", .type = CELL_NS, .at = { 0, 5, 8, 8 },
	  FIELD(struct at_once, alone_ns) },
	{ "function", .page_heading = "alone", .type = CELL_TEXT, .at = { 0, 6, 5, 5 },
	  .make = make_function },
	{ "place", .page_heading = "at", .type = CELL_PLACE, .at = { 0, 7 }, .make = make_place },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 6, 6 }, .make = make_file },
	{ "line", .type = CELL_INTEGER, .at = { 0, 0, 7, 7 }, .none = { 0, 0, 1, 1 },
	  .make = make_line },
	{ "process_ns", .page_heading = "of a process", .type = CELL_NS, .at = { 0, 8, 11, 11 },
	  FIELD(struct at_once, process_ns) },
	{ "process", .page_heading = "process", .type = CELL_TEXT, .at = { 0, 9, 9, 9 },
	  FIELD(struct at_once, process) },
	{ "pid", .page_heading = "number", .type = CELL_LABEL, .at = { 0, 10, 10, 10 },
	  .none = { 0, 1, 1, 1 }, FIELD(struct at_once, pid) },
};

struct section *section_parallel(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "parallel", "Parallelism");
	struct parallel *p = report_take(r, sizeof(*p));

	SECTION_COLUMNS(s, columns);
	if (!p)
		return section_end(s, err);
	query_parallel(r->profile, r->view->from_ns, r->view->to_ns, p);
	s->all = s->unit_ns = p->all_ns;
	for (uint32_t i = 0; p->all_ns && i <= p->most; i++) {
		struct at_once row = { .threads = i, .ns = p->at_once_ns[i] };
		if (i == 1) {
			row.turns_ns = p->one_ns - p->serial_ns;
			row.side = p->alone.function ? &p->alone : NULL;
			row.alone_ns = p->alone_ns;
			row.process = p->process;
			row.pid = p->process_pid;
			row.process_ns = p->process_ns;
		}
		section_row(s, &row);
	}
	s->shown = is_news(p);
	if (s->shown && r->reader == READER_PAGE)
		say_alone(s, p);
	return section_end(s, err);
}
