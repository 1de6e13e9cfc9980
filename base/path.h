/* SPDX-License-Identifier: MIT */
/* Paths as text: nothing is asked of the file system, and nothing is copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * What is behind the last slash, a part of PATH; PATH itself if nothing is, as in "lib/". NULL
 * of NULL.
 */
static inline const char *path_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* "/a/jit-4711.dump": what run-time compilers write, and map so that others find it. */
static inline bool path_is_jitdump(const char *path)
{
	const char *name = path_base(path);
	size_t length = strlen(name);

	return length > 9 && strncmp(name, "jit-", 4) == 0 &&
	       strcmp(name + length - 5, ".dump") == 0;
}
