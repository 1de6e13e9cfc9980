// SPDX-License-Identifier: MIT
#include "tracer/agent/loaded.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef STT_GNU_IFUNC
#define STT_GNU_IFUNC 10
#endif

#define VERSION_HIDDEN 0x8000 // of a symbol that only those who ask for its version get

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
	const uint16_t *versions;
	const ElfW(Rela) * relocations;
	size_t relocation_count;
	size_t relative_count;    // those come first
	const ElfW(Rela) * calls; // the relocations of what is called by way of the PLT
	size_t call_count;
	size_t string_bytes, symbol_bytes, relocation_bytes; // the last two: of one
	bool other_kind;                                     // relocations without addends
};

static bool holds_as(const struct dl_phdr_info *info, uintptr_t address, size_t size,
                     ElfW(Word) flags)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = address - (info->dlpi_addr + segment->p_vaddr);
		if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
		    at < segment->p_memsz && size <= segment->p_memsz - at)
			return true;
	}
	return false;
}

bool loaded_holds(const struct dl_phdr_info *info, uintptr_t address)
{
	return holds_as(info, address, 0, 0);
}

bool loaded_has_code(const struct dl_phdr_info *info, uintptr_t address)
{
	return holds_as(info, address, 1, PF_X);
}

bool loaded_has_data(const struct dl_phdr_info *info, uintptr_t address)
{
	return holds_as(info, address, sizeof(uint64_t), PF_W);
}

struct loaded_span loaded_span(const struct dl_phdr_info *info)
{
	struct loaded_span span = { UINTPTR_MAX, 0 };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		span.start = start < span.start ? start : span.start;
		span.end =
			start + segment->p_memsz > span.end ? start + segment->p_memsz : span.end;
	}
	return span;
}

bool loaded_of(const struct dl_phdr_info *info, struct loaded *out)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		*out = (struct loaded){
			.base = info->dlpi_addr,
			.dynamic =
				(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			.path = info->dlpi_name ? info->dlpi_name : "",
		};
		return true;
	}
	return false;
}

// The loader has added the base, but for objects that are not its own (the vDSO).
static const void *place(const struct loaded *object, ElfW(Addr) address)
{
	return (const void *)(address < object->base ? object->base + address : address);
}

static struct tables read_tables(const struct loaded *object)
{
	struct tables t = { 0 };

	for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
		const void *at = place(object, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			t.symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			t.strings = at;
		else if (entry->d_tag == DT_GNU_HASH)
			t.gnu_hash = at;
		else if (entry->d_tag == DT_HASH)
			t.hash = at;
		else if (entry->d_tag == DT_VERSYM)
			t.versions = at;
		else if (entry->d_tag == DT_RELA)
			t.relocations = at;
		else if (entry->d_tag == DT_RELASZ)
			t.relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
		else if (entry->d_tag == DT_JMPREL)
			t.calls = at;
		else if (entry->d_tag == DT_PLTRELSZ)
			t.call_count = entry->d_un.d_val / sizeof(ElfW(Rela));
		else if (entry->d_tag == DT_RELACOUNT)
			t.relative_count = entry->d_un.d_val;
		else if (entry->d_tag == DT_STRSZ)
			t.string_bytes = entry->d_un.d_val;
		else if (entry->d_tag == DT_SYMENT)
			t.symbol_bytes = entry->d_un.d_val;
		else if (entry->d_tag == DT_RELAENT)
			t.relocation_bytes = entry->d_un.d_val;
		else if (entry->d_tag == DT_PLTREL)
			t.other_kind = entry->d_un.d_val != DT_RELA;
	}
	return t;
}

// Not strcmp(), which is a sanitizer's where there is one, and it asks for symbols when it starts.
static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool defines(const struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &t->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE ||
	        type == STT_GNU_IFUNC) &&
	       !(t->versions && t->versions[index] & VERSION_HIDDEN) &&
	       is_same(t->strings + symbol->st_name, name);
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

static const ElfW(Sym) * look_up(const struct tables *t, const char *name)
{
	if (!t->symbols || !t->strings || !(t->gnu_hash || t->hash))
		return NULL;
	return t->gnu_hash ? look_up_gnu(t, name) : look_up_old(t, name);
}

bool loaded_defines(const struct loaded *object, const char *name)
{
	struct tables t = read_tables(object);

	return look_up(&t, name) != NULL;
}

void *loaded_define(const struct loaded *object, const char *name)
{
	struct tables t = read_tables(object);
	const ElfW(Sym) *symbol = look_up(&t, name);

	if (!symbol)
		return NULL;
	void *found = (void *)(object->base + symbol->st_value);
	// The function that is to be called comes from one that chooses it.
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return ((void *(*)(void))found)();
	return found;
}

#ifdef __x86_64__
static void visit_references(const struct loaded *object, const struct tables *t, uint32_t symbol,
                             void (*visit)(void *context, uint64_t *place, uint64_t value),
                             void *context)
{
	for (size_t i = 0; t->relocations && i < t->relocation_count; i++) {
		const ElfW(Rela) *r = &t->relocations[i];
		uint64_t type = ELF64_R_TYPE(r->r_info);
		if (ELF64_R_SYM(r->r_info) != symbol ||
		    (type != R_X86_64_GLOB_DAT && type != R_X86_64_64))
			continue;
		visit(context, (uint64_t *)(object->base + r->r_offset),
		      type == R_X86_64_64 ? (uint64_t)r->r_addend : 0);
	}
}

