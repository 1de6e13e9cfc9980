// SPDX-License-Identifier: MIT
#include "merge/rules/activity.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/known_calls.h"
#include "base/origin.h"
#include "base/share.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/op_callers.h"
#include "merge/query/query_ops.h"
#include "merge/rules/compiling.h"
#include "merge/rules/queue.h"
#include "merge/scope/idle.h"
#include "merge/scope/own_place.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TINY_CALLS   10000
#define TINY_NS      10000 /* the average call takes less */
#define LONG_NS      20000
#define LARGE_NS     100000  /* and more: then what it calls is the library's own business */
#define PASS_NS      10.0    /* and more: the interpreter's part of each call from Python */
#define PASSES_NS    5000000 /* of all calls: less may not be sampled */
#define AROUND_SHARE 0.2     /* of an op's time, to be known as within another */
#define AROUND_MAX   8       /* ops within one another that are looked at */
#define PLAIN_WORK                                                                                 \
	(ACTIVITY(COPY) | ACTIVITY(STRING_END) | ACTIVITY(CONCAT) | ACTIVITY(POP) | ACTIVITY(SHIFT))

// To compare two keys takes none of it.
#define COSTLY                                                                                     \
	(ACTIVITY(ALLOCATE) | ACTIVITY(FORMAT) | ACTIVITY(DATE) | ACTIVITY(PARSE) |                \
	 ACTIVITY(REGEX) | ACTIVITY(MATCH))

// What a location adds to what its callers do.
struct step_of {
	activity_set doing;
	uint32_t place;  // index; ACTIVITY_NO_PLACE: none of the user's own
	uint32_t callee; // string: the outermost function below that place
	bool openmp;     // of a runtime of OpenMP's
	bool python, interpreter, called;
	bool unoptimized; // the innermost place
	bool large;       // an op, see LARGE_NS
	bool arithmetic;  // the interpreter's, on whatever objects it is given
	bool arrays;      // NumPy's own code
	bool touches;     // code that makes no system calls itself: the kernel works for its memory
	uint32_t loop;    // string: what is known of the loop around it
	activity_set loops; // the same as an activity
};

// The same of a whole path.
struct state {
	activity_set doing;
	uint32_t place, around, callee, op, loop;
	bool large; // an op around it, called at that place, is large()
};

struct asking {
	const struct scope *scope, *wall;
	const struct queue *queue;
	const struct profile *profile;
	struct activities *answer;
	struct hash places, times;
	size_t place_capacity, time_capacity;
	const struct op_rows *ops;
	activity_set *names; // [string - 1]: activity_of() of functions that are not Python's
	bool *named;
	struct step_of *steps; // [location - 1]
	struct state *states;  // [node - 1]
	uint32_t *slots;       // [node - 1]
	bool *idle;            // [node - 1]: see merge/scope/idle.h
	bool *compilers;       // [slot - 1]: threads of compilers that the program has started
	uint32_t critical;
};

static void asking_at_scope_end(struct asking *a)
{
	hash_fini(&a->places);
	hash_fini(&a->times);
	free(a->names);
	free(a->named);
	free(a->steps);
	free(a->states);
	free(a->slots);
	free(a->idle);
	free(a->compilers);
}

void activities_free(struct activities *a)
{
	if (!a)
		return;
	free(a->places);
	free(a->times);
	free(a);
}

static uint64_t hash_of_place(const struct activity_place *place)
{
	return hash_pair((uint64_t)place->file << 32 | place->line,
	                 (uint64_t)place->function << 32 | place->module);
}

static bool same_place(const struct activity_place *a, const struct activity_place *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->module == b->module;
}

// Its index; ACTIVITY_NO_PLACE if there is no memory.
static uint32_t add_place(struct asking *a, const struct activity_place *place)
{
	struct activities *answer = a->answer;
	uint32_t at;

	for (at = hash_start(&a->places, hash_of_place(place)); a->places.slots[at];
	     at = hash_next(&a->places, at))
		if (same_place(&answer->places[a->places.slots[at] - 1], place))
			return a->places.slots[at] - 1;
	if (!array_reserve(&answer->places, &a->place_capacity, answer->place_count + 1))
		return ACTIVITY_NO_PLACE;
	answer->places[answer->place_count++] = *place;
	hash_insert(&a->places, at, hash_of_place(place), (uint32_t)answer->place_count);
	if (!hash_make_room(&a->places))
		return ACTIVITY_NO_PLACE;
	return (uint32_t)answer->place_count - 1;
}

