/* SPDX-License-Identifier: MIT */
/* Paths as text: nothing is asked of the file system, and nothing is copied. */
#pragma once

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
