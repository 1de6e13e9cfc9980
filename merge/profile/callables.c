// SPDX-License-Identifier: MIT
#include "merge/profile/callables.h"

#include "base/array.h"
#include "merge/profile/profile_data.h"
#include "symbolize/elf/function_start.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct callable *c)
{
	return hash_pair(c->offset, c->module);
}

void callables_fini(struct callables *c)
{
	free(c->all);
	free(c->moved);
	hash_fini(&c->index);
	*c = (struct callables){ 0 };
}

bool callables_add(struct callables *c, const struct callable *callable)
{
	if (!c->index.slots && !hash_init(&c->index, 256))
		return false;
	if (!hash_make_room(&c->index))
		return false;
	uint32_t at = hash_start(&c->index, hash_of(callable));
	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		struct callable *known = &c->all[c->index.slots[at] - 1];
		if (known->offset == callable->offset && known->module == callable->module) {
			known->name = callable->name;
			return true;
		}
	}
	if (c->count == CALLABLES_MAX || !array_reserve(&c->all, &c->capacity, c->count + 1))
		return c->count == CALLABLES_MAX;
	c->all[c->count++] = *callable;
	hash_insert(&c->index, at, hash_of(callable), c->count);
	return true;
}

// Names by address, of one module.

struct named {
	uint64_t address; // where the function begins
	uint32_t name;    // 0: it stands for several
	bool by_jump;     // it is jumped to by the one that has the name
	bool leads;       // and to others, too: it is only the way to what Python calls
};

// A function that has no name and what stands within it, put there in place of a call.
struct inlined {
	uint64_t address; // where the function begins
	uint32_t name;    // 0: nothing, or several
};

struct module_names {
	struct function_starts *starts;
	struct named *named; // sorted
	size_t count, capacity;
	bool checked;            // that nobody else jumps to what has a name by a jump
	struct inlined *inlined; // in the order in which they were asked for
	size_t inlined_count, inlined_capacity;
};

struct applying {
	struct profile *profile;
	const char *directory;        // where what takes time is kept; may be NULL
	struct module_names *modules; // [module id - 1]
	struct named **named;         // [location - 1]: the callable that it is in; NULL: none
	uint32_t *below;              // [node - 1]: see below_of()
};

static void applying_at_scope_end(struct applying *a)
{
	for (uint32_t i = 0; a->modules && i < modules_count(a->profile->modules); i++) {
		function_starts_close(a->modules[i].starts);
		free(a->modules[i].named);
		free(a->modules[i].inlined);
	}
	free(a->modules);
	free(a->named);
	free(a->below);
}

static int compare_named(const void *a, const void *b)
{
	const struct named *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->by_jump - right->by_jump; // its own name first
}

static bool is_native(const struct location *l)
{
	return l->kind == FRAME_EXACT || l->kind == FRAME_RETURN ||
	       l->kind == FRAME_INTERPRETER_EXACT || l->kind == FRAME_INTERPRETER_RETURN;
}

// Only files that samples have met are opened.
static bool *find_met(const struct profile *p)
{
	bool *met = calloc((size_t)modules_count(p->modules) + 1, sizeof(*met));

	for (uint32_t i = 0; met && i < p->locations.count; i++)
		if (is_native(&p->locations.locations[i]))
			met[p->locations.locations[i].module] = true;
	return met;
}

static bool add_named(struct applying *a, const struct callable *callable)
{
	struct module_names *m = &a->modules[callable->module - 1];

	if (!m->starts) {
		m->starts =
			function_starts_open(modules_get(a->profile->modules, callable->module));
		if (m->starts)
			function_starts_keep_in(m->starts, a->directory);
	}
	uint64_t address = m->starts ? function_starts_address(m->starts, callable->offset) : 0;
	if (!address)
		return true;
	if (!array_reserve(&m->named, &m->capacity, m->count + 1))
		return false;
	m->named[m->count++] = (struct named){ address, callable->name, false, false };
	return true;
}

// A function that ends with a jump to another is not in the stack any more: that other one stands
// for it, if it does so for no other.
struct jumping {
	struct module_names *module;
	uint32_t name;
	bool no_memory;
};

static bool add_jump(void *context, uint64_t to)
{
	struct jumping *j = context;
	struct module_names *m = j->module;

	if (!array_reserve(&m->named, &m->capacity, m->count + 1)) {
		j->no_memory = true;
		return false;
	}
	m->named[m->count++] = (struct named){ to, j->name, true, false };
	return true;
}