static uint64_t hash_of_state(const struct state *state)
{
	uint64_t doing = hash_pair((uint64_t)(state->doing >> 64), (uint64_t)state->doing);

	return hash_pair(
		hash_pair(hash_pair(doing, state->loop), (uint64_t)state->op << 32 | state->around),
		(uint64_t)state->place << 32 | state->callee);
}

static struct activity_time *add_time(struct asking *a, const struct state *state)
{
	struct activities *answer = a->answer;
	uint64_t key = hash_of_state(state);
	uint32_t at;

	for (at = hash_start(&a->times, key); a->times.slots[at]; at = hash_next(&a->times, at)) {
		struct activity_time *time = &answer->times[a->times.slots[at] - 1];
		if (time->doing == state->doing && time->place == state->place &&
		    time->around == state->around && time->callee == state->callee &&
		    time->op == state->op && time->loop == state->loop)
			return time;
	}
	if (!array_reserve(&answer->times, &a->time_capacity, answer->time_count + 1))
		return NULL;
	answer->times[answer->time_count++] = (struct activity_time){
		.doing = state->doing,
		.place = state->place,
		.around = state->around,
		.callee = state->callee,
		.op = state->op,
		.loop = state->loop,
	};
	hash_insert(&a->times, at, key, (uint32_t)answer->time_count);
	if (!hash_make_room(&a->times))
		return NULL;
	return &answer->times[answer->time_count - 1];
}

static activity_set doing_of(struct asking *a, const struct place *place, bool python)
{
	uint32_t id = place->function;
	const char *function = profile_string(a->profile, id);

	if (!function)
		return 0;
	if (python)
		return activity_of(function, profile_string(a->profile, place->file));
	if (!a->named[id - 1]) {
		a->named[id - 1] = true;
		a->names[id - 1] = activity_of(function, NULL);
	}
	return a->names[id - 1];
}

// A static program has the C library's functions in its own file, without theirs.
static bool is_own(const struct asking *a, const struct location *location,
                   const struct place *place, activity_set doing)
{
	const struct module *module = profile_module(a->profile, location->module);
	const char *file = profile_string(a->profile, place->file);
	bool python = location->kind == FRAME_PYTHON;

	if (location->kind != FRAME_EXACT && location->kind != FRAME_RETURN && !python)
		return false;
	if (!python && (!module || !place->function || (doing && !file)))
		return false;
	// An interpreter's functions are no places of a script's.
	if (place_is_interpreters(a->profile, location, place))
		return false;
	// Most of these are the compiler's, at the line of the class. Who copies or moves is to
	// blame.
	if (doing & (ACTIVITY(OBJECT) | ACTIVITY(MOVED)))
		return false;
	return !place_is_foreign(a->profile, location, place);
}

// What goes on in the user's own code of what is DOING before it: called by what sorts, it
// compares.
static activity_set within_own(activity_set doing)
{
	activity_set kept = doing & (ACTIVITIES_AROUND | ACTIVITIES_WITHIN);

	return kept & ACTIVITY(SORTS) ? kept | ACTIVITY(COMPARE) : kept;
}

static bool take_place(struct asking *a, const struct location *location, const struct place *place,
                       struct step_of *step)
{
	activity_set doing = doing_of(a, place, step->python);

	if (!is_own(a, location, place, doing)) {
		step->doing |= doing;
		const char *function = profile_string(a->profile, place->function);
		if (!step->callee && function && !known_passes_on(function))
			step->callee = place->function;
		return true;
	}
	const struct activity_place own = {
		.function = place->function,
		.file = place->file,
		.line = place->line,
		.module = location->module,
		.python = step->python,
	};
	*step = (struct step_of){
		.doing = within_own(step->doing),
		.python = step->python,
		.unoptimized = step->unoptimized,
		.place = add_place(a, &own),
	};
	return step->place != ACTIVITY_NO_PLACE;
}

