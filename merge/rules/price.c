// SPDX-License-Identifier: MIT
#include "merge/rules/price.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "merge/profile/profile.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/noise.h"
#include "merge/scope/own_place.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Where a path has been to, from the outermost frame on.
struct state {
	bool own;       // in code of the user's own
	bool entered;   // in the place
	bool outermost; // it was entered from no code of the user's own
	bool at_line;   // in the place, at its line
	bool innermost; // no other code of the user's own since then
};

struct matcher {
	const struct profile *profile;
	const struct price_place *place;
	bool nameless;
};

static bool is_own(const struct matcher *m, const struct location *location,
                   const struct place *place)
{
	return location->kind != FRAME_OP && place->function &&
	       !place_is_interpreters(m->profile, location, place) &&
	       !place_is_foreign(m->profile, location, place);
}

static bool is_match(const struct matcher *m, const struct place *place)
{
	const char *function = profile_string(m->profile, place->function);

	return function && strcmp(function, m->place->function) == 0 &&
	       (!m->place->file ||
	        strings_same(profile_string(m->profile, place->file), m->place->file));
}

static bool is_nameless(const struct matcher *m, const struct location *location)
{
	const struct place *places = profile_places(m->profile, location);
	const struct module *module = profile_module(m->profile, location->module);

	if ((location->place_count && places[0].function) || !module ||
	    profile_is_kernel(m->profile, location))
		return false;
	return m->place->module ? strings_same(module->path, m->place->module)
	                        : strcmp(path_base(module->path), m->place->function) == 0;
}

// Rows call code without a name "[libfoo.so]", with its module; findings by the module's name
// alone.
static bool asks_nameless(const struct matcher *m)
{
	const struct price_place *place = m->place;

	if (!place->function || place->file || place->module)
		return place->function && place->module && place->function[0] == '[';
	for (uint32_t id = 1; id <= profile_locations(m->profile)->count; id++)
		if (is_nameless(m, profile_location(m->profile, id)))
			return true;
	return false;
}

// Of code without a name it is only known where it was left, for the kernel or for named code.
static void take_nameless(const struct matcher *m, const struct location *location,
                          struct state *state)
{
	if (is_nameless(m, location))
		state->entered = state->outermost = state->innermost = true;
	else if (!profile_is_kernel(m->profile, location))
		state->innermost = false;
}

static void take_location(const struct matcher *m, const struct location *location,
                          struct state *state)
{
	const struct place *places = profile_places(m->profile, location);

	for (uint32_t i = location->place_count; i > 0; i--) {
		const struct place *place = &places[i - 1];
		bool own = is_own(m, location, place), match = is_match(m, place);
		if (match && !state->entered) {
			state->entered = true;
			state->outermost = own && !state->own;
		}
		if (match && (!m->place->line || (int)place->line == m->place->line))
			state->at_line = true;
		if (own || match)
			state->innermost = match;
		state->own |= own;
	}
}

static bool is_within(const struct state *state)
{
	return state->entered && (!state->outermost || state->at_line || state->innermost);
}

// Whether thread SLOT is of PLACE's process, or runs its program.
static bool is_process(const struct profile *p, uint32_t slot, const struct price_place *place)
{
	const struct thread_info *thread = profile_thread(p, slot);
	const struct process_info *process = thread ? profile_process(p, thread->process) : NULL;
	const char *title = process ? profile_string(p, process->title) : NULL;
	size_t length = place->program ? strlen(place->program) : 0;

	if (place->pid)
		return process && process->pid == place->pid;
	return title && length && strncmp(title, place->program, length) == 0 &&
	       strchr(" :", title[length]);
}

static bool is_child(const struct profile *p, uint32_t slot)
{
	const struct thread_info *thread = profile_thread(p, slot);

	return thread && thread->process > 1;
}

