// SPDX-License-Identifier: MIT
// Goroutines get their names, and become rows of tasks: by the function that they run, with the
// lines where they waited, outermost first, and the runtime's reason behind these.
#include "base/error.h"
#include "base/go_function.h"
#include "base/origin.h"
#include "merge/profile/goroutine_holders.h"
#include "merge/profile/profile_data.h"
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 256 // functions of one stack, inlined ones too
#define OUTER      2   // of a chain that is too long, so many outermost places stay

// An address that is to be named.
struct named {
	uint32_t module;
	uint64_t address;
	struct symbol_chain chain;
};

struct naming {
	struct profile *profile;
	struct named *named; // sorted, distinct
	size_t count;
	uint64_t *addresses; // of one module
	struct symbol_chain *chains;
	struct symbol *kinds; // of each start: the function that its goroutines run
	bool *skipped;        // of each start: the runtime's own
};

static void naming_at_scope_end(struct naming *n)
{
	free(n->named);
	free(n->addresses);
	free(n->chains);
	free(n->kinds);
	free(n->skipped);
}

void profile_add_goroutines(struct profile *p, const struct goroutines_event *event)
{
	uint32_t reason = *event->reason ? strings_add(p->strings, event->reason) : 0;

	profile_note_time(p, event->time_ns);
	if (!goroutines_add(&p->goroutines, event, reason))
		p->lost++;
}

