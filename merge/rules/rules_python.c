// SPDX-License-Identifier: MIT
// Rules on Python.
#include "base/clock.h"
#include "base/format.h"
#include "base/known_calls.h"
#include "base/op.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_awaits.h"
#include "merge/query/query_waits.h"
#include "merge/rules/evidence.h"
#include "merge/scope/own_place.h"
#include "merge/table/cells.h"

#include <stdlib.h>
#include <string.h>

#define WAITS                                                                                      \
	(1u << METRIC_OFF_LOCK | 1u << METRIC_OFF_FILE | 1u << METRIC_OFF_NET |                    \
	 1u << METRIC_OFF_PIPE | 1u << METRIC_OFF_SLEEP | 1u << METRIC_OFF_CHILD |                 \
	 1u << METRIC_OFF_OTHER)
#define FEW_IMPORTS_NS   UINT64_C(300000000) /* imports that take less are nobody's concern */
#define LITTLE_SHARE     0.10 /* of a line's time, in the interpreter and in arrays */
#define OBJECTS_SHARE    0.05
#define STATEMENTS_SHARE 0.3  /* of a line's time, in sqlite3's execute() */
#define STEPPING_SHARE   0.6  /* and of that: less is what SQLite does for the statement itself */
#define BRIEF_SHARE      0.10 /* of the run: threads that live less are no workers */
#define STACKS_SHARE     0.40 /* of the time in logging, for stacks: so much is why it is slow */
#define WAITED_SHARE     0.5  /* of what serialization takes, in which who asked for it waits */
#define GC_OP            "garbage collection"
#define LONG_SHARE       0.1 /* of computing with whole numbers, in what only long ones need */
#define HALF_SHARE       0.1 /* of a line's time, in functions for numbers of 16 bits */
#define CALLED_SHARE     0.4 /* of the interpreter's time, at one line */
#define DEEP_CALLS       4   // of one function, within one another
#define LINES_MAX        256 /* of one coroutine */

static bool has_python(const struct evidence *e)
{
	for (size_t i = 0; i < e->activities->place_count; i++)
		if (e->activities->places[i].python)
			return true;
	for (size_t i = 0; i < e->activities->time_count; i++)
		if (e->activities->times[i].doing & (ACTIVITY(PYTHON) | ACTIVITY(IMPORT)))
			return true;
	return false;
}

static enum measured measure_python(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	return has_python(e) ? measure_doing(e, rule, finding)
	                     : finding_lacks(finding, "no Python code was seen");
}

// A wait within a callback is one of the whole loop; waiting for events is none.
static enum measured measure_callbacks(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	char place[300] = "";

	if (measured != MEASURED)
		return measured;
	if (finding->function)
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
	return finding_say(finding,
	                   "the event loop is blocked for %.0f %% of the time%s, while a "
	                   "callback waits%s%s",
	                   finding->value, evidence_queue(e), *place ? ", most in " : "", place);
}

// Qualified from 3.11 on.
static bool is_called(const char *name, const char *function)
{
	const char *dot = strrchr(function, '.');

	return strcmp(name, function) == 0 || (dot && strcmp(name, dot + 1) == 0);
}

static bool stands_at(const struct profile *p, uint32_t node, const struct await_function *of)
{
	const struct location *location = profile_location(p, profile_node(p, node)->location);
	const struct place *places = profile_places(p, location);

	for (uint32_t i = 0; location->kind == FRAME_PYTHON && i < location->place_count; i++) {
		const char *name = profile_string(p, places[i].function);
		const char *file = profile_string(p, places[i].file);
		if (name && file && of->file && strcmp(file, of->file) == 0 &&
		    is_called(name, of->name))
			return true;
	}
	return false;
}

static bool is_below(const struct profile *p, uint32_t node, const struct await_function *of)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent)
		if (stands_at(p, node, of))
			return true;
	return false;
}

struct line_sum {
	uint32_t function, file, line;
	uint64_t ns;
};

static void add_to_line(struct line_sum *lines, size_t *count, const struct place *place,
                        uint64_t ns)
{
	size_t i = 0;

	while (i < *count && (lines[i].function != place->function ||
	                      lines[i].file != place->file || lines[i].line != place->line))
		i++;
	if (i == LINES_MAX)
		return; // it has not been seen among the first: it is not the longest
	if (i == *count)
		lines[(*count)++] =
			(struct line_sum){ place->function, place->file, place->line, 0 };
	lines[i].ns += ns;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line_sum *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

// The lines of the user's own that took longest below BLOCKER, waiting or not.
static void add_lines_below(const struct evidence *e, const struct await_function *blocker,
                            struct finding *finding)
{
	const struct profile *p = e->profile;
	const struct cells *cells = profile_cells(p);
	cleanup_free struct line_sum *lines = calloc(LINES_MAX, sizeof(*lines));
	uint32_t last = 0;
	const struct place *place = NULL;
	size_t count = 0;
	uint64_t all = 0;

	for (uint32_t i = 0; lines && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (cell->metric == METRIC_OFF_RUNNABLE)
			continue;
		if (cell->node != last) {
			last = cell->node;
			place = is_below(p, last, blocker) ? own_place_above(p, last) : NULL;
		}
		if (!place)
			continue;
		uint64_t ns = cells_whole(cells, cell);
		add_to_line(lines, &count, place, ns);
		all += ns;
	}
	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count && i < FINDING_ROWS && lines[i].ns * 10 >= all; i++) {
		const char *function = profile_string(p, lines[i].function);
		finding_add(finding, &(struct finding_row){
					     .function = function ? function : "?",
					     .file = profile_string(p, lines[i].file),
					     .line = (int)lines[i].line,
					     .ns = lines[i].ns,
					     .share = share_of(lines[i].ns, all),
				     });
	}
}

// The steps of one loop follow one another; of several loops that run at once, as in the workers of
// a server, it is the average one.
static uint64_t blocked_ns(const struct evidence *e, const struct await_rows *rows)
{
	double at_once = e->wall_ns ? (double)rows->loop_ns / (double)e->wall_ns : 0;
	uint64_t ns = at_once > 1 ? ns_whole((double)rows->blocked_ns / at_once) : rows->blocked_ns;

	return ns < e->wall_ns ? ns : e->wall_ns;
}