// The average of a few calls during which others had the CPU, and of the first one, is that of no
// call.
bool op_is_tiny(const struct op_row *op)
{
	bool mostly = op->q3_ns && op->q3_ns < TINY_NS && op->total_ns < LARGE_NS * op->calls;

	return op->calls >= TINY_CALLS && (mostly || op->total_ns < TINY_NS * op->calls);
}

static const struct op_row *row_of(const struct asking *a, const struct op *op)
{
	for (size_t i = 0; i < a->ops->count; i++) {
		const struct op_row *row = &a->ops->rows[i];
		if (strcmp(row->name, op->name) == 0 && strcmp(row->domain, op->domain) == 0 &&
		    strcmp(row->provider, op_provider_name(op->provider)) == 0)
			return row;
	}
	return NULL;
}

// What somebody has given a name to is the program's own.
static bool is_large(const struct op *op, const struct op_row *row)
{
	return row && !op_is_label(op) && row->calls && row->total_ns >= LARGE_NS * row->calls;
}

// The op around most of the time of op ID; 0: none. Of calls that are known in sum only, which may
// be most of them, it is not known what was around them.
static uint32_t op_around(const struct op_table *t, uint32_t id)
{
	uint64_t most = 0, all = 0;
	uint32_t around = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct op_entry *entry = &t->entries[i];
		if (entry->key.op != id)
			continue;
		all += entry->sums.total_ns;
		if (!entry->key.parent || entry->sums.total_ns < most)
			continue;
		most = entry->sums.total_ns;
		around = entry->key.parent;
	}
	return share_of(most, all) >= AROUND_SHARE ? around : 0;
}

// Those of a large op are not all seen within it, where they came too fast to be kept.
static bool is_within_large(const struct asking *a, uint32_t id)
{
	for (int i = 0; i < AROUND_MAX && (id = op_around(profile_op_table(a->profile), id)); i++) {
		const struct op *op = profile_op(a->profile, id);
		if (op && is_large(op, row_of(a, op)))
			return true;
	}
	return false;
}

static void take_op(const struct asking *a, const struct location *location, struct step_of *step)
{
	uint32_t id = (uint32_t)location->address;
	const struct op *op = profile_op(a->profile, id);
	const struct op_row *row = op ? row_of(a, op) : NULL;

	if (!op)
		return;
	step->doing = activity_of_op(op);
	if (row && op_is_tiny(row) && !is_within_large(a, id))
		step->doing |= ACTIVITY(TINY);
	if (row && !op_is_label(op) && op->provider != OP_PYTHON && row->calls &&
	    row->self_ns >= LONG_NS * row->calls && row->median_ns >= LONG_NS)
		step->doing |= ACTIVITY(LONG);
	step->large = is_large(op, row);
}

// Its own functions have no names where its symbols are not installed.
static bool is_openmp(const struct asking *a, const struct location *location)
{
	const struct module *module = profile_module(a->profile, location->module);

	return module && origin_is_openmp(module->path);
}

// Compiled code reaches the kernel by functions of the C library or of a language's runtime, which
// are written in assembly. What else the kernel does below an instruction is to handle its page
// faults, but for the few interrupts that come to any code alike.
static bool touches_memory(const struct asking *a, const struct location *location,
                           activity_set doing)
{
	const struct module *module = profile_module(a->profile, location->module);
	const struct place *places = profile_places(a->profile, location);
	const char *function =
		location->place_count ? profile_string(a->profile, places[0].function) : NULL;
	const char *file =
		location->place_count ? profile_string(a->profile, places[0].file) : NULL;

	if (location->kind != FRAME_EXACT || !module || module->kind != MODULE_ELF || !function)
		return false;
	if (doing & (ACTIVITY(COPY) | ACTIVITY(FILL) | ACTIVITY(STRING_END)))
		return true;
	const char *end = file ? strrchr(file, '.') : NULL;
	return file && !(end && strcasecmp(end, ".s") == 0) &&
	       !origin_is_foreign(module->path, NULL);
}