static int by_address(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static void want(struct naming *n, struct frame frame)
{
	if (frame.module)
		n->named[n->count++] = (struct named){ .module = frame.module,
			                               .address = frame_lookup_address(frame) };
}

static void collect(struct naming *n)
{
	const struct goroutines *g = &n->profile->goroutines;
	size_t distinct = 0;

	for (size_t i = 0; i < g->start_count; i++)
		want(n, g->starts[i].frame);
	for (size_t i = 0; i < g->frame_count; i++)
		want(n, g->frames[i]);
	qsort(n->named, n->count, sizeof(*n->named), by_address);
	for (size_t i = 0; i < n->count; i++)
		if (!distinct || by_address(&n->named[distinct - 1], &n->named[i]) != 0)
			n->named[distinct++] = n->named[i];
	n->count = distinct;
}

static int resolve(struct naming *n, struct symbolizer *s, struct error *err)
{
	for (size_t first = 0, end; first < n->count; first = end) {
		const struct module *module =
			modules_get(n->profile->modules, n->named[first].module);
		for (end = first; end < n->count && n->named[end].module == n->named[first].module;
		     end++)
			n->addresses[end - first] = n->named[end].address;
		memset(n->chains, 0, (end - first) * sizeof(*n->chains));
		if (module &&
		    symbolizer_resolve(s, module, n->addresses, end - first, n->chains, err) < 0)
			return -1;
		for (size_t i = first; i < end; i++)
			n->named[i].chain = n->chains[i - first];
	}
	return 0;
}

static const struct symbol_chain *chain_of(const struct naming *n, struct frame frame)
{
	static const struct symbol_chain nothing;
	const struct named wanted = { .module = frame.module,
		                      .address = frame_lookup_address(frame) };
	const struct named *found =
		frame.module ? bsearch(&wanted, n->named, n->count, sizeof(*n->named), by_address)
			     : NULL;

	return found ? &found->chain : &nothing;
}

// All functions of ROW, outermost first, but the runtime's bottom of a stack; their number.
static size_t functions_of(const struct naming *n, const struct goroutine_row *row,
                           const struct symbol **functions)
{
	const struct frame *frames = &n->profile->goroutines.frames[row->first];
	size_t count = 0;

	for (uint32_t i = row->count; i-- > 0;) {
		const struct symbol_chain *chain = chain_of(n, frames[i]);
		for (uint32_t k = chain->count; k-- > 0 && count < PLACES_MAX;)
			if (chain->symbols[k].function &&
			    (count ||
			     (strcmp(chain->symbols[k].function, "runtime.goexit") != 0 &&
			      strcmp(chain->symbols[k].function, "runtime.goexit.abi0") != 0 &&
			      strcmp(chain->symbols[k].function, "runtime.main") != 0)))
				functions[count++] = &chain->symbols[k];
	}
	return count;
}

// The function in which the goroutines of a start begin.
static const struct symbol *start_of(const struct naming *n, uint32_t start)
{
	const struct symbol_chain *chain = chain_of(n, n->profile->goroutines.starts[start].frame);

	return chain->count && chain->symbols[chain->count - 1].function
	               ? &chain->symbols[chain->count - 1]
	               : NULL;
}

// How a place is got out of the way: the runtime's, and what is between it and Go's library.
static bool is_machinery(const char *function)
{
	return go_function_is_of(function, "runtime") ||
	       go_function_is_of(function, "internal/poll") ||
	       strncmp(function, "internal/runtime/", 17) == 0 ||
	       strncmp(function, "internal/sync.", 14) == 0 || strstr(function, ".runtime_") ||
	       strcmp(function, "sync.(*Mutex).lockSlow") == 0;
}

/*
 * Whether FUNCTION, that goroutines begin in, is what the compiler makes of "go f(x)" to call f. Up
 * to Go 1.21 it is called as closures are, but all of it is of one line.
 */
static bool is_wrapper(const struct symbol *start, const struct symbol *function)
{
	return strcmp(start->function, function->function) == 0 &&
	       (go_function_is_wrapper(start->function) ||
	        (go_function_is_closure(start->function) && start->line &&
	         start->line == function->line));
}

// Whether the outermost of FUNCTIONS only calls the next one, whose goroutine it is. In stripped
// programs that one may be inlined, and is not known.
static bool is_wrapped(const struct symbol *start, const struct symbol **functions, size_t count)
{
	return count > 1 && start && is_wrapper(start, functions[0]) &&
	       !is_machinery(functions[1]->function);
}

static void find_kinds(struct naming *n, const struct symbol **functions)
{
	const struct goroutines *g = &n->profile->goroutines;

	for (uint32_t i = 0; i < g->start_count; i++) {
		const struct symbol *start = start_of(n, i);
		bool is_main = start && strcmp(start->function, "runtime.main") == 0;
		n->kinds[i] = start ? *start : (struct symbol){ 0 };
		n->skipped[i] = start && !is_main && go_function_is_of(start->function, "runtime");
		if (is_main)
			n->kinds[i] = (struct symbol){ .function = "main.main" };
	}
	for (size_t i = 0; i < g->row_count; i++) {
		const struct goroutine_row *row = &g->rows[i];
		const struct symbol *start = start_of(n, row->start);
		struct symbol *kind = &n->kinds[row->start];
		size_t count = functions_of(n, row, functions);
		if (!start || !count)
			continue;
		// On which line the function begins that a wrapper calls is not known.
		if (is_wrapped(start, functions, count) && kind->line == start->line)
			*kind = (struct symbol){ .function = functions[1]->function,
				                 .file = functions[1]->file };
		else if (!kind->file && strcmp(functions[0]->function, kind->function) == 0)
			kind->file = functions[0]->file;
	}
}

static bool keep_text(struct profile *p, const char *text, uint32_t *id)
{
	*id = text ? strings_add(p->strings, text) : 0;
	return *id || !text;
}

// In stripped programs inlined calls are not told apart from the function that they stand in: a
// line of another file is none of FUNCTION's.
static bool keep_place(struct profile *p, const struct symbol *symbol, struct await_place *place)
{
	bool other =
		symbol->file && symbol->declared && strcmp(symbol->file, symbol->declared) != 0;

	place->line = symbol->line > 0 && !other ? (uint32_t)symbol->line : 0;
	return keep_text(p, symbol->function, &place->function) &&
	       keep_text(p, other ? symbol->declared : symbol->file, &place->file);
}

static bool has_function(const struct symbol **functions, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(functions[i]->function, name) == 0)
			return true;
	return false;
}

// Why ROW waits, which FUNCTIONS have led to.
static bool keep_reason(struct naming *n, const struct goroutine_row *row,
                        const struct symbol **functions, size_t count, uint32_t *id)
{
	const char *reason = profile_string(n->profile, row->reason);
	char title[128];

	if (row->state == GOROUTINE_IN_CALL) {
		bool c = has_function(functions, count, "runtime.cgocall");
		return keep_text(n->profile,
		                 !count ? "system call or C"
		                 : c    ? "call of C"
		                        : "system call",
		                 id);
	}
	// Up to Go 1.20 all of sync waits for this. What is inlined may not be known.
	size_t at = reason && strcmp(reason, "semacquire") == 0 ? 0 : count;
	while (at < count && !go_function_is_of(functions[at]->function, "sync"))
		at++;
	if (at < count && strcmp(functions[at]->function, "sync.(*Mutex).lockSlow") == 0)
		return keep_text(n->profile, "sync.Mutex.Lock", id);
	if (at < count) {
		go_function_title(functions[at]->function, title, sizeof(title));
		return keep_text(n->profile, title, id);
	}
	return keep_text(n->profile, reason ? reason : "unknown", id);
}