// [node - 1]: whether a path that ends there is within PLACE. NULL if there is no memory.
static bool *find_within(const struct profile *p, const struct price_place *place)
{
	const uint32_t count = profile_paths(p)->count;
	struct matcher m = { p, place, false };
	cleanup_free struct state *states = calloc((size_t)count + 1, sizeof(*states));
	bool *within = calloc((size_t)count + 1, sizeof(*within));

	m.nameless = asks_nameless(&m);
	// Callers come before their callees; the root of a tree is a thread.
	for (uint32_t id = 1; states && within && id <= count; id++) {
		const struct path_node *node = profile_node(p, id);
		struct state *state = &states[id - 1];
		if (!node->parent)
			state->entered =
				(!place->function && is_process(p, node->location, place)) ||
				(place->children && is_child(p, node->location));
		if (!node->parent)
			continue;
		*state = states[node->parent - 1];
		const struct location *location = profile_location(p, node->location);
		if (!place->function)
			; // all of it
		else if (m.nameless)
			take_nameless(&m, location, state);
		else
			take_location(&m, location, state);
		within[id - 1] = is_within(state);
	}
	if (states)
		return within;
	free(within);
	return NULL;
}

struct sums {
	uint64_t all[METRIC_COUNT], within[METRIC_COUNT];
};

// THREAD: of one alone; NULL: of all.
static int add_up(const struct profile *p, const struct query *window, enum query_of of,
                  const char *thread, const bool *within, struct sums *sums, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	struct query query = {
		.of = of, .thread = thread, .from_ns = window->from_ns, .to_ns = window->to_ns
	};

	if (scope_init(&scope, p, &query, err) < 0)
		return -1;
	for (uint32_t i = 0; i < scope.first_cell[profile_paths(p)->count]; i++) {
		const struct cell *cell = &scope.table->cells[scope.cells[i]];
		enum metric metric = scope_metric(cell);
		uint64_t ns = scope_ns(&scope, cell);
		sums->all[metric] += ns;
		sums->within[metric] += within[cell->node - 1] ? ns : 0;
	}
	return 0;
}

static uint64_t sum_of(const uint64_t ns[METRIC_COUNT])
{
	uint64_t sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		sum += ns[m];
	return sum;
}

static uint64_t length_of(const struct profile *p, const struct query *window)
{
	uint64_t end = profile_run_ns(p);

	end = window->to_ns && window->to_ns < end ? window->to_ns : end;
	return end > window->from_ns ? end - window->from_ns : 0;
}

// NS of wall time, and as much of the waits for a CPU as of all other time, but no less than LEAST:
// who has waited for anything waits for a CPU behind that.
static uint64_t with_queue(uint64_t ns, uint64_t least, const struct sums *wall)
{
	uint64_t all = sum_of(wall->all), ready = wall->all[METRIC_OFF_RUNNABLE];
	double part = share_of(ns, all - ready);
	uint64_t queue = ns_whole((part < 1 ? part : 1) * (double)ready);

	return ns + (queue > least ? queue : least);
}

// What the end of the run waited for in the place. While it waited for a CPU, others or its own
// threads had them: with less work of the place the run would have waited less, as a rule in
// proportion to that.
static uint64_t of_wall(const struct sums *wall, const struct sums *threads)
{
	uint64_t ready = wall->within[METRIC_OFF_RUNNABLE];
	double of_cpu = share_of(threads->within[METRIC_ON_CPU], threads->all[METRIC_ON_CPU]);
	double of_wall = share_of(wall->within[METRIC_ON_CPU], wall->all[METRIC_ON_CPU]);
	double part = of_cpu > of_wall ? of_cpu : of_wall;
	uint64_t queue = ns_whole(part * (double)wall->all[METRIC_OFF_RUNNABLE]);

	return with_queue(sum_of(wall->within) - ready, queue > ready ? queue : ready, wall);
}

// Where it is not known what the run waited for, the CPU time of all threads stands for it.
static uint64_t of_threads(const struct sums *threads, uint64_t run)
{
	uint64_t cpu = threads->all[METRIC_ON_CPU], within = threads->within[METRIC_ON_CPU];
	uint64_t part = ns_whole(share_of(within, cpu > run ? cpu : run) * (double)run);

	return part < within ? part : within;
}

// Two runs beside each other, before and after a change, differ by themselves, too: half of the 95
// % interval of what that makes of the part REST_NS that stays.
static uint64_t noise_ns(const struct profile *p, uint64_t rest_ns)
{
	struct totals totals;

	query_totals(p, &totals);
	double own = noise_of_run(profile_run(p), &totals).own;
	return ns_whole(1.96 * sqrt(2) * own * (double)rest_ns);
}

