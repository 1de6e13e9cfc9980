// SPDX-License-Identifier: MIT
#include "cli/report/place.h"

#include "base/origin.h"

#include <stddef.h>
#include <string.h>

#define DEPTH_MAX 1024

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
		const struct call_node *inner = better(own, node);
		if (own)
			look_at(s, node, own, entry);
		search_below(s, node->child, inner,
		             inner == node ? NULL
		             : entry       ? entry
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