// What the rule advises is asyncio's.
static void advise_unblocking(const char *library, struct finding *finding)
{
	static const struct {
		const char *library, *advice;
	} advices[] = {
		{ "trio",
		  "Move the call out of the loop: await trio.to_thread.run_sync(call, ...); or use "
		  "its awaitable version (trio.sleep(), trio.open_tcp_stream(), a client library "
		  "for trio). Break long loops with await trio.lowlevel.checkpoint()." },
		{ "gevent",
		  "Move the call out of the loop: gevent.get_hub().threadpool.apply(call, ...); or "
		  "use its cooperative version, which gevent.monkey.patch_all() makes of the "
		  "standard library's calls if it comes before all other imports. Break long "
		  "loops with gevent.sleep(0)." },
	};

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (strcmp(library, advices[i].library) == 0)
			finding_advise(finding, "%s", advices[i].advice);
}

// Which runs BLOCKER's tasks; of a callback, which the program has.
static const char *library_of(const struct await_rows *rows, const struct await_function *blocker)
{
	for (size_t i = 0; i < rows->task_count; i++) {
		const struct await_function *of = &rows->tasks[i].coroutine;
		if (of->name == blocker->name && of->file == blocker->file &&
		    of->line == blocker->line)
			return rows->tasks[i].library;
	}
	return rows->all.library;
}

static enum measured measure_blocks(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	cleanup(await_rows) struct await_rows *rows = query_awaits(e->profile, NULL);
	char place[300];

	(void)rule;
	if (!rows || !rows->task_count)
		return MEASURED_NOTHING;
	uint64_t ns = blocked_ns(e, rows);
	finding->share = share_of(ns, e->wall_ns);
	finding->value = 100 * finding->share;
	finding->saving_ns = ns;
	if (!rows->block_count)
		return MEASURED;
	const struct await_block *most = &rows->blocks[0];
	uint64_t delayed_ns = 0;
	for (size_t i = 0; i < rows->block_count; i++)
		delayed_ns += rows->blocks[i].delayed_ns;
	advise_unblocking(library_of(rows, &most->blocker), finding);
	add_lines_below(e, &most->blocker, finding);
	if (!finding->function)
		finding_add(finding, &(struct finding_row){
					     .function = most->blocker.name,
					     .file = most->blocker.file,
					     .line = most->blocker.line,
				     });
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding,
	                   "the event loop is blocked for %.0f %% of wall time while other tasks "
	                   "are ready, most by %s in %s, for up to %s at once; these tasks wait "
	                   "%s for that, added up",
	                   finding->value, most->blocker.name, place,
	                   format_duration(most->longest_ns).text,
	                   format_duration(delayed_ns).text);
}

static enum measured measure_imports(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	char import[300], whole[120];

	if (measured != MEASURED)
		return measured;
	if (finding->saving_ns < FEW_IMPORTS_NS)
		return MEASURED_NOTHING;
	if (!evidence_import(e, import, sizeof(import)))
		return MEASURED;
	return finding_say(finding, "imports: %.0f %% of %s, mostly %s", finding->value,
	                   evidence_whole(e, finding, whole, sizeof(whole)), import);
}

// The two largest shares of threads' lives.
struct gil_shares {
	double first, second;
};

static void add_share(struct gil_shares *shares, uint64_t waited, uint64_t life)
{
	double share = share_of(waited, life);

	if (share > shares->first) {
		shares->second = shares->first;
		shares->first = share;
	} else if (share > shares->second) {
		shares->second = share;
	}
}

// Two threads of one process have to wait for it: one alone is kept by who holds it elsewhere.
// Brief threads, as a server's for each request, are taken together: of one of them it is a large
// share whenever it waits at all.
static double second_share(const struct evidence *e, uint64_t *most_ns)
{
	const struct threads *t = profile_threads(e->profile);
	cleanup_free struct {
		uint64_t waited, life;
	} *brief = calloc(t->process_count + 1, sizeof(*brief));
	struct gil_shares shares = { 0 };

	*most_ns = 0;
	for (size_t i = 0; brief && i < t->thread_count; i++) {
		const struct thread_info *info = &t->threads[i];
		uint64_t life = evidence_sum(info->ns, (1u << METRIC_COUNT) - 1);
		if (info->gil_waited_ns > *most_ns && info->merged == 1)
			*most_ns = info->gil_waited_ns;
		if (share_of(life, profile_run_ns(e->profile)) >= BRIEF_SHARE) {
			add_share(&shares, info->gil_waited_ns, life);
		} else if (info->process <= t->process_count) {
			brief[info->process].waited += info->gil_waited_ns;
			brief[info->process].life += life;
		}
	}
	for (size_t i = 0; brief && i <= t->process_count; i++)
		add_share(&shares, brief[i].waited, brief[i].life);
	return shares.second;
}

// Where all threads together wait for it most.
static enum measured add_gil_waits(const struct evidence *e, struct finding *finding)
{
	const struct activities *a = e->activities;
	cleanup_free uint64_t *ns = calloc(a->place_count + 1, sizeof(*ns));
	size_t best = 0;

	for (size_t i = 0; ns && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place != ACTIVITY_NO_PLACE && time->doing & ACTIVITY(GIL))
			ns[time->place] += time->ns[METRIC_OFF_LOCK];
	}
	for (size_t i = 1; ns && i < a->place_count; i++)
		best = ns[i] > ns[best] ? i : best;
	if (!ns || !a->place_count || !ns[best])
		return MEASURED;
	const struct activity_place *place = &a->places[best];
	const char *function = profile_string(e->profile, place->function);
	finding_add(finding, &(struct finding_row){ .function = function ? function : "?",
	                                            .file = profile_string(e->profile, place->file),
	                                            .line = (int)place->line,
	                                            .ns = ns[best] });
	return MEASURED;
}