// Waits at pipes and sockets of which nobody is known to have ended them, where others at such are
// known to be for PLACE: these may be, too.
static uint64_t may_be_for(const struct wait_rows *waits, const struct price_place *place,
                           const struct sums *wall)
{
	bool is_end = false;

	for (size_t i = 0; place->function && i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		is_end |= row->kind == WAIT_KIND_DESCRIPTOR && row->holder.function &&
		          strcmp(row->holder.function, place->function) == 0;
	}
	if (!is_end)
		return 0;
	return wall->all[METRIC_OFF_NET] - wall->within[METRIC_OFF_NET] +
	       wall->all[METRIC_OFF_PIPE] - wall->within[METRIC_OFF_PIPE];
}

// What is HIGH_NS of the run is more of one without the profiler, whose own work may be in the rest
// of it: on all CPUs of the program's alike, as far as is known.
static uint64_t without_overhead(const struct run *run, uint64_t high_ns, uint64_t run_ns)
{
	uint64_t own =
		ns_whole((double)run->collector_cpu_ns / (run_cpus(run) ? run_cpus(run) : 1));
	uint64_t rest = run_ns > high_ns ? run_ns - high_ns : 0;

	own = own < rest ? own : rest;
	return own < run_ns ? ns_whole((double)high_ns * share_of(run_ns, run_ns - own)) : high_ns;
}

// Of what the end of the run waited for; where that is not known, of the critical thread.
static int add_up_wall(const struct profile *p, const struct query *query,
                       const struct wall_account *wall, const bool *within, struct sums *sums,
                       struct error *err)
{
	struct account account;
	char tid[16];

	if (wall->all_ns)
		return add_up(p, query, QUERY_WALL, NULL, within, sums, err);
	if (query_account(p, &account, err) < 0)
		return -1;
	snprintf(tid, sizeof(tid), "%u", account.tid);
	return add_up(p, query, QUERY_THREADS, tid, within, sums, err);
}

int price_find_by(const struct profile *p, const struct query *query, const struct wait_rows *waits,
                  const struct wall_account *account, const struct price_place *place,
                  uint64_t symptom_ns, uint64_t margin_ns, struct price *price, struct error *err)
{
	cleanup_free bool *within = find_within(p, place);
	struct sums wall = { 0 }, threads = { 0 };
	uint64_t run = length_of(p, query);

	if (!within)
		return error_set(err, ENOMEM, "could not find what a change would save");
	if (add_up(p, query, QUERY_THREADS, NULL, within, &threads, err) < 0 ||
	    add_up_wall(p, query, account, within, &wall, err) < 0)
		return -1;
	uint64_t whole = of_wall(&wall, &threads), by_cpu = of_threads(&threads, run);
	uint64_t there = sum_of(wall.within) - wall.within[METRIC_OFF_RUNNABLE];
	if (!account->ranks && by_cpu > whole)
		whole = by_cpu;
	if (!account->ranks && by_cpu > there)
		there = by_cpu;
	whole += place->elsewhere_ns ? with_queue(place->elsewhere_ns, 0, &wall) : 0;
	whole += query_sampling_margin(p, whole, account->all_ns ? account->all_ns : run);
	// That of a place is in WHOLE, and in the symptom as far as own threads had the CPUs, but
	// for what the symptom has elsewhere.
	bool placed = place->function || place->program || place->pid;
	uint64_t shown = symptom_ns + margin_ns;
	shown = placed && there >= symptom_ns / 2 ? shown : with_queue(shown, 0, &wall);
	uint64_t high = whole > shown ? whole : shown;
	high += waits->wall_unknown_ns + may_be_for(waits, place, &wall);
	high = without_overhead(profile_run(p), high, run);
	high += high < run ? noise_ns(p, run - high) : 0;
	price->low_ns = symptom_ns > margin_ns ? symptom_ns - margin_ns : 0;
	price->high_ns = high < run ? high : run > symptom_ns ? run : symptom_ns;
	return 0;
}

int price_find(const struct profile *p, const struct query *query, const struct price_place *place,
               uint64_t symptom_ns, uint64_t margin_ns, struct price *price, struct error *err)
{
	struct wall_account account = { 0 };
	cleanup(wait_rows) struct wait_rows *waits =
		query_waits(p, query->from_ns, query->to_ns, err);

	if (!waits || query_wall_account(p, query, &account, err) < 0)
		return -1;
	return price_find_by(p, query, waits, &account, place, symptom_ns, margin_ns, price, err);
}