static bool add_row(struct naming *n, uint32_t kind, const struct symbol *of, uint64_t count,
                    uint64_t ns, struct await_place *places, uint32_t place_count)
{
	const struct await_row row = {
		.kind = kind, .place_count = place_count, .count = count, .ns = ns
	};

	if (!of->function)
		return true;
	return keep_place(n->profile, of, &places[0]) &&
	       awaits_add(&n->profile->awaits, &row, places);
}

static bool add_wait(struct naming *n, const struct goroutine_row *row,
                     const struct symbol **functions)
{
	size_t all = functions_of(n, row, functions), count = 0;
	struct await_place places[AWAIT_PLACES_MAX] = { 0 };
	const size_t most = AWAIT_PLACES_MAX - 2;
	const struct symbol *start = start_of(n, row->start);
	uint32_t reason, used = 1;

	if (!keep_reason(n, row, functions, all, &reason))
		return false;
	for (size_t i = is_wrapped(start, functions, all); i < all; i++)
		if (!is_machinery(functions[i]->function))
			functions[count++] = functions[i];
	for (size_t i = 0; i < count; i++) {
		if (count > most && i >= OUTER && i < count - (most - OUTER))
			continue;
		if (!keep_place(n->profile, functions[i], &places[used++]))
			return false;
	}
	places[used++].function = reason;
	return add_row(n, AWAIT_WAIT, &n->kinds[row->start], 0, row->ns, places, used);
}

static bool add_rows(struct naming *n, const struct symbol **functions)
{
	const struct goroutines *g = &n->profile->goroutines;
	struct await_place places[AWAIT_PLACES_MAX] = { 0 };

	for (size_t i = 0; i < g->row_count; i++) {
		const struct goroutine_row *row = &g->rows[i];
		const struct symbol *kind = &n->kinds[row->start];
		if (n->skipped[row->start])
			continue;
		if (!add_row(n, AWAIT_TASK, kind, 0, row->ns, places, 1))
			return false;
		if (row->state == GOROUTINE_RUNNING || row->state == GOROUTINE_RUNNABLE
		            ? !add_row(n, row->state == GOROUTINE_RUNNING ? AWAIT_RUN : AWAIT_READY,
		                       kind, 0, row->ns, places, 1)
		            : !add_wait(n, row, functions))
			return false;
	}
	if (!keep_text(n->profile, AWAIT_GO, &places[1].function))
		return false;
	for (size_t i = 0; i < g->start_count; i++)
		if (!n->skipped[i] &&
		    (!add_row(n, AWAIT_TASK, &n->kinds[i], g->starts[i].most, 0, places, 1) ||
		     !add_row(n, AWAIT_LIBRARY, &n->kinds[i], g->starts[i].most, 0, places, 2)))
			return false;
	return true;
}

// What only others can end.
static enum goroutine_act act_of_wait(const char *reason)
{
	static const char *const rests[] = { "sleep", "IO wait" };
	static const char *const locks[] = { "sync.Mutex.Lock", "sync.RWMutex.Lock",
		                             "sync.RWMutex.RLock" };
	static const char *const awaits[] = { "chan receive",   "chan send",
		                              "select",         "semacquire",
		                              "sync.Cond.Wait", "sync.WaitGroup.Wait",
		                              "sync.Once.Do" };

	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		if (strcmp(reason, rests[i]) == 0)
			return GOROUTINE_RESTS;
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		if (strcmp(reason, locks[i]) == 0)
			return GOROUTINE_LOCKS;
	for (size_t i = 0; i < sizeof(awaits) / sizeof(awaits[0]); i++)
		if (strcmp(reason, awaits[i]) == 0)
			return GOROUTINE_AWAITS;
	return GOROUTINE_ASIDE;
}

static enum goroutine_act act_of(const struct goroutine_row *row, const char *reason,
                                 const struct symbol **functions, size_t count)
{
	if (row->state == GOROUTINE_WAITING &&
	    (has_function(functions, count, "internal/poll.(*FD).Accept") ||
	     has_function(functions, count, "net/http.(*conn).serve")))
		return GOROUTINE_SERVES;
	if (row->state == GOROUTINE_WAITING)
		return act_of_wait(reason);
	// It looks for signals.
	if (has_function(functions, count, "os/signal.loop"))
		return GOROUTINE_ASIDE;
	return GOROUTINE_WORKS;
}

