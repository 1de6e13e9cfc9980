// SPDX-License-Identifier: MIT
// Names for what threads waited for: the variable at its address, or else where it was initialized.
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An address in a module that is to be named, of an edge.
struct wanted {
	uint32_t module;
	uint64_t address;
	struct wall_edge *edge;
};

struct names {
	struct wanted *wanted; // sorted by module, then address
	uint64_t *addresses;   // of one module, distinct
	struct variable *variables;
	struct symbol_chain *chains;
};

static void names_at_scope_end(struct names *n)
{
	free(n->wanted);
	free(n->addresses);
	free(n->variables);
	free(n->chains);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not keep the names of locks");
}

static int by_address(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

static bool keep_text(struct profile *p, const char *text, uint32_t *id)
{
	*id = text ? strings_add(p->strings, text) : 0;
	return *id || !text;
}

// "journal", "table+64"
static bool name_variable(struct profile *p, struct wall_edge *edge, const struct variable *found)
{
	char *text = NULL;

	if (!found->name)
		return true;
	edge->made = (struct frame){ 0 };
	if (!keep_text(p, found->file, &edge->file))
		return false;
	if (!found->offset)
		return keep_text(p, found->name, &edge->name);
	if (asprintf(&text, "%s+%" PRIu64, found->name, found->offset) < 0)
		return false;
	bool kept = keep_text(p, text, &edge->name);
	free(text);
	return kept;
}

// Its innermost function is inlined there, or is what has made the call.
static bool name_maker(struct profile *p, struct wall_edge *edge, const struct symbol_chain *chain)
{
	const struct symbol *symbol = chain->count ? chain->symbols : NULL;

	if (!symbol)
		return true;
	edge->line = symbol->line > 0 ? (uint32_t)symbol->line : 0;
	return keep_text(p, symbol->function, &edge->name) &&
	       keep_text(p, symbol->file, &edge->file);
}

static int name_module(struct profile *p, struct symbolizer *s, struct names *n, size_t first,
                       size_t end, bool makers, struct error *err)
{
	const struct module *module = modules_get(p->modules, n->wanted[first].module);
	size_t distinct = 0, at = 0;

	if (!module)
		return 0;
	for (size_t i = first; i < end; i++)
		if (!distinct || n->addresses[distinct - 1] != n->wanted[i].address)
			n->addresses[distinct++] = n->wanted[i].address;
	memset(n->variables, 0, distinct * sizeof(*n->variables));
	memset(n->chains, 0, distinct * sizeof(*n->chains));
	if (makers ? symbolizer_resolve(s, module, n->addresses, distinct, n->chains, err) < 0
	           : symbolizer_variables(s, module, n->addresses, distinct, n->variables, err) < 0)
		return -1;
	for (size_t i = first; i < end; i++) {
		at += n->addresses[at] != n->wanted[i].address;
		if (makers ? !name_maker(p, n->wanted[i].edge, &n->chains[at])
		           : !name_variable(p, n->wanted[i].edge, &n->variables[at]))
			return no_memory(err);
	}
	return 0;
}

static int name_all(struct profile *p, struct symbolizer *s, struct names *n, bool makers,
                    struct error *err)
{
	struct wall_time *t = &p->wall_time;
	size_t count = 0;

	for (size_t i = 0; i < t->edge_count; i++) {
		struct wall_edge *e = &t->edges[i];
		if (e->name || !(makers ? e->made.module : e->module))
			continue;
		n->wanted[count++] = (struct wanted){
			.module = makers ? e->made.module : e->module,
			.address = makers ? frame_lookup_address(e->made) : e->resource,
			.edge = e,
		};
	}
	qsort(n->wanted, count, sizeof(*n->wanted), by_address);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && n->wanted[end].module == n->wanted[first].module;)
			end++;
		if (name_module(p, s, n, first, end, makers, err) < 0)
			return -1;
	}
	return 0;
}

int profile_name_waits(struct profile *p, struct symbolizer *s, struct error *err)
{
	size_t count = p->wall_time.edge_count + 1;
	cleanup(names) struct names n = {
		.wanted = calloc(count, sizeof(*n.wanted)),
		.addresses = calloc(count, sizeof(*n.addresses)),
		.variables = calloc(count, sizeof(*n.variables)),
		.chains = calloc(count, sizeof(*n.chains)),
	};

	if (!n.wanted || !n.addresses || !n.variables || !n.chains)
		return no_memory(err);
	return name_all(p, s, &n, false, err) < 0 ? -1 : name_all(p, s, &n, true, err);
}
