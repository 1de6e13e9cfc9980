/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own list of its functions and those of its modules.
 *
 * It is long: the kernel alone takes some 20 ms of CPU time to write it. So it
 * is read once for all who need it, and if it is wanted in the background. One
 * thread at a time, other than the one that kallsyms_start() makes.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kallsyms;

#define KALLSYMS_PATH "/proc/kallsyms" /* the running kernel's */

struct kallsym {
	uint64_t address;
	const char *name; /* "tcp_sendmsg", or "ext4_readdir [ext4]" of a module */
};

/* The list at PATH, which is copied. Nothing is read yet. NULL if there is no memory. */
struct kallsyms *kallsyms_new(const char *path);

/*
 * Before the first load: FILE, which need not be there, is read in place of the list if it was
 * made of the same one (base/kallsyms_cache.h). -1 if there is no memory.
 */
int kallsyms_set_cache(struct kallsyms *k, const char *file);

/* Stops what is going on in the background. NULL is fine. */
void kallsyms_free(struct kallsyms *k);

CLEANUP(kallsyms, struct kallsyms *, kallsyms_free)

/* Begins to read in the background. If that cannot be, kallsyms_load() will read. */
void kallsyms_start(struct kallsyms *k);

/* Makes sure that all has been read. -1, each time, if it cannot be: then there is no symbol. */
int kallsyms_load(struct kallsyms *k, struct error *err);

const char *kallsyms_path(const struct kallsyms *k);

/* The rest is for after kallsyms_load(). */

/* True if the kernel has shown names only: all addresses are zero. */
bool kallsyms_are_hidden(const struct kallsyms *k);

/* Functions only, in order of address; of one address as they stand in the list. */
size_t kallsyms_count(const struct kallsyms *k);
struct kallsym kallsyms_at(const struct kallsyms *k, size_t index);

/* How many functions start at or before ADDRESS, as far as the cache knows if there is one. */
size_t kallsyms_before(const struct kallsyms *k, uint64_t address);

/*
 * The name of the last function that starts at or before ADDRESS; NULL if there is none. It
 * reads the list itself if the cache cannot know. Names live as long as K.
 */
const char *kallsyms_find(struct kallsyms *k, uint64_t address);

/* Writes the cache if there is to be one and the list was read. */
void kallsyms_save(struct kallsyms *k);
