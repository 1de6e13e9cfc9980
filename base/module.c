// SPDX-License-Identifier: MIT
#include "base/module.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"

#include <string.h>

struct modules {
	struct strings *paths;
	struct module **modules; // each on its own, so that it never moves
	size_t count, capacity;
	struct hash index;
};

struct modules *modules_new(void)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->paths = strings_new();
	if (!m->paths || !hash_init(&m->index, 64)) {
		modules_free(m);
		return NULL;
	}
	return m;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		close_at_scope_end(&m->modules[i]->fd);
		free(m->modules[i]);
	}
	free(m->modules);
	hash_fini(&m->index);
	strings_free(m->paths);
	free(m);
}

static uint64_t hash_of(const struct module *module)
{
	uint64_t file = hash_pair((uint64_t)module->inode, (uint64_t)module->device);
	uint64_t owner = module->kind == MODULE_JIT ? (uint64_t)module->pid : 0;

	return hash_pair(hash_bytes(module->path, strlen(module->path)), file ^ owner << 32);
}

static bool same(const struct module *a, const struct module *b)
{
	if (a->kind != b->kind || a->device != b->device || a->inode != b->inode)
		return false;
	if (a->kind == MODULE_JIT && a->pid != b->pid)
		return false;
	if (a->build_id_size && b->build_id_size &&
	    (a->build_id_size != b->build_id_size ||
	     memcmp(a->build_id, b->build_id, a->build_id_size) != 0))
		return false;
	return strcmp(a->path, b->path) == 0;
}

struct module *modules_add(struct modules *m, const struct module *wanted, bool *added)
{
	if (!hash_make_room(&m->index))
		return NULL;
	if (added)
		*added = false;

	uint32_t at;
	for (at = hash_start(&m->index, hash_of(wanted)); m->index.slots[at];
	     at = hash_next(&m->index, at)) {
		struct module *known = m->modules[m->index.slots[at] - 1];
		if (same(known, wanted))
			return known;
	}

	if (!array_reserve(&m->modules, &m->capacity, m->count + 1))
		return NULL;
	const char *path = strings_get(m->paths, strings_add(m->paths, wanted->path));
	struct module *module = malloc(sizeof(*module));
	if (!path || !module) {
		free(module);
		return NULL;
	}
	*module = *wanted;
	module->path = path;
	module->id = (uint32_t)m->count + 1;
	m->modules[m->count++] = module;
	hash_insert(&m->index, at, hash_of(wanted), module->id);
	if (added)
		*added = true;
	return module;
}

struct module *modules_get(const struct modules *m, uint32_t id)
{
	return id && id <= m->count ? m->modules[id - 1] : NULL;
}

bool modules_rename(struct modules *m, uint32_t id, const char *path)
{
	struct module *module = modules_get(m, id);
	const char *kept = module ? strings_get(m->paths, strings_add(m->paths, path)) : NULL;

	if (kept)
		module->path = kept;
	return kept != NULL;
}

uint32_t modules_count(const struct modules *m)
{
	return (uint32_t)m->count;
}