static uint64_t gil_waits(const struct wait_rows *waits)
{
	uint64_t ns = 0;

	for (size_t i = 0; waits && i < waits->count; i++)
		ns += waits->rows[i].kind == WAIT_KIND_GIL ? waits->rows[i].ns : 0;
	return ns;
}

// The row of the one that held it while others waited for half of the time or more, in all of its
// rows together NS. NULL: nobody did, or is known.
static const struct wait_row *gil_holder(const struct wait_rows *waits, uint64_t *ns)
{
	const struct wait_row *holder = NULL;

	*ns = 0;
	for (size_t i = 0; waits && i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		uint64_t held = 0;
		if (row->kind != WAIT_KIND_GIL || !row->holder.function || !row->holder.file)
			continue;
		for (size_t k = 0; k < waits->count; k++) {
			const struct wait_row *other = &waits->rows[k];
			if (other->kind == WAIT_KIND_GIL && other->holder.function &&
			    other->holder.file &&
			    strcmp(other->holder.function, row->holder.function) == 0 &&
			    strcmp(other->holder.file, row->holder.file) == 0)
				held += other->ns;
		}
		if (held > *ns) { // of several of its lines the one that is waited for longest
			*ns = held;
			holder = row;
		}
	}
	return 2 * *ns >= gil_waits(waits) ? holder : NULL;
}

// The holder's line is the one to change; where the others wait comes behind it.
static void put_holder_first(const struct wait_row *holder, uint64_t ns, struct finding *finding)
{
	struct finding_row rows[FINDING_ROWS];
	size_t count = finding->row_count;

	memcpy(rows, finding->rows, sizeof(rows));
	finding->row_count = 0;
	finding_add(finding, &(struct finding_row){ .function = holder->holder.function,
	                                            .file = holder->holder.file,
	                                            .line = holder->holder.line,
	                                            .ns = ns });
	for (size_t i = 0; i < count; i++)
		if (rows[i].line != holder->holder.line || !rows[i].file ||
		    strcmp(rows[i].file, holder->holder.file) != 0)
			finding_add(finding, &rows[i]);
}

// How long threads waited for it is known of their whole lives: of a window it is the part that all
// of these waits have there.
static uint64_t part_in_window(const struct evidence *e, uint64_t ns)
{
	if (!e->query.from_ns && !e->query.to_ns)
		return ns;
	cleanup(wait_rows) struct wait_rows *whole = query_waits(e->profile, 0, 0, NULL);
	if (e->waits->whole_run)
		return 0;
	return (uint64_t)(share_of(gil_waits(e->waits), gil_waits(whole)) * (double)ns);
}

static enum measured measure_gil(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	uint64_t most_ns;
	double share = second_share(e, &most_ns);
	enum measured measured = measure_python(e, rule, finding);

	// Wall time has the work of who held it instead.
	if (measured == MEASURED_NOTHING && e->wall.ranks && share > 0)
		measured = add_gil_waits(e, finding);
	if (measured != MEASURED)
		return measured;
	finding->value = 100 * share;
	most_ns = part_in_window(e, most_ns);
	if (most_ns > e->wall_ns)
		most_ns = e->wall_ns;
	if (most_ns > finding->saving_ns) {
		finding->saving_ns = most_ns;
		finding->share = e->wall_ns ? (double)most_ns / (double)e->wall_ns : 0;
	}
	uint64_t held_ns;
	const struct wait_row *holder = gil_holder(e->waits, &held_ns);
	char place[300] = "";
	if (holder)
		put_holder_first(holder, held_ns, finding);
	if (finding->function)
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
	return finding_say(
		finding,
		"threads wait for the GIL, Python's lock, for %.0f %% of their lifetime or "
		"more%s%s%s",
		finding->value,
		!*place  ? ""
		: holder ? ", mostly while "
			 : ", most in ",
		place, holder ? " holds it" : "");
}

// numpy.vectorize() keeps what the function takes and returns in arrays of objects, whatever its
// arguments are.
static bool is_vectorized(const struct evidence *e, const struct activity_time *time)
{
	const char *callee = profile_string(e->profile, time->callee);

	return callee && strncmp(callee, "vectorize", strlen("vectorize")) == 0;
}

struct line_time {
	uint64_t all, interpreter, elements, objects, halves, preparing;
	uint64_t statements, stepping; // sqlite3's execute(), and of that what SQLite does
	uint64_t most;                 // of one callee
	uint32_t callee;               // that one
};

// Time on a CPU, of the critical thread, by place.
static struct line_time *time_of_lines(const struct evidence *e)
{
	const struct activities *a = e->activities;
	struct line_time *lines = calloc(a->place_count + 1, sizeof(*lines));

	for (size_t i = 0; lines && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE || time->doing & ACTIVITY(IMPORT))
			continue;
		struct line_time *line = &lines[time->place];
		uint64_t ns = time->critical_ns[METRIC_ON_CPU];
		line->all += ns;
		if (time->callee && ns > line->most) {
			line->most = ns;
			line->callee = time->callee;
		}
		line->interpreter += time->doing & ACTIVITY(PYTHON) ? ns : 0;
		line->elements += time->doing & ACTIVITY(ELEMENT) ? ns : 0;
		line->objects +=
			time->doing & ACTIVITY(OBJECTS) && !is_vectorized(e, time) ? ns : 0;
		line->halves += time->doing & ACTIVITY(HALF) ? ns : 0;
		line->statements += time->doing & ACTIVITY(EXECUTE) ? ns : 0;
		line->stepping +=
			time->doing & ACTIVITY(EXECUTE) && time->doing & ACTIVITY(SQL) ? ns : 0;
		line->preparing += time->doing & ACTIVITY(PREPARE) ? ns : 0;
	}
	return lines;
}

// Where a line of Python takes as long as the array that it asks, it asks for little each time.
static bool asks_for_little(const struct line_time *line)
{
	return (double)line->interpreter > LITTLE_SHARE * (double)line->all &&
	       (double)line->elements > LITTLE_SHARE * (double)line->all;
}

