// SPDX-License-Identifier: MIT
#include "merge/query/query_iterations.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/origin.h"
#include "base/strings.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"
#include "merge/scope/keys.h"
#include "merge/table/cells.h"
#include "merge/warmup/cycle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Functions that a machine compiles again and again, faster code each time, as one.
//
// V8 names its code after how it was made: "JS:~load" is interpreted, "JS:^load", "JS:+load" and
// "JS:*load" are what its compilers made of it, at the same line of the same file. Up to Node 18
// they are "LazyCompile:~load", "Function:^load", "LazyCompile:*load". The symbolizer takes that
// off; profiles of older versions have it.

struct tiers {
	const struct key_table *table;
	const struct strings *strings;
	struct hash index; // of keys that are the first of their function
};

static void tiers_at_scope_end(struct tiers *t)
{
	hash_fini(&t->index);
}

// NAME without how its code was made; NULL: it does not say.
static const char *without_tier(const char *name)
{
	// Up to Node 18 it is one of the last four, and a function may have several of them.
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
		                             "Script:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i]);
		if (strncmp(name, kinds[i], length) == 0)
			return name[length] && strchr("~^+*", name[length]) ? name + length + 1
			                                                    : NULL;
	}
	return NULL;
}

// The name of the function of KEY without its tier; NULL: it has none.
static const char *name_of(const struct tiers *t, const struct key *key)
{
	const char *name = key->group == KEY_CODE ? strings_get(t->strings, key->function) : NULL;

	return name ? without_tier(name) : NULL;
}

static uint64_t hash_of(const struct key *key, const char *name)
{
	return hash_pair(hash_pair(hash_bytes(name, strlen(name)), key->file), key->line);
}

// The first key of the function that KEY, called NAME, is of: itself, if there was none.
static uint32_t first_of(struct tiers *t, uint32_t id, const char *name)
{
	const struct key *key = &t->table->keys[id - 1];
	uint32_t at = hash_start(&t->index, hash_of(key, name));

	for (; t->index.slots[at]; at = hash_next(&t->index, at)) {
		const struct key *other = &t->table->keys[t->index.slots[at] - 1];
		if (other->file == key->file && other->line == key->line &&
		    strcmp(name_of(t, other), name) == 0)
			return t->index.slots[at];
	}
	hash_insert(&t->index, at, hash_of(key, name), id);
	return id;
}

// [key - 1]: the first key of the same function; mostly KEY itself. NULL if there is no memory;
// the caller frees it.
static uint32_t *tiers_of_keys(const struct key_table *table, const struct strings *strings)
{
	cleanup(tiers) struct tiers t = { .table = table, .strings = strings };
	uint32_t *first = calloc((size_t)table->count + 1, sizeof(*first));

	if (!first || !hash_init(&t.index, 2 * table->count + 1)) { // it is never full
		free(first);
		return NULL;
	}
	for (uint32_t id = 1; id <= table->count; id++) {
		const char *name = name_of(&t, &table->keys[id - 1]);
		first[id - 1] = name ? first_of(&t, id, name) : id;
	}
	return first;
}

#define HOT_SHARE   0.50 // of the thread's time, that the loop and its callers have to take
#define PHASE_SHARE 0.01 // of the same, that a line has to take to be a phase by itself
#define ELSEWHERE   CYCLE_ELSEWHERE // the phase of all other lines
#define ROOT        1               // the thread, in the tree of lines

// What happened in a bin, as in merge/table/cells.h.
struct bin {
	uint64_t ns;
	int64_t rate;
};

// The call tree of one thread, line by line, as far as it is shown.
struct search {
	const struct profile *profile;
	struct keys keys;
	uint32_t *first;    // [key - 1]: the first one of its function, however it was compiled
	struct paths lines; // locations are keys
	bool own;           // only the user's code is shown
	uint32_t *line_of;  // [node - 1]: its innermost one in lines; 0: another thread's
	bool *gil;          // [node - 1]: it waits for Python's lock
	uint8_t *stage;     // [node - 1]: enum stage
	uint64_t *total;    // [line - 1]: its time, with what it calls
	uint8_t *phase_of;  // [line - 1]
	uint32_t phases[CYCLE_PHASES + 1]; // the line of each; 0: none
	uint32_t bins;    // that the run has: a short one has few of those that there may be
	struct bin *time; // [bin * (CYCLE_PHASES + 1) + phase]: bins are gone through
	uint8_t *looks;   // of the bins in which the thread had a CPU, or wanted none
	uint32_t *bin_of; // [look]
	size_t look_count;
	struct bin *waited; // [bin]: for a free CPU, or for Python's lock; and imports
};

