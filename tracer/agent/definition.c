// SPDX-License-Identifier: MIT
#include "tracer/agent/definition.h"

#include "tracer/agent/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#ifndef STT_GNU_IFUNC
#define STT_GNU_IFUNC 10
#endif

#define VERSION_HIDDEN 0x8000 // of a symbol that only those who ask for its version get

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
	const uint16_t *versions;
};

struct definition_site definition_sites[DEFINITION_SITES];
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

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD &&
		    address - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

static const ElfW(Dyn) * dynamic_section(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(object->dlpi_addr +
			                           object->dlpi_phdr[i].p_vaddr);
	return NULL;
}

// The loader has added the base, but for objects that are not its own (the vDSO).
static const void *place(const struct dl_phdr_info *object, ElfW(Addr) address)
{
	return (const void *)(address < object->dlpi_addr ? object->dlpi_addr + address : address);
}

static bool read_tables(const struct dl_phdr_info *object, struct tables *out)
{
	const ElfW(Dyn) *entry = dynamic_section(object);

	*out = (struct tables){ 0 };
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *at = place(object, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			out->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			out->strings = at;
		else if (entry->d_tag == DT_GNU_HASH)
			out->gnu_hash = at;
		else if (entry->d_tag == DT_HASH)
			out->hash = at;
		else if (entry->d_tag == DT_VERSYM)
			out->versions = at;
	}
	return out->symbols && out->strings && (out->gnu_hash || out->hash);
}

static bool defines(const struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &t->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
	       !(t->versions && t->versions[index] & VERSION_HIDDEN) &&
	       strcmp(t->strings + symbol->st_name, name) == 0;
}

// The layout is glibc's and binutils': "ELF: symbol lookup via DT_HASH" and DT_GNU_HASH.
static const ElfW(Sym) * look_up_gnu(const struct tables *t, const char *name)
{
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], blooms = t->gnu_hash[2];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(t->gnu_hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + blooms);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	uint64_t word = blooms ? bloom[hash / 64 % blooms] : 0;
	if (!buckets || !(word >> hash % 64 & word >> (hash >> t->gnu_hash[3]) % 64 & 1))
		return NULL;
	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && defines(t, i, name))
			return &t->symbols[i];
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static const ElfW(Sym) * look_up_old(const struct tables *t, const char *name)
{
	uint32_t buckets = t->hash[0], hash = 0;
	const uint32_t *bucket = t->hash + 2, *chain = bucket + buckets;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i; i = chain[i])
		if (defines(t, i, name))
			return &t->symbols[i];
	return NULL;
}

struct search {
	const char *name;
	uintptr_t beside; // 0: in any object but ours
	unsigned count;
	bool computed; // the first one is found by calling a function
	void *first;
};

static int visit(struct dl_phdr_info *object, size_t size, void *context)
{
	struct search *search = context;
	struct tables t;

	(void)size;
	if (search->beside ? !holds(object, search->beside) : holds(object, (uintptr_t)&visit))
		return 0;
	if (!read_tables(object, &t))
		return 0;
	const ElfW(Sym) *symbol =
		t.gnu_hash ? look_up_gnu(&t, search->name) : look_up_old(&t, search->name);
	if (!symbol)
		return 0;
	if (search->count++ == 0) {
		search->first = (void *)(object->dlpi_addr + symbol->st_value);
		search->computed = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
	}
	return 0;
}

struct path {
	uintptr_t address;
	char *text;
	uint32_t size;
	bool found;
};

static int visit_path(struct dl_phdr_info *object, size_t size, void *context)
{
	struct path *path = context;

	(void)size;
	if (!holds(object, path->address))
		return 0;
	size_t length = strnlen(object->dlpi_name, path->size - 1);
	memcpy(path->text, object->dlpi_name, length);
	path->text[length] = 0;
	path->found = true;
	return 1;
}

bool definition_path(const void *address, char *path, uint32_t size)
{
	struct path wanted = { (uintptr_t)address, path, size, false };

	dl_iterate_phdr(visit_path, &wanted);
	return wanted.found;
}

// The loader looks through the object, and then through what it needs.
static void *ask_for(const void *address, const char *name)
{
	static void *next_dlclose; // ours would look for what has gone
	char path[1024];           // stacks may be small

	if (!definition_path(address, path, sizeof(path)) || !path[0])
		return NULL;
	void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		return NULL;
	void *found = dlsym(object, name);
	((int (*)(void *))wrap_next(&next_dlclose, "dlclose"))(object);
	return found;
}

void *definition_near(const void *address, const char *name)
{
	struct search search = { .name = name, .beside = (uintptr_t)address };
	int error = errno;

	dl_iterate_phdr(visit, &search);
	void *found = search.first && !search.computed ? search.first : ask_for(address, name);
	errno = error;
	return found;
}

void *definition_find(const char *name, uint64_t caller)
{
	struct search search = { .name = name };
	int error = errno;

	dl_iterate_phdr(visit, &search);
	void *found = search.first;
	if (search.count > 1 || search.computed) {
		found = dlsym(RTLD_NEXT, name);
		found = found ? found : ask_for((const void *)caller, name);
		found = found || search.computed ? found : search.first;
	}
	errno = error;
	return found;
}