// Asked for by NumPy, it works on the elements of an array of objects, one by one. These are
// exported: they have names where NumPy's own functions have none.
static bool is_arithmetic(const char *name)
{
	static const char *const names[] = {
		"PyNumber_Add",         "PyNumber_Subtract",       "PyNumber_Multiply",
		"PyNumber_TrueDivide",  "PyNumber_FloorDivide",    "PyNumber_Remainder",
		"PyNumber_Power",       "PyNumber_Negative",       "PyNumber_Absolute",
		"PyObject_RichCompare", "PyObject_RichCompareBool"
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool take_location(struct asking *a, uint32_t id)
{
	const struct location *location = profile_location(a->profile, id);
	const struct place *places = profile_places(a->profile, location);
	struct step_of *step = &a->steps[id - 1];
	bool ok = true;

	*step = (struct step_of){
		.place = ACTIVITY_NO_PLACE,
		.python = location->kind == FRAME_PYTHON,
		.interpreter = location->kind == FRAME_INTERPRETER_EXACT ||
		               location->kind == FRAME_INTERPRETER_RETURN,
		.called = location->kind == FRAME_CALLED_EXACT ||
		          location->kind == FRAME_CALLED_RETURN,
		.unoptimized = location->place_count && places[0].unoptimized,
		.openmp = is_openmp(a, location),
	};
	const struct module *in = profile_module(a->profile, location->module);
	step->arithmetic = step->interpreter && location->place_count &&
	                   is_arithmetic(profile_string(a->profile, places[0].function));
	step->arrays = in && in->path && strstr(in->path, "_multiarray_umath");
	if (location_is_mark(location, MARK_GIL))
		step->doing = ACTIVITY(GIL);
	if (location_is_mark(location, MARK_SHORT) || location_is_mark(location, MARK_UNKNOWN) ||
	    location_is_mark(location, MARK_OURS))
		step->doing = ACTIVITY(UNSEEN);
	if (location->kind == FRAME_OP)
		take_op(a, location, step);
	if (profile_is_kernel(a->profile, location))
		step->doing = ACTIVITY(KERNEL);
	if (location_is_mark(location, MARK_FAULT))
		step->doing |= ACTIVITY(FAULT);
	for (uint32_t i = location->place_count; ok && i > 0; i--)
		ok = take_place(a, location, &places[i - 1], step);
	step->touches = touches_memory(a, location, step->doing);
	struct loop_fact fact;
	const struct module *module =
		location->loop ? profile_module(a->profile, location->module) : NULL;
	// A loop that is not the user's to change is nothing to find fault with, but for how the
	// data lies that it is given, and for its numbers.
	if (module && loop_fact_parse(profile_string(a->profile, location->loop), &fact) &&
	    (fact.measured || fact.kind == LOOP_SUBNORMAL ||
	     !origin_is_foreign(module->path, NULL))) {
		step->loop = location->loop;
		step->loops = (activity_set)1 << (ACTIVITY_IN_LOOP + fact.kind);
	}
	return ok;
}

// The interpreter works for Python code until that calls a C function.
static activity_set interpreting(const struct asking *a, uint32_t location, activity_set before)
{
	const struct step_of *step = &a->steps[location - 1];
	const struct location *l = profile_location(a->profile, location);

	if (step->python)
		return ACTIVITY(PYTHON);
	if (step->interpreter || l->kind == FRAME_OP)
		return before & ACTIVITY(PYTHON);
	return 0;
}

// Hands a call on to what the user has called.
static bool is_dispatcher(const char *name)
{
	return strstr(name, ".<locals>.") || strstr(name, "implement_array_function");
}

// What a line of Python calls is a function of Python's, or one that Python has a name for: the
// interpreter's own ones on the way there are nobody's choice.
static uint32_t callee_of(const struct asking *a, const struct state *state,
                          const struct step_of *step)
{
	const char *name = profile_string(a->profile, step->callee);

	if (!name || state->place == ACTIVITY_NO_PLACE || !a->answer->places[state->place].python)
		return step->callee;
	return (step->python || name[0] == '{') && !is_dispatcher(name) ? step->callee : 0;
}

// NODE is kernel time, of which no more is known than the code it was entered from.
static bool touches_above(const struct asking *a, const struct path_node *node)
{
	const struct path_node *caller = profile_node(a->profile, node->parent);

	return caller->parent &&
	       location_is_mark(profile_location(a->profile, node->location), MARK_KERNEL) &&
	       a->steps[caller->location - 1].touches;
}

static void take_node(struct asking *a, uint32_t id)
{
	const struct path_node *node = profile_node(a->profile, id);
	struct state *state = &a->states[id - 1];

	if (!node->parent) {
		*state = (struct state){ .place = ACTIVITY_NO_PLACE, .around = ACTIVITY_NO_PLACE };
		if (a->compilers[node->location - 1])
			state->doing = ACTIVITY(COMPILE);
		a->slots[id - 1] = node->location;
		return;
	}
	const struct step_of *step = &a->steps[node->location - 1];
	*state = a->states[node->parent - 1];
	a->slots[id - 1] = a->slots[node->parent - 1];
	activity_set python = interpreting(a, node->location, state->doing);
	activity_set around = state->doing & ACTIVITIES_AROUND;
	if (!around && step->doing & ACTIVITIES_AROUND)
		state->around = state->place;
	if (step->place != ACTIVITY_NO_PLACE) {
		state->doing = within_own(state->doing);
		state->place = step->place;
		state->callee = 0;
		state->large = false;
	}
	// What a function of Python's was called by is no work on lists or strings any more.
	if (step->python)
		state->doing &= ~PLAIN_WORK;
	const struct path_node *caller = profile_node(a->profile, node->parent);
	// Whence a thread came is nothing that it does itself.
	activity_set came = caller->parent ? 0 : ACTIVITY(THREAD);
	const activity_set own = ACTIVITY(PYTHON) | ACTIVITY(DEBUG) | ACTIVITIES_IN_LOOPS;
	state->doing = ((state->doing | (step->doing & ~came)) & ~own) | python | step->loops |
	               (step->unoptimized ? ACTIVITY(DEBUG) : 0);
	state->loop = step->loop;
	// Where the kernel's own functions are not seen, the instruction that it works for tells.
	if (touches_above(a, node))
		state->doing |= ACTIVITY(FAULT);
	if (step->arithmetic && caller->parent && a->steps[caller->location - 1].arrays)
		state->doing |= ACTIVITY(OBJECTS);
	// An element at the end of a list comes without moving the others.
	if (!(~state->doing & (ACTIVITY(POP) | ACTIVITY(COPY))))
		state->doing |= ACTIVITY(SHIFT);
	if (!(~state->doing & (ACTIVITY(RELOCATE) | ACTIVITY(OBJECT))))
		state->doing |= ACTIVITY(RECOPY);
	if (!(~state->doing & (ACTIVITY(REGROW) | ACTIVITY(RELEASE))))
		state->doing |= ACTIVITY(REFREE);
	if (state->doing & ACTIVITY(COMPARE) && state->doing & COSTLY)
		state->doing |= ACTIVITY(KEY);
	// What a copy of an object allocates is part of the copy.
	if (!(~state->doing & (ACTIVITY(OBJECT) | ACTIVITY(ALLOCATE))))
		state->doing |= ACTIVITY(COPY);
	// What such a runtime does without its user's code is to wait for the other threads.
	if (step->openmp && !(state->doing & (ACTIVITY(MUTEX) | ACTIVITY(THREAD))))
		state->doing |= ACTIVITY(BARRIER) | ACTIVITY(LOOP);
	if (!state->callee)
		state->callee = callee_of(a, state, step);
	const struct location *l = profile_location(a->profile, node->location);
	if (l->kind != FRAME_OP)
		return;
	state->op = (uint32_t)l->address;
	state->large |= step->large;
	if (state->large)
		state->doing &= ~ACTIVITY(TINY);
}

// Of a worker that nobody has anything to do for that is no file's or network's fault.
static bool waits_for_message(uint32_t metric)
{
	return metric == METRIC_OFF_PIPE || metric == METRIC_OFF_NET;
}

// poll() and select() of no descriptors are a way to sleep, as time.sleep() of Python 3.10.
static bool polls_nothing(const struct asking *a, uint32_t id)
{
	const struct scope *scope = a->scope, *wall = a->wall;
	unsigned metrics = 0;

	if ((a->states[id - 1].doing & (ACTIVITY(POLL) | ACTIVITY(SIGNAL))) != ACTIVITY(POLL))
		return false;
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++)
		metrics |= 1u << profile_cells(a->profile)->cells[scope->cells[i]].metric;
	for (uint32_t i = wall ? wall->first_cell[id - 1] : 0; wall && i < wall->first_cell[id];
	     i++)
		metrics |= 1u << scope_metric(&wall->table->cells[wall->cells[i]]);
	return (metrics & (1u << METRIC_OFF_SLEEP | 1u << METRIC_OFF_NET)) ==
	       1u << METRIC_OFF_SLEEP;
}

static bool take_cells(struct asking *a, uint32_t id)
{
	const struct scope *scope = a->scope, *wall = a->wall;
	bool of_thread = a->slots[id - 1] == a->critical, critical = !wall && of_thread;

	if ((scope->first_cell[id - 1] == scope->first_cell[id] &&
	     (!wall || wall->first_cell[id - 1] == wall->first_cell[id])) ||
	    !scope->threads[a->slots[id - 1] - 1])
		return true;
	struct state state = a->states[id - 1];
	if (polls_nothing(a, id))
		state.doing = (state.doing & ~ACTIVITY(POLL)) | ACTIVITY(SLEEP);
	struct activity_time *time = add_time(a, &state);
	if (!time)
		return false;
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++) {
		const struct cell *cell = &profile_cells(a->profile)->cells[scope->cells[i]];
		uint64_t ns = scope_ns(scope, cell);
		if (a->idle[id - 1] && waits_for_message(cell->metric))
			continue;
		time->ns[cell->metric] += ns;
		a->answer->ns[cell->metric] += ns;
		time->queue_ns += cell->metric == METRIC_ON_CPU ? queue_ns(a->queue, cell) : 0;
		time->thread_cpu_ns += of_thread && cell->metric == METRIC_ON_CPU ? ns : 0;
		time->critical_ns[cell->metric] += critical ? ns : 0;
		a->answer->critical_ns[cell->metric] += critical ? ns : 0;
	}
	for (uint32_t i = wall ? wall->first_cell[id - 1] : 0; wall && i < wall->first_cell[id];
	     i++) {
		const struct cell *cell = &wall->table->cells[wall->cells[i]];
		uint64_t ns = scope_ns(wall, cell);
		time->critical_ns[scope_metric(cell)] += ns;
		a->answer->critical_ns[scope_metric(cell)] += ns;
	}
	return true;
}