static bool add_jumps(struct module_names *m)
{
	struct jumping jumping = { .module = m };
	size_t count = m->count;

	for (size_t i = 0; i < count && !jumping.no_memory; i++) {
		jumping.name = m->named[i].name;
		function_starts_jumps(m->starts, m->named[i].address, add_jump, &jumping);
	}
	return !jumping.no_memory;
}

// One entry for each address: its own name, or that of the only function that jumps there.
static void make_unique(struct module_names *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct named *last = kept ? &m->named[kept - 1] : NULL;
		if (!last || last->address != m->named[i].address)
			m->named[kept++] = m->named[i];
		else if (last->by_jump && last->name != m->named[i].name)
			last->name = 0;
	}
	m->count = kept;
}

static bool finish_names(struct module_names *m)
{
	if (!m->count)
		return true;
	if (!add_jumps(m))
		return false;
	qsort(m->named, m->count, sizeof(*m->named), compare_named);
	make_unique(m);
	return true;
}

static bool sort_names(struct applying *a)
{
	const struct callables *c = &a->profile->callables;
	cleanup_free bool *met = find_met(a->profile);

	if (!met)
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->all[i].name && c->all[i].module &&
		    c->all[i].module <= modules_count(a->profile->modules) &&
		    met[c->all[i].module] && !add_named(a, &c->all[i]))
			return false;
	for (uint32_t i = 0; i < modules_count(a->profile->modules); i++)
		if (!finish_names(&a->modules[i]))
			return false;
	return true;
}

static struct named *find_named(const struct module_names *m, uint64_t address)
{
	size_t at = array_search(m->count, i, m->named[i].address < address);

	return at < m->count && m->named[at].address == address ? &m->named[at] : NULL;
}

static struct named *named_of(const struct applying *a, const struct location *l)
{
	const struct module_names *m = l->module ? &a->modules[l->module - 1] : NULL;
	const struct frame frame = { l->address, l->module, l->kind };

	if (!is_native(l) || !m || !m->count)
		return NULL;
	struct named *found =
		find_named(m, function_starts_find(m->starts, frame_lookup_address(frame)));
	return found && found->name ? found : NULL;
}

// Functions that Python calls by no name, as of types, may jump to where one with a name does.
static void drop_shared(void *context, uint64_t start, uint64_t to)
{
	const struct module_names *m = context;
	struct named *named = find_named(m, to);

	if (!named || to == start)
		return;
	const struct named *from = find_named(m, start);
	// What is exported is there for C: Python calls what stands in its types.
	if (from ? from->name != named->name : !function_starts_exported(m->starts, start))
		named->name = 0;
}

static bool drop_all_shared(struct module_names *m)
{
	cleanup_free uint64_t *wanted = calloc(m->count + 1, sizeof(*wanted));
	size_t count = 0;

	if (!wanted)
		return false;
	for (size_t i = 0; i < m->count; i++)
		if (m->named[i].by_jump && m->named[i].name)
			wanted[count++] = m->named[i].address;
	function_starts_jumps_to(m->starts, wanted, count, drop_shared, m);
	m->checked = true;
	return true;
}

static bool prepare(struct applying *a)
{
	struct profile *p = a->profile;

	a->modules = calloc((size_t)modules_count(p->modules) + 1, sizeof(*a->modules));
	a->named = calloc((size_t)p->locations.count + 1, sizeof(struct named *));
	a->below = calloc((size_t)p->paths.count + 1, sizeof(*a->below));
	if (!a->modules || !a->named || !a->below || !sort_names(a))
		return false;
	for (uint32_t i = 0; i < p->locations.count; i++)
		a->named[i] = named_of(a, &p->locations.locations[i]);
	return true;
}

static uint8_t kind_as(uint8_t kind, uint8_t exact, uint8_t returning)
{
	return kind == FRAME_EXACT || kind == FRAME_INTERPRETER_EXACT ? exact : returning;
}

static bool is_named_otherwise(const struct profile *p, uint32_t id, uint32_t name)
{
	const struct location *l = locations_get(&p->locations, id);
	const struct place *places = locations_places(&p->locations, l);

	return name && (!l->place_count || places[l->place_count - 1].function != name);
}

