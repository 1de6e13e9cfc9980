// SPDX-License-Identifier: MIT
/*
 * query_call_tree(). The tree is built from the top, a level at a time, and only below what
 * is heavy enough to be shown: a profile of many light paths takes no memory for them.
 */
#include "base/array.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/query/self_total.h"
#include "merge/scope/kept.h"
#include "merge/scope/keys.h"
#include "merge/scope/op_frames.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A node while the tree is built: by function below its caller. Callers come first.
struct merged {
	uint32_t parent; // id; 0 for the root
	uint32_t key;
	uint32_t line; // id in keys->lines: of its heaviest address; 0: none is known
	bool inlined;
	uint64_t line_weight; // what that weighs
	uint32_t call_line;   // the same of its caller, where it calls this one
	uint64_t call_weight;
	uint64_t self, total, samples;
};

struct call_tree {
	struct call_node *nodes; // the root first
	struct strings *texts;
	bool kept; // it is not the caller's to free: merge/scope/kept.h
};

struct weight {
	uint64_t ns, samples;
};

// One frame of one path node: a merged node has as many as there are ways to it.
struct member {
	uint32_t key;
	uint32_t node;   // of the paths
	uint32_t frame;  // index in keys->frames, or one of those below
	uint32_t merged; // id of what it belongs to; while it has none, of its caller
	uint32_t call;   // id in keys->lines: where its caller calls it; 0: it has none
};

#define FRAME_ROOT     UINT32_MAX       // a thread
#define FRAME_HOMELESS (UINT32_MAX - 1) // what a thread spent in no frame that counts
_Static_assert(FRAME_NONE < FRAME_HOMELESS, "three that are no frames");

struct members {
	struct member *members;
	size_t count, capacity;
};

struct builder {
	const struct scope *scope;
	struct keys *keys;
	bool user_code;
	struct weight *owned; // [path node - 1]: what belongs to its frames, by it or its callees
	struct weight *below; // [path node - 1]: the same, with all that its callees own
	struct weight *ops;   // [path node - 1]: of that, in ops that stand right below
	struct op_frames frames;
	struct merged *merged; // [id - 1]
	size_t count, capacity;
	struct members level, found; // of the nodes of this level; of those below one of them
	struct members next;
	uint32_t homeless; // key
	double least;      // what a node must weigh
};

static void builder_fini(struct builder *b)
{
	free(b->owned);
	free(b->below);
	free(b->ops);
	op_frames_fini(&b->frames);
	free(b->merged);
	free(b->level.members);
	free(b->found.members);
	free(b->next.members);
}

static void builder_at_scope_end(struct builder *b)
{
	builder_fini(b);
}

static void add_weight(struct weight *to, const struct weight *by)
{
	to->ns += by->ns;
	to->samples += by->samples;
}

static struct weight weight_of(const struct builder *b, uint32_t node)
{
	const struct scope *scope = b->scope;
	struct weight own = { 0 };

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		if (!scope_counts(scope, cell))
			continue;
		own.ns += scope_ns(scope, cell);
		own.samples += scope_samples(scope, cell);
	}
	return own;
}

static const struct path_node *path_of(const struct builder *b, uint32_t node)
{
	return profile_node(b->scope->profile, node);
}

// The frame of path node NODE that its own time belongs to, and that of callees without one.
static uint32_t owner_in(const struct builder *b, uint32_t node)
{
	uint32_t owner = FRAME_NONE, parent = path_of(b, node)->parent;

	if (!parent)
		return FRAME_HOMELESS;
	bool outermost = !path_of(b, parent)->parent;
	for (uint32_t at = op_frames_first(&b->frames, node); at != FRAME_NONE;
	     at = op_frames_next(&b->frames, node, at)) {
		const struct key_frame *frame = &b->keys->frames[at];
		if (frame->user || !b->user_code || (frame->ours && outermost))
			owner = at;
	}
	return owner;
}

// Callees have larger numbers: each hands what it does not own itself to its caller.
static void weigh_nodes(struct builder *b)
{
	for (uint32_t id = profile_paths(b->scope->profile)->count; id > 0; id--) {
		uint32_t parent = path_of(b, id)->parent;
		struct weight own = weight_of(b, id);
		add_weight(&b->owned[id - 1], &own);
		if (parent && owner_in(b, id) == FRAME_NONE) {
			add_weight(&b->owned[parent - 1], &b->owned[id - 1]);
			b->owned[id - 1] = (struct weight){ 0 };
		}
		add_weight(&b->below[id - 1], &b->owned[id - 1]);
		if (parent)
			add_weight(&b->below[parent - 1], &b->below[id - 1]);
		if (op_frames_is_op(&b->frames, id))
			add_weight(&b->ops[parent - 1], &b->below[id - 1]);
	}
}

