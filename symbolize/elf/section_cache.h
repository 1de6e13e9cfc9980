/* SPDX-License-Identifier: MIT */
/*
 * Debug sections as they were decompressed in earlier runs, and what was derived from others
 * (symbolize/elf/symbol_order.h), in a file of ours each.
 *
 * A run meets addresses of the C library that none before it has met, and naming one of them takes
 * all of its debug information, which is compressed: 15 ms of CPU time, to map a file none. A
 * file's name says of which build the section is, and what of: its sizes, and the end of what is
 * compressed, where zlib has the checksum of what it holds.
 *
 * Runs at the same time may share the directory. Who deletes files takes time, and no answers.
 * Functions without state.
 */
#pragma once

#include "base/bytes.h"
#include "base/mapped.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define SECTION_CACHE_BYTES UINT64_C(134217728) /* of the directory, at most */

/* Less is decompressed sooner than it is found. A build for fuzzing sets fewer. */
#ifndef SECTION_CACHE_LEAST
#define SECTION_CACHE_LEAST ((size_t)32 << 10)
#endif

/* The file of the section NAME of the build BUILD_ID; false if that cannot be kept. */
struct section_key {
	char path[PATH_MAX];
};
bool section_cache_key(const char *directory, struct bytes build_id, const char *name,
                       struct bytes compressed, uint64_t size, struct section_key *key);

/* Maps its SIZE bytes. False if they are not there, or not ours alone. */
bool section_cache_read(const struct section_key *key, uint64_t size, struct mapped *out);

/* It may fail: then the next run decompresses it again. */
void section_cache_write(const struct section_key *key, struct bytes section);
