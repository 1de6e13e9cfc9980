/* SPDX-License-Identifier: MIT */
/*
 * Lines of source files, where the files are there, and are what was recorded.
 *
 * The paths come from debug information, which anybody may have written, and profiles from anybody:
 * only regular files are opened, and only so much of one is read. Of a profile of another user or
 * machine only files count that are as large and as old as they were in the run; for root, whom
 * nothing is kept from, only those that others may read, too. --source allows the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct profile;
struct view;

/* Whose files they are. */
struct source_scope {
	const struct profile *profile; /* NULL: of nobody in particular */
	const char *directory;         /* of relative paths; NULL: there are none */
	bool all;                      /* --source */
	bool *kept_back;               /* set where a file is not shown for all that */
};

struct source_scope source_scope_of(const struct profile *profile, const struct view *view);

/*
 * Copies LINE (from 1) of PATH into BUFFER, without leading blanks. False if the file or the
 * line is not there, or may not be shown. *NEWER: the file was changed after the run, or after
 * MODULE was built.
 */
bool source_line(const struct source_scope *scope, const char *path, int line, const char *module,
                 char *buffer, size_t size, bool *newer);

/*
 * The same file from its first line on, to be closed by fclose(); NULL if it is not there.
 */
FILE *source_open(const struct source_scope *scope, const char *path, const char *module,
                  bool *newer);

/* Its next line, with its leading blanks, cut to SIZE. False at the end of the file. */
bool source_next(FILE *source, char *buffer, size_t size);