// The same of whole arrays: where the interpreter's part of a call can be seen, the array is short.
static bool computes_little(const struct line_time *line)
{
	return (double)line->interpreter > LITTLE_SHARE * (double)line->all &&
	       (double)line->preparing > LITTLE_SHARE * (double)line->all &&
	       (double)line->objects <= OBJECTS_SHARE * (double)line->all && !asks_for_little(line);
}

// Where it takes as long to begin and end a statement as to run it, it does little each time.
static bool asks_one_by_one(const struct line_time *line)
{
	return (double)line->statements > STATEMENTS_SHARE * (double)line->all &&
	       (double)line->stepping < STEPPING_SHARE * (double)line->statements;
}

static void add_line(const struct evidence *e, size_t place, const struct line_time *line,
                     uint64_t sum, struct finding *finding)
{
	const struct strings *strings = profile_strings(e->profile);
	const struct activity_place *at = &e->activities->places[place];
	const char *function = strings_get(strings, at->function);

	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = strings_get(strings, at->file),
				     .line = (int)at->line,
				     .callee = strings_get(strings, line->callee),
				     .ns = line->all,
				     .share = (double)line->all / (double)sum,
			     });
}

// All that is done in lines that CHOSEN is true of.
static enum measured measure_lines(const struct evidence *e, const struct rule *rule,
                                   bool (*chosen)(const struct line_time *line),
                                   struct finding *finding)
{
	cleanup_free struct line_time *lines = time_of_lines(e);
	size_t best = 0;
	uint64_t sum = 0;
	char place[300];

	if (!lines)
		return finding_lacks(finding, "there is no memory");
	if (!has_python(e))
		return finding_lacks(finding, "no Python code was seen");
	for (size_t i = 0; i < e->activities->place_count; i++) {
		if (!chosen(&lines[i]))
			continue;
		sum += lines[i].all;
		best = !lines[best].all || !chosen(&lines[best]) || lines[i].all > lines[best].all
		               ? i
		               : best;
	}
	if (!sum)
		return MEASURED_NOTHING;
	evidence_weigh(e, sum, 0, 0, finding);
	finding->value = 100 * finding->share;
	add_line(e, best, &lines[best], sum, finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%s: %.0f %% of the time%s, most in %s", rule->title,
	                   finding->value, evidence_queue(e), place);
}

static enum measured measure_statements(const struct evidence *e, const struct rule *rule,
                                        struct finding *finding)
{
	return measure_lines(e, rule, asks_one_by_one, finding);
}

static enum measured measure_short(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	return measure_lines(e, rule, computes_little, finding);
}

static enum measured measure_elements(const struct evidence *e, const struct rule *rule,
                                      struct finding *finding)
{
	return measure_lines(e, rule, asks_for_little, finding);
}

// What NumPy calls for each element is Python's, and most of the time; what it frees is its own.
static bool has_objects(const struct line_time *line)
{
	return (double)line->objects > OBJECTS_SHARE * (double)line->all;
}

static bool has_halves(const struct line_time *line)
{
	return (double)line->halves > HALF_SHARE * (double)line->all;
}

static enum measured measure_halves(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	return measure_lines(e, rule, has_halves, finding);
}

static enum measured measure_objects(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	return measure_lines(e, rule, has_objects, finding);
}

// Imports make what stays: that garbage is looked for meanwhile is part of them.
static enum measured measure_gc(const struct evidence *e, const struct rule *rule,
                                struct finding *finding)
{
	const struct op_row *gc = NULL;
	char place[300] = "", whole[120];

	for (size_t i = 0; i < e->ops->count && !gc; i++)
		if (strcmp(e->ops->rows[i].provider, op_provider_name(OP_PYTHON)) == 0 &&
		    strcmp(e->ops->rows[i].name, GC_OP) == 0)
			gc = &e->ops->rows[i];
	if (!gc)
		return has_python(e) ? MEASURED_NOTHING
		                     : finding_lacks(finding, "no Python code was seen");
	measure_doing(e, rule, finding);
	if (finding->function)
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
	return finding_say(finding, "%s runs of Python's garbage collector take %.0f %% of %s%s%s",
	                   format_count(gc->calls).text, finding->value,
	                   evidence_whole(e, finding, whole, sizeof(whole)),
	                   *place ? ", most in " : "", place);
}

// What logs may format the stack or a traceback for it, which takes longer than all else.
static enum measured measure_logging(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	char fact[sizeof(finding->fact)];
	uint64_t all = 0, stacks = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & rule->doing) || time->doing & rule->not_doing)
			continue;
		all += time->ns[METRIC_ON_CPU];
		stacks += time->doing & ACTIVITY(INSPECT) ? time->ns[METRIC_ON_CPU] : 0;
	}
	if (measured != MEASURED || (double)stacks < STACKS_SHARE * (double)all || !stacks)
		return measured;
	finding_advise(finding,
	               "Log such records without a stack: drop stack_info=True and exc_info=True, "
	               "and call error() instead of exception(); str(e) names the error. Or log "
	               "only the first few.");
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	return finding_say(finding,
	                   "%.320s; formatting stacks and tracebacks takes %.0f %% of that", fact,
	                   percent_of(stacks, all));
}

#define WRITE_LESS                                                                                 \
	"Write less often, and only what is new: one line per record (JSON Lines) instead of the " \
	"whole document each time; check the level first where a log message may drop the text; "  \
	"or use a faster library (orjson, msgpack)."
#define SEND_LESS                                                                                  \
	"Arguments and results of worker processes are pickled: pass names or indexes instead of " \
	"large objects, make large arrays before the pool forks or share them "                    \
	"(multiprocessing.shared_memory), and return less."
#define SEND_TOGETHER                                                                              \
	"Each task is a message of its own, there and back, which takes some 0.1 ms: give each "   \
	"one many items (map() with chunksize=), and pass names or indexes instead of large "      \
	"objects."

