// SPDX-License-Identifier: MIT
#include "merge/query/op_callers.h"

#include "base/array.h"
#include "base/path.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/own_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE  4096
#define FRAMES_MAX 64

// Functions that only stand between the code that begins an op and the one that sees it.
static bool is_machinery(const char *function)
{
	static const char *const beginnings[] = { "nvtx",
		                                  "__itt_",
		                                  "at::RecordFunction",
		                                  "bottleneck_range_",
		                                  "bottleneck_mark_step",
		                                  "bottleneck::range::" };

	for (size_t i = 0; function && i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

// Index of the first place of LOCATION that is the program's own.
static uint32_t first_place(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);
	uint32_t i = 0;

	while (i + 1 < location->place_count && is_machinery(profile_string(p, places[i].function)))
		i++;
	return i;
}

const struct place *op_caller_place(const struct profile *p, uint32_t caller)
{
	const struct location *location = caller ? profile_location(p, caller) : NULL;

	if (!location || !location->place_count)
		return NULL;
	return &profile_places(p, location)[first_place(p, location)];
}

// Collections of garbage have a line of Python, or none at all.
static bool is_interpreters(const struct profile *p, const struct op_key *key)
{
	const struct op *op = profile_op(p, key->op);

	return key->caller && op && op->provider == OP_PYTHON &&
	       profile_location(p, key->caller)->kind != FRAME_PYTHON;
}

uint32_t op_caller_of(const struct profile *p, const struct op_key *key)
{
	return is_interpreters(p, key) ? 0 : key->caller;
}

bool op_caller_is_own(const struct profile *p, uint32_t caller)
{
	const struct place *place = op_caller_place(p, caller);

	return place && profile_string(p, place->file) &&
	       !place_is_foreign(p, profile_location(p, caller), place);
}

uint32_t op_chain_own(const struct profile *p, uint32_t chain)
{
	for (uint32_t node = chain; node; node = profile_chain_caller(p, node))
		if (op_caller_is_own(p, profile_chain_location(p, node)))
			return profile_chain_location(p, node);
	return chain ? profile_chain_location(p, chain) : 0;
}

uint32_t op_module_next(const struct profile *p, uint32_t node)
{
	while (node && profile_location(p, profile_chain_location(p, node))->kind != FRAME_MODULE)
		node = profile_chain_caller(p, node);
	return node;
}

const char *op_module_name(const struct profile *p, uint32_t node)
{
	const struct place *place = op_caller_place(p, profile_chain_location(p, node));
	const char *name = place ? profile_string(p, place->function) : NULL;

	return name ? name : "?";
}

// The function that stands at LOCATION, whatever is inlined there: a string, or 0.
static uint32_t outermost_function(const struct profile *p, const struct location *location)
{
	if (!location->place_count)
		return 0;
	return profile_places(p, location)[location->place_count - 1].function;
}

// A text that is cut where it does not fit.
struct text {
	char bytes[TEXT_SIZE];
	size_t used;
	uint32_t frames_left;
};

static void put(struct text *t, const char *bytes)
{
	size_t length = strlen(bytes), room = sizeof(t->bytes) - 1 - t->used;

	length = length < room ? length : room;
	memcpy(t->bytes + t->used, bytes, length);
	t->used += length;
	t->bytes[t->used] = '\0';
}

static void put_place(struct text *t, const struct profile *p, const struct place *place)
{
	const char *function = profile_string(p, place->function);
	const char *file = profile_string(p, place->file);
	char line[16];

	put(t, function ? function : "?");
	if (!file)
		return;
	snprintf(line, sizeof(line), ":%u)", place->line);
	put(t, " (");
	put(t, path_base(file));
	put(t, place->line ? line : ")");
}

static void begin_frame(struct text *t, const char *joint)
{
	t->frames_left--;
	if (t->used)
		put(t, joint);
}

static void put_nameless(struct text *t, const struct profile *p, const struct location *location)
{
	const struct module *module = profile_module(p, location->module);

	if (!module) {
		put(t, "?");
		return;
	}
	put(t, "[");
	put(t, path_base(module->path));
	put(t, "]");
}

// The frames at LOCATION from place FIRST on, innermost first, as far as they are wanted.
static void put_location(struct text *t, const struct profile *p, const struct location *location,
                         uint32_t first, const char *joint)
{
	const struct place *places = profile_places(p, location);

	if (!location->place_count && t->frames_left) {
		begin_frame(t, joint);
		put_nameless(t, p, location);
	}
	for (uint32_t i = first; i < location->place_count && t->frames_left; i++) {
		begin_frame(t, i == first ? joint : " < ");
		put_place(t, p, &places[i]);
	}
}

static const struct location *location_of(const struct profile *p, uint32_t node)
{
	const struct path_node *path = profile_node(p, node);

	return path->parent ? profile_location(p, path->location) : NULL;
}

// Code from NODE up; what is no code has no name here.
static void put_callers(struct text *t, const struct profile *p, uint32_t node, const char *joint)
{
	for (const struct location *at; t->frames_left && (at = location_of(p, node));
	     node = profile_node(p, node)->parent) {
		if (at->kind == FRAME_OP || at->kind == FRAME_MARK)
			continue;
		put_location(t, p, at, 0, joint);
		joint = " < ";
	}
}

static uint32_t keep(const struct op_callers *c, const struct text *t)
{
	return strings_add_bytes(c->texts, t->bytes, t->used);
}

// Of the threads that were asked for, with all below.
static uint64_t *weigh_nodes(const struct scope *scope)
{
	const struct paths *paths = profile_paths(scope->profile);
	uint64_t *ns = calloc((size_t)paths->count + 1, sizeof(*ns));

	for (uint32_t id = paths->count; ns && id > 0; id--) {
		const struct path_node *node = paths_node(paths, id);
		for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++)
			ns[id - 1] += scope_ns(scope, &scope->table->cells[scope->cells[i]]);
		if (node->parent)
			ns[node->parent - 1] += ns[id - 1];
		else if (!scope->threads[node->location - 1])
			ns[id - 1] = 0;
	}
	// Below a root that was not asked for nothing weighs anything.
	for (uint32_t id = 1; ns && id <= paths->count; id++) {
		uint32_t parent = paths_node(paths, id)->parent;
		if (parent && !ns[parent - 1])
			ns[id - 1] = 0;
	}
	return ns;
}

