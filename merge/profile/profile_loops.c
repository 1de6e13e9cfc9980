// SPDX-License-Identifier: MIT
// profile_find_loops(): the code of the functions that have most samples, one file a module.
#include "base/clock.h"
#include "base/error.h"
#include "base/origin.h"
#include "merge/profile/profile_data.h"
#include "symbolize/elf/function_start.h"
#include "symbolize/loop/insn.h"
#include "symbolize/loop/loop.h"
#include "symbolize/loop/subnormal.h"
#include "symbolize/symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CODE_BYTES_MAX    ((size_t)8 * LOOP_CODE_MAX) // of all functions; a byte takes some 0.2 us
#define FOREIGN_BYTES_MAX (64 << 20)                  // of a library's file
#define LEAST_SHARE       0.02            // of all CPU time: in less, a loop is nobody's bottleneck
#define LEAST_NS          (5 * NS_PER_MS) // a few samples: they say nothing of how a loop's time is spent
#define TEXT_SIZE         4200            // of a fact: a path, and some numbers
#define SUBNORMAL_SHARE   0.2 // of a loop's samples: with fewer, most of its time is something else's
#define SUBNORMAL_LEAST   5   // samples
#define SUBNORMAL_SLOWS   1.3 // times: where the CPU is nearly as fast with them, that is no news

// A sampled address.
struct spot {
	uint32_t module, location;
	uint64_t address, ns;
};

// The samples of one function.
struct function {
	struct spot *spots;
	size_t count;
	uint64_t start, ns;
};

struct search {
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct spot *spots;
	size_t count;
	uint64_t least_ns;
	size_t code_bytes; // that were looked at
};

// CPU time by the location that it was spent at, [location - 1].
static uint64_t *self_times(const struct profile *p, uint64_t *all)
{
	uint64_t *ns = calloc((size_t)p->locations.count + 1, sizeof(*ns));

	*all = 0;
	for (uint32_t i = 0; ns && i < p->cells.count; i++) {
		const struct cell *cell = &p->cells.cells[i];
		const struct path_node *node = profile_node(p, cell->node);
		if (cell->metric != METRIC_ON_CPU || !node->parent)
			continue;
		ns[node->location - 1] += cells_whole(&p->cells, cell);
		*all += cells_whole(&p->cells, cell);
	}
	return ns;
}

static bool is_own(const struct module *module)
{
	return !origin_is_foreign(module->path, NULL);
}

// To find the functions of a large library takes longer than what it tells is worth.
static bool is_small(const struct module *module)
{
	struct stat status;

	return module->path && stat(module->path, &status) == 0 &&
	       status.st_size <= FOREIGN_BYTES_MAX;
}

// The user's own code, and any that has no name: there, nothing else tells what it does.
static bool is_open(const struct profile *p, const struct spot *spot)
{
	return !locations_get(&p->locations, spot->location)->place_count ||
	       is_own(modules_get(p->modules, spot->module));
}

static bool has_subnormal(const struct profile *p, const struct location *location)
{
	const struct subnormal_looks *looks =
		leaf_registers_looks(&p->leaf_registers, location->module, location->address);

	for (int reg = 0; looks && reg < SUBNORMAL_REGISTERS; reg++)
		if (looks->doubles[reg] || looks->floats[reg])
			return true;
	return false;
}

// Of a library's loops, what its callers decide: how the data lies that it walks, and its numbers.
static bool is_wanted(const struct profile *p, const struct location *location)
{
	const struct module *module = modules_get(p->modules, location->module);

	return module && module->kind == MODULE_ELF &&
	       (location->kind == FRAME_EXACT || location->kind == FRAME_CALLED_EXACT) &&
	       (!location->place_count || is_own(module) || has_subnormal(p, location) ||
	        (!origin_is_libc(module->path) &&
	         leaf_registers_find(&p->leaf_registers, location->module, location->address)));
}

