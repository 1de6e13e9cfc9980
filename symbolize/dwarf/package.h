/* SPDX-License-Identifier: MIT */
/*
 * Which package a file came in, where dpkg keeps the list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The name of the package that owns PATH, from the lists in DIRECTORY (NULL:
 * /var/lib/dpkg/info). False if none does, or there are no lists.
 */
bool package_of(const char *directory, const char *path, char *name, size_t size);

/* The package with the debug symbols of PACKAGE: "libc6-dbg", "zlib1g-dbgsym". */
void package_debug_name(const char *package, char *name, size_t size);