static bool builder_init(struct builder *b, const struct scope *scope, struct keys *keys,
                         const struct query *query)
{
	size_t nodes = (size_t)profile_paths(scope->profile)->count + 1;
	struct key homeless = { .group = query->user_code ? KEY_OUTSIDE : KEY_HIDDEN };

	*b = (struct builder){ .scope = scope, .keys = keys, .user_code = query->user_code };
	b->owned = calloc(nodes, sizeof(*b->owned));
	b->below = calloc(nodes, sizeof(*b->below));
	b->ops = calloc(nodes, sizeof(*b->ops));
	b->homeless = key_table_add(&keys->keys, &homeless);
	if (!b->owned || !b->below || !b->ops || !b->homeless ||
	    !op_frames_init(&b->frames, scope->profile, keys))
		return false;
	weigh_nodes(b);
	return true;
}

static bool add_member(struct members *to, const struct member *member)
{
	if (!array_reserve(&to->members, &to->capacity, to->count + 1))
		return false;
	to->members[to->count++] = *member;
	return true;
}

static uint32_t line_of(const struct builder *b, const struct member *member)
{
	bool has = member->frame != FRAME_ROOT && member->frame != FRAME_HOMELESS;

	return has ? b->keys->frames[member->frame].line : 0;
}

static bool find_frame(struct builder *b, const struct member *caller, uint32_t node,
                       uint32_t frame)
{
	return add_member(&b->found, &(struct member){ .key = b->keys->frames[frame].key,
	                                               .node = node,
	                                               .frame = frame,
	                                               .merged = caller->merged,
	                                               .call = line_of(b, caller) });
}

// After NODE and all below it, within what is below TOP; 0: that was all.
static uint32_t next_aside(const struct scope *scope, uint32_t node, uint32_t top)
{
	while (node != top && !scope->sibling[node - 1])
		node = profile_node(scope->profile, node)->parent;
	return node == top ? 0 : scope->sibling[node - 1];
}

enum below {
	BELOW_OPS = 1,
	BELOW_CODE = 2
};

// Those KINDS (enum below) of what stands right below CALLER's path node, and below its callees
// that are hidden altogether.
static bool find_below(struct builder *b, const struct member *caller, unsigned kinds)
{
	const struct scope *scope = b->scope;
	uint32_t top = caller->node, next;

	for (uint32_t node = scope->first_child[top - 1]; node; node = next) {
		unsigned kind = op_frames_is_op(&b->frames, node) ? BELOW_OPS : BELOW_CODE;
		uint32_t frame = op_frames_first(&b->frames, node);
		next = next_aside(scope, node, top);
		if (!b->below[node - 1].ns || (path_of(b, node)->parent == top && !(kind & kinds)))
			continue;
		if (frame != FRAME_NONE) {
			if (!find_frame(b, caller, node, frame))
				return false;
		} else if (scope->first_child[node - 1]) {
			next = scope->first_child[node - 1];
		}
	}
	return true;
}

static bool find_callees(struct builder *b, const struct member *of)
{
	if (of->frame == FRAME_HOMELESS)
		return true;
	if (of->frame == FRAME_ROOT) {
		struct member homeless = { b->homeless, of->node, FRAME_HOMELESS, of->merged, 0 };
		if (b->owned[of->node - 1].ns && !add_member(&b->found, &homeless))
			return false;
		return find_below(b, of, BELOW_OPS | BELOW_CODE);
	}
	uint32_t inner = op_frames_next(&b->frames, of->node, of->frame);
	unsigned kinds = inner == FRAME_NONE ? BELOW_CODE : 0;
	if (of->frame == op_frames_caller(&b->frames, of->node))
		kinds |= BELOW_OPS;
	if (inner != FRAME_NONE && !find_frame(b, of, of->node, inner))
		return false;
	return !kinds || find_below(b, of, kinds);
}

static void subtract_weight(struct weight *from, const struct weight *by)
{
	from->ns -= by->ns;
	from->samples -= by->samples;
}

// Less what is in the frames around MEMBER's alone: in the time of an owner of ops, the ops; in
// that of a function that inlines it, what was not in it.
static struct weight total_of(const struct builder *b, const struct member *member)
{
	struct weight total = b->below[member->node - 1];
	uint32_t owner = owner_in(b, member->node);
	uint32_t caller = op_frames_caller(&b->frames, member->node);
	bool has_ops = false, has_own = false;

