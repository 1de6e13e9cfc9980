// SPDX-License-Identifier: MIT
#include "cli/report/place.h"

#include "base/cleanup.h"
#include "base/known_calls.h"
#include "base/origin.h"
#include "base/strings.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX    1024
#define DIRECT_MAX   256
#define PASSED_SHARE 0.99 // of a function's time, which it leaves to one that it calls
#define SUMS_MAX     256 // of functions of the user's own: what a tree leaves out is less than that

// One node of the user's code may stand above FUNCTION on many paths: the best single one is a
// fair answer, because children are merged by function.
struct search {
	const char *function;
	struct place_call best;
	const char *caller; // NULL: any; else what is found below it is summed
	uint64_t sum;
};

// What Python calls by a name of its own is a library's, even where the program is the interpreter.
static bool is_own(const struct call_node *node)
{
	return !node->called && !origin_is_foreign(node->module, node->file);
}

// Code without a name says less than the name of the library function that it calls.
static const struct call_node *better(const struct call_node *own, const struct call_node *node)
{
	bool named = node->name[0] != '[' && !node->kernel;

	if (is_own(node))
		return node;
	return own && own->name[0] == '[' && named ? node : own;
}

static void look_at(struct search *s, const struct call_node *node, const struct call_node *own,
                    const struct call_node *entry)
{
	const struct call_node *called = entry ? entry : node;

	if (strcmp(node->name, s->function) != 0)
		return;
	if (s->caller)
		s->sum += strcmp(own->name, s->caller) == 0 ? node->self : 0;
	else if (node->self > s->best.self)
		s->best = (struct place_call){ own, entry, called->call_line, node->self };
}

// OWN has called ENTRY, below which NODE is; ENTRY is NULL where OWN has called NODE itself.
static void search_below(struct search *s, const struct call_node *node,
                         const struct call_node *own, const struct call_node *entry, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		// A part of FUNCTION may be inlined into the rest, which is no caller of it.
		bool itself = strcmp(node->name, s->function) == 0 && !is_own(node);
		const struct call_node *inner = itself ? own : better(own, node);
		if (own)
			look_at(s, node, own, entry);
		search_below(s, node->child, inner,
		             inner == node                 ? NULL
		             : entry                       ? entry
		             : known_passes_on(node->name) ? NULL
		                                           : node,
		             depth + 1);
	}
}

struct place_call place_caller(const struct call_tree *tree, const char *function)
{
	const struct call_node *first = call_tree_root(tree)->child;
	struct search search = { .function = function };

	search_below(&search, first, NULL, NULL, 0);
	if (!search.best.caller)
		return search.best;
	search.caller = search.best.caller->name;
	search_below(&search, first, NULL, NULL, 0);
	search.best.self = search.sum;
	return search.best;
}

struct direct {
	const char *function;
	struct place_direct callers[DIRECT_MAX];
	size_t count;
};

static void add_direct(struct direct *d, const struct call_node *caller, uint64_t self)
{
	size_t i = 0;

	while (i < d->count && strcmp(d->callers[i].caller->name, caller->name) != 0)
		i++;
	if (i == DIRECT_MAX)
		return;
	d->count += i == d->count;
	if (!d->callers[i].caller)
		d->callers[i].caller = caller;
	d->callers[i].self += self;
}

static struct place_direct busiest_of(const struct direct *d)
{
	struct place_direct most = { 0 };
	uint64_t all = 0;

	for (size_t i = 0; i < d->count; i++) {
		all += d->callers[i].self;
		if (d->callers[i].self > most.self)
			most = d->callers[i];
	}
	most.all = all;
	return most;
}

// FROM has called CALLER, or is it: a function that calls itself is no caller of its own.
static void direct_below(struct direct *d, const struct call_node *caller,
                         const struct call_node *from, int depth)
{
	for (const struct call_node *c = caller->child; c && depth < DEPTH_MAX; c = c->next) {
		bool itself = strcmp(c->name, d->function) == 0;
		if (itself && from)
			add_direct(d, from, c->self);
		direct_below(d, c, itself ? from : c, depth + 1);
	}
}

