/* SPDX-License-Identifier: MIT */
/*
 * What was found of a module's addresses in earlier runs, in one file of ours a module.
 *
 * To name a dozen addresses in the C library means to decompress all of its debug information, 30
 * ms of CPU time; to read what came of it last time, a fraction of one. A file is good for one
 * build of the module (its build-id), the debug files that were there, and the program that wrote
 * it: its key is made of all that. Who reads it trusts nothing in it.
 *
 * The directory is bounded: what was written longest ago goes first. Runs at the same time may
 * share it, the last one to write a file wins. Functions without state.
 */
#pragma once

#include "base/cleanup.h"
#include "base/debug_status.h"
#include "symbolize/answers.h"

#include <stdbool.h>
#include <stdint.h>

#define NAMES_CACHE_BYTES UINT64_C(67108864) /* of a directory, at most */

/* What else is known of the module. */
struct names_cache_facts {
	struct debug_status status;
	bool has_lines; /* of some of its addresses the line is known */
};

/* A file's symbols and their texts. */
struct stored_names;
void stored_names_free(struct stored_names *s); /* NULL is fine */

CLEANUP(stored_names, struct stored_names *, stored_names_free)

/*
 * Adds what FILE has to ANSWERS, which is empty. Returns what holds their symbols, for the caller
 * to free after ANSWERS; NULL if FILE is not there, not ours alone, damaged or of another key: then
 * ANSWERS is empty.
 */
struct stored_names *names_cache_read(const char *file, uint64_t key, struct answers *answers,
                                      struct names_cache_facts *facts);

/* Replaces FILE, mode 0600, and makes its directory. It may fail: then the next run looks all of it
   up again. */
void names_cache_write(const char *file, uint64_t key, const struct answers *answers,
                       const struct names_cache_facts *facts);

/* Removes files from DIRECTORY until they have BYTES at most. */
void names_cache_bound(const char *directory, uint64_t bytes);
