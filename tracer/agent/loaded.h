/* SPDX-License-Identifier: MIT */
/*
 * An object that the loader has in memory: what it defines, and what it needs.
 *
 * The loader's lock must be held (within dl_iterate_phdr()), or the object be
 * sure to stay. Nothing is allocated.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct loaded {
	uintptr_t base;
	const ElfW(Dyn) * dynamic;
	const char *path; /* "" for the program */
};

/* False if it has no dynamic section. */
bool loaded_of(const struct dl_phdr_info *info, struct loaded *out);

/* From the start of its first segment to the end of its last. Without any, END is 0. */
struct loaded_span {
	uintptr_t start, end;
};
struct loaded_span loaded_span(const struct dl_phdr_info *info);

bool loaded_holds(const struct dl_phdr_info *info, uintptr_t address);

/* The function or object NAME as others get it who ask for no version; NULL if it defines none. */
void *loaded_define(const struct loaded *object, const char *name);

/*
 * Calls VISIT for each place of OBJECT, which is bound, that holds the address of something that it
 * refers to weakly and does not define, and that IS_WANTED; VALUE is what stands there if nobody
 * defines it. Only what is bound at the start, not what is bound when it is called.
 */
void loaded_weak(const struct loaded *object, bool (*is_wanted)(void *context, const char *name),
                 void (*visit)(void *context, uint64_t *place, uint64_t value), void *context);

/*
 * Calls VISIT for each place of OBJECT, which INFO describes, that holds, or is going to hold, the
 * address of a function that it does not define itself and that IS_WANTED. LAZY: who calls by it
 * binds it at the first call, and until then it leads back into the object. False, and nothing is
 * visited: the object's tables are not what the loader's rules ask for.
 */
bool loaded_references(const struct dl_phdr_info *info, const struct loaded *object,
                       bool (*is_wanted)(void *context, const char *name),
                       void (*visit)(void *context, const char *name, uint64_t *place, bool lazy),
                       void *context);

/* Whether it defines NAME as loaded_define() finds it; nothing of it is called. */
bool loaded_defines(const struct loaded *object, const char *name);

/* Whether ADDRESS lies in its code, or in what may be written to. */
bool loaded_has_code(const struct dl_phdr_info *info, uintptr_t address);
bool loaded_has_data(const struct dl_phdr_info *info, uintptr_t address);

/* Whether the loader has made ADDRESS read-only once all was bound (RELRO). */
bool loaded_is_locked(const struct dl_phdr_info *info, uintptr_t address);

/* Puts VALUE at PLACE, which the loader may have locked. */
void loaded_bind(const struct dl_phdr_info *info, uint64_t *place, uint64_t value);

/* Its own name (DT_SONAME); NULL if it has none. */
const char *loaded_name(const struct loaded *object);

/* Calls VISIT for each name of a library that it needs, in order. */
void loaded_needs(const struct loaded *object, void (*visit)(void *context, const char *name),
                  void *context);