struct place_direct place_direct_caller(const struct call_tree *tree, const char *function)
{
	struct direct direct = { .function = function };

	direct_below(&direct, call_tree_root(tree), NULL, 0);
	return busiest_of(&direct);
}

static bool is_jit(const struct call_node *node)
{
	return known_passes_on(node->name) || strcmp(node->name, "[jit]") == 0;
}

static void called_below(struct direct *d, const struct call_node *node, int depth)
{
	for (const struct call_node *c = node->child; c && depth < DEPTH_MAX; c = c->next) {
		if (is_jit(node) && !is_jit(c) && c->name[0] != '[')
			add_direct(d, c, c->total);
		called_below(d, c, depth + 1);
	}
}

struct place_direct place_called_by_jit(const struct call_tree *tree)
{
	struct direct direct = { .function = NULL };

	called_below(&direct, call_tree_root(tree), 0);
	return busiest_of(&direct);
}

// What the C library begins every program and thread with tells nothing of what they do.
static bool tells(const struct call_node *node)
{
	return node->name[0] != '[' && !node->kernel && !node->op &&
	       !origin_is_libc(node->module) && strcmp(node->name, "main") != 0 &&
	       strcmp(node->name, "_start") != 0;
}

static void named_below(struct direct *d, const struct call_node *node, const char *module,
                        const struct call_node *named, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		bool wanted = strcmp(node->name, d->function) == 0 && node->module &&
		              strcmp(node->module, module) == 0;
		if (wanted && named)
			add_direct(d, named, node->self);
		named_below(d, node->child, module, tells(node) ? node : named, depth + 1);
	}
}

struct place_direct place_named_above(const struct call_tree *tree, const char *name,
                                      const char *module)
{
	struct direct direct = { .function = name };

	named_below(&direct, call_tree_root(tree)->child, module, NULL, 0);
	return busiest_of(&direct);
}

static bool is_code(const struct call_node *node)
{
	return node->name[0] != '[' || node->module || strcmp(node->name, "[jit]") == 0;
}

// What is compiled at run time is no library: one of its functions may be the user's, another a
// library's. What still interprets others has no name that says whom.
static bool interprets(const struct call_node *node)
{
	return origin_is_jit(node->module) && strcmp(node->name, "Interpreter") == 0;
}

// OUTER is of another library.
static void outer_above(struct direct *d, const struct call_node *node, const char *module,
                        const struct call_node *outer, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		bool same = node->module && strings_same(node->module, module) &&
		            (!origin_is_jit(module) || strcmp(node->name, d->function) == 0);
		// Python's importlib and runpy hand calls on.
		bool passes = node->file && strncmp(node->file, "<frozen ", 8) == 0;
		bool within =
			node->kernel || node->op || origin_is_libc(node->module) || same || passes;
		if (outer && is_code(outer) && strcmp(node->name, d->function) == 0 &&
		    strings_same(node->module, module))
			add_direct(d, outer, node->self);
		outer_above(d, node->child, module,
		            within             ? outer
		            : interprets(node) ? NULL
		                               : node,
		            depth + 1);
	}
}

struct place_direct place_outer_caller(const struct call_tree *tree, const char *name,
                                       const char *module)
{
	struct direct direct = { .function = name };

	outer_above(&direct, call_tree_root(tree)->child, module, NULL, 0);
	return busiest_of(&direct);
}

struct sums {
	struct place_sum sums[SUMS_MAX];
	size_t count;
};

// SUMS_MAX if there is no room for it.
static size_t sum_of(struct sums *sums, const struct call_node *own)
{
	size_t i = 0;

	while (i < sums->count && (strcmp(sums->sums[i].own->name, own->name) != 0 ||
	                           !strings_same(sums->sums[i].own->file, own->file) ||
	                           !strings_same(sums->sums[i].own->module, own->module)))
		i++;
	if (i == sums->count && i < SUMS_MAX)
		sums->sums[sums->count++].own = own;
	return i;
}