// What search_begin() has made.
static void search_end(struct search *s)
{
	paths_fini(&s->lines);
	free(s->total);
	free(s->phase_of);
	free(s->time);
	free(s->looks);
	free(s->bin_of);
	free(s->waited);
	s->lines = (struct paths){ 0 };
	s->total = NULL;
	s->phase_of = NULL;
	s->time = NULL;
	s->looks = NULL;
	s->bin_of = NULL;
	s->waited = NULL;
}

static void search_at_scope_end(struct search *s)
{
	search_end(s);
	keys_fini(&s->keys);
	free(s->first);
	free(s->line_of);
	free(s->gil);
	free(s->stage);
}

void iterations_free(struct iterations *iterations)
{
	if (iterations)
		free(iterations->items);
	free(iterations);
}

static uint32_t slot_of(const struct profile *p, const struct account *account)
{
	for (uint32_t slot = 1; slot <= profile_threads(p)->thread_count; slot++) {
		const struct thread_info *info = profile_thread(p, slot);
		const struct process_info *process = profile_process(p, info->process);
		if (info->tid == account->tid && process && process->pid == account->pid)
			return slot;
	}
	return 0;
}

// The line of the innermost frame of NODE that is shown, below that of its caller. 0 if there is no
// memory.
static uint32_t add_lines(struct search *s, const struct path_node *node)
{
	const struct keys *keys = &s->keys;
	uint32_t line = s->line_of[node->parent - 1];

	for (uint32_t at = keys->first[node->location - 1]; at < keys->first[node->location]; at++)
		if (line && (s->own ? keys->frames[at].user : !keys->frames[at].hidden))
			line = paths_child(&s->lines, line, s->first[keys->frames[at].key - 1]);
	return line;
}

// Imports at the top of the program come before its loops, whatever is done again and again in
// them. Those of a function may well be a loop's, in its first turn.
enum stage {
	STAGE_OTHER,
	STAGE_TOP, // the innermost function of Python's is a script or module itself
	STAGE_IMPORTS
};

static enum stage stage_of(const struct search *s, const struct path_node *node)
{
	const struct profile *p = s->profile;

	if (!node->parent)
		return STAGE_OTHER; // a thread
	const struct location *location = profile_location(p, node->location);
	enum stage stage = s->stage[node->parent - 1];
	if (stage == STAGE_IMPORTS || !location->place_count)
		return stage;
	const struct place *place = profile_places(p, location);
	const char *name = profile_string(p, place->function),
		   *file = profile_string(p, place->file);
	if (!name || !file)
		return stage;
	if (strncmp(file, "<frozen importlib", strlen("<frozen importlib")) == 0)
		return stage == STAGE_TOP ? STAGE_IMPORTS : STAGE_OTHER;
	if (!profile_is_python(p, location, name, file))
		return stage;
	return strcmp(name, "<module>") == 0 ? STAGE_TOP : STAGE_OTHER;
}

static bool make_lines(struct search *s, uint32_t slot)
{
	const struct paths *paths = profile_paths(s->profile);

	if (!paths_init(&s->lines) || paths_child(&s->lines, 0, slot) != ROOT)
		return false;
	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		if (!node->parent)
			s->line_of[id - 1] = node->location == slot ? ROOT : 0;
		else if (s->line_of[node->parent - 1])
			s->line_of[id - 1] = add_lines(s, node);
		s->stage[id - 1] = (uint8_t)stage_of(s, node);
		s->gil[id - 1] =
			node->parent &&
			(s->gil[node->parent - 1] ||
		         location_is_mark(profile_location(s->profile, node->location), MARK_GIL));
		if (node->parent && s->line_of[node->parent - 1] && !s->line_of[id - 1])
			return false;
	}
	return true;
}

// To wait for a free CPU, or until another thread lets go of Python's lock, may hit any line, and
// is no iteration's fault. Imports are none at all.
static bool is_apart(const struct search *s, const struct cell *cell)
{
	return cell->metric == METRIC_OFF_RUNNABLE || s->gil[cell->node - 1] ||
	       s->stage[cell->node - 1] == STAGE_IMPORTS;
}

