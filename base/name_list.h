/* SPDX-License-Identifier: MIT */
/* Lists of names in one text: "gzip|xz|zstd". Nothing is copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether the LENGTH bytes at NAME, which have no |, are one of NAMES. */
static inline bool name_list_has(const char *names, const char *name, size_t length)
{
	for (size_t size; *names; names += size + (names[size] == '|')) {
		size = strcspn(names, "|");
		if (size == length && memcmp(names, name, length) == 0)
			return true;
	}
	return false;
}
