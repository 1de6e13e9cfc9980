// SPDX-License-Identifier: MIT
#include "merge/profile/counts.h"

#include "base/array.h"
#include "merge/profile/profile_data.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024

void counts_fini(struct counts *c)
{
	free(c->functions);
	free(c->lines);
	hash_fini(&c->by_function);
	hash_fini(&c->by_line);
}

static uint64_t hash_function(uint32_t name, uint32_t file, uint32_t module)
{
	return hash_pair(hash_pair(name, file), module);
}

static uint64_t hash_line(uint32_t function, uint32_t file, uint32_t line)
{
	return hash_pair(hash_pair(function, file), line);
}

static bool is_ready(struct hash *h)
{
	return h->slots || hash_init(h, FIRST_SLOTS);
}

uint32_t counts_function(struct counts *c, uint32_t name, uint32_t file, uint32_t module)
{
	struct hash *h = &c->by_function;
	uint32_t at;

	if (!is_ready(h))
		return 0;
	for (at = hash_start(h, hash_function(name, file, module)); h->slots[at];
	     at = hash_next(h, at)) {
		const struct count_function *f = &c->functions[h->slots[at] - 1];
		if (f->name == name && f->file == file && f->module == module)
			return h->slots[at];
	}
	if (c->function_count == COUNTS_MAX ||
	    !array_reserve(&c->functions, &c->function_capacity, (size_t)c->function_count + 1))
		return 0;
	c->functions[c->function_count++] =
		(struct count_function){ .name = name, .file = file, .module = module };
	hash_insert(h, at, hash_function(name, file, module), c->function_count);
	if (!hash_make_room(h))
		return 0;
	return c->function_count;
}

static struct count_line *get_line(struct counts *c, uint32_t function, uint32_t file,
                                   uint32_t line)
{
	struct hash *h = &c->by_line;
	uint32_t at;

	if (!is_ready(h))
		return NULL;
	for (at = hash_start(h, hash_line(function, file, line)); h->slots[at];
	     at = hash_next(h, at)) {
		struct count_line *l = &c->lines[h->slots[at] - 1];
		if (l->function == function && l->file == file && l->line == line)
			return l;
	}
	if (c->line_count == COUNTS_MAX ||
	    !array_reserve(&c->lines, &c->line_capacity, (size_t)c->line_count + 1))
		return NULL;
	c->lines[c->line_count++] =
		(struct count_line){ .function = function, .file = file, .line = line };
	hash_insert(h, at, hash_line(function, file, line), c->line_count);
	if (!hash_make_room(h))
		return NULL;
	return &c->lines[c->line_count - 1];
}

bool counts_add(struct counts *c, uint32_t function, uint32_t file, uint32_t line, uint64_t number)
{
	struct count_line *l = get_line(c, function, file, line);

	if (!l)
		return false;
	l->self += number;
	c->functions[function - 1].self += number;
	c->all += number;
	return true;
}

struct counts *profile_writable_counts(struct profile *p)
{
	return &p->counts;
}

struct strings *profile_writable_strings(struct profile *p)
{
	return p->strings;
}
