// SPDX-License-Identifier: MIT
#include "cli/place.h"

#include <stddef.h>
#include <string.h>

#define DEPTH_MAX 1024

bool place_is_foreign(const char *module, const char *file)
{
	static const char *const prefixes[] = { "[",         "/lib/",       "/lib64/",
		                                "/usr/lib/", "/usr/lib64/", "/usr/libexec/" };
	static const char *const sources[] = { "/usr/include/", "/usr/src/",   "/usr/lib/",
		                               "/rustc/",       "../sysdeps/", "./nptl/" };

	for (size_t i = 0; module && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(module, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (size_t i = 0; file && i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strncmp(file, sources[i], strlen(sources[i])) == 0)
			return true;
	return !module && !file;
}

// One node of the user's code may stand above FUNCTION on many paths: the best single one is a
// fair answer, because children are merged by function.
struct search {
	const char *function;
	const struct call_node *best;
	uint64_t best_self;
};

// Code without a name says less than the name of the library function that it calls.
static const struct call_node *better(const struct call_node *own, const struct call_node *node)
{
	bool named = node->name[0] != '[' && !node->kernel;

	if (!place_is_foreign(node->module, node->file))
		return node;
	return own && own->name[0] == '[' && named ? node : own;
}

static void search_below(struct search *s, const struct call_node *node,
                         const struct call_node *own, int depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		if (own && node->self > s->best_self && strcmp(node->name, s->function) == 0) {
			s->best_self = node->self;
			s->best = own;
		}
		search_below(s, node->child, better(own, node), depth + 1);
	}
}

const struct call_node *place_caller(const struct call_tree *tree, const char *function)
{
	struct search search = { .function = function };

	search_below(&search, call_tree_root(tree)->child, NULL, 0);
	return search.best;
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
