// SPDX-License-Identifier: MIT
// Call trees for the flame graph, flat: nodes in the order of a walk, callers first.
#include "cli/report/graphs.h"

#include "base/error.h"
#include "cli/report/graph_frames.h"
#include "cli/report/view.h"
#include "merge/query/query.h"

#include <errno.h>

#define SHARE_MIN   0.0002 // of all: narrower boxes than a pixel are of no use
#define NODES_MAX   60000  // of one tree, or its light nodes are left out
#define IDLE_TIMES  4      // as much waiting as work and more is mostly of threads without work

#define PAGE(place) .at = { [READER_PAGE] = (place) }

struct flame {
	const char *key, *title, *unit;
	enum query_of of;
	bool on_cpu, off_cpu;
	bool whole_only;
};

enum {
	TIME, // places in KINDS
	ON_CPU
};

static const struct flame kinds[] = {
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

static struct query query_of(const struct report *r, const struct flame *flame, bool by_process)
{
	struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);

	query.of = flame->of;
	if (flame->of == QUERY_THREADS && flame->on_cpu != flame->off_cpu) {
		query.on_cpu = flame->on_cpu;
		query.off_cpu = flame->off_cpu;
	}
	query.without_others = true;
	if (by_process)
		query.by = BY_PROCESS;
	return query;
}

// As fine as can be shown, and as fits.
static struct call_tree *find_tree(const struct report *r, const struct flame *flame,
                                   bool by_process, double *share, struct error *err)
{
	const struct query query = query_of(r, flame, by_process);
	struct call_tree *tree = query_call_tree(r->profile, &query, *share, err);

	while (tree && count_nodes(tree) > NODES_MAX && *share < 0.01) {
		call_tree_free(tree);
		*share *= 2;
		tree = query_call_tree(r->profile, &query, *share, err);
	}
	return tree;
}

// The nodes of a tree, one array for each of what they have.
struct nodes {
	size_t count;
	uint64_t *depth, *frame, *self, *total;
};

static bool take_nodes(struct report *r, const struct call_tree *tree, struct graph_frames *frames,
                       struct nodes *nodes)
{
	size_t count = count_nodes(tree), i = 0;
	uint64_t *all = report_take(r, count * 4 * sizeof(*all));
	const struct call_node *node = call_tree_root(tree);
	struct walk walk = { .depth = 0 };

	if (!all)
		return false;
	*nodes = (struct nodes){ count, all, all + count, all + 2 * count, all + 3 * count };
	for (; node; node = next_node(&walk, node), i++) {
		uint32_t frame;
		if (!graph_frames_add(frames, node, &frame))
			return false;
		nodes->depth[i] = walk.depth;
		nodes->frame[i] = frame;
		nodes->self[i] = node->self;
		nodes->total[i] = node->total;
	}
	return true;
}

struct drawn {
	const struct flame *flame;
	double least_share;
	struct nodes nodes;
};

static void put_series(struct section_cell *cell, const struct nodes *nodes, const uint64_t *values)
{
	cell->series.values = values;
	cell->series.count = nodes->count;
}

static void make_depth(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct drawn *drawn = data;

	(void)s;
	put_series(cell, &drawn->nodes, drawn->nodes.depth);
}

static void make_frame(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct drawn *drawn = data;

	(void)s;
	put_series(cell, &drawn->nodes, drawn->nodes.frame);
}

static void make_self(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct drawn *drawn = data;

	(void)s;
	put_series(cell, &drawn->nodes, drawn->nodes.self);
}

static void make_total(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct drawn *drawn = data;

	(void)s;
	put_series(cell, &drawn->nodes, drawn->nodes.total);
}

static void make_title(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->text = ((const struct drawn *)data)->flame->title;
}

static void make_unit(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->text = ((const struct drawn *)data)->flame->unit;
}

static const struct section_column flame_columns[] = {
	{ "title", .type = CELL_TEXT, PAGE(1), .make = make_title },
	{ "unit", .type = CELL_TEXT, PAGE(2), .make = make_unit },
	{ "least_share", .type = CELL_NUMBER, PAGE(3), FIELD(struct drawn, least_share) },
	{ "depth", .type = CELL_SERIES, PAGE(4), .make = make_depth },
	{ "frame", .type = CELL_SERIES, PAGE(5), .make = make_frame },
	{ "self", .type = CELL_SERIES, PAGE(6), .make = make_self },
	{ "total", .type = CELL_SERIES, PAGE(7), .make = make_total },
};

// NULL in *OUT if nothing is in it; *TOTAL is what is. -1 on error.
static int find_flame(struct report *r, const struct flame *flame, const struct flames *flames,
                      struct section **out, uint64_t *total, struct error *err)
{
	struct drawn drawn = { .flame = flame, .least_share = SHARE_MIN };
	cleanup(call_tree) struct call_tree *tree =
		find_tree(r, flame, flames->by_process, &drawn.least_share, err);

	*out = NULL;
	if (!tree)
		return -1;
	*total = call_tree_root(tree)->total;
	if (!*total)
		return 0;
	if (!take_nodes(r, tree, flames->frames, &drawn.nodes))
		return error_set(err, ENOMEM, "could not write the call tree");
	*out = section_new(r, flame->key, NULL);
	SECTION_COLUMNS(*out, flame_columns);
	section_row(*out, &drawn);
	return 0;
}

// Where a view is of waiting alone, or of CPUs, only one tree of time is its own.
static bool is_wanted(const struct flame *flame, const struct view *view, bool whole)
{
	bool other = view->on_cpu != view->off_cpu && flame->of == QUERY_THREADS &&
	             (flame->on_cpu != view->on_cpu || flame->off_cpu != view->off_cpu);

	return !other && (whole || !flame->whole_only);
}

struct section *section_flames(struct report *r, const struct flames *flames, struct error *err)
{
	enum {
		COUNT = sizeof(kinds) / sizeof(kinds[0])
	};
	struct section *made[COUNT] = { NULL };
	uint64_t totals[COUNT] = { 0 };
	size_t order[COUNT];
	struct section *s = section_new(r, "flames", NULL);

	for (size_t i = 0; i < COUNT; i++) {
		order[i] = i;
		if (is_wanted(&kinds[i], r->view, flames->whole) &&
		    find_flame(r, &kinds[i], flames, &made[i], &totals[i], err) < 0)
			return NULL;
	}
	// The first one is what a reader sees: where most threads wait for work, what runs would be
	// a sliver beside them.
	if (made[TIME] && made[ON_CPU] && totals[TIME] / (1 + IDLE_TIMES) > totals[ON_CPU]) {
		order[TIME] = ON_CPU;
		order[ON_CPU] = TIME;
	}
	for (size_t i = 0; i < COUNT; i++) {
		const struct section_column column = { .id = kinds[order[i]].key,
			                               .type = CELL_ROW,
			                               PAGE(1) };
		section_columns(s, &column, 1);
	}
	struct section_row *row = section_row(s, &(const uint64_t){ 0 });
	for (size_t i = 0; row && i < s->column_count; i++) {
		row->cells[i].section = made[order[i]];
		row->cells[i].flags = made[order[i]] ? 0 : CELL_ABSENT;
	}
	return section_end(s, err);
}

bool flames_have_processes(const struct profile *profile)
{
	struct totals totals;

	query_totals(profile, &totals);
	return totals.processes > 1;
}