// NODE is a function that was written within OWN, which hands it to a library, as to sort by it:
// "main.rank.func1", "app::rank::{{closure}}", "rank(std::vector<int>&)::{lambda(int, int)#1}".
static bool is_within(const struct call_node *node, const struct call_node *own)
{
	static const char *const marks[] = { "::{{closure}}", "::{closure", "::{lambda(" };
	size_t length = own ? strlen(own->name) : 0;

	if (!length || strncmp(node->name, own->name, length) != 0 ||
	    !strings_same(node->module, own->module))
		return false;
	const char *rest = node->name + length;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strncmp(rest, marks[i], strlen(marks[i])) == 0)
			return true;
	return strncmp(rest, ".func", 5) == 0 && isdigit((unsigned char)rest[5]);
}

static bool is_anothers(const struct call_node *node, const struct call_node *own)
{
	return is_own(node) && !is_within(node, own);
}

static uint64_t below_own(const struct call_node *node, const struct call_node *own, int depth)
{
	uint64_t sum = node->self;

	for (const struct call_node *c = node->child; c && depth < DEPTH_MAX; c = c->next)
		sum += is_anothers(c, own) ? 0 : below_own(c, own, depth + 1);
	return sum;
}

// What has been asked for where C was called: the heaviest of what that one has called, if it only
// passes calls on.
static const struct call_node *passed_on(const struct call_node *c)
{
	while (c->child && known_passes_on(c->name))
		c = c->child;
	return c;
}

// AROUND is the innermost function of the user's own that calls it; NULL: there is none.
static void sum_up(struct sums *sums, const struct call_node *node, const struct call_node *around,
                   int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		bool own = is_anothers(node, around);
		size_t at = own && node->name[0] != '[' ? sum_of(sums, node) : SUMS_MAX;
		struct place_sum *sum = at < SUMS_MAX ? &sums->sums[at] : NULL;
		if (sum && node->total > sum->own->total)
			sum->own = node;
		if (sum)
			sum->self += node->self;
		for (const struct call_node *c = node->child; sum && c; c = c->next) {
			uint64_t below = is_anothers(c, node) ? 0 : below_own(c, node, depth + 1);
			sum->below += below;
			if (below <= sum->entry_ns)
				continue;
			sum->entry_ns = below;
			sum->entry = passed_on(c);
		}
		sum_up(sums, node->child, own ? node : around, depth + 1);
	}
}

struct place_sum place_busiest(const struct call_tree *tree,
                               bool (*counts)(const struct place_sum *sum))
{
	cleanup_free struct sums *sums = calloc(1, sizeof(*sums));
	struct place_sum best = { 0 };

	if (!sums)
		return best;
	sum_up(sums, call_tree_root(tree)->child, NULL, 0);
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i].self + sums->sums[i].below > best.self + best.below &&
		    (!counts || counts(&sums->sums[i])))
			best = sums->sums[i];
	return best;
}

struct place_sum place_sum_of(const struct call_tree *tree, const struct call_node *own)
{
	cleanup_free struct sums *sums = calloc(1, sizeof(*sums));
	struct place_sum none = { 0 };

	if (!sums)
		return none;
	sum_up(sums, call_tree_root(tree)->child, NULL, 0);
	size_t count = sums->count, at = sum_of(sums, own);
	return at < count ? sums->sums[at] : none;
}

#define OPS_MAX 256 // that share a function's time: what is in rarer ones is not much of it

struct ops_of {
	struct place_op ops[OPS_MAX];
	size_t count;
};

static void add_to_op(struct ops_of *o, const char *op, uint64_t self)
{
	size_t i = 0;

	while (i < o->count && strcmp(o->ops[i].name, op) != 0)
		i++;
	if (!self || i == OPS_MAX)
		return;
	o->count += i == o->count;
	o->ops[i].name = op;
	o->ops[i].self += self;
}

static struct place_op most_of(const struct ops_of *o)
{
	struct place_op most = { 0 };

	for (size_t i = 0; i < o->count; i++)
		if (o->ops[i].self > most.self)
			most = o->ops[i];
	return most;
}

// OP is the innermost one around NODE; NULL: none is.
static void ops_around(struct ops_of *o, const struct call_node *node, const char *function,
                       const char *module, const char *op, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		bool wanted = !node->op && strcmp(node->name, function) == 0 &&
		              strings_same(node->module, module);
		if (wanted && op)
			add_to_op(o, op, node->self);
		ops_around(o, node->child, function, module, node->op ? node->name : op, depth + 1);
	}
}

