/* SPDX-License-Identifier: MIT */
/*
 * The file that an object in memory is of, and the one with its debug information.
 *
 * Files are mapped, read-only, for as long as somebody looks at them. Nothing is allocated.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_file {
	const uint8_t *bytes; /* NULL: it could not be read */
	size_t size;
};

struct object_file object_file_map(const char *path);
void object_file_unmap(struct object_file *file);

/*
 * Where the debug information is, by the build-id of the object that INFO describes:
 * "/usr/lib/debug/.build-id/ab/cdef.debug". False if it has none.
 */
bool object_file_debug_path(const struct dl_phdr_info *info, char *path, size_t size);

/* Go moves its stacks, and looks for its callers in them. */
bool object_file_is_go(const struct object_file *file);
