// SPDX-License-Identifier: MIT
// Rules on goroutines of Go programs: whom they wait for.
#include "base/go_function.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_awaits.h"
#include "merge/rules/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_LOOKS   10  /* of what is seen in fewer a share is chance */
#define FEW_WAITERS 1.5 /* at once, on average: one that waits for one that computes is no news */

static bool is_lock(const struct await_held *held)
{
	return strstr(held->reason, "Mutex.") != NULL;
}

static bool works(const struct await_held *held)
{
	return strcmp(held->doing, "running") == 0 || strcmp(held->doing, "runnable") == 0;
}

static bool same_function(const struct await_function *a, const struct await_function *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       (a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0));
}

// The same place is waited for in the same way.
static bool is_same(const struct await_held *a, const struct await_held *b)
{
	return same_function(&a->place, &b->place) && a->place.line == b->place.line &&
	       strcmp(a->reason, b->reason) == 0 && same_function(&a->holder, &b->holder);
}

struct hold {
	const struct await_held *most; // the longest of those that are the same
	uint64_t ns, wall_ns, looks;
	uint64_t works_ns; // of WALL_NS, at work
};

static struct hold sum_of(const struct await_rows *rows, const struct await_held *held)
{
	struct hold hold = { .most = held };

	for (size_t i = 0; i < rows->held_count; i++) {
		const struct await_held *other = &rows->held[i];
		if (!is_same(held, other))
			continue;
		hold.ns += other->ns;
		hold.wall_ns += other->wall_ns;
		hold.looks += other->looks;
		hold.works_ns += works(other) ? other->wall_ns : 0;
	}
	return hold;
}

static double waiters_of(const struct hold *hold)
{
	return hold->wall_ns ? (double)hold->ns / (double)hold->wall_ns : 0;
}

// What the run waits for most in the one way or the other; its MOST is NULL: there is none.
static struct hold find_hold(const struct await_rows *rows, bool lock)
{
	struct hold most = { .most = NULL };

	for (size_t i = 0; i < rows->held_count; i++) {
		if (is_lock(&rows->held[i]) != lock)
			continue;
		struct hold hold = sum_of(rows, &rows->held[i]);
		// Rows come longest first: of the same, the first one is the longest.
		if (hold.looks < FEW_LOOKS || hold.wall_ns <= most.wall_ns ||
		    (!lock && 2 * hold.works_ns > hold.wall_ns && waiters_of(&hold) < FEW_WAITERS))
			continue;
		most = hold;
	}
	return most;
}

static bool has_function(const struct profile *p, uint32_t node, const char *name)
{
	const struct location *location = profile_location(p, profile_node(p, node)->location);
	const struct place *places = profile_places(p, location);

	for (uint32_t i = 0; i < location->place_count; i++) {
		const char *function = profile_string(p, places[i].function);
		if (function && strcmp(function, name) == 0)
			return true;
	}
	return false;
}

static bool is_below(const struct profile *p, uint32_t node, const char *name)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent)
		if (has_function(p, node, name))
			return true;
	return false;
}

// The innermost place that is not of Go's own library; NULL: there is none.
static const struct place *own_place(const struct profile *p, uint32_t node)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *location =
			profile_location(p, profile_node(p, node)->location);
		const struct place *places = profile_places(p, location);
		for (uint32_t i = 0; i < location->place_count; i++) {
			const char *function = profile_string(p, places[i].function);
			if (function && places[i].line && !go_function_is_standard(function))
				return &places[i];
		}
	}
	return NULL;
}

#define LINES_MAX 512

struct line {
	const struct place *place;
	uint64_t ns;
};

static bool is_line(const struct place *a, const struct place *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line;
}

// The line that had most time on CPUs below FUNCTION. False: no sample is there.
static bool find_line(const struct evidence *e, const char *function, struct finding_row *out)
{
	const struct profile *p = e->profile;
	const struct cells *cells = profile_cells(p);
	cleanup_free struct line *lines = calloc(LINES_MAX, sizeof(*lines));
	const struct place *place = NULL;
	size_t count = 0, most = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; lines && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (cell->metric != METRIC_ON_CPU)
			continue;
		if (cell->node != last) {
			last = cell->node;
			place = is_below(p, last, function) ? own_place(p, last) : NULL;
		}
		size_t at = 0;
		while (place && at < count && !is_line(lines[at].place, place))
			at++;
		if (!place || at == LINES_MAX)
			continue;
		count += at == count;
		lines[at].place = place;
		lines[at].ns += cells_whole(cells, cell);
		most = lines[at].ns > lines[most].ns ? at : most;
	}
	if (!count)
		return false;
	*out = (struct finding_row){
		.function = profile_string(p, lines[most].place->function),
		.file = profile_string(p, lines[most].place->file),
		.line = (int)lines[most].place->line,
		.ns = lines[most].ns,
	};
	return true;
}

// Where the holder is: where it was seen, or, as a running one has no stack, where samples of it
// are.
static struct finding_row place_of(const struct evidence *e, const struct hold *hold)
{
	const struct await_held *held = hold->most;
	struct finding_row row;

	if (works(held) &&
	    (find_line(e, is_lock(held) ? held->place.name : held->holder.name, &row) ||
	     find_line(e, held->holder.name, &row)))
		return row;
	const struct await_function *at =
		strcmp(held->at.name, "?") == 0 ? &held->holder : &held->at;
	return (struct finding_row){
		.function = at->name, .file = at->file, .line = at->line, .ns = hold->wall_ns
	};
}

