// SPDX-License-Identifier: MIT
#include "merge/record/traced.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static bool is_new(struct traced_reason *r, const char *name)
{
	uint64_t hash = hash_bytes(name, strlen(name));

	for (uint32_t i = 0; i < r->known; i++)
		if (r->hashes[i] == hash)
			return false;
	if (r->known < TRACED_KNOWN)
		r->hashes[r->known++] = hash;
	return true;
}

void traced_add(struct traced *t, const struct patch_event *event)
{
	struct traced_reason *r = &t->reasons[event->reason];

	if (event->pattern < TRACED_PATTERNS)
		t->matched[event->pattern] = true;
	if (event->reason == PATCH_DONE || event->reason == PATCH_PYTHON ||
	    (*event->name && !is_new(r, event->name)))
		return;
	if (r->count < TRACED_NAMES)
		snprintf(r->names[r->count], sizeof(r->names[0]), "%s", event->name);
	r->count += event->count;
}