static const struct rule_callee ways_to_serialize[] = {
	{ "BaseProxy",
	  "Each access to an object of a Manager is a message to its process, there and "
	  "back: let each worker add up what it has in objects of its own and return or "
	  "store that once, or share numbers by multiprocessing.Array, Value or "
	  "shared_memory." },
	{ "submit", SEND_TOGETHER },
	{ "apply_async", SEND_TOGETHER },
	{ "Pool.imap", SEND_TOGETHER },
	{ "IMapIterator", SEND_TOGETHER },
	{ "as_completed", SEND_TOGETHER },
	{ "Pool", SEND_LESS },
	{ "Process.start", SEND_LESS },
	{ "Process._bootstrap", SEND_LESS },
	{ "Connection", SEND_LESS },
	{ "Queue", SEND_LESS },
	{ "dump", WRITE_LESS },
	{ "encode", WRITE_LESS },
	{ "load", "Parse each document once and keep the result, and read only what is needed; or "
	          "use a faster parser: orjson, yaml's CSafeLoader." },
	{ NULL, NULL },
};

// By what the user's own code waits for worker processes, which threads of a pool, with none of
// that in their stacks, send objects to.
static bool is_for_workers(const char *callee)
{
	static const char *const parts[] = { "Pool.",        "ApplyResult.", "MapResult.",
		                             "IMapIterator", "Executor",     "Future.",
		                             "as_completed", "Queue." };

	for (size_t i = 0; callee && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(callee, parts[i]))
			return true;
	return false;
}

// The place that waits most, if that is for most of what FINDING found.
static bool add_waiting_place(const struct evidence *e, struct finding *finding)
{
	const uint32_t waits = 1u << METRIC_OFF_LOCK | 1u << METRIC_OFF_PIPE | 1u << METRIC_OFF_NET;
	const struct activities *a = e->activities;
	const struct strings *texts = profile_strings(e->profile);
	const struct activity_time *most = NULL;
	uint64_t most_ns = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		uint64_t ns = evidence_sum(time->ns, waits);
		if (time->place == ACTIVITY_NO_PLACE || ns <= most_ns ||
		    !is_for_workers(strings_get(texts, time->callee)))
			continue;
		most = time;
		most_ns = ns;
	}
	if (!most || (double)most_ns < WAITED_SHARE * (double)finding->saving_ns)
		return false;
	const struct activity_place *place = &a->places[most->place];
	const char *function = strings_get(texts, place->function);
	finding_add(finding, &(struct finding_row){ .function = function ? function : "?",
	                                            .file = strings_get(texts, place->file),
	                                            .line = (int)place->line,
	                                            .callee = strings_get(texts, most->callee),
	                                            .ns = most_ns });
	return true;
}

// json has an encoder in C, and one in Python for what that cannot do.
static bool is_encoded_in_python(const struct evidence *e)
{
	uint64_t encoder = 0, all = 0;

	for (size_t i = 0; i < e->functions->count; i++) {
		const struct row *row = &e->functions->rows[i];
		activity_set doing = row->name ? activity_of(row->name, row->file) : 0;
		if (!(doing & ACTIVITY(SERIALIZE)))
			continue;
		all += row->self;
		encoder += strstr(row->name, "_iterencode") ? row->self : 0;
	}
	return 2 * encoder > all;
}

// Text of numbers is made and read by the same functions whatever their length: they are long where
// those that are called for long ones alone take a good part of that.
static enum measured measure_digits(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	uint64_t text = evidence_doing(e, ACTIVITY(DECIMAL), rule->metrics);
	uint64_t all = evidence_doing(e, rule->doing, rule->metrics);

	return measured == MEASURED && (double)(all - text) < LONG_SHARE * (double)all
	               ? MEASURED_NOTHING
	               : measured;
}

static enum measured measure_serialize(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	char fact[sizeof(finding->fact)], place[200];

	if (measured == MEASURED && is_encoded_in_python(e))
		finding_advise(
			finding,
			"json's encoder in C is not used: indent=, a cls= with an iterencode() of "
			"its own, and json.dump() take the one in Python. Call json.dumps() without "
			"indent= and write its result, or use orjson, which has indents, too; and "
			"write only what is new.");

	if (measured != MEASURED || finding->row_count || !add_waiting_place(e, finding))
		return measured;
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%.150s, while %s waits in %.60s", fact, place,
	                   finding->rows[0].callee);
}

// A debugging aid of PyTorch's keeps the stack of each op of the forward pass.
static bool looks_for_anomalies(const struct evidence *e)
{
	for (size_t i = 0; i < e->functions->count; i++)
		if (strstr(e->functions->rows[i].name, "PyAnomalyMetadata"))
			return true;
	return false;
}

static enum measured measure_inspect(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);

	if (measured == MEASURED && looks_for_anomalies(e))
		finding_advise(
			finding,
			"torch.autograd.set_detect_anomaly() formats a stack for each op of the "
			"forward pass and looks for NaN in the backward pass: switch it on only "
			"to find a bug.");
	return measured;
}

// Whether most of the time in FINDING's function is that of calls far within calls of its own.
static bool calls_itself(const struct evidence *e, const struct finding *finding)
{
	const struct await_function of = { .name = finding->function, .file = finding->file };
	const struct profile *p = e->profile;
	const struct cells *cells = profile_cells(p);
	uint64_t all = 0, deep = 0;

	for (uint32_t i = 0; finding->function && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		int calls = 0;
		if (cell->metric != METRIC_ON_CPU)
			continue;
		for (uint32_t node = cell->node; node && calls < DEEP_CALLS;
		     node = profile_node(p, node)->parent)
			calls += profile_node(p, node)->parent && stands_at(p, node, &of);
		uint64_t ns = cells_whole(cells, cell);
		all += calls ? ns : 0;
		deep += calls == DEEP_CALLS ? ns : 0;
	}
	return 2 * deep > all;
}

// Where one function of a library, written in Python, is called again and again, what it returns
// may be kept; so may what one returns that calls itself.
static enum measured measure_interpreter(const struct evidence *e, const struct rule *rule,
                                         struct finding *finding)
{
	enum measured measured = measure_python(e, rule, finding);
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;
	const char *known = callee ? known_advice_of_call(callee) : NULL;