// "7.2 goroutines wait", "main.main waits".
static void say_waiters(const struct hold *hold, char *buffer, size_t size)
{
	double waiters = waiters_of(hold), tenths = floor(10 * waiters + 0.5) / 10;
	const char *name = hold->most->waiter.name;

	if (waiters < FEW_WAITERS)
		snprintf(buffer, size, "%s%.80s waits",
		         strcmp(name, "main.main") == 0 ? "" : "a goroutine of ", name);
	else
		snprintf(buffer, size, "%.*f goroutines wait",
		         tenths < 10 && tenths != floor(tenths), tenths);
}

// "which sleeps while": what the holder does that is no work.
static void say_doing(const struct await_held *held, const char *work, char *buffer, size_t size)
{
	if (works(held))
		snprintf(buffer, size, "%s", work);
	else if (strcmp(held->doing, "sleep") == 0)
		snprintf(buffer, size, ", which sleeps while");
	else
		snprintf(buffer, size, ", which is in %s%.60s while",
		         strncmp(held->doing, "IO", 2) == 0 ? "" : "a ", held->doing);
}

static enum measured measure(const struct evidence *e, bool lock, struct finding *finding)
{
	cleanup(await_rows) struct await_rows *rows = query_goroutines(e->profile, NULL);
	char place[300], at[300], waiters[120], doing[100];

	if (!rows || !rows->task_count)
		return MEASURED_NOTHING;
	const struct hold hold = find_hold(rows, lock);
	uint64_t wall_ns = profile_run(e->profile)->recorded_ns
	                           ? profile_run(e->profile)->recorded_ns
	                           : e->wall_ns;
	if (!hold.most)
		return MEASURED;
	const struct await_held *held = hold.most;
	uint64_t ns = hold.wall_ns < wall_ns ? hold.wall_ns : wall_ns;
	finding->share = share_of(ns, wall_ns);
	finding->value = 100 * finding->share;
	finding->saving_ns = ns < e->wall_ns ? ns : e->wall_ns;
	struct finding_row row = place_of(e, &hold);
	row.ns = row.ns < ns ? row.ns : ns;
	row.share = share_of(row.ns, wall_ns);
	finding_add(finding, &row);
	finding_place(row.function, row.file, row.line, place, sizeof(place));
	finding_place(held->place.name, held->place.file, held->place.line, at, sizeof(at));
	say_waiters(&hold, waiters, sizeof(waiters));
	if (!works(held) && lock)
		finding_advise(finding,
		               "Move the %.60s out of the critical section: unlock before it, and "
		               "lock again to store the result.",
		               held->doing);
	if (lock) {
		say_doing(held, ", which", doing, sizeof(doing));
		return finding_say(
			finding,
			"%.0f %% of wall time is %s%s%s holds the lock that %s for in %s at "
			"%s",
			finding->value, place, doing, works(held) ? "" : " it", waiters,
			held->reason, at);
	}
	say_doing(held, " while", doing, sizeof(doing));
	return finding_say(finding, "%.0f %% of wall time is %s%s %s for it in %s at %s",
	                   finding->value, place, doing, waiters, held->reason, at);
}

static enum measured measure_lock(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	(void)rule;
	return measure(e, true, finding);
}

static enum measured measure_wait(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	(void)rule;
	return measure(e, false, finding);
}

const struct rule rules_go[] = {
	{ .id = "GO-LOCK",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .blocks = true,
	  .orders = true,
	  .tasks = true,
	  .whole_run = true,
	  .within = { "CPU-HOLDER", "CPU-LOCK", "IO-WAIT", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-SYS",
	              "CPU-ALONE", "IO-SLEEP", "IO-IDLE", "CPU-POOR" },
	  .title = "a goroutine holds a mutex that others wait for",
	  .formula =
	          "time in which the goroutine of main() waited, by way of whatever other waits, for "
	          "one that is within the function where others wait for a sync.Mutex or "
	          "sync.RWMutex, as a share of wall time; an estimate of looks now and then",
	  .why = "One goroutine at a time does what a mutex guards, however many there are.",
	  .advice =
	          "Hold the mutex for less time: move work that needs no lock out of the critical "
	          "section. Or split the data among several mutexes, or let each goroutine have its "
	          "own and combine the results at the end.",
	  .source = "our choice",
	  .measure = measure_lock },
	{ .id = "GO-WAIT",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .blocks = true,
	  .orders = true,
	  .tasks = true,
	  .whole_run = true,
	  .within = { "CPU-HOLDER", "CPU-LOCK", "IO-WAIT", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-SYS",
	              "CPU-ALONE", "IO-SLEEP", "IO-IDLE", "CPU-POOR" },
	  .title = "goroutines wait for a single one",
	  .formula =
	          "time in which the goroutine of main() waited, by way of channels, select, "
	          "sync.WaitGroup, sync.Cond and sync.Once, for the only one that waited for no other "
	          "goroutine, as a share of wall time; of one that computes, only if several wait; "
	          "not while any waits for requests from outside; an estimate of looks now and then",
	  .why = "All goroutines are only as fast as the one that feeds, or ends, the others.",
	  .advice = "Speed up what that goroutine does, or divide it among several: start more "
	            "producers, send larger pieces, and make the pieces equal.",
	  .source = "our choice",
	  .measure = measure_wait },
};

const size_t rules_go_count = sizeof(rules_go) / sizeof(rules_go[0]);
