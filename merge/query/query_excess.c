// SPDX-License-Identifier: MIT
#include "merge/query/query_excess.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"
#include "merge/table/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT          1   // of the calls: what is below no function
#define BINS_MIN      4   // that the steps have to have to be explained
#define EXCESS_SHARE  0.1 // of what they took too long, that is worth naming
#define ALONE_SHARE   0.9 // of a function's time: it is called there, and nowhere else
#define OUT_OF_MEMORY "could not explain a step"

// Time in the steps that are asked about, and in all of them. Modulo 2^64 while it is summed up.
struct time {
	uint64_t these, all;
};

// Calls are chains of functions of the user's own, and of the lines where these are: a tree, whose
// locations are keys and, above these, lines.
//
//	main - line 3 - choose - line 12 - multiply - line 50
//	     - line 5 - train - line 33 - multiply - line 50
struct asking {
	const struct profile *profile;
	struct keys keys;
	struct paths calls;
	uint32_t *call_of;  // [node - 1]: the call that its time is of; 0: another thread's
	struct time *self;  // [call - 1]
	struct time *total; // [call - 1]
	struct time *whole; // [key - 1]: of all calls of the function
	uint32_t *part_of;  // [call - 1]: the call that its time is told of
	struct time *told;  // [call - 1]: what is told of it
	struct time *lines; // [call - 1]: of those of the call that is looked at
	uint32_t first_bin, end_bin, all_bin, last_bin;
	uint64_t calls_these, calls_others; // steps
};

static void asking_at_scope_end(struct asking *a)
{
	keys_fini(&a->keys);
	paths_fini(&a->calls);
	free(a->call_of);
	free(a->self);
	free(a->total);
	free(a->whole);
	free(a->part_of);
	free(a->told);
	free(a->lines);
}

static uint32_t caller_of(const struct asking *a, uint32_t call)
{
	return paths_node(&a->calls, call)->parent;
}

static bool is_line(const struct asking *a, uint32_t call)
{
	return call > ROOT && paths_node(&a->calls, call)->location > a->keys.keys.count;
}

// The key of the function that CALL is of.
static uint32_t function_of(const struct asking *a, uint32_t call)
{
	return paths_node(&a->calls, is_line(a, call) ? caller_of(a, call) : call)->location;
}

static const struct key *line_of(const struct asking *a, uint32_t call)
{
	return &a->keys.lines.keys[paths_node(&a->calls, call)->location - a->keys.keys.count - 1];
}

// "<lambda>", "prepare.<locals>.<listcomp>"
static bool is_nameless(const struct profile *p, const struct key *key)
{
	const char *name = key->python ? profile_string(p, key->function) : NULL;
	size_t length = name ? strlen(name) : 0;

	return length && name[length - 1] == '>' && strcmp(name, "<module>") != 0;
}

static bool is_shown(const struct asking *a, const struct key_frame *frame)
{
	return frame->user && !frame->hidden &&
	       !is_nameless(a->profile, &a->keys.keys.keys[frame->key - 1]);
}

// The call that FRAME makes of CALL, which stays where a function calls itself. 0: no memory.
static uint32_t enter(struct asking *a, uint32_t call, const struct key_frame *frame)
{
	if (!is_shown(a, frame) || (call != ROOT && function_of(a, call) == frame->key))
		return call;
	call = paths_child(&a->calls, call, frame->key);
	return call ? paths_child(&a->calls, call, a->keys.keys.count + frame->line) : 0;
}

// The innermost frame that is shown; NULL: none is.
static const struct key_frame *innermost(const struct asking *a, uint32_t node)
{
	for (; node; node = profile_node(a->profile, node)->parent) {
		const struct path_node *at = profile_node(a->profile, node);
		if (!at->parent)
			return NULL;
		for (uint32_t i = a->keys.first[at->location];
		     i-- > a->keys.first[at->location - 1];)
			if (!a->keys.frames[i].hidden)
				return &a->keys.frames[i];
	}
	return NULL;
}

static bool make_calls(struct asking *a, uint32_t slot)
{
	const struct paths *paths = profile_paths(a->profile);

	if (!paths_init(&a->calls) || paths_child(&a->calls, 0, 1) != ROOT)
		return false;
	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		uint32_t call = node->parent             ? a->call_of[node->parent - 1]
		                : node->location == slot ? ROOT
		                                         : 0;
		if (node->parent && call)
			for (uint32_t at = a->keys.first[node->location - 1];
			     call && at < a->keys.first[node->location]; at++)
				call = enter(a, call, &a->keys.frames[at]);
		if (node->parent && a->call_of[node->parent - 1] && !call)
			return false;
		a->call_of[id - 1] = call;
	}
	// What is below no code of the user's is told by its own name; callees need ROOT till here.
	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct key_frame *frame =
			a->call_of[id - 1] == ROOT ? innermost(a, id) : NULL;
		uint32_t call = frame ? paths_child(&a->calls, ROOT, frame->key) : ROOT;
		if (!call || (frame && !(call = paths_child(&a->calls, call,
		                                            a->keys.keys.count + frame->line))))
			return false;
		a->call_of[id - 1] = frame ? call : a->call_of[id - 1];
	}
	return true;
}

