/* SPDX-License-Identifier: MIT */
/*
 * The functions that give out memory, as the agent stands in front of them: malloc() and its kin
 * (memory_malloc.c), C++'s new and delete (memory_new.c), mmap() (memory_mmap.c).
 *
 * Each forwards to the one that would be called without us, whatever state the agent is in. Hooks
 * are called by any thread, also in handlers; the functions to start here once, when the program
 * begins. ALLOCATOR is any function of the allocator, which is known by its object.
 */
#pragma once

#include <stddef.h>

struct dl_phdr_info;
struct loaded;

/*
 * P has been allocated, or is NULL, and is returned; P is about to be freed, with so many bytes as
 * are returned. For who stands in front of new and delete.
 */
void *memory_hooks_count(void *p);
size_t memory_hooks_uncount(void *p);

/* The same for C++'s new and delete, if ALLOCATOR's object has its own; and for an OBJECT that has
   come since. The loader's lock is held. */
void memory_new_start(const void *allocator);
void memory_new_bind(struct dl_phdr_info *info, const struct loaded *object);

/* The same for mappings that are made by others than ALLOCATOR; and no more. */
void memory_mmap_start(const void *allocator);
void memory_mmap_stop(void);
