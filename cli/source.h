/* SPDX-License-Identifier: MIT */
/*
 * Lines of source files, where the files are there.
 *
 * The paths come from debug information, which anybody may have written: only
 * regular files are opened, and only so much of one is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies LINE (from 1) of PATH into BUFFER, without leading blanks. A relative
 * PATH is taken from DIRECTORY (may be NULL). False if the file or the line is
 * not there. *NEWER: the file was changed after MODULE was built.
 */
bool source_line(const char *path, const char *directory, int line, const char *module,
                 char *buffer, size_t size, bool *newer);
