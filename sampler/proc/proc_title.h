/* SPDX-License-Identifier: MIT */
/*
 * What tells a process from others that run the same program, for tables and texts: "cc1plus
 * big.cc", "python3 -m pytest", "git log", "postgres: walwriter".
 *
 * It is the program's name with one word of the command line: the first that names a file, but for
 * temporary ones; rather one that does not follow an option, and one of the system last. Else it is
 * the first word, if that is a script by its suffix, or a command of a program that is known to
 * have such. No other word, no option and none of their values, as these may be secrets. A process
 * that has written a title over its command line, with its program's name and a colon first, is
 * called by that. Behind it stands the rank, if a launcher of the run has started it as one of
 * several: "app [rank 3]" (base/rank.h).
 *
 * Functions without state. A text may hold anything that the process has written there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_TITLE_MAX 96

/* Whether WORD is the name of a regular file, for the process. */
typedef bool proc_title_is_file(void *context, const char *word);

/* WORDS: SIZE bytes, as in /proc/PID/cmdline; a NUL follows them. TITLE becomes "" if none tells.
 */
void proc_title_of(const char *words, size_t size, const char *command, proc_title_is_file *is_file,
                   void *context, char title[PROC_TITLE_MAX]);

/* The same of process PID as it is now. "" if we may not know. */
void proc_title_read(uint32_t pid, const char *command, char title[PROC_TITLE_MAX]);