static bool take_memory(struct asking *a)
{
	const struct profile *p = a->profile;
	size_t texts = strings_count(profile_strings(p));

	a->names = calloc(texts + 1, sizeof(*a->names));
	a->named = calloc(texts + 1, sizeof(*a->named));
	a->steps = calloc((size_t)profile_locations(p)->count + 1, sizeof(*a->steps));
	a->states = calloc((size_t)profile_paths(p)->count + 1, sizeof(*a->states));
	a->slots = calloc((size_t)profile_paths(p)->count + 1, sizeof(*a->slots));
	a->idle = idle_nodes(p, a->scope->threads, a->scope->first_bin, a->scope->end_bin);
	a->compilers = compiling_threads(p);
	return a->names && a->named && a->steps && a->states && a->slots && a->idle &&
	       a->compilers && hash_init(&a->places, 1024) && hash_init(&a->times, 1024);
}

// Who calls tiny ops is known of more of them than samples hit, which hit none where each takes
// less than what is around it, or where most are not recorded.
static void count_tiny(const struct asking *a)
{
	const struct op_table *t = profile_op_table(a->profile);

	for (uint32_t i = 0; t && i < t->count; i++) {
		const struct op_entry *entry = &t->entries[i];
		uint32_t parent = entry->key.parent, chain = entry->key.chain;
		uint32_t caller = chain ? op_chain_own(a->profile, chain)
		                        : op_caller_of(a->profile, &entry->key);
		if (!caller || a->steps[caller - 1].place == ACTIVITY_NO_PLACE)
			continue;
		const struct op *op = profile_op(a->profile, entry->key.op);
		const struct op_row *row = op ? row_of(a, op) : NULL;
		const struct op *around = parent ? profile_op(a->profile, parent) : NULL;
		if (!row || !op_is_tiny(row) || is_within_large(a, entry->key.op) ||
		    (around && is_large(around, row_of(a, around))))
			continue;
		struct activity_place *place = &a->answer->places[a->steps[caller - 1].place];
		place->tiny_calls += entry->sums.calls;
		place->tiny_ns += entry->sums.self_ns;
	}
}