	if (measured == MEASURED && calls_itself(e, finding))
		finding_advise(
			finding,
			"%.80s calls itself: where it is given the same arguments again, "
			"functools.lru_cache keeps what it returned; else a loop, with a list of "
			"what is left to do, takes no calls.",
			finding->function);
	if (measured != MEASURED || !callee || finding->rows[0].share < CALLED_SHARE)
		return measured;
	if (known)
		finding_advise(finding, "%s", known);
	else if (*callee != '{' && *callee != '<')
		finding_advise(
			finding,
			"Most is what %.80s does, which is written in Python: call it less often "
			"(keep its results in a dict or by functools.lru_cache, move it out of "
			"loops), or use a function in C, or one call for a whole array.",
			callee);
	return measured;
}

static const struct rule_callee ways_to_join[] = {
	{ "concat",
	  "Joining in a loop copies each time all that is there already: collect the pieces in a "
	  "list, and join them once behind the loop. An empty table to begin with has columns of "
	  "objects, and makes the result so: leave it out. Else convert such columns once, where "
	  "they are made." },
	{ NULL, NULL },
};

static const struct rule_callee ways_to_inspect[] = {
	{ "_exc", "Do not format a traceback for each error: log str(e), count errors, or format "
	          "only the first few." },
	{ "format_", "Do not format a stack each time: keep traceback.extract_stack(limit=1), or "
	             "sys._getframe(1) for the caller's name." },
	{ "print_", "Do not print a stack each time: print only the first few, or give a limit." },
	{ NULL, NULL },
};