// A location like that of NODE, of another KIND, with the places [first, count) of it.
static bool move(struct applying *a, uint32_t node, uint8_t kind, uint32_t first, uint32_t name)
{
	struct profile *p = a->profile;
	struct callables *c = &p->callables;
	uint32_t old = paths_node(&p->paths, node)->location;
	struct location from = *locations_get(&p->locations, old);
	uint32_t count = from.place_count > first ? from.place_count - first : 0;
	cleanup_free struct place *places = calloc((size_t)count + 1, sizeof(*places));
	uint32_t known = p->locations.count;
	uint32_t id =
		locations_add(&p->locations, (struct frame){ from.address, from.module, kind });

	if (!id || !places || !array_reserve(&c->moved, &c->moved_capacity, c->moved_count + 1))
		return false;
	for (uint32_t i = 0; i < count; i++)
		places[i] = locations_places(&p->locations, &from)[first + i];
	if (name) {
		count = count ? count : 1;
		places[count - 1].function = name;
	}
	if ((id > known || is_named_otherwise(p, id, name)) &&
	    !locations_name(&p->locations, id, places, count))
		return false;
	c->moved[c->moved_count++] = (struct moved_node){ node, old };
	p->paths.nodes[node - 1].location = id;
	return true;
}

#define OUTSIDE 0          // no Python function is above it
#define PYTHON  UINT32_MAX // one is, and has called nothing yet; else the module that was called

static bool is_hidden_kind(uint8_t kind)
{
	return kind == FRAME_INTERPRETER_EXACT || kind == FRAME_INTERPRETER_RETURN;
}

static bool has_lines(const struct profile *p, const struct location *l)
{
	return l->place_count && locations_places(&p->locations, l)[l->place_count - 1].file;
}

// Of the interpreter's own only the function itself is shown, not what is inlined there.
static bool name_node(struct applying *a, uint32_t node, const struct location *l, uint32_t name)
{
	uint32_t first = is_hidden_kind(l->kind) && l->place_count ? l->place_count - 1u : 0;

	return move(a, node, kind_as(l->kind, FRAME_CALLED_EXACT, FRAME_CALLED_RETURN), first,
	            name);
}

#define CALL       0xe8 // call rel32
#define CALL_BYTES 5

// What the call that returns to L has called, without a pointer; 0: it is no such call.
static uint64_t called_from(const struct applying *a, const struct location *l)
{
	if (!is_native(l) || !l->module || !a->modules[l->module - 1].starts)
		return 0;
	const struct function_starts *starts = a->modules[l->module - 1].starts;
	uint64_t start = function_starts_find(starts, l->address - 1);
	struct bytes code = function_starts_code(starts, start, SIZE_MAX);
	uint64_t end = l->address - start;
	int32_t distance;
	if (!start || end < CALL_BYTES || end > code.size || code.data[end - CALL_BYTES] != CALL)
		return 0;
	memcpy(&distance, code.data + end - sizeof(distance), sizeof(distance));
	return l->address + (uint64_t)(int64_t)distance;
}

// Whether the frame above NODE calls the function that begins at ADDRESS itself: nobody has jumped
// there then. Python's functions are called by pointers.
static bool is_called_itself(const struct applying *a, uint32_t node, uint64_t address)
{
	const struct profile *p = a->profile;
	uint32_t caller = paths_node(&p->paths, node)->parent;

	return caller && paths_node(&p->paths, caller)->parent &&
	       called_from(a, locations_get(&p->locations,
	                                    paths_node(&p->paths, caller)->location)) == address;
}

struct comparing {
	const struct module_names *module;
	uint32_t name;
	bool several;
};

static bool add_compared(void *context, uint64_t with)
{
	struct comparing *c = context;
	const struct named *named = find_named(c->module, with);

	if (!named || named->by_jump || !named->name)
		return true;
	c->several |= c->name && c->name != named->name;
	c->name = named->name;
	return !c->several;
}

// Of what Python calls by pointers, the function that stands within the one at START; 0: none that
// is known, or no memory.
static uint32_t find_inlined(struct module_names *m, uint64_t start)
{
	struct comparing c = { .module = m };

	for (size_t i = 0; i < m->inlined_count; i++)
		if (m->inlined[i].address == start)
			return m->inlined[i].name;
	function_starts_compares(m->starts, start, add_compared, &c);
	if (!array_reserve(&m->inlined, &m->inlined_capacity, m->inlined_count + 1))
		return 0;
	m->inlined[m->inlined_count++] = (struct inlined){ start, c.several ? 0 : c.name };
	return m->inlined[m->inlined_count - 1].name;
}

