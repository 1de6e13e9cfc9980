// SPDX-License-Identifier: MIT
#include "cli/run/trace_notes.h"

#include "cli/format.h"
#include "cli/option.h"
#include "merge/record/traced.h"

#include <stdio.h>
#include <string.h>

// "not traced, N of them as …: a, b". NULL: nothing is to be said.
static const char *const reasons[PATCH_REASONS] = {
	[PATCH_SHORT] = "too short",
	[PATCH_LOOPS] = "there are jumps into their first instructions",
	[PATCH_UNKNOWN] = "not all of their instructions are known",
	[PATCH_UNMOVABLE] = "their first instructions work in their place alone",
	[PATCH_SPECIAL] = "they return twice, or look at who called them",
	[PATCH_CHANGED] = "they are not in memory as in their file",
	[PATCH_FAR] = "there is no free memory near them",
	[PATCH_LOCKED] = "their code must not be changed here",
	[PATCH_BUSY] = "threads were running that may have been in them",
	[PATCH_SHADOWED] = "they begin with calls, and the program has shadow stacks (CET)",
};

static void tell_reason(const struct traced_reason *r, const char *reason,
                        void (*line)(void *context, const char *text), void *context)
{
	char text[sizeof(r->names) + 256];
	uint64_t shown = r->count < TRACED_NAMES ? r->count : TRACED_NAMES;
	size_t used = (size_t)snprintf(text, sizeof(text), "not traced, as %s: ", reason);

	for (uint64_t i = 0; i < shown; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
		                         r->names[i]);
	if (shown < r->count)
		snprintf(text + used, sizeof(text) - used, " and %s more",
		         format_count(r->count - shown).text);
	line(context, text);
}

_Static_assert(TRACED_PATTERNS >= OPTION_LIST_MAX, "patterns of --trace");

void trace_notes(const struct traced *t, const struct option_list *patterns,
                 void (*line)(void *context, const char *text), void *context)
{
	char text[512];

	for (size_t i = 0; i < patterns->count; i++) {
		if (t->matched[i])
			continue;
		snprintf(text, sizeof(text),
		         "--trace %.200s: no function of the program or its libraries has this "
		         "name, and none of Python's that was called. Static ones are found only "
		         "in files with symbols (not stripped)",
		         patterns->items[i]);
		line(context, text);
	}
	for (size_t i = 0; i < PATCH_REASONS; i++)
		if (reasons[i] && t->reasons[i].count)
			tell_reason(&t->reasons[i], reasons[i], line, context);
	uint64_t many = t->reasons[PATCH_MANY].count;
	if (many)
		snprintf(text, sizeof(text),
		         "--trace asks for more functions than can be traced: %s of a process were "
		         "left out. Name fewer",
		         format_count(many).text);
	if (many)
		line(context, text);
}
