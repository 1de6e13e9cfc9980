// SPDX-License-Identifier: MIT
// Call trees for the flame graph, flat: nodes in the order of a walk, callers first.
#include "cli/html/html_parts.h"

#include "base/error.h"

#include <errno.h>

#define SHARE_MIN 0.0002 // of all: narrower boxes than a pixel are of no use
#define NODES_MAX 60000  // of one tree, or its light nodes are left out

struct flame {
	const char *key, *title, *unit;
	enum query_of of;
	bool on_cpu, off_cpu;
	bool whole_only;
};

static const struct flame flames[] = {
	{ "time", "CPU + waiting", "ns", QUERY_THREADS, false, false, false },
	{ "on", "on a CPU", "ns", QUERY_THREADS, true, false, false },
	{ "off", "waiting", "ns", QUERY_THREADS, false, true, false },
	{ "gpu", "on GPUs", "ns", QUERY_GPU, false, false, false },
	{ "idle", "GPU idle", "ns", QUERY_GPU_IDLE, false, false, false },
	{ "allocated", "memory allocated", "bytes", QUERY_ALLOCATED, false, false, true },
	{ "live", "memory at its peak", "bytes", QUERY_LIVE, false, false, true },
};

// The next node of a walk that enters each once; NULL after the last. *DEPTH is that of the node.
struct walk {
	const struct call_node *up[1024];
	uint32_t depth;
};

#define DEPTH_MAX (sizeof(((struct walk *)0)->up) / sizeof(((struct walk *)0)->up[0]))

static const struct call_node *next_node(struct walk *walk, const struct call_node *node)
{
	if (node->child && walk->depth + 1 < DEPTH_MAX) {
		walk->up[walk->depth++] = node;
		return node->child;
	}
	while (!node->next && walk->depth)
		node = walk->up[--walk->depth];
	return walk->depth ? node->next : NULL;
}

static size_t count_nodes(const struct call_tree *tree)
{
	const struct call_node *node = call_tree_root(tree);
	struct walk walk = { .depth = 0 };
	size_t count = 0;

	for (; node; node = next_node(&walk, node))
		count++;
	return count;
}

enum member {
	MEMBER_DEPTH,
	MEMBER_FRAME,
	MEMBER_SELF,
	MEMBER_TOTAL
};

static bool put_member(const struct html *h, const struct call_tree *tree, const char *key,
                       enum member member)
{
	const struct call_node *node = call_tree_root(tree);
	struct walk walk = { .depth = 0 };
	bool ok = true;

	json_open(h->j, key, '[');
	for (; node && ok; node = next_node(&walk, node)) {
		uint32_t frame = 0;
		if (member == MEMBER_FRAME)
			ok = html_frames_add(h->frames, node, &frame);
		json_put_count(h->j, NULL,
		               member == MEMBER_DEPTH   ? walk.depth
		               : member == MEMBER_FRAME ? frame
		               : member == MEMBER_SELF  ? node->self
		                                        : node->total);
	}
	json_close(h->j);
	return ok;
}

static bool put_tree(const struct html *h, const struct flame *flame, const struct call_tree *tree,
                     double share)
{
	json_open(h->j, flame->key, '{');
	json_put_text(h->j, "title", flame->title);
	json_put_text(h->j, "unit", flame->unit);
	json_put_number(h->j, "least_share", share);
	bool ok = put_member(h, tree, "depth", MEMBER_DEPTH) &&
	          put_member(h, tree, "frame", MEMBER_FRAME) &&
	          put_member(h, tree, "self", MEMBER_SELF) &&
	          put_member(h, tree, "total", MEMBER_TOTAL);
	json_close(h->j);
	return ok;
}

static struct query query_of(const struct html *h, const struct flame *flame)
{
	struct query query = view_query(h->view, BY_FUNCTION, SORT_SELF);

	query.of = flame->of;
	if (flame->of == QUERY_THREADS && flame->on_cpu != flame->off_cpu) {
		query.on_cpu = flame->on_cpu;
		query.off_cpu = flame->off_cpu;
	}
	query.without_others = true;
	if (h->by_process)
		query.by = BY_PROCESS;
	return query;
}

// As fine as can be shown, and as fits.
static struct call_tree *find_tree(const struct html *h, const struct flame *flame, double *share,
                                   struct error *err)
{
	const struct query query = query_of(h, flame);
	struct call_tree *tree = query_call_tree(h->profile, &query, *share, err);

	while (tree && count_nodes(tree) > NODES_MAX && *share < 0.01) {
		call_tree_free(tree);
		*share *= 2;
		tree = query_call_tree(h->profile, &query, *share, err);
	}
	return tree;
}

static int put_flame(const struct html *h, const struct flame *flame, struct error *err)
{
	double share = SHARE_MIN;
	cleanup(call_tree) struct call_tree *tree = find_tree(h, flame, &share, err);

	if (!tree)
		return -1;
	if (call_tree_root(tree)->total && !put_tree(h, flame, tree, share))
		return error_set(err, ENOMEM, "could not write the call tree");
	return 0;
}

int html_flames(const struct html *h, struct error *err)
{
	bool part = h->view->on_cpu != h->view->off_cpu;
	int failed = 0;

	json_open(h->j, "flames", '{');
	for (size_t i = 0; i < sizeof(flames) / sizeof(flames[0]) && !failed; i++) {
		const struct flame *flame = &flames[i];
		bool other =
			part && flame->of == QUERY_THREADS &&
			(flame->on_cpu != h->view->on_cpu || flame->off_cpu != h->view->off_cpu);
		if (!other && (h->whole || !flame->whole_only))
			failed = put_flame(h, flame, err);
	}
	json_close(h->j);
	return failed;
}