static int asking_init(struct asking *a, const struct profile *p, uint32_t slot, struct error *err)
{
	const struct query query = { .by = BY_FUNCTION, .user_code = QUERY_OWN_CODE };
	size_t nodes = (size_t)profile_paths(p)->count + 1;

	a->profile = p;
	if (keys_init(&a->keys, p, &query, KEYS_CODE | KEYS_LINES, err) < 0)
		return -1;
	a->call_of = calloc(nodes, sizeof(*a->call_of));
	if (!a->call_of || !make_calls(a, slot))
		return error_set(err, ENOMEM, OUT_OF_MEMORY);
	a->self = calloc(a->calls.count, sizeof(*a->self));
	a->total = calloc(a->calls.count, sizeof(*a->total));
	a->told = calloc(a->calls.count, sizeof(*a->told));
	a->part_of = calloc(a->calls.count, sizeof(*a->part_of));
	a->whole = calloc((size_t)a->keys.keys.count + 1, sizeof(*a->whole));
	a->lines = calloc(a->calls.count, sizeof(*a->lines));
	if (a->self && a->total && a->told && a->part_of && a->whole && a->lines)
		return 0;
	return error_set(err, ENOMEM, OUT_OF_MEMORY);
}

// Waiting for a free CPU may hit any function, and waiting for a child is that one's time.
static bool counts(const struct asking *a, const struct cell *cell)
{
	return a->call_of[cell->node - 1] && cell->metric != METRIC_OFF_RUNNABLE &&
	       cell->metric != METRIC_OFF_CHILD;
}

static void add_time(struct time *to, const struct time *by)
{
	to->these += by->these;
	to->all += by->all;
}

static struct time time_of(const struct asking *a, const struct cell *cell)
{
	const struct cells *cells = profile_cells(a->profile);

	return (struct time){
		.these = cells_between(cells, cell, a->first_bin, a->end_bin),
		.all = cells_between(cells, cell, a->all_bin, a->last_bin),
	};
}

// A function counts once where it is open several times.
static bool is_open_above(const struct asking *a, uint32_t call)
{
	uint32_t function = function_of(a, call);

	for (uint32_t at = caller_of(a, call); at > ROOT; at = caller_of(a, at))
		if (!is_line(a, at) && function_of(a, at) == function)
			return true;
	return false;
}

// The nearest call around CALL, or itself, of a function that is called nowhere else.
static uint32_t find_part(const struct asking *a, uint32_t call)
{
	for (uint32_t at = call; at > ROOT; at = caller_of(a, at))
		if (!is_line(a, at) &&
		    (double)a->total[at - 1].all >=
		            ALONE_SHARE * (double)a->whole[function_of(a, at) - 1].all)
			return at;
	return is_line(a, call) ? caller_of(a, call) : call;
}

static void sum_up(struct asking *a)
{
	const struct cells *cells = profile_cells(a->profile);

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct time time = time_of(a, &cells->cells[i]);
		if (counts(a, &cells->cells[i]))
			add_time(&a->self[a->call_of[cells->cells[i].node - 1] - 1], &time);
	}
	for (uint32_t call = a->calls.count; call > ROOT; call--) {
		add_time(&a->total[call - 1], &a->self[call - 1]);
		add_time(&a->total[caller_of(a, call) - 1], &a->total[call - 1]);
	}
	for (uint32_t call = ROOT + 1; call <= a->calls.count; call++)
		if (!is_line(a, call) && !is_open_above(a, call))
			add_time(&a->whole[function_of(a, call) - 1], &a->total[call - 1]);
	for (uint32_t call = ROOT + 1; call <= a->calls.count; call++) {
		a->part_of[call - 1] = find_part(a, call);
		add_time(&a->told[a->part_of[call - 1] - 1], &a->self[call - 1]);
	}
}

// Beyond the mean of the other steps; less than 0: there was less.
static int64_t excess_of(const struct asking *a, const struct time *time)
{
	uint64_t rest = time->all > time->these ? time->all - time->these : 0;

	return (int64_t)time->these -
	       (int64_t)((double)rest / (double)a->calls_others * (double)a->calls_these);
}

// Fills the lines of the function of CALL with what is told of it.
static void look_at_lines(struct asking *a, uint32_t call)
{
	memset(a->lines, 0, a->calls.count * sizeof(*a->lines));
	for (uint32_t at = call + 1; at <= a->calls.count; at++) {
		uint32_t line = at;
		if (a->part_of[at - 1] != call)
			continue;
		while (caller_of(a, line) != call)
			line = caller_of(a, line);
		add_time(&a->lines[line - 1], &a->self[at - 1]);
	}
}