static bool counts(const struct search *s, const struct cell *cell)
{
	return s->line_of[cell->node - 1] && !is_apart(s, cell);
}

static void add_to_bin(struct bin *to, const struct cell *cell)
{
	to[cell->bin].ns += cell->ns;
	to[cell->bin].rate += cell->rate;
}

static void add_waited(struct search *s)
{
	const struct cells *cells = profile_cells(s->profile);
	int64_t rate = 0;

	for (uint32_t i = 0; i < cells->count; i++)
		if (s->line_of[cells->cells[i].node - 1] && is_apart(s, &cells->cells[i]))
			add_to_bin(s->waited, &cells->cells[i]);
	for (uint32_t bin = 0; bin <= cells->last_bin; bin++) {
		rate += s->waited[bin].rate;
		s->waited[bin].ns += (uint64_t)rate * cells->width_ns;
	}
}

// What is left of BIN without that.
static uint64_t time_of(const struct search *s, uint32_t bin)
{
	uint64_t width = profile_cells(s->profile)->width_ns, waited = s->waited[bin].ns;

	return waited < width ? width - waited : 0;
}

static bool add_totals(struct search *s)
{
	const struct cells *cells = profile_cells(s->profile);

	s->total = calloc(s->lines.count, sizeof(*s->total));
	s->phase_of = calloc(s->lines.count, sizeof(*s->phase_of));
	s->bins = cells->last_bin + 1;
	s->time = calloc((size_t)(CYCLE_PHASES + 1) * s->bins, sizeof(*s->time));
	s->looks = calloc(s->bins, sizeof(*s->looks));
	s->bin_of = calloc((size_t)s->bins + 1, sizeof(*s->bin_of));
	s->waited = calloc(s->bins, sizeof(*s->waited));
	if (!s->total || !s->phase_of || !s->time || !s->looks || !s->bin_of || !s->waited)
		return false;
	add_waited(s);
	for (uint32_t i = 0; i < cells->count; i++)
		if (counts(s, &cells->cells[i]))
			s->total[s->line_of[cells->cells[i].node - 1] - 1] +=
				cells_whole(cells, &cells->cells[i]);
	for (uint32_t line = s->lines.count; line > ROOT; line--)
		s->total[paths_node(&s->lines, line)->parent - 1] += s->total[line - 1];
	return true;
}

static int search_init(struct search *s, const struct profile *p, struct error *err)
{
	const struct query query = { .by = BY_LINE, .user_code = QUERY_OWN_CODE };

	*s = (struct search){ .profile = p };
	if (keys_init(&s->keys, p, &query, KEYS_CODE, err) < 0)
		return -1;
	s->line_of = calloc((size_t)profile_paths(p)->count + 1, sizeof(*s->line_of));
	s->gil = calloc((size_t)profile_paths(p)->count + 1, sizeof(*s->gil));
	s->first = tiers_of_keys(&s->keys.keys, profile_strings(p));
	s->stage = calloc((size_t)profile_paths(p)->count + 1, sizeof(*s->stage));
	if (s->line_of && s->gil && s->stage && s->first)
		return 0;
	return error_set(err, ENOMEM, "could not look for iterations");
}

// Lines of the user's OWN code, or of all code. search_end() comes before the next one.
static bool search_begin(struct search *s, uint32_t slot, bool own)
{
	s->own = own;
	return make_lines(s, slot) && add_totals(s);
}

static bool is_hot(const struct search *s, uint32_t line)
{
	return (double)s->total[line - 1] >= HOT_SHARE * (double)s->total[ROOT - 1];
}

// The line below CALLER that takes most time.
static uint32_t heaviest_below(const struct search *s, uint32_t caller)
{
	uint32_t best = 0;

	for (uint32_t line = caller + 1; line <= s->lines.count; line++)
		if (paths_node(&s->lines, line)->parent == caller &&
		    (!best || s->total[line - 1] > s->total[best - 1]))
			best = line;
	return best;
}

// Puts LINE where it belongs by its time, if it does; the last one falls out.
static void add_phase(struct search *s, uint32_t line)
{
	int at = ELSEWHERE - 1;

	if ((double)s->total[line - 1] < PHASE_SHARE * (double)s->total[ROOT - 1])
		return;
	for (; at >= 1; at--) {
		uint32_t known = s->phases[at];
		if (known && s->total[known - 1] >= s->total[line - 1])
			break;
		if (at + 1 < ELSEWHERE)
			s->phases[at + 1] = known;
		s->phases[at] = 0;
	}
	if (at + 1 < ELSEWHERE)
		s->phases[at + 1] = line;
}