struct place_op place_op_around(const struct call_tree *tree, const char *function,
                                const char *module)
{
	cleanup_free struct ops_of *ops = calloc(1, sizeof(*ops));

	if (!ops)
		return (struct place_op){ 0 };
	ops_around(ops, call_tree_root(tree)->child, function, module, NULL, 0);
	return most_of(ops);
}

struct below {
	struct ops_of ops;
	const struct call_node *own;
	bool (*counts)(const void *context, const char *op);
	const void *context;
};

static void ops_below(struct below *b, const struct call_node *node, bool within, const char *op,
                      int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		bool own = is_own(node) && node->name[0] != '[' &&
		           !(within && is_within(node, b->own));
		bool inside = within && !own;
		const char *inner = node->op && b->counts(b->context, node->name) ? node->name : op;
		if (own) {
			inner = NULL;
			inside = strcmp(node->name, b->own->name) == 0 &&
			         strings_same(node->file, b->own->file) &&
			         strings_same(node->module, b->own->module);
		} else if (inside && inner) {
			add_to_op(&b->ops, inner, node->self);
		}
		ops_below(b, node->child, inside, inner, depth + 1);
	}
}

struct place_op place_op_below(const struct call_tree *tree, const struct place_sum *sum,
                               bool (*counts)(const void *context, const char *op),
                               const void *context)
{
	cleanup_free struct below *b = calloc(1, sizeof(*b));

	if (!b)
		return (struct place_op){ 0 };
	b->own = sum->own;
	b->counts = counts;
	b->context = context;
	ops_below(b, call_tree_root(tree)->child, false, NULL, 0);
	return most_of(&b->ops);
}

// Who has called into a library, by functions of the library and of the user's own.
struct library_search {
	const char *module;
	bool asked; // what the C library and the kernel do for it counts
	uint64_t self;
	struct direct entries, owners;
	int lines[DIRECT_MAX]; // of each of OWNERS, of the call that has most of its time
	uint64_t most[DIRECT_MAX];
};

// Where a search is: below OWN, at whose LINE what follows is called, and below ENTRY.
struct library_path {
	const struct call_node *own, *entry;
	int line;
	bool inside; // the C library and the kernel are what it is in for the library
};

static void add_to_library(struct library_search *s, const struct library_path *path, uint64_t self)
{
	size_t i = 0;

	s->self += self;
	if (path->entry)
		add_direct(&s->entries, path->entry, self);
	if (!path->own || !self)
		return;
	add_direct(&s->owners, path->own, self);
	while (i < s->owners.count &&
	       strcmp(s->owners.callers[i].caller->name, path->own->name) != 0)
		i++;
	if (i == s->owners.count || self <= s->most[i])
		return;
	s->most[i] = self;
	s->lines[i] = path->line;
}

static void library_below(struct library_search *s, const struct call_node *node,
                          struct library_path path, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		struct library_path inner = path;
		bool within = !node->kernel && !node->op && strings_same(node->module, s->module);
		bool named = node->name[0] != '[';
		bool serves = node->kernel || node->op || origin_is_libc(node->module);
		if (path.own && !path.line)
			inner.line = node->call_line;
		if (within)
			inner.entry = path.entry || !named ? path.entry : node;
		else if (is_own(node) && named)
			inner = (struct library_path){ .own = node };
		else if (!serves)
			inner.entry = NULL;
		inner.inside = within || (serves && path.inside);
		if (within || (s->asked && inner.inside))
			add_to_library(s, &inner, node->self);
		library_below(s, node->child, inner, depth + 1);
	}
}

struct place_library place_library_of(const struct call_tree *tree, const char *module, bool asked)
{
	cleanup_free struct library_search *s = calloc(1, sizeof(*s));
	struct place_library library = { 0 };