// The place in the function of CALL that took longer than its others.
static const struct key *place_of(const struct asking *a, uint32_t call)
{
	const struct key *best = &a->keys.keys.keys[function_of(a, call) - 1];
	int64_t most = 0;

	for (uint32_t at = call + 1; at <= a->calls.count; at++) {
		int64_t excess = excess_of(a, &a->lines[at - 1]);
		if (excess <= most || !is_line(a, at) || !line_of(a, at)->line)
			continue;
		most = excess;
		best = line_of(a, at);
	}
	return best;
}

// What most of the time was that is told of CALL.
static int metric_of(const struct asking *a, uint32_t call)
{
	const struct cells *cells = profile_cells(a->profile);
	uint64_t metrics[METRIC_COUNT] = { 0 };
	int most = 0;

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (counts(a, cell) && a->part_of[a->call_of[cell->node - 1] - 1] == call)
			metrics[cell->metric] += time_of(a, cell).these;
	}
	for (int m = 1; m < METRIC_COUNT; m++)
		most = metrics[m] > metrics[most] ? m : most;
	return most;
}

// Of what is told of CALL, the function with most excess of its own; 0: it is that of CALL.
static uint32_t find_via(const struct asking *a, uint32_t call)
{
	int64_t most = 0;
	uint32_t best = call;

	for (uint32_t at = call; at <= a->calls.count; at++) {
		int64_t excess = excess_of(a, &a->self[at - 1]);
		if (a->part_of[at - 1] != call || excess <= most)
			continue;
		most = excess;
		best = at;
	}
	return function_of(a, best) == function_of(a, call) ? 0 : function_of(a, best);
}

static bool copy_name(const struct asking *a, uint32_t function, char *name, size_t size)
{
	struct strings *texts = strings_new();
	const char *known =
		texts ? key_name(a->profile, &a->keys.keys.keys[function - 1], texts) : NULL;

	snprintf(name, size, "%s", known ? known : "");
	strings_free(texts);
	return known != NULL;
}

static int describe(struct asking *a, uint32_t call, uint64_t excess_ns, struct step_excess *out,
                    struct error *err)
{
	struct step_excess it = { .excess_ns = excess_ns };
	uint32_t via = find_via(a, call);

	look_at_lines(a, call);
	it.metric = metric_of(a, call);
	const struct key *place = place_of(a, call);
	it.file = profile_string(a->profile, place->file);
	it.line = (int)place->line;
	if (!copy_name(a, function_of(a, call), it.name, sizeof(it.name)) ||
	    (via && !copy_name(a, via, it.via, sizeof(it.via))))
		return error_set(err, ENOMEM, OUT_OF_MEMORY);
	*out = it;
	return 0;
}

// The call with most excess of those that have less than BELOW, or as much and come behind LAST.
static uint32_t next_call(const struct asking *a, int64_t below, uint32_t last)
{
	uint32_t best = 0;
	int64_t most = 0;

	for (uint32_t call = ROOT + 1; call <= a->calls.count; call++) {
		int64_t excess = excess_of(a, &a->told[call - 1]);
		if (excess > below || (excess == below && call <= last) || excess <= most)
			continue;
		most = excess;
		best = call;
	}
	return best;
}

int steps_explain(const struct profile *p, const struct steps *s, size_t first, size_t count,
                  struct step_excess out[STEP_EXCESSES], struct error *err)
{
	const struct cells *cells = profile_cells(p);
	cleanup(asking) struct asking a = { 0 };
	uint64_t calls = 0, ns = 0, start = profile_start_ns(p);
	int64_t below = INT64_MAX;
	uint32_t call = 0;
	int found = 0;

	memset(out, 0, STEP_EXCESSES * sizeof(*out));
	for (size_t i = first; i < first + count; i++) {
		calls += s->steps[i].calls;
		ns += s->steps[i].ns * s->steps[i].calls;
	}
	if (!s->slot || calls != count || calls >= s->calls || ns < BINS_MIN * cells->width_ns ||
	    ns <= s->median_ns * calls)
		return 0;
	if (asking_init(&a, p, s->slot, err) < 0)
		return -1;
	a.calls_these = calls;
	a.calls_others = s->calls - calls;
	a.first_bin = scope_bin(cells, start + s->steps[first].begin_ns);
	a.end_bin = scope_bin(cells, start + s->steps[first + count - 1].end_ns);
	a.all_bin = scope_bin(cells, start + s->steps[0].begin_ns);
	a.last_bin = scope_bin(cells, start + s->steps[s->count - 1].end_ns);
	sum_up(&a);
	while (found < STEP_EXCESSES && (call = next_call(&a, below, call))) {
		below = excess_of(&a, &a.told[call - 1]);
		if ((double)below < EXCESS_SHARE * (double)(ns - s->median_ns * calls))
			break;
		if (describe(&a, call, (uint64_t)below, &out[found], err) < 0)
			return -1;
		found++;
	}
	return found;
}