// What the thread does seen from FUNCTION: by which of the lines below it.
static void choose_phases(struct search *s, uint32_t function)
{
	memset(s->phases, 0, sizeof(s->phases));
	for (uint32_t line = function + 1; line <= s->lines.count; line++)
		if (paths_node(&s->lines, line)->parent == function)
			add_phase(s, line);
	memset(s->phase_of, ELSEWHERE, s->lines.count);
	for (int phase = 1; phase < ELSEWHERE; phase++)
		if (s->phases[phase])
			s->phase_of[s->phases[phase] - 1] = (uint8_t)phase;
	for (uint32_t line = function + 1; line <= s->lines.count; line++) {
		uint32_t caller = paths_node(&s->lines, line)->parent;
		if (caller > function && s->phase_of[caller - 1] != ELSEWHERE)
			s->phase_of[line - 1] = s->phase_of[caller - 1];
	}
}

static struct bin *time_in(const struct search *s, uint8_t phase, uint32_t bin)
{
	return &s->time[(size_t)bin * (CYCLE_PHASES + 1) + phase];
}

static void add_times(struct search *s)
{
	const struct cells *cells = profile_cells(s->profile);

	memset(s->time, 0, (size_t)(CYCLE_PHASES + 1) * s->bins * sizeof(*s->time));
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (!counts(s, cell))
			continue;
		struct bin *bin =
			time_in(s, s->phase_of[s->line_of[cell->node - 1] - 1], cell->bin);
		bin->ns += cell->ns;
		bin->rate += cell->rate;
	}
}

// The phase that took most of BIN. RATES: of the intervals that go on.
static uint8_t look_at(const struct search *s, uint32_t bin, int64_t rates[CYCLE_PHASES + 1])
{
	uint64_t most = 0;
	uint8_t found = CYCLE_NOTHING;

	for (uint8_t phase = 1; phase <= CYCLE_PHASES; phase++) {
		if (!s->phases[phase])
			phase = ELSEWHERE; // they are the first ones
		const struct bin *time = time_in(s, phase, bin);
		rates[phase] += time->rate;
		uint64_t ns =
			time->ns + (uint64_t)rates[phase] * profile_cells(s->profile)->width_ns;
		if (ns <= most)
			continue;
		most = ns;
		found = phase;
	}
	return found;
}

static void look(struct search *s)
{
	const struct cells *cells = profile_cells(s->profile);
	int64_t rates[CYCLE_PHASES + 1] = { 0 };

	s->look_count = 0;
	for (uint32_t bin = 0; bin <= cells->last_bin; bin++) {
		uint8_t phase = look_at(s, bin, rates);
		if (2 * time_of(s, bin) < cells->width_ns)
			continue;
		s->bin_of[s->look_count] = bin;
		s->looks[s->look_count++] = phase;
	}
	s->bin_of[s->look_count] = cells->last_bin + 1;
}

static const struct key *key_of(const struct search *s, uint32_t line)
{
	return &s->keys.keys.keys[paths_node(&s->lines, line)->location - 1];
}

// The lines of the heaviest phase's function that are in the loop.
static void name_loop(const struct search *s, uint32_t phases, struct iterations *found)
{
	const struct strings *strings = profile_strings(s->profile);
	const struct key *first = NULL;

	for (int phase = 1; phase < ELSEWHERE; phase++) {
		const struct key *key = s->phases[phase] ? key_of(s, s->phases[phase]) : NULL;
		if (!key || !(phases & UINT32_C(1) << (phase - 1)) || key->group != KEY_CODE)
			continue;
		first = first ? first : key;
		if (key->function != first->function || key->file != first->file || !key->line)
			continue;
		if (!found->first_line || (int)key->line < found->first_line)
			found->first_line = (int)key->line;
		if ((int)key->line > found->last_line)
			found->last_line = (int)key->line;
	}
	found->function = first ? strings_get(strings, first->function) : NULL;
	found->file = first ? strings_get(strings, first->file) : NULL;
}