	if (member->frame == FRAME_HOMELESS)
		return b->owned[member->node - 1];
	if (member->frame == FRAME_ROOT)
		return total;
	for (uint32_t at = member->frame; at != FRAME_NONE;
	     at = op_frames_next(&b->frames, member->node, at)) {
		has_ops |= at == caller;
		has_own |= at == owner;
	}
	if (!has_ops)
		subtract_weight(&total, &b->ops[member->node - 1]);
	if (!has_own && owner != FRAME_NONE)
		subtract_weight(&total, &b->owned[member->node - 1]);
	return total;
}

static void choose_line(struct merged *node, uint32_t line, bool inlined, uint64_t weight)
{
	if (weight <= node->line_weight)
		return;
	node->line = line;
	node->inlined = inlined;
	node->line_weight = weight;
}

static void choose_call(struct merged *node, uint32_t line, uint64_t weight)
{
	if (!line || weight <= node->call_weight)
		return;
	node->call_line = line;
	node->call_weight = weight;
}

static void join(const struct builder *b, struct merged *node, const struct member *member)
{
	struct weight total = total_of(b, member);

	node->total += total.ns;
	node->samples += total.samples;
	choose_call(node, member->call, total.ns);
	if (member->frame == FRAME_ROOT)
		return;
	if (owner_in(b, member->node) == member->frame || member->frame == FRAME_HOMELESS)
		node->self += b->owned[member->node - 1].ns;
	if (member->frame == FRAME_HOMELESS)
		return;
	uint32_t line = line_of(b, member);
	choose_line(node, line, b->keys->lines.keys[line - 1].inlined, total.ns);
}

// Makes COUNT members one node, if that is heavy enough.
static bool merge_members(struct builder *b, struct member *members, size_t count)
{
	struct merged node = { .parent = members->merged, .key = members->key };

	for (size_t i = 0; i < count; i++)
		join(b, &node, &members[i]);
	if (!node.total || (double)node.total < b->least)
		return true;
	if (!array_reserve(&b->merged, &b->capacity, b->count + 1))
		return false;
	b->merged[b->count++] = node;
	for (size_t i = 0; i < count; i++) {
		members[i].merged = (uint32_t)b->count;
		if (!add_member(&b->next, &members[i]))
			return false;
	}
	return true;
}

static int compare_members(const void *a, const void *b)
{
	const struct member *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->frame < right->frame ? -1 : 1;
}

// Makes nodes of what was found below one caller.
static bool merge_found(struct builder *b)
{
	struct member *members = b->found.members;
	size_t count = b->found.count;

	b->found.count = 0;
	if (count)
		qsort(members, count, sizeof(*members), compare_members);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count; end++)
			if (members[end].key != members[first].key)
				break;
		if (!merge_members(b, members + first, end - first))
			return false;
	}
	return true;
}

static bool build_level(struct builder *b)
{
	for (size_t i = 0; i < b->level.count; i++) {
		const struct member *member = &b->level.members[i];
		bool last = i + 1 == b->level.count || member[1].merged != member->merged;
		if (!find_callees(b, member) || (last && !merge_found(b)))
			return false;
	}
	return true;
}

// What became of the members of a level is the next one.
static void swap_levels(struct builder *b)
{
	struct members done = b->level;

	b->level = b->next;
	b->next = done;
	b->next.count = 0;
}

// By thread and by process, those are the first level of the tree.
static uint32_t key_of_root(struct builder *b, uint32_t slot, enum query_by by)
{
	struct key key = { .group = KEY_THREAD, .module = slot };

	if (by == BY_PROCESS)
		key = (struct key){
			.group = KEY_PROCESS,
			.module = profile_thread(b->scope->profile, slot)->process,
		};
	return key_table_add(&b->keys->keys, &key);
}

static bool build_roots(struct builder *b, enum query_by by, double min_share)
{
	const struct scope *scope = b->scope;
	bool grouped = by == BY_THREAD || by == BY_PROCESS;
	struct merged all = { 0 };

	for (uint32_t id = scope->first_root; id; id = scope->sibling[id - 1]) {
		struct member root = { .node = id, .frame = FRAME_ROOT, .merged = 1 };
		root.key = grouped ? key_of_root(b, path_of(b, id)->location, by) : 0;
		if ((grouped && !root.key) || !add_member(grouped ? &b->found : &b->level, &root))
			return false;
		join(b, &all, &root);
	}
	if (!array_reserve(&b->merged, &b->capacity, 1))
		return false;
	b->merged[b->count++] = all;
	b->least = min_share * (double)all.total;
	if (!grouped)
		return true;
	bool merged = merge_found(b);
	swap_levels(b);
	return merged;
}

