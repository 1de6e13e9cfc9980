// SPDX-License-Identifier: MIT
#include "base/array.h"
#include "base/error.h"
#include "merge/keys.h"
#include "merge/query.h"
#include "merge/scope.h"
#include "merge/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A node while the tree is built: by function below its caller, numbered in order of appearance.
struct merged {
	uint32_t parent; // id; 0 for the root
	uint32_t key;
	uint32_t line;        // id in keys->lines: of its heaviest address; 0: none is known
	uint64_t line_weight; // what that weighs
	uint64_t self, total, samples;
	bool inlined;
};

struct call_tree {
	struct call_node *nodes; // the root first
	struct strings *texts;
};

struct builder {
	const struct scope *scope;
	struct keys *keys;
	uint32_t *owners;
	struct merged *merged; // [id - 1]
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint32_t *bottom;            // [path node - 1]: the merged node of its innermost frame
	uint32_t *homes;             // [path node - 1]: the merged node that its own time goes to
	uint64_t *weights, *samples; // [path node - 1]: with all below
	uint32_t homeless;
};

static uint64_t hash_of_id(uint32_t id, const void *context)
{
	const struct builder *b = context;

	return hash_pair(b->merged[id - 1].parent, b->merged[id - 1].key);
}

static uint32_t merged_child(struct builder *b, uint32_t parent, uint32_t key)
{
	if (hash_is_full(&b->index) && !hash_grow(&b->index, hash_of_id, b))
		return 0;

	uint32_t at = hash_start(&b->index, hash_pair(parent, key));
	for (; b->index.slots[at]; at = hash_next(&b->index, at)) {
		const struct merged *known = &b->merged[b->index.slots[at] - 1];
		if (known->parent == parent && known->key == key)
			return b->index.slots[at];
	}
	if (!array_reserve(&b->merged, &b->capacity, (size_t)b->count + 1))
		return 0;
	b->merged[b->count++] = (struct merged){ .parent = parent, .key = key };
	hash_insert(&b->index, at, b->count);
	return b->count;
}

static void builder_fini(struct builder *b)
{
	free(b->owners);
	free(b->merged);
	hash_fini(&b->index);
	free(b->bottom);
	free(b->homes);
	free(b->weights);
	free(b->samples);
}

static void builder_at_scope_end(struct builder *b)
{
	builder_fini(b);
}

static bool builder_init(struct builder *b, const struct scope *scope, struct keys *keys,
                         const struct query *query)
{
	size_t nodes = (size_t)scope->profile->paths.count + 1;
	struct key homeless = { .group = query->user_code ? KEY_OUTSIDE : KEY_HIDDEN };

	*b = (struct builder){ .scope = scope, .keys = keys };
	b->owners = scope_owners(scope, keys, query->user_code != NULL);
	b->bottom = calloc(nodes, sizeof(*b->bottom));
	b->homes = calloc(nodes, sizeof(*b->homes));
	b->weights = calloc(nodes, sizeof(*b->weights));
	b->samples = calloc(nodes, sizeof(*b->samples));
	b->homeless = key_table_add(&keys->keys, &homeless);
	return b->owners && b->bottom && b->homes && b->weights && b->samples && b->homeless &&
	       hash_init(&b->index, 1024) && merged_child(b, 0, 0) == 1;
}

static void weigh_node(struct builder *b, uint32_t node)
{
	const struct scope *scope = b->scope;

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++) {
		const struct cell *cell = &scope->profile->cells.cells[scope->cells[i]];
		if (!scope->metrics[cell->metric])
			continue;
		b->weights[node - 1] += cell->ns;
		b->samples[node - 1] += cell->samples;
	}
}

