// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/inlines.h"

#include "base/array.h"
#include "symbolize/dwarf/entry_steps.h"
#include "symbolize/dwarf/unit_values.h"

#include <dwarf.h>

#define DEPTH_MAX 1024

struct walk {
	struct inlines *in;
	struct unit *unit;
	const struct entry_steps *steps;
	const uint64_t *addresses;
	size_t count;
	uint32_t *scopes;
	bool deep; // look for functions everywhere, not just where they usually are
	struct function_index *index; // to fill; NULL: none
	uint64_t entry;               // offset of the one that is looked at
	bool out_of_memory;
};

void inlines_fini(struct inlines *in)
{
	free(in->scopes);
	free(in->ranges.items);
	*in = (struct inlines){ 0 };
}

void inline_index_fini(struct inline_index *index)
{
	free(index->usual.items);
	free(index->all.items);
	*index = (struct inline_index){ 0 };
}

static size_t lower_bound(const struct walk *w, uint64_t wanted)
{
	return array_search(w->count, i, w->addresses[i] < wanted);
}

// Reads what ENTRY covers. True if an address of ours is in it.
static bool is_hit(struct walk *w, const struct entry *entry)
{
	struct range_list *list = &w->in->ranges;

	unit_ranges(w->unit, entry, list);
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].start < w->in->lowest_code)
			continue;
		size_t at = lower_bound(w, list->items[i].start);
		if (at < w->count && w->addresses[at] < list->items[i].end)
			return true;
	}
	return false;
}

// Notes where the function is whose ranges is_hit() has read.
static void note_function(struct walk *w)
{
	const struct range_list *list = &w->in->ranges;
	struct function_index *index = w->index;

	for (size_t i = 0; index && i < list->count; i++) {
		if (!array_reserve(&index->items, &index->capacity, index->count + 1)) {
			w->index = NULL; // stays incomplete
			return;
		}
		index->items[index->count++] =
			(struct function_range){ list->items[i].start, list->items[i].end,
			                         w->entry };
	}
}

// Strict DWARF 2 cannot say that code is in several pieces: an inlined call has none then, and a
// function has several entries, of which one holds what is inlined into all of them.
static bool may_be_in_pieces(const struct walk *w, const struct abbrev *abbrev)
{
	return !abbrev->has_code || w->unit->version <= 2;
}

// Puts the addresses in the ranges that is_hit() has read into SCOPE.
static void mark(struct walk *w, uint32_t scope)
{
	const struct range_list *list = &w->in->ranges;
	bool keep = w->unit->version <= 2 && !w->in->scopes[scope - 1].outer;

	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].start < w->in->lowest_code)
			continue;
		size_t at = lower_bound(w, list->items[i].start);
		for (; at < w->count && w->addresses[at] < list->items[i].end; at++) {
			if (!dwarf_file_burn(w->unit->file, 1))
				return;
			if (!keep || !w->scopes[at])
				w->scopes[at] = scope;
		}
	}
}

static uint32_t add_scope(struct walk *w, const struct entry *entry, uint32_t outer)
{
	struct inlines *in = w->in;

	if (!array_reserve(&in->scopes, &in->capacity, in->count + 1)) {
		w->out_of_memory = true;
		return 0;
	}
	struct scope *scope = &in->scopes[in->count++];
	*scope = (struct scope){ .outer = outer };
	scope->name = unit_function_name(w->unit, entry);
	unit_number(&entry->values[SLOT_CALL_FILE], &scope->call_file);
	unit_number(&entry->values[SLOT_CALL_LINE], &scope->call_line);
	if (!outer && in->ranges.count)
		scope->start = in->ranges.items[0].start;
	return (uint32_t)in->count;
}

// Looks at a function or an inlined call that has code: down into it if it is hit.
static bool enter(struct walk *w, const struct abbrev *abbrev, struct cursor *c, uint32_t outer,
                  uint32_t *scope)
{
	// What stands in another function is found with that, unless all are looked for.
	bool is_function = abbrev->tag == DW_TAG_subprogram && (!*scope || w->deep);
	struct entry entry;

	if (!unit_read(w->unit, w->entry, &entry))
		return false;
	bool hit = is_hit(w, &entry);
	if (is_function)
		note_function(w);
	if (!hit && !may_be_in_pieces(w, abbrev))
		return false;
	uint32_t number = add_scope(w, &entry, outer);
	if (!number)
		return false;
	if (hit)
		mark(w, number);
	*scope = number;
	entry_steps_skip(w->steps, abbrev, c);
	return true;
}

static bool enter_block(struct walk *w, const struct abbrev *abbrev, struct cursor *c)
{
	struct entry entry;

	if (!abbrev->has_code) {
		entry_steps_skip(w->steps, abbrev, c);
		return true;
	}
	if (!unit_read(w->unit, w->entry, &entry) ||
	    !(is_hit(w, &entry) || may_be_in_pieces(w, abbrev)))
		return false;
	entry_steps_skip(w->steps, abbrev, c);
	return true;
}

