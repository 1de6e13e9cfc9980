// SPDX-License-Identifier: MIT
#include "base/code.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"

#include <stdbool.h>
#include <string.h>

// The texts of a registry are each there once: equal ones are the same.
struct codes {
	struct strings *texts;
	struct code **codes; // each on its own, so that it never moves
	size_t count, capacity;
	struct hash index;
	struct code_call *calls;
	size_t call_count, call_capacity;
	struct hash call_index;
	const char **modules; // [id - 1]: in texts
	size_t module_count, module_capacity;
};

struct codes *codes_new(void)
{
	cleanup(codes) struct codes *c = calloc(1, sizeof(*c));

	if (!c || !(c->texts = strings_new()) || !hash_init(&c->index, 256) ||
	    !hash_init(&c->call_index, 64))
		return NULL;
	return steal(c);
}

void codes_free(struct codes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->codes[i]);
	free(c->codes);
	free(c->calls);
	free(c->modules);
	hash_fini(&c->index);
	hash_fini(&c->call_index);
	strings_free(c->texts);
	free(c);
}

static uint64_t hash_of(const struct code *code)
{
	return hash_pair((uint64_t)(uintptr_t)code->file ^ code->first_line,
	                 (uint64_t)(uintptr_t)code->name);
}

static const char *keep(struct codes *c, const char *text)
{
	return strings_get(c->texts, strings_add(c->texts, text));
}

static bool same(const struct code *a, const struct code *b)
{
	return a->file == b->file && a->name == b->name && a->first_line == b->first_line;
}

static uint32_t append(struct codes *c, const struct code *code)
{
	cleanup_free struct code *copy = malloc(sizeof(*copy));

	if (!copy || c->count == CODES_MAX - 1 ||
	    !array_reserve(&c->codes, &c->capacity, c->count + 1))
		return 0;
	*copy = *code;
	c->codes[c->count++] = steal(copy);
	return (uint32_t)c->count;
}

uint32_t codes_add(struct codes *c, const struct code *wanted)
{
	struct code code = { keep(c, wanted->file), keep(c, wanted->name), wanted->first_line };
	uint32_t at;

	if (!code.file || !code.name || (!hash_make_room(&c->index)))
		return 0;
	for (at = hash_start(&c->index, hash_of(&code)); c->index.slots[at];
	     at = hash_next(&c->index, at))
		if (same(c->codes[c->index.slots[at] - 1], &code))
			return c->index.slots[at];
	uint32_t id = append(c, &code);
	if (id)
		hash_insert(&c->index, at, hash_of(&code), id);
	return id;
}

const struct code *codes_get(const struct codes *c, uint32_t id)
{
	return id && id <= c->count ? c->codes[id - 1] : NULL;
}

static uint64_t hash_of_call(uint32_t caller, struct frame frame)
{
	return hash_pair(frame.address, (uint64_t)caller << 32 | frame.module << 8 | frame.kind);
}

static bool same_frame(struct frame a, struct frame b)
{
	return a.address == b.address && a.module == b.module && a.kind == b.kind;
}

uint32_t codes_add_call(struct codes *c, uint32_t caller, struct frame frame)
{
	uint32_t at;

	if (!hash_make_room(&c->call_index))
		return 0;
	for (at = hash_start(&c->call_index, hash_of_call(caller, frame)); c->call_index.slots[at];
	     at = hash_next(&c->call_index, at)) {
		const struct code_call *known = &c->calls[c->call_index.slots[at] - 1];
		if (known->caller == caller && same_frame(known->frame, frame))
			return c->call_index.slots[at];
	}
	if (c->call_count == CODES_CALLS_MAX ||
	    !array_reserve(&c->calls, &c->call_capacity, c->call_count + 1))
		return 0;
	c->calls[c->call_count++] = (struct code_call){ caller, frame };
	hash_insert(&c->call_index, at, hash_of_call(caller, frame), (uint32_t)c->call_count);
	return (uint32_t)c->call_count;
}

const struct code_call *codes_get_call(const struct codes *c, uint32_t id)
{
	return id && id <= c->call_count ? &c->calls[id - 1] : NULL;
}

uint32_t codes_add_module(struct codes *c, const char *name)
{
	const char *text = keep(c, name);

	if (!text || c->module_count == CODES_CALLS_MAX ||
	    !array_reserve(&c->modules, &c->module_capacity, c->module_count + 1))
		return 0;
	c->modules[c->module_count++] = text;
	return (uint32_t)c->module_count;
}

bool codes_name_module(struct codes *c, uint32_t id, const char *name)
{
	const char *text = keep(c, name);

	if (text)
		c->modules[id - 1] = text;
	return text;
}

const char *codes_module(const struct codes *c, uint32_t id)
{
	return id && id <= c->module_count ? c->modules[id - 1] : NULL;
}