// How tiny ops share the time of the user's places.
struct sharing {
	uint64_t *op_ns;     // [op]: on CPUs, while it was the innermost
	uint64_t *python_ns; // [place]: of the interpreter
	double *calls;       // [place]: of tiny ops, by the part of each one's time
};

static void sharing_at_scope_end(struct sharing *s)
{
	free(s->op_ns);
	free(s->python_ns);
	free(s->calls);
}

static bool sharing_init(struct sharing *s, const struct asking *a)
{
	s->op_ns = calloc((size_t)ops_count(profile_ops(a->profile)) + 1, sizeof(*s->op_ns));
	s->python_ns = calloc(a->answer->place_count + 1, sizeof(*s->python_ns));
	s->calls = calloc(a->answer->place_count + 1, sizeof(*s->calls));
	return s->op_ns && s->python_ns && s->calls;
}

static void share_calls(const struct asking *a, struct sharing *s)
{
	const struct activities *answer = a->answer;

	for (size_t i = 0; i < answer->time_count; i++) // 0: none was open
		if (profile_op(a->profile, answer->times[i].op))
			s->op_ns[answer->times[i].op] += answer->times[i].ns[METRIC_ON_CPU];
	for (size_t i = 0; i < answer->time_count; i++) {
		const struct activity_time *time = &answer->times[i];
		uint64_t ns = time->ns[METRIC_ON_CPU];
		if (time->place == ACTIVITY_NO_PLACE || !ns)
			continue;
		if (time->doing & ACTIVITY(PYTHON))
			s->python_ns[time->place] += ns;
		const struct op *op = time->op ? profile_op(a->profile, time->op) : NULL;
		const struct op_row *row =
			op && time->doing & ACTIVITY(TINY) ? row_of(a, op) : NULL;
		if (row)
			s->calls[time->place] +=
				(double)row->calls * (double)ns / (double)s->op_ns[time->op];
	}
}

