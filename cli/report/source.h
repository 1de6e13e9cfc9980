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
#include <stdio.h>

/*
 * Copies LINE (from 1) of PATH into BUFFER, without leading blanks. A relative
 * PATH is taken from DIRECTORY (may be NULL). False if the file or the line is
 * not there. *NEWER: the file was changed after MODULE was built.
 */
bool source_line(const char *path, const char *directory, int line, const char *module,
                 char *buffer, size_t size, bool *newer);

/*
 * The same file from its first line on, to be closed by fclose(); NULL if it is not there.
 */
FILE *source_open(const char *path, const char *directory, const char *module, bool *newer);

/* Its next line, with its leading blanks, cut to SIZE. False at the end of the file. */
bool source_next(FILE *source, char *buffer, size_t size);