static struct iteration iteration_of(const struct search *s, uint32_t first, uint32_t end)
{
	const struct cells *cells = profile_cells(s->profile);
	int64_t begin = (int64_t)(cells->origin_ns + first * cells->width_ns -
	                          profile_start_ns(s->profile));
	struct iteration iteration = { .begin_ns = begin > 0 ? (uint64_t)begin : 0 };

	for (uint32_t bin = first; bin < end; bin++)
		iteration.ns += time_of(s, bin);
	return iteration;
}

// What the cycles after the first one tell of a phase.
struct later {
	size_t looks; // at which it is what is seen
	bool comes;   // it has time there
};

static struct later later_of(const struct search *s, const struct cycle *cycle, uint8_t phase)
{
	uint32_t first = cycle->starts[1], end = cycle->starts[cycle->count];
	struct later later = { 0 };

	for (uint32_t i = first; i < end; i++)
		later.looks += s->looks[i] == phase;
	for (uint32_t bin = s->bin_of[first]; !later.comes && bin < s->bin_of[end]; bin++)
		later.comes = time_in(s, phase, bin)->ns > 0;
	return later;
}

// How long the thread was elsewhere, or where it never comes again, from look FIRST on.
static uint32_t elsewhere_from(const struct search *s, const struct later *later, uint32_t first)
{
	uint32_t end = first;

	while (end < s->look_count &&
	       (s->looks[end] == ELSEWHERE || !s->looks[end] || !later[s->looks[end]].comes))
		end++;
	return end - first;
}

// A first cycle that begins where the thread does begins with the program's start: its part there
// is taken to be as long as later ones.
static uint32_t past_start(const struct search *s, const struct cycle *cycle,
                           const struct later *later)
{
	uint32_t first = cycle->starts[0], own = elsewhere_from(s, later, first), most = 0;

	for (uint32_t i = 0; i < first; i++)
		if (s->looks[i])
			return first;
	for (size_t i = 1; i < cycle->count; i++) {
		uint32_t usual = elsewhere_from(s, later, cycle->starts[i]);
		most = usual > most ? usual : most;
	}
	return own > most ? first + own - most : first;
}

// How long the thread stays at PHASE, or is elsewhere meanwhile, from look FIRST on.
static uint32_t stay_from(const struct search *s, uint8_t phase, uint32_t first)
{
	uint32_t end = first;

	while (end < s->look_count &&
	       (s->looks[end] == phase || s->looks[end] == ELSEWHERE || !s->looks[end]))
		end++;
	return end - first;
}

// Where no line tells one call of a function from another, what the first cycle begins with may as
// well be a call before the loop: it is taken to be as long as in later ones.
static uint32_t past_setup(const struct search *s, const struct cycle *cycle)
{
	uint32_t first = cycle->starts[0], most = 0;
	uint8_t phase = s->looks[first];
	uint32_t line = phase ? s->phases[phase] : 0;

	if (!line || phase == ELSEWHERE || key_of(s, line)->line)
		return first;
	for (size_t i = 1; i < cycle->count; i++) {
		uint32_t usual = stay_from(s, phase, cycle->starts[i]);
		most = usual > most ? usual : most;
	}
	uint32_t own = stay_from(s, phase, first);
	return own > most ? first + own - most : first;
}

// The first cycle as it is part of the loop: from where there are lines that the loop comes by
// again, but so briefly that they are no part of the pattern.
static uint32_t begin_of_loop(const struct search *s, const struct cycle *cycle)
{
	struct later later[CYCLE_PHASES + 1] = { 0 };

	for (uint8_t phase = 1; phase <= CYCLE_PHASES; phase++)
		later[phase] = later_of(s, cycle, phase);
	uint32_t first = past_start(s, cycle, later);
	if (first == cycle->starts[0])
		first = past_setup(s, cycle);
	if (first != cycle->starts[0])
		return first;
	for (; first > 0; first--) {
		uint8_t phase = s->looks[first - 1];
		bool brief = 2 * later[phase].looks < cycle->count;
		if (phase == ELSEWHERE || !later[phase].comes || !brief)
			break;
	}
	return first;
}

static bool take(const struct search *s, const struct cycle *cycle, struct iterations *found)
{
	found->items = calloc(cycle->count, sizeof(*found->items));
	if (!found->items)
		return false;
	found->count = cycle->count;
	uint32_t first = begin_of_loop(s, cycle);
	for (size_t i = 0; i < cycle->count; i++)
		found->items[i] = iteration_of(s, s->bin_of[i ? cycle->starts[i] : first],
		                               s->bin_of[cycle->starts[i + 1]]);
	name_loop(s, cycle->phases, found);
	return true;
}