static bool build(struct builder *b, enum query_by by, double min_share)
{
	if (!build_roots(b, by, min_share))
		return false;
	while (b->level.count) {
		if (!build_level(b))
			return false;
		swap_levels(b);
	}
	return true;
}

static bool fill_node(const struct builder *b, struct call_tree *tree, const struct merged *merged,
                      struct call_node *node)
{
	const struct profile *p = b->scope->profile;

	*node = (struct call_node){ .name = "all", .self = merged->self, .total = merged->total };
	node->samples = merged->samples;
	if (!merged->key)
		return true;
	const struct key *key = &b->keys->keys.keys[merged->key - 1];
	node->name = key_name(p, key, tree->texts);
	const struct key *line = merged->line ? &b->keys->lines.keys[merged->line - 1] : key;
	node->file = profile_string(p, line->file);
	node->module = key_module(p, key);
	node->line = (int)line->line;
	if (merged->call_line)
		node->call_line = (int)b->keys->lines.keys[merged->call_line - 1].line;
	node->kernel = key->kernel;
	node->python = key->python;
	node->called = key->called;
	node->inlined = merged->inlined;
	node->op = key->group == KEY_OP;
	node->gil = key->group == KEY_GIL;
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

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not build the call tree");
}

static int link_tree(const struct builder *b, struct call_tree *tree, struct error *err)
{
	tree->nodes = calloc(b->count, sizeof(*tree->nodes));
	tree->texts = strings_new();
	if (!tree->nodes || !tree->texts)
		return no_memory(err);
	for (size_t i = 0; i < b->count; i++)
		if (!fill_node(b, tree, &b->merged[i], &tree->nodes[i]))
			return no_memory(err);
	// Callees first: when a node is put into its caller's list, its own is complete.
	for (size_t i = b->count; i-- > 0;) {
		struct call_node *node = &tree->nodes[i];
		node->child = sort_list(node->child);
		if (i == 0)
			break;
		struct call_node *parent = &tree->nodes[b->merged[i].parent - 1];
		node->next = parent->child;
		parent->child = node;
	}
	return 0;
}

static struct call_tree *make_tree(const struct profile *p, const struct query *query,
                                   double min_share, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(keys) struct keys keys = { 0 };
	cleanup(builder) struct builder b = { 0 };
	struct query by_function = *query;

	by_function.by = BY_FUNCTION;
	if (scope_init(&scope, p, query, err) < 0 ||
	    keys_init(&keys, p, &by_function, KEYS_CODE | KEYS_LINES | KEYS_OPS, err) < 0)
		return NULL;
	cleanup(call_tree) struct call_tree *tree = calloc(1, sizeof(*tree));
	if (!tree || !builder_init(&b, &scope, &keys, query) || !build(&b, query->by, min_share)) {
		no_memory(err);
		return NULL;
	}
	if (link_tree(&b, tree, err) < 0)
		return NULL;
	return steal(tree);
}

static void release_tree(void *kept)
{
	struct call_tree *tree = kept;

	strings_free(tree->texts);
	free(tree->nodes);
	free(tree);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "\n";
}

// All that a tree depends on, but for what of a query has no part in one.
static struct kept_key key_of(const struct profile *p, const struct query *q, double min_share)
{
	return kept_key(
		p, "tree %d %d %d%d%d %d %" PRIu64 " %" PRIu64 " %u %a %zu %zu %zu %s %s %s %s",
		q->of, q->by, q->on_cpu, q->off_cpu, q->without_others, q->interpreter, q->from_ns,
		q->to_ns, q->gpu, min_share, strlen(text_or_none(q->thread)),
		strlen(text_or_none(q->process)), strlen(text_or_none(q->hide)),
		text_or_none(q->thread), text_or_none(q->process), text_or_none(q->hide),
		text_or_none(q->user_code));
}

struct call_tree *query_call_tree(const struct profile *p, const struct query *query,
                                  double min_share, struct error *err)
{
	const struct kept_key key = key_of(p, query, min_share);
	struct call_tree *tree = kept_find(&key);

	if (!tree && (tree = make_tree(p, query, min_share, err)))
		tree->kept = kept_add(&key, tree, release_tree);
	return tree;
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return &tree->nodes[0];
}

void call_tree_free(struct call_tree *tree)
{
	if (tree && !tree->kept)
		release_tree(tree);
}