/*
 * Decides about the entry at C: true to go on with its children, of which *SCOPE
 * is the scope then (C stands behind its attributes); false to step over it.
 */
static bool visit(struct walk *w, const struct abbrev *abbrev, struct cursor *c, uint32_t *scope)
{
	switch (abbrev->tag) {
	case DW_TAG_subprogram:
		if (abbrev->has_code && enter(w, abbrev, c, 0, scope))
			return true;
		break;
	case DW_TAG_inlined_subroutine:
		if (*scope)
			return enter(w, abbrev, c, *scope, scope);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		if (*scope)
			return enter_block(w, abbrev, c);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		entry_steps_skip(w->steps, abbrev, c);
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		break;
	default:
		return false;
	}
	if (!w->deep)
		return false;
	entry_steps_skip(w->steps, abbrev, c);
	*scope = 0;
	return true;
}

// Walks over the entries at C and behind it, or over the first of them ALONE. True at a clean end.
static bool walk_entries(struct walk *w, struct cursor c, bool alone)
{
	uint32_t levels[DEPTH_MAX] = { 0 }; // the scope at each depth
	size_t depth = 1;

	do {
		w->entry = entry_steps_offset(w->steps, &c);
		const struct abbrev *abbrev = entry_steps_next(w->steps, &c);
		if (!abbrev) {
			depth--;
			continue;
		}
		struct cursor attributes = c;
		uint32_t scope = levels[depth - 1];
		if (visit(w, abbrev, &c, &scope) && depth < DEPTH_MAX) {
			if (abbrev->has_children)
				levels[depth++] = scope;
			continue;
		}
		c = attributes;
		entry_steps_skip_tree(w->steps, abbrev, &c);
	} while (depth > alone && !c.bad && !w->out_of_memory);
	return !c.bad && !w->out_of_memory;
}

static void walk_unit(struct walk *w)
{
	struct cursor c = entry_steps_cursor(w->steps, w->unit->root);
	const struct abbrev *abbrev = entry_steps_next(w->steps, &c);

	if (!abbrev || !abbrev->has_children)
		return;
	entry_steps_skip(w->steps, abbrev, &c);
	if (w->index)
		w->index->count = 0;
	bool clean = walk_entries(w, c, false);
	if (w->index)
		w->index->complete = clean;
}

static void walk_hit_functions(struct walk *w, const struct function_index *index)
{
	uint64_t last = 0;

	for (size_t i = 0; i < index->count && !w->out_of_memory; i++) {
		const struct function_range *range = &index->items[i];
		size_t at = lower_bound(w, range->start);
		if (range->start < w->in->lowest_code || range->offset == last || at == w->count ||
		    w->addresses[at] >= range->end)
			continue;
		last = range->offset;
		walk_entries(w, entry_steps_cursor(w->steps, last), true);
	}
}

// INDEX may be NULL.
static void walk(struct walk *w, struct function_index *index)
{
	if (index && index->complete) {
		walk_hit_functions(w, index);
		return;
	}
	// A function in pieces may have to be entered though none of them is hit.
	w->index = w->unit->version > 2 ? index : NULL;
	walk_unit(w);
}

// A second walk for those that the first has not found: functions of local classes and lambdas.
static bool find_deep(struct walk *w)
{
	size_t missing = 0;

	for (size_t i = 0; i < w->count; i++)
		missing += !w->scopes[i];
	if (!missing || w->out_of_memory)
		return !w->out_of_memory;
	cleanup_free uint64_t *addresses = malloc(missing * sizeof(*addresses));
	cleanup_free uint32_t *scopes = calloc(missing, sizeof(*scopes));
	if (!addresses || !scopes)
		return false;
	size_t count = 0;
	for (size_t i = 0; i < w->count; i++)
		if (!w->scopes[i])
			addresses[count++] = w->addresses[i];
	struct walk deep = *w;
	deep.addresses = addresses;
	deep.count = count;
	deep.scopes = scopes;
	deep.deep = true;
	walk(&deep, w->in->index ? &w->in->index->all : NULL);
	for (size_t i = 0, k = 0; i < w->count; i++)
		if (!w->scopes[i])
			w->scopes[i] = scopes[k++];
	return !deep.out_of_memory;
}

bool inlines_find(struct inlines *in, struct unit *unit, const uint64_t *addresses, size_t count,
                  uint32_t *scopes)
{
	memset(scopes, 0, count * sizeof(*scopes));
	cleanup(entry_steps) struct entry_steps *steps =
		unit_prepare(unit) ? entry_steps_new(unit) : NULL;
	struct walk w = { .in = in,
		          .unit = unit,
		          .steps = steps,
		          .addresses = addresses,
		          .count = count,
		          .scopes = scopes };

	if (!steps)
		return true;
	walk(&w, in->index ? &in->index->usual : NULL);
	return find_deep(&w);
}