// Code of the user's own, or that a compiler has made of it while the program ran.
static bool is_users(const struct search *s, uint32_t line)
{
	const struct profile *p = s->profile;
	const struct key *key = line == ROOT ? NULL : key_of(s, line);

	if (!key || key->group != KEY_CODE)
		return false;
	const struct module *module = profile_module(p, key->module);
	if (key->python || !module || module->kind == MODULE_JIT)
		return true;
	return !origin_is_foreign(module->path, profile_string(p, key->file));
}

// What a library's functions, or an interpreter's, do in turns is their own affair, or chance;
// below one line of the user's own, too, but where no line tells one call there from another. Where
// one line has all that the thread does, as that which calls main(), what comes between is chance.
static bool is_users_loop(const struct search *s, uint32_t caller, uint32_t phases)
{
	int users = 0;

	for (int phase = 1; phase < ELSEWHERE; phase++)
		users += s->phases[phase] && (phases & UINT32_C(1) << (phase - 1)) &&
		         is_users(s, s->phases[phase]);
	if (!is_users(s, caller))
		return users > 1;
	return users || !key_of(s, caller)->line;
}

// From the outermost caller inwards, as long as nearly all is below one of them.
static int find(struct search *s, struct iterations *found, struct error *err)
{
	uint32_t line = ROOT;

	for (; line && is_hot(s, line) && !found->count; line = heaviest_below(s, line)) {
		cleanup(cycle) struct cycle cycle;
		choose_phases(s, line);
		add_times(s);
		look(s);
		if (!cycle_find(&cycle, s->looks, s->look_count) ||
		    (cycle.count && is_users_loop(s, line, cycle.phases) &&
		     !take(s, &cycle, found)))
			return error_set(err, ENOMEM, "could not look for iterations");
	}
	return 0;
}

// In the user's own code; in all code if there is none.
static int find_in_thread(const struct profile *p, uint32_t slot, struct iterations *found,
                          struct error *err)
{
	cleanup(search) struct search s;

	if (search_init(&s, p, err) < 0)
		return -1;
	for (int all = 0; all < 2 && !found->count; all++) {
		search_end(&s);
		if (!search_begin(&s, slot, !all))
			return error_set(err, ENOMEM, "could not look for iterations");
		if (find(&s, found, err) < 0)
			return -1;
	}
	return 0;
}

static struct iterations *find_iterations(const struct profile *p, struct error *err)
{
	cleanup(iterations) struct iterations *found = calloc(1, sizeof(*found));
	struct account account;
	uint32_t slot;

	if (!found) {
		error_set(err, ENOMEM, "could not look for iterations");
		return NULL;
	}
	found->bin_ns = profile_cells(p)->width_ns;
	if (profile_cells(p)->last_bin + 1 < CYCLE_LOOKS_MIN)
		return steal(found);
	if (query_account(p, &account, err) < 0)
		return NULL;
	slot = slot_of(p, &account);
	if (slot && find_in_thread(p, slot, found, err) < 0)
		return NULL;
	return steal(found);
}

// NULL if there is no memory.
static struct iterations *copy_of(const struct iterations *from)
{
	cleanup(iterations) struct iterations *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *from;
	copy->items = calloc(from->count + 1, sizeof(*copy->items));
	if (!copy->items)
		return NULL;
	if (from->count)
		memcpy(copy->items, from->items, from->count * sizeof(*copy->items));
	return steal(copy);
}

static void release(void *iterations)
{
	iterations_free(iterations);
}

struct iterations *query_iterations(const struct profile *p, struct error *err)
{
	const struct kept_key key = kept_key(p, "iterations");
	const struct iterations *kept = kept_find(&key);
	cleanup(iterations) struct iterations *found =
		kept ? copy_of(kept) : find_iterations(p, err);

	if (!found && kept)
		error_set(err, ENOMEM, "could not look for iterations");
	if (found && !kept) {
		cleanup(iterations) struct iterations *copy = key.works ? copy_of(found) : NULL;
		if (copy && kept_add(&key, copy, release))
			steal(copy);
	}
	return steal(found);
}
