// SPDX-License-Identifier: MIT
#include "tracer/agent/op/definition.h"

#include "base/hash.h"
#include "base/path.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/table.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define OBJECTS_MAX 1024
#define NEEDS_MAX   16384

AGENT_TABLE struct definition_site definition_sites[DEFINITION_SITES];
static uint32_t forgotten; // atomic

// Without a free place the first one is given away.
void definition_remember(uint32_t number, uint64_t caller, void *target)
{
	uint64_t key = definition_key(number, caller);
	struct definition_site *site = &definition_sites[definition_place(key, 0)];

	for (uint32_t i = 0; i < DEFINITION_SITES_TRIED; i++) {
		struct definition_site *other = &definition_sites[definition_place(key, i)];
		if (__atomic_load_n(&other->key, __ATOMIC_RELAXED))
			continue;
		site = other;
		break;
	}
	__atomic_store_n(&site->key, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&site->target, target, __ATOMIC_RELEASE);
	__atomic_store_n(&site->key, key, __ATOMIC_RELEASE);
}

void definition_forget(void)
{
	__atomic_fetch_add(&forgotten, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < DEFINITION_SITES; i++)
		if (__atomic_load_n(&definition_sites[i].key, __ATOMIC_RELAXED))
			__atomic_store_n(&definition_sites[i].key, 0, __ATOMIC_RELEASE);
}

uint32_t definition_forgotten(void)
{
	return __atomic_load_n(&forgotten, __ATOMIC_RELAXED);
}

struct object {
	struct loaded loaded;
	bool ours;
	uint64_t file_hash, name_hash; // of the last part of its path, and of its own name
	uint32_t needs, need_count;    // in NEEDS
};

// All objects in the order of their loading, and what each needs.
struct objects {
	uint32_t count;
	struct object of[OBJECTS_MAX];
	uint32_t need_count;
	uint64_t needs[NEEDS_MAX];  // hashes of names
	uint16_t needed[NEEDS_MAX]; // the objects; COUNT: it is not there
	uint16_t order[OBJECTS_MAX];
	bool reached[OBJECTS_MAX];
	uint32_t caller; // the object that holds the call; OBJECTS_MAX: none
};

struct search {
	const char *name;
	uint64_t caller;
	bool near; // in what the caller's object needs alone
	struct objects *objects;
	void *found;
};

static uint64_t hash_name(const char *name)
{
	return name ? hash_bytes(name, strlen(name)) | 1 : 0;
}

static void add_need(void *context, const char *name)
{
	struct objects *o = context;

	if (o->need_count == NEEDS_MAX)
		return;
	o->needs[o->need_count++] = hash_name(name);
	o->of[o->count].need_count++;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct objects *o = search->objects;
	struct loaded loaded;

	(void)size;
	if (o->count == OBJECTS_MAX || !loaded_of(info, &loaded))
		return 0;
	o->of[o->count] = (struct object){
		.loaded = loaded,
		.ours = loaded_holds(info, (uintptr_t)&add_object),
		.file_hash = hash_name(path_base(loaded.path)),
		.name_hash = hash_name(loaded_name(&loaded)),
		.needs = o->need_count,
	};
	if (loaded_holds(info, search->caller))
		o->caller = o->count;
	loaded_needs(&loaded, add_need, o);
	o->count++;
	return 0;
}

static uint32_t find_object(const struct objects *o, uint64_t hash)
{
	uint32_t i = 0;

	while (i < o->count && o->of[i].file_hash != hash && o->of[i].name_hash != hash)
		i++;
	return i;
}

// ROOT and all that it needs, breadth first: what dlopen() of it searches. Returns how many.
static uint32_t search_list(struct objects *o, uint32_t root)
{
	uint32_t count = 1;

	memset(o->reached, 0, o->count * sizeof(o->reached[0]));
	o->order[0] = (uint16_t)root;
	o->reached[root] = true;
	for (uint32_t i = 0; i < count; i++) {
		const struct object *object = &o->of[o->order[i]];
		for (uint32_t j = 0; j < object->need_count; j++) {
			uint32_t needed = o->needed[object->needs + j];
			if (needed == o->count || o->reached[needed])
				continue;
			o->reached[needed] = true;
			o->order[count++] = (uint16_t)needed;
		}
	}
	return count;
}

