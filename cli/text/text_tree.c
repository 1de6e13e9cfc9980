// SPDX-License-Identifier: MIT
// The call tree, one line per call path, heavier first:
//
//     100.0  all
//      98.1  ├─ main                          xz.c:31
//      97.9  │  └─ lzma_code
//
// Where a function calls only one other, that one is a single column further in: most of a deep
// stack is such a chain. Of a very deep prefix only the end is shown.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/format.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX   512 /* deeper paths end in a line that says so */
#define PREFIX_SIZE 1024

struct walk {
	const struct text *text;
	struct table *table;
	uint64_t all;
	struct time_unit unit;
	bool ops; // at least one has been added
	char prefix[PREFIX_SIZE];
	size_t prefix_length;
};

static const struct column columns[] = {
	{ "total", COLUMN_NUMBER, 0, 0 },   { "%", COLUMN_NUMBER, 0, 0 },
	{ "self %", COLUMN_NUMBER, 0, 0 },  { "where", COLUMN_TEXT, CLIP_SYMBOL, 3 },
	{ "", COLUMN_TEXT, CLIP_START, 1 },
};

// Names need room too.
static const char *visible_prefix(const struct walk *w)
{
	const char *prefix = w->prefix;
	size_t most = (size_t)w->text->terminal.width / 4;

	for (size_t width = format_width(prefix); width > most; width--)
		for (prefix++; (*prefix & 0xc0) == 0x80;)
			prefix++;
	return prefix;
}

static void add_node(struct walk *w, const struct call_node *node, const char *branch)
{
	char name[PREFIX_SIZE + 1024], place[512];
	bool ascii = w->text->terminal.ascii;
	const char *begin = !node->op ? "" : ascii ? "{" : "«";
	const char *end = !node->op ? "" : ascii ? "}" : "»";

	snprintf(name, sizeof(name), "%s%s%s%s%s", visible_prefix(w), branch, begin, node->name,
	         end);
	place_words(node->file, node->line, node->module, place, sizeof(place));
	w->ops |= node->op;
	table_row(w->table, STYLE_PLAIN);
	table_cell(w->table, format_time(node->total, w->unit).text);
	table_cell(w->table, format_percent(node->total, w->all).text);
	table_cell(w->table, node->self ? format_percent(node->self, w->all).text : "");
	table_cell(w->table, name);
	table_cell(w->table, place);
}

static void add_children(struct walk *w, const struct call_node *node, int depth);

static void add_child(struct walk *w, const struct call_node *node, bool last, bool chain,
                      int depth)
{
	bool ascii = w->text->terminal.ascii;
	const char *branch = chain ? " " : ascii ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ ");
	const char *below = chain ? " " : last ? "   " : ascii ? "|  " : "│  ";
	size_t kept = w->prefix_length;

	add_node(w, node, branch);
	int added = snprintf(w->prefix + kept, sizeof(w->prefix) - kept, "%s", below);
	if (kept + (size_t)added < sizeof(w->prefix))
		w->prefix_length += (size_t)added;
	else
		w->prefix[kept] = '\0';
	add_children(w, node, depth + 1);
	w->prefix_length = kept;
	w->prefix[kept] = '\0';
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

static int print_tree(const struct text *text, enum query_of of, const char *name,
                      struct error *err)
{
	struct query query = view_query(text->view, BY_FUNCTION, SORT_TOTAL);
	query.of = of;
	query.without_others = true; // as in the tables
	double share = view_min_share(text->view, true);
	char note[96];
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(text->profile, &query, share, err);

	if (!tree)
		return -1;
	const struct call_node *root = call_tree_root(tree);
	if (of != QUERY_THREADS && !root->total)
		return 0;
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), &text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	struct walk walk = {
		.text = text,
		.table = table,
		.all = root->total,
		.unit = format_time_unit(root->total),
	};
	add_children(&walk, root, 0);
	snprintf(note, sizeof(note), "%s, heavier first%s",
	         of == QUERY_THREADS ? "callers above" : "who launched what ran there",
	         !walk.ops              ? ""
	         : text->terminal.ascii ? "; {ops} in braces"
	                                : "; «ops» in brackets");
	text_heading(text, name, note);
	if (table_print(table, text->out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}

int text_tree(const struct text *text, struct error *err)
{
	if (print_tree(text, QUERY_THREADS, "call tree", err) < 0)
		return -1;
	return print_tree(text, QUERY_GPU, "call tree of GPU time", err);
}
