/* SPDX-License-Identifier: MIT */
/*
 * Directories of a test's own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes one; PATH gets its name. Dies if it cannot. */
void temporary_make(char *path, size_t size);

/* Removes it with the files in it. */
void temporary_remove(const char *path);

/* Puts a file system of KIB there. False without the right to do so. */
bool temporary_mount_small(const char *path, unsigned kib);
void temporary_unmount(const char *path);