static int by_address(const void *a, const void *b)
{
	const struct spot *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

static bool collect_spots(struct search *search)
{
	const struct profile *p = search->profile;
	uint64_t all;
	cleanup_free uint64_t *ns = self_times(p, &all);

	search->least_ns = (uint64_t)(LEAST_SHARE * (double)all);
	if (search->least_ns < LEAST_NS)
		search->least_ns = LEAST_NS;
	search->spots = ns ? calloc((size_t)p->locations.count + 1, sizeof(*search->spots)) : NULL;
	for (uint32_t id = 1; search->spots && id <= p->locations.count; id++) {
		const struct location *location = locations_get(&p->locations, id);
		if (ns[id - 1] && ns[id - 1] <= all && is_wanted(p, location))
			search->spots[search->count++] =
				(struct spot){ location->module, id, location->address,
				               ns[id - 1] };
	}
	if (search->count)
		qsort(search->spots, search->count, sizeof(*search->spots), by_address);
	return search->count > 0;
}

// By the CPU that this runs on, which is the one that the program ran on.
static uint32_t vector_bytes(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return 64;
	return __builtin_cpu_supports("avx2") ? 32 : 16;
#else
	return 0;
#endif
}

// The text of a loop's fact, with the line of the jump that closes it: JUMP of FOUND.
static uint32_t keep_fact(struct search *search, const struct function *function,
                          const struct loop_found *found)
{
	const struct module *module =
		modules_get(search->profile->modules, function->spots[0].module);
	uint64_t address = function->start + found->jump;
	struct loop_fact fact = found->fact;
	struct symbol_chain chain = { 0 };
	struct error ignored;
	char text[TEXT_SIZE];

	if (symbolizer_resolve(search->symbolizer, module, &address, 1, &chain, &ignored) < 0)
		chain.count = 0;
	// The innermost that is the user's own: a loop of the standard library's stands where that
	// is called. Where that is a function by itself, what is the user's own within it, as a
	// comparison, is what the loop calls.
	const struct symbol *outer = chain.count ? &chain.symbols[chain.count - 1] : NULL;
	bool own = outer && !origin_is_foreign(module->path, outer->file);
	for (uint32_t i = 0; own && i < chain.count && !fact.file; i++) {
		const struct symbol *symbol = &chain.symbols[i];
		if (symbol->line <= 0 || !symbol->file ||
		    origin_is_foreign(module->path, symbol->file))
			continue;
		fact.line = (uint32_t)symbol->line;
		fact.file = symbol->file;
	}
	if (!loop_fact_print(&fact, text, sizeof(text)))
		return 0;
	return strings_add(search->profile->strings, text);
}

// Marks all that was sampled in the loop that found[FIRST] is in.
static void mark_loop(struct search *search, const struct function *function,
                      struct loop_found *found, size_t first)
{
	struct loop_found loop = found[first];
	uint64_t ns = 0;

	for (size_t i = first; i < function->count; i++)
		ns += found[i].jump == loop.jump ? function->spots[i].ns : 0;
	uint32_t text = ns >= search->least_ns ? keep_fact(search, function, &loop) : 0;
	for (size_t i = first; i < function->count; i++) {
		if (found[i].jump != loop.jump)
			continue;
		search->profile->locations.locations[function->spots[i].location - 1].loop = text;
		found[i].fact.kind = LOOP_NONE;
	}
}

// Marks the samples of the loop that found[FIRST] is in, or all that are in none, if they have
// computed with subnormal numbers.
static void mark_subnormal(struct search *search, const struct function *function,
                           struct bytes code, struct loop_found *found, size_t first)
{
	struct subnormal_spot *spots = calloc(function->count, sizeof(*spots));
	struct loop_found loop = found[first];
	uint32_t end = loop.jump ? loop.jump : (uint32_t)code.size;
	size_t count = 0, hottest = first;
	uint64_t ns = 0;

	for (size_t i = first; spots && i < function->count; i++) {
		const struct spot *spot = &function->spots[i];
		uint64_t at = spot->address - function->start;
		if (found[i].jump != loop.jump || at >= code.size)
			continue;
		if (loop.jump && at >= end)
			end = (uint32_t)at + 1;
		spots[count++] = (struct subnormal_spot){ leaf_registers_looks(
			&search->profile->leaf_registers, spot->module, spot->address) };
		ns += spot->ns;
		if (spot->ns > function->spots[hottest].ns)
			hottest = i;
	}
	struct subnormal_use use = count ? subnormal_find(code, loop.begin, end, spots, count)
	                                 : (struct subnormal_use){ 0 };
	free(spots);
	if (ns < search->least_ns || use.share < SUBNORMAL_SHARE || use.found < SUBNORMAL_LEAST)
		return;
	double slowdown = subnormal_slowdown(&use);
	if (slowdown < SUBNORMAL_SLOWS)
		return;
	loop.fact = (struct loop_fact){ .kind = LOOP_SUBNORMAL,
		                        .bytes = (uint64_t)(100 * use.share + 0.5),
		                        .detail = (uint32_t)(10 * slowdown + 0.5) };
	struct loop_found place = loop;
	if (!loop.jump)
		place.jump = (uint32_t)(function->spots[hottest].address - function->start);
	uint32_t text = keep_fact(search, function, &place);
	for (size_t i = first; text && i < function->count; i++) {
		if (found[i].jump != loop.jump)
			continue;
		search->profile->locations.locations[function->spots[i].location - 1].loop = text;
		found[i].fact.kind = LOOP_NONE;
	}
}

// Whether a spot before INDEX is in the same loop.
static bool was_asked(const struct loop_found *found, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (found[i].jump == found[index].jump)
			return true;
	return false;
}

static void find_kinds(struct search *search, const struct function *function, struct bytes code)
{
	cleanup_free struct loop_sample *samples = calloc(function->count, sizeof(*samples));
	cleanup_free struct loop_found *found = calloc(function->count, sizeof(*found));

	if (!samples || !found || !code.size)
		return;
	for (size_t i = 0; i < function->count; i++) {
		uint64_t at = function->spots[i].address - function->start;
		const struct spot *spot = &function->spots[i];
		samples[i] =
			(struct loop_sample){ at < code.size ? (uint32_t)at : UINT32_MAX, spot->ns,
			                      leaf_registers_find(&search->profile->leaf_registers,
			                                          spot->module, spot->address),
			                      leaf_registers_other(&search->profile->leaf_registers,
			                                           spot->module, spot->address) };
	}
	if (!loops_find(code, samples, function->count, vector_bytes(), found))
		return;
	// Why a loop takes long, which its kind does not say.
	for (size_t i = 0; i < function->count; i++)
		if (!was_asked(found, i))
			mark_subnormal(search, function, code, found, i);
	for (size_t i = 0; i < function->count; i++)
		if (found[i].fact.kind != LOOP_NONE &&
		    (found[i].fact.measured || is_open(search->profile, &function->spots[i])))
			mark_loop(search, function, found, i);
}

// The kinds are found while the module's file is open: what is hot in one is looked at there.
static void look_at(struct search *search, struct function *function,
                    const struct function_starts *starts)
{
	if (function->ns < search->least_ns)
		return;
	struct bytes code = function_starts_code(starts, function->start, LOOP_CODE_MAX);
	if (code.size > CODE_BYTES_MAX - search->code_bytes)
		return;
	search->code_bytes += code.size;
	find_kinds(search, function, code);
}

static void look_at_module(struct search *search, struct spot *spots, size_t count)
{
	const struct module *module = modules_get(search->profile->modules, spots[0].module);
	cleanup(function_starts) struct function_starts *starts =
		is_own(module) || is_small(module) ? function_starts_open(module) : NULL;
	struct function function = { 0 };

	for (size_t i = 0; starts && i < count; i++) {
		uint64_t start = function_starts_find(starts, spots[i].address);
		if (!function.count || start != function.start) {
			if (function.count && function.start)
				look_at(search, &function, starts);
			function = (struct function){ &spots[i], 0, start, 0 };
		}
		function.count++;
		function.ns += spots[i].ns;
	}
	if (starts && function.count && function.start)
		look_at(search, &function, starts);
}

// Those of the user's own modules, or those of all others.
static void look_at_modules(struct search *search, bool own)
{
	for (size_t first = 0, end; first < search->count; first = end) {
		uint32_t module = search->spots[first].module;
		uint64_t ns = 0;
		for (end = first; end < search->count && search->spots[end].module == module; end++)
			ns += search->spots[end].ns;
		if (ns >= search->least_ns &&
		    is_own(modules_get(search->profile->modules, module)) == own)
			look_at_module(search, search->spots + first, end - first);
	}
}

void profile_find_loops(struct profile *p, struct symbolizer *s)
{
	struct search search = { .profile = p, .symbolizer = s };

	if (!insn_decoder() || !collect_spots(&search)) {
		free(search.spots);
		return;
	}
	// The bytes of code that may be looked at are the user's own first.
	look_at_modules(&search, true);
	look_at_modules(&search, false);
	free(search.spots);
}
