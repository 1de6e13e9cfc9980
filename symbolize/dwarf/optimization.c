// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/optimization.h"

#include "symbolize/dwarf/entry_steps.h"

#include <dwarf.h>
#include <string.h>

#define ENTRIES_MAX     20000 // that are looked at
#define VARIABLES_MAX   512   // the same of those with a place
#define VARIABLES_LEAST 3     // on the stack: fewer may be there by chance
#define STACK_SHARE                                                                                \
	0.75 // without optimization 0.92 to 1, with it 0 to 0.17; what is inlined always

// The last -O counts. GCC tells its options, and so -g, which this would not be here without, but
// not what it does by itself: no -O is -O0. Clang tells them only on request, then with -O0.
bool producer_is_unoptimized(const char *producer)
{
	bool told = false, optimized = false;

	if (!producer || strncmp(producer, "GNU AS", 6) == 0)
		return false;
	bool gnu = strncmp(producer, "GNU ", 4) == 0 && strstr(producer, " -g");
	for (const char *at = producer; (at = strstr(at, " -O")); at += 3) {
		told = true;
		optimized = at[3] != '0';
	}
	return told ? !optimized : gnu;
}

// Clang, rustc and others that LLVM generates code for, without their options.
static bool is_silent(const char *producer)
{
	return producer && (strstr(producer, "clang") || strstr(producer, "LLVM")) &&
	       !strstr(producer, " -O");
}

enum place {
	PLACE_FIXED, // of a variable of the whole program's
	PLACE_STACK, // all of its life
	PLACE_OTHER  // a register, a part of one, several one after the other
};

static enum place place_of(struct bytes expression)
{
	switch (expression.size ? expression.data[0] : 0) {
	case DW_OP_fbreg:
		return PLACE_STACK;
	case DW_OP_addr:
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_const4u: // thread-local
	case DW_OP_const8u:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return PLACE_FIXED;
	default:
		return PLACE_OTHER;
	}
}

// Without optimization variables and parameters have one place on the stack; with it most are in
// registers, in this one and then in that, which takes a list to describe.
static bool has_all_on_stack(const struct unit *unit)
{
	cleanup(entry_steps) struct entry_steps *s = entry_steps_new(unit);
	int stack = 0, all = 0;

	struct cursor c = s ? entry_steps_cursor(s, unit->root) : (struct cursor){ 0 };
	for (int i = 0; i < ENTRIES_MAX && c.at < c.end && all < VARIABLES_MAX; i++) {
		const struct abbrev *abbrev = entry_steps_next(s, &c);
		if (!abbrev) // the end of siblings
			continue;
		if (abbrev->location < 0 ||
		    (abbrev->tag != DW_TAG_formal_parameter && abbrev->tag != DW_TAG_variable)) {
			entry_steps_skip(s, abbrev, &c);
			continue;
		}
		enum place place = place_of(entry_steps_location(s, abbrev, &c));
		stack += place == PLACE_STACK;
		all += place != PLACE_FIXED;
	}
	return !c.bad && stack >= VARIABLES_LEAST && stack >= STACK_SHARE * all;
}

bool optimization_is_off(const struct unit *unit, const char *producer)
{
	return producer_is_unoptimized(producer) || (is_silent(producer) && has_all_on_stack(unit));
}