	if (!s)
		return library;
	s->module = module;
	s->asked = asked;
	library_below(s, call_tree_root(tree)->child, (struct library_path){ 0 }, 0);
	struct place_direct entry = busiest_of(&s->entries), own = busiest_of(&s->owners);
	library = (struct place_library){ .entry = entry.caller,
		                          .own = own.caller,
		                          .self = s->self,
		                          .entry_ns = entry.self,
		                          .own_ns = own.self };
	for (size_t i = 0; own.caller && i < s->owners.count; i++)
		if (s->owners.callers[i].caller == own.caller)
			library.line = s->lines[i];
	return library;
}

// A function's outermost calls, and of what these call themselves the one that has most.
struct passing {
	const char *function;
	const struct call_node *most;
	uint64_t total; // of FUNCTION
	uint64_t below; // of what is called as MOST is
};

static void sum_passing(struct passing *p, const struct call_node *node, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		if (strcmp(node->name, p->function) != 0) {
			sum_passing(p, node->child, depth + 1);
			continue;
		}
		p->total += node->total;
		for (const struct call_node *child = node->child; child; child = child->next)
			if (strcmp(child->name, p->most->name) == 0)
				p->below += child->total;
	}
}

// Of NAME's outermost calls.
static uint64_t total_of(const struct call_node *node, const char *name, int depth)
{
	uint64_t total = 0;

	for (; node && depth < DEPTH_MAX; node = node->next)
		total += strcmp(node->name, name) == 0 ? node->total
		                                       : total_of(node->child, name, depth + 1);
	return total;
}

static void find_most(struct passing *p, const struct call_node *node, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		if (strcmp(node->name, p->function) != 0) {
			find_most(p, node->child, depth + 1);
			continue;
		}
		for (const struct call_node *child = node->child; child; child = child->next)
			if (!p->most || child->total > p->most->total)
				p->most = child;
	}
}

bool place_passes_on(const struct call_tree *tree, const char *function)
{
	const struct call_node *first = call_tree_root(tree)->child;
	struct passing p = { .function = function };

	find_most(&p, first, 0);
	if (!p.most || strcmp(p.most->name, function) == 0)
		return false;
	sum_passing(&p, first, 0);
	return (double)p.below >= PASSED_SHARE * (double)p.total &&
	       (double)p.below >= PASSED_SHARE * (double)total_of(first, p.most->name, 0);
}

// Trees are as deep as stacks are, which have a limit.
static uint64_t gil_below(const struct call_node *node)
{
	uint64_t sum = node->gil ? node->total : 0;

	for (const struct call_node *child = node->child; child && !node->gil; child = child->next)
		sum += gil_below(child);
	return sum;
}

uint64_t place_gil(const struct call_tree *tree)
{
	return gil_below(call_tree_root(tree));
}

const struct call_node *place_heaviest(const struct call_tree *tree)
{
	const struct call_node *root = call_tree_root(tree), *own = NULL;

	// Below half of the whole, "the heaviest path" would be one among many.
	for (const struct call_node *node = root->child; node; node = node->child) {
		if (node->total * 2 < root->total)
			break;
		own = better(own, node);
	}
	return own;
}

// Of CALLEE's time: all, and what is within FUNCTION.
struct within {
	const char *callee, *function, *file;
	uint64_t all, inside;
};

// Compilers put parts of a function into others: work._omp_fn.0, work.omp_outlined, work.part.0.
static bool is_part_of(const char *name, const char *function)
{
	size_t length = strlen(function);

	return strncmp(name, function, length) == 0 && (!name[length] || name[length] == '.');
}

static void within_below(struct within *w, const struct call_node *node, bool inside)
{
	for (const struct call_node *c = node->child; c; c = c->next) {
		bool same_file =
			c->file == w->file || (c->file && w->file && strcmp(c->file, w->file) == 0);
		bool now = inside || (same_file && is_part_of(c->name, w->function));
		if (strcmp(c->name, w->callee) != 0) {
			within_below(w, c, now);
			continue;
		}
		w->all += c->total; // with what it calls, itself among it
		w->inside += now ? c->total : 0;
	}
}

bool place_is_within(const struct call_tree *tree, const char *callee, const char *function,
                     const char *file)
{
	struct within w = { .callee = callee, .function = function, .file = file };

	within_below(&w, call_tree_root(tree), false);
	return w.inside && 2 * w.inside > w.all;
}
