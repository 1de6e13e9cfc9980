// SPDX-License-Identifier: MIT
#include "symbolize/inlines.h"

#include "base/array.h"

#include <dwarf.h>

#define DEPTH_MAX 1024

struct walk {
	struct inlines *in;
	struct unit *unit;
	const uint64_t *addresses;
	size_t count;
	uint32_t *scopes;
	bool deep; // look for functions everywhere, not just where they usually are
	bool out_of_memory;
};

void inlines_fini(struct inlines *in)
{
	free(in->scopes);
	free(in->ranges.items);
	*in = (struct inlines){ 0 };
}

static size_t lower_bound(const struct walk *w, uint64_t wanted)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->addresses[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Reads what ENTRY covers. True if an address of ours is in it.
static bool is_hit(struct walk *w, const struct entry *entry)
{
	struct range_list *list = &w->in->ranges;

	unit_ranges(w->unit, &entry->values[SLOT_LOW_PC], &entry->values[SLOT_HIGH_PC],
	            &entry->values[SLOT_RANGES], list);
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].start < w->in->lowest_code)
			continue;
		size_t at = lower_bound(w, list->items[i].start);
		if (at < w->count && w->addresses[at] < list->items[i].end)
			return true;
	}
	return false;
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
	struct entry entry;

	unit_read(w->unit, abbrev, c, &entry);
	bool hit = !c->bad && is_hit(w, &entry);
	if (c->bad || (!hit && !may_be_in_pieces(w, abbrev)))
		return false;
	uint32_t number = add_scope(w, &entry, outer);
	if (!number)
		return false;
	if (hit)
		mark(w, number);
	*scope = number;
	return true;
}

static bool enter_block(struct walk *w, const struct abbrev *abbrev, struct cursor *c)
{
	struct entry entry;

	if (!abbrev->has_code) {
		unit_skip(w->unit, abbrev, c);
		return true;
	}
	unit_read(w->unit, abbrev, c, &entry);
	return !c->bad && (is_hit(w, &entry) || may_be_in_pieces(w, abbrev));
}

/*
 * Decides about the entry at C: true to go on with its children, of which *SCOPE
 * is the scope then (C stands behind its attributes); false to step over it.
 */
static bool visit(struct walk *w, const struct abbrev *abbrev, struct cursor *c, uint32_t *scope)
{
	switch (abbrev->tag) {
	case DW_TAG_subprogram:
		if (abbrev->has_code) {
			struct cursor attributes = *c;
			if (enter(w, abbrev, c, 0, scope))
				return true;
			*c = attributes;
		}
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
		unit_skip(w->unit, abbrev, c);
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
	unit_skip(w->unit, abbrev, c);
	*scope = 0;
	return true;
}

static void walk_unit(struct walk *w)
{
	uint32_t levels[DEPTH_MAX] = { 0 }; // the scope at each depth
	struct cursor c = unit_cursor(w->unit, w->unit->root);
	const struct abbrev *abbrev = unit_next(w->unit, &c);

	if (!abbrev || !abbrev->has_children)
		return;
	unit_skip(w->unit, abbrev, &c);
	for (size_t depth = 1; depth && !c.bad && !w->out_of_memory;) {
		abbrev = unit_next(w->unit, &c);
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
		unit_skip_tree(w->unit, abbrev, &c);
	}
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
	walk_unit(&deep);
	for (size_t i = 0, k = 0; i < w->count; i++)
		if (!w->scopes[i])
			w->scopes[i] = scopes[k++];
	return !deep.out_of_memory;
}

bool inlines_find(struct inlines *in, struct unit *unit, const uint64_t *addresses, size_t count,
                  uint32_t *scopes)
{
	struct walk walk = {
		.in = in, .unit = unit, .addresses = addresses, .count = count, .scopes = scopes
	};

	memset(scopes, 0, count * sizeof(*scopes));
	if (!unit_prepare(unit))
		return true;
	walk_unit(&walk);
	return find_deep(&walk);
}
