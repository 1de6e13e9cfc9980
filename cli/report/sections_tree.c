// SPDX-License-Identifier: MIT
// The call tree, a row for each call path, heavier first:
//
//     100.0  all
//      98.1  ├─ main                          xz.c:31
//      97.9  │  └─ lzma_code
//
// Where a function calls only one other, that one is a single column further in: most of a deep
// stack is such a chain.
#include "cli/report/sections.h"

#include "cli/report/row_words.h"
#include "cli/report/view.h"

#include <stdio.h>

#define DEPTH_MAX 512  /* deeper paths end in a line that says so */
#define STEM_SIZE 1024 /* of the lines beside a row: what is deeper has none of its own */

REPORT_KEEPS(call_tree, struct call_tree *);

struct walk {
	struct section *section;
	bool ops; // at least one has been added
	char stem[STEM_SIZE];
	size_t stem_length;
	const char *branch; // of the row that is added
};

static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct call_node *node = data;
	const struct walk *w = s->context;
	bool ascii = s->report->ascii;
	const char *begin = !node->op ? "" : ascii ? "{" : "«";
	const char *end = !node->op ? "" : ascii ? "}" : "»";

	cell->text =
		report_say(s->report, "%s\n%s%s%s%s", w->stem, w->branch, begin, node->name, end);
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct call_node *node = data;

	(void)s;
	cell->place.file = node->file;
	cell->place.line = node->line;
	cell->place.module = node->module;
}

static const struct section_column columns[] = {
	{ "total_ns", .heading = "total", .type = CELL_NS, .at = { 1 },
	  FIELD(struct call_node, total) },
	{ "total_share", .heading = "%", .type = CELL_SHARE, .at = { 2 },
	  FIELD(struct call_node, total) },
	{ "self_share", .heading = "self %", .type = CELL_SHARE, .at = { 3 }, .none = { 1 },
	  FIELD(struct call_node, self) },
	{ "where", .heading = "where", .type = CELL_TEXT, .at = { 4 }, .clip = CLIP_SYMBOL,
	  .room = 3, .stem = true, .make = make_where },
	{ "place", .heading = "", .type = CELL_PLACE, .at = { 5 }, .clip = CLIP_START, .room = 1,
	  .make = make_place },
};

static void add_children(struct walk *w, const struct call_node *node, int depth);

static void add_child(struct walk *w, const struct call_node *node, bool last, bool chain,
                      int depth)
{
	bool ascii = w->section->report->ascii;
	const char *below = chain ? " " : last ? "   " : ascii ? "|  " : "│  ";
	size_t kept = w->stem_length;

	w->branch = chain ? " " : ascii ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ ");
	w->ops |= node->op;
	section_row(w->section, node);
	int added = snprintf(w->stem + kept, sizeof(w->stem) - kept, "%s", below);
	if (kept + (size_t)added < sizeof(w->stem))
		w->stem_length += (size_t)added;
	else
		w->stem[kept] = '\0';
	add_children(w, node, depth + 1);
	w->stem_length = kept;
	w->stem[kept] = '\0';
}

// The way from the loader to main() takes lines and tells nothing.
static const struct call_node *below_startup(const struct call_node *node)
{
	while (row_is_startup(node->name) && node->child && !node->child->next)
		node = node->child;
	return node;
}

static void add_children(struct walk *w, const struct call_node *node, int depth)
{
	bool chain = node->child && !node->child->next;

	if (depth >= DEPTH_MAX)
		return;
	for (const struct call_node *child = node->child; child; child = child->next)
		add_child(w, below_startup(child), !child->next, chain, depth);
}

static struct section *make_tree(struct report *r, enum query_of of, const char *title,
                                 struct error *err)
{
	double share = view_min_share(r->view, true);
	struct query query = view_query(r->view, BY_FUNCTION, SORT_TOTAL);
	query.of = of;
	query.without_others = true; // as in the tables
	struct call_tree *tree =
		keep_call_tree(r, query_call_tree(r->profile, &query, share, err), err);

	if (!tree)
		return NULL;
	const struct call_node *root = call_tree_root(tree);
	struct section *s = section_new(r, "call_tree", title);
	s->shown = of == QUERY_THREADS || root->total;
	if (!s->shown)
		return s;
	struct walk walk = { .section = s };
	s->all = root->total;
	s->unit_ns = root->total;
	s->context = &walk;
	SECTION_COLUMNS(s, columns);
	add_children(&walk, root, 0);
	s->context = NULL;
	s->subtitle =
		report_say(r, "%s, heavier first%s",
	                   of == QUERY_THREADS ? "callers above" : "who launched what ran there",
	                   !walk.ops  ? ""
	                   : r->ascii ? "; {ops} in braces"
	                              : "; «ops» in brackets");
	return s;
}

struct section *section_call_tree(struct report *r, struct error *err)
{
	struct section *s = make_tree(r, QUERY_THREADS, "call tree", err);

	if (!s)
		return NULL;
	s->next = make_tree(r, QUERY_GPU, "call tree of GPU time", err);
	return s->next ? section_end(s, err) : NULL;
}