// A line of Python that calls many ops has the interpreter work for each of them. Where that took
// less than it can, a library has called them within a call of the line's: they are that call's
// cost, and no calls of the user's that could be fewer.
static bool leave_tiny_of_libraries(struct asking *a)
{
	struct activities *answer = a->answer;
	cleanup(sharing) struct sharing s = { 0 };

	if (!profile_ops(a->profile))
		return true;
	if (!sharing_init(&s, a))
		return false;
	share_calls(a, &s);
	for (size_t i = 0; i < answer->time_count; i++) {
		uint32_t place = answer->times[i].place;
		if (place == ACTIVITY_NO_PLACE || !answer->places[place].python)
			continue;
		double sampled = s.calls[place], known = (double)answer->places[place].tiny_calls;
		double least = PASS_NS * (sampled > known ? sampled : known);
		if (least < PASSES_NS || (double)s.python_ns[place] >= least)
			continue;
		answer->times[i].doing &= ~ACTIVITY(TINY);
		answer->places[place].tiny_ns = 0;
	}
	return true;
}

struct activities *activities_new(const struct scope *scope, const struct scope *wall,
                                  uint32_t critical, const struct queue *queue,
                                  const struct op_rows *ops, struct error *err)
{
	const struct profile *p = scope->profile;
	cleanup(activities) struct activities *answer = calloc(1, sizeof(*answer));
	cleanup(asking) struct asking a = {
		.scope = scope,
		.wall = wall,
		.profile = p,
		.answer = answer,
		.critical = critical,
		.queue = queue,
		.ops = ops,
	};
	bool ok = answer && take_memory(&a);

	for (uint32_t id = 1; ok && id <= profile_locations(p)->count; id++)
		ok = take_location(&a, id);
	// Callers come before their callees.
	for (uint32_t id = 1; ok && id <= profile_paths(p)->count; id++) {
		take_node(&a, id);
		ok = take_cells(&a, id);
	}
	if (ok)
		count_tiny(&a);
	if (ok && leave_tiny_of_libraries(&a))
		return steal(answer);
	error_set(err, ENOMEM, "could not tell what the program was doing");
	return NULL;
}