// Gives each node's own time to its home, then adds what is below it up.
static void weigh_nodes(struct builder *b)
{
	for (uint32_t id = b->scope->profile->paths.count; id > 0; id--) {
		uint32_t parent = paths_node(&b->scope->profile->paths, id)->parent;
		uint64_t below = b->weights[id - 1], samples_below = b->samples[id - 1];
		weigh_node(b, id);
		if (b->homes[id - 1]) {
			b->merged[b->homes[id - 1] - 1].self += b->weights[id - 1] - below;
			b->merged[b->homes[id - 1] - 1].samples +=
				b->samples[id - 1] - samples_below;
		}
		if (parent) {
			b->weights[parent - 1] += b->weights[id - 1];
			b->samples[parent - 1] += b->samples[id - 1];
		}
	}
	for (uint32_t id = b->count; id > 0; id--) {
		struct merged *node = &b->merged[id - 1];
		node->total += node->self;
		if (node->parent) {
			b->merged[node->parent - 1].total += node->total;
			b->merged[node->parent - 1].samples += node->samples;
		}
	}
}

// By thread and by process, those are the first level of the tree.
static uint32_t root_of(struct builder *b, const struct path_node *node, enum query_by by)
{
	struct key key = { .group = KEY_THREAD, .module = node->location };

	if (by != BY_THREAD && by != BY_PROCESS)
		return 1;
	if (by == BY_PROCESS)
		key = (struct key){
			.group = KEY_PROCESS,
			.module = threads_get(&b->scope->profile->threads, node->location)->process
		};
	uint32_t id = key_table_add(&b->keys->keys, &key);
	return id ? merged_child(b, 1, id) : 0;
}

// Where the time goes that no frame owns: beside the outermost functions.
static uint32_t homeless_below(struct builder *b, uint32_t root)
{
	return merged_child(b, root, b->homeless);
}

static bool place_frames(struct builder *b, uint32_t id, const struct path_node *node)
{
	uint32_t at = b->bottom[node->parent - 1];
	uint32_t home = b->homes[node->parent - 1];

	for (uint32_t i = b->keys->first[node->location - 1]; i < b->keys->first[node->location];
	     i++) {
		if (!b->keys->frames[i].hidden)
			at = merged_child(b, at, b->keys->frames[i].key);
		if (!at)
			return false;
		if (b->owners[id - 1] == i)
			home = at;
	}
	b->bottom[id - 1] = at;
	b->homes[id - 1] = home;
	return true;
}

/*
 * Callers come before callees, so each node finds where its caller stands. A
 * node whose own time nobody owns has the home of its root.
 */
static bool place_nodes(struct builder *b, enum query_by by)
{
	const struct profile *p = b->scope->profile;

	for (uint32_t id = 1; id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		if (node->parent) {
			if (b->bottom[node->parent - 1] && !place_frames(b, id, node))
				return false;
			continue;
		}
		if (!b->scope->threads[node->location - 1])
			continue; // with all that is below: their caller stands nowhere
		uint32_t root = root_of(b, node, by);
		uint32_t home = root ? homeless_below(b, root) : 0;
		if (!home)
			return false;
		b->bottom[id - 1] = root;
		b->homes[id - 1] = home;
	}
	return true;
}

static void choose_line(struct merged *node, uint32_t line, bool inlined, uint64_t weight)
{
	if (weight <= node->line_weight)
		return;
	node->line = line;
	node->inlined = inlined;
	node->line_weight = weight;
}

// Each function's line is that of its heaviest address. Upwards from each node's innermost frame.
static void choose_lines(struct builder *b)
{
	const struct profile *p = b->scope->profile;

	for (uint32_t id = 1; id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		uint32_t at = b->bottom[id - 1];
		if (!node->parent || !at)
			continue;
		uint32_t first = b->keys->first[node->location - 1];
		for (uint32_t i = b->keys->first[node->location]; i-- > first;) {
			const struct key_frame *frame = &b->keys->frames[i];
			if (frame->hidden)
				continue;
			const struct key *line = &b->keys->lines.keys[frame->line - 1];
			choose_line(&b->merged[at - 1], frame->line, line->inlined,
			            b->weights[id - 1]);
			at = b->merged[at - 1].parent;
		}
	}
}

