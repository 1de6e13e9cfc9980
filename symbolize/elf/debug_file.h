/* SPDX-License-Identifier: MIT */
/*
 * Where the debug information of an ELF file is: in itself, or in a file of its
 * own that was separated from it.
 */
#pragma once

#include "symbolize/elf/elf_file.h"

#include <limits.h>

struct debug_search {
	const char *path;        /* of the ELF file, as its process sees it */
	const char *root;        /* "" or "/proc/PID/root": put before paths first */
	const char *directories; /* colon-separated */
};

/* Opens what NAMES it: by build-id, then by .gnu_debuglink with its checksum. A file that does
   not match is not taken; then WHY (of SIZE bytes) says so. NULL if there is none. PATH, of
   PATH_MAX bytes, is where it was found. */
struct elf_file *debug_file_find(struct elf_file *elf, const struct debug_search *search,
                                 char *path, char *why, size_t size);

/* The same by a build-id alone. */
struct elf_file *debug_file_find_by_id(struct bytes build_id, const struct debug_search *search,
                                       char *path, char *why, size_t size);

/* What dwz moved out of several files into one (.gnu_debugaltlink of ELF). NULL if none. */
struct elf_file *debug_file_find_alt(struct elf_file *elf, const struct debug_search *search,
                                     char *why, size_t size);

/* The small symbol table that stripped files may carry (.gnu_debugdata). NULL if none. */
struct elf_file *debug_file_open_minimal(struct elf_file *elf);

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}
