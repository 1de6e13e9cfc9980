/* SPDX-License-Identifier: MIT */
/*
 * Which package of a Debian system has the debug symbols of a file.
 *
 * The package that owns the file is looked up in dpkg's lists (/var/lib/dpkg/info/NAME.list), but
 * only in those whose names begin like the file's: a few of thousands. The system is foreign: at
 * most so many lists of bounded size are read, and only names that dpkg allows are taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The package's name, as "libopenblas0-pthread-dbgsym", into NAME. ROOT, "" or "/proc/PID/root", is
 * put before the directory of lists; PATH is the file's as within. False: it is not known.
 */
bool debug_package_find(const char *root, const char *path, char *name, size_t size);