// The function above the op at NODE, and above other ops that it has begun; 0: none.
static uint32_t owner_of(const struct profile *p, uint32_t node)
{
	const struct location *at;

	do
		node = profile_node(p, node)->parent;
	while ((at = location_of(p, node)) && at->kind == FRAME_OP);
	return at ? node : 0;
}

static bool add_caller(struct op_callers *c, uint32_t node, uint32_t op, uint64_t ns)
{
	const struct profile *p = c->scope->profile;
	struct text text = { .frames_left = c->frames - 1 };
	uint32_t owner = owner_of(p, node);

	if (!owner)
		return true;
	put_callers(&text, p, profile_node(p, owner)->parent, " < ");
	struct op_caller caller = {
		.op = op,
		.function = outermost_function(p, location_of(p, owner)),
		.chain = keep(c, &text),
		.node = profile_node(p, owner)->parent,
		.ns = ns,
	};
	if (!caller.chain || !array_reserve(&c->callers, &c->capacity, c->count + 1))
		return false;
	c->callers[c->count++] = caller;
	return true;
}

static int compare_function(const struct op_caller *a, const struct op_caller *b)
{
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static int by_chain(const void *a, const void *b)
{
	const struct op_caller *left = a, *right = b;
	int order = compare_function(left, right);

	return order ? order : (left->chain > right->chain) - (left->chain < right->chain);
}

static int by_time(const void *a, const void *b)
{
	const struct op_caller *left = a, *right = b;
	int order = compare_function(left, right);

	if (order || left->ns == right->ns)
		return order ? order : (left->chain > right->chain) - (left->chain < right->chain);
	return left->ns < right->ns ? 1 : -1;
}

// Those of one chain are one.
static void merge_chains(struct op_callers *c)
{
	size_t kept = 0;

	qsort(c->callers, c->count, sizeof(*c->callers), by_chain);
	for (size_t i = 0; i < c->count; i++) {
		if (kept && by_chain(&c->callers[kept - 1], &c->callers[i]) == 0)
			c->callers[kept - 1].ns += c->callers[i].ns;
		else
			c->callers[kept++] = c->callers[i];
	}
	c->count = kept;
	qsort(c->callers, c->count, sizeof(*c->callers), by_time);
}

bool op_callers_init(struct op_callers *c, const struct scope *scope, struct strings *texts,
                     uint32_t frames)
{
	const struct profile *p = scope->profile;
	uint32_t wanted = frames < 1 ? 1 : frames < FRAMES_MAX ? frames : FRAMES_MAX;

	*c = (struct op_callers){ .scope = scope, .texts = texts, .frames = wanted };
	if (wanted == 1)
		return true;
	cleanup_free uint64_t *ns = weigh_nodes(scope);
	bool ok = ns != NULL;
	for (uint32_t node = 1; ok && node <= profile_paths(p)->count; node++) {
		const struct location *at = location_of(p, node);
		if (at && at->kind == FRAME_OP && ns[node - 1])
			ok = add_caller(c, node, (uint32_t)at->address, ns[node - 1]);
	}
	if (ok && c->count)
		merge_chains(c);
	if (!ok)
		op_callers_fini(c);
	return ok;
}

void op_callers_fini(struct op_callers *c)
{
	free(c->callers);
	*c = (struct op_callers){ 0 };
}

// The first of OP's callers of FUNCTION's; NULL: none was sampled.
static const struct op_caller *find_caller(const struct op_callers *c, uint32_t op,
                                           uint32_t function)
{
	struct op_caller wanted = { .op = op, .function = function };
	size_t at = array_search(c->count, i, compare_function(&c->callers[i], &wanted) < 0);

	if (at == c->count || compare_function(&c->callers[at], &wanted) != 0)
		return NULL;
	return &c->callers[at];
}

static bool has_others(const struct op_callers *c, const struct op_caller *caller)
{
	return caller + 1 < c->callers + c->count && compare_function(caller, caller + 1) == 0;
}

static void put_unknown(struct text *t, const struct profile *p, const struct op_key *key)
{
	put(t, is_interpreters(p, key) ? "[the interpreter itself]" : "?");
}

uint32_t op_callers_text(const struct op_callers *c, const struct op_key *key)
{
	const struct profile *p = c->scope->profile;
	struct text text = { .frames_left = c->frames };
	uint32_t caller = op_caller_of(p, key);

	if (!caller) {
		put_unknown(&text, p, key);
		return keep(c, &text);
	}
	const struct location *location = profile_location(p, caller);
	put_location(&text, p, location, first_place(p, location), " < ");
	if (text.frames_left) {
		const struct op_caller *callers =
			find_caller(c, key->op, outermost_function(p, location));
		if (callers)
			put_callers(&text, p, callers->node,
			            has_others(c, callers) ? " < ~" : " < ");
		else
			put(&text, " < ?");
	}
	return keep(c, &text);
}

static uint32_t keep_of_pass(const struct op_callers *c, const struct text *text, bool forward)
{
	struct text backward = { .frames_left = 0 };

	if (!forward)
		return keep(c, text);
	put(&backward, "backward of ");
	put(&backward, text->bytes);
	return keep(c, &backward);
}

uint32_t op_callers_line_text(const struct op_callers *c, const struct op_key *key, uint32_t caller,
                              bool forward)
{
	const struct profile *p = c->scope->profile;
	const struct location *location = caller ? profile_location(p, caller) : NULL;
	struct text text = { .frames_left = 1 };

	if (location)
		put_location(&text, p, location, first_place(p, location), "");
	else
		put_unknown(&text, p, key);
	return keep_of_pass(c, &text, forward);
}

uint32_t op_callers_chain_text(const struct op_callers *c, uint32_t chain, bool forward)
{
	const struct profile *p = c->scope->profile;
	struct text text = { .frames_left = c->frames };

	for (uint32_t node = chain; node && text.frames_left;
	     node = profile_chain_caller(p, node)) {
		const struct location *location =
			profile_location(p, profile_chain_location(p, node));
		if (location->kind != FRAME_MODULE)
			put_location(&text, p, location, 0, " < ");
	}
	return keep_of_pass(c, &text, forward);
}