void loaded_weak(const struct loaded *object, bool (*is_wanted)(void *context, const char *name),
                 void (*visit)(void *context, uint64_t *place, uint64_t value), void *context)
{
	struct tables t = read_tables(object);
	// Those that are not defined come first, where others are found by DT_GNU_HASH.
	uint32_t count = t.gnu_hash ? t.gnu_hash[1] : t.hash ? t.hash[1] : 0;

	for (uint32_t i = 1; t.symbols && t.strings && i < count; i++) {
		const ElfW(Sym) *symbol = &t.symbols[i];
		if (symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_WEAK &&
		    is_wanted(context, t.strings + symbol->st_name))
			visit_references(object, &t, i, visit, context);
	}
}

struct references {
	const struct dl_phdr_info *info;
	const struct loaded *object;
	const struct tables *tables;
	bool (*is_wanted)(void *context, const char *name);
	void (*visit)(void *context, const char *name, uint64_t *place, bool lazy);
	void *context;
};

// The symbol of a relocation by which a place holds a function's address; NULL: it does not, or
// that cannot be.
static const ElfW(Sym) * symbol_of(const struct references *all, const ElfW(Rela) * r)
{
	const ElfW(Sym) *symbol = &all->tables->symbols[ELF64_R_SYM(r->r_info)];
	uint64_t type = ELF64_R_TYPE(r->r_info);

	if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
	    (type != R_X86_64_64 || r->r_addend))
		return NULL;
	if (!holds_as(all->info, (uintptr_t)symbol, sizeof(*symbol), 0) ||
	    symbol->st_shndx != SHN_UNDEF || symbol->st_name >= all->tables->string_bytes)
		return NULL;
	return symbol;
}

static void visit_wanted(const struct references *all, const ElfW(Rela) * relocations, size_t from,
                         size_t count)
{
	for (size_t i = from; relocations && i < count; i++) {
		const ElfW(Rela) *r = &relocations[i];
		const ElfW(Sym) *symbol = symbol_of(all, r);
		const char *name = symbol ? all->tables->strings + symbol->st_name : NULL;
		uintptr_t at = all->object->base + r->r_offset;
		if (name && at % sizeof(uint64_t) == 0 && loaded_has_data(all->info, at) &&
		    all->is_wanted(all->context, name))
			all->visit(all->context, name, (uint64_t *)at,
			           ELF64_R_TYPE(r->r_info) == R_X86_64_JUMP_SLOT);
	}
}

static bool holds_table(const struct dl_phdr_info *info, const void *table, size_t count,
                        size_t size)
{
	return !table || !count ||
	       (count <= SIZE_MAX / size && holds_as(info, (uintptr_t)table, count * size, 0));
}

// Whether all that is going to be read is there.
static bool are_sound(const struct dl_phdr_info *info, const struct tables *t)
{
	return t->symbols && t->strings && t->string_bytes &&
	       t->symbol_bytes == sizeof(ElfW(Sym)) && !t->other_kind &&
	       (!t->relocation_count || t->relocation_bytes == sizeof(ElfW(Rela))) &&
	       t->relative_count <= t->relocation_count &&
	       holds_table(info, t->strings, t->string_bytes, 1) &&
	       !t->strings[t->string_bytes - 1] &&
	       holds_table(info, t->relocations, t->relocation_count, sizeof(ElfW(Rela))) &&
	       holds_table(info, t->calls, t->call_count, sizeof(ElfW(Rela)));
}

bool loaded_references(const struct dl_phdr_info *info, const struct loaded *object,
                       bool (*is_wanted)(void *context, const char *name),
                       void (*visit)(void *context, const char *name, uint64_t *place, bool lazy),
                       void *context)
{
	struct tables t = read_tables(object);
	const struct references all = { info, object, &t, is_wanted, visit, context };

	if (!are_sound(info, &t))
		return false;
	visit_wanted(&all, t.relocations, t.relative_count, t.relocation_count);
	visit_wanted(&all, t.calls, 0, t.call_count);
	return true;
}
#endif

// The loader locks whole pages: of the last one, which holds other variables, nothing.
bool loaded_is_locked(const struct dl_phdr_info *info, uintptr_t address)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type == PT_GNU_RELRO && address >= (start & ~(size - 1)) &&
		    address < ((start + segment->p_memsz) & ~(size - 1)))
			return true;
	}
	return false;
}

void loaded_bind(const struct dl_phdr_info *info, uint64_t *place, uint64_t value)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)place & ~(size - 1);
	bool locked = loaded_is_locked(info, (uintptr_t)place);

	if (locked && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0)
		return;
	*place = value;
	if (locked)
		mprotect((void *)page, size, PROT_READ);
}

const char *loaded_name(const struct loaded *object)
{
	const char *strings = read_tables(object).strings;

	for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_SONAME && strings)
			return strings + entry->d_un.d_val;
	return NULL;
}

void loaded_needs(const struct loaded *object, void (*visit)(void *context, const char *name),
                  void *context)
{
	const char *strings = read_tables(object).strings;

	for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED && strings)
			visit(context, strings + entry->d_un.d_val);
}