// Whether who is ready to run, or waits, is on its way through the runtime's own waits.
static bool is_in_wait(const struct symbol **functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (go_function_is_of(functions[i]->function, "sync") ||
		    strncmp(functions[i]->function, "internal/sync.", 14) == 0 ||
		    strncmp(functions[i]->function, "runtime.chan", 12) == 0 ||
		    strcmp(functions[i]->function, "runtime.selectgo") == 0)
			return true;
	return false;
}

// The innermost of the user's own, or else of what is not Go's; NULL: there is none.
static const struct symbol *place_of(const struct symbol **functions, size_t count)
{
	for (size_t i = count; i-- > 0;)
		if (!go_function_is_standard(functions[i]->function) && functions[i]->file &&
		    !origin_is_foreign(NULL, functions[i]->file))
			return functions[i];
	for (size_t i = count; i-- > 0;)
		if (!go_function_is_standard(functions[i]->function))
			return functions[i];
	return NULL;
}

// TEXTS are for its functions' names.
static bool keep_doing(struct naming *n, const struct goroutine_row *row,
                       const struct symbol **functions, struct goroutine_doing *doing,
                       uint32_t *texts)
{
	static const char *const states[] = {
		[GOROUTINE_RUNNING] = "running", [GOROUTINE_RUNNABLE] = "runnable"
	};
	const struct symbol *kind = &n->kinds[row->start];
	size_t count = functions_of(n, row, functions);
	struct profile *p = n->profile;

	if (n->skipped[row->start] || !kind->function)
		return true;
	const struct symbol *place = place_of(functions, count);
	doing->is_main = strcmp(kind->function, "main.main") == 0;
	doing->functions = texts;
	doing->function_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		if (!keep_text(p, functions[i]->function, &texts[i]))
			return false;
	if (!keep_place(p, kind, &doing->kind) || (place && !keep_place(p, place, &doing->place)))
		return false;
	bool works = row->state == GOROUTINE_RUNNING || row->state == GOROUTINE_RUNNABLE;
	if (works ? !keep_text(p, states[row->state], &doing->reason)
	          : !keep_reason(n, row, functions, count, &doing->reason))
		return false;
	doing->act = act_of(row, profile_string(p, doing->reason), functions, count);
	doing->wakes = doing->act == GOROUTINE_WORKS && is_in_wait(functions, count);
	return true;
}

// Who waited for whom.
static bool add_holders(struct naming *n, const struct symbol **functions)
{
	const struct goroutines *g = &n->profile->goroutines;
	cleanup_free struct goroutine_doing *doing = calloc(g->row_count, sizeof(*doing));
	size_t all = 0;

	for (size_t i = 0; i < g->row_count; i++)
		all += functions_of(n, &g->rows[i], functions);
	cleanup_free uint32_t *texts = calloc(all + 1, sizeof(*texts));
	if (!doing || !texts)
		return false;
	for (size_t i = 0, used = 0; i < g->row_count; used += doing[i++].function_count)
		if (!keep_doing(n, &g->rows[i], functions, &doing[i], texts + used))
			return false;
	return goroutine_looks_end(&n->profile->goroutines.looks) &&
	       goroutine_holders_add(&g->looks, doing, &n->profile->awaits);
}

int profile_name_goroutines(struct profile *p, struct symbolizer *s, struct error *err)
{
	const struct goroutines *g = &p->goroutines;
	size_t most = g->start_count + g->frame_count;
	const struct symbol *functions[PLACES_MAX];

	if (!g->row_count)
		return 0;
	cleanup(naming) struct naming n = {
		.profile = p,
		.named = calloc(most, sizeof(*n.named)),
		.addresses = calloc(most, sizeof(*n.addresses)),
		.chains = calloc(most, sizeof(*n.chains)),
		.kinds = calloc(g->start_count, sizeof(*n.kinds)),
		.skipped = calloc(g->start_count, sizeof(*n.skipped)),
	};
	if (!n.named || !n.addresses || !n.chains || !n.kinds || !n.skipped)
		return error_set(err, ENOMEM, "could not keep the names of goroutines");
	collect(&n);
	if (resolve(&n, s, err) < 0)
		return -1;
	find_kinds(&n, functions);
	if (!add_rows(&n, functions) || !add_holders(&n, functions))
		return error_set(err, ENOMEM, "could not keep the names of goroutines");
	goroutines_fini(&p->goroutines);
	return 0;
}