static void *define_in_list(struct objects *o, uint32_t root, const char *name)
{
	uint32_t count = search_list(o, root);
	void *found = NULL;

	if (!o->reached[o->caller])
		return NULL;
	for (uint32_t i = 0; i < count && !found; i++)
		if (!o->of[o->order[i]].ours)
			found = loaded_define(&o->of[o->order[i]].loaded, name);
	return found;
}

// An object's scope is the list of what was opened when it came in, which is the first object that
// has it in its list, and of those that have needed it since.
static void *define_in_scope(struct objects *o, const char *name)
{
	void *found = NULL;

	for (uint32_t root = 0; root < o->count && !found; root++)
		found = define_in_list(o, root, name);
	return found;
}

// Under the loader's lock, which the walk within takes once more.
static int search_objects(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct objects *o = search->objects;

	(void)info;
	(void)size;
	o->caller = OBJECTS_MAX;
	loader_each(add_object, search);
	for (uint32_t i = 0; i < o->need_count; i++)
		o->needed[i] = (uint16_t)find_object(o, o->needs[i]);
	if (o->caller < o->count)
		search->found = search->near ? define_in_list(o, o->caller, search->name)
		                             : define_in_scope(o, search->name);
	return 1;
}

static void *ask_scope(const char *name, uint64_t caller, bool near)
{
	size_t size = sizeof(struct objects);
	struct search search = { .name = name, .caller = caller, .near = near };
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	search.objects = memory;
	loader_each(search_objects, &search);
	munmap(memory, size);
	return search.found;
}

struct definers {
	const char *name;
	unsigned count;
	void *first;
};

static int add_definer(struct dl_phdr_info *info, size_t size, void *context)
{
	struct definers *definers = context;
	struct loaded loaded;

	(void)size;
	if (loaded_holds(info, (uintptr_t)&add_definer) || !loaded_of(info, &loaded))
		return 0;
	void *found = loaded_define(&loaded, definers->name);
	if (found && definers->count++ == 0)
		definers->first = found;
	return 0;
}

void *definition_find(const char *name, uint64_t caller)
{
	struct definers definers = { .name = name };
	struct loader_lock lock;
	int error = errno;

	loader_each(add_definer, &definers);
	void *found = definers.first;
	if (definers.count > 1) {
		found = NULL;
		if (loader_lock_soon(&lock)) {
			found = dlsym(RTLD_NEXT, name);
			loader_unlock(&lock);
		}
		found = found ? found : ask_scope(name, caller, false);
		found = found ? found : definers.first;
	}
	errno = error;
	return found;
}

void *definition_first(const char *name)
{
	struct definers definers = { .name = name };

	loader_each(add_definer, &definers);
	return definers.first;
}

struct behind {
	const char *name;
	bool behind;
	void *found, *before;
};

static int find_behind(struct dl_phdr_info *info, size_t size, void *context)
{
	struct behind *search = context;
	struct loaded loaded;

	(void)size;
	if (loaded_holds(info, (uintptr_t)&find_behind))
		search->behind = true;
	else if ((search->behind || !search->before) && loaded_of(info, &loaded))
		*(search->behind ? &search->found : &search->before) =
			loaded_define(&loaded, search->name);
	return search->found != NULL;
}

void *definition_behind_us(const char *name)
{
	struct behind search = { .name = name };

	loader_each(find_behind, &search);
	return search.found ? search.found : search.before;
}

void *definition_in_scope(const char *name, uint64_t caller)
{
	int error = errno;
	void *found = ask_scope(name, caller, false);

	errno = error;
	return found;
}

void *definition_near(const void *address, const char *name)
{
	int error = errno;
	void *found = ask_scope(name, (uint64_t)address, true);

	errno = error;
	return found;
}

struct path {
	uintptr_t address;
	char *text;
	uint32_t size;
	bool found;
};

static int find_path(struct dl_phdr_info *info, size_t size, void *context)
{
	struct path *path = context;

	(void)size;
	if (!loaded_holds(info, path->address))
		return 0;
	size_t length = strnlen(info->dlpi_name, path->size - 1);
	memcpy(path->text, info->dlpi_name, length);
	path->text[length] = 0;
	path->found = true;
	return 1;
}

bool definition_path(const void *address, char *path, uint32_t size)
{
	struct path wanted = { (uintptr_t)address, path, size, false };

	loader_each(find_path, &wanted);
	return wanted.found;
}
