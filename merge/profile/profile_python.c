// SPDX-License-Identifier: MIT
// What a profile is told of Python beside its stacks.
#include "base/code.h"
#include "merge/profile/profile_data.h"

#include <string.h>

void profile_add_python_name(struct profile *p, const struct python_name_event *event)
{
	const struct callable callable = {
		.offset = event->file_offset,
		.module = event->module,
		.name = *event->name ? strings_add(p->strings, event->name) : 0,
	};

	p->lost += (*event->name && !callable.name) || !callables_add(&p->callables, &callable);
}

void profile_add_python_calls(struct profile *p, const struct python_calls_event *event)
{
	const struct code *code = p->codes ? codes_get(p->codes, event->code) : NULL;

	p->call_counts.begun += event->first;
	p->call_counts.ended += event->last;
	if (!event->calls)
		return;
	const struct call_count more = {
		.function = strings_add(p->strings, code ? code->name : NULL),
		.file = strings_add(p->strings, code ? code->file : NULL),
		.calls = event->calls,
	};
	// A call that is missing makes the rest no better than a lower bound.
	if (!more.function || !call_counts_add(&p->call_counts, &more))
		p->call_counts.begun++;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = text ? strlen(text) : 0, wanted = strlen(end);

	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

bool profile_is_python(const struct profile *p, const struct location *location, const char *name,
                       const char *file)
{
	if (location->kind != FRAME_PYTHON || !location->place_count)
		return false;
	const struct place *place = locations_places(&p->locations, location);
	return ends_with(strings_get(p->strings, place->function), name) &&
	       ends_with(strings_get(p->strings, place->file), file);
}