static bool fill_node(const struct builder *b, struct call_tree *tree, uint32_t id,
                      struct call_node *node)
{
	const struct merged *merged = &b->merged[id - 1];
	const struct profile *p = b->scope->profile;

	*node = (struct call_node){ .name = "all", .self = merged->self, .total = merged->total };
	node->samples = merged->samples;
	if (!merged->key)
		return true;
	const struct key *key = &b->keys->keys.keys[merged->key - 1];
	node->name = key_name(p, key, tree->texts);
	const struct key *line = merged->line ? &b->keys->lines.keys[merged->line - 1] : key;
	node->file = strings_get(p->strings, line->file);
	node->module = key_module(p, key);
	node->line = (int)line->line;
	node->kernel = key->kernel;
	node->inlined = merged->inlined;
	return node->name != NULL;
}

static int compare_nodes(const struct call_node *a, const struct call_node *b)
{
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return strcmp(a->name, b->name);
}

// Sorts a list by merging; siblings can be many.
static struct call_node *merge_lists(struct call_node *a, struct call_node *b)
{
	struct call_node head = { 0 };
	struct call_node *last = &head;

	while (a && b) {
		struct call_node **less = compare_nodes(a, b) <= 0 ? &a : &b;
		last = last->next = *less;
		*less = (*less)->next;
	}
	last->next = a ? a : b;
	return head.next;
}

static struct call_node *sort_list(struct call_node *list)
{
	struct call_node *runs[32] = { 0 }; // runs[i] holds 2^i nodes, or none
	struct call_node *sorted = NULL;

	while (list) {
		struct call_node *run = list;
		size_t i = 0;
		list = list->next;
		run->next = NULL;
		for (; runs[i]; i++) {
			run = merge_lists(runs[i], run);
			runs[i] = NULL;
		}
		runs[i] = run;
	}
	for (size_t i = 0; i < 32; i++)
		sorted = merge_lists(runs[i], sorted);
	return sorted;
}

static int link_tree(const struct builder *b, struct call_tree *tree, double min_share,
                     struct error *err)
{
	double least = min_share * (double)b->merged[0].total;

	tree->nodes = calloc(b->count, sizeof(*tree->nodes));
	tree->texts = strings_new();
	if (!tree->nodes || !tree->texts)
		return error_set(err, ENOMEM, "could not build the call tree");
	for (uint32_t id = 1; id <= b->count; id++)
		if (!fill_node(b, tree, id, &tree->nodes[id - 1]))
			return error_set(err, ENOMEM, "could not build the call tree");
	// Callees first: when a node is put into its caller's list, its own is complete.
	for (uint32_t id = b->count; id > 0; id--) {
		struct call_node *node = &tree->nodes[id - 1];
		node->child = sort_list(node->child);
		if (id == 1 || !node->total || (double)node->total < least)
			continue;
		struct call_node *parent = &tree->nodes[b->merged[id - 1].parent - 1];
		node->next = parent->child;
		parent->child = node;
	}
	return 0;
}

struct call_tree *query_call_tree(const struct profile *p, const struct query *query,
                                  double min_share, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(keys) struct keys keys = { 0 };
	cleanup(builder) struct builder b = { 0 };
	struct query by_function = *query;

	by_function.by = BY_FUNCTION;
	if (scope_init(&scope, p, query, err) < 0 ||
	    keys_init(&keys, p, &by_function, true, err) < 0)
		return NULL;
	if (!builder_init(&b, &scope, &keys, query) || !place_nodes(&b, query->by)) {
		error_set(err, ENOMEM, "could not build the call tree");
		return NULL;
	}
	weigh_nodes(&b);
	choose_lines(&b);
	cleanup(call_tree) struct call_tree *tree = calloc(1, sizeof(*tree));
	if (!tree) {
		error_set(err, ENOMEM, "could not build the call tree");
		return NULL;
	}
	if (link_tree(&b, tree, min_share, err) < 0)
		return NULL;
	return steal(tree);
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return &tree->nodes[0];
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	strings_free(tree->texts);
	free(tree->nodes);
	free(tree);
}
