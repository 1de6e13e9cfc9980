/* SPDX-License-Identifier: MIT */
/*
 * Names of files that differ from process to process and from machine to machine.
 *
 *	%h        the host
 *	%p        the process id of bottleneck
 *	%r        the rank, base/rank.h
 *	%q{NAME}  the variable NAME of the environment; a "/" in it becomes a "_"
 *	%%        a percent sign
 *
 * Of exports also
 *
 *	%c        the cycle of a schedule, which stays as it is: cli/export/exports.h fills it in
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct rank;

/* PATTERN with all that filled in, NUL-terminated, into BUFFER. CYCLES: it may have %c. -1 if
   something is not known. */
int file_name_fill(const char *pattern, bool cycles, const struct rank *rank, char *buffer,
                   size_t size, struct error *err);
