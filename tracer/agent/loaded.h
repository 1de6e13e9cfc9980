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
 * Calls VISIT for each place of OBJECT that holds, or is going to hold, the address of a function
 * that it does not define itself and that IS_WANTED.
 */
void loaded_references(const struct loaded *object,
                       bool (*is_wanted)(void *context, const char *name),
                       void (*visit)(void *context, const char *name, uint64_t *place),
                       void *context);

/* Puts VALUE at PLACE, which the loader may have locked. */
void loaded_bind(const struct dl_phdr_info *info, uint64_t *place, uint64_t value);

/* Its own name (DT_SONAME); NULL if it has none. */
const char *loaded_name(const struct loaded *object);

/* Calls VISIT for each name of a library that it needs, in order. */
void loaded_needs(const struct loaded *object, void (*visit)(void *context, const char *name),
                  void *context);