// The name of what stands within a function of the interpreter, at L, that has none: what calls
// something there that has no name either, without a pointer, is a part of that.
static uint32_t name_within(const struct applying *a, const struct location *l)
{
	bool returns = l->kind == FRAME_RETURN || l->kind == FRAME_INTERPRETER_RETURN;
	struct module_names *m = l->module ? &a->modules[l->module - 1] : NULL;
	uint64_t to = returns && m && m->count ? called_from(a, l) : 0;

	if (!to || function_starts_find(m->starts, to) != to || find_named(m, to))
		return 0;
	return find_inlined(m, function_starts_find(m->starts, l->address - 1));
}

// The interpreter calls these for its operators, by a table of pointers; those of the module
// operator jump to them.
static bool is_operator(const struct profile *p, const struct location *l)
{
	const struct place *places = locations_places(&p->locations, l);
	const char *name =
		l->place_count ? profile_string(p, places[l->place_count - 1].function) : NULL;

	return name && strncmp(name, "PyNumber_", strlen("PyNumber_")) == 0;
}

// Whether Python's name for NAMED is that of NODE, which Python has called. Only there is a name by
// a jump made sure of: to look through a library takes milliseconds.
static bool find_for_sure(struct applying *a, uint32_t node, const struct location *l,
                          const struct named *named, bool *sure)
{
	struct module_names *m = &a->modules[l->module - 1];

	*sure = !named->leads && !(named->by_jump && (is_operator(a->profile, l) ||
	                                              is_called_itself(a, node, named->address)));
	if (*sure && named->by_jump && !m->checked && !drop_all_shared(m))
		return false;
	*sure = *sure && named->name;
	return true;
}

static bool visit(struct applying *a, uint32_t node)
{
	struct profile *p = a->profile;
	const struct path_node *at = paths_node(&p->paths, node);
	uint32_t above = at->parent ? a->below[at->parent - 1] : OUTSIDE;

	a->below[node - 1] = above;
	if (!at->parent)
		return true;
	struct location l = *locations_get(&p->locations, at->location);
	if (l.kind == FRAME_PYTHON)
		a->below[node - 1] = PYTHON;
	if (!is_native(&l) || above == OUTSIDE)
		return true;
	const struct named *named = a->named[at->location - 1];
	bool sure = false;
	if (above == PYTHON && named && !find_for_sure(a, node, &l, named, &sure))
		return false;
	uint32_t name = sure ? named->name : above == PYTHON && !named ? name_within(a, &l) : 0;
	if (name) {
		a->below[node - 1] = l.module;
		return name_node(a, node, &l, name);
	}
	if (above == l.module && !is_hidden_kind(l.kind) && !has_lines(p, &l))
		return move(a, node,
		            kind_as(l.kind, FRAME_INTERPRETER_EXACT, FRAME_INTERPRETER_RETURN), 0,
		            0);
	return true;
}

static struct named *named_at(const struct applying *a, uint32_t node)
{
	const struct path_node *at = paths_node(&a->profile->paths, node);

	return at->parent ? a->named[at->location - 1] : NULL;
}

static bool is_python(const struct applying *a, uint32_t node)
{
	const struct path_node *at = paths_node(&a->profile->paths, node);

	return !at->parent ||
	       locations_get(&a->profile->locations, at->location)->kind == FRAME_PYTHON;
}

// Functions that call whatever they are asked to are jumped to as well. What stands above a
// function that has a name of its own is one of those.
static void find_leading(struct applying *a)
{
	const struct paths *paths = &a->profile->paths;

	for (uint32_t node = 1; node <= paths->count; node++) {
		const struct named *named = named_at(a, node);
		if (!named || named->by_jump)
			continue;
		uint32_t above = paths_node(paths, node)->parent;
		for (; above && !is_python(a, above); above = paths_node(paths, above)->parent) {
			struct named *other = named_at(a, above);
			if (other && !other->by_jump)
				break;
			if (other)
				other->leads = true;
		}
	}
}

bool callables_apply(struct profile *p, const char *directory)
{
	cleanup(applying) struct applying a = { .profile = p, .directory = directory };

	callables_undo(p);
	if (!p->callables.count)
		return true;
	if (!prepare(&a))
		return false;
	find_leading(&a);
	// Callers come before those that they call.
	for (uint32_t node = 1; node <= p->paths.count; node++)
		if (!visit(&a, node))
			return false;
	return true;
}

void callables_undo(struct profile *p)
{
	struct callables *c = &p->callables;

	for (size_t i = 0; i < c->moved_count; i++)
		p->paths.nodes[c->moved[i].node - 1].location = c->moved[i].location;
	c->moved_count = 0;
}