const struct rule rules_python[] = {
	{ .id = "PY-INTERP",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "Python interpreter",
	  .formula =
	          "CPU time of the interpreter at work for Python code, without what C functions "
	          "take that it calls and without garbage collection, as a share of the critical "
	          "thread's time, or of all CPU time",
	  .why = "One bytecode step of the interpreter takes some 30 ns, where compiled code "
	         "takes one.",
	  .advice = "Process many elements per call: NumPy's array operations, built-in functions "
	            "such as sum() and str.join(), or compile the loop (Numba, Cython).",
	  .source = "our choice",
	  .measure = measure_interpreter,
	  .doing = ACTIVITY(PYTHON),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(THROW) | ACTIVITY(REGEX) | ACTIVITY(DEEPCOPY) |
	               ACTIVITY(LOGGING) | ACTIVITY(DATE) | ACTIVITY(CONCAT) | ACTIVITY(SHIFT) |
	               ACTIVITY(SERIALIZE) | ACTIVITY(INSPECT) | ACTIVITY(EXACT) | ACTIVITY(GC),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-ELEMENT",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "MEM-CHURN" },
	  .title = "element-wise access to NumPy arrays",
	  .formula =
	          "CPU time of lines that spend 10 % of theirs in the interpreter itself and 10 % "
	          "in taking elements out of NumPy's arrays or putting them in, as a share of "
	          "the critical thread's time",
	  .why = "Each element becomes a Python object: 50 to 100 ns per element, where an array "
	         "operation takes one.",
	  .advice = "Use array operations: slices, masks, numpy.where(); or compile the loop "
	            "(Numba, Cython); where it must be Python, convert the array first "
	            "(tolist()).",
	  .source = "our choice",
	  .measure = measure_elements },
	{ .id = "PY-SHORT",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "MEM-CHURN", "OP-TINY" },
	  .title = "NumPy calls on few elements",
	  .formula =
	          "CPU time of lines that spend 10 % of theirs in the interpreter itself and 10 % "
	          "in NumPy's functions that prepare a call (that look at its arguments, choose "
	          "a loop and make the result), as a share of the critical thread's time; only "
	          "where NumPy's symbols are found, as in its wheels",
	  .why = "A call costs the interpreter and NumPy 0.5 to 5 us, as much as 1000 additions, "
	         "however few elements its arrays have.",
	  .advice = "Give one call many elements: put the small arrays into one larger array and "
	            "compute along an axis (axis=1, broadcasting, einsum()); or compile the loop "
	            "(Numba, Cython); for two or three numbers use plain Python (math, tuples).",
	  .source = "our choice",
	  .measure = measure_short },
	{ .id = "PY-QUERIES",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "MEM-CHURN", "PY-GC" },
	  .title = "SQLite statements that do little each",
	  .formula =
	          "CPU time of lines that spend 30 % of theirs in execute() of Python's sqlite3, "
	          "and of that less than 60 % in running statements, as a share of the critical "
	          "thread's time; the rest of execute() looks up, binds and resets them",
	  .why = "Each statement is looked up, given its parameters, run and reset, and its rows "
	         "become Python objects: 2 to 10 us for one row, where a row of a larger "
	         "statement takes 0.5 us.",
	  .advice = "Ask for all rows with one statement instead of one for each (N+1 queries): a "
	            "JOIN, a subquery, WHERE id IN (...); write many with executemany(); keep in a "
	            "dict what is asked for again.",
	  .source = "our choice",
	  .part = 0.7,
	  .part_from = "our choice: one statement for all rows finds and returns each of them, too",
	  .measure = measure_statements },
	{ .id = "PY-OBJECTS",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "PY-ELEMENT", "MEM-CHURN", "MEM-FAULT", "CPU-SYS" },
	  .title = "NumPy arrays of Python objects",
	  .formula =
	          "CPU time of lines that spend 5 % of theirs in NumPy's own functions for "
	          "arrays of Python objects, as a share of the critical thread's time; only where "
	          "NumPy's symbols are found, as in its wheels",
	  .why = "An array of dtype object holds pointers: each operation calls Python for each "
	         "element and makes a new object, 10 to 100 times as slow as on numbers.",
	  .advice = "Look at the array's dtype: None, Decimal, strings or lists of unequal length "
	            "among the data make it object. Convert it once, where it is made: "
	            "dtype=float (None becomes nan), astype(), or a masked array.",
	  .by_callee = ways_to_join,
	  .source = "our choice",
	  .measure = measure_objects },
	{ .id = "PY-HALF",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "PY-CAST", "MEM-FAULT", "CPU-SYS" },
	  .title = "NumPy arrays of float16",
	  .formula =
	          "CPU time of lines that spend 10 % of theirs in NumPy's functions for float16, as "
	          "a share of the critical thread's time; only where NumPy's symbols are found, as in "
	          "its wheels",
	  .why = "CPUs do not compute with float16: NumPy converts each element to float32 and back, "
	         "one by one, 5 to 20 times as slow as float32.",
	  .advice = "Compute in float32 and keep float16 for what is stored: "
	            "a.astype(np.float32) once, before the operations.",
	  .source = "our choice",
	  .part = 0.8,
	  .part_from = "our choice: with float32 the same operations take a fifth of the time or "
	               "less",
	  .measure = measure_halves },
	{ .id = "PY-CAST",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .within = { "PY-INTERP", "MEM-CHURN", "MEM-FAULT", "CPU-SYS" },
	  .title = "converting NumPy arrays to another type",
	  .formula =
	          "CPU time in astype() and in NumPy's own functions that convert elements, as "
	          "an operation on arrays of two types does, as a share of the critical "
	          "thread's time, or of all CPU time; only where NumPy's symbols are found, as in "
	          "its wheels",
	  .why = "A conversion reads and writes all of an array, as the operation itself does, and "
	         "takes fresh memory.",
	  .advice = "Convert each array once, where it is made or read (dtype=), and keep it so; "
	            "give an operation arrays of one dtype, and scalars of it (np.float32(0.5)); "
	            "astype(dtype, copy=False) leaves alone what has it already.",
	  .source = "our choice",
	  .measure = measure_python,
	  .doing = ACTIVITY(CAST),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(OBJECTS),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-GIL",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "PY-INTERP", "CPU-LOCK", "CPU-OVERSUB", "CPU-SYS" },
	  .title = "threads wait for the GIL",
	  .formula = "of the threads' lives, the share that was spent waiting for the GIL; the "
	             "second largest one of all threads, where those of a process that live for "
	             "less than 10 % of the run count as one",
	  .why = "Only one thread at a time runs Python code.",
	  .advice = "Use processes (multiprocessing, concurrent.futures), libraries that work "
	            "without the GIL, or a free-threaded Python.",
	  .source = "our choice",
	  .measure = measure_gil,
	  .doing = ACTIVITY(GIL),
	  .metrics = 1u << METRIC_OFF_LOCK },
	{ .id = "PY-ASYNC",
	  .blocks = true,
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "IO-NET", "IO-SLEEP", "IO-WAIT", "IO-SYNC", "CPU-LOCK", "CPU-SPAWN" },
	  .title = "blocked event loop",
	  .formula = "time that the critical thread waits within callbacks and tasks of asyncio's "
	             "event loop, for anything but a free CPU, as a share of its time",
	  .why = "One thread runs all tasks: while one of them blocks without await, no other "
	         "proceeds.",
	  .advice = "Use awaitable calls (asyncio.sleep(), asyncio.open_connection(), an asyncio "
	            "client library), or move the call to a thread: await asyncio.to_thread().",
	  .source = "our choice",
	  .measure = measure_callbacks,
	  .doing = ACTIVITY(CALLBACK),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(GIL),
	  .metrics = WAITS },
	{ .id = "PY-LOOP",
	  .blocks = true,
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .whole_run = true,
	  .within = { "PY-ASYNC", "PY-INTERP", "IO-NET", "IO-SLEEP", "IO-WAIT", "IO-SYNC",
	              "CPU-SPAWN" },
	  .title = "tasks wait for a blocked event loop",
	  .formula = "time of steps of an event loop's tasks and callbacks that take 10 ms or "
	             "more, from the moment on that another task of the loop is ready, as a share "
	             "of wall time; of several loops that run at once, on average",
	  .why = "A task that does not await keeps the loop: tasks that are ready wait for the end "
	         "of its step.",
	  .advice = "Move the call out of the loop: await asyncio.to_thread(call, ...), or "
	            "loop.run_in_executor() with a ProcessPoolExecutor where it computes in "
	            "Python; or use its awaitable version (asyncio.sleep(), an asyncio client "
	            "library). Break long loops with await asyncio.sleep(0).",
	  .source = "our choice",
	  .measure = measure_blocks },
	{ .id = "PY-GC",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .title = "Python garbage collection",
	  .formula = "CPU time in collections of garbage, without those of imports, as a share of "
	             "the critical thread's time, or of all CPU time",
	  .why = "A collection visits every object that may be part of a cycle, whether there is "
	         "garbage or not.",
	  .advice = "Create fewer long-lived objects; gc.freeze() those that stay; raise the "
	            "thresholds with gc.set_threshold(). Do not call gc.collect() in loops.",
	  .source = "our choice",
	  .measure = measure_gc,
	  .doing = ACTIVITY(GC),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-IMPORT",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_INFO,
	  .once = true,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "WARM-INIT", "IO-WAIT", "PY-INTERP", "IO-OPEN" },
	  .title = "imports",
	  .formula =
	          "time in Python's imports and in all that they run, waiting or not, as a share "
	          "of the critical thread's time; nothing below 0.3 s",
	  .why = "Imports are paid at each start of the program.",
	  .advice = "Import large modules only where they are used, or avoid them; the table of "
	            "imports shows what each one takes.",
	  .source = "our choice",
	  .measure = measure_imports,
	  .doing = ACTIVITY(IMPORT) },
	{ .id = "PY-DEEPCOPY",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "PY-INTERP" },
	  .title = "deep copies of objects",
	  .formula = "time in Python's copy module and in dataclasses.asdict() and astuple(), as a "
	             "share of the critical thread's time",
	  .why = "A deep copy visits and rebuilds every reachable object.",
	  .advice = "Copy only what changes: dict(d), list(l), dataclasses.replace(); read the "
	            "needed fields directly; or share immutable data.",
	  .source = "our choice",
	  .measure = measure_python,
	  .doing = ACTIVITY(DEEPCOPY) },
	{ .id = "PY-LOG",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "PY-INTERP", "IO-TINY", "IO-WAIT", "CPU-SYS" },
	  .title = "logging",
	  .formula = "time in Python's logging module, as a share of the critical thread's time",
	  .why = "Each record looks up its caller, is formatted, takes a lock and is flushed.",
	  .advice = "Log less in loops; check logger.isEnabledFor() first; pass records to a "
	            "QueueHandler.",
	  .source = "our choice",
	  .measure = measure_logging,
	  .doing = ACTIVITY(LOGGING),
	  .not_doing = ACTIVITY(IMPORT) },
	{ .id = "PY-DATE",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "PY-INTERP" },
	  .title = "parsing dates with strptime",
	  .formula = "time in strptime, as a share of the critical thread's time",
	  .why = "strptime is written in Python and takes microseconds per call.",
	  .advice = "Use datetime.fromisoformat(), or parse the digits directly.",
	  .source = "our choice",
	  .measure = measure_python,
	  .doing = ACTIVITY(DATE),
	  .not_doing = ACTIVITY(IMPORT) },
	{ .id = "PY-SERIALIZE",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .severe = 30,
	  .within = { "PY-INTERP", "MEM-CHURN", "MEM-COPY", "MEM-FAULT", "PY-GC", "CPU-SYS" },
	  .title = "serialization (JSON, pickle, YAML, TOML)",
	  .formula =
	          "CPU time in Python's json, pickle, plistlib, tomllib and yaml, and in sending "
	          "objects to other processes by multiprocessing and receiving them, without "
	          "imports, as a share of the critical thread's time, or of all CPU time where "
	          "that is more",
	  .why = "Serialization visits or creates every object of the document, needed or not.",
	  .advice = "Parse each document once and keep the result; pass other processes names or "
	            "indexes instead of large objects, or share those "
	            "(multiprocessing.shared_memory); use orjson, or yaml's CSafeLoader.",
	  .by_callee = ways_to_serialize,
	  .source = "our choice",
	  .measure = measure_serialize,
	  .doing = ACTIVITY(SERIALIZE),
	  .not_doing = ACTIVITY(IMPORT),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-INSPECT",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "PY-INTERP", "IO-OPEN", "IO-TINY", "IO-WAIT", "CPU-SYS", "CPU-REGEX" },
	  .title = "inspecting the program's own code",
	  .formula =
	          "time in Python's inspect, traceback and linecache, without imports, as a share "
	          "of the critical thread's time",
	  .why = "inspect.stack() finds and reads the source file of each caller, which takes "
	         "milliseconds per call.",
	  .advice = "Call it once and keep the result; use sys._getframe(1) for the caller's "
	            "name, inspect.stack(0) for a stack without source lines.",
	  .by_callee = ways_to_inspect,
	  .source = "our choice",
	  .measure = measure_inspect,
	  .doing = ACTIVITY(INSPECT),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LOGGING) },
	{ .id = "PY-EXACT",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "MEM-CHURN" },
	  .title = "exact arithmetic",
	  .formula =
	          "CPU time in Python's fractions, statistics and _pydecimal, without imports, as "
	          "a share of the critical thread's time, or of all CPU time where that is more",
	  .why = "Each operation calls Python functions on numbers of any length; floats take a "
	         "hundredth of the time.",
	  .advice = "If 15 digits are enough, use floats: sum(), math.fsum(), statistics.fmean(), "
	            "NumPy; if not, use integers.",
	  .source = "our choice",
	  .measure = measure_python,
	  .doing = ACTIVITY(EXACT),
	  .not_doing = ACTIVITY(IMPORT),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-DIGITS",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "MEM-CHURN", "MEM-COPY" },
	  .title = "whole numbers of many digits",
	  .formula =
	          "CPU time in the interpreter's functions that multiply and divide whole numbers "
	          "of more than 30 bits and make decimal text of whole numbers, as a share of the "
	          "critical thread's time, or of all CPU time where that is more; only where the "
	          "interpreter's own symbols are found, and the former take at least a tenth of it",
	  .why = "The time of a multiplication or division grows faster than the number of digits "
	         "(n^1.6 to n^2), and a power has as many digits as its exponent asks for.",
	  .advice = "Take remainders early: pow(a, b, m) instead of a ** b % m, and (a * b) % m at "
	            "each step. Where the digits are needed use gmpy2; where 15 are enough, floats "
	            "or logarithms (math.log(), math.lgamma()).",
	  .source = "our choice",
	  .measure = measure_digits,
	  .doing = ACTIVITY(DIGITS) | ACTIVITY(DECIMAL),
	  .not_doing = ACTIVITY(IMPORT),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-MATMUL",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "PY-INTERP", "CPU-STRIDE" },
	  .title = "matrix products without BLAS",
	  .formula =
	          "CPU time in NumPy's own loops for products of matrices and vectors, as those "
	          "of whole numbers, as a share of the critical thread's time, or of all CPU time "
	          "where that is more; only where NumPy's symbols are found, as in its wheels",
	  .why = "BLAS knows floating-point numbers alone: NumPy multiplies others element by "
	         "element, without blocks and vectors, 20 to 100 times as slowly.",
	  .advice =
	          "Multiply as floating-point numbers: a.astype(np.float64) @ b.astype(np.float64), "
	          "which is exact for whole numbers as long as the sums stay below 2^53 (float32: "
	          "2^24); for matrices of mostly zeros use scipy.sparse.",
	  .source = "our choice",
	  .part = 0.8,
	  .part_from = "our choice: BLAS takes a twentieth of the time and less, converting a part "
	               "of that",
	  .measure = measure_python,
	  .doing = ACTIVITY(NO_BLAS),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(OBJECTS),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "PY-TRACE",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .within = { "PY-INTERP" },
	  .title = "a debugger or another profiler is active",
	  .formula =
	          "time in pdb, trace, coverage and cProfile, as a share of the critical thread's "
	          "time",
	  .why = "It slows down calls of Python functions several times, and nothing else.",
	  .advice = "Measure without it.",
	  .source = "our choice",
	  .measure = measure_python,
	  .doing = ACTIVITY(TRACE) },
};

const size_t rules_python_count = sizeof(rules_python) / sizeof(rules_python[0]);
