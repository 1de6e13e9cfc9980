// SPDX-License-Identifier: MIT
#include "merge/query/tiers.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

struct tiers {
	const struct key_table *table;
	const struct strings *strings;
	struct hash index; // of keys that are the first of their function
};

static void tiers_at_scope_end(struct tiers *t)
{
	hash_fini(&t->index);
}

// NAME without how its code was made; NULL: it does not say.
static const char *without_tier(const char *name)
{
	// Up to Node 18 it is one of the last four, and a function may have several of them.
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
		                             "Script:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i]);
		if (strncmp(name, kinds[i], length) == 0)
			return name[length] && strchr("~^+*", name[length]) ? name + length + 1
			                                                    : NULL;
	}
	return NULL;
}

// The name of the function of KEY without its tier; NULL: it has none.
static const char *name_of(const struct tiers *t, const struct key *key)
{
	const char *name = key->group == KEY_CODE ? strings_get(t->strings, key->function) : NULL;

	return name ? without_tier(name) : NULL;
}

static uint64_t hash_of(const struct key *key, const char *name)
{
	return hash_pair(hash_pair(hash_bytes(name, strlen(name)), key->file), key->line);
}

// The first key of the function that KEY, called NAME, is of: itself, if there was none.
static uint32_t first_of(struct tiers *t, uint32_t id, const char *name)
{
	const struct key *key = &t->table->keys[id - 1];
	uint32_t at = hash_start(&t->index, hash_of(key, name));

	for (; t->index.slots[at]; at = hash_next(&t->index, at)) {
		const struct key *other = &t->table->keys[t->index.slots[at] - 1];
		if (other->file == key->file && other->line == key->line &&
		    strcmp(name_of(t, other), name) == 0)
			return t->index.slots[at];
	}
	hash_insert(&t->index, at, id);
	return id;
}

uint32_t *tiers_of_keys(const struct key_table *table, const struct strings *strings)
{
	cleanup(tiers) struct tiers t = { .table = table, .strings = strings };
	uint32_t *first = calloc((size_t)table->count + 1, sizeof(*first));

	if (!first || !hash_init(&t.index, 2 * table->count + 1)) { // it is never full
		free(first);
		return NULL;
	}
	for (uint32_t id = 1; id <= table->count; id++) {
		const char *name = name_of(&t, &table->keys[id - 1]);
		first[id - 1] = name ? first_of(&t, id, name) : id;
	}
	return first;
}
